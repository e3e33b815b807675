//! Composed context packs are valid, whatever the documents and the selection of a model.

use proptest::prelude::*;
use sp_analyze::knowledge::{RankedSource, SelectedQuote, collect_claims, compose};

use super::*;

/// Text with a special meaning in Markdown, in HTML, in a context pack or for an agent.
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

fn text(max_pieces: usize) -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(PIECES), 0..max_pieces)
        .prop_map(|pieces| pieces.concat())
}

fn parse_notes(title: &str, body: &str, number: usize) -> Vec<KnowledgeDocument> {
    let url = format!("https://example.com/{number}");
    let front = serde_json::json!({ "url": url, "title": title, "captured_at": "2026-01-01", "highlights": [body] });
    let html = format!("<article><h1>{title}</h1><p>{body}</p><ul><li>{body}</li></ul></article>");
    let page = serde_json::json!({ "url": format!("{url}/page"), "captured_at": "2026-01-01", "html": html });
    let note = format!("---\n{front}\n---\n\n{body}\n");
    [parse("a.md", &note), parse("a.jsonl", &page.to_string())].concat()
}

/// Composes files from all documents. The quotes of the model start after `skipped_words`.
fn composed(
    documents: Vec<KnowledgeDocument>,
    brief: &Brief,
    budget: usize,
    skipped_words: usize,
) -> Option<ComposedFiles> {
    let ranking = rank_documents(brief, &documents);
    let sources = documents.into_iter().map(|document| RankedSource::new(document, 1000));
    let mut pool = collect_claims(sources.collect(), ranking.word_weights);
    let lists = pool.candidate_lists().into_iter();
    let quotes = lists.flat_map(|list| list.sentences).step_by(2).map(|sentence| {
        let words: Vec<&str> = sentence.text.split(' ').collect();
        let start = skipped_words.min(words.len());
        SelectedQuote { number: sentence.number, quote: words[start..].join(" ") }
    });
    pool.apply_selection(&quotes.collect::<Vec<_>>());
    compose(brief, pool, budget).ok().filter(|composed| !composed.sources.is_empty())
}

/// Returns text that `sp context build` accepts: not empty, on one line, and without hidden
/// characters.
fn accepted_text(text: &str) -> String {
    let visible: String = text.chars().filter(|c| !sp_formats::printable::is_hidden(*c)).collect();
    format!("Retry {}", visible.split_whitespace().collect::<Vec<_>>().join(" "))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn cp_12_composed_context_packs_are_valid(
        notes in prop::collection::vec((text(6), text(40)), 1..4),
        (name, prompt) in (text(6), text(12)),
        budget in prop::sample::select(&[400, 800, 6000][..]),
        skipped_words in 0_usize..4,
    ) {
        let brief = Brief {
            name: accepted_text(&name),
            description: accepted_text(&prompt),
            prompt: Some(accepted_text(&prompt)),
            stack: vec![accepted_text(&name)],
        };
        let documents = notes.iter().enumerate().flat_map(|(number, (title, body))| parse_notes(title, body, number));
        if let Some(composed) = composed(documents.collect(), &brief, budget, skipped_words) {
            let result = read_draft(&draft(&brief, &composed));
            let invalid: Vec<_> = result.reports.iter().filter(|report| !report.is_usable()).collect();
            prop_assert!(invalid.is_empty(), "{invalid:?}");
        }
    }
}
