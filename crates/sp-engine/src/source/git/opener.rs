//! Opening repositories: imports of packs, single refs, and folders as web pages name them.
//!
//! A [`CheckoutOpener`] finds the cached repository of a URL or path, locks it, and lets
//! [`CachedRepository`] resolve the ref.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use sp_formats::git_repo::{GitRef, GitRepo, GitTransport};
use sp_formats::pack::PackImport;
use sp_tree::{Digest, Limits};

use super::cache::{
    CachedRepository, GitCheckout, never_fetched_error, read_newest, require_online,
};
use super::command::{GitRepository, succeeds};
use super::import_error::ImportError;
use super::object_dir::remove_stale_files;
use super::remote_refs::{RefListing, RemoteRefs};
use crate::context::{Context, Network};
use crate::error::{Error, ErrorCode, Result};

/// The maximum number of repositories that are fetched at the same time.
const MAX_CONCURRENT_FETCHES: usize = 8;

/// Opens the imports of a pack.
pub(crate) struct CheckoutOpener<'a> {
    pub context: &'a Context<'a>,
    pub limits: &'a Limits,
    /// The repository of the pack. Relative paths start here.
    pub root: &'a Path,
}

impl CheckoutOpener<'_> {
    /// Opens all imports, fetching several repositories at the same time. Returns one checkout for
    /// each import, in order.
    pub(crate) fn open(&self, imports: &[PackImport]) -> Result<Vec<GitCheckout>, ImportError> {
        let mut by_url: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (number, import) in imports.iter().enumerate() {
            let url = self.url(&import.repo).map_err(|error| ImportError::new(import, error))?;
            by_url.entry(url).or_default().push(number);
        }
        let groups: Vec<ImportGroup> =
            by_url.into_iter().map(|(url, numbers)| ImportGroup { url, numbers }).collect();
        let mut opened: Vec<OpenedImport> = Vec::new();
        for batch in groups.chunks(MAX_CONCURRENT_FETCHES) {
            for result in self.open_batch(batch, imports) {
                opened.extend(result?);
            }
        }
        opened.sort_by_key(|import| import.number);
        Ok(opened.into_iter().map(|import| import.checkout).collect())
    }

    /// Opens the repositories of a batch, each in a thread.
    fn open_batch(
        &self,
        batch: &[ImportGroup],
        imports: &[PackImport],
    ) -> Vec<Result<Vec<OpenedImport>, ImportError>> {
        std::thread::scope(|scope| {
            let threads: Vec<_> = batch
                .iter()
                .map(|group| (group, scope.spawn(move || self.open_repo(group, imports))))
                .collect();
            let panicked = |group: &ImportGroup| {
                let error = Error::new(ErrorCode::TaskFailed, "a fetch task failed unexpectedly");
                Err(ImportError::new(&imports[group.numbers[0]], error))
            };
            let joined = threads
                .into_iter()
                .map(|(group, thread)| thread.join().unwrap_or_else(|_| panicked(group)));
            joined.collect()
        })
    }

    /// Returns the URL or absolute path to pass to git.
    fn url(&self, repo: &GitRepo) -> Result<String> {
        if repo.transport != GitTransport::Path {
            return Ok(repo.url.clone());
        }
        match Path::new(&self.local_path(repo)).canonicalize() {
            Ok(path) => Ok(path.to_string_lossy().into_owned()),
            Err(e) => Err(Error::new(
                ErrorCode::SourceNotFound,
                format!("cannot open the repository `{repo}`"),
            )
            .because(e)
            .hint("check the path; relative paths start at the directory that contains `packs/`")),
        }
    }

    #[tracing::instrument(level = "debug", skip_all, fields(repo = %imports[group.numbers[0]].repo))]
    fn open_repo(
        &self,
        group: &ImportGroup,
        imports: &[PackImport],
    ) -> Result<Vec<OpenedImport>, ImportError> {
        let first = &imports[group.numbers[0]];
        let cached = CachedRepositoryKey {
            repo: &first.repo,
            url: &group.url,
            git_ref: first.git_ref.as_ref().map(GitRef::as_str),
        };
        let opened = self.with_repository(&cached, |cache| {
            let open = |&number: &usize| {
                let import = &imports[number];
                let checkout = cache.checkout(&import.repo, import.git_ref.as_ref());
                let checkout = checkout.map_err(|error| ImportError::new(import, error))?;
                Ok(OpenedImport { number, checkout })
            };
            Ok(group.numbers.iter().map(open).collect())
        });
        opened.map_err(|error| ImportError::new(first, error))?
    }

    /// Locks the cached repository, and calls `run` with it.
    fn with_repository<T>(
        &self,
        key: &CachedRepositoryKey<'_>,
        run: impl FnOnce(&mut CachedRepository<'_>) -> Result<T>,
    ) -> Result<T> {
        let CachedRepositoryKey { repo, url, git_ref } = *key;
        let dir = self.cached_dir(repo, url);
        if self.context.network == Network::Offline && !dir.is_dir() {
            return Err(never_fetched_error(repo, git_ref));
        }
        let opened_dir = self.context.open_private_dir(&dir)?;
        let _lock = self.context.lock(&opened_dir)?;
        remove_stale_files(&opened_dir)?;
        run(&mut CachedRepository {
            context: self.context,
            limits: self.limits,
            repo,
            url,
            git: GitRepository::new(self.context, &dir, self.limits.into()),
            dir: &dir,
            opened_dir: &opened_dir,
            remote_refs: None,
        })
    }

    fn cached_dir(&self, repo: &GitRepo, url: &str) -> PathBuf {
        self.context.cache_dir().join("git").join(cache_name(repo, url))
    }

    /// Opens a repository at a ref that is followed by a path, as in the URL of a web page. Only
    /// the repository can tell where the ref ends.
    pub(crate) fn open_page(&self, repo: &GitRepo, ref_and_path: &str) -> Result<GitPage> {
        let url = self.url(repo)?;
        let key = CachedRepositoryKey { repo, url: &url, git_ref: Some(ref_and_path) };
        self.with_repository(&key, |cache| {
            let (git_ref, path) = cache.split_ref(ref_and_path)?;
            let checkout = cache.checkout(repo, Some(&git_ref))?;
            Ok(GitPage { checkout, git_ref, path })
        })
    }

    /// Opens one commit or ref.
    pub(crate) fn open_ref(&self, repo: &GitRepo, git_ref: Option<&GitRef>) -> Result<GitCheckout> {
        let url = self.url(repo)?;
        let key = CachedRepositoryKey { repo, url: &url, git_ref: git_ref.map(GitRef::as_str) };
        self.with_repository(&key, |cache| cache.checkout(repo, git_ref))
    }

    /// Lists the refs of a server with one request. Neither reads nor changes the cache.
    pub(crate) fn list_refs(&self, repo: &GitRepo) -> Result<RemoteRefs> {
        let url = self.url(repo)?;
        require_online(self.context, repo)?;
        let dir = self.cached_dir(repo, &url);
        let (context, limits) = (self.context, self.limits);
        RefListing { context, limits, repo, url: &url, dir: &dir }.run()
    }

    /// Returns the newest commit of a ref that this machine has seen, without asking the server.
    pub(crate) fn newest_known(&self, repo: &GitRepo, git_ref: Option<&str>) -> Option<String> {
        let url = self.url(repo).ok()?;
        read_newest(&self.cached_dir(repo, &url), git_ref)
    }

    /// Remembers the newest commit of a ref, if the repository is in the cache. Best effort.
    pub(crate) fn remember_newest(&self, repo: &GitRepo, git_ref: Option<&str>, commit: &str) {
        let Ok(url) = self.url(repo) else { return };
        if self.cached_dir(repo, &url).is_dir() {
            let key = CachedRepositoryKey { repo, url: &url, git_ref };
            // Without the record, `sp status` knows less.
            let _ = self.with_repository(&key, |cache| cache.record_newest(git_ref, commit));
        }
    }

    /// Whether the cache has a commit, so that it can be installed although its server is gone.
    pub(crate) fn is_cached(&self, repo: &GitRepo, commit: &str) -> bool {
        // A local repository that is gone has no canonical path, but was cached by it.
        let url = self.url(repo).unwrap_or_else(|_| self.local_path(repo));
        let key = CachedRepositoryKey { repo, url: &url, git_ref: None };
        let dir = self.cached_dir(repo, &url);
        dir.is_dir()
            && self.with_repository(&key, |cache| cache.has_commit(commit)).unwrap_or(false)
    }

    /// Whether the history of `new`, a tip of the server, contains the commit `old`.
    pub(crate) fn is_ancestor(&self, repo: &GitRepo, old: &str, new: &RefTip<'_>) -> Result<bool> {
        let url = self.url(repo)?;
        let key = CachedRepositoryKey { repo, url: &url, git_ref: None };
        self.with_repository(&key, |cache| {
            cache.with_history(new.commit, |history| {
                let refspec = new.full_name.as_deref().unwrap_or("HEAD");
                let message = format!("cannot fetch the history of `{repo}`");
                history.run_fetch(&["--filter=tree:0"], &[refspec], &message)?;
                let args = ["merge-base", "--is-ancestor", old, new.commit];
                succeeds(history.git.local_command(&args))
            })
        })
    }

    fn local_path(&self, repo: &GitRepo) -> String {
        let path = if repo.url.starts_with('~') {
            self.context.expand(&repo.url)
        } else {
            self.root.join(&repo.url)
        };
        path.to_string_lossy().into_owned()
    }
}

