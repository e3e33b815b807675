//! `sp show`: what a pack would install.

use std::path::Path;

use sp_formats::output::{ImportItem, PackView, SelectedSkillItem};

use crate::context::Context;
use crate::error::Result;
use crate::install::selection::resolve_pack;
use crate::session::Session;

/// Returns what the pack `spec`, a name or a path, would install.
pub fn show(context: &Context<'_>, root: Option<&Path>, spec: &str) -> Result<PackView> {
    let session = Session::begin(context)?;
    let resolved = resolve_pack(&session, root, spec, None)?;
    let skills = resolved.skills.iter().map(|skill| SelectedSkillItem {
        id: skill.source.id().to_owned(),
        import: skill.source.import(),
        folder: skill.folder.to_string(),
    });
    let imports = resolved.origin.imports.into_iter().map(|import| ImportItem {
        repo: import.repo,
        git_ref: import.git_ref,
        commit: import.commit,
    });
    Ok(PackView {
        pack: resolved.origin.name,
        pack_file: resolved.path,
        skills: skills.collect(),
        imports: imports.collect(),
    })
}
