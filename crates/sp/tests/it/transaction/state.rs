//! Invalid state files, concurrent runs and replaced sinks.

use super::*;

#[test]
fn se_01_invalid_state_is_never_overwritten_and_nothing_changes() {
    let world = world!();
    create_packs(&world, "");
    let sink = world.path("sink").display().to_string();
    let valid = format!(
        r#"{{"version": 1, "installs": [{{"sink": "custom", "sink_path": "{sink}", "pack": "team", "installed_paths": ["{sink}/team__a"]}}]}}"#
    );
    let outside = valid.replace(&format!("{sink}/team__a"), "/etc/cron.d");
    std::fs::create_dir_all(world.path("home/.skillpack")).unwrap();
    std::fs::create_dir_all(world.path("sink/team__a")).unwrap();
    let before = world.files("sink");
    let path = world.path("home/.skillpack/state.json");
    for (case, bytes, code) in [
        ("empty", &b""[..], "E-invalid-state"),
        ("truncated", &valid.as_bytes()[..60], "E-invalid-state"),
        ("garbage", b"\0\xff\xfe garbage", "E-invalid-state"),
        ("another type", b"[1, 2]", "E-invalid-state"),
        ("newer version", br#"{"version": 2, "installs": {}}"#, "E-invalid-state"),
        ("missing member", br#"{"version": 1, "installs": [{"sink": "x"}]}"#, "E-invalid-state"),
        ("duplicate key", br#"{"version": 1, "version": 1, "installs": []}"#, "E-invalid-state"),
        ("path outside", outside.as_bytes(), "E-state-mismatch"),
    ] {
        std::fs::write(&path, bytes).unwrap();
        for args in [INSTALL, UNINSTALL] {
            let args: Vec<String> = args.iter().map(|arg| arg.replace("SINK", &sink)).collect();
            let error = world.sp_error(&args.iter().map(String::as_str).collect::<Vec<_>>());
            assert_eq!(error.code, code, "{case}: {error:?}");
            assert!(!error.hints.is_empty(), "{case}: {error:?}");
            assert_eq!(std::fs::read(&path).unwrap(), bytes, "{case}");
            assert_eq!(world.files("sink"), before, "{case}");
        }
        assert_no_leftovers(&world, case);
    }
}

#[test]
fn se_01_concurrent_installs_lose_nothing() {
    let world = world!();
    let names: Vec<String> = (0..8).map(|number| format!("p{number}")).collect();
    for name in &names {
        world.skill(name);
        world.pack(name, &format!("name: {name}\ninclude: [{name}]\n"));
    }
    let sink = world.path("sink").display().to_string();
    // A run that does not have to wait for another prints nothing to stderr.
    let install = |name: &String| {
        ["install", name, "--agent", "custom", "--path", &sink].map(str::to_owned).to_vec()
    };
    let commands: Vec<Vec<String>> = names.iter().map(install).collect();
    let first = world.sp_concurrently("home/repo", &commands[..1]).remove(0);
    assert_eq!(first.ok().stderr, "");
    let mut waited = false;
    for round in 0..50 {
        for run in world.sp_concurrently("home/repo", &commands) {
            waited |= !run.ok().stderr.is_empty();
        }
        assert_eq!(records(&world).len(), 8, "round {round}");
        let installed = world.files("sink");
        let skills = installed.keys().filter(|name| !name.contains('/'));
        assert_eq!(skills.count(), 8, "round {round}");
        assert_no_leftovers(&world, "concurrent installs");
        let mut args = vec!["uninstall"];
        args.extend(names.iter().map(String::as_str));
        args.extend(["--agent", "custom", "--path", &sink]);
        world.sp(&args).ok();
    }
    assert!(waited, "no run reported that it waits for another");
}

#[test]
fn se_01_recovery_does_not_touch_a_directory_that_replaced_the_sink() {
    let sweep = FaultSweep::new(scenario(install_and_change, INSTALL));
    let world = sweep.world();
    let elsewhere = tempfile::tempdir().unwrap();
    let (sink, moved, foreign) =
        (world.path("sink"), world.path("moved"), elsewhere.path().join("foreign"));
    sweep.restart();
    copy(&sink, &foreign);
    let untouched = files(&foreign);
    let journal = world.path("home/.skillpack/journal.json");
    let mut interrupted = 0;
    for call in 1..=sweep.calls().len() {
        sweep.kill_at(call);
        if !journal.exists() {
            continue;
        }
        interrupted += 1;
        std::fs::rename(&sink, &moved).unwrap();
        std::os::unix::fs::symlink(&foreign, &sink).unwrap();
        let error = world.sp_error(&["installed"]);
        assert_eq!(error.code, "E-directory-replaced", "killed at call {call}: {error:?}");
        assert_eq!(files(&foreign), untouched, "killed at call {call}");
        std::fs::remove_file(&sink).unwrap();
        std::fs::rename(&moved, &sink).unwrap();
        sweep.check_recovery(&format!("killed at call {call}, then moved away and back"));
    }
    assert!(interrupted > 10, "only {interrupted} kills left a journal");
}
