//! Sources: a directory, a zip archive, the URL of a zip archive, or a git repository.
//!
//! [`OpenedSource::open`] fetches a source if needed. An opened source of any kind provides the
//! same operations: list the folders below a path, find those with a certain file, read small
//! files, load a folder. Links are never followed out of a source, and the limits for untrusted
//! content apply.

pub(crate) mod git;
pub(crate) mod web;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sp_formats::git_repo::{GitRef, GitRepo};
use sp_formats::redact::omits_query;
use sp_formats::text::OverLimit;
use sp_formats::workspace::{SourceRef, WebSource};
use sp_tree::{
    Archive, Digest, Dir, DirSearch, EntryKind, Follow, ListingKind, LoadedTree, Name, RelPath,
    WalkReport, load_untrusted, read_limited,
};

use crate::downloads::DownloadedFile;
use crate::error::{Error, ErrorCode, Result};
use crate::session::Session;
use git::{CheckoutOpener, GitCheckout, GitListing, read_blobs};

/// A source that is present on this machine.
pub(crate) enum OpenedSource {
    Dir(PathBuf),
    Zip(ZipSource),
    /// A commit of a git repository.
    Git(Arc<GitCheckout>),
}

impl fmt::Debug for OpenedSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dir(path) => f.debug_tuple("Dir").field(path).finish(),
            Self::Zip(zip) => f.debug_tuple("Zip").field(&zip.root).finish(),
            Self::Git(checkout) => f.debug_tuple("Git").field(&checkout.commit).finish(),
        }
    }
}

/// An opened zip archive.
pub(crate) struct ZipSource {
    archive: Archive,
    /// The folder that is the root of the source. Empty for the top of the archive.
    root: String,
    /// The digest of the archive, if the cache keeps it.
    digest: Option<Digest>,
}

/// The folders of a source with a certain file.
pub(crate) struct FoundFolders {
    /// Sorted; "" is the root.
    pub paths: Vec<String>,
    /// How a directory was searched.
    pub walk: Option<WalkReport>,
}

/// Whether a downloaded archive stays in the cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum KeepArchive {
    Yes,
    No,
}

