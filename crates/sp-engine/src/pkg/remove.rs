//! `sp pkg remove`: removes packages from the store.

use sp_formats::output::PackageRemoveReport;
use sp_formats::package::store::{PackageStoreIndex, StoredPackage};
use sp_formats::package::{PackageName, VersionRange};

use super::items::package_item;
use super::package_spec::PackageSpec;
use super::package_store::{PackageStore, find_best_stored};
use crate::context::Context;
use crate::error::{Error, ErrorCode, Result};
use crate::home::LockedHome;
use crate::install::change::ChangeExecutor;
use crate::plan_id::ApplyOptions;
use crate::session::Session;

/// Removes packages from the store. A name without a range removes every version.
pub fn remove(
    context: &Context<'_>,
    names: &[String],
    apply: ApplyOptions,
) -> Result<PackageRemoveReport> {
    let session = Session::begin(context)?;
    let home = LockedHome::open_unless_dry_run(context, &session.limits, apply.mode)?;
    let mut store = PackageStore::open(&session)?;
    let mut removed = Vec::new();
    for text in names {
        let PackageSpec::Named(name, range) = PackageSpec::parse(&session, text)? else {
            return Err(Error::new(
                ErrorCode::InvalidPackageSpec,
                format!("`{text}` is a file, not a package in the store"),
            )
            .hint("specify a package name; run `sp pkg list` to list the packages in the store"));
        };
        let selected = take_packages(&mut store.index, &name, range.as_ref())?;
        removed.extend(selected.iter().map(package_item));
    }
    let executor = ChangeExecutor { session: &session, home: home.as_ref(), options: apply };
    let status = store.save_with(&executor)?;
    Ok(PackageRemoveReport { status, removed })
}

/// Takes the versions in a range out of the index; without a range, every version.
fn take_packages(
    index: &mut PackageStoreIndex,
    name: &PackageName,
    range: Option<&VersionRange>,
) -> Result<Vec<StoredPackage>> {
    let is_selected = |stored: &StoredPackage| {
        let version = &stored.version;
        stored.name == *name
            && range.is_none_or(|range| range.matches(version) || range.is_exactly(version))
    };
    let selected: Vec<StoredPackage> =
        index.packages.iter().filter(|stored| is_selected(stored)).cloned().collect();
    if selected.is_empty() {
        // Fails if no version matches, with a suggestion.
        find_best_stored(index, name, range)?;
    }
    index.packages.retain(|stored| !is_selected(stored));
    Ok(selected)
}
