//! How the values of a policy are compared: one form for each value, however it is written.

use std::borrow::Cow;

use crate::git_repo::{GitRepo, GitTransport};
use crate::pattern::Pattern;
use crate::percent::decode_lossy;
use crate::project::source::{ManifestSource, SourceArgument};

use super::PolicySubject;

/// The kinds of capabilities.
pub const CAPABILITY_KINDS: [&str; 11] = [
    "host",
    "program",
    "read",
    "write",
    "environment",
    "secret",
    "package-install",
    "persistence",
    "tool",
    "mcp-server",
    "remote-instructions",
];

/// The license of a skill that declares none.
pub const NO_LICENSE: &str = "none";

/// From the least to the most.
const CONFIDENCES: [&str; 3] = ["hint", "likely", "certain"];
const RISKS: [&str; 3] = ["low", "medium", "high"];

/// What absolute paths and those of the home directory start with, because a [`Pattern`] is
/// relative.
const ROOT: &str = "file:";
const HOME: &str = "home:";

/// What the values of one subject are compared with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ValuePattern {
    /// A text, or something below it.
    Path {
        itself: Pattern,
        below: Option<Pattern>,
        is_file: bool,
    },
    Host(HostPattern),
    Capability {
        kind: &'static str,
        value: Option<Pattern>,
    },
    /// At least this severe.
    Severity {
        confidence: usize,
        risk: usize,
    },
    License(Pattern),
    /// An ID of a rule or finding, or a key.
    Id(String),
    Any,
}

/// A host, or all hosts below one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HostPattern {
    name: String,
    is_suffix: bool,
}

impl ValuePattern {
    /// Parses a pattern. The error is what to write instead.
    pub(super) fn parse(subject: PolicySubject, text: &str) -> Result<Self, String> {
        match subject {
            _ if text.trim() != text || text.is_empty() => Err("remove spaces at the ends".into()),
            PolicySubject::Source => parse_source(text),
            PolicySubject::Registry => parse_registry(text),
            PolicySubject::Signer => parse_signer(text),
            PolicySubject::Host => parse_host(text),
            PolicySubject::Capability => parse_capability(text),
            PolicySubject::Severity => parse_severity(text),
            PolicySubject::License => {
                let pattern = Pattern::new(&text.to_ascii_lowercase());
                pattern.map(Self::License).map_err(|why| why.to_string())
            }
            PolicySubject::Accept if text == "*" => Ok(Self::Any),
            PolicySubject::Accept => parse_id(text),
        }
    }

    pub(super) fn matches(&self, value: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Path { itself, below, is_file } => {
                let lower = value.to_ascii_lowercase();
                let value = if *is_file { value } else { &lower };
                itself.matches(value) || below.as_ref().is_some_and(|below| below.matches(value))
            }
            Self::Host(host) => host.matches(value),
            Self::Capability { kind, value: pattern } => {
                let (own_kind, own) = value.split_once(' ').unwrap_or((value, ""));
                own_kind == *kind
                    && pattern.as_ref().is_none_or(|pattern| pattern.matches(&rooted(own)))
            }
            Self::Severity { confidence, risk } => {
                let (own_confidence, own_risk) = value.split_once(' ').unwrap_or((value, "high"));
                rank(&CONFIDENCES, own_confidence) >= Some(*confidence)
                    && rank(&RISKS, own_risk) >= Some(*risk)
            }
            Self::License(pattern) => is_licensed(pattern, value),
            Self::Id(id) => {
                value.eq_ignore_ascii_case(id)
                    || value.len() > id.len()
                        && value.get(..id.len()).is_some_and(|start| start.eq_ignore_ascii_case(id))
                        && value.as_bytes()[id.len()] == b'-'
            }
        }
    }
}

impl HostPattern {
    fn matches(&self, value: &str) -> bool {
        let host = host_of(value);
        if self.is_suffix {
            let start = host.len().checked_sub(self.name.len() + 1);
            start.is_some_and(|at| at > 0 && host.as_bytes()[at] == b'.')
                && host.ends_with(&self.name)
        } else {
            host == self.name
        }
    }
}

