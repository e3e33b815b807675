//! What is stored, for whom, and how much. This file is compiled once for each database.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use sp_testkit::{Registry, World};
use sp_tree::Digest;

use super::{Database, create_token, get, objects_dir, package, put, running, serve_command};

fn running_with(module: &str, flags: &[&str]) -> (World, Registry, String) {
    let mut world = sp_testkit::world!();
    Database::of_module(module).use_in(&mut world);
    let registry = Registry::start(serve_command(&world, flags));
    let admin = registry.admin.clone().unwrap();
    (world, registry, admin)
}

/// Returns a package whose manifest says that it is private.
fn private_package(name: &str, version: &str) -> Vec<u8> {
    let text = String::from_utf8(package(name, version, "Ours.")).unwrap();
    let marked = text.replacen("{\"manifest\":{", "{\"manifest\":{\"visibility\":\"private\",", 1);
    assert_ne!(marked, text);
    marked.into_bytes()
}

/// Returns the objects of a registry.
fn objects(world: &World) -> Vec<PathBuf> {
    let list = |dir: &Path| -> Vec<PathBuf> {
        std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect()
    };
    let mut objects: Vec<PathBuf> =
        list(&objects_dir(world)).iter().flat_map(|dir| list(dir)).collect();
    objects.sort();
    objects
}

fn object_of(world: &World, bytes: &[u8]) -> PathBuf {
    let hex = Digest::of(bytes).hex();
    objects_dir(world).join(&hex[..2]).join(&hex[2..])
}

fn status(registry: &Registry, token: Option<&str>, path: &str) -> u16 {
    get(registry, token, path).status
}

fn call(registry: &Registry, request: &str, token: &str) -> u16 {
    registry.request(request, Some(token), b"").status
}

#[test]
fn rg_104_package_that_says_so_is_private() {
    let (_world, registry, admin) = running(module_path!());
    let [me, you] = ["me", "you"].map(|user| create_token(&registry, &admin, user, "publish"));
    let bytes = private_package("@acme/notes", "1.0.0");
    assert_eq!(put(&registry, &me, "acme/notes/1.0.0", &bytes).status, 201);
    let public = package("@acme/open", "1.0.0", "For everyone.");
    assert_eq!(put(&registry, &me, "acme/open/1.0.0", &public).status, 201);
    let path = "packages/acme/notes/index.json";
    for (token, expected) in [(None, 404), (Some(&*you), 404), (Some(&*me), 200)] {
        assert_eq!(status(&registry, token, path), expected);
    }
    // It cannot become public by accident.
    let show = "DELETE /api/v1/packages/acme/notes/private";
    let refused = registry.request(show, Some(&me), b"");
    assert_eq!((refused.status, &refused.json()["code"]), (409, &json!("marked_private")));
    // A public package becomes private with its first private version.
    let next = private_package("@acme/open", "1.1.0");
    assert_eq!(status(&registry, None, "packages/acme/open/index.json"), 200);
    assert_eq!(put(&registry, &me, "acme/open/1.1.0", &next).status, 201);
    assert_eq!(status(&registry, None, "packages/acme/open/index.json"), 404);
    let packages = get(&registry, None, "index.json").json();
    assert_eq!(packages["packages"], json!([]));
}

#[test]
fn rg_104_package_is_published_privately_with_the_flag_and_from_created_packages() {
    let (mut world, registry, admin) = running(module_path!());
    let me = create_token(&registry, &admin, "me", "publish");
    let file = world.path("notes.ctxpkg");
    std::fs::write(&file, package("@acme/notes", "1.0.0", "Ours.")).unwrap();
    world.set_env("SP_REGISTRY_TOKEN", &me);
    let (address, file) = (registry.address.clone(), file.display().to_string());
    world.sp(&["publish", &file, "--private", "--registry", &address]).ok();
    assert_eq!(status(&registry, None, "packages/acme/notes/index.json"), 404);
    assert_eq!(status(&registry, Some(&me), "packages/acme/notes/index.json"), 200);
    let input = "name: \"@acme/created\"\nversion: 1.0.0\nvisibility: private\n\
                 nodes:\n  - {id: n1, type: fact, content: Ours.}\n";
    std::fs::write(world.path("input.yaml"), input).unwrap();
    let input = world.path("input.yaml").display().to_string();
    let output = world.path("created.ctxpkg").display().to_string();
    world.sp(&["pkg", "create", "--input", &input, "--output", &output]).ok();
    let created: Value = serde_json::from_slice(&std::fs::read(&output).unwrap()).unwrap();
    assert_eq!(created["manifest"]["visibility"], "private");
    assert!(!created["content"].to_string().contains("visibility"), "{created}");
    world.sp(&["publish", &output, "--registry", &address]).ok();
    assert_eq!(status(&registry, None, "packages/acme/created/index.json"), 404);
}

