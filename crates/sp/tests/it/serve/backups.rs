//! Backups of registries on all kinds of stores, restored into all kinds of stores.

use serde_json::{Value, json};
use sp_testkit::{Registry, World, world};

use super::{
    Database, create_token, get, objects_dir, package, put, running_on, serve_command, start,
};

fn notes(version: &str) -> Vec<u8> {
    package("@acme/notes", version, &format!("Version {version}."))
}

fn publish(registry: &Registry, token: &str, version: &str) -> u16 {
    put(registry, token, &format!("acme/notes/{version}"), &notes(version)).status
}

/// What a registry shows, as far as it must be the same after a restore.
fn content(registry: &Registry, admin: &str) -> Value {
    let mut tokens = get(registry, Some(admin), "tokens").json();
    for token in tokens.as_array_mut().unwrap() {
        // It is written from time to time.
        token.as_object_mut().unwrap().remove("last_used_at");
    }
    json!({
        "index": get(registry, Some(admin), "index.json").json(),
        "notes": get(registry, None, "packages/acme/notes/index.json").json(),
        "tokens": tokens,
        "members": get(registry, Some(admin), "namespaces/acme/members").json(),
        "audit": get(registry, Some(admin), "audit").json(),
    })
}

/// Fills a registry with versions in all states. Returns the token of the user `me`.
fn fill(registry: &Registry, admin: &str) -> String {
    let me = create_token(registry, admin, "me", "publish");
    create_token(registry, admin, "gone", "read");
    registry.request("DELETE /api/v1/tokens/3", Some(admin), b"");
    for version in ["1.0.0", "1.1.0", "1.2.0"] {
        assert_eq!(publish(registry, &me, version), 201);
    }
    let hidden = package("@acme/hidden", "1.0.0", "Ours.");
    let path = "acme/hidden/1.0.0?visibility=private";
    assert_eq!(put(registry, &me, path, &hidden).status, 201);
    let yank = "DELETE /api/v1/packages/acme/notes/1.1.0";
    assert_eq!(registry.request(yank, Some(&me), b"").status, 204);
    let delete = "POST /api/v1/packages/acme/notes/1.2.0/delete";
    assert_eq!(registry.request(delete, Some(admin), br#"{"reason":"secret"}"#).status, 204);
    me
}

fn assert_is_restored(registry: &Registry, (admin, me): (&str, &str), expected: &Value) {
    assert_eq!(registry.admin, None);
    assert_eq!(content(registry, admin), *expected);
    for version in ["1.0.0", "1.1.0"] {
        let download = get(registry, None, &format!("packages/acme/notes/{version}/download"));
        assert_eq!((download.status, download.body), (200, notes(version)));
    }
    assert_eq!(get(registry, None, "packages/acme/hidden/index.json").status, 404);
    assert_eq!(get(registry, None, "search?q=notes").json()["packages"][0]["name"], "notes");
    // New rows get new IDs.
    assert_eq!(publish(registry, me, "2.0.0"), 201);
    create_token(registry, admin, "new", "read");
}

#[test]
fn rg_84_backup_is_restorable_into_all_kinds_of_stores() {
    for source in [Database::Sqlite, Database::postgres()] {
        let (world, registry, admin) = running_on(&source);
        let me = fill(&registry, &admin);
        let expected = content(&registry, &admin);
        let path = |name: &str| world.path(name).display().to_string();
        let (data, backup) = (path("registry"), path("backup"));
        let run = world.sp(&["serve", "backup", &backup, "--data", &data, "--format", "json"]).ok();
        let report: Value = serde_json::from_str(&run.stdout).unwrap();
        assert_eq!(report["objects"], json!(3), "{report}");
        for target in [Database::Sqlite, Database::postgres()] {
            let mut other = world!();
            target.use_in(&mut other);
            let data = other.path("registry").display().to_string();
            let restore = ["serve", "restore", &backup, "--data", &data];
            other.sp(&restore).ok();
            assert_is_restored(&start(&other), (&admin, &me), &expected);
            std::fs::remove_dir_all(other.path("registry")).unwrap();
            if let Database::Postgres(_) = target {
                assert_eq!(other.sp_error(&restore).code, "E-target-not-empty");
            }
        }
    }
}

#[test]
fn rg_84_damaged_objects_of_a_bucket_are_named_and_do_not_stop_a_backup() {
    let (world, registry, admin) = running_on(&Database::postgres());
    fill(&registry, &admin);
    let path = |name: &str| world.path(name).display().to_string();
    let hex = sp_tree::Digest::of(&notes("1.0.0")).hex();
    std::fs::write(objects_dir(&world).join(&hex[..2]).join(&hex[2..]), "something else").unwrap();
    let backup = path("backup");
    let run = world.sp(&["serve", "backup", &backup, "--data", &path("registry")]).fails(5);
    assert!(run.stderr.contains("@acme/notes 1.0.0"), "{run}");
    assert!(world.path("backup/registry.db").is_file());
}

#[test]
fn rg_84_backup_without_objects_is_restored_beside_them() {
    let (mut world, registry, admin) = running_on(&Database::postgres());
    let me = fill(&registry, &admin);
    let expected = content(&registry, &admin);
    let path = |world: &World, name: &str| world.path(name).display().to_string();
    let backup = path(&world, "backup");
    world
        .sp(&["serve", "backup", &backup, "--objects-stay", "--data", &path(&world, "registry")])
        .ok();
    let listed = std::fs::read_to_string(world.path("backup/objects.txt")).unwrap();
    assert_eq!(listed.lines().count(), 3, "{listed}");
    assert!(!world.path("backup/objects").exists());
    registry.kill();
    let Database::Postgres(database) = Database::postgres() else { unreachable!() };
    world.set_env("SP_DATABASE_URL", &database.address());
    world.sp(&["serve", "restore", &backup, "--data", &path(&world, "restored")]).ok();
    assert_is_restored(&Registry::start(serve_command(&world, &[])), (&admin, &me), &expected);
}
