//! The ID of a change of sinks and files, which needs nothing but the plan.
//!
//! See [`crate::plan_id`] for what an ID is and what it must not cover.

use sp_formats::output::FolderAction;

use super::plan::{ChangePlan, FilePlan, FolderPlan, SinkPlan};
use super::skill_set::{SkillContainer, SkillOrigin, SkillSource};
use crate::agent_set::AgentSet;
use crate::error::Result;
use crate::plan_id::{PlanHasher, PlanId};

/// Changes whenever the encoding of a plan changes.
const PLAN_ID_VERSION: &str = "sp plan 4";

impl ChangePlan {
    /// Returns the ID of the plan, unless another plan is expected.
    pub(super) fn verified_id(&self, expected: Option<PlanId>) -> Result<PlanId> {
        let id = self.id();
        id.ensure_matches(expected)?;
        Ok(id)
    }

    /// Returns the ID of the plan. The digests of all local skills must be known: see
    /// [`FolderPlan::digest`].
    pub(super) fn id(&self) -> PlanId {
        let mut hasher = PlanHasher::of_operation(PLAN_ID_VERSION);
        hasher.list(self.sinks.iter(), hash_sink);
        hasher.list(self.files.iter(), hash_file);
        hasher.finish()
    }
}

fn hash_sink(hasher: &mut PlanHasher, sink: &SinkPlan) {
    hasher.path(&sink.sink.path);
    hash_agents(hasher, &sink.sink.agents);
    hasher.list(sink.packs.iter(), |hasher, pack| {
        hash_origin(hasher, &pack.origin);
        hash_agents(hasher, &pack.agents);
    });
    hasher.list(sink.recorded_packs.iter(), |hasher, pack| {
        hasher.text(&pack.name);
        hasher.text(&pack.source.to_string());
        hash_agents(hasher, &pack.agents);
        hash_agents(hasher, &pack.agents_after);
    });
    hasher.list(sink.folders.iter(), hash_folder);
}

fn hash_agents(hasher: &mut PlanHasher, agents: &AgentSet) {
    hasher.list(agents.names().iter(), |hasher, name| hasher.text(name));
}

/// Hashes what is installed, with its version.
fn hash_origin(hasher: &mut PlanHasher, origin: &SkillOrigin) {
    match origin {
        SkillOrigin::Pack(pack) => {
            hasher.text("pack");
            hasher.text(&pack.name);
            hasher.path(&pack.file);
            hasher.list(pack.imports.iter(), |hasher, import| {
                hasher.text(&import.repo);
                hasher.text(import.git_ref.as_deref().unwrap_or_default());
                hasher.text(&import.commit);
            });
        }
        SkillOrigin::Package(package) => {
            hasher.text("package");
            hasher.text(package.name.as_str());
            hasher.text(package.version.as_str());
            hasher.text(&package.sha256);
        }
        SkillOrigin::Project(project) => {
            hasher.text("project");
            hasher.text(&project.manifest);
        }
    }
}

fn hash_folder(hasher: &mut PlanHasher, folder: &FolderPlan) {
    hasher.text(folder.name.as_str());
    hasher.text(&folder.pack);
    hasher.text(folder.id.as_deref().unwrap_or_default());
    hasher.text(match folder.action {
        FolderAction::Add => "add",
        FolderAction::Update => "update",
        FolderAction::Remove => "remove",
        FolderAction::Keep => "keep",
    });
    hasher.text(if folder.edited { "edited" } else { "as it was left" });
    hasher.prior_state(folder.before);
    hasher.digest(folder.current_digest);
    hash_content(hasher, folder);
}

/// Hashes the content that the folder will have.
fn hash_content(hasher: &mut PlanHasher, folder: &FolderPlan) {
    match folder.source.as_ref().map(SkillSource::container) {
        None => hasher.text("nothing"),
        // The commit determines every byte, so a dry run need not read the folder.
        Some(SkillContainer::Commit { url, commit }) => {
            hasher.text("commit");
            hasher.text(url);
            hasher.text(commit);
        }
        Some(
            SkillContainer::Directory(_) | SkillContainer::Package(_) | SkillContainer::Digest(_),
        ) => {
            hasher.text("bytes");
            hasher.digest(folder.digest);
        }
    }
}

fn hash_file(hasher: &mut PlanHasher, file: &FilePlan) {
    hasher.path(&file.dir);
    hasher.text(file.name.as_str());
    hasher.prior_state(file.before);
    hasher.digest(file.plan_digest());
}
