//! The skills that can be served, and where each stands: `repo/…`, `bag/…`, `sink/<name>/…`, `package/<name>/…`.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use sp_formats::mcp::{
    MAX_SKILL_BYTES, MAX_SKILL_FILES, McpSkillEntry, McpSkillError, McpSkillFrontmatter,
    check_size, read_frontmatter, skill_entry, skill_path,
};
use sp_formats::skill::SKILL_FILE;
use sp_formats::state::InstallRecord;
use sp_tree::{
    Dir, Follow, Limits, LoadedTree, Name, RelPath, TreeKind, count_untrusted, read_beneath,
    visit_untrusted,
};

use super::digest_cache::{UnpackedSkills, UnpackedSkillsCache};
use crate::context::{Context, Event};
use crate::error::Result;
use crate::home::read_state;
use crate::pkg::{load_stored, newest_skill_packages};
use crate::repository::SkillRepository;
use crate::session::Session;
use crate::sinks::{agent_for_sink, global_dir};
use crate::workspace::workspace_dir::{is_workspace, skill_folders};

/// Which skills are meant.
#[derive(Debug, Clone, Default)]
pub struct LibraryFilter {
    /// The repository or workspace, if it was given.
    pub root: Option<PathBuf>,
    /// Where skills come from; none means everywhere.
    pub origins: Vec<String>,
}

impl LibraryFilter {
    /// What skills can come from.
    pub const ORIGINS: [&str; 4] = ["repo", "bag", "sink", "package"];

    fn includes(&self, origin: &str) -> bool {
        self.origins.is_empty() || self.origins.iter().any(|one| one == origin)
    }
}

/// Every skill that there is, not read yet.
pub struct SkillLibrary {
    limits: Limits,
    groups: Vec<SkillGroup>,
    /// Folders with a `SKILL.md` that are no skills because another stands below them.
    shadowed: Vec<String>,
}

/// Skills that are kept together.
struct SkillGroup {
    /// Where they stand among those that are served.
    prefix: String,
    content: SkillGroupContent,
}

enum SkillGroupContent {
    /// Folders on the disk, from a directory.
    Folders(PathBuf, Vec<String>),
    /// In a package.
    Package(UnpackedSkills),
}

/// A skill of the library.
#[derive(Debug, Clone, Copy)]
pub struct SkillHandle {
    group: usize,
    skill: usize,
}

/// A skill that was read.
pub struct LibrarySkill {
    /// Where it stands among those that are served.
    pub path: String,
    /// What the top of its `SKILL.md` says.
    pub front: McpSkillFrontmatter,
    /// The text of its `SKILL.md`.
    pub text: String,
}

impl SkillLibrary {
    /// Looks for skills.
    pub fn open(
        context: &Context<'_>,
        wanted: &LibraryFilter,
        unpacked: &UnpackedSkillsCache,
    ) -> Result<Self> {
        let session = Session::begin(context)?;
        let (mut shelves, mut covered) = (Vec::new(), Vec::new());
        let mut authoring = None;
        if wanted.includes("repo") {
            authoring = SkillRepository::find(context, wanted.root.as_deref())
                .ok()
                .filter(|it| it.skills_dir().is_dir());
        }
        if let Some(authoring) = &authoring {
            let found = authoring.skills(&session, None)?;
            covered = found.shadowed;
            shelves.push(SkillGroup {
                prefix: "repo".into(),
                content: SkillGroupContent::Folders(authoring.skills_dir(), found.ids),
            });
        }
        if wanted.includes("bag") {
            shelves.extend(workspace_group(context, wanted.root.as_deref())?);
        }
        if wanted.includes("sink") {
            let served_already = |install: &InstallRecord| {
                let package =
                    wanted.includes("package") && install.pack_file.starts_with("ctxpkg:");
                let file = Path::new(&install.pack_file);
                package
                    || authoring.as_ref().is_some_and(|authoring| is_below(file, &authoring.root))
            };
            shelves.extend(sink_groups(&session, &served_already)?);
        }
        if wanted.includes("package") {
            shelves.extend(package_groups(&session, unpacked)?);
        }
        Ok(Self { limits: served_limits(&session.limits), groups: shelves, shadowed: covered })
    }

    /// What looks like a skill and is none, with the reason.
    pub fn shadowed_skills(&self) -> impl Iterator<Item = String> {
        self.shadowed.iter().map(|id| format!("repo/{id}: another skill stands below it"))
    }

    /// Every place, in the order in which skills are listed.
    pub fn handles(&self) -> impl Iterator<Item = SkillHandle> {
        let skills = self.groups.iter().map(|shelf| match &shelf.content {
            SkillGroupContent::Folders(_, ids) => ids.len(),
            SkillGroupContent::Package(skills) => skills.len(),
        });
        skills.enumerate().flat_map(|(shelf, count)| {
            (0..count).map(move |skill| SkillHandle { group: shelf, skill })
        })
    }

