//! The sink is replaced with a link to another directory while `sp` is running.

use super::*;

use sp_testkit::SwapLoop;

/// A world with an installed pack, and a foreign directory that has directories with the same
/// names.
fn world_with_foreign_directory() -> World {
    let world = world!();
    for skill in ["a", "b", "c"] {
        world.skill(skill);
    }
    world.pack("team", "name: team\ninclude: ['*']\n");
    install(&world, "team").ok();
    let foreign = world.path("foreign");
    std::fs::create_dir(&foreign).unwrap();
    // One directory has the same contents as the installed one, so `sp` would delete it without
    // keeping a copy.
    assert!(
        Command::new("cp")
            .arg("-a")
            .arg(world.path("sink/team__a"))
            .arg(&foreign)
            .status()
            .unwrap()
            .success()
    );
    for folder in ["team__b", "team__c", "other"] {
        std::fs::create_dir(foreign.join(folder)).unwrap();
        std::fs::write(foreign.join(folder).join("SKILL.md"), "foreign").unwrap();
    }
    symlink(&foreign, world.path("link")).unwrap();
    world
}

fn staging_files(world: &World, dir: &str) -> Vec<String> {
    world.files(dir).into_keys().filter(|path| path.contains(".skillpack-")).collect()
}

#[test]
fn se_01_a_sink_replaced_with_a_link_during_the_run_is_not_followed() {
    let world = world_with_foreign_directory();
    let (sink, foreign) = (sink(&world), world.files("foreign"));
    for round in 0..500 {
        // An undisturbed run repairs what an attacked one left.
        if round % 2 == 0 {
            uninstall(&world, "team");
        } else {
            install(&world, "team").ok();
        }
        let swaps = SwapLoop::start(Path::new(&sink), &world.path("link"));
        let run = if round % 2 == 0 { install(&world, "team") } else { uninstall(&world, "team") };
        swaps.stop();
        assert!(matches!(run.code, Some(0 | 1 | 4 | 5)), "round {round}: {run}");
        assert_eq!(world.files("foreign"), foreign, "round {round}: {run}");
        assert_eq!(staging_files(&world, "foreign"), [""; 0], "round {round}: {run}");
        assert_eq!(staging_files(&world, "sink"), [""; 0], "round {round}: {run}");
        let installed =
            world.files("sink").keys().filter(|path| path.starts_with("team__")).count();
        assert!(
            [0, 6].contains(&installed),
            "round {round}: incomplete: {:?}\n{run}",
            world.files("sink")
        );
    }
}
