//! An authoring repository: `skills/` and `packs/` below one directory.

use std::path::{Path, PathBuf};

use sp_formats::checks::{SE_04, SP_02, SP_04, SP_05, SP_11};
use sp_formats::pack::{self, Pack};
use sp_formats::printable::printable;
use sp_formats::report::Report;
use sp_formats::skill::SKILL_FILE;
use sp_formats::suggest::nearest;
use sp_tree::{
    DigestIndex, Dir, FileError, Name, StampScope, WalkReport, find_dirs_with_file, read_limited,
};

use crate::context::{Context, Event};
use crate::error::{Error, FailureKind, Result};
use crate::session::Session;

/// A directory with `skills/` and `packs/`.
#[derive(Debug, Clone)]
pub(crate) struct SkillRepository {
    pub root: PathBuf,
}

/// A pack file that was read.
pub(crate) struct ValidPackFile {
    pub path: PathBuf,
    pub pack: Pack,
    pub report: Report,
}

/// A pack file, the pack if it is one, and what was found in it.
pub(crate) type ParsedPackFile = (PathBuf, Option<Pack>, Report);

/// The local skills of a repository.
#[derive(Debug, Clone)]
pub(crate) struct LocalSkills {
    /// Their ids, sorted.
    pub ids: Vec<String>,
    /// Directories with a `SKILL.md` that have another below them.
    pub shadowed: Vec<String>,
    /// What the index must still look at to know a skill unchanged.
    pub stamp_scope: StampScope,
}

/// Something that stands where no skill can.
#[derive(Debug, Clone)]
pub(crate) struct MisplacedSkill {
    pub path: PathBuf,
    pub rule: &'static sp_formats::checks::CheckRule,
    pub message: String,
    pub help: &'static str,
}

impl From<MisplacedSkill> for Error {
    fn from(misplaced: MisplacedSkill) -> Self {
        Self::new(FailureKind::Data, misplaced.message).hint(misplaced.help)
    }
}

impl SkillRepository {
    /// The repository that the user means: a given one, or the nearest upward.
    pub(crate) fn find(context: &Context<'_>, given: Option<&Path>) -> Result<Self> {
        if let Some(given) = given {
            let root = context.expand(&given.to_string_lossy());
            return if root.is_dir() {
                Ok(Self { root })
            } else {
                Err(Error::new(
                    FailureKind::Request,
                    format!("there is no directory `{}`", root.display()),
                )
                .hint("give `--root` the directory that holds `skills/` and `packs/`"))
            };
        }
        let holds = |dir: &&Path| dir.join("skills").is_dir() || dir.join("packs").is_dir();
        match context.current_dir.ancestors().find(holds) {
            Some(root) => Ok(Self { root: root.into() }),
            None => Err(Error::new(
                FailureKind::Request,
                format!(
                    "neither `{}` nor a directory above it has `skills/` or `packs/`",
                    context.display_path(&context.current_dir)
                ),
            )
            .hint("run `sp init` to make a repository here, or give one with `--root <path>`")),
        }
    }

    pub(crate) fn skills_dir(&self) -> PathBuf {
        self.root.join("skills")
    }

    /// Where the packs are.
    pub(crate) fn packs_dir(&self) -> PathBuf {
        self.root.join("packs")
    }

    /// Finds the local skills; the index, if one is given, spares the walk where nothing moved.
    pub(crate) fn skills(
        &self,
        session: &Session<'_>,
        index: Option<&mut DigestIndex>,
    ) -> Result<LocalSkills> {
        let context = session.context;
        let path = self.skills_dir();
        if !path.is_dir() {
            return Err(Error::new(
                FailureKind::Request,
                format!("there is no directory `{}`", context.display_path(&path)),
            )
            .hint("make it and put skills into it, or run `sp init` in an empty directory"));
        }
        let dir = Dir::open(&path)?;
        let known = index.as_ref().and_then(|index| index.cached_walk(&dir));
        let (found, check) = match known {
            Some(found) => (found, StampScope::Files),
            None => {
                let file = Name::new(SKILL_FILE)
                    .map_err(|e| Error::new(FailureKind::Data, e.to_string()))?;
                let found = find_dirs_with_file(Dir::open(&path)?, &file, &session.limits)?;
                if let Some(index) = index {
                    index.set_cached_walk(&found, (context.wall_clock)());
                }
                (found, StampScope::All)
            }
        };
        local_skills(session, &path, &found, check)
    }

    /// Reads every pack file below `packs/`, good or bad, sorted by path.
    pub(crate) fn pack_files(&self, session: &Session<'_>) -> Result<Vec<ParsedPackFile>> {
        let files = self.pack_paths()?.into_iter().filter(|path| path.is_file());
        files.map(|path| read_pack_file(session, path)).collect()
    }

    /// Everything below `packs/` that is called as a pack is, sorted.
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

