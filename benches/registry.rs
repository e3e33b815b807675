//! The registry under load: downloads compared with nginx, metadata compared with Verdaccio, slow
//! clients, and 100,000 packages.
//!
//! Throughput is measured with `wrk`, if it is installed. Latency at a fixed rate is measured here
//! from the time each request was scheduled, so it includes the time spent queued.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;
use sp_testkit::{Registry, SlowClients};
use sp_tree::Digest;

use super::Bench;

const PACKAGES: usize = 100_000;
const REQUESTS_PER_SECOND: u32 = 200;
const DURATION_SECONDS: u32 = 10;
/// Size of the downloaded package, in bytes.
const LARGE_PACKAGE_BYTES: usize = 100_000;
/// Size of the package that slow clients download, in bytes.
const STALLED_PACKAGE_BYTES: usize = 9_000_000;
/// Number of slow clients of each kind.
const SLOW_CLIENTS: usize = 200;

impl Bench {
    pub(super) fn registry(&self) {
        let data = self.path("registry");
        let arguments =
            ["serve", "--listen", "127.0.0.1:0", "--format", "json", "--rate", "off", "--data"];
        let mut command = self.sp(&arguments);
        command.arg(&data);
        let registry = Registry::start(command);
        let admin = registry.admin.clone().expect("admin token of the first start");
        publish(&registry, &admin, "large", LARGE_PACKAGE_BYTES);
        self.compare_downloads(&registry);
        publish(&registry, &admin, "stalled", STALLED_PACKAGE_BYTES);
        compare_slow_clients(&registry);
        compare_metadata(&registry);
        publish_all(&registry, &admin);
        println!(
            "\n{PACKAGES} packages, {REQUESTS_PER_SECOND} requests per second for {DURATION_SECONDS} s; limit: p99 50 ms"
        );
        for (label, path) in [
            ("full index, gzip", "/api/v1/index.json".to_owned()),
            ("package index", "/api/v1/packages/load/p4711/index.json".into()),
            ("search", "/api/v1/search?q=postgres".into()),
            ("search with a typo", "/api/v1/search?q=kuberntes".into()),
        ] {
            // The first request generates the index, so it is not measured.
            registry.request(&format!("GET {path}"), None, b"");
            measure_latency(&registry.address, label, &path);
        }
        compare_private_and_unknown(&registry, &admin);
        print_memory(&registry);
    }

    /// Downloads a package of 100 KB, and the same bytes from nginx.
    fn compare_downloads(&self, registry: &Registry) {
        let path = "/api/v1/packages/load/large/1.0.0/download";
        let Some(registry_rate) = wrk(&format!("http://{}{path}", registry.address)) else {
            println!("`wrk` is not installed; skipping throughput");
            return;
        };
        let root = self.path("nginx");
        std::fs::create_dir_all(&root).expect("create directory");
        std::fs::write(
            root.join("large"),
            registry.request(&format!("GET {path}"), None, b"").body,
        )
        .expect("write file");
        match start_nginx(&root) {
            Some((_process, address)) => {
                let nginx_rate = wrk(&format!("http://{address}/large")).unwrap_or(f64::NAN);
                print_rates("download of 100 KB : nginx", registry_rate, nginx_rate, 0.5);
            }
            None => println!("nginx is not installed; downloads per second: {registry_rate:.0}"),
        }
    }
}

/// Compares the latency of healthy clients with and without slow ones: some send a part of a body,
/// some never read a large package, and some send an unfinished head.
fn compare_slow_clients(registry: &Registry) {
    let address = &registry.address;
    for (label, path) in [
        ("package index", "/api/v1/packages/load/large/index.json"),
        ("download of 100 KB", "/api/v1/packages/load/large/1.0.0/download"),
    ] {
        let alone = measure_latency(address, label, path);
        let is_done = AtomicBool::new(false);
        let disturbed = std::thread::scope(|scope| {
            scope.spawn(|| {
                // The registry disconnects slow clients, so they connect again.
                while !is_done.load(Ordering::Relaxed) {
                    let clients = open_slow_clients(address);
                    std::thread::sleep(Duration::from_secs(2));
                    drop(clients);
                }
            });
            let disturbed = measure_latency(address, &format!("{label}, with slow clients"), path);
            is_done.store(true, Ordering::Relaxed);
            disturbed
        });
        let ratio = disturbed.as_secs_f64() / alone.as_secs_f64();
        println!("{label:<44} p99 with slow clients : without {ratio:>7.2}   limit 3.00");
    }
    print_memory(registry);
}

