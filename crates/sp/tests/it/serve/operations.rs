//! Request logs, metrics, rate limits and timeouts.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::Value;
use sp_testkit::{HANG_TIMEOUT, Registry, World, eventually, world};

use super::{create_token, package, put, serve_command};

/// Starts a registry that logs to a file.
fn start_with_log(world: &World, flags: &[&str]) -> (Registry, std::path::PathBuf) {
    let log = world.path("log");
    let mut command = serve_command(world, flags);
    command.stderr(std::fs::File::create(&log).unwrap());
    (Registry::start_with_stderr(command), log)
}

/// Waits until a log has at least this many lines, and returns them.
fn wait_for_lines(log: &std::path::Path, count: usize) -> Vec<String> {
    eventually(|| {
        let lines: Vec<String> =
            std::fs::read_to_string(log).unwrap().lines().map(str::to_owned).collect();
        (lines.len() >= count).then_some(lines)
    })
}

#[test]
fn se_07_log_has_every_request_and_no_secret() {
    for format in ["json", "text"] {
        let world = world!();
        let (registry, log) = start_with_log(&world, &["--log", format]);
        let admin = registry.admin.clone().unwrap();
        let me = create_token(&registry, &admin, "me", "publish");
        let bytes = package("@acme/notes", "1.0.0", "Tenants never share rows.");
        let published = put(&registry, &me, "acme/notes/1.0.0", &bytes);
        assert_eq!((published.status, published.header("x-request-id").unwrap().len()), (201, 16));
        let headers = [("authorization", &*format!("Bearer {me}")), ("x-request-id", "build-7")];
        let answer =
            registry.send(&format!("GET /api/v1/whoami?token={me}&sig=5ec2e7"), &headers, b"");
        assert_eq!(answer.header("x-request-id"), Some("build-7"));
        for invalid_id in ["a b".into(), "x".repeat(65), "{\"a\":1}".into(), me.clone()] {
            let answer = registry.send("GET /healthz", &[("x-request-id", &invalid_id)], b"");
            assert_eq!(answer.header("x-request-id").unwrap().len(), 16);
        }
        registry.request("GET /s/5ec2e7/notes/pack.json?sig=5ec2e7", None, b"");
        registry.request(&format!("GET /api/v1/{me}"), None, b"");
        // The first one is about the start.
        let lines = wait_for_lines(&log, 10);
        let text = lines.join("\n");
        for secret in [&me, &admin, "5ec2e7", "Tenants"] {
            assert!(!text.contains(secret), "{text}");
        }
        assert!(text.contains("/s/…/notes/pack.json"), "{text}");
        if format == "json" {
            let entries: Vec<Value> =
                lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
            let publish = entries
                .iter()
                .find(|entry| entry["status"] == 201 && entry["method"] == "PUT")
                .unwrap();
            assert_eq!(
                (&publish["path"], &publish["user"]),
                (&Value::from("/api/v1/packages/acme/notes/1.0.0"), &Value::from("me"))
            );
            assert_eq!(publish["client"], "127.0.0.1");
            assert!(
                entries
                    .iter()
                    .any(|entry| entry["id"] == "build-7" && entry["path"] == "/api/v1/whoami")
            );
        }
    }
}

#[test]
fn rg_112_log_has_the_start_and_the_end() {
    for format in ["json", "text"] {
        let world = world!();
        let (registry, log) = start_with_log(&world, &["--log", format]);
        assert_eq!(registry.terminate(), Some(0));
        let lines = wait_for_lines(&log, 3);
        let events: Vec<String> = lines.iter().map(|line| event_of(format, line)).collect();
        assert_eq!(events, ["started", "stopping", "stopped"], "{lines:?}");
        assert!(lines[0].contains(&registry.address), "{lines:?}");
    }
}

/// Returns the event of a line in the log.
fn event_of(format: &str, line: &str) -> String {
    if format == "json" {
        let entry: Value = serde_json::from_str(line).unwrap();
        assert!(entry["at"].as_str().unwrap().ends_with('Z'), "{line}");
        entry["event"].as_str().unwrap().into()
    } else {
        line.split(' ').nth(1).unwrap().into()
    }
}

#[test]
fn metrics_have_routes_instead_of_paths() {
    let world = world!();
    let registry = Registry::start(serve_command(&world, &[]));
    let me = create_token(&registry, registry.admin.as_ref().unwrap(), "me", "publish");
    let bytes = package("@acme/notes", "1.0.0", "Tenants never share rows.");
    put(&registry, &me, "acme/notes/1.0.0", &bytes);
    put(&registry, &me, "acme/notes/1.0.0", &bytes);
    registry.request("GET /api/v1/packages/acme/notes/1.0.0/download", None, b"");
    for number in 0..20 {
        registry.request(&format!("GET /nothing/{number}"), None, b"");
        registry.request(&format!("STRANGE{number} /healthz"), None, b"");
    }
    let answer = registry.request("GET /metrics", None, b"");
    assert!(answer.header("content-type").unwrap().starts_with("application/openmetrics-text"));
    let text = String::from_utf8(answer.body).unwrap();
    let route = "route=\"/api/v1/packages/{ns}/{name}/{version}\",method=\"PUT\"";
    for line in [
        &format!("sp_requests_total{{{route},status=\"2xx\"}} 1"),
        &format!("sp_requests_total{{{route},status=\"4xx\"}} 1"),
        "sp_requests_total{route=\"none\",method=\"GET\",status=\"4xx\"} 20",
        "sp_publishes_total 1",
        "sp_downloads_total 1",
        &format!("sp_published_bytes_total {}", bytes.len()),
        &format!("sp_downloaded_bytes_total {}", bytes.len()),
        "sp_in_flight 1",
        "# EOF",
    ] {
        assert!(text.lines().any(|metric| metric == line), "{line} is not in\n{text}");
    }
    assert!(
        !text.contains("acme") && !text.contains("STRANGE") && text.lines().count() < 200,
        "{text}"
    );
    assert!(text.contains("sp_request_seconds_bucket"), "{text}");
}