    /// The pack that the user names, by file name, by `name`, or by path.
    fn pack(&self, session: &Session<'_>, named: &str) -> Result<ValidPackFile> {
        let context = session.context;
        let files = self.pack_files(session)?;
        let by_stem: Vec<usize> = matching_positions(&files, |path, _| {
            path.file_stem().is_some_and(|stem| stem == named)
        });
        let by_name: Vec<usize> =
            matching_positions(&files, |_, pack| pack.is_some_and(|pack| pack.name == named));
        let found = match (&by_stem[..], &by_name[..]) {
            ([one], _) => *one,
            ([], [one]) => *one,
            ([], []) => return Err(self.pack_not_found(context, named, &files)),
            ([], several) | (several, _) => {
                return Err(ambiguous_pack(context, named, &files, several));
            }
        };
        let name = files[found].1.as_ref().map(|pack| pack.name.clone());
        let twins = matching_positions(&files, |_, pack| {
            pack.is_some_and(|pack| Some(&pack.name) == name.as_ref())
        });
        if let (Some(name), true) = (&name, twins.len() > 1) {
            return Err(ambiguous_pack(context, name, &files, &twins));
        }
        files
            .into_iter()
            .nth(found)
            .map_or_else(|| Err(Error::new(FailureKind::Request, "no pack")), require_valid)
    }

    fn pack_not_found(
        &self,
        context: &Context<'_>,
        named: &str,
        files: &[ParsedPackFile],
    ) -> Error {
        let names: Vec<String> =
            files.iter().map(|(path, pack, _)| pack_name(path, pack.as_ref())).collect();
        let error = Error::new(
            FailureKind::Request,
            format!(
                "there is no pack called `{named}` in `{}`",
                context.display_path(&self.root.join("packs"))
            ),
        );
        match nearest(named, names.iter().map(String::as_str)) {
            Some(near) => error.hint(format!("did you mean `{near}`?")),
            None if names.is_empty() => {
                error.hint("write one: `packs/<name>.yaml` with `name:` and `include:`")
            }
            None => error.hint(format!("the packs are: {}", names.join(", "))),
        }
    }
}

/// The repository and the pack that the user means.
pub(crate) fn find_pack(
    session: &Session<'_>,
    root: Option<&Path>,
    named: &str,
) -> Result<(SkillRepository, ValidPackFile)> {
    let context = session.context;
    let path = Path::new(named);
    if !named.contains('/') && !is_pack_file(path) {
        let authoring = SkillRepository::find(context, root)?;
        let pack = authoring.pack(session, named)?;
        return Ok((authoring, pack));
    }
    let file = match root {
        // A path may be meant from the given root as well as from here.
        Some(root) if !context.absolute(path).exists() => {
            context.expand(&root.to_string_lossy()).join(path)
        }
        _ => context.expand(named),
    };
    if !file.is_file() {
        return Err(Error::new(
            FailureKind::Request,
            format!("there is no pack file `{}`", context.display_path(&file)),
        )
        .hint("`sp packs` lists the packs of this repository"));
    }
    let authoring =
        match (root, file.parent().filter(|dir| dir.ends_with("packs")).and_then(Path::parent)) {
            (None, Some(root)) => SkillRepository { root: root.into() },
            _ => SkillRepository::find(context, root)?,
        };
    let pack = require_valid(read_pack_file(session, file)?)?;
    Ok((authoring, pack))
}

/// The name of a pack, or of its file where it cannot be read.
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
    is: impl Fn(&Path, Option<&Pack>) -> bool,
) -> Vec<usize> {
    (0..files.len()).filter(|&at| is(&files[at].0, files[at].1.as_ref())).collect()
}

fn ambiguous_pack(
    context: &Context<'_>,
    named: &str,
    files: &[ParsedPackFile],
    which: &[usize],
) -> Error {
    let paths: Vec<String> =
        which.iter().map(|&at| format!("`{}`", context.display_path(&files[at].0))).collect();
    Error::new(
        FailureKind::Data,
        format!("more than one pack is called `{named}`: {}", paths.join(" and ")),
    )
    .hint("give each its own `name`, or name the file: `sp show packs/<file>.yaml`")
}

fn read_pack_file(session: &Session<'_>, path: PathBuf) -> Result<ParsedPackFile> {
    let bytes = read_limited(&path, session.limits.yaml_bytes);
    let (path, pack, report) = parse_pack_lenient(session, path, bytes)?;
    Ok((path, pack.filter(|_| report.is_usable()), report))
}

