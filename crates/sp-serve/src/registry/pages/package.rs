//! The page of a package: description, trust report, dependencies, versions, installation.

use std::sync::Arc;

use askama::Template;
use axum::extract::{Path, State as Shared};
use sp_formats::package::{PackageName, PackageVersion};
use sp_formats::printable::printable;
use sp_formats::registry::{PackageIndex, PackageVersionItem, RegistryPackageName, TrustReport};

use super::visitor::{PageLayout, PageVisitor};
use super::{PageResult, display, render_page};
use crate::registry::error::ResponseError;
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
    render_package(shared, (namespace, name, None), visit).await
}

pub(super) async fn version(
    shared: Shared<AppState>,
    Path((namespace, name, version)): Path<(String, String, String)>,
    visit: PageVisitor,
) -> PageResult {
    render_package(shared, (namespace, name, Some(version)), visit).await
}

async fn render_package(
    Shared(state): Shared<AppState>,
    (namespace, name, version): (String, String, Option<String>),
    visit: PageVisitor,
) -> PageResult {
    let place =
        RegistryPackageName::new(&namespace, &name).map_err(|_| ResponseError::not_found())?;
    let (reader, requested) = (visit.reader(), place.clone());
    let found = state.metadata.with(move |database| database.versions(&requested, &reader)).await?;
    let index = found.ok_or_else(ResponseError::not_found)?;
    // If all versions are yanked, show the newest one.
    let requested = version.or_else(|| index.latest.clone());
    let found = match &requested {
        Some(version) => index.versions.iter().find(|item| item.version == *version),
        None => index.versions.first(),
    };
    let item = found.ok_or_else(ResponseError::not_found)?;
    let (reader, requested) = (visit.reader(), (place.clone(), item.version.clone()));
    let stored = state.metadata.with(move |database| {
        let stored = database.find_version(&requested.0, &requested.1, &reader)?;
        let manifest = database.manifest(&requested.0, &requested.1, &reader)?;
        Ok(stored.zip(manifest))
    });
    let (stored, (manifest, report)) = stored.await?.ok_or_else(ResponseError::not_found)?;
    let about = state.package_views.load(stored.digest).await?;
    let report: TrustReport =
        serde_json::from_str(&report).map_err(|_| ResponseError::internal())?;
    let (kind, description) = manifest_summary(&manifest);
    render_page(&PackagePage {
        frame: &visit.layout,
        versions: version_views(&index, item),
        needed: dependency_views(item),
        kind,
        description,
        wish: suggested_range(&item.version),
        downloads: display::count(index.downloads),
        size: display::size(item.bytes),
        day: display::date(&item.published_at),
        more_nodes: about
            .nodes
            .saturating_sub(about.picture.as_ref().map_or(0, |picture| picture.shown)),
        more_statements: about.nodes.saturating_sub(about.statements.len()),
        place: &place,
        index: &index,
        version: item,
        about,
        report,
    })
}

fn version_views<'a>(index: &'a PackageIndex, shown: &PackageVersionItem) -> Vec<VersionView<'a>> {
    let line = |item: &'a PackageVersionItem| VersionView {
        item,
        day: display::date(&item.published_at),
        size: display::size(item.bytes),
        is_shown: item.version == shown.version,
    };
    index.versions.iter().map(line).collect()
}

fn dependency_views(item: &PackageVersionItem) -> Vec<DependencyView> {
    let one = |needed: &sp_formats::registry::RegistryDependencyItem| {
        let place = PackageName::new(&needed.name)
            .ok()
            .and_then(|name| RegistryPackageName::from_package_name(&name).ok());
        DependencyView {
            name: needed.name.clone(),
            range: needed.range.clone(),
            optional: needed.optional,
            address: place.map(|place| format!("/packages/{}/{}", place.namespace(), place.name())),
        }
    };
    item.dependencies.iter().map(one).collect()
}

/// The kind and the description in a manifest.
fn manifest_summary(manifest: &str) -> (String, String) {
    let manifest: serde_json::Value = serde_json::from_str(manifest).unwrap_or_default();
    let text = |key: &str, otherwise: &str| {
        printable(manifest.get(key).and_then(serde_json::Value::as_str).unwrap_or(otherwise))
            .into_owned()
    };
    (text("kind", "context"), text("description", ""))
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
