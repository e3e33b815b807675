//! Where sources are now, compared with the lockfile.
//!
//! Each repository, host and registry is asked once, all of them at the same time. A change that
//! rewrites what was published is never reported as a newer version: each kind is a case of
//! [`NewestSource`] with its own message.

use std::collections::BTreeMap;
use std::path::Path;

use sp_formats::git_repo::GitRef;
use sp_formats::project::lock::LockedSource;
use sp_formats::project::source::{GitSource, ManifestSource, RepoFolder, SourceVersion};

use super::hosted::fetch_index;
use super::package::lock_of;
use crate::error::{Error, ErrorCode, Result};
use crate::io_threads::{MAX_CONCURRENT_QUERIES, run_in_threads};
use crate::pkg::{NewestPackageQuery, newest_package_versions};
use crate::session::Session;
use crate::source::OpenedSource;
use crate::source::git::{CheckoutOpener, RefKind, RefTip, RemoteRefs, is_gone};

/// A source to ask for its newest version.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NewestQuery<'a> {
    pub source: &'a ManifestSource,
    pub version: Option<&'a SourceVersion>,
    pub locked: &'a LockedSource,
}

/// Whether to check that the new commit of a branch descends from the old one, which needs a second
/// request to each repository that has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BranchHistory {
    Skip,
    Check,
}

/// Where a source is now.
#[derive(Debug)]
pub(crate) enum NewestSource {
    /// Nothing has changed, or the source is on this machine and has no versions.
    Current,
    Newer(LockedSource),
    /// A tag points to another commit than when it was locked.
    MovedTag {
        tag: String,
        commit: String,
    },
    /// The new commit of a branch does not descend from the locked one.
    RewrittenBranch {
        branch: String,
        commit: String,
    },
    /// The tag or branch does not exist anymore.
    DeletedRef {
        git_ref: String,
    },
    /// The repository or host does not exist anymore, or this user has no access.
    Gone {
        content: CachedContent,
        error: Error,
    },
}

/// Whether what is locked can be installed without its source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CachedContent {
    Available,
    Missing,
}

impl NewestSource {
    /// Returns the error for a source whose published versions were changed; none if there is
    /// nothing wrong with it. `name` is the source as the manifest has it.
    pub(crate) fn into_problem(self, name: &str) -> Option<Error> {
        let kept = "nothing was changed; the locked version stays installed";
        Some(match self {
            Self::Current | Self::Newer(_) => return None,
            Self::MovedTag { tag, commit } => {
                let message = format!("the tag `{tag}` of `{name}` was moved");
                Error::new(ErrorCode::MovedTag, message)
                    .because(format!("it now points to {commit}"))
                    .hint(format!("{kept}: ask the author why, since tags should not change"))
                    .hint("to accept it, remove the source with `sp remove` and add it again")
            }
            Self::RewrittenBranch { branch, commit } => {
                let message = format!("the history of `{branch}` of `{name}` was rewritten");
                Error::new(ErrorCode::RewrittenBranch, message)
                    .because(format!("{commit} does not descend from the locked commit"))
                    .hint(format!("{kept}: ask the author why the branch was force-pushed"))
                    .hint("to accept it, remove the source with `sp remove` and add it again")
            }
            Self::DeletedRef { git_ref } => {
                let message = format!("`{name}` has no tag or branch `{git_ref}` anymore");
                Error::new(ErrorCode::GitRefNotFound, message)
                    .hint(format!("{kept}: change `ref` in `skillpack.yaml` to one that exists"))
            }
            Self::Gone { content, error } => {
                let message = format!("`{name}` does not exist anymore, or you have no access");
                let gone = Error { message, code: ErrorCode::SourceGone, ..error };
                match content {
                    CachedContent::Available => {
                        gone.hint(format!("{kept}, and is in the cache of this machine"))
                    }
                    CachedContent::Missing => gone.hint(format!(
                        "{kept}, but cannot be installed on other machines: change its source in \
                         `skillpack.yaml`"
                    )),
                }
            }
        })
    }
}

