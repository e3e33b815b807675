//! The plan: every change to sinks and files, as a value.
//!
//! A [`ChangePlan`] is made by [`super::sink_planner`], identified by [`super::plan_id`], staged by
//! [`super::stage`] and applied by [`super::apply`]. Skills in it are referred to by their position
//! in the [`ResolvedPack`]s of the [`PlanRequest`].

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sp_formats::output::{FolderAction, FolderChange, SinkChange};
use sp_tree::atomic::FileAccess;
use sp_tree::transaction::PriorState;
use sp_tree::{Digest, DirSnapshot, Name, Zeroize};

use super::selection::{ResolvedPack, SkillIndex};
use crate::sinks::Sink;

/// What happens to the other packs of a sink.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OtherPacks {
    /// Keep them (`sp install`).
    Keep,
    /// Remove them (`sp switch`).
    Remove,
}

/// Whether a pack of the same name from another source may be replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplacePolicy {
    Refuse,
    Allow,
}

/// What to install into and remove from the sinks.
pub(crate) struct PlanRequest<'a> {
    pub packs: &'a [ResolvedPack],
    /// The names of packs to remove.
    pub removed_packs: Vec<String>,
    pub other_packs: OtherPacks,
    pub replace: ReplacePolicy,
    pub targets: PackTargets,
}

/// Which packs are installed into which sinks.
pub(crate) enum PackTargets {
    /// Every pack into every sink.
    AllSinks,
    /// Only these pairs of a sink's real path and the index of a pack.
    Only(HashSet<(PathBuf, usize)>),
}

impl PlanRequest<'_> {
    /// Returns the packs to install into a sink, with their indexes.
    pub(super) fn packs_in<'s>(
        &'s self,
        sink: &'s Path,
    ) -> impl Iterator<Item = (usize, &'s ResolvedPack)> {
        let is_target = move |pack: usize| match &self.targets {
            PackTargets::AllSinks => true,
            PackTargets::Only(targets) => targets.contains(&(sink.to_path_buf(), pack)),
        };
        self.packs.iter().enumerate().filter(move |(pack, _)| is_target(*pack))
    }
}

/// All changes of one operation.
pub(crate) struct ChangePlan {
    pub sinks: Vec<SinkPlan>,
    pub files: Vec<FilePlan>,
}

impl ChangePlan {
    /// Returns the folders that change, each with the index of its sink.
    ///
    /// The position of a folder in this order is its slot in the transaction.
    pub(super) fn changed_folders(&self) -> impl Iterator<Item = (usize, &FolderPlan)> {
        self.sinks.iter().enumerate().flat_map(|(sink, plan)| {
            let changed = plan.folders.iter().filter(|it| it.action != FolderAction::Keep);
            changed.map(move |folder| (sink, folder))
        })
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
            readers: FileAccess::Ordinary,
            remove_if_empty: Vec::new(),
        }
    }

    /// Makes the file readable only by its owner, if it is new.
    pub(crate) fn private(mut self) -> Self {
        self.readers = FileAccess::Private;
        self
    }
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
    /// The indexes of the packs to install here.
    pub packs: Vec<usize>,
    pub removed_packs: Vec<String>,
    /// The packs that the state records here, each with its pack file.
    pub recorded_packs: Vec<(String, String)>,
    /// Index entries learned from reading folders, by folder name. `None` clears an entry.
    pub index_updates: Vec<(String, Option<DirSnapshot>)>,
}

/// What happens to one folder of a sink.
pub(crate) struct FolderPlan {
    pub name: Name,
    pub pack: String,
    /// The skill to install. `None` removes the folder.
    pub skill: Option<SkillIndex>,
    pub id: Option<String>,
    pub action: FolderAction,
    /// Whether the user changed the folder since it was installed.
    pub edited: bool,
    pub before: PriorState,
    /// The digest of the present content, if it was read or known.
    pub current_digest: Option<Digest>,
    /// The digest of a folder that stays as it is.
    pub unchanged_digest: Option<Digest>,
}

impl SinkPlan {
    /// Converts the plan to its output form.
    pub(super) fn to_sink_change(&self, packs: &[ResolvedPack]) -> SinkChange {
        SinkChange {
            sink: self.sink.name.clone(),
            path: self.sink.path.clone(),
            packs: self.packs.iter().map(|&pack| packs[pack].name().to_owned()).collect(),
            removed_packs: self.removed_packs.clone(),
            folders: self
                .folders
                .iter()
                .map(|folder| FolderChange {
                    folder: folder.name.to_string(),
                    pack: folder.pack.clone(),
                    id: folder.id.clone(),
                    action: folder.action,
                    edited: folder.edited,
                })
                .collect(),
            kept: Vec::new(),
        }
    }
}
