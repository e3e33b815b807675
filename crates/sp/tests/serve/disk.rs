//! A registry and its disk: copied while it is used, and full.

use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use sp_testkit::{Registry, World, world};

use super::{Database, command, package, put, running, start, token};

fn version(number: usize) -> (String, Vec<u8>) {
    let version = format!("1.{number}.0");
    let bytes = package("@acme/notes", &version, &format!("{number} {}", "x".repeat(2_000)));
    (version, bytes)
}

#[test]
fn a_backup_of_a_registry_that_is_used_is_whole_and_comes_back_to_the_byte() {
    let (world, registry, admin) = running(&Database::Sqlite);
    let me = token(&registry, &admin, "me", "publish");
    let publish = |number: usize| {
        let (version, bytes) = version(number);
        assert_eq!(put(&registry, &me, &format!("acme/notes/{version}"), &bytes).status, 201);
    };
    (0..5).for_each(publish);
    let data = world.path("registry").display().to_string();
    let backup = |number: usize| world.path(&format!("backup{number}")).display().to_string();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let publishing = scope.spawn(|| {
            let goes_on = |_: &usize| !done.load(Ordering::Relaxed);
            (5..500).take_while(goes_on).map(publish).count()
        });
        for number in 0..5 {
            world.sp(&["serve", "backup", "--data", &data, &backup(number)]).ok();
        }
        done.store(true, Ordering::Relaxed);
        assert!(publishing.join().unwrap() > 0);
    });
    for number in 0..5 {
        is_whole(&world, &backup(number), &me);
    }
    let again = world.sp(&["serve", "backup", "--data", &data, &backup(0)]).fails(5);
    assert!(again.stderr.contains("is not empty"), "{again}");
}

/// Restores a backup and downloads everything that it lists.
fn is_whole(world: &World, backup: &str, me: &str) {
    let elsewhere = world!();
    let data = elsewhere.path("registry").display().to_string();
    world.sp(&["serve", "restore", backup, "--data", &data]).ok();
    let restored = start(&elsewhere);
    assert_eq!(restored.admin, None);
    let listed = restored.ask("GET /api/v1/packages/acme/notes/index.json", None, b"").json();
    let count = listed["versions"].as_array().unwrap().len();
    assert!(count >= 5, "{listed}");
    for number in 0..count {
        let (version, bytes) = version(number);
        let found =
            restored.ask(&format!("GET /api/v1/packages/acme/notes/{version}/download"), None, b"");
        assert_eq!((found.status, found.body), (200, bytes));
    }
    // Who may publish may still, what is found is found, and what was not in it can come again.
    let (version, bytes) = version(count);
    assert_eq!(put(&restored, me, &format!("acme/notes/{version}"), &bytes).status, 201);
    let found = restored.ask("GET /api/v1/search?q=notes", None, b"").json();
    assert_eq!(found["packages"][0]["latest"], version.as_str());
}

#[test]
fn a_backup_that_was_changed_is_not_restored() {
    let (mut world, registry, admin) = running(&Database::Sqlite);
    let me = token(&registry, &admin, "me", "publish");
    let (number, bytes) = version(0);
    put(&registry, &me, &format!("acme/notes/{number}"), &bytes);
    let root = world.root();
    let at = |name: &str| root.join(name).display().to_string();
    let (data, backup, new) = (at("registry"), at("backup"), at("new"));
    world.sp(&["serve", "backup", &backup, "--data", &data]).ok();
    let hash = sp_tree::Digest::of(&bytes).hex();
    let object = root.join("backup/objects").join(&hash[..2]).join(&hash[2..]);
    std::fs::write(&object, "something else").unwrap();
    let changed = world.sp(&["serve", "restore", &backup, "--data", &new]).fails(5);
    assert!(changed.stderr.contains("not those that were stored"), "{changed}");
    std::fs::remove_file(&object).unwrap();
    let missing = world.sp(&["serve", "restore", &backup, "--data", &new]).fails(5);
    assert!(missing.stderr.contains(&hash), "{missing}");
    assert_eq!(std::fs::read_dir(&new).unwrap().count(), 0);
    std::fs::write(&object, &bytes).unwrap();
    std::fs::write(root.join("new/mine"), "").unwrap();
    let full = world.sp(&["serve", "restore", &backup, "--data", &new]).fails(5);
    assert!(full.stderr.contains("is not empty"), "{full}");
    let nothing = world.sp(&["serve", "backup", &at("other"), "--data", &at("nowhere")]).fails(5);
    assert!(
        nothing.stderr.contains("there is no registry") && nothing.stderr.contains("pg_dump"),
        "{nothing}"
    );
    world.set_env("SP_DATABASE_URL", "postgres://sp@localhost/x");
    let elsewhere = world.sp(&["serve", "backup", &backup, "--data", &data]).fails(2);
    assert!(elsewhere.stderr.contains("pg_dump"), "{elsewhere}");
}

