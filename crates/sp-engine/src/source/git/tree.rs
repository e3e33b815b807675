//! All paths of a commit: the skills in it, and the files of a skill with links resolved.
//!
//! Links are resolved inside the commit. A skill with a link that points outside, is cyclic
//! or is broken cannot be used.

use std::collections::{BTreeMap, HashMap};

use sp_formats::git_repo::GitRepo;
use sp_formats::skill::SKILL_FILE;
use sp_tree::{Limits, PathError, RelPath};

use super::command::GitCommand;
use super::raw_tree::{GitEntryKind, GitObject, display_path_bytes, read_trees};
use crate::error::{Error, ErrorCode, Result};
use crate::repository::partition_skill_dirs;

/// The maximum number of links to follow for one path.
const MAX_LINK_HOPS: usize = 40;

/// The targets of links, by the object ID of the link.
pub(super) type LinkTargets = HashMap<Box<str>, Vec<u8>>;

/// All paths of a commit.
#[derive(Debug, Default)]
pub(crate) struct GitTree {
    objects: BTreeMap<Vec<u8>, GitObject>,
    /// The IDs of the skills, sorted.
    pub ids: Vec<String>,
    /// Folders that are not skills because there is another `SKILL.md` below them.
    pub shadowed: Vec<String>,
    /// Whether the root has a `SKILL.md`. The root is not a skill.
    pub has_root_skill: bool,
}

/// A file or folder of a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct GitSkillFile {
    pub path: RelPath,
    /// The object ID, and whether the file is executable. `None` for a folder.
    pub blob: Option<(Box<str>, bool)>,
}

impl GitTree {
    /// Reads all paths of a commit with `command`, a `git cat-file --batch`.
    pub(super) fn read(
        command: GitCommand,
        commit: &str,
        limits: &Limits,
        repo: &GitRepo,
    ) -> Result<Self> {
        let mut tree = Self::default();
        read_trees(command, commit, limits, repo, |path, object| {
            tree.objects.insert(path, object);
        })?;
        tree.find_skills();
        Ok(tree)
    }

    fn find_skills(&mut self) {
        let mut holders = Vec::new();
        for (path, object) in &self.objects {
            let (dir, name) = split_parent(path);
            if name != SKILL_FILE.as_bytes()
                || !matches!(object.kind, GitEntryKind::File { .. } | GitEntryKind::Link)
            {
                continue;
            }
            match std::str::from_utf8(dir) {
                Ok("") => self.has_root_skill = true,
                // An ID cannot contain `.git`, so such a folder cannot be selected.
                Ok(dir) if !dir.split('/').any(|segment| segment == ".git") => holders.push(dir),
                _ => {}
            }
        }
        (self.ids, self.shadowed) = partition_skill_dirs(&holders);
    }

    /// Returns the object ID of a skill's folder, if it determines the content: with links, the
    /// content may depend on other folders.
    pub(crate) fn folder_object(&self, id: &str) -> Option<&str> {
        let object = self.objects.get(id.as_bytes())?;
        let linked = self.below(id.as_bytes()).any(|(_, object)| object.kind == GitEntryKind::Link);
        (!linked).then_some(&*object.id)
    }

    /// Returns the names of the folders directly below a path.
    pub(crate) fn folders(&self, path: &str) -> Vec<String> {
        let direct = self.below(path.as_bytes()).filter(|(name, object)| {
            !name.contains(&b'/')
                && matches!(object.kind, GitEntryKind::Folder | GitEntryKind::Link)
        });
        direct.map(|(name, _)| String::from_utf8_lossy(name).into_owned()).collect()
    }

    /// Returns the paths of the folders that contain a regular file called `file`; "" is the root.
    pub(crate) fn folders_with(&self, file: &str) -> Vec<String> {
        let files = self.objects.iter().filter(|(path, object)| {
            split_parent(path).1 == file.as_bytes()
                && matches!(object.kind, GitEntryKind::File { .. })
        });
        let folders = files.filter_map(|(path, _)| std::str::from_utf8(split_parent(path).0).ok());
        // An ID cannot contain `.git`, so such a folder cannot be selected.
        let is_usable = |folder: &&str| !folder.split('/').any(|segment| segment == ".git");
        folders.filter(is_usable).map(Into::into).collect()
    }

    /// Whether a path is a folder; "" is the root.
    pub(crate) fn is_folder(&self, path: &str) -> bool {
        let object = self.objects.get(path.as_bytes());
        path.is_empty() || object.is_some_and(|object| object.kind == GitEntryKind::Folder)
    }

    /// Returns the object ID of a regular file.
    pub(super) fn file_object(&self, path: &str) -> Option<&str> {
        let object = self.objects.get(path.as_bytes())?;
        matches!(object.kind, GitEntryKind::File { .. }).then_some(&*object.id)
    }

