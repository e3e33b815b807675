//! `sp context kb`: the index of what somebody collected.

use std::os::unix::fs::PermissionsExt;

use super::*;

fn hits(world: &World, words: &str) -> Vec<(String, String)> {
    let found = kb(world, &["search", words]);
    let hits = found["hits"].as_array().unwrap().iter();
    hits.map(|hit| (hit["title"].as_str().unwrap().into(), hit["state"].as_str().unwrap().into()))
        .collect()
}

fn stale(world: &World) -> (u64, u64, u64) {
    let stats = kb(world, &["stats"]);
    let count = |name: &str| stats[name].as_u64().unwrap();
    (count("new"), count("changed"), count("gone"))
}

#[test]
fn cp_12_only_what_changed_is_read_again() {
    let world = rich();
    put(&world, "kb/kb.yaml", "tags: [x]\n");
    put(&world, "kb/side.md", "Webhooks have sides. Use both sides of webhooks.");
    put(&world, "kb/side.md.yaml", "url: https://example.com/side\ndate: 2026-04-01\n");
    settle();
    let read =
        |answer: &Value| (answer["read"].as_u64().unwrap(), answer["removed"].as_u64().unwrap());
    let first = kb(&world, &["add", "kb"]);
    assert_eq!(
        (read(&first), &first["documents"], &first["files"]),
        ((5, 0), &5.into(), &5.into())
    );
    assert_eq!(read(&kb(&world, &["add", "kb"])), (0, 0));
    put(&world, "kb/storage.md", NOTES[3].1.replace("at night", "at noon"));
    assert_eq!(read(&kb(&world, &["add", "kb"])), (1, 0), "one was changed");
    settle();
    // It was read right after it had changed: once more, to be sure, and never again.
    assert_eq!(read(&kb(&world, &["add", "kb"])), (1, 0));
    assert_eq!(read(&kb(&world, &["add", "kb"])), (0, 0));
    std::fs::remove_file(world.path("work/kb/ordering.md")).unwrap();
    assert_eq!(read(&kb(&world, &["add", "kb"])), (0, 1), "one is gone");
    put(&world, "kb/side.md.yaml", "url: https://example.com/other\ndate: 2026-04-01\n");
    assert_eq!(read(&kb(&world, &["add", "kb"])), (1, 0), "what is beside it tells of it");
    assert!(
        hits(&world, "sides").len() == 1
            && kb(&world, &["search", "sides"])["hits"][0]["url"] == "https://example.com/other"
    );
    put(&world, "kb/kb.yaml", "tags: [y]\n");
    assert_eq!(
        read(&kb(&world, &["add", "kb"])),
        (4, 0),
        "what holds for the folder holds for all"
    );
}

#[test]
fn cp_12_what_is_stale_is_told() {
    let world = rich();
    settle();
    kb(&world, &["add", "kb"]);
    assert_eq!(stale(&world), (0, 0, 0));
    let run = sp(&world, &["kb", "stats"]).ok();
    assert!(run.stdout.contains("nothing is stale"), "{run}");
    put(
        &world,
        "kb/new.md",
        note("https://example.com/new", "New", "Webhooks are new here. Use new webhooks."),
    );
    put(&world, "kb/storage.md", NOTES[3].1.replace("at night", "at noon"));
    std::fs::remove_file(world.path("work/kb/ordering.md")).unwrap();
    assert_eq!(stale(&world), (1, 1, 1));
    let run = sp(&world, &["kb", "stats"]).ok();
    assert!(run.stdout.contains("stale: 1 new, 1 changed, 1 gone"), "{run}");
    let state = |title: &str| {
        hits(&world, "webhooks").into_iter().find(|(found, _)| found == title).unwrap().1
    };
    assert_eq!(
        (
            state("Webhooks in Postgres"),
            state("Webhooks out of order"),
            state("Retries of webhooks")
        ),
        ("changed".into(), "gone".into(), "fresh".into())
    );
    let run = sp(&world, &["kb", "search", "outbox", "transaction"]).ok();
    assert!(
        run.stdout.contains("stale: ")
            && run.stdout.contains("storage.md was changed since it was read"),
        "{run}"
    );
    let run = sp(&world, &["kb", "search", "overtake"]).ok();
    assert!(run.stdout.contains("ordering.md is gone"), "{run}");
    kb(&world, &["add", "kb"]);
    assert_eq!(stale(&world), (0, 0, 0));
    std::fs::rename(world.path("work/kb"), world.path("work/moved")).unwrap();
    assert_eq!(stale(&world), (0, 0, 4), "the whole folder is gone");
}

