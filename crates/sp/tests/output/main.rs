//! What `sp` prints, to whom, in which form, and how it exits.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test arranges its world with the plain calls"
)]

mod failures;
mod formats;
mod init;
mod limits;
mod manual;
mod terminal;

use serde_json::Value;
use sp_testkit::{World, world};

/// A world with local and imported skills, a pack for each, and all of it installed.
fn installed() -> World {
    let world = world!();
    world.skill("general/a");
    let repo = world.git("shared");
    repo.skill("tools/r").commit("one");
    world.pack(
        "team",
        &format!(
            "name: team\ninclude: ['**']\nimports:\n  - repo: {}\n    ref: main\n    include: ['**']\n",
            repo.url()
        ),
    );
    world.pack("local", "name: local\ninclude: ['**']\n");
    world.sp(&["install", "team", "--agent", "claude"]).ok();
    world
}

/// Every command that prints a result, and the section of docs/json.md that describes it.
const COMMANDS: [(&[&str], &str); 13] = [
    (&["list"], "list"),
    (&["skills"], "list"),
    (&["packs"], "packs"),
    (&["show", "team"], "show"),
    (&["installed"], "installed"),
    (&["config"], "config"),
    (&["install", "local", "--agent", "claude"], "install"),
    (&["switch", "team", "--agent", "claude"], "install"),
    (&["uninstall", "team", "--agent", "claude"], "install"),
    (&["init", "new"], "init"),
    (&["clean"], "clean"),
    (&["mcp", "install", "--agent", "cursor", "--agent", "codex"], "mcp install"),
    (&["mcp", "uninstall", "--agent", "cursor"], "mcp install"),
];

/// The documented schema of a command's JSON.
fn schema(section: &str) -> Value {
    let docs = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/json.md"))
        .unwrap();
    let title = if section == "error" { "## `error`".into() } else { format!("## `sp {section}`") };
    let part = docs.split_once(&title).unwrap_or_else(|| panic!("{title} in docs/json.md")).1;
    let block = part.split_once("```json\n").unwrap().1.split_once("```").unwrap().0;
    serde_json::from_str(block).unwrap()
}

/// Holds a value against the part of JSON Schema that the documentation uses.
fn assert_fits(value: &Value, schema: &Value, root: &Value, at: &str) {
    if let Some(name) = schema["$ref"].as_str() {
        return assert_fits(value, &root["$defs"][name.trim_start_matches("#/$defs/")], root, at);
    }
    if let Some(choices) = schema["oneOf"].as_array() {
        return assert!(
            choices.iter().any(|choice| choice["const"] == *value),
            "{at}: {value} is one of {choices:?}"
        );
    }
    match value {
        Value::Object(members) => {
            assert_eq!(schema["type"], "object", "{at}");
            for name in schema["required"].as_array().into_iter().flatten() {
                assert!(members.contains_key(name.as_str().unwrap()), "{at} has {name}");
            }
            for (name, member) in members {
                assert!(!schema["properties"][name].is_null(), "{at}.{name} is documented");
                assert_fits(member, &schema["properties"][name], root, &format!("{at}.{name}"));
            }
        }
        Value::Array(items) => {
            assert_eq!(schema["type"], "array", "{at}");
            items
                .iter()
                .for_each(|item| assert_fits(item, &schema["items"], root, &format!("{at}[]")));
        }
        Value::String(_) => assert!(schema["type"].to_string().contains("string"), "{at}"),
        Value::Number(_) => assert!(schema["type"].to_string().contains("integer"), "{at}"),
        Value::Bool(_) => assert_eq!(schema["type"], "boolean", "{at}"),
        Value::Null => panic!("{at} is null: what is not there is left out"),
    }
}

/// One request for each exit code.
fn failures(world: &World) -> [(i32, &'static str, Vec<&'static str>); 8] {
    world.pack("bad", "name: bad\ninclude: [zzz]\n");
    world.pack("gone", "name: gone\nimports:\n  - repo: ./no-such-repo\n    include: ['**']\n");
    world.pack("taken", "name: taken\ninclude: ['**']\ninstall: {prefix: team}\n");
    [
        (1, "E-pack-not-found", vec!["show", "nothing"]),
        (1, "E-not-installed", vec!["uninstall", "nothing", "--agent", "claude"]),
        (2, "E-unknown-agent", vec!["install", "team", "--agent", "no-such-agent"]),
        (3, "SP-17", vec!["show", "bad"]),
        (3, "SP-17", vec!["install", "bad", "--agent", "claude"]),
        (4, "E-not-owned", vec!["install", "taken", "--agent", "claude"]),
        (5, "E-source-not-found", vec!["show", "gone"]),
        (5, "E-source-not-found", vec!["install", "gone", "--agent", "claude"]),
    ]
}
