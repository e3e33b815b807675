//! `sp mcp install` and `sp mcp uninstall` on real files: what an agent's settings are before and
//! after, by the byte.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a test arranges its world with the plain calls"
)]

mod agents;
mod files;
mod interruptions;
mod merging;
mod output;

use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::PathBuf;

use serde_json::Value;
use sp_testkit::{Run, World, world};

/// A world in which the shell finds this `sp`.
fn world_with_sp() -> World {
    let mut world = world!();
    std::fs::create_dir(world.path("bin")).unwrap();
    symlink(env!("CARGO_BIN_EXE_sp"), world.path("bin/sp")).unwrap();
    world.set_env("PATH", &format!("{}:/usr/bin:/bin", world.path("bin").display()));
    world
}

fn at(world: &World, path: &str) -> PathBuf {
    world.home().join(path)
}

fn put(world: &World, path: &str, text: &str) {
    std::fs::create_dir_all(at(world, path).parent().unwrap()).unwrap();
    std::fs::write(at(world, path), text).unwrap();
}

fn text(world: &World, path: &str) -> String {
    std::fs::read_to_string(at(world, path)).unwrap()
}

fn install(world: &World, args: &[&str]) -> Run {
    world.sp(&[&["mcp", "install"], args].concat())
}

fn uninstall(world: &World, args: &[&str]) -> Run {
    world.sp(&[&["mcp", "uninstall"], args].concat())
}

/// What a file is that has one server and nothing else.
fn alone(table: &str, members: &[&str]) -> String {
    let members = members.join(",\n      ");
    format!("{{\n  \"{table}\": {{\n    \"skillpack\": {{\n      {members}\n    }}\n  }}\n}}\n")
}

/// Agent, file, what is in it, and what is in it afterwards.
const MERGED: [(&str, &str, &str, &str); 5] = [
    (
        "vscode",
        "repo/.vscode/mcp.json",
        "// Servers of the team\n{\n\t\"inputs\": [], // none yet\n\t\"servers\": {\n\t\t/* the first */\n\t\t\"db\": \
         { \"type\": \"stdio\", \"command\": \"db\" }, // keep\n\t},\n}\n",
        "// Servers of the team\n{\n\t\"inputs\": [], // none yet\n\t\"servers\": {\n\t\t/* the first */\n\t\t\"db\": \
         { \"type\": \"stdio\", \"command\": \"db\" }, // keep\n\t\t\"skillpack\": {\n\t\t\t\"type\": \
         \"stdio\",\n\t\t\t\"command\": \"sp\",\n\t\t\t\"args\": [\"mcp\"]\n\t\t},\n\t},\n}\n",
    ),
    (
        "zed",
        "repo/.zed/settings.json",
        "{\r\n    \"theme\": \"One\",\r\n    \"context_servers\": {\r\n        \"a\": {} // last\r\n    },\r\n    \
         \"x\": 1.50\r\n}",
        "{\r\n    \"theme\": \"One\",\r\n    \"context_servers\": {\r\n        \"a\": {}, // last\r\n        \
         \"skillpack\": {\r\n            \"command\": \"sp\",\r\n            \"args\": [\"mcp\"]\r\n        }\r\n    \
         },\r\n    \"x\": 1.50\r\n}",
    ),
    (
        "claude",
        "repo/.mcp.json",
        "{\"b\":1,\"mcpServers\":{\"x\":{\"command\":\"y\"}},\"a\":[1,2]}",
        "{\"b\":1,\"mcpServers\":{\"x\":{\"command\":\"y\"}, \"skillpack\": {\"type\": \"stdio\", \"command\": \
         \"sp\", \"args\": [\"mcp\"]}},\"a\":[1,2]}",
    ),
    (
        "cursor",
        "repo/.cursor/mcp.json",
        "{\n    \"mcpServers\": {}\n}\n",
        "{\n    \"mcpServers\": {\n        \"skillpack\": {\n            \"command\": \"sp\",\n            \"args\": \
         [\"mcp\"]\n        }\n    }\n}\n",
    ),
    (
        "codex",
        "repo/.codex/config.toml",
        "model   = 'o9' # mine\n\n[mcp_servers.docs] # first\ncommand = \"docs\"\nenv = { A = '1' }\n\n# the end\n",
        "model   = 'o9' # mine\n\n[mcp_servers.docs] # first\ncommand = \"docs\"\nenv = { A = '1' }\n\n# the \
         end\n\n[mcp_servers.skillpack]\ncommand = \"sp\"\nargs = [\"mcp\"]\n",
    ),
];

const STARTED: [&str; 2] = ["\"command\": \"sp\"", "\"args\": [\"mcp\"]"];

const URL: &str = "http://127.0.0.1:8080/mcp";