#[test]
fn cp_12_a_search_shows_the_sentence_the_dates_and_the_kind() {
    let world = rich();
    kb(&world, &["add", "kb"]);
    let run = sp(&world, &["kb", "search", "jitter"]).ok();
    assert_eq!(
        run.stdout,
        "Retries of webhooks  docs · published 2025-11-30, captured 2026-04-02\n  Add jitter to the pause between two deliveries of a webhook.\n  https://docs.example.com/retries\n\n1 of 4 documents\n"
    );
    let found = kb(&world, &["search", "webhooks", "--most", "2"]);
    assert_eq!(
        (found["hits"].as_array().unwrap().len(), &found["found"], &found["documents"]),
        (2, &4.into(), &4.into())
    );
    assert_eq!(kb(&world, &["search", "unheard-of"])["hits"].as_array().unwrap().len(), 0);
    let run = sp(&world, &["kb", "search", "the", "of"]).fails(2);
    assert!(run.stderr.contains("there is no word to look for"), "{run}");
    let stats = kb(&world, &["stats"]);
    assert_eq!(
        stats["kinds"],
        serde_json::json!([{"kind": "article", "documents": 2}, {"kind": "docs", "documents": 2}])
    );
    assert_eq!(
        (&stats["oldest"], &stats["newest"]),
        (&"2026-03-14T00:00:00Z".into(), &"2026-04-03T00:00:00Z".into())
    );
}

#[test]
fn cp_12_a_folder_is_forgotten_and_one_that_is_unknown_is_told() {
    let world = rich();
    let none = sp(&world, &["kb", "list"]).fails(1);
    assert!(
        none.stderr.contains("there is no knowledge base yet") && none.stderr.contains("kb add"),
        "{none}"
    );
    for args in [&["search", "webhooks"][..], &["stats"], &["list"]] {
        sp(&world, &[&["kb"], args].concat()).fails(1);
    }
    sp(&world, &["kb", "search", "webhooks", "--kb", "kb"]).fails(1);
    kb(&world, &["add", "kb"]);
    let before = world.files("work");
    kb(&world, &["remove", "kb"]);
    assert_eq!(world.files("work"), before, "the folder itself stays");
    assert!(world.files("home/.skillpack/kb").keys().all(|name| !name.contains(".db")));
    let run = sp(&world, &["kb", "remove", "kb"]).fails(1);
    assert!(run.stderr.contains("was not added"), "{run}");
    let run = sp(&world, &["kb", "add", "nowhere"]).fails(5);
    assert!(run.stderr.contains("cannot find") && run.stderr.contains("nowhere"), "{run}");
    put(&world, "file.md", "x");
    let run = sp(&world, &["kb", "add", "file.md"]).fails(2);
    assert!(run.stderr.contains("is no folder"), "{run}");
    kb(&world, &["add", "kb"]);
    std::fs::rename(world.path("work/kb"), world.path("work/moved")).unwrap();
    let place = world.path("work/kb").display().to_string();
    kb(&world, &["remove", &place]);
    sp(&world, &["kb", "list"]).fails(1);
}

#[test]
fn cp_12_an_empty_folder_is_none_to_build_from() {
    let world = empty();
    let added = kb(&world, &["add", "kb"]);
    assert_eq!((&added["files"], &added["documents"]), (&0.into(), &0.into()));
    let run = sp(&world, &building(&[])).fails(1);
    assert!(run.stderr.contains("the knowledge base has no document"), "{run}");
    put(&world, "kb/note.md", "No address, no day, no webhooks.");
    let run = sp(&world, &building(&[])).fails(1);
    assert!(
        run.stderr.contains("`note.md`: it has no `url`") && run.stderr.contains("captured_at:"),
        "{run}"
    );
    assert!(!world.path("work/pack").exists());
}

/// The one index of a world.
fn file(world: &World) -> std::path::PathBuf {
    let entries = std::fs::read_dir(world.path("home/.skillpack/kb"))
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let mut found: Vec<_> =
        entries.filter(|path| path.extension().is_some_and(|end| end == "db")).collect();
    assert_eq!(found.len(), 1, "{found:?}");
    found.remove(0)
}

