//! The tools of a registry.

use serde_json::json;

use super::{RegistryFixture, skill_text, texts, tool_error};

#[test]
fn mc_03_registry_has_no_tools_for_local_files() {
    let fixture = RegistryFixture::new(module_path!());
    let client = fixture.reader("me");
    let tools = client.result("tools/list", json!({}))["tools"].as_array().unwrap().clone();
    let expected =
        ["fetch", "graph_neighbors", "list_skills", "load_context", "read_skill", "search"];
    assert_eq!(texts(&tools, "name"), expected);
    for tool in &tools {
        assert!(
            tool["outputSchema"]["type"] == "object" && tool["inputSchema"]["type"] == "object",
            "{tool}"
        );
        assert_eq!(tool["annotations"]["readOnlyHint"], true, "{tool}");
    }
    assert_eq!(client.error("tools/call", json!({"name": "install", "arguments": {}})), -32602);
}

#[test]
fn mc_03_skills_are_found_listed_and_read() {
    let fixture = RegistryFixture::new(module_path!());
    let me = fixture.token("me", "publish");
    let (rotate_keys, plan_trip) = (skill_text("rotate-keys"), skill_text("plan-trip"));
    let files: [(&str, &[u8]); 3] = [
        ("rotate-keys/SKILL.md", rotate_keys.as_bytes()),
        ("rotate-keys/more.md", b"Keys are turned.\n"),
        ("plan-trip/SKILL.md", plan_trip.as_bytes()),
    ];
    fixture.publish_skills(&me, ("acme/tools", "1.0.0"), &files);
    fixture.publish_notes(&me, ("acme/notes", "1.0.0"), &[("n1", "Tenants never share rows.")]);
    let client = fixture.reader("somebody");
    let uri = "skill://registry/acme/tools/rotate-keys/SKILL.md";
    let found = client.call("search", json!({"query": "rotate keys"}));
    assert_eq!(found["results"][0]["id"], uri, "{found}");
    let fetched = client.call("fetch", json!({"id": uri}));
    assert!(fetched["text"].as_str().unwrap().starts_with('⟦'), "{fetched}");
    let notes = client.call("search", json!({"query": "acme notes"}));
    assert!(notes.to_string().contains("ctxpkg://acme/notes/1.0.0"), "{notes}");
    let listed = client.call("list_skills", json!({}));
    assert_eq!(texts(listed["skills"].as_array().unwrap(), "name"), ["plan-trip", "rotate-keys"]);
    let read = client.call("read_skill", json!({"skill": "rotate-keys", "file": "more.md"}));
    assert!(read["text"].as_str().unwrap().contains("Keys are turned."), "{read}");
    assert_eq!(read["files"], json!(["SKILL.md", "more.md"]));
    let missing = json!({"skill": "nothing"});
    assert_eq!(tool_error(&client, "read_skill", missing), "E-skill-not-found");
}

#[test]
fn mc_03_context_of_packages_is_loaded_within_a_budget() {
    let fixture = RegistryFixture::new(module_path!());
    let me = fixture.token("me", "publish");
    let facts: Vec<(String, String)> = (0..200)
        .map(|n| (format!("n{n}"), format!("Fact {n}: tenants of region {n} never share rows.")))
        .collect();
    let nodes: Vec<(&str, &str)> =
        facts.iter().map(|(id, fact)| (id.as_str(), fact.as_str())).collect();
    fixture.publish_notes(&me, ("acme/notes", "1.0.0"), &nodes);
    fixture.publish_notes(&me, ("acme/notes", "2.0.0"), &[("m1", "Rows are shared by nobody.")]);
    fixture.publish_notes(&me, ("acme/more", "1.0.0"), &[("k1", "Keys turn every month.")]);
    let client = fixture.reader("somebody");
    for budget in [0, 50, 300, 1_000] {
        let loaded =
            client.call("load_context", json!({"packages": ["acme/notes@^1"], "budget": budget}));
        assert!(
            loaded["tokens"].as_u64().unwrap() <= budget && loaded["budget"] == budget,
            "{loaded}"
        );
        assert_eq!(loaded["sources"], json!(["@acme/notes 1.0.0"]));
    }
    let both = json!({"packages": ["@acme/notes", "@acme/more"], "focus": "keys"});
    let loaded = client.call("load_context", both);
    assert_eq!(loaded["sources"], json!(["@acme/notes 2.0.0", "@acme/more 1.0.0"]));
    let text = loaded["context"].as_str().unwrap();
    assert!(text.contains("Keys turn") && text.contains('⟦') && !text.contains("Fact 1"), "{text}");
    for (packages, code) in [
        (json!([]), "E-missing-argument"),
        (json!(["acme/none"]), "E-package-not-found"),
        (json!(["acme/notes@^9"]), "E-version-not-found"),
        (json!(["/etc/passwd"]), "E-invalid-package-spec"),
        (json!(["notes"]), "E-unsupported"),
    ] {
        let arguments = json!({"packages": packages});
        assert_eq!(tool_error(&client, "load_context", arguments), code, "{packages}");
    }
    let arguments = json!({"packages": ["acme/notes"], "budget": 1_000_000});
    assert_eq!(tool_error(&client, "load_context", arguments), "E-argument-too-large");
}

#[test]
fn mc_03_graph_neighbors_are_found_within_the_steps() {
    let fixture = RegistryFixture::new(module_path!());
    let me = fixture.token("me", "publish");
    let nodes = [("a", "Rows."), ("b", "Tenants."), ("c", "Regions."), ("d", "Keys.")];
    fixture.publish_notes(&me, ("acme/notes", "1.0.0"), &nodes);
    let client = fixture.reader("somebody");
    let neighbor_count = |steps: u64| {
        let arguments = json!({"packages": ["@acme/notes"], "node": "a", "steps": steps});
        texts(client.call("graph_neighbors", arguments)["nodes"].as_array().unwrap(), "id").len()
    };
    assert_eq!((neighbor_count(1), neighbor_count(2), neighbor_count(5)), (2, 3, 4));
    let arguments = json!({"packages": ["@acme/notes"], "node": "z"});
    assert_eq!(tool_error(&client, "graph_neighbors", arguments), "E-node-not-found");
}
