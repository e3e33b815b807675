//! Reads and verifies signed JSON Web Tokens.
//!
//! A token is hostile until its signature is verified: [`UnverifiedToken`] only shows what selects
//! the key. [`UnverifiedToken::verify`] returns the [`TokenClaims`], which the caller compares with
//! what it expects.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, Visitor};
use serde_json::{Map, Value};
use thiserror::Error;

use super::jwk::{SignatureAlgorithm, VerificationKey};

pub(crate) const MAX_TOKEN_BYTES: usize = 16 * 1024;
/// The maximum difference between the clocks of the issuer and the registry, in seconds.
pub(crate) const LEEWAY_SECS: u64 = 30;
/// The maximum lifetime of an identity token from CI, in seconds.
pub(crate) const MAX_LIFETIME_SECS: u64 = 60 * 60;
/// Members of the header that change how a token is verified, or bring their own key.
const REFUSED_MEMBERS: [&str; 8] = ["crit", "jku", "jwk", "x5u", "x5c", "b64", "zip", "enc"];

/// Why a token is refused. Only for the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub(crate) enum TokenRefusal {
    #[error("the token is longer than {MAX_TOKEN_BYTES} bytes")]
    TooLong,
    #[error("the token is malformed")]
    Malformed,
    #[error("the header of the token contains `{0}`")]
    RefusedMember(&'static str),
    #[error("the algorithm of the token is not accepted")]
    Algorithm,
    #[error("the token has no key ID")]
    NoKeyId,
    #[error("the issuer has no key with the ID of the token")]
    UnknownKey,
    #[error("the key of the token belongs to another algorithm")]
    KeyOfOtherAlgorithm,
    #[error("the signature of the token is invalid")]
    Signature,
    #[error("no publisher has the issuer of the token")]
    Issuer,
    #[error("the audience of the token is wrong")]
    Audience,
    #[error("the token has no valid claim `{0}`")]
    MissingClaim(&'static str),
    #[error("the token has expired")]
    Expired,
    #[error("the token is not valid yet")]
    NotYetValid,
    #[error("the lifetime of the token exceeds an hour")]
    Lifetime,
    #[error("the token was used before")]
    Used,
    #[error("the token belongs to another login")]
    Nonce,
}

/// A token whose signature was not verified.
#[derive(Debug)]
pub(crate) struct UnverifiedToken<'t> {
    pub algorithm: SignatureAlgorithm,
    pub key_id: Option<String>,
    signed: &'t str,
    signature: Vec<u8>,
    claims: TokenClaims,
}

impl<'t> UnverifiedToken<'t> {
    pub(crate) fn parse(text: &'t str) -> Result<Self, TokenRefusal> {
        if text.len() > MAX_TOKEN_BYTES {
            return Err(TokenRefusal::TooLong);
        }
        let (signed, signature) = text.rsplit_once('.').ok_or(TokenRefusal::Malformed)?;
        let (header, claims) = signed.split_once('.').ok_or(TokenRefusal::Malformed)?;
        let header = decode_object(header)?;
        if let Some(name) = REFUSED_MEMBERS.into_iter().find(|name| header.contains_key(*name)) {
            return Err(TokenRefusal::RefusedMember(name));
        }
        let text = |name: &str| header.get(name).and_then(Value::as_str);
        let is_jwt = |kind: &Value| kind.as_str().is_some_and(|it| it.eq_ignore_ascii_case("JWT"));
        if !header.get("typ").is_none_or(is_jwt) {
            return Err(TokenRefusal::Malformed);
        }
        let algorithm = text("alg").and_then(SignatureAlgorithm::parse);
        Ok(Self {
            algorithm: algorithm.ok_or(TokenRefusal::Algorithm)?,
            key_id: text("kid").map(str::to_owned),
            signed,
            signature: URL_SAFE_NO_PAD.decode(signature).map_err(|_| TokenRefusal::Malformed)?,
            claims: TokenClaims(decode_object(claims)?),
        })
    }

    /// Returns the ID of the key, which tokens of CI jobs must have.
    pub(crate) fn require_key_id(&self) -> Result<&str, TokenRefusal> {
        self.key_id.as_deref().ok_or(TokenRefusal::NoKeyId)
    }