    fn below<'a>(&'a self, dir: &'a [u8]) -> impl Iterator<Item = (&'a [u8], &'a GitObject)> {
        let prefix = if dir.is_empty() { Vec::new() } else { [dir, b"/"].concat() };
        let length = prefix.len();
        self.objects
            .range(prefix.clone()..)
            .take_while(move |(path, _)| path.starts_with(&prefix))
            .map(move |(path, object)| (&path[length..], object))
    }

    /// Returns the links of a skill whose targets are not in `targets` yet.
    pub(super) fn links_of(
        &self,
        id: &str,
        targets: &LinkTargets,
        limits: &Limits,
    ) -> Vec<Box<str>> {
        let mut unread = Vec::new();
        let mut walk = GitSkillWalk {
            tree: self,
            targets,
            unread_links: Some(&mut unread),
            files: Vec::new(),
            ancestors: Vec::new(),
            limits,
        };
        // Errors are reported by `files_of`.
        let _ = walk.walk_folder(id.as_bytes(), "");
        unread
    }

    /// Returns the files of a skill, with links resolved.
    pub(super) fn files_of(
        &self,
        repo: &GitRepo,
        id: &str,
        targets: &LinkTargets,
        limits: &Limits,
    ) -> Result<Vec<GitSkillFile>> {
        let mut walk = GitSkillWalk {
            tree: self,
            targets,
            unread_links: None,
            files: Vec::new(),
            ancestors: Vec::new(),
            limits,
        };
        refuse_git_dir(id)
            .and_then(|()| walk.walk_folder(id.as_bytes(), ""))
            .map_err(|error| error.into_error(repo, id))?;
        Ok(walk.files)
    }

    /// Resolves the links of a path. The result may not exist.
    fn resolve_links(
        &self,
        path: &[u8],
        targets: &LinkTargets,
    ) -> std::result::Result<Vec<u8>, LinkError> {
        let mut resolved: Vec<u8> = Vec::new();
        let mut pending = reversed_segments(path);
        let mut hops = 0;
        while let Some(segment) = pending.pop() {
            if matches!(segment.as_slice(), b"" | b".") {
                continue;
            }
            push_segment(&mut resolved, &segment, path)?;
            let Some(GitObject { kind: GitEntryKind::Link, id }) = self.objects.get(&resolved)
            else {
                continue;
            };
            hops += 1;
            if hops > MAX_LINK_HOPS {
                return Err(LinkError::Refused(format!(
                    "too many levels of links: `{}`",
                    display_path_bytes(path)
                )));
            }
            let target = targets.get(id).ok_or_else(|| LinkError::Unread(id.clone()))?;
            refuse_absolute(&resolved, target)?;
            resolved.truncate(split_parent(&resolved).0.len());
            pending.extend(reversed_segments(target));
        }
        Ok(resolved)
    }
}

/// Returns the segments of a path, last first.
fn reversed_segments(path: &[u8]) -> Vec<Vec<u8>> {
    path.split(|byte| *byte == b'/').rev().map(<[u8]>::to_vec).collect()
}

/// Appends a segment of `path` to the part of it that is resolved.
fn push_segment(
    resolved: &mut Vec<u8>,
    segment: &[u8],
    path: &[u8],
) -> std::result::Result<(), LinkError> {
    if segment != b".." {
        if !resolved.is_empty() {
            resolved.push(b'/');
        }
        resolved.extend(segment);
        return Ok(());
    }
    if resolved.is_empty() {
        return Err(LinkError::Refused(format!(
            "`{}` points outside the repository",
            display_path_bytes(path)
        )));
    }
    resolved.truncate(split_parent(resolved).0.len());
    Ok(())
}

fn refuse_absolute(link: &[u8], target: &[u8]) -> std::result::Result<(), LinkError> {
    if target.first() != Some(&b'/') {
        return Ok(());
    }
    Err(LinkError::Refused(format!(
        "the link `{}` points outside the repository, to `{}`",
        display_path_bytes(link),
        display_path_bytes(target)
    )))
}

/// Why a path could not be resolved.
enum LinkError {
    /// The target of this link has not been read yet.
    Unread(Box<str>),
    Refused(String),
}

/// Why a skill cannot be used.
struct GitSkillError {
    code: ErrorCode,
    why: String,
    /// The name of the limit that the skill exceeds.
    limit: Option<&'static str>,
}

impl GitSkillError {
    fn into_error(self, repo: &GitRepo, id: &str) -> Error {
        let hint = match self.limit {
            Some(name) => format!(
                "exclude the skill, or raise the limit with `--limit {name}=<number>` if you \
                 trust it"
            ),
            None => "exclude the skill, or ask its author to fix it".into(),
        };
        Error::new(self.code, format!("cannot install the skill `{id}` from `{repo}`"))
            .because(self.why)
            .hint(hint)
    }

    fn unsafe_path(path: &[u8], why: &PathError) -> Self {
        let why = format!("`{}`: {why}", display_path_bytes(path));
        Self { code: ErrorCode::UnsafePath, why, limit: None }
    }

    fn unsafe_link(why: String) -> Self {
        Self { code: ErrorCode::UnsafeLink, why, limit: None }
    }

    fn exceeds(limit: &'static str, why: String) -> Self {
        Self { code: ErrorCode::LimitExceeded, why, limit: Some(limit) }
    }
}

