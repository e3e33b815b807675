//! Recall of `sp pkg load` within a token budget, compared with two simple baselines: most active
//! nodes first, and BM25. Run with `cargo bench -p sp-analyze`.
//!
//! `labelled/graph.json` is part of the output of `sp pkg create --from . --level 3` for this
//! project. `labelled/questions.json` lists the relevant nodes for each focus, judged by hand. Each
//! figure is the share of relevant nodes that were selected, averaged over the questions. The bench
//! makes no assertions.

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
/// Time of the queries: one day after the graph was created.
const NOW: &str = "2026-11-16T19:00:00Z";

fn main() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../benches/labelled");
    let text = std::fs::read_to_string(format!("{folder}/graph.json")).expect("read graph.json");
    let graph = format!("{{\"context_graph\":{text}}}");
    let limits = Limits { json_values: u64::MAX, ..Limits::default() };
    let json = JsonDocument::parse(graph, &limits).expect("parse JSON");
    let questions =
        std::fs::read_to_string(format!("{folder}/questions.json")).expect("read questions.json");
    let questions = JsonDocument::parse(questions, &limits).expect("parse JSON");
    let questions: Vec<Question> = questions.root().items().map(parse_question).collect();
    let graph = Graph::from_content(json.root());
    let bench = Bench {
        words: node_words(&graph),
        costs: node_costs(&graph),
        graph: &graph,
        now: NOW.parse().expect("parse time"),
    };
    println!(
        "{} nodes, {} edges, {} questions\n",
        graph.nodes.len(),
        graph.edges.len(),
        questions.len()
    );
    println!("{:<28} {:>8} {:>8} {:>8}", "recall within token budget", "1k", "4k", "16k");
    let selectors: [(&str, NodeSelector<'_>); 3] = [
        ("sp pkg load", Bench::sp_load),
        ("most active first", Bench::most_active),
        ("BM25", Bench::bm25),
    ];
    for (name, select) in selectors {
        let recalls = BUDGETS
            .map(|budget| bench.mean_recall(&questions, |focus| select(&bench, focus, budget)));
        println!("{name:<28} {:>8.3} {:>8.3} {:>8.3}", recalls[0], recalls[1], recalls[2]);
    }
    if std::env::args().any(|arg| arg == "each") {
        bench.print_each(&questions);
    }
}

/// Selects nodes for a focus within a token budget.
type NodeSelector<'b> = fn(&Bench<'b>, &str, usize) -> HashSet<usize>;

/// A focus and the IDs of its relevant nodes.
struct Question {
    focus: String,
    relevant: Vec<String>,
}

fn parse_question(value: JsonValue<'_>) -> Question {
    let text = |value: JsonValue<'_>| value.text().expect("a string").into_owned();
    let relevant = value.get("wanted").expect("member `wanted`").items().map(text).collect();
    Question { focus: text(value.get("focus").expect("member `focus`")), relevant }
}

struct Bench<'b> {
    graph: &'b Graph<'b>,
    words: Vec<Vec<String>>,
    costs: Vec<usize>,
    now: Timestamp,
}

impl<'b> Bench<'b> {
    fn mean_recall(&self, questions: &[Question], select: impl Fn(&str) -> HashSet<usize>) -> f64 {
        let recall = |question: &Question| self.recall(question, &select(&question.focus));
        questions.iter().map(recall).sum::<f64>() / questions.len() as f64
    }

    fn recall(&self, question: &Question, selected: &HashSet<usize>) -> f64 {
        let ids: HashSet<&str> =
            selected.iter().map(|index| &*self.graph.nodes[*index].id).collect();
        let found = question.relevant.iter().filter(|id| ids.contains(id.as_str())).count();
        found as f64 / question.relevant.len().max(1) as f64
    }

    fn sp_load(&self, focus: &str, budget: usize) -> HashSet<usize> {
        let query = SelectionQuery { budget, focus, at: self.now };
        let loaded = load_context(self.graph, &query, ContextFormat::Markdown);
        loaded.selection.selected.iter().map(|node| node.node_index).collect()
    }

    fn most_active(&self, _focus: &str, budget: usize) -> HashSet<usize> {
        self.fill(budget, |index| activation_at(self.graph.nodes[index].value, self.now))
    }

    /// Plain BM25 over the content, key and file path. Without a focus, all scores are equal.
    fn bm25(&self, focus: &str, budget: usize) -> HashSet<usize> {
        let terms: HashSet<String> = split_words(focus).collect();
        let total = self.words.len() as f64;
        let mean_len = self.words.iter().map(Vec::len).sum::<usize>() as f64 / total;
        let idf: HashMap<&String, f64> = terms
            .iter()
            .map(|term| {
                let matches = self.words.iter().filter(|words| words.contains(term)).count() as f64;
                (term, (1.0 + (total - matches + 0.5) / (matches + 0.5)).ln())
            })
            .collect();
        self.fill(budget, |index| {
            let words = &self.words[index];
            let norm = 1.2 * (0.25 + 0.75 * words.len() as f64 / mean_len);
            let score = |term: &String| {
                let count = words.iter().filter(|word| *word == term).count() as f64;
                idf[term] * count * 2.2 / (count + norm)
            };
            terms.iter().map(score).sum()
        })
    }

    /// Selects nodes by descending score, skipping those that exceed the remaining budget.
    fn fill(&self, budget: usize, score: impl Fn(usize) -> f64) -> HashSet<usize> {
        let mut ranked: Vec<(f64, usize)> =
            (0..self.costs.len()).map(|index| (score(index), index)).collect();
        ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let mut remaining = budget;
        let fits = |(_, index): &(f64, usize)| {
            let fits = self.costs[*index] <= remaining;
            remaining -= if fits { self.costs[*index] } else { 0 };
            fits
        };
        ranked.into_iter().filter(fits).map(|(_, index)| index).collect()
    }

    /// Prints the recall of each question within 4,000 tokens.
    fn print_each(&self, questions: &[Question]) {
        println!();
        for question in questions {
            let recall = |select: NodeSelector<'b>| {
                self.recall(question, &select(self, &question.focus, 4_000))
            };
            println!(
                "{:<44} sp {:.2}  BM25 {:.2}",
                question.focus,
                recall(Bench::sp_load),
                recall(Bench::bm25)
            );
        }
    }
}

fn node_words(graph: &Graph<'_>) -> Vec<Vec<String>> {
    let text = |value: JsonValue<'_>, key: &str| {
        value.get(key).and_then(JsonValue::text).unwrap_or_default().into_owned()
    };
    let joined = |value: JsonValue<'_>, content: &str| {
        format!("{content} {} {}", text(value, "key"), text(value, "file_path"))
    };
    graph
        .nodes
        .iter()
        .map(|node| split_words(&joined(node.value, &node.content)).collect())
        .collect()
}

fn split_words(text: &str) -> impl Iterator<Item = String> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| word.len() > 1).map(str::to_lowercase)
}

/// Token cost of each rendered node.
fn node_costs(graph: &Graph<'_>) -> Vec<usize> {
    graph
        .nodes
        .iter()
        .map(|node| tokens::count(&ContextFormat::Markdown.render_node(node)))
        .collect()
}
