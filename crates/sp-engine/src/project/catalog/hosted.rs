//! Hosts with an index of skills below `/.well-known/`.
//!
//! The current version of the index has a digest of every artifact, which is verified. The legacy
//! version lists files without digests; there, the digest of the skill in the lockfile detects
//! changes. Indexes and artifacts are cached by their digests.

use std::sync::Arc;

use sp_formats::discovery::{
    IndexedArtifact, IndexedSkill, SkillArtifact, SkillIndex, SkillIndexVersion,
};
use sp_formats::percent::{COMPONENT, encode};
use sp_formats::printable::printable;
use sp_formats::project::lock::LockedSource;
use sp_formats::project::source::INDEX_PATHS;
use sp_formats::skill::SKILL_FILE;
use sp_formats::web_url::{PlainHttp, UrlPolicy, WebUrl};
use sp_tree::{Digest, ListingBuilder, ListingKind, LoadedTree, RelPath, zip_tree};

use super::{CatalogRequest, CatalogSkill, OfferedSkills, SkillContent, SkillDraft};
use crate::downloads::{keep_artifact, read_artifact};
use crate::error::{Error, ErrorCode, Result};
use crate::io_threads::{MAX_CONCURRENT_DOWNLOADS, run_in_threads};
use crate::session::Session;
use crate::source::OpenedSource;
use crate::source::web::{WebAddress, WebClient};

/// The maximum number of skills in an index. All of them are downloaded.
const MAX_SKILLS: usize = 500;
/// The maximum size of an index.
const MAX_INDEX_BYTES: u64 = 8 * 1024 * 1024;

/// The bytes of an index.
pub(super) struct FetchedIndex {
    bytes: Vec<u8>,
    pub digest: Digest,
}

/// A host, while its skills are downloaded.
struct SkillHost<'a> {
    session: &'a Session<'a>,
    /// The URL of the index.
    index_url: String,
    index_digest: Digest,
}

pub(super) fn open_host(
    session: &Session<'_>,
    url: &str,
    request: CatalogRequest<'_>,
) -> Result<OfferedSkills> {
    let locked = request.lock().and_then(|lock| lock.digest);
    let cached = locked.and_then(|digest| cached_index(session, digest));
    let is_new = cached.is_none();
    let fetched = cached.map_or_else(|| fetch_index(session, url), Ok)?;
    let index = SkillIndex::parse(&fetched.bytes).map_err(|why| {
        Error::new(ErrorCode::InvalidIndex, format!("`{url}` has an invalid index of skills"))
            .because(printable(&why).into_owned())
            .hint("nothing was changed: ask its operator to fix it")
    })?;
    if index.skills.len() > MAX_SKILLS {
        let message = format!("the index of `{url}` has more than {MAX_SKILLS} skills");
        return Err(Error::new(ErrorCode::LimitExceeded, message)
            .hint("if the host is a registry, add one of its packages: `@<namespace>/<name>`"));
    }
    let path = match index.version {
        SkillIndexVersion::Current => INDEX_PATHS[0],
        SkillIndexVersion::Legacy => INDEX_PATHS[1],
    };
    let index_url = format!("{url}{path}");
    let host = SkillHost { session, index_url, index_digest: fetched.digest };
    let loaded = run_in_threads(&index.skills, MAX_CONCURRENT_DOWNLOADS, |skill| host.load(skill));
    let mut skills = Vec::new();
    for (indexed, tree) in index.skills.iter().zip(loaded) {
        skills.push(host.catalog_skill(indexed, tree?)?);
    }
    if is_new {
        keep_artifact(session.context, &fetched.digest, &fetched.bytes)?;
    }
    let locked = LockedSource { digest: Some(fetched.digest), ..LockedSource::default() };
    Ok(OfferedSkills { locked, skills, ..OfferedSkills::default() })
}

fn cached_index(session: &Session<'_>, digest: Digest) -> Option<FetchedIndex> {
    let bytes = read_artifact(session.context, &digest, MAX_INDEX_BYTES)?;
    (Digest::of(&bytes) == digest).then_some(FetchedIndex { bytes, digest })
}

