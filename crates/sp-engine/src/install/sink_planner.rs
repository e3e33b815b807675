//! Planning one sink: the requested packs compared with the state and with the sink itself.
//!
//! Planning reads the folders of the sink where the digest index does not know them, and changes
//! nothing. It refuses to plan a change to a folder that the state does not record for a pack of
//! the request or for a pack that is being removed.

use std::collections::{HashMap, HashSet};
use std::path::{Component, Path};

use rayon::prelude::*;
use sp_formats::output::FolderAction;
use sp_formats::state::{InstallRecord, InstallState, SkillRecord};
use sp_tree::transaction::PriorState;
use sp_tree::{
    Digest, DigestIndex, Dir, DirSnapshot, EntryKind, Follow, HashedDir, Name, StampScope,
    fold_name, hash_installed,
};

use super::local_digests::LocalDigests;
use super::plan::{FolderPlan, OtherPacks, PlanRequest, ReplacePolicy, SinkPlan};
use super::selection::{ResolvedPack, SkillIndex};
use crate::context::Context;
use crate::error::{Error, ErrorCode, Result};
use crate::select::SkillSource;
use crate::session::Session;
use crate::sinks::Sink;

/// Folders per rayon job. Looking at one folder is too little work for a job of its own.
const FOLDERS_PER_JOB: usize = 16;

