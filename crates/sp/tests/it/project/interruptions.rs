//! Kills and errors at every mutating call.

use sp_testkit::{FaultScenario, Faults, FileEntry, observed_files, sweep};

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
    sweep(|| scenario(&["update"], added_and_changed), Faults::All);
}

#[test]
fn lc_20_remove_interrupted_at_every_call_is_all_or_nothing() {
    sweep(|| scenario(&["remove", "./team"], added), Faults::All);
}

fn edited(world: &World) {
    added(world);
    let skill = world.path("home/app/.claude/skills/a/SKILL.md");
    std::fs::write(skill, "---\nname: a\ndescription: Does a.\n---\n\nMine.\n").unwrap();
}

fn edited_and_disabled(world: &World) {
    edited(world);
    world.sp_in("home/app", &["disable", "a"]).ok();
}

fn with_foreign_folder(world: &World) {
    added(world);
    let dir = world.path("home/app/.claude/skills/mine");
    std::fs::create_dir_all(&dir).unwrap();
    std::fs::write(dir.join("SKILL.md"), "---\nname: mine\ndescription: x\n---\n").unwrap();
}

/// A scenario in which a skill was edited. The edits are in the project, in the trash, or both.
fn scenario_with_edits(args: &[&str], prepare: fn(&World)) -> FaultScenario {
    let has_edits = |world: &World, dir: &str| {
        let is_edited =
            |entry: &FileEntry| matches!(entry, FileEntry::File(text, _) if text.contains("Mine."));
        world.files(dir).values().any(is_edited)
    };
    let keeps_edits = move |world: &World, when: &str| {
        let dirs = ["home/app", "home/.skillpack/trash"];
        assert!(dirs.iter().any(|dir| has_edits(world, dir)), "{when}");
    };
    FaultScenario {
        observe: Box::new(|world| observed_files(world, "home/app")),
        recovered: Box::new(keeps_edits),
        done: Box::new(keeps_edits),
        ..scenario(args, prepare)
    }
}

#[test]
fn lc_20_restore_interrupted_at_every_call_is_all_or_nothing() {
    sweep(|| scenario_with_edits(&["restore", "a"], edited), Faults::All);
}

#[test]
fn lc_20_disable_interrupted_at_every_call_is_all_or_nothing() {
    sweep(|| scenario_with_edits(&["disable", "a"], edited), Faults::All);
}

#[test]
fn lc_20_enable_interrupted_at_every_call_is_all_or_nothing() {
    sweep(|| scenario_with_edits(&["enable", "a"], edited_and_disabled), Faults::All);
}

#[test]
fn lc_20_adopt_interrupted_at_every_call_is_all_or_nothing() {
    sweep(|| scenario(&["adopt", "mine"], with_foreign_folder), Faults::All);
}

/// Damages the stored version of an installed skill, and leaves a record of a project that is gone.
fn damaged(world: &World) {
    added(world);
    std::fs::create_dir_all(world.path("home/gone/.git")).unwrap();
    world.sp_in("home/gone", &["add", "../app/team", "--all", "--agent", "claude"]).ok();
    std::fs::remove_dir_all(world.path("home/gone")).unwrap();
    let base = world.files("home/.skillpack/bases").into_keys().next().unwrap();
    std::fs::write(world.path("home/.skillpack/bases").join(base), "Damaged.").unwrap();
}

#[test]
fn lc_18_lc_20_repairs_interrupted_at_every_call_are_all_or_nothing() {
    let keeps_file = |world: &World, when: &str| {
        let is_damaged =
            |entry: &FileEntry| matches!(entry, FileEntry::File(text, _) if text == "Damaged.");
        assert!(world.files("home/.skillpack").values().any(is_damaged), "{when}");
    };
    let observe = |world: &World| {
        let mut files = observed_files(world, "home/.skillpack");
        let parts = ["/bases", "/state.json", "/journal.json"];
        files.retain(|name, _| parts.iter().any(|part| name.contains(part)));
        files
    };
    let build = || FaultScenario {
        observe: Box::new(observe),
        recovered: Box::new(keeps_file),
        done: Box::new(keeps_file),
        ..scenario(&["doctor", "--fix"], damaged)
    };
    sweep(build, Faults::All);
}
