//! The parts of a workspace that `sp` generates: the reserved skill and the line in `.gitignore`.

use std::collections::BTreeMap;
use std::path::Path;

use sp_formats::skill::SKILL_FILE;
use sp_formats::workspace::{BOOTSTRAP_SKILL, LockedSkill, USER_CONTEXT_FILE};
use sp_tree::{LoadedTree, RelPath};

use super::changes::WorkspaceFile;
use super::workspace_dir::read_optional_text;
use crate::error::Result;
use crate::session::Session;

const BOOTSTRAP_TEMPLATE: &str = include_str!("templates/bootstrap.md");
const GITIGNORE_FILE: &str = ".gitignore";

/// A skill that does not come from a source.
pub(super) struct GeneratedSkill {
    pub name: String,
    pub content: LoadedTree,
    /// Its record for the lockfile.
    pub record: LockedSkill,
}

/// Returns the reserved skill.
pub(super) fn bootstrap_skill() -> Result<GeneratedSkill> {
    let mut content = LoadedTree::default();
    let path = RelPath::new(SKILL_FILE)?;
    content.add_file(path, false, BOOTSTRAP_TEMPLATE.as_bytes().to_vec());
    let record = LockedSkill {
        source: "sp".into(),
        query: None,
        archive: None,
        version: None,
        commit: None,
        tree: content.digest(),
        steps: None,
        extra: BTreeMap::new(),
    };
    Ok(GeneratedSkill { name: BOOTSTRAP_SKILL.into(), content, record })
}

/// Returns a `.gitignore` that lists `USER_CONTEXT.md`, if it does not list it yet.
pub(super) fn gitignore_update(
    session: &Session<'_>,
    root: &Path,
) -> Result<Option<WorkspaceFile>> {
    let text = read_optional_text(&root.join(GITIGNORE_FILE), session.limits.markdown_bytes)?
        .unwrap_or_default();
    let is_listed =
        text.lines().any(|line| matches!(line.trim().trim_start_matches('/'), USER_CONTEXT_FILE));
    if is_listed {
        return Ok(None);
    }
    let gap = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    let bytes = format!("{text}{gap}{USER_CONTEXT_FILE}\n").into_bytes();
    Ok(Some(WorkspaceFile { name: GITIGNORE_FILE.into(), bytes }))
}