#[test]
fn rg_104_new_packages_of_a_namespace_are_private_if_its_owners_want() {
    let (_world, registry, admin) = running(module_path!());
    let [me, you] = ["me", "you"].map(|user| create_token(&registry, &admin, user, "publish"));
    let publish = |name: &str, version: &str| {
        let bytes = package(&format!("@acme/{name}"), version, "Ours.");
        assert_eq!(put(&registry, &me, &format!("acme/{name}/{version}"), &bytes).status, 201);
        status(&registry, None, &format!("packages/acme/{name}/index.json"))
    };
    assert_eq!(publish("first", "1.0.0"), 200);
    let hide = "PUT /api/v1/namespaces/acme/private";
    assert_eq!((call(&registry, hide, &you), call(&registry, hide, &me)), (404, 204));
    // Existing packages keep their visibility.
    assert_eq!((publish("second", "1.0.0"), publish("first", "1.1.0")), (404, 200));
    assert_eq!(call(&registry, "DELETE /api/v1/namespaces/acme/private", &me), 204);
    assert_eq!((publish("third", "1.0.0"), publish("second", "1.1.0")), (200, 404));
    assert_eq!(call(&registry, "DELETE /api/v1/packages/acme/second/private", &me), 204);
    assert_eq!(status(&registry, None, "packages/acme/second/index.json"), 200);
}

#[test]
fn rg_104_nothing_is_visible_without_a_login_if_it_is_required() {
    let (_world, registry, admin) = running_with(module_path!(), &["--login-required"]);
    let bytes = package("@acme/notes", "1.0.0", "Ours.");
    assert_eq!(put(&registry, &admin, "acme/notes/1.0.0", &bytes).status, 201);
    for path in [
        "/",
        "/api/v1/index.json",
        "/api/v1/search?q=notes",
        "/api/v1/packages/acme/notes/1.0.0/download",
        "/api/openapi.json",
        "/badges/acme/notes.svg",
        "/packages/acme/notes",
        "/.well-known/agent-skills/index.json",
        "/nothing",
    ] {
        let request = format!("GET {path}");
        let answer = registry.request(&request, None, b"");
        assert_eq!(
            (answer.status, &answer.json()["code"]),
            (401, &json!("unauthorized")),
            "{path}"
        );
        let answer = registry.send(&request, &[("accept", "text/html")], b"");
        assert_eq!(answer.status, 303, "{path}");
        assert!(answer.header("location").unwrap().starts_with("/login?next="), "{answer:?}");
        let known = registry.request(&request, Some(&admin), b"").status;
        assert!([200, 404].contains(&known), "{path}: {known}");
    }
    for path in ["/login", "/healthz", "/readyz", "/metrics"] {
        assert_eq!(registry.request(&format!("GET {path}"), None, b"").status, 200, "{path}");
    }
    let signed = registry.request("GET /packs/pk_1/pack.json?sig=x", None, b"");
    assert_eq!(signed.status, 403, "{signed:?}");
}

#[test]
fn rg_80_refused_publish_stores_nothing() {
    let flags = ["--user-quota", "bytes=20KiB"];
    let (world, registry, admin) = running_with(module_path!(), &flags);
    let [me, you] = ["me", "you"].map(|user| create_token(&registry, &admin, user, "publish"));
    let bytes = package("@acme/notes", "1.0.0", "Ours.");
    assert_eq!(put(&registry, &me, "acme/notes/1.0.0", &bytes).status, 201);
    let before = objects(&world);
    let large = package("@mine/notes", "1.0.0", &"x".repeat(30_000));
    for (token, path, bytes, expected) in [
        (&you, "acme/notes/1.1.0", &package("@acme/notes", "1.1.0", "Not mine."), 403),
        (&me, "acme/notes/1.0.0", &package("@acme/notes", "1.0.0", "Changed."), 409),
        (&you, "mine/notes/1.0.0", &large, 403),
        (&me, "acme/other/1.0.0", &package("@acme/wrong", "1.0.0", "Renamed."), 400),
    ] {
        assert_eq!(put(&registry, token, path, bytes).status, expected, "{path}");
    }
    assert_eq!(objects(&world), before);
}

