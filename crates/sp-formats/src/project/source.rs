//! Where the skills of a project come from, as people write it.
//!
//! [`ManifestSource`] is the value of `source` in a manifest; [`SourceArgument`] is the same on the
//! command line, where a ref, a skill or a version may follow. What a text means depends only on
//! the text, so a manifest means the same on every machine.

use std::fmt;

use thiserror::Error;

use crate::git_repo::{GitRef, GitRepo, GitRepoError};
use crate::package::{PackageName, PackageNameError, VersionRange};
use crate::web_url::{PlainHttp, UrlPolicy, WebUrlError, has_web_scheme};
use crate::workspace::WebSource;

/// The paths of skill indexes on a host, in the order in which they are tried.
pub const INDEX_PATHS: [&str; 2] =
    ["/.well-known/agent-skills/index.json", "/.well-known/skills/index.json"];

/// The host of the shorthand `owner/repo`.
const SHORTHAND_HOST: &str = "github.com";

/// Why a text is not a source.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ManifestSourceError {
    #[error("it is empty")]
    Empty,
    #[error("it contains control characters")]
    ControlCharacter,
    #[error("`{0}` is a name without a location")]
    BareName(String),
    #[error(transparent)]
    Git(#[from] GitRepoError),
    #[error(transparent)]
    Package(#[from] PackageNameError),
    #[error(transparent)]
    Url(#[from] WebUrlError),
    /// Both `#ref` and a member `ref`, or two of them.
    #[error("it has two refs")]
    TwoRefs,
}

impl ManifestSourceError {
    /// What to write instead.
    pub fn hint(&self) -> String {
        match self {
            Self::BareName(name) => {
                format!("write `<owner>/{name}` for a repository, or `./{name}` for a directory")
            }
            Self::Git(error) => error.hint().into(),
            Self::Package(_) => "write `@<namespace>/<name>`".into(),
            Self::TwoRefs => "write the ref once".into(),
            Self::Empty | Self::ControlCharacter | Self::Url(_) => {
                "write `<owner>/<repo>`, a git URL, the URL of a zip file, a path that starts with \
                 `./`, or `@<namespace>/<name>`"
                    .into()
            }
        }
    }
}

/// A source of skills.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ManifestSource {
    Git(GitSource),
    /// A local directory, relative to the manifest.
    Dir(String),
    /// A local zip archive, relative to the manifest.
    Zip(String),
    /// A zip archive on the web.
    WebZip(WebSource),
    /// The index of skills of a host: the URL without the path of the index.
    Index(String),
    /// A package of skills in a registry.
    Package(PackageName),
    /// A pack, of the list `packs` of a manifest.
    Pack(PackSource),
}

/// Where a pack file is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PackSource {
    /// The name or path of a pack of this repository.
    Local(String),
    /// A file of another repository.
    Remote(Box<RemotePack>),
}

/// A pack file of another repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemotePack {
    pub source: ManifestSource,
    /// The path of the file in the repository.
    pub file: String,
    pub version: Option<SourceVersion>,
}

impl PackSource {
    /// Parses the name, the path or the URL of a pack file.
    pub fn parse(text: &str) -> Result<Self, String> {
        // The `//` of a scheme is not the one before the file.
        let after_scheme = text.find("://").map_or(0, |at| at + 3);
        let Some(at) = text[after_scheme..].find("//").map(|at| after_scheme + at) else {
            return Ok(Self::Local(text.into()));
        };
        let (source, rest) = (&text[..at], &text[at + 2..]);
        let (file, version) = match rest.split_once('#') {
            Some((file, version)) => (file, Some(version)),
            None => (rest, None),
        };
        let source = ManifestSource::new(source).map_err(|why| why.to_string())?;
        if !matches!(source, ManifestSource::Git(_)) {
            return Err("only git repositories have packs".into());
        }
        let file = sp_tree::RelPath::new(file).map_err(|why| why.to_string())?;
        let version = version.map(|text| SourceVersion::new(&source, text)).transpose()?;
        let file = file.as_str().into();
        Ok(Self::Remote(Box::new(RemotePack { source, file, version })))
    }
}

