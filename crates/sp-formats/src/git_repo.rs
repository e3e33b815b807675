//! Git repositories that packs import from: a URL, a shorthand or a local path, and a ref.
//!
//! A string becomes a [`GitRepo`] or a [`GitRef`] here or is rejected here, before git is started:
//! options, remote helpers and unsafe transports never reach git. Credentials in a URL are
//! separated at once, so no other code sees them in text. Fetching is part of `sp-engine`.
//!
//! Addresses are split as git splits them, which differs from the URL standard: a password may
//! contain `?` and `#`, and `user@host:path` is an address. Git gets what was written.

use std::fmt;

use thiserror::Error;

use crate::percent::decode_lossy;
use crate::redact::{QueryAllowlist, redact_url};
use crate::web_url::{PlainHttp, UrlPolicy};

/// Why a repository or a ref is rejected.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum GitRepoError {
    #[error("it is empty")]
    Empty,
    /// Git could read it as an option.
    #[error("it starts with `-`")]
    LeadingDash,
    #[error("it contains the control character {}", .0.escape_unicode())]
    ControlCharacter(char),
    /// It names a remote helper of git.
    #[error("it makes git run a helper program (`{0}::`)")]
    Helper(String),
    #[error("the transport `{0}://` is not allowed")]
    Transport(String),
    /// A password in an SSH URL.
    #[error("it contains a password, which SSH does not accept in a URL")]
    Password,
    #[error("it has no host")]
    NoHost,
    #[error("it contains a fragment (`#…`), which git ignores")]
    Fragment,
    /// A query in a shorthand.
    #[error("a shorthand cannot contain a query (`?…`)")]
    Query,
    /// Neither a URL nor clearly a path.
    #[error("it is neither a URL nor a path")]
    Ambiguous,
    /// Git does not allow it in a ref.
    #[error("`{0}` is not allowed in a git ref")]
    RefSyntax(String),
}

impl GitRepoError {
    /// What to write instead.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Fragment => "specify the tag, branch or commit separately from the URL",
            Self::Transport(_) => {
                "use https, ssh, git or file (http is allowed only for localhost)"
            }
            Self::Ambiguous => {
                "use `https://…`, `github.com/<org>/<repo>`, or `./…` for a local path"
            }
            _ => "use `https://…`, `ssh://…`, `github.com/<org>/<repo>`, or a path",
        }
    }
}

/// How a repository is accessed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GitTransport {
    Https,
    /// `http://`, only to this machine.
    Http,
    /// `ssh://` or `user@host:path`.
    Ssh,
    Git,
    File,
    /// A local path, possibly relative to the importing repository.
    Path,
}

impl GitTransport {
    /// The protocol name in git's allowlist.
    pub fn protocol(self) -> &'static str {
        match self {
            Self::Https => "https",
            Self::Http => "http",
            Self::Ssh => "ssh",
            Self::Git => "git",
            Self::File | Self::Path => "file",
        }
    }
}

/// A user name and password. They are never displayed.
#[derive(Clone, PartialEq, Eq)]
pub struct GitCredentials {
    pub user: String,
    /// A password or token; may be empty.
    pub password: String,
}

impl fmt::Debug for GitCredentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Credentials(…)")
    }
}

/// A repository that may be fetched from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitRepo {
    pub transport: GitTransport,
    /// The full URL or path, without credentials.
    pub url: String,
    /// As written, without credentials and query.
    pub display_url: String,
    /// What was before the `@`.
    pub credentials: Option<GitCredentials>,
    /// The query parameters that may be displayed.
    kept_query: QueryAllowlist,
}

/// Hosts whose repositories can be written without a scheme.
pub(crate) const SHORTHAND_HOSTS: [&str; 3] = ["github.com/", "gitlab.com/", "bitbucket.org/"];

