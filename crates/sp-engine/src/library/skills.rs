//! The skills that can be served, and their paths: `repo/…`, `bag/…`, `sink/<name>/…` and
//! `package/<name>/…`.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use sp_formats::mcp::{
    MAX_SKILL_BYTES, MAX_SKILL_FILES, McpSkillEntry, McpSkillError, McpSkillFrontmatter,
    check_size, read_frontmatter, skill_entry, skill_path,
};
use sp_formats::skill::SKILL_FILE;
use sp_formats::state::{InstallRecord, InstallSource};
use sp_tree::{
    Dir, Follow, Limits, LoadedTree, Name, RelPath, TreeKind, count_untrusted, read_beneath,
    visit_untrusted,
};

use crate::context::{Context, Event};
use crate::digest_cache::{UnpackedSkills, UnpackedSkillsCache};
use crate::error::Result;
use crate::home::read_state;
use crate::pkg::{load_stored, newest_skill_packages};
use crate::repository::SkillRepository;
use crate::session::Session;
use crate::sinks::{SinkDirs, global_dirs};
use crate::workspace::workspace_dir::{is_workspace, skill_folders};

/// Which skills to include in a library.
#[derive(Debug, Clone, Default)]
pub struct LibraryFilter {
    /// The repository or workspace given with `--root`.
    pub root: Option<PathBuf>,
    /// Where skills come from. Empty means everywhere.
    pub sources: Vec<LibrarySource>,
}

/// Where the skills of a library come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LibrarySource {
    Repository,
    Workspace,
    /// The sinks of the user and of this project.
    Sinks,
    /// The packages of the store.
    Packages,
}

impl LibraryFilter {
    fn includes(&self, source: LibrarySource) -> bool {
        self.sources.is_empty() || self.sources.contains(&source)
    }
}

/// A list of skills that are read on demand.
pub struct SkillLibrary {
    limits: Limits,
    groups: Vec<SkillGroup>,
    /// Folders of the repository that are not skills because there is another `SKILL.md` below
    /// them.
    shadowed: Vec<String>,
}

/// Skills with a common source.
struct SkillGroup {
    /// The first part of their paths.
    prefix: String,
    content: SkillGroupContent,
}

enum SkillGroupContent {
    /// A directory, and the paths of skills in it.
    Folders(PathBuf, Vec<String>),
    Package(UnpackedSkills),
}

/// The position of a skill in its library.
#[derive(Debug, Clone, Copy)]
pub struct SkillHandle {
    group: usize,
    skill: usize,
}

/// A skill that was read.
pub struct LibrarySkill {
    /// The path in the library, which ends in the name of the skill.
    pub path: String,
    pub front: McpSkillFrontmatter,
    /// The text of `SKILL.md`.
    pub text: String,
}

/// Returns the repository whose skills are served, if there is one.
fn served_repository(context: &Context<'_>, filter: &LibraryFilter) -> Option<SkillRepository> {
    if !filter.includes(LibrarySource::Repository) {
        return None;
    }
    let repository = SkillRepository::find(context, filter.root.as_deref()).ok()?;
    repository.skills_dir().is_dir().then_some(repository)
}

/// Returns whether an installed pack is served from its package or its repository.
fn is_served_already(
    install: &InstallRecord,
    filter: &LibraryFilter,
    repository: Option<&SkillRepository>,
) -> bool {
    match &install.source {
        InstallSource::Package(_) => filter.includes(LibrarySource::Packages),
        InstallSource::Project(_) => false,
        InstallSource::PackFile(file) => {
            repository.is_some_and(|repository| is_below(Path::new(file), &repository.root))
        }
    }
}

