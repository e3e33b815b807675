//! What would change: selections held against sinks and state, as a value.
//!
//! Making a plan looks at the sinks and reads what it must to compare, and changes nothing.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rayon::prelude::*;
use sp_formats::output::{FolderAction, FolderChange, SinkChange};
use sp_formats::state::{InstallRecord, InstallState, SkillRecord};
use sp_tree::atomic::FileAccess;
use sp_tree::transaction::PriorState;
use sp_tree::{
    Digest, DigestIndex, Dir, DirSnapshot, EntryKind, Follow, HashedDir, Name, StampScope, Zeroize,
    fold_name, hash_installed, hash_scanned, scan_dir,
};

use crate::config::Session;
use crate::context::Context;
use crate::error::{Error, FailureKind, Result};
use crate::home::DigestIndexes;
use crate::resolve::SkillSource;
use crate::show::ResolvedPack;
use crate::sinks::Sink;

/// What happens to the other packs of a sink.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OtherPacks {
    /// They stay, as with `sp install`.
    Keep,
    /// They go, as with `sp switch`.
    Remove,
}

/// Whether a pack of the same name from another place may be replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplacePolicy {
    /// Refuse.
    Refuse,
    /// Go on.
    Allow,
}

/// What is asked for in every sink.
pub(crate) struct PlanRequest<'a> {
    pub packs: &'a [ResolvedPack],
    /// Packs that go, by name.
    pub removed_packs: Vec<String>,
    pub other_packs: OtherPacks,
    pub replace: ReplacePolicy,
    pub targets: PackTargets,
}

/// Which packs belong into which sinks.
pub(crate) enum PackTargets {
    /// Each into every one.
    AllSinks,
    /// Each into these, by the sink's real path and the number of the pack.
    Only(HashSet<(PathBuf, usize)>),
}

impl PlanRequest<'_> {
    /// The packs that belong into a sink, with their numbers.
    fn packs_in<'s>(&'s self, sink: &'s Path) -> impl Iterator<Item = (usize, &'s ResolvedPack)> {
        let belongs = move |number: usize| match &self.targets {
            PackTargets::AllSinks => true,
            PackTargets::Only(places) => places.contains(&(sink.to_path_buf(), number)),
        };
        self.packs.iter().enumerate().filter(move |(number, _)| belongs(*number))
    }
}

/// The changes.
pub(crate) struct ChangePlan {
    pub sinks: Vec<SinkPlan>,
    pub files: Vec<FilePlan>,
}

/// A file that comes, changes or goes together with the folders.
pub(crate) struct FilePlan {
    /// The real path of the directory.
    pub dir: PathBuf,
    pub name: Name,
    pub before: PriorState,
    /// What it is to hold; nothing removes it.
    pub bytes: Option<Arc<[u8]>>,
    /// Who may read it if it is new. A file that exists keeps its permissions.
    pub readers: FileAccess,
    /// Directories that are removed with it if nothing else is in them, by real path, outermost first.
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

    /// The same for a file that only its owner may read, if it is new.
    pub(crate) fn private(mut self) -> Self {
        self.readers = FileAccess::Private;
        self
    }
}