/// A git repository, or a folder of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitSource {
    pub repo: GitRepo,
    pub folder: Option<RepoFolder>,
    /// As written.
    written: String,
}

/// A folder of a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RepoFolder {
    /// A path from the root of the repository.
    Path(String),
    /// `<ref>/<path>`, from the URL of a web page. The ref may contain `/`, so only the repository
    /// can tell where it ends.
    RefAndPath(String),
}

impl ManifestSource {
    /// Parses a source without a ref.
    pub fn new(text: &str) -> Result<Self, ManifestSourceError> {
        if text.trim().is_empty() {
            return Err(ManifestSourceError::Empty);
        }
        if text.chars().any(char::is_control) {
            return Err(ManifestSourceError::ControlCharacter);
        }
        if text.starts_with('@') {
            return Ok(Self::Package(PackageName::new(text)?));
        }
        if has_web_scheme(text) {
            return Self::from_web(text);
        }
        if is_local_path(text) {
            return Ok(if is_zip(text) { Self::Zip(text.into()) } else { Self::Dir(text.into()) });
        }
        if text.contains("://") || text.contains(':') || text.starts_with('-') {
            return Ok(Self::git(GitRepo::new(text)?, None, text));
        }
        Self::from_words(text)
    }

    fn git(repo: GitRepo, folder: Option<RepoFolder>, written: &str) -> Self {
        let written = if repo.display_url == written || repo.credentials.is_some() {
            repo.display_url.clone()
        } else {
            written.to_owned()
        };
        Self::Git(GitSource { repo, folder, written })
    }

    /// Parses a URL with the scheme `http` or `https`.
    fn from_web(text: &str) -> Result<Self, ManifestSourceError> {
        let path_and_host = text.split(['?', '#']).next().unwrap_or_default();
        let (_, rest) = path_and_host.split_once("://").unwrap_or_default();
        let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
        let path = path.trim_end_matches('/');
        if is_zip(path) {
            return Ok(Self::WebZip(WebSource::new(text)));
        }
        let index = INDEX_PATHS.iter().find_map(|index| path_and_host.strip_suffix(index));
        if let Some(base) = index.or_else(|| path.is_empty().then_some(path_and_host)) {
            return Self::index(base);
        }
        if let Some(page) = ForgePage::parse(host, path) {
            let scheme = &text[..text.find("://").unwrap_or_default()];
            let repo = GitRepo::new(&format!("{scheme}://{host}/{}", page.repo))?;
            return Ok(Self::git(repo, Some(RepoFolder::RefAndPath(page.tree)), text));
        }
        Ok(Self::git(GitRepo::new(text)?, None, text))
    }

    fn index(base: &str) -> Result<Self, ManifestSourceError> {
        const POLICY: UrlPolicy =
            UrlPolicy { userinfo: false, query: false, http: PlainHttp::Loopback };
        POLICY.check(base)?;
        Ok(Self::Index(base.trim_end_matches('/').to_owned()))
    }

    /// Parses text that is neither a URL nor a path: a shorthand, or a host.
    fn from_words(text: &str) -> Result<Self, ManifestSourceError> {
        let trimmed = text.trim_end_matches('/');
        let segments: Vec<&str> = trimmed.split('/').collect();
        match segments.as_slice() {
            [name] if name.contains('.') => Self::index(&format!("https://{name}")),
            [name] => Err(ManifestSourceError::BareName((*name).into())),
            [host, ..] if host.contains('.') => {
                let path = trimmed.split_once('/').map_or("", |(_, path)| path);
                match ForgePage::parse(host, path) {
                    Some(page) => {
                        let repo = GitRepo::new(&format!("{host}/{}", page.repo))?;
                        Ok(Self::git(repo, Some(RepoFolder::RefAndPath(page.tree)), text))
                    }
                    None => Ok(Self::git(GitRepo::new(trimmed)?, None, trimmed)),
                }
            }
            [owner, repo, folder @ ..] => {
                let git = GitRepo::new(&format!("{SHORTHAND_HOST}/{owner}/{repo}"))?;
                let folder = (!folder.is_empty()).then(|| RepoFolder::Path(folder.join("/")));
                Ok(Self::git(git, folder, trimmed))
            }
            [] => Err(ManifestSourceError::Empty),
        }
    }

