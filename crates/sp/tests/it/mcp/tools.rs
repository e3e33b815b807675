//! Tools: their schemas, results and errors.

use serde_json::{Value, json};
use sp_testkit::McpChild;

use super::{assert_quoted, serve, texts, tool_error, two_skills};

const TOOLS: &[&str] = &[
    "audit",
    "bag_enter",
    "bag_run",
    "check",
    "fetch",
    "generate_pack",
    "graph_neighbors",
    "install",
    "list_skills",
    "load_context",
    "plan_install",
    "plan_uninstall",
    "read_skill",
    "search",
    "uninstall",
];

fn list_tools(server: &mut McpChild) -> Vec<Value> {
    server.result("tools/list", json!({}))["tools"].as_array().unwrap().clone()
}

#[test]
fn mc_03_tools_have_schemas_annotations_and_descriptions() {
    let world = two_skills();
    let tools = list_tools(&mut serve(&world, &[]));
    assert_eq!(texts(&tools, "name"), TOOLS);
    for tool in &tools {
        let name = tool["name"].as_str().unwrap();
        for schema in ["inputSchema", "outputSchema"] {
            assert_eq!(tool[schema]["type"], "object", "{name}");
            jsonschema::meta::validate(&tool[schema]).unwrap_or_else(|e| panic!("{name}: {e}"));
        }
        let annotations = &tool["annotations"];
        let writes = ["install", "uninstall"].contains(&name);
        assert_eq!(annotations["readOnlyHint"], !writes, "{name}");
        assert_eq!(annotations["destructiveHint"], writes, "{name}");
        assert_eq!(annotations["idempotentHint"], true, "{name}");
        assert!(annotations["openWorldHint"].is_boolean(), "{name}");
        assert!(tool["description"].as_str().unwrap().len() > 20, "{name}");
    }
}

#[test]
fn mc_06_schemas_have_no_unions_formats_or_references() {
    let world = two_skills();
    for tool in list_tools(&mut serve(&world, &[])) {
        let text = format!("{}{}", tool["inputSchema"], tool["outputSchema"]);
        for keyword in ["\"null\"", "$ref", "$defs", "\"format\"", "\"type\":["] {
            assert!(!text.contains(keyword), "{}: {keyword} in {text}", tool["name"]);
        }
    }
}

/// Calls a tool, and returns its result after checking it against the output schema.
#[track_caller]
fn call_checked(server: &mut McpChild, tool: &str, arguments: Value) -> Value {
    let tools = list_tools(server);
    let schema = &tools.iter().find(|item| item["name"] == tool).unwrap()["outputSchema"];
    let result = server.try_call(tool, arguments);
    assert_ne!(result["isError"], true, "{tool}: {result}");
    let structured = &result["structuredContent"];
    if let Err(error) = jsonschema::validate(schema, structured) {
        panic!("{tool}: {error}\n{structured}");
    }
    let text: Value = serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(&text, structured, "{tool}: the text differs from the structured content");
    structured.clone()
}

#[test]
fn mc_03_search_finds_a_skill_and_fetch_reads_it() {
    let world = two_skills();
    let mut server = serve(&world, &[]);
    let found = call_checked(&mut server, "search", json!({"query": "when a release is due"}));
    let best = &found["results"][0];
    assert_eq!(best["title"], "deploy");
    assert_eq!(best["id"], best["url"]);
    let fetched = call_checked(&mut server, "fetch", json!({"id": best["id"]}));
    assert_eq!(fetched["id"], best["id"]);
    let text = fetched["text"].as_str().unwrap();
    assert_quoted(text, "skill://repo/team/deploy/SKILL.md");
    assert!(text.contains("# Deploy"), "{text}");
    let missing = json!({"id": "skill://repo/no/SKILL.md"});
    assert_eq!(tool_error(&mut server, "fetch", missing), "E-file-not-found");
    assert_eq!(tool_error(&mut server, "search", json!({"query": ""})), "E-missing-argument");
}

#[test]
fn mc_03_skills_are_listed_and_read_by_name_or_uri() {
    let world = two_skills();
    world.skill("other/review");
    let mut server = serve(&world, &[]);
    let skills =
        call_checked(&mut server, "list_skills", json!({}))["skills"].as_array().unwrap().clone();
    assert_eq!(texts(&skills, "name"), ["review", "review", "deploy"]);
    let deploy = call_checked(&mut server, "read_skill", json!({"skill": "deploy"}));
    assert_eq!(
        deploy["files"],
        json!(["SKILL.md", "assets/logo.png", "references/steps.md", "scripts/run.sh"])
    );
    let steps =
        json!({"skill": "skill://repo/team/deploy/SKILL.md", "file": "references/steps.md"});
    assert!(
        call_checked(&mut server, "read_skill", steps)["text"]
            .as_str()
            .unwrap()
            .contains("2. Ship.")
    );
    for (arguments, code) in [
        (json!({"skill": "review"}), "E-ambiguous-skill"),
        (json!({"skill": "none"}), "E-skill-not-found"),
        (json!({"skill": "deploy", "file": "../../../secret"}), "E-file-not-found"),
        (json!({"skill": "deploy", "file": "assets/logo.png"}), "E-unsupported"),
        (json!({}), "E-invalid-arguments"),
    ] {
        assert_eq!(tool_error(&mut server, "read_skill", arguments.clone()), code, "{arguments}");
    }
}

