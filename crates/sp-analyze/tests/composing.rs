//! What holds for every pack, whatever its sources and its user say: everything in it is said by
//! the source whose footnote follows, and nothing in it means more than its words.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test arranges its world with the plain calls"
)]

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use sp_analyze::knowledge::{
    Brief, BudgetError, ComposedFiles, FolderDefaults, IndexedDocument, KnowledgeDocument,
    KnowledgeFile, RankedSource, collect_claims, compose, index_words, parse_file, rank,
    url_identity,
};
use sp_analyze::tokens;
use sp_formats::context_pack::{
    self, ContextPackDraft, ContextPackEntry, ContextPackGenerator, ContextPackManifest,
    ContextPackProject, SPEC_VERSION,
};
use sp_tree::Limits;

/// Pieces of sentences, most of them made to mean more than their words.
const PIECES: &[&str] = &[
    "webhooks",
    "Always use webhooks",
    "never trust webhooks",
    "should be signed",
    "Create the table",
    "the relay",
    "for every shop",
    "[^src_x]",
    "[^src_0000000000000000]",
    "<!-- hidden -->",
    "<b>bold</b>",
    "<script>",
    "`code`",
    "``a ` b``",
    "`",
    "\\",
    "\\`",
    "@~/.ssh/id_rsa",
    "@*~/.ssh/id_rsa*",
    "&#64;/etc/passwd",
    "&amp;",
    "| a | b |",
    "|",
    "*stars*",
    "**",
    "__under__",
    "snake_case",
    "~~gone~~",
    "~~~",
    "$$x$$",
    "[link](https://example.com/x)",
    "![image](x.png)",
    "[[Note|words]]",
    "](x)",
    "# no heading",
    "1. no list",
    "- no item",
    "> no quote",
    "==marked==",
    "認証はすべての要求で必要です。",
    "これは webhooks です！",
    "🦀 crabs",
    "e.g. this",
    "v1.2.3",
    "\"Quoted.\"",
    "(in brackets)",
    "Donaudampfschifffahrtsgesellschaftskapitänsmützenabzeichenverleihungszeremoniell",
    "% percent %",
    "{braces}",
    "---",
    "===",
];
/// What ends a sentence, or does not.
const ENDS: &[&str] = &[". ", "! ", "? ", " ", "\n", "; ", ".\\ ", ": "];
/// What stands before a block.
const MARKS: &[&str] = &[
    "",
    "",
    "",
    "- ",
    "1. ",
    "> ",
    "> [!warning] x\n> ",
    "- [ ] ",
    "## ",
    "```\n",
    "### Steps\n\n1. ",
];

fn words_of() -> impl Strategy<Value = String> {
    let piece = (prop::sample::select(PIECES), prop::sample::select(ENDS));
    prop::collection::vec(piece, 1..7)
        .prop_map(|pieces| pieces.into_iter().flat_map(|(a, b)| [a, b]).collect())
}

/// A Markdown text of blocks.
fn text() -> impl Strategy<Value = String> {
    let block = (prop::sample::select(MARKS), words_of());
    prop::collection::vec(block, 1..12).prop_map(|blocks| {
        blocks.into_iter().map(|(mark, words)| format!("{mark}{words}\n\n")).collect()
    })
}

/// A document that is kept as a capture, so that no frontmatter stands between the text and its
/// reader.
fn document(number: usize) -> impl Strategy<Value = Vec<KnowledgeDocument>> {
    (words_of(), text(), prop::collection::vec(words_of(), 0..3)).prop_map(move |(title, text, highlights)| {
        let url = format!("https://example.com/{number}");
        let line = serde_json::json!({
            "url": url, "title": title, "date": "2026-04-01", "text": text, "highlights": highlights,
            "tags": ["webhooks"],
        });
        let line = line.to_string();
        let folder = FolderDefaults::default();
        parse_file(KnowledgeFile { path: "a.jsonl", bytes: line.as_bytes(), sidecar: None, defaults: &folder }).documents
    })
}

