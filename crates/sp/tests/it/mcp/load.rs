//! Concurrent clients, and clients that disconnect in the middle of a request.

use std::time::Duration;

use serde_json::json;
use sp_testkit::{DisconnectPoint, LoadResult, McpConnection, World, world};

use super::http::start;

/// Few, because the clients share the processors with a debug build of the server.
const CLIENTS: usize = 50;
const LOAD_TIME: Duration = Duration::from_secs(1);

fn some_skills() -> World {
    let world = world!();
    for number in 0..40 {
        world.skill(&format!("group-{}/skill-{number}", number % 4));
        world.write(
            &format!("skills/group-{}/skill-{number}/notes.md", number % 4),
            "Notes.\n".repeat(200),
        );
    }
    world
}

#[test]
fn mc_05_concurrent_clients_leave_no_connections_and_no_memory() {
    let world = some_skills();
    let server = start(&world, &[]);
    server.client(None).result("tools/list", json!({}));
    let idle = server.descriptors();
    let memory_after_load = || {
        let crowd = LoadResult::run(&server.address, CLIENTS, LOAD_TIME);
        assert_eq!(crowd.wrong, Vec::<String>::new());
        assert!(crowd.times.len() >= CLIENTS, "{} answers", crowd.times.len());
        server.wait_for_descriptors(idle);
        server.memory()
    };
    let (first, second) = (memory_after_load(), memory_after_load());
    assert!(second < first + first / 4 + 8 * 1024, "memory grew from {first} kB to {second} kB");
}

#[test]
fn mc_05_disconnects_at_any_point_leave_no_connections() {
    let world = some_skills();
    let server = start(&world, &[]);
    server.client(None).result("tools/list", json!({}));
    let idle = server.descriptors();
    let search = json!({"name": "search", "arguments": {"query": "skill notes"}});
    let cuts = [
        DisconnectPoint::InRequest(0),
        DisconnectPoint::InRequest(10),
        DisconnectPoint::InRequest(60),
        DisconnectPoint::InRequest(99),
        DisconnectPoint::AfterRequest,
        DisconnectPoint::InResponse,
    ];
    for cut in cuts {
        // All connections are open before the first one disconnects.
        let mut connections = Vec::new();
        for _ in 0..CLIENTS {
            connections.push(McpConnection::open(&server.address).unwrap());
        }
        for connection in connections {
            connection.disconnect("tools/call", search.clone(), cut).unwrap();
        }
        assert!(server.threads() < 40, "{cut:?}: {} threads", server.threads());
        server.wait_for_descriptors(idle);
    }
    let crowd = LoadResult::run(&server.address, 2, Duration::from_millis(100));
    assert_eq!(crowd.wrong, Vec::<String>::new());
}
