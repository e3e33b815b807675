//! What is there: the index, a package, a version, its bytes.

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State as Shared};
use axum::http::{HeaderMap, Method, header};
use axum::response::{IntoResponse, Response};
use serde_json::value::RawValue;
use sp_formats::package::PackageVersion;
use sp_formats::registry::{Place, PublishedIndex, RegistryIndex, SHA256_HEADER, SearchAnswer, YANKED_HEADER};

use crate::registry::catalog;
use crate::registry::metadata::{Database, Reader};
use crate::registry::pages::About;
use crate::registry::refusal::Refusal;
use crate::registry::served::{Held, Part, Served};
use crate::registry::state::State;
use crate::registry::tokens::bearer;

type Answer<T> = Result<T, Refusal>;

pub(super) async fn index(Shared(state): Shared<State>, method: Method, headers: HeaderMap) -> Answer<Response> {
    let reader = Reader::of(bearer(&state, &headers).await?.as_ref());
    if reader == Reader::Stranger {
        return catalog::answer(&state, &method, &headers).await;
    }
    let packages = state.metadata.with(move |database| database.index(&reader)).await?;
    Ok(Json(RegistryIndex { packages }).into_response())
}

/// What is looked for, and how much of it is wanted.
#[derive(serde::Deserialize)]
pub(super) struct Sought {
    q: String,
    limit: Option<usize>,
}

/// Longer than this is no search.
const LONGEST_QUERY: usize = 200;
const MOST_FOUND: usize = 100;
const FOUND: usize = 20;

pub(super) async fn search(
    Shared(state): Shared<State>,
    sought: Result<Query<Sought>, QueryRejection>,
    headers: HeaderMap,
) -> Answer<Json<SearchAnswer>> {
    let reader = Reader::of(bearer(&state, &headers).await?.as_ref());
    let Query(Sought { q, limit }) =
        sought.map_err(|_| Refusal::invalid("`q` is missing, or `limit` is no number").help("ask for `?q=words`"))?;
    if q.len() > LONGEST_QUERY {
        return Err(Refusal::invalid(format!("a query has {LONGEST_QUERY} bytes at the most")));
    }
    let most = limit.unwrap_or(FOUND).min(MOST_FOUND);
    let text = q.clone();
    let packages = state.metadata.with(move |database| database.search(&text, most, &reader)).await?;
    Ok(Json(SearchAnswer { query: q, packages }))
}

pub(super) async fn versions(
    Shared(state): Shared<State>,
    Path((namespace, name)): Path<(String, String)>,
    headers: HeaderMap,
) -> Answer<Json<PublishedIndex>> {
    let reader = Reader::of(bearer(&state, &headers).await?.as_ref());
    let place = place(&namespace, &name)?;
    let found = state.metadata.with(move |database| database.versions(&place, &reader)).await?;
    found.map(|index| Json(index.into())).ok_or_else(Refusal::not_found)
}

/// The manifest of a version, and what was said of it when it was published.
#[derive(serde::Serialize, schemars::JsonSchema)]
pub(super) struct Described {
    /// The manifest, as the package has it.
    #[schemars(with = "serde_json::Map<String, serde_json::Value>")]
    manifest: Box<RawValue>,
    #[schemars(with = "sp_formats::registry::TrustReport")]
    report: Box<RawValue>,
}

pub(super) async fn manifest(
    Shared(state): Shared<State>,
    Path((namespace, name, version)): Path<(String, String, String)>,
    headers: HeaderMap,
) -> Answer<Json<Described>> {
    let reader = Reader::of(bearer(&state, &headers).await?.as_ref());
    let place = place(&namespace, &name)?;
    let found = state.metadata.with(move |database| database.manifest(&place, &version, &reader)).await?;
    let (manifest, report) = found.ok_or_else(Refusal::not_found)?;
    let raw = |text: String| RawValue::from_string(text).map_err(|_| Refusal::not_found());
    Ok(Json(Described { manifest: raw(manifest)?, report: raw(report)? }))
}

pub(super) async fn download(
    Shared(state): Shared<State>,
    Path((namespace, name, version)): Path<(String, String, String)>,
    method: Method,
    headers: HeaderMap,
) -> Answer<Response> {
    let reader = Reader::of(bearer(&state, &headers).await?.as_ref());
    let place = place(&namespace, &name)?;
    if PackageVersion::new(&version).is_err() {
        return Err(Refusal::not_found());
    }
    let wanted = place.clone();
    let found = state.metadata.with(move |database| database.download(&wanted, &version, &reader)).await?;
    let found = found.ok_or_else(Refusal::not_found)?;
    let told = [
        (SHA256_HEADER, found.digest.hex()),
        (YANKED_HEADER, found.yanked.to_string()),
        (header::CACHE_CONTROL.as_str(), "private, no-cache".into()),
    ];
    let served = Served {
        digest: found.digest,
        length: found.bytes,
        content_type: "application/json",
        modified: None,
        bytes: Held::Objects,
    };
    // What is resumed was counted when it began.
    let begins = match served.part(&method, &headers) {
        Part::All => method == Method::GET,
        Part::Some(range) => range.start == 0,
        _ => false,
    };
    let response = served.answer(&state, (&method, &headers)).await?;
    if begins {
        state.counts.add(place, 1);
    }
    Ok((told, response).into_response())
}

/// The README of a version, or what its only skill says.
pub(super) async fn readme(
    Shared(state): Shared<State>,
    Path((namespace, name, version)): Path<(String, String, String)>,
    headers: HeaderMap,
) -> Answer<Response> {
    let reader = Reader::of(bearer(&state, &headers).await?.as_ref());
    let place = place(&namespace, &name)?;
    let found = state.metadata.with(move |database| database.download(&place, &version, &reader)).await?;
    let about = About::of(&state, found.ok_or_else(Refusal::not_found)?.digest).await?;
    let text = about.readme.clone().ok_or_else(Refusal::not_found)?;
    Ok(([(header::CONTENT_TYPE, "text/plain; charset=utf-8")], text).into_response())
}

pub(super) async fn ready(Shared(state): Shared<State>) -> Answer<&'static str> {
    state.metadata.with(Database::is_well).await?;
    Ok("ready\n")
}

/// A place that a path names. One that cannot be is not there.
pub(super) fn place(namespace: &str, name: &str) -> Answer<Place> {
    Place::new(namespace, name).map_err(|_| Refusal::not_found())
}