impl ZipSource {
    fn new(archive: Archive, digest: Option<Digest>) -> Self {
        let paths = archive.listing.entries.iter().map(|entry| entry.path.as_str());
        let tops: Vec<&str> = paths.filter(|path| !path.contains('/')).collect();
        let is_folder = |name: &str| {
            let prefix = prefix_of(name);
            archive.listing.entries.iter().any(|entry| entry.path.as_str().starts_with(&prefix))
        };
        // The archive of a repository has a single folder at its top, which is skipped.
        let root = match tops[..] {
            [only] if is_folder(only) => only.to_owned(),
            _ => String::new(),
        };
        Self { archive, root, digest }
    }
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
                        "check the path; in a file, relative paths start at the directory of that \
                         file",
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
        let opener = CheckoutOpener {
            context: session.context,
            limits: &session.limits,
            root: request.base,
        };
        Ok(Self::Git(opener.open_ref(repo, git_ref.as_ref())?.into()))
    }

    /// Opens an archive on the web that must have a digest, from the cache if it is there. Without
    /// one, the present archive is downloaded. It stays in the cache.
    pub(crate) fn open_web_archive(
        session: &Session<'_>,
        source: &WebSource,
        expected: Option<Digest>,
    ) -> Result<Self> {
        if let Some(digest) = expected
            && let Some(path) = web::cached_archive(session, &digest)
        {
            return Self::open_zip(session, &path, expected);
        }
        let address = web::WebAddress::from_source(source);
        let download = web::WebClient::new(session, &address)?.download(&address)?;
        if let Some(expected) = expected.filter(|expected| *expected != download.digest) {
            let message = format!("the archive `{}` has changed", address.display_url);
            let why = format!("its digest was {expected}, but is now {}", download.digest);
            return Err(Error::new(ErrorCode::LockMismatch, message)
                .because(why)
                .hint("nothing was changed: run `sp update` to see and accept the new version"));
        }
        Self::open_download(session, download, &address, KeepArchive::Yes)
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
        let is_kept = omits_query(&source.url, &source.query_allowlist);
        let keep = if is_kept { KeepArchive::Yes } else { KeepArchive::No };
        Self::open_download(session, download, &address, keep)
    }

    fn open_download(
        session: &Session<'_>,
        download: DownloadedFile,
        address: &web::WebAddress,
        keep: KeepArchive,
    ) -> Result<Self> {
        let kept_digest = (keep == KeepArchive::Yes).then_some(download.digest);
        let download_path = download.path().display().to_string();
        let opened = Self::open_zip(session, download.path(), kept_digest).map_err(|error| {
            Error { message: error.message.replace(&download_path, &address.display_url), ..error }
        })?;
        if kept_digest.is_some() {
            download.keep_in_cache(session.context)?;
        }
        Ok(opened)
    }

    pub(crate) fn open_zip(
        session: &Session<'_>,
        path: &Path,
        digest: Option<Digest>,
    ) -> Result<Self> {
        Ok(Self::Zip(ZipSource::new(Archive::open(path, &session.limits)?, digest)))
    }

    /// Opens an archive in memory. `label` is used in messages.
    pub(crate) fn open_zip_bytes(
        session: &Session<'_>,
        label: &str,
        bytes: Vec<u8>,
    ) -> Result<Self> {
        Ok(Self::Zip(ZipSource::new(Archive::from_bytes(label, bytes, &session.limits)?, None)))
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
                let prefix = prefix_of(&join_path(root, path));
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

    /// Returns the folders that contain a regular file called `file`. Directories in `skipped` are
    /// not searched.
    pub(crate) fn folders_with(
        &self,
        session: &Session<'_>,
        file: &Name,
        skipped: &[&str],
    ) -> Result<FoundFolders> {
        let mut walk = None;
        let mut paths: Vec<String> = match self {
            Self::Dir(root) => {
                let search = DirSearch { file, skipped, limits: &session.limits };
                let report = walk.insert(search.run(Dir::open(root)?)?);
                regular_matches(report).collect()
            }
            Self::Zip(ZipSource { archive, root, .. }) => {
                let prefix = prefix_of(root);
                let is_file = |kind: &ListingKind<_>| matches!(kind, ListingKind::File { .. });
                let files = archive.listing.entries.iter().filter(|entry| is_file(&entry.kind));
                let paths = files.filter_map(|entry| entry.path.as_str().strip_prefix(&prefix));
                paths.filter_map(|path| parent_of(path, file.as_str())).map(Into::into).collect()
            }
            Self::Git(checkout) => checkout.tree.folders_with(file.as_str()),
        };
        paths.sort();
        Ok(FoundFolders { paths, walk })
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

/// Returns the paths of the folders in which the file that was searched is not a link.
pub(crate) fn regular_matches(walk: &WalkReport) -> impl Iterator<Item = String> {
    walk.matches.iter().filter(|found| !found.file_is_link).map(|found| found.path.to_string())
}

/// Resolves a path that is relative to `base` or starts with `~`.
pub(crate) fn resolve_path(session: &Session<'_>, base: &Path, path: &str) -> PathBuf {
    if path.starts_with('~') { session.context.expand(path) } else { base.join(path) }
}

fn join_path(root: &str, path: &str) -> String {
    match (root, path) {
        ("", path) => path.into(),
        (root, "") => root.into(),
        (root, path) => format!("{root}/{path}"),
    }
}

/// Returns what the paths below a folder start with.
fn prefix_of(folder: &str) -> String {
    if folder.is_empty() { String::new() } else { format!("{folder}/") }
}

/// Returns the folder of a file with this name.
fn parent_of<'p>(path: &'p str, file: &str) -> Option<&'p str> {
    let folder = path.strip_suffix(file)?;
    if folder.is_empty() { Some("") } else { folder.strip_suffix('/') }
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
    let prefix = prefix_of(folder);
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
    let folders = load_commit_folders(session, checkout, &[folder.into()])?;
    Ok(folders.into_iter().next().unwrap_or_default())
}

/// Loads all files of folders of a commit into memory, with one fetch and one read.
pub(crate) fn load_commit_folders(
    session: &Session<'_>,
    checkout: &GitCheckout,
    folders: &[String],
) -> Result<Vec<LoadedTree>> {
    let listings = checkout.fetch_listings(session.context, &session.limits, folders)?;
    let blob = |kind: &ListingKind<Box<str>>| match kind {
        ListingKind::File { handle, .. } => Some(handle.clone()),
        ListingKind::Dir => None,
    };
    let entries = listings.iter().flat_map(|listing| &listing.entries);
    let blobs: Vec<Box<str>> = entries.filter_map(|entry| blob(&entry.kind)).collect();
    let mut bytes: Vec<Vec<u8>> = Vec::with_capacity(blobs.len());
    read_blobs(session.context, checkout, &blobs, |_, read| {
        bytes.push(read.to_vec());
        Ok(())
    })?;
    let mut bytes = bytes.into_iter();
    let load = |listing: GitListing| {
        let mut content = LoadedTree::default();
        for entry in listing.entries {
            match entry.kind {
                ListingKind::Dir => content.add_dir(entry.path),
                ListingKind::File { executable, .. } => {
                    content.add_file(entry.path, executable, bytes.next().unwrap_or_default());
                }
            }
        }
        content
    };
    Ok(listings.into_iter().map(load).collect())
}
