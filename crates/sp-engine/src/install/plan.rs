//! The plan: every change to sinks and files, as a value.
//!
//! A [`ChangePlan`] is self-contained. Each folder in it knows where its content comes from, each
//! sink knows the packs that are installed into it, and the plan knows the state that it was made
//! from. So nothing but the plan is needed to print it, to identify it ([`super::plan_id`]), to
//! stage and apply it ([`super::stage`], [`super::apply`]) and to record it ([`super::records`]).
//!
//! A [`PlanRequest`] is what a plan is made from: sinks, and the packs and packages to install into
//! each of them.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use sp_formats::output::{FolderAction, FolderChange, SharedPackItem, SinkChange};
use sp_formats::state::{InstallRecord, InstallSource, InstallState};
use sp_formats::time::is_timestamp;
use sp_tree::atomic::FileAccess;
use sp_tree::transaction::PriorState;
use sp_tree::{Digest, DirSnapshot, Name, Zeroize};

use super::skill_set::{InstallableSkill, SkillOrigin, SkillSet, SkillSource};
use crate::agent_set::{AgentSet, agents_after_uninstall};
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
    /// The names of packs to uninstall from all of the sinks. The folders of a pack that other
    /// agents use stay.
    pub removed_packs: Vec<String>,
    pub other_packs: OtherPacks,
    pub replace: ReplacePolicy,
}

impl PlanRequest {
    /// Whether the request uninstalls a recorded pack for the agents of a target.
    ///
    /// What a project installs is only removed by changing its manifest.
    pub(super) fn uninstalls(&self, target: &SinkTarget, install: &InstallRecord) -> bool {
        let pack = &install.pack;
        let is_project = matches!(install.source, InstallSource::Project(_));
        self.removed_packs.contains(pack)
            || self.other_packs == OtherPacks::Remove && !is_project && !target.has_pack(pack)
    }
}

/// A sink, and what changes in it.
#[derive(Clone)]
pub(crate) struct SinkTarget {
    pub sink: Sink,
    /// What to install.
    pub sets: Vec<TargetSet>,
    /// The agents that the request uninstalls packs for.
    pub uninstall_for: AgentSet,
    /// What leaves the sink because an agent does not read it. Planning adds them.
    pub departures: Vec<Departure>,
}

/// A pack or package to install into a sink.
#[derive(Clone)]
pub(crate) struct TargetSet {
    pub set: Arc<SkillSet>,
    pub agents: AgentSet,
}

/// Recorded packs that leave a sink because an agent does not read it on this machine.
#[derive(Clone)]
pub(crate) struct Departure {
    pub agents: AgentSet,
    pub packs: Vec<String>,
    /// The sink where the agent has packs of these from now on.
    pub moved_to: Option<PathBuf>,
}

impl SinkTarget {
    /// Returns a target that nothing is installed into yet.
    pub(crate) fn new(sink: Sink) -> Self {
        let uninstall_for = sink.agents.clone();
        Self { sink, sets: Vec::new(), uninstall_for, departures: Vec::new() }
    }

    /// Returns the targets of an operation that installs the same into all of the sinks, for all of
    /// their agents.
    pub(crate) fn all(sinks: &[Sink], sets: &[Arc<SkillSet>]) -> Vec<Self> {
        let target = |sink: &Sink| {
            let set = |set: &Arc<SkillSet>| TargetSet {
                set: Arc::clone(set),
                agents: sink.agents.clone(),
            };
            Self { sets: sets.iter().map(set).collect(), ..Self::new(sink.clone()) }
        };
        sinks.iter().map(target).collect()
    }

    pub(super) fn origins(&self) -> impl Iterator<Item = &SkillOrigin> {
        self.sets.iter().map(|target| &*target.set.origin)
    }

    pub(super) fn set_of_pack(&self, name: &str) -> Option<&TargetSet> {
        self.sets.iter().find(|target| target.set.origin.name() == name)
    }

    pub(super) fn has_pack(&self, name: &str) -> bool {
        self.set_of_pack(name).is_some()
    }

    pub(super) fn skills(&self) -> impl Iterator<Item = &InstallableSkill> {
        self.sets.iter().flat_map(|target| &target.set.skills)
    }

    /// Returns the agents that a recorded pack is installed for after the change.
    pub(super) fn agents_after(&self, request: &PlanRequest, install: &InstallRecord) -> AgentSet {
        let mut agents = if request.uninstalls(self, install) {
            agents_after_uninstall(install, &self.uninstall_for)
        } else {
            AgentSet::of_record(install)
        };
        for departure in self.departures.iter().filter(|it| it.packs.contains(&install.pack)) {
            agents = agents.without(&departure.agents);
        }
        if let Some(target) = self.set_of_pack(&install.pack) {
            agents.extend(&target.agents);
        }
        agents
    }
}

/// All changes of one operation.
pub(crate) struct ChangePlan {
    /// The state that the plan was made from.
    pub state: InstallState,
    pub sinks: Vec<SinkPlan>,
    pub files: Vec<FilePlan>,
    pub acceptance: PlanAcceptance,
}

/// Which findings of audits do not block a plan, in addition to those of the command line.
#[derive(Debug, Default)]
pub(crate) struct PlanAcceptance {
    /// The project with the list of accepted findings. By default, the nearest one upward.
    pub root: Option<PathBuf>,
    /// The IDs of findings that the lockfile accepts.
    pub locked: BTreeSet<String>,
}

