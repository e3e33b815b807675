//! The index of everything, as strangers see it: written once for all who ask until something changes.

use std::io::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::Bytes;
use axum::http::{HeaderMap, Method, header};
use axum::response::{IntoResponse, Response};
use flate2::Compression;
use flate2::write::GzEncoder;
use sp_formats::registry::RegistryIndex;
use sp_tree::Digest;
use tokio::sync::Mutex;

use crate::registry::error::ResponseError;
use crate::registry::http_content::{HttpContent, HttpContentBytes};
use crate::registry::metadata::{Database, MetadataError, RegistryReader};
use crate::registry::state::AppState;

/// So long counts of downloads in the index may be old, and what another registry on the same database has just done.
const MAX_AGE: Duration = Duration::from_secs(5);

/// The index that was written last.
#[derive(Default)]
pub(crate) struct RegistryIndexCache {
    cached: Mutex<Option<CachedRegistryIndex>>,
}

#[derive(Clone)]
struct CachedRegistryIndex {
    /// The last change that it knows of.
    change_id: i64,
    built_at: Instant,
    plain: Arc<EncodedIndex>,
    gzipped: Arc<EncodedIndex>,
}

/// A form of it.
struct EncodedIndex {
    bytes: Bytes,
    digest: Digest,
}

impl EncodedIndex {
    fn new(bytes: Vec<u8>) -> Arc<Self> {
        Arc::new(Self { digest: Digest::of(&bytes), bytes: bytes.into() })
    }
}

/// Answers with the index, packed where that is understood.
pub(crate) async fn serve_index(
    state: &AppState,
    method: &Method,
    headers: &HeaderMap,
) -> Result<Response, ResponseError> {
    let written = current_index(state).await?;
    let accepted = headers
        .get(header::ACCEPT_ENCODING)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    let takes_gzip = accepted
        .split(',')
        .any(|one| one.split(';').next().is_some_and(|name| name.trim() == "gzip"));
    let form = if takes_gzip { &written.gzipped } else { &written.plain };
    let served = HttpContent {
        digest: form.digest,
        length: form.bytes.len() as u64,
        content_type: "application/json",
        last_modified: None,
        bytes: HttpContentBytes::InMemory(form.bytes.clone()),
    };
    let response = served.respond(state, (method, headers)).await?;
    let told =
        [(header::VARY, "accept-encoding, authorization"), (header::CACHE_CONTROL, "no-cache")];
    let packed = takes_gzip.then_some([(header::CONTENT_ENCODING, "gzip")]);
    Ok(match packed {
        Some(packed) => (told, packed, response).into_response(),
        None => (told, response).into_response(),
    })
}

/// The index as it is now. One that is only a little old is given to whoever asks while the next one is written.
async fn current_index(state: &AppState) -> Result<CachedRegistryIndex, ResponseError> {
    let change = state.metadata.with(Database::last_change_id).await?;
    let mut written = state.index_cache.cached.lock().await;
    if let Some(known) = written.as_mut().filter(|known| known.change_id == change) {
        if known.built_at.elapsed() > MAX_AGE {
            known.built_at = Instant::now();
            tokio::spawn(refresh_index(AppState::clone(state)));
        }
        return Ok(known.clone());
    }
    let new = build_index(state).await?;
    *written = Some(new.clone());
    Ok(new)
}

async fn refresh_index(state: AppState) {
    // One that cannot be written now is written when the next one asks.
    if let Ok(new) = build_index(&state).await {
        *state.index_cache.cached.lock().await = Some(new);
    }
}

async fn build_index(state: &AppState) -> Result<CachedRegistryIndex, MetadataError> {
    state
        .metadata
        .with(|database| {
            // First, so that what changes meanwhile is not taken for known.
            let change = database.last_change_id()?;
            let index = RegistryIndex { packages: database.index(&RegistryReader::Anonymous)? };
            let plain =
                serde_json::to_vec(&index).map_err(|e| MetadataError::Database(e.into()))?;
            let packed = gzip(&plain).map_err(|e| MetadataError::Database(e.into()))?;
            Ok(CachedRegistryIndex {
                change_id: change,
                built_at: Instant::now(),
                plain: EncodedIndex::new(plain),
                gzipped: EncodedIndex::new(packed),
            })
        })
        .await
}

fn gzip(bytes: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes)?;
    encoder.finish()
}
