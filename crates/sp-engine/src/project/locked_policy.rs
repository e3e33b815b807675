//! What policies decide about the skills of a lockfile, without opening their sources.

use super::approval::owner_of;
use super::files::{GitConflicts, MissingManifest, ProjectDir, ProjectFiles, ProjectLocation};
use crate::content_audit::AuditKey;
use crate::content_gate::ContentOwner;
use crate::context::Context;
use crate::error::{ErrorCode, Result};
use crate::policy::{PolicyDecision, PolicySet};
use crate::session::Session;
use sp_formats::project::lock::LockedProjectSkill;

/// A skill of a lockfile, and what policies decide about it.
pub(crate) struct LockedDecisions {
    pub source: String,
    pub folder: String,
    pub decisions: Vec<PolicyDecision>,
}

/// Decides about the skills in the lockfile of a project; none without a project.
pub(crate) fn locked_decisions(
    session: &Session<'_>,
    location: &ProjectLocation,
) -> Result<Vec<LockedDecisions>> {
    let dir = match find_project(session.context, location)? {
        Some(dir) => dir,
        None => return Ok(Vec::new()),
    };
    let files = ProjectFiles::read(session, &dir, GitConflicts::Refuse)?;
    let policies = session.policies(Some(&dir.path))?;
    let skills = files.lock.skills.iter();
    let decide = |(folder, skill): (&String, &LockedProjectSkill)| LockedDecisions {
        source: skill.source.to_string(),
        folder: folder.clone(),
        decisions: decide_locked(session, &policies, &dir, skill),
    };
    Ok(skills.map(decide).collect())
}

fn find_project(context: &Context<'_>, location: &ProjectLocation) -> Result<Option<ProjectDir>> {
    match ProjectDir::find(context, location, MissingManifest::Refuse) {
        Ok(dir) => Ok(Some(dir)),
        Err(error) if error.has_code(ErrorCode::ManifestNotFound) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Decides about a locked skill: its source, the capabilities in the lockfile, and what this
/// machine knows from an audit. The project's own skills are exempt.
pub(super) fn decide_locked(
    session: &Session<'_>,
    policies: &PolicySet,
    dir: &ProjectDir,
    skill: &LockedProjectSkill,
) -> Vec<PolicyDecision> {
    if policies.is_empty() || owner_of(dir, skill) == ContentOwner::User {
        return Vec::new();
    }
    let source = policies.decide_source(skill.source.as_str(), &dir.path);
    let mut decisions: Vec<PolicyDecision> = source.into_iter().collect();
    decisions.extend(match session.audits.get(&AuditKey::of_tree(skill.tree)) {
        Some(audit) => policies.decide_audit(&audit),
        None => policies.decide_capabilities(skill.capabilities.iter().map(String::as_str)),
    });
    decisions.extend(skill.accepted.iter().filter_map(|id| policies.decide_acceptance(id)));
    decisions
}
