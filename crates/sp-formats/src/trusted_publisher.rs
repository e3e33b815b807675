//! Trusted publishers in the HTTP API of a registry: which CI jobs may publish a package.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The prefix of tokens that a CI job gets for its identity token.
pub const TRUSTED_TOKEN_PREFIX: &str = "ctxt_";

/// A trusted publisher of a package.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TrustedPublisher {
    /// Number of the publisher.
    pub id: i64,
    /// Package name, including its scope.
    pub package: String,
    /// Issuer of identity tokens.
    pub issuer: String,
    /// Audience that identity tokens must have.
    pub audience: String,
    /// Claims that identity tokens must have.
    pub claims: BTreeMap<String, String>,
    /// When the publisher was registered.
    pub created_at: String,
    /// User who registered the publisher. The publisher works as long as this user may publish.
    pub created_by: String,
    /// When the publisher expires, unless it has published the package by then; only if the package
    /// does not exist yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pending_until: Option<String>,
}

/// The trusted publishers of a package.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TrustedPublishers {
    /// Whether only trusted publishers may publish the package.
    pub trusted_only: bool,
    /// Its publishers, oldest first.
    pub publishers: Vec<TrustedPublisher>,
}

/// The audience that identity tokens for a registry must have by default.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IdentityAudience {
    pub audience: String,
}

/// An identity token to exchange.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct IdentityTokenRequest {
    /// Identity token, a signed JSON Web Token.
    pub token: String,
}

/// The token of a CI job. It may publish the packages that trust the job, and nothing else.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct TrustedToken {
    /// The secret.
    pub token: String,
    /// When it expires, in seconds since the Unix epoch.
    pub expires: u64,
}
