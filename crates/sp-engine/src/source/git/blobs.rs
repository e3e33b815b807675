//! The content of selected skills: fetched in one batch, then read as a stream.

use sp_formats::text::OverLimit;
use std::collections::{HashMap, HashSet};
use std::io::{BufRead, BufReader, Read, Write};
use std::process::ChildStdout;

use sp_tree::{Dir, Limits, Listing, ListingBuilder, ListingError};

use super::cache::{GitCheckout, is_unadvertised};
use super::command::{GitCommand, GitRepository, command_output, spawn_piped};
use super::fetch::GitFetch;
use super::tree::{GitSkillFile, LinkTargets};
use crate::context::{Context, Event, Network};
use crate::error::{Error, ErrorCode, Result};

/// The files of a skill whose blobs are in the cache. A handle is the object ID of the blob.
pub(crate) type GitListing = Listing<Box<str>>;

/// The maximum length of a link target, which is that of common file systems.
const MAX_LINK_TARGET_BYTES: u64 = 4096;

impl GitCheckout {
    /// Fetches missing blobs of skills, and lists their files.
    pub(crate) fn fetch_listings(
        &self,
        context: &Context<'_>,
        limits: &Limits,
        ids: &[String],
    ) -> Result<Vec<GitListing>> {
        let git = GitRepository::new(context, &self.dir, limits.into());
        let present = local_objects(&git)?;
        BlobFetcher { checkout: self, context, limits, git, present }.fetch_listings(ids)
    }

    /// Reads small files, fetching them in one batch. Returns `None` for each that does not exist.
    pub(crate) fn read_files(
        &self,
        context: &Context<'_>,
        limits: &Limits,
        paths: &[String],
    ) -> Result<Vec<Option<Vec<u8>>>> {
        let objects: Vec<Option<Box<str>>> =
            paths.iter().map(|path| self.tree.file_object(path).map(Into::into)).collect();
        let blobs: Vec<Box<str>> = objects.iter().flatten().cloned().collect();
        let git = GitRepository::new(context, &self.dir, limits.into());
        let present = local_objects(&git)?;
        let mut fetcher = BlobFetcher { checkout: self, context, limits, git, present };
        fetcher.fetch_missing(&blobs)?;
        let limit = limits.markdown_bytes;
        if let Some(size) =
            blob_sizes(&fetcher.git, &blobs)?.into_values().find(|size| *size > limit)
        {
            let message =
                format!("a file in `{}` is {}", self.repo, OverLimit { bytes: size, limit });
            return Err(Error::new(ErrorCode::LimitExceeded, message).hint(
                "raise the limit with `--limit markdown-bytes=<bytes>` if you trust the source",
            ));
        }
        let mut contents = Vec::with_capacity(blobs.len());
        read_blobs(context, self, &blobs, |_, bytes| {
            contents.push(bytes.to_vec());
            Ok(())
        })?;
        let mut contents = contents.into_iter();
        Ok(objects.iter().map(|object| object.as_ref().and_then(|_| contents.next())).collect())
    }
}

/// Fetches blobs into the cache.
struct BlobFetcher<'a> {
    checkout: &'a GitCheckout,
    context: &'a Context<'a>,
    limits: &'a Limits,
    git: GitRepository<'a>,
    /// The objects in the cache.
    present: HashSet<Box<str>>,
}