    /// Returns a text that is equal for all ways to write a source.
    pub fn identity(&self) -> String {
        match self {
            Self::Git(git) => {
                let url = git.repo.url.trim_end_matches('/').trim_end_matches(".git");
                let folder = match &git.folder {
                    None => String::new(),
                    Some(RepoFolder::Path(path)) => format!("//{path}"),
                    Some(RepoFolder::RefAndPath(tree)) => format!("//tree/{tree}"),
                };
                format!("git {url}{folder}")
            }
            Self::Dir(path) | Self::Zip(path) => {
                let path = path.trim_end_matches('/');
                format!("file {}", path.strip_prefix("./").unwrap_or(path))
            }
            Self::WebZip(web) => format!("zip {}", web.url),
            Self::Index(url) => format!("index {url}"),
            Self::Package(name) => format!("package {name}"),
            Self::Pack(pack) => format!("pack {pack}"),
        }
    }

    /// Whether it is on this machine, so that its content is read again each time.
    pub fn is_local(&self) -> bool {
        matches!(self, Self::Dir(_) | Self::Zip(_) | Self::Pack(PackSource::Local(_)))
    }
}

impl fmt::Display for ManifestSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Git(git) => f.write_str(&git.written),
            Self::Dir(path) | Self::Zip(path) => f.write_str(path),
            Self::WebZip(web) => web.fmt(f),
            Self::Index(url) => f.write_str(url),
            Self::Package(name) => f.write_str(name.as_str()),
            Self::Pack(pack) => write!(f, "pack {pack}"),
        }
    }
}

impl fmt::Display for PackSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Local(spec) => f.write_str(spec),
            Self::Remote(remote) => remote.fmt(f),
        }
    }
}

impl fmt::Display for RemotePack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}//{}", self.source, self.file)?;
        self.version.iter().try_for_each(|version| write!(f, "#{version}"))
    }
}

fn is_local_path(text: &str) -> bool {
    let starts = ["./", "../", "~/", "/"].iter().any(|start| text.starts_with(start));
    starts || matches!(text, "." | ".." | "~") || !text.contains('/') && is_zip(text)
}

fn is_zip(text: &str) -> bool {
    text.len() > 4 && text.get(text.len() - 4..).is_some_and(|end| end.eq_ignore_ascii_case(".zip"))
}

/// The page of a folder or file on a code hosting site.
struct ForgePage {
    /// The path of the repository on its host.
    repo: String,
    /// The ref and the path of the folder.
    tree: String,
}

impl ForgePage {
    fn parse(host: &str, path: &str) -> Option<Self> {
        let segments: Vec<&str> = path.split('/').collect();
        let gitlab = segments.windows(2).position(|two| matches!(two, ["-", "tree" | "blob"]));
        let (repo, tree) = match (gitlab, segments.as_slice()) {
            (Some(at), _) => (&segments[..at], &segments[at + 2..]),
            (None, [_, _, "tree" | "blob", ..]) => (&segments[..2], &segments[3..]),
            (None, [_, _, "src", "branch" | "tag" | "commit", ..]) => {
                (&segments[..2], &segments[4..])
            }
            (None, [_, _, "src", ..]) if host == "bitbucket.org" => {
                (&segments[..2], &segments[3..])
            }
            _ => return None,
        };
        let is_file = segments.last().is_some_and(|last| *last == crate::skill::SKILL_FILE);
        let tree = &tree[..tree.len() - usize::from(is_file)];
        (!tree.is_empty() && !repo.is_empty())
            .then(|| Self { repo: repo.join("/"), tree: tree.join("/") })
    }
}

/// A ref of a source: what to take of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SourceVersion {
    /// A tag, branch or commit of a git repository.
    Git(GitRef),
    /// A range of versions of a package.
    Range(VersionRange),
}

