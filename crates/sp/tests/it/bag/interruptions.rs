//! Atomicity: `sp bag` is killed, or fails, at every file-system call. The workspace must be in
//! the old or in the new state, including catalog and lock.

use sp_testkit::{FaultScenario, Faults, Messages, observed_files, sweep};

use super::*;
use crate::support::engine::recover;

/// The text of an edited file, which must not be lost.
const EDIT: &str = "By hand.\n";

/// Who removes the temporary files of a killed run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Cleanup {
    NextCommand,
    /// Only the same command, when it is repeated.
    Rerun,
}

/// Returns a scenario of a command of `sp bag` in the workspace.
fn bag_scenario(world: World, args: &[&str], cleanup: Cleanup) -> FaultScenario {
    let mut scenario = FaultScenario::new(world, "ws", &[&["bag"], args].concat(), recover());
    scenario.observe = Box::new(move |world| {
        let mut files = observed_files(world, "ws");
        files.retain(|name, _| cleanup == Cleanup::NextCommand || !name.ends_with(".sp-new"));
        files
    });
    scenario.messages = Messages::Hint;
    let has_edit = has_edit(&scenario.world);
    let assert_edit_kept = move |world: &World, what: &str| {
        assert!(!has_edit || self::has_edit(world), "{what}: the edit is lost");
    };
    scenario.recovered = Box::new(move |world, what| {
        if cleanup == Cleanup::NextCommand {
            assert_no_leftovers(world, what);
        }
        assert_edit_kept(world, what);
    });
    scenario.done = Box::new(move |world, what| {
        assert_edit_kept(world, what);
        assert_consistent(world, what);
    });
    scenario
}

/// Whether the edited file is in the workspace or in the trash.
fn has_edit(world: &World) -> bool {
    let is_edit = |entry: &FileEntry| matches!(entry, FileEntry::File(text, _) if text == EDIT);
    let dirs = ["ws", "home/.skillpack/trash"];
    dirs.iter().any(|dir| world.files(dir).values().any(is_edit))
}

fn get_scenario() -> FaultScenario {
    let world = workspace();
    let source = source_dir(&world, "local", &SourceFiles::new(&["a", "b"]));
    bag_scenario(world, &["get", "a", "b", "--source", &source], Cleanup::NextCommand)
}

/// Returns a scenario with an edited skill, an unchanged one, a new one and one that `sp` did not
/// install.
fn upgrade_scenario() -> FaultScenario {
    let world = workspace();
    let source = source_dir(&world, "local", &SourceFiles::new(&["a", "b"]));
    bag(&world, &["get", "a", "b", "--source", &source]).ok();
    SourceFiles::new(&["c"])
        .with_skill("a", "New.\n")
        .with_skill("b", &dependency_section(&["name: c, source: ."]))
        .write_to(&world.path("local"));
    write(&world, "ws/.skills/a/mine.md", EDIT);
    write(&world, "ws/.skills/own/SKILL.md", &skill("own", ""));
    bag_scenario(world, &["get", "a", "b", "--upgrade", "--replace"], Cleanup::NextCommand)
}

fn remove_scenario() -> FaultScenario {
    let world = workspace();
    let source = source_dir(&world, "local", &SourceFiles::new(&["a", "b"]));
    bag(&world, &["get", "a", "b", "--source", &source]).ok();
    write(&world, "ws/.skills/a/mine.md", EDIT);
    bag_scenario(world, &["remove", "a"], Cleanup::NextCommand)
}

fn init_scenario() -> FaultScenario {
    let world = world!();
    std::fs::create_dir(world.path("ws")).unwrap();
    bag_scenario(world, &["init"], Cleanup::NextCommand)
}

fn fix_scenario() -> FaultScenario {
    let world = workspace();
    let break_catalog = || {
        let catalog = world.path("ws/.skills/SKILLS.md");
        std::fs::write(catalog, RESERVED_LINE).unwrap();
        std::fs::remove_dir_all(world.path("ws/.skills/skillbag-get-skills")).unwrap();
        std::fs::remove_file(world.path("ws/.gitignore")).unwrap();
    };
    write(&world, "ws/.skills/own/SKILL.md", &skill("own", ""));
    // Counts the tokens of all texts first, so that no later run loads the tokenizer.
    break_catalog();
    bag(&world, &["check", "--fix"]).ok();
    break_catalog();
    bag_scenario(world, &["check", "--fix"], Cleanup::NextCommand)
}

