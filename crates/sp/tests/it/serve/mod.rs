//! `sp serve`: the HTTP API and the commands that use it, crashes, disks and limits, on SQLite with
//! a directory and on PostgreSQL with S3.

mod api;
#[path = "api.rs"]
#[expect(clippy::duplicate_mod, reason = "the same tests run on both kinds of stores")]
mod api_on_postgres;
mod audit;
mod backups;
mod behind_nginx;
mod commands;
#[path = "commands.rs"]
#[expect(clippy::duplicate_mod, reason = "the same tests run on both kinds of stores")]
mod commands_on_postgres;
mod configuration;
mod disk;
mod operations;
mod postgres_server;
mod provider_login;
#[path = "provider_login.rs"]
#[expect(clippy::duplicate_mod, reason = "the same tests run on both kinds of stores")]
mod provider_login_on_postgres;
mod replicas;
mod slow_clients;
#[path = "slow_clients.rs"]
#[expect(clippy::duplicate_mod, reason = "the same tests run on both kinds of stores")]
mod slow_clients_on_postgres;
mod storage;
#[path = "storage.rs"]
#[expect(clippy::duplicate_mod, reason = "the same tests run on both kinds of stores")]
mod storage_on_postgres;
mod tokens;
#[path = "tokens.rs"]
#[expect(clippy::duplicate_mod, reason = "the same tests run on both kinds of stores")]
mod tokens_on_postgres;
mod trusted_publishing;
#[path = "trusted_publishing.rs"]
#[expect(clippy::duplicate_mod, reason = "the same tests run on both kinds of stores")]
mod trusted_publishing_on_postgres;
mod upgrade;

use sp_testkit::{
    HttpResponse, Postgres, PostgresDatabase, Registry, S3Server, World, eventually, world,
};

use crate::support::knowledge_package::package_of_knowledge;
use crate::support::registry::{create_token, objects_dir, serve_command, start, use_bucket};

/// The database of a registry.
enum Database {
    Sqlite,
    Postgres(PostgresDatabase<'static>),
}

impl Database {
    /// Returns the database that the name of a module ends with; SQLite by default.
    fn of_module(module: &str) -> Self {
        if module.ends_with("postgres") { Self::postgres() } else { Self::Sqlite }
    }

    fn postgres() -> Self {
        Self::Postgres(Postgres::shared().database())
    }

    /// Sets up a world: SQLite with a directory, or PostgreSQL with a new bucket.
    fn use_in(&self, world: &mut World) {
        if let Self::Postgres(database) = self {
            world.set_env("SP_DATABASE_URL", &database.address());
            use_bucket(world, S3Server::shared());
        }
    }

    /// Waits until the database has finished or aborted the statements of a killed registry.
    fn wait_until_idle(&self) {
        const BUSY: &str = "SELECT EXISTS (SELECT 1 FROM pg_stat_activity
            WHERE application_name = 'sp' AND datname = current_database() AND state <> 'idle')";
        let Self::Postgres(database) = self else { return };
        eventually(|| (database.query(BUSY) != "t").then_some(()));
    }

    /// Returns everything that is stored in the database.
    fn dump(&self, world: &World) -> Vec<u8> {
        let file =
            |name: &&str| std::fs::read(world.path("registry").join(name)).unwrap_or_default();
        match self {
            Self::Sqlite => ["registry.db", "registry.db-wal"].iter().flat_map(file).collect(),
            Self::Postgres(database) => database.dump(),
        }
    }
}

/// Returns a world with a registry on the database of a module, and the token of its admin.
fn running(module: &str) -> (World, Registry, String) {
    running_on(&Database::of_module(module))
}

fn running_on(database: &Database) -> (World, Registry, String) {
    let mut world = world!();
    database.use_in(&mut world);
    let registry = start(&world);
    let admin = registry.admin.clone().unwrap();
    (world, registry, admin)
}

/// Returns the bytes of a package with one node.
fn package(name: &str, version: &str, content: &str) -> Vec<u8> {
    package_of_knowledge(name, version, &[("n1", content)])
}

fn put(registry: &Registry, token: &str, path: &str, bytes: &[u8]) -> HttpResponse {
    registry.request(&format!("PUT /api/v1/packages/{path}"), Some(token), bytes)
}

fn get(registry: &Registry, token: Option<&str>, path: &str) -> HttpResponse {
    registry.request(&format!("GET /api/v1/{path}"), token, b"")
}

/// Returns the latest version of `@acme/notes`.
fn latest(registry: &Registry) -> serde_json::Value {
    get(registry, None, "packages/acme/notes/index.json").json()["latest"].clone()
}
