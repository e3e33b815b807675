//! Reading packages: index, search, versions, manifest, download, README.

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State as Shared};
use axum::http::{HeaderMap, Method, header};
use axum::response::{IntoResponse, Response};
use serde_json::value::RawValue;
use sp_formats::package::PackageVersion;
use sp_formats::registry::{
    PublishedPackageIndex, RegistryPackageName, RegistrySearchResponse, SHA256_HEADER,
    YANKED_HEADER,
};

use crate::registry::error::{ApiResult, ResponseError};
use crate::registry::http_content::{ConditionalOutcome, HttpContent, HttpContentBytes};
use crate::registry::metadata::{IndexPage, RegistryReader};
use crate::registry::state::AppState;
use crate::registry::tokens::authenticate;

#[derive(Default, PartialEq, Eq, serde::Deserialize)]
pub(super) struct IndexParams {
    after: Option<String>,
    limit: Option<usize>,
}

pub(super) async fn index(
    Shared(state): Shared<AppState>,
    query: Result<Query<IndexParams>, QueryRejection>,
    method: Method,
    headers: HeaderMap,
) -> ApiResult<Response> {
    let Query(params) = query.map_err(|_| ResponseError::invalid("invalid `limit`"))?;
    let reader =
        RegistryReader::from_owner(authenticate(&state.metadata, &headers).await?.as_ref());
    if reader == RegistryReader::Anonymous && params == IndexParams::default() {
        return state.index_cache.respond(&method, &headers).await;
    }
    let page = params.page()?;
    let index = state.metadata.with(move |database| database.index(&page, &reader)).await?;
    Ok(([(header::CACHE_CONTROL, "private, no-cache")], Json(index)).into_response())
}

impl IndexParams {
    fn page(self) -> ApiResult<IndexPage> {
        let after = self.after.map(|text| {
            let parts = text.split_once('/');
            parts.and_then(|(namespace, name)| RegistryPackageName::new(namespace, name).ok())
        });
        let after = match after {
            Some(None) => {
                return Err(ResponseError::invalid("`after` must have the form `namespace/name`"));
            }
            after => after.flatten(),
        };
        let limit = self.limit.unwrap_or(IndexPage::MAX_PACKAGES);
        if !(1..=IndexPage::MAX_PACKAGES).contains(&limit) {
            let most = IndexPage::MAX_PACKAGES;
            return Err(ResponseError::invalid(format!("`limit` must be between 1 and {most}")));
        }
        Ok(IndexPage { after, limit })
    }
}

#[derive(serde::Deserialize)]
pub(super) struct SearchParams {
    q: String,
    limit: Option<usize>,
}

const MAX_QUERY_BYTES: usize = 200;
const MAX_RESULTS: usize = 100;
const DEFAULT_RESULTS: usize = 20;

pub(super) async fn search(
    Shared(state): Shared<AppState>,
    query: Result<Query<SearchParams>, QueryRejection>,
    headers: HeaderMap,
) -> ApiResult<Json<RegistrySearchResponse>> {
    let reader =
        RegistryReader::from_owner(authenticate(&state.metadata, &headers).await?.as_ref());
    let Query(SearchParams { q, limit }) = query.map_err(|_| {
        ResponseError::invalid("missing `q`, or invalid `limit`").with_help("use `?q=<words>`")
    })?;
    if q.len() > MAX_QUERY_BYTES {
        return Err(ResponseError::invalid(format!(
            "the query is longer than {MAX_QUERY_BYTES} bytes"
        )));
    }
    let most = limit.unwrap_or(DEFAULT_RESULTS).min(MAX_RESULTS);
    let text = q.clone();
    let packages =
        state.metadata.with(move |database| database.search(&text, most, &reader)).await?;
    Ok(Json(RegistrySearchResponse { query: q, packages }))
}

pub(super) async fn versions(
    Shared(state): Shared<AppState>,
    Path((namespace, name)): Path<(String, String)>,
    headers: HeaderMap,
) -> ApiResult<Json<PublishedPackageIndex>> {
    let reader =
        RegistryReader::from_owner(authenticate(&state.metadata, &headers).await?.as_ref());
    let package = package_name(&namespace, &name)?;
    let found = state.metadata.with(move |database| database.versions(&package, &reader)).await?;
    found.map(|index| Json(index.into())).ok_or_else(ResponseError::not_found)
}

/// A version never changes. It can still be deleted or become private, so caches ask again every
/// day.
const PUBLIC_DOWNLOAD: &str = "public, max-age=86400, immutable";