impl BlobFetcher<'_> {
    fn fetch_listings(&mut self, ids: &[String]) -> Result<Vec<GitListing>> {
        let targets = self.read_links(ids)?;
        let (tree, repo) = (&self.checkout.tree, &self.checkout.repo);
        let files: Result<Vec<_>> =
            ids.iter().map(|id| tree.files_of(repo, id, &targets, self.limits)).collect();
        let files = files?;
        let blobs: Vec<Box<str>> = files
            .iter()
            .flatten()
            .filter_map(|file| file.blob.as_ref())
            .map(|(id, _)| id.clone())
            .collect();
        self.fetch_missing(&blobs)?;
        let sizes = blob_sizes(&self.git, &blobs)?;
        ids.iter().zip(files).map(|(id, files)| self.build_listing(id, files, &sizes)).collect()
    }

    fn build_listing(
        &self,
        id: &str,
        files: Vec<GitSkillFile>,
        sizes: &HashMap<Box<str>, u64>,
    ) -> Result<GitListing> {
        let mut builder = ListingBuilder::new(self.limits);
        for file in files {
            let added = match file.blob {
                None => builder.add_dir(file.path),
                Some((blob, executable)) => {
                    let size = sizes.get(&blob).copied().unwrap_or(u64::MAX);
                    builder.add_file(file.path, executable, size, blob)
                }
            };
            added.map_err(|why| self.listing_error(id, why))?;
        }
        Ok(builder.finish())
    }

    fn listing_error(&self, id: &str, why: ListingError) -> Error {
        let (code, hint) = match why.limit_name() {
            Some(name) => (
                ErrorCode::LimitExceeded,
                format!(
                    "exclude the skill, or raise the limit with `--limit {name}=<number>` if you \
                     trust it"
                ),
            ),
            None => {
                (ErrorCode::NameCollision, "exclude the skill, or ask its author to fix it".into())
            }
        };
        Error::new(code, format!("cannot install the skill `{id}` from `{}`", self.checkout.repo))
            .because(why)
            .hint(hint)
    }

    /// Reads the targets of all links that the skills use. Each round may discover further links.
    fn read_links(&mut self, ids: &[String]) -> Result<LinkTargets> {
        let mut targets = LinkTargets::new();
        loop {
            let tree = &self.checkout.tree;
            let links: Vec<Box<str>> =
                ids.iter().flat_map(|id| tree.links_of(id, &targets, self.limits)).collect();
            if links.is_empty() {
                return Ok(targets);
            }
            self.fetch_missing(&links)?;
            self.check_link_sizes(&links)?;
            read_blobs(self.context, self.checkout, &links, |number, bytes| {
                targets.insert(links[number].clone(), bytes.to_vec());
                Ok(())
            })?;
        }
    }

    fn check_link_sizes(&self, links: &[Box<str>]) -> Result<()> {
        let mut sizes = blob_sizes(&self.git, links)?.into_values();
        let Some(size) = sizes.find(|size| *size > MAX_LINK_TARGET_BYTES) else { return Ok(()) };
        let message =
            format!("cannot install a link in the selected skills of `{}`", self.checkout.repo);
        Err(Error::new(ErrorCode::UnsafeLink, message)
            .because(format!(
                "its target is {}",
                OverLimit { bytes: size, limit: MAX_LINK_TARGET_BYTES }
            ))
            .hint("exclude the skill, or ask its author to fix it"))
    }

    /// Fetches those of `blobs` that are not in the cache, in one batch.
    fn fetch_missing(&mut self, blobs: &[Box<str>]) -> Result<()> {
        let mut missing: Vec<&str> =
            blobs.iter().filter(|id| !self.present.contains(*id)).map(|id| &**id).collect();
        missing.sort_unstable();
        missing.dedup();
        if missing.is_empty() {
            return Ok(());
        }
        let GitCheckout { repo, dir, fetch_target, .. } = self.checkout;
        if self.context.network == Network::Offline {
            return Err(Error::new(
                ErrorCode::Offline,
                format!("cannot fetch files of `{repo}` with `--offline`"),
            )
            .hint("run the command once without `--offline`"));
        }
        let _lock = self.context.lock_silently(&Dir::open(dir)?)?;
        self.context.emit(Event::Fetching { repo: &repo.display_url, progress: None });
        let options = ["--filter=blob:none", "--stdin", "--end-of-options", "origin"];
        match self.run_fetch(&options, missing.join("\n") + "\n") {
            // The server refuses single objects, so fetch the whole commit.
            Err(error) if is_unadvertised(&error) => {
                let options =
                    ["--depth=1", "--no-filter", "--end-of-options", "origin", fetch_target];
                self.run_fetch(&options, String::new())?;
            }
            fetched => fetched?,
        }
        self.context.emit(Event::Fetched { repo: &repo.display_url });
        self.present.extend(missing.into_iter().map(Into::into));
        Ok(())
    }

    fn run_fetch(&self, options: &[&str], input: String) -> Result<()> {
        let GitCheckout { repo, url, dir, .. } = self.checkout;
        let args = [
            "fetch",
            "--progress",
            "--no-tags",
            "--no-write-fetch-head",
            "--no-recurse-submodules",
        ];
        let command = self.git.remote_command(repo, url, &[&args[..], options].concat());
        let fetch = GitFetch { context: self.context, repo, dir, limits: self.limits };
        let message = format!("cannot fetch the selected files of `{repo}`");
        fetch.run(command, input.into_bytes(), &message).map(drop)
    }
}

