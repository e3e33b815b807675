//! `sp pkg merge`: merges the graphs of several packages into a new package.

use std::path::PathBuf;
use std::sync::Arc;

use sp_formats::output::{PackageMergeReport, StoredPackageList};

use super::create::{CreateRequest, CreateSource, create};
use super::items::{contradiction_items, superseded_items};
use super::keys::PackageSigning;
use super::package_graphs::PackageGraphs;
use crate::context::Context;
use crate::error::{Error, ErrorCode, Result};
use crate::output_file::Overwrite;
use crate::plan_id::ApplyOptions;
use crate::session::Session;

/// The arguments of `sp pkg merge`.
#[derive(Debug, Clone)]
pub struct MergeRequest {
    pub packages: Vec<String>,
    /// The name of the new package.
    pub name: String,
    /// The version. The default is the next patch version.
    pub version: Option<String>,
    pub signing: PackageSigning,
    /// A file to write in addition to the store.
    pub output: Option<PathBuf>,
    pub overwrite: Overwrite,
    pub apply: ApplyOptions,
}

/// Merges packages, and adds the result to the store.
pub fn merge(context: &Context<'_>, request: &MergeRequest) -> Result<PackageMergeReport> {
    let (merged, sources) = {
        let session = Session::begin(context)?;
        let graphs = PackageGraphs::load(&session, &request.packages, None)?;
        (graphs.merge(), graphs.labels())
    };
    let source = CreateSource::Merged(Arc::new(merged.graph));
    let stored = create(
        context,
        &CreateRequest {
            name: Some(request.name.clone()),
            version: request.version.clone(),
            description: Some(format!("Merged from {}", sources.join(", "))),
            signing: request.signing.clone(),
            output: request.output.clone(),
            overwrite: request.overwrite,
            apply: request.apply,
            ..CreateRequest::of(source)
        },
    )?;
    let StoredPackageList { status, packages } = stored;
    let stored = packages
        .into_iter()
        .next()
        .ok_or_else(|| Error::new(ErrorCode::InvalidPackage, "the merge produced no package"))?;
    Ok(PackageMergeReport {
        status,
        stored,
        sources,
        shared: merged.shared,
        added: merged.added,
        updated: merged.updated,
        superseded: superseded_items(&merged.superseded),
        contradictions: contradiction_items(&merged.contradictions),
    })
}