#[test]
fn cp_12_an_index_that_is_broken_or_of_another_version_is_made_anew() {
    let world = rich();
    settle();
    kb(&world, &["add", "kb"]);
    let expected = (build(&world, &[]), bytes(&world, "pack"));
    let good = std::fs::read(file(&world)).unwrap();
    let mut older = good.clone();
    // The version that a program gives its file stands at this place.
    older[60..64].copy_from_slice(&[0, 0, 0, 1]);
    let mut torn = good.clone();
    torn.truncate(good.len() / 2);
    let mut mixed = good.clone();
    mixed[100..4096].fill(0xff);
    for (what, broken) in [
        ("noise", sp_testkit::noise(8192)),
        ("older", older),
        ("torn", torn),
        ("mixed", mixed),
        ("empty", Vec::new()),
    ] {
        std::fs::write(file(&world), broken).unwrap();
        let answer = build(&world, &[]);
        assert_eq!(bytes(&world, "pack"), expected.1, "{what}");
        assert_eq!(answer["documents"], expected.0["documents"], "{what}");
        let added = kb(&world, &["add", "kb"]);
        assert_eq!((&added["documents"], &added["read"]), (&4.into(), &0.into()), "{what}");
    }
}

#[test]
fn cp_12_several_at_once_all_succeed() {
    for round in 0..3 {
        let world = rich();
        let runs: Vec<Run> = std::thread::scope(|scope| {
            let one = |number: usize| {
                let world = &world;
                let out = format!("pack{number}");
                scope.spawn(move || match number % 2 {
                    0 => sp(world, &["kb", "add", "kb", "--format", "json"]),
                    _ => sp(world, &[&["build", "--kb", "kb", "--out", &out], BRIEF].concat()),
                })
            };
            let threads: Vec<_> = (0..6).map(one).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        for run in runs {
            run.ok();
        }
        assert_eq!(kb(&world, &["stats"])["documents"], 4, "round {round}");
        assert_eq!(bytes(&world, "pack1"), bytes(&world, "pack3"), "round {round}");
    }
}

#[test]
fn cp_12_a_home_that_cannot_be_written_to_gives_a_clear_error() {
    let world = rich();
    // To root nothing is closed, but a file is no folder for anybody.
    put(&world, "../home/.skillpack/kb", "mine");
    for args in
        [&["kb", "add", "kb"][..], &[&["build", "--kb", "kb", "--out", "pack"], BRIEF].concat()]
    {
        let run = sp(&world, args).fails(5);
        assert!(run.stderr.contains("error: ") && run.stderr.contains(".skillpack/kb"), "{run}");
    }
    assert!(!world.path("work/pack").exists());
    std::fs::remove_file(world.path("home/.skillpack/kb")).unwrap();
    let (home, sp) =
        (world.path("home/.skillpack").display().to_string(), env!("CARGO_BIN_EXE_sp"));
    let script = format!(
        "mount --bind {home} {home} && mount -o remount,ro,bind {home} && {sp} context kb add kb; echo exit $?"
    );
    let mut command = std::process::Command::new("unshare");
    command
        .args(["--mount", "--map-root-user", "sh", "-c", &script])
        .current_dir(world.path("work"));
    command.env_clear().env("HOME", world.home()).env("PATH", std::env::var_os("PATH").unwrap());
    let run = world.run(command);
    assert_eq!(run.stdout, "exit 5\n", "{run}");
    assert!(run.stderr.contains("Read-only file system"), "{run}");
}

#[test]
fn cp_12_a_file_that_may_not_be_read_is_told() {
    let world = rich();
    let closed = world.path("work/kb/closed.md");
    put(
        &world,
        "kb/closed.md",
        note(
            "https://example.com/closed",
            "Closed",
            "Webhooks are closed here. Use open webhooks.",
        ),
    );
    std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o000)).unwrap();
    std::fs::set_permissions(world.root(), std::fs::Permissions::from_mode(0o755)).unwrap();
    // To root nothing is closed: without its rights it is like anybody.
    let mut command = std::process::Command::new("setpriv");
    let is_root = std::fs::read(&closed).is_ok();
    command.args(if is_root { &["--bounding-set=-all", "--inh-caps=-all"][..] } else { &[] });
    command.args([env!("CARGO_BIN_EXE_sp"), "context", "kb", "add", "kb", "--format", "json"]);
    command
        .current_dir(world.path("work"))
        .env_clear()
        .env("HOME", world.home())
        .env("SOURCE_DATE_EPOCH", "1790000000");
    command.env("PATH", std::env::var_os("PATH").unwrap());
    let answer = json(&world.run(command).ok());
    assert_eq!(answer["documents"], 4);
    assert_eq!(skipped(&answer), ["closed.md: it cannot be read: Permission denied (os error 13)"]);
}