/// Returns a scenario that saves a value.
fn save_scenario(context: Option<&str>) -> FaultScenario {
    let world = workspace();
    write(
        &world,
        "ws/.skills/a/SKILL.md",
        &skill("a", "\n## Parameters\n\n```yaml\noptional: [note]\n```\n"),
    );
    bag(&world, &["sync"]).ok();
    if let Some(text) = context {
        write(&world, "ws/USER_CONTEXT.md", text);
    }
    bag_scenario(world, &["run", "a", "--set", "note=x", "--save"], Cleanup::Rerun)
}

#[test]
fn se_01_get_killed_at_every_call_is_atomic() {
    sweep(get_scenario, Faults::Kills);
}

#[test]
fn se_01_upgrade_interrupted_at_every_call_is_atomic() {
    sweep(upgrade_scenario, Faults::All);
}

#[test]
fn se_01_remove_killed_at_every_call_is_atomic() {
    sweep(remove_scenario, Faults::Kills);
}

#[test]
fn se_01_init_killed_at_every_call_is_atomic() {
    sweep(init_scenario, Faults::Kills);
}

#[test]
fn se_01_web_get_killed_at_every_call_is_atomic_and_leaves_no_download() {
    let server = WebServer::start();
    let url = server.respond("/skills.zip", WebResponse::Bytes(SourceFiles::new(&["a"]).zip("")));
    let args = ["get", "a", "--source", &url];
    sweep(|| bag_scenario(workspace(), &args, Cleanup::Rerun), Faults::Kills);
}

#[test]
fn se_01_check_fix_killed_at_every_call_is_atomic() {
    sweep(fix_scenario, Faults::Kills);
}

#[test]
fn sb_09_save_killed_at_every_call_is_atomic() {
    sweep(|| save_scenario(Some("# Me\n")), Faults::Kills);
}

#[test]
fn sb_09_first_save_killed_at_every_call_is_atomic() {
    sweep(|| save_scenario(None), Faults::Kills);
}

/// Runs several `sp bag` commands at once.
#[track_caller]
fn run_concurrently(world: &World, commands: &[Vec<&str>]) {
    let commands: Vec<Vec<&str>> =
        commands.iter().map(|args| [&["bag"], &args[..]].concat()).collect();
    for run in world.sp_concurrently("ws", &commands) {
        run.ok();
    }
}

#[test]
fn se_01_eight_concurrent_gets_install_every_skill() {
    let names = ["a", "b", "c", "d", "e", "f", "g", "h"];
    for _ in 0..5 {
        let world = workspace();
        let source = source_dir(&world, "local", &SourceFiles::new(&names));
        run_concurrently(&world, &names.map(|name| vec!["get", name, "--source", &source]));
        assert_eq!(skill_names(&world), names);
        assert_eq!(lock(&world)["skills"].as_object().unwrap().len(), 9);
        assert_consistent(&world, "concurrent");
    }
}

#[test]
fn se_01_eight_concurrent_removals_remove_every_skill() {
    let names = ["a", "b", "c", "d", "e", "f", "g", "h"];
    for _ in 0..5 {
        let world = workspace();
        let source = source_dir(&world, "local", &SourceFiles::new(&names));
        bag(&world, &[&["get"], &names[..], &["--source", &source]].concat()).ok();
        run_concurrently(&world, &names.map(|name| vec!["remove", name]));
        assert_eq!(skill_names(&world), [""; 0]);
        assert_consistent(&world, "concurrent");
    }
}

#[test]
fn se_01_concurrent_gets_and_removals_all_apply() {
    let (old, new) = (["a", "b", "c", "d"], ["e", "f", "g", "h"]);
    for _ in 0..5 {
        let world = workspace();
        let source = source_dir(&world, "local", &SourceFiles::new(&[old, new].concat()));
        bag(&world, &[&["get"], &old[..], &["--source", &source]].concat()).ok();
        let mut commands: Vec<Vec<&str>> = Vec::new();
        for (removed, added) in old.into_iter().zip(new) {
            commands.extend([vec!["remove", removed], vec!["get", added, "--source", &source]]);
        }
        run_concurrently(&world, &commands);
        assert_eq!(skill_names(&world), new);
        assert_eq!(lock(&world)["skills"].as_object().unwrap().len(), 5);
        assert_consistent(&world, "concurrent");
    }
}
