//! Broken state, concurrent runs and swapped sinks.

use super::*;

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
