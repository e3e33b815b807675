//! The refs of a git server, as one `git ls-remote` lists them.

use std::collections::BTreeSet;
use std::path::Path;

use sp_formats::git_repo::{GitRef, GitRepo};
use sp_formats::suggest::did_you_mean;
use sp_tree::Limits;

use super::command::GitRepository;
use super::fetch::GitFetch;
use crate::context::{Context, Event};
use crate::error::{Error, ErrorCode, Result};

const UNREACHABLE_HINT: &str = "check the URL and your access, or use cached data with `--offline`";

/// What git and code hosting sites reply for a repository that does not exist, or that this user
/// may not see. Many sites do not distinguish the two.
const GONE_REPLIES: [&str; 7] = [
    "not found",
    "does not exist",
    "does not appear to be a git repository",
    "returned error: 404",
    "returned error: 410",
    "could not read username",
    "authentication failed",
];

/// The refs of a server.
#[derive(Debug, Clone, Default)]
pub(crate) struct RemoteRefs(Vec<RemoteRef>);

#[derive(Debug, Clone)]
struct RemoteRef {
    commit: String,
    /// The full name. A tag object has a second entry, whose name ends with `^{}`.
    name: String,
}

/// What a ref points to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RefTarget {
    pub commit: String,
    pub kind: RefKind,
    /// Whether the ref is a tag, and there is a branch of the same name with another commit.
    pub shadows_branch: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RefKind {
    /// The default branch.
    Head,
    Tag,
    Branch,
    /// A ref that was written with its full name.
    Other,
}

/// A request for the refs of a server.
pub(super) struct RefListing<'a> {
    pub context: &'a Context<'a>,
    pub limits: &'a Limits,
    pub repo: &'a GitRepo,
    /// The URL or absolute path to pass to git.
    pub url: &'a str,
    /// The cached repository, which need not exist.
    pub dir: &'a Path,
}

impl RefListing<'_> {
    /// Asks the server, with one request.
    pub(super) fn run(&self) -> Result<RemoteRefs> {
        let Self { context, limits, repo, url, dir } = *self;
        context.emit(Event::Fetching { repo: &repo.display_url, progress: None });
        let git = GitRepository::new(context, dir, limits.into());
        // Version 0 of the protocol has the refs in the first response; version 2 needs a second
        // request.
        let args =
            ["-c", "protocol.version=0", "ls-remote", "--quiet", "--end-of-options", "origin"];
        let command = git.remote_command(repo, url, &args);
        let message = format!("cannot reach the repository `{repo}`");
        let fetch = GitFetch { context, repo, dir, limits };
        let text = fetch.run(command, Vec::new(), &message).map_err(with_unreachable_hint)?;
        context.emit(Event::Fetched { repo: &repo.display_url });
        Ok(RemoteRefs::parse(&String::from_utf8_lossy(&text)))
    }
}

impl RemoteRefs {
    fn parse(text: &str) -> Self {
        let lines = text.lines().filter_map(|line| line.split_once('\t'));
        let refs = lines.filter(|(commit, _)| is_oid(commit));
        Self(
            refs.map(|(commit, name)| RemoteRef { commit: commit.into(), name: name.into() })
                .collect(),
        )
    }

    /// Resolves a ref, or the default branch. A tag wins over a branch.
    pub(crate) fn resolve(&self, git_ref: Option<&GitRef>) -> Option<RefTarget> {
        let target = |commit: &str, kind| RefTarget {
            commit: commit.to_owned(),
            kind,
            shadows_branch: false,
        };
        let Some(git_ref) = git_ref else {
            return self.get("HEAD").map(|commit| target(commit, RefKind::Head));
        };
        let tag = self.get_peeled(&format!("refs/tags/{git_ref}"));
        let branch = self.get(&format!("refs/heads/{git_ref}"));
        if let Some(tag) = tag {
            let shadows_branch = branch.is_some_and(|branch| branch != tag);
            return Some(RefTarget { shadows_branch, ..target(tag, RefKind::Tag) });
        }
        if let Some(branch) = branch {
            return Some(target(branch, RefKind::Branch));
        }
        let full_name = git_ref.as_str().starts_with("refs/");
        let commit = full_name.then(|| self.get_peeled(git_ref.as_str())).flatten()?;
        Some(target(commit, RefKind::Other))
    }

    fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|known| known.name == name)?;
        Some(&found.commit)
    }

    /// Returns the commit of a ref, also if the ref is a tag object.
    fn get_peeled(&self, name: &str) -> Option<&str> {
        self.get(&format!("{name}^{{}}")).or_else(|| self.get(name))
    }

    /// Returns a ref that points to a commit.
    pub(super) fn ref_of(&self, commit: &str) -> Option<&str> {
        let mut refs = self.0.iter();
        let found = refs.find(|known| known.commit == commit && is_plain_ref(&known.name))?;
        Some(found.name.trim_end_matches("^{}"))
    }

    /// Returns the tip whose commit starts with `prefix`.
    pub(super) fn tip_with_prefix(&self, prefix: &str) -> Option<&str> {
        let found = self.0.iter().find(|known| known.commit.starts_with(prefix))?;
        Some(&found.commit)
    }

    /// Returns any commit.
    pub(super) fn first_commit(&self) -> Option<&str> {
        self.0.first().map(|known| known.commit.as_str())
    }

    pub(super) fn branches(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|known| known.name.strip_prefix("refs/heads/"))
    }

    pub(super) fn unknown_ref_error(&self, repo: &GitRepo, git_ref: &str) -> Error {
        let names = self.0.iter().filter_map(|known| {
            let name = known.name.strip_prefix("refs/heads/");
            name.or_else(|| known.name.strip_prefix("refs/tags/"))
        });
        let error = Error::new(
            ErrorCode::GitRefNotFound,
            format!("`{repo}` has no tag, branch or commit `{git_ref}`"),
        );
        let names = names.filter(|name| !name.ends_with("^{}"));
        match did_you_mean(git_ref, names.collect::<BTreeSet<&str>>()) {
            Some(question) => error.hint(question),
            None => error.hint(format!("run `git ls-remote {repo}` to list its branches and tags")),
        }
    }
}

/// Adds a hint about an unreachable server, unless the error already has one.
pub(super) fn with_unreachable_hint(error: Error) -> Error {
    if error.hints.is_empty() { error.hint(UNREACHABLE_HINT) } else { error }
}

/// Whether the repository does not exist, as opposed to a server that cannot be reached.
pub(crate) fn is_gone(error: &Error) -> bool {
    let is_reply = |cause: String| {
        let cause = cause.to_lowercase();
        GONE_REPLIES.iter().any(|reply| cause.contains(reply))
    };
    error.has_code(ErrorCode::SourceNotFound) || error.causes().into_iter().any(is_reply)
}

/// Whether a ref name of a server is safe to pass to git: the server can choose any name.
fn is_plain_ref(name: &str) -> bool {
    name.starts_with("refs/") && GitRef::new(name.trim_end_matches("^{}")).is_ok()
}

pub(super) fn is_oid(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tag_wins_over_branch_and_is_peeled() {
        let [a, b, c] = ["a", "b", "c"].map(|digit| digit.repeat(40));
        let refs = RemoteRefs::parse(&format!(
            "{a}\tHEAD\n{a}\trefs/heads/main\n{b}\trefs/tags/v1\n{c}\trefs/tags/v1^{{}}\n\
             {a}\trefs/heads/v1\nnonsense\trefs/heads/x\n"
        ));
        let resolve = |text: &str| {
            let git_ref = GitRef::new(text).unwrap();
            refs.resolve(Some(&git_ref)).map(|target| (target.commit, target.kind))
        };
        assert_eq!(refs.resolve(None).unwrap().kind, RefKind::Head);
        assert_eq!(resolve("main"), Some((a.clone(), RefKind::Branch)));
        assert_eq!(resolve("v1"), Some((c, RefKind::Tag)));
        assert_eq!(resolve("refs/heads/main"), Some((a, RefKind::Other)));
        assert_eq!(resolve("x"), None);
        assert!(refs.resolve(Some(&GitRef::new("v1").unwrap())).unwrap().shadows_branch);
    }

    #[test]
    fn lc_12_missing_repository_is_not_an_unreachable_server() {
        let error = |cause: &str| Error::new(ErrorCode::Git, "failed").because(cause.to_owned());
        for gone in [
            "repository 'https://example.com/x/' not found",
            "The requested URL returned error: 404",
            "'/srv/x' does not appear to be a git repository",
            "could not read Username for 'https://github.com'",
        ] {
            assert!(is_gone(&error(gone)), "{gone}");
        }
        for unreachable in ["Could not resolve host: example.com", "Connection timed out"] {
            assert!(!is_gone(&error(unreachable)), "{unreachable}");
        }
    }
}
