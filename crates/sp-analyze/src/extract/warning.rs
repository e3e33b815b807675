//! Warnings in comments: `FIXME`, `SAFETY`, `NOTE` and the like.
//!
//! Comments of parsed languages come from the syntax tree ([`add_code_warnings`]). In other files
//! they are recognized line by line from their prefix ([`add_line_warnings`]).

use crate::extract::comment::{
    CodeComment, is_boilerplate, strip_comment_markers, strip_line_markers,
};
use crate::extract::file_extract::{ExtractedNote, FileExtract};
use crate::extract::line_range::LineRange;
use crate::extract::parsed_code::ParsedCode;
use crate::extract::source_text::SourceText;
use crate::extract::text::truncate_text;

/// A word that starts a warning.
struct WarningMarker {
    word: &'static str,
    category: &'static str,
    confidence: f64,
}

const WARNING_MARKERS: &[WarningMarker] = &[
    marker("FIXME", "defect", 0.9),
    marker("BUG", "defect", 0.9),
    marker("HACK", "workaround", 0.9),
    marker("WORKAROUND", "workaround", 0.9),
    marker("XXX", "defect", 0.8),
    marker("WARNING", "warning", 0.9),
    marker("WARN", "warning", 0.8),
    marker("CAUTION", "warning", 0.9),
    marker("DANGER", "warning", 0.9),
    marker("GOTCHA", "warning", 1.0),
    marker("PITFALL", "warning", 1.0),
    marker("IMPORTANT", "warning", 0.9),
    marker("INVARIANT", "invariant", 0.9),
    marker("SAFETY", "invariant", 0.9),
    marker("NOTE", "note", 0.6),
    marker("NB", "note", 0.6),
];

const fn marker(word: &'static str, category: &'static str, confidence: f64) -> WarningMarker {
    WarningMarker { word, category, confidence }
}

const MAX_WARNING_LEN: usize = 900;
/// Shorter warnings carry no information.
const MIN_WARNING_WORDS: usize = 3;
/// A plain note has to be longer than a warning.
const MIN_NOTE_WORDS: usize = 8;

/// Comment prefixes by file extension, for languages without a grammar.
const COMMENT_STYLES: &[(&[&str], &[&str])] = &[
    (
        &[
            "sh", "bash", "zsh", "fish", "yml", "yaml", "toml", "rb", "pl", "r", "ex", "exs",
            "nix", "tf", "cfg", "conf", "ps1", "cmake", "mk", "jl", "nim", "bzl",
        ],
        &["#"],
    ),
    (
        &[
            "c", "h", "cc", "cpp", "cxx", "hpp", "hh", "cs", "kt", "kts", "swift", "scala", "zig",
            "dart", "m", "mm", "proto", "gradle", "groovy", "php", "scss", "less", "vue", "svelte",
            "sol", "glsl",
        ],
        &["//", "/*", "*"],
    ),
    (&["sql", "lua", "hs", "elm", "ada", "adb"], &["--"]),
    (&["ini", "el", "clj", "lisp", "asm"], &[";"]),
];
/// Files with `#` comments that have no extension.
const HASH_COMMENT_FILES: &[&str] = &[
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

/// Whether a file may have comments that [`add_line_warnings`] recognizes.
pub(crate) fn has_comments(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    // Only the first line identifies a script, so files without an extension are read near the
    // root.
    comment_prefixes(path).is_some()
        || (!name.contains('.') && path.matches('/').count() <= 2)
        || path == ".ci/run"
}

fn comment_prefixes(path: &str) -> Option<&'static [&'static str]> {
    let name = path.rsplit('/').next().unwrap_or(path);
    if HASH_COMMENT_FILES.contains(&name) {
        return Some(&["#"]);
    }
    let (_, ending) = name.rsplit_once('.')?;
    COMMENT_STYLES.iter().find(|(endings, _)| endings.contains(&ending)).map(|(_, marks)| *marks)
}

/// Adds the warnings in the comments of a parsed source file.
pub(crate) fn add_code_warnings(
    comments: &[CodeComment],
    code: &ParsedCode,
    found: &mut FileExtract,
) {
    let mut lines: Vec<(usize, String)> = Vec::new();
    for comment in comments {
        let numbered = (comment.line..).zip(strip_line_markers(&comment.text));
        lines.extend(numbered.map(|(number, line)| (number, line.trim().to_owned())));
    }
    for mut note in find_warnings(&lines) {
        note.enclosing_symbol = innermost_symbol(code, note.lines.first);
        found.add_note(note);
    }
}

