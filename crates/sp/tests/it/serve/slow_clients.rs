//! Clients that stall, never read or never stop sending. This file is compiled once for each
//! database.

use sp_testkit::{Registry, SlowClients, World, eventually};

use super::{Database, create_token, get, package, put, serve_command};

/// More than the number of requests that a registry works on at once.
const STALLED_BODIES: usize = 600;
const STALLED_READERS: usize = 150;
const LARGE_PACKAGE_BYTES: usize = 9_000_000;
/// What may be in memory for each client: a piece of the response, and the buffers of the
/// connection.
const BYTES_PER_CLIENT: u64 = 128 * 1024;

fn running(module: &str, flags: &[&str]) -> (World, Registry, String) {
    let mut world = sp_testkit::world!();
    Database::of_module(module).use_in(&mut world);
    let registry = Registry::start(serve_command(&world, flags));
    let admin = registry.admin.clone().unwrap();
    let me = create_token(&registry, &admin, "me", "publish");
    (world, registry, me)
}

fn large_package() -> Vec<u8> {
    package("@acme/large", "1.0.0", &"x".repeat(LARGE_PACKAGE_BYTES))
}

/// Asserts that other clients notice nothing.
fn assert_works(registry: &Registry, me: &str, version: &str) {
    for path in ["/healthz", "/readyz", "/metrics", "/api/v1/index.json", "/"] {
        assert_eq!(registry.request(&format!("GET {path}"), None, b"").status, 200, "{path}");
    }
    let bytes = package("@acme/notes", version, "Tenants never share rows.");
    assert_eq!(put(registry, me, &format!("acme/notes/{version}"), &bytes).status, 201);
    let download = get(registry, None, &format!("packages/acme/notes/{version}/download"));
    assert_eq!((download.status, download.body), (200, bytes));
}

#[test]
fn rg_101_stalled_bodies_do_not_keep_others_from_being_handled() {
    let (_world, registry, me) = running(module_path!(), &["--timeout", "5s", "--rate", "off"]);
    let anonymous = "POST /login HTTP/1.1\r\nhost: x\r\ncontent-length: 1000\r\n\
        content-type: application/x-www-form-urlencoded\r\n\r\n123456";
    let known = format!(
        "PUT /api/v1/packages/acme/notes/9.0.0 HTTP/1.1\r\nhost: x\r\n\
         authorization: Bearer {me}\r\ncontent-length: 1000\r\n\r\n123456"
    );
    let clients = [anonymous, &known]
        .map(|head| SlowClients::open(&registry.address, STALLED_BODIES, head.as_bytes()));
    assert_works(&registry, &me, "1.0.0");
    for answer in clients.into_iter().flat_map(SlowClients::read_to_end) {
        // Some were closed without an answer, since this address has too many connections.
        let answer = String::from_utf8_lossy(&answer).into_owned();
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 408 "), "{answer}");
    }
    eventually(|| (registry.metric("sp_connections") == Some(1)).then_some(()));
    assert!(registry.metric("sp_stalled_clients") > Some(0));
    assert_works(&registry, &me, "1.1.0");
}

#[test]
fn rg_101_endless_and_unfinished_heads_are_disconnected() {
    let (_world, registry, me) = running(module_path!(), &["--timeout", "2s", "--rate", "off"]);
    let silent = SlowClients::open(&registry.address, 300, b"");
    let unfinished = SlowClients::open(&registry.address, 300, b"GET / HTTP/1.1\r\nx: ");
    let mut endless = SlowClients::open(&registry.address, 50, b"GET / HTTP/1.1\r\n");
    for _ in 0..64 {
        endless.send(format!("x: {}\r\n", "x".repeat(1000)).as_bytes());
    }
    assert_works(&registry, &me, "1.0.0");
    for answer in endless.read_to_end() {
        let answer = String::from_utf8_lossy(&answer).into_owned();
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 431 "), "{answer}");
    }
    for answer in silent.read_to_end().iter().chain(&unfinished.read_to_end()) {
        assert!(!answer.starts_with(b"HTTP/1.1 200"));
    }
}

#[test]
fn rg_102_stalled_readers_occupy_little_memory_and_are_disconnected() {
    let (world, registry, me) = running(module_path!(), &[]);
    let bytes = large_package();
    assert_eq!(put(&registry, &me, "acme/large/1.0.0", &bytes).status, 201);
    registry.kill();
    // The audit of the package takes longer than clients may stall.
    let registry = Registry::start(serve_command(&world, &["--timeout", "2s", "--rate", "off"]));
    let download = "GET /api/v1/packages/acme/large/1.0.0/download";
    // The first download verifies the object.
    assert_eq!(registry.request(download, None, b"").body.len(), bytes.len());
    let before = registry.peak_bytes();
    let head = format!("{download} HTTP/1.1\r\nhost: x\r\n\r\n");
    let clients = SlowClients::open(&registry.address, STALLED_READERS, head.as_bytes());
    assert_works(&registry, &me, "1.0.0");
    assert_eq!(registry.request(download, None, b"").body, bytes);
    eventually(|| (registry.metric("sp_stalled_clients") > Some(100)).then_some(()));
    eventually(|| (registry.metric("sp_connections") == Some(1)).then_some(()));
    let added = registry.peak_bytes() - before;
    let expected = STALLED_READERS as u64 * BYTES_PER_CLIENT + 64 * 1024 * 1024;
    assert!(added < expected, "{added} bytes for {STALLED_READERS} clients");
    for answer in clients.read_to_end() {
        assert!(answer.len() < bytes.len());
    }
}

#[test]
fn rg_102_parts_of_large_objects_are_exact() {
    let (_world, registry, me) = running(module_path!(), &[]);
    let bytes = large_package();
    assert_eq!(put(&registry, &me, "acme/large/1.0.0", &bytes).status, 201);
    let end = bytes.len();
    for (range, part) in [
        ("bytes=0-0".to_owned(), 0..1),
        ("bytes=5000000-5100000".into(), 5_000_000..5_100_001),
        (format!("bytes={}-", end - 70_000), end - 70_000..end),
        ("bytes=-32769".into(), end - 32_769..end),
    ] {
        let request = "GET /api/v1/packages/acme/large/1.0.0/download";
        let answer = registry.send(request, &[("range", &range)], b"");
        let length = part.len().to_string();
        assert_eq!((answer.status, answer.header("content-length")), (206, Some(&*length)));
        assert!(answer.body == bytes[part], "{range}");
    }
}

#[test]
fn rg_102_sigterm_ends_the_registry_whatever_clients_do() {
    let (_world, registry, me) = running(module_path!(), &["--grace", "1s"]);
    assert_eq!(put(&registry, &me, "acme/large/1.0.0", &large_package()).status, 201);
    let requests = [
        "",
        "GET / HTTP/1.1\r\nx: ",
        "GET / HTTP/1.1\r\nhost: x\r\n\r\n",
        "POST /login HTTP/1.1\r\nhost: x\r\ncontent-length: 1000\r\n\
         content-type: application/x-www-form-urlencoded\r\n\r\n123456",
        "GET /api/v1/packages/acme/large/1.0.0/download HTTP/1.1\r\nhost: x\r\n\r\n",
    ];
    let clients = requests.map(|head| SlowClients::open(&registry.address, 20, head.as_bytes()));
    assert_eq!(registry.terminate(), Some(0));
    drop(clients);
}
