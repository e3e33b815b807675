//! `sp check` and what belongs to it: what it recognises, what it prints, what it mends, and what
//! skills cost.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test arranges its world with the plain calls"
)]

mod costs;
mod explaining;
mod fixes;
mod formats;
mod hostile;
mod imports;
mod interruptions;
mod recognition;
mod schemas;
mod skills;
mod watching;

use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::Value;
use sp_testkit::{Files, HANG_TIMEOUT, Run, World, world};

/// A `SKILL.md` with nothing to find in it.
fn good(name: &str) -> String {
    format!("---\nname: {name}\ndescription: Does {name}.\n---\n\nDo {name}.\n")
}

/// A repository with one of each: two errors, warnings, notes, and problems that can be mended.
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

/// Runs `sp check` in the authoring repository.
fn check(world: &World, args: &[&str]) -> Run {
    world.sp(&[&["check"], args].concat())
}

/// The findings as lines.
fn lines(world: &World, args: &[&str]) -> Vec<String> {
    check(world, &[args, &["--format", "plain"]].concat()).stdout.lines().map(Into::into).collect()
}

/// What a run of any command prints as JSON.
fn json(run: &Run) -> Value {
    serde_json::from_str(&run.stdout).unwrap_or_else(|e| panic!("{e}: {run}"))
}

/// `sp check --format json`, whatever its exit code.
fn report(world: &World, args: &[&str]) -> Value {
    json(&check(world, &[args, &["--format", "json"]].concat()))
}

/// Everything but our own home.
fn everything(world: &World) -> Files {
    let mut files = world.files("");
    files.retain(|path, _| !path.starts_with("home/.skillpack"));
    files
}

/// Runs `sp`, which must end in time: it is killed, and the test fails, where it does not.
fn ends(world: &World, args: &[&str]) -> Run {
    let mut command = world.command(args);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let deadline = Instant::now() + HANG_TIMEOUT;
    while child.try_wait().unwrap().is_none() {
        if Instant::now() > deadline {
            child.kill().unwrap();
            panic!("{args:?} hangs");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let output = child.wait_with_output().unwrap();
    let text = |bytes: &[u8]| world.steady(&String::from_utf8_lossy(bytes));
    Run { code: output.status.code(), stdout: text(&output.stdout), stderr: text(&output.stderr) }
}

fn mkfifo(path: &std::path::Path) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
}
