//! Errors at every mutating call.

use super::*;

const EIO: i32 = 5;
const EACCES: i32 = 13;
const EXDEV: i32 = 18;
const ENOSPC: i32 = 28;

/// Fails each call with this error number: only that call, and that call and all later ones.
fn fail_everywhere(scenario: &Scenario, errno: i32, edited: Option<&str>) {
    let single = (1..=scenario.calls).map(|call| format!("{errno}@{call}"));
    let from_then_on = (1..=scenario.calls).map(|call| format!("{errno}@{call}+"));
    for fault in single.chain(from_then_on) {
        scenario.restore();
        let run = scenario.run(&[("SP_FAULT", &fault)]);
        match run.code {
            // Only errors of caches are ignored.
            Some(0) => {
                assert_eq!(InstalledState::of(&scenario.world), scenario.new, "{fault}: {run}");
            }
            Some(5) => {
                assert!(run.stderr.contains("error:"), "{fault}: {run}");
                assert!(run.stderr.contains("hint:"), "{fault}: {run}");
            }
            _ => panic!("{fault}: {run}"),
        }
        scenario.check(&fault, edited);
    }
}

/// Fails each call of each operation with this error number.
fn fail_every_operation(errno: i32) {
    fail_everywhere(&Scenario::new(create_packs, INSTALL), errno, None);
    fail_everywhere(&Scenario::new(install_and_change, INSTALL), errno, Some("edited by hand"));
    fail_everywhere(&Scenario::new(install_and_edit, UNINSTALL), errno, Some("edited by hand"));
    fail_everywhere(&Scenario::new(install_and_edit, SWITCH), errno, Some("edited by hand"));
}

#[test]
fn se_01_no_space_at_every_call_is_old_or_new() {
    fail_every_operation(ENOSPC);
}

#[test]
fn se_01_io_errors_at_every_call_are_old_or_new() {
    fail_every_operation(EIO);
}

#[test]
fn se_01_denied_access_at_every_call_is_old_or_new() {
    fail_every_operation(EACCES);
}

#[test]
fn se_01_cross_device_errors_at_every_call_are_old_or_new() {
    fail_every_operation(EXDEV);
}
