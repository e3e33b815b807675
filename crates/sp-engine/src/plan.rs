//! What would change: selections held against sinks and state, as a value.
//!
//! Making a plan looks at the sinks and reads what it must to compare, and changes nothing.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rayon::prelude::*;
use sp_formats::output::{FolderAction, FolderChange, SinkChange};
use sp_formats::state::{Install, SkillRecord, State};
use sp_tree::atomic::Readers;
use sp_tree::transaction::Before;
use sp_tree::{
    Check, Digest, Dir, EntryKind, Follow, Index, Measured, Name, Snapshot, Zeroize, fold, hash_scanned, measure, scan,
};

use crate::config::Session;
use crate::context::Context;
use crate::error::{Error, Kind, Result};
use crate::home::Indexes;
use crate::resolve::Origin;
use crate::show::Chosen;
use crate::sinks::Sink;

/// What happens to the other packs of a sink.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Others {
    /// They stay, as with `sp install`.
    Stay,
    /// They go, as with `sp switch`.
    Go,
}

/// Whether a pack of the same name from another place may be replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replace {
    /// Refuse.
    Refuse,
    /// Go on.
    Allow,
}

/// What is asked for in every sink.
pub(crate) struct Wanted<'a> {
    pub packs: &'a [Chosen],
    /// Packs that go, by name.
    pub removed: Vec<String>,
    pub others: Others,
    pub replace: Replace,
    pub places: Places,
}

/// Which packs belong into which sinks.
pub(crate) enum Places {
    /// Each into every one.
    Everywhere,
    /// Each into these, by the sink's real path and the number of the pack.
    Only(HashSet<(PathBuf, usize)>),
}

impl Wanted<'_> {
    /// The packs that belong into a sink, with their numbers.
    fn packs_in<'s>(&'s self, sink: &'s Path) -> impl Iterator<Item = (usize, &'s Chosen)> {
        let belongs = move |number: usize| match &self.places {
            Places::Everywhere => true,
            Places::Only(places) => places.contains(&(sink.to_path_buf(), number)),
        };
        self.packs.iter().enumerate().filter(move |(number, _)| belongs(*number))
    }
}

/// The changes.
pub(crate) struct Plan {
    pub sinks: Vec<SinkPlan>,
    pub files: Vec<FilePlan>,
}

/// A file that comes, changes or goes together with the folders.
pub(crate) struct FilePlan {
    /// The real path of the directory.
    pub dir: PathBuf,
    pub name: Name,
    pub before: Before,
    /// What it is to hold; nothing removes it.
    pub bytes: Option<Arc<[u8]>>,
    /// Who may read it if it is new. A file that exists keeps its permissions.
    pub readers: Readers,
    /// Directories that are removed with it if nothing else is in them, by real path, outermost first.
    pub remove_if_empty: Vec<PathBuf>,
}

impl FilePlan {
    pub(crate) fn new(dir: PathBuf, name: Name, before: Before, bytes: Option<Arc<[u8]>>) -> Self {
        Self { dir, name, before, bytes, readers: Readers::Anybody, remove_if_empty: Vec::new() }
    }

    /// The same for a file that only its owner may read, if it is new.
    pub(crate) fn private(mut self) -> Self {
        self.readers = Readers::Owner;
        self
    }
}

