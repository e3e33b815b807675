//! `sp context kb`: the index of a knowledge base.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

use super::*;

/// Returns the state of the document with this title in the results for `webhooks`.
#[track_caller]
fn state_of(world: &World, title: &str) -> String {
    let report = kb(world, &["search", "webhooks"]);
    let hit = list(&report, "hits").iter().find(|hit| hit["title"] == title).unwrap();
    hit["state"].as_str().unwrap().to_owned()
}

/// The numbers of files that an index does not reflect.
#[derive(Debug, PartialEq, Default)]
struct StaleFiles {
    new: u64,
    changed: u64,
    gone: u64,
}

fn stale_files(world: &World) -> StaleFiles {
    let stats = kb(world, &["stats"]);
    let count = |name: &str| stats[name].as_u64().unwrap();
    StaleFiles { new: count("new"), changed: count("changed"), gone: count("gone") }
}

/// Adds `work/kb`, and checks how many files are read and how many are removed from the index.
#[track_caller]
fn assert_add(world: &World, read: u64, removed: u64) {
    let report = kb(world, &["add", "kb"]);
    assert_eq!(report["read"], read, "{report}");
    assert_eq!(report["removed"], removed, "{report}");
}

#[test]
fn cp_12_only_changed_files_are_read_again() {
    let mut world = world_with_notes();
    write(&world, "kb/kb.yaml", "tags: [x]\n");
    write(&world, "kb/side.md", "Webhooks have sides. Use both sides of webhooks.");
    write(&world, "kb/side.md.yaml", "url: https://example.com/side\ndate: 2026-04-01\n");
    set_clock_offset(&mut world, SETTLED);
    assert_add(&world, 5, 0);
    let stats = kb(&world, &["stats"]);
    assert_eq!(stats["documents"], 5);
    assert_add(&world, 0, 0);
    set_clock_offset(&mut world, 0);
    write(&world, "kb/storage.md", NOTES[3].1.replace("at night", "at noon"));
    assert_add(&world, 1, 0);
    set_clock_offset(&mut world, SETTLED);
    // The file was read right after its change, so its modification time was not reliable yet.
    assert_add(&world, 1, 0);
    assert_add(&world, 0, 0);
    std::fs::remove_file(world.path("work/kb/ordering.md")).unwrap();
    assert_add(&world, 0, 1);
    // A sidecar file belongs to its document.
    write(&world, "kb/side.md.yaml", "url: https://example.com/other\ndate: 2026-04-01\n");
    assert_add(&world, 1, 0);
    let report = kb(&world, &["search", "sides"]);
    assert_eq!(list(&report, "hits").len(), 1);
    assert_eq!(report["hits"][0]["url"], "https://example.com/other");
    // `kb.yaml` belongs to all documents of its directory.
    write(&world, "kb/kb.yaml", "tags: [y]\n");
    assert_add(&world, 4, 0);
}

#[test]
fn cp_12_stale_files_are_reported() {
    let mut world = world_with_notes();
    set_clock_offset(&mut world, SETTLED);
    let report = kb(&world, &["add", "kb"]);
    assert_eq!(report["files"], 4);
    assert_eq!(stale_files(&world), StaleFiles::default());
    let search = ["kb", "search", "outbox", "transaction"];
    let run = sp(&world, &search).ok();
    assert!(!run.stdout.contains("storage.md"), "{run}");
    let body = "Webhooks are new here. Use new webhooks.";
    write(&world, "kb/new.md", note("https://example.com/new", "New", body));
    write(&world, "kb/storage.md", NOTES[3].1.replace("at night", "at noon"));
    std::fs::remove_file(world.path("work/kb/ordering.md")).unwrap();
    assert_eq!(stale_files(&world), StaleFiles { new: 1, changed: 1, gone: 1 });
    // The last line for people has the same three numbers.
    let run = sp(&world, &["kb", "stats"]).ok();
    assert_eq!(run.stdout.lines().last().unwrap().matches('1').count(), 3, "{run}");
    assert_eq!(state_of(&world, "Webhooks in Postgres"), "changed");
    assert_eq!(state_of(&world, "Webhooks out of order"), "gone");
    assert_eq!(state_of(&world, "Retries of webhooks"), "fresh");
    let run = sp(&world, &search).ok();
    assert!(run.stdout.contains("storage.md"), "{run}");
    let run = sp(&world, &["kb", "search", "overtake"]).ok();
    assert!(run.stdout.contains("ordering.md"), "{run}");
    kb(&world, &["add", "kb"]);
    assert_eq!(stale_files(&world), StaleFiles::default());
    std::fs::rename(world.path("work/kb"), world.path("work/moved")).unwrap();
    assert_eq!(stale_files(&world), StaleFiles { gone: 4, ..StaleFiles::default() });
}