/// Plans the changes of sinks.
pub(super) struct SinkPlanner<'a> {
    pub session: &'a Session<'a>,
    pub state: &'a InstallState,
    pub request: &'a PlanRequest<'a>,
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
    /// The skill to install. `None` if the folder is to be removed.
    skill: Option<SkillIndex>,
    owner: Option<&'r InstallRecord>,
    record: Option<&'r SkillRecord>,
    /// Whether this operation may replace or remove an existing folder.
    may_replace: bool,
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
    pub(super) fn plan(&self, sink: &Sink, index: &DigestIndex) -> Result<SinkPlan> {
        let records: Vec<&InstallRecord> =
            self.state.installs.iter().filter(|install| sink.matches_record(install)).collect();
        self.refuse_foreign_packs(sink, &records)?;
        let recorded = self.recorded_folders(sink, &records)?;
        let dir = sink.pinned.dir();
        let candidates = self.folder_candidates(sink, &recorded)?;
        let observed: Result<Vec<ObservedFolder>> = candidates
            .par_iter()
            .with_min_len(FOLDERS_PER_JOB)
            .map(|candidate| self.observe_folder(dir, index, candidate))
            .collect();
        let mut plan = self.empty_plan(sink, &records);
        for (candidate, observed) in candidates.into_iter().zip(observed?) {
            if let Some(snapshot) = &observed.index_update {
                plan.index_updates.push((candidate.name.to_string(), snapshot.clone()));
            }
            plan.folders.extend(self.plan_folder(sink, &candidate, &observed)?);
        }
        Ok(plan)
    }

    /// Returns a plan without folders.
    fn empty_plan(&self, sink: &Sink, records: &[&InstallRecord]) -> SinkPlan {
        let removed = records.iter().filter(|install| self.is_removed(sink, install));
        let recorded = records.iter();
        SinkPlan {
            sink: sink.clone(),
            folders: Vec::new(),
            packs: self.request.packs_in(&sink.path).map(|(pack, _)| pack).collect(),
            removed_packs: removed.map(|install| install.pack.clone()).collect(),
            recorded_packs: recorded
                .map(|install| (install.pack.clone(), install.pack_file.clone()))
                .collect(),
            index_updates: Vec::new(),
        }
    }

    /// Refuses a pack if the sink has one of the same name from another pack file.
    fn refuse_foreign_packs(&self, sink: &Sink, records: &[&InstallRecord]) -> Result<()> {
        if self.request.replace == ReplacePolicy::Allow {
            return Ok(());
        }
        for (_, pack) in self.request.packs_in(&sink.path) {
            let same_name = records
                .iter()
                .find(|install| install.pack == pack.name() && !install.pack_file.is_empty());
            if let Some(install) = same_name
                && !is_same_file(Path::new(&install.pack_file), &pack.file.path)
            {
                return Err(self.foreign_pack_error(sink, pack, install));
            }
        }
        Ok(())
    }

    fn foreign_pack_error(
        &self,
        sink: &Sink,
        pack: &ResolvedPack,
        install: &InstallRecord,
    ) -> Error {
        let context = self.session.context;
        let message = format!(
            "a pack called `{}` is already installed in `{}` from another place",
            pack.name(),
            context.display_path(&sink.path)
        );
        Error::new(ErrorCode::PackFromElsewhere, message)
            .because(format!(
                "it came from `{}`, and this one is `{}`",
                context.display_path(Path::new(&install.pack_file)),
                context.display_path(&pack.file.path)
            ))
            .hint("add `--replace` to put this one in its place")
    }

    /// Whether the request removes an installed pack from the sink.
    fn is_removed(&self, sink: &Sink, install: &InstallRecord) -> bool {
        let is_requested =
            || self.request.packs_in(&sink.path).any(|(_, pack)| pack.name() == install.pack);
        self.request.removed_packs.contains(&install.pack)
            || self.request.other_packs == OtherPacks::Remove && !is_requested()
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
        sink: &Sink,
        recorded: &[RecordedFolder<'r>],
    ) -> Result<Vec<FolderCandidate<'r>>> {
        let mut candidates = self.requested_folders(sink, recorded)?;
        let requested_packs: HashSet<&str> =
            self.request.packs_in(&sink.path).map(|(_, pack)| pack.name()).collect();
        let requested_folders: HashSet<&str> =
            candidates.iter().map(|candidate| candidate.name.as_str()).collect();
        let removed: Vec<FolderCandidate<'r>> = recorded
            .iter()
            .filter(|folder| {
                (self.is_removed(sink, folder.owner)
                    || requested_packs.contains(folder.owner.pack.as_str()))
                    && !requested_folders.contains(folder.name.as_str())
            })
            .map(|folder| FolderCandidate {
                name: folder.name.clone(),
                skill: None,
                owner: Some(folder.owner),
                record: folder.record,
                may_replace: true,
            })
            .collect();
        candidates.extend(removed);
        Ok(candidates)
    }

    fn requested_folders<'r>(
        &self,
        sink: &Sink,
        recorded: &[RecordedFolder<'r>],
    ) -> Result<Vec<FolderCandidate<'r>>> {
        let by_name: HashMap<&str, &RecordedFolder<'r>> =
            recorded.iter().map(|folder| (folder.name.as_str(), folder)).collect();
        let mut candidates: Vec<FolderCandidate<'r>> = Vec::new();
        // File systems may ignore case and normalization, so names are compared folded.
        let mut pack_by_folder: HashMap<String, &ResolvedPack> = HashMap::new();
        for (pack_index, pack) in self.request.packs_in(&sink.path) {
            for (skill_index, skill) in pack.skills.iter().enumerate() {
                if let Some(other) = pack_by_folder.insert(fold_name(skill.folder.as_str()), pack) {
                    return Err(shared_folder_error(other, pack, &skill.folder));
                }
                let folder = by_name.get(skill.folder.as_str());
                let owner = folder.map(|folder| folder.owner);
                candidates.push(FolderCandidate {
                    name: skill.folder.clone(),
                    skill: Some(SkillIndex { pack: pack_index, skill: skill_index }),
                    owner,
                    record: folder.and_then(|folder| folder.record),
                    may_replace: owner.is_some_and(|owner| {
                        owner.pack == pack.name() || self.is_removed(sink, owner)
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
        if !candidate.may_replace || stamp.kind() != EntryKind::Dir || candidate.record.is_none() {
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
        if observed.exists && !candidate.may_replace {
            return Err(self.not_owned_error(sink, candidate));
        }
        let recorded = candidate.record.map(|record| record.digest);
        let edited = observed.exists && recorded.is_some() && observed.digest != recorded;
        let before = if observed.exists { PriorState::Ours(recorded) } else { PriorState::Absent };
        let plan = FolderPlan {
            id: candidate.record.map(|record| record.id.clone()),
            pack: candidate.owner.map(|owner| owner.pack.clone()).unwrap_or_default(),
            name: candidate.name.clone(),
            skill: candidate.skill,
            action: FolderAction::Remove,
            edited,
            before,
            current_digest: observed.digest,
            unchanged_digest: None,
        };
        let Some(index) = candidate.skill else {
            return Ok(observed.exists.then_some(plan));
        };
        let action = self.skill_action(index, candidate, observed);
        let pack = &self.request.packs[index.pack];
        Ok(Some(FolderPlan {
            id: Some(pack.skills[index.skill].id.clone()),
            pack: pack.name().to_owned(),
            action,
            edited: edited && action == FolderAction::Update,
            unchanged_digest: observed.digest.filter(|_| action == FolderAction::Keep),
            ..plan
        }))
    }

    /// Decides what happens to the folder of a skill to install.
    fn skill_action(
        &self,
        index: SkillIndex,
        candidate: &FolderCandidate<'_>,
        observed: &ObservedFolder,
    ) -> FolderAction {
        let source_digest = self.source_digest(index, candidate);
        if !observed.exists {
            FolderAction::Add
        } else if source_digest.is_some() && source_digest == observed.digest {
            FolderAction::Keep
        } else {
            FolderAction::Update
        }
    }

    /// Returns the digest of a skill in its source, if it is known without reading the source.
    ///
    /// An import is unchanged if the folder has the same git tree, or comes from the same commit,
    /// as when it was installed. Its digest is then the recorded one.
    fn source_digest(&self, index: SkillIndex, candidate: &FolderCandidate<'_>) -> Option<Digest> {
        let pack = &self.request.packs[index.pack];
        let skill = &pack.skills[index.skill];
        match skill.source {
            SkillSource::Local => self.digests.get(index),
            SkillSource::Package(number) => {
                pack.packaged_skills.as_ref().map(|packaged| packaged.contents[number].digest())
            }
            SkillSource::Import(number) => {
                let (record, owner) = (candidate.record?, candidate.owner?);
                let checkout = &pack.checkouts[number];
                let tree = checkout.tree.folder_object(&skill.id);
                let same_tree = tree.is_some() && tree == record.git_tree.as_deref();
                let import = record.import.and_then(|number| owner.imports.get(number));
                let same_commit = record.id == skill.id
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
        let prefix = "give this pack another `install.prefix`";
        match candidate.owner {
            Some(owner) => Error::new(ErrorCode::NotOwned, message)
                .because(format!(
                    "`{}` from `{}` owns it",
                    owner.pack,
                    self.session.context.display_path(Path::new(&owner.pack_file))
                ))
                .hint(format!("`sp uninstall {} --agent {}`, or {prefix}", owner.pack, sink.name)),
            None => Error::new(ErrorCode::NotOwned, message)
                .because("no pack owns it: somebody put it there by hand, or with another tool")
                .hint(format!("move it away, or {prefix}")),
        }
    }
}

fn is_same_file(a: &Path, b: &Path) -> bool {
    a == b || matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b)
}

fn shared_folder_error(first: &ResolvedPack, second: &ResolvedPack, folder: &Name) -> Error {
    let (first, second) = (first.name(), second.name());
    Error::new(
        ErrorCode::NameCollision,
        format!("the packs `{first}` and `{second}` would both install `{folder}`"),
    )
    .hint("give one of them another `install.prefix`")
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
            "the state records `{path}` for the pack `{}`, which is not a folder in `{}`",
            install.pack,
            context.display_path(sink)
        );
        let state_file = context.display_path(&context.home.join("state.json"));
        Error::new(ErrorCode::StateMismatch, message)
            .because(why)
            .hint(format!("nothing was changed. Take the path out of `{state_file}`"))
    };
    let full = Path::new(path);
    let (Some(parent), Some(name)) = (full.parent(), full.file_name()) else {
        return Err(refuse("it has no name".into()));
    };
    // Paths are compared by name. A link inside the sink may lead back to the sink, and resolving
    // it would give folders that `sp` did not install.
    let inside = parent == sink || parent == Path::new(&install.sink_path);
    if !inside || full.components().any(|part| part == Component::ParentDir) {
        return Err(refuse(format!("it lies in `{}`", parent.display())));
    }
    Name::new(&name.to_string_lossy()).map_err(|why| refuse(why.to_string()))
}
