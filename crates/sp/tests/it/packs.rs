//! Packs: their syntax, how they are named, and what they select.

use sp_testkit::{CliError, Run, World, world};

fn show(world: &World, pack: &str) -> Run {
    world.sp(&["show", pack, "--format", "plain"])
}

/// Runs `sp show`, which must fail.
#[track_caller]
fn show_error(world: &World, pack: &str) -> CliError {
    world.sp_error(&["show", pack])
}

/// Returns the findings of an error as `rule line:column`.
fn positions(error: &CliError) -> Vec<String> {
    let position = |finding: &sp_testkit::CliFinding| {
        format!("{} {}:{}", finding.rule, finding.line, finding.column)
    };
    error.findings.iter().map(position).collect()
}

/// Returns the directories that a pack with this text would install.
fn folders(world: &World, yaml: &str) -> Vec<String> {
    world.pack("p", yaml);
    let run = show(world, "p").ok();
    run.stdout.lines().filter_map(|line| line.rsplit('\t').next()).map(Into::into).collect()
}

/// A world with these skills.
fn with_skills(ids: &[&str]) -> World {
    let world = world!();
    ids.iter().for_each(|id| world.skill(id));
    world
}

#[test]
fn sp_11_all_errors_are_reported_with_their_positions() {
    let world = with_skills(&["a"]);
    world.pack(
        "team",
        "nam: team\ninclude:\n  - a/\nimports:\n  - ref: main\n  - repo: github.com/acme/tools\n    inclde: [x]\n",
    );
    let error = show_error(&world, "team");
    assert_eq!(error.code, "SP-11");
    assert!(error.findings.iter().all(|finding| finding.file == "packs/team.yaml"), "{error:?}");
    let expected = [
        ("SP-11 1:1", "`nam`"),
        ("SP-11 1:1", "`name`"),
        ("SP-33 3:5", ""),
        ("SP-11 5:5", "`include`"),
        ("SP-11 5:5", "`repo`"),
        ("SP-11 6:5", "`include`"),
        ("SP-11 7:5", "`inclde`"),
    ];
    assert_eq!(positions(&error), expected.map(|(position, _)| position));
    for (finding, (_, key)) in error.findings.iter().zip(expected) {
        assert!(finding.message.contains(key), "{key}: {}", finding.message);
    }
    let run = world.sp(&["show", "team"]).fails(3);
    for suggestion in ["`name`?", "`include`?", "`a/**`"] {
        assert!(run.stderr.contains(suggestion), "{suggestion}: {run}");
    }
}

#[test]
fn sp_11_invalid_packs_are_errors() {
    let world = with_skills(&["a"]);
    for (yaml, quoted) in [
        ("include: [a]\n", "`name`"),
        ("name:\ninclude: [a]\n", "`name`"),
        ("name: ''\ninclude: [a]\n", ""),
        ("name: p\n", ""),
        ("name: p\ninclude: []\nimports: []\n", ""),
        ("name: p\nimports:\n  - {repo: ./x, include: []}\n", "`include`"),
        ("name: p\nimports:\n  - {repo: ./x}\n", "`include`"),
        ("name: p\nimports:\n  - {include: [a]}\n", "`repo`"),
        ("name: p\nname: q\ninclude: [a]\n", "`name`"),
        ("name: p\ninclude: [a]\ninclude: [a]\n", "`include`"),
        ("name: p\ninclude: [a]\ninstall: {sep: '-', sep: '_'}\n", "`sep`"),
        ("name: p\ninclude: [a]\ninstall: {prefx: q}\n", "`prefx`"),
        ("name: p\ninclude: a\n", "`include`"),
        ("- name: p\n", ""),
        ("name: [p\n", ""),
        ("", ""),
    ] {
        world.pack("p", yaml);
        let error = show_error(&world, "p");
        assert_eq!(error.code, "SP-11", "{yaml:?}: {error:?}");
        assert_eq!(error.findings[0].file, "packs/p.yaml", "{yaml:?}");
        assert!(error.findings[0].message.contains(quoted), "{yaml:?}: {error:?}");
    }
    world.pack("p", "name: p\ninclude: [a]\ninstall: {prefx: q}\n");
    let run = world.sp(&["show", "p"]).fails(3);
    assert!(run.stderr.contains("`prefix`"), "it suggests the nearest key: {run}");
}

