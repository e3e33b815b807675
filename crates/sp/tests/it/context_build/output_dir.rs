//! The output of `sp context build`: what it replaces, and what it never touches.

use sp_testkit::{FaultScenario, Faults, Messages, observed_files, sweep_every};

use super::*;
use crate::support::engine::recover;

#[test]
fn cp_12_edited_pack_is_replaced_only_with_force() {
    let world = world_with_notes();
    build(&world, PROMPT);
    let built = dir_bytes(&world, "pack");
    let edited = read(&world, "pack/AGENTS.md") + "\nMy own words.\n";
    write(&world, "pack/AGENTS.md", &edited);
    let before = dir_bytes(&world, "pack");
    let error = build_error(&world, PROMPT);
    assert_eq!(error.code, "E-edited-output");
    assert!(error.hints_at("--force"), "{error:?}");
    assert_eq!(dir_bytes(&world, "pack"), before);
    build(&world, &[PROMPT, &["--force"]].concat());
    assert_eq!(dir_bytes(&world, "pack"), built);
    write(&world, "pack/pack.json", "{");
    assert_eq!(build_error(&world, PROMPT).code, "E-edited-output");
    build(&world, &[PROMPT, &["--force"]].concat());
    assert_eq!(dir_bytes(&world, "pack"), built);
}

#[test]
fn cp_12_other_files_and_directories_are_never_overwritten() {
    let world = world_with_notes();
    write(&world, "mine/notes.txt", "mine");
    write(&world, "file", "mine");
    std::os::unix::fs::symlink("nowhere", world.path("work/link")).unwrap();
    let before = world.files("work");
    for out in ["mine", "file", "link", "kb"] {
        for force in [&[][..], &["--force"]] {
            let args = [&["build", "--kb", "kb", "--output", out], BRIEF, force].concat();
            let error = sp_error(&world, &args);
            assert_eq!(error.code, "E-already-exists");
            assert!(error.message.contains(&format!("`{out}`")), "{error:?}");
            assert_eq!(world.files("work"), before, "{out}");
        }
    }
    std::fs::create_dir(world.path("work/pack")).unwrap();
    build(&world, &[]);
    assert_valid(&world);
}

#[test]
fn cp_12_rebuild_removes_its_old_files_and_keeps_foreign_ones() {
    let world = world_with_notes();
    build(&world, PROMPT);
    write(&world, "pack/mine.txt", "mine");
    assert!(world.path("work/pack/tasks.md").exists());
    std::fs::remove_file(world.path("work/kb/retries.md")).unwrap();
    let report = build(&world, PROMPT);
    assert!(!world.path("work/pack/tasks.md").exists());
    assert_eq!(read(&world, "pack/mine.txt"), "mine");
    let tasks = list(&report, "files").iter().find(|file| file["path"] == "tasks.md").unwrap();
    assert_eq!(tasks["change"], "gone");
    assert_eq!(tasks["tokens"], 0);
    assert_valid(&world);
    let report = build(&world, PROMPT);
    assert!(list(&report, "files").iter().all(|file| file["change"] == "same"), "{report}");
}

#[test]
fn cp_12_existing_zip_is_replaced_only_with_force() {
    let world = world_with_notes();
    write(&world, "pack.zip", "mine");
    let error = build_error(&world, &["--zip"]);
    assert_eq!(error.code, "E-already-exists");
    assert!(error.message.contains("pack.zip`") && error.hints_at("--force"), "{error:?}");
    assert!(!world.path("work/pack").exists(), "nothing was written");
    assert_eq!(read(&world, "pack.zip"), "mine");
    build(&world, &["--zip", "--force"]);
    sp(&world, &["check", "pack.zip"]).ok();
}

/// The distance between the calls at which a build is killed; `transaction` tests every call.
const KILL_INTERVAL: usize = 5;

/// Returns a scenario that builds a pack again, after a note was removed.
fn rebuild_scenario() -> FaultScenario {
    let world = world_with_notes();
    let args = [&["context"], &build_args(PROMPT)[..]].concat();
    build(&world, PROMPT);
    std::fs::remove_file(world.path("work/kb/retries.md")).unwrap();
    let mut scenario = FaultScenario::new(world, "work", &args, recover());
    scenario.observe = Box::new(|world| observed_files(world, "work/pack"));
    scenario.messages = Messages::Hint;
    scenario
}

#[test]
fn se_01_killed_build_leaves_the_old_pack_or_the_new_one() {
    sweep_every(KILL_INTERVAL, rebuild_scenario, Faults::Kills);
}
