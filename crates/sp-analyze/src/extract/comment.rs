//! Comments in which somebody warns whoever comes next.

use crate::extract::code::{Code, is_boilerplate};
use crate::extract::note::{Found, Lines, Note, Source, shortened};

/// A comment of a file of code, with its marks.
#[derive(Debug, Clone)]
pub(crate) struct Comment {
    pub text: String,
    pub line: usize,
}

/// Words with which a warning begins, what it is about, and how sure it is that it is one.
const MARKS: &[(&str, &str, f64)] = &[
    ("FIXME", "defect", 0.9),
    ("BUG", "defect", 0.9),
    ("HACK", "workaround", 0.9),
    ("WORKAROUND", "workaround", 0.9),
    ("XXX", "defect", 0.8),
    ("WARNING", "warning", 0.9),
    ("WARN", "warning", 0.8),
    ("CAUTION", "warning", 0.9),
    ("DANGER", "warning", 0.9),
    ("GOTCHA", "warning", 1.0),
    ("PITFALL", "warning", 1.0),
    ("IMPORTANT", "warning", 0.9),
    ("INVARIANT", "invariant", 0.9),
    ("SAFETY", "invariant", 0.9),
    ("NOTE", "note", 0.6),
    ("NB", "note", 0.6),
];
const MOST_CHARACTERS: usize = 900;
/// Fewer words do not say anything.
const FEWEST_WORDS: usize = 3;
/// A remark that is no warning must say more.
const FEWEST_WORDS_OF_A_NOTE: usize = 8;

/// How comments begin in languages without a grammar here.
const STYLES: &[(&[&str], &[&str])] = &[
    (
        &[
            "sh", "bash", "zsh", "fish", "yml", "yaml", "toml", "rb", "pl", "r", "ex", "exs", "nix", "tf", "cfg",
            "conf", "ps1", "cmake", "mk", "jl", "nim", "bzl",
        ],
        &["#"],
    ),
    (
        &[
            "c", "h", "cc", "cpp", "cxx", "hpp", "hh", "cs", "kt", "kts", "swift", "scala", "zig", "dart", "m", "mm",
            "proto", "gradle", "groovy", "php", "scss", "less", "vue", "svelte", "sol", "glsl",
        ],
        &["//", "/*", "*"],
    ),
    (&["sql", "lua", "hs", "elm", "ada", "adb"], &["--"]),
    (&["ini", "el", "clj", "lisp", "asm"], &[";"]),
];
/// Files without an ending that have comments.
const NAMED: &[&str] = &[
    "Dockerfile",
    "Containerfile",
    "Makefile",
    "GNUmakefile",
    "justfile",
    "Justfile",
    "Rakefile",
    "Gemfile",
    "Vagrantfile",
    "Jenkinsfile",
];

/// Whether a file, by its name, has comments that are found line by line.
pub(crate) fn has_comments(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    // A script is known by its first line only; those that matter lie high up.
    marks_of(path).is_some() || (!name.contains('.') && path.matches('/').count() <= 2) || path == ".ci/run"
}

fn marks_of(path: &str) -> Option<&'static [&'static str]> {
    let name = path.rsplit('/').next().unwrap_or(path);
    if NAMED.contains(&name) {
        return Some(&["#"]);
    }
    let (_, ending) = name.rsplit_once('.')?;
    STYLES.iter().find(|(endings, _)| endings.contains(&ending)).map(|(_, marks)| *marks)
}

/// The words of a comment, without what makes it one.
pub(crate) fn plain(comment: &str) -> String {
    plain_lines(comment).join("\n").trim().to_owned()
}

/// The same for each of its lines, from the first to the last.
fn plain_lines(comment: &str) -> Vec<String> {
    let comment = comment.trim();
    let inside = comment
        .strip_prefix("/*")
        .map(|rest| rest.trim_start_matches(['*', '!']).trim_end_matches("*/").trim_end_matches('*'));
    let clean = |line: &str| {
        let line = line.trim();
        let line = match inside {
            Some(_) => line.strip_prefix('*').unwrap_or(line),
            None => line.trim_start_matches('/').trim_start_matches(['!', '#', ';']).trim_start_matches("--"),
        };
        line.strip_prefix(' ').unwrap_or(line).trim_end().to_owned()
    };
    inside.unwrap_or(comment).lines().map(clean).collect()
}

