//! `--imports`: what packs take from other repositories is looked at only if it is asked for.

use std::os::unix::fs::PermissionsExt;

use super::*;

/// A world whose pack imports from a repository beside it.
fn importing(include: &str, exclude: &str) -> World {
    let world = world!();
    world.skill("local");
    let repo = world.git("shared");
    repo.skill("tools/review").skill("tools/deploy").commit("one");
    repo.git(&["tag", "v1"]);
    let url = repo.url();
    world.pack("team", &format!("name: team\ninclude: [local]\nimports:\n  - repo: {url}\n    ref: v1\n    include: {include}\n    exclude: {exclude}\n"));
    world
}

/// Puts a `git` first on the path that notes that it was started, and does nothing.
fn watch_git(world: &mut World) {
    let bin = world.path("bin");
    std::fs::create_dir_all(&bin).unwrap();
    std::fs::write(
        bin.join("git"),
        format!("#!/bin/sh\ntouch {}\nexit 1\n", world.path("started").display()),
    )
    .unwrap();
    std::fs::set_permissions(bin.join("git"), std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    world.set_env("PATH", &path);
}

#[test]
fn se_13_without_the_flag_no_git_is_started_and_it_is_said_what_was_not_looked_at() {
    let mut world = importing("[no-such-skill]", "[nothing]");
    watch_git(&mut world);
    insta::assert_snapshot!(check(&world, &[]), @"
    exit: 0
    --- stdout
    1 skill and 1 pack: no problems
    tokens: 4 always, 3 when used, 0 in other files (o200k_base)
    1 import not looked at; `--imports` fetches and checks them too
    ");
    assert_eq!(report(&world, &["packs/team.yaml"])["summary"]["imports_left"], 1);
    check(&world, &["--fix"]).ok();
    assert!(!world.path("started").exists() && !world.path("home/.skillpack/cache").exists());
    world.sp(&["check", "--imports"]);
    assert!(world.path("started").exists(), "the test would have seen it");
}

#[test]
fn sp_17_patterns_of_imports_are_held_against_what_is_there() {
    let world = importing("[tools/*, tools/revew, '**/none']", "[tools/gone]");
    insta::assert_snapshot!(check(&world, &["--imports"]), @"
    exit: 1
    --- stdout
    error[SP-17]: `tools/revew` matches no skill of `file://[WORLD]/git/shared`
     --> packs/team.yaml:6:24
      |
    6 |     include: [tools/*, tools/revew, '**/none']
      |                        ^^^^^^^^^^^
      |
      = help: the nearest are: tools/review

    error[SP-17]: `**/none` matches no skill of `file://[WORLD]/git/shared`
     --> packs/team.yaml:6:37
      |
    6 |     include: [tools/*, tools/revew, '**/none']
      |                                     ^^^^^^^^^
      |
      = help: ids look like: tools/deploy, tools/review

    warning[SP-17]: the exclude `tools/gone` takes nothing out
     --> packs/team.yaml:7:15
      |
    7 |     exclude: [tools/gone]
      |               ^^^^^^^^^^
      |
      = help: remove it, or mend the pattern

    1 skill and 1 pack: 2 errors, 1 warning in 1 file
    tokens: 4 always, 3 when used, 0 in other files (o200k_base)
    `sp explain <RULE>` tells more of a rule
    ");
    let world = importing("['tools/*']", "[tools/deploy]");
    let run = check(&world, &["--imports"]).ok();
    assert!(
        run.stdout.starts_with("1 skill and 1 pack: no problems\n")
            && !run.stdout.contains("not looked at"),
        "{run}"
    );
    assert_eq!(report(&world, &["--imports"])["summary"]["imports_left"], 0);
}

#[test]
fn sp_35_offline_uses_what_was_fetched_and_nothing_else() {
    let world = importing("[tools/revew]", "[]");
    let run = check(&world, &["--imports", "--offline"]);
    assert_ne!(run.code, Some(0), "it was never fetched: {run}");
    assert!(run.stderr.contains("error: "), "{run}");
    let found = lines(&world, &["--imports"]);
    assert!(found.len() == 1 && found[0].contains("error[SP-17]"), "{found:?}");
    std::fs::remove_dir_all(world.path("git/shared")).unwrap();
    assert_eq!(lines(&world, &["--imports", "--offline"]), found);
    // Without `--imports` there is nothing to be offline for.
    check(&world, &["--offline"]).ok();
}

#[test]
fn sp_10_an_import_without_a_ref_is_a_warning_with_or_without_the_flag() {
    let world = importing("['**']", "[]");
    let pack = std::fs::read_to_string(world.repo().join("packs/team.yaml")).unwrap();
    world.pack("team", &pack.replace("    ref: v1\n", ""));
    for args in [&[][..], &["--imports"]] {
        let found = lines(&world, args);
        assert!(found.len() == 1 && found[0].contains("warning[SP-10]"), "{args:?}: {found:?}");
    }
}

#[test]
fn a_repository_that_cannot_be_reached_hides_no_finding_of_another_pack() {
    let world = world!();
    world.skill("local");
    world.pack(
        "a",
        "name: a\ninclude: [lcal]\nimports:\n  - repo: ./gone\n    ref: v1\n    include: ['**']\n",
    );
    world.pack("b", "name: b\ninclude: [lcal]\n");
    let run = check(&world, &["--imports", "--format", "plain"]);
    assert!(run.code == Some(3) || run.code == Some(5), "{run}");
    assert!(run.stderr.contains("./gone"), "{run}");
    for pack in ["a", "b"] {
        assert!(
            run.stdout.contains(&format!("packs/{pack}.yaml:2:11: error[SP-17]")),
            "{pack}: {run}"
        );
    }
}
