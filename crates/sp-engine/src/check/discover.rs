//! Finding skills, repositories and packages on disk.
//!
//! These functions only look: they read no content and report no findings.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use sp_formats::skill::{OutsideFile, SKILL_FILE};
use sp_tree::{Dir, EntryKind, Name, WalkReport, find_dirs_with_file, read_limited};

use crate::error::Result;
use crate::pkg::{installed_packages_dir, is_package_file};
use crate::repository::partition_skill_dirs;
use crate::session::Session;
use crate::workspace::workspace_dir::is_workspace;

/// Larger files are not skills.
const MAX_DETECTED_BYTES: u64 = 1 << 20;

/// Whether a directory is meant to be a skill: it has a `SKILL.md` that is not a directory.
pub(super) fn is_skill_dir(dir: &Path) -> bool {
    // A dangling link counts too, so that it is reported.
    dir.join(SKILL_FILE).symlink_metadata().is_ok_and(|metadata| !metadata.is_dir())
}

pub(super) fn is_repository(dir: &Path) -> bool {
    dir.join("skills").is_dir() || dir.join("packs").is_dir()
}

/// Returns the IDs of the skills of a repository.
pub(super) fn local_skill_ids(session: &Session<'_>, root: &Path) -> Result<Vec<String>> {
    let skills = root.join("skills");
    if !skills.is_dir() {
        return Ok(Vec::new());
    }
    Ok(partition_found(&find_skill_dirs(session, &skills)?).0)
}

/// Finds the directories with a `SKILL.md` at and below a directory.
pub(super) fn find_skill_dirs(session: &Session<'_>, dir: &Path) -> Result<WalkReport> {
    let file = Name::new(SKILL_FILE)?;
    Ok(find_dirs_with_file(Dir::open(dir)?, &file, &session.limits)?)
}

/// Whether a file is meant to be a `SKILL.md`, but its name has another case.
pub(super) fn is_misnamed_skill_file(file: &Path) -> bool {
    let name = file.file_name().unwrap_or_default();
    name != SKILL_FILE && name.eq_ignore_ascii_case(SKILL_FILE) && file.is_file()
}

/// Returns the files of a walk that are skills except for the case of their names.
pub(super) fn find_misnamed_skill_files(top: &Path, found: &WalkReport) -> Vec<PathBuf> {
    const NAMES: [&str; 3] = ["skill.md", "Skill.md", "SKILL.MD"];
    let skills: HashSet<&Path> =
        found.matches.iter().map(|holder| Path::new(&*holder.path)).collect();
    let is_in_skill = |path: &str| Path::new(path).ancestors().any(|dir| skills.contains(dir));
    let dirs = found.dirs.iter().filter(|(path, _)| !is_in_skill(path));
    let file_in = |dir: PathBuf| {
        // Other documents have such a name, too, but no frontmatter.
        let has_frontmatter = |file: &PathBuf| {
            read_limited(file, MAX_DETECTED_BYTES).is_ok_and(|bytes| bytes.starts_with(b"---"))
        };
        NAMES.iter().map(|name| dir.join(name)).find(|file| file.is_file() && has_frontmatter(file))
    };
    dirs.filter_map(|(path, _)| file_in(top.join(&**path))).collect()
}

/// Splits the directories of a walk into skills and directories with a skill below them.
pub(super) fn partition_found(found: &WalkReport) -> (Vec<String>, Vec<String>) {
    // The directory at which the walk starts is not a skill, and does not shadow any.
    let paths: Vec<&str> =
        found.matches.iter().map(|holder| &*holder.path).filter(|path| !path.is_empty()).collect();
    partition_skill_dirs(&paths)
}

/// The skills around a skill, which its links may lead to.
pub(super) struct OtherSkills {
    skill: PathBuf,
    /// The directory of the skill without links, and the directory that paths may not leave. Both
    /// are looked up only if a link points outside the skill.
    bounds: OnceLock<(PathBuf, PathBuf)>,
}

impl OtherSkills {
    pub(super) fn around(skill: &Path) -> Self {
        Self { skill: skill.into(), bounds: OnceLock::new() }
    }

    /// Looks up a path that is relative to the skill's directory and points outside. Nothing
    /// outside of the repository is looked up.
    pub(super) fn find(&self, path: &str) -> OutsideFile {
        let (skill, top) = self.bounds.get_or_init(|| {
            let skill = self.skill.canonicalize().unwrap_or_else(|_| self.skill.clone());
            let top = repository_around(&skill);
            (skill, top)
        });
        let mut target = skill.clone();
        for part in path.split('/') {
            if part == ".." {
                target.pop();
            } else {
                target.push(part);
            }
        }
        if !target.starts_with(top) {
            return OutsideFile::Unknown;
        }
        if target.symlink_metadata().is_err() {
            return OutsideFile::Missing;
        }
        let mut inside = target.ancestors().take_while(|dir| !skill.starts_with(dir));
        if inside.any(is_skill_dir) { OutsideFile::OtherSkill } else { OutsideFile::Unknown }
    }
}

/// Returns the git repository around a skill, or else the nearest directory that is meant to
/// contain skills.
fn repository_around(skill: &Path) -> PathBuf {
    let above = || skill.ancestors().skip(1);
    let git = above().find(|dir| dir.join(".git").symlink_metadata().is_ok());
    let found = git.or_else(|| above().find(|dir| is_repository(dir) || is_workspace(dir)));
    found.or(skill.parent()).unwrap_or(skill).into()
}

/// Returns the packages in a directory and those that are installed there, sorted.
pub(super) fn find_packages(root: &Path) -> Vec<PathBuf> {
    let mut packages = Vec::new();
    for dir in [root.to_path_buf(), installed_packages_dir(root)] {
        let entries = Dir::open(&dir).and_then(|opened| opened.entries()).unwrap_or_default();
        let files = entries.iter().filter(|entry| entry.kind == EntryKind::File);
        packages
            .extend(files.map(|entry| dir.join(entry.name())).filter(|path| is_package_file(path)));
    }
    packages.sort();
    packages
}