/// Warnings in the comments of a file of code.
pub(crate) fn in_code(comments: &[Comment], code: &Code, found: &mut Found) {
    let mut lines: Vec<(usize, String)> = Vec::new();
    for comment in comments {
        let said = plain_lines(&comment.text);
        lines.extend(said.into_iter().enumerate().map(|(at, line)| (comment.line + at, line.trim().to_owned())));
    }
    for mut note in warnings(&lines) {
        note.inside = innermost(code, note.lines.first);
        found.add(note);
    }
}

/// The symbol in which a line stands: symbols are in the order in which they begin, and what holds one is its parent.
fn innermost(code: &Code, line: usize) -> Option<usize> {
    let begun = code.symbols.partition_point(|symbol| symbol.lines.first <= line);
    let mut at = begun.checked_sub(1);
    while let Some(place) = at
        && code.symbols[place].lines.last < line
    {
        at = code.symbols[place].parent;
    }
    at
}

/// Warnings in the comments of any other file; and what a script says that it does.
pub(crate) fn in_lines(source: Source<'_>, found: &mut Found) {
    let is_script = source.text.starts_with("#!");
    let Some(marks) = marks_of(source.path).or_else(|| is_script.then_some(&["#"][..])) else { return };
    let comment = |line: &str| {
        let line = line.trim_start();
        let is_block = marks.contains(&"/*");
        let line = if is_block { line.trim_end().trim_end_matches("*/") } else { line };
        marks.iter().any(|mark| line.starts_with(mark)).then(|| plain(line.trim_start_matches(['*', ' '])))
    };
    let lines: Vec<(usize, String)> =
        source.text.lines().enumerate().filter_map(|(at, line)| Some((at + 1, comment(line)?))).collect();
    if is_script {
        script(source, &lines, found);
    }
    for note in warnings(&lines) {
        found.add(note);
    }
}

/// The comment at the top of a script.
fn script(source: Source<'_>, lines: &[(usize, String)], found: &mut Found) {
    let top: Vec<&str> = lines
        .iter()
        .skip(1)
        .enumerate()
        .take_while(|(at, (line, text))| *line == at + 2 && !text.is_empty())
        .map(|(_, (_, text))| text.as_str())
        .collect();
    let says = top.join(" ");
    if !top.is_empty() && !is_boilerplate(&says) {
        let content = format!("`./{}`: {}", source.path, shortened(&says, MOST_CHARACTERS));
        found.add(Note::fact("command", content, Lines { first: 1, last: top.len() + 1 }));
    }
}

/// The warnings of lines of comments: each from its mark to where the comment, its paragraph or the next mark ends.
fn warnings(lines: &[(usize, String)]) -> Vec<Note> {
    let mut notes = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        let (first, text) = &lines[at];
        at += 1;
        let Some((mark, category, confidence)) = mark_of(text) else { continue };
        let (mut said, mut last) = (vec![text.as_str()], *first);
        while let Some((line, more)) = lines.get(at)
            && *line == last + 1
            && !more.is_empty()
            && mark_of(more).is_none()
        {
            said.push(more);
            last = *line;
            at += 1;
        }
        let words = said.iter().flat_map(|line| line.split_whitespace()).count();
        let fewest = if category == "note" { FEWEST_WORDS_OF_A_NOTE } else { FEWEST_WORDS } + 1;
        let text = said.join(" ");
        if words >= fewest && !is_boilerplate(&text) {
            let rest = &text[mark.len()..];
            let named = rest.strip_prefix('(').and_then(|rest| rest.split_once(')'));
            let rest = named.map_or(rest, |(_, rest)| rest).trim_start_matches(['!', ':', '-', ' ']);
            let content = format!("{mark}: {}", shortened(rest, MOST_CHARACTERS));
            let lines = Lines { first: *first, last };
            notes.push(Note::new("gotcha", category, content, lines).sure(confidence));
        }
    }
    notes
}

/// The mark with which a comment begins.
fn mark_of(text: &str) -> Option<(&'static str, &'static str, f64)> {
    let found = MARKS.iter().find(|(mark, ..)| {
        text.strip_prefix(mark).is_some_and(|rest| {
            let is_bare = matches!(*mark, "FIXME" | "HACK" | "XXX") && rest.starts_with([' ', '!']);
            rest.starts_with(':') || (rest.starts_with('(') && rest.contains(')')) || is_bare
        })
    })?;
    Some(*found)
}
