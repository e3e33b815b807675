//! What a local skill may hold, and what may not be opened.

use super::*;

/// Puts something at a path.
type Maker<'a> = &'a dyn Fn(&Path);

#[test]
fn sp_21_fifos_sockets_and_devices_in_a_local_skill_are_refused_unopened() {
    let made: [(&str, Maker<'_>); 5] = [
        ("fifo", &|path| assert!(Command::new("mkfifo").arg(path).status().unwrap().success())),
        ("socket", &|path| drop(UnixListener::bind(path).unwrap())),
        ("device", &|path| {
            // Only root may make a device; a link to one is followed to the same end.
            let made = Command::new("mknod")
                .arg(path)
                .args(["c", "1", "5"])
                .stderr(Stdio::null())
                .status();
            if !made.is_ok_and(|status| status.success()) {
                symlink("/dev/zero", path).unwrap();
            }
        }),
        ("link-to-device", &|path| symlink("/dev/zero", path).unwrap()),
        ("terminal", &|path| symlink("/dev/tty", path).unwrap()),
    ];
    for (name, make) in made {
        let world = guarded();
        world.skill("evil");
        make(&world.repo().join("skills/evil").join(name));
        world.pack("bad", "name: bad\ninclude: [evil]\n");
        let run = refused(&world, 3, "is neither a file nor a folder");
        assert!(run.stderr.contains(name), "{run}");
    }
}

#[test]
fn sp_21_a_fifo_in_the_place_of_skill_md_or_of_a_pack_does_not_hang() {
    let world = guarded();
    std::fs::create_dir_all(world.repo().join("skills/evil")).unwrap();
    for path in ["skills/evil/SKILL.md", "packs/pipe.yaml"] {
        assert!(Command::new("mkfifo").arg(world.repo().join(path)).status().unwrap().success());
    }
    assert_eq!(world.sp(&["list"]).ok().stdout, "good\n");
    world.sp(&["packs"]).ok();
    world.sp(&["show", "packs/pipe.yaml"]).fails(1);
    world.pack("bad", "name: bad\ninclude: [evil]\n");
    refused(&world, 3, "SP-17");
}

#[test]
fn se_06_setuid_setgid_sticky_and_world_writable_bits_are_dropped() {
    let world = guarded();
    world.write("skills/good/tool", "x");
    world.write("skills/good/open/file", "x");
    let mode = |path: &str, mode: u32| {
        std::fs::set_permissions(
            world.repo().join("skills/good").join(path),
            PermissionsExt::from_mode(mode),
        )
        .unwrap();
    };
    mode("tool", 0o6777);
    mode("open/file", 0o666);
    mode("open", 0o3777);
    install(&world, "good").ok();
    let mode = |path: &str| {
        world.path("sink/good__good").join(path).metadata().unwrap().permissions().mode() & 0o7022
    };
    assert_eq!((mode("tool"), mode("open"), mode("open/file")), (0, 0, 0));
    assert_eq!(world.files("sink/good__good")["tool"], Entry::File("x".into(), true));
}

// Names that are not text, or that are one name.
