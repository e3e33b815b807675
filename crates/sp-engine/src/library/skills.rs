//! The skills that can be served, and where each stands: `repo/…`, `bag/…`, `sink/<name>/…`, `package/<name>/…`.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use sp_formats::mcp::{Front, MOST_BYTES, MOST_FILES, SkillEntry, Unserved, entry, front, must_fit, skill_path};
use sp_formats::skill::SKILL_FILE;
use sp_formats::state::Install;
use sp_tree::{Content, Dir, Follow, Limits, Name, RelPath, TreeKind, glance, read_beneath, survey};

use super::kept::{PackedSkills, Unpacked};
use crate::authoring::Authoring;
use crate::bag::workspace::{is_workspace, skill_folders};
use crate::config::Session;
use crate::context::Context;
use crate::error::Result;
use crate::home::read_state;
use crate::sinks::{agent_of, global_dir};

/// Which skills are meant.
#[derive(Debug, Clone, Default)]
pub struct Shelves {
    /// The repository or workspace, if it was given.
    pub root: Option<PathBuf>,
    /// Where skills come from; none means everywhere.
    pub origins: Vec<String>,
}

impl Shelves {
    /// What skills can come from.
    pub const ORIGINS: [&str; 4] = ["repo", "bag", "sink", "package"];

    fn wants(&self, origin: &str) -> bool {
        self.origins.is_empty() || self.origins.iter().any(|one| one == origin)
    }
}

/// Every skill that there is, not read yet.
pub struct Library {
    limits: Limits,
    shelves: Vec<Shelf>,
    /// Folders with a `SKILL.md` that are no skills because another stands below them.
    covered: Vec<String>,
}

/// Skills that are kept together.
struct Shelf {
    /// Where they stand among those that are served.
    prefix: String,
    kept: Kept,
}

enum Kept {
    /// Folders on the disk, from a directory.
    Folders(PathBuf, Vec<String>),
    /// In a package.
    Packed(PackedSkills),
}

/// A skill of the library.
#[derive(Debug, Clone, Copy)]
pub struct Place {
    shelf: usize,
    skill: usize,
}

/// A skill that was read.
pub struct LibrarySkill {
    /// Where it stands among those that are served.
    pub path: String,
    /// What the top of its `SKILL.md` says.
    pub front: Front,
    /// The text of its `SKILL.md`.
    pub text: String,
}

impl Library {
    /// Looks for skills.
    pub fn open(context: &Context<'_>, wanted: &Shelves, unpacked: &Unpacked) -> Result<Self> {
        let session = Session::begin(context)?;
        let (mut shelves, mut covered) = (Vec::new(), Vec::new());
        let mut authoring = None;
        if wanted.wants("repo") {
            authoring = Authoring::find(context, wanted.root.as_deref()).ok().filter(|it| it.skills_dir().is_dir());
        }
        if let Some(authoring) = &authoring {
            let found = authoring.skills(&session, None)?;
            covered = found.hidden;
            shelves.push(Shelf { prefix: "repo".into(), kept: Kept::Folders(authoring.skills_dir(), found.ids) });
        }
        if wanted.wants("bag") {
            shelves.extend(bag(context, wanted.root.as_deref())?);
        }
        if wanted.wants("sink") {
            let served_already = |install: &Install| {
                let package = wanted.wants("package") && install.pack_file.starts_with("ctxpkg:");
                let file = Path::new(&install.pack_file);
                package || authoring.as_ref().is_some_and(|authoring| is_below(file, &authoring.root))
            };
            shelves.extend(sinks(&session, &served_already)?);
        }
        if wanted.wants("package") {
            for (name, skills) in crate::pkg::skills_of_store(&session, unpacked)? {
                shelves.push(Shelf { prefix: format!("package/{name}"), kept: Kept::Packed(skills) });
            }
        }
        Ok(Self { limits: served_limits(&session.limits), shelves, covered })
    }

    /// What looks like a skill and is none, with the reason.
    pub fn covered(&self) -> impl Iterator<Item = String> {
        self.covered.iter().map(|id| format!("repo/{id}: another skill stands below it"))
    }

