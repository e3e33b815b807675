//! Planning one sink: the requested packs compared with the state and with the sink itself.
//!
//! Planning reads the folders of the sink where the digest index does not know them, and changes
//! nothing. It refuses to plan a change to a folder that the state does not record for a pack of
//! the request or for a pack that is being removed.

use std::collections::{HashMap, HashSet};
use std::path::{Component, Path};
use std::sync::Arc;

use rayon::prelude::*;
use sp_formats::output::FolderAction;
use sp_formats::state::{InstallRecord, InstallSource, InstallState, SkillRecord};
use sp_tree::transaction::PriorState;
use sp_tree::{
    Digest, DigestIndex, Dir, DirSnapshot, EntryKind, Follow, HashedDir, Name, StampScope,
    fold_name, hash_installed,
};

use super::local_digests::LocalDigests;
use super::plan::{
    FolderPlan, PlanRequest, PlannedPack, RecordedPack, ReplacePolicy, SinkPlan, SinkTarget,
    TargetSet,
};
use super::skill_set::{InstallableSkill, PackOrigin, SkillOrigin, SkillSource};
use crate::agent_set::AgentSet;
use crate::context::Context;
use crate::error::{Error, ErrorCode, Result};
use crate::session::Session;
use crate::sinks::Sink;

/// Folders per rayon job. Looking at one folder is too little work for a job of its own.
const FOLDERS_PER_JOB: usize = 16;

/// Plans the changes of sinks.
pub(super) struct SinkPlanner<'a> {
    pub session: &'a Session<'a>,
    pub state: &'a InstallState,
    pub request: &'a PlanRequest,
    pub digests: &'a LocalDigests,
}

/// A folder that the state records for the sink.
struct RecordedFolder<'r> {
    name: Name,
    owner: &'r InstallRecord,
    /// The record of the skill in it. Records of early versions have none.
    record: Option<&'r SkillRecord>,
}

/// A folder that is requested or recorded.
struct FolderCandidate<'r> {
    name: Name,
    /// What to install. `None` if the folder is to be removed.
    requested: Option<RequestedSkill<'r>>,
    owner: Option<&'r InstallRecord>,
    record: Option<&'r SkillRecord>,
    /// The digest that the folder had when it was installed, from the record or from a lockfile.
    installed_digest: Option<Digest>,
    /// Whether this operation may replace or remove an existing folder.
    may_replace: bool,
}

/// A skill to install.
#[derive(Clone, Copy)]
struct RequestedSkill<'r> {
    origin: &'r SkillOrigin,
    source: &'r SkillSource,
}

impl FolderCandidate<'_> {
    /// The digest of a folder that already has the content to install, if the origin takes such a
    /// folder over.
    fn adopted_digest(&self) -> Option<Digest> {
        match self.requested.map(|requested| requested.source) {
            Some(SkillSource::Locked(locked)) if self.owner.is_none() => Some(locked.digest),
            _ => None,
        }
    }
}

/// What is present in the sink under the name of a candidate.
#[derive(Default)]
struct ObservedFolder {
    exists: bool,
    digest: Option<Digest>,
    /// The new index entry, if the folder had to be read.
    index_update: Option<Option<DirSnapshot>>,
}

