//! Tokens: 256 random bits, shown once, of which only a hash is kept.

use axum::http::HeaderMap;
use schemars::JsonSchema;
use serde::Serialize;
use sp_formats::registry::{PUBLISH_TOKEN_PREFIX, READ_TOKEN_PREFIX};
use sp_tree::{Digest, to_hex};

use crate::connections::bearer_token;
use crate::registry::error::ResponseError;
use crate::registry::metadata::{TokenOwner, TokenScope};
use crate::registry::middleware;
use crate::registry::state::AppState;

const TOKEN_BYTES: usize = 32;

/// A new token. It is the only time that anybody sees it.
pub(crate) fn generate_token(state: &AppState, scope: TokenScope) -> std::io::Result<String> {
    let mut bytes = [0; TOKEN_BYTES];
    (state.environment.random)(&mut bytes)?;
    let prefix = if scope == TokenScope::Read { READ_TOKEN_PREFIX } else { PUBLISH_TOKEN_PREFIX };
    Ok(format!("{prefix}{}", to_hex(&bytes)))
}

/// What is kept of a token.
pub(crate) fn hash_token(token: &str) -> Digest {
    Digest::of(token.as_bytes())
}

/// Whether a text names somebody.
pub(crate) fn is_valid_username(text: &str) -> bool {
    let is_known = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.@".contains(&byte);
    (1..=64).contains(&text.len()) && text.bytes().all(is_known)
}

/// Who asks; none without a token. A token that is none, or was revoked, is refused.
pub(crate) async fn authenticate(
    state: &AppState,
    headers: &HeaderMap,
) -> Result<Option<TokenOwner>, ResponseError> {
    let Some(token) = bearer_token(headers) else { return Ok(None) };
    let token = token.ok_or_else(ResponseError::unauthorized)?;
    let found = find_token_owner(state, token).await?;
    found.map(|(_, bearer)| Some(bearer)).ok_or_else(ResponseError::unauthorized)
}

/// Whose token this is, with its hash; none if it is nobody's, or was revoked.
pub(crate) async fn find_token_owner(
    state: &AppState,
    token: &str,
) -> Result<Option<(Digest, TokenOwner)>, ResponseError> {
    let is_ours = token.starts_with(PUBLISH_TOKEN_PREFIX) || token.starts_with(READ_TOKEN_PREFIX);
    if !is_ours || token.len() > 128 {
        return Ok(None);
    }
    let hash = hash_token(token);
    let found = state.metadata.with(move |database| database.token_owner(&hash)).await?;
    if let Some(known) = &found {
        middleware::record_user(&known.user);
    }
    Ok(found.map(|bearer| (hash, bearer)))
}

/// A token, shown once.
#[derive(Serialize, JsonSchema)]
pub(crate) struct IssuedToken {
    pub id: i64,
    pub user: String,
    pub scope: String,
    pub token: String,
}

/// Makes a token for somebody, as somebody else wants it.
pub(crate) async fn issue_token(
    state: &AppState,
    who: &TokenOwner,
    user: &str,
    scope: &str,
) -> Result<IssuedToken, ResponseError> {
    if !is_valid_username(user) {
        return Err(ResponseError::invalid(
            "`user` has 1 to 64 letters, digits, `-`, `_`, `.` and `@`",
        ));
    }
    let scope = TokenScope::parse(scope).filter(|scope| *scope != TokenScope::Admin);
    let scope = scope.ok_or_else(|| ResponseError::invalid("`scope` is `publish` or `read`"))?;
    let token = generate_token(state, scope)
        .map_err(|e| sp_tree::FileError::new("draw", "random bytes", e))?;
    let (hash, at) = (hash_token(&token), state.timestamp());
    let bearer = TokenOwner { user: user.into(), scope };
    let who = who.clone();
    let id =
        state.metadata.with(move |database| database.add_token(&bearer, &hash, &who, &at)).await?;
    Ok(IssuedToken { id, user: user.into(), scope: scope.as_str().into(), token })
}

/// Who asks, if that may publish.
pub(crate) async fn require_publisher(
    state: &AppState,
    headers: &HeaderMap,
) -> Result<TokenOwner, ResponseError> {
    match authenticate(state, headers).await? {
        Some(bearer) if bearer.scope != TokenScope::Read => Ok(bearer),
        _ => Err(ResponseError::unauthorized()),
    }
}

/// Who asks, if that may do everything.
pub(crate) async fn require_admin(
    state: &AppState,
    headers: &HeaderMap,
) -> Result<TokenOwner, ResponseError> {
    match authenticate(state, headers).await? {
        Some(bearer) if bearer.scope == TokenScope::Admin => Ok(bearer),
        _ => Err(ResponseError::unauthorized()),
    }
}
