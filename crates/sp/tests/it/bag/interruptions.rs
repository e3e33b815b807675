//! Atomicity: `sp bag` is killed, or fails, at every file-system call. The workspace must be in
//! the old or in the new state, including catalog and lock.

use std::process::{Command, Stdio};

use sp_testkit::FileMap;

use super::*;

const ENOSPC: i32 = 28;
/// The directories that a command may change.
const CHANGED_DIRS: [&str; 2] = ["home", "ws"];

/// A command of `sp bag` and the world that it starts from.
struct Scenario {
    world: World,
    args: Vec<String>,
    old: FileMap,
    new: FileMap,
    calls: u64,
    /// Text of an edited file, which must not be lost.
    edit: Option<&'static str>,
    /// Whether only the same command, not any command, removes the temporary files of a killed
    /// run.
    only_rerun_cleans_up: bool,
}

impl Scenario {
    /// Runs the command once to record the new state and the number of calls.
    fn new(world: World, args: &[&str], edit: Option<&'static str>) -> Self {
        for dir in CHANGED_DIRS {
            copy(&world.path(dir), &world.path("before").join(dir));
        }
        let (old, trace) = (world.files("ws"), world.path("trace"));
        let args = args.iter().map(|arg| (*arg).to_owned()).collect();
        let mut scenario = Self {
            world,
            args,
            new: old.clone(),
            old,
            calls: 0,
            edit,
            only_rerun_cleans_up: false,
        };
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

    fn restore(&self) {
        for dir in CHANGED_DIRS {
            std::fs::remove_dir_all(self.world.path(dir)).unwrap();
            copy(&self.world.path("before").join(dir), &self.world.path(dir));
        }
    }

    /// Checks that the state is old or new after the next command, and new after a rerun. Returns
    /// whether it was old.
    #[track_caller]
    fn check(&self, context: &str) -> bool {
        // Without a workspace this command fails, but it still recovers.
        let list = bag(&self.world, &["list"]);
        let mut files = self.world.files("ws");
        files.retain(|name, _| !self.only_rerun_cleans_up || !name.ends_with(".sp-new"));
        let is_old = files == self.old;
        assert!(is_old || files == self.new, "{context}: torn\n{files:#?}\n{list}");
        assert!(list.code == Some(0) || is_old && self.old.is_empty(), "{context}: {list}");
        if !self.only_rerun_cleans_up {
            assert_no_leftovers(&self.world, context);
        }
        self.assert_edit_kept(context);
        if is_old {
            assert_eq!(self.run("X", "").code, Some(0), "{context}");
        }
        assert_eq!(self.world.files("ws"), self.new, "{context}: a rerun does not converge");
        self.assert_edit_kept(context);
        assert_consistent(&self.world, context);
        is_old
    }

    /// Checks that the edited file is in the workspace or in the trash.
    #[track_caller]
    fn assert_edit_kept(&self, context: &str) {
        let Some(text) = self.edit else { return };
        let is_edit =
            |entry: &FileEntry| matches!(entry, FileEntry::File(content, _) if content == text);
        let is_kept = ["ws", "home/.skillpack/trash"]
            .iter()
            .any(|dir| self.world.files(dir).values().any(is_edit));
        assert!(is_kept, "{context}: the edit is lost");
    }

    fn kill_at_every_call(&self) {
        let (mut old, mut new) = (0, 0);
        for call in 1..=self.calls {
            self.restore();
            let run = self.run("SP_FAULT", &format!("kill@{call}"));
            assert_eq!(run.code, None, "call {call} of {}: {run}", self.calls);
            if self.check(&format!("killed at call {call}")) {
                old += 1;
            } else {
                new += 1;
            }
        }
        assert!(old > 0 && new > 0, "both states must occur: {old} old, {new} new");
    }

    /// Makes each call fail with this error number, alone and with all later calls.
    fn fail_at_every_call(&self, errno: i32) {
        for (suffix, call) in
            ["", "+"].iter().flat_map(|suffix| (1..=self.calls).map(move |call| (suffix, call)))
        {
            self.restore();
            let fault = format!("{errno}@{call}{suffix}");
            let run = self.run("SP_FAULT", &fault);
            match run.code {
                Some(0) => assert_eq!(self.world.files("ws"), self.new, "{fault}: {run}"),
                Some(5) => assert!(
                    run.stderr.contains("error:") && run.stderr.contains("hint:"),
                    "{fault}: {run}"
                ),
                _ => panic!("{fault}: {run}"),
            }
            self.check(&fault);
        }
    }
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to.parent().unwrap()).unwrap();
    assert!(Command::new("cp").arg("-a").arg(from).arg(to).status().unwrap().success());
}

fn get_scenario() -> Scenario {
    let world = workspace();
    let source = source_dir(&world, "local", &SourceFiles::new(&["a", "b"]));
    Scenario::new(world, &["get", "a", "b", "--source", &source], None)
}