impl SinkPlanner<'_> {
    /// Plans one sink.
    pub(super) fn plan(&self, target: &SinkTarget, index: &DigestIndex) -> Result<SinkPlan> {
        let sink = &target.sink;
        let records: Vec<&InstallRecord> =
            self.state.installs.iter().filter(|install| sink.matches_record(install)).collect();
        self.refuse_foreign_packs(target, &records)?;
        let recorded = self.recorded_folders(sink, &records)?;
        let dir = sink.pinned.dir();
        let candidates = self.folder_candidates(target, &recorded)?;
        let observed: Result<Vec<ObservedFolder>> = candidates
            .par_iter()
            .with_min_len(FOLDERS_PER_JOB)
            .map(|candidate| self.observe_folder(dir, index, candidate))
            .collect();
        let mut plan = self.empty_plan(target, &records);
        for (candidate, observed) in candidates.into_iter().zip(observed?) {
            if let Some(snapshot) = &observed.index_update {
                plan.index_updates.push((candidate.name.to_string(), snapshot.clone()));
            }
            plan.folders.extend(self.plan_folder(sink, &candidate, &observed)?);
        }
        Ok(plan)
    }

    /// Returns a plan without folders.
    fn empty_plan(&self, target: &SinkTarget, records: &[&InstallRecord]) -> SinkPlan {
        let planned_pack = |wanted: &TargetSet| {
            let name = wanted.set.origin.name();
            let recorded = records.iter().find(|install| install.pack == name);
            let agents = recorded.map(|install| target.agents_after(self.request, install));
            PlannedPack {
                origin: Arc::clone(&wanted.set.origin),
                agents: agents.unwrap_or_else(|| wanted.agents.clone()),
            }
        };
        let recorded_pack = |install: &&InstallRecord| RecordedPack {
            name: install.pack.clone(),
            source: install.source.clone(),
            agents: AgentSet::of_record(install),
            agents_after: target.agents_after(self.request, install),
            is_uninstalled: self.request.uninstalls(target, install),
        };
        SinkPlan {
            sink: target.sink.clone(),
            folders: Vec::new(),
            packs: target.sets.iter().map(planned_pack).collect(),
            recorded_packs: records.iter().map(recorded_pack).collect(),
            moved_to: target.departures.iter().find_map(|it| it.moved_to.clone()),
            index_updates: Vec::new(),
        }
    }

    /// Refuses a pack if the sink has one of the same name from another source, or if one would
    /// move into it.
    fn refuse_foreign_packs(&self, target: &SinkTarget, records: &[&InstallRecord]) -> Result<()> {
        if self.request.replace == ReplacePolicy::Allow {
            return Ok(());
        }
        let is_moved =
            |install: &&InstallRecord| target.sink.former.iter().any(|it| it.has_install(install));
        for origin in target.origins() {
            let moved = self.state.installs.iter().filter(is_moved);
            let mut known = records.iter().copied().chain(moved);
            let same_name = known.find(|install| install.pack == origin.name());
            if let Some(install) = same_name
                && !is_same_source(&install.source, origin)
            {
                return Err(self.foreign_pack_error(&target.sink, origin, install));
            }
        }
        Ok(())
    }

    fn foreign_pack_error(
        &self,
        sink: &Sink,
        origin: &SkillOrigin,
        install: &InstallRecord,
    ) -> Error {
        let context = self.session.context;
        let display = |source: &InstallSource| context.display_path(Path::new(&source.to_string()));
        let message = format!(
            "the pack `{}` is already installed in `{}` from another source",
            origin.name(),
            context.display_path(&sink.path)
        );
        Error::new(ErrorCode::PackFromElsewhere, message)
            .because(format!(
                "the installed pack is `{}`, and this one is `{}`",
                display(&install.source),
                display(&origin.install_source())
            ))
            .hint("add `--replace` to replace the installed pack")
    }

    /// Whether the request removes an installed pack from the sink.
    fn is_removed(&self, target: &SinkTarget, install: &InstallRecord) -> bool {
        target.agents_after(self.request, install).is_empty()
    }

    fn recorded_folders<'r>(
        &self,
        sink: &Sink,
        records: &[&'r InstallRecord],
    ) -> Result<Vec<RecordedFolder<'r>>> {
        let mut recorded = Vec::new();
        for owner in records {
            let skills: HashMap<&str, &SkillRecord> =
                owner.skills.iter().map(|skill| (skill.folder.as_str(), skill)).collect();
            for path in &owner.installed_paths {
                let name = recorded_folder_name(self.session.context, owner, path, &sink.path)?;
                let record = skills.get(name.as_str()).copied();
                recorded.push(RecordedFolder { name, owner, record });
            }
        }
        Ok(recorded)
    }

    /// Returns the requested folders, then the recorded folders that are to be removed.
    fn folder_candidates<'r>(
        &self,
        target: &'r SinkTarget,
        recorded: &[RecordedFolder<'r>],
    ) -> Result<Vec<FolderCandidate<'r>>> {
        let mut candidates = self.requested_folders(target, recorded)?;
        let requested_folders: HashSet<&str> =
            candidates.iter().map(|candidate| candidate.name.as_str()).collect();
        let is_obsolete = |folder: &&RecordedFolder<'_>| {
            (self.is_removed(target, folder.owner) || target.has_pack(&folder.owner.pack))
                && !requested_folders.contains(folder.name.as_str())
        };
        let removed: Vec<FolderCandidate<'r>> = recorded
            .iter()
            .filter(is_obsolete)
            .map(|folder| FolderCandidate {
                name: folder.name.clone(),
                requested: None,
                owner: Some(folder.owner),
                record: folder.record,
                installed_digest: folder.record.map(|record| record.digest),
                may_replace: true,
            })
            .collect();
        candidates.extend(removed);
        let unrecorded = unrecorded_folders(target, &candidates, recorded)?;
        candidates.extend(unrecorded);
        Ok(candidates)
    }

    fn requested_folders<'r>(
        &self,
        target: &'r SinkTarget,
        recorded: &[RecordedFolder<'r>],
    ) -> Result<Vec<FolderCandidate<'r>>> {
        let by_name: HashMap<&str, &RecordedFolder<'r>> =
            recorded.iter().map(|folder| (folder.name.as_str(), folder)).collect();
        let mut candidates: Vec<FolderCandidate<'r>> = Vec::new();
        // File systems may ignore case and normalization, so names are compared folded.
        let mut origin_by_folder: HashMap<String, &SkillOrigin> = HashMap::new();
        for TargetSet { set, .. } in &target.sets {
            let origin = &*set.origin;
            for InstallableSkill { folder: name, source } in &set.skills {
                if let Some(other) = origin_by_folder.insert(fold_name(name.as_str()), origin) {
                    return Err(shared_folder_error(other, origin, name));
                }
                let folder = by_name.get(name.as_str());
                let owner = folder.map(|folder| folder.owner);
                let record = folder.and_then(|folder| folder.record);
                let locked = origin.locked_folder(name.as_str()).filter(|_| owner.is_none());
                candidates.push(FolderCandidate {
                    name: name.clone(),
                    requested: Some(RequestedSkill { origin, source }),
                    owner,
                    record,
                    installed_digest: record.map(|record| record.digest).or(locked),
                    may_replace: locked.is_some()
                        || owner.is_some_and(|owner| {
                            owner.pack == origin.name() || self.is_removed(target, owner)
                        }),
                });
            }
        }
        Ok(candidates)
    }

    /// Looks at a folder, and reads it if its digest is needed and not in the index.
    fn observe_folder(
        &self,
        dir: Option<&Dir>,
        index: &DigestIndex,
        candidate: &FolderCandidate<'_>,
    ) -> Result<ObservedFolder> {
        self.session.context.check_cancelled()?;
        let Some(dir) = dir else {
            return Ok(ObservedFolder::default());
        };
        let name = &candidate.name;
        if let Some(digest) = index.digest(dir, name.as_str(), Follow::Never, StampScope::All) {
            return Ok(ObservedFolder { exists: true, digest: Some(digest), index_update: None });
        }
        let Some(stamp) = dir.stat(name, Follow::Never)? else {
            return Ok(ObservedFolder::default());
        };
        let is_compared = candidate.may_replace && candidate.installed_digest.is_some()
            || candidate.adopted_digest().is_some();
        if !is_compared || stamp.kind() != EntryKind::Dir {
            return Ok(ObservedFolder { exists: true, digest: None, index_update: None });
        }
        let hashed = hash_installed(&dir.open_dir(name, Follow::Never)?, &self.session.limits)?;
        let Some(HashedDir { tree, stamps }) = hashed else {
            return Ok(ObservedFolder { exists: true, digest: None, index_update: Some(None) });
        };
        let digest = tree.digest();
        let now = (self.session.context.wall_clock)();
        let snapshot = DirSnapshot::from_settled(name.as_str(), digest, stamps, now);
        Ok(ObservedFolder { exists: true, digest: Some(digest), index_update: Some(snapshot) })
    }

    /// Decides what happens to a folder. Returns `None` if a folder to remove is already gone.
    fn plan_folder(
        &self,
        sink: &Sink,
        candidate: &FolderCandidate<'_>,
        observed: &ObservedFolder,
    ) -> Result<Option<FolderPlan>> {
        let is_adopted = observed.digest.is_some() && observed.digest == candidate.adopted_digest();
        if observed.exists && !candidate.may_replace && !is_adopted {
            return Err(self.not_owned_error(sink, candidate));
        }
        let recorded = candidate.installed_digest.or(observed.digest.filter(|_| is_adopted));
        let edited = observed.exists && recorded.is_some() && observed.digest != recorded;
        let before = if observed.exists { PriorState::Ours(recorded) } else { PriorState::Absent };
        let removal = FolderPlan {
            name: candidate.name.clone(),
            pack: candidate.owner.map(|owner| owner.pack.clone()).unwrap_or_default(),
            id: candidate.record.map(|record| record.id.clone()),
            action: FolderAction::Remove,
            source: None,
            digest: None,
            recorded_digest: None,
            edited,
            before,
            current_digest: observed.digest,
        };
        let Some(RequestedSkill { origin, source }) = candidate.requested else {
            return Ok(observed.exists.then_some(removal));
        };
        let digest = self.source_digest(source, candidate);
        let action = install_action(observed, digest);
        Ok(Some(FolderPlan {
            pack: origin.name().to_owned(),
            id: Some(source.id().to_owned()),
            action,
            source: Some(source.clone()),
            digest,
            edited: edited && action == FolderAction::Update,
            ..removal
        }))
    }

    /// Returns the digest of a skill in its source, if it is known without reading the source.
    ///
    /// An import is unchanged if the folder has the same git tree, or comes from the same commit,
    /// as when it was installed. Its digest is then the recorded one.
    fn source_digest(
        &self,
        source: &SkillSource,
        candidate: &FolderCandidate<'_>,
    ) -> Option<Digest> {
        match source {
            SkillSource::Local { skills_dir, id, .. } => self.digests.get(&skills_dir.join(id)),
            SkillSource::Package { content, .. } => Some(content.digest()),
            SkillSource::Locked(locked) => Some(locked.digest),
            SkillSource::Git { checkout, id, .. } => {
                let (record, owner) = (candidate.record?, candidate.owner?);
                let tree = checkout.tree.folder_object(id);
                let same_tree = tree.is_some() && tree == record.git_tree.as_deref();
                let import = record.import.and_then(|number| owner.imports.get(number));
                let same_commit = record.id == *id
                    && import.is_some_and(|import| {
                        import.commit == checkout.commit && import.repo == checkout.repo.display_url
                    });
                (same_tree || same_commit).then_some(record.digest)
            }
        }
    }

    fn not_owned_error(&self, sink: &Sink, candidate: &FolderCandidate<'_>) -> Error {
        let message = format!(
            "`{}` in `{}` was not installed by this pack",
            candidate.name,
            self.session.context.display_path(&sink.path)
        );
        let is_project = candidate
            .requested
            .is_some_and(|requested| matches!(requested.origin, SkillOrigin::Project(_)));
        let prefix = if is_project {
            "add a `prefix` to the entry in `skillpack.yaml`"
        } else {
            "set a different `install.prefix`"
        };
        match candidate.owner {
            Some(owner) => Error::new(ErrorCode::NotOwned, message)
                .because(format!(
                    "the directory belongs to the pack `{}` from `{}`",
                    owner.pack,
                    self.session.context.display_path(Path::new(&owner.source.to_string()))
                ))
                .hint(format!(
                    "run `sp uninstall {} --agent {}`, or {prefix}",
                    owner.pack,
                    AgentSet::of_record(owner).names().join(",")
                )),
            None => Error::new(ErrorCode::NotOwned, message)
                .because("the directory was created by hand or by another tool")
                .hint(format!("move it to another directory, or {prefix}")),
        }
    }
}