    /// Every place, in the order in which skills are listed.
    pub fn places(&self) -> impl Iterator<Item = Place> {
        let skills = self.shelves.iter().map(|shelf| match &shelf.kept {
            Kept::Folders(_, ids) => ids.len(),
            Kept::Packed(skills) => skills.len(),
        });
        skills.enumerate().flat_map(|(shelf, count)| (0..count).map(move |skill| Place { shelf, skill }))
    }

    /// The folder of a skill among all that are served. It tells places apart.
    pub fn folder(&self, place: Place) -> String {
        let shelf = &self.shelves[place.shelf];
        let id = match &shelf.kept {
            Kept::Folders(_, ids) => &ids[place.skill],
            Kept::Packed(skills) => &skills[place.skill].0,
        };
        format!("{}/{id}", shelf.prefix)
    }

    /// Reads the `SKILL.md` of a skill that can be served.
    pub fn skill(&self, place: Place) -> Result<LibrarySkill, Unserved> {
        if let Kept::Folders(..) = &self.shelves[place.shelf].kept {
            let (files, bytes) = glance(&self.dir(place)?, &self.limits).map_err(unreadable)?;
            must_fit(files, bytes)?;
        }
        let missing = || Unserved::Unreadable(format!("it has no `{SKILL_FILE}` any more"));
        let bytes = self.read(place, SKILL_FILE)?.ok_or_else(missing)?;
        let front = front(&bytes, &self.limits)?;
        let path = skill_path(&self.folder(place), &front.name);
        let text = String::from_utf8(bytes).map_err(|_| Unserved::Front("is not UTF-8 text".into()))?;
        Ok(LibrarySkill { path, front, text })
    }

    /// A skill with all of its files, each with its digest.
    pub fn entry(&self, place: Place) -> Result<SkillEntry, Unserved> {
        let shelf = &self.shelves[place.shelf];
        if let Kept::Packed(skills) = &shelf.kept {
            return packed_entry(&self.folder(place), &skills[place.skill].1, &self.limits);
        }
        let dir = self.dir(place)?;
        let mut skill = None;
        let measured = survey(&dir, &self.limits, &mut |path, bytes| {
            if path.as_str() == SKILL_FILE {
                skill = Some(front(bytes, &self.limits));
            }
        })
        .map_err(unreadable)?;
        let front = skill.ok_or_else(|| Unserved::Unreadable(format!("it has no `{SKILL_FILE}` any more")))??;
        let path = skill_path(&self.folder(place), &front.name);
        let files = measured.tree.entries.iter().filter_map(|one| match one.kind {
            TreeKind::File { digest, size, .. } => Some((&one.path, digest, size)),
            TreeKind::Dir => None,
        });
        entry(&path, front, files)
    }

    /// Reads the `SKILL.md` of several skills.
    pub fn skills(&self, places: &[Place]) -> Vec<Result<LibrarySkill, Unserved>> {
        places.par_iter().with_min_len(16).map(|place| self.skill(*place)).collect()
    }

    /// Several skills with all of their files.
    pub fn entries(&self, places: &[Place]) -> Vec<Result<SkillEntry, Unserved>> {
        places.par_iter().with_min_len(8).map(|place| self.entry(*place)).collect()
    }

    /// A file of a skill, by its path in it; none if there is no such file.
    pub fn read(&self, place: Place, file: &str) -> Result<Option<Vec<u8>>, Unserved> {
        match &self.shelves[place.shelf].kept {
            Kept::Packed(skills) => Ok(skills[place.skill].1.get(file).map(<[u8]>::to_vec)),
            Kept::Folders(..) => {
                let Ok(path) = RelPath::new(file) else { return Ok(None) };
                read_beneath(&self.dir(place)?, &path, self.limits.file_bytes).map_err(unreadable)
            }
        }
    }

    /// The skill that a path leads into, and the rest of the path. Only skills on the way are read.
    pub fn find(&self, path: &RelPath) -> Option<(Place, String)> {
        let path = path.as_str();
        self.places().find_map(|place| {
            let folder = self.folder(place);
            path.strip_prefix(&folder).filter(|rest| rest.is_empty() || rest.starts_with('/'))?;
            let skill = self.skill(place).ok()?;
            let rest = path.strip_prefix(&skill.path)?;
            let file = if rest.is_empty() { rest } else { rest.strip_prefix('/')? };
            Some((place, file.to_owned()))
        })
    }

