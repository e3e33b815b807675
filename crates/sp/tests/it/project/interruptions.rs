//! Kills and errors at every mutating call.

use sp_testkit::{FaultScenario, Faults, sweep};

use super::*;
use crate::support::engine::recover;

const ADD: &[&str] = &["add", "./team", "--all", "--agent", "claude,codex"];

/// A project with a directory of skills.
fn world_with_skills() -> World {
    let world = world!();
    std::fs::create_dir_all(world.path("home/app/.git")).unwrap();
    for name in ["a", "b"] {
        write_skill(&world, name, "Old.");
    }
    world
}

fn write_skill(world: &World, name: &str, text: &str) {
    let dir = world.path("home/app/team").join(name);
    std::fs::create_dir_all(&dir).unwrap();
    let text = format!("---\nname: {name}\ndescription: Does {name}.\n---\n\n{text}\n");
    std::fs::write(dir.join("SKILL.md"), text).unwrap();
}

fn scenario(args: &[&str], prepare: fn(&World)) -> FaultScenario {
    let world = world_with_skills();
    prepare(&world);
    FaultScenario::new(world, "home/app", args, recover())
}

fn added(world: &World) {
    world.sp_in("home/app", ADD).ok();
}

fn added_and_changed(world: &World) {
    added(world);
    write_skill(world, "a", "New.");
    std::fs::remove_dir_all(world.path("home/app/team/b")).unwrap();
    write_skill(world, "c", "New.");
}

#[test]
fn lc_20_add_interrupted_at_every_call_is_all_or_nothing() {
    sweep(|| scenario(ADD, |_| {}), Faults::All);
}

#[test]
fn lc_20_sync_interrupted_at_every_call_is_all_or_nothing() {
    sweep(|| scenario(&["sync"], added_and_changed), Faults::All);
}

#[test]
fn lc_20_update_interrupted_at_every_call_is_all_or_nothing() {
    sweep(|| scenario(&["update"], added_and_changed), Faults::Kills);
}

#[test]
fn lc_20_remove_interrupted_at_every_call_is_all_or_nothing() {
    sweep(|| scenario(&["remove", "./team"], added), Faults::All);
}

#[test]
fn lc_20_eight_adds_at_once_lose_nothing() {
    let world = world_with_skills();
    let names: Vec<String> = (0..8).map(|number| format!("s{number}")).collect();
    names.iter().for_each(|name| write_skill(&world, name, "Text."));
    let add = |name: &String| {
        ["add", "./team", "--agent", "claude", "--skill", name].map(str::to_owned).to_vec()
    };
    let commands: Vec<Vec<String>> = names.iter().map(add).collect();
    for run in world.sp_concurrently("home/app", &commands) {
        run.ok();
    }
    let installed = world.files("home/app/.claude/skills");
    let folders: Vec<&String> = installed.keys().filter(|name| !name.contains('/')).collect();
    assert_eq!(folders, names.iter().collect::<Vec<_>>());
    world.sp_in("home/app", &["sync", "--frozen"]).ok();
}
