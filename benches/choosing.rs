//! How much of what is wanted `sp pkg load` carries within a budget, beside two plain ways to
//! choose: the most active first, and BM25. Run with `cargo bench -p sp-formats`.
//!
//! `labelled/graph.json` is a part of what `sp pkg create --from . --level 3` made of this project;
//! `labelled/questions.json` says for each focus which nodes somebody who knows the project would
//! give to whoever asks. A figure is the share of the wanted nodes that are there, as the mean over
//! the questions. Nothing here asserts; the numbers are for people.

#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::cast_precision_loss,
    reason = "a bench reads files and prints"
)]

use std::collections::{HashMap, HashSet};

use jiff::Timestamp;
use sp_analyze::graph::{ContextFormat, SelectionQuery, activation_at, load_context};
use sp_analyze::tokens;
use sp_formats::json::{JsonDocument, JsonValue};
use sp_formats::package::Graph;
use sp_tree::Limits;

const BUDGETS: [usize; 3] = [1_000, 4_000, 16_000];
/// When it is asked: a day after the project was read.
const NOW: &str = "2026-11-16T19:00:00Z";

fn main() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../benches/labelled");
    let text = std::fs::read_to_string(format!("{folder}/graph.json")).expect("the graph");
    let graph = format!("{{\"context_graph\":{text}}}");
    let limits = Limits { json_values: u64::MAX, ..Limits::default() };
    let json = JsonDocument::parse(graph, &limits).expect("JSON");
    let questions =
        std::fs::read_to_string(format!("{folder}/questions.json")).expect("the questions");
    let questions = JsonDocument::parse(questions, &limits).expect("JSON");
    let asked: Vec<Asked> = questions.root().items().map(asked).collect();
    let graph = Graph::from_content(json.root());
    let bench = Bench {
        words: words_of(&graph),
        costs: costs(&graph),
        graph: &graph,
        now: NOW.parse().expect("a time"),
    };
    println!(
        "{} nodes, {} edges, {} questions\n",
        graph.nodes.len(),
        graph.edges.len(),
        asked.len()
    );
    println!("{:<28} {:>8} {:>8} {:>8}", "wanted knowledge within", "1k", "4k", "16k");
    let ways: [(&str, Way<'_>); 3] = [
        ("sp pkg load", Bench::ours),
        ("the most active first", Bench::most_active),
        ("BM25", Bench::bm25),
    ];
    for (name, way) in ways {
        let shares = BUDGETS.map(|budget| bench.share(&asked, |focus| way(&bench, focus, budget)));
        println!("{name:<28} {:>8.3} {:>8.3} {:>8.3}", shares[0], shares[1], shares[2]);
    }
    if std::env::args().any(|arg| arg == "each") {
        bench.each(&asked);
    }
}

/// Chooses nodes for a focus within a budget.
type Way<'b> = fn(&Bench<'b>, &str, usize) -> HashSet<usize>;

/// What is asked, and which nodes are wanted.
struct Asked {
    focus: String,
    wanted: Vec<String>,
}

fn asked(value: JsonValue<'_>) -> Asked {
    let text = |value: JsonValue<'_>| value.text().expect("a text").into_owned();
    let wanted = value.get("wanted").expect("wanted nodes").items().map(text).collect();
    Asked { focus: text(value.get("focus").expect("a focus")), wanted }
}

struct Bench<'b> {
    graph: &'b Graph<'b>,
    words: Vec<Vec<String>>,
    costs: Vec<usize>,
    now: Timestamp,
}

impl<'b> Bench<'b> {
    /// The mean share of what is wanted.
    fn share(&self, asked: &[Asked], way: impl Fn(&str) -> HashSet<usize>) -> f64 {
        let one = |asked: &Asked| self.carried(asked, &way(&asked.focus));
        asked.iter().map(one).sum::<f64>() / asked.len() as f64
    }

    fn carried(&self, asked: &Asked, chosen: &HashSet<usize>) -> f64 {
        let ids: HashSet<&str> = chosen.iter().map(|at| &*self.graph.nodes[*at].id).collect();
        let there = asked.wanted.iter().filter(|id| ids.contains(id.as_str())).count();
        there as f64 / asked.wanted.len().max(1) as f64
    }

    fn ours(&self, focus: &str, budget: usize) -> HashSet<usize> {
        let question = SelectionQuery { budget, focus, at: self.now };
        let reading = load_context(self.graph, &question, ContextFormat::Markdown);
        reading.selection.selected.iter().map(|one| one.node_index).collect()
    }

    fn most_active(&self, _focus: &str, budget: usize) -> HashSet<usize> {
        self.fill(budget, |at| activation_at(self.graph.nodes[at].value, self.now))
    }

    /// Plain BM25 over what a node says and where it stands; without a focus all are alike.
    fn bm25(&self, focus: &str, budget: usize) -> HashSet<usize> {
        let asked: HashSet<String> = split(focus).collect();
        let mean = self.words.iter().map(Vec::len).sum::<usize>() as f64 / self.words.len() as f64;
        let total = self.words.len() as f64;
        let rare: HashMap<&String, f64> = asked
            .iter()
            .map(|word| {
                let holders = self.words.iter().filter(|words| words.contains(word)).count() as f64;
                (word, (1.0 + (total - holders + 0.5) / (holders + 0.5)).ln())
            })
            .collect();
        self.fill(budget, |at| {
            let words = &self.words[at];
            let one = |word: &String| {
                let often = words.iter().filter(|other| *other == word).count() as f64;
                rare[word] * often * 2.2 / (often + 1.2 * (0.25 + 0.75 * words.len() as f64 / mean))
            };
            asked.iter().map(one).sum()
        })
    }

    /// The best by a score, as many as fit.
    fn fill(&self, budget: usize, score: impl Fn(usize) -> f64) -> HashSet<usize> {
        let mut ranked: Vec<(f64, usize)> =
            (0..self.costs.len()).map(|at| (score(at), at)).collect();
        ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let mut room = budget;
        let fits = |(_, at): &(f64, usize)| {
            let fits = self.costs[*at] <= room;
            room -= if fits { self.costs[*at] } else { 0 };
            fits
        };
        ranked.into_iter().filter(fits).map(|(_, at)| at).collect()
    }

    /// Every question by itself, for whoever wants to see where it goes wrong.
    fn each(&self, asked: &[Asked]) {
        println!();
        for one in asked {
            let of = |way: Way<'b>| self.carried(one, &way(self, &one.focus, 4_000));
            println!("{:<44} ours {:.2}  BM25 {:.2}", one.focus, of(Bench::ours), of(Bench::bm25));
        }
    }
}

fn words_of(graph: &Graph<'_>) -> Vec<Vec<String>> {
    let text = |value: JsonValue<'_>, key: &str| {
        value.get(key).and_then(JsonValue::text).unwrap_or_default().into_owned()
    };
    let all = |value: JsonValue<'_>, content: &str| {
        format!("{content} {} {}", text(value, "key"), text(value, "file_path"))
    };
    graph.nodes.iter().map(|node| split(&all(node.value, &node.content)).collect()).collect()
}

fn split(text: &str) -> impl Iterator<Item = String> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| word.len() > 1).map(str::to_lowercase)
}

/// What each node costs where it is shown.
fn costs(graph: &Graph<'_>) -> Vec<usize> {
    graph
        .nodes
        .iter()
        .map(|node| tokens::count(&ContextFormat::Markdown.render_node(node)))
        .collect()
}
