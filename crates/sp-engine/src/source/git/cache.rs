//! The cache of repositories: from a repository and a ref to a commit whose trees are here.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use sp_formats::pack::Import;
use sp_formats::repo::{GitRef, Repo, Transport};
use sp_tree::atomic::{self, Durability, Temp};
use sp_tree::{Digest, Dir, EntryKind, Fixed, Follow, Limits, Name, Segment, read_limited};

use super::command::{Fetch, Git, output, succeeds};
use super::process::GitLimits;
use super::tree::GitTree;
use crate::context::{Context, Event, Network};
use crate::error::{Error, Kind, Result};

const UNREACHABLE: &str = "check the address and your access; `--offline` uses what was fetched before";

const CONFIG: Fixed = Fixed("config");

/// How many repositories are fetched from at once.
const AT_ONCE: usize = 8;

/// Everything that branches and tags lead to, kept under names of our own.
const ALL_REFS: [&str; 2] = ["+refs/heads/*:refs/sp/heads/*", "+refs/tags/*:refs/sp/tags/*"];
/// What git takes for a depth without end; unlike `--unshallow` it works on a whole history too.
const WHOLE_HISTORY: &str = "--depth=2147483647";

/// An import whose commit and trees are here.
#[derive(Debug)]
pub(crate) struct Checkout {
    /// The repository.
    pub repo: Repo,
    /// The URL or path that git is given.
    pub url: String,
    /// The bare repository in the cache.
    pub dir: PathBuf,
    /// The full commit.
    pub commit: String,
    /// What the server is asked for to get it: a ref, or the commit itself.
    pub wanted: String,
    /// All paths of the commit.
    pub tree: GitTree,
    /// What git may use to read it.
    pub git_limits: GitLimits,
}

/// Brings imports here.
pub(crate) struct Checkouts<'a> {
    pub context: &'a Context<'a>,
    pub limits: &'a Limits,
    /// The authoring repository, from which relative paths start.
    pub root: &'a Path,
}

/// Where a ref points, and whether a branch of the same name was passed over.
struct Resolved {
    commit: String,
    shadowed: bool,
}

impl Checkouts<'_> {
    /// Brings every import here, several repositories at once, in the order of the imports.
    pub(crate) fn open(&self, imports: &[Import]) -> Result<Vec<Checkout>> {
        let mut by_url: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (number, import) in imports.iter().enumerate() {
            by_url.entry(self.url(&import.repo)?).or_default().push(number);
        }
        let groups: Vec<(String, Vec<usize>)> = by_url.into_iter().collect();
        let mut opened: Vec<(usize, Checkout)> = Vec::new();
        for batch in groups.chunks(AT_ONCE) {
            let results: Vec<Result<Vec<(usize, Checkout)>>> = std::thread::scope(|scope| {
                let threads: Vec<_> = batch
                    .iter()
                    .map(|(url, numbers)| scope.spawn(move || self.open_repo(url, numbers, imports)))
                    .collect();
                let panicked = || Err(Error::new(Kind::Environment, "a fetch ended unexpectedly"));
                threads.into_iter().map(|thread| thread.join().unwrap_or_else(|_| panicked())).collect()
            });
            for result in results {
                opened.extend(result?);
            }
        }
        opened.sort_by_key(|(number, _)| *number);
        Ok(opened.into_iter().map(|(_, checkout)| checkout).collect())
    }

    /// What git is given: a URL, or an absolute path.
    fn url(&self, repo: &Repo) -> Result<String> {
        if repo.transport != Transport::Path {
            return Ok(repo.url.clone());
        }
        let path = match repo.url.starts_with('~') {
            true => self.context.expand(&repo.url),
            false => self.root.join(&repo.url),
        };
        match path.canonicalize() {
            Ok(path) => Ok(path.to_string_lossy().into_owned()),
            Err(e) => Err(Error::new(Kind::Environment, format!("cannot open the repository `{repo}`"))
                .because(e)
                .hint("a relative path starts at the directory that holds `packs/`")),
        }
    }

    fn open_repo(&self, url: &str, numbers: &[usize], imports: &[Import]) -> Result<Vec<(usize, Checkout)>> {
        let repo = &imports[numbers[0]].repo;
        let dir = self.context.cache_dir().join("git").join(cache_name(repo, url));
        if self.context.network == Network::Offline && !dir.is_dir() {
            return Err(never_fetched(repo, imports[numbers[0]].git_ref.as_ref()));
        }
        let made = self.context.private_dir(&dir)?;
        let _lock = self.context.lock(&made)?;
        sweep(&made)?;
        let mut cache = Cache {
            over: self,
            repo,
            url,
            git: Git::new(self.context, &dir, self.limits.into()),
            dir: &dir,
            made: &made,
            remote_refs: None,
        };
        let mut opened = Vec::new();
        for &number in numbers {
            let import = &imports[number];
            let resolved = cache.commit(import.git_ref.as_ref())?;
            if resolved.shadowed
                && let Some(git_ref) = &import.git_ref
            {
                self.context.tell(Event::Warning(format!(
                    "`{repo}` has a tag and a branch called `{git_ref}`: the tag is used"
                )));
            }
            let objects = cache.git.local(&["cat-file", "--batch"]);
            let tree = GitTree::read(objects, &resolved.commit, self.limits, repo)?;
            let checkout = Checkout {
                repo: import.repo.clone(),
                url: url.into(),
                dir: dir.clone(),
                wanted: cache.ref_of(&resolved.commit).unwrap_or(&resolved.commit).into(),
                commit: resolved.commit,
                tree,
                git_limits: self.limits.into(),
            };
            opened.push((number, checkout));
        }
        Ok(opened)
    }
}

