//! Exchanges the identity token of a CI job for a registry token.

use sp_formats::printable::printable;
use sp_formats::trusted_publisher::TrustedPublisher;
use sp_tree::Digest;

use super::OidcService;
use super::issuers::KeyLookupError;
use super::jwk::SignatureAlgorithm;
use super::jwt::{LEEWAY_SECS, TokenClaims, TokenRefusal, UnverifiedToken};
use super::publisher::{IssuerKind, refused_event};
use crate::registry::error::{ApiResult, ResponseError};
use crate::registry::metadata::{MetadataStore, NewTrustedToken};
use crate::registry::tokens::{generate_trusted_token, hash_token};

/// Lifetime of the tokens that are issued, in seconds.
const TOKEN_LIFETIME_SECS: u64 = 15 * 60;
/// How much longer the ID of a token is remembered than the token is accepted, in seconds.
const EXTRA_MEMORY_SECS: u64 = 5;
const MAX_TOKEN_ID_LEN: usize = 1024;
/// The longest claim in the audit log.
const MAX_SHOWN_CHARS: usize = 300;

/// A registry token for a CI job.
pub(crate) struct MintedToken {
    pub token: String,
    /// In seconds since the Unix epoch.
    pub expires: u64,
}

/// Exchanges an identity token. All invalid ones get the same response.
pub(crate) async fn exchange_token(
    service: &OidcService,
    metadata: &MetadataStore,
    token: &str,
) -> ApiResult<MintedToken> {
    let refused = |refusal: TokenRefusal| ResponseError::invalid_identity_token(&refusal);
    let token = UnverifiedToken::parse(token).map_err(refused)?;
    let issuer = token.claimed_issuer().map_err(refused)?.to_owned();
    let now = metadata.environment.timestamp();
    let (asked, at) = (issuer.clone(), now.clone());
    // Nothing is sent to an issuer that no one registered.
    if !metadata.with(move |database| database.is_known_issuer(&asked, &at)).await? {
        return Err(refused(TokenRefusal::Issuer));
    }
    let is_rsa_only = IssuerKind::of(&issuer) != IssuerKind::Other;
    if is_rsa_only && token.algorithm != SignatureAlgorithm::Rs256 {
        return Err(refused(TokenRefusal::Algorithm));
    }
    let key_id = Some(token.require_key_id().map_err(refused)?);
    let key = match service.issuers.key(&issuer, key_id, token.algorithm).await {
        Ok(key) => key,
        Err(KeyLookupError::Refused(refusal)) => return Err(refused(refusal)),
        Err(error) => return Err(ResponseError::issuer_unavailable(&error)),
    };
    let claims = token.verify(&key).map_err(refused)?;
    let identity =
        VerifiedJob::new(issuer, claims, metadata.environment.unix_seconds()).map_err(refused)?;
    let asked = identity.issuer.clone();
    let publishers = metadata.with(move |database| database.issuer_publishers(&asked, &now));
    let trusting = identity.trusting_publishers(&publishers.await?)?;
    identity.mint(metadata, trusting).await
}

/// A job whose identity token is valid.
struct VerifiedJob {
    issuer: String,
    claims: TokenClaims,
    audience: String,
    token_id: Digest,
    expires_at: u64,
}

impl VerifiedJob {
    /// Checks everything that does not depend on publishers.
    fn new(issuer: String, claims: TokenClaims, now: u64) -> Result<Self, TokenRefusal> {
        claims.check_times(now)?;
        claims.check_lifetime()?;
        let audience = claims.only_audience()?.to_owned();
        let token_id = claims.require("jti")?;
        if token_id.len() > MAX_TOKEN_ID_LEN {
            return Err(TokenRefusal::MissingClaim("jti"));
        }
        let (token_id, expires_at) = (Digest::of(token_id.as_bytes()), claims.time("exp")?);
        Ok(Self { issuer, claims, audience, token_id, expires_at })
    }

    /// Returns the publishers that trust the job.
    fn trusting_publishers(&self, publishers: &[TrustedPublisher]) -> ApiResult<Vec<i64>> {
        let has_audience = |it: &&TrustedPublisher| it.audience == self.audience;
        let mut candidates = publishers.iter().filter(has_audience).peekable();
        if candidates.peek().is_none() {
            return Err(ResponseError::invalid_identity_token(&TokenRefusal::Audience));
        }
        if let Some(event) = refused_event(&self.issuer, &self.claims) {
            return Err(ResponseError::refused_event(event));
        }
        let kind = IssuerKind::of(&self.issuer);
        let trusts = |it: &&TrustedPublisher| kind.matches(&it.claims, &self.claims);
        let trusting: Vec<i64> = candidates.filter(trusts).map(|it| it.id).collect();
        if trusting.is_empty() { Err(ResponseError::no_publisher()) } else { Ok(trusting) }
    }

    async fn mint(&self, metadata: &MetadataStore, publishers: Vec<i64>) -> ApiResult<MintedToken> {
        let environment = &metadata.environment;
        let token = generate_trusted_token(environment).map_err(|_| ResponseError::internal())?;
        let now = environment.unix_seconds();
        let forgotten_at = self.expires_at.saturating_add(LEEWAY_SECS + EXTRA_MEMORY_SECS);
        let new = NewTrustedToken {
            hash: hash_token(&token),
            expires_at: environment.timestamp_in(TOKEN_LIFETIME_SECS),
            publishers,
            identity: self.describe(),
            issuer: self.issuer.clone(),
            token_id: self.token_id,
            token_id_expires_at: environment.timestamp_in(forgotten_at.saturating_sub(now)),
        };
        let at = environment.timestamp();
        if metadata.with(move |database| database.add_trusted_token(&new, &at)).await? {
            Ok(MintedToken { token, expires: now.saturating_add(TOKEN_LIFETIME_SECS) })
        } else {
            Err(ResponseError::invalid_identity_token(&TokenRefusal::Used))
        }
    }

    /// Describes the job for the audit log.
    fn describe(&self) -> String {
        let shown =
            |text: &str| -> String { printable(text).chars().take(MAX_SHOWN_CHARS).collect() };
        let mut text = shown(&self.issuer);
        if let Some(subject) = self.claims.text("sub") {
            text += &format!(" {}", shown(subject));
        }
        for name in ["run_id", "sha"] {
            if let Some(value) = self.claims.text(name) {
                text += &format!(" {name}={}", shown(value));
            }
        }
        text
    }
}

#[cfg(test)]
mod tests;