impl Drop for FilePlan {
    fn drop(&mut self) {
        // Private files hold keys.
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
    /// The packs that belong here, by number.
    pub packs: Vec<usize>,
    /// The packs that go.
    pub removed_packs: Vec<String>,
    /// The packs that are on record here before, each with the file it came from.
    pub recorded_packs: Vec<(String, String)>,
    /// What was learnt of folders by reading them.
    pub index_updates: Vec<(String, Option<DirSnapshot>)>,
}

/// What happens to one folder.
pub(crate) struct FolderPlan {
    pub name: Name,
    pub pack: String,
    /// The pack and the skill that it will hold, by number; none for a folder that goes.
    pub skill: Option<(usize, usize)>,
    pub id: Option<String>,
    pub action: FolderAction,
    pub edited: bool,
    pub before: PriorState,
    /// The digest of what is there, if it was looked at.
    pub current_digest: Option<Digest>,
    /// The digest that it has and keeps.
    pub unchanged_digest: Option<Digest>,
}

impl SinkPlan {
    /// The plan in the words of the output.
    pub(crate) fn to_sink_change(&self, packs: &[ResolvedPack]) -> SinkChange {
        SinkChange {
            sink: self.sink.name.clone(),
            path: self.sink.path.clone(),
            packs: self.packs.iter().map(|&number| packs[number].file.pack.name.clone()).collect(),
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

/// The folder's name of a path that a record has, if it lies directly in the sink.
pub(crate) fn recorded_folder_name(
    context: &Context<'_>,
    install: &InstallRecord,
    path: &str,
    sink: &Path,
) -> Result<Name> {
    let refuse = |why: String| {
        Error::new(
            FailureKind::Trust,
            format!(
                "the state records `{path}` for the pack `{}`, which is not a folder in `{}`",
                install.pack,
                context.display_path(sink)
            ),
        )
        .because(why)
        .hint(format!(
            "nothing was changed. Take the path out of `{}`",
            context.display_path(&context.home.join("state.json"))
        ))
    };
    let full = Path::new(path);
    let (Some(parent), Some(name)) = (full.parent(), full.file_name()) else {
        return Err(refuse("it has no name".into()));
    };
    // By name only: a link inside the sink may lead to the sink, and what lies behind it is not ours.
    let inside = parent == sink || parent == Path::new(&install.sink_path);
    if !inside || full.components().any(|part| part == std::path::Component::ParentDir) {
        return Err(refuse(format!("it lies in `{}`", parent.display())));
    }
    Name::new(&name.to_string_lossy()).map_err(|why| refuse(why.to_string()))
}

/// Everything that a plan for one sink is made from.
pub(crate) struct SinkPlanner<'a> {
    pub session: &'a Session<'a>,
    pub state: &'a InstallState,
    pub request: &'a PlanRequest<'a>,
    pub digests: &'a LocalDigests,
}

impl SinkPlanner<'_> {
    /// Plans one sink.
    pub(crate) fn plan(&self, sink: &Sink, index: &DigestIndex) -> Result<SinkPlan> {
        let records: Vec<&InstallRecord> =
            self.state.installs.iter().filter(|install| sink.matches_record(install)).collect();
        self.refuse_foreign_packs(sink, &records)?;
        let goes = |install: &InstallRecord| {
            let named = self
                .request
                .packs_in(&sink.path)
                .any(|(_, chosen)| chosen.file.pack.name == install.pack);
            self.request.removed_packs.contains(&install.pack)
                || self.request.other_packs == OtherPacks::Remove && !named
        };
        let owned = self.owned_folders(sink, &records)?;
        let dir = sink.pinned.dir();
        let mut jobs = self.folder_candidates(sink, &owned, &goes)?;
        let looks: Result<Vec<ObservedFolder>> = jobs
            .par_iter()
            .with_min_len(16)
            .map(|job| self.observe_folder(dir, index, job))
            .collect();
        let mut plan = SinkPlan {
            sink: sink.clone(),
            folders: Vec::new(),
            packs: self.request.packs_in(&sink.path).map(|(number, _)| number).collect(),
            removed_packs: records
                .iter()
                .filter(|install| goes(install))
                .map(|install| install.pack.clone())
                .collect(),
            recorded_packs: records
                .iter()
                .map(|install| (install.pack.clone(), install.pack_file.clone()))
                .collect(),
            index_updates: Vec::new(),
        };
        for (job, look) in jobs.drain(..).zip(looks?) {
            if let Some(learnt) = &look.index_update {
                plan.index_updates.push((job.name.to_string(), learnt.clone()));
            }
            plan.folders.extend(self.decide(sink, job, &look)?);
        }
        Ok(plan)
    }

    /// A pack of the same name from another file is somebody else's.
    fn refuse_foreign_packs(&self, sink: &Sink, records: &[&InstallRecord]) -> Result<()> {
        if self.request.replace == ReplacePolicy::Allow {
            return Ok(());
        }
        for (_, chosen) in self.request.packs_in(&sink.path) {
            let (name, ours) = (&chosen.file.pack.name, &chosen.file.path);
            let theirs = records
                .iter()
                .find(|install| install.pack == *name && !install.pack_file.is_empty());
            let Some(theirs) =
                theirs.filter(|install| !same_file(Path::new(&install.pack_file), ours))
            else {
                continue;
            };
            let message = format!(
                "a pack called `{name}` is already installed in `{}` from another place",
                self.session.context.display_path(&sink.path)
            );
            let because = format!(
                "it came from `{}`, and this one is `{}`",
                self.session.context.display_path(Path::new(&theirs.pack_file)),
                self.session.context.display_path(ours)
            );
            return Err(Error::new(FailureKind::Trust, message)
                .because(because)
                .hint("add `--replace` to put this one in its place"));
        }
        Ok(())
    }

    /// Which record owns which folder of the sink.
    fn owned_folders<'r>(
        &self,
        sink: &Sink,
        records: &[&'r InstallRecord],
    ) -> Result<Vec<(Name, &'r InstallRecord, Option<&'r SkillRecord>)>> {
        let mut owned = Vec::new();
        for install in records {
            let skills: HashMap<&str, &SkillRecord> =
                install.skills.iter().map(|skill| (skill.folder.as_str(), skill)).collect();
            for path in &install.installed_paths {
                let name = recorded_folder_name(self.session.context, install, path, &sink.path)?;
                let skill = skills.get(name.as_str()).copied();
                owned.push((name, *install, skill));
            }
        }
        Ok(owned)
    }

    /// Every folder that is wanted or recorded, with who has it now.
    fn folder_candidates<'r>(
        &self,
        sink: &Sink,
        owned: &[(Name, &'r InstallRecord, Option<&'r SkillRecord>)],
        goes: &dyn Fn(&InstallRecord) -> bool,
    ) -> Result<Vec<FolderCandidate<'r>>> {
        let by_name: HashMap<&str, usize> =
            owned.iter().enumerate().map(|(at, (name, ..))| (name.as_str(), at)).collect();
        let mut jobs: Vec<FolderCandidate<'r>> = Vec::new();
        let mut taken: HashMap<String, usize> = HashMap::new();
        for (pack, chosen) in self.request.packs_in(&sink.path) {
            for (at, skill) in chosen.skills.iter().enumerate() {
                let owner = by_name.get(skill.folder.as_str()).map(|&at| owned[at].1);
                let record = by_name.get(skill.folder.as_str()).and_then(|&at| owned[at].2);
                let ours =
                    owner.is_some_and(|owner| owner.pack == chosen.file.pack.name || goes(owner));
                if let Some(other) = taken.insert(fold_name(skill.folder.as_str()), pack) {
                    let other = &self.request.packs[other].file.pack.name;
                    return Err(Error::new(
                        FailureKind::Data,
                        format!(
                            "the packs `{other}` and `{}` would both install `{}`",
                            chosen.file.pack.name, skill.folder
                        ),
                    )
                    .hint("give one of them another `install.prefix`"));
                }
                jobs.push(FolderCandidate {
                    name: skill.folder.clone(),
                    skill: Some((pack, at)),
                    owner,
                    record,
                    may_replace: ours,
                });
            }
        }
        let named: HashSet<&str> = self
            .request
            .packs_in(&sink.path)
            .map(|(_, chosen)| chosen.file.pack.name.as_str())
            .collect();
        let wanted: HashSet<&str> = jobs.iter().map(|job| job.name.as_str()).collect();
        let gone: Vec<FolderCandidate<'r>> = owned
            .iter()
            .filter(|(name, owner, _)| {
                (goes(owner) || named.contains(owner.pack.as_str()))
                    && !wanted.contains(name.as_str())
            })
            .map(|(name, owner, record)| FolderCandidate {
                name: name.clone(),
                skill: None,
                owner: Some(owner),
                record: *record,
                may_replace: true,
            })
            .collect();
        jobs.extend(gone);
        Ok(jobs)
    }