/// Sends requests at once, and returns their statuses in the order of the responses.
fn send_at_once(registry: &Registry, count: usize, path: &str, client: &str) -> Vec<u16> {
    std::thread::scope(|scope| {
        let send = |_| {
            let headers = [("x-forwarded-for", client)];
            scope.spawn(move || registry.send(&format!("GET {path}"), &headers, b"").status)
        };
        let threads: Vec<_> = (0..count).map(send).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

#[test]
fn rg_106_rate_limit_delays_and_then_refuses_each_client() {
    let world = world!();
    let flags = ["--rate", "10:10", "--trust-proxy", "127.0.0.0/8"];
    let registry = Registry::start(serve_command(&world, &flags));
    let statuses = send_at_once(&registry, 100, "/api/v1/index.json", "6.6.6.6, 1.1.1.1");
    let count = |status: u16| statuses.iter().filter(|other| **other == status).count();
    // As many as the burst are delayed.
    assert!(count(200) >= 20 && count(429) > 0 && count(200) + count(429) == 100, "{statuses:?}");
    let request = |client: &str| {
        let headers = [("x-forwarded-for", client)];
        registry.send("GET /api/v1/index.json", &headers, b"")
    };
    let refused = (0..40).map(|_| request("2.2.2.2")).find(|answer| answer.status == 429);
    // One client at a time is never refused, only slowed down.
    assert!(refused.is_none(), "{refused:?}");
    eventually(|| (request("6.6.6.6, 1.1.1.1").status == 200).then_some(()));
}

#[test]
fn rg_106_forwarded_for_header_of_untrusted_clients_is_ignored() {
    let world = world!();
    for flags in [&["--rate", "1:3"][..], &["--rate", "1:3", "--trust-proxy", "10.0.0.0/8"]] {
        let registry = Registry::start(serve_command(&world, flags));
        let statuses: Vec<u16> = std::thread::scope(|scope| {
            let send = |number: usize| {
                let registry = &registry;
                scope.spawn(move || {
                    let client = format!("1.1.1.{number}");
                    let headers = [("x-forwarded-for", client.as_str())];
                    registry.send("GET /api/v1/index.json", &headers, b"").status
                })
            };
            let threads: Vec<_> = (0..30).map(send).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(statuses.contains(&429), "{statuses:?}");
    }
}

#[test]
fn rg_106_monitoring_is_never_limited() {
    let world = world!();
    let registry = Registry::start(serve_command(&world, &["--rate", "1:1"]));
    for path in ["/healthz", "/readyz", "/metrics"] {
        for _ in 0..30 {
            assert_eq!(registry.request(&format!("GET {path}"), None, b"").status, 200, "{path}");
        }
    }
}

/// Sends the start of a request, then a byte at a time. Returns how long the connection was open,
/// and the response.
fn send_slowly(registry: &Registry, start: &str) -> (Duration, String) {
    let mut stream = TcpStream::connect(&registry.address).unwrap();
    stream.write_all(start.as_bytes()).unwrap();
    let started = Instant::now();
    stream.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
    let mut answer = Vec::new();
    let mut buffer = [0; 1024];
    while started.elapsed() < HANG_TIMEOUT {
        match stream.read(&mut buffer) {
            Ok(count @ 1..) => answer.extend_from_slice(&buffer[..count]),
            // Nothing arrived within the timeout.
            Err(e) if e.kind() == ErrorKind::WouldBlock && stream.write_all(b"x").is_ok() => {}
            _ => break,
        }
    }
    (started.elapsed(), String::from_utf8_lossy(&answer).into_owned())
}

#[test]
fn rg_101_slow_clients_are_disconnected() {
    let world = world!();
    let registry = Registry::start(serve_command(&world, &["--timeout", "1"]));
    let me = create_token(&registry, registry.admin.as_ref().unwrap(), "me", "publish");
    let (open, _) = send_slowly(&registry, "GET /healthz HTTP/1.1\r\nx-slow: ");
    assert!(open < HANG_TIMEOUT, "{open:?}");
    let head = format!(
        "PUT /api/v1/packages/acme/notes/1.0.0 HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {me}\r\ncontent-length: 100000\r\n\r\n"
    );
    let (open, answer) = send_slowly(&registry, &head);
    assert!(open < HANG_TIMEOUT && answer.starts_with("HTTP/1.1 408"), "{open:?} {answer}");
    let long = "x".repeat(64 * 1024);
    assert_eq!(
        registry
            .try_send("GET /healthz", &[("x-long", &long)], b"")
            .map_or(431, |answer| answer.status),
        431
    );
    assert_eq!(registry.request("GET /healthz", None, b"").status, 200);
}