impl Drop for FilePlan {
    fn drop(&mut self) {
        // Private files hold keys.
        if let (Readers::Owner, Some(bytes)) = (self.readers, self.bytes.as_mut().and_then(Arc::get_mut)) {
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
    pub recorded: Vec<(String, String)>,
    /// What was learnt of folders by reading them.
    pub learnt: Vec<(String, Option<Snapshot>)>,
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
    pub before: Before,
    /// The digest of what is there, if it was looked at.
    pub seen: Option<Digest>,
    /// The digest that it has and keeps.
    pub digest: Option<Digest>,
}

impl SinkPlan {
    /// The plan in the words of the output.
    pub(crate) fn describe(&self, packs: &[Chosen]) -> SinkChange {
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
pub(crate) fn recorded_folder(context: &Context<'_>, install: &Install, path: &str, sink: &Path) -> Result<Name> {
    let refuse = |why: String| {
        Error::new(
            Kind::Trust,
            format!(
                "the state records `{path}` for the pack `{}`, which is not a folder in `{}`",
                install.pack,
                context.show(sink)
            ),
        )
        .because(why)
        .hint(format!("nothing was changed. Take the path out of `{}`", context.show(&context.home.join("state.json"))))
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
pub(crate) struct Planner<'a> {
    pub session: &'a Session<'a>,
    pub state: &'a State,
    pub wanted: &'a Wanted<'a>,
    pub digests: &'a LocalDigests,
}

impl Planner<'_> {
    /// Plans one sink.
    pub(crate) fn plan(&self, sink: &Sink, index: &Index) -> Result<SinkPlan> {
        let records: Vec<&Install> = self.state.installs.iter().filter(|install| sink.has(install)).collect();
        self.refuse_strangers(sink, &records)?;
        let goes = |install: &Install| {
            let named = self.wanted.packs_in(&sink.path).any(|(_, chosen)| chosen.file.pack.name == install.pack);
            self.wanted.removed.contains(&install.pack) || self.wanted.others == Others::Go && !named
        };
        let owned = self.owned(sink, &records)?;
        let dir = sink.pinned.dir();
        let mut jobs = self.jobs(sink, &owned, &goes)?;
        let looks: Result<Vec<Look>> = jobs.par_iter().with_min_len(16).map(|job| self.look(dir, index, job)).collect();
        let mut plan = SinkPlan {
            sink: sink.clone(),
            folders: Vec::new(),
            packs: self.wanted.packs_in(&sink.path).map(|(number, _)| number).collect(),
            removed_packs: records.iter().filter(|install| goes(install)).map(|install| install.pack.clone()).collect(),
            recorded: records.iter().map(|install| (install.pack.clone(), install.pack_file.clone())).collect(),
            learnt: Vec::new(),
        };
        for (job, look) in jobs.drain(..).zip(looks?) {
            if let Some(learnt) = &look.learnt {
                plan.learnt.push((job.name.to_string(), learnt.clone()));
            }
            plan.folders.extend(self.decide(sink, job, &look)?);
        }
        Ok(plan)
    }

    /// A pack of the same name from another file is somebody else's.
    fn refuse_strangers(&self, sink: &Sink, records: &[&Install]) -> Result<()> {
        if self.wanted.replace == Replace::Allow {
            return Ok(());
        }
        for (_, chosen) in self.wanted.packs_in(&sink.path) {
            let (name, ours) = (&chosen.file.pack.name, &chosen.file.path);
            let theirs = records.iter().find(|install| install.pack == *name && !install.pack_file.is_empty());
            let Some(theirs) = theirs.filter(|install| !same_file(Path::new(&install.pack_file), ours)) else {
                continue;
            };
            let message = format!(
                "a pack called `{name}` is already installed in `{}` from another place",
                self.session.context.show(&sink.path)
            );
            let because = format!(
                "it came from `{}`, and this one is `{}`",
                self.session.context.show(Path::new(&theirs.pack_file)),
                self.session.context.show(ours)
            );
            return Err(Error::new(Kind::Trust, message)
                .because(because)
                .hint("add `--replace` to put this one in its place"));
        }
        Ok(())
    }

    /// Which record owns which folder of the sink.
    fn owned<'r>(
        &self,
        sink: &Sink,
        records: &[&'r Install],
    ) -> Result<Vec<(Name, &'r Install, Option<&'r SkillRecord>)>> {
        let mut owned = Vec::new();
        for install in records {
            let skills: HashMap<&str, &SkillRecord> =
                install.skills.iter().map(|skill| (skill.folder.as_str(), skill)).collect();
            for path in &install.installed_paths {
                let name = recorded_folder(self.session.context, install, path, &sink.path)?;
                let skill = skills.get(name.as_str()).copied();
                owned.push((name, *install, skill));
            }
        }
        Ok(owned)
    }

    /// Every folder that is wanted or recorded, with who has it now.
    fn jobs<'r>(
        &self,
        sink: &Sink,
        owned: &[(Name, &'r Install, Option<&'r SkillRecord>)],
        goes: &dyn Fn(&Install) -> bool,
    ) -> Result<Vec<Job<'r>>> {
        let by_name: HashMap<&str, usize> =
            owned.iter().enumerate().map(|(at, (name, ..))| (name.as_str(), at)).collect();
        let mut jobs: Vec<Job<'r>> = Vec::new();
        let mut taken: HashMap<String, usize> = HashMap::new();
        for (pack, chosen) in self.wanted.packs_in(&sink.path) {
            for (at, skill) in chosen.skills.iter().enumerate() {
                let owner = by_name.get(skill.folder.as_str()).map(|&at| owned[at].1);
                let record = by_name.get(skill.folder.as_str()).and_then(|&at| owned[at].2);
                let ours = owner.is_some_and(|owner| owner.pack == chosen.file.pack.name || goes(owner));
                if let Some(other) = taken.insert(fold(skill.folder.as_str()), pack) {
                    let other = &self.wanted.packs[other].file.pack.name;
                    return Err(Error::new(
                        Kind::Data,
                        format!(
                            "the packs `{other}` and `{}` would both install `{}`",
                            chosen.file.pack.name, skill.folder
                        ),
                    )
                    .hint("give one of them another `install.prefix`"));
                }
                jobs.push(Job { name: skill.folder.clone(), skill: Some((pack, at)), owner, record, ours });
            }
        }
        let named: HashSet<&str> =
            self.wanted.packs_in(&sink.path).map(|(_, chosen)| chosen.file.pack.name.as_str()).collect();
        let wanted: HashSet<&str> = jobs.iter().map(|job| job.name.as_str()).collect();
        let gone: Vec<Job<'r>> = owned
            .iter()
            .filter(|(name, owner, _)| {
                (goes(owner) || named.contains(owner.pack.as_str())) && !wanted.contains(name.as_str())
            })
            .map(|(name, owner, record)| Job {
                name: name.clone(),
                skill: None,
                owner: Some(owner),
                record: *record,
                ours: true,
            })
            .collect();
        jobs.extend(gone);
        Ok(jobs)
    }

    /// Looks at a folder, and reads it where the index does not know it.
    fn look(&self, dir: Option<&Dir>, index: &Index, job: &Job<'_>) -> Result<Look> {
        self.session.context.go_on()?;
        let Some(dir) = dir else {
            return Ok(Look::default());
        };
        // A folder that goes and is recorded with its digest is compared when it is disposed of.
        if let Some(digest) = index.digest(dir, job.name.as_str(), Follow::Never, Check::All) {
            return Ok(Look { there: true, digest: Some(digest), learnt: None });
        }
        let Some(stamp) = dir.look(&job.name, Follow::Never)? else {
            return Ok(Look::default());
        };
        if !job.ours || stamp.kind() != EntryKind::Dir || job.record.is_none() {
            return Ok(Look { there: true, digest: None, learnt: None });
        }
        let measured = measure(&dir.open_dir(&job.name, Follow::Never)?, &self.session.limits)?;
        Ok(match measured {
            None => Look { there: true, digest: None, learnt: Some(None) },
            Some(Measured { tree, stamps }) => {
                let digest = tree.digest();
                let learnt = Snapshot::settled(job.name.as_str(), digest, stamps, (self.session.context.wall_clock)());
                Look { there: true, digest: Some(digest), learnt: Some(learnt) }
            }
        })
    }

    fn decide(&self, sink: &Sink, job: Job<'_>, look: &Look) -> Result<Option<FolderPlan>> {
        if look.there && !job.ours {
            return Err(self.not_ours(sink, &job));
        }
        let recorded = job.record.map(|record| record.digest);
        let edited = look.there && recorded.is_some() && look.digest != recorded;
        let before = if look.there { Before::Ours(recorded) } else { Before::Nothing };
        let Some((pack, at)) = job.skill else {
            let folder = FolderPlan {
                id: job.record.map(|record| record.id.clone()),
                pack: job.owner.map(|owner| owner.pack.clone()).unwrap_or_default(),
                name: job.name,
                skill: None,
                action: FolderAction::Remove,
                edited,
                before,
                seen: look.digest,
                digest: None,
            };
            // Gone already: there is nothing to do but to forget it.
            return Ok(look.there.then_some(folder));
        };
        let digest = self.wanted_digest(pack, at, &job);
        let action = match look.there {
            false => FolderAction::Add,
            true if digest.is_some() && digest == look.digest => FolderAction::Keep,
            true => FolderAction::Update,
        };
        let chosen = &self.wanted.packs[pack];
        Ok(Some(FolderPlan {
            id: Some(chosen.skills[at].id.clone()),
            pack: chosen.file.pack.name.clone(),
            name: job.name,
            skill: Some((pack, at)),
            action,
            edited: edited && action == FolderAction::Update,
            before,
            seen: look.digest,
            digest: look.digest.filter(|_| action == FolderAction::Keep),
        }))
    }

    /// The digest that the skill has in its source, as far as it is known without reading it again.
    fn wanted_digest(&self, pack: usize, at: usize, job: &Job<'_>) -> Option<Digest> {
        let chosen = &self.wanted.packs[pack];
        let skill = &chosen.skills[at];
        match skill.origin {
            Origin::Local => self.digests.of((pack, at)),
            Origin::Packed(number) => chosen.packed.as_ref().map(|packed| packed.contents[number].digest()),
            Origin::Import(number) => {
                let (record, owner) = (job.record?, job.owner?);
                let checkout = &chosen.checkouts[number];
                let tree = checkout.tree.folder_object(&skill.id);
                let same_tree = tree.is_some() && tree == record.git_tree.as_deref();
                let was = record.import.and_then(|number| owner.imports.get(number));
                let same_commit = record.id == skill.id
                    && was.is_some_and(|was| was.commit == checkout.commit && was.repo == checkout.repo.written);
                (same_tree || same_commit).then_some(record.digest)
            }
        }
    }

    fn not_ours(&self, sink: &Sink, job: &Job<'_>) -> Error {
        let message =
            format!("`{}` in `{}` was not installed by this pack", job.name, self.session.context.show(&sink.path));
        let prefix = "give this pack another `install.prefix`";
        match job.owner {
            Some(owner) => Error::new(Kind::Trust, message)
                .because(format!(
                    "`{}` from `{}` owns it",
                    owner.pack,
                    self.session.context.show(Path::new(&owner.pack_file))
                ))
                .hint(format!("`sp uninstall {} --agent {}`, or {prefix}", owner.pack, sink.name)),
            None => Error::new(Kind::Trust, message)
                .because("no pack owns it: somebody put it there by hand, or with another tool")
                .hint(format!("move it away, or {prefix}")),
        }
    }
}

/// A folder that is wanted or recorded.
struct Job<'r> {
    name: Name,
    skill: Option<(usize, usize)>,
    owner: Option<&'r Install>,
    record: Option<&'r SkillRecord>,
    /// Whether this command may replace or remove it.
    ours: bool,
}

/// What stands in a folder's place.
#[derive(Default)]
struct Look {
    there: bool,
    digest: Option<Digest>,
    learnt: Option<Option<Snapshot>>,
}

fn same_file(a: &Path, b: &Path) -> bool {
    a == b || matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b)
}