fn documents() -> impl Strategy<Value = Vec<KnowledgeDocument>> {
    (document(1), document(2), document(3)).prop_map(|(a, b, c)| [a, b, c].concat())
}

/// What a user says, in the form in which it is taken: only a prompt has lines.
fn brief() -> impl Strategy<Value = Brief> {
    let line = |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let stack = prop::collection::vec(prop::sample::select(PIECES), 0..4);
    let prompt = prop::option::of(prop_oneof![
        words_of(),
        Just("How?\n````\n## Evil [^src_x]\n```".to_owned())
    ]);
    (words_of(), words_of(), prompt, stack).prop_map(move |(name, description, prompt, stack)| {
        Brief {
            name: line(name),
            description: format!("Deliver webhooks. {}", line(description)),
            prompt,
            stack: stack.into_iter().map(str::to_owned).collect(),
        }
    })
}

fn composed(
    brief: &Brief,
    documents: &[KnowledgeDocument],
    budget: usize,
) -> Result<ComposedFiles, BudgetError> {
    let candidate = |document: &KnowledgeDocument| IndexedDocument {
        identity: url_identity(&document.url).into(),
        day: 0,
        words: index_words(document),
    };
    let candidates: Vec<IndexedDocument> = documents.iter().map(candidate).collect();
    let ranking = rank(&candidates, &brief.to_query());
    let sources = ranking
        .hits
        .iter()
        .map(|(at, score)| RankedSource::new(documents[*at].clone(), *score))
        .collect();
    compose(brief, collect_claims(sources, ranking.word_weights), budget)
}

fn draft(brief: &Brief, composed: &ComposedFiles) -> ContextPackDraft {
    let manifest = ContextPackManifest {
        spec_version: SPEC_VERSION.into(),
        pack_id: "5f0c7a0e-2a3b-4c5d-8e9f-0a1b2c3d4e5f".into(),
        generated_at: "2026-04-24T14:22:03Z".into(),
        generator: ContextPackGenerator {
            name: "skillpack".into(),
            ..ContextPackGenerator::default()
        },
        project: ContextPackProject {
            name: brief.name.clone(),
            description: brief.description.clone(),
            stack: brief.stack.clone(),
            ..ContextPackProject::default()
        },
        user_prompt: brief.prompt.clone(),
        sources: composed.sources.clone(),
        ..ContextPackManifest::default()
    };
    ContextPackDraft { manifest, documents: composed.documents.clone() }
}

/// The letters and digits of a text: what is left when every mark is taken off.
fn bare(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).collect()
}

/// What a Markdown parser that is not ours sees: items and paragraphs as they are shown, headings,
/// and whatever else there is but should not be.
#[derive(Debug, Default)]
struct Shown {
    lines: Vec<String>,
    headings: Vec<(usize, String)>,
    strange: Vec<String>,
}

