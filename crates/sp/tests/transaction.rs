//! Wholly old or wholly new: `sp` is killed and refused at every one of its mutating
//! file-system calls, and the next run must find, or make, a world without a scratch.

#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test plays the person and the machine"
)]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use sp_testkit::{Entry, Files, TracePipe, World, files, world};

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
    /// Plays `command` once to learn what the world looks like after it and how many calls it makes.
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

    /// After a broken run: recovery makes it old or new, a rerun makes it new, and nothing is left over.
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

fn kill_everywhere(scenario: &Scenario, edited: Option<&str>) {
    let (mut old, mut new) = (0, 0);
    for call in 1..=scenario.calls {
        scenario.restart();
        let run = scenario.run(&[("SP_FAULT", &format!("kill@{call}"))]);
        assert_eq!(run.code, None, "call {call} of {}: {run}", scenario.calls);
        match scenario.check(&format!("killed at call {call}"), edited) == scenario.old {
            true => old += 1,
            false => new += 1,
        }
    }
    assert!(old > 0 && new > 0, "both ends are seen: {old} old, {new} new");
}

#[test]
fn se_01_install_killed_at_every_call_is_old_or_new() {
    kill_everywhere(&Scenario::new(author, INSTALL), None);
}

#[test]
fn se_01_reinstall_killed_at_every_call_is_old_or_new() {
    kill_everywhere(&Scenario::new(changed, INSTALL), Some("edited by hand"));
}

#[test]
fn se_01_uninstall_killed_at_every_call_is_old_or_new() {
    kill_everywhere(&Scenario::new(installed, UNINSTALL), Some("edited by hand"));
}

#[test]
fn se_01_switch_killed_at_every_call_is_old_or_new() {
    kill_everywhere(&Scenario::new(installed, SWITCH), Some("edited by hand"));
}

#[test]
fn se_01_install_with_an_import_killed_at_every_call_is_old_or_new() {
    kill_everywhere(&Scenario::new(importing, INSTALL), None);
}

#[test]
fn se_01_reinstall_into_a_linked_sink_killed_at_every_call_is_old_or_new() {
    let linked = |world: &World, sink: &str| {
        std::fs::create_dir(world.path("real")).unwrap();
        std::os::unix::fs::symlink(world.path("real"), world.path("sink")).unwrap();
        changed(world, sink);
    };
    let scenario = Scenario::new(linked, INSTALL);
    kill_everywhere(&scenario, Some("edited by hand"));
    assert!(scenario.world.path("sink").is_symlink(), "the link itself stays");
}

/// Refuses each call with an error number, once and from then on.
fn refuse_everywhere(scenario: &Scenario, number: i32, edited: Option<&str>) {
    for (ending, call) in
        ["", "+"].iter().flat_map(|ending| (1..=scenario.calls).map(move |call| (ending, call)))
    {
        scenario.restart();
        let run = scenario.run(&[("SP_FAULT", &format!("{number}@{call}{ending}"))]);
        let what = format!("error {number} at call {call}{ending}");
        let view = View::of(&scenario.world);
        match run.code {
            // Only a cache may fail without a word.
            Some(0) => assert_eq!(view, scenario.new, "{what}: {run}"),
            Some(5) => assert!(
                run.stderr.contains("error:") && run.stderr.contains("hint:"),
                "{what}: {run}"
            ),
            _ => panic!("{what}: {run}"),
        }
        scenario.check(&what, edited);
    }
}

/// The four operations, each struck by one error number at every one of its calls.
fn refuse_every_operation(number: i32) {
    refuse_everywhere(&Scenario::new(author, INSTALL), number, None);
    refuse_everywhere(&Scenario::new(changed, INSTALL), number, Some("edited by hand"));
    refuse_everywhere(&Scenario::new(installed, UNINSTALL), number, Some("edited by hand"));
    refuse_everywhere(&Scenario::new(installed, SWITCH), number, Some("edited by hand"));
}

#[test]
fn se_01_no_space_at_every_call_is_old_or_new() {
    refuse_every_operation(28);
}

#[test]
fn se_01_io_errors_at_every_call_are_old_or_new() {
    refuse_every_operation(5);
}

#[test]
fn se_01_denied_access_at_every_call_is_old_or_new() {
    refuse_every_operation(13);
}

#[test]
fn se_01_crossed_devices_at_every_call_are_old_or_new() {
    refuse_every_operation(18);
}

