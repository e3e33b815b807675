//! Audits of the skills whose version changes: what the lockfile records about them, and whether
//! the user approves the capabilities that an update adds.
//!
//! Approval is tied to capabilities. An update that changes prose only, or that removes
//! capabilities, needs none.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use rayon::prelude::*;
use sp_analyze::audit::{Confidence, ContentAudit};
use sp_formats::project::lock::{LockedProjectSkill, ProjectLock, SourceKey};
use sp_tree::LoadedTree;

use super::files::{ProjectDir, ProjectFiles};
use super::skill_changes::{LoadLocked, LockSide};
use crate::apply_mode::ApplyMode;
use crate::content_audit::audit_loaded_tree;
use crate::content_gate::ContentOwner;
use crate::context::{CapabilityConsent, Context};
use crate::error::{Error, ErrorCode, Result};
use crate::install::plan::PlanAcceptance;
use crate::session::Session;

/// The capabilities that updates add, by the name of the skill's folder.
#[derive(Debug, Default)]
pub(super) struct AddedCapabilities(BTreeMap<String, Vec<String>>);

/// A skill whose version changes, with both versions as far as they are known.
struct ChangedSkill {
    folder: String,
    new: Arc<LoadedTree>,
    /// The capabilities in the lockfile, or else the content.
    old: Option<OldVersion>,
}

enum OldVersion {
    Recorded(Vec<String>),
    Content(Option<Arc<LoadedTree>>),
}

/// Records the capabilities and the accepted findings of the skills whose version changes, and
/// returns the capabilities that are added to skills of others.
pub(super) fn record_audits(
    session: &Session<'_>,
    files: &ProjectFiles,
    lock: &mut ProjectLock,
    load: &mut LoadLocked<'_>,
) -> Result<AddedCapabilities> {
    let before = &files.lock;
    let changed = changed_skills(before, lock, load)?;
    let audited: Vec<(ChangedSkill, ContentAudit, BTreeSet<String>)> = changed
        .into_par_iter()
        .map(|skill| {
            let audit = audit_loaded_tree(&session.audits, &skill.new);
            let old = skill.old_capabilities(session);
            (skill, audit, old)
        })
        .collect();
    let consent = &session.context.consent.findings;
    let mut added = AddedCapabilities::default();
    for (skill, audit, old) in audited {
        let Some(locked) = lock.skills.get_mut(&skill.folder) else { continue };
        locked.capabilities = capability_texts(&audit).into_iter().collect();
        let earlier = before.skills.get(&skill.folder).map(|old| &old.accepted);
        let is_accepted = |id: &&String| {
            consent.contains(id) || earlier.is_some_and(|accepted| accepted.contains(id))
        };
        let certain: BTreeSet<&String> =
            audit.at_least(Confidence::Certain).map(|finding| &finding.id).collect();
        locked.accepted = certain.into_iter().filter(is_accepted).cloned().collect();
        if skill.old.is_some() && owner_of(&files.dir, locked) == ContentOwner::Fetched {
            let new: Vec<String> =
                locked.capabilities.iter().filter(|it| !old.contains(*it)).cloned().collect();
            added.insert(skill.folder, new);
        }
    }
    Ok(added)
}

fn changed_skills(
    before: &ProjectLock,
    lock: &ProjectLock,
    load: &mut LoadLocked<'_>,
) -> Result<Vec<ChangedSkill>> {
    let mut changed = Vec::new();
    for (folder, skill) in &lock.skills {
        let earlier = before.skills.get(folder);
        if earlier.is_some_and(|earlier| earlier.tree == skill.tree) {
            continue;
        }
        let Some(new) = load(LockSide::After, folder)? else { continue };
        let old = match earlier {
            None => None,
            Some(earlier) if !earlier.capabilities.is_empty() => {
                Some(OldVersion::Recorded(earlier.capabilities.clone()))
            }
            // The lockfile may be older than the recording of capabilities.
            Some(_) => Some(OldVersion::Content(load(LockSide::Before, folder)?)),
        };
        changed.push(ChangedSkill { folder: folder.clone(), new, old });
    }
    Ok(changed)
}

impl ChangedSkill {
    fn old_capabilities(&self, session: &Session<'_>) -> BTreeSet<String> {
        match &self.old {
            Some(OldVersion::Recorded(recorded)) => recorded.iter().cloned().collect(),
            Some(OldVersion::Content(Some(tree))) => {
                capability_texts(&audit_loaded_tree(&session.audits, tree))
            }
            Some(OldVersion::Content(None)) | None => BTreeSet::new(),
        }
    }
}