fn shown(markdown: &str) -> Shown {
    let mut shown = Shown::default();
    let mut line = String::new();
    // The line without what is code, to see whether it calls for a file.
    let mut spoken = String::from("\n");
    let mut in_code = false;
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_MATH;
    for event in Parser::new_ext(markdown, options) {
        match &event {
            Event::Text(words) if !in_code => spoken.push_str(words),
            Event::Code(_) => spoken.push('`'),
            _ => spoken.push('\n'),
        }
        match event {
            Event::Start(Tag::Heading { .. }) => line.clear(),
            Event::End(TagEnd::Heading(level)) => {
                shown.headings.push((level as usize, std::mem::take(&mut line)));
            }
            Event::Start(Tag::CodeBlock(_)) => in_code = true,
            Event::End(TagEnd::CodeBlock) => in_code = false,
            Event::Text(_) if in_code => {}
            Event::Text(words) | Event::Code(words) => line.push_str(&words),
            Event::SoftBreak | Event::HardBreak => line.push(' '),
            Event::Start(Tag::Item | Tag::Paragraph)
            | Event::End(TagEnd::Item | TagEnd::Paragraph) => {
                if !line.trim().is_empty() {
                    shown.lines.push(std::mem::take(&mut line).trim().to_owned());
                }
            }
            Event::Start(Tag::List(None)) | Event::End(TagEnd::List(_)) => {
                if !line.trim().is_empty() {
                    shown.lines.push(std::mem::take(&mut line).trim().to_owned());
                }
            }
            // Addresses stand in pointed brackets.
            Event::Start(Tag::Link { link_type: pulldown_cmark::LinkType::Autolink, .. })
            | Event::End(TagEnd::Link) => {}
            other => shown.strange.push(format!("{other:?}")),
        }
    }
    let calls = |(at, _): (usize, &str)| {
        let next = spoken[at + 1..].chars().next();
        spoken[..at].ends_with(char::is_whitespace)
            && next.is_some_and(|c| !c.is_whitespace() && c != '`')
    };
    if spoken.match_indices('@').any(calls) {
        shown.strange.push(format!("an agent would read a file: {spoken}"));
    }
    shown
}

/// The text of a file below its frontmatter.
fn body(text: &str) -> &str {
    text.strip_prefix("---\n").unwrap().split_once("\n---\n").unwrap().1
}

/// The lines of a pack that stand for themselves.
const FIXED: &[&str] = &[
    "The sources name none.",
    "The sources name nothing to avoid.",
    "Nothing was said of it.",
    "Footnotes lead to `sources.md`.",
    "Pattern:",
];
/// How one sees that a task is done whose source does not tell.
const DONE: &str = "Every step above is done as the source says.";

/// What each source says, as bare letters: its sentences, one after the other, and its title.
fn said(documents: &[KnowledgeDocument]) -> BTreeMap<String, (BTreeSet<String>, String)> {
    let one = |document: &KnowledgeDocument| {
        let sentences = document.sentences().map(|sentence| bare(&rendered(sentence))).collect();
        (sp_analyze::knowledge::source_id(&document.url), (sentences, bare(&document.title)))
    };
    documents.iter().map(one).collect()
}

/// Words within a line of Markdown as they are shown.
fn rendered(words: &str) -> String {
    shown(&format!("Words: {words}\n")).lines.concat().trim_start_matches("Words:").to_owned()
}

/// The words before a footnote at the end of a line, and its id.
fn cited(line: &str) -> Option<(&str, &str)> {
    let (words, note) = line.strip_suffix(']')?.rsplit_once("[^")?;
    (!words.ends_with('\\')).then_some((words.trim(), note))
}

/// The lines of a file that are neither headings nor code, without the marks before them.
fn lines(body: &str) -> Vec<&str> {
    let (mut fence, mut found) = (None, Vec::new());
    for line in body.lines() {
        let ticks = line.len() - line.trim_start_matches('`').len();
        match fence {
            None if ticks > 2 => fence = Some(ticks),
            Some(open) if ticks == open && line.len() == ticks => fence = None,
            None if !line.trim().is_empty() && !line.starts_with('#') => found.push(line),
            _ => {}
        }
    }
    found.into_iter().map(|line| line.trim_start().trim_start_matches("- ")).collect()
}

/// Whether sentences stand one after the other, and nothing else.
fn is_made_of(text: &str, sentences: &BTreeSet<String>) -> bool {
    let follows = |one: &String| {
        !one.is_empty() && text.starts_with(one) && is_made_of(&text[one.len()..], sentences)
    };
    text.is_empty() || sentences.iter().any(follows)
}

