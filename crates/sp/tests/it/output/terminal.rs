//! Colors, and escaping of control characters.

use sp_testkit::Run;

use super::*;

/// Runs with these environment variables.
fn run_with_env(world: &World, args: &[&str], env: &[(&str, &str)]) -> Run {
    let mut command = world.command(args);
    command.envs(env.iter().copied());
    world.run(command)
}

#[test]
fn sp_31_color_is_only_used_on_terminals_that_support_it() {
    let world = installed();
    let forced = [("CLICOLOR_FORCE", "1")];
    let colored = [
        &["show", "team"][..],
        &["show", "bad"],
        &["show", "nothing"],
        &["uninstall", "team", "--agent", "claude", "--dry-run"],
    ];
    failures(&world);
    for args in colored {
        assert!(
            run_with_env(&world, args, &forced).to_string().contains('\u{1b}'),
            "{args:?} has colors"
        );
        for env in
            [&[][..], &[("NO_COLOR", "1")], &[("NO_COLOR", "1"), forced[0]], &[("TERM", "dumb")]]
        {
            let run = run_with_env(&world, args, env);
            assert!(!run.to_string().contains('\u{1b}'), "{args:?} {env:?}: {run:?}");
        }
    }
    for (args, _) in COMMANDS {
        let run = world.sp(args);
        assert!(!run.to_string().contains('\u{1b}'), "{args:?}: {run:?}");
        for format in ["plain", "json"] {
            let run =
                run_with_env(&world, &[args, &["--dry-run", "--format", format]].concat(), &forced);
            assert!(!run.stdout.contains('\u{1b}'), "{args:?} {format}: {run:?}");
        }
    }
}

/// Control characters, bidi marks and invisible characters that must never reach a terminal.
fn is_unsafe(c: char) -> bool {
    c != '\n' && c != '\t' && c.is_control()
        || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{e0000}'..='\u{e007f}')
}

#[test]
fn se_08_unsafe_names_of_skills_and_packs_are_escaped() {
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
            if run.to_string().contains(is_unsafe) {
                leaks.push(format!("{args:?} {format}: {run:?}"));
            }
        }
    }
    assert!(leaks.is_empty(), "{leaks:#?}");
}

#[test]
fn se_08_a_control_character_in_a_directory_name_is_an_error() {
    let world = world!();
    world.skill("a");
    world.skill("x\u{1b}[2Jy");
    assert_eq!(world.sp_error(&["list"]).code, "E-invalid-repository");
    let run = world.sp(&["list"]).fails(3);
    assert!(run.stderr.contains("x\\u{1b}[2Jy") && !run.to_string().contains(is_unsafe), "{run:?}");
}

#[test]
fn se_08_unsafe_text_of_a_skill_is_escaped() {
    let leaks = |text: &&str| {
        let world = world!();
        world.pack("p", "name: p\ninclude: ['**']\n");
        world.write("skills/a/SKILL.md", format!("---\nname: a\ndescription: Use: {text}x\n---\n"));
        world.write("skills/b/SKILL.md", format!("{text}text\n"));
        let run = world.sp(&["install", "p", "--agent", "claude"]).ok();
        assert_eq!(run.stderr.matches("warning[").count(), 2, "{run}");
        run.to_string().contains(is_unsafe)
    };
    let unsafe_texts = [
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
    assert_eq!(unsafe_texts.into_iter().filter(leaks).collect::<Vec<_>>(), [""; 0]);
}

#[test]
fn se_08_unsafe_text_in_the_state_is_escaped() {
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
        let leaks = |c: char| is_unsafe(c) && (c.is_control() || !args.contains(&"json"));
        assert!(run.stdout.contains("cl") && !run.to_string().contains(leaks), "{args:?}: {run:?}");
    }
}
