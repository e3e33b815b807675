//! Several registries on one PostgreSQL database and one bucket, and storages that fail.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, RwLock};

use serde_json::{Value, json};
use sp_testkit::{
    HttpResponse, Issuer, Postgres, PostgresDatabase, Registry, S3Server, World, eventually, world,
};

use super::{create_token, get, package, put, serve_command, start};
use crate::support::registry::{objects_dir, use_bucket};
use crate::support::skill_package::package_of_skills;

/// The environment that replicas have in common.
pub(super) struct Cluster<'a> {
    storage: &'a S3Server,
    database: PostgresDatabase<'a>,
    objects: String,
}

impl<'a> Cluster<'a> {
    pub(super) fn new(postgres: &'a Postgres, storage: &'a S3Server) -> Self {
        let objects = format!("s3://{}/registry", storage.create_bucket());
        Self { storage, database: postgres.database(), objects }
    }

    /// Returns a world with its own data directory.
    pub(super) fn world(&self) -> World {
        let mut world = world!();
        world.set_env("SP_DATABASE_URL", &self.database.address());
        for (name, value) in self.storage.variables() {
            world.set_env(name, &value);
        }
        world.set_env("SP_SERVE_OBJECTS", &self.objects);
        world
    }
}

fn status(registry: &Registry, request: &str) -> u16 {
    registry.request(request, None, b"").status
}

fn publish(registry: &Registry, token: &str, version: &str) -> u16 {
    put(registry, token, &format!("acme/notes/{version}"), &notes(version)).status
}

pub(super) fn notes(version: &str) -> Vec<u8> {
    package("@acme/notes", version, &format!("Version {version}. {}", "x".repeat(3_000)))
}

fn download(registry: &Registry, version: &str) -> (u16, Vec<u8>) {
    let answer = get(registry, None, &format!("packages/acme/notes/{version}/download"));
    (answer.status, answer.body)
}

/// Starts a registry with a version of a package. Returns the token of its admin, too.
fn start_with_notes(world: &World) -> (Registry, String) {
    let registry = start(world);
    let admin = registry.admin.clone().unwrap();
    assert_eq!(publish(&registry, &admin, "1.0.0"), 201);
    (registry, admin)
}

#[test]
fn rg_76_replicas_share_versions_sessions_and_quotas() {
    let cluster = Cluster::new(Postgres::shared(), S3Server::shared());
    let [one, other] = [cluster.world(), cluster.world()];
    let first = start(&one);
    let admin = first.admin.clone().unwrap();
    let second = Registry::start(serve_command(&other, &["--user-quota", "publishes=3"]));
    assert_eq!(second.admin, None);
    let me = create_token(&first, &admin, "me", "publish");
    assert_eq!(publish(&first, &me, "1.0.0"), 201);
    assert_eq!(publish(&second, &me, "1.0.0"), 409);
    assert_eq!(publish(&second, &me, "1.1.0"), 201);
    for registry in [&first, &second] {
        for version in ["1.0.0", "1.1.0"] {
            assert_eq!(download(registry, version), (200, notes(version)));
        }
    }
    // Nothing is kept in the data directories.
    for world in [&one, &other] {
        assert!(
            !world.path("registry/objects").exists()
                && !world.path("registry/registry.db").exists()
        );
    }
    // What one changes, the other shows at once.
    let yank = "DELETE /api/v1/packages/acme/notes/1.1.0";
    let index = || get(&second, None, "index.json").json()["packages"][0]["latest"].clone();
    assert_eq!(index(), "1.1.0");
    assert_eq!(first.request(yank, Some(&me), b"").status, 204);
    assert_eq!(index(), "1.0.0");
    let hide = "PUT /api/v1/packages/acme/notes/private";
    assert_eq!(first.request(hide, Some(&me), b"").status, 204);
    assert_eq!(download(&second, "1.0.0").0, 404);
    // Publishes with the first replica count for the second one.
    assert_eq!(publish(&first, &me, "1.2.0"), 201);
    assert_eq!(publish(&second, &me, "1.3.0"), 429);
    let form = format!("token={me}");
    let origin = format!("http://{}", first.address);
    let headers = [
        ("content-type", "application/x-www-form-urlencoded"),
        ("origin", origin.as_str()),
        ("sec-fetch-site", "same-origin"),
    ];
    let login = first.send("POST /login", &headers, form.as_bytes());
    assert_eq!(login.status, 303, "{login:?}");
    let cookie = login.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
    let page = |registry: &Registry| {
        registry.send("GET /packages/acme/notes", &[("cookie", &cookie)], b"").status
    };
    assert_eq!((page(&first), page(&second)), (200, 200));
    assert_eq!(first.request("DELETE /api/v1/tokens/2", Some(&admin), b"").status, 204);
    assert_eq!((page(&first), page(&second)), (404, 404));
}

