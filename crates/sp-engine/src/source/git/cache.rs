//! The cache of git repositories: resolves a repository and a ref to a commit whose trees are
//! cached.

use std::path::{Path, PathBuf};

use sp_formats::git_repo::{GitRef, GitRepo};
use sp_formats::percent::decode_lossy;
use sp_tree::atomic::{self, Durability, TempFile};
use sp_tree::{Digest, Dir, Follow, Limits, Name, Segment, StaticName, read_limited};

use super::command::{GitRepository, command_output, succeeds};
use super::fetch::GitFetch;
use super::object_dir::remove_stale_files;
use super::process::GitLimits;
use super::remote_refs::{RefListing, RemoteRefs, is_oid, with_unreachable_hint};
use super::tree::GitTree;
use crate::context::{Context, Event, Network};
use crate::error::{Error, ErrorCode, Result};

const CONFIG_FILE: StaticName = StaticName("config");

/// Refspecs for all branches and tags, stored under names of our own.
const ALL_REFS: [&str; 2] = ["+refs/heads/*:refs/sp/heads/*", "+refs/tags/*:refs/sp/tags/*"];
/// Unlimited depth. Unlike `--unshallow`, it also works on a complete history.
const FULL_DEPTH_ARG: &str = "--depth=2147483647";

/// A commit whose trees are in the cache.
#[derive(Debug)]
pub(crate) struct GitCheckout {
    pub repo: GitRepo,
    /// The URL or absolute path that is passed to git.
    pub url: String,
    /// The bare repository in the cache.
    pub dir: PathBuf,
    /// The full commit ID.
    pub commit: String,
    /// The ref or commit ID to request when fetching the commit.
    pub fetch_target: String,
    pub tree: GitTree,
    pub git_limits: GitLimits,
}

/// The commit that a ref points to.
struct ResolvedCommit {
    commit: String,
    /// Whether the ref is a tag, and there is a branch of the same name with another commit.
    shadows_branch: bool,
}

/// A locked repository of the cache.
pub(super) struct CachedRepository<'a> {
    pub context: &'a Context<'a>,
    pub limits: &'a Limits,
    pub repo: &'a GitRepo,
    /// The URL or absolute path to pass to git.
    pub url: &'a str,
    pub git: GitRepository<'a>,
    pub dir: &'a Path,
    pub opened_dir: &'a Dir,
    /// The refs of the server, requested once.
    pub remote_refs: Option<RemoteRefs>,
}

