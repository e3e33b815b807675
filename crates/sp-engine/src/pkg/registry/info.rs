//! For `sp info`: the versions of a package in a registry, and the details of one of them.

use serde::Deserialize;
use sp_formats::output::RegistryPackageInfo;
use sp_formats::package::{PackageName, PackageVersion, VersionRange};
use sp_formats::registry::{PackageIndex, PackageVersionItem, TrustReport};
use sp_formats::suggest::list_few;

use super::package_path::{index_path, package_path, registry_name};
use crate::context::Context;
use crate::error::{Error, ErrorCode, Result};
use crate::pkg::package_spec::parse_versioned_name;
use crate::registry::{RegistryRequest, connect};
use crate::session::Session;

/// The response for one version.
#[derive(Deserialize)]
struct RegistryVersionDetails {
    manifest: serde_json::Value,
    report: TrustReport,
}

/// Describes a package of a registry: its versions, and the details of the latest or the named one.
pub(in crate::pkg) fn info(
    context: &Context<'_>,
    package: &str,
    registry: Option<&str>,
) -> Result<RegistryPackageInfo> {
    let session = Session::begin(context)?;
    let client = connect(&session, registry)?;
    let address = client.address().to_owned();
    let (name, range) = parse_versioned_name(package)?;
    let registry_name = registry_name(&name)?;
    let response = client.execute_optional(&RegistryRequest::get(&index_path(&registry_name)))?;
    let response = response.ok_or_else(|| {
        Error::new(ErrorCode::PackageNotFound, format!("package `{name}` not found at `{address}`"))
            .hint(format!("run `sp search {}` to find similar packages", registry_name.name()))
    })?;
    let index: PackageIndex = response.json()?;
    let version = select_version(&index, range.as_ref())
        .ok_or_else(|| no_version_error(&address, &name, &index))?;
    let path = format!("{}/{version}", package_path(&registry_name));
    let details: RegistryVersionDetails = client.execute(&RegistryRequest::get(&path))?.json()?;
    let text = |key: &str| details.manifest[key].as_str().map(str::to_owned);
    Ok(RegistryPackageInfo {
        registry: address,
        name: name.to_string(),
        version,
        kind: text("kind").unwrap_or_else(|| "context".into()),
        description: text("description"),
        private: index.private,
        latest: index.latest,
        versions: index.versions,
        steps: details.report.steps,
        findings: details.report.findings,
    })
}

fn no_version_error(address: &str, name: &PackageName, index: &PackageIndex) -> Error {
    let versions: Vec<&str> = index.versions.iter().map(|item| item.version.as_str()).collect();
    Error::new(
        ErrorCode::VersionNotFound,
        format!("this version of `{name}` was not found at `{address}`"),
    )
    .hint(format!("available versions: {}", list_few(&versions)))
}

/// Selects the newest version in a range, or the latest one. A yanked version must be named
/// exactly.
fn select_version(index: &PackageIndex, range: Option<&VersionRange>) -> Option<String> {
    let Some(range) = range else {
        let first = || index.versions.first().map(|item| item.version.clone());
        return index.latest.clone().or_else(first);
    };
    let parse = |item: &PackageVersionItem| PackageVersion::new(&item.version).ok();
    let is_match = |item: &&PackageVersionItem| {
        parse(item).is_some_and(|version| {
            range.matches(&version) && !item.yanked || range.is_exactly(&version)
        })
    };
    let matching = index.versions.iter().filter(is_match);
    matching.max_by_key(|item| parse(item)).map(|item| item.version.clone())
}