/// Fetches the index of a host: the current version, or else the legacy one.
pub(super) fn fetch_index(session: &Session<'_>, url: &str) -> Result<FetchedIndex> {
    for path in INDEX_PATHS {
        let address = web_address(format!("{url}{path}"));
        let client = WebClient::new(session, &address)?;
        if let Some(bytes) = client.read_optional(&address, MAX_INDEX_BYTES)? {
            return Ok(FetchedIndex { digest: Digest::of(&bytes), bytes });
        }
    }
    Err(Error::new(ErrorCode::SourceNotFound, format!("`{url}` has no index of skills"))
        .because(format!("neither `{}` nor `{}` exists", INDEX_PATHS[0], INDEX_PATHS[1]))
        .hint("check the host; for a git repository, use its full URL"))
}

fn web_address(url: String) -> WebAddress {
    WebAddress { display_url: url.clone(), url }
}

impl SkillHost<'_> {
    /// Returns the files of a skill, from the cache if they are there.
    fn load(&self, skill: &IndexedSkill) -> Result<LoadedTree> {
        self.session.context.check_cancelled()?;
        let tree = match &skill.artifact {
            IndexedArtifact::File { sort, url, digest } => {
                let bytes = self.artifact(skill, url, digest)?;
                self.unpack(skill, *sort, bytes)?
            }
            IndexedArtifact::Files(files) => self.legacy_files(skill, files)?,
        };
        if tree.get(SKILL_FILE).is_none() {
            let message = format!("`{}` of `{}` has no `{SKILL_FILE}`", skill.name, self.index_url);
            return Err(Error::new(ErrorCode::InvalidSkill, message)
                .hint("nothing was changed: ask the operator of the host to fix it"));
        }
        Ok(tree)
    }

    /// Returns an artifact, verified.
    fn artifact(&self, skill: &IndexedSkill, url: &str, digest: &Digest) -> Result<Vec<u8>> {
        let limit = self.session.limits.zip_bytes;
        let cached = read_artifact(self.session.context, digest, limit);
        if let Some(bytes) = cached.filter(|bytes| Digest::of(bytes) == *digest) {
            return Ok(bytes);
        }
        let address = web_address(self.resolve(url)?);
        let bytes = self.fetch(skill, &address, limit)?;
        let found = Digest::of(&bytes);
        if found != *digest {
            let message = format!("`{}` does not match its index", address.display_url);
            return Err(Error::new(ErrorCode::DigestMismatch, message)
                .because(format!("the index has {digest}, but the digest is {found}"))
                .hint("nothing was changed: run `sp update` if the skill was just published"));
        }
        keep_artifact(self.session.context, digest, &bytes)?;
        Ok(bytes)
    }

    fn fetch(&self, skill: &IndexedSkill, address: &WebAddress, limit: u64) -> Result<Vec<u8>> {
        let client = WebClient::new(self.session, address)?;
        client.read_optional(address, limit)?.ok_or_else(|| {
            let message = format!("`{}` of `{}` is incomplete", skill.name, self.index_url);
            Error::new(ErrorCode::SourceNotFound, message)
                .because(format!("`{}` does not exist", address.display_url))
                .hint("nothing was changed: ask the operator of the host to fix it")
        })
    }

    fn unpack(
        &self,
        skill: &IndexedSkill,
        sort: SkillArtifact,
        bytes: Vec<u8>,
    ) -> Result<LoadedTree> {
        match sort {
            SkillArtifact::SkillMd => {
                let mut tree = LoadedTree::default();
                tree.add_file(RelPath::new(SKILL_FILE)?, false, bytes);
                Ok(tree)
            }
            SkillArtifact::Archive => {
                let label = format!("{} of {}", skill.name, self.index_url);
                OpenedSource::open_zip_bytes(self.session, &label, bytes)?
                    .load_folder(self.session, "")
            }
        }
    }

    /// Returns the files that a legacy index lists.
    fn legacy_files(&self, skill: &IndexedSkill, files: &[RelPath]) -> Result<LoadedTree> {
        let key = format!("legacy {} {}", self.index_digest, skill.name);
        let key = Digest::of(key.as_bytes());
        let limits = &self.session.limits;
        let label = format!("{} of {}", skill.name, self.index_url);
        if let Some(zip) = read_artifact(self.session.context, &key, limits.zip_bytes) {
            return OpenedSource::open_zip_bytes(self.session, &label, zip)?
                .load_folder(self.session, "");
        }
        let invalid = |why: sp_tree::ListingError| {
            Error::new(ErrorCode::InvalidSkill, format!("`{label}` is invalid")).because(why)
        };
        let mut listing = ListingBuilder::new(limits);
        for file in files {
            let encoded: Vec<String> =
                file.segments().map(|segment| encode(segment, COMPONENT)).collect();
            let path = format!("{}/{}", skill.name, encoded.join("/"));
            let address = web_address(self.resolve(&path)?);
            let bytes = self.fetch(skill, &address, limits.file_bytes)?;
            listing.add_parents(file).map_err(invalid)?;
            let size = bytes.len() as u64;
            listing.add_file(file.clone(), false, size, bytes).map_err(invalid)?;
        }
        let mut tree = LoadedTree::default();
        for entry in listing.finish().entries {
            match entry.kind {
                ListingKind::Dir => tree.add_dir(entry.path),
                ListingKind::File { executable, handle, .. } => {
                    tree.add_file(entry.path, executable, handle);
                }
            }
        }
        if let Ok(zip) = zip_tree(&tree) {
            keep_artifact(self.session.context, &key, &zip)?;
        }
        Ok(tree)
    }

    /// Resolves a URL in the index.
    fn resolve(&self, reference: &str) -> Result<String> {
        resolve_url(&self.index_url, reference).ok_or_else(|| {
            let message = format!("the index `{}` contains an invalid URL", self.index_url);
            Error::new(ErrorCode::InvalidIndex, message)
                .because(printable(reference).into_owned())
                .hint("nothing was changed: ask the operator of the host to fix it")
        })
    }

    fn catalog_skill(&self, indexed: &IndexedSkill, tree: LoadedTree) -> Result<CatalogSkill> {
        let tree = Arc::new(tree);
        let draft = SkillDraft {
            id: indexed.name.to_string(),
            folder: indexed.name.as_str(),
            bytes: tree.get(SKILL_FILE).unwrap_or_default(),
            content: SkillContent::Loaded(Arc::clone(&tree)),
        };
        let skill = draft.read(self.session).ok_or_else(|| {
            let message = format!("`{}` of `{}` is not text", indexed.name, self.index_url);
            Error::new(ErrorCode::InvalidSkill, message)
                .hint("nothing was changed: ask the operator of the host to fix it")
        })?;
        // The index assigns the names, which are unique in it.
        Ok(CatalogSkill { name: indexed.name.to_string(), ..skill })
    }
}

