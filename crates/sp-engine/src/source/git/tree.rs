//! The paths of a commit: which skills there are, and what a skill's files are once links are resolved.

use std::collections::{BTreeMap, HashMap};

use sp_formats::repo::Repo;
use sp_formats::skill::SKILL_FILE;
use sp_tree::{Limits, PathError, RelPath, escape_bytes};

use super::command::GitCommand;
use super::raw_tree::read_trees;
use crate::authoring::leaves;
use crate::error::{Error, Kind, Result};

/// More links on the way to one file than anyone makes by hand.
const MAX_HOPS: usize = 40;

/// Where links point, by the object that holds the target.
pub(super) type Targets = HashMap<Box<str>, Vec<u8>>;

/// What a path of a commit is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Item {
    Folder,
    File { executable: bool },
    Link,
    Submodule,
}

/// An object and what it is used as.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Object {
    pub item: Item,
    pub id: Box<str>,
}

/// All paths of a commit.
#[derive(Debug, Default)]
pub(crate) struct GitTree {
    objects: BTreeMap<Vec<u8>, Object>,
    /// The ids of the skills, sorted.
    pub ids: Vec<String>,
    /// Directories with a `SKILL.md` above another.
    pub hidden: Vec<String>,
    /// Whether the root has a `SKILL.md`, which does not make it a skill.
    pub root_skill: bool,
}

/// A file of a skill with the object that holds its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SkillFile {
    pub path: RelPath,
    /// None for a folder.
    pub blob: Option<(Box<str>, bool)>,
}

impl GitTree {
    /// Reads all paths of a commit with `command`, a `git cat-file --batch`.
    pub(super) fn read(command: GitCommand, commit: &str, limits: &Limits, repo: &Repo) -> Result<Self> {
        let mut tree = Self::default();
        read_trees(command, commit, limits, repo, |path, object| {
            tree.objects.insert(path, object);
        })?;
        tree.discover();
        Ok(tree)
    }

    fn discover(&mut self) {
        let mut holders = Vec::new();
        for (path, object) in &self.objects {
            let (dir, name) = split(path);
            if name != SKILL_FILE.as_bytes() || !matches!(object.item, Item::File { .. } | Item::Link) {
                continue;
            }
            match std::str::from_utf8(dir) {
                Ok("") => self.root_skill = true,
                // A path that no id can have cannot be selected either.
                Ok(dir) if !dir.split('/').any(|segment| segment == ".git") => holders.push(dir),
                _ => {}
            }
        }
        (self.ids, self.hidden) = leaves(&holders);
    }

    /// The id of a skill's folder object, if nothing in it depends on what is outside it.
    pub(crate) fn folder_object(&self, id: &str) -> Option<&str> {
        let object = self.objects.get(id.as_bytes())?;
        let linked = self.below(id.as_bytes()).any(|(_, object)| object.item == Item::Link);
        (!linked).then_some(&*object.id)
    }

    /// The names of the folders directly below a path.
    pub(crate) fn folders(&self, path: &str) -> Vec<String> {
        let direct = self
            .below(path.as_bytes())
            .filter(|(name, object)| !name.contains(&b'/') && matches!(object.item, Item::Folder | Item::Link));
        direct.map(|(name, _)| String::from_utf8_lossy(name).into_owned()).collect()
    }

    /// The object that holds a file's bytes, if there is such a file and it is no link.
    pub(super) fn file(&self, path: &str) -> Option<&str> {
        let object = self.objects.get(path.as_bytes())?;
        matches!(object.item, Item::File { .. }).then_some(&*object.id)
    }

