//! `sp serve`: context packs behind signed URLs, and skills for other installers, on SQLite and
//! PostgreSQL.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test sets up its world with plain calls"
)]

#[path = "serve_context_packs/access.rs"]
mod access;
#[path = "serve_context_packs/access.rs"]
#[expect(clippy::duplicate_mod, reason = "the same tests run on both databases")]
mod access_on_postgres;
#[path = "serve_context_packs/discovery.rs"]
mod discovery;
#[path = "serve_context_packs/discovery.rs"]
#[expect(clippy::duplicate_mod, reason = "the same tests run on both databases")]
mod discovery_on_postgres;
#[path = "serve_support/fixtures.rs"]
mod fixtures;
#[path = "serve_context_packs/hosting.rs"]
mod hosting;
#[path = "serve_context_packs/hosting.rs"]
#[expect(clippy::duplicate_mod, reason = "the same tests run on both databases")]
mod hosting_on_postgres;
#[path = "made/skills.rs"]
mod made;
#[path = "serve_support/registry.rs"]
mod registry;
#[path = "serve_context_packs/uploads.rs"]
mod uploads;

use sp_testkit::{HttpResponse, Registry, World};

use fixtures::world_of_module;
use registry::start;

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
