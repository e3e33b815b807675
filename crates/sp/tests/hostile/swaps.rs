//! The sink is swapped for a link to a foreign directory while `sp` works in it.

use super::*;

use sp_testkit::SwapLoop;

/// A world with an installed pack, and a foreign directory whose folders have the names of the
/// pack's.
fn contested() -> World {
    let world = world!();
    for skill in ["a", "b", "c"] {
        world.skill(skill);
    }
    world.pack("team", "name: team\ninclude: ['*']\n");
    install(&world, "team").ok();
    let foreign = world.path("foreign");
    std::fs::create_dir(&foreign).unwrap();
    // One folder is the same as ours to the last byte: `sp` would delete it, and not keep it.
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

fn stages(world: &World, place: &str) -> Vec<String> {
    world.files(place).into_keys().filter(|path| path.contains(".skillpack-")).collect()
}

#[test]
fn se_01_a_sink_that_is_swapped_for_a_link_during_the_change_never_leads_to_a_foreign_directory() {
    let world = contested();
    let (sink, foreign) = (sink(&world), world.files("foreign"));
    for round in 0..500 {
        // Whatever an attacked run left, an undisturbed one sets right.
        if round % 2 == 0 {
            world.sp(&["uninstall", "team", "--agent", "custom", "--path", &sink]);
        } else {
            install(&world, "team").ok();
        }
        let swaps = SwapLoop::start(Path::new(&sink), &world.path("link"));
        let run = if round % 2 == 0 {
            install(&world, "team")
        } else {
            world.sp(&["uninstall", "team", "--agent", "custom", "--path", &sink])
        };
        swaps.stop();
        assert!(matches!(run.code, Some(0 | 1 | 4 | 5)), "round {round}: {run}");
        assert_eq!(world.files("foreign"), foreign, "round {round}: {run}");
        assert_eq!(stages(&world, "foreign"), [""; 0], "round {round}: {run}");
        assert_eq!(stages(&world, "sink"), [""; 0], "round {round}: {run}");
        let installed =
            world.files("sink").keys().filter(|path| path.starts_with("team__")).count();
        assert!(
            [0, 6].contains(&installed),
            "round {round}: torn: {:?}\n{run}",
            world.files("sink")
        );
    }
}