/// Decides what happens to the folder of a skill whose content has this digest.
fn install_action(observed: &ObservedFolder, digest: Option<Digest>) -> FolderAction {
    if !observed.exists {
        FolderAction::Add
    } else if digest.is_some() && digest == observed.digest {
        FolderAction::Keep
    } else {
        FolderAction::Update
    }
}

/// Whether a record comes from a pack file or package. A record without a source may.
fn is_same_source(recorded: &InstallSource, origin: &SkillOrigin) -> bool {
    match (recorded, origin) {
        (InstallSource::PackFile(file), _) if file.is_empty() => true,
        (InstallSource::PackFile(file), SkillOrigin::Pack(pack)) => is_file_of(file, pack),
        (InstallSource::Package(name), SkillOrigin::Package(package)) => *name == package.name,
        (InstallSource::Project(manifest), SkillOrigin::Project(project)) => {
            *manifest == project.manifest
        }
        (
            InstallSource::PackFile(_) | InstallSource::Package(_) | InstallSource::Project(_),
            SkillOrigin::Pack(_) | SkillOrigin::Package(_) | SkillOrigin::Project(_),
        ) => false,
    }
}

/// Whether a recorded path is that of the pack file, perhaps through links.
fn is_file_of(recorded: &str, pack: &PackOrigin) -> bool {
    let recorded = Path::new(recorded);
    recorded == pack.file || recorded.canonicalize().is_ok_and(|real| real == pack.file)
}