#[test]
fn rg_70_identity_token_is_exchanged_once_by_all_replicas() {
    let cluster = Cluster::new(Postgres::shared(), S3Server::shared());
    let worlds = [cluster.world(), cluster.world()];
    let oidc = ["--public-url", "https://registry.example", "--oidc-allow-http"];
    let [first, second] =
        [0, 1].map(|number| Registry::start(serve_command(&worlds[number], &oidc)));
    let me = create_token(&first, first.admin.as_ref().unwrap(), "me", "publish");
    assert_eq!(publish(&first, &me, "1.0.0"), 201);
    let issuer = Issuer::start();
    let body = json!({"issuer": issuer.url(), "claims": {"sub": "job-1"}}).to_string();
    let add = "POST /api/v1/packages/acme/notes/publishers";
    assert_eq!(first.request(add, Some(&me), body.as_bytes()).status, 201);
    let identity = json!({"token": issuer.token("registry.example", &json!({}))}).to_string();
    let exchange = |registry: &Registry| {
        registry.request("POST /api/v1/oidc/token", None, identity.as_bytes())
    };
    let minted = exchange(&second);
    assert_eq!((minted.status, exchange(&first).status), (200, 422));
    let minted = minted.json();
    let token = minted["token"].as_str().unwrap();
    assert_eq!(publish(&first, token, "1.1.0"), 201);
    assert_eq!(first.request("DELETE /api/v1/oidc/token", Some(token), b"").status, 204);
    assert_eq!(publish(&second, token, "1.2.0"), 401);
}

#[test]
fn rg_76_replica_with_a_wrong_object_store_does_not_start() {
    let (postgres, storage) = (Postgres::shared(), S3Server::shared());
    let cluster = Cluster::new(postgres, storage);
    let world = cluster.world();
    let registry = start(&world);
    let admin = registry.admin.clone().unwrap();
    let refused = |world: &World, arguments: &[&str]| {
        let data = world.path("registry").display().to_string();
        world.sp_error(&[arguments, &["--data", &data]].concat()).code
    };
    let serve: &[&str] = &["serve", "--listen", "127.0.0.1:0"];
    // Before and after something was published.
    for version in ["1.0.0", "1.1.0"] {
        let mut other_bucket = cluster.world();
        use_bucket(&mut other_bucket, storage);
        let mut directory = cluster.world();
        directory.set_env("SP_SERVE_OBJECTS", "");
        let mut other_database = cluster.world();
        other_database.set_env("SP_DATABASE_URL", &postgres.database().address());
        let mut sqlite = cluster.world();
        sqlite.set_env("SP_DATABASE_URL", "");
        for world in [&other_bucket, &directory, &other_database, &sqlite] {
            assert_eq!(refused(world, serve), "E-wrong-object-store");
        }
        for command in [&["serve", "gc"][..], &["serve", "verify"]] {
            assert_eq!(refused(&other_bucket, command), "E-wrong-object-store");
            assert_eq!(refused(&directory, command), "E-wrong-object-store");
        }
        assert_eq!(publish(&registry, &admin, version), 201);
    }
    assert_eq!(download(&registry, "1.0.0"), (200, notes("1.0.0")));
    // A bucket to which the objects were copied is accepted.
    registry.kill();
    let mut copied = cluster.world();
    use_bucket(&mut copied, storage);
    let (from, to) = (objects_dir(&world), objects_dir(&copied));
    std::fs::create_dir_all(to.parent().unwrap()).unwrap();
    let moved = std::process::Command::new("cp").arg("-r").args([from, to]).status().unwrap();
    assert!(moved.success());
    assert_eq!(download(&start(&copied), "1.1.0"), (200, notes("1.1.0")));
}