impl CachedRepository<'_> {
    /// Resolves a ref to a commit, and reads its tree.
    pub(super) fn checkout(
        &mut self,
        repo: &GitRepo,
        git_ref: Option<&GitRef>,
    ) -> Result<GitCheckout> {
        let limits = self.limits;
        let resolved = self.resolve_commit(git_ref)?;
        if resolved.shadows_branch
            && let Some(git_ref) = git_ref
        {
            self.context.emit(Event::Warning(format!(
                "`{}` has both a tag and a branch named `{git_ref}`; using the tag",
                self.repo
            )));
        }
        let objects = self.git.local_command(&["cat-file", "--batch"]);
        let tree = GitTree::read(objects, &resolved.commit, limits, self.repo)?;
        Ok(GitCheckout {
            repo: repo.clone(),
            url: self.url.into(),
            dir: self.dir.into(),
            fetch_target: self.ref_of(&resolved.commit).unwrap_or(&resolved.commit).into(),
            commit: resolved.commit,
            tree,
            git_limits: limits.into(),
        })
    }

    /// Resolves a ref to a commit, and fetches its trees if they are missing.
    fn resolve_commit(&mut self, git_ref: Option<&GitRef>) -> Result<ResolvedCommit> {
        let is_first = git_ref.is_none()
            && self.context.network == Network::Allowed
            && self.is_uninitialized()?;
        if is_first && let Some(commit) = self.fetch_initial_head()? {
            self.record_ref(None, &commit)?;
            return Ok(ResolvedCommit { commit, shadows_branch: false });
        }
        let resolved = match git_ref {
            Some(commit) if commit.is_commit() => {
                ResolvedCommit { commit: commit.to_string(), shadows_branch: false }
            }
            _ if self.context.network == Network::Offline => self.resolve_offline(git_ref)?,
            _ => self.resolve_remote_ref(git_ref)?,
        };
        let is_new = self.init(&resolved.commit)?;
        if is_new || !self.has_commit(&resolved.commit)? {
            self.fetch_commit(&resolved.commit, git_ref)?;
        }
        self.record_ref(git_ref, &resolved.commit)?;
        Ok(resolved)
    }

    fn is_uninitialized(&self) -> Result<bool> {
        Ok(self.opened_dir.stat(&CONFIG_FILE, Follow::Never)?.is_none())
    }

    /// Fetches HEAD into a new repository without listing the refs first, which saves a connection.
    ///
    /// Returns `None` if there is no HEAD or the hash algorithm differs; the list of refs then
    /// gives the reason.
    fn fetch_initial_head(&mut self) -> Result<Option<String>> {
        self.init(&"0".repeat(40))?;
        let message = format!("cannot reach the repository `{}`", self.repo);
        match self.run_fetch(
            &["--depth=1", "--filter=blob:none"],
            &["+HEAD:refs/sp/head"],
            &message,
        ) {
            Ok(()) => {
                let head = read_limited(&self.dir.join("refs/sp/head"), 100).unwrap_or_default();
                Ok(String::from_utf8(head)
                    .ok()
                    .map(|head| head.trim().to_owned())
                    .filter(|head| is_oid(head)))
            }
            Err(error)
                if error.causes().iter().any(|cause| {
                    cause.contains("remote ref HEAD") || cause.contains("algorithm")
                }) =>
            {
                Ok(None)
            }
            Err(error) => Err(with_unreachable_hint(error)),
        }
    }

    /// Resolves a ref with the refs of the server.
    fn resolve_remote_ref(&mut self, git_ref: Option<&GitRef>) -> Result<ResolvedCommit> {
        let refs = self.remote_refs()?.clone();
        if let Some(target) = refs.resolve(git_ref) {
            let shadows_branch = target.shadows_branch;
            return Ok(ResolvedCommit { commit: target.commit, shadows_branch });
        }
        let commit = match git_ref {
            None => return Err(self.no_head_error()),
            Some(git_ref) if git_ref.is_short_commit() => {
                match refs.tip_with_prefix(git_ref.as_str()) {
                    Some(tip) => tip.to_owned(),
                    None => self.expand_short_commit(git_ref)?,
                }
            }
            Some(git_ref) => return Err(refs.unknown_ref_error(self.repo, git_ref.as_str())),
        };
        Ok(ResolvedCommit { commit, shadows_branch: false })
    }

    /// Splits `<ref>/<path>`. The longest ref that exists wins.
    pub(super) fn split_ref(&mut self, ref_and_path: &str) -> Result<(GitRef, String)> {
        let ends = ref_and_path.match_indices('/').map(|(at, _)| at).chain([ref_and_path.len()]);
        let refs: Vec<GitRef> =
            ends.filter_map(|end| GitRef::new(&ref_and_path[..end]).ok()).collect();
        let path_after = |git_ref: &GitRef| {
            let path = ref_and_path[git_ref.as_str().len()..].trim_start_matches('/');
            decode_lossy(path).into_owned()
        };
        let is_commit = |git_ref: &&GitRef| git_ref.is_commit() || git_ref.is_short_commit();
        let found = if let Some(commit) = refs.first().filter(|first| first.is_commit()) {
            Some(commit)
        } else if self.context.network == Network::Offline {
            refs.iter().rev().find(|git_ref| self.recorded_commit(Some(git_ref)).is_some())
        } else {
            let remote = self.remote_refs()?;
            let known = refs.iter().rev().find(|git_ref| remote.resolve(Some(git_ref)).is_some());
            known.or_else(|| refs.first().filter(is_commit))
        };
        match found {
            Some(git_ref) => Ok((git_ref.clone(), path_after(git_ref))),
            None => {
                let first = ref_and_path.split('/').next().unwrap_or_default();
                match &self.remote_refs {
                    Some(remote) => Err(remote.unknown_ref_error(self.repo, first)),
                    None => Err(never_fetched_error(self.repo, Some(first))),
                }
            }
        }
    }

    fn remote_refs(&mut self) -> Result<&RemoteRefs> {
        if self.remote_refs.is_none() {
            require_online(self.context, self.repo)?;
            let refs = RefListing {
                context: self.context,
                limits: self.limits,
                repo: self.repo,
                url: self.url,
                dir: self.dir,
            };
            self.remote_refs = Some(refs.run()?);
        }
        self.remote_refs
            .as_ref()
            .ok_or_else(|| Error::new(ErrorCode::TaskFailed, "the refs were not listed"))
    }

    /// Creates the bare repository with the object format of `commit`. Returns whether it is new.
    ///
    /// Like `git init`, but without hooks and templates, and as a partial clone from the start. The
    /// config file is written last, so a repository that has one is complete.
    fn init(&self, commit: &str) -> Result<bool> {
        if let Ok(config) = read_limited(&self.dir.join(CONFIG_FILE.0), 10_000) {
            let is_sha256 = String::from_utf8_lossy(&config).contains("sha256");
            if is_sha256 == (commit.len() == 64) {
                return Ok(false);
            }
            // It has the wrong object format.
            for name in [CONFIG_FILE, StaticName("objects"), StaticName("refs")] {
                self.opened_dir.remove_tree(&name)?;
            }
        }
        for name in [StaticName("objects"), StaticName("refs")] {
            if self.opened_dir.stat(&name, Follow::Never)?.is_none() {
                self.opened_dir.create_dir(&name)?;
            }
        }
        let format = if commit.len() == 64 { "\tobjectFormat = sha256\n" } else { "" };
        let config = format!(
            "[core]\n\trepositoryFormatVersion = 1\n\tbare = true\n[extensions]\n\tpartialClone = origin\n{format}"
        );
        self.write_file(&StaticName("HEAD"), "ref: refs/heads/main\n")?;
        self.write_file(&CONFIG_FILE, &config)?;
        Ok(true)
    }

    fn write_file(&self, name: &(impl Segment + ?Sized), text: &str) -> Result<()> {
        let temp = TempFile { dir: self.opened_dir, name: StaticName("tmp_sp") };
        Ok(atomic::replace(self.opened_dir, name, temp, text.as_bytes(), Durability::Cache)?)
    }

    pub(super) fn has_commit(&self, commit: &str) -> Result<bool> {
        succeeds(self.git.local_command(&["cat-file", "-e", &format!("{commit}^{{tree}}")]))
    }

    /// Fetches a commit with its trees and, if the server supports it, without its blobs.
    fn fetch_commit(&mut self, commit: &str, git_ref: Option<&GitRef>) -> Result<()> {
        require_online(self.context, self.repo)?;
        let what = format!(
            "cannot fetch `{}` from `{}`",
            git_ref.map_or("HEAD", GitRef::as_str),
            self.repo
        );
        match self.run_fetch(&["--depth=1", "--filter=blob:none"], &[commit], &what) {
            Err(error) if is_unadvertised(&error) => self.fetch_by_ref(commit, &what)?,
            Err(error) if error.hints.is_empty() => {
                return Err(
                    error.hint("specify a tag, a branch or a commit that exists in the repository")
                );
            }
            fetched => return fetched,
        }
        if self.has_commit(commit)? {
            return Ok(());
        }
        Err(Error::new(ErrorCode::Git, what)
            .because(format!("the server did not send {commit}"))
            .hint("specify a branch or a tag; the server does not serve other commits"))
    }

    /// Fetches a commit from a server that refuses commit IDs: by a ref that points to it, or else
    /// with all refs.
    fn fetch_by_ref(&mut self, commit: &str, message: &str) -> Result<()> {
        self.remote_refs()?;
        match self.ref_of(commit) {
            Some(name) => self.run_fetch(&["--depth=1", "--filter=blob:none"], &[name], message),
            None => self.run_fetch(&[FULL_DEPTH_ARG, "--filter=blob:none"], &ALL_REFS, message),
        }
    }

    /// Returns a ref of the server that points to a commit.
    fn ref_of(&self, commit: &str) -> Option<&str> {
        self.remote_refs.as_ref()?.ref_of(commit)
    }

    pub(super) fn run_fetch(
        &self,
        options: &[&str],
        refspecs: &[&str],
        message: &str,
    ) -> Result<()> {
        let mut args = vec![
            "fetch",
            "--progress",
            "--no-tags",
            "--no-write-fetch-head",
            "--no-recurse-submodules",
        ];
        args.extend(options);
        args.extend(["--end-of-options", "origin"]);
        args.extend(refspecs);
        self.start_fetch().run(
            self.git.remote_command(self.repo, self.url, &args),
            Vec::new(),
            message,
        )?;
        self.context.emit(Event::Fetched { repo: &self.repo.display_url });
        Ok(())
    }

    fn start_fetch(&self) -> GitFetch<'_> {
        self.context.emit(Event::Fetching { repo: &self.repo.display_url, progress: None });
        GitFetch { context: self.context, repo: self.repo, dir: self.dir, limits: self.limits }
    }

    /// Expands a short commit ID.
    fn expand_short_commit(&self, short: &GitRef) -> Result<String> {
        let refs = self.remote_refs.clone().unwrap_or_default();
        let tip = refs.first_commit().ok_or_else(|| self.no_head_error())?;
        self.with_history(tip, |history| {
            let what = format!("cannot fetch the history of `{}`", self.repo);
            history.run_fetch(&["--filter=tree:0"], &ALL_REFS, &what)?;
            let verify = history.git.local_command(&[
                "rev-parse",
                "--verify",
                "--quiet",
                "--end-of-options",
                &format!("{short}^{{commit}}"),
            ]);
            let commit = command_output(verify, "")
                .map_err(|_| refs.unknown_ref_error(self.repo, short.as_str()))?;
            Ok(String::from_utf8_lossy(&commit).trim().into())
        })
    }

    /// Calls `run` with a second cached repository, which has commits and no trees. `tip` is any
    /// commit of the server.
    pub(super) fn with_history<T>(
        &self,
        tip: &str,
        run: impl FnOnce(&CachedRepository<'_>) -> Result<T>,
    ) -> Result<T> {
        let dir = self.dir.with_extension("commits.git");
        let opened_dir = self.context.open_private_dir(&dir)?;
        let _lock = self.context.lock(&opened_dir)?;
        remove_stale_files(&opened_dir)?;
        let history = CachedRepository {
            context: self.context,
            limits: self.limits,
            repo: self.repo,
            url: self.url,
            git: GitRepository::new(self.context, &dir, self.limits.into()),
            dir: &dir,
            opened_dir: &opened_dir,
            remote_refs: None,
        };
        history.init(tip)?;
        run(&history)
    }

    /// Records the commit of a ref, for use with `--offline`.
    fn record_ref(&self, git_ref: Option<&GitRef>, commit: &str) -> Result<()> {
        if git_ref.is_some_and(GitRef::is_commit) || self.context.network == Network::Offline {
            return Ok(());
        }
        self.record_newest(git_ref.map(GitRef::as_str), commit)?;
        if self.recorded_commit(git_ref).as_deref() == Some(commit) {
            return Ok(());
        }
        let name = Name::new(&ref_record_name(git_ref))?;
        self.write_file(&name, commit)
    }

    /// Records the newest commit of a ref, which need not be in the cache.
    pub(super) fn record_newest(&self, git_ref: Option<&str>, commit: &str) -> Result<()> {
        if read_newest(self.dir, git_ref).as_deref() == Some(commit) {
            return Ok(());
        }
        self.write_file(&Name::new(&newest_record_name(git_ref))?, commit)
    }

    fn resolve_offline(&self, git_ref: Option<&GitRef>) -> Result<ResolvedCommit> {
        match self.recorded_commit(git_ref) {
            Some(commit) => Ok(ResolvedCommit { commit, shadows_branch: false }),
            None => Err(never_fetched_error(self.repo, git_ref.map(GitRef::as_str))),
        }
    }

    fn recorded_commit(&self, git_ref: Option<&GitRef>) -> Option<String> {
        read_commit(&self.dir.join(ref_record_name(git_ref)))
    }

    fn no_head_error(&self) -> Error {
        let refs = self.remote_refs.iter();
        let branches: Vec<&str> = refs.flat_map(RemoteRefs::branches).take(5).collect();
        match &branches[..] {
            [] => Error::new(ErrorCode::GitRefNotFound, format!("`{}` has no commits", self.repo))
                .hint("push a commit to it, or specify another repository"),
            some => Error::new(
                ErrorCode::GitRefNotFound,
                format!("`{}` has no default branch", self.repo),
            )
            .hint(format!("specify a branch with `ref:`; available: {}", some.join(", "))),
        }
    }
}

