//! `sp mcp` with many skills: startup time, page latency, and 100 concurrent clients.
//!
//! `SP_BENCH_SECONDS` sets the duration of the load test (default: 60). The clients run on the same
//! machine as the server and read every response completely.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use sp_testkit::{LoadResult, McpChild, McpHttpServer};

use super::{Bench, SKILLS, median, row, time};

/// Maximum latency of the first response and of a page.
const MAX_LATENCY: Duration = Duration::from_millis(50);
/// Number of sequential requests per method.
const SEQUENTIAL_REQUESTS: usize = 30;
const CLIENTS: usize = 100;
/// Warm-up time before the memory baseline is taken.
const WARM_UP: Duration = Duration::from_secs(5);
const MAX_GROWTH: f64 = 1.1;

impl Bench {
    pub(super) fn mcp(&self) {
        let root = self.path("mcp");
        write_skills(&root);
        std::fs::create_dir_all(self.path("home")).expect("create home directory");
        println!("\n{SKILLS} skills, {} files; limit {MAX_LATENCY:?}", SKILLS * 4);
        let time_to_first = |method: &str| {
            let start = Instant::now();
            McpChild::start(self.mcp_server(&[])).result(method, json!({}));
            start.elapsed()
        };
        row(
            "start to server/discover : limit",
            median(|| time_to_first("server/discover")),
            MAX_LATENCY,
            Some(1.0),
        );
        row(
            "start to first page of skills : 50 ms",
            median(|| time_to_first("skills/list")),
            MAX_LATENCY,
            None,
        );
        let mut server = McpChild::start(self.mcp_server(&[]));
        measure_pages(&mut server, &root);
        measure_sequential_requests(&mut server);
        drop(server);
        measure_load(&McpHttpServer::start(self.mcp_server(&["--http", "127.0.0.1:0"])));
    }

    fn mcp_server(&self, args: &[&str]) -> Command {
        let mut command = self.sp(&[&["mcp"], args].concat());
        command.current_dir(self.path("mcp"));
        command
    }
}

/// Writes skills with four files each.
fn write_skills(root: &Path) {
    for number in 0..SKILLS {
        let dir = root.join(format!("skills/g{}/s{number}", number / 50));
        std::fs::create_dir_all(dir.join("references")).expect("create directory");
        let line = |line| {
            format!("{number}.{line} A line of the body of a skill, about as long as lines are.\n")
        };
        let body: String = (0..60).map(line).collect();
        let skill =
            format!("---\nname: s{number}\ndescription: Does thing {number}.\n---\n\n{body}");
        let steps = format!("{number} and the steps to follow then\n").repeat(50);
        let script = format!("echo {number}\n").repeat(20);
        for (file, text) in [
            ("SKILL.md", &skill),
            ("references/steps.md", &steps),
            ("references/notes.md", &body),
            ("run.sh", &script),
        ] {
            std::fs::write(dir.join(file), text).expect("write file");
        }
    }
}

/// Requests every page three times, and compares a page with hashing its files.
fn measure_pages(server: &mut McpChild, root: &Path) {
    let (mut times, mut files) = (Vec::new(), Vec::new());
    for _ in 0..3 {
        let mut params = json!({});
        loop {
            let start = Instant::now();
            let page = server.result("skills/list", params);
            times.push(start.elapsed());
            if files.is_empty() {
                files = page_files(&page, root);
            }
            match page.get("nextCursor") {
                Some(next) => params = json!({"cursor": next}),
                None => break,
            }
        }
    }
    times.sort();
    assert_eq!(times.len(), 3 * SKILLS / 100);
    row("a page of skills, median : limit", percentile(&times, 50), MAX_LATENCY, Some(1.0));
    row("a page of skills, p99 : limit", percentile(&times, 99), MAX_LATENCY, Some(1.0));
    row("a page of skills, maximum : limit", percentile(&times, 100), MAX_LATENCY, Some(1.0));
    let hash = median(|| time(Command::new("sha256sum").args(&files).stdout(Stdio::null())));
    row("a page of skills, median : sha256sum", percentile(&times, 50), hash, None);
}