impl SkillLibrary {
    /// Finds the skills.
    pub fn open(
        context: &Context<'_>,
        filter: &LibraryFilter,
        unpacked: &UnpackedSkillsCache,
    ) -> Result<Self> {
        let session = Session::begin(context)?;
        let (mut groups, mut shadowed) = (Vec::new(), Vec::new());
        let repository = served_repository(context, filter);
        if let Some(repository) = &repository {
            let found = repository.skills(&session, None)?;
            shadowed = found.shadowed;
            groups.push(SkillGroup {
                prefix: "repo".into(),
                content: SkillGroupContent::Folders(repository.skills_dir(), found.ids),
            });
        }
        if filter.includes(LibrarySource::Workspace) {
            groups.extend(workspace_group(context, filter.root.as_deref())?);
        }
        if filter.includes(LibrarySource::Sinks) {
            let served_already =
                |install: &InstallRecord| is_served_already(install, filter, repository.as_ref());
            groups.extend(sink_groups(&session, &served_already)?);
        }
        if filter.includes(LibrarySource::Packages) {
            groups.extend(package_groups(&session, unpacked)?);
        }
        Ok(Self { limits: served_limits(&session.limits), groups, shadowed })
    }

    /// Returns messages about directories that look like skills and are not.
    pub fn shadowed_skills(&self) -> impl Iterator<Item = String> {
        self.shadowed.iter().map(|id| format!("repo/{id}: a subdirectory contains another skill"))
    }

    /// Returns all skills, in the order of listing.
    pub fn handles(&self) -> impl Iterator<Item = SkillHandle> {
        let skills = self.groups.iter().map(|group| match &group.content {
            SkillGroupContent::Folders(_, ids) => ids.len(),
            SkillGroupContent::Package(skills) => skills.len(),
        });
        skills
            .enumerate()
            .flat_map(|(group, count)| (0..count).map(move |skill| SkillHandle { group, skill }))
    }

    /// Returns the unique path of a skill's folder.
    pub fn folder_path(&self, handle: SkillHandle) -> String {
        let group = &self.groups[handle.group];
        let id = match &group.content {
            SkillGroupContent::Folders(_, ids) => &ids[handle.skill],
            SkillGroupContent::Package(skills) => &skills[handle.skill].0,
        };
        format!("{}/{id}", group.prefix)
    }

    /// Reads the `SKILL.md` of a skill. Fails if the skill cannot be served.
    pub fn skill(&self, handle: SkillHandle) -> Result<LibrarySkill, McpSkillError> {
        if let SkillGroupContent::Folders(..) = &self.groups[handle.group].content {
            let (files, bytes) =
                count_untrusted(&self.open_dir(handle)?, &self.limits).map_err(unreadable)?;
            check_size(files, bytes)?;
        }
        let missing = || McpSkillError::Unreadable(format!("it no longer has a `{SKILL_FILE}`"));
        let bytes = self.read(handle, SKILL_FILE)?.ok_or_else(missing)?;
        let front = read_frontmatter(&bytes, &self.limits)?;
        let path = skill_path(&self.folder_path(handle), &front.name);
        let text = String::from_utf8(bytes)
            .map_err(|_| McpSkillError::Frontmatter("is not UTF-8 text".into()))?;
        Ok(LibrarySkill { path, front, text })
    }

    /// Returns a skill with the digests of its files.
    pub fn entry(&self, handle: SkillHandle) -> Result<McpSkillEntry, McpSkillError> {
        let group = &self.groups[handle.group];
        if let SkillGroupContent::Package(skills) = &group.content {
            return package_entry(&self.folder_path(handle), &skills[handle.skill].1, &self.limits);
        }
        let dir = self.open_dir(handle)?;
        let mut skill = None;
        let hashed = visit_untrusted(&dir, &self.limits, &mut |path, bytes| {
            if path.as_str() == SKILL_FILE {
                skill = Some(read_frontmatter(bytes, &self.limits));
            }
        })
        .map_err(unreadable)?;
        let front = skill.ok_or_else(|| {
            McpSkillError::Unreadable(format!("it no longer has a `{SKILL_FILE}`"))
        })??;
        let path = skill_path(&self.folder_path(handle), &front.name);
        let files = hashed.tree.entries.iter().filter_map(|entry| match entry.kind {
            TreeKind::File { digest, size, .. } => Some((&entry.path, digest, size)),
            TreeKind::Dir => None,
        });
        skill_entry(&path, front, files)
    }

