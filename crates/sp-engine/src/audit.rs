//! `sp audit`: what somebody should know before trusting skills, packs and packages.
//!
//! It is the check, of which only what the rules of safety say is kept, and the facts that the check
//! gathers on its way. It judges nothing else, changes nothing, and asks nothing of the network.

use std::path::PathBuf;

use sp_formats::checks::SECURITY_CHECKS;

use crate::check::{CheckRequest, CheckResults, CheckStrictness, ImportPolicy, check_with_facts};
use crate::context::Context;
use crate::error::Result;
use crate::session::Session;
use crate::sinks::{SinkRequest, resolve_sink};

/// What is to be audited.
#[derive(Debug, Clone)]
pub struct AuditRequest {
    /// Skills, repositories, bags, packs, packages or folders of skills.
    pub paths: Vec<PathBuf>,
    /// The repository, where it is not the nearest upward.
    pub root: Option<PathBuf>,
    /// Agents, with all that they read.
    pub sinks: Vec<SinkRequest>,
}

/// Audits. Where nothing is named it is what the current directory is in.
pub fn audit(context: &Context<'_>, request: &AuditRequest) -> Result<CheckResults> {
    let session = Session::begin(context)?;
    let mut paths = request.paths.clone();
    for wanted in &request.sinks {
        let sink = resolve_sink(&session, wanted)?.path;
        // An agent that has no skills has none that must be known.
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
    };
    let mut checked = check_with_facts(&session, &request)?;
    for file in &mut checked.files {
        file.findings.retain(|placed| {
            SECURITY_CHECKS.iter().any(|check| check.id == placed.finding.check.id)
        });
    }
    checked.files.retain(|file| !file.findings.is_empty());
    Ok(checked)
}
