//! `sp mcp install` and `sp mcp uninstall`: the exact bytes of an agent's settings before and
//! after.

mod agents;
mod files;
mod interruptions;
mod merging;
mod output;

use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::PathBuf;

use serde_json::Value;
use sp_testkit::{CliError, Run, World, world};

/// A world with the `sp` under test on its `PATH`.
fn world_with_sp() -> World {
    let mut world = world!();
    std::fs::create_dir(world.path("bin")).unwrap();
    symlink(env!("CARGO_BIN_EXE_sp"), world.path("bin/sp")).unwrap();
    world.set_env("PATH", &format!("{}:/usr/bin:/bin", world.path("bin").display()));
    world
}

fn home_path(world: &World, path: &str) -> PathBuf {
    world.home().join(path)
}

fn write(world: &World, path: &str, text: &str) {
    let path = home_path(world, path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

fn read(world: &World, path: &str) -> String {
    std::fs::read_to_string(home_path(world, path)).unwrap()
}

fn install(world: &World, args: &[&str]) -> Run {
    world.sp(&[&["mcp", "install"], args].concat())
}

fn uninstall(world: &World, args: &[&str]) -> Run {
    world.sp(&[&["mcp", "uninstall"], args].concat())
}

#[track_caller]
fn install_error(world: &World, args: &[&str]) -> CliError {
    world.sp_error(&[&["mcp", "install"], args].concat())
}

#[track_caller]
fn uninstall_error(world: &World, args: &[&str]) -> CliError {
    world.sp_error(&[&["mcp", "uninstall"], args].concat())
}

/// The text of a JSON file with one server and nothing else.
fn only_server(table: &str, members: &[&str]) -> String {
    let members = members.join(",\n      ");
    format!("{{\n  \"{table}\": {{\n    \"skillpack\": {{\n      {members}\n    }}\n  }}\n}}\n")
}

/// A project's settings file before and after an install.
struct MergeCase {
    agent: &'static str,
    /// Relative to the home directory.
    file: &'static str,
    before: &'static str,
    after: &'static str,
}

const MERGE_CASES: [MergeCase; 5] = [
    MergeCase {
        agent: "vscode",
        file: "repo/.vscode/mcp.json",
        before: "// Servers of the team\n{\n\t\"inputs\": [], // none yet\n\t\"servers\": {\n\t\t/* the first */\n\t\t\"db\": \
         { \"type\": \"stdio\", \"command\": \"db\" }, // keep\n\t},\n}\n",
        after: "// Servers of the team\n{\n\t\"inputs\": [], // none yet\n\t\"servers\": {\n\t\t/* the first */\n\t\t\"db\": \
         { \"type\": \"stdio\", \"command\": \"db\" }, // keep\n\t\t\"skillpack\": {\n\t\t\t\"type\": \
         \"stdio\",\n\t\t\t\"command\": \"sp\",\n\t\t\t\"args\": [\"mcp\"]\n\t\t},\n\t},\n}\n",
    },
    MergeCase {
        agent: "zed",
        file: "repo/.zed/settings.json",
        before: "{\r\n    \"theme\": \"One\",\r\n    \"context_servers\": {\r\n        \"a\": {} // last\r\n    },\r\n    \
         \"x\": 1.50\r\n}",
        after: "{\r\n    \"theme\": \"One\",\r\n    \"context_servers\": {\r\n        \"a\": {}, // last\r\n        \
         \"skillpack\": {\r\n            \"command\": \"sp\",\r\n            \"args\": [\"mcp\"]\r\n        }\r\n    \
         },\r\n    \"x\": 1.50\r\n}",
    },
    MergeCase {
        agent: "claude",
        file: "repo/.mcp.json",
        before: "{\"b\":1,\"mcpServers\":{\"x\":{\"command\":\"y\"}},\"a\":[1,2]}",
        after: "{\"b\":1,\"mcpServers\":{\"x\":{\"command\":\"y\"}, \"skillpack\": {\"type\": \"stdio\", \"command\": \
         \"sp\", \"args\": [\"mcp\"]}},\"a\":[1,2]}",
    },
    MergeCase {
        agent: "cursor",
        file: "repo/.cursor/mcp.json",
        before: "{\n    \"mcpServers\": {}\n}\n",
        after: "{\n    \"mcpServers\": {\n        \"skillpack\": {\n            \"command\": \"sp\",\n            \"args\": \
         [\"mcp\"]\n        }\n    }\n}\n",
    },
    MergeCase {
        agent: "codex",
        file: "repo/.codex/config.toml",
        before: "model   = 'o9' # mine\n\n[mcp_servers.docs] # first\ncommand = \"docs\"\nenv = { A = '1' }\n\n# the end\n",
        after: "model   = 'o9' # mine\n\n[mcp_servers.docs] # first\ncommand = \"docs\"\nenv = { A = '1' }\n\n# the \
         end\n\n[mcp_servers.skillpack]\ncommand = \"sp\"\nargs = [\"mcp\"]\n",
    },
];

/// The members of an entry that starts a server.
const STDIO_MEMBERS: [&str; 2] = ["\"command\": \"sp\"", "\"args\": [\"mcp\"]"];

const URL: &str = "http://127.0.0.1:8080/mcp";
