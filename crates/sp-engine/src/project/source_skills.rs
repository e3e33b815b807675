//! The skills of a source that is not installed, for an audit.

use std::sync::Arc;

use sp_formats::project::source::{ManifestSource, SourceArgument};
use sp_tree::LoadedTree;

use super::add::{SkillChoice, is_named, wanted_names};
use super::added_sources::parse_argument;
use super::catalog::{CatalogRequest, open_catalog};
use crate::error::Result;
use crate::session::Session;

/// The skills of a source, loaded.
pub(crate) struct LoadedSource {
    pub source: String,
    /// By ID.
    pub skills: Vec<(String, Arc<LoadedTree>)>,
}

/// Whether a text names a source of skills elsewhere, and not a path or the URL of a context pack.
pub(crate) fn names_remote_source(text: &str) -> bool {
    use ManifestSource::{Git, Index, Package, WebZip};
    let Ok(argument) = SourceArgument::parse(text) else { return false };
    match argument.source {
        Git(_) | Package(_) | WebZip(_) => true,
        // A host without a scheme looks like the name of a file.
        Index(_) => text.contains("://"),
        _ => false,
    }
}

/// Opens a source, and loads its skills. Nothing is changed.
pub(crate) fn load_source(session: &Session<'_>, text: &str) -> Result<LoadedSource> {
    let argument = parse_argument(text)?;
    let names = wanted_names(&argument, &SkillChoice::All);
    let request = CatalogRequest::Newest(argument.version.as_ref());
    let base = &session.context.current_dir;
    let catalog = open_catalog(session, base, &argument.source, request)?;
    let is_wanted = |id: &str, name: &str| {
        names.is_empty() || names.iter().any(|wanted| is_named(id, name, wanted))
    };
    let wanted = catalog.skills.iter().filter(|skill| is_wanted(&skill.id, &skill.name));
    let ids: Vec<&str> = wanted.map(|skill| skill.id.as_str()).collect();
    let trees = catalog.load(session, &ids)?;
    let skills = ids.iter().map(|id| (*id).to_owned()).zip(trees).collect();
    Ok(LoadedSource { source: catalog.key.to_string(), skills })
}
