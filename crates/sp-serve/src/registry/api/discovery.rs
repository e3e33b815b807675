//! `/.well-known/agent-skills/` and the older `/.well-known/skills/`: all skills of public
//! packages, for other installers.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{Path, State as Shared};
use axum::http::{HeaderMap, HeaderValue, Method, header};
use axum::response::Response;
use sp_tree::{Digest, FileError};

use crate::connections::MAX_PIECE_BYTES;
use crate::registry::discovery::DiscoveryIndexes;
use crate::registry::error::{ApiResult, ResponseError};
use crate::registry::http_content::{HttpContent, HttpContentBytes};
use crate::registry::metadata::RegistryReader;
use crate::registry::object_store::ObjectStore;
use crate::registry::published_skills::PublishedSkills;
use crate::registry::state::AppState;

#[derive(Clone, Copy)]
enum DiscoveryFormat {
    Current,
    Legacy,
}

/// A file below the well-known path.
struct DiscoveryFile {
    format: DiscoveryFormat,
    path: String,
}

pub(super) async fn serve(
    Shared(state): Shared<AppState>,
    Path(file): Path<String>,
    method: Method,
    headers: HeaderMap,
) -> ApiResult<Response> {
    let requested = DiscoveryFile { format: DiscoveryFormat::Current, path: file };
    serve_file(&state, requested, &method, &headers).await
}

pub(super) async fn serve_legacy(
    Shared(state): Shared<AppState>,
    Path(file): Path<String>,
    method: Method,
    headers: HeaderMap,
) -> ApiResult<Response> {
    let requested = DiscoveryFile { format: DiscoveryFormat::Legacy, path: file };
    serve_file(&state, requested, &method, &headers).await
}

async fn serve_file(
    state: &AppState,
    requested: DiscoveryFile,
    method: &Method,
    headers: &HeaderMap,
) -> ApiResult<Response> {
    let packages = state
        .metadata
        .with(|database| database.latest_skill_packages(&RegistryReader::Anonymous))
        .await?;
    let shared = Arc::clone(state);
    // Building a zip takes as much memory as the skill.
    let _permit =
        state.discovery.build_permits.acquire().await.map_err(|_| ResponseError::internal())?;
    let found = tokio::task::spawn_blocking(move || {
        let indexes = shared.discovery.indexes_for(&shared.published_skills, packages)?;
        let file = find_file(&shared.published_skills, &indexes, requested)?;
        let content =
            file.map(|(content_type, bytes)| to_content(&shared.objects, content_type, bytes));
        content.transpose()
    });
    let found = found.await.map_err(|_| ResponseError::internal())?;
    let served = found?.ok_or_else(ResponseError::not_found)?;
    let mut response = served.respond(method, headers).await?;
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    Ok(response)
}

/// Serves small files and shared ones from memory. Large files are streamed from the object store,
/// so that slow clients do not occupy memory. They can be made again, so nothing refers to them.
fn to_content(
    objects: &ObjectStore,
    content_type: &'static str,
    bytes: DiscoveryBytes,
) -> Result<HttpContent, FileError> {
    let (bytes, is_shared) = match bytes {
        DiscoveryBytes::Shared(bytes) => (bytes, true),
        DiscoveryBytes::Own(bytes) => (Bytes::from(bytes), false),
    };
    let (digest, length) = (Digest::of(&bytes), bytes.len() as u64);
    let bytes = if is_shared || bytes.len() <= MAX_PIECE_BYTES {
        HttpContentBytes::InMemory(bytes)
    } else {
        objects.put_derived(&digest, &bytes)?;
        HttpContentBytes::Stored(objects.clone())
    };
    Ok(HttpContent { digest, length, content_type, last_modified: None, bytes })
}

/// The content of a file.
enum DiscoveryBytes {
    /// Of an index, which all requests share.
    Shared(Bytes),
    /// Of a skill, read for this request.
    Own(Vec<u8>),
}

/// Finds a file below the well-known path. Names are looked up and never joined to a path.
fn find_file(
    skills: &PublishedSkills,
    indexes: &DiscoveryIndexes,
    DiscoveryFile { format, path }: DiscoveryFile,
) -> Result<Option<(&'static str, DiscoveryBytes)>, FileError> {
    Ok(match (path.split_once('/'), format) {
        (None, DiscoveryFormat::Current) if path == "index.json" => {
            Some(("application/json", DiscoveryBytes::Shared(indexes.index.clone())))
        }
        (None, DiscoveryFormat::Legacy) if path == "index.json" => {
            Some(("application/json", DiscoveryBytes::Shared(indexes.legacy.clone())))
        }
        (None, _) => {
            let Some(name) = path.strip_suffix(".zip") else { return Ok(None) };
            let zip = indexes.archive(skills, name)?;
            zip.map(|zip| ("application/zip", DiscoveryBytes::Own(zip)))
        }
        (Some((name, file)), _) => {
            let is_text = file.ends_with(".md");
            let content_type =
                if is_text { "text/markdown; charset=utf-8" } else { "application/octet-stream" };
            let bytes = indexes.file(skills, (name, file))?;
            bytes.map(|bytes| (content_type, DiscoveryBytes::Own(bytes)))
        }
    })
}