/// Asks where sources are now. Relative paths start at `base`. The results are in the order of the
/// queries.
pub(crate) fn newest_versions(
    session: &Session<'_>,
    base: &Path,
    queries: &[NewestQuery<'_>],
    history: BranchHistory,
) -> Vec<Result<NewestSource>> {
    let groups = group_by_server(queries);
    let asker = NewestAsker { session, base, queries, history };
    let answers = run_in_threads(&groups, MAX_CONCURRENT_QUERIES, |group| asker.ask(group));
    let mut results: Vec<Option<Result<NewestSource>>> = queries.iter().map(|_| None).collect();
    for (group, answer) in groups.iter().zip(answers) {
        let found = match answer {
            Ok(found) => found,
            // A task that panicked.
            Err(error) => vec![Err(error)],
        };
        for (position, result) in group.queries.iter().zip(found) {
            results[*position] = Some(result);
        }
    }
    let missing = || Err(Error::new(ErrorCode::TaskFailed, "a server was not asked"));
    results.into_iter().map(|result| result.unwrap_or_else(missing)).collect()
}

/// The queries that one request answers.
struct ServerQueries {
    /// The positions of the queries.
    queries: Vec<usize>,
}

/// Groups queries by what has to be asked: the repository, the host, the archive, all registries.
fn group_by_server(queries: &[NewestQuery<'_>]) -> Vec<ServerQueries> {
    let mut groups: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (position, query) in queries.iter().enumerate() {
        let server = match query.source {
            ManifestSource::Git(git) => format!("git {}", git.repo.url),
            ManifestSource::Package(_) => "registries".to_owned(),
            other => other.identity(),
        };
        groups.entry(server).or_default().push(position);
    }
    groups.into_values().map(|queries| ServerQueries { queries }).collect()
}

struct NewestAsker<'a> {
    session: &'a Session<'a>,
    base: &'a Path,
    queries: &'a [NewestQuery<'a>],
    history: BranchHistory,
}

