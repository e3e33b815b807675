//! SE-09 for all formats: invisible characters in text, names and JSON escapes.

use std::path::Path;

use sp_analyze::hidden::{check_json, check_name, check_text, check_value, find};
use sp_formats::json::JsonDocument;
use sp_formats::report::Report;
use sp_formats::skill::SkillMetadata;

use super::Checker;

/// Reports hidden characters in the text of a file.
pub(super) fn check_file_text(checker: &Checker<'_>, path: &Path, text: &str) {
    let mut report = Report::deferred("");
    check_text(text, &mut report);
    if !report.findings.is_empty() {
        checker.collector.add_report(path, &report.with_text(&text.into()));
    }
}

/// Reports hidden characters in a file, if it is text.
pub(super) fn check_file_bytes(checker: &Checker<'_>, path: &Path, bytes: &[u8]) {
    if bytes.len() as u64 <= checker.session.limits.markdown_bytes
        && let Ok(text) = std::str::from_utf8(bytes)
        && !bytes.contains(&0)
    {
        check_file_text(checker, path, text);
    }
}

/// Reports characters that a JSON file hides in escapes.
pub(super) fn check_file_json_escapes(checker: &Checker<'_>, path: &Path, bytes: &[u8]) {
    let text = std::str::from_utf8(bytes).unwrap_or_default();
    if !text.contains("\\u") {
        return;
    }
    // Invalid JSON is reported by the format.
    if let Ok(json) = JsonDocument::parse(text, &checker.session.limits) {
        let mut report = Report::deferred("");
        check_json(json.root(), &mut report);
        checker.collector.add_report(path, &report.with_text(json.text()));
    }
}

/// Reports hidden characters in a file name.
pub(super) fn check_file_name(checker: &Checker<'_>, path: &Path, name: &str) {
    let mut report = Report::deferred("");
    check_name(name, &mut report);
    checker.collector.add_report(path, &report);
}

/// Reports characters that a description hides in YAML escapes: a reader of the file sees the
/// escape, an agent reads the character.
pub(super) fn check_description_escapes(skill: &SkillMetadata, text: &str, report: &mut Report) {
    let span = &skill.description_span;
    let written = text.get(span.clone()).unwrap_or_default();
    if let Some(description) = &skill.description
        && written.contains('\\')
        && find(written).is_empty()
    {
        check_value(description, span, report);
    }
}