impl GitRepo {
    /// Checks and expands a repository as written.
    pub fn new(text: &str) -> Result<Self, GitRepoError> {
        check_text(text)?;
        if let Some((helper, _)) = text.split_once("::")
            && helper.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
        {
            return Err(GitRepoError::Helper(helper.into()));
        }
        if let Some((scheme, rest)) = text.split_once("://") {
            return Self::from_url(scheme, rest);
        }
        if SHORTHAND_HOSTS.iter().any(|host| text.starts_with(host)) {
            match text.find(['?', '#']).map(|at| text.as_bytes()[at]) {
                Some(b'#') => return Err(GitRepoError::Fragment),
                Some(_) => return Err(GitRepoError::Query),
                None => {}
            }
            let path = text.trim_end_matches('/');
            let path = path.strip_suffix(".git").unwrap_or(path);
            return Ok(Self::without_credentials(
                GitTransport::Https,
                format!("https://{path}.git"),
                text,
            ));
        }
        if text.starts_with(['/', '.', '~']) {
            return Ok(Self::without_credentials(GitTransport::Path, text.into(), text));
        }
        Self::from_scp(text)
    }

    fn without_credentials(transport: GitTransport, url: String, written: &str) -> Self {
        Self {
            transport,
            url,
            display_url: written.into(),
            credentials: None,
            kept_query: QueryAllowlist::default(),
        }
    }

    fn from_url(scheme: &str, rest: &str) -> Result<Self, GitRepoError> {
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        // The user is split off first, because a password may contain `#`.
        let after_user = authority.rfind('@').map_or(0, |at| at + 1);
        if matches!(scheme, "https" | "http") && rest[after_user..].contains('#') {
            return Err(GitRepoError::Fragment);
        }
        let (user, host) =
            authority.rsplit_once('@').map_or((None, authority), |(user, host)| (Some(user), host));
        let transport = match scheme {
            "https" => GitTransport::Https,
            "http" if is_loopback(host) => GitTransport::Http,
            "ssh" => GitTransport::Ssh,
            "git" => GitTransport::Git,
            "file" => GitTransport::File,
            other => return Err(GitRepoError::Transport(other.into())),
        };
        if transport != GitTransport::File {
            check_host(host)?;
        }
        let credentials = user.map(parse_credentials);
        let url = match (&credentials, transport) {
            // The user of an SSH URL is not secret, and git needs it.
            (Some(credentials), GitTransport::Ssh) => {
                check_text(&credentials.user)?;
                format!("{scheme}://{}@{host}{path}", credentials.user)
            }
            _ => format!("{scheme}://{host}{path}"),
        };
        let credentials =
            credentials.filter(|_| matches!(transport, GitTransport::Https | GitTransport::Http));
        let mut repo = Self::without_credentials(transport, url.clone(), &url);
        repo.credentials = credentials;
        repo.keep_query(&QueryAllowlist::default());
        Ok(repo)
    }

    fn from_scp(text: &str) -> Result<Self, GitRepoError> {
        let Some((authority, path)) = text.split_once(':') else {
            return Err(GitRepoError::Ambiguous);
        };
        // With `user:password@host:path`, ssh would connect to a host named `user` and display the
        // rest.
        if !authority.contains('@')
            && path.split_once('@').is_some_and(|(_, rest)| rest.contains(':'))
        {
            return Err(GitRepoError::Password);
        }
        if path.starts_with(':') {
            return Err(GitRepoError::Helper(authority.into()));
        }
        if authority.contains('/') || path.is_empty() {
            return Err(GitRepoError::Ambiguous);
        }
        check_text(authority)?;
        check_text(path)?;
        let (user, host) =
            authority.rsplit_once('@').map_or(("", authority), |(user, host)| (user, host));
        check_host(host)?;
        // This form does not support passwords; what looks like one is dropped.
        let user = user.split(':').next().unwrap_or_default();
        let url = if user.is_empty() {
            format!("{host}:{path}")
        } else {
            format!("{user}@{host}:{path}")
        };
        let mut repo = Self::without_credentials(GitTransport::Ssh, url.clone(), &url);
        repo.keep_query(&QueryAllowlist::default());
        Ok(repo)
    }

    /// Allows these query parameters to be displayed.
    pub fn keep_query(&mut self, allowed: &QueryAllowlist) {
        self.kept_query.extend(allowed);
        if self.has_query() {
            self.display_url = redact_url(&self.url, &self.kept_query);
        }
    }

    /// Whether it is displayed without something that may be needed to fetch it.
    pub fn omits_query(&self) -> bool {
        self.has_query() && self.display_url != self.url
    }