fn page_files(page: &Value, root: &Path) -> Vec<PathBuf> {
    let skills = page["skills"].as_array().expect("member `skills`").iter();
    let files = skills.flat_map(|skill| skill["resources"].as_array().expect("member `resources`"));
    let path = |file: &Value| {
        let uri = file["uri"].as_str().expect("member `uri`");
        root.join("skills").join(uri.strip_prefix("skill://repo/").expect("repository URI"))
    };
    files.map(path).collect()
}

fn measure_sequential_requests(server: &mut McpChild) {
    let uri = |round: usize| {
        let number = round * 7919 % SKILLS;
        format!("skill://repo/g{}/s{number}/SKILL.md", number / 50)
    };
    let tool = |name: &str, arguments: Value| {
        ("tools/call", json!({"name": name, "arguments": arguments}))
    };
    let mut measure = |label: &str, request: &dyn Fn(usize) -> (&'static str, Value)| {
        let run = |round| {
            let (method, params) = request(round);
            let start = Instant::now();
            let result = server.result(method, params);
            assert_ne!(result["isError"], true, "{result}");
            start.elapsed()
        };
        let mut times: Vec<Duration> = (0..SEQUENTIAL_REQUESTS).map(run).collect();
        times.sort();
        row(&format!("{label}, median : 50 ms"), percentile(&times, 50), MAX_LATENCY, None);
        row(&format!("{label}, p99 : 50 ms"), percentile(&times, 99), MAX_LATENCY, None);
    };
    measure("resources/read", &|round| ("resources/read", json!({"uri": uri(round)})));
    measure("read_skill by URI", &|round| tool("read_skill", json!({"skill": uri(round)})));
    measure("read_skill by name", &|round| {
        tool("read_skill", json!({"skill": format!("s{}", round * 7919 % SKILLS)}))
    });
    measure("search", &|round| tool("search", json!({"query": format!("thing {round}")})));
}

/// Runs concurrent HTTP clients and reports errors, memory growth and open files.
fn measure_load(server: &McpHttpServer) {
    let seconds =
        std::env::var("SP_BENCH_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(60);
    let duration = Duration::from_secs(seconds);
    println!(
        "\n{CLIENTS} clients over HTTP for {seconds} s: pages, skills, files, `read_skill` and tools in turn"
    );
    let open_before = server.descriptors();
    let (load, baseline, at_end) = std::thread::scope(|scope| {
        let clients = scope.spawn(|| LoadResult::run(&server.address, CLIENTS, duration));
        let warm_up = WARM_UP.min(duration / 2);
        std::thread::sleep(warm_up);
        let baseline = server.memory();
        // Measured while the clients still send requests, like the baseline.
        std::thread::sleep((duration - warm_up).saturating_sub(Duration::from_millis(100)));
        let at_end = server.memory();
        (clients.join().expect("join clients"), baseline, at_end)
    });
    let (p50, p99) = (percentile(&load.times, 50), percentile(&load.times, 99));
    println!("{:<44} {:>8.0}/s", "requests", load.times.len() as f64 / duration.as_secs_f64());
    println!("{:<44} {:>10.1?} {:>10.1?}", "p50, p99", p50, p99);
    println!("{:<44} {:>10} {:>18} {:>7}", "errors", load.wrong.len(), "", 0);
    load.wrong.iter().take(5).for_each(|error| println!("  {error}"));
    let growth = at_end as f64 / baseline as f64;
    println!(
        "{:<44} {at_end:>6} KiB {baseline:>6} KiB {growth:>7.3} {MAX_GROWTH:>7.2}",
        "memory at the end : after warm-up"
    );
    server.wait_for_descriptors(open_before);
    let open_after = server.descriptors();
    println!(
        "{:<44} {open_after:>10} {open_before:>10} {:>7.3} {:>7.2}",
        "open files after : before",
        open_after as f64 / open_before as f64,
        1.0
    );
}

/// Returns a percentile of sorted times.
fn percentile(times: &[Duration], percent: usize) -> Duration {
    times.get(times.len() * percent / 100).or(times.last()).copied().unwrap_or_default()
}
