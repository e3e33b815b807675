//! `sp show`: what a pack would install.

use std::path::Path;

use sp_formats::output::{ImportItem, PackView, SelectedSkillItem};

use crate::context::Context;
use crate::error::Result;
use crate::install::selection::resolve_pack;
use crate::select::SkillSource;
use crate::session::Session;

/// Returns what the pack `spec`, a name or a path, would install.
pub fn show(context: &Context<'_>, root: Option<&Path>, spec: &str) -> Result<PackView> {
    let session = Session::begin(context)?;
    let resolved = resolve_pack(&session, root, spec, None)?;
    let pack = &resolved.file.pack;
    let skills = resolved.skills.iter().map(|skill| SelectedSkillItem {
        id: skill.id.clone(),
        import: match skill.source {
            SkillSource::Local | SkillSource::Package(_) => None,
            SkillSource::Import(number) => Some(number),
        },
        folder: skill.folder.to_string(),
    });
    let imports =
        pack.imports.iter().zip(&resolved.checkouts).map(|(import, checkout)| ImportItem {
            repo: import.repo.display_url.clone(),
            git_ref: import.git_ref.as_ref().map(ToString::to_string),
            commit: checkout.commit.clone(),
        });
    Ok(PackView {
        pack: pack.name.clone(),
        pack_file: resolved.file.path.clone(),
        skills: skills.collect(),
        imports: imports.collect(),
    })
}
