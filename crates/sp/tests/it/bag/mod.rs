//! `sp bag`: sources, installation, edits, dependencies, precedence and interrupted runs.

mod dependencies;
mod edits;
mod gate;
mod init;
mod interruptions;
mod plans;
mod precedence;
mod repair;
mod sources;
mod unquoted_tags;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use serde_json::Value;
use sp_testkit::{
    CliError, FileEntry, GitRepository, HttpServer, Run, WebResponse, WebServer, World, world, zip,
};

const AGENTS: &str =
    "# SKILLBAG\n\nSkills live under `.skills/`; `.skills/SKILLS.md` lists them.\n";
const RESERVED_LINE: &str = "skillbag-get-skills: Install one or more skills into .skills/.\n";

/// The files of a source, by path.
#[derive(Clone)]
struct SourceFiles(BTreeMap<String, String>);

impl SourceFiles {
    /// Returns a source with these skills, each with a script.
    fn new(skills: &[&str]) -> Self {
        let mut source = Self([("AGENTS.md".into(), AGENTS.into())].into());
        for name in skills {
            source = source.with_skill(name, "");
        }
        source
    }

    /// Adds a skill whose text ends with `more`, and its line in the catalog.
    fn with_skill(mut self, name: &str, more: &str) -> Self {
        self.0.insert(format!(".skills/{name}/SKILL.md"), skill(name, more));
        self.0.insert(format!(".skills/{name}/scripts/run.sh"), format!("echo {name}\n"));
        let names = self
            .0
            .keys()
            .filter_map(|path| path.strip_prefix(".skills/")?.strip_suffix("/SKILL.md"));
        let lines: String = names.map(|name| format!("{name}: Does {name}.\n")).collect();
        self.0.insert(".skills/SKILLS.md".into(), lines);
        self
    }

    /// Sets a file, or removes it if `text` is `None`.
    fn with_file(mut self, path: &str, text: Option<&str>) -> Self {
        match text {
            Some(text) => self.0.insert(path.into(), text.into()),
            None => self.0.remove(path),
        };
        self
    }

    /// Replaces the source in a directory.
    fn write_to(&self, dir: &Path) {
        let _ = std::fs::remove_dir_all(dir.join(".skills"));
        let _ = std::fs::remove_file(dir.join("AGENTS.md"));
        for (path, text) in &self.0 {
            let path = dir.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
    }

    /// Returns a zip whose paths start with `prefix`.
    fn zip(&self, prefix: &str) -> Vec<u8> {
        let paths: Vec<String> = self.0.keys().map(|path| format!("{prefix}{path}")).collect();
        let members = paths.iter().zip(self.0.values());
        zip(&members.map(|(path, text)| (path.as_str(), text.as_bytes())).collect::<Vec<_>>())
    }
}

/// Returns a `SKILL.md` whose text ends with `more`.
fn skill(name: &str, more: &str) -> String {
    format!("---\nname: {name}\ndescription: Does {name}.\n---\n\nDo {name}.\n{more}")
}

/// Returns a `Dependencies` section. Each entry is the inside of a YAML flow mapping.
fn dependency_section(entries: &[&str]) -> String {
    let mut text = String::from("\n## Dependencies\n\n```yaml\ndependencies:\n");
    entries.iter().for_each(|entry| writeln!(text, "  - {{{entry}}}").unwrap());
    text + "```\n"
}

/// Returns a world with an empty workspace in `ws`.
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

/// Runs `sp bag` in the workspace, and returns the error that it must end with.
#[track_caller]
fn bag_error(world: &World, args: &[&str]) -> CliError {
    world.sp_error_in("ws", &[&["bag"], args].concat())
}

/// Runs `sp bag --format json`, which must succeed.
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

/// Writes a source into the directory `name`, and returns its path.
fn source_dir(world: &World, name: &str, source: &SourceFiles) -> String {
    source.write_to(&world.path(name));
    world.path(name).display().to_string()
}

fn make_fifo(path: &Path) {
    assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
}

fn lock(world: &World) -> Value {
    serde_json::from_str(&read(world, "ws/.skills/.skillbag.lock")).unwrap()
}

/// Returns the skills of the workspace except the reserved one.
fn skill_names(world: &World) -> Vec<String> {
    let folders = world
        .files("ws/.skills")
        .into_iter()
        .filter(|(name, entry)| !name.contains('/') && *entry == FileEntry::Dir);
    folders.map(|(name, _)| name).filter(|name| name != "skillbag-get-skills").collect()
}

/// Checks that the catalog lists exactly the skills, that the lock records no other skills, and
/// that nothing is left over.
#[track_caller]
fn assert_consistent(world: &World, context: &str) {
    let mut names = skill_names(world);
    names.push("skillbag-get-skills".into());
    names.sort();
    let catalog = read(world, "ws/.skills/SKILLS.md");
    let listed: Vec<&str> = catalog.lines().map(|line| line.split_once(": ").unwrap().0).collect();
    assert_eq!(listed, names, "{context}: catalog");
    let lock = lock(world);
    let locked: Vec<&String> = lock["skills"].as_object().unwrap().keys().collect();
    assert!(
        locked.iter().all(|name| names.contains(name)),
        "{context}: locked {locked:?}, skills {names:?}"
    );
    assert_no_leftovers(world, context);
}

#[track_caller]
fn assert_no_leftovers(world: &World, context: &str) {
    // The archive of a source whose query is not in the lock stays: the lock names it.
    let lock = std::fs::read_to_string(world.path("ws/.skills/.skillbag.lock")).unwrap_or_default();
    let is_locked_archive = |name: &str| {
        let archive =
            name.strip_prefix("cache/archives/").and_then(|name| name.strip_suffix(".zip"));
        archive.is_some_and(|digest| lock.contains(digest))
    };
    let is_temporary = |name: &str| {
        ["tmp", "journal", "partial", ".lock", ".zip"].iter().any(|part| name.contains(part))
    };
    let in_home: Vec<String> = world
        .files("home/.skillpack")
        .into_keys()
        .filter(|name| is_temporary(name) && !is_locked_archive(name))
        .collect();
    let is_staged = |name: &String| name.contains(".skillpack") || name.contains("sp-new");
    let in_workspace: Vec<String> = world.files("ws").into_keys().filter(is_staged).collect();
    assert_eq!((in_home, in_workspace), (vec![], vec![]), "{context}: left over");
}

/// Runs `sp bag`, which must fail with this code, explain how to fix it, and change nothing.
#[track_caller]
fn assert_refused(world: &World, args: &[&str], code: &str) -> CliError {
    let before = world.files("ws");
    let error = bag_error(world, args);
    assert_eq!(error.code, code, "{args:?}: {error:#?}");
    assert!(!error.hints.is_empty() || !error.findings.is_empty(), "{args:?}: {error:#?}");
    assert_eq!(world.files("ws"), before, "{args:?}: {error:#?}");
    assert_no_leftovers(world, &format!("{args:?}"));
    error
}
