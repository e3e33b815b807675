//! Diagnostics: every problem of a file at once, each with its rule, severity and span.
//!
//! A check adds [`Finding`]s to a [`Report`] with [`Report::error`], [`Report::warning`] and
//! [`Report::note`] and continues, so that one run reports everything. A finding may have fixes,
//! which are [`TextEdit`]s. [`Report::located_findings`] turns spans into lines and columns; after
//! that the text is no longer needed. Secrets in URLs are masked in the text of a report, because
//! it is printed.
//!
//! The submodules render findings for other programs: [`sarif_log`] and [`github_annotation`].
//! Rendering for a terminal is part of the `sp` crate.
//!
//! ```
//! use sp_formats::Report;
//! use sp_formats::pack::rules::SP_11;
//! use sp_formats::report::apply_edits;
//!
//! let mut report = Report::new("packs/team.yaml", "name: team\nincude: []\n");
//! report
//!     .error(&SP_11, 11..17, "unknown key `incude`")
//!     .help("did you mean `include`?")
//!     .fix(11..17, "include");
//! assert!(!report.is_usable());
//!
//! let finding = &report.findings[0];
//! assert_eq!(report.format_location(finding), "packs/team.yaml:2:1");
//! assert_eq!(apply_edits(&report.text, finding.fix.clone()), "name: team\ninclude: []\n");
//! ```

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

use crate::printable::mask_secrets;
use crate::rules::CheckRule;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Worth knowing.
    Note,
    /// Valid, but probably not what the author intended.
    Warning,
    /// Invalid.
    Error,
}

impl Severity {
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
    /// The violated rule.
    pub check: &'static CheckRule,
    pub severity: Severity,
    /// The bytes that the finding is about; `None` for the whole file.
    pub span: Option<Range<usize>>,
    /// What is wrong, as a fragment without a period.
    pub message: String,
    /// How to fix it.
    pub help: Option<String>,
    /// Edits that fix it automatically. They do not overlap.
    pub fix: Vec<TextEdit>,
    /// What an audit knows in addition.
    pub audit: Option<Box<AuditDetails>>,
}

/// What an audit knows about a finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditDetails {
    /// Identifies the finding as long as the file contains the same text.
    pub id: String,
    pub class: &'static str,
    pub risk: &'static str,
    pub confidence: &'static str,
    /// The text after decoding, unescaped.
    pub decoded: Option<String>,
}

/// The findings of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileFindings {
    /// The file as the user would name it.
    pub file: String,
    pub path: PathBuf,
    /// Sorted by location.
    pub findings: Vec<LocatedFinding>,
    /// The digest of the text that fixes apply to; only if there is a fix. See [`text_digest`].
    pub digest: Option<Digest>,
}

impl FileFindings {
    /// Sorts the findings by location.
    pub fn sort(&mut self) {
        self.findings.sort_by(location::compare_findings);
    }
}

/// The digest of a text with its secrets masked, by which a fix recognizes the text that it was
/// made for.
pub fn text_digest(text: &str) -> Digest {
    Digest::of(mask_secrets(text).as_bytes())
}

/// A replacement of some bytes of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextEdit {
    /// The bytes to replace.
    pub span: Range<usize>,
    pub text: String,
}

/// The text of a file and its findings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// The file as the user would name it.
    pub file: String,
    pub text: Arc<str>,
    /// In the order in which they were found; at most [`MAX_FINDINGS`].
    pub findings: Vec<Finding>,
    /// Findings beyond the maximum, and the worst of them.
    overflow_count: usize,
    worst_overflow: Option<Severity>,
    last_overflow: Option<Box<Finding>>,
}

/// The maximum number of findings per file. More are not useful, and cost memory and time.
pub const MAX_FINDINGS: usize = 500;

