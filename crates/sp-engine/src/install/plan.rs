//! The plan: every change to sinks and files, as a value.
//!
//! A [`ChangePlan`] is self-contained. Each folder in it knows where its content comes from, each
//! sink knows the packs that are installed into it, and the plan knows the state that it was made
//! from. So nothing but the plan is needed to print it, to identify it ([`super::plan_id`]), to
//! stage and apply it ([`super::stage`], [`super::apply`]) and to record it ([`super::records`]).
//!
//! A [`PlanRequest`] is what a plan is made from: sinks, and the packs and packages to install into
//! each of them.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use sp_formats::output::{FolderAction, FolderChange, SinkChange};
use sp_formats::state::{InstallSource, InstallState};
use sp_formats::time::is_timestamp;
use sp_tree::atomic::FileAccess;
use sp_tree::transaction::PriorState;
use sp_tree::{Digest, DirSnapshot, Name, Zeroize};

use super::skill_set::{InstallableSkill, SkillOrigin, SkillSet, SkillSource};
use crate::sinks::Sink;

/// What happens to the other packs of a sink.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OtherPacks {
    /// Keep them (`sp install`).
    #[default]
    Keep,
    /// Remove them (`sp switch`).
    Remove,
}

/// Whether a pack of the same name from another source may be replaced.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ReplacePolicy {
    #[default]
    Refuse,
    Allow,
}

/// What to install into and remove from sinks. Without targets, a plan changes only files.
#[derive(Default)]
pub(crate) struct PlanRequest {
    pub targets: Vec<SinkTarget>,
    /// The names of packs to remove from all of the sinks.
    pub removed_packs: Vec<String>,
    pub other_packs: OtherPacks,
    pub replace: ReplacePolicy,
}

/// A sink, and what to install into it.
pub(crate) struct SinkTarget {
    pub sink: Sink,
    pub sets: Vec<Arc<SkillSet>>,
}

impl SinkTarget {
    /// Returns the targets of an operation that installs the same into all of the sinks.
    pub(crate) fn all(sinks: &[Sink], sets: &[Arc<SkillSet>]) -> Vec<Self> {
        sinks.iter().map(|sink| Self { sink: sink.clone(), sets: sets.to_vec() }).collect()
    }

    pub(super) fn origins(&self) -> impl Iterator<Item = &SkillOrigin> {
        self.sets.iter().map(|set| &*set.origin)
    }

    pub(super) fn has_pack(&self, name: &str) -> bool {
        self.origins().any(|origin| origin.name() == name)
    }

    pub(super) fn skills(&self) -> impl Iterator<Item = &InstallableSkill> {
        self.sets.iter().flat_map(|set| &set.skills)
    }
}

/// All changes of one operation.
pub(crate) struct ChangePlan {
    /// The state that the plan was made from.
    pub state: InstallState,
    pub sinks: Vec<SinkPlan>,
    pub files: Vec<FilePlan>,
}

impl ChangePlan {
    /// Whether no folder and no file changes.
    pub(super) fn is_empty(&self) -> bool {
        self.files.is_empty() && self.changed_folders().next().is_none()
    }

    /// Returns the folders that change, each with the index of its sink.
    ///
    /// The position of a folder in this order is its slot in the transaction.
    pub(super) fn changed_folders(&self) -> impl Iterator<Item = (usize, &FolderPlan)> {
        self.sinks.iter().enumerate().flat_map(|(sink, plan)| {
            let changed = plan.folders.iter().filter(|folder| folder.is_changed());
            changed.map(move |folder| (sink, folder))
        })
    }

    /// Sets the digests of folders that were read for the plan, by slot.
    pub(super) fn set_digests(&mut self, digests: impl IntoIterator<Item = (usize, Digest)>) {
        let folders = self.sinks.iter_mut().flat_map(|sink| &mut sink.folders);
        let mut changed: Vec<&mut FolderPlan> = folders.filter(|it| it.is_changed()).collect();
        for (slot, digest) in digests {
            if let Some(folder) = changed.get_mut(slot) {
                folder.digest = Some(digest);
            }
        }
    }
}

/// A file that is created, replaced or removed together with the folders.
pub(crate) struct FilePlan {
    /// The real path of the directory.
    pub dir: PathBuf,
    pub name: Name,
    pub before: PriorState,
    /// The new content. `None` removes the file.
    pub bytes: Option<Arc<[u8]>>,
    /// The digest of the new content, once it is known.
    digest: OnceLock<Digest>,
    /// What the plan ID covers of the new content.
    plan_content: PlanContent,
    /// The permissions of a new file. An existing file keeps its own.
    pub readers: FileAccess,
    /// Directories to remove with the file if they are empty then, by real path, outermost first.
    pub remove_if_empty: Vec<PathBuf>,
}

