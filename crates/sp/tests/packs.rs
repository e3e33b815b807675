//! Pack files: what they must say, how they are named, and what they select.

use sp_testkit::{Run, World, world};

fn show(world: &World, pack: &str) -> Run {
    world.sp(&["show", pack, "--format", "plain"])
}

/// The folders that a pack with this text gets.
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
fn sp_11_every_mistake_is_shown_at_once_where_it_stands() {
    let world = with_skills(&["a"]);
    world.pack(
        "team",
        "nam: team\ninclude:\n  - a/\nimports:\n  - ref: main\n  - repo: github.com/acme/tools\n    inclde: [x]\n",
    );
    insta::assert_snapshot!(world.sp(&["show", "team"]), @r#"
    exit: 3
    --- stderr
    error[SP-11]: unknown key `nam`
     --> packs/team.yaml:1:1
      |
    1 | nam: team
      | ^^^
      |
      = help: did you mean `name`?

    error[SP-11]: `name` is missing
     --> packs/team.yaml:1:1
      |
    1 | nam: team
      | ^
      |
      = help: add `name: <the pack's name>`

    error[SP-33]: a pattern must not end with `/`
     --> packs/team.yaml:3:5
      |
    3 |   - a/
      |     ^^
      |
      = help: write `a` for that skill, `a/**` for all below it

    error[SP-11]: `include` is missing
     --> packs/team.yaml:5:5
      |
    5 |   - ref: main
      |     ^
      |
      = help: add `include:` with a list of patterns; `"**"` picks every skill

    error[SP-11]: `repo` is missing
     --> packs/team.yaml:5:5
      |
    5 |   - ref: main
      |     ^
      |
      = help: add `repo: <a git URL, a shorthand or a path>`

    error[SP-11]: `include` is missing
     --> packs/team.yaml:6:5
      |
    6 |   - repo: github.com/acme/tools
      |     ^
      |
      = help: add `include:` with a list of patterns; `"**"` picks every skill

    error[SP-11]: unknown key `inclde`
     --> packs/team.yaml:7:5
      |
    7 |     inclde: [x]
      |     ^^^^^^
      |
      = help: did you mean `include`?

    error: the pack `packs/team.yaml` cannot be used
    "#);
}

#[test]
fn sp_11_what_a_pack_must_not_be() {
    let world = with_skills(&["a"]);
    for (yaml, said) in [
        ("include: [a]\n", "`name` is missing"),
        ("name:\ninclude: [a]\n", "`name` is missing"),
        ("name: ''\ninclude: [a]\n", "the name is empty"),
        ("name: p\n", "the pack selects nothing"),
        ("name: p\ninclude: []\nimports: []\n", "the pack selects nothing"),
        ("name: p\nimports:\n  - {repo: ./x, include: []}\n", "`include` is missing"),
        ("name: p\nimports:\n  - {repo: ./x}\n", "`include` is missing"),
        ("name: p\nimports:\n  - {include: [a]}\n", "`repo` is missing"),
        ("name: p\nname: q\ninclude: [a]\n", "name"),
        ("name: p\ninclude: [a]\ninclude: [a]\n", "include"),
        ("name: p\ninclude: [a]\ninstall: {sep: '-', sep: '_'}\n", "sep"),
        ("name: p\ninclude: [a]\ninstall: {prefx: q}\n", "did you mean `prefix`?"),
        ("name: p\ninclude: a\n", "`include` must be a list"),
        ("- name: p\n", "a pack must be a mapping"),
        ("name: [p\n", "p.yaml:"),
        ("", "a pack must be a mapping"),
    ] {
        world.pack("p", yaml);
        let run = show(&world, "p").fails(3);
        assert!(run.stderr.contains(said) && run.stderr.contains("SP-11"), "{yaml:?}: {run}");
        let place = if yaml.is_empty() { "packs/p.yaml" } else { "packs/p.yaml:" };
        assert!(run.stderr.contains(place), "{yaml:?} has its place: {run}");
    }
}

#[test]
fn sp_11_a_double_key_is_named_with_its_line() {
    let world = with_skills(&["a"]);
    world.pack("p", "name: p\ninclude: [a]\nname: q\n");
    insta::assert_snapshot!(world.sp(&["show", "p"]), @"
    exit: 3
    --- stderr
    error[SP-11]: the key `name` stands here a second time
     --> packs/p.yaml:3:1
      |
    3 | name: q
      | ^^^^
      |
      = help: remove one of the two

    error: the pack `packs/p.yaml` cannot be used
    ");
}

#[test]
fn sp_11_yml_is_accepted_and_packs_lists_good_and_bad() {
    let world = with_skills(&["a"]);
    world.write("packs/short.yml", "name: short\ninclude: [a]\n");
    world.write("packs/notes.txt", "no pack\n");
    world.pack("file-name", "name: field-name\ninclude: [a]\n");
    world.pack("broken", "name: [\n");
    assert_eq!(show(&world, "short").ok().stdout, "local\ta\tshort__a\n");
    insta::assert_snapshot!(world.sp(&["packs"]), @"
    exit: 3
    --- stdout
    broken
    field-name
    short
    --- stderr
    error[SP-11]: unclosed bracket '['
     --> packs/broken.yaml:1:7
      |
    1 | name: [
      |       ^
      |
      = help: mend the YAML here, or put the value in quotes

    error: 1 pack cannot be used

    hint: mend what is shown above
    ");
}

#[test]
fn sp_12_a_pack_is_named_by_file_by_field_or_by_path() {
    let world = with_skills(&["a"]);
    world.pack("file", "name: field\ninclude: [a]\n");
    let absolute = world.repo().join("packs/file.yaml").display().to_string();
    for named in [
        "file",
        "field",
        "packs/file.yaml",
        "./packs/file.yaml",
        "~/repo/packs/file.yaml",
        &absolute,
    ] {
        assert_eq!(show(&world, named).ok().stdout, "local\ta\tfield__a\n", "{named}");
    }
    let outside = world.sp_in("home", &["show", "repo/packs/file.yaml", "--format", "plain"]).ok();
    assert_eq!(outside.stdout, "local\ta\tfield__a\n");
}

#[test]
fn sp_12_the_file_name_comes_before_the_name_field() {
    let world = with_skills(&["a", "b"]);
    world.pack("one", "name: first\ninclude: [a]\n");
    world.pack("two", "name: one\ninclude: [b]\n");
    assert_eq!(show(&world, "one").ok().stdout, "local\ta\tfirst__a\n");
}

#[test]
fn sp_12_two_packs_with_one_name_are_an_error_that_shows_both() {
    let world = with_skills(&["a"]);
    world.pack("one", "name: same\ninclude: [a]\n");
    world.pack("two", "name: same\ninclude: [a]\n");
    insta::assert_snapshot!(world.sp(&["show", "same"]), @"
    exit: 3
    --- stderr
    error: more than one pack is called `same`: `~/repo/packs/one.yaml` and `~/repo/packs/two.yaml`

    hint: give each its own `name`, or name the file: `sp show packs/<file>.yaml`
    ");
    for named in ["one", "two"] {
        let run = show(&world, named).fails(3);
        assert!(
            run.stderr.contains("packs/one.yaml") && run.stderr.contains("packs/two.yaml"),
            "{run}"
        );
        show(&world, &format!("packs/{named}.yaml")).ok();
    }
}

#[test]
fn sp_12_a_pack_that_is_not_there_is_named_with_the_nearest() {
    let world = with_skills(&["a"]);
    world.pack("team", "name: team\ninclude: [a]\n");
    insta::assert_snapshot!(world.sp(&["show", "taem"]), @"
    exit: 1
    --- stderr
    error: there is no pack called `taem` in `~/repo/packs`

    hint: did you mean `team`?
    ");
    insta::assert_snapshot!(world.sp(&["show", "packs/none.yaml"]), @"
    exit: 1
    --- stderr
    error: there is no pack file `~/repo/packs/none.yaml`

    hint: `sp packs` lists the packs of this repository
    ");
}

#[test]
fn sp_13_sp_20_the_folder_is_prefix_separator_and_id_or_leaf() {
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
fn sp_13_a_folder_name_that_is_no_safe_segment_is_refused_before_anything_changes() {
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
        let run = world.sp(&["install", "p", "--agent", "claude"]).fails(3);
        assert!(
            run.stderr.contains("SP-13") && run.stderr.contains("packs/p.yaml:"),
            "{install}: {run}"
        );
        assert!(!world.path("home/.claude").exists(), "{install}");
    }
    for name in ["a/b", "..", "'a\\b'", ".x"] {
        world.pack("p", &format!("name: {name}\ninclude: [a]\n"));
        let run = show(&world, "p").fails(3);
        assert!(run.stderr.contains("SP-13"), "{name}: {run}");
    }
}

#[test]
fn sp_17_include_that_matches_nothing_is_an_error() {
    let world = with_skills(&["general/writing", "coding/review", "lint"]);
    world.pack(
        "team",
        "name: team\ninclude:\n  - general/*\n  - codng/review\n  - lint/**\n  - zzz\n",
    );
    insta::assert_snapshot!(world.sp(&["install", "team", "--agent", "claude"]), @"
    exit: 3
    --- stderr
    error[SP-17]: `codng/review` matches no local skill
     --> packs/team.yaml:4:5
      |
    4 |   - codng/review
      |     ^^^^^^^^^^^^
      |
      = help: the nearest are: coding/review

    error[SP-17]: `lint/**` matches no local skill
     --> packs/team.yaml:5:5
      |
    5 |   - lint/**
      |     ^^^^^^^
      |
      = help: `lint` is itself a skill: write `lint`

    error[SP-17]: `zzz` matches no local skill
     --> packs/team.yaml:6:5
      |
    6 |   - zzz
      |     ^^^
      |
      = help: ids look like: coding/review, general/writing, lint

    error: the pack `team` has 3 problems
    ");
    assert!(!world.path("home/.claude").exists());
}

#[test]
fn sp_17_an_imports_include_that_matches_nothing_is_an_error() {
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
    insta::assert_snapshot!(world.sp(&["show", "team"]), @"
    exit: 3
    --- stderr
    error[SP-17]: `tool/review` matches no skill of `[WORLD]/git/shared`
     --> packs/team.yaml:6:9
      |
    6 |       - tool/review
      |         ^^^^^^^^^^^
      |
      = help: the nearest are: tools/review

    error: the pack `team` has a problem
    ");
}

#[test]
fn sp_17_an_exclude_that_takes_nothing_out_is_a_warning() {
    let world = with_skills(&["a"]);
    world.pack("team", "name: team\ninclude: ['**']\nexclude:\n  - old/**\n");
    insta::assert_snapshot!(world.sp(&["show", "team", "--format", "plain"]), @"
    exit: 0
    --- stdout
    local	a	team__a
    --- stderr
    warning[SP-17]: the exclude `old/**` takes nothing out
     --> packs/team.yaml:4:5
      |
    4 |   - old/**
      |     ^^^^^^
      |
      = help: remove it, or mend the pattern
    ");
}

#[test]
fn sp_16_the_packs_exclude_is_held_against_local_and_imported_ids_alike() {
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
fn sp_18_local_ids_come_first_then_imports_in_file_order_each_sorted() {
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
fn sp_19_two_skills_for_one_folder_are_an_error_that_names_both() {
    let world = with_skills(&["one/review", "two/Review"]);
    world.pack("team", "name: team\ninclude: ['**']\ninstall:\n  flatten: true\n");
    insta::assert_snapshot!(world.sp(&["install", "team", "--agent", "claude"]), @"
    exit: 3
    --- stderr
    error[SP-19]: the local `one/review` and the local `two/Review` would both be installed as `team__Review`
     --> packs/team.yaml:1:7
      |
    1 | name: team
      |       ^^^^
      |
      = help: exclude one of the two, or set `install.flatten: false`

    error: the pack `team` has a problem
    ");
    assert!(!world.path("home/.claude").exists());
}

#[test]
fn sp_19_unicode_twins_and_separators_collide_too() {
    for (ids, install) in [
        (["one/caf\u{e9}", "two/cafe\u{301}"], "{flatten: true}"),
        (["a/b", "a__b"], "{}"),
        (["x/Straße", "y/STRASSE"], "{flatten: true}"),
    ] {
        let world = with_skills(&ids);
        world.pack("p", &format!("name: p\ninclude: ['**']\ninstall: {install}\n"));
        let run = show(&world, "p").fails(3);
        assert!(
            run.stderr.contains("SP-19") && ids.iter().all(|id| run.stderr.contains(id)),
            "{run}"
        );
    }
}

#[test]
fn sp_19_the_same_skill_picked_twice_is_one() {
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
fn sp_33_patterns_by_the_letter() {
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
fn sp_33_patterns_that_can_match_nothing_are_errors_with_a_hint() {
    let world = with_skills(&["general", "upper/x"]);
    for (pattern, said) in [
        ("general/**", "`general` is itself a skill: write `general`"),
        ("Upper/x", "the nearest are: upper/x"),
        ("/general", "write `general`"),
        ("./general", "write `general`"),
        ("general/", "write `general` for that skill, `general/**` for all below it"),
        ("", "write `**` to pick every skill"),
        ("genera?", "general"),
        ("{general,x}", "SP-17"),
    ] {
        world.pack("p", &format!("name: p\ninclude: ['{pattern}']\n"));
        let run = show(&world, "p").fails(3);
        assert!(
            run.stderr.contains(said) && run.stderr.contains("packs/p.yaml:2:11"),
            "{pattern}: {run}"
        );
    }
    world.pack("p", "name: p\ninclude: ['**']\nexclude: ['./x']\n");
    show(&world, "p").fails(3);
}

#[test]
fn se_08_a_hostile_pack_file_cannot_reach_the_terminal() {
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
        let hidden =
            |c: char| c != '\n' && c.is_control() || ('\u{202a}'..='\u{202e}').contains(&c);
        assert!(!run.to_string().contains(hidden), "{yaml:?}: {run:?}");
    }
}
