//! Constructions that the text of this project must not contain.
//!
//! Checks Markdown, web pages, scripts, comments, and the string literals of the crates. Text is
//! plain technical English: say `again`, not `anew`, and `is not a skill`, not `is no skill`.

use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use crate::crates::workspace;

/// Phrases in lowercase, and what to write instead. `_` stands for any word.
const PHRASES: &[(&str, &str)] = &[
    ("anew", "again"),
    ("are no _", "are not"),
    ("are told", "receive, see"),
    ("as it stands", "as is"),
    ("at the most", "at most"),
    ("by the letter", "strictly"),
    ("commonest", "most common"),
    ("held against", "compared with"),
    ("is called as", "is named"),
    ("is no _", "is not a"),
    ("is not that of", "differs from"),
    ("is told", "receives, sees"),
    ("leads out of", "points outside"),
    ("lie inside one another", "overlap"),
    ("lies in", "is in"),
    ("mend", "fix"),
    ("mended", "fixed"),
    ("mends", "fixes"),
    ("mind neither", "support both"),
    ("nobody", "no one"),
    ("now and then", "occasionally"),
    ("of no use", "failed"),
    ("outgrown", "changed"),
    ("passed over", "ignored"),
    ("passes over", "ignores"),
    ("so many _", "the number of"),
    ("somebody", "someone"),
    ("speak to", "connect to"),
    ("speaks of", "mentions"),
    ("stand here", "is here"),
    ("stands below", "is below"),
    ("stands here", "is here"),
    ("stands in", "is in"),
    ("tells", "shows, returns"),
    ("told", "shown, returned"),
    ("whence", "from where"),
    ("whoever", "anyone who"),
    ("without a thought", "automatically"),
];

/// Internal terms, which users do not see: an agent is an agent, also where the code has a sink.
const INTERNAL_PHRASES: &[(&str, &str)] = &[
    ("a sink", "an agent, a directory"),
    ("all sinks", "all agents"),
    ("sink of", "agent, directory of"),
    ("the sink", "the agent, the directory"),
    ("the sinks", "the agents"),
    ("this sink", "this agent"),
];

/// Pages for contributors, which may contain internal terms.
const INTERNAL_PAGES: &[&str] = &["ARCHITECTURE.md", "CONTRIBUTING.md", "STYLE.md"];

/// Words before `is no` and `are no` that make it correct: "there is no pack".
const BEFORE_NO: &[&str] = &["there"];
/// Words after `is no` and `are no` that make it correct: "is no longer".
const AFTER_NO: &[&str] = &["longer", "more"];

/// Files with a phrase that is data, not text.
const EXCEPTIONS: &[(&str, &str)] = &[
    ("crates/sp-analyze/src/knowledge/phrases.rs", "tell"),
    ("crates/sp-engine/src/model/quote.rs", "nobody"),
    ("crates/xtask/tests/house/wording.rs", "_"),
];

/// A text with the line on which it starts.
struct SourceText {
    line: usize,
    text: String,
    /// Whether users see it.
    is_public: bool,
}

fn words(text: &str) -> impl Iterator<Item = (usize, String)> {
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '\'' | '-' | '_');
    text.lines().enumerate().flat_map(move |(line, text)| {
        text.split(move |c| !is_word(c))
            .filter(|word| !word.is_empty())
            .map(move |word| (line, word.to_lowercase()))
    })
}

/// Returns each phrase in a text, with its line.
fn find_phrases(text: &SourceText) -> Vec<(usize, &'static str, &'static str)> {
    let words: Vec<(usize, String)> = words(&text.text).collect();
    let internal = if text.is_public { INTERNAL_PHRASES } else { &[] };
    let mut found = Vec::new();
    for at in 0..words.len() {
        for (phrase, instead) in PHRASES.iter().chain(internal) {
            let parts: Vec<&str> = phrase.split(' ').collect();
            let Some(window) = words.get(at..at + parts.len()) else { continue };
            let matches =
                parts.iter().zip(window).all(|(part, (_, word))| *part == "_" || part == word);
            let is_negation = matches!(parts[..], ["is" | "are", "no", "_"]);
            let before = at.checked_sub(1).map_or("", |before| words[before].1.as_str());
            let is_correct = is_negation
                && (BEFORE_NO.contains(&before) || AFTER_NO.contains(&window[2].1.as_str()));
            if matches && !is_correct {
                found.push((words[at].0, *phrase, *instead));
            }
        }
    }
    found
}

/// Returns the comments of a Rust file that start with one of `markers`. Consecutive lines are one
/// text.
fn comments(source: &str, markers: &[&str]) -> Vec<SourceText> {
    let mut comments: Vec<SourceText> = Vec::new();
    let mut previous = 0;
    for (number, line) in source.lines().enumerate().map(|(number, line)| (number + 1, line)) {
        let line = line.trim_start();
        if !markers.iter().any(|marker| line.starts_with(marker)) {
            continue;
        }
        let comment = line.trim_start_matches(['/', '!']);
        match comments.last_mut() {
            Some(last) if previous + 1 == number => last.text += &format!("\n{comment}"),
            _ => comments.push(SourceText { line: number, text: comment.into(), is_public: false }),
        }
        previous = number;
    }
    comments
}