fn rank(levels: &[&str], level: &str) -> Option<usize> {
    levels.iter().position(|known| *known == level)
}

fn parse_source(text: &str) -> Result<ValuePattern, String> {
    let (text, is_file) = match text {
        _ if text.starts_with('/') => (format!("{ROOT}{text}"), true),
        _ if text.starts_with("~/") => (format!("{HOME}{}", &text[1..]), true),
        _ if text.starts_with('.') => {
            return Err("write an absolute path, or one that starts with `~/`".into());
        }
        _ if text.contains("://") => (remote_value(text), false),
        _ => (text.to_ascii_lowercase(), false),
    };
    path_pattern(&text, is_file)
}

fn path_pattern(text: &str, is_file: bool) -> Result<ValuePattern, String> {
    let text = text.trim_end_matches('/');
    let itself = Pattern::new(text).map_err(|why| why.to_string())?;
    let below = Pattern::new(&format!("{text}/**")).ok();
    Ok(ValuePattern::Path { itself, below, is_file })
}

fn parse_registry(text: &str) -> Result<ValuePattern, String> {
    if !text.starts_with("https://") && !text.starts_with("http://") {
        return Err("write a URL, such as `https://skills.example.com`".into());
    }
    path_pattern(&remote_value(text), false)
}

fn parse_signer(text: &str) -> Result<ValuePattern, String> {
    let is_key = text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if text == "*" {
        Ok(ValuePattern::Any)
    } else if is_key {
        Ok(ValuePattern::Id(text.into()))
    } else {
        Err("write the 64 digits of a public key; `sp key list` prints those that you trust".into())
    }
}

fn parse_host(text: &str) -> Result<ValuePattern, String> {
    let (name, is_suffix) = match text.strip_prefix("*.") {
        Some(rest) => (rest, true),
        None if text == "*" => return Ok(ValuePattern::Any),
        None => (text, false),
    };
    if name.contains(['/', '*', ' ']) || name.is_empty() {
        return Err("write a host such as `api.example.com`, `*.example.com`, or `*`".into());
    }
    Ok(ValuePattern::Host(HostPattern { name: host_of(name), is_suffix }))
}

fn parse_capability(text: &str) -> Result<ValuePattern, String> {
    let (kind, value) = match text.split_once(' ') {
        Some((kind, value)) => (kind, Some(value.trim_start())),
        None => (text, None),
    };
    if kind == "*" && value.is_none() {
        return Ok(ValuePattern::Any);
    }
    let Some(kind) = CAPABILITY_KINDS.into_iter().find(|known| *known == kind) else {
        return Err(match crate::suggest::nearest(kind, CAPABILITY_KINDS.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("kinds of capabilities: {}", CAPABILITY_KINDS.join(", ")),
        });
    };
    let value = value.map(|value| Pattern::new(&rooted(value)));
    let value = value.transpose().map_err(|why| why.to_string())?;
    Ok(ValuePattern::Capability { kind, value })
}

/// A path or a name, so that an absolute path can be a [`Pattern`].
fn rooted(value: &str) -> Cow<'_, str> {
    if value.starts_with('/') { format!("{ROOT}{value}").into() } else { value.into() }
}

fn parse_severity(text: &str) -> Result<ValuePattern, String> {
    let (confidence, risk) = text.split_once(' ').unwrap_or((text, "low"));
    match (rank(&CONFIDENCES, confidence), rank(&RISKS, risk)) {
        (Some(confidence), Some(risk)) => Ok(ValuePattern::Severity { confidence, risk }),
        _ => {
            Err("write `certain`, `likely` or `hint`, and perhaps `low`, `medium` or `high`, such \
                  as `likely high`"
                .into())
        }
    }
}

fn parse_id(text: &str) -> Result<ValuePattern, String> {
    let mut parts = text.split('-');
    let is_rule = |set: &str, number: &str| {
        set.len() == 2
            && set.bytes().all(|byte| byte.is_ascii_uppercase())
            && number.bytes().all(|byte| byte.is_ascii_digit())
    };
    match (parts.next(), parts.next(), parts.next(), parts.next()) {
        (Some(set), Some(number), None | Some(_), None) if is_rule(set, number) => {
            Ok(ValuePattern::Id(text.into()))
        }
        _ => Err("write the ID of a finding, the ID of a rule such as `AU-23`, or `*`".into()),
    }
}

