//! `sp serve`: the registry over HTTP, by friends, strangers and power cuts, on both databases.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test arranges its world with the plain calls"
)]

#[path = "serve/both.rs"]
#[expect(clippy::duplicate_mod, reason = "what holds must hold on each database")]
mod postgres;
#[path = "serve/both.rs"]
mod sqlite;

#[path = "serve/disk.rs"]
mod disk;
#[path = "made/knowledge.rs"]
mod made;
#[path = "serve/operations.rs"]
mod operations;
#[path = "serve/server.rs"]
mod server;

use serde_json::json;
use sp_testkit::{HttpAnswer, Postgres, PostgresDatabase, Registry, World, world};

/// What a registry stands on.
enum Database {
    Sqlite,
    Postgres(PostgresDatabase<'static>),
}

impl Database {
    fn postgres() -> Self {
        Self::Postgres(Postgres::shared().database())
    }

    /// Waits until what a registry had asked for before it died is done or not.
    fn settle(&self) {
        const BUSY: &str = "SELECT EXISTS (SELECT 1 FROM pg_stat_activity
            WHERE application_name = 'sp' AND datname = current_database() AND state <> 'idle')";
        let Self::Postgres(database) = self else { return };
        while database.query(BUSY) == "t" {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    }

    /// Everything that is kept but the bytes of packages.
    fn kept(&self, world: &World) -> Vec<u8> {
        let file =
            |name: &&str| std::fs::read(world.path("registry").join(name)).unwrap_or_default();
        match self {
            Self::Sqlite => ["registry.db", "registry.db-wal"].iter().flat_map(file).collect(),
            Self::Postgres(database) => database.dump(),
        }
    }
}

fn start(world: &World) -> Registry {
    Registry::start(command(world, &[]))
}

fn command(world: &World, flags: &[&str]) -> std::process::Command {
    let data = world.path("registry").display().to_string();
    let serve = ["serve", "--data", &data, "--listen", "127.0.0.1:0", "--format", "json"];
    world.command(&[&serve, flags].concat())
}

/// A world with a registry, and the token of its admin.
fn running(database: &Database) -> (World, Registry, String) {
    let mut world = world!();
    if let Database::Postgres(database) = database {
        world.set_env("SP_DATABASE_URL", &database.address());
    }
    let registry = start(&world);
    let admin = registry.admin.clone().unwrap();
    (world, registry, admin)
}

fn token(registry: &Registry, admin: &str, user: &str, scope: &str) -> String {
    let wanted = json!({"user": user, "scope": scope}).to_string();
    let answer = registry.ask("POST /api/v1/tokens", Some(admin), wanted.as_bytes());
    assert_eq!(answer.status, 201, "{answer:?}");
    answer.json()["token"].as_str().unwrap().to_owned()
}

/// The bytes of a package that says something.
fn package(name: &str, version: &str, said: &str) -> Vec<u8> {
    made::package_of_knowledge(name, version, &[("n1", said)])
}

fn put(registry: &Registry, token: &str, path: &str, bytes: &[u8]) -> HttpAnswer {
    registry.ask(&format!("PUT /api/v1/packages/{path}"), Some(token), bytes)
}
