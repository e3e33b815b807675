//! What is wrong with a file, all of it at once, each problem with its rule and its place.

mod annotations;
mod location;
mod sarif;

use std::borrow::Cow;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

pub use annotations::github_annotation;
pub(crate) use location::LineIndex;
pub use location::{Excerpt, FindingLocation, LineColumn, LocatedFinding};
pub use sarif::{SarifLog, sarif_log};

use sp_tree::Digest;

use crate::checks::CheckRule;
use crate::printable::mask_secrets;

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Worth knowing.
    Note,
    /// Works, but probably not as its author thinks.
    Warning,
    /// Cannot be used.
    Error,
}

impl Severity {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// One problem.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The rule that was broken.
    pub check: &'static CheckRule,
    /// How bad it is.
    pub severity: Severity,
    /// Which bytes of the file it is about; none if it is about the file as a whole.
    pub span: Option<Range<usize>>,
    /// What is wrong: a fragment without a period.
    pub message: String,
    /// What to do.
    pub help: Option<String>,
    /// What mends it without a thought, if anything does: edits that do not overlap.
    pub fix: Vec<TextEdit>,
}

/// A file that was looked at, with what was found in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileFindings {
    /// The file, as the user would name it.
    pub file: String,
    /// Where it is.
    pub path: PathBuf,
    /// What was found, in the order of the places.
    pub findings: Vec<LocatedFinding>,
    /// Of the text in which it was found, if there is a fix: see [`text_digest`].
    pub digest: Option<Digest>,
}

impl FileFindings {
    /// Puts the findings into the order of their places.
    pub fn sort(&mut self) {
        self.findings.sort_by(location::compare_findings);
    }
}

/// The digest of a text as reports hold it, by which a fix knows the text that it was made for.
pub fn text_digest(text: &str) -> Digest {
    Digest::of(mask_secrets(text).as_bytes())
}

/// New text in the place of some bytes of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextEdit {
    /// The bytes that go.
    pub span: Range<usize>,
    /// The text that comes.
    pub text: String,
}

/// A file's text and everything that was found in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// The file, as the user would name it.
    pub file: String,
    /// The file's text.
    pub text: Arc<str>,
    /// The problems, in the order in which they were found; at most [`MOST_FINDINGS`] of them.
    pub findings: Vec<Finding>,
    /// Those that were too many, and the worst of them.
    overflow_count: usize,
    worst_overflow: Option<Severity>,
    last_overflow: Option<Box<Finding>>,
}

/// More problems than this in one file say nothing new, and cost memory and time.
pub const MAX_FINDINGS: usize = 500;

impl Report {
    /// An empty report on a file.
    pub fn new(file: impl Into<String>, text: impl Into<Arc<str>>) -> Self {
        let text: Arc<str> = text.into();
        // The text is there to be shown; whoever reads the file has it from elsewhere.
        let text = match mask_secrets(&text) {
            Cow::Borrowed(_) => text,
            Cow::Owned(masked) => {
                // Three copies of a large file would be one too many.
                drop(text);
                masked.into()
            }
        };
        Self {
            file: file.into(),
            text,
            findings: Vec::new(),
            overflow_count: 0,
            worst_overflow: None,
            last_overflow: None,
        }
    }

    /// An empty report on a file whose text is given when all was found: see [`Report::about`].
    pub fn deferred(file: impl Into<String>) -> Self {
        Self::new(file, "")
    }

    /// The report with the text that it is about, if anything was found at some place of it.
    pub fn with_text(self, text: &Arc<str>) -> Self {
        if self.findings.iter().all(|finding| finding.span.is_none()) {
            return self;
        }
        Self { text: Self::new("", Arc::clone(text)).text, ..self }
    }

    /// The same findings as a report on another text, each at the place that `locate` returns for it. Fixes are
    /// dropped, since they are edits of the text that the report was about.
    pub fn relocated(
        mut self,
        file: impl Into<String>,
        text: &Arc<str>,
        locate: impl Fn(&Range<usize>) -> Option<Range<usize>>,
    ) -> Self {
        for finding in self.findings.iter_mut().chain(self.last_overflow.as_deref_mut()) {
            finding.span = finding.span.as_ref().and_then(&locate);
            finding.fix.clear();
        }
        Self { file: file.into(), text: Self::new("", Arc::clone(text)).text, ..self }
    }

    /// Adds an error.
    pub fn error(
        &mut self,
        check: &'static CheckRule,
        span: Range<usize>,
        message: impl Into<String>,
    ) -> &mut Finding {
        self.add(Severity::Error, check, Some(span), message.into())
    }

    /// Adds a warning.
    pub fn warning(
        &mut self,
        check: &'static CheckRule,
        span: Range<usize>,
        message: impl Into<String>,
    ) -> &mut Finding {
        self.add(Severity::Warning, check, Some(span), message.into())
    }

