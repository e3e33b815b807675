//! A package: what it is, what was verified, what it needs, how one gets it.

use std::sync::Arc;

use askama::Template;
use axum::extract::{Path, State as Shared};
use sp_formats::package::{PackageName, PackageVersion};
use sp_formats::printable::printable;
use sp_formats::registry::{PackageIndex, Place, TrustReport, VersionItem};

use super::visit::{Frame, Visit};
use super::{About, Answer, page, show};
use crate::registry::refusal::Refusal;
use crate::registry::state::State;

/// A version in the list.
struct VersionLine<'a> {
    item: &'a VersionItem,
    day: &'a str,
    size: String,
    is_shown: bool,
}

/// A package that is needed, and where it is, if it is here.
struct Needed {
    name: String,
    range: String,
    optional: bool,
    address: Option<String>,
}

#[derive(Template)]
#[template(path = "package.html")]
struct PackagePage<'a> {
    frame: &'a Frame,
    place: &'a Place,
    index: &'a PackageIndex,
    version: &'a VersionItem,
    versions: Vec<VersionLine<'a>>,
    needed: Vec<Needed>,
    about: Arc<About>,
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
    shared: Shared<State>,
    Path((namespace, name)): Path<(String, String)>,
    visit: Visit,
) -> Answer {
    shown(shared, (namespace, name, None), visit).await
}

pub(super) async fn version(
    shared: Shared<State>,
    Path((namespace, name, version)): Path<(String, String, String)>,
    visit: Visit,
) -> Answer {
    shown(shared, (namespace, name, Some(version)), visit).await
}

async fn shown(
    Shared(state): Shared<State>,
    (namespace, name, version): (String, String, Option<String>),
    visit: Visit,
) -> Answer {
    let place = Place::new(&namespace, &name).map_err(|_| Refusal::not_found())?;
    let (reader, wanted) = (visit.reader(), place.clone());
    let found = state.metadata.with(move |database| database.versions(&wanted, &reader)).await?;
    let index = found.ok_or_else(Refusal::not_found)?;
    // Where everything was yanked, the newest is shown, and says so.
    let wanted = version.or_else(|| index.latest.clone());
    let found = match &wanted {
        Some(version) => index.versions.iter().find(|item| item.version == *version),
        None => index.versions.first(),
    };
    let item = found.ok_or_else(Refusal::not_found)?;
    let (reader, wanted) = (visit.reader(), (place.clone(), item.version.clone()));
    let stored = state.metadata.with(move |database| {
        let stored = database.download(&wanted.0, &wanted.1, &reader)?;
        let said = database.manifest(&wanted.0, &wanted.1, &reader)?;
        Ok(stored.zip(said))
    });
    let (stored, (manifest, report)) = stored.await?.ok_or_else(Refusal::not_found)?;
    let about = About::of(&state, stored.digest).await?;
    let report: TrustReport = serde_json::from_str(&report).map_err(|_| Refusal::internal())?;
    let (kind, description) = said(&manifest);
    page(&PackagePage {
        frame: &visit.frame,
        versions: lines(&index, item),
        needed: needed(item),
        kind,
        description,
        wish: wish(&item.version),
        downloads: show::count(index.downloads),
        size: show::size(item.bytes),
        day: show::day(&item.published_at),
        more_nodes: about.nodes.saturating_sub(about.picture.as_ref().map_or(0, |picture| picture.shown)),
        more_statements: about.nodes.saturating_sub(about.statements.len()),
        place: &place,
        index: &index,
        version: item,
        about,
        report,
    })
}

fn lines<'a>(index: &'a PackageIndex, shown: &VersionItem) -> Vec<VersionLine<'a>> {
    let line = |item: &'a VersionItem| VersionLine {
        item,
        day: show::day(&item.published_at),
        size: show::size(item.bytes),
        is_shown: item.version == shown.version,
    };
    index.versions.iter().map(line).collect()
}

fn needed(item: &VersionItem) -> Vec<Needed> {
    let one = |needed: &sp_formats::registry::NeededItem| {
        let place = PackageName::new(&needed.name).ok().and_then(|name| Place::of(&name).ok());
        Needed {
            name: needed.name.clone(),
            range: needed.range.clone(),
            optional: needed.optional,
            address: place.map(|place| format!("/packages/{}/{}", place.namespace(), place.name())),
        }
    };
    item.dependencies.iter().map(one).collect()
}

/// What a package is for, and what it is about, as its manifest says.
fn said(manifest: &str) -> (String, String) {
    let manifest: serde_json::Value = serde_json::from_str(manifest).unwrap_or_default();
    let text = |key: &str, otherwise: &str| {
        printable(manifest.get(key).and_then(serde_json::Value::as_str).unwrap_or(otherwise)).into_owned()
    };
    (text("kind", "context"), text("description", ""))
}

/// Which versions somebody wants who wants this one: its line, or exactly it if it is no release.
fn wish(version: &str) -> String {
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
    fn one_asks_for_the_line_of_a_release() {
        assert_eq!(
            (wish("1.2.3"), wish("0.4.0"), wish("2.0.0-beta.1")),
            ("^1.2".into(), "^0.4".into(), "2.0.0-beta.1".into())
        );
    }
}