/// A registry on a disk of its own, of some megabytes, which goes away with it.
fn on_a_small_disk(world: &World, megabytes: usize) -> Registry {
    let folder = world.path("registry");
    std::fs::create_dir_all(&folder).unwrap();
    let serve = command(world, &[]);
    let script = format!("mount -t tmpfs -o size={megabytes}m tmpfs \"$0\" && exec \"$@\"");
    let mut small = Command::new("unshare");
    // Whoever is not root becomes one in a world of its own, if the system lets it.
    let is_root = std::fs::metadata("/proc/self")
        .is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0);
    small.arg(if is_root { "-m" } else { "-rm" }).args(["sh", "-c", &script]).arg(&folder);
    small.arg(serve.get_program()).args(serve.get_args()).current_dir(world.repo()).env_clear();
    small.envs(serve.get_envs().filter_map(|(name, value)| Some((name, value?))));
    Registry::start(small)
}

#[test]
fn se_01_a_full_disk_is_told_and_the_registry_works_on() {
    let world = world!();
    let registry = on_a_small_disk(&world, 8);
    let me = token(&registry, registry.admin.as_ref().unwrap(), "me", "publish");
    let publish = |number: usize| {
        let (version, bytes) = version(number);
        put(&registry, &me, &format!("acme/notes/{version}"), &bytes)
    };
    assert_eq!(publish(0).status, 201);
    // The registry sees a disk that we see only through its eyes.
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
    // What needs no bytes of a package needs the database.
    let yank = |number: usize| match number % 2 {
        0 => registry.ask("DELETE /api/v1/packages/acme/notes/1.0.0", Some(&me), b"").status,
        _ => registry.ask("POST /api/v1/packages/acme/notes/1.0.0/unyank", Some(&me), b"").status,
    };
    let refused = (0..2_000).map(yank).find(|status| *status != 204);
    assert_eq!(refused, Some(507));
    for path in ["/readyz", "/api/v1/index.json", "/api/v1/packages/acme/notes/index.json"] {
        assert_eq!(registry.ask(&format!("GET {path}"), None, b"").status, 200, "{path}");
    }
    std::fs::remove_file(&filler).unwrap();
    drop(file);
    assert_eq!(publish(1).status, 201);
    for number in 0..2 {
        let (version, bytes) = version(number);
        let found =
            registry.ask(&format!("GET /api/v1/packages/acme/notes/{version}/download"), None, b"");
        assert_eq!((found.status, found.body), (200, bytes));
    }
}

#[test]
fn se_01_a_second_registry_does_not_touch_the_folder_of_the_first() {
    let world = world!();
    let registry = start(&world);
    let (admin, bytes) =
        (registry.admin.clone().unwrap(), package("@acme/notes", "1.0.0", "It is so."));
    std::fs::write(world.path("registry/incoming/half"), "half of something").unwrap();
    let data = world.path("registry").display().to_string();
    let run = world.sp(&["serve", "--data", &data, "--listen", "127.0.0.1:0"]).fails(5);
    assert!(run.stderr.contains("another registry uses"), "{run}");
    assert!(world.path("registry/incoming/half").is_file());
    let answer = registry.ask("PUT /api/v1/packages/acme/notes/1.0.0", Some(&admin), &bytes);
    assert_eq!(answer.status, 201, "{answer:?}");
    // Its end, however sudden, frees the folder.
    registry.kill();
    let next = start(&world);
    assert!(!world.path("registry/incoming/half").exists());
    assert_eq!(next.ask("GET /api/v1/packages/acme/notes/1.0.0/download", None, b"").body, bytes);
}