#[test]
fn sp_11_a_duplicate_key_is_shown_with_its_line() {
    let world = with_skills(&["a"]);
    world.pack("p", "name: p\ninclude: [a]\nname: q\n");
    assert_eq!(positions(&show_error(&world, "p")), ["SP-11 3:1"]);
    let run = world.sp(&["show", "p"]).fails(3);
    let excerpt = " --> packs/p.yaml:3:1\n  |\n3 | name: q\n  | ^^^^\n";
    assert!(run.stderr.starts_with("error[SP-11]: ") && run.stderr.contains(excerpt), "{run}");
}

#[test]
fn sp_11_valid_and_invalid_packs_are_listed() {
    let world = with_skills(&["a"]);
    world.write("packs/short.yml", "name: short\ninclude: [a]\n");
    world.write("packs/notes.txt", "not a pack\n");
    world.pack("file-name", "name: field-name\ninclude: [a]\n");
    world.pack("broken", "name: [\n");
    assert_eq!(show(&world, "short").ok().stdout, "local\ta\tshort__a\n");
    let run = world.sp(&["packs"]).fails(3);
    assert_eq!(run.stdout, "broken\nfield-name\nshort\n");
    assert!(run.stderr.starts_with("error[SP-11]: "), "{run}");
    assert!(run.stderr.contains("packs/broken.yaml:1:7\n"), "{run}");
}

#[test]
fn sp_12_packs_are_found_by_file_name_name_or_path() {
    let world = with_skills(&["a"]);
    world.pack("file", "name: field\ninclude: [a]\n");
    let absolute = world.repo().join("packs/file.yaml").display().to_string();
    for pack in [
        "file",
        "field",
        "packs/file.yaml",
        "./packs/file.yaml",
        "~/repo/packs/file.yaml",
        &absolute,
    ] {
        assert_eq!(show(&world, pack).ok().stdout, "local\ta\tfield__a\n", "{pack}");
    }
    let outside = world.sp_in("home", &["show", "repo/packs/file.yaml", "--format", "plain"]).ok();
    assert_eq!(outside.stdout, "local\ta\tfield__a\n");
}

#[test]
fn sp_12_the_file_name_has_precedence_over_the_name() {
    let world = with_skills(&["a", "b"]);
    world.pack("one", "name: first\ninclude: [a]\n");
    world.pack("two", "name: one\ninclude: [b]\n");
    assert_eq!(show(&world, "one").ok().stdout, "local\ta\tfirst__a\n");
}

#[test]
fn sp_12_two_packs_with_the_same_name_are_an_error() {
    let world = with_skills(&["a"]);
    world.pack("one", "name: same\ninclude: [a]\n");
    world.pack("two", "name: same\ninclude: [a]\n");
    for name in ["same", "one", "two"] {
        let error = show_error(&world, name);
        assert_eq!(error.code, "E-name-collision", "{name}");
        for file in ["one", "two"] {
            let path = format!("`~/repo/packs/{file}.yaml`");
            assert!(error.message.contains(&path), "{name}: {error:?}");
        }
        assert!(error.hints_at("packs/<file>.yaml"), "{error:?}");
    }
    for file in ["one", "two"] {
        show(&world, &format!("packs/{file}.yaml")).ok();
    }
}

#[test]
fn sp_12_a_missing_pack_is_an_error_with_the_nearest() {
    let world = with_skills(&["a"]);
    world.pack("team", "name: team\ninclude: [a]\n");
    for (pack, quoted, hint) in [
        ("taem", "`taem`", "`team`"),
        ("packs/none.yaml", "`~/repo/packs/none.yaml`", "`sp packs`"),
    ] {
        let error = show_error(&world, pack);
        assert_eq!(error.code, "E-pack-not-found", "{pack}");
        assert!(error.message.contains(quoted) && error.hints_at(hint), "{error:?}");
    }
}

