//! Rendering of errors and findings, as text and as JSON.

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use sp_engine::Error;
use sp_engine::hidden::mark;
use sp_formats::output::{ErrorItem, ErrorReport, FindingItem};
use sp_formats::printable::{printable, printable_lines, printable_tabs};
use sp_formats::report::{Excerpt, FindingLocation, LineColumn, LocatedFinding, Report, Severity};
use sp_formats::rules::safety::SE_09;

use super::layout::{columns, tail, truncate_columns};
use super::{ERROR, HINT, MARK, STRONG, severity_style};

/// What a tab is shown as.
const TAB: &str = "    ";
/// Lines are not cut to fewer columns.
const MIN_EXCERPT_COLUMNS: usize = 12;

pub(super) fn error_text(error: &Error, width: Option<u16>) -> String {
    let mut text: String =
        error.reports.iter().map(|report| render_findings(report, width)).collect();
    text += &format!("{ERROR}error:{ERROR:#} {error}\n");
    if let Some(position) = &error.position {
        text += &source_lines(&position.file, &position.location, Level::ERROR, width);
    }
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
            position: error.position.as_ref().map(|position| position.to_item()),
        },
    };
    serde_json::to_string(&report).unwrap_or_else(|_| error_text(error, None)) + "\n"
}

fn finding_items(report: &Report) -> Vec<FindingItem> {
    let item = |located| FindingItem::new(&report.file, located);
    report.located_findings().iter().map(item).collect()
}

/// Renders every finding of a report with its source line.
pub(super) fn render_findings(report: &Report, width: Option<u16>) -> String {
    let snippet = |located| render_snippet(&report.file, located, width);
    report.located_findings().iter().map(snippet).collect()
}

/// Renders a finding with its source line, which is cut to the width of the terminal.
pub(crate) fn render_snippet(file: &str, located: &LocatedFinding, width: Option<u16>) -> String {
    let LocatedFinding { finding, location } = located;
    let level = match finding.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Note => Level::NOTE,
    };
    let style = severity_style(finding.severity);
    let (word, rule) = (finding.severity.as_str(), finding.check.id);
    let message = printable(&finding.message);
    let title = format!("{style}{word}[{rule}]{style:#}{STRONG}: {message}{STRONG:#}\n");
    let source = match location {
        // Hidden text is decoded, so that the reader sees what it says.
        Some(location) if rule == SE_09.id => {
            source_lines(file, &with_marked_hidden_text(location), level, width)
        }
        Some(location) => source_lines(file, location, level, width),
        None => format!(" {MARK}-->{MARK:#} {}\n", printable(file)),
    };
    let indent = location.as_ref().map_or(2, |location| line_digits(location) + 1);
    let indent = " ".repeat(indent);
    let bar = if location.is_some() { format!("{indent}{MARK}|{MARK:#}\n") } else { String::new() };
    let help = finding.help.as_ref().map(|help| {
        format!("{bar}{indent}{MARK}={MARK:#} {STRONG}help{STRONG:#}: {}\n", printable(help))
    });
    format!("{title}{source}{}\n", help.unwrap_or_default())
}

fn with_marked_hidden_text(location: &FindingLocation) -> FindingLocation {
    let Excerpt { before, marked, after } = &location.excerpt;
    let [before, marked, after] = [before, marked, after].map(|part| mark(part).into_owned());
    let excerpt = Excerpt { before, marked, after };
    FindingLocation { excerpt, ..location.clone() }
}

fn line_digits(location: &FindingLocation) -> usize {
    location.start.line.to_string().len()
}

