//! `sp serve`: context packs behind signed addresses, and skills where other installers look for
//! them, on both databases.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test arranges its world with the plain calls"
)]

#[path = "serve_packs/access.rs"]
mod access;
#[path = "serve_packs/access.rs"]
#[expect(clippy::duplicate_mod, reason = "what holds must hold on each database")]
mod access_on_postgres;
#[path = "serve_packs/discovery.rs"]
mod discovery;
#[path = "serve_packs/discovery.rs"]
#[expect(clippy::duplicate_mod, reason = "what holds must hold on each database")]
mod discovery_on_postgres;
#[path = "made/skills.rs"]
mod made;
#[path = "serve_packs/packs.rs"]
mod packs;
#[path = "serve_packs/packs.rs"]
#[expect(clippy::duplicate_mod, reason = "what holds must hold on each database")]
mod packs_on_postgres;
#[path = "serve_packs/uploads.rs"]
mod uploads;

use serde_json::json;
use sp_testkit::{HttpAnswer, Postgres, Registry, World, world};

fn start(world: &World) -> Registry {
    let data = world.path("registry").display().to_string();
    Registry::start(world.command(&[
        "serve",
        "--data",
        &data,
        "--listen",
        "127.0.0.1:0",
        "--format",
        "json",
    ]))
}

/// A world with a registry on the database that a module is named for, and the tokens of its admin
/// and of somebody who may publish.
fn running(module: &str) -> (World, Registry, String, String) {
    let mut world = world!();
    if module.ends_with("postgres") {
        world.set_env("SP_DATABASE_URL", &Postgres::shared().database().address());
    }
    let registry = start(&world);
    let admin = registry.admin.clone().unwrap();
    let me = token(&registry, &admin, "me");
    (world, registry, admin, me)
}

fn token(registry: &Registry, admin: &str, user: &str) -> String {
    let wanted = json!({"user": user, "scope": "publish"}).to_string();
    let answer = registry.ask("POST /api/v1/tokens", Some(admin), wanted.as_bytes());
    assert_eq!(answer.status, 201, "{answer:?}");
    answer.json()["token"].as_str().unwrap().to_owned()
}

fn get(registry: &Registry, path: &str) -> HttpAnswer {
    registry.ask(&format!("GET {path}"), None, b"")
}

fn get_with(registry: &Registry, path: &str, headers: &[(&str, &str)]) -> HttpAnswer {
    registry.send(&format!("GET {path}"), headers, b"")
}

/// What a command prints, with the port as it is.
fn raw(world: &World, args: &[&str]) -> String {
    let output = world.command(args).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}
