//! What an install copies, and how.

use std::os::unix::net::UnixListener;

use sp_testkit::{Entry, Files};

use super::*;

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
