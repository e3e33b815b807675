//! What is known of context packs, and of the keys that sign their addresses.

use serde::{Deserialize, Serialize};
use sp_tree::Digest;

/// A pack that is to be kept; its bytes are stored already.
#[derive(Debug, Clone)]
pub(crate) struct NewContextPack {
    pub id: String,
    /// The project that it is for.
    pub name: String,
    /// Of its zip.
    pub digest: Digest,
    pub bytes: u64,
    /// Its files, as JSON of [`KeptFile`]s.
    pub files: String,
}

/// A file of a pack, under the name that its manifest lists.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StoredContextPackFile {
    pub path: String,
    pub sha256: String,
    pub bytes: u64,
}

/// What became of a pack that was to be kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ContextPackPushOutcome {
    /// It is there now.
    Stored,
    /// It was there.
    Unchanged,
    /// Its id is bound to something else, or to somebody else.
    IdTaken,
}

/// A pack as it is served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StoredContextPack {
    pub digest: Digest,
    pub bytes: u64,
    pub files: String,
    pub pushed_at: String,
}

/// A key that may be needed. Random numbers are drawn before the database is asked.
#[derive(Clone)]
pub(crate) struct NewUrlKey {
    pub kid: String,
    pub secret: [u8; 32],
}

/// A key that signs.
#[derive(Clone)]
pub(crate) struct UrlKey {
    pub kid: String,
    pub secret: Vec<u8>,
}
