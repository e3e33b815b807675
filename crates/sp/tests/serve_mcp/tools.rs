//! What agents can do with a registry: look for things, read them, and ask packages what they know.

use serde_json::{Value, json};

use super::{Place, skill, texts};

#[test]
fn mc_03_a_registry_offers_what_it_can_do_and_nothing_that_speaks_of_a_machine() {
    let place = Place::new(module_path!());
    let client = place.reader("me");
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
    let place = Place::new(module_path!());
    let me = place.token("me", "publish");
    let (one, two) = (skill("rotate-keys"), skill("plan-trip"));
    let files: [(&str, &[u8]); 3] = [
        ("rotate-keys/SKILL.md", one.as_bytes()),
        ("rotate-keys/more.md", b"Keys are turned.\n"),
        ("plan-trip/SKILL.md", two.as_bytes()),
    ];
    place.publish_skills(&me, ("acme/tools", "1.0.0"), &files);
    place.publish_notes(&me, ("acme/notes", "1.0.0"), &[("n1", "Tenants never share rows.")]);
    let client = place.reader("somebody");
    let uri = "skill://registry/acme/tools/rotate-keys/SKILL.md";
    let found = client.call("search", json!({"query": "rotate keys"}));
    assert_eq!(found["results"][0]["id"], uri, "{found}");
    let fetched = client.call("fetch", json!({"id": uri}));
    assert!(fetched["text"].as_str().unwrap().contains("⟦data from"), "{fetched}");
    let notes = client.call("search", json!({"query": "acme notes"}));
    assert!(notes.to_string().contains("ctxpkg://acme/notes/1.0.0"), "{notes}");
    let listed = client.call("list_skills", json!({}));
    assert_eq!(texts(listed["skills"].as_array().unwrap(), "name"), ["plan-trip", "rotate-keys"]);
    let read = client.call("read_skill", json!({"skill": "rotate-keys", "file": "more.md"}));
    assert!(read["text"].as_str().unwrap().contains("Keys are turned."), "{read}");
    assert_eq!(read["files"], json!(["SKILL.md", "more.md"]));
    assert_eq!(client.try_call("read_skill", json!({"skill": "nothing"}))["isError"], true);
}

#[test]
fn mc_03_what_packages_know_is_loaded_within_a_budget() {
    let place = Place::new(module_path!());
    let me = place.token("me", "publish");
    let said: Vec<(String, String)> = (0..200)
        .map(|n| (format!("n{n}"), format!("Fact {n}: tenants of region {n} never share rows.")))
        .collect();
    let nodes: Vec<(&str, &str)> =
        said.iter().map(|(id, said)| (id.as_str(), said.as_str())).collect();
    place.publish_notes(&me, ("acme/notes", "1.0.0"), &nodes);
    place.publish_notes(&me, ("acme/notes", "2.0.0"), &[("m1", "Rows are shared by nobody.")]);
    place.publish_notes(&me, ("acme/more", "1.0.0"), &[("k1", "Keys turn every month.")]);
    let client = place.reader("somebody");
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
    assert!(
        text.contains("Keys turn") && text.contains("⟦data from") && !text.contains("Fact 1"),
        "{text}"
    );
    for wrong in [
        json!([]),
        json!(["acme/none"]),
        json!(["acme/notes@^9"]),
        json!(["/etc/passwd"]),
        json!(["notes"]),
    ] {
        let answer = client.try_call("load_context", json!({"packages": wrong}));
        assert_eq!(answer["isError"], true, "{answer}");
    }
    let too_much =
        client.try_call("load_context", json!({"packages": ["acme/notes"], "budget": 1_000_000}));
    assert_eq!(too_much["isError"], true, "{too_much}");
}

#[test]
fn mc_03_what_is_near_a_node_is_shown() {
    let place = Place::new(module_path!());
    let me = place.token("me", "publish");
    let nodes = [("a", "Rows."), ("b", "Tenants."), ("c", "Regions."), ("d", "Keys.")];
    place.publish_notes(&me, ("acme/notes", "1.0.0"), &nodes);
    let client = place.reader("somebody");
    let near = |steps: Value| {
        let asked = json!({"packages": ["@acme/notes"], "node": "a", "steps": steps});
        texts(client.call("graph_neighbors", asked)["nodes"].as_array().unwrap(), "id").len()
    };
    assert_eq!((near(json!(1)), near(json!(2)), near(json!(5))), (2, 3, 4));
    let unknown =
        client.try_call("graph_neighbors", json!({"packages": ["@acme/notes"], "node": "z"}));
    assert_eq!(unknown["isError"], true, "{unknown}");
}
