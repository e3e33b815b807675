//! Color, and text that must not reach a terminal as it is.

use sp_testkit::Run;

use super::*;

/// Runs with these variables.
fn run_with(world: &World, args: &[&str], env: &[(&str, &str)]) -> Run {
    let mut command = world.command(args);
    command.envs(env.iter().copied());
    world.run(command)
}

#[test]
fn sp_31_there_is_no_escape_where_there_is_no_terminal_or_no_wish_for_colour() {
    let world = installed();
    let forced = [("CLICOLOR_FORCE", "1")];
    let coloured = [
        &["show", "team"][..],
        &["show", "bad"],
        &["show", "nothing"],
        &["uninstall", "team", "--agent", "claude", "--dry-run"],
    ];
    failures(&world);
    for args in coloured {
        assert!(
            run_with(&world, args, &forced).to_string().contains('\u{1b}'),
            "{args:?} has colour to lose"
        );
        for env in
            [&[][..], &[("NO_COLOR", "1")], &[("NO_COLOR", "1"), forced[0]], &[("TERM", "dumb")]]
        {
            let run = run_with(&world, args, env);
            assert!(!run.to_string().contains('\u{1b}'), "{args:?} {env:?}: {run:?}");
        }
    }
    for (args, _) in COMMANDS {
        let run = world.sp(args);
        assert!(!run.to_string().contains('\u{1b}'), "{args:?}: {run:?}");
        for format in ["plain", "json"] {
            let run =
                run_with(&world, &[args, &["--dry-run", "--format", format]].concat(), &forced);
            assert!(!run.stdout.contains('\u{1b}'), "{args:?} {format}: {run:?}");
        }
    }
}

/// Control characters, bidi marks and invisible text that must never reach a terminal.
fn is_hostile(c: char) -> bool {
    c != '\n' && c != '\t' && c.is_control()
        || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{e0000}'..='\u{e007f}')
}

#[test]
fn se_08_hostile_names_of_skills_and_packs_are_shown_escaped() {
    let world = world!();
    world.skill("ev\u{202e}il/\u{2066}x");
    world.pack("p", "name: \"te\\u202eam\"\ninclude: ['**']\n");
    let mut leaks = Vec::new();
    for args in [
        &["list"][..],
        &["packs"],
        &["show", "p"],
        &["install", "p", "--agent", "claude", "--dry-run"],
        &["install", "p", "--agent", "claude"],
        &["install", "p", "--agent", "claude", "--verbose"],
        &["installed"],
        &["installed", "--verbose"],
        &["uninstall", "nothing", "--agent", "claude"],
        &["uninstall", "te\u{202e}am", "--agent", "claude", "--dry-run"],
    ] {
        for format in ["plain", "human"] {
            let run = world.sp(&[args, &["--format", format]].concat());
            if run.to_string().contains(is_hostile) {
                leaks.push(format!("{args:?} {format}: {run:?}"));
            }
        }
    }
    assert!(leaks.is_empty(), "{leaks:#?}");
}

#[test]
fn se_08_an_escape_in_a_folder_name_is_an_error_that_shows_it_escaped() {
    let world = world!();
    world.skill("a");
    world.skill("x\u{1b}[2Jy");
    let run = world.sp(&["list"]).fails(3);
    assert!(
        run.stderr.contains("x\\u{1b}[2Jy") && !run.to_string().contains(is_hostile),
        "{run:?}"
    );
}

#[test]
fn se_08_hostile_text_of_a_skill_is_shown_escaped() {
    let leaks = |hostile: &&str| {
        let world = world!();
        world.pack("p", "name: p\ninclude: ['**']\n");
        world.write(
            "skills/a/SKILL.md",
            format!("---\nname: a\ndescription: Use: {hostile}x\n---\n"),
        );
        world.write("skills/b/SKILL.md", format!("{hostile}text\n"));
        let run = world.sp(&["install", "p", "--agent", "claude"]).ok();
        assert_eq!(run.stderr.matches("warning[").count(), 2, "{run}");
        run.to_string().contains(is_hostile)
    };
    let hostile = [
        "\u{1b}[31m",
        "\u{9b}31m",
        "\u{85}",
        "\u{202e}",
        "\u{2066}",
        "\u{200e}",
        "\u{7}",
        "\u{8}",
        "\u{7f}",
        "\u{e0041}",
    ];
    assert_eq!(hostile.into_iter().filter(leaks).collect::<Vec<_>>(), [""; 0]);
}

#[test]
fn se_08_hostile_text_in_the_state_of_another_tool_is_shown_escaped() {
    let world = world!();
    let record = r#"{"version": 1, "installs": [{"sink": "cl\u001b[1m", "sink_path": "/x\u001b[2J", "pack": "p\u202e\u0007",
        "pack_file": "/f\u001b[3m", "imports": [{"repo": "r\u001b[4m", "ref": "\u202e", "commit": "c\u001b[5m"}],
        "installed_paths": ["/x\u001b[2J/f\u001b[6m"], "installed_at": "now\u001b[7m"}]}"#;
    std::fs::create_dir_all(world.path("home/.skillpack")).unwrap();
    std::fs::write(world.path("home/.skillpack/state.json"), record).unwrap();
    for args in [
        &["installed"][..],
        &["installed", "--verbose"],
        &["installed", "--format", "plain"],
        &["installed", "--format", "json"],
    ] {
        let run = world.sp(args).ok();
        let hostile = |c: char| is_hostile(c) && (c.is_control() || !args.contains(&"json"));
        assert!(
            run.stdout.contains("cl") && !run.to_string().contains(hostile),
            "{args:?}: {run:?}"
        );
    }
}
