//! Output fits terminals of 40, 80 and 200 columns.

use super::*;

/// Returns the lines that a command prints on a terminal of this width.
fn on_terminal(world: &World, width: u16, command: &str) -> Vec<String> {
    let args: Vec<&str> = command.split(' ').collect();
    let run = world.sp_on_terminal(width, &args, "", &[]);
    run.stdout.lines().map(|line| line.trim_end_matches('\r').to_owned()).collect()
}

#[test]
fn lines_fit_terminals_of_40_80_and_200_columns() {
    let world = installed();
    let long = "Reviews a diff before it is merged, and looks for problems. ".repeat(5);
    world.write("skills/long/SKILL.md", format!("---\nname: long\ndescription: {long}\n---\n"));
    world.pack("bad", "name: bad\ninclude: [zzz] # a comment that makes the line rather long\n");
    for width in [40, 80, 200] {
        for command in ["list", "show team", "installed", "packs", "show bad", "explain AS-04"] {
            let lines = on_terminal(&world, width, command);
            assert!(!lines.is_empty(), "{command}");
            for line in &lines {
                // A word that is longer than the terminal, such as a path, is not broken.
                let text = line.trim_start();
                let is_one_word = text.split(' ').filter(|word| word.len() > 3).count() <= 1;
                let is_short = line.chars().count() <= usize::from(width);
                assert!(is_short || is_one_word, "{command} at {width}: {line:?}");
            }
        }
    }
}

#[test]
fn changed_and_removed_skills_are_listed_however_many_there_are() {
    let world = world!();
    for number in 0..30 {
        world.skill(&format!("s{number:02}"));
    }
    world.pack("team", "name: team\ninclude: ['**']\n");
    let install = ["install", "team", "--agent", "claude"];
    let first = world.sp(&install).ok().stdout;
    assert!(first.contains("10 more new skills"), "{first}");
    for number in 0..30 {
        let text = format!("---\nname: s{number:02}\ndescription: Changed.\n---\n");
        world.write(&format!("skills/s{number:02}/SKILL.md"), text);
    }
    let second = world.sp(&install).ok().stdout;
    assert_eq!(second.lines().filter(|line| line.starts_with("~ ")).count(), 30, "{second}");
    let third = world.sp(&["uninstall", "team", "--agent", "claude"]).ok().stdout;
    assert_eq!(third.lines().filter(|line| line.starts_with("- ")).count(), 30, "{third}");
}