    /// The folder of a skill among all that are served. It tells places apart.
    pub fn folder_path(&self, place: SkillHandle) -> String {
        let shelf = &self.groups[place.group];
        let id = match &shelf.content {
            SkillGroupContent::Folders(_, ids) => &ids[place.skill],
            SkillGroupContent::Package(skills) => &skills[place.skill].0,
        };
        format!("{}/{id}", shelf.prefix)
    }

    /// Reads the `SKILL.md` of a skill that can be served.
    pub fn skill(&self, place: SkillHandle) -> Result<LibrarySkill, McpSkillError> {
        if let SkillGroupContent::Folders(..) = &self.groups[place.group].content {
            let (files, bytes) =
                count_untrusted(&self.open_dir(place)?, &self.limits).map_err(unreadable)?;
            check_size(files, bytes)?;
        }
        let missing = || McpSkillError::Unreadable(format!("it has no `{SKILL_FILE}` any more"));
        let bytes = self.read(place, SKILL_FILE)?.ok_or_else(missing)?;
        let front = read_frontmatter(&bytes, &self.limits)?;
        let path = skill_path(&self.folder_path(place), &front.name);
        let text = String::from_utf8(bytes)
            .map_err(|_| McpSkillError::Frontmatter("is not UTF-8 text".into()))?;
        Ok(LibrarySkill { path, front, text })
    }

    /// A skill with all of its files, each with its digest.
    pub fn entry(&self, place: SkillHandle) -> Result<McpSkillEntry, McpSkillError> {
        let shelf = &self.groups[place.group];
        if let SkillGroupContent::Package(skills) = &shelf.content {
            return package_entry(&self.folder_path(place), &skills[place.skill].1, &self.limits);
        }
        let dir = self.open_dir(place)?;
        let mut skill = None;
        let measured = visit_untrusted(&dir, &self.limits, &mut |path, bytes| {
            if path.as_str() == SKILL_FILE {
                skill = Some(read_frontmatter(bytes, &self.limits));
            }
        })
        .map_err(unreadable)?;
        let front = skill.ok_or_else(|| {
            McpSkillError::Unreadable(format!("it has no `{SKILL_FILE}` any more"))
        })??;
        let path = skill_path(&self.folder_path(place), &front.name);
        let files = measured.tree.entries.iter().filter_map(|one| match one.kind {
            TreeKind::File { digest, size, .. } => Some((&one.path, digest, size)),
            TreeKind::Dir => None,
        });
        skill_entry(&path, front, files)
    }

    /// Reads the `SKILL.md` of several skills.
    pub fn skills(&self, places: &[SkillHandle]) -> Vec<Result<LibrarySkill, McpSkillError>> {
        places.par_iter().with_min_len(16).map(|place| self.skill(*place)).collect()
    }

    /// Several skills with all of their files.
    pub fn entries(&self, places: &[SkillHandle]) -> Vec<Result<McpSkillEntry, McpSkillError>> {
        places.par_iter().with_min_len(8).map(|place| self.entry(*place)).collect()
    }

    /// A file of a skill, by its path in it; none if there is no such file.
    pub fn read(&self, place: SkillHandle, file: &str) -> Result<Option<Vec<u8>>, McpSkillError> {
        match &self.groups[place.group].content {
            SkillGroupContent::Package(skills) => {
                Ok(skills[place.skill].1.get(file).map(<[u8]>::to_vec))
            }
            SkillGroupContent::Folders(..) => {
                let Ok(path) = RelPath::new(file) else { return Ok(None) };
                read_beneath(&self.open_dir(place)?, &path, self.limits.file_bytes)
                    .map_err(unreadable)
            }
        }
    }

    /// The skill that a path leads into, and the rest of the path. Only skills on the way are read.
    pub fn find(&self, path: &RelPath) -> Option<(SkillHandle, String)> {
        let path = path.as_str();
        self.handles().find_map(|place| {
            let folder = self.folder_path(place);
            path.strip_prefix(&folder).filter(|rest| rest.is_empty() || rest.starts_with('/'))?;
            let skill = self.skill(place).ok()?;
            let rest = path.strip_prefix(&skill.path)?;
            let file = if rest.is_empty() { rest } else { rest.strip_prefix('/')? };
            Some((place, file.to_owned()))
        })
    }

