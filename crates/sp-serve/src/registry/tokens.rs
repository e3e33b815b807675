//! API tokens: issuing them, and authenticating requests.
//!
//! A token is a prefix and 256 random bits. It is shown once, when it is issued; the registry
//! stores only its hash.

use axum::http::HeaderMap;
use schemars::JsonSchema;
use serde::Deserialize;
use sp_formats::printable::printable;
use sp_formats::registry::{
    IssuedRegistryToken, PUBLISH_TOKEN_PREFIX, READ_TOKEN_PREFIX, RegistryPackageName,
};
use sp_formats::trusted_publisher::TRUSTED_TOKEN_PREFIX;
use sp_tree::{Digest, to_hex};

use crate::connections::bearer_token;
use crate::registry::environment::RegistryEnvironment;
use crate::registry::error::{ApiResult, ResponseError};
use crate::registry::metadata::{
    Database, MetadataStore, NewToken, TokenOwner, TokenRevocation, TokenScope,
};
use crate::registry::middleware;

const TOKEN_BYTES: usize = 32;
/// Longer strings are rejected before they are hashed.
const MAX_TOKEN_LEN: usize = 128;
const MAX_LABEL_CHARS: usize = 100;
const MAX_NAMESPACES: usize = 100;
/// Ten years.
const MAX_LIFETIME_SECS: u64 = 10 * 365 * 24 * 60 * 60;
/// The length of a timestamp without its seconds.
const MINUTE_LEN: usize = "2026-01-01T00:00".len();

pub(crate) fn generate_token(
    environment: &RegistryEnvironment,
    scope: TokenScope,
) -> std::io::Result<String> {
    let prefix = if scope == TokenScope::Read { READ_TOKEN_PREFIX } else { PUBLISH_TOKEN_PREFIX };
    Ok(format!("{prefix}{}", random_secret(environment)?))
}

/// Generates a token for a CI job.
pub(crate) fn generate_trusted_token(environment: &RegistryEnvironment) -> std::io::Result<String> {
    Ok(format!("{TRUSTED_TOKEN_PREFIX}{}", random_secret(environment)?))
}

/// Returns random bytes in hex.
pub(crate) fn random_secret(environment: &RegistryEnvironment) -> std::io::Result<String> {
    let mut bytes = [0; TOKEN_BYTES];
    environment.fill_random(&mut bytes)?;
    Ok(to_hex(&bytes))
}

/// The form in which a token is stored.
pub(crate) fn hash_token(token: &str) -> Digest {
    Digest::of(token.as_bytes())
}

pub(crate) fn is_valid_username(text: &str) -> bool {
    let is_known = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.@".contains(&byte);
    (1..=64).contains(&text.len()) && text.bytes().all(is_known)
}

/// Returns the owner of the request's token, or `None` if the request has no token. A token that is
/// invalid, expired or revoked is an error.
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

/// Looks up a token. Returns `None` if it is invalid, expired or revoked.
pub(crate) async fn find_token_owner(
    metadata: &MetadataStore,
    token: &str,
) -> ApiResult<Option<VerifiedToken>> {
    let is_ours = token.starts_with(PUBLISH_TOKEN_PREFIX) || token.starts_with(READ_TOKEN_PREFIX);
    if !is_ours || token.len() > MAX_TOKEN_LEN {
        return Ok(None);
    }
    let hash = hash_token(token);
    let owner = find_owner_by_hash(metadata, hash).await?;
    Ok(owner.map(|owner| VerifiedToken { hash, owner }))
}

/// Looks up a token by its hash, and records that it was used.
pub(crate) async fn find_owner_by_hash(
    metadata: &MetadataStore,
    hash: Digest,
) -> ApiResult<Option<TokenOwner>> {
    let now = metadata.environment.timestamp();
    let at = now.clone();
    let found = metadata.with(move |database| database.token_owner(&hash, &at)).await?;
    let Some((owner, last_used_at)) = found else { return Ok(None) };
    middleware::record_user(&owner.user);
    // The minute is precise enough, and rarely written.
    let minute = |time: &str| time.get(..MINUTE_LEN).map(str::to_owned);
    if let Some(id) = owner.token_id
        && last_used_at.as_deref().and_then(minute) != minute(&now)
    {
        metadata.token_uses.record(id, &now);
    }
    Ok(Some(owner))
}

/// A token to create.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TokenRequest {
    /// 1 to 64 letters, digits, `-`, `_`, `.` and `@`.
    #[schemars(regex(pattern = r"^[A-Za-z0-9_.@-]{1,64}$"))]
    pub user: String,
    #[schemars(extend("enum" = ["publish", "read", "admin"]))]
    pub scope: String,
    /// What the token is for, at most 100 characters.
    #[serde(default)]
    #[schemars(length(max = 100))]
    pub label: Option<String>,
    /// Lifetime in seconds; unlimited if absent.
    #[serde(default)]
    #[schemars(range(min = 1, max = 315_360_000))]
    pub expires_in: Option<u64>,
    /// Namespaces that the token is limited to; all if absent.
    #[serde(default)]
    pub namespaces: Option<Vec<String>>,
}