#[test]
fn sp_13_sp_20_directory_names_have_a_prefix_separator_and_id() {
    let world = with_skills(&["coding/dotnet/efcore-migrations", "one"]);
    for (install, expected) in [
        ("", ["p__coding__dotnet__efcore-migrations", "p__one"]),
        ("install: {}\n", ["p__coding__dotnet__efcore-migrations", "p__one"]),
        ("install: {prefix: q}\n", ["q__coding__dotnet__efcore-migrations", "q__one"]),
        ("install: {sep: '-'}\n", ["p-coding-dotnet-efcore-migrations", "p-one"]),
        ("install: {sep: ''}\n", ["pcodingdotnetefcore-migrations", "pone"]),
        ("install: {flatten: true}\n", ["p__efcore-migrations", "p__one"]),
        ("install: {prefix: ''}\n", ["coding__dotnet__efcore-migrations", "one"]),
        ("install: {prefix: '', flatten: true}\n", ["efcore-migrations", "one"]),
    ] {
        assert_eq!(
            folders(&world, &format!("name: p\ninclude: ['**']\n{install}")),
            expected,
            "{install}"
        );
    }
}

#[test]
fn sp_13_unsafe_directory_names_are_refused() {
    let world = with_skills(&["a", ".hidden"]);
    for install in [
        "{prefix: ../x}",
        "{prefix: 'a/b'}",
        "{prefix: '..', sep: ''}",
        "{prefix: .hidden}",
        "{prefix: ' x'}",
        "{sep: /}",
        "{sep: '\\'}",
        "{sep: \"\\0\"}",
        "{prefix: \"x\\u001b\"}",
        "{prefix: '', flatten: true}",
        "{prefix: 'x:y'}",
        "{flatten: maybe}",
        "{prefix: con., sep: ''}",
    ] {
        world.pack("p", &format!("name: p\ninclude: ['**']\ninstall: {install}\n"));
        let error = world.sp_error(&["install", "p", "--agent", "claude"]);
        assert_eq!(error.code, "SP-13", "{install}: {error:?}");
        assert_eq!(error.findings[0].file, "packs/p.yaml", "{install}");
        assert!(!world.path("home/.claude").exists(), "{install}");
    }
    for name in ["a/b", "..", "'a\\b'", ".x"] {
        world.pack("p", &format!("name: {name}\ninclude: [a]\n"));
        assert_eq!(show_error(&world, "p").code, "SP-13", "{name}");
    }
}

#[test]
fn sp_17_include_without_match_is_an_error() {
    let world = with_skills(&["general/writing", "coding/review", "lint"]);
    world.pack(
        "team",
        "name: team\ninclude:\n  - general/*\n  - codng/review\n  - lint/**\n  - zzz\n",
    );
    let error = world.sp_error(&["install", "team", "--agent", "claude"]);
    assert_eq!(positions(&error), ["SP-17 4:5", "SP-17 5:5", "SP-17 6:5"]);
    for (finding, pattern) in error.findings.iter().zip(["codng/review", "lint/**", "zzz"]) {
        assert!(finding.message.contains(&format!("`{pattern}`")), "{}", finding.message);
    }
    let run = world.sp(&["install", "team", "--agent", "claude"]).fails(3);
    for suggestion in ["coding/review\n", "`lint`\n", "coding/review, general/writing, lint\n"] {
        assert!(run.stderr.contains(suggestion), "{suggestion}: {run}");
    }
    assert!(!world.path("home/.claude").exists());
}

