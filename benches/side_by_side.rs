//! `sp` compared with reference tools: `cp -r`, `find`, `sha256sum`, `git clone`. Run with `cargo
//! bench -p sp`.
//!
//! Each figure is the median of several runs. Compare the ratios, which do not depend on the speed
//! of the machine. The bench does not enforce the limits.
//!
//! `SP_BENCH_DIR` sets the directory (default: `/dev/shm`, because disk timings vary).

#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a bench drives programs and prints"
)]

mod audit;
mod collections;
mod completion;
mod graphs;
mod lifecycle;
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
        .expect("create temporary directory");
    let bench = Bench { root: temp.path().into() };
    println!(
        "{SKILLS} skills, {} files, in {}; medians of {RUNS} runs\n",
        SKILLS * 5,
        base.display()
    );
    println!(
        "{:<44} {:>10} {:>10} {:>7} {:>7}",
        "measurement", "sp", "reference", "ratio", "limit"
    );
    let measurements: [(&str, Measurement); 16] = [
        ("install", Bench::install),
        ("list", Bench::list),
        ("check", Bench::check),
        ("repeated", Bench::repeated),
        ("lifecycle", Bench::lifecycle),
        ("import", Bench::import),
        ("verify", Bench::verify),
        ("merge", Bench::merge),
        ("load", Bench::load),
        ("create", Bench::create),
        ("knowledge", Bench::knowledge),
        ("registry", Bench::registry),
        ("mcp", Bench::mcp),
        ("start", Bench::start),
        ("completion", Bench::completion),
        ("audit", Bench::audit),
    ];
    // `cargo bench -p sp -- verify` runs a single measurement.
    let names: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    let is_selected = |name: &str| names.is_empty() || names.iter().any(|arg| arg == name);
    measurements.iter().filter(|(name, _)| is_selected(name)).for_each(|(_, run)| run(&bench));
}

