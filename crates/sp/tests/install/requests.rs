//! Several agents or packs in one run, dry runs, switches and failures.

use super::*;

#[test]
fn sp_32_several_agents_at_once_get_the_same_in_one_run() {
    let world = team(&["a"]);
    insta::assert_snapshot!(world.sp(&["install", "team", "--agent", "claude", "--agent", "copilot"]), @r#"
    exit: 0
    --- stdout
    + team__a

    installed team · claude · ~/.claude/skills · 1 added

    + team__a

    installed team · copilot · ~/.copilot/skills · 1 added
    --- stderr
    hint: GitHub Copilot expects a folder to be called as its skill is; `install: {prefix: "", flatten: true}` in the pack does that
    "#);
    assert_eq!(world.files(SINK), world.files("home/.copilot/skills"));
    world.sp(&["uninstall", "team", "--agent", "claude", "--agent", "copilot"]).ok();
    assert!(world.files(SINK).is_empty() && world.files("home/.copilot/skills").is_empty());
}

#[test]
fn sp_32_if_one_agent_cannot_have_it_none_gets_it() {
    let world = team(&["a"]);
    std::fs::create_dir_all(world.path("home/.copilot/skills/team__a")).unwrap();
    world.sp(&["install", "team", "--agent", "claude", "--agent", "copilot"]).fails(4);
    assert!(world.files(SINK).is_empty());
    assert!(!world.path("home/.skillpack/state.json").exists());
}

#[test]
fn sp_32_several_packs_are_installed_in_one_run_and_one_that_fails_stops_all() {
    let world = team(&["a", "b"]);
    world.pack("other", "name: other\ninclude: [b]\n");
    world.pack("bad", "name: bad\ninclude: [zzz]\n");
    world.sp(&["install", "team", "bad", "--agent", "claude"]).fails(3);
    world.sp(&["install", "team", "team", "--agent", "claude"]).fails(2);
    assert!(!world.path("home/.claude").exists());
    world.sp(&["install", "team", "other", "--agent", "claude"]).ok();
    assert_eq!(folders(&world), ["other__b", "team__a", "team__b"]);
}

#[test]
fn sp_32_two_packs_of_one_run_with_one_folder_are_refused() {
    let world = team(&["a"]);
    world.pack("other", "name: other\ninclude: [a]\ninstall: {prefix: team}\n");
    let run = world.sp(&["install", "team", "other", "--agent", "claude"]).fails(3);
    assert!(
        ["`team`", "`other`", "`team__a`"].iter().all(|name| run.stderr.contains(name)),
        "{run}"
    );
    assert!(!world.path("home/.claude").exists());
}

#[test]
fn sp_32_a_dry_run_changes_nothing_at_all() {
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
    assert_eq!(world.files(""), before, "on a machine that never saw `sp`");
    install(&world).ok();
    append(&world.path(SINK).join("team__a/SKILL.md"), "mine\n");
    world.pack("team", "name: team\ninclude: [a]\n");
    let before = (world.files(""), stamps(&world.path(SINK)));
    for command in commands {
        let run = world.sp(command).ok();
        assert!(run.stdout.contains("would "), "{run}");
        assert_eq!((world.files(""), stamps(&world.path(SINK))), before, "{command:?}");
    }
}

#[test]
fn sp_40_an_agent_that_minds_names_gets_one_hint_and_flat_folders_end_it() {
    let world = team(&["group/a", "group/b"]);
    let run = world.sp(&["install", "team", "--agent", "cursor"]).ok();
    insta::assert_snapshot!(run.stderr, @r#"hint: Cursor expects a folder to be called as its skill is; `install: {prefix: "", flatten: true}` in the pack does that"#);
    assert_eq!(install(&world).ok().stderr, "", "Claude Code does not mind");
    world.pack("team", "name: team\ninclude: ['**']\ninstall: {prefix: \"\", flatten: true}\n");
    assert_eq!(world.sp(&["install", "team", "--agent", "cursor"]).ok().stderr, "");
    assert_eq!(world.files("home/.cursor/skills").into_keys().next().as_deref(), Some("a"));
}

#[test]
fn sp_42_switch_replaces_every_pack_of_a_sink_and_no_other_folder() {
    let world = team(&["a", "b", "c"]);
    for name in ["one", "two", "three"] {
        world.pack(name, &format!("name: {name}\ninclude: ['*']\n"));
    }
    world.sp(&["install", "one", "two", "--agent", "claude", "--agent", "copilot"]).ok();
    std::fs::create_dir_all(world.path(SINK).join("by-hand")).unwrap();
    insta::assert_snapshot!(world.sp(&["switch", "two", "three", "--agent", "claude"]), @"
    exit: 0
    --- stdout
    + three__a
    + three__b
    + three__c
    - one__a
    - one__b
    - one__c

    installed two, three in the place of one · claude · ~/.claude/skills · 3 added, 3 removed, 3 unchanged
    ");
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
fn sp_42_a_switch_may_take_over_the_folders_of_the_pack_that_goes() {
    let world = team(&["a"]);
    world.pack("other", "name: other\ninclude: [a]\ninstall: {prefix: team}\n");
    install(&world).ok();
    world.sp(&["install", "other", "--agent", "claude"]).fails(4);
    world.sp(&["switch", "other", "--agent", "claude"]).ok();
    assert_eq!(folders(&world), ["team__a"]);
    world.sp(&["uninstall", "other", "--agent", "claude"]).ok();
    assert!(folders(&world).is_empty());
}

#[test]
fn sp_42_a_switch_that_fails_leaves_the_old_packs() {
    let world = team(&["a"]);
    install(&world).ok();
    world.pack("bad", "name: bad\ninclude: [zzz]\n");
    let before = world.files("home");
    world.sp(&["switch", "bad", "--agent", "claude"]).fails(3);
    assert_eq!(world.files("home"), before);
}

#[test]
fn se_12_a_failed_import_is_never_a_success() {
    let world = team(&["a"]);
    world.pack(
        "team",
        "name: team\ninclude: [a]\nimports:\n  - repo: ../no-such-repo\n    include: ['**']\n",
    );
    let run = install(&world).fails(5);
    assert!(run.stdout.is_empty() && run.stderr.contains("no-such-repo"), "{run}");
    assert!(!world.path("home/.claude").exists());
}

#[test]
fn se_12_a_sink_that_cannot_be_written_is_never_a_success() {
    let world = team(&["a"]);
    std::fs::write(world.path("file"), "a file, not a folder").unwrap();
    for path in ["file", "file/below"] {
        let path = world.path(path).display().to_string();
        let run = world.sp(&["install", "team", "--agent", "custom", "--path", &path]).fails(5);
        assert!(run.stdout.is_empty() && run.stderr.contains("cannot use `"), "{run}");
    }
    for errno in ["30", "13", "28", "5"] {
        let mut command = world.command(&["install", "team", "--agent", "claude"]);
        command.env("SP_FAULT", format!("{errno}@1+"));
        let run = world.run(command).fails(5);
        assert!(run.stdout.is_empty() && run.stderr.starts_with("error: "), "{run}");
        assert!(world.files(SINK).is_empty());
    }
}
