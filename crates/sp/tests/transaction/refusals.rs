//! Errors at every mutating call.

use super::*;

/// Refuses each call with an error number, once and from then on.
fn refuse_everywhere(scenario: &Scenario, number: i32, edited: Option<&str>) {
    for (ending, call) in
        ["", "+"].iter().flat_map(|ending| (1..=scenario.calls).map(move |call| (ending, call)))
    {
        scenario.restart();
        let run = scenario.run(&[("SP_FAULT", &format!("{number}@{call}{ending}"))]);
        let what = format!("error {number} at call {call}{ending}");
        let view = View::of(&scenario.world);
        match run.code {
            // Only a cache may fail without a word.
            Some(0) => assert_eq!(view, scenario.new, "{what}: {run}"),
            Some(5) => assert!(
                run.stderr.contains("error:") && run.stderr.contains("hint:"),
                "{what}: {run}"
            ),
            _ => panic!("{what}: {run}"),
        }
        scenario.check(&what, edited);
    }
}

/// The four operations, each struck by one error number at every one of its calls.
fn refuse_every_operation(number: i32) {
    refuse_everywhere(&Scenario::new(author, INSTALL), number, None);
    refuse_everywhere(&Scenario::new(changed, INSTALL), number, Some("edited by hand"));
    refuse_everywhere(&Scenario::new(installed, UNINSTALL), number, Some("edited by hand"));
    refuse_everywhere(&Scenario::new(installed, SWITCH), number, Some("edited by hand"));
}

#[test]
fn se_01_no_space_at_every_call_is_old_or_new() {
    refuse_every_operation(28);
}

#[test]
fn se_01_io_errors_at_every_call_are_old_or_new() {
    refuse_every_operation(5);
}

#[test]
fn se_01_denied_access_at_every_call_is_old_or_new() {
    refuse_every_operation(13);
}

#[test]
fn se_01_crossed_devices_at_every_call_are_old_or_new() {
    refuse_every_operation(18);
}
