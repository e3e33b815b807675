//! Output fits terminals of 40, 80 and 200 columns.

use std::process::{Command, Stdio};

use super::*;

/// Returns the lines of stdout and stderr of a command on a terminal of this width.
fn on_terminal(world: &World, width: u16, command: &str) -> Vec<String> {
    let sp = env!("CARGO_BIN_EXE_sp");
    let inner = format!("stty cols {width} rows 40 </dev/tty; {sp} {command}; true");
    let mut script = Command::new("script");
    script.args(["--quiet", "--return", "--command", &inner, "/dev/null"]);
    script.current_dir(world.repo()).env_clear().env("HOME", world.home());
    script.env("PATH", std::env::var_os("PATH").unwrap()).env("NO_COLOR", "1");
    script.env("SHELL", "/bin/sh").env("TERM", "xterm").stdin(Stdio::null());
    let run = world.run(script).ok();
    run.stdout.lines().map(|line| line.trim_end_matches('\r').to_owned()).collect()
}

#[test]
fn lines_fit_terminals_of_40_80_and_200_columns() {
    if Command::new("script").arg("--version").output().is_err() {
        return;
    }
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
