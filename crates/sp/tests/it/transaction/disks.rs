//! Durability, full and read-only disks, and sinks on another file system.

use super::*;

/// The trace of the mutating calls of a command.
struct Trace {
    text: String,
}

impl Trace {
    /// Returns the indexes of the calls of this operation. `path` is the end of the last path, or
    /// a part of any path if it ends in `/` or `-`.
    fn all(&self, operation: &str, path: &str) -> Vec<usize> {
        let operation = format!(" {operation}");
        let has_path = |line: &str| {
            if path.ends_with(['/', '-']) { line.contains(path) } else { line.ends_with(path) }
        };
        let lines = self.text.lines().enumerate();
        let calls: Vec<usize> = lines
            .filter(|(_, line)| line.contains(&operation) && has_path(line))
            .map(|(index, _)| index)
            .collect();
        assert!(!calls.is_empty(), "no `{operation} … {path}` in\n{}", self.text);
        calls
    }

    /// Returns the first such call.
    fn first(&self, operation: &str, path: &str) -> usize {
        self.all(operation, path)[0]
    }

    /// Returns the first such call after another call.
    fn first_after(&self, index: usize, operation: &str, path: &str) -> usize {
        let calls = self.all(operation, path);
        *calls.iter().find(|call| **call > index).unwrap_or_else(|| {
            panic!("no `{operation} … {path}` after call {index} in\n{}", self.text)
        })
    }
}

#[test]
fn se_02_each_step_is_durable_before_the_next_one() {
    let sweep = FaultSweep::new(scenario(install_and_change, INSTALL));
    let trace = Trace { text: sweep.calls().join("\n") };
    let sink = sweep.world().path("sink").display().to_string();
    let in_sink = format!("{sink}/");
    let staging = "/.skillpack-";

    let intent_written = trace.first("Rename", "/journal.json");
    let staging_created = trace.first("CreateDir", staging);
    let last_staged = *trace.all("Write", staging).last().unwrap();
    let staging_synced = trace.first("Sync", &sink);
    let swap_begun = trace.first_after(intent_written, "Rename", "/journal.json");
    let first_moved = trace.first("Rename", &in_sink);
    let committed = trace.first("Rename", "/state.json");
    let moved = trace.all("Rename", &in_sink).into_iter().filter(|call| *call < committed);
    let last_moved = moved.max().unwrap();
    let swap_synced = trace.first_after(last_moved, "Sync", &sink);
    let first_removed = trace.first("Remove", staging);
    let order = [
        intent_written,
        staging_created,
        last_staged,
        staging_synced,
        swap_begun,
        first_moved,
        last_moved,
        swap_synced,
        committed,
        first_removed,
    ];
    assert!(order.is_sorted(), "{order:?}\n{}", trace.text);
}

/// A world with an empty sink, and the pack `team` with 40 files of this size.
fn world_with_large_pack(file_bytes: usize) -> World {
    let world = world!();
    create_packs(&world, "");
    for number in 0..40 {
        world.write(&format!("skills/a/big{number}"), vec![b'x'; file_bytes]);
    }
    std::fs::create_dir(world.path("sink")).unwrap();
    world
}

/// Returns the shell command that installs a pack into the sink of a world and prints its exit
/// code. The JSON error is the last line on stderr.
fn install_command(world: &World, pack: &str) -> String {
    let (sp, sink) = (env!("CARGO_BIN_EXE_sp"), world.path("sink"));
    format!(
        "{{ {sp} install {pack} --agent custom --path {} --format json >/dev/null; echo exit $?; }}",
        sink.display()
    )
}

/// Returns the code of a JSON error.
fn error_code(line: &str) -> String {
    let value: serde_json::Value = serde_json::from_str(line).unwrap_or_default();
    value["error"]["code"].as_str().unwrap_or(line).to_owned()
}

