//! Sources: a directory, a zip archive, the URL of a zip archive, or a git repository.
//!
//! [`OpenedSource::open`] fetches a source if needed. An opened source of any kind provides the
//! same three operations: list the folders below a path, read small files, load a folder. Links are
//! never followed out of a source, and the limits for untrusted content apply.

pub(crate) mod git;
pub(crate) mod web;

use std::path::{Path, PathBuf};

use sp_formats::git_repo::{GitRef, GitRepo};
use sp_formats::pack::PackImport;
use sp_formats::redact::omits_query;
use sp_formats::text::OverLimit;
use sp_formats::workspace::{SourceRef, WebSource};
use sp_tree::{
    Archive, Digest, Dir, EntryKind, Follow, ListingKind, LoadedTree, Name, RelPath,
    load_untrusted, read_limited,
};

use crate::error::{Error, ErrorCode, Result};
use crate::session::Session;
use git::{CheckoutOpener, GitCheckout, read_blobs};

/// A source that is present on this machine.
pub(crate) enum OpenedSource {
    Dir(PathBuf),
    Zip(ZipSource),
    /// A commit of a git repository.
    Git(Box<GitCheckout>),
}

/// An opened zip archive.
pub(crate) struct ZipSource {
    archive: Archive,
    /// The folder that is the root of the source. Empty for the top of the archive.
    root: String,
    /// The digest of the archive, if the cache keeps it.
    digest: Option<Digest>,
}

/// A source as written in a file or on the command line.
pub(crate) struct SourceRequest<'a> {
    pub source: &'a SourceRef,
    /// The git ref.
    pub version: Option<&'a str>,
    /// The directory that relative paths start from.
    pub base: &'a Path,
}

impl OpenedSource {
    /// Opens a source, fetching it if needed.
    #[tracing::instrument(level = "debug", skip_all)]
    pub(crate) fn open(session: &Session<'_>, request: &SourceRequest<'_>) -> Result<Self> {
        match request.source {
            SourceRef::Dir(path) => {
                let dir = resolve_path(session, request.base, path);
                if !dir.is_dir() {
                    return Err(Error::new(
                        ErrorCode::SourceNotFound,
                        format!("directory `{}` not found", session.context.display_path(&dir)),
                    )
                    .hint(
                        "check the path; relative paths start at the directory of the file that \
                         contains them",
                    ));
                }
                Ok(Self::Dir(dir))
            }
            SourceRef::Zip(path) => {
                Self::open_zip(session, &resolve_path(session, request.base, path), None)
            }
            SourceRef::Web(source) => Self::fetch_zip(session, source),
            SourceRef::Git(repo) => Self::open_git(session, repo, request),
        }
    }

    fn open_git(
        session: &Session<'_>,
        repo: &GitRepo,
        request: &SourceRequest<'_>,
    ) -> Result<Self> {
        let git_ref = request.version.map(GitRef::new).transpose().map_err(|e| {
            Error::new(
                ErrorCode::InvalidGitRef,
                format!("invalid version `{}` for `{repo}`", request.version.unwrap_or_default()),
            )
            .because(e)
            .hint("specify a tag, a branch or a commit")
        })?;
        let import = PackImport {
            repo: repo.clone(),
            span: 0..0,
            git_ref,
            include: Vec::new(),
            exclude: Vec::new(),
        };
        let opener = CheckoutOpener {
            context: session.context,
            limits: &session.limits,
            root: request.base,
        };
        let checkout = opener.open(std::slice::from_ref(&import))?.into_iter().next();
        checkout
            .map(|checkout| Self::Git(Box::new(checkout)))
            .ok_or_else(|| Error::new(ErrorCode::TaskFailed, "the fetch returned no result"))
    }

