//! What happens to skills that were edited locally when a project installs another version.
//!
//! The plan of the sinks replaces an edited folder. [`EditPlanner`] changes that: it keeps the
//! folder, or installs the result of a three-way merge. An edited folder is never replaced by
//! something that lacks its edits, unless the policy or the command says so; then the folder is
//! moved to the trash.

use std::collections::BTreeMap;
use std::sync::Arc;

use sp_analyze::three_way::{FileConflict, merge_trees};
use sp_formats::output::{EditConflictItem, EditOutcome, EditedSkillItem, FolderAction};
use sp_formats::project::manifest::EditPolicy;
use sp_tree::transaction::PriorState;
use sp_tree::{Digest, Follow, LoadedTree, load_untrusted};

use super::bases::read_base;
use crate::error::{Error, ErrorCode, Result};
use crate::install::plan::{ChangePlan, FolderPlan};
use crate::install::skill_set::{LockedTree, SkillSource};
use crate::session::Session;
use crate::sinks::Sink;

/// How a command decides about edited skills.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum EditChoice {
    /// By the policies in the manifest.
    #[default]
    Policy,
    /// Keep the edited version (`--ours`).
    Ours,
    /// Install the newer version (`--theirs`).
    Theirs,
}

/// Returns the content of a version of a skill, by the name of its folder. None if it cannot be
/// found anymore.
pub(super) type LoadVersion<'a> = dyn FnMut(&str, Digest) -> Result<Option<Arc<LoadedTree>>> + 'a;

/// Plans what happens to edited skills.
pub(super) struct EditPlanner<'a> {
    pub session: &'a Session<'a>,
    /// The name of the project in records.
    pub project: &'a str,
    pub choice: EditChoice,
    /// By the name of the folder.
    pub policies: BTreeMap<String, EditPolicy>,
}

/// The versions that meet in an edited folder.
#[derive(Clone, Copy)]
struct EditedVersions {
    /// The version that was edited.
    base: Digest,
    /// The version to install.
    theirs: Digest,
    /// What is in the folder; none if it contains what cannot be installed, such as links.
    ours: Option<Digest>,
}