#[test]
fn se_01_killed_from_outside_between_any_two_calls_is_old_or_new() {
    let prepare = |world: &World, sink: &str| {
        author(world, sink);
        (0..60).for_each(|number| world.skill(&format!("many/s{number}")));
        world.sp(&["install", "other", "--agent", "custom", "--path", sink]).ok();
    };
    let scenario = Scenario::new(prepare, INSTALL);
    let args: Vec<&str> = scenario.args.iter().map(String::as_str).collect();
    let pipe = scenario.world.path("trace-pipe");
    let mut in_the_middle = 0;
    for round in 1..60 {
        scenario.restart();
        let call = scenario.calls * round / 60;
        let mut trace = TracePipe::new(&pipe);
        let mut command = scenario.world.command(&args);
        command.env("SP_FAULT_TRACE", &pipe).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        trace.wait_for_call(call, &mut child);
        child.kill().unwrap();
        child.wait().unwrap();
        std::fs::remove_file(&pipe).unwrap();
        in_the_middle += u32::from(scenario.world.path("home/.skillpack/journal.json").exists());
        scenario
            .check(&format!("killed from outside after call {call} of {}", scenario.calls), None);
    }
    assert!(in_the_middle >= 5, "only {in_the_middle} of 59 kills hit a transaction");
}

#[test]
fn se_02_each_step_is_durable_before_the_next_begins() {
    let scenario = Scenario::new(changed, INSTALL);
    let trace = std::fs::read_to_string(&scenario.trace).unwrap();
    let lines: Vec<&str> = trace.lines().collect();
    let sink = scenario.world.path("sink").display().to_string();
    let position = |what: &str, op: &str, path: &str| {
        let found = lines.iter().position(|line| line.contains(op) && line.ends_with(path));
        found.unwrap_or_else(|| panic!("{what}: no `{op} … {path}` in\n{trace}"))
    };
    let last = |op: &str, part: &str| {
        lines.iter().rposition(|line| line.contains(op) && line.contains(part)).unwrap()
    };
    let intent = position("intent", "Rename", "/journal.json");
    let stage = lines
        .iter()
        .position(|line| line.contains("CreateDir") && line.contains("/.skillpack-"))
        .unwrap();
    let written = last(" Write ", "/.skillpack-");
    let durable = lines.iter().position(|line| line.ends_with(&format!(" Sync {sink}"))).unwrap();
    let swapping = intent
        + 1
        + lines[intent + 1..]
            .iter()
            .position(|line| line.contains("Rename") && line.ends_with("/journal.json"))
            .unwrap();
    let moved = lines
        .iter()
        .position(|line| line.contains(" Rename ") && line.contains(&format!("{sink}/")))
        .unwrap();
    let last_moved = lines
        .iter()
        .enumerate()
        .filter(|(_, line)| line.contains(" Rename ") && line.contains(&format!("{sink}/")))
        .map(|(at, _)| at);
    let committed = position("commit", "Rename", "/state.json");
    let last_moved = last_moved.filter(|at| *at < committed).max().unwrap();
    let settled = last_moved
        + 1
        + lines[last_moved + 1..]
            .iter()
            .position(|line| line.ends_with(&format!(" Sync {sink}")))
            .unwrap();
    let order = [intent, stage, written, durable, swapping, moved, last_moved, settled, committed];
    assert!(order.is_sorted(), "{order:?}\n{trace}");
    let removed = lines
        .iter()
        .position(|line| line.contains("Remove") && line.contains("/.skillpack-"))
        .unwrap();
    assert!(committed < removed, "nothing old is deleted before the commit\n{trace}");
}

#[test]
fn sp_24_a_full_disk_changes_nothing() {
    let world = world!();
    author(&world, "");
    // Two megabytes for a file system of one.
    (0..40).for_each(|number| world.write(&format!("skills/a/big{number}"), vec![b'x'; 50_000]));
    let (sink, sp) = (world.path("sink").display().to_string(), env!("CARGO_BIN_EXE_sp"));
    std::fs::create_dir(world.path("sink")).unwrap();
    let script = format!(
        "mount -t tmpfs -o size=1m,mode=700 tmpfs {sink} && mkdir {sink}/canary && echo mine > {sink}/canary/file && \
         {{ {sp} install team --agent custom --path {sink}; echo exit $?; find {sink} -mindepth 1 | sort; cat {sink}/canary/file; \
         {sp} install other --limit skill-bytes=1 --agent custom --path {sink}; echo exit $?; \
         rm -rf {repo}/skills/a/big*; {sp} install team --agent custom --path {sink}; echo exit $?; }}",
        repo = world.repo().display(),
    );
    // A mount that only this process and its children see.
    let mut command = Command::new("unshare");
    command.args(["--mount", "--map-root-user", "sh", "-c", &script]).current_dir(world.repo());
    command.env_clear().env("HOME", world.home()).env("PATH", std::env::var_os("PATH").unwrap());
    let run = world.run(command);
    assert!(run.stderr.contains("has too little space"), "{run}");
    let expected = "exit 5\n[WORLD]/sink/canary\n[WORLD]/sink/canary/file\nmine\nexit 3\n";
    assert!(run.stdout.starts_with(expected), "{run}");
    assert!(run.stdout.ends_with("3 added\nexit 0\n"), "{run}");
}

