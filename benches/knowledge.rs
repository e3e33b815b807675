//! How well documents are ranked for a project, beside plain BM25. Run with `cargo bench -p
//! sp-analyze`.
//!
//! `labelled/kb/` is a knowledge base as a developer may have it, and `labelled/kb-queries.json`
//! says for each project which documents somebody would want: 3 must be there, 2 is useful, 1 is
//! background. The constants of the ranking were chosen with a look at the half called `tune`; the
//! other was held out. Nothing here asserts; the numbers are for people.

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

/// How many of the first documents are looked at.
const FIRST: usize = 10;

fn main() {
    let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../benches/labelled"));
    let text = std::fs::read_to_string(folder.join("kb-queries.json")).expect("the queries");
    let queries: Vec<Value> = serde_json::from_str(&text).expect("JSON");
    let base = Base::read(&folder.join("kb"));
    println!("{} documents, {} queries\n", base.candidates.len(), queries.len());
    println!("{:<24} {:>9} {:>9} {:>9} {:>9}", "", "nDCG@10", "recall@10", "nDCG@10", "recall@10");
    println!("{:<24} {:>19} {:>19}", "", "tune", "held-out");
    let ways: [(&str, Way); 2] = [("sp context build", Base::ours), ("BM25", Base::bm25)];
    for (name, way) in ways {
        let [tune, held_out] = ["tune", "held-out"].map(|set| base.measure(&queries, set, way));
        println!(
            "{name:<24} {:>9.3} {:>9.3} {:>9.3} {:>9.3}",
            tune.0, tune.1, held_out.0, held_out.1
        );
    }
    if std::env::args().any(|arg| arg == "each") {
        base.each(&queries);
    }
}

/// Ranks documents for a project.
type Way = fn(&Base, &Brief) -> Vec<usize>;

struct Base {
    candidates: Vec<IndexedDocument>,
    /// The words of each document, one after the other, for plain BM25.
    texts: Vec<Vec<u64>>,
}

impl Base {
    fn read(folder: &Path) -> Self {
        let mut files = Vec::new();
        files_below(folder, &mut files);
        files.sort();
        let mut documents: BTreeMap<String, (KnowledgeDocument, Vec<u8>)> = BTreeMap::new();
        for path in files {
            for document in documents_of(folder, &path) {
                let of_document = index_words(&document);
                match documents.get_mut(url_identity(&document.url)) {
                    None => {
                        drop(documents.insert(
                            url_identity(&document.url).to_owned(),
                            (document, of_document),
                        ));
                    }
                    Some((known, words)) => {
                        *words = merge_words(words, &of_document);
                        known.merge(document);
                    }
                }
            }
        }
        let texts = documents.values().map(|(document, _)| text_of(document)).collect();
        let candidate = |(identity, (document, words)): (String, (KnowledgeDocument, Vec<u8>))| {
            let date: jiff::civil::Date = document.captured_at[..10].parse().expect("a day");
            let day = date.since(jiff::civil::Date::ZERO).expect("a span").get_days();
            IndexedDocument { identity, day, words }
        };
        Self { candidates: documents.into_iter().map(candidate).collect(), texts }
    }

    fn measure(&self, queries: &[Value], set: &str, way: Way) -> (f64, f64) {
        let of_set: Vec<&Value> = queries.iter().filter(|query| query["set"] == set).collect();
        let figures: Vec<(f64, f64)> =
            of_set.iter().map(|query| self.figures(query, &way(self, &brief(query)))).collect();
        let mean = |pick: fn(&(f64, f64)) -> f64| {
            figures.iter().map(pick).sum::<f64>() / figures.len().max(1) as f64
        };
        (mean(|figure| figure.0), mean(|figure| figure.1))
    }

    /// nDCG and recall of the first documents.
    fn figures(&self, query: &Value, ranked: &[usize]) -> (f64, f64) {
        let judged: HashMap<String, f64> = query["judged"]
            .as_object()
            .expect("judgements")
            .iter()
            .map(|(url, grade)| (url_identity(url).to_owned(), grade.as_f64().expect("a grade")))
            .collect();
        let grade =
            |at: &usize| judged.get(&self.candidates[*at].identity).copied().unwrap_or_default();
        let gain = |grades: &mut dyn Iterator<Item = f64>| -> f64 {
            (2..)
                .zip(grades)
                .map(|(place, grade)| (grade.exp2() - 1.0) / f64::from(place).log2())
                .sum()
        };
        let found: Vec<f64> = ranked.iter().take(FIRST).map(grade).collect();
        let mut ideal: Vec<f64> = judged.values().copied().collect();
        ideal.sort_by(|a, b| b.total_cmp(a));
        let wanted = judged.values().filter(|grade| **grade >= 2.0).count().min(FIRST);
        let had = found.iter().filter(|grade| **grade >= 2.0).count();
        let best = gain(&mut ideal.into_iter().take(FIRST));
        (gain(&mut found.into_iter()) / best, had as f64 / wanted.max(1) as f64)
    }