#[test]
fn sp_17_include_of_an_import_without_match_is_an_error() {
    let world = world!();
    let repo = world.git("shared");
    repo.skill("tools/review").skill("tools/deploy").commit("one");
    world.pack(
        "team",
        &format!(
            "name: team\nimports:\n  - repo: {}\n    include:\n      - tools/*\n      - tool/review\n",
            repo.path().display()
        ),
    );
    let error = show_error(&world, "team");
    assert_eq!(positions(&error), ["SP-17 6:9"]);
    for data in ["`tool/review`", "`[WORLD]/git/shared`"] {
        assert!(error.findings[0].message.contains(data), "{error:?}");
    }
    let run = world.sp(&["show", "team"]).fails(3);
    assert!(run.stderr.contains("tools/review\n"), "it suggests the nearest skill: {run}");
}

#[test]
fn sp_17_exclude_without_match_is_a_warning() {
    let world = with_skills(&["a"]);
    world.pack("team", "name: team\ninclude: ['**']\nexclude:\n  - old/**\n");
    let run = show(&world, "team").ok();
    assert_eq!(run.stdout, "local\ta\tteam__a\n");
    assert!(run.stderr.starts_with("warning[SP-17]: "), "{run}");
    assert!(run.stderr.contains("packs/team.yaml:4:5\n"), "{run}");
    assert!(run.stderr.contains("`old/**`"), "{run}");
}

#[test]
fn sp_16_exclude_applies_to_local_and_imported_skills() {
    let world = with_skills(&["a/keep", "a/experimental/x"]);
    let repo = world.git("shared");
    repo.skill("b/keep").skill("b/experimental/y").skill("b/deprecated/z").commit("one");
    let import = format!(
        "  - repo: {}\n    include: ['**']\n    exclude: ['**/deprecated/**', 'a/**']\n",
        repo.path().display()
    );
    let yaml =
        format!("name: p\ninclude: ['**']\nexclude: ['**/experimental/**']\nimports:\n{import}");
    assert_eq!(folders(&world, &yaml), ["p__a__keep", "p__b__keep"]);
}

#[test]
fn sp_18_skills_are_sorted_by_source_and_id() {
    let world = with_skills(&["z/local", "b", "a-b", "a/b"]);
    for (name, skills) in [("zebra", ["y", "x"]), ("ant", ["n", "m"])] {
        let repo = world.git(name);
        skills.iter().for_each(|skill| {
            repo.skill(&format!("{name}/{skill}"));
        });
        repo.commit("one");
    }
    let import = |name: &str| {
        format!("  - repo: {}\n    include: ['**']\n", world.path("git").join(name).display())
    };
    let yaml = format!(
        "name: p\ninclude: [z/*, a-b, a/*]\nimports:\n{}{}install: {{prefix: '', sep: '.'}}\n",
        import("zebra"),
        import("ant")
    );
    for _ in 0..3 {
        assert_eq!(
            folders(&world, &yaml),
            ["a-b", "a.b", "z.local", "zebra.x", "zebra.y", "ant.m", "ant.n"]
        );
    }
}

#[test]
fn sp_19_two_skills_for_one_directory_are_an_error() {
    let world = with_skills(&["one/review", "two/Review"]);
    world.pack("team", "name: team\ninclude: ['**']\ninstall:\n  flatten: true\n");
    let error = world.sp_error(&["install", "team", "--agent", "claude"]);
    assert_eq!(positions(&error), ["SP-19 1:7"]);
    for data in ["`one/review`", "`two/Review`", "`team__Review`"] {
        assert!(error.findings[0].message.contains(data), "{error:?}");
    }
    assert!(!world.path("home/.claude").exists());
}

#[test]
fn sp_19_names_collide_by_unicode_form_and_separator() {
    for (ids, install) in [
        (["one/caf\u{e9}", "two/cafe\u{301}"], "{flatten: true}"),
        (["a/b", "a__b"], "{}"),
        (["x/Straße", "y/STRASSE"], "{flatten: true}"),
    ] {
        let world = with_skills(&ids);
        world.pack("p", &format!("name: p\ninclude: ['**']\ninstall: {install}\n"));
        let error = show_error(&world, "p");
        assert_eq!(error.code, "SP-19");
        let message = &error.findings[0].message;
        assert!(ids.iter().all(|id| message.contains(id)), "{message}");
    }
}