/// Whether a license is covered. In `A OR B`, one of them must be, and in `A AND B` both.
fn is_licensed(pattern: &Pattern, value: &str) -> bool {
    let value = value.to_ascii_lowercase();
    if pattern.matches(&value) || value.contains(['(', ')']) {
        return pattern.matches(&value);
    }
    let is_either = |text: &str| text.split(" or ").any(|part| pattern.matches(part.trim()));
    value.split(" and ").all(is_either)
}

/// The name of a host, without port.
fn host_of(text: &str) -> String {
    let text = text.split_once("://").map_or(text, |(_, rest)| rest);
    let authority = text.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let without_port = match host.rsplit_once(':') {
        Some((name, port)) if !host.starts_with('[') || name.ends_with(']') => {
            if port.bytes().all(|byte| byte.is_ascii_digit()) { name } else { host }
        }
        _ => host,
    };
    without_port.trim_end_matches('.').to_ascii_lowercase()
}

/// Host and path of a URL, as servers interpret them: decoded, without `.`, `..`, empty segments
/// and the suffix `.git`.
fn remote_value(url: &str) -> String {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let (_, path) = rest.split_once('/').unwrap_or((rest, ""));
    let path = path.split(['?', '#']).next().unwrap_or_default();
    let mut value = host_of(url);
    for segment in normalized_segments(&decode_lossy(path)) {
        value.push('/');
        value.push_str(&segment.to_ascii_lowercase());
    }
    value.strip_suffix(".git").map(str::to_owned).unwrap_or(value)
}

fn normalized_segments(path: &str) -> Vec<&str> {
    let mut segments = Vec::new();
    for segment in path.split('/') {
        match segment {
            "" | "." => {}
            ".." => {
                segments.pop();
            }
            _ => segments.push(segment),
        }
    }
    segments
}

/// Returns the name of a source that is not a path on this machine: `host/path`, or the name of a
/// package. None for a path.
pub fn source_value(text: &str) -> Option<String> {
    // A key of a lockfile may contain a ref.
    let source = SourceArgument::parse(text).map(|argument| argument.source);
    match source.or_else(|_| ManifestSource::new(text)) {
        Ok(ManifestSource::Git(git)) => repo_value(&git.repo),
        Ok(ManifestSource::WebZip(web)) => Some(remote_value(&web.url)),
        Ok(ManifestSource::Index(url)) => Some(remote_value(&url)),
        Ok(ManifestSource::Package(name)) => Some(name.as_str().to_ascii_lowercase()),
        Ok(ManifestSource::Dir(_) | ManifestSource::Zip(_)) => None,
        Ok(ManifestSource::Pack(_)) | Err(_) => match GitRepo::new(text) {
            Ok(repo) => repo_value(&repo),
            Err(_) => Some(text.to_ascii_lowercase()),
        },
    }
}

fn repo_value(repo: &GitRepo) -> Option<String> {
    let is_local = matches!(repo.transport, GitTransport::Path | GitTransport::File);
    if is_local {
        return None;
    }
    // The short form of SSH has a colon in place of the slash.
    let url = match repo.url.contains("://") {
        true => repo.url.clone(),
        false => format!("ssh://{}", repo.url.replacen(':', "/", 1)),
    };
    Some(remote_value(&url))
}

/// Returns the names of an absolute path: as it is, and relative to the home directory of the user.
pub fn path_values(path: &str, user_home: &str) -> Vec<String> {
    let clean = |path: &str| format!("/{}", normalized_segments(path).join("/"));
    let path = clean(path);
    let mut values = vec![format!("{ROOT}{path}")];
    if let Some(rest) = path.strip_prefix(&clean(user_home)).filter(|it| it.starts_with('/')) {
        values.push(format!("{HOME}{rest}"));
    }
    values
}