impl SourceVersion {
    /// Parses the ref of a source.
    pub fn new(source: &ManifestSource, text: &str) -> Result<Self, String> {
        match source {
            ManifestSource::Git(git) if matches!(git.folder, Some(RepoFolder::RefAndPath(_))) => {
                Err("the URL of the source already contains a ref".into())
            }
            ManifestSource::Git(_) => {
                GitRef::new(text).map(Self::Git).map_err(|why| why.to_string())
            }
            ManifestSource::Package(_) => {
                let range = VersionRange::new(text);
                let invalid = format!("`{text}` is not a version range");
                if range.is_semver() { Ok(Self::Range(range)) } else { Err(invalid) }
            }
            _ => Err("only git repositories and packages have versions".into()),
        }
    }

    pub fn as_str(&self) -> &str {
        match self {
            Self::Git(git_ref) => git_ref.as_str(),
            Self::Range(range) => range.as_str(),
        }
    }
}

impl fmt::Display for SourceVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A source on the command line: `<source>`, `<source>#<ref>`, `<owner>/<repo>@<skill>`,
/// `@<namespace>/<name>@<version>`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceArgument {
    pub source: ManifestSource,
    /// The ref or the range.
    pub version: Option<SourceVersion>,
    /// The name or ID of a single skill.
    pub skill: Option<String>,
}

/// Why an argument is not a source.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SourceArgumentError {
    #[error(transparent)]
    Source(#[from] ManifestSourceError),
    #[error("invalid ref: {0}")]
    Version(String),
}

impl SourceArgument {
    pub fn parse(text: &str) -> Result<Self, SourceArgumentError> {
        // A password may contain `#`, and a path on this machine is not a URL.
        let after_user = text.rfind('@').unwrap_or(0);
        let (text, version) = match text[after_user..].find('#') {
            Some(at) => (&text[..after_user + at], Some(&text[after_user + at + 1..])),
            None => (text, None),
        };
        let mut skill = None;
        let mut version = version.map(str::to_owned);
        let mut source_text = text;
        if let Some((name, range)) = split_package_version(text) {
            if version.is_some() {
                return Err(ManifestSourceError::TwoRefs.into());
            }
            (source_text, version) = (name, Some(range.to_owned()));
        } else if let Some((repo, name)) = split_skill(text) {
            (source_text, skill) = (repo, Some(name.to_owned()));
        }
        let source = ManifestSource::new(source_text)?;
        let version = version
            .map(|version| SourceVersion::new(&source, &version))
            .transpose()
            .map_err(SourceArgumentError::Version)?;
        Ok(Self { source, version, skill })
    }
}

/// Splits `@ns/name@^1` after the name.
fn split_package_version(text: &str) -> Option<(&str, &str)> {
    let scoped = text.strip_prefix('@')?;
    let at = scoped.find('@')? + 1;
    Some((&text[..at], &text[at + 1..])).filter(|(_, version)| !version.is_empty())
}