fn open_slow_clients(address: &str) -> Vec<SlowClients> {
    let requests = [
        "POST /login HTTP/1.1\r\nhost: x\r\ncontent-length: 1000\r\n\
         content-type: application/x-www-form-urlencoded\r\n\r\n123456",
        "GET /api/v1/packages/load/stalled/1.0.0/download HTTP/1.1\r\nhost: x\r\n\r\n",
        "GET / HTTP/1.1\r\nx: ",
    ];
    requests
        .map(|request| SlowClients::open(address, SLOW_CLIENTS, request.as_bytes()))
        .into_iter()
        .collect()
}

fn compare_metadata(registry: &Registry) {
    let Some(registry_rate) =
        wrk(&format!("http://{}/api/v1/packages/load/large/index.json", registry.address))
    else {
        return;
    };
    // Requires a running Verdaccio with one package: `VERDACCIO=http://127.0.0.1:4873/one`.
    match std::env::var("VERDACCIO").ok().and_then(|url| wrk(&url)) {
        Some(verdaccio_rate) => {
            print_rates("package metadata : Verdaccio", registry_rate, verdaccio_rate, 10.0);
        }
        None => {
            println!(
                "VERDACCIO is not set to a package URL; metadata requests per second: {registry_rate:.0}"
            );
        }
    }
}

fn print_rates(label: &str, registry_rate: f64, other_rate: f64, limit: f64) {
    println!(
        "{label:<44} {registry_rate:>8.0}/s {other_rate:>8.0}/s {:>7.2} {limit:>7.2}",
        registry_rate / other_rate
    );
}

/// Returns the requests per second, or `None` if `wrk` is not installed.
fn wrk(url: &str) -> Option<f64> {
    let output = Command::new("wrk").args(["-t1", "-c16", "-d5s", url]).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(!text.contains("Non-2xx"), "{text}");
    let line = text.lines().find_map(|line| line.trim().strip_prefix("Requests/sec:"))?;
    line.trim().parse().ok()
}

/// A process that is killed on drop.
struct KillOnDrop(Child);

impl Drop for KillOnDrop {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn start_nginx(root: &Path) -> Option<(KillOnDrop, String)> {
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
    let process = KillOnDrop(child);
    let address = format!("127.0.0.1:{port}");
    for _ in 0..100 {
        if TcpStream::connect(&address).is_ok() {
            return Some((process, address));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    None
}

/// Publishes all packages from eight threads.
fn publish_all(registry: &Registry, admin: &str) {
    let next = AtomicUsize::new(0);
    let start = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                while let Some(number) =
                    Some(next.fetch_add(1, Ordering::Relaxed)).filter(|next| *next < PACKAGES)
                {
                    publish(registry, admin, &format!("p{number}"), 100);
                }
            });
        }
    });
    let seconds = start.elapsed().as_secs_f64();
    println!(
        "published {PACKAGES} packages in {seconds:.0} s: {:.0} per second",
        PACKAGES as f64 / seconds
    );
}

const TOPICS: [&str; 6] =
    ["postgres", "kubernetes", "react", "terraform", "payments", "accessibility"];

fn publish(registry: &Registry, token: &str, name: &str, bytes: usize) {
    let (full_name, version) = (format!("@load/{name}"), "1.0.0");
    let text = "A sentence that is repeated to reach the requested size. ".repeat(bytes / 57 + 1);
    let node = json!({"id": "n1", "type": "fact", "content": text, "activation": 1.0});
    let content = format!(
        r#"{{"context_graph":{{"format":"ctxpkg-graph-v2","nodes":[{node}],"edges":[]}}}}"#
    );
    let hash = Digest::of(content.as_bytes()).hex();
    let sha256 = Digest::of(format!("{full_name}:{version}:{hash}").as_bytes()).hex();
    let topic = TOPICS[name.bytes().map(usize::from).sum::<usize>() % TOPICS.len()];
    let manifest = json!({
        "schema_version": 2, "name": full_name, "version": version, "description": format!("Notes on {topic}, {name}."),
        "created_at": "2026-04-01T00:00:00Z", "layers": [], "conformance_level": 1,
        "provenance": {"tool": "bench", "tool_version": "1"},
        "integrity": {"sha256": sha256, "content_hash": hash, "byte_size": content.len()},
    });
    let body = format!("{{\"manifest\":{manifest},\"content\":{content}}}");
    let response = registry.request(
        &format!("PUT /api/v1/packages/load/{name}/{version}"),
        Some(token),
        body.as_bytes(),
    );
    assert_eq!(response.status, 201, "{response:?}");
}

