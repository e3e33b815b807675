//! Folders for which a command decides itself what they contain.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use sp_formats::output::FolderAction;
use sp_formats::project::lock::ProjectLock;
use sp_tree::transaction::PriorState;
use sp_tree::{Digest, LoadedTree};

use crate::install::plan::{ChangePlan, FolderPlan};
use crate::install::skill_set::{LockedTree, SkillSource};

/// What a folder contains after a command.
#[derive(Debug, Clone)]
pub(super) enum FolderContent {
    /// The version in the lockfile. Edits of the user are moved to the trash.
    Locked,
    /// An edited version, and the version that was edited.
    Edited { tree: Arc<LoadedTree>, base: Digest },
}

/// The folders, by the path of their sink and their name.
pub(super) type FolderOverrides = BTreeMap<(PathBuf, String), FolderContent>;

/// Changes what a plan writes into folders.
pub(super) fn apply_overrides(
    plan: &mut ChangePlan,
    overrides: &FolderOverrides,
    lock: &ProjectLock,
) {
    for sink in &mut plan.sinks {
        for folder in &mut sink.folders {
            let key = (sink.sink.path.clone(), folder.name.to_string());
            let Some(content) = overrides.get(&key) else { continue };
            let Some(locked) = lock.skills.get(folder.name.as_str()) else { continue };
            match content {
                FolderContent::Locked => set_content(folder, locked.tree, None, None),
                FolderContent::Edited { tree, base } => {
                    set_content(folder, tree.digest(), Some(Arc::clone(tree)), Some(*base));
                }
            }
        }
    }
}

fn set_content(
    folder: &mut FolderPlan,
    digest: Digest,
    content: Option<Arc<LoadedTree>>,
    recorded: Option<Digest>,
) {
    let Some(SkillSource::Locked(locked)) = &folder.source else { return };
    folder.source = Some(SkillSource::Locked(LockedTree { digest, content, ..locked.clone() }));
    folder.digest = Some(digest);
    folder.recorded_digest = recorded;
    folder.action = match folder.before {
        PriorState::Absent => FolderAction::Add,
        _ if folder.current_digest == Some(digest) => FolderAction::Keep,
        _ => FolderAction::Update,
    };
}