/// Renders a location: file, line and column, then the line with the span marked.
fn source_lines(
    file: &str,
    location: &FindingLocation,
    level: Level<'static>,
    width: Option<u16>,
) -> String {
    let LineColumn { line, column } = location.start;
    let digits = line_digits(location);
    // The line follows its number and ` | `.
    let room = width.map(|width| usize::from(width).saturating_sub(digits + 3));
    let [before, marked, after] = fit_excerpt(&location.excerpt, room);
    let source = format!("{before}{marked}{after}");
    let annotation = AnnotationKind::Primary.span(before.len()..before.len() + marked.len());
    let snippet = Snippet::source(&source).line_start(line).annotation(annotation);
    // The renderer cuts lines itself, but counts wide characters as one column.
    let group = Group::with_title(level.primary_title("")).element(snippet);
    let rendered = Renderer::styled().term_width(10_000).render(&[group]);
    // Leave out the title. The renderer knows only the line as it is shown, so the location is
    // written here.
    let source = rendered.split_once('\n').map_or("", |(_, source)| source);
    let indent = " ".repeat(digits);
    format!("{indent}{MARK}--> {MARK:#}{}:{line}:{column}\n{source}\n", printable(file))
}

/// Escapes an excerpt, and cuts it to `room` columns around the marked part.
fn fit_excerpt(excerpt: &Excerpt, room: Option<usize>) -> [String; 3] {
    let visible = |part: &str| printable_tabs(part).replace('\t', TAB);
    let [before, marked, after] =
        [&excerpt.before, &excerpt.marked, &excerpt.after].map(|part| visible(part));
    let Some(room) = room else { return [before, marked, after] };
    let total = columns(&before) + columns(&marked) + columns(&after);
    if total <= room {
        return [before, marked, after];
    }
    let room = room.max(MIN_EXCERPT_COLUMNS);
    let marked = truncate_columns(&marked, room.saturating_sub(2));
    let rest = room - columns(&marked);
    // What follows the marked part is worth less than what precedes it.
    let after_room = (rest / 3).max(rest.saturating_sub(columns(&before))).min(columns(&after));
    let before_room = rest - after_room;
    let before = if columns(&before) > before_room {
        format!("…{}", tail(&before, before_room.saturating_sub(1)))
    } else {
        before
    };
    [before, marked, truncate_columns(&after, after_room)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use sp_formats::package::rules::PK_01;

    /// Renders a finding at `start`, and returns the line with its location.
    fn location(text: &str, start: usize) -> String {
        let mut report = Report::new("file", text);
        report.error(&PK_01, start..start + 1, "it is wrong").help("change it");
        let rendered = anstream::adapter::strip_str(&render_findings(&report, None)).to_string();
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
    fn carets_are_below_the_marked_text_at_40_80_and_200_columns() {
        let padding = "word ".repeat(40);
        for before in ["", "\t\tname: ", "日本語 e\u{301} ", &padding] {
            for after in ["", " 翻訳", &padding] {
                let text = format!("{before}MARKED{after}\n");
                let mut report = Report::new("file", text);
                report.error(&PK_01, before.len()..before.len() + 6, "it is wrong");
                for width in [40, 80, 200] {
                    let rendered = render_findings(&report, Some(width));
                    let rendered = anstream::adapter::strip_str(&rendered).to_string();
                    for line in rendered.lines() {
                        assert!(columns(line) <= usize::from(width), "{width}: {line:?}");
                    }
                    let start = |what: &str| {
                        let line = rendered.lines().find(|line| line.contains(what)).unwrap();
                        columns(line.split_once(what).unwrap().0)
                    };
                    assert_eq!(start("MARKED"), start("^^^^^^"), "{width}: {rendered}");
                }
            }
        }
    }

    #[test]
    fn snippet_has_title_location_line_and_help() {
        let mut report = Report::new("file", "one\ntwo three\n");
        report.error(&PK_01, 8..13, "it is wrong").help("change it");
        let rendered = anstream::adapter::strip_str(&render_findings(&report, None)).to_string();
        assert_eq!(
            rendered,
            "error[PK-01]: it is wrong\n --> file:2:5\n  |\n2 | two three\n  |     ^^^^^\n  |\n  = help: change it\n\n"
        );
    }
}
