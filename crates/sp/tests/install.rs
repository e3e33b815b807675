//! What an install copies, replaces, keeps and refuses.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test arranges its world with the plain calls"
)]

use std::collections::BTreeMap;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::Command;

use sp_testkit::{Entry, Files, Run, World, world};

const SINK: &str = "home/.claude/skills";

/// A world whose pack `team` selects all of these skills.
fn team(ids: &[&str]) -> World {
    let world = world!();
    ids.iter().for_each(|id| world.skill(id));
    world.pack("team", "name: team\ninclude: ['**']\n");
    world
}

fn install(world: &World) -> Run {
    world.sp(&["install", "team", "--agent", "claude"])
}

fn folders(world: &World) -> Vec<String> {
    world.files(SINK).into_keys().filter(|name| !name.contains('/')).collect()
}

fn json(run: &Run) -> serde_json::Value {
    serde_json::from_str(&run.stdout).expect("JSON on stdout")
}

fn mode(path: &Path) -> u32 {
    path.symlink_metadata().unwrap().permissions().mode() & 0o7777
}

fn chmod(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

fn append(path: &Path, text: &str) {
    let old = std::fs::read_to_string(path).unwrap();
    std::fs::write(path, old + text).unwrap();
}

/// Inode, modification and change time of everything below a directory, and of itself.
fn stamps(path: &Path) -> BTreeMap<PathBuf, (u64, i64, i64, i64, i64)> {
    let metadata = path.symlink_metadata().unwrap();
    let stamp = (
        metadata.ino(),
        metadata.mtime(),
        metadata.mtime_nsec(),
        metadata.ctime(),
        metadata.ctime_nsec(),
    );
    let mut all = BTreeMap::from([(path.to_path_buf(), stamp)]);
    if metadata.is_dir() {
        std::fs::read_dir(path)
            .unwrap()
            .for_each(|entry| all.extend(stamps(&entry.unwrap().path())));
    }
    all
}

#[test]
fn sp_20_sp_31_an_install_says_what_it_added_and_where() {
    let world = team(&["coding/dotnet/efcore", "writing"]);
    insta::assert_snapshot!(install(&world), @"
    exit: 0
    --- stdout
    + team__coding__dotnet__efcore
    + team__writing

    installed team · claude · ~/.claude/skills · 2 added
    ");
    assert_eq!(folders(&world), ["team__coding__dotnet__efcore", "team__writing"]);
}

#[test]
fn sp_21_the_whole_folder_is_copied_with_links_as_what_they_point_to() {
    let world = team(&["a"]);
    world.write("skills/a/scripts/run.sh", "echo hi\n");
    world.write("skills/a/.hidden", "kept\n");
    world.write("skills/a/assets/logo.bin", [0u8, 255, 7]);
    std::fs::create_dir_all(world.repo().join("skills/a/empty")).unwrap();
    std::fs::create_dir_all(world.path("outside/dir")).unwrap();
    std::fs::write(world.path("outside/dir/file.txt"), "from outside\n").unwrap();
    chmod(&world.repo().join("skills/a/scripts/run.sh"), 0o755);
    symlink("scripts/run.sh", world.repo().join("skills/a/alias.sh")).unwrap();
    symlink(world.path("outside/dir"), world.repo().join("skills/a/linked")).unwrap();
    install(&world).ok();
    let file = |text: &str, executable| Entry::File(text.into(), executable);
    let files = world.files(&format!("{SINK}/team__a"));
    assert_eq!(files["scripts/run.sh"], file("echo hi\n", true));
    assert_eq!(files["alias.sh"], file("echo hi\n", true));
    assert_eq!(files["linked"], Entry::Dir);
    assert_eq!(files["linked/file.txt"], file("from outside\n", false));
    assert_eq!(files[".hidden"], file("kept\n", false));
    assert_eq!(files["empty"], Entry::Dir);
    assert_eq!(
        std::fs::read(world.path(SINK).join("team__a/assets/logo.bin")).unwrap(),
        [0, 255, 7]
    );
    assert!(!files.values().any(|entry| matches!(entry, Entry::Link(_) | Entry::Special)));
}

/// Puts something into the skill `a` that cannot be installed.
type Attack = fn(&Path);

const UNINSTALLABLE: [(&str, Attack, &str); 7] = [
    (
        "a dangling link",
        |skill| symlink("nowhere", skill.join("bad")).unwrap(),
        "points to nothing",
    ),
    ("a link to itself", |skill| symlink("bad", skill.join("bad")).unwrap(), "leads back"),
    ("a link to its own folder", |skill| symlink(".", skill.join("bad")).unwrap(), "leads back"),
    ("a link to the folder above", |skill| symlink("..", skill.join("bad")).unwrap(), "bad"),
    (
        "a FIFO",
        |skill| assert!(Command::new("mkfifo").arg(skill.join("bad")).status().unwrap().success()),
        "neither a file nor a folder",
    ),
    (
        "a socket",
        |skill| drop(UnixListener::bind(skill.join("bad")).unwrap()),
        "neither a file nor a folder",
    ),
    (
        "a link to a device",
        |skill| symlink("/dev/zero", skill.join("bad")).unwrap(),
        "neither a file nor a folder",
    ),
];

#[test]
fn sp_21_se_06_what_cannot_be_copied_is_an_error_before_anything_changes() {
    for (attack, arrange, said) in UNINSTALLABLE {
        let world = team(&["b/before"]);
        install(&world).ok();
        let before = (world.files(SINK), world.files("home/.skillpack"));
        world.skill("a/deep");
        world.skill("c");
        arrange(&world.repo().join("skills/a/deep"));
        append(&world.repo().join("skills/b/before/SKILL.md"), "changed\n");
        let run = install(&world).fails(3);
        assert!(
            run.stderr.contains(said) && run.stderr.contains("skills/a/deep/bad"),
            "{attack}: {run}"
        );
        assert!(run.stderr.contains("\nhint: ") && run.stdout.is_empty(), "{attack}: {run}");
        assert_eq!(
            (world.files(SINK), state_alone(&world)),
            (before.0, only_state(before.1)),
            "{attack}"
        );
    }
}

fn state_alone(world: &World) -> Files {
    only_state(world.files("home/.skillpack"))
}

fn only_state(files: Files) -> Files {
    files
        .into_iter()
        .filter(|(path, _)| {
            path == "state.json" || path.contains("trash") || path.contains("journal")
        })
        .collect()
}

#[test]
fn sp_21_se_06_a_dry_run_finds_what_cannot_be_copied_too() {
    let world = team(&["a"]);
    symlink("nowhere", world.repo().join("skills/a/bad")).unwrap();
    let run = world.sp(&["install", "team", "--agent", "claude", "--dry-run"]);
    assert_eq!(run.code, Some(3), "what an install would refuse, its dry run refuses: {run}");
}

#[test]
fn se_06_special_bits_are_dropped_and_the_executable_bit_is_kept() {
    let world = team(&["a"]);
    let skill = world.repo().join("skills/a");
    for (name, bits) in [
        ("setuid", 0o4755),
        ("setgid", 0o2755),
        ("sticky", 0o1644),
        ("open", 0o666),
        ("wild", 0o777),
    ] {
        world.write(&format!("skills/a/{name}"), "x");
        chmod(&skill.join(name), bits);
    }
    world.write("skills/a/dir/x", "x");
    chmod(&skill.join("dir"), 0o3777);
    install(&world).ok();
    let installed = world.path(SINK).join("team__a");
    for (name, executable) in [
        ("setuid", true),
        ("setgid", true),
        ("sticky", false),
        ("open", false),
        ("wild", true),
        ("dir", true),
    ] {
        let mode = mode(&installed.join(name));
        assert_eq!(mode & 0o7022, 0, "{name}: {mode:o}");
        assert_eq!(mode & 0o100 != 0, executable, "{name}: {mode:o}");
    }
}

#[test]
fn se_06_a_hard_link_becomes_a_copy() {
    let world = team(&["a"]);
    let skill = world.repo().join("skills/a");
    std::fs::hard_link(skill.join("SKILL.md"), skill.join("TWIN.md")).unwrap();
    install(&world).ok();
    let inode = |path: PathBuf| path.metadata().unwrap().ino();
    let installed = world.path(SINK).join("team__a");
    let inodes = [
        inode(skill.join("SKILL.md")),
        inode(installed.join("SKILL.md")),
        inode(installed.join("TWIN.md")),
    ];
    assert!(
        inodes[0] != inodes[1] && inodes[0] != inodes[2] && inodes[1] != inodes[2],
        "{inodes:?}"
    );
}

#[test]
fn sp_22_a_folder_that_somebody_else_put_there_is_left_alone() {
    let world = team(&["a", "b"]);
    std::fs::create_dir_all(world.path(SINK).join("team__b")).unwrap();
    std::fs::write(world.path(SINK).join("team__b/mine.md"), "mine\n").unwrap();
    let before = world.files(SINK);
    insta::assert_snapshot!(install(&world), @"
    exit: 4
    --- stderr
    error: `team__b` in `~/.claude/skills` was not installed by this pack
      because: no pack owns it: somebody put it there by hand, or with another tool

    hint: move it away, or give this pack another `install.prefix`
    ");
    assert_eq!(world.files(SINK), before);
    assert!(!world.path("home/.skillpack/state.json").exists());
}

#[test]
fn sp_22_a_folder_of_another_pack_is_left_alone() {
    let world = team(&["a"]);
    world.pack("other", "name: other\ninclude: [a]\ninstall: {prefix: team}\n");
    install(&world).ok();
    let before = world.files(SINK);
    insta::assert_snapshot!(world.sp(&["install", "other", "--agent", "claude"]), @"
    exit: 4
    --- stderr
    error: `team__a` in `~/.claude/skills` was not installed by this pack
      because: `team` from `~/repo/packs/team.yaml` owns it

    hint: `sp uninstall team --agent claude`, or give this pack another `install.prefix`
    ");
    assert_eq!(world.files(SINK), before);
}

#[test]
fn sp_22_a_file_or_a_link_in_the_place_of_a_new_folder_is_left_alone() {
    let world = team(&["a"]);
    std::fs::create_dir_all(world.path(SINK)).unwrap();
    std::fs::create_dir_all(world.path("precious")).unwrap();
    let place = world.path(SINK).join("team__a");
    std::fs::write(&place, "a file").unwrap();
    install(&world).fails(4);
    std::fs::remove_file(&place).unwrap();
    for target in [world.path("precious"), world.path("nowhere")] {
        symlink(&target, &place).unwrap();
        install(&world).fails(4);
        assert_eq!(std::fs::read_link(&place).unwrap(), target);
        std::fs::remove_file(&place).unwrap();
    }
    assert!(world.files("precious").is_empty());
}

#[test]
fn sp_23_what_is_no_longer_selected_goes_and_nothing_else_does() {
    let world = team(&["a", "b", "c"]);
    world.pack("other", "name: other\ninclude: [b]\n");
    install(&world).ok();
    world.sp(&["install", "other", "--agent", "claude"]).ok();
    std::fs::create_dir_all(world.path(SINK).join("team__foreign")).unwrap();
    world.pack("team", "name: team\ninclude: [a]\n");
    insta::assert_snapshot!(install(&world), @"
    exit: 0
    --- stdout
    - team__b
    - team__c

    installed team · claude · ~/.claude/skills · 2 removed, 1 unchanged
    ");
    assert_eq!(folders(&world), ["other__b", "team__a", "team__foreign"]);
    world.pack("team", "name: team\ninclude: [a]\ninstall: {prefix: new}\n");
    install(&world).ok();
    assert_eq!(folders(&world), ["new__a", "other__b", "team__foreign"]);
}

#[test]
fn sp_23_a_pack_whose_excludes_take_everything_out_removes_all_with_a_warning() {
    let world = team(&["a"]);
    install(&world).ok();
    world.pack("team", "name: team\ninclude: [a]\nexclude: ['**']\n");
    insta::assert_snapshot!(install(&world), @"
    exit: 0
    --- stdout
    - team__a

    installed team · claude · ~/.claude/skills · 1 removed
    --- stderr
    warning: the pack `team` selects no skill: its excludes take everything out
    ");
    assert!(folders(&world).is_empty());
}

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
        std::fs::write(folder.join("deep/er/mine"), "mine").unwrap()
    }),
    ("a file is removed", |folder| std::fs::remove_file(folder.join("run.sh")).unwrap()),
    ("an empty folder is removed", |folder| std::fs::remove_dir(folder.join("empty")).unwrap()),
    ("a file is renamed", |folder| {
        std::fs::rename(folder.join("run.sh"), folder.join("walk.sh")).unwrap()
    }),
    ("a bit is set", |folder| chmod(&folder.join("SKILL.md"), 0o755)),
    ("a bit is taken", |folder| chmod(&folder.join("run.sh"), 0o644)),
    ("a file becomes a link", |folder| {
        std::fs::remove_file(folder.join("SKILL.md")).unwrap();
        symlink("run.sh", folder.join("SKILL.md")).unwrap();
    }),
    ("a FIFO is added", |folder| {
        assert!(Command::new("mkfifo").arg(folder.join("pipe")).status().unwrap().success())
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

#[test]
fn as_01_as_03_install_is_lenient_and_warns() {
    let world = team(&[]);
    world.write("skills/a-none/SKILL.md", "# Just text\n");
    world.write("skills/c-open/SKILL.md", "---\nname: c-open\n");
    world.write(
        "skills/d-dashes/SKILL.md",
        "---\nname: d-dashes\ndescription: \"one\n---\n  two\"\n---\nBody\n",
    );
    world.write("skills/e-flow/SKILL.md", "---\n{name: e-flow, description: Flow.}\n---\n");
    world.write("skills/f-nameless/SKILL.md", "---\ndescription: No name.\n---\n");
    insta::assert_snapshot!(install(&world), @"
    exit: 0
    --- stdout
    + team__a-none
    + team__c-open
    + team__d-dashes
    + team__e-flow
    + team__f-nameless

    installed team · claude · ~/.claude/skills · 5 added
    --- stderr
    warning[AS-01]: it has no frontmatter
     --> ~/repo/skills/a-none/SKILL.md:1:1
      |
    1 | # Just text
      | ^
      |
      = help: start it with `---`, `name: …`, `description: …`, `---`

    warning[AS-01]: the frontmatter has no end
     --> ~/repo/skills/c-open/SKILL.md:1:1
      |
    1 | ---
      | ^^^
      |
      = help: close it with a line `---`

    warning[AS-02]: the frontmatter has no `name`
     --> ~/repo/skills/f-nameless/SKILL.md:2:1
      |
    2 | description: No name.
      | ^
      |
      = help: add `name: f-nameless`
    ");
    assert_eq!(folders(&world).len(), 5);
}

#[test]
fn as_01_a_byte_order_mark_is_a_warning_and_is_skipped() {
    let world = team(&[]);
    world.write("skills/a/SKILL.md", "\u{feff}---\nname: a\ndescription: Fine.\n---\n");
    let run = install(&world).ok();
    assert!(run.stderr.contains("warning[AS-01]: it starts with a byte-order mark"), "{run}");
    assert_eq!(
        run.stderr.matches("warning").count(),
        1,
        "the frontmatter behind it is read: {run}"
    );
}

#[test]
fn as_03_a_skill_md_that_is_no_text_is_refused_before_anything_changes() {
    let world = team(&["b"]);
    world.write("skills/a/SKILL.md", b"---\nname: a\xff\n---\n");
    insta::assert_snapshot!(install(&world), @"
    exit: 3
    --- stderr
    error[AS-01]: it is not UTF-8 text from byte 11 on
     --> ~/repo/skills/a/SKILL.md:2:8
      |
    2 | name: a
      |        ^
      |
      = help: save it as UTF-8

    error: a skill cannot be read
    ");
    assert!(world.files(SINK).is_empty(), "{:?}", world.files(SINK));
}

#[test]
fn as_03_many_warnings_are_counted_and_verbose_shows_all() {
    let world = team(&[]);
    (0..8)
        .for_each(|number| world.write(&format!("skills/s{number}/SKILL.md"), "no frontmatter\n"));
    let run = world.sp(&["install", "team", "--agent", "claude"]).ok();
    assert_eq!(run.stderr.matches("it has no frontmatter").count(), 5, "{run}");
    assert!(
        run.stderr.contains("warning: 3 more files have warnings; `--verbose` shows them"),
        "{run}"
    );
    let run = world.sp(&["install", "team", "--agent", "codex", "--verbose"]).ok();
    assert_eq!(run.stderr.matches("it has no frontmatter").count(), 8, "{run}");
}

#[test]
fn as_04_an_unquoted_colon_is_shown_with_its_line_and_its_quoted_form() {
    let world = team(&[]);
    world.write("skills/a/SKILL.md", "---\nname: a\ndescription: Use when: it rains\n---\n");
    let run = install(&world).ok();
    assert!(
        run.stderr.contains("warning[AS-04]") && run.stderr.contains("skills/a/SKILL.md:3:"),
        "{run}"
    );
    assert!(run.stderr.contains("3 | description: Use when: it rains"), "the line: {run}");
    let quoted = ["\"Use when: it rains\"", "'Use when: it rains'"];
    assert!(quoted.iter().any(|form| run.stderr.contains(form)), "the quoted form: {run}");
}

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
