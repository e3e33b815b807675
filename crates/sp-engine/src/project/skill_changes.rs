//! Which skills differ between two lockfiles, and how their files differ.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use sp_formats::output::{ChangeKind, ProjectSkillChange, SkillFileChange};
use sp_formats::project::lock::{LockedProjectSkill, ProjectLock};
use sp_tree::LoadedTree;

use crate::diff::change_kind;
use crate::error::Result;

/// Whether the report has the texts of changed files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileTexts {
    Include,
    Omit,
}

/// Which of two lockfiles a version is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LockSide {
    Before,
    After,
}

/// Returns the content of a locked skill, by the name of its folder.
pub(super) type LoadLocked<'a> = dyn FnMut(LockSide, &str) -> Result<Option<Arc<LoadedTree>>> + 'a;

/// Returns the skills whose content or source differs, sorted by name.
pub(super) fn skill_changes(
    before: &ProjectLock,
    after: &ProjectLock,
    texts: FileTexts,
    load: &mut LoadLocked<'_>,
) -> Result<Vec<ProjectSkillChange>> {
    let version = |skill: &LockedProjectSkill| (skill.tree, skill.source.clone(), skill.id.clone());
    let names: BTreeSet<&String> = before.skills.keys().chain(after.skills.keys()).collect();
    let mut changes = Vec::new();
    for name in names {
        let (old, new) = (before.skills.get(name), after.skills.get(name));
        let Some(change) = change_kind(old.map(version), new.map(version)) else { continue };
        let Some(shown) = new.or(old) else { continue };
        let files = match texts {
            FileTexts::Omit => Vec::new(),
            FileTexts::Include => {
                let old_tree = if old.is_some() { load(LockSide::Before, name)? } else { None };
                let new_tree = if new.is_some() { load(LockSide::After, name)? } else { None };
                // Without one of the versions, every file would be shown as added or removed.
                if old.is_some() != old_tree.is_some() || new.is_some() != new_tree.is_some() {
                    Vec::new()
                } else {
                    file_changes(old_tree.as_deref(), new_tree.as_deref())
                }
            }
        };
        changes.push(ProjectSkillChange {
            name: name.clone(),
            id: shown.id.clone(),
            source: shown.source.to_string(),
            change,
            added_capabilities: Vec::new(),
            files,
        });
    }
    Ok(changes)
}

/// Returns the files that differ between two versions of a skill.
pub(super) fn file_changes(
    before: Option<&LoadedTree>,
    after: Option<&LoadedTree>,
) -> Vec<SkillFileChange> {
    let (old, new) = (files(before), files(after));
    let paths: BTreeSet<&str> = old.keys().chain(new.keys()).copied().collect();
    let text = |bytes: Option<&(bool, &[u8])>| {
        let text = std::str::from_utf8(bytes?.1).ok()?;
        (!text.contains('\0')).then(|| text.to_owned())
    };
    let change = |path: &str| {
        let (old, new) = (old.get(path), new.get(path));
        let change: ChangeKind = change_kind(old, new)?;
        Some(SkillFileChange { path: path.into(), change, before: text(old), after: text(new) })
    };
    paths.into_iter().filter_map(change).collect()
}

fn files(tree: Option<&LoadedTree>) -> BTreeMap<&str, (bool, &[u8])> {
    let files = tree.into_iter().flat_map(LoadedTree::files);
    files.map(|(path, executable, bytes)| (path.as_str(), (executable, bytes))).collect()
}