    fn fetch_zip(session: &Session<'_>, source: &WebSource) -> Result<Self> {
        if let Some(locked) = &source.locked {
            return Self::open_zip(
                session,
                &web::locked_archive(session, source, locked)?,
                locked.digest,
            );
        }
        let address = web::WebAddress::from_source(source);
        let download = web::WebClient::new(session, &address)?.download(&address)?;
        // The lockfile does not record the secret part of the URL, so the archive cannot be fetched
        // again from there.
        let kept_digest =
            omits_query(&source.url, &source.query_allowlist).then_some(download.digest);
        let download_path = download.path().display().to_string();
        let opened = Self::open_zip(session, download.path(), kept_digest).map_err(|error| {
            Error { message: error.message.replace(&download_path, &address.display_url), ..error }
        })?;
        if kept_digest.is_some() {
            download.keep_in_cache(session.context)?;
        }
        Ok(opened)
    }

    fn open_zip(session: &Session<'_>, path: &Path, digest: Option<Digest>) -> Result<Self> {
        let archive = Archive::open(path, &session.limits)?;
        let tops: Vec<&str> = archive
            .listing
            .entries
            .iter()
            .map(|entry| entry.path.as_str())
            .filter(|path| !path.contains('/'))
            .collect();
        let is_folder = |name: &str| {
            let prefix = format!("{name}/");
            archive.listing.entries.iter().any(|entry| entry.path.as_str().starts_with(&prefix))
        };
        // The archive of a repository has a single folder at its top, which is skipped.
        let root = match tops[..] {
            [only] if is_folder(only) => only.to_owned(),
            _ => String::new(),
        };
        Ok(Self::Zip(ZipSource { archive, root, digest }))
    }

    /// Returns the digest of an archive that the cache keeps.
    pub(crate) fn archive_digest(&self) -> Option<Digest> {
        match self {
            Self::Zip(zip) => zip.digest,
            _ => None,
        }
    }

    /// Returns the full commit ID of a git source.
    pub(crate) fn commit(&self) -> Option<&str> {
        match self {
            Self::Git(checkout) => Some(&checkout.commit),
            _ => None,
        }
    }

    /// Returns the names of the folders directly below a path, sorted.
    pub(crate) fn folders(&self, path: &str) -> Result<Vec<String>> {
        let mut names: Vec<String> = match self {
            Self::Dir(root) => match Dir::open(&root.join(path)) {
                Ok(dir) => dir
                    .entries()?
                    .iter()
                    .filter(|entry| matches!(entry.kind, EntryKind::Dir | EntryKind::Link))
                    .map(|entry| entry.name().to_string_lossy().into_owned())
                    .collect(),
                Err(_) => Vec::new(),
            },
            Self::Zip(ZipSource { archive, root, .. }) => {
                let prefix = join_path(root, path) + "/";
                let below = archive
                    .listing
                    .entries
                    .iter()
                    .filter(|entry| matches!(entry.kind, ListingKind::Dir));
                let names = below.filter_map(|entry| entry.path.as_str().strip_prefix(&prefix));
                names.filter(|name| !name.contains('/')).map(Into::into).collect()
            }
            Self::Git(checkout) => checkout.tree.folders(path),
        };
        names.sort();
        Ok(names)
    }

    /// Reads small files. Returns `None` for each one that does not exist.
    pub(crate) fn read_files(
        &self,
        session: &Session<'_>,
        paths: &[String],
    ) -> Result<Vec<Option<Vec<u8>>>> {
        let limit = session.limits.markdown_bytes;
        match self {
            Self::Dir(root) => {
                paths.iter().map(|path| read_regular_file(root, path, limit)).collect()
            }
            Self::Zip(ZipSource { archive, root, .. }) => paths
                .iter()
                .map(|path| read_member(archive, &join_path(root, path), limit))
                .collect(),
            Self::Git(checkout) => checkout.read_files(session.context, &session.limits, paths),
        }
    }

    /// Loads all files of a folder into memory.
    pub(crate) fn load_folder(&self, session: &Session<'_>, folder: &str) -> Result<LoadedTree> {
        match self {
            Self::Dir(root) => {
                Ok(load_untrusted(&Dir::open(&root.join(folder))?, &session.limits)?)
            }
            Self::Zip(ZipSource { archive, root, .. }) => {
                load_members(archive, &join_path(root, folder))
            }
            Self::Git(checkout) => load_commit_folder(session, checkout, folder),
        }
    }
}

