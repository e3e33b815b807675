//! Logs behind `SP_LOG`.

use super::*;

#[test]
fn logs_are_off_by_default_and_go_to_stderr() {
    let mut world = installed();
    let silent = world.sp(&["list"]).ok();
    assert_eq!(silent.stderr, "");
    world.set_env("SP_LOG", "debug");
    let logged = world.sp(&["install", "team", "--agent", "claude"]).ok();
    for step in ["begin", "open_repo", "run git"] {
        assert!(logged.stderr.contains(step), "`{step}` is not logged: {logged}");
    }
    assert!(!logged.stdout.contains("sp_engine"), "{logged}");
}

#[test]
fn an_invalid_log_filter_is_a_usage_error() {
    let mut world = installed();
    world.set_env("SP_LOG", "sp_engine=loud");
    assert_eq!(world.sp(&["list"]).code, Some(2));
}

#[test]
fn logs_contain_no_credentials() {
    let mut world = world!();
    world.set_env("SP_LOG", "trace");
    world.pack(
        "team",
        "name: team\nimports:\n  - repo: http://me:hunter2@127.0.0.1:1/a/c.git\n    include: ['**']\n",
    );
    let run = world.sp(&["show", "team"]);
    assert!(run.stderr.contains("run git") && !run.stderr.contains("hunter"), "{run}");
}
