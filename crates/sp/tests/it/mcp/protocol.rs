//! Protocol revisions and declared capabilities.

use serde_json::json;

use super::{serve, two_skills};

#[test]
fn mc_01_stateless_revision_needs_no_handshake() {
    let world = two_skills();
    let mut server = serve(&world, &[]);
    let discovered = server.result("server/discover", json!({}));
    assert_eq!(discovered["supportedVersions"], json!(["2025-06-18", "2025-11-25", "2026-07-28"]));
    assert_eq!(
        discovered["capabilities"]["extensions"]["io.modelcontextprotocol/skills"],
        json!({"directoryRead": true})
    );
    assert_eq!(discovered["capabilities"]["resources"], json!({}), "no subscriptions");
    for (method, params) in [
        ("tools/list", json!({})),
        ("resources/list", json!({})),
        ("resources/templates/list", json!({})),
        ("prompts/list", json!({})),
        ("skills/list", json!({})),
        ("skills/get", json!({"uri": "skill://repo/review/SKILL.md"})),
        ("resources/read", json!({"uri": "skill://repo/review/SKILL.md"})),
        ("resources/directory/read", json!({"uri": "skill://repo/review"})),
    ] {
        let result = server.result(method, params);
        assert_eq!(result["resultType"], "complete", "{method}");
        assert!(result["ttlMs"].is_u64(), "{method}: {result}");
        assert!(
            ["public", "private"].contains(&result["cacheScope"].as_str().unwrap()),
            "{method}"
        );
    }
    assert_eq!(server.close_stdin().code(), Some(0));
}

#[test]
fn mc_01_older_revisions_start_with_a_handshake() {
    let world = two_skills();
    for revision in ["2025-06-18", "2025-11-25"] {
        let mut server = serve(&world, &[]);
        let initialized = server.initialize(revision);
        assert_eq!(initialized["protocolVersion"], revision);
        assert_eq!(initialized["serverInfo"]["name"], "skillpack");
        let tools = server.result("tools/list", json!({}));
        assert!(tools.get("resultType").is_none(), "the member is new in 2026-07-28");
        assert_eq!(server.result("skills/list", json!({}))["skills"].as_array().unwrap().len(), 2);
        server.result("ping", json!({}));
    }
    let mut server = serve(&world, &[]);
    assert_eq!(
        server.initialize("2024-01-01")["protocolVersion"],
        "2025-11-25",
        "the newest revision with a handshake"
    );
}

#[test]
fn mc_01_unsupported_revision_error_lists_the_supported_ones() {
    let world = two_skills();
    let mut server = serve(&world, &[]);
    let meta = json!({"io.modelcontextprotocol/protocolVersion": "2031-01-01",
        "io.modelcontextprotocol/clientInfo": {"name": "x", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {}});
    let message =
        json!({"jsonrpc": "2.0", "id": 7, "method": "tools/list", "params": {"_meta": meta}});
    server.write_line(&message.to_string());
    let error = server.wait_for(7)["error"].clone();
    assert_eq!(
        error["data"]["supported"],
        json!(["2025-06-18", "2025-11-25", "2026-07-28"]),
        "{error}"
    );
}

#[test]
fn mc_06_undeclared_methods_are_not_found() {
    let world = two_skills();
    let mut server = serve(&world, &[]);
    for method in [
        "completion/complete",
        "logging/setLevel",
        "resources/subscribe",
        "tasks/list",
        "no/such",
        "ping",
    ] {
        assert_eq!(server.error(method, json!({})), -32601, "{method}");
    }
    let mut older = serve(&world, &[]);
    older.initialize("2025-11-25");
    let reference = json!({"ref": {"type": "ref/prompt", "name": "x"}, "argument": {"name": "a", "value": "b"}});
    assert_eq!(older.error("completion/complete", reference), -32601);
    assert_eq!(
        older.error("resources/subscribe", json!({"uri": "skill://repo/review/SKILL.md"})),
        -32601
    );
}
