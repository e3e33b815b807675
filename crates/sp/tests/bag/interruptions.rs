//! Wholly old or wholly new, catalog and lock included: `sp bag` is killed and refused at every
//! call.

use std::process::{Command, Stdio};

use sp_testkit::Files;

use super::*;

const PARTS: [&str; 2] = ["home", "ws"];

/// A command of `sp bag` and the world that it starts from.
struct Scenario {
    world: World,
    args: Vec<String>,
    old: Files,
    new: Files,
    calls: u64,
    /// Text that must not be lost.
    edit: Option<&'static str>,
    /// Whether what a killed run left beside its files is swept by the same command, and not by
    /// any.
    rerun_sweeps: bool,
}

impl Scenario {
    /// Plays it once, to learn what comes of it and how many calls that takes.
    fn new(world: World, args: &[&str], edit: Option<&'static str>) -> Self {
        PARTS.iter().for_each(|part| copy(&world.path(part), &world.path("before").join(part)));
        let (old, trace) = (world.files("ws"), world.path("trace"));
        let args = args.iter().map(|arg| (*arg).to_owned()).collect();
        let mut scenario =
            Self { world, args, new: old.clone(), old, calls: 0, edit, rerun_sweeps: false };
        scenario.run("SP_FAULT_TRACE", &trace.display().to_string()).ok();
        scenario.calls = std::fs::read_to_string(&trace).unwrap().lines().count() as u64;
        scenario.new = scenario.world.files("ws");
        assert_ne!(scenario.new, scenario.old);
        scenario
    }

    fn run(&self, variable: &str, value: &str) -> Run {
        let args: Vec<&str> = self.args.iter().map(String::as_str).collect();
        let mut command = self.world.command(&[&["bag"], &args[..]].concat());
        command.current_dir(self.world.path("ws")).env(variable, value);
        self.world.run(command)
    }

    fn restart(&self) {
        for part in PARTS {
            std::fs::remove_dir_all(self.world.path(part)).unwrap();
            copy(&self.world.path("before").join(part), &self.world.path(part));
        }
    }

    /// After a broken run: the next command finds it old or new, and a rerun makes it new. True if
    /// it was old.
    #[track_caller]
    fn check(&self, what: &str) -> bool {
        // Where there is no workspace yet, listing fails, and puts things in order all the same.
        let list = bag(&self.world, &["list"]);
        let mut files = self.world.files("ws");
        files.retain(|name, _| !self.rerun_sweeps || !name.ends_with(".sp-new"));
        let is_old = files == self.old;
        assert!(is_old || files == self.new, "{what}: torn\n{files:#?}\n{list}");
        assert!(list.code == Some(0) || is_old && self.old.is_empty(), "{what}: {list}");
        if !self.rerun_sweeps {
            no_leftovers(&self.world, what);
        }
        self.keeps_edits(what);
        if is_old {
            assert_eq!(self.run("X", "").code, Some(0), "{what}");
        }
        assert_eq!(self.world.files("ws"), self.new, "{what}: a rerun does not converge");
        self.keeps_edits(what);
        in_step(&self.world, what);
        is_old
    }

    #[track_caller]
    fn keeps_edits(&self, what: &str) {
        let holds = |path: &str, text: &str| {
            self.world
                .files(path)
                .values()
                .any(|entry| matches!(entry, Entry::File(content, _) if content == text))
        };
        let lost = self
            .edit
            .is_some_and(|text| !holds("ws", text) && !holds("home/.skillpack/trash", text));
        assert!(!lost, "{what}: an edit is lost");
    }

    fn kill_everywhere(&self) {
        let (mut old, mut new) = (0, 0);
        for call in 1..=self.calls {
            self.restart();
            let run = self.run("SP_FAULT", &format!("kill@{call}"));
            assert_eq!(run.code, None, "call {call} of {}: {run}", self.calls);
            match self.check(&format!("killed at call {call}")) {
                true => old += 1,
                false => new += 1,
            }
        }
        assert!(old > 0 && new > 0, "both ends are seen: {old} old, {new} new");
    }

    fn refuse_everywhere(&self, number: i32) {
        for (ending, call) in
            ["", "+"].iter().flat_map(|ending| (1..=self.calls).map(move |call| (ending, call)))
        {
            self.restart();
            let run = self.run("SP_FAULT", &format!("{number}@{call}{ending}"));
            let what = format!("error {number} at call {call}{ending}");
            match run.code {
                Some(0) => assert_eq!(self.world.files("ws"), self.new, "{what}: {run}"),
                Some(5) => assert!(
                    run.stderr.contains("error:") && run.stderr.contains("hint:"),
                    "{what}: {run}"
                ),
                _ => panic!("{what}: {run}"),
            }
            self.check(&what);
        }
    }
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to.parent().unwrap()).unwrap();
    assert!(Command::new("cp").arg("-a").arg(from).arg(to).status().unwrap().success());
}

fn installing() -> Scenario {
    let world = workspace();
    let near = dir(&world, "near", &Bag::new(&["a", "b"]));
    Scenario::new(world, &["get", "a", "b", "--source", &near], None)
}

/// One skill was edited, one is as it came, one is new, and one is the user's own.
fn upgrading() -> Scenario {
    let world = workspace();
    let near = dir(&world, "near", &Bag::new(&["a", "b"]));
    bag(&world, &["get", "a", "b", "--source", &near]).ok();
    Bag::new(&["c"])
        .skill("a", "New.\n")
        .skill("b", &needs(&["name: c, source: ."]))
        .put(&world.path("near"));
    write(&world, "ws/.skills/a/mine.md", "By hand.\n");
    write(&world, "ws/.skills/own/SKILL.md", &skill("own", ""));
    Scenario::new(world, &["get", "a", "b", "--upgrade", "--replace"], Some("By hand.\n"))
}