#[test]
fn mc_03_check_reports_the_same_findings_as_the_command() {
    let world = two_skills();
    world.write("skills/odd/SKILL.md", "---\nname: Odd\n---\n");
    let mut server = serve(&world, &[]);
    let checked = call_checked(&mut server, "check", json!({}));
    let run = world.sp(&["check", "--format", "json"]).fails(1);
    let printed: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(checked["summary"], printed["summary"]);
    assert_eq!(
        checked["findings"].as_array().unwrap().len(),
        printed["findings"].as_array().unwrap().len()
    );
    let outside = server.try_call("check", json!({"paths": ["/etc"]}));
    assert_eq!(outside["_meta"]["skillpack/code"], "E-path-outside-root", "{outside}");
    let missing = server.try_call("check", json!({"paths": ["/etc/none"]}));
    let text = |result: &Value| {
        result["content"][0]["text"].as_str().unwrap().replace("/etc/none", "/etc")
    };
    assert_eq!(text(&missing), text(&outside), "the error reveals whether a path exists");
    call_checked(&mut server, "check", json!({"paths": ["skills/odd"], "strict": true}));
    call_checked(&mut server, "audit", json!({}));
}

#[test]
fn mc_03_workspace_is_entered_and_a_skill_is_run() {
    let world = two_skills();
    world.sp(&["bag", "init"]).ok();
    world.write(
        ".skills/tidy-up/SKILL.md",
        "---\nname: tidy-up\ndescription: Tidies.\n---\n\nTidy the code.\n",
    );
    let mut server = serve(&world, &[]);
    let entered = call_checked(&mut server, "bag_enter", json!({}));
    assert_eq!(
        texts(entered["skills"].as_array().unwrap(), "run"),
        ["skillbag_get_skills", "tidy_up"]
    );
    let run = call_checked(&mut server, "bag_run", json!({"skill": "tidy_up"}));
    let instructions = run["skill"]["instructions"].as_str().unwrap();
    assert_quoted(instructions, "tidy-up");
    assert!(instructions.contains("Tidy the code."), "{instructions}");
}

#[test]
fn mc_03_context_is_loaded_within_a_budget() {
    let world = two_skills();
    world.write(
        "src/lib.rs",
        "//! Delivers webhooks.\n\n/// Retries a delivery.\npub fn retry() {}\n",
    );
    world.write("README.md", "# Relay\n\nDelivers webhooks to shops. Retries use jitter.\n");
    world.sp(&["pkg", "create", "--name", "relay", "--version", "1.0.0"]).ok();
    let mut server = serve(&world, &[]);
    let loaded = call_checked(
        &mut server,
        "load_context",
        json!({"packages": ["relay"], "focus": "retries", "budget": 200}),
    );
    assert!(loaded["tokens"].as_u64().unwrap() <= 200, "{loaded}");
    assert_quoted(loaded["context"].as_str().unwrap(), "load_context");
    let node = loaded["nodes"][0]["id"].as_str().unwrap().to_owned();
    let neighbors =
        call_checked(&mut server, "graph_neighbors", json!({"packages": ["relay"], "node": node}));
    let nodes = neighbors["nodes"].as_array().unwrap();
    assert!(nodes.iter().any(|neighbor| neighbor["id"] == node.as_str()), "{neighbors}");
    let read = server.result("resources/read", json!({"uri": "ctxpkg://relay/1.0.0"}));
    assert!(read["contents"][0]["text"].as_str().unwrap().contains("\"name\""));
    world.sp(&["pkg", "export", "relay", "--output", "../../outside.ctxpkg"]).ok();
    std::fs::copy(world.path("outside.ctxpkg"), world.path("outside.json")).unwrap();
    for outside in
        ["../../outside.ctxpkg", "src/../../../outside.json", "../../none.ctxpkg", "~/x.ctxpkg"]
    {
        for (tool, arguments) in [
            ("load_context", json!({"packages": [outside]})),
            ("graph_neighbors", json!({"packages": [outside], "node": "x"})),
        ] {
            let code = tool_error(&mut server, tool, arguments);
            assert_eq!(code, "E-path-outside-root", "{tool}: {outside}");
        }
    }
    std::fs::copy(world.path("outside.ctxpkg"), world.repo().join("inside.ctxpkg")).unwrap();
    call_checked(
        &mut server,
        "load_context",
        json!({"packages": ["inside.ctxpkg"], "budget": 200}),
    );
    for (budget, code) in [(1_000_000_000, "E-argument-too-large"), (-1, "E-invalid-arguments")] {
        let arguments = json!({"packages": ["relay"], "budget": budget});
        assert_eq!(tool_error(&mut server, "load_context", arguments), code, "{budget}");
    }
    for (steps, code) in [(1, "E-node-not-found"), (50, "E-argument-too-large")] {
        let arguments = json!({"packages": ["relay"], "node": "none", "steps": steps});
        assert_eq!(tool_error(&mut server, "graph_neighbors", arguments), code, "{steps}");
    }
}

#[test]
fn mc_03_unknown_tool_is_a_protocol_error() {
    let world = two_skills();
    let mut server = serve(&world, &[]);
    assert_eq!(server.error("tools/call", json!({"name": "rm", "arguments": {}})), -32602);
    assert_eq!(server.error("tools/call", json!({"name": 5})), -32602);
    assert_eq!(server.error("tools/call", json!({"arguments": {}})), -32602);
}
