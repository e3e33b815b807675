//! Backups, full disks and locked data directories.

use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use sp_testkit::{Registry, World, world};

use super::{Database, create_token, package, put, running_on, serve_command, start};

/// Returns version `1.<number>.0` of `@acme/notes` and its package.
fn version(number: usize) -> (String, Vec<u8>) {
    let version = format!("1.{number}.0");
    let bytes = package("@acme/notes", &version, &format!("{number} {}", "x".repeat(2_000)));
    (version, bytes)
}

#[test]
fn backup_of_a_busy_registry_is_complete_and_restorable() {
    let (world, registry, admin) = running_on(&Database::Sqlite);
    let me = create_token(&registry, &admin, "me", "publish");
    let publish = |number: usize| {
        let (version, bytes) = version(number);
        assert_eq!(put(&registry, &me, &format!("acme/notes/{version}"), &bytes).status, 201);
    };
    (0..5).for_each(publish);
    let data = world.path("registry").display().to_string();
    let backup = |number: usize| world.path(&format!("backup{number}")).display().to_string();
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let publishing = scope.spawn(|| {
            let is_running = |_: &usize| !is_done.load(Ordering::Relaxed);
            (5..500).take_while(is_running).map(publish).count()
        });
        for number in 0..5 {
            world.sp(&["serve", "backup", "--data", &data, &backup(number)]).ok();
        }
        is_done.store(true, Ordering::Relaxed);
        assert!(publishing.join().unwrap() > 0);
    });
    for number in 0..5 {
        assert_restorable(&world, &backup(number), &me);
    }
    let not_empty = world.sp_error(&["serve", "backup", "--data", &data, &backup(0)]);
    assert_eq!(not_empty.exit_code, 5);
    assert!(not_empty.message.contains("/backup0"), "{not_empty:?}");
}

/// Restores a backup, and downloads every version in it.
fn assert_restorable(world: &World, backup: &str, me: &str) {
    let other_world = world!();
    let data = other_world.path("registry").display().to_string();
    world.sp(&["serve", "restore", backup, "--data", &data]).ok();
    let restored = start(&other_world);
    assert_eq!(restored.admin, None);
    let index = restored.request("GET /api/v1/packages/acme/notes/index.json", None, b"").json();
    let count = index["versions"].as_array().unwrap().len();
    assert!(count >= 5, "{index}");
    for number in 0..count {
        let (version, bytes) = version(number);
        let download = restored.request(
            &format!("GET /api/v1/packages/acme/notes/{version}/download"),
            None,
            b"",
        );
        assert_eq!((download.status, download.body), (200, bytes));
    }
    // Tokens and search work, and versions that are not in the backup can be published again.
    let (version, bytes) = version(count);
    assert_eq!(put(&restored, me, &format!("acme/notes/{version}"), &bytes).status, 201);
    let search = restored.request("GET /api/v1/search?q=notes", None, b"").json();
    assert_eq!(search["packages"][0]["latest"], version.as_str());
}

#[test]
fn rg_105_damaged_objects_of_a_backup_are_not_restored() {
    let (world, registry, admin) = running_on(&Database::Sqlite);
    let me = create_token(&registry, &admin, "me", "publish");
    let (number, bytes) = version(0);
    put(&registry, &me, &format!("acme/notes/{number}"), &bytes);
    let root = world.root();
    let path = |name: &str| root.join(name).display().to_string();
    let (data, backup, new) = (path("registry"), path("backup"), path("new"));
    world.sp(&["serve", "backup", &backup, "--data", &data]).ok();
    let hash = sp_tree::Digest::of(&bytes).hex();
    let object = root.join("backup/objects").join(&hash[..2]).join(&hash[2..]);
    std::fs::write(&object, "something else").unwrap();
    let restore = |new: &str| {
        let run = world.sp(&["serve", "restore", &backup, "--data", new]).fails(5);
        assert!(run.stderr.contains("@acme/notes 1.0.0"), "{run}");
    };
    restore(&path("damaged"));
    std::fs::remove_file(&object).unwrap();
    restore(&path("missing"));
    // What is intact was restored.
    assert!(root.join("missing/registry.db").is_file());
    std::fs::write(&object, &bytes).unwrap();
    std::fs::create_dir(root.join("new")).unwrap();
    let restore = ["serve", "restore", &backup, "--data", &new];
    std::fs::write(root.join("new/mine"), "").unwrap();
    let not_empty = world.sp_error(&restore);
    assert_eq!(not_empty.exit_code, 5);
    assert!(not_empty.message.contains("/new`"), "{not_empty:?}");
    let no_registry =
        world.sp_error(&["serve", "backup", &path("other"), "--data", &path("nowhere")]);
    assert_eq!((&*no_registry.code, no_registry.exit_code), ("E-registry-not-found", 5));
    assert!(no_registry.hints_at("--data"), "{no_registry:?}");
    let no_backup = ["serve", "restore", &path("nowhere"), "--data", &path("other")];
    let no_backup = world.sp_error(&no_backup);
    assert_eq!(no_backup.code, "E-registry-not-found");
}