    /// A local path has no query: `?` is part of a name.
    fn has_query(&self) -> bool {
        !matches!(self.transport, GitTransport::File | GitTransport::Path)
            && self.url.contains(['?', '#'])
    }

    /// Scheme and host of the URL, for keys in git's configuration.
    pub fn origin(&self) -> Option<String> {
        let (scheme, rest) = self.url.split_once("://")?;
        Some(format!("{scheme}://{}", rest.split('/').next()?))
    }
}

impl fmt::Display for GitRepo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.display_url)
    }
}

fn check_text(text: &str) -> Result<(), GitRepoError> {
    if text.is_empty() {
        return Err(GitRepoError::Empty);
    }
    if text.starts_with('-') {
        return Err(GitRepoError::LeadingDash);
    }
    match text.chars().find(|c| c.is_control()) {
        Some(c) => Err(GitRepoError::ControlCharacter(c)),
        None => Ok(()),
    }
}

fn check_host(host: &str) -> Result<(), GitRepoError> {
    if host.is_empty() {
        return Err(GitRepoError::NoHost);
    }
    check_text(host)
}

/// Whether host and port are those of a server on this machine.
fn is_loopback(host: &str) -> bool {
    const POLICY: UrlPolicy =
        UrlPolicy { userinfo: false, query: false, http: PlainHttp::Loopback };
    POLICY.check(&format!("http://{host}")).is_ok()
}

fn parse_credentials(text: &str) -> GitCredentials {
    let (user, password) = text.split_once(':').unwrap_or((text, ""));
    GitCredentials {
        user: decode_lossy(user).into_owned(),
        password: decode_lossy(password).into_owned(),
    }
}

/// A tag, branch or commit as written.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct GitRef(String);

