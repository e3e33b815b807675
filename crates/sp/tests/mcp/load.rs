//! Many clients at once, and clients that go away in the middle.

use std::time::Duration;

use serde_json::json;
use sp_testkit::{Crowd, Cut, McpConnection, World, world};

use crate::http::start;

/// What is asked of a debug build by clients that share its processors need not be much.
const CLIENTS: usize = 50;
const HALF: Duration = Duration::from_secs(1);

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
fn mc_05_many_clients_at_once_are_answered_and_nothing_of_them_is_kept() {
    let world = some_skills();
    let server = start(&world, &[]);
    server.client(None).result("tools/list", json!({}));
    let idle = server.descriptors();
    let half = || {
        let crowd = Crowd::ask(&server.address, CLIENTS, HALF);
        assert_eq!(crowd.wrong, Vec::<String>::new());
        assert!(crowd.times.len() >= CLIENTS, "{} answers", crowd.times.len());
        assert!(server.descriptors_down_to(idle) <= idle, "connections that nobody uses stay open");
        server.memory()
    };
    let (first, second) = (half(), half());
    assert!(second < first + first / 4 + 8 * 1024, "{first} kB became {second} kB");
}

#[test]
fn mc_05_clients_that_hang_up_in_the_middle_leave_nothing_behind() {
    let world = some_skills();
    let server = start(&world, &[]);
    server.client(None).result("tools/list", json!({}));
    let idle = server.descriptors();
    let search = json!({"name": "search", "arguments": {"query": "skill notes"}});
    let cuts = [
        Cut::Asking(0),
        Cut::Asking(10),
        Cut::Asking(60),
        Cut::Asking(99),
        Cut::Waiting,
        Cut::Reading,
    ];
    for cut in cuts {
        // Nobody waits for another, as a crowd that is gone at once.
        let mut gone = Vec::new();
        for _ in 0..CLIENTS {
            gone.push(McpConnection::open(&server.address).unwrap());
        }
        for client in gone {
            client.hang_up("tools/call", search.clone(), cut).unwrap();
        }
        assert!(server.threads() < 40, "{cut:?}: {} threads", server.threads());
        assert!(server.descriptors_down_to(idle) <= idle, "{cut:?}");
    }
    let crowd = Crowd::ask(&server.address, 2, Duration::from_millis(100));
    assert_eq!(crowd.wrong, Vec::<String>::new());
}
