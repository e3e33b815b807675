//! Every line of a composed context pack is a sentence of the cited source, and no text of a source
//! or of the user is interpreted as Markdown.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use proptest::prelude::*;
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use sp_analyze::knowledge::{BudgetError, RankedSource, collect_claims, compose, source_id};
use sp_analyze::tokens;

use super::*;

/// Parts of sentences, most of them with a special meaning in Markdown.
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
/// Separators, some of which end a sentence.
const ENDS: &[&str] = &[". ", "! ", "? ", " ", "\n", "; ", ".\\ ", ": "];
/// Markup at the start of a block.
const PREFIXES: &[&str] = &[
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

fn sentences() -> impl Strategy<Value = String> {
    let piece = (prop::sample::select(PIECES), prop::sample::select(ENDS));
    prop::collection::vec(piece, 1..7)
        .prop_map(|pieces| pieces.into_iter().flat_map(|(a, b)| [a, b]).collect())
}

/// Markdown with several blocks.
fn text() -> impl Strategy<Value = String> {
    let block = (prop::sample::select(PREFIXES), sentences());
    prop::collection::vec(block, 1..12).prop_map(|blocks| {
        blocks.into_iter().map(|(prefix, words)| format!("{prefix}{words}\n\n")).collect()
    })
}

/// A document in a capture, which has no frontmatter.
fn document(number: usize) -> impl Strategy<Value = Vec<KnowledgeDocument>> {
    (sentences(), text(), prop::collection::vec(sentences(), 0..3)).prop_map(move |(title, text, highlights)| {
        let url = format!("https://example.com/{number}");
        let line = serde_json::json!({
            "url": url, "title": title, "date": "2026-04-01", "text": text, "highlights": highlights,
            "tags": ["webhooks"],
        });
        parse("a.jsonl", &line.to_string())
    })
}

fn documents() -> impl Strategy<Value = Vec<KnowledgeDocument>> {
    (document(1), document(2), document(3)).prop_map(|(a, b, c)| [a, b, c].concat())
}

/// Input of a user. Only the prompt can have several lines.
fn brief() -> impl Strategy<Value = Brief> {
    let line = |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let stack = prop::collection::vec(prop::sample::select(PIECES), 0..4);
    let prompt = prop::option::of(prop_oneof![
        sentences(),
        Just("How?\n````\n## Evil [^src_x]\n```".to_owned())
    ]);
    (sentences(), sentences(), prompt, stack).prop_map(move |(name, description, prompt, stack)| {
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
    let ranking = rank_documents(brief, documents);
    let sources = ranking
        .hits
        .iter()
        .map(|(index, score)| RankedSource::new(documents[*index].clone(), *score))
        .collect();
    compose(brief, collect_claims(sources, ranking.word_weights), budget)
}

/// Returns the letters and digits of a text, without markup and punctuation.
fn alphanumeric(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).collect()
}

/// Markdown as an independent parser reads it.
#[derive(Debug, Default)]
struct RenderedMarkdown {
    /// The texts of list items and paragraphs.
    lines: Vec<String>,
    headings: Vec<(usize, String)>,
    /// Other markup, which composed files must not have.
    unexpected: Vec<String>,
}

fn render(markdown: &str) -> RenderedMarkdown {
    let mut output = RenderedMarkdown::default();
    let mut line = String::new();
    // The text without code, to find references to files.
    let mut text = String::from("\n");
    let mut in_code = false;
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_MATH;
    for event in Parser::new_ext(markdown, options) {
        match &event {
            Event::Text(words) if !in_code => text.push_str(words),
            Event::Code(_) => text.push('`'),
            _ => text.push('\n'),
        }
        match event {
            Event::Start(Tag::Heading { .. }) => line.clear(),
            Event::End(TagEnd::Heading(level)) => {
                output.headings.push((level as usize, std::mem::take(&mut line)));
            }
            Event::Start(Tag::CodeBlock(_)) => in_code = true,
            Event::End(TagEnd::CodeBlock) => in_code = false,
            Event::Text(_) if in_code => {}
            Event::Text(words) | Event::Code(words) => line.push_str(&words),
            Event::SoftBreak | Event::HardBreak => line.push(' '),
            Event::Start(Tag::Item | Tag::Paragraph)
            | Event::End(TagEnd::Item | TagEnd::Paragraph) => {
                if !line.trim().is_empty() {
                    output.lines.push(std::mem::take(&mut line).trim().to_owned());
                }
            }
            Event::Start(Tag::List(None)) | Event::End(TagEnd::List(_)) => {
                if !line.trim().is_empty() {
                    output.lines.push(std::mem::take(&mut line).trim().to_owned());
                }
            }
            // URLs are in angle brackets.
            Event::Start(Tag::Link { link_type: pulldown_cmark::LinkType::Autolink, .. })
            | Event::End(TagEnd::Link) => {}
            other => output.unexpected.push(format!("{other:?}")),
        }
    }
    let is_reference = |(index, _): (usize, &str)| {
        let next = text[index + 1..].chars().next();
        text[..index].ends_with(char::is_whitespace)
            && next.is_some_and(|c| !c.is_whitespace() && c != '`')
    };
    if text.match_indices('@').any(is_reference) {
        output.unexpected.push(format!("a reference to a file: {text}"));
    }
    output
}

/// Returns the text after the frontmatter.
fn body(text: &str) -> &str {
    text.strip_prefix("---\n").unwrap().split_once("\n---\n").unwrap().1
}

/// Lines that do not depend on the sources and the user.
struct FixedLines {
    /// Placeholders for empty sections, and the explanation of footnotes.
    uncited: BTreeSet<String>,
    /// The acceptance criterion of a task whose source has none.
    acceptance: String,
}

static FIXED_LINES: LazyLock<FixedLines> = LazyLock::new(|| {
    let brief = Brief {
        name: "Relay".into(),
        description: "Deliver webhooks.".into(),
        prompt: None,
        stack: Vec::new(),
    };
    let user = user_text(&brief);
    let (mut uncited, mut acceptances) = (BTreeSet::new(), BTreeSet::new());
    for (path, line) in SAMPLES.iter().flat_map(|text| lines_of_sample(&brief, text)) {
        if let Some((words, _)) = line.strip_prefix("Acceptance: ").and_then(cited) {
            acceptances.insert(words.to_owned());
        } else if path != "sources.md" && cited(&line).is_none() && is_fixed(&line, &user) {
            uncited.insert(line);
        }
    }
    assert_eq!((uncited.len(), acceptances.len()), (4, 1), "{uncited:?} {acceptances:?}");
    FixedLines { uncited, acceptance: acceptances.pop_first().unwrap() }
});

/// Documents that make sections empty, and a task without an acceptance criterion.
const SAMPLES: [&str; 2] = [
    "The relay sends webhooks.\n",
    "## Set up\n\n1. Create the table for webhooks.\n2. Create the queue for webhooks.\n",
];

/// Composes a context pack from one document, and returns its lines with their files.
fn lines_of_sample(brief: &Brief, text: &str) -> Vec<(String, String)> {
    let capture = serde_json::json!({
        "url": "https://example.com/", "title": "Webhooks", "date": "2026-04-01", "text": text,
    });
    let composed = composed(brief, &parse("a.jsonl", &capture.to_string()), 6000).unwrap();
    let files = composed.documents.iter();
    files
        .flat_map(|(path, text)| {
            lines(text).into_iter().map(|line| (path.to_string(), line.into()))
        })
        .collect()
}

/// Returns whether a line is neither a field nor text of the user.
fn is_fixed(line: &str, user: &str) -> bool {
    let is_field = FIELDS.iter().any(|field| line.starts_with(field));
    !is_field && !user.contains(&alphanumeric(&render_line(line)))
}

/// Fields of the format whose values are on the same line or in a code block.
const FIELDS: &[&str] = &["Context:", "Pattern:", "Sources:", "Acceptance:"];

fn user_text(brief: &Brief) -> String {
    let texts = [&brief.name, &brief.description].into_iter().chain(&brief.stack);
    texts.chain(&brief.prompt).map(|text| alphanumeric(text)).collect()
}

/// The sentences and the title of a source, as alphanumeric text.
struct SourceText {
    sentences: BTreeSet<String>,
    title: String,
}

/// Returns the texts of all sources by ID.
fn source_texts(documents: &[KnowledgeDocument]) -> BTreeMap<String, SourceText> {
    let text = |document: &KnowledgeDocument| {
        let sentences = document.sentences();
        let sentences = sentences.map(|sentence| alphanumeric(&render_line(sentence))).collect();
        (source_id(&document.url), SourceText { sentences, title: alphanumeric(&document.title) })
    };
    documents.iter().map(text).collect()
}

/// Renders text inside of a line of Markdown.
fn render_line(words: &str) -> String {
    render(&format!("Words: {words}\n")).lines.concat().trim_start_matches("Words:").to_owned()
}

/// Splits a line into its text and the ID of the footnote at its end.
fn cited(line: &str) -> Option<(&str, &str)> {
    let (words, note) = line.strip_suffix(']')?.rsplit_once("[^")?;
    (!words.ends_with('\\')).then_some((words.trim(), note))
}

/// Returns the lines that are neither headings nor code, without list markers.
fn lines(body: &str) -> Vec<&str> {
    let (mut fence, mut lines) = (None, Vec::new());
    for line in body.lines() {
        let ticks = line.len() - line.trim_start_matches('`').len();
        match fence {
            None if ticks > 2 => fence = Some(ticks),
            Some(open) if ticks == open && line.len() == ticks => fence = None,
            None if !line.trim().is_empty() && !line.starts_with('#') => lines.push(line),
            _ => {}
        }
    }
    lines.into_iter().map(|line| line.trim_start().trim_start_matches("- ")).collect()
}

/// Returns whether a text is a sequence of these sentences.
fn is_made_of(text: &str, sentences: &BTreeSet<String>) -> bool {
    let is_prefix = |sentence: &String| {
        !sentence.is_empty()
            && text.starts_with(sentence)
            && is_made_of(&text[sentence.len()..], sentences)
    };
    text.is_empty() || sentences.iter().any(is_prefix)
}

/// Returns the lines of a section of `sources.md` that are not from its source.
fn foreign_lines(section: &str, source: &SourceText) -> Vec<String> {
    let is_from_source = |line: &str| match line.split_once(": ") {
        Some(("Title", value)) => alphanumeric(&render_line(value)) == source.title,
        Some(("Summary", summary)) => {
            is_made_of(&alphanumeric(&render_line(summary)), &source.sentences)
        }
        Some(("URL" | "Kind" | "Captured" | "Published", _)) => true,
        _ => line == "Key claims:" || source.sentences.contains(&alphanumeric(&render_line(line))),
    };
    let (_, below) = section.split_once('\n').unwrap();
    lines(below).into_iter().filter(|line| !is_from_source(line)).map(str::to_owned).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn cp_12_every_line_is_from_the_cited_source_or_the_user(
        documents in documents(),
        brief in brief(),
    ) {
        let composed = composed(&brief, &documents, 6000).unwrap_or_else(|_| panic!("6000 tokens are enough"));
        prop_assume!(!composed.sources.is_empty());
        let draft = draft(&brief, &composed);
        let result = read_draft(&draft);
        prop_assert!(result.is_valid(), "{:?}", result.reports);
        let sources = source_texts(&documents);
        let user = user_text(&brief);
        for (path, bytes) in draft.files().iter().filter(|(path, _)| *path != "pack.json") {
            let text = std::str::from_utf8(bytes).unwrap();
            let rendered = render(body(text));
            prop_assert!(rendered.unexpected.is_empty(), "{path}: {:?} in {text}", rendered.unexpected);
            prop_assert_eq!(rendered.headings.iter().filter(|(level, _)| *level == 1).count(), 1, "{}: {}", path, text);
            prop_assert!(rendered.headings.iter().all(|(level, _)| *level < 3), "{path}: {text}");
            if path == "sources.md" {
                // The heading of each section names its source.
                for section in body(text).split("\n## ").skip(1) {
                    let id = section.trim_start_matches("[^").split(']').next().unwrap();
                    let foreign = foreign_lines(section, &sources[id]);
                    prop_assert!(foreign.is_empty(), "{id} does not contain {foreign:?}: {section}");
                }
                continue;
            }
            for line in lines(body(text)) {
                let line = line.trim_start_matches("Context: ").trim_start_matches("Acceptance: ");
                if FIXED_LINES.uncited.contains(line) || line == "Pattern:" || line.starts_with("Sources: ") {
                    continue;
                }
                let Some((words, id)) = cited(line) else {
                    prop_assert!(user.contains(&alphanumeric(&render_line(line))), "{path}: `{line}` has no source");
                    continue;
                };
                let source = sources.get(id).unwrap_or_else(|| panic!("{path}: unknown source `{id}`"));
                let text = alphanumeric(&render_line(words));
                let is_from_source = source.sentences.contains(&text) || source.title == text;
                prop_assert!(is_from_source || words == FIXED_LINES.acceptance, "{path}: {id} does not contain `{line}`");
            }
        }
    }

    #[test]
    fn cp_12_files_respect_the_token_budget(
        documents in documents(),
        brief in brief(),
        budget in prop_oneof![0_usize..300, 200_usize..2000],
    ) {
        match composed(&brief, &documents, budget) {
            Ok(composed) => {
                for (path, bytes) in draft(&brief, &composed).files().iter().filter(|(path, _)| *path != "pack.json") {
                    let cost = tokens::count(std::str::from_utf8(bytes).unwrap());
                    prop_assert!(cost <= budget, "{path} has {cost} of {budget} tokens");
                }
            }
            Err(BudgetError { required_tokens, .. }) => {
                prop_assert!(required_tokens > budget);
                // The reported requirement grows with each attempt, and is soon enough.
                let (mut budget, mut attempts) = (required_tokens, 0);
                while let Err(error) = composed(&brief, &documents, budget) {
                    prop_assert!(error.required_tokens > budget);
                    (budget, attempts) = (error.required_tokens, attempts + 1);
                    prop_assert!(attempts < 4);
                }
            }
        }
    }
}
