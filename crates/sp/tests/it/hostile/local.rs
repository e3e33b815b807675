//! Special files and permissions in local skills.

use super::*;

/// Creates a special file.
type Create<'a> = &'a dyn Fn(&Path);

#[test]
fn sp_21_fifos_sockets_and_devices_in_a_local_skill_are_refused() {
    let special: [(&str, Create<'_>); 5] = [
        ("fifo", &|path| assert!(Command::new("mkfifo").arg(path).status().unwrap().success())),
        ("socket", &|path| drop(UnixListener::bind(path).unwrap())),
        ("device", &|path| {
            // Only root may create a device; a link to one must have the same result.
            let created = Command::new("mknod")
                .arg(path)
                .args(["c", "1", "5"])
                .stderr(Stdio::null())
                .status();
            if !created.is_ok_and(|status| status.success()) {
                symlink("/dev/zero", path).unwrap();
            }
        }),
        ("link-to-device", &|path| symlink("/dev/zero", path).unwrap()),
        ("terminal", &|path| symlink("/dev/tty", path).unwrap()),
    ];
    for (name, create) in special {
        let world = guarded();
        world.skill("evil");
        create(&world.repo().join("skills/evil").join(name));
        world.pack("bad", "name: bad\ninclude: [evil]\n");
        let error = refused(&world, "E-special-file");
        assert!(text_of(&error).contains(name), "{error:?}");
    }
}

#[test]
fn sp_21_a_fifo_instead_of_skill_md_or_a_pack_does_not_hang() {
    let world = guarded();
    std::fs::create_dir_all(world.repo().join("skills/evil")).unwrap();
    for path in ["skills/evil/SKILL.md", "packs/pipe.yaml"] {
        assert!(Command::new("mkfifo").arg(world.repo().join(path)).status().unwrap().success());
    }
    assert_eq!(world.sp(&["list", "--format", "plain"]).ok().stdout, "good\n");
    world.sp(&["packs"]).ok();
    assert_eq!(world.sp_error(&["show", "packs/pipe.yaml"]).code, "E-pack-not-found");
    world.pack("bad", "name: bad\ninclude: [evil]\n");
    refused(&world, "SP-17");
}

#[test]
fn se_06_setuid_setgid_sticky_and_world_writable_bits_are_dropped() {
    let world = guarded();
    world.write("skills/good/tool", "x");
    world.write("skills/good/open/file", "x");
    let set_mode = |path: &str, mode: u32| {
        std::fs::set_permissions(
            world.repo().join("skills/good").join(path),
            PermissionsExt::from_mode(mode),
        )
        .unwrap();
    };
    set_mode("tool", 0o6777);
    set_mode("open/file", 0o666);
    set_mode("open", 0o3777);
    install(&world, "good").ok();
    let mode = |path: &str| {
        world.path("sink/good__good").join(path).metadata().unwrap().permissions().mode() & 0o7022
    };
    assert_eq!((mode("tool"), mode("open"), mode("open/file")), (0, 0, 0));
    assert_eq!(world.files("sink/good__good")["tool"], FileEntry::File("x".into(), true));
}
