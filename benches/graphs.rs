//! Large graphs: merge time by size, and loading within a token budget.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use sp_analyze::graph::{MergeInput, NodeIdScheme, merge};
use sp_formats::package::{
    Package, PackageDraft, PackageKind, PackageName, PackageVersion, build, read,
};
use sp_tree::Limits;

use super::{Bench, median, peak_memory, time};

/// Node counts of each of the two merged graphs, which have twice as many edges.
const NODE_COUNTS: [usize; 6] = [12_500, 25_000, 50_000, 100_000, 200_000, 400_000];
/// Node count for which time and memory are limited.
const LIMITED_NODES: usize = 50_000;

const WORDS: [&str; 24] = [
    "service",
    "queue",
    "token",
    "auth",
    "pool",
    "retry",
    "session",
    "cache",
    "database",
    "index",
    "worker",
    "config",
    "secret",
    "release",
    "router",
    "handler",
    "schema",
    "migration",
    "request",
    "limit",
    "client",
    "server",
    "page",
    "error",
];

/// Limits that allow the largest graph.
fn limits() -> Limits {
    Limits { package_bytes: 1 << 32, json_values: 1 << 32, ..Limits::default() }
}

const RAISED_LIMITS: [&str; 4] =
    ["--limit", "package-bytes=4294967296", "--limit", "json-values=4294967296"];

/// Returns a deterministic pseudorandom number.
fn pseudorandom(seed: usize) -> usize {
    let mixed = (seed as u64).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    ((mixed ^ mixed >> 31).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 33) as usize
}

/// Generates node content of 60 to 120 characters.
fn sentence(seed: usize) -> String {
    let length = 55 + pseudorandom(seed) % 55;
    let mut text = String::new();
    for index in 0.. {
        text += WORDS[pseudorandom(seed * 31 + index) % WORDS.len()];
        if text.len() >= length {
            break;
        }
        text.push(' ');
    }
    format!("{text} {seed}")
}

/// Builds a package with this many nodes, numbered from `first`, and twice as many edges.
fn build_package(name: &str, first: usize, nodes: usize) -> Package {
    // The number makes the ID unique; pseudorandom values alone may collide.
    let id = |number: usize| format!("fact-{:08x}-{number}", pseudorandom(number));
    let node = |number: usize| {
        let (id, content, file) =
            (id(number), sentence(number), WORDS[pseudorandom(number * 7) % WORDS.len()]);
        let activation = (pseudorandom(number) % 100) as f64 / 100.0;
        format!(
            "{{\"id\":\"{id}\",\"type\":\"fact\",\"content\":\"{content}\",\"activation\":{activation:?},\"file_path\":\"src/{file}.rs\",\"line_start\":{}}}",
            number % 900 + 1
        )
    };
    let edge = |number: usize| {
        let (source, target) = (first + number / 2, first + pseudorandom(number + first) % nodes);
        let weight = (pseudorandom(number) % 100) as f64 / 100.0;
        format!(
            "{{\"from\":\"{}\",\"to\":\"{}\",\"type\":\"supports\",\"weight\":{weight:?}}}",
            id(source),
            id(target)
        )
    };
    let nodes_json: Vec<String> = (first..first + nodes).map(node).collect();
    let edges_json: Vec<String> = (0..nodes * 2).map(edge).collect();
    let draft = PackageDraft {
        name: PackageName::new(name).expect("valid name"),
        version: PackageVersion::new("1.0.0").expect("valid version"),
        description: "A graph.".into(),
        author: None,
        created_at: "2026-05-22T00:00:00Z".into(),
        kind: PackageKind::Context,
        level: None,
        tags: Vec::new(),
        dependencies: Vec::new(),
        conflicts: Vec::new(),
        tool_version: "0".into(),
        extra_members: Vec::new(),
        content: format!(
            "{{\"context_graph\":{{\"nodes\":[{}],\"edges\":[{}]}}}}",
            nodes_json.join(","),
            edges_json.join(",")
        ),
        merged_graph: None,
    };
    build(&draft, None, &limits()).expect("build package")
}

