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

use crate::registry::metadata::{Database, MetadataError, Reader};
use crate::registry::refusal::Refusal;
use crate::registry::served::{Held, Served};
use crate::registry::state::State;

/// So long counts of downloads in the index may be old, and what another registry on the same database has just done.
const OLD: Duration = Duration::from_secs(5);

/// The index that was written last.
#[derive(Default)]
pub(crate) struct Catalog {
    written: Mutex<Option<Written>>,
}

#[derive(Clone)]
struct Written {
    /// The last change that it knows of.
    change: i64,
    at: Instant,
    plain: Arc<Form>,
    packed: Arc<Form>,
}

/// A form of it.
struct Form {
    bytes: Bytes,
    digest: Digest,
}

impl Form {
    fn new(bytes: Vec<u8>) -> Arc<Self> {
        Arc::new(Self { digest: Digest::of(&bytes), bytes: bytes.into() })
    }
}

/// Answers with the index, packed where that is understood.
pub(crate) async fn answer(state: &State, method: &Method, headers: &HeaderMap) -> Result<Response, Refusal> {
    let written = current(state).await?;
    let accepted = headers.get(header::ACCEPT_ENCODING).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let takes_gzip = accepted.split(',').any(|one| one.split(';').next().is_some_and(|name| name.trim() == "gzip"));
    let form = if takes_gzip { &written.packed } else { &written.plain };
    let served = Served {
        digest: form.digest,
        length: form.bytes.len() as u64,
        content_type: "application/json",
        modified: None,
        bytes: Held::Here(form.bytes.clone()),
    };
    let response = served.answer(state, (method, headers)).await?;
    let told = [(header::VARY, "accept-encoding, authorization"), (header::CACHE_CONTROL, "no-cache")];
    let packed = takes_gzip.then_some([(header::CONTENT_ENCODING, "gzip")]);
    Ok(match packed {
        Some(packed) => (told, packed, response).into_response(),
        None => (told, response).into_response(),
    })
}

/// The index as it is now. One that is only a little old is given to whoever asks while the next one is written.
async fn current(state: &State) -> Result<Written, Refusal> {
    let change = state.metadata.with(Database::last_change).await?;
    let mut written = state.catalog.written.lock().await;
    if let Some(known) = written.as_mut().filter(|known| known.change == change) {
        if known.at.elapsed() > OLD {
            known.at = Instant::now();
            tokio::spawn(renew(State::clone(state)));
        }
        return Ok(known.clone());
    }
    let new = write(state).await?;
    *written = Some(new.clone());
    Ok(new)
}

async fn renew(state: State) {
    // One that cannot be written now is written when the next one asks.
    if let Ok(new) = write(&state).await {
        *state.catalog.written.lock().await = Some(new);
    }
}

async fn write(state: &State) -> Result<Written, MetadataError> {
    state
        .metadata
        .with(|database| {
            // First, so that what changes meanwhile is not taken for known.
            let change = database.last_change()?;
            let index = RegistryIndex { packages: database.index(&Reader::Stranger)? };
            let plain = serde_json::to_vec(&index).map_err(|e| MetadataError::Database(e.into()))?;
            let packed = packed(&plain).map_err(|e| MetadataError::Database(e.into()))?;
            Ok(Written { change, at: Instant::now(), plain: Form::new(plain), packed: Form::new(packed) })
        })
        .await
}

fn packed(bytes: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes)?;
    encoder.finish()
}