    fn ours(&self, brief: &Brief) -> Vec<usize> {
        rank(&self.candidates, &brief.to_query()).hits.into_iter().map(|(at, _)| at).collect()
    }

    /// BM25 with the constants that everybody uses, over the same words: title, tags and text are
    /// one text.
    fn bm25(&self, brief: &Brief) -> Vec<usize> {
        let idle = stop_words();
        let mut asked = Vec::new();
        for text in
            [&brief.name, &brief.description].into_iter().chain(&brief.prompt).chain(&brief.stack)
        {
            for_each_word(text, &mut |word| asked.push(word));
        }
        asked.sort_unstable();
        asked.dedup();
        asked.retain(|word| !idle.contains(word));
        let total = self.texts.len() as f64;
        let mean = self.texts.iter().map(Vec::len).sum::<usize>() as f64 / total;
        let mut scores: Vec<(f64, usize)> = (0..self.texts.len()).map(|at| (0.0, at)).collect();
        for word in asked {
            let often =
                |text: &Vec<u64>| text.iter().filter(|known| **known == word).count() as f64;
            let holders = self.texts.iter().filter(|text| text.contains(&word)).count() as f64;
            let rarity = (1.0 + (total - holders + 0.5) / (holders + 0.5)).ln();
            for (score, at) in &mut scores {
                let text = &self.texts[*at];
                let norm = 1.2 * (0.25 + 0.75 * text.len() as f64 / mean);
                *score += rarity * often(text) * 2.2 / (often(text) + norm);
            }
        }
        scores.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        scores.into_iter().filter(|(score, _)| *score > 0.0).map(|(_, at)| at).collect()
    }

    /// What is found for each query, with its grades.
    fn each(&self, queries: &[Value]) {
        for query in queries.iter().filter(|query| query["set"] == "tune") {
            let ranked = self.ours(&brief(query));
            let (gain, recall) = self.figures(query, &ranked);
            let plain = self.figures(query, &self.bm25(&brief(query))).0;
            println!(
                "\n{gain:.3} {recall:.3} (BM25 {plain:.3})  {}: {}",
                query["name"], query["description"]
            );
            let judged = query["judged"].as_object().expect("judgements");
            let grade = |at: &usize| {
                let identity_of =
                    |url: &&String| url_identity(url) == self.candidates[*at].identity;
                judged
                    .keys()
                    .find(identity_of)
                    .map_or(0, |url| judged[url].as_u64().unwrap_or_default())
            };
            for at in ranked.iter().take(FIRST) {
                println!("  {} {}", grade(at), self.candidates[*at].identity);
            }
            for (place, at) in ranked.iter().enumerate().skip(FIRST).filter(|(_, at)| grade(at) > 1)
            {
                println!(
                    "    missed {} at {}: {}",
                    grade(at),
                    place + 1,
                    self.candidates[*at].identity
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

fn text_of(document: &KnowledgeDocument) -> Vec<u64> {
    let mut words = Vec::new();
    let mut add = |text: &str| for_each_word(text, &mut |word| words.push(word));
    add(&document.title);
    document.tags.iter().for_each(|tag| add(tag));
    add(&document.code);
    document.sections.iter().for_each(|section| add(&section.title));
    document.sentences().for_each(|sentence| add(&to_plain_text(sentence)));
    words
}

fn documents_of(folder: &Path, path: &Path) -> Vec<KnowledgeDocument> {
    let below = path.strip_prefix(folder).expect("a file below").to_str().expect("UTF-8");
    let bytes = std::fs::read(path).expect("a file");
    let beside =
        sidecar_paths(below).into_iter().find_map(|name| std::fs::read(folder.join(name)).ok());
    parse_file(KnowledgeFile {
        path: below,
        bytes: &bytes,
        sidecar: beside.as_deref(),
        defaults: &FolderDefaults::default(),
    })
    .documents
}

fn files_below(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        if entry.path().is_dir() {
            files_below(&entry.path(), files);
        } else {
            files.push(entry.path());
        }
    }
}
