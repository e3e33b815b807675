//! Any bytes as every form in which people keep things: whatever is read of them makes a valid
//! context pack.
//!
//! `cargo +nightly fuzz run knowledge fuzz/corpus/knowledge fuzz/seeds/knowledge`
#![no_main]

use std::collections::BTreeMap;

use libfuzzer_sys::fuzz_target;
use sp_formats::context_pack::{Draft, Entries, Entry, Generator, Manifest, Project, SPEC_VERSION, read as judge};
use sp_analyze::knowledge::{
    Brief, Candidate, Composed, Document, File, Folder, Pick, Ranking, Source, compose, gather, identity, rank, read, words,
};
use sp_tree::Limits;

const NAMES: &[&str] = &["a.md", "a.html", "a.jsonl", "bookmarks.html", "llms.txt", "SKILL.md", "a.ctxpkg"];
const TIME: &str = "2026-04-24T14:22:03Z";
/// Into so many tokens most of it does not fit.
const SMALL: usize = 600;

/// Everything that the bytes say under any of the names, one document for each address.
fn documents(bytes: &[u8]) -> Vec<Document> {
    let folder = Folder::new(Some("https://example.com/kb".into()), Some(TIME.into()));
    let mut documents: BTreeMap<String, Document> = BTreeMap::new();
    let file = |path| File { path, bytes, sidecar: None, folder: &folder };
    let beside = File { bytes: b"Use a limit for every retry. It says why.", sidecar: Some(bytes), ..file("b.md") };
    for document in NAMES.iter().map(|path| file(path)).chain([beside]).flat_map(|file| read(file).documents) {
        match documents.get_mut(identity(&document.url)) {
            Some(known) => known.absorb(document),
            None => drop(documents.insert(identity(&document.url).to_owned(), document)),
        }
    }
    documents.into_values().collect()
}

/// A brief in the words of what is there, so that something is near to it.
fn brief(documents: &[Document]) -> Brief {
    let titles: Vec<&str> = documents.iter().take(2).map(|document| document.title.as_str()).collect();
    let description = format!("Retry requests within a limit. {}", titles.join(" "));
    Brief { name: "Shop".into(), prompt: Some(description.clone()), description, stack: vec!["rust".into()] }
}

fn ranked(documents: Vec<Document>, brief: &Brief) -> (Vec<Source>, Ranking) {
    let candidate = |document: &Document| Candidate { identity: identity(&document.url).to_owned(), day: 1, words: words(document) };
    let candidates: Vec<Candidate> = documents.iter().map(candidate).collect();
    let ranking = rank(&candidates, &brief.question());
    let score = |at: usize| ranking.places.iter().find(|(place, _)| *place == at).map_or(1, |(_, score)| *score);
    let sources = documents.into_iter().enumerate().map(|(at, document)| Source::new(document, score(at)));
    (sources.take(16).collect(), ranking)
}

/// The pack that somebody would get, as everybody reads it.
fn must_be_valid(brief: Brief, composed: Composed) {
    let manifest = Manifest {
        spec_version: SPEC_VERSION.into(),
        pack_id: "pk_01KPZXWZQR5NRHCGNQ4TR480B2".into(),
        generated_at: TIME.into(),
        generator: Generator { name: "fuzz".into(), ..Generator::default() },
        project: Project { name: brief.name, description: brief.description, stack: brief.stack, ..Project::default() },
        user_prompt: brief.prompt,
        sources: composed.sources,
        ..Manifest::default()
    };
    let files = Draft { manifest, documents: composed.documents }.files();
    let texts: Vec<String> = files.values().map(|bytes| String::from_utf8_lossy(bytes).into_owned()).collect();
    let entries: Entries = files.into_iter().map(|(path, bytes)| (path, Entry::File(bytes))).collect();
    let judged = judge(&entries, &Limits::default());
    let errors = judged.reports.iter().filter(|report| !report.is_usable()).flat_map(|report| &report.findings);
    let errors: Vec<&str> = errors.map(|finding| finding.message.as_str()).collect();
    assert!(judged.is_valid(), "{errors:?}\n{}", texts.concat());
}

fuzz_target!(|bytes: &[u8]| {
    let documents = documents(bytes);
    let brief = brief(&documents);
    let (sources, ranking) = ranked(documents, &brief);
    let pool = gather(sources, ranking.worth);
    let offered = pool.offers().into_iter().flat_map(|offer| offer.spans).step_by(2);
    let picks: Vec<Pick> = offered.map(|span| Pick { number: span.number, quote: span.text }).collect();
    let mut chosen = pool.clone();
    chosen.choose(&picks);
    for (pool, budget) in [(pool, SMALL), (chosen, 6000)] {
        match compose(&brief, pool, budget) {
            Ok(composed) if composed.sources.is_empty() => {}
            Ok(composed) => must_be_valid(brief.clone(), composed),
            Err(small) => assert!(small.needs > budget, "{small:?} fits into {budget}"),
        }
    }
});