#[test]
fn cp_12_search_and_stats_report_kinds_and_dates() {
    let world = world_with_notes();
    kb(&world, &["add", "kb"]);
    insta::assert_snapshot!(sp(&world, &["kb", "search", "jitter"]), @"
    exit: 0
    --- stdout
    Retries of webhooks  docs · published 2025-11-30, captured 2026-04-02
      Add jitter to the pause between two deliveries of a webhook.
      https://docs.example.com/retries

    1 of 4 documents matched
    ");
    let report = kb(&world, &["search", "webhooks", "--max-results", "2"]);
    assert_eq!(list(&report, "hits").len(), 2);
    assert_eq!(report["found"], 4);
    assert_eq!(report["documents"], 4);
    assert!(list(&kb(&world, &["search", "unheard-of"]), "hits").is_empty());
    let error = sp_error(&world, &["kb", "search", "the", "of"]);
    assert_eq!(error.code, "E-missing-argument");
    let stats = kb(&world, &["stats"]);
    assert_eq!(
        stats["kinds"],
        serde_json::json!([{"kind": "article", "documents": 2}, {"kind": "docs", "documents": 2}])
    );
    assert_eq!(stats["oldest"], "2026-03-14T00:00:00Z");
    assert_eq!(stats["newest"], "2026-04-03T00:00:00Z");
}

#[test]
fn cp_12_removing_a_knowledge_base_keeps_its_directory() {
    let world = world_with_notes();
    for args in [&["search", "webhooks"][..], &["stats"], &["list"]] {
        let error = sp_error(&world, &[&["kb"], args].concat());
        assert_eq!(error.code, "E-nothing-found", "{args:?}");
        assert!(error.hints_at("sp context kb add"), "{error:?}");
    }
    let search = ["kb", "search", "webhooks", "--kb", "kb"];
    assert_eq!(sp_error(&world, &search).code, "E-nothing-found");
    kb(&world, &["add", "kb"]);
    let before = world.files("work");
    kb(&world, &["remove", "kb"]);
    assert_eq!(world.files("work"), before);
    assert!(world.files("home/.skillpack/kb").keys().all(|name| !name.contains(".db")));
    assert_eq!(sp_error(&world, &["kb", "remove", "kb"]).code, "E-nothing-found");
    kb(&world, &["add", "kb"]);
    // A directory that no longer exists can be removed from the index.
    std::fs::rename(world.path("work/kb"), world.path("work/moved")).unwrap();
    kb(&world, &["remove", &world.path("work/kb").display().to_string()]);
    assert_eq!(sp_error(&world, &["kb", "list"]).code, "E-nothing-found");
}

#[test]
fn cp_12_only_existing_directories_can_be_added() {
    let world = empty_world();
    let error = sp_error(&world, &["kb", "add", "nowhere"]);
    assert_eq!(error.code, "E-directory-not-found");
    assert!(error.message.contains("nowhere"), "{error:?}");
    write(&world, "file.md", "x");
    let error = sp_error(&world, &["kb", "add", "file.md"]);
    assert_eq!(error.code, "E-invalid-arguments");
    assert!(error.message.contains("file.md"), "{error:?}");
}

#[test]
fn cp_12_pack_cannot_be_built_without_documents() {
    let world = empty_world();
    let report = kb(&world, &["add", "kb"]);
    assert_eq!(report["files"], 0);
    assert_eq!(report["documents"], 0);
    assert_eq!(build_error(&world, &[]).code, "E-nothing-found");
    write(&world, "kb/note.md", "No URL, no date, no webhooks.");
    let error = build_error(&world, &[]);
    assert_eq!(error.code, "E-nothing-found");
    assert!(error.because[0].contains("`note.md`"), "{error:?}");
    assert!(error.because[0].contains("`url`") && error.hints_at("captured_at:"), "{error:?}");
    assert!(!world.path("work/pack").exists());
}

/// Returns the path of the only index.
fn index_path(world: &World) -> PathBuf {
    let entries = std::fs::read_dir(world.path("home/.skillpack/kb"))
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let mut paths: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|end| end == "db")).collect();
    assert_eq!(paths.len(), 1, "{paths:?}");
    paths.remove(0)
}

