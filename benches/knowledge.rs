//! Ranking quality of `sp context build`, compared with plain BM25. Run with `cargo bench -p
//! sp-analyze`.
//!
//! `labelled/kb/` is a realistic knowledge base, and `labelled/kb-queries.json` grades documents
//! for each project: 3 is required, 2 is useful, 1 is background. The ranking constants were tuned
//! on the `tune` half only; the other half was held out. The bench makes no assertions.

#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::cast_precision_loss,
    reason = "a bench reads files and prints"
)]

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use serde_json::Value;
use sp_analyze::knowledge::{
    Brief, FolderDefaults, IndexedDocument, KnowledgeDocument, KnowledgeFile, index_words,
    merge_words, parse_file, rank, sidecar_paths, to_plain_text, url_identity,
};
use sp_analyze::stemming::{for_each_word, stop_words};

/// Rank cutoff of nDCG and recall.
const CUTOFF: usize = 10;

fn main() {
    let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../benches/labelled"));
    let text =
        std::fs::read_to_string(folder.join("kb-queries.json")).expect("read kb-queries.json");
    let queries: Vec<Value> = serde_json::from_str(&text).expect("parse JSON");
    let documents = BenchDocuments::read(&folder.join("kb"));
    println!("{} documents, {} queries\n", documents.candidates.len(), queries.len());
    println!("{:<24} {:>9} {:>9} {:>9} {:>9}", "", "nDCG@10", "recall@10", "nDCG@10", "recall@10");
    println!("{:<24} {:>19} {:>19}", "", "tune", "held-out");
    let rankers: [(&str, Ranker); 2] =
        [("sp context build", BenchDocuments::sp_rank), ("BM25", BenchDocuments::bm25)];
    for (name, ranker) in rankers {
        let [tune, held_out] =
            ["tune", "held-out"].map(|set| documents.measure(&queries, set, ranker));
        println!(
            "{name:<24} {:>9.3} {:>9.3} {:>9.3} {:>9.3}",
            tune.0, tune.1, held_out.0, held_out.1
        );
    }
    if std::env::args().any(|arg| arg == "each") {
        documents.print_each(&queries);
    }
}

/// Ranks documents for a project.
type Ranker = fn(&BenchDocuments, &Brief) -> Vec<usize>;

struct BenchDocuments {
    candidates: Vec<IndexedDocument>,
    /// Word hashes of each document in text order, for plain BM25.
    texts: Vec<Vec<u64>>,
}

impl BenchDocuments {
    fn read(folder: &Path) -> Self {
        let mut files = Vec::new();
        collect_files(folder, &mut files);
        files.sort();
        let mut documents: BTreeMap<String, (KnowledgeDocument, Vec<u8>)> = BTreeMap::new();
        for path in files {
            for document in parse_documents(folder, &path) {
                let new_words = index_words(&document);
                match documents.get_mut(url_identity(&document.url)) {
                    None => {
                        drop(
                            documents.insert(
                                url_identity(&document.url).to_owned(),
                                (document, new_words),
                            ),
                        );
                    }
                    Some((existing, words)) => {
                        *words = merge_words(words, &new_words);
                        existing.merge(document);
                    }
                }
            }
        }
        let texts = documents.values().map(|(document, _)| word_hashes(document)).collect();
        let to_candidate =
            |(identity, (document, words)): (String, (KnowledgeDocument, Vec<u8>))| {
                let date: jiff::civil::Date =
                    document.captured_at[..10].parse().expect("parse date");
                let day = date.since(jiff::civil::Date::ZERO).expect("compute days").get_days();
                IndexedDocument { identity, day, words }
            };
        Self { candidates: documents.into_iter().map(to_candidate).collect(), texts }
    }

    fn measure(&self, queries: &[Value], set: &str, ranker: Ranker) -> (f64, f64) {
        let selected: Vec<&Value> = queries.iter().filter(|query| query["set"] == set).collect();
        let scores: Vec<(f64, f64)> =
            selected.iter().map(|query| self.scores(query, &ranker(self, &brief(query)))).collect();
        let mean = |pick: fn(&(f64, f64)) -> f64| {
            scores.iter().map(pick).sum::<f64>() / scores.len().max(1) as f64
        };
        (mean(|score| score.0), mean(|score| score.1))
    }

    /// Returns nDCG and recall at the cutoff.
    fn scores(&self, query: &Value, ranked: &[usize]) -> (f64, f64) {
        let judged: HashMap<String, f64> = query["judged"]
            .as_object()
            .expect("member `judged`")
            .iter()
            .map(|(url, grade)| (url_identity(url).to_owned(), grade.as_f64().expect("a number")))
            .collect();
        let grade = |index: &usize| {
            judged.get(&self.candidates[*index].identity).copied().unwrap_or_default()
        };
        let dcg = |grades: &mut dyn Iterator<Item = f64>| -> f64 {
            (2..)
                .zip(grades)
                .map(|(position, grade)| (grade.exp2() - 1.0) / f64::from(position).log2())
                .sum()
        };
        let found: Vec<f64> = ranked.iter().take(CUTOFF).map(grade).collect();
        let mut ideal: Vec<f64> = judged.values().copied().collect();
        ideal.sort_by(|a, b| b.total_cmp(a));
        let relevant = judged.values().filter(|grade| **grade >= 2.0).count().min(CUTOFF);
        let retrieved = found.iter().filter(|grade| **grade >= 2.0).count();
        let ideal_dcg = dcg(&mut ideal.into_iter().take(CUTOFF));
        (dcg(&mut found.into_iter()) / ideal_dcg, retrieved as f64 / relevant.max(1) as f64)
    }

