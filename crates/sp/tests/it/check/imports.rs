//! `--imports`: imports of packs are fetched and checked only with this flag.

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

/// Replaces `git` with a program that creates the file `started`.
fn replace_git(world: &mut World) {
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
fn se_13_without_the_flag_git_is_not_started() {
    let mut world = importing("[no-such-skill]", "[nothing]");
    replace_git(&mut world);
    let run = check(&world, &[]).ok();
    assert!(run.stdout.contains("`--imports`"), "{run}");
    assert_eq!(report(&world, &["packs/team.yaml"])["summary"]["imports_left"], 1);
    check(&world, &["--fix"]).ok();
    assert!(!world.path("started").exists() && !world.path("home/.skillpack/cache").exists());
    world.sp(&["check", "--imports"]);
    assert!(world.path("started").exists(), "the test detects a start of git");
}

#[test]
fn sp_17_patterns_of_imports_are_checked() {
    let world = importing("[tools/*, tools/revew, '**/none']", "[tools/gone]");
    let run = check(&world, &["--imports"]).fails(1);
    assert!(run.stdout.contains("tools/review"), "it suggests the nearest skill: {run}");
    assert_eq!(
        findings(&world, &["--imports"]),
        [
            "packs/team.yaml:6:24: error[SP-17]",
            "packs/team.yaml:6:37: error[SP-17]",
            "packs/team.yaml:7:15: warning[SP-17]",
        ]
    );
    let world = importing("['tools/*']", "[tools/deploy]");
    let run = check(&world, &["--imports"]).ok();
    assert!(!run.stdout.contains("--imports"), "{run}");
    let report = report(&world, &["--imports"]);
    assert_eq!(report["findings"], Value::Array(vec![]));
    assert_eq!(report["summary"]["imports_left"], 0);
}

#[test]
fn sp_35_offline_uses_only_fetched_repositories() {
    let world = importing("[tools/revew]", "[]");
    let report = report(&world, &["--imports", "--offline"]);
    assert_eq!(report["unreadable"][0]["code"], "E-offline", "not fetched yet: {report}");
    let expected = ["packs/team.yaml:6:15: error[SP-17]"];
    assert_eq!(findings(&world, &["--imports"]), expected);
    std::fs::remove_dir_all(world.path("git/shared")).unwrap();
    assert_eq!(findings(&world, &["--imports", "--offline"]), expected);
    // Without `--imports`, no network is needed.
    check(&world, &["--offline"]).ok();
}

#[test]
fn sp_10_an_import_without_a_ref_is_a_warning() {
    let world = importing("['**']", "[]");
    let pack = std::fs::read_to_string(world.repo().join("packs/team.yaml")).unwrap();
    world.pack("team", &pack.replace("    ref: v1\n", ""));
    for args in [&[][..], &["--imports"]] {
        let found = findings(&world, args);
        assert!(found.len() == 1 && found[0].ends_with("warning[SP-10]"), "{args:?}: {found:?}");
    }
}

#[test]
fn an_unreachable_repository_does_not_hide_findings() {
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