impl Report {
    pub fn new(file: impl Into<String>, text: impl Into<Arc<str>>) -> Self {
        let text: Arc<str> = text.into();
        // The text is only printed, so secrets in it are masked.
        let text = match mask_secrets(&text) {
            Cow::Borrowed(_) => text,
            Cow::Owned(masked) => {
                // Frees the original before `into` copies: files may be large.
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

    /// Creates a report whose text is set when all checks have run: see [`Report::with_text`].
    pub fn deferred(file: impl Into<String>) -> Self {
        Self::new(file, "")
    }

    /// Sets the text, if any finding has a span.
    pub fn with_text(self, text: &Arc<str>) -> Self {
        if self.findings.iter().all(|finding| finding.span.is_none()) {
            return self;
        }
        Self { text: Self::new("", Arc::clone(text)).text, ..self }
    }

    /// Converts this to a report on another text. `locate` maps spans. Fixes are dropped, because
    /// they are edits of the original text.
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

    pub fn error(
        &mut self,
        check: &'static CheckRule,
        span: Range<usize>,
        message: impl Into<String>,
    ) -> &mut Finding {
        self.add(Severity::Error, check, Some(span), message.into())
    }

    pub fn warning(
        &mut self,
        check: &'static CheckRule,
        span: Range<usize>,
        message: impl Into<String>,
    ) -> &mut Finding {
        self.add(Severity::Warning, check, Some(span), message.into())
    }

    pub fn note(
        &mut self,
        check: &'static CheckRule,
        span: Range<usize>,
        message: impl Into<String>,
    ) -> &mut Finding {
        self.add(Severity::Note, check, Some(span), message.into())
    }

    /// Adds a finding about the whole file.
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
        let index = self.findings.len();
        if let Cow::Owned(masked) = mask_secrets(&message) {
            message = masked;
        }
        let finding =
            Finding { check, severity, span, message, help: None, fix: Vec::new(), audit: None };
        if index < MAX_FINDINGS {
            self.findings.push(finding);
            return &mut self.findings[index];
        }
        self.overflow_count += 1;
        self.worst_overflow = self.worst_overflow.max(Some(severity));
        self.last_overflow.insert(Box::new(finding))
    }

    /// A finding that stands for those beyond the maximum.
    fn overflow_finding(&self) -> Option<Finding> {
        let (check, severity) = (self.findings.last()?.check, self.worst_overflow?);
        let message = format!("{} more problems are not shown", self.overflow_count);
        let help = Some("fix the reported problems first".into());
        Some(Finding { check, severity, span: None, message, help, fix: Vec::new(), audit: None })
    }

    /// Sorts the findings by location.
    pub fn sort(&mut self) {
        self.findings.sort_by_key(|finding| finding.span.as_ref().map_or(0, |span| span.start));
    }

    /// Whether there is no error.
    pub fn is_usable(&self) -> bool {
        let listed = self.findings.iter().map(|finding| finding.severity);
        listed.chain(self.worst_overflow).all(|severity| severity < Severity::Error)
    }

    /// Formats the position of a byte as `file:line:column`.
    pub fn format_position(&self, offset: usize) -> String {
        let position = location::LineMap::new(&self.text).position(offset);
        format!("{}:{}:{}", self.file, position.line, position.column)
    }

    /// Formats the location of a finding as `file:line:column`, or as the file alone.
    pub fn format_location(&self, finding: &Finding) -> String {
        match &finding.span {
            Some(span) => self.format_position(span.start),
            None => self.file.clone(),
        }
    }

    pub fn locate(&self, span: &Range<usize>) -> FindingLocation {
        location::LineMap::new(&self.text).locate(span)
    }

    /// An index for looking up the lines of many bytes.
    pub(crate) fn line_index(&self) -> LineIndex {
        LineIndex::new(Arc::clone(&self.text))
    }

    /// The findings with their locations.
    pub fn located_findings(&self) -> Vec<LocatedFinding> {
        location::locate_findings(self)
    }
}

impl Finding {
    /// Sets how to fix it.
    pub fn help(&mut self, help: impl Into<String>) -> &mut Self {
        let help = help.into();
        self.help = Some(match mask_secrets(&help) {
            Cow::Owned(masked) => masked,
            Cow::Borrowed(_) => help,
        });
        self
    }

    /// Adds an edit that fixes it.
    pub fn fix(&mut self, span: Range<usize>, text: impl Into<String>) -> &mut Self {
        self.fix.push(TextEdit { span, text: text.into() });
        self
    }
}

/// Applies the edits. An edit that overlaps an earlier one is skipped; the next run applies it.
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
    fn overlapping_edits_are_skipped() {
        let edit = |span, text: &str| TextEdit { span, text: text.into() };
        assert_eq!(
            apply_edits("abcdef", vec![edit(4..5, "X"), edit(0..1, ""), edit(2..2, "-")]),
            "b-cdXf"
        );
        assert_eq!(apply_edits("abc", vec![edit(0..2, "x"), edit(1..3, "y")]), "xc");
        assert_eq!(apply_edits("é", vec![edit(1..2, "x")]), "é");
    }
}