    fn below<'a>(&'a self, dir: &'a [u8]) -> impl Iterator<Item = (&'a [u8], &'a Object)> {
        let prefix = if dir.is_empty() { Vec::new() } else { [dir, b"/"].concat() };
        let length = prefix.len();
        self.objects
            .range(prefix.clone()..)
            .take_while(move |(path, _)| path.starts_with(&prefix))
            .map(move |(path, object)| (&path[length..], object))
    }

    /// The link objects that a skill's files may lead through, as far as they are known by now.
    pub(super) fn links_of(&self, id: &str, targets: &Targets, limits: &Limits) -> Vec<Box<str>> {
        let mut unread = Vec::new();
        let mut walk =
            Walk { tree: self, targets, unread: Some(&mut unread), files: Vec::new(), above: Vec::new(), limits };
        // What is wrong is said when the files are listed; here only the links count.
        let _ = walk.folder(id.as_bytes(), "");
        unread
    }

    /// The files of a skill, every link resolved inside this commit.
    pub(super) fn files_of(&self, repo: &Repo, id: &str, targets: &Targets, limits: &Limits) -> Result<Vec<SkillFile>> {
        let mut walk = Walk { tree: self, targets, unread: None, files: Vec::new(), above: Vec::new(), limits };
        refuse_git_dir(id).and_then(|()| walk.folder(id.as_bytes(), "")).map_err(|refusal| {
            let hint = match refusal.limit {
                Some(name) => format!("exclude it, or raise `--limit {name}=<number>` if you trust it"),
                None => "exclude it, or ask its author to mend it".into(),
            };
            Error::new(Kind::Data, format!("the skill `{id}` of `{repo}` cannot be installed"))
                .because(refusal.why)
                .hint(hint)
        })?;
        Ok(walk.files)
    }

    /// Follows a path through links. The place may not exist.
    fn resolve(&self, path: &[u8], targets: &Targets) -> std::result::Result<Vec<u8>, Stop> {
        let mut done: Vec<u8> = Vec::new();
        let mut rest: Vec<Vec<u8>> = path.split(|byte| *byte == b'/').rev().map(<[u8]>::to_vec).collect();
        let mut hops = 0;
        while let Some(segment) = rest.pop() {
            match segment.as_slice() {
                b"" | b"." => continue,
                b".." if done.is_empty() => {
                    return Err(Stop::Refused(format!("`{}` leads out of the repository", show(path))));
                }
                b".." => done.truncate(split(&done).0.len()),
                segment => {
                    if !done.is_empty() {
                        done.push(b'/');
                    }
                    done.extend(segment);
                }
            }
            let Some(Object { item: Item::Link, id }) = self.objects.get(&done) else {
                continue;
            };
            hops += 1;
            if hops > MAX_HOPS {
                return Err(Stop::Refused(format!("the link `{}` leads in a circle", show(path))));
            }
            let target = targets.get(id).ok_or_else(|| Stop::Unread(id.clone()))?;
            if target.first() == Some(&b'/') {
                return Err(Stop::Refused(format!(
                    "the link `{}` leads out of the repository, to `{}`",
                    show(&done),
                    show(target)
                )));
            }
            done.truncate(split(&done).0.len());
            rest.extend(target.split(|byte| *byte == b'/').rev().map(<[u8]>::to_vec));
        }
        Ok(done)
    }
}

/// Why a path could not be followed.
enum Stop {
    /// A link on the way has not been read yet.
    Unread(Box<str>),
    /// It must not be followed.
    Refused(String),
}

/// Why a skill cannot be taken, and the limit that would have to be raised, if it was one.
struct Refusal {
    why: String,
    limit: Option<&'static str>,
}

impl From<String> for Refusal {
    fn from(why: String) -> Self {
        Self { why, limit: None }
    }
}

/// Refuses a skill that lies in a folder that git reads as its own, on this or on another platform.
fn refuse_git_dir(id: &str) -> std::result::Result<(), Refusal> {
    match RelPath::new(id) {
        Err(why @ PathError::GitDir(_)) => Err(format!("`{}`: {why}", show(id.as_bytes())).into()),
        _ => Ok(()),
    }
}

/// A walk through a skill.
struct Walk<'a> {
    tree: &'a GitTree,
    targets: &'a Targets,
    /// Where links that are not read yet are noted, on a first walk.
    unread: Option<&'a mut Vec<Box<str>>>,
    files: Vec<SkillFile>,
    /// The real folders on the way down.
    above: Vec<Vec<u8>>,
    limits: &'a Limits,
}