/// Sends requests at a fixed rate over persistent connections, and prints the latency since each
/// request was scheduled. Returns the 99th percentile.
fn measure_latency(address: &str, label: &str, path: &str) -> Duration {
    const CLIENTS: u32 = 8;
    let start = Instant::now() + Duration::from_millis(100);
    let mut times: Vec<Duration> = std::thread::scope(|scope| {
        let client = |number: u32| {
            scope.spawn(move || {
                let mut connection = BufReader::new(TcpStream::connect(address).expect("connect"));
                let requests =
                    (number..REQUESTS_PER_SECOND * DURATION_SECONDS).step_by(CLIENTS as usize);
                requests
                    .map(|request| {
                        let due = start + Duration::from_secs(1) * request / REQUESTS_PER_SECOND;
                        std::thread::sleep(due.saturating_duration_since(Instant::now()));
                        send_request(&mut connection, address, path);
                        due.elapsed()
                    })
                    .collect::<Vec<_>>()
            })
        };
        let clients: Vec<_> = (0..CLIENTS).map(client).collect();
        clients.into_iter().flat_map(|client| client.join().expect("join client")).collect()
    });
    times.sort();
    let percentile = |percent: usize| times[(times.len() * percent / 100).min(times.len() - 1)];
    let millis = |time: Duration| time.as_secs_f64() * 1000.0;
    let (median, slow) = (percentile(50), percentile(99));
    println!("{label:<44} p50 {:>7.1} ms   p99 {:>7.1} ms", millis(median), millis(slow));
    slow
}

fn send_request(connection: &mut BufReader<TcpStream>, address: &str, path: &str) {
    let head = format!("GET {path} HTTP/1.1\r\nhost: {address}\r\naccept-encoding: gzip\r\n\r\n");
    connection.get_mut().write_all(head.as_bytes()).expect("send request");
    let (mut length, mut line) = (0, String::new());
    connection.read_line(&mut line).expect("read status");
    assert!(line.contains(" 200 "), "{line}");
    loop {
        line.clear();
        connection.read_line(&mut line).expect("read header");
        if line == "\r\n" {
            break;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().expect("parse length");
        }
    }
    let read =
        std::io::copy(&mut connection.take(length), &mut std::io::sink()).expect("read body");
    assert_eq!(read, length);
}

/// Compares the response times of private and unknown packages without a token. They must not
/// differ, or timing would reveal which private packages exist.
fn compare_private_and_unknown(registry: &Registry, admin: &str) {
    let response = registry.request("PUT /api/v1/packages/load/p1/private", Some(admin), b"");
    assert_eq!(response.status, 204, "{response:?}");
    let request_time = |name: &str| {
        let start = Instant::now();
        registry.request(&format!("GET /api/v1/packages/load/{name}/index.json"), None, b"");
        start.elapsed()
    };
    let mut pairs: Vec<(Duration, Duration)> =
        (0..2_000).map(|_| (request_time("p1"), request_time("zz"))).collect();
    let mut median = |part: fn(&(Duration, Duration)) -> Duration| {
        pairs.sort_by_key(part);
        part(&pairs[pairs.len() / 2])
    };
    let (private, unknown) = (median(|pair| pair.0), median(|pair| pair.1));
    println!("{:<44} {private:>10.1?} {unknown:>10.1?}", "private : unknown, medians of 2,000");
}

/// Prints the current and peak memory of the registry.
fn print_memory(registry: &Registry) {
    let status =
        std::fs::read_to_string(format!("/proc/{}/status", registry.id())).unwrap_or_default();
    let field = |name: &str| {
        status
            .lines()
            .find_map(|line| line.strip_prefix(name))
            .unwrap_or_default()
            .trim()
            .to_owned()
    };
    println!("memory: {} now, {} peak", field("VmRSS:"), field("VmHWM:"));
}
