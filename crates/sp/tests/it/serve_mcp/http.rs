//! HTTP: authorization, invalid requests, protocol revisions and concurrent clients.

use serde_json::json;
use sp_testkit::{McpClient, response_messages};
use sp_tree::Digest;

use super::{RegistryFixture, skill_text, skill_uris};
use crate::support::registry::objects_dir;

const LIST: &[u8] = br#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;

#[test]
fn mc_05_requests_without_a_valid_token_are_unauthorized() {
    let fixture = RegistryFixture::new("sqlite");
    let me = fixture.token("me", "publish");
    fixture.publish_skill(&me, "acme/review", "1.0.0");
    let revoked = fixture.token("gone", "read");
    fixture.request(&fixture.admin, "DELETE /api/v1/tokens/3", b"");
    let invalid =
        [None, Some("ctxr_0000"), Some(""), Some(revoked.as_str()), Some(&me[..me.len() - 1])];
    let answers: Vec<_> = invalid
        .map(|token| {
            let client = McpClient::new(&fixture.registry.address, token);
            let answer = client.send("skills/list", json!({}));
            assert_eq!(answer.header("www-authenticate"), Some("bearer"), "{token:?}");
            assert_eq!(client.post(&[], b"no JSON").body, answer.body);
            (answer.status, answer.body)
        })
        .into_iter()
        .collect();
    assert!(
        answers.iter().all(|(status, body)| *status == 401 && *body == answers[0].1),
        "{answers:?}"
    );
    // A session of the pages is not accepted.
    let cookie = [("cookie", "sp-session=x"), ("accept", "application/json, text/event-stream")];
    assert_eq!(fixture.registry.send("POST /mcp", &cookie, LIST).status, 401);
    for scope in ["read", "publish"] {
        let client = fixture.client(&fixture.token("somebody", scope));
        assert_eq!(skill_uris(&client), ["skill://registry/acme/review/review/SKILL.md"]);
    }
}

#[test]
fn mc_05_foreign_origins_are_refused() {
    let fixture = RegistryFixture::new("sqlite");
    let client = fixture.reader("me");
    for origin in [
        "https://evil.example",
        "http://localhost.evil.example",
        "null",
        "http://127.0.0.1.evil.example",
    ] {
        assert_eq!(client.post(&[("origin", origin)], LIST).status, 403, "{origin}");
    }
    assert_eq!(client.post(&[("origin", "http://localhost:6274")], LIST).status, 200);
    assert_eq!(client.post(&[], LIST).status, 200);
}

#[test]
fn mc_05_invalid_requests_get_protocol_errors() {
    let fixture = RegistryFixture::new("sqlite");
    let client = fixture.reader("me");
    let answer = client.post(&[], b"{\"jsonrpc\": ");
    assert_eq!(
        (answer.status, &answer.json()["error"]["code"]),
        (400, &json!(-32700)),
        "{answer:?}"
    );
    assert_eq!(client.post(&[], &vec![b' '; 5 * 1024 * 1024]).status, 413);
    for method in ["GET", "DELETE", "PUT", "PATCH"] {
        let answer = client.request(&format!("{method} /mcp"), &[], b"");
        assert_eq!(
            (answer.status, answer.header("allow")),
            (405, Some("post")),
            "{method}: {answer:?}"
        );
    }
    let answer = client.send("resources/subscribe", json!({"uri": "skill://x"}));
    assert_eq!(
        (answer.status, &answer.json()["error"]["code"]),
        (404, &json!(-32601)),
        "{answer:?}"
    );
    let notification = br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    assert_eq!(client.post(&[("mcp-protocol-version", "2025-11-25")], notification).status, 202);
}

#[test]
fn mc_01_all_revisions_are_supported_without_a_session() {
    let fixture = RegistryFixture::new("sqlite");
    let me = fixture.token("me", "publish");
    fixture.publish_skill(&me, "acme/review", "1.0.0");
    let client = fixture.client(&me);
    for revision in ["2025-06-18", "2025-11-25"] {
        let answer = client.initialize(revision);
        assert_eq!((answer.status, answer.header("mcp-session-id")), (200, None), "{answer:?}");
        let result = &response_messages(&answer)[0]["result"];
        assert_eq!(result["protocolVersion"], revision);
        assert!(
            result["capabilities"]["extensions"].get("io.modelcontextprotocol/skills").is_some(),
            "{result}"
        );
        assert!(!result["instructions"].as_str().unwrap().is_empty(), "{result}");
        let answer = client.legacy(revision, "skills/list", json!({}));
        assert_eq!(
            response_messages(&answer)[0]["result"]["skills"].as_array().unwrap().len(),
            1,
            "{answer:?}"
        );
    }
    let discovered = client.result("server/discover", json!({}));
    assert_eq!(discovered["supportedVersions"], json!(["2025-06-18", "2025-11-25", "2026-07-28"]));
    let page = client.result("skills/list", json!({}));
    assert!(page["ttlMs"].is_u64() && page["cacheScope"] == "private", "{page}");
}

#[test]
fn mc_05_requests_are_counted_in_the_metrics() {
    let fixture = RegistryFixture::new("sqlite");
    let client = fixture.reader("me");
    client.result("tools/list", json!({}));
    let metrics = fixture.registry.request("GET /metrics", None, b"").text();
    assert!(
        metrics
            .lines()
            .any(|line| line.contains(r#"route="/mcp""#) && line.contains(r#"method="POST""#))
    );
}

#[test]
fn mc_02_damaged_package_does_not_hide_other_packages() {
    let fixture = RegistryFixture::new("sqlite");
    let me = fixture.token("me", "publish");
    let text = skill_text("review");
    let bytes = fixture.publish_skills(
        &me,
        ("acme/broken", "1.0.0"),
        &[("review/SKILL.md", text.as_bytes())],
    );
    fixture.publish_skill(&me, "acme/plan", "1.0.0");
    let hex = Digest::of(&bytes).hex();
    let object = objects_dir(&fixture.world).join(&hex[..2]).join(&hex[2..]);
    std::fs::write(object, b"something else").unwrap();
    let client = fixture.client(&me);
    assert_eq!(skill_uris(&client), ["skill://registry/acme/plan/plan/SKILL.md"]);
    assert_eq!(client.call("search", json!({"query": "plan"}))["results"][0]["title"], "plan");
    // The cause is logged and not sent to clients.
    let answer = client
        .response("skills/get", json!({"uri": "skill://registry/acme/broken/review/SKILL.md"}));
    assert_eq!(answer["error"]["code"], -32603, "{answer}");
    assert!(!answer.to_string().contains("objects"), "{answer}");
}

#[test]
fn mc_05_concurrent_requests_get_responses() {
    let fixture = RegistryFixture::new("sqlite");
    let me = fixture.token("me", "publish");
    let text = skill_text("review");
    fixture.publish_skills(&me, ("acme/tools", "1.0.0"), &[("a/review/SKILL.md", text.as_bytes())]);
    let client = fixture.client(&me);
    std::thread::scope(|scope| {
        for _ in 0..24 {
            scope.spawn(|| {
                assert_eq!(skill_uris(&client), ["skill://registry/acme/tools/a/review/SKILL.md"]);
                client.call("search", json!({"query": "review"}));
            });
        }
    });
}