impl NewestAsker<'_> {
    /// Asks one server, and returns the answer to each query.
    fn ask(&self, group: &ServerQueries) -> Result<Vec<Result<NewestSource>>> {
        let queries: Vec<&NewestQuery<'_>> =
            group.queries.iter().map(|position| &self.queries[*position]).collect();
        let Some(first) = queries.first() else { return Ok(Vec::new()) };
        Ok(match first.source {
            ManifestSource::Git(_) => self.ask_repository(&queries),
            ManifestSource::Package(_) => self.ask_registries(&queries),
            // The repositories of a pack are asked one by one.
            ManifestSource::Dir(_) | ManifestSource::Zip(_) | ManifestSource::Pack(_) => {
                queries.iter().map(|_| Ok(NewestSource::Current)).collect()
            }
            ManifestSource::WebZip(_) | ManifestSource::Index(_) => {
                queries.iter().map(|query| self.ask_web(query)).collect()
            }
        })
    }

    fn opener(&self) -> CheckoutOpener<'_> {
        let (context, limits) = (self.session.context, &self.session.limits);
        CheckoutOpener { context, limits, root: self.base }
    }

    fn ask_repository(&self, queries: &[&NewestQuery<'_>]) -> Vec<Result<NewestSource>> {
        let repositories = queries.iter().filter_map(|query| match query.source {
            ManifestSource::Git(git) => Some((git, *query)),
            _ => None,
        });
        let mut repositories = repositories.peekable();
        let listed = repositories.peek().map(|(git, _)| self.opener().list_refs(&git.repo));
        let answer = |(git, query): (&GitSource, &NewestQuery<'_>)| match &listed {
            Some(Ok(refs)) => self.newest_commit(git, query, refs),
            Some(Err(error)) => self.unreachable(git, query, copy_of(error)),
            None => Ok(NewestSource::Current),
        };
        repositories.map(answer).collect()
    }

    fn unreachable(
        &self,
        git: &GitSource,
        query: &NewestQuery<'_>,
        error: Error,
    ) -> Result<NewestSource> {
        if !is_gone(&error) {
            return Err(error);
        }
        let commit = query.locked.commit.as_deref().unwrap_or_default();
        let is_cached = self.opener().is_cached(&git.repo, commit);
        let content = if is_cached { CachedContent::Available } else { CachedContent::Missing };
        Ok(NewestSource::Gone { content, error })
    }

    fn newest_commit(
        &self,
        git: &GitSource,
        query: &NewestQuery<'_>,
        refs: &RemoteRefs,
    ) -> Result<NewestSource> {
        let git_ref = source_ref(git, query);
        if git_ref.as_ref().is_some_and(|it| it.is_commit() || it.is_short_commit())
            && refs.resolve(git_ref.as_ref()).is_none()
        {
            return Ok(NewestSource::Current);
        }
        let Some(target) = refs.resolve(git_ref.as_ref()) else {
            let git_ref = git_ref.map_or_else(|| "HEAD".to_owned(), |it| it.to_string());
            return Ok(NewestSource::DeletedRef { git_ref });
        };
        let Some(old) = query.locked.commit.as_deref().filter(|old| *old != target.commit) else {
            return Ok(NewestSource::Current);
        };
        if target.kind != RefKind::Tag {
            let seen = git_ref.as_ref().map(GitRef::as_str);
            self.opener().remember_newest(&git.repo, seen, &target.commit);
        }
        let name = git_ref.as_ref().map_or_else(|| "HEAD".to_owned(), ToString::to_string);
        if target.kind == RefKind::Tag {
            return Ok(NewestSource::MovedTag { tag: name, commit: target.commit });
        }
        if self.history == BranchHistory::Check {
            let full_name = match target.kind {
                RefKind::Head => None,
                RefKind::Tag | RefKind::Branch => Some(format!("refs/heads/{name}")),
                RefKind::Other => Some(name.clone()),
            };
            let tip = RefTip { commit: &target.commit, full_name };
            if !self.opener().is_ancestor(&git.repo, old, &tip)? {
                return Ok(NewestSource::RewrittenBranch { branch: name, commit: target.commit });
            }
        }
        let newer = LockedSource { commit: Some(target.commit), ..query.locked.clone() };
        Ok(NewestSource::Newer(newer))
    }

    fn ask_registries(&self, queries: &[&NewestQuery<'_>]) -> Vec<Result<NewestSource>> {
        let lookups: Vec<NewestPackageQuery<'_>> =
            queries.iter().filter_map(|query| package_query(query)).collect();
        match newest_package_versions(self.session, &lookups) {
            Ok(found) => {
                let compare = |(query, found): (&&NewestQuery<'_>, Result<_>)| {
                    let newest = lock_of(&found?);
                    let locked = &query.locked;
                    if newest.version == locked.version && newest.digest == locked.digest {
                        return Ok(NewestSource::Current);
                    }
                    let patterns = locked.patterns.clone();
                    let extra = locked.extra.clone();
                    Ok(NewestSource::Newer(LockedSource { patterns, extra, ..newest }))
                };
                queries.iter().zip(found).map(compare).collect()
            }
            Err(error) => queries.iter().map(|_| Err(copy_of(&error))).collect(),
        }
    }

    fn ask_web(&self, query: &NewestQuery<'_>) -> Result<NewestSource> {
        let digest = match query.source {
            ManifestSource::Index(url) => fetch_index(self.session, url).map(|index| index.digest),
            ManifestSource::WebZip(web) => OpenedSource::open_web_archive(self.session, web, None)
                .map(|opened| opened.archive_digest().unwrap_or(sp_tree::Digest::of(b""))),
            _ => return Ok(NewestSource::Current),
        };
        match digest {
            Ok(digest) if Some(digest) == query.locked.digest => Ok(NewestSource::Current),
            Ok(digest) => Ok(NewestSource::Newer(LockedSource {
                digest: Some(digest),
                ..query.locked.clone()
            })),
            Err(error)
                if is_gone(&error) || error.causes().iter().any(|why| is_gone_status(why)) =>
            {
                let content = self.cached_web_content(query);
                Ok(NewestSource::Gone { content, error })
            }
            Err(error) => Err(error),
        }
    }

    fn cached_web_content(&self, query: &NewestQuery<'_>) -> CachedContent {
        let context = self.session.context;
        let path = query.locked.digest.map(|digest| match query.source {
            ManifestSource::WebZip(_) => crate::downloads::archive_path(context, &digest),
            _ => crate::downloads::artifact_path(context, &digest),
        });
        match path {
            Some(path) if path.exists() => CachedContent::Available,
            _ => CachedContent::Missing,
        }
    }
}

/// Returns the error of a request for each query that it was to answer.
fn copy_of(error: &Error) -> Error {
    let copy = Error::new(error.code, error.message.clone());
    let copy = match error.causes().as_slice() {
        [] => copy,
        causes => copy.because(causes.join(": ")),
    };
    Error { hints: error.hints.clone(), ..copy }
}

fn is_gone_status(why: &str) -> bool {
    ["404", "410"].iter().any(|status| why.ends_with(&format!("HTTP status {status}")))
}

/// Returns the ref that a source follows; none for the default branch.
fn source_ref(git: &GitSource, query: &NewestQuery<'_>) -> Option<GitRef> {
    let of_page = || match &git.folder {
        Some(RepoFolder::RefAndPath(page)) => {
            let known = query.locked.git_ref.as_deref();
            let first = page.split('/').next().unwrap_or_default();
            GitRef::new(known.unwrap_or(first)).ok()
        }
        _ => None,
    };
    match query.version {
        Some(SourceVersion::Git(git_ref)) => Some(git_ref.clone()),
        Some(SourceVersion::Range(_)) | None => of_page(),
    }
}

fn package_query<'a>(query: &NewestQuery<'a>) -> Option<NewestPackageQuery<'a>> {
    let ManifestSource::Package(name) = query.source else { return None };
    let ranges = match query.version {
        Some(SourceVersion::Range(range)) => vec![range],
        Some(SourceVersion::Git(_)) | None => Vec::new(),
    };
    Some(NewestPackageQuery { name, ranges, registry: query.locked.registry.as_deref() })
}