type Measurement = fn(&Bench);

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
        write_repository(&self.path("repo"));
        let args = ["--root", "repo", "install", "all", "--agent", "custom", "--path", "sink"];
        let copy = median(|| {
            self.remove("copy");
            time(Command::new("cp").arg("-r").arg(self.path("repo/skills")).arg(self.path("copy")))
        });
        let cold = median(|| {
            self.remove("sink");
            self.remove("home");
            std::fs::create_dir(self.path("home")).expect("create home directory");
            time(&mut self.sp(&args))
        });
        self.remove("sink");
        self.remove("home");
        std::fs::create_dir(self.path("home")).expect("create home directory");
        let memory = peak_memory(&mut self.sp(&args));
        row("cold install : cp -r", cold, copy, Some(1.0));
        let again = median(|| time(&mut self.sp(&args)));
        row("reinstall without changes : cold install", again, cold, Some(0.1));
        row("reinstall without changes : cp -r", again, copy, None);
        std::fs::write(
            self.path("repo/skills/g0/s0/SKILL.md"),
            "---\nname: s0\ndescription: other\n---\n",
        )
        .expect("write file");
        let one_changed = time(&mut self.sp(&args));
        row("reinstall with one skill changed : cp -r", one_changed, copy, None);
        println!("{:<44} {:>6} KiB {:>21} 100000", "peak memory of cold install", memory, "");
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
        let clear_index = || self.remove("home/.skillpack/index");
        let first = median(|| {
            clear_index();
            time(&mut self.sp(&args))
        });
        row("sp check, tokens not cached : sha256sum", first, hash, None);
        let again = median(|| time(&mut self.sp(&args)));
        row("sp check, tokens cached : sha256sum", again, hash, None);
        clear_index();
        let memory = peak_memory(&mut self.sp(&args));
        println!("sp check takes {:.0} ms; limit: 1000 ms", first.as_secs_f64() * 1000.0);
        println!("{:<44} {:>6} KiB {:>21} 100000", "peak memory of sp check", memory, "");
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
        std::fs::write(self.path("repo/packs/remote.yaml"), pack).expect("write pack");
        let args =
            ["--root", "repo", "install", "remote", "--agent", "custom", "--path", "imported"];
        let import = median(|| {
            self.remove("imported");
            self.remove("home");
            std::fs::create_dir(self.path("home")).expect("create home directory");
            time(&mut self.sp(&args))
        });
        row(&format!("{transport} 3 skills : git clone of 20000 files"), import, clone, Some(0.3));
        let again = median(|| time(&mut self.sp(&args)));
        row(&format!("{transport} repeated : git clone"), again, clone, None);
    }

    /// Verifies a signed package of nearly 10 MiB, as `sp` writes it and pretty-printed.
    fn verify(&self) {
        let node = |number: usize| {
            let words =
                "what the service does when the queue is full without any reader ".repeat(2);
            format!(
                "{{\"id\":\"N{number}\",\"type\":\"fact\",\"content\":\"{words}{number}\",\"confidence\":0.9}}"
            )
        };
        let edge = |number: usize| {
            format!("{{\"from\":\"N{number}\",\"to\":\"N{}\",\"type\":\"supports\"}}", number + 1)
        };
        let count = 38_000;
        let nodes: Vec<String> = (0..=count).map(node).collect();
        let edges: Vec<String> = (0..count).map(edge).collect();
        let input = format!("{{\"nodes\":[{}],\"edges\":[{}]}}", nodes.join(","), edges.join(","));
        std::fs::create_dir_all(self.path("home")).expect("create home directory");
        std::fs::write(self.path("input.json"), input).expect("write file");
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
        let text = std::fs::read_to_string(self.path("big.ctxpkg")).expect("read package");
        let value: serde_json::Value = serde_json::from_str(&text).expect("parse JSON");
        let pretty = serde_json::to_string_pretty(&value).expect("serialize JSON");
        std::fs::write(self.path("pretty.ctxpkg"), pretty).expect("write file");
        for (file, label) in [
            ("big.ctxpkg", "verify : sha256sum"),
            ("pretty.ctxpkg", "verify, pretty-printed : sha256sum"),
        ] {
            let size = std::fs::metadata(self.path(file)).expect("read package").len();
            let args = ["pkg", "verify", file, "--max-size", "40000000"];
            let verify = median(|| time(&mut self.sp(&args)));
            let hash = median(|| {
                time(Command::new("sha256sum").arg(self.path(file)).stdout(Stdio::null()))
            });
            row(label, verify, hash, Some(3.0));
            let memory = peak_memory(&mut self.sp(&args));
            println!(
                "{:<44} {:>6} KiB {:>6} KiB {:>7.2} {:>7}",
                "  peak memory : file size",
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
        println!("\nsp --version takes {:.1} ms; limit: 5 ms", version.as_secs_f64() * 1000.0);
    }
}

/// Writes skills with five files in three directories each.
fn write_repository(root: &Path) {
    std::fs::create_dir_all(root.join("packs")).expect("create directory");
    std::fs::write(root.join("packs/all.yaml"), "name: all\ninclude: ['**']\n")
        .expect("write pack");
    for number in 0..SKILLS {
        let dir = root.join(format!("skills/g{}/s{number}", number / 50));
        for subdirectory in ["references", "scripts"] {
            std::fs::create_dir_all(dir.join(subdirectory)).expect("create directory");
        }
        // Every line is unique, so that token counts cannot be reused.
        let line = |line| {
            format!("{number}.{line} A line of the body of a skill, about as long as lines are.\n")
        };
        let body: String = (0..60).map(line).collect();
        let skill =
            format!("---\nname: s{number}\ndescription: Does thing {number}.\n---\n\n{body}");
        std::fs::write(dir.join("SKILL.md"), skill).expect("write file");
        for part in 0..2 {
            std::fs::write(
                dir.join(format!("references/r{part}.md")),
                format!("{number} {part}\n").repeat(300),
            )
            .expect("write file");
            std::fs::write(
                dir.join(format!("scripts/x{part}.sh")),
                format!("echo {number}\n").repeat(20),
            )
            .expect("write file");
        }
    }
}

fn time(command: &mut Command) -> Duration {
    let start = Instant::now();
    let status = command.status().expect("start program");
    assert!(status.success(), "{command:?}");
    start.elapsed()
}

fn median(mut run: impl FnMut() -> Duration) -> Duration {
    let mut times: Vec<Duration> = (0..RUNS).map(|_| run()).collect();
    times.sort();
    times[RUNS / 2]
}

/// Returns the peak memory of a command in KiB, polled while it runs.
fn peak_memory(command: &mut Command) -> u64 {
    let mut child = command.spawn().expect("start program");
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    while child.try_wait().expect("wait for child").is_none() {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let current = line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok());
        peak = peak.max(current.unwrap_or(0));
        std::thread::sleep(Duration::from_millis(1));
    }
    peak
}

fn row(label: &str, measured: Duration, reference: Duration, limit: Option<f64>) {
    let ratio = measured.as_secs_f64() / reference.as_secs_f64();
    let limit = limit.map_or(String::new(), |limit| format!("{limit:.2}"));
    let ms = |time: Duration| format!("{:.1} ms", time.as_secs_f64() * 1000.0);
    println!("{label:<44} {:>10} {:>10} {ratio:>7.3} {limit:>7}", ms(measured), ms(reference));
}