#[test]
fn sp_19_a_skill_that_is_selected_twice_is_installed_once() {
    let world = with_skills(&["a"]);
    assert_eq!(folders(&world, "name: p\ninclude: [a, '*', '**']\n"), ["p__a"]);
    let repo = world.git("shared");
    repo.skill("r").commit("one");
    let import = format!("  - repo: {}\n    include: ['**']\n", repo.path().display());
    assert_eq!(folders(&world, &format!("name: p\nimports:\n{import}{import}")), ["p__r"]);
    let twice =
        format!("name: p\ninclude: [a]\nimports:\n{import}install: {{prefix: x, flatten: true}}\n");
    assert_eq!(folders(&world, &twice), ["x__a", "x__r"]);
}

#[test]
fn sp_33_stars_match_within_and_across_segments() {
    let world = with_skills(&["x", "general", "a/b", "a/m/n/b", "ab", "Upper/x", "q[1]{2}"]);
    for (pattern, expected) in [
        ("**/x", &["Upper/x", "x"][..]),
        ("a/**/b", &["a/b", "a/m/n/b"]),
        ("a**b", &["a/b", "a/m/n/b", "ab"]),
        ("a*b", &["ab"]),
        ("*", &["ab", "general", "q[1]{2}", "x"]),
        ("***", &["Upper/x", "a/b", "a/m/n/b", "ab", "general", "q[1]{2}", "x"]),
        ("Upper/*", &["Upper/x"]),
        ("q[1]{2}", &["q[1]{2}"]),
    ] {
        world.pack("p", &format!("name: p\ninclude: ['{pattern}']\n"));
        let run = show(&world, "p").ok();
        let ids: Vec<&str> =
            run.stdout.lines().filter_map(|line| line.split('\t').nth(1)).collect();
        assert_eq!(ids, expected, "{pattern}");
    }
}

#[test]
fn sp_33_patterns_that_can_never_match_are_errors() {
    let world = with_skills(&["general", "upper/x"]);
    for (pattern, rule, suggestion) in [
        ("general/**", "SP-17", "`general`"),
        ("Upper/x", "SP-17", "upper/x"),
        ("/general", "SP-33", "`general`"),
        ("./general", "SP-33", "`general`"),
        ("general/", "SP-33", "`general/**`"),
        ("", "SP-33", "`**`"),
        ("genera?", "SP-17", "general"),
        ("{general,x}", "SP-17", ""),
    ] {
        world.pack("p", &format!("name: p\ninclude: ['{pattern}']\n"));
        assert_eq!(positions(&show_error(&world, "p")), [format!("{rule} 2:11")], "{pattern}");
        let run = show(&world, "p").fails(3);
        assert!(run.stderr.contains(suggestion), "{pattern}: {run}");
    }
    world.pack("p", "name: p\ninclude: ['**']\nexclude: ['./x']\n");
    assert_eq!(show_error(&world, "p").code, "SP-33");
}

#[test]
fn se_08_control_characters_of_a_pack_are_escaped() {
    let world = with_skills(&["a"]);
    for yaml in [
        "name: p\n\"k\\e[31m\\u202e\": 1\ninclude: [a]\n",
        "name: p\ninclude: [\"\\e[2Jx\\u202e\"]\n",
        "name: \"p\\e]0;x\\a\"\ninclude: [a]\n",
        "name: p\ninclude: [a]\ninstall: {sep: \"\\e[1m\"}\n",
        "name: p # \u{202e}\u{1b}[31m\nincl: [a]\n",
        "name: p\nincl\u{202e}: [a]\n",
    ] {
        world.pack("p", yaml);
        let run = world.sp(&["show", "p"]).fails(3);
        let is_unsafe =
            |c: char| c != '\n' && c.is_control() || ('\u{202a}'..='\u{202e}').contains(&c);
        assert!(!run.to_string().contains(is_unsafe), "{yaml:?}: {run:?}");
    }
}