#[test]
fn rg_105_quotas_limit_users_and_namespaces_but_not_admins() {
    let flags =
        ["--user-quota", "bytes=100KiB,packages=2,publishes=3", "--namespace-quota", "packages=3"];
    let (_world, registry, admin) = running_with(module_path!(), &flags);
    let [me, you] = ["me", "you"].map(|user| create_token(&registry, &admin, user, "publish"));
    let publish = |token: &str, name: &str, version: &str| {
        let bytes = package(&format!("@acme/{name}"), version, "Ours.");
        let answer = put(&registry, token, &format!("acme/{name}/{version}"), &bytes);
        let code = answer.json()["code"].as_str().unwrap_or_default().to_owned();
        (answer.status, code)
    };
    let quota = |status: u16| (status, "quota".to_owned());
    assert_eq!(publish(&me, "one", "1.0.0").0, 201);
    assert_eq!(publish(&me, "two", "1.0.0").0, 201);
    assert_eq!(publish(&me, "three", "1.0.0"), quota(403));
    assert_eq!(publish(&me, "two", "1.1.0").0, 201);
    assert_eq!(publish(&me, "two", "1.2.0"), quota(429));
    let add = "PUT /api/v1/namespaces/acme/members/you";
    assert_eq!(call(&registry, add, &me), 204);
    assert_eq!(publish(&you, "three", "1.0.0").0, 201);
    assert_eq!(publish(&you, "four", "1.0.0"), quota(403));
    assert_eq!(publish(&admin, "four", "1.0.0").0, 201);
}

#[test]
fn rg_105_deleted_version_leaves_a_tombstone() {
    let (world, registry, admin) = running(module_path!());
    let me = create_token(&registry, &admin, "me", "publish");
    let versions = ["1.0.0", "1.1.0", "1.2.0"];
    let bytes = versions.map(|version| package("@acme/notes", version, "A password: hunter2."));
    for (version, bytes) in versions.iter().zip(&bytes) {
        assert_eq!(put(&registry, &me, &format!("acme/notes/{version}"), bytes).status, 201);
    }
    let delete = "POST /api/v1/packages/acme/notes/1.2.0/delete";
    let body = json!({"reason": "contains a password"}).to_string();
    for (token, expected) in [(&me, 401), (&admin, 204), (&admin, 404)] {
        assert_eq!(registry.request(delete, Some(token), body.as_bytes()).status, expected);
    }
    let data = world.path("registry").display().to_string();
    let arguments =
        ["serve", "delete", "@acme/notes@1.1.0", "--reason", "the same", "--data", &data];
    world.sp(&arguments).ok();
    assert_eq!(world.sp_error(&arguments).code, "E-version-not-found");
    let index = get(&registry, None, "packages/acme/notes/index.json").json();
    assert_eq!(index["latest"], "1.0.0");
    for number in 0..2 {
        let item = &index["versions"][number];
        assert_eq!((&item["deleted"], &item["yanked"]), (&json!(true), &json!(true)), "{index}");
        let version = item["version"].as_str().unwrap();
        let path = format!("packages/acme/notes/{version}");
        let download = get(&registry, None, &format!("{path}/download"));
        assert_eq!((download.status, &download.json()["code"]), (410, &json!("deleted")));
        assert_eq!(status(&registry, None, &path), 404);
        // The number stays taken, and it stays yanked.
        assert_eq!(put(&registry, &me, &format!("acme/notes/{version}"), &bytes[0]).status, 409);
        assert_eq!(call(&registry, &format!("POST /api/v1/{path}/unyank"), &me), 404);
    }
    assert!(object_of(&world, &bytes[0]).is_file());
    assert!(!object_of(&world, &bytes[1]).exists() && !object_of(&world, &bytes[2]).exists());
    let audit = get(&registry, Some(&admin), "audit").json();
    assert_eq!(audit[0]["subject"], "@acme/notes 1.1.0: the same");
    assert_eq!(audit[1]["action"], "delete");
    assert_eq!(registry.request("GET /packages/acme/notes", None, b"").status, 200);
}

