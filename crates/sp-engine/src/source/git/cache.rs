//! The cache of git repositories: resolves a repository and a ref to a commit whose trees are
//! cached.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use sp_formats::git_repo::{GitRef, GitRepo, GitTransport};
use sp_formats::pack::PackImport;
use sp_tree::atomic::{self, Durability, TempFile};
use sp_tree::{Digest, Dir, Follow, Limits, Name, Segment, StaticName, read_limited};

use super::command::{GitRepository, command_output, succeeds};
use super::fetch::GitFetch;
use super::object_dir::remove_stale_files;
use super::process::GitLimits;
use super::tree::GitTree;
use crate::context::{Context, Event, Network};
use crate::error::{Error, ErrorCode, Result};

const UNREACHABLE_HINT: &str = "check the URL and your access, or use cached data with `--offline`";

const CONFIG_FILE: StaticName = StaticName("config");

/// The maximum number of repositories that are fetched at the same time.
const MAX_CONCURRENT_FETCHES: usize = 8;

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

/// Opens the imports of a pack.
pub(crate) struct CheckoutOpener<'a> {
    pub context: &'a Context<'a>,
    pub limits: &'a Limits,
    /// The repository of the pack. Relative paths start here.
    pub root: &'a Path,
}

/// The commit that a ref points to.
struct ResolvedCommit {
    commit: String,
    /// Whether the ref is a tag, and there is a branch of the same name with another commit.
    shadows_branch: bool,
}