    /// Looks at a folder, and reads it where the index does not know it.
    fn observe_folder(
        &self,
        dir: Option<&Dir>,
        index: &DigestIndex,
        job: &FolderCandidate<'_>,
    ) -> Result<ObservedFolder> {
        self.session.context.check_cancelled()?;
        let Some(dir) = dir else {
            return Ok(ObservedFolder::default());
        };
        // A folder that goes and is recorded with its digest is compared when it is disposed of.
        if let Some(digest) = index.digest(dir, job.name.as_str(), Follow::Never, StampScope::All) {
            return Ok(ObservedFolder { exists: true, digest: Some(digest), index_update: None });
        }
        let Some(stamp) = dir.stat(&job.name, Follow::Never)? else {
            return Ok(ObservedFolder::default());
        };
        if !job.may_replace || stamp.kind() != EntryKind::Dir || job.record.is_none() {
            return Ok(ObservedFolder { exists: true, digest: None, index_update: None });
        }
        let measured =
            hash_installed(&dir.open_dir(&job.name, Follow::Never)?, &self.session.limits)?;
        Ok(match measured {
            None => ObservedFolder { exists: true, digest: None, index_update: Some(None) },
            Some(HashedDir { tree, stamps }) => {
                let digest = tree.digest();
                let learnt = DirSnapshot::from_settled(
                    job.name.as_str(),
                    digest,
                    stamps,
                    (self.session.context.wall_clock)(),
                );
                ObservedFolder { exists: true, digest: Some(digest), index_update: Some(learnt) }
            }
        })
    }