#[test]
fn se_01_a_disk_that_fills_up_half_way_changes_nothing() {
    let world = world!();
    author(&world, "");
    (0..40).for_each(|number| world.write(&format!("skills/a/big{number}"), vec![b'x'; 20_000]));
    let (sink, sp) = (world.path("sink").display().to_string(), env!("CARGO_BIN_EXE_sp"));
    std::fs::create_dir(world.path("sink")).unwrap();
    // The number of inodes runs out where the number of bytes does not, so no check beforehand can tell.
    let script = format!(
        "mount -t tmpfs -o size=9m,nr_inodes=30,mode=700 tmpfs {sink} && mkdir {sink}/canary && \
         {{ {sp} install team --agent custom --path {sink}; echo exit $?; find {sink} -mindepth 1 | sort; }}"
    );
    let mut command = Command::new("unshare");
    command.args(["--mount", "--map-root-user", "sh", "-c", &script]).current_dir(world.repo());
    command.env_clear().env("HOME", world.home()).env("PATH", std::env::var_os("PATH").unwrap());
    let run = world.run(command);
    assert_eq!(run.stdout, "exit 5\n[WORLD]/sink/canary\n", "{run}");
    assert!(run.stderr.contains("No space left on device"), "{run}");
    assert_no_leftovers(&world, "a full disk");
}

#[test]
fn se_01_a_sink_on_another_file_system_keeps_edits_too() {
    let world = world!();
    let elsewhere = tempfile::tempdir_in("/dev/shm").unwrap();
    let sink = elsewhere.path().join("sink").display().to_string();
    author(&world, "");
    world.sp(&["install", "team", "--agent", "custom", "--path", &sink]).ok();
    std::fs::write(elsewhere.path().join("sink/team__a/mine.md"), "edited by hand").unwrap();
    std::os::unix::fs::symlink("nowhere", elsewhere.path().join("sink/team__a/link")).unwrap();
    let run = world.sp(&["install", "team", "--agent", "custom", "--path", &sink]).ok();
    assert!(run.stdout.contains("kept the old `team__a` in ~/.skillpack/trash/"), "{run}");
    let kept = world.files("home/.skillpack/trash");
    assert!(kept.values().any(|entry| *entry == Entry::File("edited by hand".into(), false)));
    assert!(kept.values().any(|entry| *entry == Entry::Link("nowhere".into())));
    assert!(
        !files(&elsewhere.path().join("sink"))
            .keys()
            .any(|name| name.contains("mine") || name.starts_with('.'))
    );
}

#[test]
fn se_01_a_read_only_sink_is_refused_with_nothing_changed() {
    let world = world!();
    author(&world, "");
    let (sink, sp) = (world.path("sink").display().to_string(), env!("CARGO_BIN_EXE_sp"));
    std::fs::create_dir(world.path("sink")).unwrap();
    let script = format!(
        "mount --bind {sink} {sink} && mount -o remount,ro,bind {sink} && {sp} install team --agent custom --path {sink}; echo exit $?; find {sink} -mindepth 1"
    );
    let mut command = Command::new("unshare");
    command.args(["--mount", "--map-root-user", "sh", "-c", &script]).current_dir(world.repo());
    command.env_clear().env("HOME", world.home()).env("PATH", std::env::var_os("PATH").unwrap());
    let run = world.run(command);
    assert_eq!(run.stdout, "exit 5\n", "{run}");
    assert!(run.stderr.contains("Read-only file system"), "{run}");
    assert_no_leftovers(&world, "a read-only sink");
}

