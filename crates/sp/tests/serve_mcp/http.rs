//! The door: who comes in, what is too much, and which revisions are spoken.

use serde_json::json;
use sp_testkit::{Mcp, messages};
use sp_tree::Digest;

use super::{Place, skill, skills};

const LIST: &[u8] = br#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;

#[test]
fn mc_05_without_a_token_nothing_is_told() {
    let place = Place::new("sqlite");
    let me = place.token("me", "publish");
    place.publish_skill(&me, "acme/review", "1.0.0");
    let revoked = place.token("gone", "read");
    place.done(&place.admin, "DELETE /api/v1/tokens/3", b"");
    let odd =
        [None, Some("ctxr_0000"), Some(""), Some(revoked.as_str()), Some(&me[..me.len() - 1])];
    let told: Vec<_> = odd
        .map(|token| {
            let client = Mcp::at(&place.registry.address, token);
            let answer = client.send("skills/list", json!({}));
            assert_eq!(answer.header("www-authenticate"), Some("bearer"), "{token:?}");
            assert_eq!(client.post(&[], b"no JSON").body, answer.body);
            (answer.status, answer.body)
        })
        .into_iter()
        .collect();
    assert!(told.iter().all(|one| one.0 == 401 && one.1 == told[0].1), "{told:?}");
    // Who is logged in on the pages is not for that reason let in here.
    let cookie = [("cookie", "sp-session=x"), ("accept", "application/json, text/event-stream")];
    assert_eq!(place.registry.send("POST /mcp", &cookie, LIST).status, 401);
    for scope in ["read", "publish"] {
        let client = place.client(&place.token("somebody", scope));
        assert_eq!(skills(&client), ["skill://registry/acme/review/review/SKILL.md"]);
    }
}

#[test]
fn mc_05_pages_from_elsewhere_may_not_ask() {
    let place = Place::new("sqlite");
    let client = place.reader("me");
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
fn mc_05_what_is_no_request_is_refused_in_the_words_of_the_protocol() {
    let place = Place::new("sqlite");
    let client = place.reader("me");
    let answer = client.post(&[], b"{\"jsonrpc\": ");
    assert_eq!(
        (answer.status, &answer.json()["error"]["code"]),
        (400, &json!(-32700)),
        "{answer:?}"
    );
    assert_eq!(client.post(&[], &vec![b' '; 5 * 1024 * 1024]).status, 413);
    for method in ["GET", "DELETE", "PUT", "PATCH"] {
        let answer = client.ask(&format!("{method} /mcp"), &[], b"");
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
fn mc_01_clients_of_every_revision_are_answered_without_a_session() {
    let place = Place::new("sqlite");
    let me = place.token("me", "publish");
    place.publish_skill(&me, "acme/review", "1.0.0");
    let client = place.client(&me);
    for revision in ["2025-06-18", "2025-11-25"] {
        let answer = client.initialize(revision);
        assert_eq!((answer.status, answer.header("mcp-session-id")), (200, None), "{answer:?}");
        let told = &messages(&answer)[0]["result"];
        assert_eq!(told["protocolVersion"], revision);
        assert!(
            told["capabilities"]["extensions"].get("io.modelcontextprotocol/skills").is_some(),
            "{told}"
        );
        assert!(told["instructions"].as_str().unwrap().contains("registry"), "{told}");
        let answer = client.legacy(revision, "skills/list", json!({}));
        assert_eq!(
            messages(&answer)[0]["result"]["skills"].as_array().unwrap().len(),
            1,
            "{answer:?}"
        );
    }
    let found = client.result("server/discover", json!({}));
    assert_eq!(found["supportedVersions"], json!(["2025-06-18", "2025-11-25", "2026-07-28"]));
    let page = client.result("skills/list", json!({}));
    assert!(page["ttlMs"].is_u64() && page["cacheScope"] == "private", "{page}");
}

#[test]
fn mc_05_requests_are_counted_as_all_others_are() {
    let place = Place::new("sqlite");
    let client = place.reader("me");
    client.result("tools/list", json!({}));
    let figures = place.registry.ask("GET /metrics", None, b"").text();
    assert!(
        figures
            .lines()
            .any(|line| line.contains(r#"route="/mcp""#) && line.contains(r#"method="POST""#))
    );
}

#[test]
fn mc_02_a_package_that_is_damaged_keeps_nobody_from_the_others() {
    let place = Place::new("sqlite");
    let me = place.token("me", "publish");
    let text = skill("review");
    let bytes = place.publish_skills(
        &me,
        ("acme/broken", "1.0.0"),
        &[("review/SKILL.md", text.as_bytes())],
    );
    place.publish_skill(&me, "acme/plan", "1.0.0");
    let hex = Digest::of(&bytes).hex();
    let object = place.world.path(&format!("registry/objects/{}/{}", &hex[..2], &hex[2..]));
    std::fs::write(object, b"something else").unwrap();
    let client = place.client(&me);
    assert_eq!(skills(&client), ["skill://registry/acme/plan/plan/SKILL.md"]);
    assert_eq!(client.call("search", json!({"query": "plan"}))["results"][0]["title"], "plan");
    // Why it cannot be read is for who runs the registry.
    let answer =
        client.answer("skills/get", json!({"uri": "skill://registry/acme/broken/review/SKILL.md"}));
    assert_eq!(answer["error"]["code"], -32603, "{answer}");
    assert!(!answer.to_string().contains("objects"), "{answer}");
}

#[test]
fn mc_05_many_may_ask_at_once() {
    let place = Place::new("sqlite");
    let me = place.token("me", "publish");
    let text = skill("review");
    place.publish_skills(&me, ("acme/tools", "1.0.0"), &[("a/review/SKILL.md", text.as_bytes())]);
    let client = place.client(&me);
    std::thread::scope(|scope| {
        for _ in 0..24 {
            scope.spawn(|| {
                assert_eq!(skills(&client), ["skill://registry/acme/tools/a/review/SKILL.md"]);
                client.call("search", json!({"query": "review"}));
            });
        }
    });
}
