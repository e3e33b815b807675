//! API tokens: issuing them, and authenticating requests.
//!
//! A token is a prefix and 256 random bits. It is shown once, when it is issued; the registry
//! stores only its hash.

use axum::http::HeaderMap;
use schemars::JsonSchema;
use serde::Serialize;
use sp_formats::registry::{PUBLISH_TOKEN_PREFIX, READ_TOKEN_PREFIX};
use sp_tree::{Digest, to_hex};

use crate::connections::bearer_token;
use crate::registry::environment::RegistryEnvironment;
use crate::registry::error::{ApiResult, ResponseError};
use crate::registry::metadata::{MetadataStore, TokenOwner, TokenScope};
use crate::registry::middleware;

const TOKEN_BYTES: usize = 32;
/// Longer strings are rejected before they are hashed.
const MAX_TOKEN_LEN: usize = 128;

pub(crate) fn generate_token(
    environment: &RegistryEnvironment,
    scope: TokenScope,
) -> std::io::Result<String> {
    let mut bytes = [0; TOKEN_BYTES];
    environment.fill_random(&mut bytes)?;
    let prefix = if scope == TokenScope::Read { READ_TOKEN_PREFIX } else { PUBLISH_TOKEN_PREFIX };
    Ok(format!("{prefix}{}", to_hex(&bytes)))
}

/// The form in which a token is stored.
pub(crate) fn hash_token(token: &str) -> Digest {
    Digest::of(token.as_bytes())
}

pub(crate) fn is_valid_username(text: &str) -> bool {
    let is_known = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.@".contains(&byte);
    (1..=64).contains(&text.len()) && text.bytes().all(is_known)
}

/// Returns the owner of the request's token, or `None` if the request has no token. An invalid or
/// revoked token is an error.
pub(crate) async fn authenticate(
    metadata: &MetadataStore,
    headers: &HeaderMap,
) -> ApiResult<Option<TokenOwner>> {
    let Some(token) = bearer_token(headers) else { return Ok(None) };
    let token = token.ok_or_else(ResponseError::unauthorized)?;
    let found = find_token_owner(metadata, token).await?;
    found.map(|found| Some(found.owner)).ok_or_else(ResponseError::unauthorized)
}

/// A token that was found in the database.
pub(crate) struct VerifiedToken {
    pub hash: Digest,
    pub owner: TokenOwner,
}

/// Looks up a token. Returns `None` if it is invalid or was revoked.
pub(crate) async fn find_token_owner(
    metadata: &MetadataStore,
    token: &str,
) -> ApiResult<Option<VerifiedToken>> {
    let is_ours = token.starts_with(PUBLISH_TOKEN_PREFIX) || token.starts_with(READ_TOKEN_PREFIX);
    if !is_ours || token.len() > MAX_TOKEN_LEN {
        return Ok(None);
    }
    let hash = hash_token(token);
    let found = metadata.with(move |database| database.token_owner(&hash)).await?;
    if let Some(owner) = &found {
        middleware::record_user(&owner.user);
    }
    Ok(found.map(|owner| VerifiedToken { hash, owner }))
}

/// A token, shown once.
#[derive(Serialize, JsonSchema)]
pub(crate) struct IssuedToken {
    pub id: i64,
    pub user: String,
    pub scope: String,
    pub token: String,
}

/// Issues a token for `user`, on behalf of `issuer`.
pub(crate) async fn issue_token(
    metadata: &MetadataStore,
    environment: &RegistryEnvironment,
    issuer: &TokenOwner,
    user: &str,
    scope: &str,
) -> ApiResult<IssuedToken> {
    if !is_valid_username(user) {
        return Err(ResponseError::invalid(
            "`user` must have 1 to 64 letters, digits, `-`, `_`, `.` or `@`",
        ));
    }
    let scope = TokenScope::parse(scope).filter(|scope| *scope != TokenScope::Admin);
    let scope =
        scope.ok_or_else(|| ResponseError::invalid("`scope` must be `publish` or `read`"))?;
    let token = generate_token(environment, scope)
        .map_err(|e| sp_tree::FileError::new("generate", "random bytes", e))?;
    let (hash, at) = (hash_token(&token), environment.timestamp());
    let owner = TokenOwner { user: user.into(), scope };
    let issuer = issuer.clone();
    let id = metadata.with(move |database| database.add_token(&owner, &hash, &issuer, &at)).await?;
    Ok(IssuedToken { id, user: user.into(), scope: scope.as_str().into(), token })
}

/// Authenticates a request whose token must be allowed to publish.
pub(crate) async fn require_publisher(
    metadata: &MetadataStore,
    headers: &HeaderMap,
) -> ApiResult<TokenOwner> {
    match authenticate(metadata, headers).await? {
        Some(owner) if owner.scope != TokenScope::Read => Ok(owner),
        _ => Err(ResponseError::unauthorized()),
    }
}

/// Authenticates a request whose token must be an admin token.
pub(crate) async fn require_admin(
    metadata: &MetadataStore,
    headers: &HeaderMap,
) -> ApiResult<TokenOwner> {
    match authenticate(metadata, headers).await? {
        Some(owner) if owner.scope == TokenScope::Admin => Ok(owner),
        _ => Err(ResponseError::unauthorized()),
    }
}
