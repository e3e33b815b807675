//! Where bytes come from: a directory, a zip, a zip on the web, a git repository.
//!
//! Whatever it is, once it is here it answers the same three questions: which folders are
//! below a path, what is in these files, and what is in that folder.

pub(crate) mod git;
pub(crate) mod web;

use std::path::{Path, PathBuf};

use sp_formats::address::omits_query;
use sp_formats::bag::{SourceRef, WebSource};
use sp_formats::pack::Import;
use sp_formats::repo::GitRef;
use sp_tree::{Archive, Content, Digest, Dir, EntryKind, Follow, ListingKind, Name, RelPath, load, read_limited};

use crate::config::Session;
use crate::error::{Error, Kind, Result};
use git::{Checkout, Checkouts, read_blobs};

/// A source that is here.
pub(crate) enum Source {
    /// A directory of this machine.
    Dir(PathBuf),
    /// A zip archive, the folder in it that is the source's root ("" is its top), and its digest if it is in the cache.
    Zip(Archive, String, Option<Digest>),
    /// A commit of a git repository.
    Git(Box<Checkout>),
}

/// Which source, as somebody wrote it, and where that was.
pub(crate) struct Wanted<'a> {
    pub source: &'a SourceRef,
    pub version: Option<&'a str>,
    /// The directory from which relative paths start.
    pub base: &'a Path,
}

impl Source {
    /// Brings a source here.
    pub(crate) fn open(session: &Session<'_>, wanted: &Wanted<'_>) -> Result<Self> {
        match wanted.source {
            SourceRef::Dir(path) => {
                let dir = here(session, wanted.base, path);
                match dir.is_dir() {
                    true => Ok(Self::Dir(dir)),
                    false => Err(Error::new(
                        Kind::Environment,
                        format!("there is no directory `{}`", session.context.show(&dir)),
                    )
                    .hint("a relative path starts at the file that names it")),
                }
            }
            SourceRef::Zip(path) => Self::unzip(session, &here(session, wanted.base, path), None),
            SourceRef::Web(source) => Self::fetch_zip(session, source),
            SourceRef::Git(repo) => {
                let git_ref = wanted.version.map(GitRef::new).transpose().map_err(|e| {
                    Error::new(
                        Kind::Data,
                        format!("the version `{}` of `{repo}` cannot be used", wanted.version.unwrap_or_default()),
                    )
                    .because(e)
                    .hint("write a tag, a branch or a commit")
                })?;
                let import =
                    Import { repo: repo.clone(), span: 0..0, git_ref, include: Vec::new(), exclude: Vec::new() };
                let checkouts = Checkouts { context: session.context, limits: &session.limits, root: wanted.base };
                let opened = checkouts.open(std::slice::from_ref(&import))?.into_iter().next();
                opened
                    .map(|checkout| Self::Git(Box::new(checkout)))
                    .ok_or_else(|| Error::new(Kind::Environment, "nothing was fetched"))
            }
        }
    }

    fn fetch_zip(session: &Session<'_>, source: &WebSource) -> Result<Self> {
        if let Some(locked) = &source.locked {
            return Self::unzip(session, &web::locked_archive(session, source, locked)?, locked.digest);
        }
        let address = web::Address::of_source(source);
        let download = web::Client::new(session, &address)?.download(&address)?;
        // Without the whole address nobody can fetch it again, so it is kept.
        let kept = omits_query(&source.url, &source.kept).then_some(download.digest);
        let here = download.path().display().to_string();
        let opened = Self::unzip(session, download.path(), kept)
            .map_err(|error| Error { message: error.message.replace(&here, &address.shown), ..error })?;
        if kept.is_some() {
            download.keep(session.context)?;
        }
        Ok(opened)
    }

    fn unzip(session: &Session<'_>, path: &Path, digest: Option<Digest>) -> Result<Self> {
        let archive = Archive::open(path, &session.limits)?;
        let tops: Vec<&str> = archive
            .listing
            .entries
            .iter()
            .map(|entry| entry.path.as_str())
            .filter(|path| !path.contains('/'))
            .collect();
        // An archive of a repository has one folder at its top, called for the repository.
        let root = match tops[..] {
            [only]
                if archive.listing.entries.iter().any(|entry| entry.path.as_str().starts_with(&format!("{only}/"))) =>
            {
                only.to_owned()
            }
            _ => String::new(),
        };
        Ok(Self::Zip(archive, root, digest))
    }

    /// The digest of an archive that the cache keeps.
    pub(crate) fn archive(&self) -> Option<Digest> {
        match self {
            Self::Zip(_, _, digest) => *digest,
            _ => None,
        }
    }

    /// The full commit, if it is git's.
    pub(crate) fn commit(&self) -> Option<&str> {
        match self {
            Self::Git(checkout) => Some(&checkout.commit),
            _ => None,
        }
    }

