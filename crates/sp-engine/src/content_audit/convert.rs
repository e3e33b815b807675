//! Converts the result of an audit to reports and output values.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use sp_analyze::audit::{
    AuditClass, AuditFinding, Capability, Confidence, ContentAudit, OpaqueFile,
};
use sp_formats::output::{AuditedSkill, CapabilityItem, FactList, OpaqueItem, PositionItem};
use sp_formats::printable::printable;
use sp_formats::report::{AuditDetails, Report, Severity};

use super::AuditFiles;

/// Longer lists of files are truncated.
const MAX_LISTED: usize = 50;

/// Returns the findings as one report per file, by path.
pub(crate) fn finding_reports(audit: &ContentAudit, files: &AuditFiles) -> Vec<(String, Report)> {
    let mut by_file: BTreeMap<&str, Vec<&AuditFinding>> = BTreeMap::new();
    for finding in &audit.findings {
        by_file.entry(&finding.file).or_default().push(finding);
    }
    let report = |(file, findings): (&str, Vec<&AuditFinding>)| {
        let text = masked_text(files.text(file), &findings);
        let mut report = Report::deferred("");
        findings.into_iter().for_each(|finding| add_finding(finding, &mut report));
        (file.to_owned(), report.with_text(&text))
    };
    by_file.into_iter().map(report).collect()
}

fn add_finding(finding: &AuditFinding, report: &mut Report) {
    let rule = finding.class.rule();
    let decoded = finding.decoded.as_deref();
    let shown = decoded.map(|text| format!(": \"{}\"", printable(text))).unwrap_or_default();
    let message = format!("{}{shown}", finding.message);
    let severity = match finding.confidence {
        Confidence::Certain => Severity::Error,
        Confidence::Likely => Severity::Warning,
        Confidence::Hint => Severity::Note,
    };
    let added = match &finding.span {
        None => report.whole_file(severity, rule, message),
        Some(span) => match severity {
            Severity::Error => report.error(rule, span.clone(), message),
            Severity::Warning => report.warning(rule, span.clone(), message),
            Severity::Note => report.note(rule, span.clone(), message),
        },
    };
    if severity > Severity::Note {
        added.help(finding.class.advice());
    }
    added.audit = Some(Box::new(AuditDetails {
        id: finding.id.clone(),
        class: finding.class.as_str(),
        risk: finding.risk.as_str(),
        confidence: finding.confidence.as_str(),
        decoded: finding.decoded.clone(),
    }));
}

/// The text without its secrets, because reports are printed.
fn masked_text(text: &str, findings: &[&AuditFinding]) -> Arc<str> {
    let secrets = findings.iter().filter(|finding| finding.class == AuditClass::Secret);
    let spans: Vec<_> = secrets.filter_map(|finding| finding.span.clone()).collect();
    if spans.is_empty() {
        return text.into();
    }
    let mut bytes = text.as_bytes().to_vec();
    for span in spans {
        let Some(found) = text.get(span.clone()) else { continue };
        // The name in an assignment stays visible.
        let value =
            found.find(['=', ':']).filter(|at| *at < found.len() - 1).map_or(0, |at| at + 1);
        for byte in &mut bytes[span.start + value..span.end] {
            if byte.is_ascii_alphanumeric() {
                *byte = b'*';
            }
        }
    }
    String::from_utf8(bytes).unwrap_or_default().into()
}

/// Returns what the output lists about a skill.
pub(crate) fn to_audited_skill(
    path: PathBuf,
    name: Option<String>,
    audit: &ContentAudit,
) -> AuditedSkill {
    AuditedSkill {
        path,
        name,
        capabilities: capability_items(&audit.capabilities),
        scripts: FactList {
            count: audit.scripts.len(),
            listed: audit.scripts.iter().take(MAX_LISTED).cloned().collect(),
        },
        opaque: audit.opaque.iter().map(opaque_item).collect(),
        read_files: audit.read_files,
        read_bytes: audit.read_bytes,
    }
}

fn opaque_item(file: &OpaqueFile) -> OpaqueItem {
    OpaqueItem { file: file.path.clone(), reason: file.reason.as_str().into(), bytes: file.bytes }
}

/// Converts capabilities for the output.
pub(crate) fn capability_items(capabilities: &[Capability]) -> Vec<CapabilityItem> {
    let item = |capability: &Capability| CapabilityItem {
        kind: capability.kind.as_str().into(),
        value: capability.value.clone(),
        positions: capability
            .positions
            .iter()
            .map(|position| PositionItem {
                file: position.file.clone(),
                line: position.line,
                column: position.column,
            })
            .collect(),
    };
    capabilities.iter().map(item).collect()
}