/// Starts a registry on a file system of this size, which ends with the registry.
fn start_on_small_disk(world: &World, megabytes: usize) -> Registry {
    let data = world.path("registry");
    std::fs::create_dir_all(&data).unwrap();
    let serve = serve_command(world, &[]);
    let script = format!("mount -t tmpfs -o size={megabytes}m tmpfs \"$0\" && exec \"$@\"");
    let mut command = Command::new("unshare");
    // Mounting needs root, or a user namespace in which the user is root.
    let is_root = std::fs::metadata("/proc/self")
        .is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0);
    command.arg(if is_root { "-m" } else { "-rm" }).args(["sh", "-c", &script]).arg(&data);
    command.arg(serve.get_program()).args(serve.get_args()).current_dir(world.repo()).env_clear();
    command.envs(serve.get_envs().filter_map(|(name, value)| Some((name, value?))));
    Registry::start(command)
}

#[test]
fn se_01_full_disk_is_reported_and_the_registry_keeps_working() {
    let world = world!();
    let registry = start_on_small_disk(&world, 8);
    let me = create_token(&registry, registry.admin.as_ref().unwrap(), "me", "publish");
    let publish = |number: usize| {
        let (version, bytes) = version(number);
        put(&registry, &me, &format!("acme/notes/{version}"), &bytes)
    };
    assert_eq!(publish(0).status, 201);
    // Only the mount namespace of the registry has the small disk.
    let filler = format!("/proc/{}/root{}/filler", registry.id(), world.path("registry").display());
    let mut file = std::fs::File::create(&filler).unwrap();
    let full = std::io::copy(&mut std::io::repeat(0), &mut file).unwrap_err();
    assert_eq!(full.kind(), std::io::ErrorKind::StorageFull);
    let refused = publish(1);
    assert_eq!(
        (refused.status, refused.json()["code"].as_str()),
        (507, Some("full")),
        "{refused:?}"
    );
    // Yanking writes only to the database.
    let yank_or_unyank = |number: usize| {
        let request = if number.is_multiple_of(2) {
            "DELETE /api/v1/packages/acme/notes/1.0.0"
        } else {
            "POST /api/v1/packages/acme/notes/1.0.0/unyank"
        };
        registry.request(request, Some(&me), b"").status
    };
    let refused = (0..2_000).map(yank_or_unyank).find(|status| *status != 204);
    assert_eq!(refused, Some(507));
    for path in ["/readyz", "/api/v1/index.json", "/api/v1/packages/acme/notes/index.json"] {
        assert_eq!(registry.request(&format!("GET {path}"), None, b"").status, 200, "{path}");
    }
    std::fs::remove_file(&filler).unwrap();
    drop(file);
    assert_eq!(publish(1).status, 201);
    for number in 0..2 {
        let (version, bytes) = version(number);
        let download = registry.request(
            &format!("GET /api/v1/packages/acme/notes/{version}/download"),
            None,
            b"",
        );
        assert_eq!((download.status, download.body), (200, bytes));
    }
}

#[test]
fn se_01_second_registry_does_not_touch_the_directory_of_the_first() {
    let world = world!();
    let registry = start(&world);
    let (admin, bytes) =
        (registry.admin.clone().unwrap(), package("@acme/notes", "1.0.0", "It is so."));
    std::fs::write(world.path("registry/incoming/partial"), "partial").unwrap();
    let data = world.path("registry").display().to_string();
    let in_use = world.sp_error(&["serve", "--data", &data, "--listen", "127.0.0.1:0"]);
    assert_eq!(in_use.exit_code, 5);
    assert!(in_use.message.contains("/registry`") && in_use.hints_at("--data"), "{in_use:?}");
    assert!(world.path("registry/incoming/partial").is_file());
    let answer = registry.request("PUT /api/v1/packages/acme/notes/1.0.0", Some(&admin), &bytes);
    assert_eq!(answer.status, 201, "{answer:?}");
    // A killed registry releases the directory.
    registry.kill();
    let next = start(&world);
    assert!(!world.path("registry/incoming/partial").exists());
    assert_eq!(
        next.request("GET /api/v1/packages/acme/notes/1.0.0/download", None, b"").body,
        bytes
    );
}
