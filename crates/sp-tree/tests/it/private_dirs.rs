//! Files and directories in a private directory are accessible only to their owner.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use sp_tree::atomic::{Durability, TempFile, replace};
use sp_tree::{Dir, Follow, Name, PinnedDir, StaticName};

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

fn name(text: &str) -> Name {
    Name::new(text).unwrap()
}

fn pinned(path: &Path) -> PinnedDir {
    PinnedDir::open(path).unwrap()
}

#[test]
fn everything_in_a_private_directory_is_private() {
    let temp = tempfile::tempdir().unwrap();
    let home = temp.path().join("above/home");
    let dir = Dir::create_all_private(&home).unwrap();
    dir.create_dir(&name("a")).unwrap();
    let a = dir.open_dir(&name("a"), Follow::Never).unwrap();
    a.create_dir(&name("b")).unwrap();
    let b = a.open_dir(&name("b"), Follow::Never).unwrap();
    b.create_file(&name("file"), false).unwrap();
    b.create_file(&name("program"), true).unwrap();
    replace(
        &b,
        &name("replaced"),
        TempFile { dir: &dir, name: StaticName("temp") },
        b"x",
        Durability::Cache,
    )
    .unwrap();
    // An existing directory becomes private.
    Dir::create_all_private(&home.join("a")).unwrap().create_file(&name("later"), false).unwrap();
    pinned(&home.join("store/ab")).create(&dir).unwrap().create_file(&name("cd"), false).unwrap();
    for (path, expected) in [
        ("", 0o700),
        ("a", 0o700),
        ("a/b", 0o700),
        ("a/b/file", 0o600),
        ("a/b/program", 0o700),
        ("a/b/replaced", 0o600),
        ("a/later", 0o600),
        ("store", 0o700),
        ("store/ab", 0o700),
        ("store/ab/cd", 0o600),
    ] {
        assert_eq!(mode(&home.join(path)), expected, "{path}");
    }
}

#[test]
fn files_outside_of_private_directories_have_ordinary_modes() {
    let temp = tempfile::tempdir().unwrap();
    let (home, sink, plain) =
        (temp.path().join("home"), temp.path().join("sink/deep"), temp.path().join("plain"));
    std::fs::create_dir(&plain).unwrap();
    std::fs::write(plain.join("file"), "").unwrap();
    let home = Dir::create_all_private(&home).unwrap();
    let dir = pinned(&sink).create(&home).unwrap();
    dir.create_file(&name("file"), false).unwrap();
    assert_eq!(mode(&sink), mode(&plain));
    assert_eq!(mode(&sink.join("file")), mode(&plain.join("file")));
    // The home is recognized through a symbolic link.
    let link = temp.path().join("link");
    std::os::unix::fs::symlink(temp.path().join("home"), &link).unwrap();
    pinned(&link.join("index")).create(&home).unwrap();
    assert_eq!(mode(&temp.path().join("home/index")), 0o700);
}

#[test]
fn restrict_to_owner_removes_access_of_others() {
    let temp = tempfile::tempdir().unwrap();
    for before in [0o777, 0o755, 0o700] {
        std::fs::set_permissions(temp.path(), PermissionsExt::from_mode(before)).unwrap();
        Dir::open(temp.path()).unwrap().restrict_to_owner().unwrap();
        assert_eq!(mode(temp.path()), 0o700);
    }
}
