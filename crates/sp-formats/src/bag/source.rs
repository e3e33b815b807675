//! Where a bag's skills come from: git, a zip on the web, a zip here, a directory here.

use std::fmt;

use thiserror::Error;

use super::secret::secret;

use crate::repo::{Repo, RepoError};

/// Why a text names no source.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SourceError {
    /// It is empty or has control characters in it.
    #[error("it is empty, or has control characters in it")]
    Text,
    /// It is no address that git may be given.
    #[error(transparent)]
    Git(#[from] RepoError),
}

/// A source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SourceRef {
    /// A git repository.
    Git(Repo),
    /// A zip archive at an address.
    Web(String),
    /// A zip archive on this machine; relative paths start at the file that names it.
    Zip(String),
    /// A directory on this machine.
    Dir(String),
}

impl SourceRef {
    /// Reads a source as people write it.
    pub fn new(text: &str) -> Result<Self, SourceError> {
        if text.trim().is_empty() || text.chars().any(char::is_control) {
            return Err(SourceError::Text);
        }
        let lower = text.to_ascii_lowercase();
        let path = lower.split(['?', '#']).next().unwrap_or_default();
        let is_web = lower.starts_with("https://") || lower.starts_with("http://");
        if is_web && path.ends_with(".zip") {
            return Ok(Self::Web(text.into()));
        }
        let is_path =
            !is_web && !text.contains("://") && (text.starts_with(['.', '/', '~']) || lower.ends_with(".zip"));
        if is_path || is_plain_path(text) {
            return Ok(if lower.ends_with(".zip") { Self::Zip(text.into()) } else { Self::Dir(text.into()) });
        }
        Ok(Self::Git(Repo::new(text)?))
    }
}

/// `shared/skills`: neither a host with a path, nor `user@host:path`, nor a helper of git's.
fn is_plain_path(text: &str) -> bool {
    let first = text.split('/').next().unwrap_or_default();
    !text.contains(':') && !first.contains('.') && !text.starts_with('-')
}

/// A URL without what stands before the `@` of its host, and without secrets in its query.
fn without_credentials(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else {
        return url.into();
    };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let rest = authority.rsplit_once('@').map_or(rest, |(user, _)| &rest[user.len() + 1..]);
    let Some((path, query)) = rest.split_once('?') else {
        return format!("{scheme}://{rest}");
    };
    let harmless = |pair: &&str| pair.split_once('=').is_none_or(|(name, value)| secret(name, value).is_none());
    let query: Vec<&str> = query.split('&').filter(harmless).collect();
    let mark = if query.is_empty() { "" } else { "?" };
    format!("{scheme}://{path}{mark}{}", query.join("&"))
}

impl fmt::Display for SourceRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Git(repo) => repo.fmt(f),
            Self::Web(url) => f.write_str(&without_credentials(url)),
            Self::Zip(path) | Self::Dir(path) => f.write_str(path),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sb_12_the_four_kinds_of_source_are_told_apart() {
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
        assert_eq!(source.to_string(), "https://example.com/x.zip?ref=v1");
    }
}
