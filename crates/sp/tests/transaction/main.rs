//! Wholly old or wholly new: `sp` is killed and refused at every one of its mutating
//! file-system calls, and the next run must find, or make, a world without a scratch.

#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test plays the person and the machine"
)]

mod disks;
mod kills;
mod refusals;
mod state;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use sp_testkit::{Entry, Files, World, files, world};

const CHANGED: &str = "---\nname: b\ndescription: Does b otherwise.\n---\n";

/// A command and the world that it starts from.
struct Scenario {
    world: World,
    args: Vec<String>,
    /// The world as it is before, to start from again.
    before: PathBuf,
    trace: PathBuf,
    old: View,
    new: View,
    /// What an undisturbed run keeps of edited folders.
    kept: Files,
    calls: u64,
}

/// What counts of a world: what is in the sink, what the state says, and what was kept of edits.
#[derive(Debug, Clone, PartialEq)]
struct View {
    sink: Files,
    records: Vec<serde_json::Value>,
}

impl View {
    fn of(world: &World) -> Self {
        let text = std::fs::read(world.path("home/.skillpack/state.json"));
        let state =
            text.map_or(serde_json::Value::Null, |text| serde_json::from_slice(&text).unwrap());
        let mut records = state["installs"].as_array().cloned().unwrap_or_default();
        // A sink that is copied again for each round has another inode each time.
        records
            .iter_mut()
            .filter_map(|record| record.as_object_mut())
            .for_each(|record| drop(record.remove("sink_id")));
        Self { sink: world.files("sink"), records }
    }
}

impl Scenario {
    /// Plays `command` once to learn what the world looks like after it and how many calls it
    /// makes.
    fn new(prepare: impl Fn(&World, &str), command: &[&str]) -> Self {
        let world = world!();
        let sink = world.path("sink").display().to_string();
        prepare(&world, &sink);
        let canary = world.path("sink/canary");
        std::fs::create_dir_all(&canary).unwrap();
        std::fs::write(canary.join("SKILL.md"), "not ours").unwrap();
        std::os::unix::fs::symlink("/etc/passwd", canary.join("link")).unwrap();
        let (before, trace) = (world.path("before"), world.path("trace"));
        PARTS.iter().for_each(|part| copy(&world.path(part), &before.join(part)));
        let args: Vec<String> = command.iter().map(|arg| arg.replace("SINK", &sink)).collect();
        let old = View::of(&world);
        let mut scenario = Self {
            new: old.clone(),
            old,
            world,
            args,
            before,
            trace,
            kept: Files::new(),
            calls: 0,
        };
        scenario.run(&[("SP_FAULT_TRACE", &scenario.trace.display().to_string())]).ok();
        scenario.calls = std::fs::read_to_string(&scenario.trace).unwrap().lines().count() as u64;
        scenario.new = View::of(&scenario.world);
        scenario.kept = kept(&scenario.world);
        assert_ne!(scenario.new, scenario.old);
        scenario
    }

    fn run(&self, env: &[(&str, &str)]) -> sp_testkit::Run {
        let args: Vec<&str> = self.args.iter().map(String::as_str).collect();
        let mut command = self.world.command(&args);
        command.envs(env.iter().copied());
        self.world.run(command)
    }

    fn restart(&self) {
        for part in PARTS {
            let (from, to) = (self.before.join(part), self.world.path(part));
            let _ = std::fs::remove_file(&to).or_else(|_| std::fs::remove_dir_all(&to));
            copy(&from, &to);
        }
    }

    /// After a broken run: recovery makes it old or new, a rerun makes it new, and nothing is left
    /// over.
    fn check(&self, what: &str, edited: Option<&str>) -> View {
        let recovery = self.world.sp(&["installed"]);
        assert_eq!(recovery.code, Some(0), "{what}: {recovery}");
        let view = View::of(&self.world);
        assert!(view == self.old || view == self.new, "{what}: torn\n{view:#?}");
        assert_no_leftovers(&self.world, what);
        if let Some(edited) = edited {
            assert!(
                holds(&self.world.path("sink"), edited)
                    || holds(&self.world.path("home/.skillpack/trash"), edited),
                "{what}: an edit is lost"
            );
        }
        for (path, entry) in kept(&self.world) {
            assert_eq!(
                self.kept.get(&path),
                Some(&entry),
                "{what}: `{path}` was kept, and nobody edited it"
            );
        }
        if view == self.old {
            let rerun = self.run(&[]);
            assert_eq!(rerun.code, Some(0), "{what}: {rerun}");
        }
        assert_eq!(View::of(&self.world), self.new, "{what}: a rerun does not converge");
        assert_no_leftovers(&self.world, what);
        assert_eq!(unfinished(&self.world), [""; 0], "{what}: left in the cache by a rerun");
        view
    }
}

