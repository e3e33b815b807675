//! A repository: a directory with `skills/` and `packs/`.
//!
//! A [`SkillRepository`] finds skills and pack files. A skill is a directory with a `SKILL.md` and
//! no other one below it; its ID is its path below `skills/`. [`locate_pack`] resolves the name
//! or path of a pack that the user gave.
//!
//! Reading a pack here does not apply it: see [`crate::select`].

use std::path::{Path, PathBuf};

use sp_formats::pack::rules::{SP_02, SP_04, SP_05, SP_11};
use sp_formats::pack::{self, Pack};
use sp_formats::printable::printable;
use sp_formats::report::Report;
use sp_formats::rules::safety::SE_04;
use sp_formats::skill::SKILL_FILE;
use sp_tree::{
    DigestIndex, Dir, FileError, MatchedDir, Name, StampScope, WalkReport, find_dirs_with_file,
    read_limited,
};

use crate::context::{Context, Event};
use crate::error::{Error, ErrorCode, Result};
use crate::session::Session;

/// A directory with `skills/` and `packs/`.
#[derive(Debug, Clone)]
pub(crate) struct SkillRepository {
    pub root: PathBuf,
}

/// A pack file without errors.
pub(crate) struct ValidPackFile {
    pub path: PathBuf,
    pub pack: Pack,
    pub report: Report,
}

/// The path of a pack file, the pack if it could be read, and the findings.
pub(crate) type ParsedPackFile = (PathBuf, Option<Pack>, Report);

/// The local skills of a repository.
#[derive(Debug, Clone)]
pub(crate) struct LocalSkills {
    /// The IDs, sorted.
    pub ids: Vec<String>,
    /// Directories that are not skills because there is another `SKILL.md` below them.
    pub shadowed: Vec<String>,
    /// What the digest index has to compare to know that a skill is unchanged.
    pub stamp_scope: StampScope,
}

/// A `SKILL.md` or directory in a place where it cannot be a skill.
#[derive(Debug, Clone)]
pub(crate) struct MisplacedSkill {
    pub path: PathBuf,
    pub rule: &'static sp_formats::rules::CheckRule,
    pub message: String,
    pub help: &'static str,
}

impl From<MisplacedSkill> for Error {
    fn from(misplaced: MisplacedSkill) -> Self {
        Self::new(ErrorCode::InvalidRepository, misplaced.message).hint(misplaced.help)
    }
}

impl SkillRepository {
    /// Finds the repository: the given one, or the nearest one upward from the current directory.
    pub(crate) fn find(context: &Context<'_>, root: Option<&Path>) -> Result<Self> {
        if let Some(root) = root {
            let root = context.expand(&root.to_string_lossy());
            return if root.is_dir() {
                Ok(Self { root })
            } else {
                Err(Error::new(
                    ErrorCode::DirectoryNotFound,
                    format!("directory `{}` not found", root.display()),
                )
                .hint("set `--root` to the directory that contains `skills/` and `packs/`"))
            };
        }
        let is_repository = |dir: &&Path| dir.join("skills").is_dir() || dir.join("packs").is_dir();
        match context.current_dir.ancestors().find(is_repository) {
            Some(root) => Ok(Self { root: root.into() }),
            None => Err(Error::new(
                ErrorCode::RepositoryNotFound,
                format!(
                    "no `skills/` or `packs/` in `{}` or any parent directory",
                    context.display_path(&context.current_dir)
                ),
            )
            .hint(
                "run `sp init` to create a repository here, or specify one with `--root <path>`",
            )),
        }
    }

    pub(crate) fn skills_dir(&self) -> PathBuf {
        self.root.join("skills")
    }

    pub(crate) fn packs_dir(&self) -> PathBuf {
        self.root.join("packs")
    }

