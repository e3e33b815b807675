//! Records of context packs, and of the keys that sign their URLs.

use serde::{Deserialize, Serialize};
use sp_tree::Digest;

use crate::registry::quotas::ExceededQuota;

/// A pack to add. Its objects are stored already.
#[derive(Debug, Clone)]
pub(crate) struct NewContextPack {
    pub id: String,
    /// The name of the project.
    pub name: String,
    /// Digest of the zip.
    pub digest: Digest,
    pub bytes: u64,
    /// JSON of a list of [`StoredContextPackFile`].
    pub files: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StoredContextPackFile {
    pub path: String,
    pub sha256: String,
    pub bytes: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ContextPackPushOutcome {
    Stored,
    /// The same pack was pushed before.
    Unchanged,
    /// The ID belongs to another pack or another user.
    IdTaken,
    QuotaExceeded(ExceededQuota),
}

/// What is needed to serve a pack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StoredContextPack {
    pub digest: Digest,
    pub bytes: u64,
    pub files: String,
    pub pushed_at: String,
}

/// A key to add, if one is needed. Generated before the transaction, which may run several times.
#[derive(Clone)]
pub(crate) struct NewUrlKey {
    pub kid: String,
    pub secret: [u8; 32],
}

#[derive(Clone)]
pub(crate) struct UrlKey {
    pub kid: String,
    pub secret: Vec<u8>,
}
