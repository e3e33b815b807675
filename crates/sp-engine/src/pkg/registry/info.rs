//! `sp info`: what a registry says of a package, verified as far as can be without its bytes.

use serde::Deserialize;
use sp_formats::output::RegistryPackageInfo;
use sp_formats::package::PackageVersion;
use sp_formats::registry::{PackageIndex, PackageVersionItem, TrustReport};

use super::client::RegistryRequest;
use super::{connect, registry_name};
use crate::context::Context;
use crate::error::{Error, FailureKind, Result};
use crate::pkg::package_spec::parse_versioned_name;
use crate::session::Session;

/// What a registry says of a version.
#[derive(Deserialize)]
struct RegistryVersionDetails {
    manifest: serde_json::Value,
    report: TrustReport,
}

/// Shows a package of a registry: its versions, and all about the newest or the one that was named.
pub fn info(
    context: &Context<'_>,
    package: &str,
    registry: Option<&str>,
) -> Result<RegistryPackageInfo> {
    let session = Session::begin(context)?;
    let client = connect(&session, registry)?;
    let address = client.address().to_owned();
    let (name, range) = parse_versioned_name(package)?;
    let place = registry_name(&name)?;
    let path = format!("packages/{}/{}", place.namespace(), place.name());
    let told = client
        .execute_optional(&RegistryRequest::get(&format!("{path}/index.json")))?
        .ok_or_else(|| {
            Error::new(FailureKind::Request, format!("`{address}` has no `{name}`"))
                .hint(format!("`sp search {}` looks for packages like it", place.name()))
        })?;
    let index: PackageIndex = told.json()?;
    let version = match range {
        None => {
            index.latest.clone().or_else(|| index.versions.first().map(|item| item.version.clone()))
        }
        Some(range) => {
            let parsed = |item: &PackageVersionItem| PackageVersion::new(&item.version).ok();
            let fits = |item: &&PackageVersionItem| {
                parsed(item).is_some_and(|version| {
                    range.matches(&version) && !item.yanked || range.is_exactly(&version)
                })
            };
            index
                .versions
                .iter()
                .filter(fits)
                .max_by_key(|item| parsed(item))
                .map(|item| item.version.clone())
        }
    };
    let version = version.ok_or_else(|| {
        let versions: Vec<&str> = index.versions.iter().map(|item| item.version.as_str()).collect();
        Error::new(FailureKind::Request, format!("`{address}` has no such version of `{name}`"))
            .hint(format!("it has {}", versions.join(", ")))
    })?;
    let described: RegistryVersionDetails =
        client.execute(&RegistryRequest::get(&format!("{path}/{version}")))?.json()?;
    let text = |key: &str| described.manifest[key].as_str().map(str::to_owned);
    Ok(RegistryPackageInfo {
        registry: address,
        name: name.to_string(),
        version,
        kind: text("kind").unwrap_or_else(|| "context".into()),
        description: text("description"),
        private: index.private,
        latest: index.latest,
        versions: index.versions,
        steps: described.report.steps,
        findings: described.report.findings,
    })
}