/// Splits `owner/repo@skill` after the repository. In a URL, `@` follows a user.
fn split_skill(text: &str) -> Option<(&str, &str)> {
    if text.contains(':') || is_local_path(text) || text.starts_with('@') {
        return None;
    }
    let (repo, skill) = text.split_once('@')?;
    (repo.contains('/') && !skill.is_empty()).then_some((repo, skill))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn describe(text: &str) -> String {
        match ManifestSource::new(text) {
            Ok(source) => source.identity(),
            Err(error) => format!("error: {error}"),
        }
    }

    #[test]
    fn lc_03_every_kind_of_source_is_recognized() {
        for (text, expected) in [
            ("anthropics/skills", "git https://github.com/anthropics/skills"),
            ("anthropics/skills/", "git https://github.com/anthropics/skills"),
            ("acme/tools/skills/pdf", "git https://github.com/acme/tools//skills/pdf"),
            ("github.com/acme/skills", "git https://github.com/acme/skills"),
            ("gitlab.com/a/b/c", "git https://gitlab.com/a/b/c"),
            ("https://github.com/acme/skills", "git https://github.com/acme/skills"),
            ("https://git.example.com/x.git", "git https://git.example.com/x"),
            ("git@github.com:acme/skills.git", "git git@github.com:acme/skills"),
            ("ssh://git@host:22/x", "git ssh://git@host:22/x"),
            ("file:///srv/x.git", "git file:///srv/x"),
            (
                "https://github.com/acme/skills/tree/main/skills/pdf",
                "git https://github.com/acme/skills//tree/main/skills/pdf",
            ),
            (
                "https://github.com/acme/skills/blob/v1/pdf/SKILL.md",
                "git https://github.com/acme/skills//tree/v1/pdf",
            ),
            (
                "github.com/acme/skills/tree/feature/x",
                "git https://github.com/acme/skills//tree/feature/x",
            ),
            ("https://gitlab.com/a/b/c/-/tree/main/x", "git https://gitlab.com/a/b/c//tree/main/x"),
            (
                "https://codeberg.org/a/b/src/branch/main/x",
                "git https://codeberg.org/a/b//tree/main/x",
            ),
            ("https://bitbucket.org/a/b/src/main/x", "git https://bitbucket.org/a/b//tree/main/x"),
            ("./skills", "file skills"),
            ("../shared/", "file ../shared"),
            ("~/skills", "file ~/skills"),
            ("/srv/skills", "file /srv/skills"),
            (".", "file ."),
            ("./x.zip", "file x.zip"),
            ("x.ZIP", "file x.ZIP"),
            ("https://example.com/a/skills.zip", "zip https://example.com/a/skills.zip"),
            ("https://docs.example.com", "index https://docs.example.com"),
            ("docs.example.com", "index https://docs.example.com"),
            (
                "https://example.com/docs/.well-known/agent-skills/index.json",
                "index https://example.com/docs",
            ),
            ("http://127.0.0.1:8000", "index http://127.0.0.1:8000"),
            ("@acme/review", "package @acme/review"),
        ] {
            assert_eq!(describe(text), expected, "{text}");
        }
    }

    #[test]
    fn lc_03_texts_that_are_not_sources_are_rejected() {
        for text in [
            "",
            " ",
            "pdf",
            "@acme",
            "@a/b/c",
            "a\u{7}/b",
            "-x",
            "ext::sh -c date",
            "http://example.com",
            "http://example.com/x",
            "https://me:secret@example.com",
        ] {
            assert!(describe(text).starts_with("error: "), "{text}: {}", describe(text));
        }
        let hint = ManifestSource::new("pdf").unwrap_err().hint();
        assert!(hint.contains("<owner>/pdf") && hint.contains("./pdf"), "{hint}");
    }

    #[test]
    fn lc_10_arguments_have_refs_skills_and_versions() {
        for (text, source, version, skill) in [
            ("acme/skills", "acme/skills", None, None),
            ("acme/skills#v1", "acme/skills", Some("v1"), None),
            ("acme/skills@pdf", "acme/skills", None, Some("pdf")),
            ("acme/skills@pdf#v1", "acme/skills", Some("v1"), Some("pdf")),
            ("@acme/review", "@acme/review", None, None),
            ("@acme/review@^1.2", "@acme/review", Some("^1.2"), None),
            ("git@example.com:a/b.git#main", "git@example.com:a/b.git", Some("main"), None),
            ("./x@y", "./x@y", None, None),
        ] {
            let argument = SourceArgument::parse(text).unwrap();
            assert_eq!(argument.source.to_string(), source, "{text}");
            assert_eq!(argument.version.as_ref().map(SourceVersion::as_str), version, "{text}");
            assert_eq!(argument.skill.as_deref(), skill, "{text}");
        }
        assert!(SourceArgument::parse("./x#v1").is_err());
        assert!(SourceArgument::parse("@acme/review@not a range").is_err());
        assert!(SourceArgument::parse("@acme/review@1#2").is_err());
    }

    #[test]
    fn se_07_credentials_in_a_source_are_not_shown() {
        let source = ManifestSource::new("https://me:hunter2@example.com/x.git").unwrap();
        assert_eq!(source.to_string(), "https://example.com/x.git");
        assert!(!source.identity().contains("hunter2"));
        let page = "https://me:hunter2@github.com/a/b/tree/main/x";
        let source = ManifestSource::new(page);
        assert!(source.is_ok_and(|source| !source.to_string().contains("hunter2")));
    }
}
