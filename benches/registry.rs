//! The registry under load: downloads beside nginx, metadata beside Verdaccio, and 100,000
//! packages.
//!
//! `wrk` drives both sides, where it is installed. What comes at a fixed rate is measured here,
//! from the moment that each request was due, so that one that waits behind another counts its
//! waiting.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;
use sp_testkit::Registry;
use sp_tree::Digest;

use super::Bench;

const PACKAGES: usize = 100_000;
const RATE: u32 = 200;
const SECONDS: u32 = 10;
/// A package that is downloaded: about 100 KB.
const LARGE: usize = 100_000;

impl Bench {
    pub(super) fn registry(&self) {
        let data = self.path("registry");
        let arguments =
            ["serve", "--listen", "127.0.0.1:0", "--format", "json", "--rate", "off", "--data"];
        let mut command = self.sp(&arguments);
        command.arg(&data);
        let registry = Registry::start(command);
        let admin = registry.admin.clone().expect("a first start");
        publish(&registry, &admin, "large", LARGE);
        self.downloads(&registry);
        metadata(&registry);
        fill(&registry, &admin);
        println!(
            "\n{PACKAGES} packages, {RATE} requests a second for {SECONDS} s; the limit is a p99 of 50 ms"
        );
        for (what, path) in [
            ("index of everything, gzip", "/api/v1/index.json".to_owned()),
            ("index of a package", "/api/v1/packages/load/p4711/index.json".into()),
            ("search", "/api/v1/search?q=postgres".into()),
            ("search, written wrong", "/api/v1/search?q=kuberntes".into()),
        ] {
            // The first who asks for the index waits until it is written.
            registry.request(&format!("GET {path}"), None, b"");
            paced(&registry.address, what, &path);
        }
        hidden(&registry, &admin);
        memory(&registry);
    }

    /// A package of 100 KB, and the same bytes as a file of nginx.
    fn downloads(&self, registry: &Registry) {
        let path = "/api/v1/packages/load/large/1.0.0/download";
        let Some(ours) = wrk(&format!("http://{}{path}", registry.address)) else {
            println!("`wrk` is not installed: no rates");
            return;
        };
        let root = self.path("nginx");
        std::fs::create_dir_all(&root).expect("a directory");
        std::fs::write(
            root.join("large"),
            registry.request(&format!("GET {path}"), None, b"").body,
        )
        .expect("a file");
        match nginx(&root) {
            Some((_running, address)) => {
                let limit = wrk(&format!("http://{address}/large")).unwrap_or(f64::NAN);
                rates("download of 100 KB : nginx", ours, limit, 0.5);
            }
            None => println!("nginx is not installed; downloads a second: {ours:.0}"),
        }
    }
}

fn metadata(registry: &Registry) {
    let Some(ours) =
        wrk(&format!("http://{}/api/v1/packages/load/large/index.json", registry.address))
    else {
        return;
    };
    // Started by hand, with one package in it: `VERDACCIO=http://127.0.0.1:4873/one`.
    match std::env::var("VERDACCIO").ok().and_then(|url| wrk(&url)) {
        Some(theirs) => rates("metadata of a package : verdaccio", ours, theirs, 10.0),
        None => {
            println!("VERDACCIO names no package of a running one; metadata a second: {ours:.0}");
        }
    }
}

fn rates(what: &str, ours: f64, theirs: f64, limit: f64) {
    println!("{what:<44} {ours:>8.0}/s {theirs:>8.0}/s {:>7.2} {limit:>7.2}", ours / theirs);
}

/// Requests a second; none if there is no `wrk`.
fn wrk(url: &str) -> Option<f64> {
    let output = Command::new("wrk").args(["-t1", "-c16", "-d5s", url]).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(!text.contains("Non-2xx"), "{text}");
    let line = text.lines().find_map(|line| line.trim().strip_prefix("Requests/sec:"))?;
    line.trim().parse().ok()
}

/// A process that ends when this is dropped.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn nginx(root: &Path) -> Option<(Running, String)> {
    let port = TcpListener::bind("127.0.0.1:0").ok()?.local_addr().ok()?.port();
    let config = format!(
        "daemon off; master_process off; worker_processes 2; pid {root}/pid; error_log stderr; events {{}}\n\
         http {{ access_log off; sendfile on; keepalive_requests 1000000; server {{ listen 127.0.0.1:{port}; root {root}; }} }}\n",
        root = root.display()
    );
    let file = root.join("nginx.conf");
    std::fs::write(&file, config).ok()?;
    let mut command = Command::new("nginx");
    let child =
        command.arg("-c").arg(&file).arg("-p").arg(root).stderr(Stdio::null()).spawn().ok()?;
    let running = Running(child);
    let address = format!("127.0.0.1:{port}");
    for _ in 0..100 {
        if TcpStream::connect(&address).is_ok() {
            return Some((running, address));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    None
}

/// Publishes until all are there, by several at once.
fn fill(registry: &Registry, admin: &str) {
    let next = AtomicUsize::new(0);
    let start = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                while let Some(number) =
                    Some(next.fetch_add(1, Ordering::Relaxed)).filter(|at| *at < PACKAGES)
                {
                    publish(registry, admin, &format!("p{number}"), 100);
                }
            });
        }
    });
    let seconds = start.elapsed().as_secs_f64();
    println!(
        "published {PACKAGES} packages in {seconds:.0} s: {:.0} a second",
        PACKAGES as f64 / seconds
    );
}