/// Returns the IDs of all objects in the cache.
fn local_objects(git: &GitRepository<'_>) -> Result<HashSet<Box<str>>> {
    let list = git.local_command(&[
        "cat-file",
        "--batch-all-objects",
        "--unordered",
        "--batch-check=%(objectname)",
    ]);
    let text = command_output(list, "cannot read the cache")?;
    Ok(String::from_utf8_lossy(&text).lines().map(Into::into).collect())
}

fn blob_sizes(git: &GitRepository<'_>, blobs: &[Box<str>]) -> Result<HashMap<Box<str>, u64>> {
    let mut sizes = HashMap::new();
    let check =
        git.local_command(&["cat-file", "--batch-check=%(objecttype) %(objectsize)", "--buffer"]);
    query_batch(check, blobs, |number, reader| {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let size = line.trim().strip_prefix("blob ").and_then(|size| size.parse().ok());
        sizes.insert(
            blobs[number].clone(),
            size.ok_or_else(|| {
                std::io::Error::other(format!("object {} is missing from the cache", blobs[number]))
            })?,
        );
        Ok(())
    })?;
    Ok(sizes)
}

/// Reads blobs in order, and calls `each` with the index and bytes of each. The caller must have
/// checked their sizes.
pub(crate) fn read_blobs(
    context: &Context<'_>,
    checkout: &GitCheckout,
    blobs: &[Box<str>],
    mut each: impl FnMut(usize, &[u8]) -> Result<()>,
) -> Result<()> {
    let git = GitRepository::new(context, &checkout.dir, checkout.git_limits);
    let mut buffer = Vec::new();
    let mut failed = None;
    let read = query_batch(
        git.local_command(&["cat-file", "--batch", "--buffer"]),
        blobs,
        |number, reader| {
            read_blob(reader, &blobs[number], &mut buffer)?;
            each(number, &buffer).map_err(|error| {
                failed = Some(error);
                std::io::Error::other("stopped")
            })
        },
    );
    match failed {
        Some(error) => Err(error),
        None => read,
    }
}

/// Reads the next blob of a `git cat-file --batch` into `buffer`.
fn read_blob(reader: &mut impl BufRead, id: &str, buffer: &mut Vec<u8>) -> std::io::Result<()> {
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let size = line
        .trim()
        .rsplit_once(" blob ")
        .or_else(|| line.trim().split_once(" blob "))
        .and_then(|(_, size)| size.parse::<u64>().ok());
    let size = size
        .ok_or_else(|| std::io::Error::other(format!("object {id} is missing from the cache")))?;
    buffer.clear();
    reader.take(size + 1).read_to_end(buffer)?;
    if buffer.len() as u64 != size + 1 {
        return Err(std::io::ErrorKind::UnexpectedEof.into());
    }
    buffer.pop();
    Ok(())
}

fn join_lines(ids: &[Box<str>]) -> Vec<u8> {
    let mut text = Vec::with_capacity(ids.len() * 41);
    for id in ids {
        text.extend(id.as_bytes());
        text.push(b'\n');
    }
    text
}

/// Requests objects from a `git cat-file --batch`, and calls `each` with the index of each object
/// and the output to read its response from.
fn query_batch(
    command: GitCommand,
    blobs: &[Box<str>],
    mut each: impl FnMut(usize, &mut BufReader<ChildStdout>) -> std::io::Result<()>,
) -> Result<()> {
    let mut child = spawn_piped(command)?;
    let (Some(mut stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(Error::new(ErrorCode::Git, "cannot communicate with git"));
    };
    let mut reader = BufReader::with_capacity(1 << 16, stdout);
    let result = std::thread::scope(|scope| {
        scope.spawn(move || {
            // An error is ignored: if git exits early, reading its output fails.
            let _ = stdin.write_all(&join_lines(blobs));
        });
        let result = (0..blobs.len()).try_for_each(|number| each(number, &mut reader));
        if result.is_err() {
            let _ = child.kill();
        }
        // Closing the pipe ends git, which ends the writer thread.
        drop(reader);
        result
    });
    let _ = child.wait();
    result.map_err(|e| {
        Error::new(ErrorCode::Git, "cannot read the selected files from the git cache")
            .because(e)
            .hint("the cache may be damaged; remove it with `sp clean --cache`")
    })
}
