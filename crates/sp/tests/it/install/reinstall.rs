//! Installing again: unchanged, changed, edited and deleted skills.

use super::*;

#[test]
fn sp_25_installing_unchanged_skills_changes_no_file() {
    let world = team(&["a", "b"]);
    world.write("skills/a/deep/er/file", "x");
    install(&world).ok();
    let before =
        (timestamps(&world.path(SINK)), timestamps(&world.path("home/.skillpack/state.json")));
    for _ in 0..3 {
        assert_eq!(changes(&world, INSTALL), ["keep team__a", "keep team__b"]);
        assert_eq!(
            (timestamps(&world.path(SINK)), timestamps(&world.path("home/.skillpack/state.json"))),
            before
        );
    }
    world.skill("c");
    install(&world).ok();
    let after = timestamps(&world.path(SINK));
    let changed = before
        .0
        .iter()
        .filter(|(path, stamp)| **path != world.path(SINK) && after[*path] != **stamp);
    assert_eq!(changed.count(), 0, "a new skill does not change the others");
}

#[test]
fn sp_25_changes_are_detected_by_content_and_not_by_time() {
    let world = team(&["a"]);
    install(&world).ok();
    install(&world).ok();
    let source = world.repo().join("skills/a/SKILL.md");
    let (time, text) =
        (source.metadata().unwrap().modified().unwrap(), std::fs::read_to_string(&source).unwrap());
    std::fs::write(&source, text.replace("Do a.", "Do b.")).unwrap();
    std::fs::File::options().write(true).open(&source).unwrap().set_modified(time).unwrap();
    assert_eq!(changes(&world, INSTALL), ["update team__a"]);
    let installed = std::fs::read_to_string(world.path(SINK).join("team__a/SKILL.md")).unwrap();
    assert!(installed.contains("Do b."));
    assert!(
        !world.path("home/.skillpack/trash").exists(),
        "skills that were not edited are not kept"
    );
}

/// Ways to edit an installed skill.
const EDITS: [(&str, Edit); 13] = [
    ("a line added", |folder| append(&folder.join("SKILL.md"), "mine\n")),
    ("a change with the same size and time", edit_with_same_size_and_time),
    ("a file emptied", |folder| std::fs::write(folder.join("run.sh"), "").unwrap()),
    ("a file added", |folder| std::fs::write(folder.join("mine.md"), "mine").unwrap()),
    ("a hidden directory added", |folder| std::fs::create_dir(folder.join(".git")).unwrap()),
    ("a file added to a subdirectory", |folder| {
        std::fs::write(folder.join("deep/er/mine"), "mine").unwrap();
    }),
    ("a file removed", |folder| std::fs::remove_file(folder.join("run.sh")).unwrap()),
    ("an empty directory removed", |folder| std::fs::remove_dir(folder.join("empty")).unwrap()),
    ("a file renamed", |folder| {
        std::fs::rename(folder.join("run.sh"), folder.join("walk.sh")).unwrap();
    }),
    ("an executable bit set", |folder| chmod(&folder.join("SKILL.md"), 0o755)),
    ("an executable bit cleared", |folder| chmod(&folder.join("run.sh"), 0o644)),
    ("a file replaced with a link", |folder| {
        std::fs::remove_file(folder.join("SKILL.md")).unwrap();
        symlink("run.sh", folder.join("SKILL.md")).unwrap();
    }),
    ("a FIFO added", |folder| {
        assert!(Command::new("mkfifo").arg(folder.join("pipe")).status().unwrap().success());
    }),
];

/// Changes the bytes of a file, but not its size or modification time.
fn edit_with_same_size_and_time(folder: &Path) {
    let path = folder.join("SKILL.md");
    let (time, text) =
        (path.metadata().unwrap().modified().unwrap(), std::fs::read_to_string(&path).unwrap());
    std::fs::write(&path, text.replace("Do a.", "Do b.")).unwrap();
    std::fs::File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
}

/// A world with an installed skill that has subdirectories and an executable file.
fn installed_skill_with_files() -> World {
    let world = team(&["a"]);
    world.write("skills/a/run.sh", "echo hi\n");
    world.write("skills/a/deep/er/file", "x");
    std::fs::create_dir_all(world.repo().join("skills/a/empty")).unwrap();
    chmod(&world.repo().join("skills/a/run.sh"), 0o755);
    install(&world).ok();
    world
}

