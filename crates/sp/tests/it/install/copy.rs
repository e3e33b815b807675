//! Which files are copied, and how.

use std::os::unix::net::UnixListener;

use sp_testkit::{FileEntry, FileMap};

use super::*;

#[test]
fn sp_20_sp_31_an_install_prints_what_it_added() {
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
fn sp_21_all_files_are_copied_and_links_are_followed() {
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
    let file = |text: &str, executable| FileEntry::File(text.into(), executable);
    let files = world.files(&format!("{SINK}/team__a"));
    assert_eq!(files["scripts/run.sh"], file("echo hi\n", true));
    assert_eq!(files["alias.sh"], file("echo hi\n", true));
    assert_eq!(files["linked"], FileEntry::Dir);
    assert_eq!(files["linked/file.txt"], file("from outside\n", false));
    assert_eq!(files[".hidden"], file("kept\n", false));
    assert_eq!(files["empty"], FileEntry::Dir);
    assert_eq!(
        std::fs::read(world.path(SINK).join("team__a/assets/logo.bin")).unwrap(),
        [0, 255, 7]
    );
    assert!(!files.values().any(|entry| matches!(entry, FileEntry::Link(_) | FileEntry::Special)));
}

struct InvalidEntry {
    name: &'static str,
    create: Edit,
    code: &'static str,
}

const INVALID_ENTRIES: [InvalidEntry; 7] = [
    InvalidEntry {
        name: "a dangling link",
        create: |skill| symlink("nowhere", skill.join("bad")).unwrap(),
        code: "E-unsafe-link",
    },
    InvalidEntry {
        name: "a link to itself",
        create: |skill| symlink("bad", skill.join("bad")).unwrap(),
        code: "E-unsafe-link",
    },
    InvalidEntry {
        name: "a link to its own directory",
        create: |skill| symlink(".", skill.join("bad")).unwrap(),
        code: "E-unsafe-link",
    },
    InvalidEntry {
        name: "a link to the parent directory",
        create: |skill| symlink("..", skill.join("bad")).unwrap(),
        code: "E-unsafe-link",
    },
    InvalidEntry {
        name: "a FIFO",
        create: |skill| {
            assert!(Command::new("mkfifo").arg(skill.join("bad")).status().unwrap().success());
        },
        code: "E-special-file",
    },
    InvalidEntry {
        name: "a socket",
        create: |skill| drop(UnixListener::bind(skill.join("bad")).unwrap()),
        code: "E-special-file",
    },
    InvalidEntry {
        name: "a link to a device",
        create: |skill| symlink("/dev/zero", skill.join("bad")).unwrap(),
        code: "E-special-file",
    },
];

#[test]
fn sp_21_se_06_invalid_entries_are_errors_and_nothing_changes() {
    for InvalidEntry { name, create, code } in INVALID_ENTRIES {
        let world = team(&["b/before"]);
        install(&world).ok();
        let before = (world.files(SINK), state_files(&world));
        world.skill("a/deep");
        world.skill("c");
        create(&world.repo().join("skills/a/deep"));
        append(&world.repo().join("skills/b/before/SKILL.md"), "changed\n");
        let error = install_error(&world);
        assert_eq!(error.code, code, "{name}: {error:?}");
        assert!(error.message.contains("skills/a/deep/bad"), "{name}: {error:?}");
        assert!(!error.hints.is_empty(), "{name}: {error:?}");
        assert_eq!((world.files(SINK), state_files(&world)), before, "{name}");
    }
}

/// Returns the state, journal and trash.
fn state_files(world: &World) -> FileMap {
    let mut files = world.files("home/.skillpack");
    files.retain(|path, _| {
        path == "state.json" || path.contains("trash") || path.contains("journal")
    });
    files
}

#[test]
fn sp_21_se_06_a_dry_run_reports_invalid_entries() {
    let world = team(&["a"]);
    symlink("nowhere", world.repo().join("skills/a/bad")).unwrap();
    let error = world.sp_error(&[INSTALL, &["--dry-run"]].concat());
    assert_eq!(error.code, "E-unsafe-link", "{error:?}");
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
        ("all", 0o777),
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
        ("all", true),
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
