//! Sources of workspace skills: git, a zip on the web, a local zip, or a local directory.

use std::fmt;

use thiserror::Error;

use sp_tree::Digest;

use crate::git_repo::{GitRepo, GitRepoError};
use crate::redact::{QueryAllowlist, omits_query, redact_url};
use crate::web_url::has_web_scheme;

/// Why a text is not a source.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SourceRefError {
    #[error("it is empty or contains control characters")]
    InvalidText,
    /// Not a valid git repository.
    #[error(transparent)]
    Git(#[from] GitRepoError),
}

/// A zip archive on the web. It is displayed without secrets in its URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebSource {
    /// The full URL.
    pub url: String,
    /// The query parameters that may be displayed.
    pub query_allowlist: QueryAllowlist,
    /// What a lockfile recorded, if its URL is incomplete.
    pub locked: Option<LockedArchive>,
}

/// A zip archive whose complete URL is unknown, because the lockfile does not record its query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockedArchive {
    /// The lockfile entry.
    pub entry: String,
    /// The digest of the archive, if it may be taken from the cache.
    pub digest: Option<Digest>,
}

impl WebSource {
    pub fn new(url: impl Into<String>) -> Self {
        Self { url: url.into(), query_allowlist: QueryAllowlist::default(), locked: None }
    }
}

impl fmt::Display for WebSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&redact_url(&self.url, &self.query_allowlist))
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SourceRef {
    Git(GitRepo),
    /// A zip archive on the web.
    Web(WebSource),
    /// A local zip archive, relative to the file that names it.
    Zip(String),
    /// A local directory.
    Dir(String),
}

impl SourceRef {
    /// Parses a source as people write it.
    pub fn new(text: &str) -> Result<Self, SourceRefError> {
        if text.trim().is_empty() || text.chars().any(char::is_control) {
            return Err(SourceRefError::InvalidText);
        }
        let lower = text.to_ascii_lowercase();
        let path = lower.split(['?', '#']).next().unwrap_or_default();
        let is_web = has_web_scheme(text);
        if is_web && path.ends_with(".zip") {
            return Ok(Self::Web(WebSource::new(text)));
        }
        let is_path = !is_web
            && !text.contains("://")
            && (text.starts_with(['.', '/', '~']) || lower.ends_with(".zip"));
        if is_path || is_plain_path(text) {
            return Ok(if lower.ends_with(".zip") {
                Self::Zip(text.into())
            } else {
                Self::Dir(text.into())
            });
        }
        Ok(Self::Git(GitRepo::new(text)?))
    }

    /// Allows these query parameters to be displayed.
    pub fn with_query_allowlist(mut self, allowed: &QueryAllowlist) -> Self {
        match &mut self {
            Self::Web(web) => web.query_allowlist.extend(allowed),
            Self::Git(repo) => repo.keep_query(allowed),
            _ => {}
        }
        self
    }

    /// Whether it is displayed without something that may be needed to fetch it.
    pub fn omits_query(&self) -> bool {
        match self {
            Self::Web(web) => web.locked.is_some() || omits_query(&web.url, &web.query_allowlist),
            Self::Git(repo) => repo.omits_query(),
            Self::Zip(_) | Self::Dir(_) => false,
        }
    }
}

/// Whether a text such as `shared/skills` is neither a host with a path, nor `user@host:path`, nor
/// a remote helper of git.
fn is_plain_path(text: &str) -> bool {
    let first = text.split('/').next().unwrap_or_default();
    !text.contains(':') && !first.contains('.') && !text.starts_with('-')
}

impl fmt::Display for SourceRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Git(repo) => repo.fmt(f),
            Self::Web(web) => web.fmt(f),
            Self::Zip(path) | Self::Dir(path) => f.write_str(path),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sb_12_four_kinds_of_source_are_distinguished() {
        let kind = |text: &str| match SourceRef::new(text) {
            Ok(SourceRef::Git(_)) => "git",
            Ok(SourceRef::Web(_)) => "web",
            Ok(SourceRef::Zip(_)) => "zip",
            Ok(SourceRef::Dir(_)) => "dir",
            Err(_) => "none",
        };
        for (text, expected) in [
            ("https://example.com/skills.git", "git"),
            ("https://example.com/skills", "git"),
            ("github.com/acme/skills", "git"),
            ("git@example.com:acme/skills.git", "git"),
            ("file:///srv/skills.git", "git"),
            ("https://example.com/a/skills.zip", "web"),
            ("http://127.0.0.1:8000/skills.ZIP?x=1#y", "web"),
            ("./skills.zip", "zip"),
            ("skills.zip", "zip"),
            ("/srv/skills.zip", "zip"),
            ("../shared", "dir"),
            ("shared/skills", "dir"),
            ("~/skills", "dir"),
            ("ext::sh -c date", "none"),
            ("-x", "none"),
            ("", "none"),
            ("a\u{7}", "none"),
        ] {
            assert_eq!(kind(text), expected, "{text}");
        }
    }

    #[test]
    fn se_07_credentials_in_a_source_are_not_shown() {
        let source = SourceRef::new("https://me:secret@example.com/x.zip").unwrap();
        assert_eq!(source.to_string(), "https://example.com/x.zip");
        let source = SourceRef::new("https://example.com/x.zip?ref=v1&access_token=abc").unwrap();
        assert_eq!(source.to_string(), "https://example.com/x.zip");
        assert!(source.omits_query());
        let source = source.with_query_allowlist(&QueryAllowlist::new(["ref"]));
        assert_eq!(source.to_string(), "https://example.com/x.zip?ref=v1");
        assert!(source.omits_query());
        assert!(
            !source
                .with_query_allowlist(&QueryAllowlist::new(["ref", "access_token"]))
                .omits_query()
        );
    }
}