    fn open_dir(&self, place: SkillHandle) -> Result<Dir, McpSkillError> {
        let SkillGroupContent::Folders(base, ids) = &self.groups[place.group].content else {
            return Err(McpSkillError::Unreadable("it is in a package".into()));
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

fn package_entry(
    folder: &str,
    content: &LoadedTree,
    limits: &Limits,
) -> Result<McpSkillEntry, McpSkillError> {
    let bytes = content.get(SKILL_FILE).unwrap_or_default();
    let front = read_frontmatter(bytes, limits)?;
    let path = skill_path(folder, &front.name);
    skill_entry(&path, front, content.file_digests())
}

/// No host takes more than this, so nothing more is read.
fn served_limits(limits: &Limits) -> Limits {
    Limits {
        skill_entries: limits.skill_entries.min(MAX_SKILL_FILES as u64 * 2),
        skill_bytes: limits.skill_bytes.min(MAX_SKILL_BYTES),
        file_bytes: limits.file_bytes.min(MAX_SKILL_BYTES),
        ..limits.clone()
    }
}

fn unreadable(why: impl std::fmt::Display) -> McpSkillError {
    McpSkillError::Unreadable(why.to_string())
}

fn is_below(path: &Path, root: &Path) -> bool {
    path.canonicalize()
        .is_ok_and(|path| root.canonicalize().is_ok_and(|root| path.starts_with(root)))
}

/// The skills of a workspace, if there is one.
fn workspace_group(context: &Context<'_>, root: Option<&Path>) -> Result<Option<SkillGroup>> {
    let root = match root {
        Some(root) => Some(context.absolute(root)).filter(|root| is_workspace(root)),
        None => crate::workspace::find_root(context, None).ok(),
    };
    let Some(dir) = root.map(|root| root.join(sp_formats::workspace::SKILLS_DIR)) else {
        return Ok(None);
    };
    let has_skill = |folder: &String| dir.join(folder).join(SKILL_FILE).is_file();
    let folders = skill_folders(&dir)?.into_iter().filter(has_skill).collect();
    Ok(Some(SkillGroup { prefix: "bag".into(), content: SkillGroupContent::Folders(dir, folders) }))
}

/// The skills of the newest version of each package of skills in the store. A package that cannot be
/// read is reported and left out.
fn package_groups(
    session: &Session<'_>,
    unpacked: &UnpackedSkillsCache,
) -> Result<Vec<SkillGroup>> {
    let mut groups = Vec::new();
    for stored in newest_skill_packages(session)? {
        let unpack = || -> Result<UnpackedSkills> {
            Ok(load_stored(session, &stored)?.skills().skills.into())
        };
        match unpacked.get_or_try_insert(&stored.digest, unpack) {
            Ok(skills) => groups.push(SkillGroup {
                prefix: format!("package/{}", stored.name.as_str().trim_start_matches('@')),
                content: SkillGroupContent::Package(skills),
            }),
            Err(error) => session.context.emit(Event::Warning(error.to_string())),
        }
    }
    Ok(groups)
}

/// The skills that are on record in the user's sinks and those of this project; what is the same in several stands
/// once, and what is served from where it came from does not stand here.
fn sink_groups(
    session: &Session<'_>,
    served_already: &dyn Fn(&InstallRecord) -> bool,
) -> Result<Vec<SkillGroup>> {
    let context = session.context;
    let mut seen = HashSet::new();
    let mut shelves: Vec<SkillGroup> = Vec::new();
    for install in
        read_state(context)?.installs.into_iter().filter(|install| !served_already(install))
    {
        let Some(prefix) = sink_prefix(session, &install) else { continue };
        let mut folders: Vec<String> = install
            .skills
            .iter()
            .filter(|skill| {
                Name::new(&skill.folder).is_ok()
                    && seen.insert((skill.folder.clone(), skill.digest))
            })
            .map(|skill| skill.folder.clone())
            .collect();
        folders.sort();
        let kept = SkillGroupContent::Folders(install.sink_path.into(), folders);
        shelves.push(SkillGroup { prefix, content: kept });
    }
    shelves.sort_by(|a, b| a.prefix.cmp(&b.prefix));
    Ok(shelves)
}

/// Where the skills of a sink stand; none if it is that of another project.
fn sink_prefix(session: &Session<'_>, install: &InstallRecord) -> Option<String> {
    let (context, name) = (session.context, install.sink.as_str());
    let path = Path::new(&install.sink_path);
    let is = |other: &Path| other == path || other.canonicalize().is_ok_and(|real| real == path);
    let global = global_dir(context, &session.config, name, agent_for_sink(name)).ok();
    match global.is_some_and(|global| is(&global)) {
        true => Some(format!("sink/{name}")),
        false => is_below(path, &context.current_dir).then(|| format!("sink/{name}/here")),
    }
}
