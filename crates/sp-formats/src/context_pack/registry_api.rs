//! The HTTP API for context packs that a registry hosts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::registry::TrustFinding;

/// Response to `PUT /api/v1/context-packs/{id}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PutContextPackResponse {
    /// ID of the context pack.
    pub pack_id: String,
    /// SHA-256 of the zip file, in hex.
    pub sha256: String,
    /// Size of the zip file in bytes.
    pub bytes: u64,
    /// Number of files in the zip file.
    pub files: usize,
    /// Findings of `sp context check`. None of them is an error.
    pub findings: Vec<TrustFinding>,
}

/// Response to `GET /api/v1/context-packs`: the caller's context packs, newest first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ListContextPacksResponse {
    /// Context packs of the caller.
    pub packs: Vec<HostedContextPack>,
}

/// A context pack that is stored in a registry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HostedContextPack {
    /// ID of the context pack.
    pub pack_id: String,
    /// Name of the project.
    pub name: String,
    /// User who pushed the context pack.
    pub owner: String,
    /// SHA-256 of the zip file, in hex.
    pub sha256: String,
    /// Size of the zip file in bytes.
    pub bytes: u64,
    /// Time of the push.
    pub pushed_at: String,
}

/// Request body of `POST /api/v1/context-packs/{id}/url`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ContextPackUrlRequest {
    /// Lifetime of the URLs in seconds. Defaults to one hour; the maximum is one week.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_in: Option<u64>,
}

/// Response to `POST /api/v1/context-packs/{id}/url`: signed URLs. They are relative to the URL of
/// the registry, because a registry can be reachable at several URLs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ContextPackUrlResponse {
    /// ID of the context pack.
    pub pack_id: String,
    /// ID of the signing key, which can be used to revoke the URLs.
    pub kid: String,
    /// Time at which the URLs expire.
    pub expires_at: String,
    /// Base URL of the context pack with the signature in the path.
    pub folder: String,
    /// URL of the manifest with the signature in the query.
    pub manifest: String,
    /// URL of the zip file with the signature in the path.
    pub zip: String,
}

/// Response to `GET` and `POST /api/v1/url-keys`: a key that signs URLs, without the secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UrlSigningKeyInfo {
    /// ID of the key, which is part of every URL that it signs.
    pub kid: String,
    /// Context pack that the key is used for. If absent, the key is used for all context packs
    /// without a key of their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pack_id: Option<String>,
    /// Time of creation.
    pub created_at: String,
    /// Whether the key is revoked. URLs signed with a revoked key are rejected.
    pub revoked: bool,
}
