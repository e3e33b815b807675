//! Locates a context pack and reads its entries.
//!
//! A pack is a directory, a zip of such a directory, or a URL of either. All become the same
//! [`ContextPackEntries`]; whether these are a valid pack is decided by `sp_formats::context_pack`.

use std::path::{Path, PathBuf};

use sp_formats::context_pack::{ContextPackEntries, MANIFEST_FILE, manifest_digest};
use sp_formats::web_url::has_web_scheme;
use sp_tree::{Digest, read_limited};

use super::local::{ZIP_EXTENSION, read_dir, read_zip};
use super::remote::{self, RemoteContextPack};
use crate::context::Context;
use crate::error::Result;
use crate::files::{InputKind, require_input};
use crate::session::Session;
use crate::source::resolve_path;

/// Returns whether the path is a directory with `pack.json`, that file itself, or a zip.
pub(crate) fn is_context_pack(path: &Path) -> bool {
    let is_zip =
        path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case(ZIP_EXTENSION));
    let is_manifest = path.file_name().is_some_and(|name| name == MANIFEST_FILE);
    path.join(MANIFEST_FILE).symlink_metadata().is_ok()
        || ((is_zip || is_manifest) && path.is_file())
}

/// The location of a pack.
#[derive(Debug)]
pub(crate) enum ContextPackLocation {
    /// A directory, its `pack.json`, or a zip on this machine.
    Local(PathBuf),
    Remote(RemoteContextPack),
}

impl ContextPackLocation {
    /// Parses what the user typed: a path or a URL.
    pub(crate) fn new(context: &Context<'_>, argument: &Path) -> Result<Self> {
        let text = argument.to_string_lossy();
        if has_web_scheme(&text) {
            RemoteContextPack::new(&text).map(Self::Remote)
        } else {
            Ok(Self::Local(context.expand(&text)))
        }
    }

    /// Parses what a manifest has. Relative paths start at `base`.
    pub(crate) fn in_manifest(session: &Session<'_>, base: &Path, text: &str) -> Result<Self> {
        if has_web_scheme(text) {
            RemoteContextPack::new(text).map(Self::Remote)
        } else {
            Ok(Self::Local(resolve_path(session, base, text)))
        }
    }

    pub(crate) fn is_local(&self) -> bool {
        matches!(self, Self::Local(_))
    }

    /// Returns the location for messages, without secrets.
    pub(crate) fn display_name(&self, context: &Context<'_>) -> String {
        match self {
            Self::Local(path) => context.display_relative_path(path),
            Self::Remote(remote) => remote.to_string(),
        }
    }
}

/// Reads every entry of a pack. For a zip, these are the entries of its one directory.
pub(crate) fn read_entries(
    session: &Session<'_>,
    location: &ContextPackLocation,
) -> Result<ContextPackEntries> {
    let path = match location {
        ContextPackLocation::Local(path) => path,
        ContextPackLocation::Remote(remote) => return remote::fetch(session, remote),
    };
    require_input(session.context, path, InputKind::FileOrDirectory)?;
    let is_manifest = path.file_name().is_some_and(|name| name == MANIFEST_FILE);
    let dir = path.parent().filter(|_| is_manifest).unwrap_or(path);
    if dir.is_dir() {
        return read_dir(session, dir);
    }
    read_zip(session, path, &session.context.display_relative_path(path))
}

/// Returns the digest of the manifest of a pack. Of a directory, no other file is read.
pub(crate) fn read_manifest_digest(
    session: &Session<'_>,
    location: &ContextPackLocation,
) -> Result<Digest> {
    match location {
        ContextPackLocation::Local(path) if path.join(MANIFEST_FILE).is_file() => {
            let bytes = read_limited(&path.join(MANIFEST_FILE), session.limits.file_bytes)?;
            Ok(Digest::of(&bytes))
        }
        ContextPackLocation::Remote(remote) => remote::fetch_manifest_digest(session, remote),
        ContextPackLocation::Local(_) => Ok(manifest_digest(&read_entries(session, location)?)),
    }
}
