//! What servers read from the store: the skills and the texts of packages.

use std::collections::BTreeMap;

use sp_formats::package::store::StoredPackage;
use sp_formats::package::{PackageKind, PackageName};

use super::load_package::load_package;
use super::package_spec::PackageSpec;
use super::package_store::read_store_index;
use crate::error::Result;
use crate::session::Session;

/// Returns the newest version of each package of skills, without withdrawn versions, sorted by
/// name.
pub(crate) fn newest_skill_packages(session: &Session<'_>) -> Result<Vec<StoredPackage>> {
    let index = read_store_index(session.context)?;
    let mut newest: BTreeMap<PackageName, StoredPackage> = BTreeMap::new();
    let is_served =
        |stored: &StoredPackage| stored.kind == PackageKind::Skills && !stored.withdrawn;
    for stored in index.packages.into_iter().filter(is_served) {
        if newest.get(&stored.name).is_none_or(|known| stored.version > known.version) {
            newest.insert(stored.name.clone(), stored);
        }
    }
    Ok(newest.into_values().collect())
}

/// Returns the verified text of a package.
pub(crate) fn load_package_text(session: &Session<'_>, spec: &str) -> Result<String> {
    let index = read_store_index(session.context)?;
    let spec = PackageSpec::parse(session, spec)?;
    Ok(load_package(session, &index, &spec)?.package.text().to_string())
}
