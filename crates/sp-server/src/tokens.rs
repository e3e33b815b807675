//! Tokens: 256 random bits, shown once, of which only a hash is kept.

use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;
use sp_formats::registry::{PUBLISH_PREFIX, READ_PREFIX};
use sp_tree::{Digest, to_hex};

use crate::metadata::{Bearer, Scope};
use crate::refusal::Refusal;
use crate::state::State;
use crate::watch;

const BYTES: usize = 32;

/// A new token. It is the only time that anybody sees it.
pub(crate) fn mint(state: &State, scope: Scope) -> std::io::Result<String> {
    let mut bytes = [0; BYTES];
    (state.surroundings.random)(&mut bytes)?;
    let prefix = if scope == Scope::Read { READ_PREFIX } else { PUBLISH_PREFIX };
    Ok(format!("{prefix}{}", to_hex(&bytes)))
}

/// What is kept of a token.
pub(crate) fn hash(token: &str) -> Digest {
    Digest::of(token.as_bytes())
}

/// Whether a text names somebody.
pub(crate) fn is_user(text: &str) -> bool {
    let is_known = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.@".contains(&byte);
    (1..=64).contains(&text.len()) && text.bytes().all(is_known)
}

/// Who asks; none without a token. A token that is none, or was revoked, is refused.
pub(crate) async fn bearer(state: &State, headers: &HeaderMap) -> Result<Option<Bearer>, Refusal> {
    let Some(value) = headers.get(AUTHORIZATION) else { return Ok(None) };
    let token =
        value.to_str().ok().and_then(|value| value.strip_prefix("Bearer ")).ok_or_else(Refusal::unauthorized)?;
    let is_ours = token.starts_with(PUBLISH_PREFIX) || token.starts_with(READ_PREFIX);
    if !is_ours || token.len() > 128 {
        return Err(Refusal::unauthorized());
    }
    let hash = hash(token);
    let found = state.metadata.with(move |database| database.bearer(&hash)).await?;
    let known = found.ok_or_else(Refusal::unauthorized)?;
    watch::remember_user(&known.user);
    Ok(Some(known))
}

/// Who asks, if that may publish.
pub(crate) async fn publisher(state: &State, headers: &HeaderMap) -> Result<Bearer, Refusal> {
    match bearer(state, headers).await? {
        Some(bearer) if bearer.scope != Scope::Read => Ok(bearer),
        _ => Err(Refusal::unauthorized()),
    }
}

/// Who asks, if that may do everything.
pub(crate) async fn admin(state: &State, headers: &HeaderMap) -> Result<Bearer, Refusal> {
    match bearer(state, headers).await? {
        Some(bearer) if bearer.scope == Scope::Admin => Ok(bearer),
        _ => Err(Refusal::unauthorized()),
    }
}
