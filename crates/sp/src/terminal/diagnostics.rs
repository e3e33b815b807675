//! Rendering of errors and findings, as text and as JSON.

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use sp_engine::Error;
use sp_engine::hidden::mark;
use sp_formats::output::{ErrorItem, ErrorReport, FindingItem};
use sp_formats::printable::{printable, printable_lines, printable_tabs};
use sp_formats::report::{LineColumn, LocatedFinding, Report, Severity};
use sp_formats::rules::safety::SE_09;

use super::{ERROR, HINT, MARK, STRONG, severity_style};

pub(super) fn error_text(error: &Error) -> String {
    let mut text: String = error.reports.iter().map(render_findings).collect();
    text += &format!("{ERROR}error:{ERROR:#} {error}\n");
    for cause in error.causes() {
        text += &format!("  caused by: {}\n", cause.replace('\n', "\n             "));
    }
    if !error.hints.is_empty() {
        text.push('\n');
    }
    for hint in &error.hints {
        text += &format!("{HINT}hint:{HINT:#} {}\n", printable_lines(hint));
    }
    text
}

pub(super) fn error_json(error: &Error) -> String {
    let report = ErrorReport {
        error: ErrorItem {
            code: error.code().into(),
            exit_code: error.kind().exit_code(),
            message: error.to_string(),
            because: error.causes(),
            hints: error.hints.iter().map(|hint| printable_lines(hint)).collect(),
            findings: error.reports.iter().flat_map(finding_items).collect(),
        },
    };
    serde_json::to_string(&report).unwrap_or_else(|_| error_text(error)) + "\n"
}

fn finding_items(report: &Report) -> Vec<FindingItem> {
    let item = |located| FindingItem::new(&report.file, located);
    report.located_findings().iter().map(item).collect()
}

/// Renders every finding of a report with its source line.
pub(super) fn render_findings(report: &Report) -> String {
    let snippet = |located| render_snippet(&report.file, located);
    report.located_findings().iter().map(snippet).collect()
}

/// Renders a finding with its source line.
pub(crate) fn render_snippet(file: &str, located: &LocatedFinding) -> String {
    let LocatedFinding { finding, location } = located;
    let level = match finding.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Note => Level::NOTE,
    };
    let message = printable(&finding.message).into_owned();
    let file = printable(file).into_owned();
    let Some(location) = location else {
        let style = severity_style(finding.severity);
        let help = finding
            .help
            .as_ref()
            .map(|help| format!("  = help: {}\n", printable(help)))
            .unwrap_or_default();
        let (word, rule) = (finding.severity.as_str(), finding.check.id);
        return format!(
            "{style}{word}[{rule}]{style:#}{STRONG}: {message}{STRONG:#}\n {MARK}-->{MARK:#} {file}\n{help}\n"
        );
    };
    // Hidden text is decoded, so that the reader sees what it says.
    let visible = |part: &str| {
        if finding.check.id == SE_09.id {
            printable_tabs(&mark(part))
        } else {
            printable_tabs(part)
        }
    };
    let [before, marked, after] =
        [&location.excerpt.before, &location.excerpt.marked, &location.excerpt.after]
            .map(|part| visible(part));
    let line = format!("{before}{marked}{after}");
    let annotation = AnnotationKind::Primary.span(before.len()..before.len() + marked.len());
    let title = level.primary_title(message).id(finding.check.id);
    let source = Snippet::source(&line).line_start(location.start.line).annotation(annotation);
    let mut group = Group::with_title(title).element(source);
    if let Some(help) = &finding.help {
        group = group.element(Level::HELP.message(printable(help).into_owned()));
    }
    let rendered = Renderer::styled().render(&[group]);
    // The renderer counts the column in the line as it is shown, which may be truncated and have
    // tabs expanded. Replace its location with the one in the file.
    let (title, source) = rendered.split_once('\n').unwrap_or((&rendered, ""));
    let LineColumn { line, column } = location.start;
    let indent = " ".repeat(line.to_string().len());
    format!("{title}\n{indent}{MARK}--> {MARK:#}{file}:{line}:{column}\n{source}\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use sp_formats::package::rules::PK_01;

    /// Renders a finding at `start`, and returns the line with its location.
    fn location(text: &str, start: usize) -> String {
        let mut report = Report::new("file", text);
        report.error(&PK_01, start..start + 1, "it is wrong").help("change it");
        let rendered = anstream::adapter::strip_str(&render_findings(&report)).to_string();
        let line = rendered.lines().find(|line| line.contains("-->")).unwrap_or_default();
        line.trim().to_owned()
    }

    #[test]
    fn locations_refer_to_the_file_even_if_the_line_is_truncated() {
        // Long lines are truncated.
        assert_eq!(location(&"x".repeat(5000), 0), "--> file:1:1");
        assert_eq!(location(&"x".repeat(5000), 161), "--> file:1:162");
        assert_eq!(location(&"x".repeat(5000), 4321), "--> file:1:4322");
        assert_eq!(location(&format!("a\n{}", "é".repeat(2000)), 2 + 3000), "--> file:2:1501");
        // Some characters are rendered as several.
        assert_eq!(location("\t\tx", 2), "--> file:1:3");
        assert_eq!(location("\u{202e}\u{7}x", 4), "--> file:1:3");
        // A line number with several digits widens the margin.
        assert_eq!(location(&format!("{}x", "\n".repeat(99)), 99), "--> file:100:1");
    }

    #[test]
    fn snippet_has_title_location_line_and_help() {
        let mut report = Report::new("file", "one\ntwo three\n");
        report.error(&PK_01, 8..13, "it is wrong").help("change it");
        let rendered = anstream::adapter::strip_str(&render_findings(&report)).to_string();
        assert_eq!(
            rendered,
            "error[PK-01]: it is wrong\n --> file:2:5\n  |\n2 | two three\n  |     ^^^^^\n  |\n  = help: change it\n\n"
        );
    }
}