impl CheckoutOpener<'_> {
    /// Opens all imports, fetching several repositories at the same time. Returns one checkout for
    /// each import, in order.
    pub(crate) fn open(&self, imports: &[PackImport]) -> Result<Vec<GitCheckout>> {
        let mut by_url: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (number, import) in imports.iter().enumerate() {
            by_url.entry(self.url(&import.repo)?).or_default().push(number);
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
    ) -> Vec<Result<Vec<OpenedImport>>> {
        std::thread::scope(|scope| {
            let threads: Vec<_> = batch
                .iter()
                .map(|group| scope.spawn(move || self.open_repo(group, imports)))
                .collect();
            let panicked =
                || Err(Error::new(ErrorCode::TaskFailed, "a fetch task failed unexpectedly"));
            threads.into_iter().map(|thread| thread.join().unwrap_or_else(|_| panicked())).collect()
        })
    }

    /// Returns the URL or absolute path to pass to git.
    fn url(&self, repo: &GitRepo) -> Result<String> {
        if repo.transport != GitTransport::Path {
            return Ok(repo.url.clone());
        }
        let path = if repo.url.starts_with('~') {
            self.context.expand(&repo.url)
        } else {
            self.root.join(&repo.url)
        };
        match path.canonicalize() {
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
    fn open_repo(&self, group: &ImportGroup, imports: &[PackImport]) -> Result<Vec<OpenedImport>> {
        let ImportGroup { url, numbers } = group;
        let repo = &imports[numbers[0]].repo;
        let dir = self.context.cache_dir().join("git").join(cache_name(repo, url));
        if self.context.network == Network::Offline && !dir.is_dir() {
            return Err(never_fetched_error(repo, imports[numbers[0]].git_ref.as_ref()));
        }
        let opened_dir = self.context.open_private_dir(&dir)?;
        let _lock = self.context.lock(&opened_dir)?;
        remove_stale_files(&opened_dir)?;
        let mut cache = CachedRepository {
            opener: self,
            repo,
            url,
            git: GitRepository::new(self.context, &dir, self.limits.into()),
            dir: &dir,
            opened_dir: &opened_dir,
            remote_refs: None,
        };
        let mut opened = Vec::new();
        for &number in numbers {
            opened.push(OpenedImport { number, checkout: cache.checkout(&imports[number])? });
        }
        Ok(opened)
    }
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

/// A locked repository of the cache.
struct CachedRepository<'a> {
    opener: &'a CheckoutOpener<'a>,
    repo: &'a GitRepo,
    url: &'a str,
    git: GitRepository<'a>,
    dir: &'a Path,
    opened_dir: &'a Dir,
    /// The refs of the server as pairs of object ID and name, requested once.
    remote_refs: Option<Vec<(String, String)>>,
}

impl CachedRepository<'_> {
    /// Resolves the commit of an import, and reads its tree.
    fn checkout(&mut self, import: &PackImport) -> Result<GitCheckout> {
        let limits = self.opener.limits;
        let resolved = self.resolve_commit(import.git_ref.as_ref())?;
        if resolved.shadows_branch
            && let Some(git_ref) = &import.git_ref
        {
            self.opener.context.emit(Event::Warning(format!(
                "`{}` has both a tag and a branch named `{git_ref}`; using the tag",
                self.repo
            )));
        }
        let objects = self.git.local_command(&["cat-file", "--batch"]);
        let tree = GitTree::read(objects, &resolved.commit, limits, self.repo)?;
        Ok(GitCheckout {
            repo: import.repo.clone(),
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
            && self.opener.context.network == Network::Allowed
            && self.is_uninitialized()?;
        if is_first && let Some(commit) = self.fetch_initial_head()? {
            self.record_ref(None, &commit)?;
            return Ok(ResolvedCommit { commit, shadows_branch: false });
        }
        let resolved = match git_ref {
            Some(commit) if commit.is_commit() => {
                ResolvedCommit { commit: commit.to_string(), shadows_branch: false }
            }
            _ if self.opener.context.network == Network::Offline => {
                self.resolve_offline(git_ref)?
            }
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

    /// Resolves a ref with the refs of the server. A tag wins over a branch.
    fn resolve_remote_ref(&mut self, git_ref: Option<&GitRef>) -> Result<ResolvedCommit> {
        let found = |commit: &str, shadowed| ResolvedCommit {
            commit: commit.into(),
            shadows_branch: shadowed,
        };
        let refs = self.remote_refs()?.to_vec();
        let get =
            |name: &str| refs.iter().find(|(_, known)| known == name).map(|(oid, _)| oid.as_str());
        let Some(git_ref) = git_ref else {
            return get("HEAD")
                .map(|commit| found(commit, false))
                .ok_or_else(|| self.no_head_error());
        };
        let tag = get(&format!("refs/tags/{git_ref}^{{}}"))
            .or_else(|| get(&format!("refs/tags/{git_ref}")));
        let branch = get(&format!("refs/heads/{git_ref}"));
        let full_name = git_ref
            .as_str()
            .strip_prefix("refs/")
            .and_then(|_| get(&format!("{git_ref}^{{}}")).or_else(|| get(git_ref.as_str())));
        match (tag, branch, full_name) {
            (Some(tag), branch, _) => Ok(found(tag, branch.is_some_and(|branch| branch != tag))),
            (None, Some(commit), _) | (None, None, Some(commit)) => Ok(found(commit, false)),
            (None, None, None) if git_ref.is_short_commit() => {
                let tip = refs
                    .iter()
                    .find(|(oid, _)| oid.starts_with(git_ref.as_str()))
                    .map(|(oid, _)| found(oid, false));
                match tip {
                    Some(tip) => Ok(tip),
                    None => self.expand_short_commit(git_ref).map(|commit| found(&commit, false)),
                }
            }
            (None, None, None) => Err(unknown_ref_error(self.repo, git_ref, &refs)),
        }
    }

    fn remote_refs(&mut self) -> Result<&[(String, String)]> {
        if self.remote_refs.is_none() {
            self.require_online()?;
            let command = self.git.remote_command(
                self.repo,
                self.url,
                &["ls-remote", "--quiet", "--end-of-options", "origin"],
            );
            let what = format!("cannot reach the repository `{}`", self.repo);
            let text = (self.start_fetch().run(command, Vec::new(), &what))
                .map_err(with_unreachable_hint)?;
            let text = String::from_utf8_lossy(&text);
            let refs = text
                .lines()
                .filter_map(|line| line.split_once('\t'))
                .filter(|(oid, _)| is_oid(oid));
            self.remote_refs = Some(refs.map(|(oid, name)| (oid.into(), name.into())).collect());
            self.opener.context.emit(Event::Fetched { repo: &self.repo.display_url });
        }
        Ok(self.remote_refs.as_deref().unwrap_or_default())
    }

    fn require_online(&self) -> Result<()> {
        match self.opener.context.network {
            Network::Allowed => Ok(()),
            Network::Offline => Err(Error::new(
                ErrorCode::Offline,
                format!("cannot fetch `{}` with `--offline`", self.repo),
            )
            .hint("run the command once without `--offline`")),
        }
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

    fn has_commit(&self, commit: &str) -> Result<bool> {
        succeeds(self.git.local_command(&["cat-file", "-e", &format!("{commit}^{{tree}}")]))
    }

    /// Fetches a commit with its trees and, if the server supports it, without its blobs.
    fn fetch_commit(&mut self, commit: &str, git_ref: Option<&GitRef>) -> Result<()> {
        self.require_online()?;
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
        let (_, name) = self
            .remote_refs
            .iter()
            .flatten()
            .find(|(oid, name)| oid == commit && is_plain_ref(name))?;
        Some(name.trim_end_matches("^{}"))
    }

    fn run_fetch(&self, options: &[&str], refspecs: &[&str], message: &str) -> Result<()> {
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
        self.opener.context.emit(Event::Fetched { repo: &self.repo.display_url });
        Ok(())
    }

    fn start_fetch(&self) -> GitFetch<'_> {
        self.opener.context.emit(Event::Fetching { repo: &self.repo.display_url, progress: None });
        GitFetch {
            context: self.opener.context,
            repo: self.repo,
            dir: self.dir,
            limits: self.opener.limits,
        }
    }

    /// Expands a short commit ID. It is looked up in a second cached repository, which has all
    /// commits and no trees.
    fn expand_short_commit(&self, short: &GitRef) -> Result<String> {
        let dir = self.dir.with_extension("commits.git");
        let opened_dir = self.opener.context.open_private_dir(&dir)?;
        let _lock = self.opener.context.lock(&opened_dir)?;
        remove_stale_files(&opened_dir)?;
        let history = CachedRepository {
            opener: self.opener,
            repo: self.repo,
            url: self.url,
            git: GitRepository::new(self.opener.context, &dir, self.opener.limits.into()),
            dir: &dir,
            opened_dir: &opened_dir,
            remote_refs: None,
        };
        let tip = self
            .remote_refs
            .iter()
            .flatten()
            .next()
            .map(|(oid, _)| oid.clone())
            .ok_or_else(|| self.no_head_error())?;
        history.init(&tip)?;
        let what = format!("cannot fetch the history of `{}`", self.repo);
        history.run_fetch(&["--filter=tree:0"], &ALL_REFS, &what)?;
        let verify = history.git.local_command(&[
            "rev-parse",
            "--verify",
            "--quiet",
            "--end-of-options",
            &format!("{short}^{{commit}}"),
        ]);
        let commit = command_output(verify, "").map_err(|_| {
            unknown_ref_error(self.repo, short, self.remote_refs.as_deref().unwrap_or_default())
        })?;
        Ok(String::from_utf8_lossy(&commit).trim().into())
    }

    /// Records the commit of a ref, for use with `--offline`.
    fn record_ref(&self, git_ref: Option<&GitRef>, commit: &str) -> Result<()> {
        if git_ref.is_some_and(GitRef::is_commit) || self.opener.context.network == Network::Offline
        {
            return Ok(());
        }
        if self.recorded_commit(git_ref).as_deref() == Some(commit) {
            return Ok(());
        }
        let name = Name::new(&ref_record_name(git_ref))?;
        self.write_file(&name, commit)
    }

    fn resolve_offline(&self, git_ref: Option<&GitRef>) -> Result<ResolvedCommit> {
        match self.recorded_commit(git_ref) {
            Some(commit) => Ok(ResolvedCommit { commit, shadows_branch: false }),
            None => Err(never_fetched_error(self.repo, git_ref)),
        }
    }

    fn recorded_commit(&self, git_ref: Option<&GitRef>) -> Option<String> {
        let bytes = read_limited(&self.dir.join(ref_record_name(git_ref)), 100).ok()?;
        String::from_utf8(bytes).ok().filter(|commit| is_oid(commit))
    }

    fn no_head_error(&self) -> Error {
        let branches = self
            .remote_refs
            .iter()
            .flatten()
            .filter_map(|(_, name)| name.strip_prefix("refs/heads/"));
        let branches: Vec<&str> = branches.take(5).collect();
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

/// Adds a hint about an unreachable server, unless the error already has one.
fn with_unreachable_hint(error: Error) -> Error {
    if error.hints.is_empty() { error.hint(UNREACHABLE_HINT) } else { error }
}

/// Returns the name of the file that records the commit of a ref.
fn ref_record_name(git_ref: Option<&GitRef>) -> String {
    let text = git_ref.map_or("", GitRef::as_str);
    format!("sp-ref-{}", &Digest::of(text.as_bytes()).hex()[..32])
}

fn never_fetched_error(repo: &GitRepo, git_ref: Option<&GitRef>) -> Error {
    let git_ref = git_ref.map_or("HEAD", GitRef::as_str);
    Error::new(ErrorCode::Offline, format!("`{repo}` at `{git_ref}` is not in the cache"))
        .hint("run the command once without `--offline`")
}

/// Whether the server refused an object because no ref points to it.
pub(super) fn is_unadvertised(error: &Error) -> bool {
    error.causes().iter().any(|cause| cause.contains("unadvertised object"))
}

/// Whether a ref name of a server is safe to pass to git: the server can choose any name.
fn is_plain_ref(name: &str) -> bool {
    name.starts_with("refs/") && GitRef::new(name.trim_end_matches("^{}")).is_ok()
}

fn is_oid(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn unknown_ref_error(repo: &GitRepo, git_ref: &GitRef, refs: &[(String, String)]) -> Error {
    let names = refs.iter().filter_map(|(_, name)| {
        name.strip_prefix("refs/heads/").or_else(|| name.strip_prefix("refs/tags/"))
    });
    let error = Error::new(
        ErrorCode::GitRefNotFound,
        format!("`{repo}` has no tag, branch or commit `{git_ref}`"),
    );
    match sp_formats::suggest::nearest(
        git_ref.as_str(),
        names.filter(|name| !name.ends_with("^{}")),
    ) {
        Some(near) => error.hint(format!("did you mean `{near}`?")),
        None => error.hint(format!("run `git ls-remote {repo}` to list its branches and tags")),
    }
}
