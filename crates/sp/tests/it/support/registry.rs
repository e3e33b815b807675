//! Starts registries and creates tokens.

use std::path::PathBuf;
use std::process::Command;

use serde_json::json;
use sp_testkit::{Registry, S3Server, World};

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

/// Stores the objects of the world's registries in a new bucket.
pub(crate) fn use_bucket(world: &mut World, storage: &S3Server) {
    for (name, value) in storage.variables() {
        world.set_env(name, &value);
    }
    world.set_env("SP_SERVE_OBJECTS", &format!("s3://{}/registry", storage.create_bucket()));
}

/// Returns the directory of the objects: in the data directory, or in a bucket of the shared
/// storage.
pub(crate) fn objects_dir(world: &World) -> PathBuf {
    let url = world.env("SP_SERVE_OBJECTS").and_then(|url| url.strip_prefix("s3://"));
    match url.and_then(|url| url.split_once('/')) {
        None => world.path("registry/objects"),
        Some((bucket, prefix)) => S3Server::shared().path(bucket, prefix).join("objects"),
    }
}
