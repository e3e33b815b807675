//! Reads any bytes in every format of a knowledge base: what is read makes a valid context pack.
//!
//! `cargo +nightly fuzz run knowledge fuzz/corpus/knowledge fuzz/seeds/knowledge`
#![no_main]

use std::collections::BTreeMap;

use libfuzzer_sys::fuzz_target;
use sp_analyze::knowledge::{
    Brief, ComposedFiles, DocumentRanking, FolderDefaults, IndexedDocument, KnowledgeDocument,
    KnowledgeFile, RankedSource, SelectedQuote, collect_claims, compose, index_words, parse_file,
    rank, url_identity,
};
use sp_formats::context_pack::{
    ContextPackDraft, ContextPackEntries, ContextPackEntry, ContextPackGenerator,
    ContextPackManifest, ContextPackProject, SPEC_VERSION, read,
};
use sp_tree::Limits;

const NAMES: &[&str] =
    &["a.md", "a.html", "a.jsonl", "bookmarks.html", "llms.txt", "SKILL.md", "a.ctxpkg"];
const TIME: &str = "2026-04-24T14:22:03Z";
/// A budget that is too small for most inputs.
const SMALL_BUDGET: usize = 600;

/// Reads the bytes under each of the names. Documents with the same URL are merged.
fn documents(bytes: &[u8]) -> Vec<KnowledgeDocument> {
    let defaults = FolderDefaults::new(Some("https://example.com/kb".into()), Some(TIME.into()));
    let mut documents: BTreeMap<String, KnowledgeDocument> = BTreeMap::new();
    let file = |path| KnowledgeFile { path, bytes, sidecar: None, defaults: &defaults };
    let with_sidecar = KnowledgeFile {
        bytes: b"Use a limit for every retry. It says why.",
        sidecar: Some(bytes),
        ..file("b.md")
    };
    for document in NAMES
        .iter()
        .map(|path| file(path))
        .chain([with_sidecar])
        .flat_map(|file| parse_file(file).documents)
    {
        match documents.get_mut(url_identity(&document.url)) {
            Some(known) => known.merge(document),
            None => drop(documents.insert(url_identity(&document.url).to_owned(), document)),
        }
    }
    documents.into_values().collect()
}

/// Returns a brief that uses words of the documents, so that some of them are relevant.
fn brief(documents: &[KnowledgeDocument]) -> Brief {
    let titles: Vec<&str> =
        documents.iter().take(2).map(|document| document.title.as_str()).collect();
    let description = format!("Retry requests within a limit. {}", titles.join(" "));
    Brief {
        name: "Shop".into(),
        prompt: Some(description.clone()),
        description,
        stack: vec!["rust".into()],
    }
}

fn rank_documents(
    documents: Vec<KnowledgeDocument>,
    brief: &Brief,
) -> (Vec<RankedSource>, DocumentRanking) {
    let candidate = |document: &KnowledgeDocument| IndexedDocument {
        identity: url_identity(&document.url).to_owned(),
        day: 1,
        words: index_words(document),
    };
    let candidates: Vec<IndexedDocument> = documents.iter().map(candidate).collect();
    let ranking = rank(&candidates, &brief.to_query());
    let score = |at: usize| {
        ranking.hits.iter().find(|(place, _)| *place == at).map_or(1, |(_, score)| *score)
    };
    let sources = documents
        .into_iter()
        .enumerate()
        .map(|(at, document)| RankedSource::new(document, score(at)));
    (sources.take(16).collect(), ranking)
}

/// Checks that the composed files make a valid context pack.
fn check_valid(brief: Brief, composed: ComposedFiles) {
    let manifest = ContextPackManifest {
        spec_version: SPEC_VERSION.into(),
        pack_id: "pk_01KPZXWZQR5NRHCGNQ4TR480B2".into(),
        generated_at: TIME.into(),
        generator: ContextPackGenerator { name: "fuzz".into(), ..ContextPackGenerator::default() },
        project: ContextPackProject {
            name: brief.name,
            description: brief.description,
            stack: brief.stack,
            ..ContextPackProject::default()
        },
        user_prompt: brief.prompt,
        sources: composed.sources,
        ..ContextPackManifest::default()
    };
    let files = ContextPackDraft { manifest, documents: composed.documents }.files();
    let texts: Vec<String> =
        files.values().map(|bytes| String::from_utf8_lossy(bytes).into_owned()).collect();
    let entries: ContextPackEntries =
        files.into_iter().map(|(path, bytes)| (path, ContextPackEntry::File(bytes))).collect();
    let result = read(&entries, &Limits::default());
    let errors = result
        .reports
        .iter()
        .filter(|report| !report.is_usable())
        .flat_map(|report| &report.findings);
    let errors: Vec<&str> = errors.map(|finding| finding.message.as_str()).collect();
    assert!(result.is_valid(), "{errors:?}\n{}", texts.concat());
}

fuzz_target!(|bytes: &[u8]| {
    let documents = documents(bytes);
    let brief = brief(&documents);
    let (sources, ranking) = rank_documents(documents, &brief);
    let pool = collect_claims(sources, ranking.word_weights);
    let candidates = pool.candidate_lists().into_iter().flat_map(|list| list.sentences).step_by(2);
    let picks: Vec<SelectedQuote> =
        candidates.map(|span| SelectedQuote { number: span.number, quote: span.text }).collect();
    let mut selected = pool.clone();
    selected.apply_selection(&picks);
    for (pool, budget) in [(pool, SMALL_BUDGET), (selected, 6000)] {
        match compose(&brief, pool, budget) {
            Ok(composed) if composed.sources.is_empty() => {}
            Ok(composed) => check_valid(brief.clone(), composed),
            Err(error) => assert!(error.required_tokens > budget, "{error:?} fits into {budget}"),
        }
    }
});
