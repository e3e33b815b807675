//! How a session ends: every request that was read has its response, and nothing keeps the process
//! alive.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use sp_testkit::{World, wait_for_exit, world};

use super::{serve, two_skills};

/// A request of the revision that has no handshake.
fn request(id: u64, method: &str, params: &Value) -> String {
    let mut params = params.clone();
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "x", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()
}

/// Runs a server whose input is a file, and returns its messages.
fn run(world: &World, input: impl AsRef<[u8]>) -> Vec<Value> {
    let file = world.path("input");
    std::fs::write(&file, input).unwrap();
    let mut command = world.command(&["mcp"]);
    command.stdin(std::fs::File::open(&file).unwrap());
    let run = world.run(command).ok();
    run.stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect()
}

/// Counts the responses for each ID. Responses without an ID are counted as `null`.
fn responses_by_id(messages: &[Value]) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for message in messages.iter().filter(|message| message.get("method").is_none()) {
        *counts.entry(message.get("id").unwrap_or(&Value::Null).to_string()).or_default() += 1;
    }
    counts
}

#[test]
fn mc_01_every_request_has_its_response_before_the_process_exits() {
    const REQUESTS: u64 = 600;
    let world = two_skills();
    let mut input = String::new();
    let mut malformed = 0;
    for id in 1..=REQUESTS {
        let line = match id % 6 {
            0 => request(id, "tools/list", &json!({})),
            1 => request(id, "skills/list", &json!({})),
            2 => request(id, "no/such/method", &json!({})),
            3 => request(
                id,
                "tools/call",
                &json!({"name": "search", "arguments": {"query": "deploy"}}),
            ),
            4 => request(id, "resources/read", &json!({"uri": "skill://repo/review/SKILL.md"})),
            // It has an ID, but is not a request.
            _ => format!("{{\"id\":{id}}}"),
        };
        input.push_str(&line);
        input.push('\n');
        if id % 50 == 0 {
            malformed += 1;
            input.push_str("nonsense\n");
        }
    }
    // The last line has no line feed.
    input.push_str("{\"jsonrpc\":");
    malformed += 1;

    let responses = responses_by_id(&run(&world, input));
    let mut expected: BTreeMap<String, usize> =
        (1..=REQUESTS).map(|id| (id.to_string(), 1)).collect();
    expected.insert("null".into(), malformed);
    assert_eq!(responses, expected);
}

#[test]
fn mc_01_request_in_an_unterminated_last_line_has_its_response() {
    let world = two_skills();
    let answers = run(&world, request(7, "skills/list", &json!({})));
    assert_eq!(answers.len(), 1);
    assert_eq!(answers[0]["id"], 7);
    assert_eq!(answers[0]["result"]["skills"].as_array().unwrap().len(), 2);
}

#[test]
fn mc_05_oversized_unterminated_last_line_is_refused() {
    let world = two_skills();
    let answers = run(&world, vec![b'x'; 5 * 1024 * 1024]);
    assert_eq!(answers.len(), 1);
    assert_eq!(answers[0]["error"]["code"], -32600);
}

#[test]
fn mc_01_messages_before_the_handshake_do_not_end_the_session() {
    let world = two_skills();
    let initialize = |id: u64, meta: &Value| {
        json!({"jsonrpc": "2.0", "id": id, "method": "initialize", "params": {"protocolVersion": "2025-11-25",
            "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}, "_meta": meta}})
    };
    let lines = [
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 99, "result": {}}),
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "ping"}),
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}}),
        // The revision without a handshake has no such method.
        initialize(3, &json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28"})),
        initialize(4, &json!({})),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 5, "method": "tools/list", "params": {}}),
    ];
    let input: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let answers = run(&world, input);
    let by_id = |id: u64| {
        answers
            .iter()
            .find(|answer| answer["id"] == id)
            .unwrap_or_else(|| panic!("no response to {id}"))
    };
    assert_eq!(answers.len(), 5, "{answers:?}");
    assert_eq!(by_id(1)["error"]["code"], -32602);
    assert_eq!(by_id(2)["result"], json!({}));
    assert_eq!(by_id(3)["error"]["code"], -32601);
    assert_eq!(by_id(4)["result"]["protocolVersion"], "2025-11-25");
    assert!(by_id(5)["result"]["tools"].is_array());
}

#[test]
fn mc_01_requests_that_share_an_id_have_a_response_each() {
    let world = two_skills();
    let line = request(7, "skills/list", &json!({}));
    // The requests may overlap or not; both get a response either way.
    let answers =
        run(&world, format!("{line}\n{line}\n{}\n", request(8, "tools/list", &json!({}))));
    assert_eq!(
        responses_by_id(&answers),
        BTreeMap::from([("7".into(), 2), ("8".into(), 1)]),
        "{answers:?}"
    );
    assert!(
        answers.iter().any(|answer| answer["id"] == 7 && answer["result"]["skills"].is_array()),
        "{answers:?}"
    );
}

#[test]
fn mc_03_cancelled_requests_do_not_delay_the_exit() {
    let world = world!();
    for number in 0..200 {
        world.skill(&format!("skill-{number}"));
    }
    let mut server = serve(&world, &[]);
    server.initialize("2025-11-25");
    for _ in 0..20 {
        let id = server.send("tools/call", json!({"name": "check", "arguments": {}}));
        server.notify("notifications/cancelled", json!({"requestId": id}));
    }
    let last = server.send("tools/list", json!({}));
    assert_eq!(server.close_stdin().code(), Some(0));
    assert!(server.wait_for(last)["result"]["tools"].is_array());
}

#[test]
fn mc_05_server_exits_when_the_client_closes_its_output() {
    let world = two_skills();
    let mut command = world.command(&["mcp"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    writeln!(input, "{}", request(1, "tools/list", &json!({}))).unwrap();
    let mut line = String::new();
    output.read_line(&mut line).unwrap();
    assert!(line.contains("\"id\":1"), "{line}");
    drop(output);
    // The input stays open, and the next response cannot be written.
    writeln!(input, "{}", request(2, "skills/list", &json!({}))).unwrap();
    assert_eq!(wait_for_exit(&mut child).code(), Some(0));
    drop(input);
}

#[test]
fn mc_05_server_exits_after_a_signal() {
    let world = two_skills();
    for signal in ["-TERM", "-INT"] {
        let mut server = serve(&world, &[]);
        server.result("skills/list", json!({}));
        assert!(
            Command::new("kill")
                .args([signal, &server.id().to_string()])
                .status()
                .unwrap()
                .success()
        );
        assert_eq!(server.wait_for_exit().code(), Some(0), "{signal}");
        assert_eq!(server.read_line(), None, "{signal}");
    }
    // Before the handshake, with the input still open.
    let mut command = world.command(&["mcp"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    writeln!(input, "nonsense").unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert!(line.contains("-32700"), "{line}");
    assert!(
        Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap().success()
    );
    assert_eq!(wait_for_exit(&mut child).code(), Some(0));
}
