//! `sp pkg log`: the versions of a package.

use std::path::Path;

use sp_formats::output::PackageLog;
use sp_formats::package::PackageName;
use sp_formats::package::store::StoredPackage;

use super::items::package_item_in_project;
use super::package_store::{find_best_stored, read_store_index};
use super::project::PackageProject;
use crate::context::Context;
use crate::error::{Error, ErrorCode, Result};
use crate::session::Session;

/// Returns the versions of a package in the store, newest first, and the versions that were
/// removed.
pub fn log(context: &Context<'_>, root: Option<&Path>, name: &str) -> Result<PackageLog> {
    let session = Session::begin(context)?;
    let index = read_store_index(context)?;
    let project = PackageProject::find(&session, root)?;
    let package_name = PackageName::new(name).map_err(|why| {
        Error::new(ErrorCode::InvalidName, format!("invalid package name `{name}`"))
            .because(why)
            .hint("specify a package name without a version")
    })?;
    let versions: Vec<&StoredPackage> =
        index.packages.iter().filter(|stored| stored.name == package_name).rev().collect();
    let known = index.known.get(&package_name);
    if versions.is_empty() && known.is_none() {
        // Fails, with a suggestion.
        find_best_stored(&index, &package_name, None)?;
    }
    let is_removed = |version: &&String| {
        !versions.iter().any(|stored| stored.version.as_str() == version.as_str())
    };
    let removed =
        known.into_iter().flat_map(|known| known.keys()).filter(is_removed).cloned().collect();
    let versions =
        versions.iter().map(|stored| package_item_in_project(&project, stored)).collect();
    Ok(PackageLog { name: name.into(), versions, removed })
}
