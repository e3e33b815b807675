//! Collects what the scanners find in one file, in bounded memory.

use std::collections::BTreeMap;
use std::ops::Range;

use super::capability::{AuditPosition, Capability, CapabilityKind};
use super::finding::{AuditClass, AuditFinding, Confidence, Detection, Risk, finding_id};
use super::{MAX_FINDINGS_PER_CLASS, MAX_POSITIONS};
use crate::hidden::PositionCounter;
use sp_formats::text::truncate;

/// Longer capability values are truncated.
const MAX_VALUE_CHARS: usize = 200;
/// Longer decoded texts are truncated.
const MAX_DECODED_CHARS: usize = 400;
/// How much of a line before and after a finding identifies it.
const MAX_CONTEXT_BYTES: usize = 200;
/// Maximum number of distinct capabilities per file.
const MAX_CAPABILITIES: usize = 5_000;

/// What kind of text something was found in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    /// A script, or a configuration file that a program executes.
    Script,
    /// A code block in Markdown.
    Fence,
    /// Inline code in Markdown.
    InlineCode,
    /// A sentence.
    Prose,
}

/// Where a scanner is: how local positions become positions in the file, and how far what it
/// finds can be trusted.
#[derive(Debug, Clone)]
pub(super) struct Scope {
    /// Added to local offsets.
    pub base: usize,
    /// Text that was decoded has no positions of its own: everything is at this span.
    pub fixed: Option<Range<usize>>,
    pub origin: Origin,
    /// Whether the text around it warns, quotes or describes.
    pub is_cautionary: bool,
    /// Whether the document is about security, and quotes attacks more often than others.
    pub is_security_topic: bool,
    /// The decoded text, if this is one.
    pub decoded: Option<String>,
    /// How often text was decoded or passed to another interpreter.
    pub depth: u8,
}

impl Scope {
    pub(super) fn new(origin: Origin, base: usize) -> Self {
        Self {
            base,
            fixed: None,
            origin,
            is_cautionary: false,
            is_security_topic: false,
            decoded: None,
            depth: 0,
        }
    }

    pub(super) fn cautionary(self, is_cautionary: bool) -> Self {
        Self { is_cautionary, ..self }
    }

    /// The scope of a text that was computed from the span.
    pub(super) fn nested(&self, span: &Range<usize>, decoded: Option<&str>) -> Self {
        let decoded = decoded.map(|text| truncate(text, MAX_DECODED_CHARS).into_owned());
        Self {
            fixed: Some(self.locate(span)),
            decoded: decoded.or_else(|| self.decoded.clone()),
            depth: self.depth + 1,
            ..self.clone()
        }
    }

    fn locate(&self, span: &Range<usize>) -> Range<usize> {
        match &self.fixed {
            Some(fixed) => fixed.clone(),
            None => self.base + span.start..self.base + span.end,
        }
    }

    /// Lowers the confidence of something that may only be quoted.
    fn adjust(&self, confidence: Confidence) -> Confidence {
        match self.origin {
            _ if self.is_cautionary => Confidence::Hint,
            Origin::InlineCode => Confidence::Hint,
            Origin::Fence | Origin::Prose => confidence.min(Confidence::Likely),
            Origin::Script => confidence,
        }
    }
}

/// A finding with its span.
#[derive(Debug)]
struct LocatedDetection {
    span: Option<Range<usize>>,
    detection: Detection,
    decoded: Option<String>,
}

/// What was found in one file.
#[derive(Debug, Default)]
pub(super) struct Evidence {
    findings: Vec<LocatedDetection>,
    counts: BTreeMap<AuditClass, usize>,
    facts: BTreeMap<(CapabilityKind, String), Vec<usize>>,
}

impl Evidence {
    /// Adds a finding at a span of the scope.
    pub(super) fn report(&mut self, scope: &Scope, span: &Range<usize>, detection: Detection) {
        let confidence = scope.adjust(detection.confidence);
        let is_topic = scope.is_security_topic && scope.origin != Origin::Script;
        let risk = if is_topic { detection.risk.min(Risk::Medium) } else { detection.risk };
        let detection = Detection { confidence, risk, ..detection };
        self.push(Some(scope.locate(span)), detection, scope.decoded.clone());
    }

    /// Adds a finding of exactly this confidence at a span of the file.
    pub(super) fn report_decoded(
        &mut self,
        span: Option<Range<usize>>,
        detection: Detection,
        decoded: Option<String>,
    ) {
        self.push(span, detection, decoded);
    }