/// Resolves a URL relative to an index. None if it is invalid, or leads to a less protected server.
fn resolve_url(index_url: &str, reference: &str) -> Option<String> {
    const POLICY: UrlPolicy = UrlPolicy { userinfo: false, query: true, http: PlainHttp::Loopback };
    let index = WebUrl::parse(index_url).ok()?;
    let origin = format!("{}://{}", index.scheme(), index.authority());
    let path = reference.split(['?', '#']).next().unwrap_or_default();
    let has_dots = path.split('/').any(|segment| matches!(segment, "." | ".."));
    let resolved = if reference.contains("://") {
        reference.to_owned()
    } else if has_dots || reference.starts_with("//") || reference.is_empty() {
        return None;
    } else if reference.starts_with('/') {
        format!("{origin}{reference}")
    } else {
        let (folder, _) = index_url.rsplit_once('/')?;
        format!("{folder}/{reference}")
    };
    let url = POLICY.check(&resolved).ok()?;
    let is_same_origin = (url.scheme(), url.authority()) == (index.scheme(), index.authority());
    (is_same_origin || url.is_https()).then_some(resolved)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lc_03_urls_in_an_index_are_relative_to_it() {
        let index = "https://example.com/.well-known/agent-skills/index.json";
        let local = "http://127.0.0.1:1/.well-known/agent-skills/index.json";
        for (base, reference, expected) in [
            (index, "a/SKILL.md", Some("https://example.com/.well-known/agent-skills/a/SKILL.md")),
            (index, "/x/a.zip?v=1", Some("https://example.com/x/a.zip?v=1")),
            (index, "https://cdn.example.com/a.zip", Some("https://cdn.example.com/a.zip")),
            (local, "http://127.0.0.1:1/a", Some("http://127.0.0.1:1/a")),
            // A host on the web must not make this machine ask its own servers.
            (index, "http://127.0.0.1:1/a", None),
            (local, "http://127.0.0.1:2/a", None),
            (index, "http://example.com/a", None),
            (index, "../../admin", None),
            (index, "//evil.example/a", None),
            (index, "file:///etc/passwd", None),
            (index, "", None),
            (index, "a b", None),
        ] {
            assert_eq!(resolve_url(base, reference).as_deref(), expected, "{reference}");
        }
    }
}