impl EditPlanner<'_> {
    /// Changes the plan, and returns what was decided about each edited skill.
    pub(super) fn apply(
        &self,
        plan: &mut ChangePlan,
        load: &mut LoadVersion<'_>,
    ) -> Result<Vec<EditedSkillItem>> {
        let mut items = Vec::new();
        for sink_plan in &mut plan.sinks {
            let sink = &sink_plan.sink;
            for folder in &mut sink_plan.folders {
                let Some(versions) = self.edited_versions(folder) else { continue };
                let Some(outcome) = self.decide(sink, folder, versions, load)? else { continue };
                items.push(EditedSkillItem {
                    folder: folder.name.to_string(),
                    path: sink.path.join(folder.name.as_str()),
                    outcome: outcome.0,
                    conflicts: outcome.1,
                });
            }
        }
        Ok(items)
    }

    fn edited_versions(&self, folder: &FolderPlan) -> Option<EditedVersions> {
        let is_edited =
            folder.pack == self.project && folder.edited && folder.action == FolderAction::Update;
        let PriorState::Ours(Some(base)) = folder.before else { return None };
        let versions = EditedVersions { base, theirs: folder.digest?, ours: folder.current_digest };
        is_edited.then_some(versions)
    }

    /// Decides about one folder. None if there is nothing to report.
    fn decide(
        &self,
        sink: &Sink,
        folder: &mut FolderPlan,
        versions: EditedVersions,
        load: &mut LoadVersion<'_>,
    ) -> Result<Option<(EditOutcome, Vec<EditConflictItem>)>> {
        if versions.base == versions.theirs && self.choice != EditChoice::Theirs {
            keep(folder, versions, versions.base);
            return Ok(None);
        }
        let policy = self.policies.get(folder.name.as_str()).copied().unwrap_or_default();
        let outcome = match (self.choice, policy) {
            (EditChoice::Ours, _) => {
                keep(folder, versions, versions.theirs);
                EditOutcome::Kept
            }
            (EditChoice::Theirs, _) | (EditChoice::Policy, EditPolicy::Replace) => {
                EditOutcome::Replaced
            }
            (EditChoice::Policy, EditPolicy::Keep) => {
                keep(folder, versions, versions.base);
                EditOutcome::Kept
            }
            (EditChoice::Policy, EditPolicy::Fail) => return Err(self.edited_error(sink, folder)),
            (EditChoice::Policy, EditPolicy::Merge) => {
                return self.merge(sink, folder, versions, load).map(Some);
            }
        };
        Ok(Some((outcome, Vec::new())))
    }

    fn merge(
        &self,
        sink: &Sink,
        folder: &mut FolderPlan,
        versions: EditedVersions,
        load: &mut LoadVersion<'_>,
    ) -> Result<(EditOutcome, Vec<EditConflictItem>)> {
        let name = folder.name.to_string();
        let mut conflict = |why: &str| {
            keep(folder, versions, versions.base);
            let conflict = EditConflictItem { file: None, reason: why.into() };
            Ok((EditOutcome::Conflict, vec![conflict]))
        };
        let Some(ours) = self.installed_tree(sink, &name, versions)? else {
            return conflict("the folder contains links or other files that cannot be merged");
        };
        let stored = read_base(self.session, &versions.base)?.map(Arc::new);
        let base = match stored {
            Some(base) => Some(base),
            None => load(&name, versions.base)?,
        };
        let Some(base) = base else {
            return conflict("the version that was edited is not available anymore");
        };
        let Some(theirs) = load(&name, versions.theirs)? else {
            return conflict("the newer version is not available");
        };
        match merge_trees(&base, &ours, &theirs) {
            Ok(merged) => {
                self.install_merged(folder, versions, merged);
                Ok((EditOutcome::Merged, Vec::new()))
            }
            Err(conflicts) => {
                keep(folder, versions, versions.base);
                let item = |conflict: FileConflict| EditConflictItem {
                    file: Some(conflict.path.to_string()),
                    reason: conflict.reason.describe().into(),
                };
                Ok((EditOutcome::Conflict, conflicts.into_iter().map(item).collect()))
            }
        }
    }

    /// Reads an edited folder.
    fn installed_tree(
        &self,
        sink: &Sink,
        name: &str,
        versions: EditedVersions,
    ) -> Result<Option<LoadedTree>> {
        let (Some(expected), Some(dir)) = (versions.ours, sink.pinned.dir()) else {
            return Ok(None);
        };
        let dir = dir.open_dir(&sp_tree::Name::new(name)?, Follow::Never)?;
        let tree = load_untrusted(&dir, &self.session.limits)?;
        if tree.digest() == expected {
            return Ok(Some(tree));
        }
        let path = self.session.context.display_path(&sink.path.join(name));
        let message = format!("`{path}` was changed by another process");
        Err(Error::new(ErrorCode::ChangedMeanwhile, message)
            .hint("nothing was changed: run the command again"))
    }

    fn install_merged(
        &self,
        folder: &mut FolderPlan,
        versions: EditedVersions,
        merged: LoadedTree,
    ) {
        let digest = merged.digest();
        if Some(digest) == versions.ours {
            return keep(folder, versions, versions.theirs);
        }
        folder.digest = Some(digest);
        folder.recorded_digest = Some(versions.theirs);
        if let Some(SkillSource::Locked(locked)) = &folder.source {
            let content = Some(Arc::new(merged));
            let merged = LockedTree { digest, content, ..locked.clone() };
            folder.source = Some(SkillSource::Locked(merged));
        }
    }

    fn edited_error(&self, sink: &Sink, folder: &FolderPlan) -> Error {
        let path = self.session.context.display_path(&sink.path.join(folder.name.as_str()));
        let message = format!("`{path}` was edited, and there is a newer version");
        Error::new(ErrorCode::EditedSkill, message)
            .because("`edits: fail` in `skillpack.yaml`")
            .hint("nothing was changed: keep your version with `sp update --ours`")
            .hint("or install the newer version with `sp update --theirs`")
    }
}

/// Leaves a folder as it is, and records the version that it is based on.
fn keep(folder: &mut FolderPlan, versions: EditedVersions, recorded: Digest) {
    folder.action = FolderAction::Keep;
    folder.digest = versions.ours;
    folder.recorded_digest = Some(recorded);
}
