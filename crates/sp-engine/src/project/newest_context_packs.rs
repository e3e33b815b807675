//! Which context packs of a project have a newer version.

use sp_formats::output::OutdatedSource;
use sp_tree::Digest;

use super::context_packs::ContextPackSource;
use super::files::ProjectFiles;
use super::known_newest::{KnownSubject, remember_newest};
use crate::context_pack::read_manifest_digest;
use crate::error::Result;
use crate::io_threads::{MAX_CONCURRENT_QUERIES, run_in_threads};
use crate::session::Session;

/// A locked context pack, and where it is now.
pub(super) struct AskedContextPack {
    pub location: String,
    locked: Digest,
    /// The digest of the manifest.
    pub newest: Result<Digest>,
}

impl AskedContextPack {
    /// Returns the digest of the newest version if it is not the locked one.
    pub(super) fn newer(&self) -> Option<&Digest> {
        self.newest.as_ref().ok().filter(|newest| **newest != self.locked)
    }

    /// Describes a pack with a newer version, or one that could not be read.
    pub(super) fn into_outdated(self) -> Option<OutdatedSource> {
        let newest = self.newer().map(ToString::to_string);
        if newest.is_none() && self.newest.is_ok() {
            return None;
        }
        Some(OutdatedSource {
            source: self.location,
            locked: self.locked.to_string(),
            newest,
            note: self.newest.err().map(|error| error.to_string()),
            skills: Vec::new(),
        })
    }
}

/// Reads the manifests of locked context packs, at the same time.
pub(super) fn ask_context_packs(
    session: &Session<'_>,
    files: &ProjectFiles,
    is_asked: &dyn Fn(&str) -> bool,
) -> Result<Vec<AskedContextPack>> {
    let mut asked: Vec<(ContextPackSource, Digest)> = Vec::new();
    for entry in &files.manifest.context {
        let source = ContextPackSource::new(session, &files.dir.path, &entry.location)?;
        let Some(locked) = files.lock.contexts.get(&source.key) else { continue };
        if is_asked(&source.key) && !asked.iter().any(|(known, _)| known.key == source.key) {
            asked.push((source, locked.manifest));
        }
    }
    let newest = run_in_threads(&asked, MAX_CONCURRENT_QUERIES, |(source, _)| {
        read_manifest_digest(session, &source.location)
    });
    let answers = asked.into_iter().zip(newest).map(|((source, locked), newest)| {
        if let Ok(newest) = &newest {
            let subject = KnownSubject::ContextPack(&source.key);
            remember_newest(session.context, subject, &locked.to_string(), &newest.to_string());
        }
        AskedContextPack { location: source.key, locked, newest }
    });
    Ok(answers.collect())
}
