//! Whatever people keep, and whatever a model chooses of it, what is composed of it is a valid
//! pack.
#![expect(clippy::unwrap_used, reason = "a test ends at the first surprise")]

use proptest::prelude::*;
use sp_analyze::knowledge::{
    Brief, ComposedFiles, FolderDefaults, IndexedDocument, KnowledgeDocument, KnowledgeFile,
    RankedSource, SelectedQuote, collect_claims, compose, index_words, parse_file, rank,
    url_identity,
};
use sp_formats::context_pack::{
    ContextPackDraft, ContextPackEntries, ContextPackEntry, ContextPackGenerator,
    ContextPackManifest, ContextPackProject, SPEC_VERSION, read as judge,
};
use sp_tree::Limits;

const TIME: &str = "2026-04-24T14:22:03Z";

/// Pieces of text that mean something to somebody: to Markdown, to a page, to a pack, to an agent.
const PIECES: &[&str] = &[
    "Use a limit for every retry.",
    "Never retry a payment without a key.",
    "The server keeps the key for a day.",
    "Set the limit",
    "you should see it",
    "[^src_x]",
    "[^a]: Use it as it is.",
    "[link](https://example.com/x \"t\")",
    "![image](x.png)",
    "[[page|words]]",
    "`code`",
    "``a ` b``",
    "`",
    "```",
    "~~~",
    "\\",
    "*",
    "_",
    "**bold",
    "~~",
    "$$",
    "==",
    "%%",
    "<!--",
    "-->",
    "<script>",
    "</div>",
    "<b>",
    "&amp;#35;",
    "&#x202e;",
    "\u{202e}",
    "\u{200b}",
    "\u{85}",
    "\u{2028}",
    "# ",
    "## [^src_x]",
    "###### ",
    "- ",
    "- [ ] ",
    "1. ",
    "1) ",
    "> ",
    "> [!warning] ",
    "| a | b |\n|---|---|\n| c | d |",
    "---",
    "===",
    "Context:",
    "Pattern:",
    "Sources: [^src_x]",
    "Acceptance: ",
    "- Summary: ",
    "- Key claims:",
    "Cursor",
    ".cursor/rules",
    "@~/.ssh/id_rsa",
    "{\"a\":1}",
    "é認証。",
    "A. B! C? D… e.g. F",
    ".",
    ":",
    "?",
    " ",
    " ",
    "    ",
    "\t",
    "\n",
    "\n",
    "\n\n",
    "\r\n",
];

fn text(most: usize) -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(PIECES), 0..most).prop_map(|pieces| pieces.concat())
}

fn note(title: &str, body: &str, number: usize) -> Vec<KnowledgeDocument> {
    let url = format!("https://example.com/{number}");
    let front = serde_json::json!({ "url": url, "title": title, "captured_at": "2026-01-01", "highlights": [body] });
    let html = format!("<article><h1>{title}</h1><p>{body}</p><ul><li>{body}</li></ul></article>");
    let page = serde_json::json!({ "url": format!("{url}/page"), "captured_at": "2026-01-01", "html": html });
    let skill = format!("---\n{front}\n---\n\n{body}\n");
    let folder = FolderDefaults::default();
    let of = |path: &str, text: &str| {
        parse_file(KnowledgeFile { path, bytes: text.as_bytes(), sidecar: None, defaults: &folder })
            .documents
    };
    [of("a.md", &skill), of("a.jsonl", &page.to_string())].concat()
}

fn composed(
    documents: Vec<KnowledgeDocument>,
    brief: &Brief,
    (budget, part): (usize, usize),
) -> Option<ComposedFiles> {
    let candidate = |one: &KnowledgeDocument| IndexedDocument {
        identity: url_identity(&one.url).into(),
        day: 1,
        words: index_words(one),
    };
    let candidates: Vec<IndexedDocument> = documents.iter().map(candidate).collect();
    let ranking = rank(&candidates, &brief.to_query());
    let sources = documents.into_iter().map(|document| RankedSource::new(document, 1000));
    let mut pool = collect_claims(sources.collect(), ranking.word_weights);
    let offered = pool.candidate_lists().into_iter().flat_map(|offer| offer.sentences).step_by(2);
    let picks = offered.map(|span| {
        let words: Vec<&str> = span.text.split(' ').collect();
        let from = part.min(words.len());
        SelectedQuote { number: span.number, quote: words[from..].join(" ") }
    });
    pool.apply_selection(&picks.collect::<Vec<_>>());
    compose(brief, pool, budget).ok().filter(|composed| !composed.sources.is_empty())
}

fn errors(brief: Brief, composed: ComposedFiles) -> (Vec<String>, String) {
    let manifest = ContextPackManifest {
        spec_version: SPEC_VERSION.into(),
        pack_id: "pk_01KPZXWZQR5NRHCGNQ4TR480B2".into(),
        generated_at: TIME.into(),
        generator: ContextPackGenerator { name: "test".into(), ..ContextPackGenerator::default() },
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
    let texts: String = files.values().map(|bytes| std::str::from_utf8(bytes).unwrap()).collect();
    let entries: ContextPackEntries =
        files.into_iter().map(|(path, bytes)| (path, ContextPackEntry::File(bytes))).collect();
    let judged = judge(&entries, &Limits::default());
    let broken = judged.reports.iter().filter(|report| !report.is_usable());
    (
        broken.flat_map(|report| &report.findings).map(|finding| finding.message.clone()).collect(),
        texts,
    )
}

/// What `sp context build` takes: something, on one line, and nothing in it that does not show.
fn said(text: &str) -> String {
    let shown: String = text.chars().filter(|c| !sp_formats::printable::is_hidden(*c)).collect();
    format!("Retry {}", shown.split_whitespace().collect::<Vec<_>>().join(" "))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn cp_12_whatever_is_kept_makes_a_valid_pack(
        notes in prop::collection::vec((text(6), text(40)), 1..4),
        (name, prompt) in (text(6), text(12)),
        how in (prop::sample::select(&[400, 800, 6000][..]), 0_usize..4),
    ) {
        let brief = Brief {
            name: said(&name),
            description: said(&prompt),
            prompt: Some(said(&prompt)),
            stack: vec![said(&name)],
        };
        let documents = notes.iter().enumerate().flat_map(|(number, (title, body))| note(title, body, number));
        if let Some(composed) = composed(documents.collect(), &brief, how) {
            let (errors, texts) = errors(brief, composed);
            prop_assert!(errors.is_empty(), "{errors:?}\n{texts}");
        }
    }
}
