//! Context packs: generated, served, and their prompts.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use sp_testkit::{World, from_base64, world};

use crate::{bytes, serve, texts};

const WHEN: &str = "2026-04-24T14:22:03Z";

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

fn brief() -> Value {
    json!({"name": "Relay", "description": "A service that delivers webhooks to shops.",
        "prompt": "How do I deliver webhooks?", "stack": ["rust"], "kb": ["kb"], "generated_at": WHEN})
}

const BUILD: &[&str] = &[
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
    WHEN,
];

fn files(generated: &Value) -> BTreeMap<String, Vec<u8>> {
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
fn cp_17_a_generated_pack_is_what_the_build_writes_byte_for_byte() {
    let world = with_notes(6);
    let generated = serve(&world, &[]).call("generate_pack", brief());
    assert!(!world.repo().join("context-pack").exists(), "nothing is written");
    world.sp(BUILD).ok();
    let mut written = BTreeMap::new();
    for entry in std::fs::read_dir(world.repo().join("context-pack")).unwrap() {
        let path = entry.unwrap().path();
        written.insert(
            path.file_name().unwrap().to_string_lossy().into_owned(),
            std::fs::read(&path).unwrap(),
        );
    }
    assert_eq!(files(&generated), written);
}

#[test]
fn cp_17_a_generation_tells_how_far_it_is() {
    let world = with_notes(40);
    let mut server = serve(&world, &[]);
    let params =
        json!({"name": "generate_pack", "arguments": brief(), "_meta": {"progressToken": "t-1"}});
    let result = server.result("tools/call", params);
    assert_ne!(result["isError"], true, "{result}");
    let told: Vec<Value> = server
        .aside()
        .into_iter()
        .filter(|one| one["method"] == "notifications/progress")
        .collect();
    assert!(!told.is_empty());
    let mut last = 0.0;
    for one in &told {
        assert_eq!(one["params"]["progressToken"], "t-1");
        let progress = one["params"]["progress"].as_f64().unwrap();
        assert!(progress > last, "it only grows: {told:?}");
        last = progress;
    }
}

#[test]
fn cp_17_a_generation_that_is_cancelled_ends_soon_and_leaves_nothing() {
    let world = with_notes(1_500);
    let mut server = serve(&world, &[]);
    server.initialize("2025-11-25");
    let params =
        json!({"name": "generate_pack", "arguments": brief(), "_meta": {"progressToken": 1}});
    let id = server.send("tools/call", params);
    while server.read().unwrap()["method"] != "notifications/progress" {}
    server.notify("notifications/cancelled", json!({"requestId": id}));
    server.result("ping", json!({}));
    // Whoever waits for the same knowledge base gets it.
    server.call("generate_pack", brief());
    assert!(server.aside().iter().all(|one| one["id"] != id), "a cancelled call is not answered");
    assert!(!world.repo().join("context-pack").exists());
}

#[test]
fn cp_17_packs_are_resources_and_their_prompts_prompts() {
    let world = with_notes(6);
    world.sp(BUILD).ok();
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
            bytes(&mut server, uri),
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
fn cp_17_knowledge_outside_of_what_is_served_is_not_read() {
    let world = with_notes(3);
    let mut server = serve(&world, &[]);
    let mut elsewhere = brief();
    elsewhere["kb"] = json!(["/etc"]);
    let refused = server.try_call("generate_pack", elsewhere);
    assert!(refused["content"][0]["text"].as_str().unwrap().contains("lies outside"), "{refused}");
}