/// The capabilities of a skill, as the lockfile records them.
fn capability_texts(audit: &ContentAudit) -> BTreeSet<String> {
    let text = |kind: &str, value: &str| format!("{kind} {value}");
    audit.capabilities.iter().map(|it| text(it.kind.as_str(), &it.value)).collect()
}

impl AddedCapabilities {
    fn insert(&mut self, folder: String, capabilities: Vec<String>) {
        if !capabilities.is_empty() {
            self.0.insert(folder, capabilities);
        }
    }

    /// The capabilities that are added to a skill.
    pub(super) fn of(&self, folder: &str) -> &[String] {
        self.0.get(folder).map_or(&[], Vec::as_slice)
    }

    /// Fails unless the user accepted what is added. A dry run only shows it.
    pub(super) fn require_consent(&self, context: &Context<'_>, mode: ApplyMode) -> Result<()> {
        let shown = self.to_string();
        let is_accepted = match &context.consent.capabilities {
            CapabilityConsent::All => true,
            CapabilityConsent::Shown(accepted) => *accepted == shown,
            CapabilityConsent::Ask => false,
        };
        if self.0.is_empty() || is_accepted || mode == ApplyMode::DryRun {
            return Ok(());
        }
        let message = "the update adds capabilities that you have not accepted";
        Err(Error::new(ErrorCode::NewCapabilities, message)
            .because(shown)
            .hint("nothing was changed: review the changes with `sp update --diff --dry-run`")
            .hint("to accept the capabilities, add `--accept-capabilities`"))
    }
}

impl std::fmt::Display for AddedCapabilities {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let lines =
            self.0.iter().map(|(folder, added)| format!("`{folder}`: {}", added.join(", ")));
        f.write_str(&lines.collect::<Vec<_>>().join("\n"))
    }
}

/// Returns the findings that the lockfile accepts.
pub(super) fn acceptance(dir: &ProjectDir, lock: &ProjectLock) -> PlanAcceptance {
    PlanAcceptance {
        root: Some(dir.path.clone()),
        locked: lock.skills.values().flat_map(|skill| skill.accepted.clone()).collect(),
    }
}

/// Returns who is responsible for a skill. See [`SkillOwners`].
pub(super) fn owner_of(dir: &ProjectDir, skill: &LockedProjectSkill) -> ContentOwner {
    SkillOwners::new(dir).owner_of(skill)
}

/// Who is responsible for skills: the user for those below the project's own `skills/`. Each source
/// is located once.
pub(super) struct SkillOwners<'d> {
    dir: &'d ProjectDir,
    /// The real path of `skills/`.
    own: Option<PathBuf>,
    /// The real paths of directories.
    sources: BTreeMap<SourceKey, Option<PathBuf>>,
}

impl<'d> SkillOwners<'d> {
    pub(super) fn new(dir: &'d ProjectDir) -> Self {
        let own = dir.path.join("skills").canonicalize().ok();
        Self { dir, own, sources: BTreeMap::new() }
    }

    pub(super) fn owner_of(&mut self, skill: &LockedProjectSkill) -> ContentOwner {
        let source = skill.source.as_str();
        let is_local = source.starts_with(['.', '/']);
        let Some(own) = self.own.as_ref().filter(|_| is_local) else {
            return ContentOwner::Fetched;
        };
        if !self.sources.contains_key(&skill.source) {
            let real = self.dir.path.join(source).canonicalize().ok();
            self.sources.insert(skill.source.clone(), real.filter(|path| path.is_dir()));
        }
        let real = self.sources.get(&skill.source).and_then(Option::as_ref);
        if real.is_some_and(|real| real.join(&skill.id).starts_with(own)) {
            ContentOwner::User
        } else {
            ContentOwner::Fetched
        }
    }
}

/// Runs an operation, and runs it again if it only lacks an approval that the user gives. No lock
/// is held while the user thinks.
pub(super) fn with_approval<T>(
    context: &Context<'_>,
    run: &dyn Fn(&Context<'_>) -> Result<T>,
) -> Result<T> {
    let error = match run(context) {
        Err(error) if error.has_code(ErrorCode::NewCapabilities) => error,
        result => return result,
    };
    let shown = error.source.as_ref().map(ToString::to_string).unwrap_or_default();
    if !context.listener.approves_capabilities(&shown) {
        return Err(error);
    }
    let mut approved = context.clone();
    approved.consent.capabilities = CapabilityConsent::Shown(shown);
    run(&approved)
}