/// Returns the value of a finding for the section `severities`.
pub fn finding_severity(confidence: &str, risk: &str) -> String {
    format!("{confidence} {risk}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn au_08_all_ways_to_write_a_source_have_one_value() {
        for text in [
            "acme/skills",
            "Acme/Skills",
            "acme/skills#v1",
            "github.com/acme/skills",
            "https://github.com/acme/skills.git",
            "https://github.com:443/acme/skills",
            "https://me:secret@github.com/acme//skills/",
            "https://github.com/acme/./x/../skills",
            "https://github.com/%61cme/skills",
            "ssh://git@github.com/acme/skills.git",
            "git@github.com:acme/skills.git",
        ] {
            assert_eq!(source_value(text).as_deref(), Some("github.com/acme/skills"), "{text}");
        }
        for (text, expected) in [
            (
                "https://files.example.com/a/tools.zip?token=1",
                Some("files.example.com/a/tools.zip"),
            ),
            ("example.com", Some("example.com")),
            ("@acme/notes", Some("@acme/notes")),
            ("@acme/notes@^1", Some("@acme/notes")),
            ("./skills", None),
            ("/srv/skills", None),
            ("file:///srv/skills", None),
        ] {
            assert_eq!(source_value(text).as_deref(), expected, "{text}");
        }
        assert_eq!(path_values("/home/me/a/../b", "/home/me/"), ["file:/home/me/b", "home:/b"]);
        assert_eq!(path_values("/home/meow", "/home/me"), ["file:/home/meow"]);
    }

    #[test]
    fn au_08_patterns_match_values_of_their_subject() {
        use PolicySubject::{
            Accept, Capability, Host, License, Registry, Severity, Signer, Source,
        };
        let key = "ea4a6c63e29c520abef5507b132ec5f9954776aebebe7b92421eea691446d22c";
        for (subject, pattern, value, expected) in [
            (Source, "github.com/acme", "github.com/acme", true),
            (Source, "github.com/acme", "github.com/acme/skills", true),
            (Source, "github.com/acme", "github.com/acme-evil/skills", false),
            (Source, "GitHub.com/*/skills", "github.com/acme/skills", true),
            (Source, "@acme/*", "@acme/notes", true),
            (Source, "/srv/skills", "file:/srv/skills/a", true),
            (Source, "/srv/skills", "file:/srv/skills2", false),
            (Source, "~/work", "home:/work/a", true),
            (Registry, "https://skills.example.com", "skills.example.com", true),
            (Registry, "https://skills.example.com/", "skills.example.com.evil.example", false),
            (Signer, key, key, true),
            (Host, "example.com", "example.com", true),
            (Host, "example.com", "api.example.com", false),
            (Host, "*.example.com", "API.example.com:8443", true),
            (Host, "*.example.com", "notexample.com", false),
            (Host, "example.com", "https://user@example.com:8443/x", true),
            (Capability, "persistence", "persistence cron", true),
            (Capability, "program sudo", "program sudo", true),
            (Capability, "program sudo", "program sudoku", false),
            (Capability, "secret **/.ssh/**", "secret ~/.ssh/id_rsa", true),
            (Capability, "write /etc/**", "write /etc/hosts", true),
            (Severity, "certain", "certain low", true),
            (Severity, "likely high", "certain high", true),
            (Severity, "likely high", "likely medium", false),
            (Severity, "hint", "likely low", true),
            (License, "MIT", "mit", true),
            (License, "MIT", "MIT OR GPL-3.0-only", true),
            (License, "MIT", "MIT AND GPL-3.0-only", false),
            (License, "GPL-*", "GPL-3.0-only", true),
            (License, "none", NO_LICENSE, true),
            (Accept, "*", "AU-23-0123456789", true),
            (Accept, "AU-23", "AU-23-0123456789", true),
            (Accept, "AU-2", "AU-23-0123456789", false),
            (Accept, "AU-23-0123456789", "AU-23-0123456789", true),
        ] {
            let parsed = ValuePattern::parse(subject, pattern).unwrap();
            assert_eq!(parsed.matches(value), expected, "{subject:?}: {pattern} and {value}");
        }
    }
}
