//! Exit codes, and what goes to which stream.

use std::fs::File;
use std::process::Stdio;

use super::*;

#[test]
fn sp_31_se_12_each_failure_has_its_exit_code_and_a_stable_code() {
    let world = installed();
    let schema = schema("error");
    for (exit_code, code, args) in failures(&world) {
        let run = world.sp(&args).fails(exit_code);
        assert!(run.stdout.is_empty() && run.stderr.contains("error"), "{run}");
        assert!(
            run.stderr.contains("hint: ") || run.stderr.contains("help: "),
            "it names the way out: {run}"
        );
        let run = world.sp(&[&args[..], &["--format", "json"]].concat()).fails(exit_code);
        let last = run.stderr.lines().last().unwrap_or_default();
        let value: Value = serde_json::from_str(last).unwrap_or_else(|e| panic!("{e}: {run}"));
        assert_fits(&value, &schema, &schema, "error");
        assert_eq!(run.error().code, code, "{run}");
    }
}

#[test]
fn sp_31_wrong_usage_is_exit_code_2() {
    let world = installed();
    for args in [
        &[][..],
        &["no-such-command"],
        &["install"],
        &["install", "team"],
        &["show"],
        &["uninstall", "team"],
        &["list", "--format", "xml"],
        &["list", "--no-such-flag"],
        &["install", "team", "--agent", "custom"],
        &["list", "--limit", "depth"],
        &["completions", "no-shell"],
    ] {
        let run = world.sp(args).fails(2);
        assert!(run.stdout.is_empty() && !run.stderr.is_empty(), "{args:?}: {run}");
    }
}

#[test]
fn sp_31_wrong_usage_is_json_when_json_was_requested() {
    let world = world!();
    for args in [
        &["no-such-command", "--format", "json"][..],
        &["--format=json", "install"],
        &["list", "--no-such-flag", "--format", "json"],
    ] {
        let error = world.sp(args).error();
        assert_eq!((error.code.as_str(), error.exit_code), ("E-invalid-arguments", 2), "{args:?}");
        assert!(!error.message.is_empty() && error.hints_at("sp"), "{args:?}: {error:?}");
    }
    let run = world.sp(&["list", "--no-such-flag", "--", "--format", "json"]).fails(2);
    assert!(run.stderr.starts_with("error:"), "{run}");
}

#[test]
fn sp_31_warnings_hints_and_notes_go_to_stderr() {
    let world = installed();
    world.skill("suite");
    world.skill("suite/one");
    world.write("skills/odd/SKILL.md", "no frontmatter\n");
    world.pack("local", "name: local\ninclude: ['**']\nexclude: [zzz]\n");
    for format in ["human", "plain", "json"] {
        let run = world
            .sp(&[
                "install",
                "local",
                "--agent",
                "cursor",
                "--dry-run",
                "--verbose",
                "--format",
                format,
            ])
            .ok();
        assert!(run.stderr.contains("warning[SP-17]") && run.stderr.contains("note: "), "{run}");
        assert!(!run.stdout.contains("warning") && !run.stdout.contains("note: "), "{run}");
    }
    let run = world.sp(&["install", "local", "--agent", "cursor", "--format", "json"]).ok();
    assert!(run.stderr.contains("warning[AS-01]") && run.stderr.contains("hint: "), "{run}");
    serde_json::from_str::<Value>(&run.stdout).expect("stdout is JSON and nothing else");
}

#[test]
fn sp_31_se_12_output_that_cannot_be_written_is_a_failure_and_a_closed_pipe_is_none() {
    let world = installed();
    for args in [
        &["list"][..],
        &["config"],
        &["show", "team", "--format", "json"],
        &["completions", "bash"],
        &["man"],
    ] {
        let mut command = world.command(args);
        command
            .stdout(File::options().write(true).open("/dev/full").unwrap())
            .stderr(Stdio::piped());
        let output = command.spawn().unwrap().wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(
            (output.status.code(), said.contains("standard output")),
            (Some(5), true),
            "{args:?}: {said}"
        );
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = world.command(args);
        let output = command
            .stdout(writer)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
            .wait_with_output()
            .unwrap();
        assert_eq!(
            (output.status.code(), output.stderr.as_slice()),
            (Some(0), &b""[..]),
            "{args:?}"
        );
    }
}

#[test]
fn no_home_at_all_is_an_error_that_says_what_to_set() {
    let world = world!();
    let mut command = world.command(&["list"]);
    command.env_remove("HOME");
    let run = world.run(command);
    assert!(run.code == Some(5) && run.stderr.contains("hint: set HOME"), "{run}");
}
