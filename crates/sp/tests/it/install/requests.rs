//! Several agents or packs in one command, dry runs, switches and failures.

use super::*;

#[test]
fn sp_32_several_agents_get_the_same_skills() {
    let world = team(&["a"]);
    let run = world.sp(&["install", "team", "--agent", "claude", "--agent", "copilot"]).ok();
    for sink in ["claude", "copilot"] {
        let path = format!("~/.{sink}/skills\n");
        assert_eq!(run.stdout.matches(&path).count(), 1, "{sink}: {run}");
    }
    assert_eq!(world.files(SINK), world.files("home/.copilot/skills"));
    world.sp(&["uninstall", "team", "--agent", "claude", "--agent", "copilot"]).ok();
    assert!(world.files(SINK).is_empty() && world.files("home/.copilot/skills").is_empty());
}

#[test]
fn sp_32_if_an_install_fails_for_one_agent_none_is_changed() {
    let world = team(&["a"]);
    std::fs::create_dir_all(world.path("home/.copilot/skills/team__a")).unwrap();
    let error = world.sp_error(&["install", "team", "--agent", "claude", "--agent", "copilot"]);
    assert_eq!(error.code, "E-not-owned");
    assert!(world.files(SINK).is_empty());
    assert!(!world.path("home/.skillpack/state.json").exists());
}

#[test]
fn sp_32_if_one_of_several_packs_fails_none_is_installed() {
    let world = team(&["a", "b"]);
    world.pack("other", "name: other\ninclude: [b]\n");
    world.pack("bad", "name: bad\ninclude: [zzz]\n");
    for (second, code) in [("bad", "SP-17"), ("team", "E-duplicate-argument")] {
        let error = world.sp_error(&["install", "team", second, "--agent", "claude"]);
        assert_eq!(error.code, code);
    }
    assert!(!world.path("home/.claude").exists());
    world.sp(&["install", "team", "other", "--agent", "claude"]).ok();
    assert_eq!(folders(&world), ["other__b", "team__a", "team__b"]);
}

#[test]
fn sp_32_two_packs_with_the_same_directory_are_refused() {
    let world = team(&["a"]);
    world.pack("other", "name: other\ninclude: [a]\ninstall: {prefix: team}\n");
    let error = world.sp_error(&["install", "team", "other", "--agent", "claude"]);
    assert_eq!(error.code, "E-name-collision");
    let names = ["`team`", "`other`", "`team__a`"];
    assert!(names.iter().all(|name| error.message.contains(name)), "{error:?}");
    assert!(!world.path("home/.claude").exists());
}

#[test]
fn sp_32_a_dry_run_changes_nothing() {
    let world = team(&["a", "b"]);
    let commands: [&[&str]; 4] = [
        &["install", "team", "--agent", "claude", "--dry-run"],
        &["switch", "team", "--agent", "claude", "--dry-run"],
        &["uninstall", "team", "--agent", "claude", "--dry-run"],
        &["clean", "--cache", "--dry-run"],
    ];
    let before = world.files("");
    world.sp(commands[0]).ok();
    world.sp(commands[1]).ok();
    world.sp(commands[3]).ok();
    assert_eq!(world.files(""), before, "before the first install");
    install(&world).ok();
    append(&world.path(SINK).join("team__a/SKILL.md"), "mine\n");
    world.pack("team", "name: team\ninclude: [a]\n");
    let before = (world.files(""), timestamps(&world.path(SINK)));
    for command in commands {
        let run = world.sp(&[command, &["--format", "json"]].concat()).ok();
        assert_eq!(json(&run)["applied"], false, "{run}");
        assert_eq!((world.files(""), timestamps(&world.path(SINK))), before, "{command:?}");
    }
}

