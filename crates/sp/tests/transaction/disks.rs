//! Full, slow and foreign disks: durability and order.

use super::*;

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
    // The number of inodes runs out where the number of bytes does not, so no check beforehand can
    // tell.
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