    /// Finds the local skills. With an index, the directories are walked only if they changed.
    pub(crate) fn skills(
        &self,
        session: &Session<'_>,
        index: Option<&mut DigestIndex>,
    ) -> Result<LocalSkills> {
        let context = session.context;
        let path = self.skills_dir();
        if !path.is_dir() {
            return Err(Error::new(
                ErrorCode::DirectoryNotFound,
                format!("directory `{}` not found", context.display_path(&path)),
            )
            .hint("create it and add skills, or run `sp init` in an empty directory"));
        }
        let dir = Dir::open(&path)?;
        let known = index.as_ref().and_then(|index| index.cached_walk(&dir));
        let (found, stamp_scope) = match known {
            Some(found) => (found, StampScope::Files),
            None => {
                let file = Name::new(SKILL_FILE)?;
                let found = find_dirs_with_file(Dir::open(&path)?, &file, &session.limits)?;
                if let Some(index) = index {
                    index.set_cached_walk(&found, (context.wall_clock)());
                }
                (found, StampScope::All)
            }
        };
        local_skills(session, &path, &found, stamp_scope)
    }

    /// Reads all files in `packs/`, valid or not, sorted by path.
    pub(crate) fn pack_files(&self, session: &Session<'_>) -> Result<Vec<ParsedPackFile>> {
        let files = self.pack_paths()?.into_iter().filter(|path| path.is_file());
        files.map(|path| read_pack_file(session, path)).collect()
    }

    /// Returns the entries of `packs/` with the extension of a pack file, sorted.
    pub(crate) fn pack_paths(&self) -> Result<Vec<PathBuf>> {
        let dir = self.packs_dir();
        if !dir.is_dir() {
            return Ok(Vec::new());
        }
        let paths = Dir::open(&dir)?.entries()?.into_iter().map(|entry| dir.join(entry.name()));
        let mut paths: Vec<PathBuf> = paths.filter(|path| is_pack_file(path)).collect();
        paths.sort();
        Ok(paths)
    }

    /// Finds a pack by file name (without extension) or, if there is none, by its `name`.
    fn pack(&self, session: &Session<'_>, name: &str) -> Result<ValidPackFile> {
        let context = session.context;
        let files = self.pack_files(session)?;
        let by_stem: Vec<usize> =
            matching_positions(&files, |path, _| path.file_stem().is_some_and(|stem| stem == name));
        let by_name: Vec<usize> =
            matching_positions(&files, |_, pack| pack.is_some_and(|pack| pack.name == name));
        let found = match (&by_stem[..], &by_name[..]) {
            ([only], _) => *only,
            ([], [only]) => *only,
            ([], []) => return Err(self.pack_not_found(context, name, &files)),
            ([], several) | (several, _) => {
                return Err(ambiguous_pack(context, name, &files, several));
            }
        };
        // The state identifies packs by `name`, so it must be unique even if the file name is.
        if let Some(pack) = &files[found].1 {
            let same_name = matching_positions(&files, |_, other| {
                other.is_some_and(|other| other.name == pack.name)
            });
            if same_name.len() > 1 {
                return Err(ambiguous_pack(context, &pack.name, &files, &same_name));
            }
        }
        files.into_iter().nth(found).map_or_else(
            || Err(Error::new(ErrorCode::PackNotFound, "pack not found")),
            require_valid,
        )
    }

    fn pack_not_found(&self, context: &Context<'_>, name: &str, files: &[ParsedPackFile]) -> Error {
        let names: Vec<String> =
            files.iter().map(|(path, pack, _)| pack_name(path, pack.as_ref())).collect();
        let error = Error::new(
            ErrorCode::PackNotFound,
            format!(
                "pack `{name}` not found in `{}`",
                context.display_path(&self.root.join("packs"))
            ),
        );
        if names.is_empty() {
            return error.hint("create `packs/<name>.yaml` with `name:` and `include:`");
        }
        error.suggest(name, &names, "available packs")
    }
}