    /// Returns the issuer that the token claims to have. Only for selecting a key.
    pub(crate) fn claimed_issuer(&self) -> Result<&str, TokenRefusal> {
        self.claims.require("iss")
    }

    pub(crate) fn verify(self, key: &VerificationKey) -> Result<TokenClaims, TokenRefusal> {
        if key.algorithm != self.algorithm {
            return Err(TokenRefusal::KeyOfOtherAlgorithm);
        }
        if !key.verifies(self.signed.as_bytes(), &self.signature) {
            return Err(TokenRefusal::Signature);
        }
        Ok(self.claims)
    }
}

/// The claims of a token.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TokenClaims(Map<String, Value>);

impl TokenClaims {
    #[cfg(test)]
    pub(super) fn from_json(claims: &Value) -> Self {
        Self(claims.as_object().cloned().unwrap_or_default())
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(name)
    }

    /// Returns a claim that is a string.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).and_then(Value::as_str)
    }

    /// Returns a claim that must be a string, and not an empty one.
    pub(crate) fn require(&self, name: &'static str) -> Result<&str, TokenRefusal> {
        let text = self.text(name).filter(|text| !text.is_empty());
        text.ok_or(TokenRefusal::MissingClaim(name))
    }

    /// Returns the only audience. A token for several could be used by each of them.
    pub(crate) fn only_audience(&self) -> Result<&str, TokenRefusal> {
        match self.0.get("aud") {
            None => Err(TokenRefusal::MissingClaim("aud")),
            Some(Value::String(audience)) => Ok(audience),
            Some(Value::Array(audiences)) => match audiences.as_slice() {
                [Value::String(audience)] => Ok(audience),
                _ => Err(TokenRefusal::Audience),
            },
            Some(_) => Err(TokenRefusal::Audience),
        }
    }

    /// Returns a time in seconds since the Unix epoch.
    pub(crate) fn time(&self, name: &'static str) -> Result<u64, TokenRefusal> {
        let missing = TokenRefusal::MissingClaim(name);
        let value = self.0.get(name).ok_or(missing)?;
        // Fractions of a second are allowed, and do not matter.
        let text = value.as_number().ok_or(missing)?.to_string();
        text.split('.').next().and_then(|whole| whole.parse().ok()).ok_or(missing)
    }

    /// Checks `exp`, `iat` and `nbf`.
    pub(crate) fn check_times(&self, now: u64) -> Result<(), TokenRefusal> {
        let (expires_at, issued_at) = (self.time("exp")?, self.time("iat")?);
        if now >= expires_at.saturating_add(LEEWAY_SECS) {
            return Err(TokenRefusal::Expired);
        }
        let begins_at = match self.0.get("nbf") {
            Some(_) => self.time("nbf")?,
            None => 0,
        };
        if now.saturating_add(LEEWAY_SECS) < issued_at.max(begins_at) {
            return Err(TokenRefusal::NotYetValid);
        }
        Ok(())
    }

    /// Checks that the token does not live longer than an hour.
    pub(crate) fn check_lifetime(&self) -> Result<(), TokenRefusal> {
        let lifetime = self.time("exp")?.saturating_sub(self.time("iat")?);
        if lifetime > MAX_LIFETIME_SECS { Err(TokenRefusal::Lifetime) } else { Ok(()) }
    }
}

fn decode_object(part: &str) -> Result<Map<String, Value>, TokenRefusal> {
    let json = URL_SAFE_NO_PAD.decode(part).map_err(|_| TokenRefusal::Malformed)?;
    let object: UniqueMembers =
        serde_json::from_slice(&json).map_err(|_| TokenRefusal::Malformed)?;
    Ok(object.0)
}

/// An object without duplicate members, of which programs would read different ones.
struct UniqueMembers(Map<String, Value>);

impl<'de> Deserialize<'de> for UniqueMembers {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct MembersVisitor;

        impl<'de> Visitor<'de> for MembersVisitor {
            type Value = UniqueMembers;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(
                self,
                mut members: A,
            ) -> Result<UniqueMembers, A::Error> {
                let mut unique = Map::new();
                while let Some((name, value)) = members.next_entry::<String, Value>()? {
                    if unique.insert(name, value).is_some() {
                        return Err(A::Error::custom("duplicate member"));
                    }
                }
                Ok(UniqueMembers(unique))
            }
        }

        deserializer.deserialize_map(MembersVisitor)
    }
}
