//! `sp audit`: what a user should know before trusting skills, packs and packages.
//!
//! An audit reads the same bytes as an install would. It keeps the findings of security rules of a
//! check, and adds what [`crate::content_audit`] finds in the content of each skill: dangers,
//! capabilities, and what could not be read. It changes nothing. Only a pack that is named, and has
//! imports, uses the network.

mod diff;
mod pack;
mod source;

use std::path::PathBuf;

use crate::check::{CheckRequest, CheckResults, CheckStrictness, ImportPolicy, check_with_facts};
use crate::context::Context;
use crate::error::Result;
use crate::session::Session;
use crate::sinks::{SinkRequest, resolve_sinks};

pub use diff::audit_diff;
use pack::ContentAuditor;

/// What to audit. If everything is empty, the directory that `sp check` would check.
#[derive(Debug, Clone)]
pub struct AuditRequest {
    /// Skills, repositories, workspaces, packs, packages, context packs, directories of skills, or
    /// sources as `sp add` takes them.
    pub paths: Vec<PathBuf>,
    /// The repository given with `--root`. By default, the nearest one upward.
    pub root: Option<PathBuf>,
    /// Agents whose installed skills are audited.
    pub sinks: Vec<SinkRequest>,
    /// A file with findings that are not reported.
    pub baseline: Option<PathBuf>,
    /// Whether the imports of packs in `paths` are fetched and audited.
    pub imports: ImportPolicy,
}

/// Audits skills, packs and packages.
pub fn audit(context: &Context<'_>, request: &AuditRequest) -> Result<CheckResults> {
    let session = Session::begin(context)?;
    let mut paths = request.paths.clone();
    for sink in resolve_sinks(&session, &request.sinks)? {
        let sink = sink.path;
        // Checking an empty directory is an error, but an agent without skills is fine.
        let is_empty = sink.read_dir().map_or(true, |mut entries| entries.next().is_none());
        paths.extend((!is_empty).then_some(sink));
    }
    if paths.is_empty() && !request.sinks.is_empty() {
        return Ok(CheckResults::default());
    }
    let mut results = CheckResults::default();
    let named = !paths.is_empty();
    let auditor = ContentAuditor::new(&session, request.root.as_deref())?;
    let paths = source::audit_sources(&auditor, &paths, &mut results);
    if named && paths.is_empty() {
        session.audits.store(None);
        results.files.retain(|file| !file.findings.is_empty());
        return Ok(results);
    }
    let check = CheckRequest {
        paths,
        root: request.root.clone(),
        strictness: CheckStrictness::Lenient,
        imports: ImportPolicy::Skip,
        baseline: request.baseline.clone(),
    };
    let mut checked = check_with_facts(&session, &check)?;
    for file in &mut checked.files {
        file.findings.retain(|placed| placed.finding.check.is_security);
    }
    pack::audit_packs(&auditor, request, &mut checked);
    session.audits.store(None);
    checked.add(results);
    checked.files.retain(|file| !file.findings.is_empty());
    Ok(checked)
}
