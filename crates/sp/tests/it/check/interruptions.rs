//! `sp check --fix` with a kill or a failure at every system call: it fixes all files or none.

use std::os::unix::fs::PermissionsExt;

use sp_testkit::FaultScenario;

use super::fix::{BROKEN, FIXED};
use super::*;

const FIX: &[&str] = &["check", "--fix", "--format", "plain"];

/// A world with skills to fix that have these names and modes.
fn prepared(skills: &[(&str, u32)]) -> World {
    let world = world!(in memory);
    for (name, mode) in skills {
        let path = format!("skills/{name}/SKILL.md");
        world.write(&path, BROKEN);
        world.write(&format!("skills/{name}/notes.md"), "Notes.\n");
        std::fs::set_permissions(world.repo().join(path), PermissionsExt::from_mode(*mode))
            .unwrap();
    }
    world
}

#[test]
fn se_01_a_fix_of_several_files_is_atomic() {
    let world = prepared(&[("tidy-up", 0o640), ("clean-up", 0o600)]);
    let sweep = FaultScenario::new(world, "home/repo", FIX, &["installed"]).sweep();
    assert_eq!(
        std::fs::read_to_string(sweep.world().repo().join("skills/tidy-up/SKILL.md")).unwrap(),
        FIXED
    );
    sweep.inject_everywhere();
}
