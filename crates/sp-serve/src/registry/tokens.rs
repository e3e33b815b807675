//! Tokens: 256 random bits, shown once, of which only a hash is kept.

use axum::http::HeaderMap;
use schemars::JsonSchema;
use serde::Serialize;
use sp_formats::registry::{PUBLISH_PREFIX, READ_PREFIX};
use sp_tree::{Digest, to_hex};

use crate::connections::bearer_token;
use crate::registry::metadata::{Bearer, Scope};
use crate::registry::refusal::Refusal;
use crate::registry::state::State;
use crate::registry::watch;

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
    let Some(token) = bearer_token(headers) else { return Ok(None) };
    let token = token.ok_or_else(Refusal::unauthorized)?;
    let found = holder(state, token).await?;
    found.map(|(_, bearer)| Some(bearer)).ok_or_else(Refusal::unauthorized)
}

/// Whose token this is, with its hash; none if it is nobody's, or was revoked.
pub(crate) async fn holder(state: &State, token: &str) -> Result<Option<(Digest, Bearer)>, Refusal> {
    let is_ours = token.starts_with(PUBLISH_PREFIX) || token.starts_with(READ_PREFIX);
    if !is_ours || token.len() > 128 {
        return Ok(None);
    }
    let hash = hash(token);
    let found = state.metadata.with(move |database| database.bearer(&hash)).await?;
    if let Some(known) = &found {
        watch::remember_user(&known.user);
    }
    Ok(found.map(|bearer| (hash, bearer)))
}

/// A token, shown once.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Minted {
    pub id: i64,
    pub user: String,
    pub scope: String,
    pub token: String,
}

/// Makes a token for somebody, as somebody else wants it.
pub(crate) async fn issue(state: &State, who: &Bearer, user: &str, scope: &str) -> Result<Minted, Refusal> {
    if !is_user(user) {
        return Err(Refusal::invalid("`user` has 1 to 64 letters, digits, `-`, `_`, `.` and `@`"));
    }
    let scope = Scope::of(scope).filter(|scope| *scope != Scope::Admin);
    let scope = scope.ok_or_else(|| Refusal::invalid("`scope` is `publish` or `read`"))?;
    let token = mint(state, scope).map_err(|e| sp_tree::FileError::new("draw", "random bytes", e))?;
    let (hash, at) = (hash(&token), state.timestamp());
    let bearer = Bearer { user: user.into(), scope };
    let who = who.clone();
    let id = state.metadata.with(move |database| database.add_token(&bearer, &hash, &who, &at)).await?;
    Ok(Minted { id, user: user.into(), scope: scope.word().into(), token })
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
