//! Output formats, streams and exit codes.

mod completion;
mod failures;
mod formats;
mod init;
mod limits;
mod logging;
mod manual;
mod terminal;
mod widths;

use serde_json::Value;
use sp_testkit::{World, world};

/// A world with local and imported skills, and an installed pack that has both.
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
const COMMANDS: [(&[&str], &str); 14] = [
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
    (&["doctor"], "doctor"),
    (&["mcp", "install", "--agent", "cursor", "--agent", "codex"], "mcp install"),
    (&["mcp", "uninstall", "--agent", "cursor"], "mcp install"),
];

/// Returns the documented schema of a command's JSON.
fn schema(section: &str) -> Value {
    let docs = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/json.md"))
        .unwrap();
    let title = if section == "error" { "## `error`".into() } else { format!("## `sp {section}`") };
    let part = docs.split_once(&title).unwrap_or_else(|| panic!("{title} in docs/json.md")).1;
    let block = part.split_once("```json\n").unwrap().1.split_once("```").unwrap().0;
    serde_json::from_str(block).unwrap()
}

/// Validates a value, with the part of JSON Schema that the documentation uses.
fn assert_matches_schema(value: &Value, schema: &Value, root: &Value, path: &str) {
    if let Some(name) = schema["$ref"].as_str() {
        return assert_matches_schema(
            value,
            &root["$defs"][name.trim_start_matches("#/$defs/")],
            root,
            path,
        );
    }
    // An optional object: its schema, or null, which is omitted.
    if let Some(choices) = schema["anyOf"].as_array() {
        return assert_matches_schema(value, &choices[0], root, path);
    }
    if let Some(choices) = schema["oneOf"].as_array() {
        return assert!(
            choices.iter().any(|choice| choice["const"] == *value),
            "{path}: {value} is one of {choices:?}"
        );
    }
    match value {
        Value::Object(members) => {
            assert_eq!(schema["type"], "object", "{path}");
            for name in schema["required"].as_array().into_iter().flatten() {
                assert!(members.contains_key(name.as_str().unwrap()), "{path} has {name}");
            }
            for (name, member) in members {
                assert!(!schema["properties"][name].is_null(), "{path}.{name} is documented");
                assert_matches_schema(
                    member,
                    &schema["properties"][name],
                    root,
                    &format!("{path}.{name}"),
                );
            }
        }
        Value::Array(items) => {
            assert_eq!(schema["type"], "array", "{path}");
            items.iter().for_each(|item| {
                assert_matches_schema(item, &schema["items"], root, &format!("{path}[]"));
            });
        }
        Value::String(_) => assert!(schema["type"].to_string().contains("string"), "{path}"),
        Value::Number(_) => assert!(schema["type"].to_string().contains("integer"), "{path}"),
        Value::Bool(_) => assert_eq!(schema["type"], "boolean", "{path}"),
        Value::Null => panic!("{path} is null; missing values are omitted"),
    }
}

/// A command that fails.
struct Failure {
    exit_code: i32,
    code: &'static str,
    args: &'static [&'static str],
}

/// Writes packs that cannot be used, and returns failing commands for each exit code.
fn failures(world: &World) -> [Failure; 8] {
    world.pack("bad", "name: bad\ninclude: [zzz]\n");
    world.pack("gone", "name: gone\nimports:\n  - repo: ./no-such-repo\n    include: ['**']\n");
    world.pack("taken", "name: taken\ninclude: ['**']\ninstall: {prefix: team}\n");
    let failure = |exit_code, code, args| Failure { exit_code, code, args };
    [
        failure(1, "E-pack-not-found", &["show", "nothing"]),
        failure(1, "E-not-installed", &["uninstall", "nothing", "--agent", "claude"]),
        failure(2, "E-unknown-agent", &["install", "team", "--agent", "no-such-agent"]),
        failure(3, "SP-17", &["show", "bad"]),
        failure(3, "SP-17", &["install", "bad", "--agent", "claude"]),
        failure(4, "E-not-owned", &["install", "taken", "--agent", "claude"]),
        failure(5, "E-source-not-found", &["show", "gone"]),
        failure(5, "E-source-not-found", &["install", "gone", "--agent", "claude"]),
    ]
}