/// Finds a pack by its name or the path of its file, and its repository.
pub(crate) fn locate_pack(
    session: &Session<'_>,
    root: Option<&Path>,
    spec: &str,
) -> Result<(SkillRepository, ValidPackFile)> {
    let context = session.context;
    let path = Path::new(spec);
    if !spec.contains('/') && !is_pack_file(path) {
        let repository = SkillRepository::find(context, root)?;
        let pack = repository.pack(session, spec)?;
        return Ok((repository, pack));
    }
    let file = match root {
        // A path may be relative to the current directory or to `--root`.
        Some(root) if !context.absolute(path).exists() => {
            context.expand(&root.to_string_lossy()).join(path)
        }
        _ => context.expand(spec),
    };
    if !file.is_file() {
        return Err(Error::new(
            ErrorCode::PackNotFound,
            format!("pack file `{}` not found", context.display_path(&file)),
        )
        .hint("run `sp packs` to list the packs of this repository"));
    }
    let repository =
        match (root, file.parent().filter(|dir| dir.ends_with("packs")).and_then(Path::parent)) {
            (None, Some(root)) => SkillRepository { root: root.into() },
            _ => SkillRepository::find(context, root)?,
        };
    let pack = require_valid(read_pack_file(session, file)?)?;
    Ok((repository, pack))
}

/// Returns the name of a pack, or of its file if it cannot be read.
pub(crate) fn pack_name(path: &Path, pack: Option<&Pack>) -> String {
    match pack {
        Some(pack) => pack.name.clone(),
        None => path.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
    }
}

pub(crate) fn is_pack_file(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "yaml" || extension == "yml")
}

fn matching_positions(
    files: &[ParsedPackFile],
    matches: impl Fn(&Path, Option<&Pack>) -> bool,
) -> Vec<usize> {
    (0..files.len()).filter(|&file| matches(&files[file].0, files[file].1.as_ref())).collect()
}

fn ambiguous_pack(
    context: &Context<'_>,
    name: &str,
    files: &[ParsedPackFile],
    positions: &[usize],
) -> Error {
    let display = |&file: &usize| format!("`{}`", context.display_path(&files[file].0));
    let paths: Vec<String> = positions.iter().map(display).collect();
    Error::new(
        ErrorCode::NameCollision,
        format!("multiple packs are named `{name}`: {}", paths.join(" and ")),
    )
    .hint("give each pack a unique `name`, or specify the file: `sp show packs/<file>.yaml`")
}

fn read_pack_file(session: &Session<'_>, path: PathBuf) -> Result<ParsedPackFile> {
    let bytes = read_limited(&path, session.limits.yaml_bytes);
    let (path, pack, report) = parse_pack_lenient(session, path, bytes)?;
    Ok((path, pack.filter(|_| report.is_usable()), report))
}

/// Parses as much of a pack as possible. `bytes` is the result of reading its file.
pub(crate) fn parse_pack_lenient(
    session: &Session<'_>,
    path: PathBuf,
    bytes: std::result::Result<Vec<u8>, FileError>,
) -> Result<ParsedPackFile> {
    let label = session.context.display_relative_path(&path);
    let bytes = match bytes {
        Ok(bytes) => bytes,
        // A file that is too large is a finding, so that the other files are still read.
        Err(error) if error.kind() == std::io::ErrorKind::FileTooLarge => {
            let mut report = Report::new(label, "");
            let help = "check that this is the right file, or raise the limit with `--limit \
                        yaml-bytes=<bytes>`";
            report.error(&SP_11, 0..0, error.source.to_string()).help(help);
            return Ok((path, None, report));
        }
        Err(error) => return Err(error.into()),
    };
    let text = match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            let valid = error.utf8_error().valid_up_to();
            let text = String::from_utf8_lossy(&error.as_bytes()[..valid]);
            let mut report = Report::new(label, text);
            report.error(&SP_11, valid..valid, "invalid UTF-8").help("save the file as UTF-8");
            return Ok((path, None, report));
        }
    };
    let (pack, report) = pack::read_partial(&label, &text, &session.limits);
    Ok((path, pack, report))
}

fn require_valid((path, pack, report): ParsedPackFile) -> Result<ValidPackFile> {
    match pack {
        Some(pack) => Ok(ValidPackFile { path, pack, report }),
        None => Err(Error::in_file(
            ErrorCode::InvalidPack,
            format!("the pack `{}` is invalid", report.file),
            report,
        )),
    }
}

