//! An authoring repository: `skills/` and `packs/` below one directory.

use std::path::{Path, PathBuf};

use sp_formats::checks::{SE_04, SP_02, SP_04, SP_05, SP_11};
use sp_formats::pack::{self, Pack};
use sp_formats::printable::printable;
use sp_formats::report::Report;
use sp_formats::skill::SKILL_FILE;
use sp_formats::suggest::nearest;
use sp_tree::{Check, Dir, FileError, Found, Index, Name, find_holders, read_limited};

use crate::config::Session;
use crate::context::{Context, Event};
use crate::error::{Error, Kind, Result};

/// A directory with `skills/` and `packs/`.
#[derive(Debug, Clone)]
pub(crate) struct Authoring {
    pub root: PathBuf,
}

/// A pack file that was read.
pub(crate) struct PackFile {
    pub path: PathBuf,
    pub pack: Pack,
    pub report: Report,
}

/// A pack file, the pack if it is one, and what was found in it.
pub(crate) type ReadPack = (PathBuf, Option<Pack>, Report);

/// The local skills of a repository.
#[derive(Debug, Clone)]
pub(crate) struct LocalSkills {
    /// Their ids, sorted.
    pub ids: Vec<String>,
    /// Directories with a `SKILL.md` that have another below them.
    pub hidden: Vec<String>,
    /// What the index must still look at to know a skill unchanged.
    pub check: Check,
}

/// Something that stands where no skill can.
#[derive(Debug, Clone)]
pub(crate) struct Misplaced {
    pub path: PathBuf,
    pub rule: &'static sp_formats::checks::Check,
    pub message: String,
    pub help: &'static str,
}

impl From<Misplaced> for Error {
    fn from(misplaced: Misplaced) -> Self {
        Self::new(Kind::Data, misplaced.message).hint(misplaced.help)
    }
}