/// The folders of sinks that are on record with what they hold.
pub(crate) fn folders_on_record<'s>(state: &'s State, sinks: &[Sink]) -> HashSet<&'s str> {
    let is_here = |install: &&Install| sinks.iter().any(|sink| sink.has(install));
    let folders = |install: &'s Install| install.skills.iter().map(|skill| skill.folder.as_str());
    state.installs.iter().filter(is_here).flat_map(folders).collect()
}

/// The digests of local skills, by pack and skill.
pub(crate) struct LocalDigests(HashMap<(usize, usize), Digest>);

impl LocalDigests {
    /// Finds the digests of the skills that go into these folders.
    pub(crate) fn find(
        session: &Session<'_>,
        packs: &[Chosen],
        is_needed: &dyn Fn(&str) -> bool,
        indexes: &mut Indexes<'_>,
    ) -> Result<Self> {
        let mut digests = HashMap::new();
        for (pack, chosen) in packs.iter().enumerate() {
            let root = chosen.authoring.skills_dir();
            let needed: Vec<usize> = (0..chosen.skills.len())
                .filter(|&at| chosen.skills[at].origin == Origin::Local && is_needed(chosen.skills[at].folder.as_str()))
                .collect();
            if needed.is_empty() {
                continue;
            }
            let dir = Dir::open(&root)?;
            let index = indexes.of(&root);
            let found: Result<Vec<Learnt>> =
                needed.par_iter().with_min_len(16).map(|&at| local_digest(session, &dir, index, chosen, at)).collect();
            for Learnt { at, digest, snapshot } in found? {
                digests.insert((pack, at), digest);
                if let Some(snapshot) = snapshot {
                    index.set(&chosen.skills[at].id, snapshot.as_ref());
                }
            }
        }
        Ok(Self(digests))
    }

    /// The digest of a skill, by pack and skill, if it was found.
    pub(crate) fn of(&self, skill: (usize, usize)) -> Option<Digest> {
        self.0.get(&skill).copied()
    }
}

/// The digest of a local skill and, if it had to be read, what the index is told of it.
struct Learnt {
    at: usize,
    digest: Digest,
    snapshot: Option<Option<Snapshot>>,
}

fn local_digest(session: &Session<'_>, root: &Dir, index: &Index, chosen: &Chosen, at: usize) -> Result<Learnt> {
    session.context.go_on()?;
    let id = &chosen.skills[at].id;
    if let Some(digest) = index.digest(root, id, Follow::Links, chosen.check) {
        return Ok(Learnt { at, digest, snapshot: None });
    }
    let dir = Dir::open(&chosen.local_dir(id))?;
    let scanned = scan(&dir, &session.limits)?;
    let Measured { tree, stamps } = hash_scanned(&dir, &scanned, &session.limits)?;
    let digest = tree.digest();
    let snapshot = Snapshot::settled(id, digest, stamps, (session.context.wall_clock)());
    Ok(Learnt { at, digest, snapshot: Some(snapshot) })
}