#[test]
fn rg_76_unusable_object_store_is_reported_without_credentials() {
    let storage = S3Server::start();
    let cluster = Cluster::new(Postgres::shared(), &storage);
    let fails = |change: &dyn Fn(&mut World), code: &str| {
        let mut world = cluster.world();
        change(&mut world);
        let error =
            world.sp_error(&["serve", "--data", "x", "--listen", "127.0.0.1:0", "--verbose"]);
        assert_eq!(error.code, code, "{error:?}");
        assert!(!format!("{error:?}").contains(storage.secret()), "{error:?}");
        error
    };
    let set = |name: &'static str, value: &'static str| {
        move |world: &mut World| world.set_env(name, value)
    };
    fails(&set("SP_SERVE_OBJECTS", "https://bucket"), "E-invalid-arguments");
    let wrong = fails(&set("AWS_SECRET_ACCESS_KEY", "wrong"), "E-object-store");
    assert!(wrong.message.contains(&cluster.objects), "{wrong:?}");
    assert!(wrong.because[0].contains("write"), "{wrong:?}");
    fails(&set("AWS_ALLOW_HTTP", "false"), "E-object-store");
    storage.stop();
    fails(&|_| {}, "E-object-store");
}

fn assert_objects_are_unavailable(answer: &HttpResponse) {
    let expected = json!("objects_unavailable");
    assert_eq!((answer.status, &answer.json()["code"]), (503, &expected), "{answer:?}");
    assert!(answer.header("retry-after").is_some(), "{answer:?}");
    assert!(!answer.text().contains("127.0.0.1"), "{answer:?}");
}

/// Asserts that only what needs objects fails.
fn assert_serves_metadata(registry: &Registry) {
    for path in ["/healthz", "/metrics", "/api/v1/index.json", "/login", "/"] {
        assert_eq!(status(registry, &format!("GET {path}")), 200, "{path}");
    }
    let versions = get(registry, None, "packages/acme/notes/index.json").json();
    assert_eq!(versions["versions"].as_array().unwrap().len(), 1, "{versions}");
    let ready = eventually(|| {
        let ready = registry.request("GET /readyz", None, b"");
        (ready.status == 503).then_some(ready)
    });
    assert_eq!(ready.json()["code"], "objects_unavailable");
}

#[test]
fn rg_83_object_store_that_does_not_answer_is_not_waited_for_again_and_again() {
    let storage = S3Server::start();
    let cluster = Cluster::new(Postgres::shared(), &storage);
    let [one, other] = [cluster.world(), cluster.world()];
    let (_first, _) = start_with_notes(&one);
    let second = start(&other);
    storage.hang();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let path = "packages/acme/notes/1.0.0/download";
                assert_objects_are_unavailable(&get(&second, None, path));
            });
        }
    });
    assert_serves_metadata(&second);
    storage.resume();
    eventually(|| (download(&second, "1.0.0") == (200, notes("1.0.0"))).then_some(()));
}

#[test]
fn rg_83_outage_of_the_object_store_leaves_metadata_readable() {
    let storage = S3Server::start();
    let cluster = Cluster::new(Postgres::shared(), &storage);
    let [one, other] = [cluster.world(), cluster.world()];
    let (first, admin) = start_with_notes(&one);
    // It has cached nothing yet.
    let second = start(&other);
    storage.stop();
    for path in ["packages/acme/notes/1.0.0/download", "packages/acme/notes/1.0.0/readme"] {
        assert_objects_are_unavailable(&get(&second, None, path));
    }
    let refused = put(&second, &admin, "acme/notes/1.1.0", &notes("1.1.0"));
    assert_objects_are_unavailable(&refused);
    assert_serves_metadata(&second);
    storage.resume();
    eventually(|| (status(&second, "GET /readyz") == 200).then_some(()));
    assert!(second.metric("sp_storage_failures").unwrap() > 0);
    assert!(second.metric("sp_database_operations").unwrap() > 0);
    assert!(second.metric("sp_refusals_total{code=\"objects_unavailable\"}").unwrap() > 0);
    eventually(|| (download(&second, "1.0.0") == (200, notes("1.0.0"))).then_some(()));
    assert_eq!(publish(&second, &admin, "1.1.0"), 201);
    assert_eq!(download(&first, "1.1.0"), (200, notes("1.1.0")));
}

#[test]
fn rg_83_index_of_skills_is_not_empty_after_an_outage() {
    let storage = S3Server::start();
    let cluster = Cluster::new(Postgres::shared(), &storage);
    let [one, other] = [cluster.world(), cluster.world()];
    let first = start(&one);
    let bytes = package_of_skills(
        "@acme/tools",
        "1.0.0",
        &[("review/SKILL.md", b"---\nname: review\ndescription: Reviews.\n---\n\nDo it.\n")],
    );
    let admin = first.admin.clone().unwrap();
    assert_eq!(put(&first, &admin, "acme/tools/1.0.0", &bytes).status, 201);
    let second = start(&other);
    storage.stop();
    let index = "GET /.well-known/agent-skills/index.json";
    assert_eq!(status(&second, index), 503);
    storage.resume();
    let skills = eventually(|| {
        let answer = second.request(index, None, b"");
        (answer.status == 200).then(|| answer.json()["skills"].clone())
    });
    assert_eq!(skills.as_array().map(Vec::len), Some(1), "{skills}");
}

