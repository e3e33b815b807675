//! What who runs a registry sees of it, and what it does with those who ask too much, too slowly or
//! too often.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::Value;
use sp_testkit::{HANG_TIMEOUT, Registry, World, eventually, world};

use super::{command, package, put, token};

fn logged(world: &World, flags: &[&str]) -> (Registry, std::path::PathBuf) {
    let log = world.path("log");
    let mut command = command(world, flags);
    command.stderr(std::fs::File::create(&log).unwrap());
    (Registry::start_telling(command), log)
}

/// The lines of a log, once there are so many.
fn lines(log: &std::path::Path, count: usize) -> Vec<String> {
    eventually(|| {
        let lines: Vec<String> =
            std::fs::read_to_string(log).unwrap().lines().map(str::to_owned).collect();
        (lines.len() >= count).then_some(lines)
    })
}

#[test]
fn se_07_the_log_tells_of_every_request_and_of_no_secret() {
    for form in ["json", "text"] {
        let world = world!();
        let (registry, log) = logged(&world, &["--log", form]);
        let admin = registry.admin.clone().unwrap();
        let me = token(&registry, &admin, "me", "publish");
        let bytes = package("@acme/notes", "1.0.0", "Tenants never share rows.");
        let published = put(&registry, &me, "acme/notes/1.0.0", &bytes);
        assert_eq!((published.status, published.header("x-request-id").unwrap().len()), (201, 16));
        let mine = [("authorization", &*format!("Bearer {me}")), ("x-request-id", "build-7")];
        let asked = registry.send(&format!("GET /api/v1/whoami?token={me}&sig=5ec2e7"), &mine, b"");
        assert_eq!(asked.header("x-request-id"), Some("build-7"));
        for odd in ["a b".into(), "x".repeat(65), "{\"a\":1}".into(), me.clone()] {
            let odd = registry.send("GET /healthz", &[("x-request-id", &odd)], b"");
            assert_eq!(odd.header("x-request-id").unwrap().len(), 16);
        }
        registry.ask("GET /s/5ec2e7/notes/pack.json?sig=5ec2e7", None, b"");
        registry.ask(&format!("GET /api/v1/{me}"), None, b"");
        let told = lines(&log, 9);
        let text = told.join("\n");
        for secret in [&me, &admin, "5ec2e7", "Tenants"] {
            assert!(!text.contains(secret), "{text}");
        }
        assert!(text.contains("/s/…/notes/pack.json"), "{text}");
        if form == "json" {
            let told: Vec<Value> =
                told.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
            let publish =
                told.iter().find(|line| line["status"] == 201 && line["method"] == "PUT").unwrap();
            assert_eq!(
                (&publish["path"], &publish["user"]),
                (&Value::from("/api/v1/packages/acme/notes/1.0.0"), &Value::from("me"))
            );
            assert_eq!(publish["client"], "127.0.0.1");
            assert!(
                told.iter().any(|line| line["id"] == "build-7" && line["path"] == "/api/v1/whoami")
            );
        }
    }
}

#[test]
fn what_is_counted_has_routes_and_never_paths() {
    let world = world!();
    let registry = Registry::start(command(&world, &[]));
    let me = token(&registry, registry.admin.as_ref().unwrap(), "me", "publish");
    let bytes = package("@acme/notes", "1.0.0", "Tenants never share rows.");
    put(&registry, &me, "acme/notes/1.0.0", &bytes);
    put(&registry, &me, "acme/notes/1.0.0", &bytes);
    registry.ask("GET /api/v1/packages/acme/notes/1.0.0/download", None, b"");
    for number in 0..20 {
        registry.ask(&format!("GET /nothing/{number}"), None, b"");
        registry.ask(&format!("STRANGE{number} /healthz"), None, b"");
    }
    let answer = registry.ask("GET /metrics", None, b"");
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
        assert!(text.lines().any(|known| known == line), "{line} is not in\n{text}");
    }
    assert!(
        !text.contains("acme") && !text.contains("STRANGE") && text.lines().count() < 200,
        "{text}"
    );
    assert!(text.contains("sp_request_seconds_bucket"), "{text}");
}

#[test]
fn who_asks_too_often_waits_and_others_do_not() {
    let world = world!();
    let registry =
        Registry::start(command(&world, &["--rate", "1:5", "--trust-proxy", "127.0.0.1"]));
    let ask = |client: &str| {
        registry.send("GET /healthz", &[("x-forwarded-for", &format!("6.6.6.6, {client}"))], b"")
    };
    let statuses: Vec<u16> = (0..12).map(|_| ask("1.1.1.1").status).collect();
    assert!(statuses[..5].iter().all(|status| *status == 200), "{statuses:?}");
    assert!(statuses[8..].contains(&429), "{statuses:?}");
    let refused = (0..3).map(|_| ask("1.1.1.1")).find(|answer| answer.status == 429).unwrap();
    let wait: u64 = refused.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=2).contains(&wait) && refused.json()["code"] == "too_often", "{refused:?}");
    assert_eq!(ask("2.2.2.2").status, 200);
    std::thread::sleep(Duration::from_secs(wait));
    assert_eq!(ask("1.1.1.1").status, 200);
}

#[test]
fn a_strangers_word_on_who_asks_does_not_count() {
    let world = world!();
    let registry = Registry::start(command(&world, &["--rate", "1:3"]));
    let ask = |number: usize| {
        registry
            .send("GET /healthz", &[("x-forwarded-for", &format!("1.1.1.{number}"))], b"")
            .status
    };
    assert!((0..8).map(ask).any(|status| status == 429));
}

/// How long a connection is kept that sends a byte now and then.
fn kept_open(registry: &Registry, first: &str) -> (Duration, String) {
    let mut stream = TcpStream::connect(&registry.address).unwrap();
    stream.write_all(first.as_bytes()).unwrap();
    let begun = Instant::now();
    let mut reader = stream.try_clone().unwrap();
    let writing = std::thread::spawn(move || {
        while stream.write_all(b"x").is_ok() && begun.elapsed() < HANG_TIMEOUT {
            std::thread::sleep(Duration::from_millis(50));
        }
    });
    let mut answer = Vec::new();
    let _ = reader.read_to_end(&mut answer);
    let kept = begun.elapsed();
    writing.join().unwrap();
    (kept, String::from_utf8_lossy(&answer).into_owned())
}

#[test]
fn a_client_that_sends_a_byte_at_a_time_is_cut_off() {
    let world = world!();
    let registry = Registry::start(command(&world, &["--timeout", "1"]));
    let me = token(&registry, registry.admin.as_ref().unwrap(), "me", "publish");
    let (kept, _) = kept_open(&registry, "GET /healthz HTTP/1.1\r\nx-slow: ");
    assert!(kept < HANG_TIMEOUT, "{kept:?}");
    let head = format!(
        "PUT /api/v1/packages/acme/notes/1.0.0 HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {me}\r\ncontent-length: 100000\r\n\r\n"
    );
    let (kept, answer) = kept_open(&registry, &head);
    assert!(kept < HANG_TIMEOUT && answer.starts_with("HTTP/1.1 408"), "{kept:?} {answer}");
    let long = "x".repeat(64 * 1024);
    assert_eq!(
        registry
            .try_send("GET /healthz", &[("x-long", &long)], b"")
            .map_or(431, |answer| answer.status),
        431
    );
    assert_eq!(registry.ask("GET /healthz", None, b"").status, 200);
}
