//! A first session with `sp`: from `sp init`, or from the example repository, to skills that are
//! checked and installed for three agents.

use std::path::Path;
use std::process::Command;

use serde_json::Value;
use sp_testkit::{Run, World, world};

/// The directories of three agents, relative to the home directory.
const SINKS: [(&str, &str); 3] =
    [("claude", ".claude/skills"), ("codex", ".codex/skills"), ("cursor", ".cursor/skills")];

/// Runs a command line of `sp`, in a directory of the home directory.
fn run(world: &World, dir: &str, line: &str) -> Run {
    let args: Vec<&str> = line.split(' ').collect();
    world.sp_in(&format!("home/{dir}"), &args)
}

/// The names of the skills that are installed in a sink.
fn installed_skills(world: &World, sink: &str) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(world.home().join(sink)) else { return Vec::new() };
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Checks that a directory has skills without errors and warnings.
#[track_caller]
fn assert_strictly_valid(world: &World, dir: &str) {
    let run = run(world, "", &format!("check --strict --format json {dir}")).ok();
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(report["findings"], serde_json::json!([]), "{dir}");
}

#[test]
fn new_repository_is_checked_and_installed_for_three_agents() {
    let world = world!();
    run(&world, "", "init team").ok();
    assert_strictly_valid(&world, "team");
    assert_eq!(
        run(&world, "team", "list --format plain").ok().stdout,
        "general/write-commit-message\n"
    );
    assert!(run(&world, "team", "show team").ok().stdout.contains("write-commit-message"));

    let install = "install team --agent claude,codex,cursor";
    run(&world, "team", &format!("{install} --dry-run")).ok();
    assert!(!world.home().join(".claude").exists(), "a dry run changes nothing");
    run(&world, "team", install).ok();
    for (agent, sink) in SINKS {
        assert_eq!(installed_skills(&world, sink), ["write-commit-message"], "{agent}");
        let skill = world.home().join(sink).join("write-commit-message");
        assert!(skill.join("references/checklist.md").is_file(), "{agent}");
        assert_strictly_valid(&world, sink);
        run(&world, "", &format!("audit --agent {agent}")).ok();
    }
    let report: Value =
        serde_json::from_str(&run(&world, "", "installed --format json").ok().stdout).unwrap();
    assert_eq!(report["installs"].as_array().map(Vec::len), Some(3), "{report}");

    let before = world.files("home/.claude");
    run(&world, "team", install).ok();
    assert_eq!(world.files("home/.claude"), before, "installing again changes nothing");
    run(&world, "", "uninstall team --agent claude,codex,cursor").ok();
    for (agent, sink) in SINKS {
        assert_eq!(installed_skills(&world, sink), [""; 0], "{agent}");
    }
}

/// Runs the commands in the `sh` blocks of a README.
fn run_readme(world: &World, dir: &str) {
    let readme = std::fs::read_to_string(world.home().join(dir).join("README.md")).unwrap();
    let blocks = readme.split("```").skip(1).step_by(2);
    let commands = blocks.filter_map(|block| block.strip_prefix("sh\n")).flat_map(str::lines);
    let mut count = 0;
    for line in commands {
        let command = line.split('#').next().unwrap_or(line).trim();
        run(world, dir, command.strip_prefix("sp ").expect(line)).ok();
        count += 1;
    }
    assert!(count > 3, "{readme}");
}

#[test]
fn commands_in_the_readme_of_a_new_repository_work() {
    let world = world!();
    run(&world, "", "init team").ok();
    run_readme(&world, "team");
}

#[test]
fn example_repository_is_valid_before_and_after_it_is_installed() {
    let world = world!();
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/team");
    let mut copy = Command::new("cp");
    copy.arg("-R").arg(example).arg(world.home().join("team"));
    world.run(copy).ok();
    assert_strictly_valid(&world, "team");
    run_readme(&world, "team");
    // Both packs fit into one sink.
    run(&world, "team", "install everyone on-call --agent claude,codex,cursor").ok();
    for (agent, sink) in SINKS {
        let expected = ["dependency-upgrade", "incident-notes", "log-triage", "pull-request"];
        assert_eq!(installed_skills(&world, sink), expected, "{agent}");
        assert_strictly_valid(&world, sink);
    }
}
