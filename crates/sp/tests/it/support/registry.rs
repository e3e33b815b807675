//! Starts registries and creates tokens.

use std::process::Command;

use serde_json::json;
use sp_testkit::{Registry, World};

/// Returns the command of a registry whose data is in the directory `registry` of the world.
pub(crate) fn serve_command(world: &World, flags: &[&str]) -> Command {
    let data = world.path("registry").display().to_string();
    let serve = ["serve", "--data", &data, "--listen", "127.0.0.1:0", "--format", "json"];
    world.command(&[&serve, flags].concat())
}

pub(crate) fn start(world: &World) -> Registry {
    Registry::start(serve_command(world, &[]))
}

/// Creates a token with the scope `read` or `publish`.
pub(crate) fn create_token(registry: &Registry, admin: &str, user: &str, scope: &str) -> String {
    let body = json!({"user": user, "scope": scope}).to_string();
    let answer = registry.request("POST /api/v1/tokens", Some(admin), body.as_bytes());
    assert_eq!(answer.status, 201, "{answer:?}");
    answer.json()["token"].as_str().unwrap().to_owned()
}