    /// Reads the `SKILL.md` of several skills.
    pub fn skills(&self, handles: &[SkillHandle]) -> Vec<Result<LibrarySkill, McpSkillError>> {
        handles.par_iter().with_min_len(16).map(|handle| self.skill(*handle)).collect()
    }

    /// Returns several skills with the digests of their files.
    pub fn entries(&self, handles: &[SkillHandle]) -> Vec<Result<McpSkillEntry, McpSkillError>> {
        handles.par_iter().with_min_len(8).map(|handle| self.entry(*handle)).collect()
    }

    /// Reads a file of a skill. Returns `None` if it does not exist.
    pub fn read(&self, handle: SkillHandle, file: &str) -> Result<Option<Vec<u8>>, McpSkillError> {
        match &self.groups[handle.group].content {
            SkillGroupContent::Package(skills) => {
                Ok(skills[handle.skill].1.get(file).map(<[u8]>::to_vec))
            }
            SkillGroupContent::Folders(..) => {
                let Ok(path) = RelPath::new(file) else { return Ok(None) };
                read_beneath(&self.open_dir(handle)?, &path, self.limits.file_bytes)
                    .map_err(unreadable)
            }
        }
    }

    /// Splits a path into the skill that contains it and the path in the skill. Reads only
    /// candidates.
    pub fn find(&self, path: &RelPath) -> Option<(SkillHandle, String)> {
        let path = path.as_str();
        self.handles().find_map(|handle| {
            let folder = self.folder_path(handle);
            path.strip_prefix(&folder).filter(|rest| rest.is_empty() || rest.starts_with('/'))?;
            let skill = self.skill(handle).ok()?;
            let rest = path.strip_prefix(&skill.path)?;
            let file = if rest.is_empty() { rest } else { rest.strip_prefix('/')? };
            Some((handle, file.to_owned()))
        })
    }

    fn open_dir(&self, handle: SkillHandle) -> Result<Dir, McpSkillError> {
        let SkillGroupContent::Folders(base, ids) = &self.groups[handle.group].content else {
            return Err(McpSkillError::Unreadable("it is in a package".into()));
        };
        // Following a link could expose any file that the user can read.
        let mut dir = Dir::open(base).map_err(unreadable)?;
        for segment in ids[handle.skill].split('/') {
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

/// Lowers the limits to what MCP hosts accept.
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

/// Returns the skills of the workspace, if there is one.
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

/// The skills of the newest version of each package of skills in the store. A package that cannot
/// be read is reported and left out.
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

/// Returns the skills that are recorded in the user's sinks and those of this project. A skill that
/// is the same in several sinks is listed once. Skills that are already served from their source
/// are left out.
fn sink_groups(
    session: &Session<'_>,
    served_already: &dyn Fn(&InstallRecord) -> bool,
) -> Result<Vec<SkillGroup>> {
    let context = session.context;
    let mut seen = HashSet::new();
    let mut groups: Vec<SkillGroup> = Vec::new();
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
        let content = SkillGroupContent::Folders(install.sink_path.into(), folders);
        groups.push(SkillGroup { prefix, content });
    }
    groups.sort_by(|a, b| a.prefix.cmp(&b.prefix));
    Ok(groups)
}

/// Returns the path prefix of a sink, or `None` if it belongs to another project.
fn sink_prefix(session: &Session<'_>, install: &InstallRecord) -> Option<String> {
    let (context, name) = (session.context, install.sink.as_str());
    let path = Path::new(&install.sink_path);
    let is_same =
        |other: &Path| other == path || other.canonicalize().is_ok_and(|real| real == path);
    let dirs = global_dirs(context, &session.config, name).ok();
    let is_global =
        |dirs: SinkDirs| is_same(&dirs.dir) || dirs.unread_default.is_some_and(|dir| is_same(&dir));
    if dirs.is_some_and(is_global) {
        Some(format!("sink/{name}"))
    } else {
        is_below(path, &context.current_dir).then(|| format!("sink/{name}/here"))
    }
}
