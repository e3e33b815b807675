//! `sp check --fix` with a kill or a failure at every system call: it fixes all files or none.

use std::os::unix::fs::PermissionsExt;

use sp_testkit::{FaultScenario, Faults, sweep};

use super::fix::{BROKEN, FIXED};
use super::*;
use crate::support::engine::recover;

const FIX: &[&str] = &["check", "--fix", "--format", "plain"];

/// Returns a scenario that fixes two skills, whose files have different modes.
fn fix_scenario() -> FaultScenario {
    let world = world!();
    let write_skills = || {
        for (name, mode) in [("tidy-up", 0o640), ("clean-up", 0o600)] {
            let path = format!("skills/{name}/SKILL.md");
            world.write(&path, BROKEN);
            world.write(&format!("skills/{name}/notes.md"), "Notes.\n");
            let mode = PermissionsExt::from_mode(mode);
            std::fs::set_permissions(world.repo().join(path), mode).unwrap();
        }
    };
    // Counts the tokens of all texts first, so that no later run loads the tokenizer.
    write_skills();
    world.sp(FIX).ok();
    write_skills();
    let mut scenario = FaultScenario::new(world, "home/repo", FIX, recover());
    scenario.done = Box::new(|world, what| {
        let path = world.repo().join("skills/tidy-up/SKILL.md");
        assert_eq!(std::fs::read_to_string(path).unwrap(), FIXED, "{what}");
    });
    scenario
}

#[test]
fn se_01_a_fix_of_several_files_is_atomic() {
    sweep(fix_scenario, Faults::All);
}
