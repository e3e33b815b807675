//! Auditing the content of a skill during a check with facts.

use std::path::Path;

use super::Checker;
use crate::content_audit::{AuditFiles, audit_content, finding_reports, to_audited_skill};

/// Audits the files of a skill, and adds findings and facts to the collector.
pub(super) fn audit_skill(
    checker: &Checker<'_>,
    path: &Path,
    name: Option<String>,
    files: &AuditFiles,
) {
    let audit = audit_content(&checker.session.audits, files);
    for (file, report) in finding_reports(&audit, files) {
        checker.collector.add_report(&path.join(file), &report);
    }
    checker.collector.add_audited_skill(to_audited_skill(path.into(), name, &audit));
}