/// Returns a scenario with an edited skill, an unchanged one, a new one and one that `sp` did not
/// install.
fn upgrade_scenario() -> Scenario {
    let world = workspace();
    let source = source_dir(&world, "local", &SourceFiles::new(&["a", "b"]));
    bag(&world, &["get", "a", "b", "--source", &source]).ok();
    SourceFiles::new(&["c"])
        .with_skill("a", "New.\n")
        .with_skill("b", &dependency_section(&["name: c, source: ."]))
        .write_to(&world.path("local"));
    write(&world, "ws/.skills/a/mine.md", "By hand.\n");
    write(&world, "ws/.skills/own/SKILL.md", &skill("own", ""));
    Scenario::new(world, &["get", "a", "b", "--upgrade", "--replace"], Some("By hand.\n"))
}

fn remove_scenario() -> Scenario {
    let world = workspace();
    let source = source_dir(&world, "local", &SourceFiles::new(&["a", "b"]));
    bag(&world, &["get", "a", "b", "--source", &source]).ok();
    write(&world, "ws/.skills/a/mine.md", "By hand.\n");
    Scenario::new(world, &["remove", "a"], Some("By hand.\n"))
}

#[test]
fn se_01_get_killed_at_every_call_is_atomic() {
    get_scenario().kill_at_every_call();
}

#[test]
fn se_01_upgrade_killed_at_every_call_is_atomic() {
    upgrade_scenario().kill_at_every_call();
}

#[test]
fn se_01_remove_killed_at_every_call_is_atomic() {
    remove_scenario().kill_at_every_call();
}

#[test]
fn se_01_init_killed_at_every_call_is_atomic() {
    let world = world!();
    std::fs::create_dir(world.path("ws")).unwrap();
    Scenario::new(world, &["init"], None).kill_at_every_call();
}

#[test]
fn se_01_web_get_killed_at_every_call_is_atomic_and_leaves_no_download() {
    let server = WebServer::start();
    let url = server.respond("/skills.zip", WebResponse::Bytes(SourceFiles::new(&["a"]).zip("")));
    let scenario = Scenario::new(workspace(), &["get", "a", "--source", &url], None);
    Scenario { only_rerun_cleans_up: true, ..scenario }.kill_at_every_call();
}

#[test]
fn se_01_check_fix_killed_at_every_call_is_atomic() {
    let world = workspace();
    write(&world, "ws/.skills/own/SKILL.md", &skill("own", ""));
    std::fs::remove_dir_all(world.path("ws/.skills/skillbag-get-skills")).unwrap();
    std::fs::remove_file(world.path("ws/.gitignore")).unwrap();
    Scenario::new(world, &["check", "--fix"], None).kill_at_every_call();
}

/// Returns a scenario that saves a value.
fn save_scenario(context: Option<&str>) -> Scenario {
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
    Scenario { only_rerun_cleans_up: true, ..scenario }
}

#[test]
fn sb_09_save_killed_at_every_call_is_atomic() {
    save_scenario(Some("# Me\n")).kill_at_every_call();
}

#[test]
fn sb_09_first_save_killed_at_every_call_is_atomic() {
    save_scenario(None).kill_at_every_call();
}

#[test]
fn se_01_upgrade_on_a_full_disk_is_atomic() {
    upgrade_scenario().fail_at_every_call(ENOSPC);
}

/// Runs several `sp bag` commands concurrently.
#[track_caller]
fn run_concurrently(world: &World, commands: &[Vec<&str>]) {
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
fn se_01_eight_concurrent_gets_install_every_skill() {
    let names = ["a", "b", "c", "d", "e", "f", "g", "h"];
    for _ in 0..5 {
        let world = workspace();
        let source = source_dir(&world, "local", &SourceFiles::new(&names));
        run_concurrently(&world, &names.map(|name| vec!["get", name, "--source", &source]));
        assert_eq!(skill_names(&world), names);
        assert_eq!(lock(&world)["skills"].as_object().unwrap().len(), 9);
        assert_consistent(&world, "concurrent");
    }
}

#[test]
fn se_01_eight_concurrent_removals_remove_every_skill() {
    let names = ["a", "b", "c", "d", "e", "f", "g", "h"];
    for _ in 0..5 {
        let world = workspace();
        let source = source_dir(&world, "local", &SourceFiles::new(&names));
        bag(&world, &[&["get"], &names[..], &["--source", &source]].concat()).ok();
        run_concurrently(&world, &names.map(|name| vec!["remove", name]));
        assert_eq!(skill_names(&world), [""; 0]);
        assert_consistent(&world, "concurrent");
    }
}

#[test]
fn se_01_concurrent_gets_and_removals_all_apply() {
    let (old, new) = (["a", "b", "c", "d"], ["e", "f", "g", "h"]);
    for _ in 0..5 {
        let world = workspace();
        let source = source_dir(&world, "local", &SourceFiles::new(&[old, new].concat()));
        bag(&world, &[&["get"], &old[..], &["--source", &source]].concat()).ok();
        let mut commands: Vec<Vec<&str>> = Vec::new();
        for (removed, added) in old.into_iter().zip(new) {
            commands.extend([vec!["remove", removed], vec!["get", added, "--source", &source]]);
        }
        run_concurrently(&world, &commands);
        assert_eq!(skill_names(&world), new);
        assert_eq!(lock(&world)["skills"].as_object().unwrap().len(), 5);
        assert_consistent(&world, "concurrent");
    }
}
