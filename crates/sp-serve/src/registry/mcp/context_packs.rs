//! The context packs of the client.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Deserialize;
use sp_engine::{Error, ErrorCode, Result};
use sp_formats::context_pack::MANIFEST_FILE;
use sp_tree::{Digest, from_hex};

use super::RegistryBackend;
use crate::mcp::McpContextPack;
use crate::registry::metadata::{StoredContextPack, StoredContextPackFile, TokenOwner};

/// Limits of the list, newest first. Other packs can be read by ID.
const MAX_LISTED_PACKS: usize = 100;
const MAX_LISTED_BYTES: u64 = 16 * 1024 * 1024;

/// The part of a manifest that is needed here. It was validated when the pack was pushed.
#[derive(Deserialize)]
struct McpContextPackManifest {
    project: McpContextPackProject,
}

#[derive(Deserialize)]
struct McpContextPackProject {
    name: String,
    #[serde(default)]
    description: String,
}

impl RegistryBackend {
    fn token_owner(&self) -> Option<&TokenOwner> {
        self.client.as_ref().map(|client| &client.owner)
    }

    pub(super) fn list_own_packs(&self) -> Result<Vec<Arc<McpContextPack>>> {
        let Some(bearer) = self.token_owner() else { return Ok(Vec::new()) };
        let mut room = MAX_LISTED_BYTES;
        let mut packs = Vec::new();
        for (id, pack) in self
            .with_database(|database, _| database.stored_context_packs(bearer, MAX_LISTED_PACKS))?
        {
            match room.checked_sub(pack.bytes) {
                Some(left) => room = left,
                None => break,
            }
            // Skip packs that cannot be read.
            packs.extend(self.load_pack(&id, &pack));
        }
        Ok(packs)
    }

    pub(super) fn find_own_pack(&self, id: &str) -> Result<Option<Arc<McpContextPack>>> {
        let Some(bearer) = self.token_owner() else { return Ok(None) };
        let found = self.with_database(|database, _| database.stored_context_pack(id, bearer))?;
        found.map(|pack| self.load_pack(id, &pack)).transpose()
    }

    fn load_pack(&self, id: &str, pack: &StoredContextPack) -> Result<Arc<McpContextPack>> {
        // The digest covers the pack ID.
        self.cache.packs.get_or_try_insert(&pack.digest, || {
            let files: Vec<StoredContextPackFile> =
                serde_json::from_str(&pack.files).map_err(|error| self.record_failure(&error))?;
            let mut read = BTreeMap::new();
            for file in files {
                let bytes = from_hex(&file.sha256)
                    .map(Digest::from_bytes)
                    .map(|digest| self.read_object(&digest));
                read.insert(file.path, bytes.transpose()?.ok_or_else(|| incomplete_pack(id))?);
            }
            let manifest = read
                .get(MANIFEST_FILE)
                .and_then(|bytes| serde_json::from_slice::<McpContextPackManifest>(bytes).ok());
            let McpContextPackProject { name, description } =
                manifest.ok_or_else(|| incomplete_pack(id))?.project;
            Ok(Arc::new(McpContextPack { id: id.into(), name, description, files: read }))
        })
    }

    pub(super) fn read_object(&self, digest: &Digest) -> Result<Vec<u8>> {
        self.cache.stores.objects.require(digest).map_err(|error| self.record_failure(&error))
    }
}

fn incomplete_pack(id: &str) -> Error {
    Error::new(ErrorCode::Unavailable, format!("the context pack `{id}` is damaged"))
        .hint("contact the registry administrator")
}