impl Walk<'_> {
    /// Lists the real folder `dir`, whose files appear below `shown`.
    fn folder(&mut self, dir: &[u8], shown: &str) -> std::result::Result<(), Refusal> {
        if self.above.iter().any(|other| other == dir) {
            return Err(format!("a link leads back to the folder `{}` that it lies in", show(dir)).into());
        }
        if self.above.len() as u64 > self.limits.depth {
            let why = format!("`{shown}` lies more than {} folders deep", self.limits.depth);
            return Err(Refusal { why, limit: Some("depth") });
        }
        self.above.push(dir.to_vec());
        let tree = self.tree;
        for (path, object) in tree.below(dir).filter(|(path, _)| !path.contains(&b'/')) {
            let real = if dir.is_empty() { path.to_vec() } else { [dir, b"/", path].concat() };
            self.entry(&real, path, object, shown)?;
        }
        self.above.pop();
        Ok(())
    }

    fn entry(&mut self, real: &[u8], name: &[u8], object: &Object, shown: &str) -> std::result::Result<(), Refusal> {
        let path = if shown.is_empty() { name.to_vec() } else { [shown.as_bytes(), b"/", name].concat() };
        let path =
            RelPath::from_bytes(&path).map_err(|why: PathError| Refusal::from(format!("`{}`: {why}", show(&path))))?;
        match &object.item {
            Item::Folder => self.place_folder(real, path),
            Item::File { executable } => self.place_file(path, &object.id, *executable),
            Item::Submodule => Err(format!("`{path}` is a submodule, and submodules are not followed").into()),
            Item::Link => self.link(real, path),
        }
    }

    fn link(&mut self, real: &[u8], path: RelPath) -> std::result::Result<(), Refusal> {
        let target = match self.tree.resolve(real, self.targets) {
            Ok(target) => target,
            Err(Stop::Refused(why)) => return Err(why.into()),
            Err(Stop::Unread(id)) => {
                if let Some(unread) = &mut self.unread {
                    unread.push(id);
                }
                return Ok(());
            }
        };
        let tree = self.tree;
        match tree.objects.get(&target).map(|object| (&object.item, &object.id)) {
            Some((Item::File { executable }, id)) => self.place_file(path, id, *executable),
            Some((Item::Folder, _)) => self.place_folder(&target, path),
            None if target.is_empty() => self.place_folder(&target, path),
            Some((Item::Submodule, _)) => Err(format!("the link `{path}` leads to a submodule").into()),
            Some((Item::Link, _)) | None => Err(format!("the link `{path}` points to nothing").into()),
        }
    }

    fn place_folder(&mut self, real: &[u8], path: RelPath) -> std::result::Result<(), Refusal> {
        let shown = path.to_string();
        self.push(SkillFile { path, blob: None })?;
        self.folder(real, &shown)
    }

    fn place_file(&mut self, path: RelPath, id: &str, executable: bool) -> std::result::Result<(), Refusal> {
        self.push(SkillFile { path, blob: Some((id.into(), executable)) })
    }

    fn push(&mut self, file: SkillFile) -> std::result::Result<(), Refusal> {
        if self.files.len() as u64 >= self.limits.skill_entries {
            let why = format!("it has more than {} files and folders", self.limits.skill_entries);
            return Err(Refusal { why, limit: Some("skill-entries") });
        }
        self.files.push(file);
        Ok(())
    }
}

fn split(path: &[u8]) -> (&[u8], &[u8]) {
    match path.iter().rposition(|byte| *byte == b'/') {
        Some(at) => (&path[..at], &path[at + 1..]),
        None => (b"", path),
    }
}

pub(super) fn show(path: &[u8]) -> String {
    use std::os::unix::ffi::OsStrExt;
    escape_bytes(std::ffi::OsStr::from_bytes(path))
}
