//! Kills and errors at every mutating call, and kills between calls.

use sp_testkit::{Faults, TracePipe, sweep};

use super::*;

#[test]
fn se_01_install_interrupted_at_every_call_is_old_or_new() {
    sweep(|| scenario(create_packs, INSTALL), Faults::All);
}

#[test]
fn se_01_reinstall_interrupted_at_every_call_is_old_or_new() {
    sweep(|| scenario(install_and_change, INSTALL), Faults::All);
}

#[test]
fn se_01_uninstall_interrupted_at_every_call_is_old_or_new() {
    sweep(|| scenario(install_and_edit, UNINSTALL), Faults::All);
}

#[test]
fn se_01_switch_interrupted_at_every_call_is_old_or_new() {
    sweep(|| scenario(install_and_edit, SWITCH), Faults::All);
}

/// The default directory of Windsurf, and the one that it reads once it is installed.
const MOVED_SINKS: [&str; 2] = ["home/.windsurf", "home/.codeium"];

/// Installs a pack for Windsurf into its default directory, edits it, and installs Windsurf.
fn install_before_windsurf(world: &World, sink: &str) {
    create_packs(world, sink);
    for pack in ["team", "other"] {
        world.sp(&["install", pack, "--agent", "windsurf"]).ok();
    }
    std::fs::write(world.path("home/.windsurf/skills/team__b/mine.md"), EDIT).unwrap();
    std::fs::create_dir_all(world.path("home/.codeium/windsurf")).unwrap();
    std::fs::write(world.path("home/.codeium/windsurf/settings.json"), "{}").unwrap();
}

/// Returns a scenario of a command that moves packs from one of [`MOVED_SINKS`] to the other.
fn moving_scenario(command: &[&str]) -> FaultScenario {
    let mut scenario = scenario(install_before_windsurf, command);
    let observe = std::mem::replace(&mut scenario.observe, Box::new(|_| WorldState::new()));
    scenario.observe = Box::new(move |world| {
        let mut state = observe(world);
        MOVED_SINKS.iter().for_each(|dir| state.extend(observed_files(world, dir)));
        state
    });
    let recovered = std::mem::replace(&mut scenario.recovered, Box::new(|_, _| {}));
    scenario.recovered = Box::new(move |world, what| {
        recovered(world, what);
        let is_in = |dir: &&str| has_file_with(&world.path(dir), EDIT);
        let has_edit = MOVED_SINKS.iter().chain(&["home/.skillpack/trash"]).any(is_in);
        assert!(has_edit, "{what}: an edit is lost");
        for dir in MOVED_SINKS {
            let names = world.files(dir).into_keys();
            let staged: Vec<String> = names.filter(|name| name.contains(".skillpack")).collect();
            assert!(staged.is_empty(), "{what}: left in `{dir}`: {staged:?}");
        }
    });
    scenario
}

#[test]
fn sp_41_move_to_the_directory_that_is_read_interrupted_at_every_call_is_old_or_new() {
    sweep(|| moving_scenario(&["install", "team", "--agent", "windsurf"]), Faults::All);
}

#[test]
fn sp_41_switch_that_moves_killed_at_every_call_is_old_or_new() {
    sweep(|| moving_scenario(&["switch", "team", "--agent", "windsurf"]), Faults::Kills);
}

#[test]
fn se_01_install_with_an_import_killed_at_every_call_is_old_or_new() {
    sweep(|| scenario(create_import, INSTALL), Faults::Kills);
}

#[test]
fn se_01_reinstall_into_a_linked_sink_killed_at_every_call_is_old_or_new() {
    let prepare = |world: &World, sink: &str| {
        std::fs::create_dir(world.path("real")).unwrap();
        std::os::unix::fs::symlink(world.path("real"), world.path("sink")).unwrap();
        install_and_change(world, sink);
    };
    let build = || {
        let mut scenario = scenario(prepare, INSTALL);
        let done = std::mem::replace(&mut scenario.done, Box::new(|_, _| {}));
        scenario.done = Box::new(move |world, what| {
            done(world, what);
            assert!(world.path("sink").is_symlink(), "{what}: the link is kept");
        });
        scenario
    };
    sweep(build, Faults::Kills);
}

#[test]
fn se_01_install_killed_between_calls_is_old_or_new() {
    let prepare = |world: &World, sink: &str| {
        create_packs(world, sink);
        (0..60).for_each(|number| world.skill(&format!("many/s{number}")));
        world.sp(&["install", "other", "--agent", "custom", "--path", sink]).ok();
    };
    let sweep = FaultSweep::new(scenario(prepare, INSTALL));
    let calls = sweep.calls().len() as u64;
    let pipe = sweep.world().path("trace-pipe");
    let mut during_transaction = 0;
    for round in 1..60 {
        sweep.restart();
        let call = calls * round / 60;
        let mut trace = TracePipe::new(&pipe);
        let mut command = sweep.command();
        command.env("SP_FAULT_TRACE", &pipe).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        trace.wait_for_call(call, &mut child);
        child.kill().unwrap();
        child.wait().unwrap();
        std::fs::remove_file(&pipe).unwrap();
        during_transaction +=
            u32::from(sweep.world().path("home/.skillpack/journal.json").exists());
        sweep.check_recovery(&format!("killed after call {call} of {calls}"));
    }
    assert!(during_transaction >= 5, "only {during_transaction} of 59 kills hit a transaction");
}