/// Returns the name of the file that records the commit of a ref.
fn ref_record_name(git_ref: Option<&GitRef>) -> String {
    record_name("sp-ref", git_ref.map_or("", GitRef::as_str))
}

/// Returns the name of the file that records the newest commit of a ref.
fn newest_record_name(git_ref: Option<&str>) -> String {
    record_name("sp-newest", git_ref.unwrap_or_default())
}

fn record_name(kind: &str, git_ref: &str) -> String {
    format!("{kind}-{}", &Digest::of(git_ref.as_bytes()).hex()[..32])
}

/// Returns the newest commit of a ref that was seen, from a cached repository.
pub(super) fn read_newest(dir: &Path, git_ref: Option<&str>) -> Option<String> {
    read_commit(&dir.join(newest_record_name(git_ref)))
}

fn read_commit(path: &Path) -> Option<String> {
    let bytes = read_limited(path, 100).ok()?;
    String::from_utf8(bytes).ok().filter(|commit| is_oid(commit))
}

pub(super) fn never_fetched_error(repo: &GitRepo, git_ref: Option<&str>) -> Error {
    let git_ref = git_ref.unwrap_or("HEAD");
    Error::new(ErrorCode::Offline, format!("`{repo}` at `{git_ref}` is not in the cache"))
        .hint("run the command once without `--offline`")
}

/// Whether the server refused an object because no ref points to it.
pub(super) fn is_unadvertised(error: &Error) -> bool {
    error.causes().iter().any(|cause| cause.contains("unadvertised object"))
}

pub(super) fn require_online(context: &Context<'_>, repo: &GitRepo) -> Result<()> {
    match context.network {
        Network::Allowed => Ok(()),
        Network::Offline => {
            Err(Error::new(ErrorCode::Offline, format!("cannot fetch `{repo}` with `--offline`"))
                .hint("run the command once without `--offline`"))
        }
    }
}
