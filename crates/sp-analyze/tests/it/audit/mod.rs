//! `sp_analyze::audit`: capabilities, findings, and the labelled corpus.

mod capabilities;
mod content;
mod corpus;
mod findings;
mod updates;

use sp_analyze::audit::{AuditFinding, AuditInput, Confidence, ContentAudit, audit_tree};

/// Audits files given as path and text.
fn audit(files: &[(&str, &str)]) -> ContentAudit {
    let inputs: Vec<AuditInput<'_>> =
        files.iter().map(|(path, text)| AuditInput::new(path, text.as_bytes())).collect();
    audit_tree(&inputs)
}

/// Audits a skill with this body.
fn audit_body(body: &str) -> ContentAudit {
    audit(&[("SKILL.md", &format!("---\nname: sample\ndescription: Helps.\n---\n\n{body}\n"))])
}

/// The findings that are at least likely, as `line:column class risk confidence`.
fn described(audit: &ContentAudit) -> Vec<String> {
    let describe = |finding: &AuditFinding| {
        let AuditFinding { line, column, class, risk, confidence, .. } = finding;
        let (class, risk) = (class.as_str(), risk.as_str());
        format!("{line}:{column} {class} {risk} {}", confidence.as_str())
    };
    audit.at_least(Confidence::Likely).map(describe).collect()
}
