//! What is wrong with a file, all of it at once, each problem with its rule and its place.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use crate::printable::masked;

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
    pub fn word(self) -> &'static str {
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
    /// The id of the rule that was broken, such as `SP-17`.
    pub rule: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// Which bytes of the file it is about.
    pub span: Option<Range<usize>>,
    /// What is wrong: a fragment without a period.
    pub message: String,
    /// What to do.
    pub help: Option<String>,
}

/// A file's text and everything that was found in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// The file, as the user would name it.
    pub file: String,
    /// The file's text.
    pub text: Arc<str>,
    /// The problems, in the order in which they were found.
    pub findings: Vec<Finding>,
}

impl Report {
    /// An empty report on a file.
    pub fn new(file: impl Into<String>, text: impl Into<Arc<str>>) -> Self {
        let text: Arc<str> = text.into();
        // The text is there to be shown; whoever reads the file has it from elsewhere.
        let text = match masked(&text) {
            Cow::Borrowed(_) => text,
            Cow::Owned(masked) => masked.into(),
        };
        Self { file: file.into(), text, findings: Vec::new() }
    }

    /// Adds an error.
    pub fn error(&mut self, rule: &'static str, span: Range<usize>, message: impl Into<String>) -> &mut Finding {
        self.add(Severity::Error, rule, Some(span), message.into())
    }

    /// Adds a warning.
    pub fn warning(&mut self, rule: &'static str, span: Range<usize>, message: impl Into<String>) -> &mut Finding {
        self.add(Severity::Warning, rule, Some(span), message.into())
    }

    fn add(
        &mut self,
        severity: Severity,
        rule: &'static str,
        span: Option<Range<usize>>,
        mut message: String,
    ) -> &mut Finding {
        let at = self.findings.len();
        if let Cow::Owned(masked) = masked(&message) {
            message = masked;
        }
        self.findings.push(Finding { rule, severity, span, message, help: None });
        &mut self.findings[at]
    }

    /// Puts the findings into the order of their places.
    pub fn sort(&mut self) {
        self.findings.sort_by_key(|finding| finding.span.as_ref().map_or(0, |span| span.start));
    }

    /// Whether nothing worse than a warning was found.
    pub fn is_usable(&self) -> bool {
        self.findings.iter().all(|finding| finding.severity < Severity::Error)
    }

    /// The line and column of a byte, both from 1; a column counts characters.
    pub fn position(&self, offset: usize) -> (usize, usize) {
        let before = &self.text.as_bytes()[..offset.min(self.text.len())];
        let line_start = before.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        let line = before.iter().filter(|&&byte| byte == b'\n').count() + 1;
        let column = String::from_utf8_lossy(&before[line_start..]).chars().count() + 1;
        (line, column)
    }

    /// `file:line:column` of a finding, or the file alone.
    pub fn place(&self, finding: &Finding) -> String {
        match &finding.span {
            Some(span) => self.place_of(span.start),
            None => self.file.clone(),
        }
    }

    /// `file:line:column` of a byte.
    pub fn place_of(&self, offset: usize) -> String {
        let (line, column) = self.position(offset);
        format!("{}:{line}:{column}", self.file)
    }
}

impl Finding {
    /// Adds what to do about it.
    pub fn help(&mut self, help: impl Into<String>) -> &mut Self {
        self.help = Some(help.into());
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_characters_from_one() {
        let report = Report::new("f", "é: 1\r\n日本: x\n");
        assert_eq!(report.position(0), (1, 1));
        assert_eq!(report.position("é: ".len()), (1, 4));
        assert_eq!(report.position("é: 1\r\n日本: ".len()), (2, 5));
        assert_eq!(report.position(1000), (3, 1));
    }
}