/// Resolves a path that is relative to `base` or starts with `~`.
fn resolve_path(session: &Session<'_>, base: &Path, path: &str) -> PathBuf {
    if path.starts_with('~') { session.context.expand(path) } else { base.join(path) }
}

fn join_path(root: &str, path: &str) -> String {
    if root.is_empty() { path.into() } else { format!("{root}/{path}") }
}

/// Reads a file of an untrusted directory. A link, or a file behind one, counts as missing.
fn read_regular_file(root: &Path, path: &str, limit: u64) -> Result<Option<Vec<u8>>> {
    let invalid =
        |e: sp_tree::PathError| Error::new(ErrorCode::UnsafePath, format!("`{path}`: {e}"));
    let mut dir = Dir::open(root)?;
    let checked = RelPath::new(path).map_err(invalid)?;
    for segment in checked.parent().into_iter().flat_map(|parent| parent.split('/')) {
        let name = Name::new(segment).map_err(invalid)?;
        match dir.stat(&name, Follow::Never)?.map(|stamp| stamp.kind()) {
            Some(EntryKind::Dir) => dir = dir.open_dir(&name, Follow::Never)?,
            _ => return Ok(None),
        }
    }
    let leaf = Name::new(checked.file_name()).map_err(invalid)?;
    match dir.stat(&leaf, Follow::Never)?.map(|stamp| stamp.kind()) {
        Some(EntryKind::File) => Ok(Some(read_limited(&dir.path_of(&leaf), limit)?)),
        _ => Ok(None),
    }
}

fn read_member(archive: &Archive, path: &str, limit: u64) -> Result<Option<Vec<u8>>> {
    let entry = archive.listing.entries.iter().find(|entry| entry.path.as_str() == path);
    match entry.map(|entry| (&entry.path, &entry.kind)) {
        Some((_, ListingKind::File { size, .. })) if *size > limit => Err(Error::new(
            ErrorCode::LimitExceeded,
            format!("`{path}` is {}", OverLimit { bytes: *size, limit }),
        )
        .hint("raise the limit with `--limit markdown-bytes=<bytes>` if you trust the source")),
        Some((path, ListingKind::File { handle, .. })) => Ok(Some(archive.read(path, handle)?)),
        _ => Ok(None),
    }
}

fn load_members(archive: &Archive, folder: &str) -> Result<LoadedTree> {
    let mut content = LoadedTree::default();
    let prefix = format!("{folder}/");
    for entry in &archive.listing.entries {
        let Some(path) = entry.path.as_str().strip_prefix(&prefix) else { continue };
        let path = RelPath::new(path)?;
        match &entry.kind {
            ListingKind::Dir => content.add_dir(path),
            ListingKind::File { executable, handle, .. } => {
                content.add_file(path, *executable, archive.read(&entry.path, handle)?);
            }
        }
    }
    Ok(content)
}

/// Loads all files of a folder of a commit into memory.
pub(crate) fn load_commit_folder(
    session: &Session<'_>,
    checkout: &GitCheckout,
    folder: &str,
) -> Result<LoadedTree> {
    let listing = checkout
        .fetch_listings(session.context, &session.limits, &[folder.into()])?
        .into_iter()
        .next();
    let entries = listing.map(|listing| listing.entries).unwrap_or_default();
    let blob = |kind: &ListingKind<Box<str>>| match kind {
        ListingKind::File { handle, .. } => Some(handle.clone()),
        ListingKind::Dir => None,
    };
    let blobs: Vec<Box<str>> = entries.iter().filter_map(|entry| blob(&entry.kind)).collect();
    let mut bytes: Vec<Vec<u8>> = Vec::with_capacity(blobs.len());
    read_blobs(session.context, checkout, &blobs, |_, read| {
        bytes.push(read.to_vec());
        Ok(())
    })?;
    let mut bytes = bytes.into_iter();
    let mut content = LoadedTree::default();
    for entry in entries {
        match entry.kind {
            ListingKind::Dir => content.add_dir(entry.path),
            ListingKind::File { executable, .. } => {
                content.add_file(entry.path, executable, bytes.next().unwrap_or_default());
            }
        }
    }
    Ok(content)
}