impl FilePlan {
    pub(crate) fn new(
        dir: PathBuf,
        name: Name,
        before: PriorState,
        bytes: Option<Arc<[u8]>>,
    ) -> Self {
        Self {
            dir,
            name,
            before,
            bytes,
            digest: OnceLock::new(),
            plan_content: PlanContent::AllBytes,
            readers: FileAccess::Ordinary,
            remove_if_empty: Vec::new(),
        }
    }

    /// Sets the digest of the new content, if the caller knows it.
    pub(crate) fn with_digest(mut self, digest: Option<Digest>) -> Self {
        self.digest = digest.map(OnceLock::from).unwrap_or_default();
        self
    }

    /// Returns the digest of the new content; none if the file is removed.
    pub(super) fn digest(&self) -> Option<Digest> {
        let bytes = self.bytes.as_ref()?;
        Some(*self.digest.get_or_init(|| Digest::of(bytes)))
    }

    /// Leaves the timestamps in the new content, which is JSON, out of the plan ID: a dry run and
    /// the run that follows write different ones.
    pub(crate) fn with_times(mut self) -> Self {
        self.plan_content = PlanContent::WithoutTimes;
        self
    }

    /// Returns the digest of the new content that the plan ID covers; none if the file is removed.
    pub(super) fn plan_digest(&self) -> Option<Digest> {
        match (self.plan_content, &self.bytes) {
            (PlanContent::WithoutTimes, Some(bytes)) => Some(Digest::of(&without_times(bytes))),
            _ => self.digest(),
        }
    }

    /// Makes the file readable only by its owner, if it is new.
    pub(crate) fn private(mut self) -> Self {
        self.readers = FileAccess::Private;
        self
    }
}

/// What a plan ID covers of a file.
#[derive(Debug, Clone, Copy)]
enum PlanContent {
    AllBytes,
    WithoutTimes,
}

/// Removes the strings that are timestamps from JSON.
fn without_times(json: &[u8]) -> Vec<u8> {
    let is_kept = |part: &&[u8]| !str::from_utf8(part).is_ok_and(is_timestamp);
    json.split(|byte| *byte == b'"').filter(is_kept).collect::<Vec<_>>().join(&b'"')
}

impl Drop for FilePlan {
    fn drop(&mut self) {
        // Private files contain keys.
        if let (FileAccess::Private, Some(bytes)) =
            (self.readers, self.bytes.as_mut().and_then(Arc::get_mut))
        {
            bytes.zeroize();
        }
    }
}

/// The changes in one sink.
pub(crate) struct SinkPlan {
    pub sink: Sink,
    pub folders: Vec<FolderPlan>,
    /// What is installed here, now or already.
    pub packs: Vec<Arc<SkillOrigin>>,
    pub removed_packs: Vec<String>,
    /// The packs that the state records here.
    pub recorded_packs: Vec<RecordedPack>,
    /// Index entries learned from reading folders, by folder name. `None` clears an entry.
    pub index_updates: Vec<(String, Option<DirSnapshot>)>,
}

/// A pack that the state records for a sink.
pub(crate) struct RecordedPack {
    pub name: String,
    pub source: InstallSource,
}

/// What happens to one folder of a sink.
pub(crate) struct FolderPlan {
    pub name: Name,
    pub pack: String,
    /// The ID of the skill. `None` if the state does not know what the folder contains.
    pub id: Option<String>,
    pub action: FolderAction,
    /// Where the content comes from. `None` removes the folder.
    pub source: Option<SkillSource>,
    /// The digest of the content that the folder will have. `None` until the source is read, which
    /// an install does when it stages the folder.
    pub digest: Option<Digest>,
    /// Whether the user changed the folder since it was installed.
    pub edited: bool,
    pub before: PriorState,
    /// The digest of the present content, if it was read or known.
    pub current_digest: Option<Digest>,
}

impl FolderPlan {
    pub(super) fn is_changed(&self) -> bool {
        self.action != FolderAction::Keep
    }
}

impl SinkPlan {
    /// Converts the plan to its output form.
    pub(super) fn to_sink_change(&self) -> SinkChange {
        let folder_change = |folder: &FolderPlan| FolderChange {
            folder: folder.name.to_string(),
            pack: folder.pack.clone(),
            id: folder.id.clone(),
            action: folder.action,
            edited: folder.edited,
        };
        SinkChange {
            sink: self.sink.name.clone(),
            path: self.sink.path.clone(),
            packs: self.packs.iter().map(|pack| pack.name().to_owned()).collect(),
            removed_packs: self.removed_packs.clone(),
            folders: self.folders.iter().map(folder_change).collect(),
            kept: Vec::new(),
        }
    }
}
