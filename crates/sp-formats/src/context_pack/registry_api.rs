//! The HTTP API for context packs that a registry hosts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::registry::TrustFinding;

/// `PUT /api/v1/context-packs/{id}`: what was taken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PutContextPackResponse {
    /// The pack.
    pub pack_id: String,
    /// The hash of its zip.
    pub sha256: String,
    /// How many bytes the zip has.
    pub bytes: u64,
    /// How many files are in it.
    pub files: usize,
    /// What `sp context check` says of it: nothing of it is an error.
    pub findings: Vec<TrustFinding>,
}

/// `GET /api/v1/context-packs`: one's own packs, the newest first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ListContextPacksResponse {
    /// The packs.
    pub packs: Vec<HostedContextPack>,
}

/// A pack that a registry keeps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HostedContextPack {
    /// What tells it from every other.
    pub pack_id: String,
    /// The project that it is for.
    pub name: String,
    /// Whose it is.
    pub owner: String,
    /// The hash of its zip.
    pub sha256: String,
    /// How many bytes the zip has.
    pub bytes: u64,
    /// When it was taken.
    pub pushed_at: String,
}

/// `POST /api/v1/context-packs/{id}/url`: what is asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ContextPackUrlRequest {
    /// For how many seconds; an hour if nobody says, a week at the most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_in: Option<u64>,
}

/// `POST /api/v1/context-packs/{id}/url`: where the pack is. A registry may be known by several
/// addresses, so each is the part after that of the registry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ContextPackUrlResponse {
    /// The pack.
    pub pack_id: String,
    /// The key that signed it: who runs the registry revokes by it.
    pub kid: String,
    /// Until when it is good.
    pub expires_at: String,
    /// The folder of the pack, signed in its path.
    pub folder: String,
    /// Its manifest, signed in its query.
    pub manifest: String,
    /// Its zip, signed in its path.
    pub zip: String,
}

/// `GET`, `POST /api/v1/url-keys`: a key that signs addresses, without what it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UrlSigningKeyInfo {
    /// Its name, as it stands in every address that it signs.
    pub kid: String,
    /// The one pack that it is for; without one it is for all that have no key of their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pack_id: Option<String>,
    /// When it was made.
    pub created_at: String,
    /// Whether nothing is opened by it any more.
    pub revoked: bool,
}