const TOPICS: [&str; 6] =
    ["postgres", "kubernetes", "react", "terraform", "payments", "accessibility"];

fn publish(registry: &Registry, token: &str, name: &str, bytes: usize) {
    let (full, version) = (format!("@load/{name}"), "1.0.0");
    let text = "A sentence that stands here so that there is something. ".repeat(bytes / 56 + 1);
    let node = json!({"id": "n1", "type": "fact", "content": text, "activation": 1.0});
    let content = format!(
        r#"{{"context_graph":{{"format":"ctxpkg-graph-v2","nodes":[{node}],"edges":[]}}}}"#
    );
    let hash = Digest::of(content.as_bytes()).hex();
    let sha256 = Digest::of(format!("{full}:{version}:{hash}").as_bytes()).hex();
    let topic = TOPICS[name.bytes().map(usize::from).sum::<usize>() % TOPICS.len()];
    let manifest = json!({
        "schema_version": 2, "name": full, "version": version, "description": format!("Notes on {topic}, {name}."),
        "created_at": "2026-04-01T00:00:00Z", "layers": [], "conformance_level": 1,
        "provenance": {"tool": "bench", "tool_version": "1"},
        "integrity": {"sha256": sha256, "content_hash": hash, "byte_size": content.len()},
    });
    let body = format!("{{\"manifest\":{manifest},\"content\":{content}}}");
    let answer = registry.request(
        &format!("PUT /api/v1/packages/load/{name}/{version}"),
        Some(token),
        body.as_bytes(),
    );
    assert_eq!(answer.status, 201, "{answer:?}");
}

/// Asks at a fixed rate over connections that stay, and tells how long it took from when each was
/// due.
fn paced(address: &str, what: &str, path: &str) {
    const CLIENTS: u32 = 8;
    let begin = Instant::now() + Duration::from_millis(100);
    let mut times: Vec<Duration> = std::thread::scope(|scope| {
        let client = |number: u32| {
            scope.spawn(move || {
                let mut connection =
                    BufReader::new(TcpStream::connect(address).expect("a connection"));
                let due = (number..RATE * SECONDS).step_by(CLIENTS as usize);
                due.map(|at| {
                    let due = begin + Duration::from_secs(1) * at / RATE;
                    std::thread::sleep(due.saturating_duration_since(Instant::now()));
                    ask(&mut connection, address, path);
                    due.elapsed()
                })
                .collect::<Vec<_>>()
            })
        };
        let clients: Vec<_> = (0..CLIENTS).map(client).collect();
        clients.into_iter().flat_map(|client| client.join().expect("a client")).collect()
    });
    times.sort();
    let at = |share: usize| {
        times[(times.len() * share / 100).min(times.len() - 1)].as_secs_f64() * 1000.0
    };
    println!("{what:<44} p50 {:>7.1} ms   p99 {:>7.1} ms", at(50), at(99));
}

fn ask(connection: &mut BufReader<TcpStream>, address: &str, path: &str) {
    let head = format!("GET {path} HTTP/1.1\r\nhost: {address}\r\naccept-encoding: gzip\r\n\r\n");
    connection.get_mut().write_all(head.as_bytes()).expect("a request");
    let (mut length, mut line) = (0, String::new());
    connection.read_line(&mut line).expect("a status");
    assert!(line.contains(" 200 "), "{line}");
    loop {
        line.clear();
        connection.read_line(&mut line).expect("a header");
        if line == "\r\n" {
            break;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().expect("a length");
        }
    }
    let read = std::io::copy(&mut connection.take(length), &mut std::io::sink()).expect("a body");
    assert_eq!(read, length);
}

/// How long a stranger waits for what is private, beside what never was: nobody learns by the clock
/// what is there.
fn hidden(registry: &Registry, admin: &str) {
    let answer = registry.request("PUT /api/v1/packages/load/p1/private", Some(admin), b"");
    assert_eq!(answer.status, 204, "{answer:?}");
    let time = |name: &str| {
        let begin = Instant::now();
        registry.request(&format!("GET /api/v1/packages/load/{name}/index.json"), None, b"");
        begin.elapsed()
    };
    let mut pairs: Vec<(Duration, Duration)> =
        (0..2_000).map(|_| (time("p1"), time("zz"))).collect();
    let mut median = |of: fn(&(Duration, Duration)) -> Duration| {
        pairs.sort_by_key(of);
        of(&pairs[pairs.len() / 2])
    };
    let (private, unknown) = (median(|pair| pair.0), median(|pair| pair.1));
    println!(
        "{:<44} {private:>10.1?} {unknown:>10.1?}",
        "private : what never was, medians of 2,000"
    );
}

/// What the registry holds in memory now, and at the most.
fn memory(registry: &Registry) {
    let status =
        std::fs::read_to_string(format!("/proc/{}/status", registry.id())).unwrap_or_default();
    let of = |name: &str| {
        status
            .lines()
            .find_map(|line| line.strip_prefix(name))
            .unwrap_or_default()
            .trim()
            .to_owned()
    };
    println!("memory: {} now, {} at the most", of("VmRSS:"), of("VmHWM:"));
}
