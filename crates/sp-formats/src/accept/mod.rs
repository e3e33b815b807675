//! `skillpack-accept.yaml`: the findings that a project accepts, with a reason for each.
//!
//! Only the project that uses content can accept findings in it. A file of this name in fetched
//! content has no effect, and neither have comments there. [`accepting_comments`] finds the
//! comments that count in a project's own skills, and [`Baseline`] lists the findings that existed
//! when it was written.
//!
//! Doc comments on fields are descriptions in the published JSON Schema.
//!
//! ```
//! use sp_formats::accept;
//! use sp_tree::Limits;
//!
//! let text = "accept:\n  - rule: AS-07\n    path: skills/*/SKILL.md\n    reason: generated\n";
//! let (file, report) = accept::read(accept::ACCEPT_FILE, text, &Limits::default());
//! assert!(report.is_usable());
//! assert!(file.accept[0].covers("AS-07", "skills/review/SKILL.md"));
//! ```

mod baseline;
mod comment;
pub mod rules;

use std::ops::Range;

use jiff::Timestamp;
use schemars::JsonSchema;
use sp_tree::Limits;

pub use baseline::{Baseline, BaselineEntry, BaselineError, UnusedBaseline};
pub use comment::{AcceptingComment, accepting_comments};

use crate::pattern::Pattern;
use crate::printable::printable;
use crate::report::Report;
use crate::time;
use crate::yaml::{self, YamlNode};
use crate::yaml_mapping::{YamlMapping, YamlMappingSpec};
use rules::AU_07;

/// The name of the file.
pub const ACCEPT_FILE: &str = "skillpack-accept.yaml";

/// Stands for every rule.
pub const ANY_RULE: &str = "*";

/// The length of the digest at the end of the ID of a finding, which follows the ID of its rule.
const FINDING_DIGEST_LEN: usize = 10;

const FILE_KEYS: &[&str] = &["accept"];
const ENTRY_KEYS: &[&str] = &["rule", "path", "reason", "expiry"];

/// Findings that a project accepts.
#[derive(Debug, Clone, Default, PartialEq, Eq, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct AcceptFile {
    /// The accepted findings.
    #[schemars(with = "Option<Vec<AcceptEntry>>")]
    pub accept: Vec<AcceptEntry>,
}

/// Findings of one rule in some files.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct AcceptEntry {
    #[schemars(skip)]
    pub span: Range<usize>,
    /// ID of a rule, such as `AS-07`, ID of a finding, or `*` for every rule.
    #[schemars(with = "crate::schema::RuleIdSchema")]
    pub rule: String,
    #[schemars(skip)]
    pub rule_span: Range<usize>,
    /// Pattern that matches paths of files, relative to the directory of this file.
    #[schemars(with = "crate::pack::SpannedPattern")]
    pub path: Pattern,
    /// Why the findings are acceptable.
    #[schemars(with = "crate::schema::TextSchema")]
    pub reason: String,
    /// Last day on which the findings are accepted, in UTC, such as `2027-01-31`.
    #[schemars(with = "Option<crate::schema::DateSchema>")]
    pub expiry: Option<String>,
}

impl AcceptEntry {
    /// Returns the ID of the rule, also if the entry is about a single finding of it.
    pub fn rule_id(&self) -> &str {
        let is_digest = |text: &str| {
            text.len() == FINDING_DIGEST_LEN
                && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
        };
        match self.rule.rsplit_once('-') {
            Some((rule, digest)) if is_digest(digest) => rule,
            _ => &self.rule,
        }
    }

    /// Whether the entry is about findings of a rule in a file, or about the finding with this ID.
    pub fn covers(&self, rule_or_finding: &str, path: &str) -> bool {
        (self.rule == ANY_RULE || self.rule == rule_or_finding) && self.path.matches(path)
    }

    pub fn is_expired(&self, now: Timestamp) -> bool {
        let today = time::format_seconds(now);
        // Dates of this form sort like text.
        self.expiry.as_deref().is_some_and(|expiry| today.get(..expiry.len()) > Some(expiry))
    }
}

/// Reads a file. Invalid entries are reported and left out.
pub fn read(file: &str, text: &str, limits: &Limits) -> (AcceptFile, Report) {
    let mut report = Report::new(file, text);
    let root = match yaml::parse(text, limits) {
        Ok(root) => root,
        Err(error) => {
            let help = error.help();
            report.error(&AU_07, error.span, error.message).help(help);
            return (AcceptFile::default(), report);
        }
    };
    let spec = YamlMappingSpec { name: "the file", check: &AU_07 };
    let accept = match YamlMapping::of(&root, spec, FILE_KEYS, &mut report) {
        Some(fields) => {
            let nodes = fields.list("accept", &mut report).iter();
            nodes.filter_map(|node| read_entry(node, &mut report)).collect()
        }
        None => Vec::new(),
    };
    report.sort();
    (AcceptFile { accept }, report)
}