/// A name for a repository's cache that a person recognises and no other repository has.
fn cache_name(repo: &Repo, url: &str) -> String {
    let tail = repo.written.trim_end_matches('/').rsplit(['/', ':']).next().unwrap_or_default();
    let tail: String = tail
        .trim_end_matches(".git")
        .chars()
        .filter(|c| c.is_ascii_alphanumeric() || "-_".contains(*c))
        .take(40)
        .collect();
    // A query may be another every time, and a lock does not have it.
    let key = if repo.omits_query() { &repo.written } else { url };
    format!("{tail}-{}.git", &Digest::of(key.as_bytes()).hex()[..16])
}

/// One repository of the cache, locked.
struct Cache<'a> {
    over: &'a Checkouts<'a>,
    repo: &'a Repo,
    url: &'a str,
    git: Git<'a>,
    dir: &'a Path,
    made: &'a Dir,
    /// What the server says of its refs, asked once.
    remote_refs: Option<Vec<(String, String)>>,
}

impl Cache<'_> {
    /// The commit that a ref means, with all its trees in the cache.
    fn commit(&mut self, git_ref: Option<&GitRef>) -> Result<Resolved> {
        let is_first = git_ref.is_none() && self.over.context.network == Network::Allowed && self.is_unused()?;
        if is_first && let Some(commit) = self.first_head()? {
            self.remember(None, &commit)?;
            return Ok(Resolved { commit, shadowed: false });
        }
        let resolved = match git_ref {
            Some(commit) if commit.is_commit() => Resolved { commit: commit.to_string(), shadowed: false },
            _ if self.over.context.network == Network::Offline => self.remembered(git_ref)?,
            _ => self.ask(git_ref)?,
        };
        let is_new = self.make(&resolved.commit)?;
        if is_new || !self.has(&resolved.commit)? {
            self.fetch(&resolved.commit, git_ref)?;
        }
        self.remember(git_ref, &resolved.commit)?;
        Ok(resolved)
    }

    fn is_unused(&self) -> Result<bool> {
        Ok(self.made.look(&CONFIG, Follow::Never)?.is_none())
    }

    /// Fetches the HEAD of a repository that was never seen, without asking what it is first: that
    /// spares a connection. `None` where only the server's list of refs tells why there is none.
    fn first_head(&mut self) -> Result<Option<String>> {
        self.make(&"0".repeat(40))?;
        let what = format!("cannot reach the repository `{}`", self.repo);
        match self.run_fetch(&["--depth=1", "--filter=blob:none"], &["+HEAD:refs/sp/head"], &what) {
            Ok(()) => {
                let head = read_limited(&self.dir.join("refs/sp/head"), 100).unwrap_or_default();
                Ok(String::from_utf8(head).ok().map(|head| head.trim().to_owned()).filter(|head| is_oid(head)))
            }
            Err(error)
                if error
                    .causes()
                    .iter()
                    .any(|cause| cause.contains("remote ref HEAD") || cause.contains("algorithm")) =>
            {
                Ok(None)
            }
            Err(error) => Err(unreachable(error)),
        }
    }

    /// Asks the server what a ref means.
    fn ask(&mut self, git_ref: Option<&GitRef>) -> Result<Resolved> {
        let found = |commit: &str, shadowed| Resolved { commit: commit.into(), shadowed };
        let refs = self.remote_refs()?.to_vec();
        let get = |name: &str| refs.iter().find(|(_, known)| known == name).map(|(oid, _)| oid.as_str());
        let Some(git_ref) = git_ref else {
            return get("HEAD").map(|commit| found(commit, false)).ok_or_else(|| self.empty());
        };
        let tag = get(&format!("refs/tags/{git_ref}^{{}}")).or_else(|| get(&format!("refs/tags/{git_ref}")));
        let branch = get(&format!("refs/heads/{git_ref}"));
        let whole = git_ref
            .as_str()
            .strip_prefix("refs/")
            .and_then(|_| get(&format!("{git_ref}^{{}}")).or_else(|| get(git_ref.as_str())));
        match (tag, branch, whole) {
            (Some(tag), branch, _) => Ok(found(tag, branch.is_some_and(|branch| branch != tag))),
            (None, Some(commit), _) | (None, None, Some(commit)) => Ok(found(commit, false)),
            (None, None, None) if git_ref.is_short_commit() => {
                let tip =
                    refs.iter().find(|(oid, _)| oid.starts_with(git_ref.as_str())).map(|(oid, _)| found(oid, false));
                match tip {
                    Some(tip) => Ok(tip),
                    None => self.lengthen(git_ref).map(|commit| found(&commit, false)),
                }
            }
            (None, None, None) => Err(no_ref(self.repo, git_ref, &refs)),
        }
    }

    fn remote_refs(&mut self) -> Result<&[(String, String)]> {
        if self.remote_refs.is_none() {
            self.online()?;
            let command = self.git.remote(self.repo, self.url, &["ls-remote", "--quiet", "--end-of-options", "origin"]);
            let what = format!("cannot reach the repository `{}`", self.repo);
            let text = (self.fetching().run(command, Vec::new(), &what)).map_err(unreachable)?;
            let text = String::from_utf8_lossy(&text);
            let refs = text.lines().filter_map(|line| line.split_once('\t')).filter(|(oid, _)| is_oid(oid));
            self.remote_refs = Some(refs.map(|(oid, name)| (oid.into(), name.into())).collect());
            self.over.context.tell(Event::Fetched { repo: &self.repo.written });
        }
        Ok(self.remote_refs.as_deref().unwrap_or_default())
    }

    fn online(&self) -> Result<()> {
        match self.over.context.network {
            Network::Allowed => Ok(()),
            Network::Offline => Err(Error::new(Kind::Environment, format!("`{}` would have to be fetched", self.repo))
                .hint("run it once without `--offline`")),
        }
    }

    /// Makes the bare repository, for the kind of ids that the server has: what `git init` would,
    /// without hooks or templates, and partial from the start. The config comes last, so a
    /// repository that has one is whole. Tells whether it is new.
    fn make(&self, commit: &str) -> Result<bool> {
        if let Ok(config) = read_limited(&self.dir.join(CONFIG.0), 10_000) {
            let is_sha256 = String::from_utf8_lossy(&config).contains("sha256");
            if is_sha256 == (commit.len() == 64) {
                return Ok(false);
            }
            // It was made for ids that the server does not have.
            for name in [CONFIG, Fixed("objects"), Fixed("refs")] {
                self.made.remove_tree(&name)?;
            }
        }
        for name in [Fixed("objects"), Fixed("refs")] {
            if self.made.look(&name, Follow::Never)?.is_none() {
                self.made.create_dir(&name)?;
            }
        }
        let format = if commit.len() == 64 { "\tobjectFormat = sha256\n" } else { "" };
        let config = format!(
            "[core]\n\trepositoryFormatVersion = 1\n\tbare = true\n[extensions]\n\tpartialClone = origin\n{format}"
        );
        self.write(&Fixed("HEAD"), "ref: refs/heads/main\n")?;
        self.write(&CONFIG, &config)?;
        Ok(true)
    }

    fn write(&self, name: &(impl Segment + ?Sized), text: &str) -> Result<()> {
        let temp = Temp { dir: self.made, name: Fixed("tmp_sp") };
        Ok(atomic::replace(self.made, name, temp, text.as_bytes(), Durability::Cache)?)
    }

    fn has(&self, commit: &str) -> Result<bool> {
        succeeds(self.git.local(&["cat-file", "-e", &format!("{commit}^{{tree}}")]))
    }

    /// Fetches a commit with its trees and without its blobs, as far as the server can.
    fn fetch(&mut self, commit: &str, git_ref: Option<&GitRef>) -> Result<()> {
        self.online()?;
        let what = format!("cannot fetch `{}` from `{}`", git_ref.map_or("HEAD", GitRef::as_str), self.repo);
        match self.run_fetch(&["--depth=1", "--filter=blob:none"], &[commit], &what) {
            Err(error) if is_unadvertised(&error) => self.fetch_by_name(commit, &what)?,
            Err(error) if error.hints.is_empty() => {
                return Err(error.hint("name a tag, a branch or a commit that the repository has"));
            }
            fetched => return fetched,
        }
        match self.has(commit)? {
            true => Ok(()),
            false => Err(Error::new(Kind::Environment, what)
                .because(format!("the server did not send {commit}"))
                .hint("name a branch or a tag: the server gives out nothing else")),
        }
    }

    /// Some servers give out only what a ref points to: asks for the ref, else for all that refs lead to.
    fn fetch_by_name(&mut self, commit: &str, what: &str) -> Result<()> {
        self.remote_refs()?;
        match self.ref_of(commit) {
            Some(name) => self.run_fetch(&["--depth=1", "--filter=blob:none"], &[name], what),
            None => self.run_fetch(&[WHOLE_HISTORY, "--filter=blob:none"], &ALL_REFS, what),
        }
    }

    /// A ref of the server that leads to a commit.
    fn ref_of(&self, commit: &str) -> Option<&str> {
        let (_, name) = self.remote_refs.iter().flatten().find(|(oid, name)| oid == commit && is_plain_ref(name))?;
        Some(name.trim_end_matches("^{}"))
    }

    fn run_fetch(&self, how: &[&str], wanted: &[&str], what: &str) -> Result<()> {
        let mut args = vec!["fetch", "--progress", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules"];
        args.extend(how);
        args.extend(["--end-of-options", "origin"]);
        args.extend(wanted);
        self.fetching().run(self.git.remote(self.repo, self.url, &args), Vec::new(), what)?;
        self.over.context.tell(Event::Fetched { repo: &self.repo.written });
        Ok(())
    }

    fn fetching(&self) -> Fetch<'_> {
        self.over.context.tell(Event::Fetching { repo: &self.repo.written, progress: None });
        Fetch { context: self.over.context, repo: self.repo, dir: self.dir, limits: self.over.limits }
    }

    /// The commit that a short id is the start of, found in a history without trees of its own.
    fn lengthen(&self, short: &GitRef) -> Result<String> {
        let dir = self.dir.with_extension("commits.git");
        let made = self.over.context.private_dir(&dir)?;
        let _lock = self.over.context.lock(&made)?;
        sweep(&made)?;
        let history = Cache {
            over: self.over,
            repo: self.repo,
            url: self.url,
            git: Git::new(self.over.context, &dir, self.over.limits.into()),
            dir: &dir,
            made: &made,
            remote_refs: None,
        };
        let tip = self.remote_refs.iter().flatten().next().map(|(oid, _)| oid.clone()).ok_or_else(|| self.empty())?;
        history.make(&tip)?;
        let what = format!("cannot fetch the history of `{}`", self.repo);
        history.run_fetch(&["--filter=tree:0"], &ALL_REFS, &what)?;
        let verify = history.git.local(&[
            "rev-parse",
            "--verify",
            "--quiet",
            "--end-of-options",
            &format!("{short}^{{commit}}"),
        ]);
        let commit = output(verify, "")
            .map_err(|_| no_ref(self.repo, short, self.remote_refs.as_deref().unwrap_or_default()))?;
        Ok(String::from_utf8_lossy(&commit).trim().into())
    }

    /// Notes what a ref meant, for when there is no network.
    fn remember(&self, git_ref: Option<&GitRef>, commit: &str) -> Result<()> {
        if git_ref.is_some_and(GitRef::is_commit) || self.over.context.network == Network::Offline {
            return Ok(());
        }
        if self.noted(git_ref).as_deref() == Some(commit) {
            return Ok(());
        }
        let name = Name::new(&note_name(git_ref)).map_err(|e| Error::new(Kind::Data, e.to_string()))?;
        self.write(&name, commit)
    }

    fn remembered(&self, git_ref: Option<&GitRef>) -> Result<Resolved> {
        match self.noted(git_ref) {
            Some(commit) => Ok(Resolved { commit, shadowed: false }),
            None => Err(never_fetched(self.repo, git_ref)),
        }
    }

    fn noted(&self, git_ref: Option<&GitRef>) -> Option<String> {
        let bytes = read_limited(&self.dir.join(note_name(git_ref)), 100).ok()?;
        String::from_utf8(bytes).ok().filter(|commit| is_oid(commit))
    }

    fn empty(&self) -> Error {
        let branches = self.remote_refs.iter().flatten().filter_map(|(_, name)| name.strip_prefix("refs/heads/"));
        let branches: Vec<&str> = branches.take(5).collect();
        match &branches[..] {
            [] => Error::new(Kind::Request, format!("`{}` has no commits", self.repo))
                .hint("push a commit to it, or name another repository"),
            some => Error::new(Kind::Request, format!("`{}` has no default branch", self.repo))
                .hint(format!("name one with `ref:`; it has: {}", some.join(", "))),
        }
    }
}

