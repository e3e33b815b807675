//! `sp` beside what sets the limit: `cp -r`, `find`, `sha256sum`, `git clone`. Run with `cargo
//! bench`.
//!
//! Each figure is the median of several runs, and what counts is the ratio: the machine's
//! speed drops out of it. Nothing here asserts; the numbers are for people.
//!
//! `SP_BENCH_DIR` chooses the directory (default: `/dev/shm`, since disks are noisy).

#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a bench drives programs and prints"
)]

mod collections;
mod graphs;
mod mcp;
mod projects;
mod registry;
mod repeated;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use sp_testkit::{Daemon, GitRepository, HttpServer};

const SKILLS: usize = 2_000;
const RUNS: usize = 7;

fn main() {
    let base =
        std::env::var_os("SP_BENCH_DIR").map_or_else(|| PathBuf::from("/dev/shm"), PathBuf::from);
    let temp = tempfile::Builder::new()
        .prefix("sp-bench-")
        .tempdir_in(&base)
        .expect("a directory to work in");
    let bench = Bench { root: temp.path().into() };
    println!(
        "{SKILLS} skills, {} files, in {}; medians of {RUNS} runs\n",
        SKILLS * 5,
        base.display()
    );
    println!("{:<44} {:>10} {:>10} {:>7} {:>7}", "what", "sp", "beside", "ratio", "limit");
    let all: [(&str, Run); 13] = [
        ("install", Bench::install),
        ("list", Bench::list),
        ("check", Bench::check),
        ("repeated", Bench::repeated),
        ("import", Bench::import),
        ("verify", Bench::verify),
        ("merge", Bench::merge),
        ("load", Bench::load),
        ("create", Bench::create),
        ("knowledge", Bench::knowledge),
        ("registry", Bench::registry),
        ("mcp", Bench::mcp),
        ("start", Bench::start),
    ];
    // `cargo bench -p sp -- verify` runs one of them.
    let named: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    let wanted = |name: &str| named.is_empty() || named.iter().any(|one| one == name);
    all.iter().filter(|(name, _)| wanted(name)).for_each(|(_, run)| run(&bench));
}

/// One of the things that are measured.
type Run = fn(&Bench);

struct Bench {
    root: PathBuf,
}