fn local_skills(
    session: &Session<'_>,
    skills: &Path,
    found: &WalkReport,
    stamp_scope: StampScope,
) -> Result<LocalSkills> {
    let context = session.context;
    if let Some(misplaced) = find_misplaced(session, skills, found).into_iter().next() {
        return Err(misplaced.into());
    }
    let display = |path: &str| context.display_path(&skills.join(path));
    let paths: Vec<&str> = found.matches.iter().map(|holder| &*holder.path).collect();
    let (ids, shadowed) = partition_skill_dirs(&paths);
    for shadowed in &shadowed {
        context.emit(Event::Detail(format!(
            "`{}` is not treated as a skill because a subdirectory contains another `{SKILL_FILE}`",
            display(shadowed)
        )));
    }
    for cycle in &found.cycles {
        context.emit(Event::Detail(format!(
            "not following the link `{}`, which points to one of its parent directories",
            display(cycle)
        )));
    }
    Ok(LocalSkills { ids, shadowed, stamp_scope })
}

/// Returns everything below `skills/` that cannot be a skill where it is.
pub(crate) fn find_misplaced(
    session: &Session<'_>,
    skills: &Path,
    found: &WalkReport,
) -> Vec<MisplacedSkill> {
    let (context, depth) = (session.context, session.limits.depth);
    let invalid_names = found.invalid_names.iter().map(|invalid| MisplacedSkill {
        path: skills.join(&invalid.path),
        rule: &SP_05,
        message: printable(&invalid.to_string())
            .replace(&*skills.to_string_lossy(), &context.display_path(skills)),
        help: "rename the directory",
    });
    let too_deep = found.too_deep.iter().map(|path| MisplacedSkill {
        path: skills.join(&**path),
        rule: &SE_04,
        message: format!(
            "`{}` is nested more than {depth} directories deep",
            context.display_path(&skills.join(&**path))
        ),
        help: "move it up, or raise the limit with `--limit depth=<number>`",
    });
    let misplaced_files = misplaced_skill_files(context, skills, found);
    invalid_names.chain(too_deep).chain(misplaced_files).collect()
}

/// Returns the `SKILL.md` files directly in `skills/`, then those that are links in other folders.
fn misplaced_skill_files(
    context: &Context<'_>,
    skills: &Path,
    found: &WalkReport,
) -> Vec<MisplacedSkill> {
    let at_top = found.matches.iter().filter(|holder| holder.path.is_empty()).map(|_| {
        let path = skills.join(SKILL_FILE);
        MisplacedSkill {
            rule: &SP_02,
            message: format!(
                "`{}` turns `skills/` itself into a skill",
                context.display_path(&path)
            ),
            help: "move it to its own directory in `skills/`",
            path,
        }
    });
    let is_link = |holder: &&MatchedDir| holder.file_is_link && !holder.dir_is_link;
    let links = found.matches.iter().filter(is_link).map(|holder| {
        let path = skills.join(&*holder.path).join(SKILL_FILE);
        MisplacedSkill {
            rule: &SP_04,
            message: format!(
                "`{}` is a link, but its directory is not",
                context.display_path(&path)
            ),
            help: "link the whole skill folder, or replace the link with the file",
            path,
        }
    });
    at_top.chain(links).collect()
}

/// Splits directories with a `SKILL.md` into skills and directories with another skill below them.
///
/// Both lists are sorted.
pub(crate) fn partition_skill_dirs(dirs: &[&str]) -> (Vec<String>, Vec<String>) {
    let mut sorted: Vec<&str> = dirs.to_vec();
    sorted.sort_unstable();
    let is_shadowed = |path: &str| {
        let prefix = format!("{path}/");
        let first_below = sorted.partition_point(|other| *other < prefix.as_str());
        sorted.get(first_below).is_some_and(|other| other.starts_with(&prefix))
    };
    let (shadowed, ids): (Vec<&str>, Vec<&str>) = sorted.iter().partition(|path| is_shadowed(path));
    let to_owned = |paths: Vec<&str>| paths.into_iter().map(Into::into).collect();
    (to_owned(ids), to_owned(shadowed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sp_03_directory_above_another_skill_is_not_a_skill() {
        let (ids, shadowed) = partition_skill_dirs(&["a", "a-b", "a/x", "a/x/y", "b"]);
        assert_eq!(ids, ["a-b", "a/x/y", "b"]);
        assert_eq!(shadowed, ["a", "a/x"]);
    }
}
