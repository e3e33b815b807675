//! Kills at every mutating call.

use sp_testkit::TracePipe;

use super::*;

/// Kills the command at each of its calls.
fn kill_everywhere(scenario: &Scenario, edited: Option<&str>) {
    let (mut old, mut new) = (0, 0);
    for call in 1..=scenario.calls {
        scenario.restore();
        let run = scenario.run(&[("SP_FAULT", &format!("kill@{call}"))]);
        assert_eq!(run.code, None, "call {call} of {}: {run}", scenario.calls);
        if scenario.check(&format!("killed at call {call}"), edited) == scenario.old {
            old += 1;
        } else {
            new += 1;
        }
    }
    assert!(old > 0 && new > 0, "both states occur: {old} old, {new} new");
}

#[test]
fn se_01_install_killed_at_every_call_is_old_or_new() {
    kill_everywhere(&Scenario::new(create_packs, INSTALL), None);
}

#[test]
fn se_01_reinstall_killed_at_every_call_is_old_or_new() {
    kill_everywhere(&Scenario::new(install_and_change, INSTALL), Some("edited by hand"));
}

#[test]
fn se_01_uninstall_killed_at_every_call_is_old_or_new() {
    kill_everywhere(&Scenario::new(install_and_edit, UNINSTALL), Some("edited by hand"));
}

#[test]
fn se_01_switch_killed_at_every_call_is_old_or_new() {
    kill_everywhere(&Scenario::new(install_and_edit, SWITCH), Some("edited by hand"));
}

#[test]
fn se_01_install_with_an_import_killed_at_every_call_is_old_or_new() {
    kill_everywhere(&Scenario::new(create_import, INSTALL), None);
}

#[test]
fn se_01_reinstall_into_a_linked_sink_killed_at_every_call_is_old_or_new() {
    let prepare = |world: &World, sink: &str| {
        std::fs::create_dir(world.path("real")).unwrap();
        std::os::unix::fs::symlink(world.path("real"), world.path("sink")).unwrap();
        install_and_change(world, sink);
    };
    let scenario = Scenario::new(prepare, INSTALL);
    kill_everywhere(&scenario, Some("edited by hand"));
    assert!(scenario.world.path("sink").is_symlink(), "the link is kept");
}

#[test]
fn se_01_install_killed_between_calls_is_old_or_new() {
    let prepare = |world: &World, sink: &str| {
        create_packs(world, sink);
        (0..60).for_each(|number| world.skill(&format!("many/s{number}")));
        world.sp(&["install", "other", "--agent", "custom", "--path", sink]).ok();
    };
    let scenario = Scenario::new(prepare, INSTALL);
    let args: Vec<&str> = scenario.args.iter().map(String::as_str).collect();
    let pipe = scenario.world.path("trace-pipe");
    let mut during_transaction = 0;
    for round in 1..60 {
        scenario.restore();
        let call = scenario.calls * round / 60;
        let mut trace = TracePipe::new(&pipe);
        let mut command = scenario.world.command(&args);
        command.env("SP_FAULT_TRACE", &pipe).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        trace.wait_for_call(call, &mut child);
        child.kill().unwrap();
        child.wait().unwrap();
        std::fs::remove_file(&pipe).unwrap();
        during_transaction +=
            u32::from(scenario.world.path("home/.skillpack/journal.json").exists());
        scenario.check(&format!("killed after call {call} of {}", scenario.calls), None);
    }
    assert!(during_transaction >= 5, "only {during_transaction} of 59 kills hit a transaction");
}