impl Authoring {
    /// The repository that the user means: a given one, or the nearest upward.
    pub(crate) fn find(context: &Context<'_>, given: Option<&Path>) -> Result<Self> {
        if let Some(given) = given {
            let root = context.expand(&given.to_string_lossy());
            return if root.is_dir() {
                Ok(Self { root })
            } else {
                Err(Error::new(Kind::Request, format!("there is no directory `{}`", root.display()))
                    .hint("give `--root` the directory that holds `skills/` and `packs/`"))
            };
        }
        let holds = |dir: &&Path| dir.join("skills").is_dir() || dir.join("packs").is_dir();
        match context.current_dir.ancestors().find(holds) {
            Some(root) => Ok(Self { root: root.into() }),
            None => Err(Error::new(
                Kind::Request,
                format!(
                    "neither `{}` nor a directory above it has `skills/` or `packs/`",
                    context.show(&context.current_dir)
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
    pub(crate) fn skills(&self, session: &Session<'_>, index: Option<&mut Index>) -> Result<LocalSkills> {
        let context = session.context;
        let path = self.skills_dir();
        if !path.is_dir() {
            return Err(Error::new(Kind::Request, format!("there is no directory `{}`", context.show(&path)))
                .hint("make it and put skills into it, or run `sp init` in an empty directory"));
        }
        let dir = Dir::open(&path)?;
        let known = index.as_ref().and_then(|index| index.outline(&dir));
        let (found, check) = match known {
            Some(found) => (found, Check::Files),
            None => {
                let file = Name::new(SKILL_FILE).map_err(|e| Error::new(Kind::Data, e.to_string()))?;
                let found = find_holders(Dir::open(&path)?, &file, &session.limits)?;
                if let Some(index) = index {
                    index.set_outline(&found, (context.wall_clock)());
                }
                (found, Check::All)
            }
        };
        local_skills(session, &path, &found, check)
    }

    /// Reads every pack file below `packs/`, good or bad, sorted by path.
    pub(crate) fn pack_files(&self, session: &Session<'_>) -> Result<Vec<ReadPack>> {
        let files = self.pack_paths()?.into_iter().filter(|path| path.is_file());
        files.map(|path| read_pack(session, path)).collect()
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
    fn pack(&self, session: &Session<'_>, named: &str) -> Result<PackFile> {
        let context = session.context;
        let files = self.pack_files(session)?;
        let by_stem: Vec<usize> = positions(&files, |path, _| path.file_stem().is_some_and(|stem| stem == named));
        let by_name: Vec<usize> = positions(&files, |_, pack| pack.is_some_and(|pack| pack.name == named));
        let found = match (&by_stem[..], &by_name[..]) {
            ([one], _) => *one,
            ([], [one]) => *one,
            ([], []) => return Err(self.no_pack(context, named, &files)),
            ([], several) | (several, _) => return Err(two_packs(context, named, &files, several)),
        };
        let name = files[found].1.as_ref().map(|pack| pack.name.clone());
        let twins = positions(&files, |_, pack| pack.is_some_and(|pack| Some(&pack.name) == name.as_ref()));
        if let (Some(name), true) = (&name, twins.len() > 1) {
            return Err(two_packs(context, name, &files, &twins));
        }
        files.into_iter().nth(found).map_or_else(|| Err(Error::new(Kind::Request, "no pack")), usable)
    }

    fn no_pack(&self, context: &Context<'_>, named: &str, files: &[ReadPack]) -> Error {
        let names: Vec<String> = files.iter().map(|(path, pack, _)| pack_name(path, pack.as_ref())).collect();
        let error = Error::new(
            Kind::Request,
            format!("there is no pack called `{named}` in `{}`", context.show(&self.root.join("packs"))),
        );
        match nearest(named, names.iter().map(String::as_str)) {
            Some(near) => error.hint(format!("did you mean `{near}`?")),
            None if names.is_empty() => error.hint("write one: `packs/<name>.yaml` with `name:` and `include:`"),
            None => error.hint(format!("the packs are: {}", names.join(", "))),
        }
    }
}

/// The repository and the pack that the user means.
pub(crate) fn find_pack(session: &Session<'_>, root: Option<&Path>, named: &str) -> Result<(Authoring, PackFile)> {
    let context = session.context;
    let path = Path::new(named);
    if !named.contains('/') && !is_pack_file(path) {
        let authoring = Authoring::find(context, root)?;
        let pack = authoring.pack(session, named)?;
        return Ok((authoring, pack));
    }
    let file = match root {
        // A path may be meant from the given root as well as from here.
        Some(root) if !context.absolute(path).exists() => context.expand(&root.to_string_lossy()).join(path),
        _ => context.expand(named),
    };
    if !file.is_file() {
        return Err(Error::new(Kind::Request, format!("there is no pack file `{}`", context.show(&file)))
            .hint("`sp packs` lists the packs of this repository"));
    }
    let authoring = match (root, file.parent().filter(|dir| dir.ends_with("packs")).and_then(Path::parent)) {
        (None, Some(root)) => Authoring { root: root.into() },
        _ => Authoring::find(context, root)?,
    };
    let pack = usable(read_pack(session, file)?)?;
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

fn positions(files: &[ReadPack], is: impl Fn(&Path, Option<&Pack>) -> bool) -> Vec<usize> {
    (0..files.len()).filter(|&at| is(&files[at].0, files[at].1.as_ref())).collect()
}

fn two_packs(context: &Context<'_>, named: &str, files: &[ReadPack], which: &[usize]) -> Error {
    let paths: Vec<String> = which.iter().map(|&at| format!("`{}`", context.show(&files[at].0))).collect();
    Error::new(Kind::Data, format!("more than one pack is called `{named}`: {}", paths.join(" and ")))
        .hint("give each its own `name`, or name the file: `sp show packs/<file>.yaml`")
}

fn read_pack(session: &Session<'_>, path: PathBuf) -> Result<ReadPack> {
    let bytes = read_limited(&path, session.limits.yaml_bytes);
    let (path, pack, report) = read_pack_partly(session, path, bytes)?;
    Ok((path, pack.filter(|_| report.is_usable()), report))
}

/// Reads as much of a pack as can be read, from what reading its file gave.
pub(crate) fn read_pack_partly(
    session: &Session<'_>,
    path: PathBuf,
    bytes: std::result::Result<Vec<u8>, FileError>,
) -> Result<ReadPack> {
    let shown = session.context.show_near(&path);
    let bytes = match bytes {
        Ok(bytes) => bytes,
        // One file that is too large is no reason not to read the others.
        Err(error) if error.kind() == std::io::ErrorKind::FileTooLarge => {
            let mut report = Report::new(shown, "");
            let help = "a pack is a short list; raise it with `--limit yaml-bytes=<bytes>` if you mean it";
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
            report.error(&SP_11, at..at, "it is not UTF-8 text from here on").help("save it as UTF-8");
            return Ok((path, None, report));
        }
    };
    let (pack, report) = pack::read_partly(&shown, &text, &session.limits);
    Ok((path, pack, report))
}

fn usable((path, pack, report): ReadPack) -> Result<PackFile> {
    match pack {
        Some(pack) => Ok(PackFile { path, pack, report }),
        None => Err(Error::in_file(format!("the pack `{}` cannot be used", report.file), report)),
    }
}

fn local_skills(session: &Session<'_>, skills: &Path, found: &Found, check: Check) -> Result<LocalSkills> {
    let context = session.context;
    if let Some(misplaced) = misplaced(session, skills, found).into_iter().next() {
        return Err(misplaced.into());
    }
    let shown = |path: &str| context.show(&skills.join(path));
    let paths: Vec<&str> = found.holders.iter().map(|holder| &*holder.path).collect();
    let (ids, hidden) = leaves(&paths);
    for hidden in &hidden {
        context.tell(Event::Detail(format!("`{}` is no skill: another `{SKILL_FILE}` stands below it", shown(hidden))));
    }
    for cycle in &found.cycles {
        context.tell(Event::Detail(format!(
            "the link `{}` leads back to a folder that it lies in; not followed",
            shown(cycle)
        )));
    }
    Ok(LocalSkills { ids, hidden, check })
}

/// Everything that stands where no skill can.
pub(crate) fn misplaced(session: &Session<'_>, skills: &Path, found: &Found) -> Vec<Misplaced> {
    let (context, depth) = (session.context, session.limits.depth);
    let unnamed = found.unnamed.iter().map(|unnamed| Misplaced {
        path: skills.join(&unnamed.path),
        rule: &SP_05,
        message: printable(&unnamed.to_string()).replace(&*skills.to_string_lossy(), &context.show(skills)),
        help: "rename the folder",
    });
    let deep = found.too_deep.iter().map(|path| Misplaced {
        path: skills.join(&**path),
        rule: &SE_04,
        message: format!("`{}` lies more than {depth} folders deep", context.show(&skills.join(&**path))),
        help: "raise it with `--limit depth=<number>` if you mean it",
    });
    let top = found.holders.iter().filter(|holder| holder.path.is_empty()).map(|_| Misplaced {
        path: skills.join(SKILL_FILE),
        rule: &SP_02,
        message: format!("`{}` makes `skills/` itself a skill", context.show(&skills.join(SKILL_FILE))),
        help: "move it into a folder of its own below `skills/`",
    });
    let links = found.holders.iter().filter(|holder| holder.file_is_link && !holder.dir_is_link).map(|holder| {
        let path = skills.join(&*holder.path).join(SKILL_FILE);
        Misplaced {
            rule: &SP_04,
            message: format!("`{}` is a link in a folder that is none", context.show(&path)),
            help: "make the whole skill folder the link, or put the file there",
            path,
        }
    });
    unnamed.chain(deep).chain(top).chain(links).collect()
}

/// Splits the directories that hold a `SKILL.md` into skills and those that have one below them.
pub(crate) fn leaves(holders: &[&str]) -> (Vec<String>, Vec<String>) {
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
        let (ids, hidden) = leaves(&["a", "a-b", "a/x", "a/x/y", "b"]);
        assert_eq!(ids, ["a-b", "a/x/y", "b"]);
        assert_eq!(hidden, ["a", "a/x"]);
    }
}
