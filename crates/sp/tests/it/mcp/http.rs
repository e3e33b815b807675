//! HTTP: authorization, headers and limits.

use serde_json::json;
use sp_testkit::{McpHttpServer, World, eventually, resource_bytes, response_messages, sha256};

use super::two_skills;

const TOKEN: &str = "0123456789abcdef0123456789abcdef";

/// Starts a server over HTTP.
pub(crate) fn start(world: &World, args: &[&str]) -> McpHttpServer {
    McpHttpServer::start(world.command(&[&["mcp", "--listen", "127.0.0.1:0"], args].concat()))
}

#[test]
fn mc_01_all_revisions_are_supported_over_http() {
    let world = two_skills();
    let server = start(&world, &[]);
    let client = server.client(None);
    assert_eq!(client.result("skills/list", json!({}))["skills"].as_array().unwrap().len(), 2);
    for revision in ["2025-06-18", "2025-11-25"] {
        let answer = client.initialize(revision);
        assert_eq!(answer.status, 200);
        assert_eq!(response_messages(&answer)[0]["result"]["protocolVersion"], revision);
        assert!(answer.header("mcp-session-id").is_none(), "there are no sessions");
        let tools = client.legacy(revision, "tools/list", json!({}));
        assert!(response_messages(&tools)[0]["result"]["tools"].is_array());
    }
}

#[test]
fn mc_02_digests_match_the_files_over_http() {
    let world = two_skills();
    let server = start(&world, &[]);
    let client = server.client(None);
    let skills = client.result("skills/list", json!({}));
    for file in skills["skills"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|skill| skill["resources"].as_array().unwrap())
    {
        let read = client.result("resources/read", json!({"uri": file["uri"]}));
        assert_eq!(file["digest"], sha256(&resource_bytes(&read["contents"][0])));
    }
}

#[test]
fn mc_01_headers_must_match_the_message() {
    let world = two_skills();
    let server = start(&world, &[]);
    let client = server.client(None);
    let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "x", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {}});
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "search", "arguments": {"query": "x"}, "_meta": meta}})
    .to_string();
    let version = ("mcp-protocol-version", "2026-07-28");
    let status = |headers: &[(&str, &str)]| client.post(headers, body.as_bytes()).status;
    assert_eq!(status(&[version, ("mcp-method", "tools/call"), ("mcp-name", "search")]), 200);
    assert_eq!(status(&[version, ("mcp-method", "tools/list"), ("mcp-name", "search")]), 400);
    assert_eq!(status(&[version, ("mcp-method", "tools/call"), ("mcp-name", "fetch")]), 400);
    assert_eq!(
        status(&[("mcp-protocol-version", "2025-11-25"), ("mcp-method", "tools/call")]),
        400
    );
}

#[test]
fn mc_05_without_token_only_local_hosts_and_origins_are_accepted() {
    let world = two_skills();
    let server = start(&world, &[]);
    let client = server.client(None);
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25",
        "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}})
    .to_string();
    let status = |headers: &[(&str, &str)]| client.post(headers, body.as_bytes()).status;
    assert_eq!(status(&[]), 200);
    assert_eq!(status(&[("origin", "http://localhost:3000")]), 200);
    for origin in [
        "https://evil.example",
        "null",
        "http://localhost.evil.example",
        "http://127.0.0.1.evil.example:80",
    ] {
        assert_eq!(status(&[("origin", origin)]), 403, "{origin}");
    }
    for host in ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example"] {
        assert_eq!(client.post(&[("host", host)], body.as_bytes()).status, 403, "{host}");
    }
}

