//! `sp audit`: what a user should know before trusting skills, packs and packages.
//!
//! An audit is a check that keeps only the findings of security rules, and collects facts: what
//! each skill contains and requests, who signed each package. It changes nothing and does not use
//! the network.

use std::path::PathBuf;

use crate::check::{CheckRequest, CheckResults, CheckStrictness, ImportPolicy, check_with_facts};
use crate::context::Context;
use crate::error::Result;
use crate::session::Session;
use crate::sinks::{SinkRequest, resolve_sinks};

/// What to audit. If everything is empty, the directory that `sp check` would check.
#[derive(Debug, Clone)]
pub struct AuditRequest {
    /// Skills, repositories, workspaces, packs, packages or directories of skills.
    pub paths: Vec<PathBuf>,
    /// The repository given with `--root`. By default, the nearest one upward.
    pub root: Option<PathBuf>,
    /// Agents whose installed skills are audited.
    pub sinks: Vec<SinkRequest>,
    /// A file with findings that are not reported.
    pub baseline: Option<PathBuf>,
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
    let request = CheckRequest {
        paths,
        root: request.root.clone(),
        strictness: CheckStrictness::Lenient,
        imports: ImportPolicy::Skip,
        baseline: request.baseline.clone(),
    };
    let mut checked = check_with_facts(&session, &request)?;
    for file in &mut checked.files {
        file.findings.retain(|placed| placed.finding.check.is_security);
    }
    checked.files.retain(|file| !file.findings.is_empty());
    Ok(checked)
}