/// Adds what to do about a server that cannot be reached, unless the error says already what to do.
fn unreachable(error: Error) -> Error {
    if error.hints.is_empty() { error.hint(UNREACHABLE) } else { error }
}

/// The file that notes what a ref meant.
fn note_name(git_ref: Option<&GitRef>) -> String {
    let text = git_ref.map_or("", GitRef::as_str);
    format!("sp-ref-{}", &Digest::of(text.as_bytes()).hex()[..32])
}

fn never_fetched(repo: &Repo, git_ref: Option<&GitRef>) -> Error {
    let git_ref = git_ref.map_or("HEAD", GitRef::as_str);
    Error::new(Kind::Environment, format!("`{repo}` at `{git_ref}` was never fetched"))
        .hint("run it once without `--offline`")
}

/// Whether the server refused because no ref points to what was asked for.
pub(super) fn is_unadvertised(error: &Error) -> bool {
    error.causes().iter().any(|cause| cause.contains("unadvertised object"))
}

/// A server may call a ref anything; only what cannot be misread is handed back to git.
fn is_plain_ref(name: &str) -> bool {
    name.starts_with("refs/") && GitRef::new(name.trim_end_matches("^{}")).is_ok()
}

/// Removes what a git that was killed left behind: its locks, which would stop every later git,
/// and packs that it had not finished. Only who holds the cache's lock may.
pub(super) fn sweep(dir: &Dir) -> Result<()> {
    let remove = |dir: &Dir| -> Result<()> {
        for entry in dir.entries()? {
            let name = entry.name().as_encoded_bytes();
            if entry.kind == EntryKind::File && (name.ends_with(b".lock") || name.starts_with(b"tmp_")) {
                dir.remove_file(&entry)?;
            }
        }
        Ok(())
    };
    remove(dir)?;
    match packs_of(dir) {
        Some(packs) => remove(&packs),
        None => Ok(()),
    }
}

/// Where a repository of the cache keeps its packs, once it has any.
pub(super) fn packs_of(dir: &Dir) -> Option<Dir> {
    let objects = dir.open_dir(&Fixed("objects"), Follow::Never).ok()?;
    objects.open_dir(&Fixed("pack"), Follow::Never).ok()
}

fn is_oid(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn no_ref(repo: &Repo, git_ref: &GitRef, refs: &[(String, String)]) -> Error {
    let names = refs
        .iter()
        .filter_map(|(_, name)| name.strip_prefix("refs/heads/").or_else(|| name.strip_prefix("refs/tags/")));
    let error = Error::new(Kind::Request, format!("`{repo}` has no tag, branch or commit `{git_ref}`"));
    match sp_formats::suggest::nearest(git_ref.as_str(), names.filter(|name| !name.ends_with("^{}"))) {
        Some(near) => error.hint(format!("did you mean `{near}`?")),
        None => error.hint(format!("`git ls-remote {repo}` lists what it has")),
    }
}