fn read_entry(node: &YamlNode, report: &mut Report) -> Option<AcceptEntry> {
    let spec = YamlMappingSpec { name: "an entry of `accept`", check: &AU_07 };
    let fields = YamlMapping::of(node, spec, ENTRY_KEYS, report)?;
    let rule = required_text(&fields, "rule", "add `rule: <ID>`, such as `rule: AS-07`", report);
    let path = required_text(&fields, "path", "add `path: <path or pattern>`", report);
    let reason = required_text(&fields, "reason", "add `reason: <why this is acceptable>`", report);
    let expiry = read_expiry(&fields, report);
    let (path, path_span) = path?;
    let path = match Pattern::new(&path) {
        Ok(path) => path,
        Err(error) => {
            report
                .error(&AU_07, path_span, error.to_string())
                .help("write a path relative to this file, such as `skills/review/**`");
            return None;
        }
    };
    let ((rule, rule_span), (reason, _)) = (rule?, reason?);
    Some(AcceptEntry {
        span: node.span.clone(),
        rule,
        rule_span,
        path,
        reason,
        expiry: expiry.ok()?,
    })
}

fn required_text(
    fields: &YamlMapping<'_>,
    key: &str,
    help: &str,
    report: &mut Report,
) -> Option<(String, Range<usize>)> {
    let text = fields.text(key, report).filter(|(text, _)| !text.trim().is_empty());
    let is_absent = fields.get(key).is_none_or(|node| {
        node.is_null() || node.text().is_some_and(|text| text.trim().is_empty())
    });
    if text.is_none() && is_absent {
        fields.report_missing(key, help, report);
    }
    text
}

/// Reads the date, if there is one.
fn read_expiry(fields: &YamlMapping<'_>, report: &mut Report) -> Result<Option<String>, ()> {
    let Some((text, span)) = fields.text("expiry", report) else { return Ok(None) };
    if text.len() == "2027-01-31".len() && time::is_timestamp(&format!("{text}T00:00:00Z")) {
        return Ok(Some(text));
    }
    report
        .error(&AU_07, span, format!("invalid date `{}`", printable(&text)))
        .help("write a date such as `2027-01-31`");
    Err(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<String> {
        let (_, report) = read("x", text, &Limits::default());
        let findings = report.findings.iter();
        findings.map(|finding| report.format_location(finding)).collect()
    }

    #[test]
    fn au_07_entries_have_a_rule_a_path_a_reason_and_perhaps_an_expiry() {
        let entry = "accept:\n- rule: AS-07\n  path: 'skills/**'\n  reason: generated\n";
        assert_eq!(found(entry), [""; 0]);
        assert_eq!(found(&format!("{entry}  expiry: 2027-01-31\n")), [""; 0]);
        for (text, position) in [
            ("", "x:1:1"),
            ("acept: []\n", "x:1:1"),
            ("accept: AS-07\n", "x:1:9"),
            ("accept:\n- AS-07\n", "x:2:3"),
            ("accept:\n- {path: a, reason: b}\n", "x:2:3"),
            ("accept:\n- {rule: AS-07, reason: b}\n", "x:2:3"),
            ("accept:\n- {rule: AS-07, path: a}\n", "x:2:3"),
            ("accept:\n- {rule: AS-07, path: a, reason: ' '}\n", "x:2:3"),
            ("accept:\n- {rule: AS-07, path: /a, reason: b}\n", "x:2:23"),
            ("accept:\n- {rule: AS-07, path: a, reason: b, expiry: soon}\n", "x:2:45"),
            ("accept:\n- {rule: AS-07, path: a, reason: b, expiry: 2027-02-30}\n", "x:2:45"),
            ("accept:\n- {rule: AS-07, path: a, reason: b, until: 2027-01-31}\n", "x:2:37"),
        ] {
            assert_eq!(found(text), [position], "{text}");
        }
    }

    #[test]
    fn au_07_an_entry_is_valid_through_its_last_day() {
        let text = "accept:\n- {rule: '*', path: '**', reason: x, expiry: 2027-01-31}\n";
        let (file, _) = read("x", text, &Limits::default());
        let entry = &file.accept[0];
        for (now, is_expired) in [
            ("2026-12-31T23:59:59Z", false),
            ("2027-01-31T23:59:59Z", false),
            ("2027-02-01T00:00:00Z", true),
        ] {
            assert_eq!(entry.is_expired(time::parse(now).unwrap()), is_expired, "{now}");
        }
        assert!(entry.covers("SE-09", "skills/a/b.md"));
    }

    #[test]
    fn au_07_an_entry_can_name_a_single_finding() {
        for (rule, expected) in [
            ("AU-23", "AU-23"),
            ("AU-23-0123456789", "AU-23"),
            ("AU-23-012345678", "AU-23-012345678"),
            ("AU-23-ABCDEF0123", "AU-23-ABCDEF0123"),
            ("'*'", "*"),
        ] {
            let text = format!("accept:\n- {{rule: {rule}, path: 'a/*', reason: x}}\n");
            let (file, _) = read("x", &text, &Limits::default());
            assert_eq!(file.accept[0].rule_id(), expected);
        }
    }
}
