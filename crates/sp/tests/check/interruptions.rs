//! `sp check --fix` killed, or refused, at every one of its calls: the file is wholly old or wholly new.

use super::fixes::{BROKEN, MENDED};
use super::*;

/// A world with one file to mend, in a folder with others.
fn prepared() -> World {
    let world = world!();
    world.write("skills/tidy-up/SKILL.md", BROKEN);
    world.write("skills/tidy-up/notes.md", "Notes.\n");
    world
}

fn fix(world: &World, env: &[(&str, &str)]) -> Run {
    let mut command = world.command(&["check", "--fix", "--format", "plain"]);
    command.envs(env.iter().copied());
    world.run(command)
}

/// How many calls a whole run makes, and which.
fn calls() -> Vec<String> {
    let world = prepared();
    let trace = world.path("trace");
    fix(&world, &[("SP_FAULT_TRACE", &trace.display().to_string())]).ok();
    std::fs::read_to_string(trace).unwrap().lines().map(Into::into).collect()
}

/// What is in the skill's folder beside what belongs there. What belongs there must be whole.
fn leftovers(world: &World, what: &str) -> Vec<String> {
    let mut files = world.files("home/repo/skills/tidy-up");
    let whole = |text: &str| Some(sp_testkit::Entry::File(text.into(), false));
    let skill = files.remove("SKILL.md");
    assert!(skill == whole(BROKEN) || skill == whole(MENDED), "{what}: torn: {skill:?}");
    assert_eq!(files.remove("notes.md"), whole("Notes.\n"), "{what}");
    files.into_keys().collect()
}

#[test]
fn se_01_a_fix_killed_at_every_call_leaves_the_file_old_or_new() {
    let (mut old, mut new, mut left) = (0, 0, 0);
    let calls = calls();
    for call in 1..=calls.len() {
        let world = prepared();
        let run = fix(&world, &[("SP_FAULT", &format!("kill@{call}"))]);
        let what = format!("killed at call {call}, {}", calls[call - 1]);
        assert_eq!(run.code, None, "{what}: {run}");
        let leftovers = leftovers(&world, &what);
        assert!(leftovers.len() <= 1 && leftovers.iter().all(|name| name.starts_with('.')), "{what}: {leftovers:?}");
        left += leftovers.len();
        match std::fs::read_to_string(world.repo().join("skills/tidy-up/SKILL.md")).unwrap() == BROKEN {
            true => old += 1,
            false => new += 1,
        }
        assert_eq!(fix(&world, &[]).to_string(), "exit: 0\n", "{what}: a rerun converges");
        assert_eq!(std::fs::read_to_string(world.repo().join("skills/tidy-up/SKILL.md")).unwrap(), MENDED, "{what}");
    }
    assert!(old > 0 && new > 0, "both ends are seen: {old} old, {new} new, {left} left something behind");
}

#[test]
fn se_01_a_fix_refused_at_every_call_leaves_the_file_old_or_new_and_nothing_else() {
    let calls = calls();
    for (number, ending) in [(28, ""), (5, ""), (13, ""), (30, ""), (28, "+"), (30, "+")] {
        for call in 1..=calls.len() {
            let world = prepared();
            let run = fix(&world, &[("SP_FAULT", &format!("{number}@{call}{ending}"))]);
            let what = format!("error {number} at call {call}{ending}, {}", calls[call - 1]);
            let left = leftovers(&world, &what);
            // Where even removing fails, the one file that was being written may stay.
            let most = usize::from(ending == "+");
            assert!(left.len() <= most, "{what}: {left:?}");
            let is_new = std::fs::read_to_string(world.repo().join("skills/tidy-up/SKILL.md")).unwrap() == MENDED;
            match run.code {
                // Only what is remembered of tokens may fail without a word.
                Some(0) => assert!(is_new, "{what}: {run}"),
                Some(5) => assert!(run.stderr.contains("error:") && run.stderr.contains("hint:"), "{what}: {run}"),
                _ => panic!("{what}: {run}"),
            }
        }
    }
}

#[test]
fn se_01_what_a_killed_fix_left_behind_is_gone_after_the_next() {
    for call in 1..=calls().len() {
        let world = prepared();
        fix(&world, &[("SP_FAULT", &format!("kill@{call}"))]);
        fix(&world, &[]);
        assert_eq!(leftovers(&world, "rerun"), [""; 0], "killed at call {call}");
    }
}
