//! Repairing a workspace: creates what is missing and can be generated.

use std::path::{Path, PathBuf};

use sp_formats::skill::SKILL_FILE;
use sp_formats::workspace::{BOOTSTRAP_SKILL, CATALOG_FILE, ENTRYPOINT_FILE};

use super::changes::WorkspaceChanges;
use super::generated_parts::{bootstrap_skill, gitignore_update};
use super::workspace_dir::{Workspace, read_optional_text};
use crate::apply_mode::ApplyMode;
use crate::context::Context;
use crate::error::Result;
use crate::home::LockedHome;
use crate::session::Session;

/// A file that a repair created or regenerated.
#[derive(Debug)]
pub struct RepairedFile {
    pub path: PathBuf,
    /// The text before the repair; empty if the file did not exist.
    pub before: String,
    /// The text after the repair.
    pub after: String,
}

/// Creates missing generated parts of a workspace: the reserved skill, the catalog, and the line in
/// `.gitignore`. Returns the files that were written, or would be in a dry run.
pub fn repair(
    context: &Context<'_>,
    root: Option<&Path>,
    mode: ApplyMode,
) -> Result<Vec<RepairedFile>> {
    let session = Session::begin(context)?;
    let home = LockedHome::open_unless_dry_run(context, &session.limits, mode)?;
    let workspace = Workspace::open(&session, root)?;
    let mut changes =
        WorkspaceChanges { lock: workspace.lock.clone(), ..WorkspaceChanges::default() };
    let mut files = Vec::new();
    if workspace.root.join(ENTRYPOINT_FILE).is_file() {
        let folder = workspace.skills_dir().join(BOOTSTRAP_SKILL);
        if !folder.exists() {
            let skill = bootstrap_skill()?;
            let text = skill.content.get(SKILL_FILE).unwrap_or_default();
            files.push((folder.join(SKILL_FILE), String::from_utf8_lossy(text).into_owned()));
            changes.put_skill(skill.name, skill.content, skill.record);
        }
        let gitignore = gitignore_update(&session, &workspace.root)?;
        if let Some(file) = &gitignore {
            let text = String::from_utf8_lossy(&file.bytes).into_owned();
            files.push((workspace.root.join(&file.name), text));
        }
        changes.files.extend(gitignore);
    }
    let catalog = changes.render_catalog(&session, &workspace);
    let mut repaired: Vec<RepairedFile> = Vec::new();
    files.push((workspace.skills_dir().join(CATALOG_FILE), catalog));
    for (path, after) in files {
        let before = read_optional_text(&path, session.limits.file_bytes)?.unwrap_or_default();
        if before != after {
            repaired.push(RepairedFile { path, before, after });
        }
    }
    changes.run(&session, home.as_ref(), &workspace, mode.into())?;
    Ok(repaired)
}