/// Returns the folders that belong to an origin without being recorded, and that it does not
/// request anymore.
fn unrecorded_folders<'r>(
    target: &'r SinkTarget,
    candidates: &[FolderCandidate<'r>],
    recorded: &[RecordedFolder<'r>],
) -> Result<Vec<FolderCandidate<'r>>> {
    let locked = target.origins().flat_map(SkillOrigin::locked_folders);
    let candidates = candidates.iter().map(|candidate| candidate.name.as_str());
    let known: HashSet<&str> =
        candidates.chain(recorded.iter().map(|known| known.name.as_str())).collect();
    let is_unrecorded = |(folder, _): &(&str, Digest)| !known.contains(folder);
    let candidate = |(folder, digest): (&str, Digest)| {
        Ok(FolderCandidate {
            name: Name::new(folder)?,
            requested: None,
            owner: None,
            record: None,
            installed_digest: Some(digest),
            may_replace: true,
        })
    };
    locked.filter(is_unrecorded).map(candidate).collect()
}

fn shared_folder_error(first: &SkillOrigin, second: &SkillOrigin, folder: &Name) -> Error {
    let (first, second) = (first.name(), second.name());
    Error::new(
        ErrorCode::NameCollision,
        format!("the packs `{first}` and `{second}` would both install `{folder}`"),
    )
    .hint("set a different `install.prefix` in one of them")
}

/// Returns the folder name of a recorded path, which must lie directly in the sink.
fn recorded_folder_name(
    context: &Context<'_>,
    install: &InstallRecord,
    path: &str,
    sink: &Path,
) -> Result<Name> {
    let refuse = |why: String| {
        let message = format!(
            "`{path}`, which is recorded for the pack `{}`, is not a directory in `{}`",
            install.pack,
            context.display_path(sink)
        );
        let state_file = context.display_path(&context.home.join("state.json"));
        Error::new(ErrorCode::StateMismatch, message)
            .because(why)
            .hint(format!("nothing was changed: remove the path from `{state_file}`"))
    };
    let full = Path::new(path);
    let (Some(parent), Some(name)) = (full.parent(), full.file_name()) else {
        return Err(refuse("it has no name".into()));
    };
    // Paths are compared by name. A link inside the sink may lead back to the sink, and resolving
    // it would give folders that `sp` did not install.
    let inside = parent == sink || parent == Path::new(&install.sink_path);
    if !inside || full.components().any(|part| part == Component::ParentDir) {
        return Err(refuse(format!("it is in `{}`", parent.display())));
    }
    Name::new(&name.to_string_lossy()).map_err(|why| refuse(why.to_string()))
}