    fn sp_rank(&self, brief: &Brief) -> Vec<usize> {
        rank(&self.candidates, &brief.to_query()).hits.into_iter().map(|(index, _)| index).collect()
    }

    /// BM25 with the usual constants over the same words. Title, tags and text count equally.
    fn bm25(&self, brief: &Brief) -> Vec<usize> {
        let ignored = stop_words();
        let mut terms = Vec::new();
        for text in
            [&brief.name, &brief.description].into_iter().chain(&brief.prompt).chain(&brief.stack)
        {
            for_each_word(text, &mut |word| terms.push(word));
        }
        terms.sort_unstable();
        terms.dedup();
        terms.retain(|word| !ignored.contains(word));
        let total = self.texts.len() as f64;
        let mean_len = self.texts.iter().map(Vec::len).sum::<usize>() as f64 / total;
        let mut scores: Vec<(f64, usize)> =
            (0..self.texts.len()).map(|index| (0.0, index)).collect();
        for term in terms {
            let count = |text: &Vec<u64>| text.iter().filter(|word| **word == term).count() as f64;
            let matches = self.texts.iter().filter(|text| text.contains(&term)).count() as f64;
            let idf = (1.0 + (total - matches + 0.5) / (matches + 0.5)).ln();
            for (score, index) in &mut scores {
                let text = &self.texts[*index];
                let norm = 1.2 * (0.25 + 0.75 * text.len() as f64 / mean_len);
                *score += idf * count(text) * 2.2 / (count(text) + norm);
            }
        }
        scores.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        scores.into_iter().filter(|(score, _)| *score > 0.0).map(|(_, index)| index).collect()
    }

    /// Prints the ranked documents and grades of each query in the `tune` set.
    fn print_each(&self, queries: &[Value]) {
        for query in queries.iter().filter(|query| query["set"] == "tune") {
            let ranked = self.sp_rank(&brief(query));
            let (ndcg, recall) = self.scores(query, &ranked);
            let bm25 = self.scores(query, &self.bm25(&brief(query))).0;
            println!(
                "\n{ndcg:.3} {recall:.3} (BM25 {bm25:.3})  {}: {}",
                query["name"], query["description"]
            );
            let judged = query["judged"].as_object().expect("member `judged`");
            let grade = |index: &usize| {
                let is_same_page =
                    |url: &&String| url_identity(url) == self.candidates[*index].identity;
                judged
                    .keys()
                    .find(is_same_page)
                    .map_or(0, |url| judged[url].as_u64().unwrap_or_default())
            };
            for index in ranked.iter().take(CUTOFF) {
                println!("  {} {}", grade(index), self.candidates[*index].identity);
            }
            for (position, index) in
                ranked.iter().enumerate().skip(CUTOFF).filter(|(_, index)| grade(index) > 1)
            {
                println!(
                    "    missed {} at {}: {}",
                    grade(index),
                    position + 1,
                    self.candidates[*index].identity
                );
            }
        }
    }
}

fn brief(query: &Value) -> Brief {
    let text = |key: &str| query[key].as_str().unwrap_or_default().to_owned();
    let stack = query["stack"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect();
    Brief {
        name: text("name"),
        description: text("description"),
        prompt: Some(text("prompt")),
        stack,
    }
}

fn word_hashes(document: &KnowledgeDocument) -> Vec<u64> {
    let mut words = Vec::new();
    let mut add = |text: &str| for_each_word(text, &mut |word| words.push(word));
    add(&document.title);
    document.tags.iter().for_each(|tag| add(tag));
    add(&document.code);
    document.sections.iter().for_each(|section| add(&section.title));
    document.sentences().for_each(|sentence| add(&to_plain_text(sentence)));
    words
}

fn parse_documents(folder: &Path, path: &Path) -> Vec<KnowledgeDocument> {
    let relative =
        path.strip_prefix(folder).expect("path below the folder").to_str().expect("UTF-8 path");
    let bytes = std::fs::read(path).expect("read file");
    let sidecar =
        sidecar_paths(relative).into_iter().find_map(|name| std::fs::read(folder.join(name)).ok());
    parse_file(KnowledgeFile {
        path: relative,
        bytes: &bytes,
        sidecar: sidecar.as_deref(),
        defaults: &FolderDefaults::default(),
    })
    .documents
}

fn collect_files(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("read folder").flatten() {
        if entry.path().is_dir() {
            collect_files(&entry.path(), files);
        } else {
            files.push(entry.path());
        }
    }
}