    fn push(&mut self, span: Option<Range<usize>>, detection: Detection, decoded: Option<String>) {
        let count = self.counts.entry(detection.class).or_default();
        *count += 1;
        // Certain findings are rare, and must not be lost behind thousands of hints.
        if *count > MAX_FINDINGS_PER_CLASS && detection.confidence != Confidence::Certain
            || *count > 10 * MAX_FINDINGS_PER_CLASS
        {
            return;
        }
        let decoded = decoded.map(|text| truncate(&text, MAX_DECODED_CHARS).into_owned());
        self.findings.push(LocatedDetection { span, detection, decoded });
    }

    /// Adds a capability at a span of the scope.
    pub(super) fn capability(
        &mut self,
        scope: &Scope,
        span: &Range<usize>,
        kind: CapabilityKind,
        value: &str,
    ) {
        // A skill that warns about a command does not ask to run it.
        let is_mentioned =
            matches!(scope.origin, Origin::InlineCode | Origin::Prose) && scope.is_cautionary;
        if value.is_empty() || is_mentioned {
            return;
        }
        let key = (kind, truncate(value, MAX_VALUE_CHARS).into_owned());
        let is_full = self.facts.len() >= MAX_CAPABILITIES;
        if is_full && !self.facts.contains_key(&key) {
            return;
        }
        let positions = self.facts.entry(key).or_default();
        let start = scope.locate(span).start;
        if positions.len() < MAX_POSITIONS && positions.last() != Some(&start) {
            positions.push(start);
        }
    }

    /// Converts everything to lines and columns. One pass over the text.
    pub(super) fn resolve(self, file: &str, text: &str) -> (Vec<AuditFinding>, Vec<Capability>) {
        let Self { mut findings, facts, .. } = self;
        findings.sort_by_key(|it| {
            (
                it.span.as_ref().map_or(0, |span| span.start),
                std::cmp::Reverse(it.detection.confidence),
            )
        });
        let mut seen = std::collections::BTreeSet::new();
        findings.retain(|it| {
            seen.insert((it.span.clone().map(|span| (span.start, span.end)), it.detection.class))
        });
        let mut offsets: Vec<usize> = facts.values().flatten().copied().collect();
        offsets.extend(findings.iter().filter_map(|it| it.span.as_ref()).map(|span| span.start));
        let lines = LineTable::of(text, offsets);
        let findings = findings.into_iter().map(|it| it.into_finding(file, text, &lines)).collect();
        let capabilities = facts
            .into_iter()
            .map(|((kind, value), offsets)| Capability {
                kind,
                value,
                positions: offsets.into_iter().map(|at| lines.position(file, at)).collect(),
            })
            .collect();
        (findings, capabilities)
    }
}

impl LocatedDetection {
    fn into_finding(self, file: &str, text: &str, lines: &LineTable) -> AuditFinding {
        let Self { span, detection, decoded } = self;
        let position = lines.position(file, span.as_ref().map_or(0, |span| span.start));
        let found = span.as_ref().map_or("", |span| line_around(text, span));
        AuditFinding {
            id: finding_id(&detection, file, found),
            class: detection.class,
            risk: detection.risk,
            confidence: detection.confidence,
            file: file.into(),
            span,
            line: position.line,
            column: position.column,
            message: detection.message,
            decoded,
        }
    }
}

/// The text of a span with the rest of its line, which identifies a finding: the same command with
/// another argument is another finding. Long lines are cut.
fn line_around<'t>(text: &'t str, span: &Range<usize>) -> &'t str {
    let (from, to) = (span.start.min(text.len()), span.end.min(text.len()));
    let start = text.floor_char_boundary(from.saturating_sub(MAX_CONTEXT_BYTES));
    let end = text.ceil_char_boundary(to.saturating_add(MAX_CONTEXT_BYTES));
    let from = text.floor_char_boundary(from);
    let to = text.ceil_char_boundary(to).max(from);
    let start = text[start..from].rfind('\n').map_or(start, |at| start + at + 1);
    let end = text[to..end].find('\n').map_or(end, |at| to + at);
    text[start..end].trim()
}

/// Lines and columns of known offsets.
struct LineTable(BTreeMap<usize, (u32, u32)>);

impl LineTable {
    fn of(text: &str, mut offsets: Vec<usize>) -> Self {
        offsets.sort_unstable();
        offsets.dedup();
        let mut counter = PositionCounter::default();
        let mut table = BTreeMap::new();
        for offset in offsets {
            let at = text.floor_char_boundary(offset.min(text.len()));
            counter.advance(text, at);
            table.insert(offset, (counter.line(), counter.column()));
        }
        Self(table)
    }

    fn position(&self, file: &str, offset: usize) -> AuditPosition {
        let (line, column) = self.0.get(&offset).copied().unwrap_or((1, 1));
        AuditPosition { file: file.into(), line, column }
    }
}