/// Publishes until that is certain to have succeeded. After an error, the version may exist.
fn publish_surely(registry: &RwLock<Registry>, token: &str, version: &str) {
    eventually(|| {
        let registry = registry.read().unwrap();
        [201, 409].contains(&publish(&registry, token, version)).then_some(())
    });
}

/// Asserts that a registry has exactly these versions, with their bytes.
fn assert_has_all(world: &World, registry: &Registry, versions: &[String]) {
    let index = get(registry, None, "packages/acme/notes/index.json").json();
    let mut found: Vec<&str> = index["versions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["version"].as_str().unwrap())
        .collect();
    found.sort_unstable();
    let mut expected: Vec<&str> = versions.iter().map(String::as_str).collect();
    expected.sort_unstable();
    assert_eq!(found, expected);
    for version in versions {
        assert_eq!(download(registry, version), (200, notes(version)), "{version}");
    }
    let data = world.path("registry").display().to_string();
    let report = world.sp(&["serve", "verify", "--data", &data, "--format", "json"]).ok();
    let report: Value = serde_json::from_str(&report.stdout).unwrap();
    assert_eq!(report["objects"], json!(versions.len()), "{report}");
}

/// Publishes versions to two registries alternately, and calls `disturb` several times meanwhile.
fn publish_while(
    cluster: &Cluster<'_>,
    count: usize,
    disturb: impl Fn(usize, &[(World, RwLock<Registry>)]) + Sync,
) {
    let start_one = || {
        let world = cluster.world();
        let registry = start(&world);
        (world, RwLock::new(registry))
    };
    let replicas = [start_one(), start_one()];
    let admin = replicas[0].1.read().unwrap().admin.clone().unwrap();
    let versions: Vec<String> = (0..count).map(|number| format!("1.{number}.0")).collect();
    let published = Mutex::new(BTreeMap::new());
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..4)
            .map(|worker| {
                let (versions, replicas, published, admin) =
                    (&versions, &replicas, &published, &admin);
                scope.spawn(move || {
                    for (number, version) in versions.iter().enumerate().skip(worker).step_by(4) {
                        publish_surely(&replicas[number % 2].1, admin, version);
                        published.lock().unwrap().insert(version, ());
                    }
                })
            })
            .collect();
        let (published, replicas, is_done, disturb) = (&published, &replicas, &is_done, &disturb);
        let disturbing = scope.spawn(move || {
            for round in 0..4 {
                let target = count * (round + 1) / 6;
                eventually(|| {
                    let enough = published.lock().unwrap().len() >= target;
                    (enough || is_done.load(Ordering::Relaxed)).then_some(())
                });
                disturb(round, replicas);
            }
        });
        let ended: Vec<bool> = workers.into_iter().map(|worker| worker.join().is_ok()).collect();
        is_done.store(true, Ordering::Relaxed);
        assert!(disturbing.join().is_ok() && ended.iter().all(|ok| *ok));
    });
    for (world, registry) in &replicas {
        assert_has_all(world, &registry.read().unwrap(), &versions);
    }
}

#[test]
fn rg_80_killed_replicas_lose_nothing() {
    let cluster = Cluster::new(Postgres::shared(), S3Server::shared());
    publish_while(&cluster, 100, |round, replicas| {
        let (world, registry) = &replicas[round % 2];
        registry.read().unwrap().kill();
        *registry.write().unwrap() = start(world);
    });
}

#[test]
fn rg_80_restarted_database_and_storage_lose_nothing() {
    let (postgres, storage) = (Postgres::start(), S3Server::start());
    let cluster = Cluster::new(&postgres, &storage);
    publish_while(&cluster, 40, |round, replicas| {
        if round % 2 == 0 {
            postgres.restart();
        } else {
            storage.stop();
            let unready = || {
                let ready = replicas[0].1.read().unwrap().request("GET /readyz", None, b"");
                (ready.status == 503).then_some(())
            };
            eventually(unready);
            storage.resume();
        }
    });
}
