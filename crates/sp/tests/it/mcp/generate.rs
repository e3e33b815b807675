//! Context packs: generation, resources and prompts.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use sp_testkit::{World, from_base64, world};

use super::{read_bytes, serve, texts, tool_error};

const GENERATED_AT: &str = "2026-04-24T14:22:03Z";

fn note(number: usize) -> String {
    format!(
        "---\nurl: https://docs.example.com/{number}\ntitle: Webhooks part {number}\nkind: docs\ncaptured_at: 2026-04-02\n---\n\n\
         A webhook sender repeats delivery {number} that was not answered in time.\n\n## Limits {number}\n\n\
         A receiver that is down for {number} hours gets all of its webhooks again.\n\n\
         - Use a limit of ten attempts for webhook {number}.\n- Add jitter to pause {number} between two webhooks.\n\
         - Never retry webhook {number} whose receiver answered with 410.\n"
    )
}

fn with_notes(count: usize) -> World {
    let world = world!();
    for number in 0..count {
        world.write(&format!("kb/note-{number}.md"), note(number));
    }
    world
}

/// The arguments of `generate_pack`.
fn generate_arguments() -> Value {
    json!({"name": "Relay", "description": "A service that delivers webhooks to shops.",
        "prompt": "How do I deliver webhooks?", "stack": ["rust"], "kb": ["kb"], "generated_at": GENERATED_AT})
}

/// The command that builds the same context pack.
const BUILD_COMMAND: &[&str] = &[
    "context",
    "build",
    "--kb",
    "kb",
    "--name",
    "Relay",
    "--description",
    "A service that delivers webhooks to shops.",
    "--prompt",
    "How do I deliver webhooks?",
    "--stack",
    "rust",
    "--generated-at",
    GENERATED_AT,
];

/// Returns the generated files, after checking their sizes and digests.
fn generated_files(generated: &Value) -> BTreeMap<String, Vec<u8>> {
    let file = |file: &Value| {
        let bytes = match file["text"].as_str() {
            Some(text) => text.as_bytes().to_vec(),
            None => from_base64(file["blob"].as_str().unwrap()),
        };
        assert_eq!(file["size"], bytes.len());
        assert_eq!(file["digest"], sp_testkit::sha256(&bytes));
        (file["path"].as_str().unwrap().to_owned(), bytes)
    };
    generated["files"].as_array().unwrap().iter().map(file).collect()
}

#[test]
fn cp_17_generated_pack_equals_the_output_of_context_build() {
    let world = with_notes(6);
    let generated = serve(&world, &[]).call("generate_pack", generate_arguments());
    assert!(!world.repo().join("context-pack").exists(), "the tool writes nothing");
    world.sp(BUILD_COMMAND).ok();
    let mut written = BTreeMap::new();
    for entry in std::fs::read_dir(world.repo().join("context-pack")).unwrap() {
        let path = entry.unwrap().path();
        written.insert(
            path.file_name().unwrap().to_string_lossy().into_owned(),
            std::fs::read(&path).unwrap(),
        );
    }
    assert_eq!(generated_files(&generated), written);
}

#[test]
fn cp_17_generation_reports_progress() {
    let world = with_notes(40);
    let mut server = serve(&world, &[]);
    let params = json!({"name": "generate_pack", "arguments": generate_arguments(), "_meta": {"progressToken": "t-1"}});
    let result = server.result("tools/call", params);
    assert_ne!(result["isError"], true, "{result}");
    let notifications: Vec<Value> = server
        .take_notifications()
        .into_iter()
        .filter(|message| message["method"] == "notifications/progress")
        .collect();
    assert!(!notifications.is_empty());
    let mut last = 0.0;
    for notification in &notifications {
        assert_eq!(notification["params"]["progressToken"], "t-1");
        let progress = notification["params"]["progress"].as_f64().unwrap();
        assert!(progress > last, "progress must increase: {notifications:?}");
        last = progress;
    }
}

#[test]
fn cp_17_cancelled_generation_gets_no_response_and_writes_nothing() {
    let world = with_notes(1_500);
    let mut server = serve(&world, &[]);
    server.initialize("2025-11-25");
    let params = json!({"name": "generate_pack", "arguments": generate_arguments(), "_meta": {"progressToken": 1}});
    let id = server.send("tools/call", params);
    while server.read().unwrap()["method"] != "notifications/progress" {}
    server.notify("notifications/cancelled", json!({"requestId": id}));
    server.result("ping", json!({}));
    // The next call reads the same knowledge base.
    server.call("generate_pack", generate_arguments());
    assert!(
        server.take_notifications().iter().all(|message| message["id"] != id),
        "response to {id}"
    );
    assert!(!world.repo().join("context-pack").exists());
}

#[test]
fn cp_17_context_packs_are_served_as_resources_and_prompts() {
    let world = with_notes(6);
    world.sp(BUILD_COMMAND).ok();
    let mut server = serve(&world, &[]);
    let listed =
        server.result("resources/list", json!({}))["resources"].as_array().unwrap().clone();
    let packs: Vec<&str> = texts(&listed, "uri")
        .into_iter()
        .filter(|uri| uri.starts_with("context-pack://"))
        .collect();
    assert!(packs.iter().any(|uri| uri.ends_with("/pack.json")), "{packs:?}");
    for uri in &packs {
        let name = uri.rsplit('/').next().unwrap();
        assert_eq!(
            read_bytes(&mut server, uri),
            std::fs::read(world.repo().join("context-pack").join(name)).unwrap()
        );
    }
    let templates =
        server.result("resources/templates/list", json!({}))["resourceTemplates"].clone();
    let templates = templates.as_array().unwrap();
    for scheme in ["skill://", "context-pack://", "ctxpkg://"] {
        assert!(
            texts(templates, "uriTemplate").iter().any(|uri| uri.starts_with(scheme)),
            "{templates:?}"
        );
    }
    let prompts = server.result("prompts/list", json!({}))["prompts"].as_array().unwrap().clone();
    assert!(prompts.len() >= 2, "{prompts:?}");
    let name = prompts[0]["name"].as_str().unwrap();
    let prompt = server.result("prompts/get", json!({"name": name}));
    assert_eq!(prompt["messages"][0]["role"], "user");
    assert!(
        prompt["messages"][0]["content"]["text"]
            .as_str()
            .unwrap()
            .contains("How do I deliver webhooks?")
    );
    assert_eq!(server.error("prompts/get", json!({"name": "no such"})), -32602);
}

#[test]
fn cp_17_knowledge_base_outside_of_the_root_is_refused() {
    let world = with_notes(3);
    let mut server = serve(&world, &[]);
    let mut arguments = generate_arguments();
    arguments["kb"] = json!(["/etc"]);
    assert_eq!(tool_error(&mut server, "generate_pack", arguments), "E-path-outside-root");
}