/// What a run may touch; `real` is there where the sink is a link to it.
const PARTS: [&str; 3] = ["home", "sink", "real"];

fn copy(from: &Path, to: &Path) {
    if from.symlink_metadata().is_err() {
        return;
    }
    std::fs::create_dir_all(to.parent().unwrap()).unwrap();
    assert!(Command::new("cp").arg("-a").arg(from).arg(to).status().unwrap().success());
}

/// Nothing unfinished in the sink or the home. What a killed run left in a git cache is swept
/// by the next run that uses that cache, as git's own unfinished packs are.
fn assert_no_leftovers(world: &World, what: &str) {
    let staged: Vec<String> =
        world.files("sink").into_keys().filter(|name| name.starts_with(".skillpack")).collect();
    assert!(staged.is_empty(), "{what}: left in the sink: {staged:?}");
    let home: Vec<String> =
        unfinished(world).into_iter().filter(|name| !name.starts_with("cache/")).collect();
    assert!(home.is_empty(), "{what}: left in the home: {home:?}");
}

/// Files of the home that no finished run has.
fn unfinished(world: &World) -> Vec<String> {
    let is_unfinished = |name: &String| {
        ["tmp", "journal", "partial", ".lock"].iter().any(|part| name.contains(part))
    };
    world.files("home/.skillpack").into_keys().filter(is_unfinished).collect()
}

/// What was kept of edited folders, in whichever run.
fn kept(world: &World) -> Files {
    let without_run = |path: String| path.split_once('/').map(|(_, path)| path.to_owned());
    world
        .files("home/.skillpack/trash")
        .into_iter()
        .filter_map(|(path, entry)| Some((without_run(path)?, entry)))
        .collect()
}

fn holds(root: &Path, text: &str) -> bool {
    files(root).values().any(|entry| matches!(entry, Entry::File(content, _) if content == text))
}

fn author(world: &World, _: &str) {
    world.skill("a");
    world.skill("b");
    world.skill("deep/c");
    world.write("skills/a/references/more.md", "more\n");
    world.write("skills/a/scripts/run.sh", "echo\n");
    world.pack("team", "name: team\ninclude: ['**']\n");
    world.pack("other", "name: other\ninclude: [a, deep/c]\n");
}

/// Installed, then at the source one skill changes, one goes, one comes; in the sink one is edited.
fn changed(world: &World, sink: &str) {
    author(world, sink);
    world.sp(&["install", "team", "--agent", "custom", "--path", sink]).ok();
    world.write("skills/b/SKILL.md", CHANGED);
    world.write("skills/a/references/more.md", "even more\n");
    std::fs::remove_dir_all(world.repo().join("skills/deep")).unwrap();
    world.skill("d");
    std::fs::write(world.path("sink/team__b/SKILL.md"), "edited by hand").unwrap();
}

fn installed(world: &World, sink: &str) {
    author(world, sink);
    world.sp(&["install", "team", "--agent", "custom", "--path", sink]).ok();
    std::fs::write(world.path("sink/team__b/mine.md"), "edited by hand").unwrap();
}

/// A pack whose skills come from another repository, which was never seen before.
fn importing(world: &World, sink: &str) {
    author(world, sink);
    let repo = world.git("shared");
    repo.skill("tools/review").skill("tools/deploy").commit("one");
    world.pack(
        "team",
        &format!(
            "name: team\ninclude: [a]\nimports:\n- repo: {}\n  include: ['tools/*']\n",
            repo.url()
        ),
    );
}

const INSTALL: &[&str] = &["install", "team", "--agent", "custom", "--path", "SINK"];
const UNINSTALL: &[&str] = &["uninstall", "team", "--agent", "custom", "--path", "SINK"];
const SWITCH: &[&str] = &["switch", "other", "--agent", "custom", "--path", "SINK"];
