//! SE-09: reports hidden characters and lookalikes as findings.

use std::ops::Range;

use super::mark::{push_code_points, push_decoded};
use super::{HiddenKind, HiddenText, Lookalike, LookalikeContext, find, find_lookalikes};
use sp_formats::json::{JsonKind, JsonValue};
use sp_formats::report::{Report, Severity};
use sp_formats::rules::safety::SE_09;

/// Reports hidden characters and lookalikes in a text.
pub fn check_text(text: &str, report: &mut Report) {
    check_part(text, 0..text.len(), report);
}

/// Like [`check_text`], for a part of the text.
pub fn check_part(text: &str, part: Range<usize>, report: &mut Report) {
    let (text, shift) = (&text[part.clone()], part.start);
    let moved = |range: &Range<usize>| range.start + shift..range.end + shift;
    for hidden in find(text) {
        add_finding(
            severity(&hidden, text),
            moved(&hidden.range),
            format!("hidden {}", describe_hidden(&hidden, text)),
            report,
        );
    }
    for word in find_lookalikes(text) {
        let (message, help) = describe_lookalike(&word, text);
        report.warning(&SE_09, moved(&word.range), message).help(help);
    }
}

/// Reports hidden characters in a file or directory name.
pub fn check_name(name: &str, report: &mut Report) {
    for hidden in find(name) {
        let message = format!("the name contains hidden {}", describe_hidden(&hidden, name));
        report
            .whole_file(severity(&hidden, name), &SE_09, message)
            .help("rename the file or directory");
    }
}

/// Reports hidden characters that only exist after unescaping a value. Those in the source text are
/// reported by [`check_text`].
pub fn check_value(value: &str, span: &Range<usize>, report: &mut Report) {
    for hidden in find(value) {
        let message =
            format!("escape sequences produce hidden {}", describe_hidden(&hidden, value));
        add_finding(severity(&hidden, value), span.clone(), message, report);
    }
}

/// Reports hidden characters produced by escapes in JSON strings.
pub fn check_json(value: JsonValue<'_>, report: &mut Report) {
    match value.kind() {
        JsonKind::Object => value.members().for_each(|(key, value)| {
            check_json(key, report);
            check_json(value, report);
        }),
        JsonKind::Array => value.items().for_each(|item| check_json(item, report)),
        JsonKind::Text if value.raw().contains("\\u") && find(value.raw()).is_empty() => {
            check_value(&value.text().unwrap_or_default(), &value.span(), report);
        }
        _ => {}
    }
}

fn add_finding(severity: Severity, span: Range<usize>, message: String, report: &mut Report) {
    let finding = match severity {
        Severity::Error => report.error(&SE_09, span, message),
        Severity::Warning => report.warning(&SE_09, span, message),
        Severity::Note => report.note(&SE_09, span, message),
    };
    finding.help("remove them: agents read these characters, but people cannot see them");
}

/// A hidden message or reordered text is an error. What may be an accident is a warning, or a note
/// if it only ends a line. A left-to-right mark has no effect between left-to-right letters.
fn severity(hidden: &HiddenText, text: &str) -> Severity {
    let is_line_end = |c: char| matches!(c, '\u{2028}' | '\u{2029}');
    let is_alone = || text[hidden.range.clone()].chars().nth(1).is_none();
    match hidden.kind {
        HiddenKind::Bidi if text[hidden.range.clone()] == *"\u{200E}" => Severity::Warning,
        HiddenKind::Tag | HiddenKind::Bidi => Severity::Error,
        HiddenKind::VariationSelector if !is_alone() => Severity::Error,
        _ if hidden.decoded.is_some() => Severity::Error,
        HiddenKind::Format if text[hidden.range.clone()].chars().all(is_line_end) => Severity::Note,
        _ => Severity::Warning,
    }
}

/// Describes a run: its message, or its code points.
fn describe_hidden(hidden: &HiddenText, text: &str) -> String {
    let mut description = String::from(hidden.kind.name());
    match &hidden.decoded {
        Some(decoded) => {
            description += " that decode to ";
            push_decoded(&mut description, decoded);
        }
        None => {
            description += ": ";
            push_code_points(&mut description, &text[hidden.range.clone()]);
        }
    }
    description
}

fn describe_lookalike(word: &Lookalike, text: &str) -> (String, String) {
    let written = &text[word.range.clone()];
    let mut odd = String::new();
    let others: String = written
        .chars()
        .zip(word.looks_like.chars())
        .filter(|(a, b)| a != b)
        .map(|(a, _)| a)
        .collect();
    push_code_points(&mut odd, &others);
    let what = match word.context {
        LookalikeContext::Host => "the host",
        LookalikeContext::Command => "the word",
    };
    let looks_like = &word.looks_like;
    (
        format!("{what} `{written}` looks like `{looks_like}`, but contains {odd}"),
        format!("use `{looks_like}`, if that is what you mean"),
    )
}