    fn dir(&self, place: Place) -> Result<Dir, Unserved> {
        let Kept::Folders(base, ids) = &self.shelves[place.shelf].kept else {
            return Err(Unserved::Unreadable("it is in a package".into()));
        };
        // A link on the way could lead to anything that the user may read.
        let mut dir = Dir::open(base).map_err(unreadable)?;
        for segment in ids[place.skill].split('/') {
            let name = Name::new(segment).map_err(unreadable)?;
            dir = dir.open_dir(&name, Follow::Never).map_err(unreadable)?;
        }
        Ok(dir)
    }
}

fn packed_entry(folder: &str, content: &Content, limits: &Limits) -> Result<SkillEntry, Unserved> {
    let bytes = content.get(SKILL_FILE).unwrap_or_default();
    let front = front(bytes, limits)?;
    let path = skill_path(folder, &front.name);
    entry(&path, front, content.digests())
}

/// No host takes more than this, so nothing more is read.
fn served_limits(limits: &Limits) -> Limits {
    Limits {
        skill_entries: limits.skill_entries.min(MOST_FILES as u64 * 2),
        skill_bytes: limits.skill_bytes.min(MOST_BYTES),
        file_bytes: limits.file_bytes.min(MOST_BYTES),
        ..limits.clone()
    }
}

fn unreadable(why: impl std::fmt::Display) -> Unserved {
    Unserved::Unreadable(why.to_string())
}

fn is_below(path: &Path, root: &Path) -> bool {
    path.canonicalize().is_ok_and(|path| root.canonicalize().is_ok_and(|root| path.starts_with(root)))
}

/// The skills of a workspace, if there is one.
fn bag(context: &Context<'_>, root: Option<&Path>) -> Result<Option<Shelf>> {
    let root = match root {
        Some(root) => Some(context.absolute(root)).filter(|root| is_workspace(root)),
        None => crate::bag::find_root(context, None).ok(),
    };
    let Some(dir) = root.map(|root| root.join(sp_formats::bag::ROOT)) else { return Ok(None) };
    let has_skill = |folder: &String| dir.join(folder).join(SKILL_FILE).is_file();
    let folders = skill_folders(&dir)?.into_iter().filter(has_skill).collect();
    Ok(Some(Shelf { prefix: "bag".into(), kept: Kept::Folders(dir, folders) }))
}

/// The skills that are on record in the user's sinks and those of this project; what is the same in several stands
/// once, and what is served from where it came from does not stand here.
fn sinks(session: &Session<'_>, served_already: &dyn Fn(&Install) -> bool) -> Result<Vec<Shelf>> {
    let context = session.context;
    let mut seen = HashSet::new();
    let mut shelves: Vec<Shelf> = Vec::new();
    for install in read_state(context)?.installs.into_iter().filter(|install| !served_already(install)) {
        let Some(prefix) = sink_prefix(session, &install) else { continue };
        let mut folders: Vec<String> = install
            .skills
            .iter()
            .filter(|skill| Name::new(&skill.folder).is_ok() && seen.insert((skill.folder.clone(), skill.digest)))
            .map(|skill| skill.folder.clone())
            .collect();
        folders.sort();
        let kept = Kept::Folders(install.sink_path.into(), folders);
        shelves.push(Shelf { prefix, kept });
    }
    shelves.sort_by(|a, b| a.prefix.cmp(&b.prefix));
    Ok(shelves)
}

/// Where the skills of a sink stand; none if it is that of another project.
fn sink_prefix(session: &Session<'_>, install: &Install) -> Option<String> {
    let (context, name) = (session.context, install.sink.as_str());
    let path = Path::new(&install.sink_path);
    let is = |other: &Path| other == path || other.canonicalize().is_ok_and(|real| real == path);
    let global = global_dir(context, &session.config, name, agent_of(name)).ok();
    match global.is_some_and(|global| is(&global)) {
        true => Some(format!("sink/{name}")),
        false => is_below(path, &context.current_dir).then(|| format!("sink/{name}/here")),
    }
}
