//! `sp diff`: local edits of skills.

use std::sync::Arc;

use sp_formats::output::{EditedFolder, SkillEditReport};
use sp_tree::{Digest, LoadedTree};

use super::bases::read_base;
use super::catalog::{CatalogRequest, open_catalog};
use super::files::ProjectLocation;
use super::resolution::entry_source_key;
use super::skill_changes::file_changes;
use super::view::{FolderSelection, LockedFolder, ProjectView};
use crate::context::Context;
use crate::error::{Error, ErrorCode, Result};
use crate::home::DigestIndexes;
use crate::session::Session;

/// Returns how installed skills differ from the versions that were installed. Without names, all
/// skills are compared.
pub fn diff_skills(
    context: &Context<'_>,
    location: &ProjectLocation,
    names: &[String],
) -> Result<SkillEditReport> {
    let session = Session::begin(context)?;
    let view = ProjectView::read(&session, location)?;
    let selected = match names {
        [] => all_folders(&view),
        names => view.select(names, &[])?,
    };
    let mut indexes = DigestIndexes::new(context);
    let mut folders = Vec::new();
    for FolderSelection { sink, folder } in selected {
        let base = view.base(&sink.sink, folder);
        let state = view.observe(&sink.sink, &[&folder.name], &mut indexes)?;
        let is_unchanged = |state: &super::view::FolderState| {
            !state.exists || state.digest == Some(base) || state.digest == Some(folder.locked.tree)
        };
        if state.iter().all(is_unchanged) {
            continue;
        }
        let Some(installed) = view.load(&sink.sink, &folder.name)? else { continue };
        let base = base_of(&view, folder, base)?;
        folders.push(EditedFolder {
            name: folder.name.to_string(),
            path: sink.sink.path.join(folder.name.as_str()),
            files: file_changes(Some(&base), Some(&installed)),
        });
    }
    Ok(SkillEditReport { folders })
}

fn all_folders<'v>(view: &'v ProjectView<'_>) -> Vec<FolderSelection<'v>> {
    let of_sink = |sink: &'v super::view::SinkView| {
        sink.folders.values().map(move |folder| FolderSelection { sink, folder })
    };
    view.sinks.iter().flat_map(of_sink).collect()
}

/// Returns the version that was edited: from this machine, or else from its locked source.
fn base_of(
    view: &ProjectView<'_>,
    folder: &LockedFolder,
    digest: Digest,
) -> Result<Arc<LoadedTree>> {
    if let Some(base) = read_base(view.session, &digest)? {
        return Ok(base.into());
    }
    let files = &view.files;
    let locked = &folder.locked;
    let entry = view.manifest.skills.iter().find(|it| entry_source_key(it) == locked.source);
    if let (Some(entry), Some(lock)) = (entry, files.lock.sources.get(&locked.source)) {
        let request = CatalogRequest::Locked { version: entry.version.as_ref(), lock };
        let catalog = open_catalog(view.session, &files.dir.path, &entry.source, request)?;
        let loaded = catalog.load(view.session, &[&locked.id])?;
        if let Some(tree) = loaded.into_iter().find(|tree| tree.digest() == digest) {
            return Ok(tree);
        }
    }
    let message = format!("the version of `{}` that was edited is not available", folder.name);
    Err(Error::new(ErrorCode::SourceNotReproducible, message)
        .because("it is neither on this machine nor in its source")
        .hint(format!("compare the folder by hand, or run `sp restore {}`", folder.name)))
}