/// A commit of a repository, and a path in it.
pub(crate) struct GitPage {
    pub checkout: GitCheckout,
    /// The ref, which may contain slashes.
    pub git_ref: GitRef,
    /// The path of the folder; empty for the root.
    pub path: String,
}

/// The tip of a branch.
pub(crate) struct RefTip<'a> {
    pub commit: &'a str,
    /// The full name of the branch; none for the default branch.
    pub full_name: Option<String>,
}

/// What identifies a cached repository.
struct CachedRepositoryKey<'a> {
    repo: &'a GitRepo,
    /// The URL or absolute path to pass to git.
    url: &'a str,
    /// The ref that is asked for, for messages.
    git_ref: Option<&'a str>,
}

/// The imports from one repository.
struct ImportGroup {
    /// The URL or absolute path to pass to git.
    url: String,
    /// The numbers of the imports. There is at least one.
    numbers: Vec<usize>,
}

/// The checkout of an import.
struct OpenedImport {
    /// The number of the import.
    number: usize,
    checkout: GitCheckout,
}

/// Returns the directory name of a cached repository: readable, and unique by a hash.
fn cache_name(repo: &GitRepo, url: &str) -> String {
    let tail = repo.display_url.trim_end_matches('/').rsplit(['/', ':']).next().unwrap_or_default();
    let tail: String = tail
        .trim_end_matches(".git")
        .chars()
        .filter(|c| c.is_ascii_alphanumeric() || "-_".contains(*c))
        .take(40)
        .collect();
    // A secret query may differ each time, and the lockfile does not have it.
    let key = if repo.omits_query() { &repo.display_url } else { url };
    format!("{tail}-{}.git", &Digest::of(key.as_bytes()).hex()[..16])
}