    fn decide(
        &self,
        sink: &Sink,
        job: FolderCandidate<'_>,
        look: &ObservedFolder,
    ) -> Result<Option<FolderPlan>> {
        if look.exists && !job.may_replace {
            return Err(self.not_owned_error(sink, &job));
        }
        let recorded = job.record.map(|record| record.digest);
        let edited = look.exists && recorded.is_some() && look.digest != recorded;
        let before = if look.exists { PriorState::Ours(recorded) } else { PriorState::Absent };
        let Some((pack, at)) = job.skill else {
            let folder = FolderPlan {
                id: job.record.map(|record| record.id.clone()),
                pack: job.owner.map(|owner| owner.pack.clone()).unwrap_or_default(),
                name: job.name,
                skill: None,
                action: FolderAction::Remove,
                edited,
                before,
                current_digest: look.digest,
                unchanged_digest: None,
            };
            // Gone already: there is nothing to do but to forget it.
            return Ok(look.exists.then_some(folder));
        };
        let digest = self.source_digest(pack, at, &job);
        let action = match look.exists {
            false => FolderAction::Add,
            true if digest.is_some() && digest == look.digest => FolderAction::Keep,
            true => FolderAction::Update,
        };
        let chosen = &self.request.packs[pack];
        Ok(Some(FolderPlan {
            id: Some(chosen.skills[at].id.clone()),
            pack: chosen.file.pack.name.clone(),
            name: job.name,
            skill: Some((pack, at)),
            action,
            edited: edited && action == FolderAction::Update,
            before,
            current_digest: look.digest,
            unchanged_digest: look.digest.filter(|_| action == FolderAction::Keep),
        }))
    }

    /// The digest that the skill has in its source, as far as it is known without reading it again.
    fn source_digest(&self, pack: usize, at: usize, job: &FolderCandidate<'_>) -> Option<Digest> {
        let chosen = &self.request.packs[pack];
        let skill = &chosen.skills[at];
        match skill.source {
            SkillSource::Local => self.digests.get((pack, at)),
            SkillSource::Package(number) => {
                chosen.packaged_skills.as_ref().map(|packed| packed.contents[number].digest())
            }
            SkillSource::Import(number) => {
                let (record, owner) = (job.record?, job.owner?);
                let checkout = &chosen.checkouts[number];
                let tree = checkout.tree.folder_object(&skill.id);
                let same_tree = tree.is_some() && tree == record.git_tree.as_deref();
                let was = record.import.and_then(|number| owner.imports.get(number));
                let same_commit = record.id == skill.id
                    && was.is_some_and(|was| {
                        was.commit == checkout.commit && was.repo == checkout.repo.display_url
                    });
                (same_tree || same_commit).then_some(record.digest)
            }
        }
    }

    fn not_owned_error(&self, sink: &Sink, job: &FolderCandidate<'_>) -> Error {
        let message = format!(
            "`{}` in `{}` was not installed by this pack",
            job.name,
            self.session.context.display_path(&sink.path)
        );
        let prefix = "give this pack another `install.prefix`";
        match job.owner {
            Some(owner) => Error::new(FailureKind::Trust, message)
                .because(format!(
                    "`{}` from `{}` owns it",
                    owner.pack,
                    self.session.context.display_path(Path::new(&owner.pack_file))
                ))
                .hint(format!("`sp uninstall {} --agent {}`, or {prefix}", owner.pack, sink.name)),
            None => Error::new(FailureKind::Trust, message)
                .because("no pack owns it: somebody put it there by hand, or with another tool")
                .hint(format!("move it away, or {prefix}")),
        }
    }
}

