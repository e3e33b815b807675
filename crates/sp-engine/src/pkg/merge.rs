//! `sp pkg merge`: one package of several, with what they share and where they contradict each other.

use std::path::PathBuf;
use std::sync::Arc;

use sp_formats::output::PackageMergeReport;

use super::create::{CreateRequest, CreateSource, create};
use super::manage::Overwrite;
use super::merged_context::{contradiction_items, superseded_items};
use super::package_graphs::PackageGraphs;
use crate::context::Context;
use crate::error::{Error, FailureKind, Result};
use crate::session::Session;

/// What is to be merged into what.
#[derive(Debug, Clone)]
pub struct MergeRequest {
    /// The packages.
    pub packages: Vec<String>,
    /// The name of the new one.
    pub name: String,
    /// Its version, if it is not to be counted on.
    pub version: Option<String>,
    /// The key to sign with: none, the default one, or one by name.
    pub sign: Option<Option<String>>,
    /// A file to write besides.
    pub output: Option<PathBuf>,
    /// What happens to an output file that exists.
    pub overwrite: Overwrite,
}

/// Merges packages, and puts what comes of it into the store.
pub fn merge(context: &Context<'_>, request: &MergeRequest) -> Result<PackageMergeReport> {
    let (merged, sources) = {
        let session = Session::begin(context)?;
        let gathered = PackageGraphs::load(&session, &request.packages, None)?;
        (gathered.merge(), gathered.labels())
    };
    let material = CreateSource::Merged(Arc::new(merged.graph));
    let stored = create(
        context,
        &CreateRequest {
            name: Some(request.name.clone()),
            version: request.version.clone(),
            description: Some(format!("Merged from {}", sources.join(", "))),
            sign: request.sign.clone(),
            output: request.output.clone(),
            overwrite: request.overwrite,
            ..CreateRequest::of(material)
        },
    )?;
    let stored = stored
        .packages
        .into_iter()
        .next()
        .ok_or_else(|| Error::new(FailureKind::Data, "nothing was made"))?;
    Ok(PackageMergeReport {
        stored,
        sources,
        shared: merged.shared,
        added: merged.added,
        updated: merged.updated,
        superseded: superseded_items(&merged.superseded),
        contradictions: contradiction_items(&merged.contradictions),
    })
}