#[test]
fn cp_12_broken_or_outdated_index_is_regenerated() {
    let mut world = world_with_notes();
    set_clock_offset(&mut world, SETTLED);
    kb(&world, &["add", "kb"]);
    assert_eq!(build(&world, &[])["documents"], 4);
    let expected = dir_bytes(&world, "pack");
    let valid = std::fs::read(index_path(&world)).unwrap();
    let mut outdated = valid.clone();
    // SQLite stores the user version of a database here.
    outdated[60..64].copy_from_slice(&[0, 0, 0, 1]);
    let truncated = valid[..valid.len() / 2].to_vec();
    let mut overwritten = valid;
    overwritten[100..4096].fill(0xff);
    for (case, bytes) in [
        ("noise", sp_testkit::random_bytes(8192)),
        ("outdated", outdated),
        ("truncated", truncated),
        ("overwritten", overwritten),
        ("empty", Vec::new()),
    ] {
        std::fs::write(index_path(&world), bytes).unwrap();
        assert_eq!(build(&world, &[])["documents"], 4, "{case}");
        assert_eq!(dir_bytes(&world, "pack"), expected, "{case}");
        let report = kb(&world, &["add", "kb"]);
        assert_eq!(report["documents"], 4, "{case}");
        assert_eq!(report["read"], 0, "{case}");
    }
}

#[test]
fn cp_12_concurrent_adds_and_builds_succeed() {
    for round in 0..3 {
        let world = world_with_notes();
        let runs: Vec<Run> = std::thread::scope(|scope| {
            let start = |number: usize| {
                let world = &world;
                let out = format!("pack{number}");
                scope.spawn(move || {
                    if number.is_multiple_of(2) {
                        sp(world, &["kb", "add", "kb", "--format", "json"])
                    } else {
                        sp(world, &[&["build", "--kb", "kb", "--output", &out], BRIEF].concat())
                    }
                })
            };
            let threads: Vec<_> = (0..6).map(start).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        for run in runs {
            run.ok();
        }
        assert_eq!(kb(&world, &["stats"])["documents"], 4, "round {round}");
        assert_eq!(dir_bytes(&world, "pack1"), dir_bytes(&world, "pack3"), "round {round}");
    }
}

/// Returns a command with the environment of a world.
fn hermetic_command(world: &World, program: &str, args: &[&str]) -> Command {
    let mut command = Command::new(program);
    command
        .args(args)
        .current_dir(world.path("work"))
        .env_clear()
        .env("HOME", world.home())
        .env("PATH", std::env::var_os("PATH").unwrap())
        .env("SOURCE_DATE_EPOCH", "1790000000");
    command
}

#[test]
fn cp_12_unwritable_home_is_an_environment_error() {
    let world = world_with_notes();
    // Root can write to any directory, but not to a file in its place.
    write(&world, "../home/.skillpack/kb", "mine");
    for args in
        [&["kb", "add", "kb"][..], &[&["build", "--kb", "kb", "--output", "pack"], BRIEF].concat()]
    {
        let error = sp_error(&world, args);
        assert_eq!(error.code, "E-io", "{args:?}");
        assert!(error.message.contains(".skillpack/kb"), "{error:?}");
    }
    assert!(!world.path("work/pack").exists());
    std::fs::remove_file(world.path("home/.skillpack/kb")).unwrap();
    let home = world.path("home/.skillpack").display().to_string();
    let script = format!(
        "mount --bind {home} {home} && mount -o remount,ro,bind {home} && \
         {sp} context kb add kb --format json; echo exit $? >&2",
        sp = env!("CARGO_BIN_EXE_sp"),
    );
    let args = ["--mount", "--map-root-user", "sh", "-c", &script];
    let mut run = world.run(hermetic_command(&world, "unshare", &args));
    let stderr = run.stderr.strip_suffix("exit 5\n").unwrap_or_else(|| panic!("{run}")).to_owned();
    (run.code, run.stderr) = (Some(5), stderr);
    let error = run.error();
    assert_eq!(error.code, "E-permission-denied");
    assert!(error.because.iter().any(|cause| cause.contains("Read-only file system")), "{run}");
}

#[test]
fn cp_12_unreadable_files_are_skipped_and_reported() {
    let world = world_with_notes();
    let body = "Webhooks are closed here. Use open webhooks.";
    write(&world, "kb/closed.md", note("https://example.com/closed", "Closed", body));
    let closed = world.path("work/kb/closed.md");
    std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o000)).unwrap();
    std::fs::set_permissions(world.root(), std::fs::Permissions::from_mode(0o755)).unwrap();
    // Root can read any file unless its capabilities are dropped.
    let is_root = std::fs::read(&closed).is_ok();
    let drop_capabilities: &[&str] =
        if is_root { &["--bounding-set=-all", "--inh-caps=-all"] } else { &[] };
    let add = [env!("CARGO_BIN_EXE_sp"), "context", "kb", "add", "kb", "--format", "json"];
    let args = [drop_capabilities, &add].concat();
    let report = json(&world.run(hermetic_command(&world, "setpriv", &args)).ok());
    assert_eq!(report["documents"], 4);
    assert_skipped(&skipped(&report), &[("closed.md", "Permission denied (os error 13)")]);
}