#[test]
fn mc_05_requests_need_the_configured_token() {
    let mut world = two_skills();
    world.set_env("SP_MCP_TOKEN", TOKEN);
    let server = start(&world, &["--allow-write"]);
    for token in [None, Some("wrong"), Some(""), Some(&TOKEN[1..])] {
        let answer = server.client(token).send("skills/list", json!({}));
        assert_eq!(answer.status, 401);
        assert_eq!(answer.header("www-authenticate"), Some("bearer"));
    }
    let client = server.client(Some(TOKEN));
    assert_eq!(client.result("skills/list", json!({}))["skills"].as_array().unwrap().len(), 2);
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}).to_string();
    assert_eq!(
        client.post(&[("host", "sp.example")], body.as_bytes()).status,
        200,
        "with a token, any host is accepted"
    );
    let lowercase = format!("bearer {TOKEN}");
    assert_eq!(
        server.client(None).post(&[("authorization", &lowercase)], body.as_bytes()).status,
        200,
        "the scheme is case-insensitive"
    );
    assert_eq!(client.post(&[("origin", "https://evil.example")], body.as_bytes()).status, 403);
}

#[test]
fn mc_05_unprotected_server_does_not_start() {
    let mut world = two_skills();
    for args in [
        &["mcp", "--listen", "0.0.0.0:0"][..],
        &["mcp", "--listen", "127.0.0.1:0", "--allow-write"],
    ] {
        let error = world.sp_error(args);
        assert_eq!(error.code, "E-unprotected-server", "{args:?}");
        assert!(error.hints_at("SP_MCP_TOKEN"), "{error:?}");
    }
    world.set_env("SP_MCP_TOKEN", "short");
    assert_eq!(world.sp_error(&["mcp", "--listen", "127.0.0.1:0"]).code, "E-invalid-secret");
}

#[test]
fn mc_05_invalid_bodies_methods_and_paths_are_refused() {
    let world = two_skills();
    let server = start(&world, &[]);
    let client = server.client(None);
    let huge = vec![b' '; 5 * 1024 * 1024];
    assert_eq!(client.post(&[], &huge).status, 413);
    for (body, code) in
        [(&b"nonsense"[..], -32700), (b"", -32600), (b"{}", -32600), (b"[]", -32600)]
    {
        let answer = client.post(&[], body);
        assert_eq!(
            (answer.status, &answer.json()["error"]["code"]),
            (400, &json!(code)),
            "{answer:?}"
        );
    }
    assert_eq!(client.request("GET /mcp", &[], b"").status, 405);
    assert_eq!(client.request("DELETE /mcp", &[], b"").status, 405);
    assert_eq!(client.request("POST /", &[], b"{}").status, 404);
    assert_eq!(client.result("skills/list", json!({}))["skills"].as_array().unwrap().len(), 2);
}

#[test]
fn mc_01_stateless_revision_has_no_handshake_over_http() {
    let world = two_skills();
    let server = start(&world, &[]);
    let client = server.client(None);
    let handshake = json!({"protocolVersion": "2026-07-28", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}});
    for params in [json!({}), handshake] {
        let answer = client.send("initialize", params);
        assert_eq!(
            (answer.status, &answer.json()["error"]["code"]),
            (404, &json!(-32601)),
            "{answer:?}"
        );
    }
    let missing = client.response("resources/read", json!({"uri": "skill://repo/none/SKILL.md"}));
    assert_eq!(missing["error"]["data"]["uri"], "skill://repo/none/SKILL.md");
}

#[test]
fn mc_05_disconnected_clients_do_not_block_others() {
    let world = two_skills();
    for number in 0..600 {
        world.skill(&format!("many/skill-{number}"));
    }
    let server = start(&world, &[]);
    let client = server.client(None);
    let idle = server.descriptors();
    let connections: Vec<_> = (0..60)
        .map(|_| {
            use std::io::Write as _;
            let mut stream = std::net::TcpStream::connect(&server.address).unwrap();
            let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
                "params": {"name": "search", "arguments": {"query": "skill"}}})
            .to_string();
            let head = format!(
                "POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\naccept: application/json, \
                 text/event-stream\r\ncontent-length: {}\r\n\r\n{body}",
                body.len()
            );
            stream.write_all(head.as_bytes()).unwrap();
            stream
        })
        .collect();
    eventually(|| (server.descriptors() >= idle + connections.len()).then_some(()));
    // Requests that are still queued are never started.
    drop(connections);
    client.call("read_skill", json!({"skill": "skill://repo/review/SKILL.md"}));
}