fn removing() -> Scenario {
    let world = workspace();
    let near = dir(&world, "near", &Bag::new(&["a", "b"]));
    bag(&world, &["get", "a", "b", "--source", &near]).ok();
    write(&world, "ws/.skills/a/mine.md", "By hand.\n");
    Scenario::new(world, &["remove", "a"], Some("By hand.\n"))
}

#[test]
fn se_01_get_killed_at_every_call_is_old_or_new() {
    installing().kill_everywhere();
}

#[test]
fn se_01_an_upgrade_killed_at_every_call_is_old_or_new() {
    upgrading().kill_everywhere();
}

#[test]
fn se_01_remove_killed_at_every_call_is_old_or_new() {
    removing().kill_everywhere();
}

#[test]
fn se_01_init_killed_at_every_call_is_old_or_new() {
    let world = world!();
    std::fs::create_dir(world.path("ws")).unwrap();
    Scenario::new(world, &["init"], None).kill_everywhere();
}

#[test]
fn se_01_get_from_the_web_killed_at_every_call_is_old_or_new_and_leaves_no_download() {
    let server = WebServer::start();
    let url = server.page("/skills.zip", Answer::Bytes(Bag::new(&["a"]).zip("")));
    let scenario = Scenario::new(workspace(), &["get", "a", "--source", &url], None);
    Scenario { rerun_sweeps: true, ..scenario }.kill_everywhere();
}

#[test]
fn se_01_check_fix_killed_at_every_call_is_old_or_new() {
    let world = workspace();
    write(&world, "ws/.skills/own/SKILL.md", &skill("own", ""));
    std::fs::remove_dir_all(world.path("ws/.skills/skillbag-get-skills")).unwrap();
    std::fs::remove_file(world.path("ws/.gitignore")).unwrap();
    Scenario::new(world, &["check", "--fix"], None).kill_everywhere();
}

/// A workspace in which a value is about to be saved.
fn saving(context: Option<&str>) -> Scenario {
    let world = workspace();
    write(
        &world,
        "ws/.skills/a/SKILL.md",
        &skill("a", "\n## Parameters\n\n```yaml\noptional: [note]\n```\n"),
    );
    bag(&world, &["sync"]).ok();
    if let Some(text) = context {
        write(&world, "ws/USER_CONTEXT.md", text);
    }
    let scenario = Scenario::new(world, &["run", "a", "--set", "note=x", "--save"], None);
    Scenario { rerun_sweeps: true, ..scenario }
}

#[test]
fn sb_09_saving_a_value_killed_at_every_call_is_old_or_new() {
    saving(Some("# Me\n")).kill_everywhere();
}

#[test]
fn sb_09_saving_the_first_value_killed_at_every_call_is_old_or_new() {
    saving(None).kill_everywhere();
}

#[test]
fn se_01_an_upgrade_without_space_at_any_call_is_old_or_new() {
    upgrading().refuse_everywhere(28);
}

/// Runs commands of `sp bag` all at once.
#[track_caller]
fn at_once(world: &World, commands: &[Vec<&str>]) {
    let start = |args: &Vec<&str>| {
        let mut command = world.command(&[&["bag"], &args[..]].concat());
        command
            .current_dir(world.path("ws"))
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    };
    let children: Vec<_> = commands.iter().map(start).collect();
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn se_01_eight_gets_at_once_lose_nothing() {
    let names = ["a", "b", "c", "d", "e", "f", "g", "h"];
    for _ in 0..5 {
        let world = workspace();
        let near = dir(&world, "near", &Bag::new(&names));
        at_once(&world, &names.map(|name| vec!["get", name, "--source", &near]));
        assert_eq!(skills(&world), names);
        assert_eq!(lock(&world)["skills"].as_object().unwrap().len(), 9);
        in_step(&world, "eight at once");
    }
}

#[test]
fn se_01_eight_removals_at_once_lose_nothing() {
    let names = ["a", "b", "c", "d", "e", "f", "g", "h"];
    for _ in 0..5 {
        let world = workspace();
        let near = dir(&world, "near", &Bag::new(&names));
        bag(&world, &[&["get"], &names[..], &["--source", &near]].concat()).ok();
        at_once(&world, &names.map(|name| vec!["remove", name]));
        assert_eq!(skills(&world), [""; 0]);
        in_step(&world, "eight at once");
    }
}

#[test]
fn se_01_gets_and_removals_at_once_lose_nothing() {
    let (old, new) = (["a", "b", "c", "d"], ["e", "f", "g", "h"]);
    for _ in 0..5 {
        let world = workspace();
        let near = dir(&world, "near", &Bag::new(&[old, new].concat()));
        bag(&world, &[&["get"], &old[..], &["--source", &near]].concat()).ok();
        let mut commands: Vec<Vec<&str>> = Vec::new();
        for (gone, comes) in old.into_iter().zip(new) {
            commands.extend([vec!["remove", gone], vec!["get", comes, "--source", &near]]);
        }
        at_once(&world, &commands);
        assert_eq!(skills(&world), new);
        assert_eq!(lock(&world)["skills"].as_object().unwrap().len(), 5);
        in_step(&world, "all at once");
    }
}