fn ms(time: Duration) -> String {
    format!("{:.0} ms", time.as_secs_f64() * 1000.0)
}

impl Bench {
    fn write_package(&self, package: &Package) -> PathBuf {
        let path = self.path(&format!("{}.ctxpkg", package.manifest.name));
        std::fs::write(&path, package.text().as_bytes()).expect("write file");
        path
    }

    /// Merges two graphs that share half of their nodes, at increasing sizes. The time per node
    /// must not grow.
    pub(super) fn merge(&self) {
        println!(
            "\n{:<28} {:>10} {:>10} {:>10} {:>10} {:>10}",
            "merge, nodes per graph", "function", "per node", "sp", "per node", "memory"
        );
        for nodes in NODE_COUNTS {
            let [left, right] = [("left", 0), ("right", nodes / 2)]
                .map(|(name, first)| self.write_package(&build_package(name, first, nodes)));
            let in_process = self.merge_in_process(&[&left, &right]);
            let (left, right) = (left.to_string_lossy(), right.to_string_lossy());
            let command = || {
                self.remove("home");
                std::fs::create_dir(self.path("home")).expect("create home directory");
                self.sp(&[&RAISED_LIMITS[..], &["pkg", "merge", &left, &right, "--name", "both"]]
                    .concat())
            };
            let command_time =
                (0..run_count(nodes)).map(|_| time(&mut command())).min().unwrap_or_default();
            let memory = peak_memory(&mut command()) / 1024;
            let per_node =
                |time: Duration| format!("{:.2} µs", time.as_secs_f64() * 1e6 / (nodes * 2) as f64);
            let limit = if nodes == LIMITED_NODES { "  limit: 500 ms, 500 MB" } else { "" };
            println!(
                "{nodes:<28} {:>10} {:>10} {:>10} {:>10} {memory:>6} MiB{limit}",
                ms(in_process),
                per_node(in_process),
                ms(command_time),
                per_node(command_time)
            );
        }
    }

    /// Measures the merge function alone, on packages that are already parsed.
    fn merge_in_process(&self, files: &[&PathBuf; 2]) -> Duration {
        let packages = files.map(|file| {
            let bytes = std::fs::read(file).expect("read package");
            read("package", bytes, &limits()).package.expect("valid package")
        });
        let inputs = packages.each_ref().map(|package| MergeInput {
            source: package.manifest.integrity.content_hash[..16].to_owned(),
            label: package.manifest.name.to_string(),
            id_scheme: NodeIdScheme::Global,
            content: package.content(),
        });
        let run = |_| {
            let start = Instant::now();
            let merged = merge(&inputs);
            let elapsed = start.elapsed();
            assert!(merged.shared.len() * 2 == packages[0].node_count());
            elapsed
        };
        (0..run_count(packages[0].node_count())).map(run).min().unwrap_or_default()
    }

    /// Loads the best of 50,000 nodes within a token budget.
    pub(super) fn load(&self) {
        let file = self.write_package(&build_package("known", 0, LIMITED_NODES));
        let file = file.to_string_lossy();
        std::fs::create_dir_all(self.path("home")).expect("create home directory");
        println!("\n{:<44} {:>10} {:>10}", "load from 50000 nodes", "sp", "limit");
        for focus in ["", "auth tokens"] {
            for budget in ["1000", "4000", "16000"] {
                let load = ["pkg", "load", &*file, "--budget", budget, "--focus", focus];
                let elapsed = median(|| time(&mut self.sp(&[&RAISED_LIMITS[..], &load].concat())));
                let scope =
                    if focus.is_empty() { "no focus".into() } else { format!("focus `{focus}`") };
                println!(
                    "{:<44} {:>10} {:>10}",
                    format!("{budget} tokens, {scope}"),
                    ms(elapsed),
                    "200 ms"
                );
            }
        }
    }
}

/// Number of runs: large merges are slow and vary little.
fn run_count(nodes: usize) -> usize {
    if nodes > LIMITED_NODES { 2 } else { 5 }
}