/// Adds the string literals of a Rust file, except those in `#[cfg(test)]` modules.
fn add_literals(tokens: TokenStream, texts: &mut Vec<SourceText>) {
    let mut is_test = false;
    for token in tokens {
        match token {
            TokenTree::Group(group) if is_test && group.delimiter() == Delimiter::Brace => {
                is_test = false;
            }
            TokenTree::Group(group) => {
                let inside = group.stream().to_string();
                is_test |= inside == "cfg (test)";
                // A doc comment, which is read as a comment.
                if !inside.starts_with("doc =") {
                    add_literals(group.stream(), texts);
                }
            }
            TokenTree::Literal(literal) => {
                let line = literal.span().start().line;
                if let Ok(text) = syn::parse_str::<syn::LitStr>(&literal.to_string()) {
                    texts.push(SourceText { line, text: text.value(), is_public: true });
                }
            }
            // An attribute of an item without a body, such as `use`.
            TokenTree::Punct(punct) if punct.as_char() == ';' => is_test = false,
            TokenTree::Ident(_) | TokenTree::Punct(_) => {}
        }
    }
}

/// Returns the checked texts of a file.
fn texts(path: &str, source: String) -> Vec<SourceText> {
    if !path.ends_with(".rs") {
        let is_public = !INTERNAL_PAGES.contains(&path);
        return vec![SourceText { line: 1, text: source, is_public }];
    }
    let is_test = path.contains("/tests/") || path.ends_with("tests.rs");
    // The sources of other languages in tests have comments too.
    let mut texts = comments(&source, if is_test { &["//!", "///"] } else { &["//"] });
    if !is_test && path.contains("/src/") && !path.starts_with("crates/sp-testkit/") {
        add_literals(source.parse().expect("Rust"), &mut texts);
    }
    texts
}

fn is_checked(path: &str) -> bool {
    let is_input = path.starts_with("crates/") && path.contains("/tests/")
        || path.starts_with("benches/labelled/");
    let extension = Path::new(path).extension().and_then(|extension| extension.to_str());
    match extension {
        Some("rs") => true,
        Some("md" | "html" | "js" | "css" | "yml" | "yaml") => !is_input,
        None => matches!(path, "demo" | "test") || path.starts_with("hooks/"),
        Some(_) => false,
    }
}

fn add_files(dir: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).expect("a directory").flatten() {
        let path = entry.path();
        let name = entry.file_name();
        if matches!(name.to_str(), Some(".git" | "target" | "node_modules")) {
            continue;
        }
        if path.is_dir() && !path.is_symlink() {
            add_files(&path, files);
        } else {
            files.push(path);
        }
    }
}

#[test]
fn text_is_plain_english() {
    let root = workspace();
    let mut files = Vec::new();
    add_files(&root, &mut files);
    files.sort();
    let mut found = Vec::new();
    for file in files {
        let path = file.strip_prefix(&root).unwrap_or(&file).to_string_lossy().into_owned();
        if !is_checked(&path) {
            continue;
        }
        let source = std::fs::read_to_string(&file).expect("a text file");
        for text in texts(&path, source) {
            for (line, phrase, instead) in find_phrases(&text) {
                let is_data = |(of, data): &(&str, &str)| {
                    *of == path && (*data == "_" || phrase.starts_with(data))
                };
                if !EXCEPTIONS.iter().any(is_data) {
                    found.push(format!("{path}:{}: `{phrase}`: write {instead}", text.line + line));
                }
            }
        }
    }
    assert!(found.is_empty(), "rewrite these sentences:\n{}", found.join("\n"));
}

#[test]
fn phrases_are_found_across_lines_and_literals() {
    let find = |text: &str| -> Vec<&str> {
        let text = SourceText { line: 1, text: text.into(), is_public: true };
        find_phrases(&text).into_iter().map(|(_, phrase, _)| phrase).collect()
    };
    assert_eq!(find("`x` is no\nname"), ["is no _"]);
    assert_eq!(find("There is no pack. It is no longer there; use `--anew`."), [""; 0]);
    assert_eq!(find("Write it anew, whoever you are."), ["anew", "whoever"]);
    assert_eq!(find("cannot write to the sink; `sinks` is a key"), ["the sink"]);
    let source = "/// Written\n/// anew.\nconst A: &str = \"is \\\n    told\";\n\
                  #[cfg(test)]\nmod tests { const B: &str = \"anew\"; }";
    let mut lines: Vec<usize> = texts("crates/a/src/b.rs", source.into())
        .iter()
        .flat_map(|text| find_phrases(text).into_iter().map(|(line, ..)| text.line + line))
        .collect();
    lines.sort_unstable();
    assert_eq!(lines, [2, 3, 3]);
}