/// The manifest of a version, and the report of its verification when it was published.
#[derive(serde::Serialize, schemars::JsonSchema)]
pub(super) struct VersionDetails {
    /// The manifest, exactly as in the package.
    #[schemars(with = "serde_json::Map<String, serde_json::Value>")]
    manifest: Box<RawValue>,
    #[schemars(with = "sp_formats::registry::TrustReport")]
    report: Box<RawValue>,
}

pub(super) async fn manifest(
    Shared(state): Shared<AppState>,
    Path((namespace, name, version)): Path<(String, String, String)>,
    headers: HeaderMap,
) -> ApiResult<Json<VersionDetails>> {
    let reader =
        RegistryReader::from_owner(authenticate(&state.metadata, &headers).await?.as_ref());
    let package = package_name(&namespace, &name)?;
    let found =
        state.metadata.with(move |database| database.manifest(&package, &version, &reader)).await?;
    let (manifest, report) = found.ok_or_else(ResponseError::not_found)?;
    let raw = |text: String| RawValue::from_string(text).map_err(|_| ResponseError::not_found());
    Ok(Json(VersionDetails { manifest: raw(manifest)?, report: raw(report)? }))
}

pub(super) async fn download(
    Shared(state): Shared<AppState>,
    Path((namespace, name, version)): Path<(String, String, String)>,
    method: Method,
    headers: HeaderMap,
) -> ApiResult<Response> {
    let reader =
        RegistryReader::from_owner(authenticate(&state.metadata, &headers).await?.as_ref());
    let package = package_name(&namespace, &name)?;
    if PackageVersion::new(&version).is_err() {
        return Err(ResponseError::not_found());
    }
    let requested = package.clone();
    let found = state
        .metadata
        .with(move |database| database.find_version_or_tombstone(&requested, &version, &reader))
        .await?;
    let found = found.ok_or_else(ResponseError::not_found)?;
    if found.deleted {
        return Err(ResponseError::deleted());
    }
    let is_public = !found.private && !state.login_required;
    let cache_control = if is_public { PUBLIC_DOWNLOAD } else { "private, no-cache" };
    let extra_headers = [
        (SHA256_HEADER, found.digest.hex()),
        (YANKED_HEADER, found.yanked.to_string()),
        (header::CACHE_CONTROL.as_str(), cache_control.into()),
    ];
    let served = HttpContent {
        digest: found.digest,
        length: found.bytes,
        content_type: "application/json",
        last_modified: None,
        bytes: HttpContentBytes::Stored(state.objects.clone()),
    };
    let starts_download = starts_download(&served, &method, &headers);
    let response = served.respond(&method, &headers).await?;
    if starts_download {
        state.download_counts.add(package, 1);
    }
    Ok((extra_headers, response).into_response())
}

/// Returns whether a request gets the first byte, so that a resumed download is counted once.
fn starts_download(content: &HttpContent, method: &Method, headers: &HeaderMap) -> bool {
    match content.evaluate(method, headers) {
        ConditionalOutcome::Full => *method == Method::GET,
        ConditionalOutcome::Range(range) => range.start == 0,
        _ => false,
    }
}

/// Returns the README of a version, or the body of its only skill.
pub(super) async fn readme(
    Shared(state): Shared<AppState>,
    Path((namespace, name, version)): Path<(String, String, String)>,
    headers: HeaderMap,
) -> ApiResult<Response> {
    let reader =
        RegistryReader::from_owner(authenticate(&state.metadata, &headers).await?.as_ref());
    let package = package_name(&namespace, &name)?;
    let found = state
        .metadata
        .with(move |database| database.find_version(&package, &version, &reader))
        .await?;
    let found = found.ok_or_else(ResponseError::not_found)?;
    let view = state.package_views.load(found.digest).await?;
    let text = view.readme.clone().ok_or_else(ResponseError::not_found)?;
    Ok(([(header::CONTENT_TYPE, "text/plain; charset=utf-8")], text).into_response())
}

pub(super) async fn ready(Shared(state): Shared<AppState>) -> ApiResult<&'static str> {
    state.readiness.check(&state.metadata, &state.objects).await?;
    Ok("ready\n")
}

/// Parses a package name from a path. Invalid names are not found.
pub(super) fn package_name(namespace: &str, name: &str) -> ApiResult<RegistryPackageName> {
    RegistryPackageName::new(namespace, name).map_err(|_| ResponseError::not_found())
}