    /// The names of the folders directly below a path, sorted.
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
            Self::Zip(archive, root, _) => {
                let prefix = joined(root, path) + "/";
                let below = archive.listing.entries.iter().filter(|entry| matches!(entry.kind, ListingKind::Dir));
                let names = below.filter_map(|entry| entry.path.as_str().strip_prefix(&prefix));
                names.filter(|name| !name.contains('/')).map(Into::into).collect()
            }
            Self::Git(checkout) => checkout.tree.folders(path),
        };
        names.sort();
        Ok(names)
    }

    /// The bytes of small files; none for one that is not there.
    pub(crate) fn read(&self, session: &Session<'_>, paths: &[String]) -> Result<Vec<Option<Vec<u8>>>> {
        let limit = session.limits.markdown_bytes;
        match self {
            Self::Dir(root) => paths.iter().map(|path| read_plain(root, path, limit)).collect(),
            Self::Zip(archive, root, _) => {
                paths.iter().map(|path| read_member(archive, &joined(root, path), limit)).collect()
            }
            Self::Git(checkout) => checkout.read_files(session.context, &session.limits, paths),
        }
    }

    /// Everything in a folder.
    pub(crate) fn load(&self, session: &Session<'_>, folder: &str) -> Result<Content> {
        match self {
            Self::Dir(root) => Ok(load(&Dir::open(&root.join(folder))?, &session.limits)?),
            Self::Zip(archive, root, _) => load_members(archive, &joined(root, folder)),
            Self::Git(checkout) => load_commit(session, checkout, folder),
        }
    }
}

/// A path that somebody wrote, from the place where it was written.
fn here(session: &Session<'_>, base: &Path, path: &str) -> PathBuf {
    match path.starts_with('~') {
        true => session.context.expand(path),
        false => base.join(path),
    }
}

fn joined(root: &str, path: &str) -> String {
    if root.is_empty() { path.into() } else { format!("{root}/{path}") }
}

/// A file of a stranger's directory: it must not be a link, nor lie behind one.
fn read_plain(root: &Path, path: &str, limit: u64) -> Result<Option<Vec<u8>>> {
    let invalid = |e: sp_tree::PathError| Error::new(Kind::Data, format!("`{path}`: {e}"));
    let mut dir = Dir::open(root)?;
    let checked = RelPath::new(path).map_err(invalid)?;
    for segment in checked.parent().into_iter().flat_map(|parent| parent.split('/')) {
        let name = Name::new(segment).map_err(invalid)?;
        match dir.look(&name, Follow::Never)?.map(|stamp| stamp.kind()) {
            Some(EntryKind::Dir) => dir = dir.open_dir(&name, Follow::Never)?,
            _ => return Ok(None),
        }
    }
    let leaf = Name::new(checked.leaf()).map_err(invalid)?;
    match dir.look(&leaf, Follow::Never)?.map(|stamp| stamp.kind()) {
        Some(EntryKind::File) => Ok(Some(read_limited(&dir.path_of(&leaf), limit)?)),
        _ => Ok(None),
    }
}

fn read_member(archive: &Archive, path: &str, limit: u64) -> Result<Option<Vec<u8>>> {
    let entry = archive.listing.entries.iter().find(|entry| entry.path.as_str() == path);
    match entry.map(|entry| (&entry.path, &entry.kind)) {
        Some((_, ListingKind::File { size, .. })) if *size > limit => {
            Err(Error::new(Kind::Data, format!("`{path}` has {size} bytes, more than the limit of {limit}"))
                .hint("raise it with `--limit markdown-bytes=<bytes>` if you trust the source"))
        }
        Some((path, ListingKind::File { handle, .. })) => Ok(Some(archive.read(path, handle)?)),
        _ => Ok(None),
    }
}

fn load_members(archive: &Archive, folder: &str) -> Result<Content> {
    let mut content = Content::default();
    let prefix = format!("{folder}/");
    for entry in &archive.listing.entries {
        let Some(path) = entry.path.as_str().strip_prefix(&prefix) else { continue };
        let path = RelPath::new(path).map_err(|e| Error::new(Kind::Data, e.to_string()))?;
        match &entry.kind {
            ListingKind::Dir => content.dir(path),
            ListingKind::File { executable, handle, .. } => {
                content.file(path, *executable, archive.read(&entry.path, handle)?);
            }
        }
    }
    Ok(content)
}

/// Everything in a folder of a commit.
pub(crate) fn load_commit(session: &Session<'_>, checkout: &Checkout, folder: &str) -> Result<Content> {
    let listing = checkout.prepare(session.context, &session.limits, &[folder.into()])?.into_iter().next();
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
    let mut content = Content::default();
    for entry in entries {
        match entry.kind {
            ListingKind::Dir => content.dir(entry.path),
            ListingKind::File { executable, .. } => {
                content.file(entry.path, executable, bytes.next().unwrap_or_default());
            }
        }
    }
    Ok(content)
}
