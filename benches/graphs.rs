//! Graphs of some ten thousand nodes: merged, as a curve, and chosen from within a budget.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use sp_analyze::graph::{MergeInput, NodeIdScheme, merge};
use sp_formats::package::{
    Package, PackageDraft, PackageKind, PackageName, PackageVersion, build, read,
};
use sp_tree::Limits;

use super::{Bench, median, peak_memory, time};

/// Nodes of each of the two graphs; each has twice as many edges.
const CURVE: [usize; 6] = [12_500, 25_000, 50_000, 100_000, 200_000, 400_000];
/// The size for which there are limits.
const LIMITED: usize = 50_000;

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

/// Limits that let the largest graph through.
fn limits() -> Limits {
    Limits { package_bytes: 1 << 32, json_values: 1 << 32, ..Limits::default() }
}

const RAISED: [&str; 4] =
    ["--limit", "package-bytes=4294967296", "--limit", "json-values=4294967296"];

/// A number that looks like chance and is the same each time.
fn chance(seed: usize) -> usize {
    let mixed = (seed as u64).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    ((mixed ^ mixed >> 31).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 33) as usize
}

/// What a node says, in 60 to 120 characters.
fn sentence(seed: usize) -> String {
    let length = 55 + chance(seed) % 55;
    let mut text = String::new();
    for at in 0.. {
        text += WORDS[chance(seed * 31 + at) % WORDS.len()];
        if text.len() >= length {
            break;
        }
        text.push(' ');
    }
    format!("{text} {seed}")
}

/// A package with so many nodes from a place on, and twice as many edges.
fn package(name: &str, from: usize, nodes: usize) -> Package {
    // Chance alone would give two of so many the same.
    let id = |at: usize| format!("fact-{:08x}-{at}", chance(at));
    let node = |at: usize| {
        let (id, says, file) = (id(at), sentence(at), WORDS[chance(at * 7) % WORDS.len()]);
        let activation = (chance(at) % 100) as f64 / 100.0;
        format!(
            "{{\"id\":\"{id}\",\"type\":\"fact\",\"content\":\"{says}\",\"activation\":{activation:?},\"file_path\":\"src/{file}.rs\",\"line_start\":{}}}",
            at % 900 + 1
        )
    };
    let edge = |at: usize| {
        let (one, other) = (from + at / 2, from + chance(at + from) % nodes);
        let weight = (chance(at) % 100) as f64 / 100.0;
        format!(
            "{{\"from\":\"{}\",\"to\":\"{}\",\"type\":\"supports\",\"weight\":{weight:?}}}",
            id(one),
            id(other)
        )
    };
    let all: Vec<String> = (from..from + nodes).map(node).collect();
    let edges: Vec<String> = (0..nodes * 2).map(edge).collect();
    let draft = PackageDraft {
        name: PackageName::new(name).expect("a name"),
        version: PackageVersion::new("1.0.0").expect("a version"),
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
            all.join(","),
            edges.join(",")
        ),
        merged_graph: None,
    };
    build(&draft, None, &limits()).expect("a package")
}

fn ms(time: Duration) -> String {
    format!("{:.0} ms", time.as_secs_f64() * 1000.0)
}

impl Bench {
    fn put(&self, package: &Package) -> PathBuf {
        let path = self.path(&format!("{}.ctxpkg", package.manifest.name));
        std::fs::write(&path, package.text().as_bytes()).expect("a file");
        path
    }

    /// Two graphs that share half of their nodes, from small to large: the time for one node must
    /// not grow.
    pub(super) fn merge(&self) {
        println!(
            "\n{:<28} {:>10} {:>10} {:>10} {:>10} {:>10}",
            "merge, nodes a side", "function", "a node", "sp", "a node", "memory"
        );
        for nodes in CURVE {
            let [one, other] = [("one", 0), ("other", nodes / 2)]
                .map(|(name, from)| self.put(&package(name, from, nodes)));
            let function = self.merge_in_process(&[&one, &other]);
            let (one, other) = (one.to_string_lossy(), other.to_string_lossy());
            let command = || {
                self.remove("home");
                std::fs::create_dir(self.path("home")).expect("a home");
                self.sp(&[&RAISED[..], &["pkg", "merge", &one, &other, "--name", "both"]].concat())
            };
            let whole = (0..runs(nodes)).map(|_| time(&mut command())).min().unwrap_or_default();
            let memory = peak_memory(&mut command()) / 1024;
            let each =
                |time: Duration| format!("{:.2} µs", time.as_secs_f64() * 1e6 / (nodes * 2) as f64);
            let limit = if nodes == LIMITED { "  limit: 500 ms, 500 MB" } else { "" };
            println!(
                "{nodes:<28} {:>10} {:>10} {:>10} {:>10} {memory:>7} MB{limit}",
                ms(function),
                each(function),
                ms(whole),
                each(whole)
            );
        }
    }

    /// The function alone, on packages that were read.
    fn merge_in_process(&self, files: &[&PathBuf; 2]) -> Duration {
        let packages = files.map(|file| {
            let bytes = std::fs::read(file).expect("a package");
            read("a package", bytes, &limits()).package.expect("a package that holds")
        });
        let voices = packages.each_ref().map(|package| MergeInput {
            source: package.manifest.integrity.content_hash[..16].to_owned(),
            label: package.manifest.name.to_string(),
            id_scheme: NodeIdScheme::Global,
            content: package.content(),
        });
        let once = |_| {
            let start = Instant::now();
            let merged = merge(&voices);
            let taken = start.elapsed();
            assert!(merged.shared.len() * 2 == packages[0].node_count());
            taken
        };
        (0..runs(packages[0].node_count())).map(once).min().unwrap_or_default()
    }

    /// The best of 50,000 nodes within a budget.
    pub(super) fn load(&self) {
        let file = self.put(&package("known", 0, LIMITED));
        let file = file.to_string_lossy();
        std::fs::create_dir_all(self.path("home")).expect("a home");
        println!("\n{:<44} {:>10} {:>10}", "load from 50000 nodes", "sp", "limit");
        for focus in ["", "auth tokens"] {
            for budget in ["1000", "4000", "16000"] {
                let load = ["pkg", "load", &*file, "--budget", budget, "--focus", focus];
                let taken = median(|| time(&mut self.sp(&[&RAISED[..], &load].concat())));
                let asked =
                    if focus.is_empty() { "everything".into() } else { format!("about `{focus}`") };
                println!(
                    "{:<44} {:>10} {:>10}",
                    format!("{budget} tokens, {asked}"),
                    ms(taken),
                    "200 ms"
                );
            }
        }
    }
}

/// The large ones take long, and vary little.
fn runs(nodes: usize) -> usize {
    if nodes > LIMITED { 2 } else { 5 }
}