/// Reads as much of a pack as can be read, from what reading its file gave.
pub(crate) fn parse_pack_lenient(
    session: &Session<'_>,
    path: PathBuf,
    bytes: std::result::Result<Vec<u8>, FileError>,
) -> Result<ParsedPackFile> {
    let shown = session.context.display_relative_path(&path);
    let bytes = match bytes {
        Ok(bytes) => bytes,
        // One file that is too large is no reason not to read the others.
        Err(error) if error.kind() == std::io::ErrorKind::FileTooLarge => {
            let mut report = Report::new(shown, "");
            let help =
                "a pack is a short list; raise it with `--limit yaml-bytes=<bytes>` if you mean it";
            report.error(&SP_11, 0..0, error.source.to_string()).help(help);
            return Ok((path, None, report));
        }
        Err(error) => return Err(error.into()),
    };
    let text = match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            let at = error.utf8_error().valid_up_to();
            let mut report = Report::new(shown, String::from_utf8_lossy(&error.as_bytes()[..at]));
            report
                .error(&SP_11, at..at, "it is not UTF-8 text from here on")
                .help("save it as UTF-8");
            return Ok((path, None, report));
        }
    };
    let (pack, report) = pack::read_partial(&shown, &text, &session.limits);
    Ok((path, pack, report))
}

fn require_valid((path, pack, report): ParsedPackFile) -> Result<ValidPackFile> {
    match pack {
        Some(pack) => Ok(ValidPackFile { path, pack, report }),
        None => Err(Error::in_file(format!("the pack `{}` cannot be used", report.file), report)),
    }
}

fn local_skills(
    session: &Session<'_>,
    skills: &Path,
    found: &WalkReport,
    check: StampScope,
) -> Result<LocalSkills> {
    let context = session.context;
    if let Some(misplaced) = find_misplaced(session, skills, found).into_iter().next() {
        return Err(misplaced.into());
    }
    let shown = |path: &str| context.display_path(&skills.join(path));
    let paths: Vec<&str> = found.matches.iter().map(|holder| &*holder.path).collect();
    let (ids, hidden) = partition_skill_dirs(&paths);
    for hidden in &hidden {
        context.emit(Event::Detail(format!(
            "`{}` is no skill: another `{SKILL_FILE}` stands below it",
            shown(hidden)
        )));
    }
    for cycle in &found.cycles {
        context.emit(Event::Detail(format!(
            "the link `{}` leads back to a folder that it lies in; not followed",
            shown(cycle)
        )));
    }
    Ok(LocalSkills { ids, shadowed: hidden, stamp_scope: check })
}

/// Everything that stands where no skill can.
pub(crate) fn find_misplaced(
    session: &Session<'_>,
    skills: &Path,
    found: &WalkReport,
) -> Vec<MisplacedSkill> {
    let (context, depth) = (session.context, session.limits.depth);
    let unnamed = found.invalid_names.iter().map(|unnamed| MisplacedSkill {
        path: skills.join(&unnamed.path),
        rule: &SP_05,
        message: printable(&unnamed.to_string())
            .replace(&*skills.to_string_lossy(), &context.display_path(skills)),
        help: "rename the folder",
    });
    let deep = found.too_deep.iter().map(|path| MisplacedSkill {
        path: skills.join(&**path),
        rule: &SE_04,
        message: format!(
            "`{}` lies more than {depth} folders deep",
            context.display_path(&skills.join(&**path))
        ),
        help: "raise it with `--limit depth=<number>` if you mean it",
    });
    let top =
        found.matches.iter().filter(|holder| holder.path.is_empty()).map(|_| MisplacedSkill {
            path: skills.join(SKILL_FILE),
            rule: &SP_02,
            message: format!(
                "`{}` makes `skills/` itself a skill",
                context.display_path(&skills.join(SKILL_FILE))
            ),
            help: "move it into a folder of its own below `skills/`",
        });
    let links =
        found.matches.iter().filter(|holder| holder.file_is_link && !holder.dir_is_link).map(
            |holder| {
                let path = skills.join(&*holder.path).join(SKILL_FILE);
                MisplacedSkill {
                    rule: &SP_04,
                    message: format!(
                        "`{}` is a link in a folder that is none",
                        context.display_path(&path)
                    ),
                    help: "make the whole skill folder the link, or put the file there",
                    path,
                }
            },
        );
    unnamed.chain(deep).chain(top).chain(links).collect()
}

/// Splits the directories that hold a `SKILL.md` into skills and those that have one below them.
pub(crate) fn partition_skill_dirs(holders: &[&str]) -> (Vec<String>, Vec<String>) {
    let mut sorted: Vec<&str> = holders.to_vec();
    sorted.sort_unstable();
    let has_below = |path: &str| {
        let below = format!("{path}/");
        let at = sorted.partition_point(|other| *other < below.as_str());
        sorted.get(at).is_some_and(|other| other.starts_with(&below))
    };
    let (hidden, ids): (Vec<&str>, Vec<&str>) = sorted.iter().partition(|path| has_below(path));
    let own = |paths: Vec<&str>| paths.into_iter().map(Into::into).collect();
    (own(ids), own(hidden))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sp_03_a_directory_above_another_skill_is_no_skill() {
        let (ids, hidden) = partition_skill_dirs(&["a", "a-b", "a/x", "a/x/y", "b"]);
        assert_eq!(ids, ["a-b", "a/x/y", "b"]);
        assert_eq!(hidden, ["a", "a/x"]);
    }
}