impl Bench {
    fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    fn sp(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_sp"));
        command.args(args).current_dir(&self.root).env("HOME", self.path("home"));
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    fn remove(&self, path: &str) {
        let _ = std::fs::remove_dir_all(self.path(path));
    }

    fn install(&self) {
        author(&self.path("repo"));
        let args = ["--root", "repo", "install", "all", "--agent", "custom", "--path", "sink"];
        let copy = median(|| {
            self.remove("copy");
            time(Command::new("cp").arg("-r").arg(self.path("repo/skills")).arg(self.path("copy")))
        });
        let mut memory = 0;
        let cold = median(|| {
            self.remove("sink");
            self.remove("home");
            std::fs::create_dir(self.path("home")).expect("a home");
            time(&mut self.sp(&args))
        });
        self.remove("sink");
        self.remove("home");
        std::fs::create_dir(self.path("home")).expect("a home");
        memory = memory.max(peak_memory(&mut self.sp(&args)));
        row("cold install : cp -r", cold, copy, Some(1.0));
        let again = median(|| time(&mut self.sp(&args)));
        row("reinstall without changes : cold install", again, cold, Some(0.1));
        row("reinstall without changes : cp -r", again, copy, None);
        std::fs::write(
            self.path("repo/skills/g0/s0/SKILL.md"),
            "---\nname: s0\ndescription: other\n---\n",
        )
        .expect("a file");
        let one = time(&mut self.sp(&args));
        row("reinstall with one skill changed : cp -r", one, copy, None);
        println!("{:<44} {:>8} kB {:>21} 100000", "peak memory of a cold install", memory, "");
    }

    fn list(&self) {
        let find = median(|| {
            time(
                Command::new("find")
                    .arg(self.path("repo/skills"))
                    .args(["-name", "SKILL.md"])
                    .stdout(Stdio::null()),
            )
        });
        let list = median(|| time(&mut self.sp(&["--root", "repo", "list"])));
        row("sp list : find -name SKILL.md", list, find, Some(1.5));
    }

    fn check(&self) {
        let files = self.path("repo/skills");
        let hash = median(|| {
            let mut find = Command::new("find");
            time(
                find.arg(&files)
                    .args(["-type", "f", "-exec", "sha256sum", "{}", "+"])
                    .stdout(Stdio::null()),
            )
        });
        let args = ["--root", "repo", "check"];
        let forget = || self.remove("home/.skillpack/index");
        let first = median(|| {
            forget();
            time(&mut self.sp(&args))
        });
        row("sp check, tokens counted : sha256sum", first, hash, None);
        let again = median(|| time(&mut self.sp(&args)));
        row("sp check, tokens known : sha256sum", again, hash, None);
        forget();
        let memory = peak_memory(&mut self.sp(&args));
        println!("sp check takes {:.0} ms; the limit is 1000 ms", first.as_secs_f64() * 1000.0);
        println!("{:<44} {:>8} kB {:>21} 100000", "peak memory of a check", memory, "");
    }

    fn import(&self) {
        let repo = GitRepository::new(self.path("git/remote"));
        for number in 0..4_000 {
            repo.write(
                &format!("src/d{}/f{number}.txt", number / 50),
                format!("{number}\n").repeat(200),
            );
        }
        for number in 0..16_000 {
            repo.write(
                &format!("docs/d{}/f{number}.md", number / 50),
                format!("text {number}\n").repeat(20),
            );
        }
        for name in ["one", "two", "three"] {
            repo.skill(&format!("skills/{name}"));
        }
        repo.commit("all");
        let daemon = Daemon::start(&self.path("git"));
        self.import_from("git://", &daemon.url("remote"));
        let server = HttpServer::start(&self.path("git"));
        self.import_from("http://", &server.url("remote"));
        self.import_from("file://", &repo.url());
    }

    fn import_from(&self, transport: &str, url: &str) {
        let clone = median(|| {
            self.remove("clone");
            let mut git = Command::new("git");
            git.args(["clone", "--quiet", url]).arg(self.path("clone")).stderr(Stdio::null());
            time(&mut git)
        });
        let pack = format!("name: remote\nimports:\n  - repo: {url}\n    include: ['skills/*']\n");
        std::fs::write(self.path("repo/packs/remote.yaml"), pack).expect("a pack");
        let args =
            ["--root", "repo", "install", "remote", "--agent", "custom", "--path", "imported"];
        let import = median(|| {
            self.remove("imported");
            self.remove("home");
            std::fs::create_dir(self.path("home")).expect("a home");
            time(&mut self.sp(&args))
        });
        row(&format!("{transport} 3 skills : git clone of 20000 files"), import, clone, Some(0.3));
        let again = median(|| time(&mut self.sp(&args)));
        row(&format!("{transport} the same again : git clone"), again, clone, None);
    }

    /// A signed package of nearly 10 MiB, as we write it and with the white space that others
    /// write.
    fn verify(&self) {
        let node = |at: usize| {
            let words =
                "what the service does when the queue is full and nobody reads it ".repeat(2);
            format!(
                "{{\"id\":\"N{at}\",\"type\":\"fact\",\"content\":\"{words}{at}\",\"confidence\":0.9}}"
            )
        };
        let edge = |at: usize| {
            format!("{{\"from\":\"N{at}\",\"to\":\"N{}\",\"type\":\"supports\"}}", at + 1)
        };
        let count = 38_000;
        let nodes: Vec<String> = (0..=count).map(node).collect();
        let edges: Vec<String> = (0..count).map(edge).collect();
        let input = format!("{{\"nodes\":[{}],\"edges\":[{}]}}", nodes.join(","), edges.join(","));
        std::fs::create_dir_all(self.path("home")).expect("a home");
        std::fs::write(self.path("input.json"), input).expect("a file");
        let create = [
            "pkg",
            "create",
            "--name",
            "big",
            "--input",
            "input.json",
            "--sign",
            "-o",
            "big.ctxpkg",
            "--force",
        ];
        time(&mut self.sp(&create));
        let text = std::fs::read_to_string(self.path("big.ctxpkg")).expect("a package");
        let value: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        let pretty = serde_json::to_string_pretty(&value).expect("JSON");
        std::fs::write(self.path("pretty.ctxpkg"), pretty).expect("a file");
        for (file, what) in [
            ("big.ctxpkg", "verify a package : sha256sum"),
            ("pretty.ctxpkg", "verify one with white space : sha256sum"),
        ] {
            let size = std::fs::metadata(self.path(file)).expect("a package").len();
            let args = ["pkg", "verify", file, "--max-size", "40000000"];
            let ours = median(|| time(&mut self.sp(&args)));
            let theirs = median(|| {
                time(Command::new("sha256sum").arg(self.path(file)).stdout(Stdio::null()))
            });
            row(what, ours, theirs, Some(3.0));
            let memory = peak_memory(&mut self.sp(&args));
            println!(
                "{:<44} {:>8} KB {:>8} KB {:>7.2} {:>7}",
                "  peak memory : the file",
                memory,
                size / 1024,
                memory as f64 / (size / 1024) as f64,
                3.0
            );
        }
    }

    fn start(&self) {
        let empty = median(|| time(&mut Command::new("true")));
        let version = median(|| time(&mut self.sp(&["--version"])));
        row("sp --version : true", version, empty, None);
        println!(
            "\nsp --version takes {:.1} ms in all; the limit is 5 ms",
            version.as_secs_f64() * 1000.0
        );
    }
}

/// Skills of five files in three directories each.
fn author(root: &Path) {
    std::fs::create_dir_all(root.join("packs")).expect("a directory");
    std::fs::write(root.join("packs/all.yaml"), "name: all\ninclude: ['**']\n").expect("a pack");
    for number in 0..SKILLS {
        let dir = root.join(format!("skills/g{}/s{number}", number / 50));
        for below in ["references", "scripts"] {
            std::fs::create_dir_all(dir.join(below)).expect("a directory");
        }
        // No two lines alike, so that nothing can be counted once for all.
        let line = |line| {
            format!("{number}.{line} A line of the body of a skill, about as long as lines are.\n")
        };
        let body: String = (0..60).map(line).collect();
        let skill =
            format!("---\nname: s{number}\ndescription: Does thing {number}.\n---\n\n{body}");
        std::fs::write(dir.join("SKILL.md"), skill).expect("a file");
        for part in 0..2 {
            std::fs::write(
                dir.join(format!("references/r{part}.md")),
                format!("{number} {part}\n").repeat(300),
            )
            .expect("a file");
            std::fs::write(
                dir.join(format!("scripts/x{part}.sh")),
                format!("echo {number}\n").repeat(20),
            )
            .expect("a file");
        }
    }
}

fn time(command: &mut Command) -> Duration {
    let start = Instant::now();
    let status = command.status().expect("a program that starts");
    assert!(status.success(), "{command:?}");
    start.elapsed()
}

fn median(mut run: impl FnMut() -> Duration) -> Duration {
    let mut times: Vec<Duration> = (0..RUNS).map(|_| run()).collect();
    times.sort();
    times[RUNS / 2]
}

/// The most memory that a command held, in kB, looked up while it runs.
fn peak_memory(command: &mut Command) -> u64 {
    let mut child = command.spawn().expect("a program that starts");
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    while child.try_wait().expect("a child").is_none() {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let now = line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok());
        peak = peak.max(now.unwrap_or(0));
        std::thread::sleep(Duration::from_millis(1));
    }
    peak
}

fn row(what: &str, ours: Duration, theirs: Duration, limit: Option<f64>) {
    let ratio = ours.as_secs_f64() / theirs.as_secs_f64();
    let limit = limit.map_or(String::new(), |limit| format!("{limit:.2}"));
    let ms = |time: Duration| format!("{:.1} ms", time.as_secs_f64() * 1000.0);
    println!("{what:<44} {:>10} {:>10} {ratio:>7.3} {limit:>7}", ms(ours), ms(theirs));
}
