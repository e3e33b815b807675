//! `sp bag`: sources, installing, editing, dependencies, precedence, and what is left when it is
//! cut short.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test arranges its world with the plain calls"
)]

mod dependencies;
mod edits;
mod init;
mod interruptions;
mod precedence;
mod sources;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use serde_json::Value;
use sp_testkit::{Answer, Entry, HttpServer, Repo, Run, WebServer, World, world, zip};

const AGENTS: &str =
    "# SKILLBAG\n\nSkills live under `.skills/`; `.skills/SKILLS.md` lists them.\n";
const BOOTSTRAP: &str = "skillbag-get-skills: Install one or more skills into .skills/.\n";

/// The files of a source, by path.
#[derive(Clone)]
struct Bag(BTreeMap<String, String>);

impl Bag {
    /// A source with these skills, each with a script and a reference.
    fn new(skills: &[&str]) -> Self {
        let mut bag = Self([("AGENTS.md".into(), AGENTS.into())].into());
        for name in skills {
            bag = bag.skill(name, "");
        }
        bag
    }

    /// With another skill, whose text ends with `more`.
    fn skill(mut self, name: &str, more: &str) -> Self {
        self.0.insert(format!(".skills/{name}/SKILL.md"), skill(name, more));
        self.0.insert(format!(".skills/{name}/scripts/run.sh"), format!("echo {name}\n"));
        self.catalogued()
    }

    /// With a catalog that fits.
    fn catalogued(mut self) -> Self {
        let names = self
            .0
            .keys()
            .filter_map(|path| path.strip_prefix(".skills/")?.strip_suffix("/SKILL.md"));
        let lines: String = names.map(|name| format!("{name}: Does {name}.\n")).collect();
        self.0.insert(".skills/SKILLS.md".into(), lines);
        self
    }

    /// With this file, or without it.
    fn with(mut self, path: &str, text: Option<&str>) -> Self {
        match text {
            Some(text) => self.0.insert(path.into(), text.into()),
            None => self.0.remove(path),
        };
        self
    }

    /// Writes it into a directory, in place of what is there.
    fn put(&self, dir: &Path) {
        let _ = std::fs::remove_dir_all(dir.join(".skills"));
        let _ = std::fs::remove_file(dir.join("AGENTS.md"));
        for (path, text) in &self.0 {
            let path = dir.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
    }

    /// As a zip, below a folder if `top` is not empty.
    fn zip(&self, top: &str) -> Vec<u8> {
        let paths: Vec<String> = self.0.keys().map(|path| format!("{top}{path}")).collect();
        let members = paths.iter().zip(self.0.values());
        zip(&members.map(|(path, text)| (path.as_str(), text.as_bytes())).collect::<Vec<_>>())
    }
}

/// A `SKILL.md` whose text ends with `more`.
fn skill(name: &str, more: &str) -> String {
    format!("---\nname: {name}\ndescription: Does {name}.\n---\n\nDo {name}.\n{more}")
}

/// A `Dependencies` section: each of `entries` is a mapping in YAML's flow style.
fn needs(entries: &[&str]) -> String {
    let mut text = String::from("\n## Dependencies\n\n```yaml\ndependencies:\n");
    entries.iter().for_each(|entry| writeln!(text, "  - {{{entry}}}").unwrap());
    text + "```\n"
}

/// A world with an empty workspace in `ws`.
fn workspace() -> World {
    let world = world!();
    std::fs::create_dir(world.path("ws")).unwrap();
    bag(&world, &["init"]).ok();
    world
}

/// Runs `sp bag` in the workspace.
fn bag(world: &World, args: &[&str]) -> Run {
    world.sp_in("ws", &[&["bag"], args].concat())
}

/// What it prints as JSON.
fn json(world: &World, args: &[&str]) -> Value {
    let run = bag(world, &[args, &["--format", "json"]].concat()).ok();
    serde_json::from_str(&run.stdout).unwrap_or_else(|e| panic!("{e}: {run}"))
}

fn write(world: &World, path: &str, text: &str) {
    let path = world.path(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

fn read(world: &World, path: &str) -> String {
    std::fs::read_to_string(world.path(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
}

/// A source in the directory `name`, and its path.
fn dir(world: &World, name: &str, source: &Bag) -> String {
    source.put(&world.path(name));
    world.path(name).display().to_string()
}

fn lock(world: &World) -> Value {
    serde_json::from_str(&read(world, "ws/.skills/.skillbag.lock")).unwrap()
}

/// The skills besides the reserved one.
fn skills(world: &World) -> Vec<String> {
    let folders = world
        .files("ws/.skills")
        .into_iter()
        .filter(|(name, entry)| !name.contains('/') && *entry == Entry::Dir);
    folders.map(|(name, _)| name).filter(|name| name != "skillbag-get-skills").collect()
}

/// The catalog fits the folders exactly, the lock knows no skill that is gone, and nothing is left
/// over.
#[track_caller]
fn in_step(world: &World, what: &str) {
    let mut names = skills(world);
    names.push("skillbag-get-skills".into());
    names.sort();
    let lines = read(world, "ws/.skills/SKILLS.md");
    let listed: Vec<&str> = lines.lines().map(|line| line.split_once(": ").unwrap().0).collect();
    assert_eq!(listed, names, "{what}: the catalog");
    let lock = lock(world);
    let locked: Vec<&String> = lock["skills"].as_object().unwrap().keys().collect();
    assert!(
        locked.iter().all(|name| names.contains(name)),
        "{what}: the lock knows {locked:?}, and there are {names:?}"
    );
    no_leftovers(world, what);
}

#[track_caller]
fn no_leftovers(world: &World, what: &str) {
    let left = |name: &String| {
        ["tmp", "journal", "partial", ".lock", ".zip"].iter().any(|part| name.contains(part))
    };
    // The archive of a source whose query is not in the lock stays: the lock names it.
    let lock = std::fs::read_to_string(world.path("ws/.skills/.skillbag.lock")).unwrap_or_default();
    let is_locked = |name: &String| {
        let archive =
            name.strip_prefix("cache/archives/").and_then(|name| name.strip_suffix(".zip"));
        archive.is_some_and(|digest| lock.contains(digest))
    };
    let home =
        world.files("home/.skillpack").into_keys().filter(|name| left(name) && !is_locked(name));
    let home: Vec<String> = home.collect();
    let staged = |name: &String| name.contains(".skillpack") || name.contains("sp-new");
    let here: Vec<String> = world.files("ws").into_keys().filter(staged).collect();
    assert_eq!((home, here), (vec![], vec![]), "{what}: left over");
}

/// Runs `sp bag`, which must fail and leave no trace.
#[track_caller]
fn refused(world: &World, args: &[&str], code: i32, words: &str) -> Run {
    let before = world.files("ws");
    let run = bag(world, args).fails(code);
    assert!(run.stderr.contains(words), "`{words}` is not in {run}");
    assert_eq!(world.files("ws"), before, "{args:?}: {run}");
    no_leftovers(world, &format!("{args:?}"));
    run
}
