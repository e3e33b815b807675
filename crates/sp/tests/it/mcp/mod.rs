//! `sp mcp` over stdio and HTTP, with well-behaved, malformed and disconnecting clients.

mod changes;
mod generate;
mod hidden;
mod http;
mod interop;
mod load;
mod protocol;
mod robust;
mod shutdown;
mod skills;
mod tools;

use serde_json::{Value, json};
use sp_testkit::{McpChild, World, resource_bytes, world};

/// Starts a server over stdio in the repository of a world.
fn serve(world: &World, args: &[&str]) -> McpChild {
    McpChild::start(world.command(&[&["mcp"], args].concat()))
}

/// A world with two skills, one of them with several files.
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

/// Calls a tool that must fail, and returns the code of its error.
#[track_caller]
fn tool_error(server: &mut McpChild, tool: &str, arguments: Value) -> String {
    let result = server.try_call(tool, arguments);
    assert_eq!(result["isError"], true, "{tool}: {result}");
    result["_meta"]["skillpack/code"].as_str().unwrap().to_owned()
}

/// Checks that text from a file is between two marks, the first of which names the source.
#[track_caller]
fn assert_quoted(text: &str, source: &str) {
    let is_mark = |line: &str| line.starts_with('⟦') && line.ends_with('⟧');
    let (first, last) = (text.lines().next().unwrap(), text.lines().last().unwrap());
    assert!(is_mark(first) && first.contains(source) && is_mark(last), "{text}");
}

/// Reads the bytes of a resource.
fn read_bytes(server: &mut McpChild, uri: &str) -> Vec<u8> {
    let result = server.result("resources/read", json!({"uri": uri}));
    let contents = &result["contents"][0];
    assert_eq!(contents["uri"], uri);
    resource_bytes(contents)
}

/// Returns the items of all pages of a list.
fn list_all(server: &mut McpChild, method: &str, member: &str) -> Vec<Value> {
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