#[test]
fn sp_40_agents_that_require_the_name_of_the_skill_get_one_hint() {
    let world = team(&["group/a", "group/b"]);
    let run = world.sp(&["install", "team", "--agent", "cursor"]).ok();
    assert!(run.stderr.starts_with("hint: Cursor "), "{run}");
    assert_eq!(run.stderr.matches("hint: ").count(), 1, "{run}");
    assert!(run.stderr.contains("`install: {prefix: \"\", flatten: true}`"), "{run}");
    assert_eq!(install(&world).ok().stderr, "", "Claude Code accepts any name");
    world.pack("team", "name: team\ninclude: ['**']\ninstall: {prefix: \"\", flatten: true}\n");
    assert_eq!(world.sp(&["install", "team", "--agent", "cursor"]).ok().stderr, "");
    assert_eq!(world.files("home/.cursor/skills").into_keys().next().as_deref(), Some("a"));
}

#[test]
fn sp_42_switch_replaces_every_pack_of_a_sink() {
    let world = team(&["a", "b", "c"]);
    for name in ["one", "two", "three"] {
        world.pack(name, &format!("name: {name}\ninclude: ['*']\n"));
    }
    world.sp(&["install", "one", "two", "--agent", "claude", "--agent", "copilot"]).ok();
    std::fs::create_dir_all(world.path(SINK).join("by-hand")).unwrap();
    let expected = ["keep two", "add three", "remove one"];
    let expected = expected.map(|change| ["a", "b", "c"].map(|id| format!("{change}__{id}")));
    let changes = changes(&world, &["switch", "two", "three", "--agent", "claude"]);
    assert_eq!(changes, expected.concat());
    assert_eq!(
        folders(&world),
        ["by-hand", "three__a", "three__b", "three__c", "two__a", "two__b", "two__c"]
    );
    let installed = world.sp(&["installed", "--format", "plain"]).ok().stdout;
    let pairs: Vec<String> = installed
        .lines()
        .map(|line| line.split('\t').take(2).collect::<Vec<_>>().join(" "))
        .collect();
    assert_eq!(pairs, ["claude three", "claude two", "copilot one", "copilot two"]);
}

#[test]
fn sp_42_a_switch_can_reuse_directories_of_removed_packs() {
    let world = team(&["a"]);
    world.pack("other", "name: other\ninclude: [a]\ninstall: {prefix: team}\n");
    install(&world).ok();
    assert_eq!(world.sp_error(&["install", "other", "--agent", "claude"]).code, "E-not-owned");
    world.sp(&["switch", "other", "--agent", "claude"]).ok();
    assert_eq!(folders(&world), ["team__a"]);
    world.sp(&["uninstall", "other", "--agent", "claude"]).ok();
    assert!(folders(&world).is_empty());
}

#[test]
fn sp_42_a_failed_switch_keeps_the_installed_packs() {
    let world = team(&["a"]);
    install(&world).ok();
    world.pack("bad", "name: bad\ninclude: [zzz]\n");
    let before = world.files("home");
    assert_eq!(world.sp_error(&["switch", "bad", "--agent", "claude"]).code, "SP-17");
    assert_eq!(world.files("home"), before);
}

#[test]
fn se_12_a_failed_import_is_an_error() {
    let world = team(&["a"]);
    world.pack(
        "team",
        "name: team\ninclude: [a]\nimports:\n  - repo: ../no-such-repo\n    include: ['**']\n",
    );
    let error = install_error(&world);
    assert_eq!(error.code, "E-source-not-found");
    assert!(error.message.contains("no-such-repo"), "{error:?}");
    assert!(!world.path("home/.claude").exists());
}

#[test]
fn se_12_a_sink_that_is_not_writable_is_an_error() {
    let world = team(&["a"]);
    std::fs::write(world.path("file"), "a file").unwrap();
    for path in ["file", "file/below"] {
        let path = world.path(path).display().to_string();
        let error = world.sp_error(&["install", "team", "--agent", "custom", "--path", &path]);
        assert_eq!(error.code, "E-directory-unusable", "{error:?}");
    }
    for (errno, code) in [
        ("30", "E-permission-denied"),
        ("13", "E-permission-denied"),
        ("28", "E-disk-full"),
        ("5", "E-io"),
    ] {
        let mut command = world.command(&[INSTALL, &["--format", "json"]].concat());
        command.env("SP_FAULT", format!("{errno}@1+"));
        let error = world.run(command).error();
        assert_eq!(error.code, code, "{error:?}");
        assert!(world.files(SINK).is_empty());
    }
}
