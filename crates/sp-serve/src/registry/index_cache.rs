//! The first page of the package index for anonymous clients, cached until something changes.

use std::io::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::Bytes;
use axum::http::{HeaderMap, Method, header};
use axum::response::{IntoResponse, Response};
use flate2::Compression;
use flate2::write::GzEncoder;
use sp_tree::Digest;
use tokio::sync::Mutex;

use crate::registry::error::ApiResult;
use crate::registry::http_content::{HttpContent, HttpContentBytes};
use crate::registry::metadata::{
    Database, IndexPage, MetadataError, MetadataStore, RegistryReader,
};

/// How long the index may show old download counts, or miss what another registry on the same
/// database has just done.
const MAX_AGE: Duration = Duration::from_secs(5);

/// Builds the index, and keeps the last one. Clones share it.
#[derive(Clone)]
pub(crate) struct RegistryIndexCache {
    metadata: MetadataStore,
    cached: Arc<Mutex<Option<CachedRegistryIndex>>>,
}

#[derive(Clone)]
struct CachedRegistryIndex {
    /// The last change that the index includes.
    change_id: i64,
    built_at: Instant,
    plain: Arc<EncodedIndex>,
    gzipped: Arc<EncodedIndex>,
}

/// The index in one content coding.
struct EncodedIndex {
    bytes: Bytes,
    digest: Digest,
}

impl EncodedIndex {
    fn new(bytes: Vec<u8>) -> Arc<Self> {
        Arc::new(Self { digest: Digest::of(&bytes), bytes: bytes.into() })
    }
}

impl RegistryIndexCache {
    pub(crate) fn new(metadata: MetadataStore) -> Self {
        Self { metadata, cached: Arc::default() }
    }

    /// Responds with the index, compressed if the client accepts gzip.
    pub(crate) async fn respond(
        &self,
        method: &Method,
        headers: &HeaderMap,
    ) -> ApiResult<Response> {
        let index = self.current().await?;
        let use_gzip = accepts_gzip(headers);
        let encoded = if use_gzip { &index.gzipped } else { &index.plain };
        let content = HttpContent {
            digest: encoded.digest,
            length: encoded.bytes.len() as u64,
            content_type: "application/json",
            last_modified: None,
            bytes: HttpContentBytes::InMemory(encoded.bytes.clone()),
        };
        let response = content.respond(method, headers).await?;
        let cache_headers =
            [(header::VARY, "accept-encoding, authorization"), (header::CACHE_CONTROL, "no-cache")];
        Ok(if use_gzip {
            (cache_headers, [(header::CONTENT_ENCODING, "gzip")], response).into_response()
        } else {
            (cache_headers, response).into_response()
        })
    }

    /// Returns the current index. One that is older than [`MAX_AGE`] is still returned while a
    /// task builds the next one.
    async fn current(&self) -> ApiResult<CachedRegistryIndex> {
        let change_id = self.metadata.with(Database::last_change_id).await?;
        let mut cached = self.cached.lock().await;
        if let Some(index) = cached.as_mut().filter(|index| index.change_id == change_id) {
            if index.built_at.elapsed() > MAX_AGE {
                index.built_at = Instant::now();
                tokio::spawn(self.clone().refresh());
            }
            return Ok(index.clone());
        }
        let index = self.build().await?;
        *cached = Some(index.clone());
        Ok(index)
    }

    async fn refresh(self) {
        // After a failure the old index stays; the next refresh tries again.
        if let Ok(index) = self.build().await {
            *self.cached.lock().await = Some(index);
        }
    }

    async fn build(&self) -> Result<CachedRegistryIndex, MetadataError> {
        self.metadata.with(build_index).await
    }
}

fn accepts_gzip(headers: &HeaderMap) -> bool {
    let accepted = headers
        .get(header::ACCEPT_ENCODING)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    accepted
        .split(',')
        .any(|coding| coding.split(';').next().is_some_and(|name| name.trim() == "gzip"))
}

fn build_index(database: &Database) -> Result<CachedRegistryIndex, MetadataError> {
    // Read first: a change made while the index is built must invalidate it.
    let change_id = database.last_change_id()?;
    let index = database.index(&IndexPage::first(), &RegistryReader::Anonymous)?;
    let plain = serde_json::to_vec(&index).map_err(|e| MetadataError::Database(e.into()))?;
    let gzipped = gzip(&plain).map_err(|e| MetadataError::Database(e.into()))?;
    Ok(CachedRegistryIndex {
        change_id,
        built_at: Instant::now(),
        plain: EncodedIndex::new(plain),
        gzipped: EncodedIndex::new(gzipped),
    })
}

fn gzip(bytes: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes)?;
    encoder.finish()
}