/// Returns the innermost symbol around a line. Symbols are sorted by their first line, so it is the
/// last one that starts before the line, or one of its parents.
fn innermost_symbol(code: &ParsedCode, line: usize) -> Option<usize> {
    let begun = code.symbols.partition_point(|symbol| symbol.lines.first <= line);
    let mut candidate = begun.checked_sub(1);
    while let Some(index) = candidate
        && code.symbols[index].lines.last < line
    {
        candidate = code.symbols[index].parent;
    }
    candidate
}

/// Adds the warnings in the comments of a file without a grammar, and the summary of a script.
pub(crate) fn add_line_warnings(source: SourceText<'_>, found: &mut FileExtract) {
    let is_script = source.text.starts_with("#!");
    let Some(marks) = comment_prefixes(source.path).or_else(|| is_script.then_some(&["#"][..]))
    else {
        return;
    };
    let comment = |line: &str| {
        let line = line.trim_start();
        let is_block = marks.contains(&"/*");
        let line = if is_block { line.trim_end().trim_end_matches("*/") } else { line };
        marks
            .iter()
            .any(|mark| line.starts_with(mark))
            .then(|| strip_comment_markers(line.trim_start_matches(['*', ' '])))
    };
    let lines: Vec<(usize, String)> = source
        .text
        .lines()
        .enumerate()
        .filter_map(|(at, line)| Some((at + 1, comment(line)?)))
        .collect();
    if is_script {
        add_script_summary(source, &lines, found);
    }
    for note in find_warnings(&lines) {
        found.add_note(note);
    }
}

/// Adds the comment at the top of a script.
fn add_script_summary(source: SourceText<'_>, lines: &[(usize, String)], found: &mut FileExtract) {
    let top: Vec<&str> = lines
        .iter()
        .skip(1)
        .enumerate()
        .take_while(|(at, (line, text))| *line == at + 2 && !text.is_empty())
        .map(|(_, (_, text))| text.as_str())
        .collect();
    let says = top.join(" ");
    if !top.is_empty() && !is_boilerplate(&says) {
        let content = format!("`./{}`: {}", source.path, truncate_text(&says, MAX_WARNING_LEN));
        found.add_note(ExtractedNote::fact(
            "command",
            content,
            LineRange { first: 1, last: top.len() + 1 },
        ));
    }
}

/// Finds the warnings in comment lines. A warning ends with its comment, its paragraph, or at the
/// next marker.
fn find_warnings(lines: &[(usize, String)]) -> Vec<ExtractedNote> {
    let mut notes = Vec::new();
    let mut index = 0;
    while index < lines.len() {
        let (first, text) = &lines[index];
        index += 1;
        let Some(marker) = warning_marker(text) else { continue };
        let (mut texts, mut last) = (vec![text.as_str()], *first);
        while let Some((line, more)) = lines.get(index)
            && *line == last + 1
            && !more.is_empty()
            && warning_marker(more).is_none()
        {
            texts.push(more);
            last = *line;
            index += 1;
        }
        notes.extend(warning_note(marker, &texts.join(" "), LineRange { first: *first, last }));
    }
    notes
}

/// The note for a warning; `None` if it is too short or boilerplate.
fn warning_note(marker: &WarningMarker, text: &str, lines: LineRange) -> Option<ExtractedNote> {
    // The marker is a word too.
    let min_words = if marker.category == "note" { MIN_NOTE_WORDS } else { MIN_WARNING_WORDS } + 1;
    if text.split_whitespace().count() < min_words || is_boilerplate(text) {
        return None;
    }
    let rest = &text[marker.word.len()..];
    // `FIXME(name): …`
    let assigned = rest.strip_prefix('(').and_then(|rest| rest.split_once(')'));
    let rest = assigned.map_or(rest, |(_, rest)| rest).trim_start_matches(['!', ':', '-', ' ']);
    let content = format!("{}: {}", marker.word, truncate_text(rest, MAX_WARNING_LEN));
    let note = ExtractedNote::new("gotcha", marker.category, content, lines);
    Some(note.with_confidence(marker.confidence))
}

/// The marker that a comment starts with.
fn warning_marker(text: &str) -> Option<&'static WarningMarker> {
    WARNING_MARKERS.iter().find(|marker| {
        text.strip_prefix(marker.word).is_some_and(|rest| {
            let is_bare =
                matches!(marker.word, "FIXME" | "HACK" | "XXX") && rest.starts_with([' ', '!']);
            rest.starts_with(':') || (rest.starts_with('(') && rest.contains(')')) || is_bare
        })
    })
}
