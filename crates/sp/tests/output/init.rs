//! `sp init`.

use super::*;

#[test]
fn init_makes_a_repository_that_installs_at_once_and_overwrites_nothing() {
    let world = world!();
    std::fs::create_dir_all(world.path("home/My Team")).unwrap();
    insta::assert_snapshot!(world.sp_in("home/My Team", &["init"]), @"
    exit: 0
    --- stdout
    + README.md
    + packs/my-team.yaml
    + skills/general/write-commit-message/SKILL.md
    + skills/general/write-commit-message/references/checklist.md

    made a repository in ~/My Team
    next: sp install my-team --agent claude
    ");
    insta::assert_snapshot!(world.sp_in("home/My Team", &["install", "my-team", "--agent", "claude"]), @"
    exit: 0
    --- stdout
    + my-team__general__write-commit-message

    installed my-team · claude · ~/.claude/skills · 1 added
    ");
    let before = world.files("home/My Team");
    insta::assert_snapshot!(world.sp_in("home/My Team", &["init"]), @"
    exit: 1
    --- stderr
    error: `~/My Team/README.md` is already there

    hint: nothing was changed: run it in an empty directory, or name a new one: `sp init <dir>`
    ");
    assert_eq!(world.files("home/My Team"), before);
}

#[test]
fn init_overwrites_none_of_its_files_wherever_only_one_is_there() {
    for taken in ["README.md", "packs/new.yaml", "skills/general/write-commit-message/SKILL.md"] {
        let world = world!();
        world.write(&format!("new/{taken}"), "mine\n");
        let before = world.files("home/repo/new");
        let run = world.sp(&["init", "new"]).fails(1);
        assert!(run.stderr.contains(taken) && run.stderr.contains("nothing was changed"), "{run}");
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
    assert_eq!(failed, [""; 0], "what `sp init` makes installs at once, without a warning");
}

#[test]
fn init_says_a_next_command_that_works_as_it_stands() {
    let world = world!();
    let said = world.sp_in("home", &["init", "my team/skills"]).ok().stdout;
    let next =
        said.lines().find_map(|line| line.strip_prefix("next: ")).expect("a next step").to_owned();
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