impl ChangePlan {
    /// Whether no folder and no file changes.
    pub(super) fn is_empty(&self) -> bool {
        self.files.is_empty() && self.changed_folders().next().is_none()
    }

    /// Returns the folders that change, each with the index of its sink.
    ///
    /// The position of a folder in this order is its slot in the transaction.
    pub(crate) fn changed_folders(&self) -> impl Iterator<Item = (usize, &FolderPlan)> {
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

    /// Makes the file executable, if it is new.
    pub(crate) fn executable(mut self) -> Self {
        self.readers = FileAccess::Executable;
        self
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
pub(crate) fn without_times(json: &[u8]) -> Vec<u8> {
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
    pub packs: Vec<PlannedPack>,
    /// The packs that the state records here.
    pub recorded_packs: Vec<RecordedPack>,
    /// The sink where packs of this one move to, because an agent does not read this one.
    pub moved_to: Option<PathBuf>,
    /// Index entries learned from reading folders, by folder name. `None` clears an entry.
    pub index_updates: Vec<(String, Option<DirSnapshot>)>,
}

/// A pack or package that is installed in a sink.
pub(crate) struct PlannedPack {
    pub origin: Arc<SkillOrigin>,
    /// The agents that it is installed for after the change.
    pub agents: AgentSet,
}

/// A pack that the state records for a sink.
pub(crate) struct RecordedPack {
    pub name: String,
    pub source: InstallSource,
    pub agents: AgentSet,
    /// The agents that it is installed for after the change. The last one takes the pack with it.
    pub agents_after: AgentSet,
    /// Whether the request uninstalls it for the agents of the sink.
    pub is_uninstalled: bool,
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
    /// The digest to record instead of `digest`: that of the version that the content, which has
    /// edits of the user, is based on.
    pub recorded_digest: Option<Digest>,
    /// Whether the user changed the folder since it was installed.
    pub edited: bool,
    pub before: PriorState,
    /// The digest of the present content, if it was read or known.
    pub current_digest: Option<Digest>,
}

impl FolderPlan {
    pub(crate) fn is_changed(&self) -> bool {
        self.action != FolderAction::Keep
    }
}

impl SinkPlan {
    pub(super) fn planned_pack(&self, name: &str) -> Option<&PlannedPack> {
        self.packs.iter().find(|pack| pack.origin.name() == name)
    }

    pub(super) fn recorded_pack(&self, name: &str) -> Option<&RecordedPack> {
        self.recorded_packs.iter().find(|pack| pack.name == name)
    }

    /// Converts the plan to its output form.
    pub(super) fn to_sink_change(&self) -> SinkChange {
        let folder_change = |folder: &FolderPlan| FolderChange {
            folder: folder.name.to_string(),
            pack: folder.pack.clone(),
            id: folder.id.clone(),
            action: folder.action,
            edited: folder.edited,
        };
        let removed = self.recorded_packs.iter().filter(|pack| pack.agents_after.is_empty());
        SinkChange {
            sink: self.sink.agents.first().to_owned(),
            agents: self.sink.agents.names().to_vec(),
            path: self.sink.path.clone(),
            packs: self.packs.iter().map(|pack| pack.origin.name().to_owned()).collect(),
            removed_packs: removed.map(|pack| pack.name.clone()).collect(),
            released_packs: self.released_packs(),
            shared_packs: self.shared_packs(),
            instead_of: self.sink.former.first().map(|former| former.path.clone()),
            moved_to: self.moved_to.clone(),
            changed: self.is_changed(),
            folders: self.folders.iter().map(folder_change).collect(),
            kept: Vec::new(),
        }
    }

    /// Whether a folder, a pack, or the agents of a pack change.
    fn is_changed(&self) -> bool {
        let is_new = |pack: &PlannedPack| self.recorded_pack(pack.origin.name()).is_none();
        self.folders.iter().any(FolderPlan::is_changed)
            || self.packs.iter().any(is_new)
            || self.recorded_packs.iter().any(|pack| pack.agents_after != pack.agents)
    }

    /// Returns the packs that are uninstalled for some of their agents, with the others.
    fn released_packs(&self) -> Vec<SharedPackItem> {
        let is_released = |pack: &&RecordedPack| {
            let is_left = !pack.agents.without(&pack.agents_after).is_empty();
            is_left && !pack.agents_after.is_empty() && self.planned_pack(&pack.name).is_none()
        };
        let released = self.recorded_packs.iter().filter(is_released);
        released.map(|pack| shared_pack(&pack.name, &pack.agents_after)).collect()
    }

    /// Returns the installed packs that other agents use too, and those that only others use, if
    /// the request uninstalls all others.
    fn shared_packs(&self) -> Vec<SharedPackItem> {
        let installed = self.packs.iter().filter_map(|pack| {
            let others = pack.agents.without(&self.sink.agents);
            (!others.is_empty()).then(|| shared_pack(pack.origin.name(), &others))
        });
        let is_of_others = |pack: &&RecordedPack| {
            pack.is_uninstalled
                && pack.agents_after == pack.agents
                && self.planned_pack(&pack.name).is_none()
        };
        let of_others = self.recorded_packs.iter().filter(is_of_others);
        installed.chain(of_others.map(|pack| shared_pack(&pack.name, &pack.agents_after))).collect()
    }
}

fn shared_pack(pack: &str, agents: &AgentSet) -> SharedPackItem {
    SharedPackItem { pack: pack.to_owned(), agents: agents.names().to_vec() }
}
