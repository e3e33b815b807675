//! `sp serve`: context packs behind signed URLs, and skills for other installers, on SQLite with a
//! directory and on PostgreSQL with S3.

mod access;
#[path = "access.rs"]
#[expect(clippy::duplicate_mod, reason = "the same tests run on both kinds of stores")]
mod access_on_postgres;
mod discovery;
#[path = "discovery.rs"]
#[expect(clippy::duplicate_mod, reason = "the same tests run on both kinds of stores")]
mod discovery_on_postgres;
mod hosting;
#[path = "hosting.rs"]
#[expect(clippy::duplicate_mod, reason = "the same tests run on both kinds of stores")]
mod hosting_on_postgres;
mod uploads;

use sp_testkit::{HttpResponse, Registry, World};

use crate::support::registry::{self, start};
use crate::support::registry_fixtures::world_of_module;

/// Returns a world with a registry on the database of a module, and the tokens of its admin and of
/// the user `me`, who can publish.
fn running(module: &str) -> (World, Registry, String, String) {
    let world = world_of_module(module);
    let registry = start(&world);
    let admin = registry.admin.clone().unwrap();
    let me = create_token(&registry, &admin, "me");
    (world, registry, admin, me)
}

/// Creates the token of a user who can publish.
fn create_token(registry: &Registry, admin: &str, user: &str) -> String {
    registry::create_token(registry, admin, user, "publish")
}

fn get(registry: &Registry, path: &str) -> HttpResponse {
    registry.request(&format!("GET {path}"), None, b"")
}

fn get_with(registry: &Registry, path: &str, headers: &[(&str, &str)]) -> HttpResponse {
    registry.send(&format!("GET {path}"), headers, b"")
}

/// Returns the stdout of a command, in which the port is not replaced.
fn raw_stdout(world: &World, args: &[&str]) -> String {
    let output = world.command(args).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}