#[test]
fn rg_81_only_old_objects_that_nothing_refers_to_are_garbage() {
    let (world, registry, admin) = running(module_path!());
    let bytes = package("@acme/notes", "1.0.0", "Ours.");
    assert_eq!(put(&registry, &admin, "acme/notes/1.0.0", &bytes).status, 201);
    // The clock of the world is fixed, so times are relative to the newest object.
    let write = |name: &str, age: Duration| {
        let file = object_of(&world, name.as_bytes());
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, name).unwrap();
        set_age(&file, age);
        file
    };
    let (hour, year) = (Duration::from_secs(3600), Duration::from_secs(365 * 24 * 3600));
    set_age(&object_of(&world, &bytes), year * 40);
    let (old, recent) = (write("old", year * 40), write("recent", hour));
    let data = world.path("registry").display().to_string();
    let collect = |flags: &[&str]| -> Value {
        let base = ["serve", "gc", "--data", &data, "--format", "json"];
        serde_json::from_str(&world.sp(&[&base, flags].concat()).ok().stdout).unwrap()
    };
    let found = collect(&["--dry-run"]);
    assert_eq!(found["objects"], json!([Digest::of(b"old").hex()]), "{found}");
    assert!(old.is_file());
    assert_eq!(collect(&[])["deleted"], json!(true));
    assert!(!old.exists() && recent.is_file());
    assert_eq!(get(&registry, None, "packages/acme/notes/1.0.0/download").body, bytes);
    let short = ["serve", "gc", "--data", &data, "--gc-grace", "30m"];
    assert_eq!(world.sp_error(&short).code, "E-invalid-arguments");
}

fn set_age(file: &Path, age: Duration) {
    let file = std::fs::File::options().write(true).open(file).unwrap();
    file.set_modified(SystemTime::now() - age).unwrap();
}

#[test]
fn rg_105_damaged_object_names_its_package_and_does_not_stop_others() {
    let (world, registry, admin) = running(module_path!());
    let versions = ["1.0.0", "1.1.0", "1.2.0"];
    let bytes = versions.map(|version| package("@acme/notes", version, version));
    for (version, bytes) in versions.iter().zip(&bytes) {
        assert_eq!(put(&registry, &admin, &format!("acme/notes/{version}"), bytes).status, 201);
    }
    let data = world.path("registry").display().to_string();
    let verify = ["serve", "verify", "--data", &data];
    world.sp(&verify).ok();
    std::fs::write(object_of(&world, &bytes[1]), "something else").unwrap();
    std::fs::remove_file(object_of(&world, &bytes[2])).unwrap();
    let damaged = |arguments: &[&str]| -> Vec<Value> {
        let run = world.sp(&[arguments, &["--format", "json"]].concat()).fails(5);
        assert!(run.stderr.contains("E-damaged-data"), "{run}");
        let report: Value = serde_json::from_str(&run.stdout).unwrap();
        let damaged = report["damaged"].as_array().unwrap().iter();
        let mut found: Vec<Value> =
            damaged.map(|one| json!([one["used_by"][0], one["problem"]])).collect();
        found.sort_by_key(ToString::to_string);
        found
    };
    let expected =
        [json!(["@acme/notes 1.1.0", "damaged"]), json!(["@acme/notes 1.2.0", "missing"])];
    assert_eq!(damaged(&verify), expected);
    let backup = world.path("backup").display().to_string();
    assert_eq!(damaged(&["serve", "backup", "--data", &data, &backup]), expected);
    assert!(world.path("backup/registry.db").is_file());
    let hex = Digest::of(&bytes[0]).hex();
    let copied = world.path("backup/objects").join(&hex[..2]).join(&hex[2..]);
    assert_eq!(std::fs::read(copied).unwrap(), bytes[0]);
}
