//! `sp mcp` with many skills: how soon it answers, how long a page takes, and a hundred clients at
//! once.
//!
//! `SP_BENCH_SECONDS` says how long they ask (default: 60). They share the processors with the
//! server, and read all that they get.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use sp_testkit::{LoadResult, McpChild, McpHttpServer};

use super::{Bench, SKILLS, median, row, time};

/// How long a client waits at the most for the first answer, and for a page.
const LIMIT: Duration = Duration::from_millis(50);
/// How often what is asked for one by one is asked for.
const ASKED: usize = 30;
const CLIENTS: usize = 100;
/// What is held in memory then is held against what is held at the end.
const SETTLED: Duration = Duration::from_secs(5);
const GROWTH: f64 = 1.1;

impl Bench {
    pub(super) fn mcp(&self) {
        let root = self.path("mcp");
        shelve(&root);
        std::fs::create_dir_all(self.path("home")).expect("a home");
        println!("\n{SKILLS} skills, {} files; beside the limit of {LIMIT:?}", SKILLS * 4);
        let first = |method: &str| {
            let start = Instant::now();
            McpChild::start(self.mcp_server(&[])).result(method, json!({}));
            start.elapsed()
        };
        row(
            "start to server/discover : limit",
            median(|| first("server/discover")),
            LIMIT,
            Some(1.0),
        );
        row(
            "start to the first page of skills : 50 ms",
            median(|| first("skills/list")),
            LIMIT,
            None,
        );
        let mut server = McpChild::start(self.mcp_server(&[]));
        pages(&mut server, &root);
        asked_one_by_one(&mut server);
        drop(server);
        crowd(&McpHttpServer::start(self.mcp_server(&["--http", "127.0.0.1:0"])));
    }

    fn mcp_server(&self, args: &[&str]) -> Command {
        let mut command = self.sp(&[&["mcp"], args].concat());
        command.current_dir(self.path("mcp"));
        command
    }
}

/// Skills of four files each.
fn shelve(root: &Path) {
    for number in 0..SKILLS {
        let dir = root.join(format!("skills/g{}/s{number}", number / 50));
        std::fs::create_dir_all(dir.join("references")).expect("a directory");
        let line = |line| {
            format!("{number}.{line} A line of the body of a skill, about as long as lines are.\n")
        };
        let body: String = (0..60).map(line).collect();
        let skill =
            format!("---\nname: s{number}\ndescription: Does thing {number}.\n---\n\n{body}");
        let steps = format!("{number} and what is to be done then\n").repeat(50);
        let script = format!("echo {number}\n").repeat(20);
        for (file, text) in [
            ("SKILL.md", &skill),
            ("references/steps.md", &steps),
            ("references/notes.md", &body),
            ("run.sh", &script),
        ] {
            std::fs::write(dir.join(file), text).expect("a file");
        }
    }
}

/// Every page three times, and beside it what it takes to hash the files of one.
fn pages(server: &mut McpChild, root: &Path) {
    let (mut times, mut files) = (Vec::new(), Vec::new());
    for _ in 0..3 {
        let mut params = json!({});
        loop {
            let start = Instant::now();
            let page = server.result("skills/list", params);
            times.push(start.elapsed());
            if files.is_empty() {
                files = files_of(&page, root);
            }
            match page.get("nextCursor") {
                Some(next) => params = json!({"cursor": next}),
                None => break,
            }
        }
    }
    times.sort();
    assert_eq!(times.len(), 3 * SKILLS / 100);
    row("a page of skills, median : limit", at(&times, 50), LIMIT, Some(1.0));
    row("a page of skills, p99 : limit", at(&times, 99), LIMIT, Some(1.0));
    row("a page of skills, the longest : limit", at(&times, 100), LIMIT, Some(1.0));
    let hash = median(|| time(Command::new("sha256sum").args(&files).stdout(Stdio::null())));
    row("a page of skills, median : sha256sum", at(&times, 50), hash, None);
}

