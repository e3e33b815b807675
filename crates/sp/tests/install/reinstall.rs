//! Reinstalling: unchanged, changed, edited and deleted folders.

use super::*;

#[test]
fn sp_25_reinstalling_the_unchanged_changes_no_file() {
    let world = team(&["a", "b"]);
    world.write("skills/a/deep/er/file", "x");
    install(&world).ok();
    let before = (stamps(&world.path(SINK)), stamps(&world.path("home/.skillpack/state.json")));
    for _ in 0..3 {
        let run = install(&world).ok();
        assert_eq!(run.stdout, "up to date: team · claude · ~/.claude/skills · 2 unchanged\n");
        assert_eq!(
            (stamps(&world.path(SINK)), stamps(&world.path("home/.skillpack/state.json"))),
            before
        );
    }
    world.skill("c");
    install(&world).ok();
    let after = stamps(&world.path(SINK));
    let changed = before
        .0
        .iter()
        .filter(|(path, stamp)| **path != world.path(SINK) && after[*path] != **stamp);
    assert_eq!(changed.count(), 0, "a new skill touches no other");
}

#[test]
fn sp_25_a_changed_source_is_noticed_whatever_its_times_say() {
    let world = team(&["a"]);
    install(&world).ok();
    install(&world).ok();
    let source = world.repo().join("skills/a/SKILL.md");
    let (time, text) =
        (source.metadata().unwrap().modified().unwrap(), std::fs::read_to_string(&source).unwrap());
    std::fs::write(&source, text.replace("Do a.", "Do b.")).unwrap();
    std::fs::File::options().write(true).open(&source).unwrap().set_modified(time).unwrap();
    insta::assert_snapshot!(install(&world), @"
    exit: 0
    --- stdout
    ~ team__a

    installed team · claude · ~/.claude/skills · 1 updated
    ");
    let installed = std::fs::read_to_string(world.path(SINK).join("team__a/SKILL.md")).unwrap();
    assert!(installed.contains("Do b."));
    assert!(
        !world.path("home/.skillpack/trash").exists(),
        "an update of what nobody edited keeps nothing"
    );
}

/// Ways in which a person changes an installed folder.
const EDITS: [(&str, Attack); 13] = [
    ("a line is added", |folder| append(&folder.join("SKILL.md"), "mine\n")),
    ("same size and time", edit_in_secret),
    ("a file is emptied", |folder| std::fs::write(folder.join("run.sh"), "").unwrap()),
    ("a file is added", |folder| std::fs::write(folder.join("mine.md"), "mine").unwrap()),
    ("a hidden folder is added", |folder| std::fs::create_dir(folder.join(".git")).unwrap()),
    ("a file is added deep down", |folder| {
        std::fs::write(folder.join("deep/er/mine"), "mine").unwrap();
    }),
    ("a file is removed", |folder| std::fs::remove_file(folder.join("run.sh")).unwrap()),
    ("an empty folder is removed", |folder| std::fs::remove_dir(folder.join("empty")).unwrap()),
    ("a file is renamed", |folder| {
        std::fs::rename(folder.join("run.sh"), folder.join("walk.sh")).unwrap();
    }),
    ("a bit is set", |folder| chmod(&folder.join("SKILL.md"), 0o755)),
    ("a bit is taken", |folder| chmod(&folder.join("run.sh"), 0o644)),
    ("a file becomes a link", |folder| {
        std::fs::remove_file(folder.join("SKILL.md")).unwrap();
        symlink("run.sh", folder.join("SKILL.md")).unwrap();
    }),
    ("a FIFO is added", |folder| {
        assert!(Command::new("mkfifo").arg(folder.join("pipe")).status().unwrap().success());
    }),
];

/// Changes a file's bytes, not its size, and puts its modification time back.
fn edit_in_secret(folder: &Path) {
    let path = folder.join("SKILL.md");
    let (time, text) =
        (path.metadata().unwrap().modified().unwrap(), std::fs::read_to_string(&path).unwrap());
    std::fs::write(&path, text.replace("Do a.", "Do b.")).unwrap();
    std::fs::File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
}

/// A world with one installed skill that has a bit of everything.
fn installed_richly() -> World {
    let world = team(&["a"]);
    world.write("skills/a/run.sh", "echo hi\n");
    world.write("skills/a/deep/er/file", "x");
    std::fs::create_dir_all(world.repo().join("skills/a/empty")).unwrap();
    chmod(&world.repo().join("skills/a/run.sh"), 0o755);
    install(&world).ok();
    world
}

/// Where the output says that the old content is.
fn kept_at(run: &Run) -> PathBuf {
    let kept = json(run)["sinks"][0]["kept"].as_array().expect("kept folders").clone();
    assert_eq!((kept.len(), kept[0]["folder"].as_str()), (1, Some("team__a")), "{run}");
    kept[0]["kept_at"].as_str().expect("a path").into()
}

#[test]
fn sp_25_every_way_of_editing_is_noticed_and_the_old_content_is_kept() {
    for (edit, make) in EDITS {
        let world = installed_richly();
        let folder = format!("{SINK}/team__a");
        let fresh = world.files(&folder);
        make(&world.path(&folder));
        let edited = world.files(&folder);
        assert_ne!(edited, fresh, "{edit}");
        let run = world_json(&world, &["install", "team", "--agent", "claude"]);
        assert_eq!(json(&run)["sinks"][0]["folders"][0]["edited"], true, "{edit}: {run}");
        assert_eq!(world.files(&folder), fresh, "{edit}");
        assert_eq!(sp_testkit::files(&kept_at(&run)), edited, "{edit}");
    }
}

/// Runs with JSON out, with real paths in it.
fn world_json(world: &World, args: &[&str]) -> Run {
    let output = world.command(&[args, &["--format", "json"]].concat()).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Run { code: output.status.code(), stdout: text(&output.stdout), stderr: text(&output.stderr) }
        .ok()
}

#[test]
fn sp_25_the_output_says_where_an_edited_folder_is_kept_and_clean_removes_it() {
    let world = team(&["a", "b"]);
    install(&world).ok();
    append(&world.path(SINK).join("team__a/SKILL.md"), "mine\n");
    insta::assert_snapshot!(world.sp(&["install", "team", "--agent", "claude", "--dry-run"]), @"
    exit: 0
    --- stdout
    ~ team__a  edited since it was installed

    would install team · claude · ~/.claude/skills · 1 updated, 1 unchanged

    to do exactly this: sp install team --agent claude --plan [PLAN]
    ");
    insta::assert_snapshot!(install(&world), @"
    exit: 0
    --- stdout
    ~ team__a  edited since it was installed

    kept the old `team__a` in ~/.skillpack/trash/[RUN]/0/team__a
    `sp clean` removes what was kept

    installed team · claude · ~/.claude/skills · 1 updated, 1 unchanged
    ");
    insta::assert_snapshot!(world.sp(&["clean", "--dry-run"]), @"
    exit: 0
    --- stdout
    - ~/.skillpack/trash/[RUN]
    would remove 1 item, 49 bytes
    ");
    assert!(!world.files("home/.skillpack/trash").is_empty());
    insta::assert_snapshot!(world.sp(&["clean"]), @"
    exit: 0
    --- stdout
    - ~/.skillpack/trash/[RUN]
    removed 1 item, 49 bytes
    ");
    assert!(world.files("home/.skillpack/trash").is_empty());
    insta::assert_snapshot!(world.sp(&["clean"]), @"
    exit: 0
    --- stdout
    removed 0 items, 0 bytes
    ");
}

#[test]
fn sp_25_an_edited_folder_that_goes_is_kept_too() {
    for args in [
        &["uninstall", "team", "--agent", "claude"][..],
        &["switch", "other", "--agent", "claude"],
        &["install", "team", "--agent", "claude"],
    ] {
        let world = installed_richly();
        world.skill("b");
        world.pack("team", "name: team\ninclude: [b]\n");
        world.pack("other", "name: other\ninclude: [b]\n");
        append(&world.path(SINK).join("team__a/SKILL.md"), "mine\n");
        let edited = world.files(&format!("{SINK}/team__a"));
        let run = world_json(&world, args);
        assert_eq!(sp_testkit::files(&kept_at(&run)), edited, "{args:?}");
        assert!(!world.path(SINK).join("team__a").exists(), "{args:?}");
    }
}

#[test]
fn sp_25_a_folder_or_sink_that_was_deleted_comes_back() {
    let world = team(&["a", "b"]);
    install(&world).ok();
    let fresh = world.files(SINK);
    std::fs::remove_dir_all(world.path(SINK).join("team__a")).unwrap();
    assert!(install(&world).ok().stdout.contains("1 added, 1 unchanged"));
    assert_eq!(world.files(SINK), fresh);
    std::fs::remove_dir_all(world.path("home/.claude")).unwrap();
    install(&world).ok();
    assert_eq!(world.files(SINK), fresh);
}