/// Returns where the old content was kept, from JSON output.
fn kept_at(run: &Run) -> PathBuf {
    let kept = json(run)["sinks"][0]["kept"].as_array().expect("kept folders").clone();
    assert_eq!((kept.len(), kept[0]["folder"].as_str()), (1, Some("team__a")), "{run}");
    kept[0]["kept_at"].as_str().expect("a path").into()
}

#[test]
fn sp_25_edited_skills_are_kept_when_they_are_replaced() {
    for (name, edit) in EDITS {
        let world = installed_skill_with_files();
        let folder = format!("{SINK}/team__a");
        let fresh = world.files(&folder);
        edit(&world.path(&folder));
        let edited = world.files(&folder);
        assert_ne!(edited, fresh, "{name}");
        let run = json_with_real_paths(&world, INSTALL);
        assert_eq!(json(&run)["sinks"][0]["folders"][0]["edited"], true, "{name}: {run}");
        assert_eq!(world.files(&folder), fresh, "{name}");
        assert_eq!(sp_testkit::files(&kept_at(&run)), edited, "{name}");
    }
}

/// Runs with `--format json` and returns the output with real paths.
fn json_with_real_paths(world: &World, args: &[&str]) -> Run {
    let output = world.command(&[args, &["--format", "json"]].concat()).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Run { code: output.status.code(), stdout: text(&output.stdout), stderr: text(&output.stderr) }
        .ok()
}

#[test]
fn sp_25_output_names_the_kept_directory_and_clean_removes_it() {
    let world = team(&["a", "b"]);
    install(&world).ok();
    append(&world.path(SINK).join("team__a/SKILL.md"), "mine\n");
    let dry_run = json(&world.sp(&[INSTALL, &["--dry-run", "--format", "json"]].concat()).ok());
    assert_eq!(dry_run["sinks"][0]["folders"][0]["edited"], true, "{dry_run}");
    insta::assert_snapshot!(install(&world), @"
    exit: 0
    --- stdout
    ~ team__a  edited since it was installed

    kept the previous `team__a` in ~/.skillpack/trash/[RUN]/0/team__a
    run `sp clean` to delete what was kept

    installed team · claude · ~/.claude/skills · 1 updated, 1 unchanged
    ");
    let clean = |args: &[&str]| {
        let output = json(&world.sp(&[&["clean", "--format", "json"], args].concat()).ok());
        (output["bytes"].clone(), world.files("home/.skillpack/trash").is_empty())
    };
    assert_eq!(clean(&["--dry-run"]), (49.into(), false));
    assert_eq!(clean(&[]), (49.into(), true));
    assert_eq!(clean(&[]), (0.into(), true));
}

#[test]
fn sp_25_edited_skills_are_kept_when_they_are_removed() {
    for args in [
        &["uninstall", "team", "--agent", "claude"][..],
        &["switch", "other", "--agent", "claude"],
        &["install", "team", "--agent", "claude"],
    ] {
        let world = installed_skill_with_files();
        world.skill("b");
        world.pack("team", "name: team\ninclude: [b]\n");
        world.pack("other", "name: other\ninclude: [b]\n");
        append(&world.path(SINK).join("team__a/SKILL.md"), "mine\n");
        let edited = world.files(&format!("{SINK}/team__a"));
        let run = json_with_real_paths(&world, args);
        assert_eq!(sp_testkit::files(&kept_at(&run)), edited, "{args:?}");
        assert!(!world.path(SINK).join("team__a").exists(), "{args:?}");
    }
}

#[test]
fn sp_25_deleted_skills_and_sinks_are_restored() {
    let world = team(&["a", "b"]);
    install(&world).ok();
    let fresh = world.files(SINK);
    std::fs::remove_dir_all(world.path(SINK).join("team__a")).unwrap();
    assert_eq!(changes(&world, INSTALL), ["add team__a", "keep team__b"]);
    assert_eq!(world.files(SINK), fresh);
    std::fs::remove_dir_all(world.path("home/.claude")).unwrap();
    install(&world).ok();
    assert_eq!(world.files(SINK), fresh);
}
