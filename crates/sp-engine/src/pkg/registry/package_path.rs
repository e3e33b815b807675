//! Names and API paths of packages in a registry.

use sp_formats::package::{PackageName, PackageVersion};
use sp_formats::registry::RegistryPackageName;

use crate::error::{Error, ErrorCode, Result};

/// Returns the name of a package in a registry, where every package has a namespace.
pub(super) fn registry_name(name: &PackageName) -> Result<RegistryPackageName> {
    RegistryPackageName::from_package_name(name).map_err(|why| {
        Error::new(ErrorCode::Unsupported, format!("`{name}` cannot be stored in a registry"))
            .because(why)
            .hint("create the package with `--scope <namespace>`")
    })
}

/// Returns the API path of a package.
pub(super) fn package_path(name: &RegistryPackageName) -> String {
    format!("packages/{}/{}", name.namespace(), name.name())
}

/// Returns the API path of the list of versions.
pub(super) fn index_path(name: &RegistryPackageName) -> String {
    format!("{}/index.json", package_path(name))
}

/// Returns the API path of a version.
pub(super) fn version_path(name: &RegistryPackageName, version: &PackageVersion) -> String {
    format!("{}/{}", package_path(name), version.as_str())
}