fn files_of(page: &Value, root: &Path) -> Vec<PathBuf> {
    let skills = page["skills"].as_array().expect("skills").iter();
    let files = skills.flat_map(|skill| skill["resources"].as_array().expect("files"));
    let path = |file: &Value| {
        let uri = file["uri"].as_str().expect("an address");
        root.join("skills")
            .join(uri.strip_prefix("skill://repo/").expect("an address of the repository"))
    };
    files.map(path).collect()
}

fn asked_one_by_one(server: &mut McpChild) {
    let uri = |turn: usize| {
        let number = turn * 7919 % SKILLS;
        format!("skill://repo/g{}/s{number}/SKILL.md", number / 50)
    };
    let tool = |name: &str, arguments: Value| {
        ("tools/call", json!({"name": name, "arguments": arguments}))
    };
    let mut asked = |what: &str, wish: &dyn Fn(usize) -> (&'static str, Value)| {
        let one = |turn| {
            let (method, params) = wish(turn);
            let start = Instant::now();
            let result = server.result(method, params);
            assert_ne!(result["isError"], true, "{result}");
            start.elapsed()
        };
        let mut times: Vec<Duration> = (0..ASKED).map(one).collect();
        times.sort();
        row(&format!("{what}, median : 50 ms"), at(&times, 50), LIMIT, None);
        row(&format!("{what}, p99 : 50 ms"), at(&times, 99), LIMIT, None);
    };
    asked("resources/read", &|turn| ("resources/read", json!({"uri": uri(turn)})));
    asked("read_skill by address", &|turn| tool("read_skill", json!({"skill": uri(turn)})));
    asked("read_skill by name", &|turn| {
        tool("read_skill", json!({"skill": format!("s{}", turn * 7919 % SKILLS)}))
    });
    asked("search", &|turn| tool("search", json!({"query": format!("thing {turn}")})));
}

/// Many clients at once over HTTP.
fn crowd(server: &McpHttpServer) {
    let seconds =
        std::env::var("SP_BENCH_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(60);
    let length = Duration::from_secs(seconds);
    println!(
        "\n{CLIENTS} clients over HTTP for {seconds} s: pages, skills, files, `read_skill` and tools in turn"
    );
    let open = server.descriptors();
    let (crowd, early, late) = std::thread::scope(|scope| {
        let asking = scope.spawn(|| LoadResult::run(&server.address, CLIENTS, length));
        let settled = SETTLED.min(length / 2);
        std::thread::sleep(settled);
        let early = server.memory();
        // While they still ask, as then.
        std::thread::sleep((length - settled).saturating_sub(Duration::from_millis(100)));
        let late = server.memory();
        (asking.join().expect("clients"), early, late)
    });
    let (p50, p99) = (at(&crowd.times, 50), at(&crowd.times, 99));
    println!("{:<44} {:>8.0}/s", "requests", crowd.times.len() as f64 / length.as_secs_f64());
    println!("{:<44} {:>10.1?} {:>10.1?}", "p50, p99", p50, p99);
    println!("{:<44} {:>10} {:>18} {:>7}", "errors", crowd.wrong.len(), "", 0);
    crowd.wrong.iter().take(5).for_each(|wrong| println!("  {wrong}"));
    let growth = late as f64 / early as f64;
    println!(
        "{:<44} {late:>7} kB {early:>7} kB {growth:>7.3} {GROWTH:>7.2}",
        "memory at the end : when settled"
    );
    let left = server.wait_for_descriptors(open);
    println!(
        "{:<44} {left:>10} {open:>10} {:>7.3} {:>7.2}",
        "open files after : before",
        left as f64 / open as f64,
        1.0
    );
}

/// The time that so many of a hundred did not exceed, of times in order.
fn at(times: &[Duration], share: usize) -> Duration {
    times.get(times.len() * share / 100).or(times.last()).copied().unwrap_or_default()
}