/// What stands in a section of `sources.md` that its source does not say.
fn unsaid(section: &str, (sentences, title): &(BTreeSet<String>, String)) -> Vec<String> {
    let is_said = |line: &str| match line.split_once(": ") {
        Some(("Title", given)) => bare(&rendered(given)) == *title,
        Some(("Summary", summary)) => is_made_of(&bare(&rendered(summary)), sentences),
        Some(("URL" | "Kind" | "Captured" | "Published", _)) => true,
        _ => line == "Key claims:" || sentences.contains(&bare(&rendered(line))),
    };
    let (_, below) = section.split_once('\n').unwrap();
    lines(below).into_iter().filter(|line| !is_said(line)).map(str::to_owned).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn cp_12_everything_in_a_pack_is_said_by_the_source_whose_footnote_follows(
        documents in documents(),
        brief in brief(),
    ) {
        let Ok(composed) = composed(&brief, &documents, 6000) else { panic!("6000 tokens are enough") };
        prop_assume!(!composed.sources.is_empty());
        let files = draft(&brief, &composed).files();
        let entries = files.iter().map(|(path, bytes)| (path.clone(), ContextPackEntry::File(bytes.clone()))).collect();
        let judged = context_pack::read(&entries, &Limits::default());
        prop_assert!(judged.is_valid(), "{:?}", judged.reports);
        let said = said(&documents);
        let user: String = [&brief.name, &brief.description].into_iter().chain(&brief.stack).chain(&brief.prompt).map(|text| bare(text)).collect();
        for (path, bytes) in files.iter().filter(|(path, _)| *path != "pack.json") {
            let text = std::str::from_utf8(bytes).unwrap();
            let shown = shown(body(text));
            prop_assert!(shown.strange.is_empty(), "{path}: {:?} in {text}", shown.strange);
            prop_assert_eq!(shown.headings.iter().filter(|(level, _)| *level == 1).count(), 1, "{}: {}", path, text);
            prop_assert!(shown.headings.iter().all(|(level, _)| *level < 3), "{path}: {text}");
            if path == "sources.md" {
                // Each section has its source in its heading.
                for section in body(text).split("\n## ").skip(1) {
                    let source = section.trim_start_matches("[^").split(']').next().unwrap();
                    let wrong = unsaid(section, &said[source]);
                    prop_assert!(wrong.is_empty(), "{source} does not say {wrong:?}: {section}");
                }
                continue;
            }
            for line in lines(body(text)) {
                let line = line.trim_start_matches("Context: ").trim_start_matches("Acceptance: ");
                match cited(line) {
                    _ if FIXED.contains(&line) || line.starts_with("Sources: ") => {}
                    None => prop_assert!(user.contains(&bare(&rendered(line))), "{path}: nobody says `{line}`"),
                    Some((DONE, note)) => prop_assert!(said.contains_key(note), "{path}: nobody is `{note}`"),
                    Some((words, note)) => {
                        let Some((sentences, title)) = said.get(note) else { panic!("{path}: nobody is `{note}`") };
                        let words = bare(&rendered(words));
                        prop_assert!(sentences.contains(&words) || *title == words, "{path}: {note} does not say `{line}`");
                    }
                }
            }
        }
    }

    #[test]
    fn cp_12_each_file_costs_no_more_than_its_budget(
        documents in documents(),
        brief in brief(),
        budget in prop_oneof![0_usize..300, 200_usize..2000],
    ) {
        match composed(&brief, &documents, budget) {
            Ok(composed) => {
                for (path, bytes) in draft(&brief, &composed).files().iter().filter(|(path, _)| *path != "pack.json") {
                    let cost = tokens::count(std::str::from_utf8(bytes).unwrap());
                    prop_assert!(cost <= budget, "{path} costs {cost} of {budget}");
                }
            }
            Err(BudgetError { required_tokens, .. }) => {
                prop_assert!(required_tokens > budget);
                // What is said to be needed leads on: each answer asks for more, and in the end it
                // is enough.
                let (mut needs, mut asked) = (required_tokens, 0);
                while let Err(more) = composed(&brief, &documents, needs) {
                    prop_assert!(more.required_tokens > needs);
                    (needs, asked) = (more.required_tokens, asked + 1);
                    prop_assert!(asked < 4);
                }
            }
        }
    }
}
