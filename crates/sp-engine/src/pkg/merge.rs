//! `sp pkg merge`: one package of several, with what they share and where they contradict each other.

use std::path::PathBuf;

use sp_formats::output::{ContradictionItem, PackageMerged, SupersededItem};

use super::create::{CreateRequest, Material, create};
use super::gathered::Gathered;
use crate::config::Session;
use crate::context::Context;
use crate::error::{Error, Kind, Result};

/// Merges packages, and puts what comes of it into the store.
pub fn merge(context: &Context<'_>, packages: &[String], request: CreateRequest) -> Result<PackageMerged> {
    let (merged, sources) = {
        let session = Session::begin(context)?;
        let gathered = Gathered::read(&session, packages, request.root.as_deref())?;
        (gathered.merge(), gathered.labels())
    };
    let material = Material::Content(format!("{{\"context_graph\":{}}}", merged.graph));
    let description = request.description.clone().unwrap_or_else(|| format!("Merged from {}", sources.join(", ")));
    let stored = create(context, &CreateRequest { material, description: Some(description), ..request })?;
    let stored = stored.packages.into_iter().next().ok_or_else(|| Error::new(Kind::Data, "nothing was made"))?;
    let old = |(old, new): (String, String)| SupersededItem { old, new };
    Ok(PackageMerged {
        stored,
        sources,
        shared: merged.shared,
        superseded: merged.superseded.into_iter().map(old).collect(),
        contradictions: merged
            .contradictions
            .into_iter()
            .map(|one| ContradictionItem {
                from: one.from,
                from_content: one.from_content,
                to: one.to,
                to_content: one.to_content,
                same_id: one.same_id,
            })
            .collect(),
    })
}

/// What `sp pkg merge` makes, before its content is known.
pub fn merge_request(name: Option<String>, version: Option<String>, output: Option<PathBuf>) -> CreateRequest {
    CreateRequest {
        name,
        scope: None,
        version,
        description: None,
        author: None,
        tags: Vec::new(),
        dependencies: Vec::new(),
        level: None,
        material: Material::Content(String::new()),
        sign: None,
        output,
        overwrite: super::Overwrite::Refuse,
        root: None,
    }
}