    /// Adds a note.
    pub fn note(
        &mut self,
        check: &'static CheckRule,
        span: Range<usize>,
        message: impl Into<String>,
    ) -> &mut Finding {
        self.add(Severity::Note, check, Some(span), message.into())
    }

    /// Adds a finding about the file as a whole.
    pub fn whole_file(
        &mut self,
        severity: Severity,
        check: &'static CheckRule,
        message: impl Into<String>,
    ) -> &mut Finding {
        self.add(severity, check, None, message.into())
    }

    fn add(
        &mut self,
        severity: Severity,
        check: &'static CheckRule,
        span: Option<Range<usize>>,
        mut message: String,
    ) -> &mut Finding {
        let at = self.findings.len();
        if let Cow::Owned(masked) = mask_secrets(&message) {
            message = masked;
        }
        let finding = Finding { check, severity, span, message, help: None, fix: Vec::new() };
        if at < MAX_FINDINGS {
            self.findings.push(finding);
            return &mut self.findings[at];
        }
        self.overflow_count += 1;
        self.worst_overflow = self.worst_overflow.max(Some(severity));
        self.last_overflow.insert(Box::new(finding))
    }

    /// What stands for the problems that are not listed.
    fn overflow_finding(&self) -> Option<Finding> {
        let (check, severity) = (self.findings.last()?.check, self.worst_overflow?);
        let message = format!("{} more problems are not shown", self.overflow_count);
        let help = Some("mend those that are".into());
        Some(Finding { check, severity, span: None, message, help, fix: Vec::new() })
    }

    /// Puts the findings into the order of their places.
    pub fn sort(&mut self) {
        self.findings.sort_by_key(|finding| finding.span.as_ref().map_or(0, |span| span.start));
    }

    /// Whether nothing worse than a warning was found.
    pub fn is_usable(&self) -> bool {
        let listed = self.findings.iter().map(|finding| finding.severity);
        listed.chain(self.worst_overflow).all(|severity| severity < Severity::Error)
    }

    /// `file:line:column` of a byte.
    pub fn format_position(&self, offset: usize) -> String {
        let position = location::LineMap::new(&self.text).position(offset);
        format!("{}:{}:{}", self.file, position.line, position.column)
    }

    /// `file:line:column` of a finding, or the file alone.
    pub fn format_location(&self, finding: &Finding) -> String {
        match &finding.span {
            Some(span) => self.format_position(span.start),
            None => self.file.clone(),
        }
    }

    /// Where some bytes of the text are.
    pub fn locate(&self, span: &Range<usize>) -> FindingLocation {
        location::LineMap::new(&self.text).locate(span)
    }

    /// The lines of the text, for whoever asks for the lines of many bytes.
    pub(crate) fn line_index(&self) -> LineIndex {
        LineIndex::new(Arc::clone(&self.text))
    }

    /// The findings with their places, so that the text is needed no longer.
    pub fn located_findings(&self) -> Vec<LocatedFinding> {
        location::locate_findings(self)
    }
}

impl Finding {
    /// Adds what to do about it.
    pub fn help(&mut self, help: impl Into<String>) -> &mut Self {
        let help = help.into();
        self.help = Some(match mask_secrets(&help) {
            Cow::Owned(masked) => masked,
            Cow::Borrowed(_) => help,
        });
        self
    }

    /// Adds an edit that mends it.
    pub fn fix(&mut self, span: Range<usize>, text: impl Into<String>) -> &mut Self {
        self.fix.push(TextEdit { span, text: text.into() });
        self
    }
}

/// The text with every edit done; an edit that overlaps one before it is left for the next time.
pub fn apply_edits(text: &str, mut edits: Vec<TextEdit>) -> String {
    edits.sort_by_key(|edit| (edit.span.start, edit.span.end));
    let mut new = String::with_capacity(text.len() + 64);
    let mut done = 0;
    for edit in edits {
        if edit.span.start >= done && text.get(edit.span.clone()).is_some() {
            new += &text[done..edit.span.start];
            new += &edit.text;
            done = edit.span.end;
        }
    }
    new + &text[done..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_are_done_in_order_and_never_overlap() {
        let edit = |span, text: &str| TextEdit { span, text: text.into() };
        assert_eq!(
            apply_edits("abcdef", vec![edit(4..5, "X"), edit(0..1, ""), edit(2..2, "-")]),
            "b-cdXf"
        );
        assert_eq!(apply_edits("abc", vec![edit(0..2, "x"), edit(1..3, "y")]), "xc");
        assert_eq!(apply_edits("é", vec![edit(1..2, "x")]), "é");
    }
}
