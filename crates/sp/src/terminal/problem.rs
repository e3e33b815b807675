//! Errors and findings as text and as JSON.

use std::ops::Range;

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use sp_engine::Error;
use sp_formats::output::{ErrorItem, ErrorReport, FindingItem};
use sp_formats::printable::{printable, printable_lines};
use sp_formats::report::{Finding, Report, Severity};

use super::{ERROR, HINT, style_of};

pub(super) fn as_text(error: &Error) -> String {
    let mut text: String = error.reports.iter().map(findings).collect();
    text += &format!("{ERROR}error:{ERROR:#} {error}\n");
    for cause in error.causes() {
        text += &format!("  because: {}\n", cause.replace('\n', "\n           "));
    }
    if !error.hints.is_empty() {
        text.push('\n');
    }
    for hint in &error.hints {
        text += &format!("{HINT}hint:{HINT:#} {}\n", printable_lines(hint));
    }
    text
}

pub(super) fn as_json(error: &Error) -> String {
    let report = ErrorReport {
        error: ErrorItem {
            exit_code: error.kind.exit_code(),
            message: error.to_string(),
            because: error.causes(),
            hints: error.hints.clone(),
            findings: error.reports.iter().flat_map(finding_items).collect(),
        },
    };
    serde_json::to_string(&report).unwrap_or_else(|_| as_text(error)) + "\n"
}

fn finding_items(report: &Report) -> Vec<FindingItem> {
    let item = |finding: &Finding| {
        let (line, column) = report.position(finding.span.as_ref().map_or(0, |span| span.start));
        FindingItem {
            rule: finding.rule.into(),
            severity: finding.severity.word().into(),
            file: report.file.clone(),
            line,
            column,
            message: finding.message.clone(),
            help: finding.help.clone(),
        }
    };
    report.findings.iter().map(item).collect()
}

/// Every finding of a report with the line it is about.
pub(super) fn findings(report: &Report) -> String {
    report.findings.iter().map(|finding| snippet(report, finding)).collect()
}

fn snippet(report: &Report, finding: &Finding) -> String {
    let level = match finding.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Note => Level::NOTE,
    };
    let message = printable(&finding.message).into_owned();
    let file = printable(&report.file).into_owned();
    let Some(span) = finding.span.clone().filter(|_| !report.text.is_empty()) else {
        let style = style_of(finding.severity);
        let help = finding.help.as_ref().map(|help| format!("  help: {}\n", printable(help))).unwrap_or_default();
        return format!(
            "{style}{}[{}]:{style:#} {message}\n  --> {file}\n{help}",
            finding.severity.word(),
            finding.rule
        );
    };
    let shown = Excerpt::of(&report.text, &span);
    let annotation = AnnotationKind::Primary.span(shown.span.clone());
    let title = level.primary_title(message).id(finding.rule);
    let source = Snippet::source(&shown.text).line_start(shown.line).path(file).annotation(annotation);
    let mut group = Group::with_title(title).element(source);
    if let Some(help) = &finding.help {
        group = group.element(Level::HELP.message(printable(help).into_owned()));
    }
    format!("{}\n\n", Renderer::styled().render(&[group]))
}

/// The line that a finding is about, with nothing hidden in it.
struct Excerpt {
    text: String,
    /// Where the finding stands in `text`.
    span: Range<usize>,
    /// The number of the line, from 1.
    line: usize,
}

impl Excerpt {
    fn of(text: &str, span: &Range<usize>) -> Self {
        let start = floor(text, span.start);
        let line_start = text[..start].rfind('\n').map_or(0, |at| at + 1);
        let line_end = text[start..].find('\n').map_or(text.len(), |at| start + at);
        let end = floor(text, span.end).clamp(start, line_end);
        let before = printable_tabs(&text[line_start..start]);
        let marked = printable_tabs(&text[start..end]);
        let after = printable_tabs(text[end..line_end].trim_end_matches('\r'));
        Self {
            span: before.len()..before.len() + marked.len(),
            text: format!("{before}{marked}{after}"),
            line: text[..line_start].matches('\n').count() + 1,
        }
    }
}

/// As [`printable`], but a tab stays, since it is no secret in a source line.
fn printable_tabs(text: &str) -> String {
    text.split('\t').map(printable).collect::<Vec<_>>().join("\t")
}

/// The nearest character boundary at or before `at`.
fn floor(text: &str, at: usize) -> usize {
    let at = at.min(text.len());
    (0..=at).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0)
}
