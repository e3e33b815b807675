//! `sp check` and related commands: what is recognized, how findings are printed and fixed, and
//! what skills cost.

mod acceptance;
mod cost;
mod escaping;
mod explain;
mod fix;
mod formats;
mod imports;
mod interruptions;
mod recognition;
mod repository;
mod schema;
mod skills;
mod watch;

use std::process::Stdio;

use serde_json::Value;
use sp_testkit::{FileMap, Run, World, world};

/// Returns a `SKILL.md` without problems.
fn valid_skill(name: &str) -> String {
    format!("---\nname: {name}\ndescription: Does {name}.\n---\n\nDo {name}.\n")
}

/// A repository with errors, warnings, and problems that can be fixed.
fn sample() -> World {
    let world = world!();
    world.write(
        "skills/tidy-up/SKILL.md",
        "---\nname: Tidy Up\ndescription: Use when: code is dead.\nversion: 1.0\nallowed-tools: [Read, Grep]\n\
         ---\nSee [the list](references/lst.md) and `scripts/run.sh`.\n",
    );
    world.write("skills/tidy-up/references/list.md", "One by one.\n");
    world.skill("review");
    world.pack("team", "name: team\ninclude:\n  - tdy-up\n  - review\n");
    world
}

/// Runs `sp check` in the repository.
fn check(world: &World, args: &[&str]) -> Run {
    world.sp(&[&["check"], args].concat())
}

/// Returns the findings without their messages: `file:line:column: severity[rule]`.
fn findings(world: &World, args: &[&str]) -> Vec<String> {
    positions(&check(world, &[args, &["--format", "plain"]].concat()))
}

/// Returns the findings that a run with `--format plain` printed, without their messages.
fn positions(run: &Run) -> Vec<String> {
    let position = |line: &str| line.split_inclusive(']').next().unwrap_or_default().to_owned();
    run.stdout.lines().map(position).collect()
}

/// Parses what a command printed.
fn json(run: &Run) -> Value {
    serde_json::from_str(&run.stdout).unwrap_or_else(|e| panic!("{e}: {run}"))
}

/// Runs `sp check --format json`, with any exit code.
fn report(world: &World, args: &[&str]) -> Value {
    json(&check(world, &[args, &["--format", "json"]].concat()))
}

/// All files of the world, without those of `~/.skillpack`.
fn files_except_home(world: &World) -> FileMap {
    let mut files = world.files("");
    files.retain(|path, _| !path.starts_with("home/.skillpack"));
    files
}

/// Runs `sp`, which must not hang.
#[track_caller]
fn run_to_end(world: &World, args: &[&str]) -> Run {
    let run = world.sp(args);
    assert!(run.code.is_some(), "{args:?} hangs");
    run
}

/// Runs with these environment variables.
fn run_with_env(world: &World, args: &[&str], env: &[(&str, &str)]) -> Run {
    let mut command = world.command(args);
    command.envs(env.iter().copied());
    world.run(command)
}

fn mkfifo(path: &std::path::Path) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
}