/// Refuses a skill in a folder that git treats as its own on any platform.
fn refuse_git_dir(id: &str) -> std::result::Result<(), GitSkillError> {
    match RelPath::new(id) {
        Err(why @ PathError::GitDir(_)) => Err(GitSkillError::unsafe_path(id.as_bytes(), &why)),
        _ => Ok(()),
    }
}

/// A walk through the folders of a skill.
struct GitSkillWalk<'a> {
    tree: &'a GitTree,
    targets: &'a LinkTargets,
    /// Collects links whose targets have not been read.
    unread_links: Option<&'a mut Vec<Box<str>>>,
    files: Vec<GitSkillFile>,
    /// The folders above the current one, with links resolved.
    ancestors: Vec<Vec<u8>>,
    limits: &'a Limits,
}

impl GitSkillWalk<'_> {
    /// Adds the content of the folder `dir`, which has the path `skill_path` in the skill.
    fn walk_folder(
        &mut self,
        dir: &[u8],
        skill_path: &str,
    ) -> std::result::Result<(), GitSkillError> {
        if self.ancestors.iter().any(|other| other == dir) {
            return Err(GitSkillError::unsafe_link(format!(
                "a link points to its own parent directory `{}`",
                display_path_bytes(dir)
            )));
        }
        if self.ancestors.len() as u64 > self.limits.depth {
            let why = format!(
                "`{skill_path}` is nested more than {} directories deep",
                self.limits.depth
            );
            return Err(GitSkillError::exceeds("depth", why));
        }
        self.ancestors.push(dir.to_vec());
        let tree = self.tree;
        for (path, object) in tree.below(dir).filter(|(path, _)| !path.contains(&b'/')) {
            let real = if dir.is_empty() { path.to_vec() } else { [dir, b"/", path].concat() };
            self.walk_entry(&real, path, object, skill_path)?;
        }
        self.ancestors.pop();
        Ok(())
    }

    fn walk_entry(
        &mut self,
        real: &[u8],
        name: &[u8],
        object: &GitObject,
        skill_path: &str,
    ) -> std::result::Result<(), GitSkillError> {
        let path = if skill_path.is_empty() {
            name.to_vec()
        } else {
            [skill_path.as_bytes(), b"/", name].concat()
        };
        let path = RelPath::from_bytes(&path)
            .map_err(|why: PathError| GitSkillError::unsafe_path(&path, &why))?;
        match &object.kind {
            GitEntryKind::Folder => self.add_folder(real, path),
            GitEntryKind::File { executable } => self.add_file(path, &object.id, *executable),
            GitEntryKind::Submodule => {
                let why = format!("`{path}` is a submodule; submodules are not supported");
                Err(GitSkillError { code: ErrorCode::InvalidGitTree, why, limit: None })
            }
            GitEntryKind::Link => self.follow_link(real, path),
        }
    }

    fn follow_link(
        &mut self,
        real: &[u8],
        path: RelPath,
    ) -> std::result::Result<(), GitSkillError> {
        let target = match self.tree.resolve_links(real, self.targets) {
            Ok(target) => target,
            Err(LinkError::Refused(why)) => return Err(GitSkillError::unsafe_link(why)),
            Err(LinkError::Unread(id)) => {
                if let Some(unread) = &mut self.unread_links {
                    unread.push(id);
                }
                return Ok(());
            }
        };
        let tree = self.tree;
        match tree.objects.get(&target).map(|object| (&object.kind, &object.id)) {
            Some((GitEntryKind::File { executable }, id)) => self.add_file(path, id, *executable),
            Some((GitEntryKind::Folder, _)) => self.add_folder(&target, path),
            None if target.is_empty() => self.add_folder(&target, path),
            Some((GitEntryKind::Submodule, _)) => {
                Err(GitSkillError::unsafe_link(format!("the link `{path}` points to a submodule")))
            }
            Some((GitEntryKind::Link, _)) | None => Err(GitSkillError::unsafe_link(format!(
                "the link `{path}` points to a missing file"
            ))),
        }
    }

    fn add_folder(&mut self, real: &[u8], path: RelPath) -> std::result::Result<(), GitSkillError> {
        let skill_path = path.to_string();
        self.push(GitSkillFile { path, blob: None })?;
        self.walk_folder(real, &skill_path)
    }

    fn add_file(
        &mut self,
        path: RelPath,
        id: &str,
        executable: bool,
    ) -> std::result::Result<(), GitSkillError> {
        self.push(GitSkillFile { path, blob: Some((id.into(), executable)) })
    }

    fn push(&mut self, file: GitSkillFile) -> std::result::Result<(), GitSkillError> {
        if self.files.len() as u64 >= self.limits.skill_entries {
            let why =
                format!("it has more than {} files and directories", self.limits.skill_entries);
            return Err(GitSkillError::exceeds("skill-entries", why));
        }
        self.files.push(file);
        Ok(())
    }
}

fn split_parent(path: &[u8]) -> (&[u8], &[u8]) {
    match path.iter().rposition(|byte| *byte == b'/') {
        Some(at) => (&path[..at], &path[at + 1..]),
        None => (b"", path),
    }
}