#[test]
fn se_01_broken_state_is_never_overwritten_and_nothing_changes() {
    let good = r#"{"version": 1, "installs": [{"sink": "custom", "sink_path": "SINK", "pack": "team", "installed_paths": ["SINK/team__a"]}]}"#;
    let outside = good.replace("SINK/team__a", "/etc/cron.d");
    let broken: [(&str, &[u8], i32); 8] = [
        ("empty", b"", 3),
        ("truncated", &good.as_bytes()[..60], 3),
        ("garbage", b"\0\xff\xfe garbage", 3),
        ("another type", b"[1, 2]", 3),
        ("from the future", br#"{"version": 2, "installs": {}}"#, 3),
        ("a member missing", br#"{"version": 1, "installs": [{"sink": "x"}]}"#, 3),
        ("a member twice", br#"{"version": 1, "version": 1, "installs": []}"#, 3),
        ("a path outside", outside.as_bytes(), 4),
    ];
    for (what, text, code) in broken {
        let world = world!();
        author(&world, "");
        let sink = world.path("sink").display().to_string();
        let text = String::from_utf8_lossy(text).replace("SINK", &sink);
        let bytes =
            if what == "garbage" { b"\0\xff\xfe garbage".to_vec() } else { text.into_bytes() };
        std::fs::create_dir_all(world.path("home/.skillpack")).unwrap();
        std::fs::create_dir_all(world.path("sink/team__a")).unwrap();
        std::fs::write(world.path("home/.skillpack/state.json"), &bytes).unwrap();
        let before = world.files("sink");
        for args in [INSTALL, UNINSTALL] {
            let args: Vec<String> = args.iter().map(|arg| arg.replace("SINK", &sink)).collect();
            let run = world.sp(&args.iter().map(String::as_str).collect::<Vec<_>>());
            assert_eq!(run.code, Some(code), "{what}: {run}");
            assert!(run.stderr.contains("state") && run.stderr.contains("hint:"), "{what}: {run}");
            assert_eq!(
                std::fs::read(world.path("home/.skillpack/state.json")).unwrap(),
                bytes,
                "{what}"
            );
            assert_eq!(world.files("sink"), before, "{what}");
        }
        assert_no_leftovers(&world, what);
    }
}

#[test]
fn se_01_eight_installs_at_once_lose_nothing() {
    let world = world!();
    let names: Vec<String> = (0..8).map(|number| format!("p{number}")).collect();
    for name in &names {
        world.skill(name);
        world.pack(name, &format!("name: {name}\ninclude: [{name}]\n"));
    }
    let sink = world.path("sink").display().to_string();
    let mut waited = false;
    for round in 0..50 {
        let children: Vec<_> = names
            .iter()
            .map(|name| {
                world
                    .command(&["install", name, "--agent", "custom", "--path", &sink])
                    .stderr(Stdio::piped())
                    .stdout(Stdio::null())
                    .spawn()
                    .unwrap()
            })
            .collect();
        for child in children {
            let output = child.wait_with_output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "round {round}: {said}");
            waited |= said.contains("waiting: another `sp` is at work");
        }
        let view = View::of(&world);
        assert_eq!(view.records.len(), 8, "round {round}");
        assert_eq!(view.sink.keys().filter(|name| !name.contains('/')).count(), 8, "round {round}");
        assert_no_leftovers(&world, "eight at once");
        let mut args = vec!["uninstall"];
        args.extend(names.iter().map(String::as_str));
        args.extend(["--agent", "custom", "--path", &sink]);
        world.sp(&args).ok();
    }
    assert!(waited, "somebody had to wait, and said so");
}

#[test]
fn se_01_recovery_stays_out_of_a_directory_that_took_the_place_of_the_sink() {
    let scenario = Scenario::new(changed, INSTALL);
    let (sink, moved, foreign) =
        (scenario.world.path("sink"), scenario.world.path("moved"), scenario.world.path("foreign"));
    copy(&sink, &foreign);
    let untouched = files(&foreign);
    let journal = scenario.world.path("home/.skillpack/journal.json");
    let mut interrupted = 0;
    for call in 1..=scenario.calls {
        scenario.restart();
        scenario.run(&[("SP_FAULT", &format!("kill@{call}"))]);
        if !journal.exists() {
            continue;
        }
        interrupted += 1;
        std::fs::rename(&sink, &moved).unwrap();
        std::os::unix::fs::symlink(&foreign, &sink).unwrap();
        let refused = scenario.world.sp(&["installed"]);
        assert_eq!(refused.code, Some(4), "killed at call {call}: {refused}");
        assert!(
            refused.stderr.contains("is not the directory in which"),
            "killed at call {call}: {refused}"
        );
        assert_eq!(files(&foreign), untouched, "killed at call {call}");
        std::fs::remove_file(&sink).unwrap();
        std::fs::rename(&moved, &sink).unwrap();
        scenario.check(
            &format!("killed at call {call}, then moved away and back"),
            Some("edited by hand"),
        );
    }
    assert!(interrupted > 10, "a journal was left {interrupted} times");
}
