//! Context packs that the client has pushed, with their files.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::mcp::PackCard;
use serde::Deserialize;
use sp_engine::{Error, Kind, Result};
use sp_formats::context_pack::MANIFEST;
use sp_tree::{Digest, from_hex};

use super::RegistryShelf;
use crate::registry::metadata::{Bearer, KeptFile, KeptPack};

/// So many packs are listed, the newest, and not more bytes of them; the others can be read by their ids.
const MOST_PACKS: usize = 100;
const MOST_BYTES: u64 = 16 * 1024 * 1024;

/// What a manifest says of a pack. It was judged when it came.
#[derive(Deserialize)]
struct Manifest {
    project: Project,
}

#[derive(Deserialize)]
struct Project {
    name: String,
    #[serde(default)]
    description: String,
}

impl RegistryShelf {
    fn bearer(&self) -> Option<&Bearer> {
        self.client.as_ref().map(|client| &client.bearer)
    }

    /// The packs that are listed.
    pub(super) fn own_packs(&self) -> Result<Vec<Arc<PackCard>>> {
        let Some(bearer) = self.bearer() else { return Ok(Vec::new()) };
        let mut room = MOST_BYTES;
        let mut packs = Vec::new();
        for (id, pack) in self.ask(|database, _| database.kept_packs(bearer, MOST_PACKS))? {
            match room.checked_sub(pack.bytes) {
                Some(left) => room = left,
                None => break,
            }
            // One that cannot be read any more keeps nobody from the others.
            packs.extend(self.pack_card(&id, &pack));
        }
        Ok(packs)
    }

    /// A pack of the client.
    pub(super) fn own_pack(&self, id: &str) -> Result<Option<Arc<PackCard>>> {
        let Some(bearer) = self.bearer() else { return Ok(None) };
        let found = self.ask(|database, _| database.kept_pack(id, bearer))?;
        found.map(|pack| self.pack_card(id, &pack)).transpose()
    }

    fn pack_card(&self, id: &str, pack: &KeptPack) -> Result<Arc<PackCard>> {
        // The id of a pack is part of its bytes.
        self.store.packs.get(&pack.digest, || {
            let files: Vec<KeptFile> = serde_json::from_str(&pack.files).map_err(|error| self.failed(&error))?;
            let mut read = BTreeMap::new();
            for file in files {
                let bytes = from_hex(&file.sha256).map(Digest::from_bytes).map(|digest| self.object(&digest));
                read.insert(file.path, bytes.transpose()?.flatten().ok_or_else(|| gone(id))?);
            }
            let manifest = read.get(MANIFEST).and_then(|bytes| serde_json::from_slice::<Manifest>(bytes).ok());
            let Project { name, description } = manifest.ok_or_else(|| gone(id))?.project;
            Ok(Arc::new(PackCard { id: id.into(), name, description, files: read }))
        })
    }

    /// The bytes with a digest.
    pub(super) fn object(&self, digest: &Digest) -> Result<Option<Vec<u8>>> {
        self.store.stock.objects.get(digest).map_err(|error| self.failed(&error))
    }
}

fn gone(id: &str) -> Error {
    Error::new(Kind::Environment, format!("the context pack `{id}` is not whole any more"))
        .hint("tell whoever runs the registry")
}
