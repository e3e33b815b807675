//! Login sessions of the web pages.
//!
//! A session ID is random and stored only as a hash, in the database, so that a session is valid on
//! every registry that uses it. A session refers to the token that it was created with, so revoking
//! the token also ends the session.

use sp_tree::{Digest, to_hex};

use crate::registry::error::{ApiResult, ResponseError};
use crate::registry::metadata::{MetadataStore, NewSession};

/// Lifetime of a session, in seconds.
pub(crate) const SESSION_LIFETIME_SECS: u64 = 12 * 60 * 60;

/// Creates a session for a token that was verified. Returns the session ID, for a cookie.
pub(crate) async fn create_session(
    metadata: &MetadataStore,
    token_hash: Digest,
) -> ApiResult<String> {
    let environment = &metadata.environment;
    let mut bytes = [0; 32];
    environment.fill_random(&mut bytes).map_err(|_| ResponseError::internal())?;
    let id = to_hex(&bytes);
    let (now, expires_at) =
        (environment.timestamp(), environment.timestamp_in(SESSION_LIFETIME_SECS));
    let new = NewSession { hash: session_key(&id), token_hash, expires_at };
    metadata.with(move |database| database.add_session(&new, &now)).await?;
    Ok(id)
}

/// Returns the hash of the session's token, unless the session has expired.
pub(crate) async fn session_token(metadata: &MetadataStore, id: &str) -> ApiResult<Option<Digest>> {
    let (key, now) = (session_key(id), metadata.environment.timestamp());
    Ok(metadata.with(move |database| database.session_token(&key, &now)).await?)
}

pub(crate) async fn end_session(metadata: &MetadataStore, id: &str) -> ApiResult<()> {
    let key = session_key(id);
    Ok(metadata.with(move |database| database.remove_session(&key)).await?)
}

fn session_key(id: &str) -> Digest {
    Digest::of(format!("session {id}").as_bytes())
}

/// The CSRF token of a session's forms. The session ID cannot be derived from it.
pub(crate) fn form_token(id: &str) -> String {
    Digest::of(format!("form {id}").as_bytes()).hex()
}
