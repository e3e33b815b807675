//! `sp info`: what a registry says of a package, verified as far as can be without its bytes.

use serde::Deserialize;
use sp_formats::output::RegistryInfo;
use sp_formats::package::PackageVersion;
use sp_formats::registry::{PackageIndex, TrustReport, VersionItem};

use super::client::Asked;
use super::{connect, place};
use crate::config::Session;
use crate::context::Context;
use crate::error::{Error, Kind, Result};
use crate::pkg::subject::named;

/// What a registry says of a version.
#[derive(Deserialize)]
struct Described {
    manifest: serde_json::Value,
    report: TrustReport,
}

/// Shows a package of a registry: its versions, and all about the newest or the one that was named.
pub fn info(context: &Context<'_>, package: &str, registry: Option<&str>) -> Result<RegistryInfo> {
    let session = Session::begin(context)?;
    let client = connect(&session, registry)?;
    let address = client.address().to_owned();
    let (name, range) = named(package)?;
    let place = place(&name)?;
    let path = format!("packages/{}/{}", place.namespace(), place.name());
    let told = client.find(&Asked::get(&format!("{path}/index.json")))?.ok_or_else(|| {
        Error::new(Kind::Request, format!("`{address}` has no `{name}`"))
            .hint(format!("`sp search {}` looks for packages like it", place.name()))
    })?;
    let index: PackageIndex = told.json()?;
    let version = match range {
        None => index.latest.clone().or_else(|| index.versions.first().map(|item| item.version.clone())),
        Some(range) => {
            let parsed = |item: &VersionItem| PackageVersion::new(&item.version).ok();
            let fits = |item: &&VersionItem| {
                parsed(item).is_some_and(|version| range.fits(&version) && !item.yanked || range.is_exactly(&version))
            };
            index.versions.iter().filter(fits).max_by_key(|item| parsed(item)).map(|item| item.version.clone())
        }
    };
    let version = version.ok_or_else(|| {
        let versions: Vec<&str> = index.versions.iter().map(|item| item.version.as_str()).collect();
        Error::new(Kind::Request, format!("`{address}` has no such version of `{name}`"))
            .hint(format!("it has {}", versions.join(", ")))
    })?;
    let described: Described = client.ask(&Asked::get(&format!("{path}/{version}")))?.json()?;
    let text = |key: &str| described.manifest[key].as_str().map(str::to_owned);
    Ok(RegistryInfo {
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