impl GitRef {
    pub fn new(text: &str) -> Result<Self, GitRepoError> {
        check_text(text)?;
        let refused = ["..", "@{", "//", " ", "~", "^", ":", "?", "*", "[", "\\"];
        if let Some(part) = refused.iter().find(|part| text.contains(**part)) {
            return Err(GitRepoError::RefSyntax((*part).into()));
        }
        if text.ends_with(['/', '.']) || text.ends_with(".lock") || text.starts_with('/') {
            return Err(GitRepoError::RefSyntax(text.into()));
        }
        Ok(Self(text.into()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it is a full commit hash, SHA-1 or SHA-256.
    pub fn is_commit(&self) -> bool {
        matches!(self.0.len(), 40 | 64) && self.is_hex()
    }

    /// Whether it could be an abbreviated commit hash.
    pub fn is_short_commit(&self) -> bool {
        (4..64).contains(&self.0.len()) && self.is_hex() && !self.is_commit()
    }

    fn is_hex(&self) -> bool {
        self.0.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
    }
}

impl fmt::Display for GitRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn sp_08_shorthands_expand_and_paths_are_unchanged() {
        for (input, url, transport) in [
            ("github.com/acme/skills", "https://github.com/acme/skills.git", GitTransport::Https),
            ("gitlab.com/a/b/c/", "https://gitlab.com/a/b/c.git", GitTransport::Https),
            ("bitbucket.org/a/b.git", "https://bitbucket.org/a/b.git", GitTransport::Https),
            ("https://example.com/x", "https://example.com/x", GitTransport::Https),
            ("git@github.com:acme/skills.git", "git@github.com:acme/skills.git", GitTransport::Ssh),
            ("ssh://git@host:22/x", "ssh://git@host:22/x", GitTransport::Ssh),
            ("git://127.0.0.1:9418/x", "git://127.0.0.1:9418/x", GitTransport::Git),
            ("http://127.0.0.1:8080/x", "http://127.0.0.1:8080/x", GitTransport::Http),
            ("file:///srv/x", "file:///srv/x", GitTransport::File),
            ("../other", "../other", GitTransport::Path),
            ("~/work/x", "~/work/x", GitTransport::Path),
        ] {
            let repo = GitRepo::new(input).unwrap();
            assert_eq!((repo.url.as_str(), repo.transport), (url, transport), "{input}");
        }
    }

    #[test]
    fn sp_08_urls_that_could_run_code_are_rejected_before_git_starts() {
        for (input, expected) in [
            ("", GitRepoError::Empty),
            ("--upload-pack=x", GitRepoError::LeadingDash),
            ("ext::sh -c x", GitRepoError::Helper("ext".into())),
            ("fd::17", GitRepoError::Helper("fd".into())),
            ("https://a/\nb", GitRepoError::ControlCharacter('\n')),
            ("http://example.com/x", GitRepoError::Transport("http".into())),
            ("ftp://example.com/x", GitRepoError::Transport("ftp".into())),
            ("ssh://-oProxyCommand=x/y", GitRepoError::LeadingDash),
            ("ssh://-l@host/y", GitRepoError::LeadingDash),
            ("-oProxyCommand=x:y", GitRepoError::LeadingDash),
            ("git@-oProxyCommand=x:y", GitRepoError::LeadingDash),
            ("https:///x", GitRepoError::NoHost),
            ("acme/skills", GitRepoError::Ambiguous),
        ] {
            assert_eq!(GitRepo::new(input).unwrap_err(), expected, "{input}");
        }
    }

    #[test]
    fn se_07_credentials_are_removed_from_every_text() {
        let repo = GitRepo::new("https://bob:s3%2Fcret@host/x").unwrap();
        assert_eq!(
            repo.credentials,
            Some(GitCredentials { user: "bob".into(), password: "s3/cret".into() })
        );
        assert!(!format!("{repo} {repo:?} {}", repo.url).contains("cret"));
        let token = GitRepo::new("https://ghp_token@github.com/a/b").unwrap();
        assert!(!format!("{token} {token:?}").contains("ghp_"));
        let query = GitRepo::new("https://host/x?sig=hunter2&v=1").unwrap();
        assert_eq!((query.to_string().as_str(), query.omits_query()), ("https://host/x", true));
        assert_eq!(query.url, "https://host/x?sig=hunter2&v=1");
        for text in [
            "git://host/x?sig=hunter2",
            "ssh://git@host/x?sig=hunter2",
            "git@host:x?sig=hunter2#hunter2",
        ] {
            assert!(!GitRepo::new(text).unwrap().to_string().contains("hunter2"), "{text}");
        }
        assert_eq!(GitRepo::new("./what?").unwrap().to_string(), "./what?");
        for fragment in ["https://host/x#hunter2", "github.com/a/b#hunter2"] {
            assert_eq!(GitRepo::new(fragment).unwrap_err(), GitRepoError::Fragment);
        }
        assert_eq!(GitRepo::new("github.com/a/b?sig=hunter2").unwrap_err(), GitRepoError::Query);
        let ssh = GitRepo::new("ssh://git:hunter2@host/x").unwrap();
        assert!(!format!("{ssh} {ssh:?}").contains("hunter2"));
    }

    #[test]
    fn se_05_refs_that_git_could_misread_are_rejected() {
        for text in ["", "-x", "a..b", "a b", "a:b", "x^", "a\u{7}", "a.lock", "@{1}", "a/"] {
            assert!(GitRef::new(text).is_err(), "{text:?}");
        }
        assert!(GitRef::new("v1.3.0").is_ok());
        assert!(GitRef::new(&"a".repeat(40)).unwrap().is_commit());
        assert!(GitRef::new("9f2c1d3").unwrap().is_short_commit());
    }

    proptest! {
        #[test]
        fn se_05_plain_http_reaches_this_machine_only(text in sp_testkit::url_like()) {
            let Ok(repo) = GitRepo::new(&text) else { return Ok(()) };
            prop_assert!(!repo.url.starts_with('-') && !repo.url.contains(char::is_control));
            if repo.transport == GitTransport::Http {
                // The definition, on what git is given.
                let host = repo.url.split('/').nth(2).unwrap_or_default();
                let name = host.rsplit_once(':').map_or(host, |(name, port)| {
                    if port.contains(']') { host } else { name }
                });
                let address = name.trim_matches(['[', ']']).parse::<std::net::IpAddr>();
                let is_local = name.eq_ignore_ascii_case("localhost")
                    || address.is_ok_and(|address| address.is_loopback());
                prop_assert!(is_local, "{}", repo.url);
            }
        }
    }
}