#[test]
fn sp_24_full_disk_changes_nothing() {
    // 2 MB for a file system of 1 MiB.
    let world = world_with_large_pack(50_000);
    let sink = world.path("sink").display().to_string();
    let script = format!(
        "mount -t tmpfs -o size=1m,mode=700 tmpfs {sink} && mkdir {sink}/canary && \
         echo mine > {sink}/canary/file && \
         {install_team}; find {sink} -mindepth 1 | sort; cat {sink}/canary/file; \
         {install_limited}; \
         rm -rf {repo}/skills/a/big*; {install_team}; ls {sink}",
        repo = world.repo().display(),
        install_team = install_command(&world, "team"),
        install_limited = install_command(&world, "other --limit skill-bytes=1"),
    );
    let run = run_in_mount_namespace(&world, &script);
    assert_eq!(
        run.stdout.lines().collect::<Vec<_>>(),
        [
            "exit 5",
            "[WORLD]/sink/canary",
            "[WORLD]/sink/canary/file",
            "mine",
            "exit 3",
            "exit 0",
            "canary",
            "team__a",
            "team__b",
            "team__deep__c",
        ],
        "{run}"
    );
    let codes: Vec<String> = run.stderr.lines().map(error_code).collect();
    assert_eq!(codes, ["E-disk-full", "E-limit-exceeded"], "{run}");
}

#[test]
fn se_01_disk_that_fills_up_during_an_install_changes_nothing() {
    let world = world_with_large_pack(20_000);
    let sink = world.path("sink").display().to_string();
    // Inodes run out, not bytes, so checking the free space beforehand does not help.
    let script = format!(
        "mount -t tmpfs -o size=9m,nr_inodes=30,mode=700 tmpfs {sink} && mkdir {sink}/canary && \
         {install}; find {sink} -mindepth 1 | sort",
        install = install_command(&world, "team"),
    );
    let run = run_in_mount_namespace(&world, &script);
    assert_eq!(run.stdout, "exit 5\n[WORLD]/sink/canary\n", "{run}");
    assert_eq!(error_code(&run.stderr), "E-disk-full", "{run}");
    assert_no_leftovers(&world, "a full disk");
}

#[test]
fn se_01_sink_on_another_file_system_keeps_edits() {
    let world = world!(on disk);
    let elsewhere = tempfile::tempdir_in("/dev/shm").unwrap();
    let sink = elsewhere.path().join("sink");
    let install = ["install", "team", "--agent", "custom", "--path", sink.to_str().unwrap()];
    create_packs(&world, "");
    world.sp(&install).ok();
    std::fs::write(sink.join("team__a/mine.md"), "edited by hand").unwrap();
    std::os::unix::fs::symlink("nowhere", sink.join("team__a/link")).unwrap();
    let run = world.sp(&install).ok();
    assert!(run.stdout.contains("`team__a`"), "{run}");
    assert!(run.stdout.contains("~/.skillpack/trash/"), "{run}");
    let trash = trash(&world);
    assert!(trash.values().any(|entry| *entry == FileEntry::File("edited by hand".into(), false)));
    assert!(trash.values().any(|entry| *entry == FileEntry::Link("nowhere".into())));
    let names: Vec<String> = files(&sink).into_keys().collect();
    let is_leftover = |name: &String| name.contains("mine") || name.starts_with('.');
    assert!(!names.iter().any(is_leftover), "{names:?}");
}

#[test]
fn se_01_read_only_sink_is_refused_without_changes() {
    let world = world!();
    create_packs(&world, "");
    let sink = world.path("sink").display().to_string();
    std::fs::create_dir(world.path("sink")).unwrap();
    let script = format!(
        "mount --bind {sink} {sink} && mount -o remount,ro,bind {sink} && {install}; \
         find {sink} -mindepth 1",
        install = install_command(&world, "team"),
    );
    let run = run_in_mount_namespace(&world, &script);
    assert_eq!(run.stdout, "exit 5\n", "{run}");
    assert_eq!(error_code(&run.stderr), "E-permission-denied", "{run}");
    assert_no_leftovers(&world, "a read-only sink");
}
