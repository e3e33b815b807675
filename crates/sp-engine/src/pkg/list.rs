//! `sp pkg list`: the packages of the store, and those that wait for review.

use std::path::Path;

use sp_formats::output::PackageList;

use super::items::{package_item_in_project, waiting_item};
use super::package_store::read_store_index;
use super::project::PackageProject;
use crate::context::Context;
use crate::error::Result;
use crate::session::Session;

/// Lists the packages of the store. `root` is the project that decides which are marked as
/// installed.
pub fn list(context: &Context<'_>, root: Option<&Path>) -> Result<PackageList> {
    let session = Session::begin(context)?;
    let index = read_store_index(context)?;
    let project = PackageProject::find(&session, root)?;
    let packages =
        index.packages.iter().map(|stored| package_item_in_project(&project, stored)).collect();
    Ok(PackageList { packages, waiting: index.waiting.iter().map(waiting_item).collect() })
}

/// Returns the names and versions of the packages in the store; none if it cannot be read.
pub(crate) fn stored_package_versions(context: &Context<'_>) -> Vec<(String, String)> {
    let packages = read_store_index(context).map(|index| index.packages).unwrap_or_default();
    packages.iter().map(|stored| (stored.name.to_string(), stored.version.to_string())).collect()
}