impl TokenRequest {
    /// Validates the request, and generates the secret. The error is a message.
    pub(crate) fn generate(
        &self,
        environment: &RegistryEnvironment,
    ) -> Result<(NewToken, String), String> {
        if !is_valid_username(&self.user) {
            return Err("`user` must have 1 to 64 letters, digits, `-`, `_`, `.` or `@`".to_owned());
        }
        let scope = TokenScope::parse(&self.scope)
            .ok_or_else(|| "`scope` must be `publish`, `read` or `admin`".to_owned())?;
        let limited_to = self.checked_namespaces(scope)?;
        let label = self.label.as_deref().map(str::trim).filter(|label| !label.is_empty());
        if label.is_some_and(|label| label.chars().count() > MAX_LABEL_CHARS) {
            return Err(format!("`label` has more than {MAX_LABEL_CHARS} characters"));
        }
        let expires_at = match self.expires_in {
            Some(seconds @ 1..=MAX_LIFETIME_SECS) => Some(environment.timestamp_in(seconds)),
            Some(_) => {
                return Err(format!("`expires_in` must be from 1 to {MAX_LIFETIME_SECS} seconds"));
            }
            None => None,
        };
        let secret = generate_token(environment, scope)
            .map_err(|e| format!("cannot generate a secret: {e}"))?;
        let hash = hash_token(&secret);
        let (user, label) = (self.user.clone(), label.map(str::to_owned));
        Ok((NewToken { user, scope, label, limited_to, expires_at, hash }, secret))
    }

    fn checked_namespaces(&self, scope: TokenScope) -> Result<Option<Vec<String>>, String> {
        let Some(names) = &self.namespaces else { return Ok(None) };
        if scope == TokenScope::Admin {
            return Err("a token with the scope `admin` cannot be limited to namespaces".into());
        }
        if !(1..=MAX_NAMESPACES).contains(&names.len()) {
            return Err(format!("`namespaces` must have from 1 to {MAX_NAMESPACES} names"));
        }
        match names.iter().find(|name| RegistryPackageName::new(name, "any").is_err()) {
            Some(name) => Err(format!("invalid namespace `{}`", printable(name))),
            None => Ok(Some(names.clone())),
        }
    }
}

/// Issues a token on behalf of `issuer`.
pub(crate) async fn issue_token(
    metadata: &MetadataStore,
    issuer: &TokenOwner,
    request: &TokenRequest,
) -> ApiResult<IssuedRegistryToken> {
    let environment = &metadata.environment;
    let (new, token) = request.generate(environment).map_err(ResponseError::invalid)?;
    let (issuer, at) = (issuer.clone(), environment.timestamp());
    let item = metadata.with(move |database| database.add_token(&new, &issuer, &at)).await?;
    Ok(IssuedRegistryToken { item, token })
}

/// Replaces the secret of a token. Admins may do that, and the token itself.
pub(crate) async fn rotate_token(
    metadata: &MetadataStore,
    who: &TokenOwner,
    id: i64,
) -> ApiResult<IssuedRegistryToken> {
    if who.scope != TokenScope::Admin && who.token_id != Some(id) {
        return Err(ResponseError::not_found());
    }
    let (who, at) = (who.clone(), metadata.environment.timestamp());
    let tokens = metadata.with(Database::tokens).await?;
    let scope = tokens.iter().find(|token| token.id == id).map(|token| token.scope.as_str());
    let scope = scope.and_then(TokenScope::parse).ok_or_else(ResponseError::not_found)?;
    let token = generate_token(&metadata.environment, scope)
        .map_err(|e| sp_tree::FileError::new("generate", "random bytes", e))?;
    let hash = hash_token(&token);
    let rotated =
        metadata.with(move |database| database.rotate_token(id, &hash, &who, &at)).await?;
    let item = rotated.ok_or_else(ResponseError::not_found)?;
    Ok(IssuedRegistryToken { item, token })
}

/// Revokes a token on behalf of an admin.
pub(crate) async fn revoke_token(
    metadata: &MetadataStore,
    who: &TokenOwner,
    id: i64,
) -> ApiResult<()> {
    let (who, at) = (who.clone(), metadata.environment.timestamp());
    match metadata.with(move |database| database.revoke_token(id, &who, &at)).await? {
        TokenRevocation::Done => Ok(()),
        TokenRevocation::NotFound => Err(ResponseError::not_found()),
        TokenRevocation::LastAdmin => Err(ResponseError::last_admin()),
    }
}

/// Returns the hash of the request's token, if it is one for CI jobs.
pub(crate) fn trusted_token_hash(headers: &HeaderMap) -> Option<Digest> {
    let token = bearer_token(headers).flatten()?;
    let is_trusted = token.starts_with(TRUSTED_TOKEN_PREFIX) && token.len() <= MAX_TOKEN_LEN;
    is_trusted.then(|| hash_token(token))
}

/// Authenticates a request to publish a package. The token may be one for CI jobs.
pub(crate) async fn require_publisher_of(
    metadata: &MetadataStore,
    headers: &HeaderMap,
    package: &RegistryPackageName,
) -> ApiResult<TokenOwner> {
    let Some(hash) = trusted_token_hash(headers) else {
        return require_publisher(metadata, headers).await;
    };
    let (package, now) = (package.clone(), metadata.environment.timestamp());
    let found = metadata.with(move |database| {
        let is_valid = database.has_trusted_token(&hash, &now)?;
        Ok((is_valid, database.trusted_owner(&hash, &package, &now)?))
    });
    match found.await? {
        (true, Some(owner)) => {
            middleware::record_user(&owner.user);
            Ok(owner)
        }
        (true, None) => Err(ResponseError::token_of_other_package()),
        (false, _) => Err(ResponseError::unauthorized()),
    }
}

/// Authenticates a request whose token must be allowed to publish.
pub(crate) async fn require_publisher(
    metadata: &MetadataStore,
    headers: &HeaderMap,
) -> ApiResult<TokenOwner> {
    match authenticate(metadata, headers).await? {
        Some(owner) if matches!(owner.scope, TokenScope::Publish | TokenScope::Admin) => Ok(owner),
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
