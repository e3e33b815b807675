//! Exit codes, error codes, and the use of stdout and stderr.

use super::*;

#[test]
fn sp_31_se_12_failures_have_an_exit_code_and_an_error_code() {
    let world = installed();
    let schema = schema("error");
    for Failure { exit_code, code, args } in failures(&world) {
        let run = world.sp(args).fails(exit_code);
        assert!(run.stdout.is_empty() && run.stderr.contains("error"), "{run}");
        assert!(run.stderr.contains("hint: ") || run.stderr.contains("help: "), "{run}");
        let run = world.sp(&[args, &["--format", "json"]].concat()).fails(exit_code);
        let last = run.stderr.lines().last().unwrap_or_default();
        let value: Value = serde_json::from_str(last).unwrap_or_else(|e| panic!("{e}: {run}"));
        assert_matches_schema(&value, &schema, &schema, "error");
        assert_eq!(run.error().code, code, "{run}");
    }
}

#[test]
fn sp_31_usage_errors_have_exit_code_2() {
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
fn sp_31_usage_errors_are_json_if_requested() {
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
        let install = ["install", "local", "--agent", "cursor", "--format", format];
        let run = world.sp(&[&install[..], &["--dry-run", "--verbose"]].concat()).ok();
        assert!(run.stderr.contains("warning[SP-17]") && run.stderr.contains("note: "), "{run}");
        assert!(!run.stdout.contains("warning") && !run.stdout.contains("note: "), "{run}");
    }
    let run = world.sp(&["install", "local", "--agent", "cursor", "--format", "json"]).ok();
    assert!(run.stderr.contains("warning[AS-01]") && run.stderr.contains("hint: "), "{run}");
    serde_json::from_str::<Value>(&run.stdout).expect("only JSON on stdout");
}

#[test]
fn sp_31_se_12_output_errors_are_failures_but_closed_pipes_are_not() {
    let world = installed();
    for args in [&["list"][..], &["config"], &["show", "team"], &["completions", "bash"], &["man"]]
    {
        let run = world.sp_on_full_disk(&[args, &["--format", "json"]].concat());
        assert_eq!(run.error().code, "E-output", "{args:?}");
        let run = world.sp_with_closed_stdout(args).ok();
        assert_eq!(run.stderr, "", "{args:?}");
    }
}

#[test]
fn a_missing_home_is_an_error() {
    let world = world!();
    let mut command = world.command(&["list", "--format", "json"]);
    command.env_remove("HOME");
    let error = world.run(command).error();
    assert_eq!(error.code, "E-no-home");
    assert!(error.hints_at("HOME"), "{error:?}");
}
