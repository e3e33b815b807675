//! Malformed messages, limits, cancellation, disconnects and concurrent calls.

use serde_json::{Value, json};
use sp_testkit::world;

use super::{serve, two_skills};

#[test]
fn mc_01_malformed_lines_get_json_rpc_errors() {
    let world = two_skills();
    let mut server = serve(&world, &[]);
    for (line, code, id) in [
        ("nonsense", -32700, Value::Null),
        ("{\"jsonrpc\":\"2.0\",\"id\":1,", -32700, Value::Null),
        ("[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]", -32600, Value::Null),
        ("{\"id\":9,\"method\":\"tools/list\"}", -32600, json!(9)),
        ("{\"jsonrpc\":\"1.0\",\"id\":\"a\",\"method\":\"tools/list\"}", -32600, json!("a")),
        ("42", -32600, Value::Null),
        ("{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"x\"}", -32600, Value::Null),
        ("\u{feff}{}", -32700, Value::Null),
    ] {
        server.write_line(line);
        let answer = server.read().unwrap();
        assert_eq!(answer["error"]["code"], code, "{line}: {answer}");
        assert_eq!(answer.get("id").cloned().unwrap_or_default(), id, "{line}: {answer}");
    }
    for ignored in [
        "",
        "   ",
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/whatever\",\"params\":7}",
        "\r",
    ] {
        server.write_line(ignored);
    }
    assert_eq!(server.result("skills/list", json!({}))["skills"].as_array().unwrap().len(), 2);
}

#[test]
fn mc_05_oversized_and_deeply_nested_messages_are_refused() {
    let world = two_skills();
    let mut server = serve(&world, &[]);
    let arguments = json!({"query": "x".repeat(5 * 1024 * 1024)});
    server.send("tools/call", json!({"name": "search", "arguments": arguments}));
    let answer = server.read().unwrap();
    assert_eq!(answer["error"]["code"], -32600, "{answer}");
    assert!(answer.get("id").is_none(), "{answer}");
    let deep = format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\",\"params\":{}{}}}",
        "[".repeat(100_000),
        "]".repeat(100_000)
    );
    server.write_line(&deep);
    assert!(server.read().unwrap()["error"].is_object());
    assert_eq!(server.result("skills/list", json!({}))["skills"].as_array().unwrap().len(), 2);
}

#[test]
fn mc_05_disconnected_client_gets_its_responses_and_server_exits() {
    let world = world!();
    for number in 0..400 {
        world.skill(&format!("skill-{number}"));
    }
    let mut server = serve(&world, &[]);
    let ids: Vec<u64> = (0..20)
        .map(|_| server.send("tools/call", json!({"name": "check", "arguments": {}})))
        .collect();
    assert_eq!(server.close_stdin().code(), Some(0));
    for id in ids {
        let answer = server.wait_for(id);
        assert!(answer["result"]["structuredContent"].is_object(), "{answer}");
    }
}

#[test]
fn mc_03_cancelled_call_gets_no_response_and_the_next_one_does() {
    let world = world!();
    for number in 0..2_000 {
        world.skill(&format!("skill-{number}"));
    }
    let mut server = serve(&world, &[]);
    server.initialize("2025-11-25");
    let id = server.send("tools/call", json!({"name": "check", "arguments": {}}));
    server.notify("notifications/cancelled", json!({"requestId": id, "reason": "enough"}));
    let next = server.result("tools/list", json!({}));
    assert!(next["tools"].is_array());
    server.result("ping", json!({}));
    assert_eq!(server.close_stdin().code(), Some(0));
    let mut messages = server.take_notifications();
    messages.extend(std::iter::from_fn(|| server.read()));
    assert!(messages.iter().all(|message| message["id"] != id), "response to {id}");
}

#[test]
fn mc_03_concurrent_requests_all_get_responses() {
    let world = two_skills();
    let mut server = serve(&world, &[]);
    server.result("server/discover", json!({}));
    let ids: Vec<u64> = (0..200).map(|_| server.send("skills/list", json!({}))).collect();
    for id in ids {
        assert_eq!(server.wait_for(id)["result"]["skills"].as_array().unwrap().len(), 2);
    }
}

#[test]
fn mc_01_last_line_needs_no_line_feed() {
    let world = two_skills();
    let mut command = world.command(&["mcp"]);
    let file = world.path("input");
    std::fs::write(&file, "{\"jsonrpc\":\"2.0\",\"id\":1,").unwrap();
    command.stdin(std::fs::File::open(&file).unwrap());
    let run = world.run(command);
    assert!(run.stdout.contains("-32700"), "{run}");
}