/// A folder that is wanted or recorded.
struct FolderCandidate<'r> {
    name: Name,
    skill: Option<(usize, usize)>,
    owner: Option<&'r InstallRecord>,
    record: Option<&'r SkillRecord>,
    /// Whether this command may replace or remove it.
    may_replace: bool,
}

/// What stands in a folder's place.
#[derive(Default)]
struct ObservedFolder {
    exists: bool,
    digest: Option<Digest>,
    index_update: Option<Option<DirSnapshot>>,
}

fn same_file(a: &Path, b: &Path) -> bool {
    a == b || matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b)
}

/// The folders of sinks that are on record with what they hold.
pub(crate) fn recorded_folders<'s>(state: &'s InstallState, sinks: &[Sink]) -> HashSet<&'s str> {
    let is_here = |install: &&InstallRecord| sinks.iter().any(|sink| sink.matches_record(install));
    let folders =
        |install: &'s InstallRecord| install.skills.iter().map(|skill| skill.folder.as_str());
    state.installs.iter().filter(is_here).flat_map(folders).collect()
}

/// The digests of local skills, by pack and skill.
pub(crate) struct LocalDigests(HashMap<(usize, usize), Digest>);

impl LocalDigests {
    /// Finds the digests of the skills that go into these folders.
    pub(crate) fn compute(
        session: &Session<'_>,
        packs: &[ResolvedPack],
        is_needed: &dyn Fn(&str) -> bool,
        indexes: &mut DigestIndexes<'_>,
    ) -> Result<Self> {
        let mut digests = HashMap::new();
        for (pack, chosen) in packs.iter().enumerate() {
            let root = chosen.repository.skills_dir();
            let needed: Vec<usize> = (0..chosen.skills.len())
                .filter(|&at| {
                    chosen.skills[at].source == SkillSource::Local
                        && is_needed(chosen.skills[at].folder.as_str())
                })
                .collect();
            if needed.is_empty() {
                continue;
            }
            let dir = Dir::open(&root)?;
            let index = indexes.for_dir(&root);
            let found: Result<Vec<LocalSkillDigest>> = needed
                .par_iter()
                .with_min_len(16)
                .map(|&at| local_skill_digest(session, &dir, index, chosen, at))
                .collect();
            for LocalSkillDigest { skill: at, digest, index_update: snapshot } in found? {
                digests.insert((pack, at), digest);
                if let Some(snapshot) = snapshot {
                    index.set_snapshot(&chosen.skills[at].id, snapshot.as_ref());
                }
            }
        }
        Ok(Self(digests))
    }

    /// The digest of a skill, by pack and skill, if it was found.
    pub(crate) fn get(&self, skill: (usize, usize)) -> Option<Digest> {
        self.0.get(&skill).copied()
    }
}

/// The digest of a local skill and, if it had to be read, what the index is told of it.
struct LocalSkillDigest {
    skill: usize,
    digest: Digest,
    index_update: Option<Option<DirSnapshot>>,
}

fn local_skill_digest(
    session: &Session<'_>,
    root: &Dir,
    index: &DigestIndex,
    chosen: &ResolvedPack,
    at: usize,
) -> Result<LocalSkillDigest> {
    session.context.check_cancelled()?;
    let id = &chosen.skills[at].id;
    if let Some(digest) = index.digest(root, id, Follow::Links, chosen.stamp_scope) {
        return Ok(LocalSkillDigest { skill: at, digest, index_update: None });
    }
    let dir = Dir::open(&chosen.local_skill_dir(id))?;
    let scanned = scan_dir(&dir, &session.limits)?;
    let HashedDir { tree, stamps } = hash_scanned(&dir, &scanned, &session.limits)?;
    let digest = tree.digest();
    let snapshot = DirSnapshot::from_settled(id, digest, stamps, (session.context.wall_clock)());
    Ok(LocalSkillDigest { skill: at, digest, index_update: Some(snapshot) })
}
