//! `sp audit --diff`: what an update adds.

use std::path::Path;

use sp_analyze::audit::{AuditFinding, CapabilityDiff, Confidence, ContentAudit};
use sp_formats::output::{AuditChanges, ChangedFinding};
use sp_tree::{Dir, scan_dir};

use crate::content_audit::{AuditFiles, audit_content, capability_items};
use crate::context::Context;
use crate::error::{Error, ErrorCode, Result};
use crate::session::Session;

/// Compares the capabilities and findings of two directories.
pub fn audit_diff(context: &Context<'_>, old: &Path, new: &Path) -> Result<AuditChanges> {
    let session = Session::begin(context)?;
    let (old, new) = (audit_dir(&session, old)?, audit_dir(&session, new)?);
    session.audits.store(None);
    let diff = CapabilityDiff::between(&old.capabilities, &new.capabilities);
    let is_new = |finding: &&AuditFinding| {
        finding.confidence >= Confidence::Likely
            && old.findings.iter().all(|known| known.id != finding.id)
    };
    Ok(AuditChanges {
        added: capability_items(&diff.added),
        removed: capability_items(&diff.removed),
        findings: new.findings.iter().filter(is_new).map(changed_finding).collect(),
    })
}

fn audit_dir(session: &Session<'_>, path: &Path) -> Result<ContentAudit> {
    let path = session.context.expand(&path.to_string_lossy());
    if !path.is_dir() {
        let shown = session.context.display_relative_path(&path);
        return Err(Error::new(ErrorCode::UnreadableFile, format!("`{shown}` is not a directory"))
            .hint("name the directories of two versions of a skill"));
    }
    let dir = Dir::open(&path)?;
    let listing = scan_dir(&dir, &session.limits)?.listing;
    let files = AuditFiles::from_dir(&dir, &listing, session.limits.file_bytes)?;
    Ok(audit_content(&session.audits, &files))
}

fn changed_finding(finding: &AuditFinding) -> ChangedFinding {
    ChangedFinding {
        id: finding.id.clone(),
        rule: finding.class.rule().id.into(),
        class: finding.class.as_str().into(),
        risk: finding.risk.as_str().into(),
        confidence: finding.confidence.as_str().into(),
        file: finding.file.clone(),
        line: finding.line,
        column: finding.column,
        message: finding.message.clone(),
        decoded: finding.decoded.clone(),
    }
}
