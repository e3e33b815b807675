//! `sp mcp`: agents ask for themselves, over stdio and over HTTP, politely or not.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test arranges its world with the plain calls"
)]

mod changes;
mod generate;
mod hidden;
mod http;
mod load;
mod others;
mod protocol;
mod robust;
mod shutdown;
mod skills;
mod tools;

use serde_json::{Value, json};
use sp_testkit::{McpChild, World, bytes_of, world};

/// A server in the repository of a world.
fn serve(world: &World, args: &[&str]) -> McpChild {
    McpChild::start(world.command(&[&["mcp"], args].concat()))
}

/// A world with two skills, one of which has more files.
fn two_skills() -> World {
    let world = world!();
    world.skill("review");
    world.write(
        "skills/team/deploy/SKILL.md",
        "---\nname: deploy\ndescription: Deploys a service. Use when a release is due.\nlicense: MIT\nmetadata:\n  \
         version: 1.2\n---\n\n# Deploy\n\nFollow [the steps](references/steps.md).\n",
    );
    world.write("skills/team/deploy/references/steps.md", "1. Build.\n2. Ship.\n");
    world.write("skills/team/deploy/scripts/run.sh", "#!/bin/sh\necho run\n");
    world.write("skills/team/deploy/assets/logo.png", [0x89, b'P', b'N', b'G', 0, 0xff, 0xfe]);
    world
}

/// The bytes of a resource, to the letter.
fn bytes(server: &mut McpChild, uri: &str) -> Vec<u8> {
    let result = server.result("resources/read", json!({"uri": uri}));
    let contents = &result["contents"][0];
    assert_eq!(contents["uri"], uri);
    bytes_of(contents)
}

/// Everything of a list, page by page.
fn all(server: &mut McpChild, method: &str, member: &str) -> Vec<Value> {
    let mut items = Vec::new();
    let mut cursor = None;
    loop {
        let params = cursor.map_or_else(|| json!({}), |cursor: Value| json!({"cursor": cursor}));
        let page = server.result(method, params);
        items.extend(page[member].as_array().unwrap().iter().cloned());
        match page.get("nextCursor") {
            Some(next) => cursor = Some(next.clone()),
            None => return items,
        }
    }
}

fn texts<'a>(items: &'a [Value], member: &str) -> Vec<&'a str> {
    items.iter().map(|item| item[member].as_str().unwrap()).collect()
}
