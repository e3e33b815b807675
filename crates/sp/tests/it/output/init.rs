//! `sp init`.

use sp_testkit::{FaultScenario, Faults, sweep};

use super::*;
use crate::support::engine::recover;

#[test]
fn init_creates_a_repository_that_can_be_installed() {
    let world = world!();
    std::fs::create_dir_all(world.path("home/My Team")).unwrap();
    insta::assert_snapshot!(world.sp_in("home/My Team", &["init"]), @"
    exit: 0
    --- stdout
    + README.md
    + packs/my-team.yaml
    + skills/general/write-commit-message/SKILL.md
    + skills/general/write-commit-message/references/checklist.md

    created a repository in ~/My Team
    next: sp install my-team --agent claude
    ");
    world.sp_in("home/My Team", &["install", "my-team", "--agent", "claude"]).ok();
    assert!(world.path("home/.claude/skills/write-commit-message").is_dir());
    let before = world.files("home/My Team");
    let error = world.sp_error_in("home/My Team", &["init"]);
    assert_eq!(error.code, "E-already-exists");
    assert!(error.message.contains("`~/My Team/README.md`"), "{error:?}");
    assert!(error.hints_at("sp init <dir>"), "{error:?}");
    assert_eq!(world.files("home/My Team"), before);
}

#[test]
fn init_never_overwrites_a_file() {
    for taken in ["README.md", "packs/new.yaml", "skills/general/write-commit-message/SKILL.md"] {
        let world = world!();
        world.write(&format!("new/{taken}"), "mine\n");
        let before = world.files("home/repo/new");
        let error = world.sp_error(&["init", "new"]);
        assert_eq!(error.code, "E-already-exists", "{taken}");
        assert!(error.message.contains(taken), "{error:?}");
        assert_eq!(world.files("home/repo/new"), before, "{taken}");
    }
}

#[test]
fn init_works_in_a_directory_of_any_name() {
    let works = |name: &str| {
        let world = world!();
        std::fs::create_dir_all(world.path("home").join(name)).unwrap();
        let run = world.sp_in(&format!("home/{name}"), &["init", "--format", "json"]);
        let pack = serde_json::from_str::<Value>(&run.stdout).ok()?["pack"].as_str()?.to_owned();
        let run = world.sp_in(&format!("home/{name}"), &["install", &pack, "--agent", "claude"]);
        (run.code == Some(0) && run.stderr.is_empty()).then_some(())
    };
    let names = [
        "null",
        "true",
        "123",
        "1e3",
        "~",
        "日本",
        "a.b",
        "-dash",
        "con",
        "with space",
        "UPPER",
        "__",
        "it's",
        "x:y",
    ];
    let failed: Vec<&str> = names.into_iter().filter(|name| works(name).is_none()).collect();
    assert_eq!(failed, [""; 0], "the new repository installs without a warning");
}

#[test]
fn the_command_that_init_prints_works() {
    let world = world!();
    let stdout = world.sp_in("home", &["init", "my team/skills"]).ok().stdout;
    let line = stdout.lines().find(|line| line.contains("sp install")).expect("a next command");
    let next = line.split_once(": ").map_or(line, |(_, command)| command);
    let mut shell = std::process::Command::new("sh");
    shell
        .arg("-c")
        .arg(next.replace("sp install", "\"$SP\" install"))
        .env_clear()
        .env("SP", env!("CARGO_BIN_EXE_sp"));
    shell.current_dir(world.path("home")).env("HOME", world.home());
    let run = world.run(shell);
    assert_eq!(run.code, Some(0), "{next}: {run}");
}

#[test]
fn se_01_init_of_a_repository_interrupted_at_every_call_is_all_or_nothing() {
    let scenario = || FaultScenario::new(world!(), "home", &["init", "new/skills"], recover());
    sweep(scenario, Faults::All);
}
