//! The page of a package: description, trust report, dependencies, versions, installation.

use std::sync::Arc;

use askama::Template;
use axum::extract::{Path, State as Shared};
use sp_formats::package::{PackageName, PackageVersion};
use sp_formats::printable::printable;
use sp_formats::registry::{
    PackageIndex, PackageVersionItem, RegistryDependencyItem, RegistryPackageName, TrustReport,
};
use sp_formats::text::{ByteSize, group_digits};

use super::visitor::{PageLayout, PageVisitor};
use super::{PageResult, display, render_page};
use crate::registry::error::ResponseError;
use crate::registry::metadata::StoredVersion;
use crate::registry::package_view::PackageContentView;
use crate::registry::state::AppState;

struct VersionView<'a> {
    item: &'a PackageVersionItem,
    day: &'a str,
    size: String,
    is_shown: bool,
}

/// A dependency, with a link if it can be in this registry.
struct DependencyView {
    name: String,
    range: String,
    optional: bool,
    address: Option<String>,
}

#[derive(Template)]
#[template(path = "package.html")]
struct PackagePage<'a> {
    frame: &'a PageLayout,
    place: &'a RegistryPackageName,
    index: &'a PackageIndex,
    version: &'a PackageVersionItem,
    versions: Vec<VersionView<'a>>,
    needed: Vec<DependencyView>,
    about: Arc<PackageContentView>,
    report: TrustReport,
    kind: String,
    description: String,
    wish: String,
    downloads: String,
    size: String,
    day: &'a str,
    more_nodes: usize,
    more_statements: usize,
}

pub(super) async fn latest(
    shared: Shared<AppState>,
    Path((namespace, name)): Path<(String, String)>,
    visit: PageVisitor,
) -> PageResult {
    render_package(shared, PageTarget { namespace, name, version: None }, visit).await
}

pub(super) async fn version(
    shared: Shared<AppState>,
    Path((namespace, name, version)): Path<(String, String, String)>,
    visit: PageVisitor,
) -> PageResult {
    let target = PageTarget { namespace, name, version: Some(version) };
    render_package(shared, target, visit).await
}

/// The package that a page shows.
struct PageTarget {
    namespace: String,
    name: String,
    /// None for the latest version.
    version: Option<String>,
}

/// A package and one of its versions.
struct ShownPackage {
    index: PackageIndex,
    /// The number of the version in the index.
    number: usize,
    stored: StoredVersion,
    manifest: String,
    report: TrustReport,
}

async fn render_package(
    Shared(state): Shared<AppState>,
    target: PageTarget,
    visit: PageVisitor,
) -> PageResult {
    let package = RegistryPackageName::new(&target.namespace, &target.name)
        .map_err(|_| ResponseError::not_found())?;
    let shown = load_package(&state, &package, target.version, &visit).await?;
    let about = state.package_views.load(shown.stored.digest).await?;
    let index = &shown.index;
    let item = &index.versions[shown.number];
    let ManifestSummary { kind, description } = manifest_summary(&shown.manifest);
    let drawn_nodes = about.picture.as_ref().map_or(0, |picture| picture.shown);
    render_page(&PackagePage {
        frame: &visit.layout,
        versions: version_views(index, item),
        needed: dependency_views(item),
        kind,
        description,
        wish: suggested_range(&item.version),
        downloads: group_digits(index.downloads),
        size: ByteSize(item.bytes).to_string(),
        day: display::date(&item.published_at),
        more_nodes: about.nodes.saturating_sub(drawn_nodes),
        more_statements: about.nodes.saturating_sub(about.statements.len()),
        place: &package,
        index,
        version: item,
        about,
        report: shown.report,
    })
}

async fn load_package(
    state: &AppState,
    package: &RegistryPackageName,
    version: Option<String>,
    visit: &PageVisitor,
) -> Result<ShownPackage, ResponseError> {
    let (reader, name) = (visit.reader(), package.clone());
    let found = state.metadata.with(move |database| database.versions(&name, &reader)).await?;
    let index = found.ok_or_else(ResponseError::not_found)?;
    // If all versions are yanked, show the newest one.
    let number = match version.as_ref().or(index.latest.as_ref()) {
        Some(version) => index.versions.iter().position(|item| item.version == *version),
        None => (!index.versions.is_empty()).then_some(0),
    };
    let number = number.ok_or_else(ResponseError::not_found)?;
    let (reader, name) = (visit.reader(), package.clone());
    let version = index.versions[number].version.clone();
    let stored = state.metadata.with(move |database| {
        let stored = database.find_version(&name, &version, &reader)?;
        let manifest = database.manifest(&name, &version, &reader)?;
        Ok(stored.zip(manifest))
    });
    let (stored, (manifest, report)) = stored.await?.ok_or_else(ResponseError::not_found)?;
    let report = serde_json::from_str(&report).map_err(|_| ResponseError::internal())?;
    Ok(ShownPackage { index, number, stored, manifest, report })
}

fn version_views<'a>(index: &'a PackageIndex, shown: &PackageVersionItem) -> Vec<VersionView<'a>> {
    let view = |item: &'a PackageVersionItem| VersionView {
        item,
        day: display::date(&item.published_at),
        size: ByteSize(item.bytes).to_string(),
        is_shown: item.version == shown.version,
    };
    index.versions.iter().map(view).collect()
}

fn dependency_views(item: &PackageVersionItem) -> Vec<DependencyView> {
    let view = |dependency: &RegistryDependencyItem| {
        let package = PackageName::new(&dependency.name)
            .ok()
            .and_then(|name| RegistryPackageName::from_package_name(&name).ok());
        DependencyView {
            name: dependency.name.clone(),
            range: dependency.range.clone(),
            optional: dependency.optional,
            address: package
                .map(|package| format!("/packages/{}/{}", package.namespace(), package.name())),
        }
    };
    item.dependencies.iter().map(view).collect()
}

/// What the page shows of a manifest.
struct ManifestSummary {
    kind: String,
    description: String,
}

fn manifest_summary(manifest: &str) -> ManifestSummary {
    let manifest: serde_json::Value = serde_json::from_str(manifest).unwrap_or_default();
    let text = |key: &str, otherwise: &str| {
        printable(manifest.get(key).and_then(serde_json::Value::as_str).unwrap_or(otherwise))
            .into_owned()
    };
    ManifestSummary { kind: text("kind", "context"), description: text("description", "") }
}

/// The suggested version range: compatible versions, or exactly this one if it is a pre-release.
fn suggested_range(version: &str) -> String {
    let is_release = PackageVersion::new(version).is_ok_and(|version| !version.is_pre_release());
    let mut parts = version.split('.');
    match (is_release, parts.next(), parts.next()) {
        (true, Some(major), Some(minor)) => format!("^{major}.{minor}"),
        _ => version.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suggests_compatible_versions_of_a_release() {
        assert_eq!(
            (suggested_range("1.2.3"), suggested_range("0.4.0"), suggested_range("2.0.0-beta.1")),
            ("^1.2".into(), "^0.4".into(), "2.0.0-beta.1".into())
        );
    }
}
