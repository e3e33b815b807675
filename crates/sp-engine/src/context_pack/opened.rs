//! Context packs of a manifest, at their newest or at their locked version.
//!
//! A pack of the web is kept in the cache, by the digest of its manifest, which has the digests of
//! all other files.

use sp_formats::context_pack::{ContextPack, ContextPackEntries, manifest_digest, read};
use sp_formats::report::Report;
use sp_tree::Digest;

use super::archive::{invalid_pack_error, zip_pack};
use super::entries::{ContextPackLocation, read_entries};
use super::local::read_zip;
use crate::downloads::{artifact_path, keep_artifact};
use crate::error::{Error, ErrorCode, Result};
use crate::session::Session;

/// A valid pack.
pub(crate) struct OpenedContextPack {
    pub pack: ContextPack,
    /// The digest of its manifest.
    pub manifest: Digest,
    /// The warnings about it, one report per file.
    pub reports: Vec<Report>,
}

impl OpenedContextPack {
    /// Opens a pack as it is now.
    pub(crate) fn newest(session: &Session<'_>, location: &ContextPackLocation) -> Result<Self> {
        let entries = read_entries(session, location)?;
        let opened = Self::read(session, location, &entries)?;
        if !location.is_local() {
            let (_, bytes) = zip_pack(&opened.pack, &entries)?;
            keep_artifact(session.context, &cache_key(opened.manifest), &bytes)?;
        }
        Ok(opened)
    }

    /// Opens the version of a pack with this manifest.
    pub(crate) fn version(
        session: &Session<'_>,
        location: &ContextPackLocation,
        manifest: Digest,
    ) -> Result<Self> {
        let cached = || Self::cached(session, location, manifest);
        if let Some(cached) = (!location.is_local()).then(cached).flatten() {
            return Ok(cached);
        }
        let opened = Self::newest(session, location)?;
        if opened.manifest == manifest {
            return Ok(opened);
        }
        let name = location.display_name(session.context);
        let message = format!("the context pack `{name}` differs from the lockfile");
        let because = format!(
            "the digest of its manifest is {}, and the lockfile has {manifest}",
            opened.manifest
        );
        Err(Error::new(ErrorCode::LockMismatch, message)
            .because(because)
            .hint("nothing was changed: run `sp update` to see and accept the new version"))
    }

    fn cached(
        session: &Session<'_>,
        location: &ContextPackLocation,
        manifest: Digest,
    ) -> Option<Self> {
        let path = artifact_path(session.context, &cache_key(manifest));
        let entries = path.is_file().then(|| read_zip(session, &path, "the cache"))?.ok()?;
        Self::read(session, location, &entries).ok().filter(|opened| opened.manifest == manifest)
    }

    fn read(
        session: &Session<'_>,
        location: &ContextPackLocation,
        entries: &ContextPackEntries,
    ) -> Result<Self> {
        let result = read(entries, &session.limits);
        let Some(pack) = result.pack else {
            let name = location.display_name(session.context);
            let message = format!("`{name}` is not a valid context pack");
            return Err(invalid_pack_error(session, message, result.reports));
        };
        Ok(Self { pack, manifest: manifest_digest(entries), reports: result.reports })
    }
}

fn cache_key(manifest: Digest) -> Digest {
    Digest::of(format!("context pack {manifest}").as_bytes())
}
