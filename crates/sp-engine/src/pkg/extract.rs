//! Extracts a graph from the files and the git history of a project.
//!
//! This module finds and reads the files; `sp_analyze::extract` turns them into nodes and edges.
//! Neither uses the network or a model, and the same project gives the same graph.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use ignore::{DirEntry, WalkBuilder};
use jiff::Timestamp;
use rayon::prelude::*;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use sp_analyze::extract::{
    AssembleOptions, CommitHistory, ExtractInput, ExtractedGraph, FileExtract, FileHistory,
    FileSkipReason, assemble, extract_file, is_extractable, is_ignored_dir,
};
use sp_formats::package::GraphBuilder;
use sp_formats::text::{ByteSize, plural, pluralize};
use sp_tree::{Dir, Follow, RelPath};

use crate::context::Event;
use crate::error::{Error, ErrorCode, Result};
use crate::session::Session;
use crate::source::git::read_history;

/// One byte more than the maximum size of a file, so that larger files are recognized.
const MAX_READ_BYTES: u64 = 1024 * 1024 + 1;
/// The share of the maximum package size that the graph may take. The rest is for the manifest.
const GRAPH_SHARE: (u64, u64) = (4, 5);
/// The maximum number of possible secrets that are reported as warnings.
const MAX_REPORTED_SECRETS: usize = 8;
/// The memory limit of the process while source code is parsed, far more than any project needs.
const MAX_MEMORY_BYTES: u64 = 6 << 30;
/// The number of files between two progress events.
const PROGRESS_INTERVAL: usize = 64;

/// Extracts the graph of the project in `dir`.
pub(super) fn extract(session: &Session<'_>, dir: &Path, level: u64) -> Result<GraphBuilder> {
    let files = project_files(session, dir)?;
    let root = Dir::open(dir)?;
    let found = with_memory_limit(|| read_all(session, &root, &files))?;
    report_skipped(session, &found);
    session.context.check_cancelled()?;
    let history =
        read_history(session.context, dir).unwrap_or_else(|| history_from_mtimes(&root, &files));
    let max_bytes = session.limits.package_bytes.saturating_mul(GRAPH_SHARE.0) / GRAPH_SHARE.1;
    let options =
        AssembleOptions { level, max_bytes: usize::try_from(max_bytes).unwrap_or(usize::MAX) };
    let ExtractedGraph { graph, omitted_symbols: left_out } = assemble(found, &history, options);
    if left_out > 0 {
        let message = format!(
            "{} {} omitted because the maximum package size is {}",
            pluralize(left_out, "symbol"),
            plural(left_out, "was", "were"),
            ByteSize(session.limits.package_bytes)
        );
        session.context.emit(Event::Warning(message));
        session.context.emit(Event::Hint(
            "select a part of the project with `--from`, or raise the limit with `--limit \
             package-bytes=<bytes>`"
                .into(),
        ));
    }
    if graph.nodes.is_empty() {
        return Err(Error::new(
            ErrorCode::NothingFound,
            format!("nothing to package in `{}`", session.context.display_path(dir)),
        )
        .because("no readable documents, manifests or source files found")
        .hint("provide the content as JSON or YAML with `--input <file>`"));
    }
    Ok(graph)
}

/// Returns the files that can be extracted, sorted. Files that git ignores are left out.
fn project_files(session: &Session<'_>, dir: &Path) -> Result<Vec<RelPath>> {
    let mut walk = WalkBuilder::new(dir);
    // The user's global ignore file would give different graphs on different machines.
    walk.hidden(false)
        .git_global(false)
        .require_git(false)
        .follow_links(false)
        .filter_entry(is_project_entry);
    let mut files = Vec::new();
    let mut seen: u64 = 0;
    for entry in walk.build() {
        let Ok(entry) = entry else { continue };
        session.context.check_cancelled()?;
        seen += 1;
        if seen > session.limits.repo_entries {
            let message = format!(
                "`{}` has more than {} files",
                session.context.display_path(dir),
                session.limits.repo_entries
            );
            return Err(Error::new(ErrorCode::LimitExceeded, message).hint(
                "specify a subdirectory, or raise the limit with `--limit repo-entries=<number>`",
            ));
        }
        let path = entry.path().strip_prefix(dir).ok().and_then(Path::to_str);
        let is_file = entry.file_type().is_some_and(|kind| kind.is_file());
        let Some(path) = path.filter(|path| is_file && is_extractable(path)) else { continue };
        files.extend(RelPath::new(path));
    }
    files.sort();
    Ok(files)
}

/// Returns false for `.git`, nested repositories, and directories of dependencies and build output.
fn is_project_entry(entry: &DirEntry) -> bool {
    let is_folder = entry.depth() > 0 && entry.file_type().is_some_and(|kind| kind.is_dir());
    let is_foreign_folder = is_folder && entry.file_name().to_str().is_some_and(is_ignored_dir);
    entry.file_name() != ".git"
        && !is_foreign_folder
        && !(is_folder && entry.path().join(".git").exists())
}

/// Calls `read` with a memory limit. The source parsers are written in C, and hostile input could
/// make one allocate without bound; then the process ends instead of the machine.
fn with_memory_limit<T>(read: impl FnOnce() -> T) -> T {
    let before = getrlimit(Resource::As);
    let is_lower = before.current.is_some_and(|current| current <= MAX_MEMORY_BYTES);
    if is_lower
        || setrlimit(
            Resource::As,
            Rlimit { current: Some(MAX_MEMORY_BYTES), maximum: before.maximum },
        )
        .is_err()
    {
        return read();
    }
    let found = read();
    // A soft limit can be raised again up to the hard limit.
    let _ = setrlimit(Resource::As, before);
    found
}

fn read_all(session: &Session<'_>, root: &Dir, files: &[RelPath]) -> Result<Vec<FileExtract>> {
    let done = AtomicUsize::new(0);
    let total = files.len();
    let read_file = |path: &RelPath| {
        session.context.check_cancelled()?;
        let found = read_one(root, path);
        let done = done.fetch_add(1, Ordering::Relaxed) + 1;
        if done.is_multiple_of(PROGRESS_INTERVAL) {
            session.context.emit(Event::Reading { done, total });
        }
        Ok(found)
    };
    let found: Result<Vec<Option<FileExtract>>> = files.par_iter().map(read_file).collect();
    Ok(found?.into_iter().flatten().collect())
}

/// Extracts one file; none if it is gone or cannot be read.
fn read_one(root: &Dir, path: &RelPath) -> Option<FileExtract> {
    let mut bytes = Vec::new();
    let file = root.open_beneath(path, Follow::Never).ok()?;
    file.take(MAX_READ_BYTES).read_to_end(&mut bytes).ok()?;
    Some(extract_file(ExtractInput { path: path.as_str(), bytes: &bytes }))
}

/// Emits events about lines and files that were left out.
fn report_skipped(session: &Session<'_>, found: &[FileExtract]) {
    let withheld =
        found.iter().flat_map(|file| file.secret_lines.iter().map(move |line| (&file.path, line)));
    for (number, (path, line)) in withheld.clone().enumerate() {
        let message = format!("omitted `{path}:{line}`, which seems to contain a secret");
        session.context.emit(if number < MAX_REPORTED_SECRETS {
            Event::Warning(message)
        } else {
            Event::Detail(message)
        });
    }
    if let Some(more) = withheld.count().checked_sub(MAX_REPORTED_SECRETS).filter(|more| *more > 0)
    {
        let message = format!("omitted {} for the same reason", pluralize(more, "more line"));
        session.context.emit(Event::Omitted(message));
    }
    let mut noise: BTreeMap<FileSkipReason, usize> = BTreeMap::new();
    found
        .iter()
        .filter_map(|file| file.skip_reason)
        .for_each(|reason| *noise.entry(reason).or_default() += 1);
    for (reason, count) in noise {
        session.context.emit(Event::Detail(format!(
            "{} {} not read: {}",
            pluralize(count, "file"),
            plural(count, "was", "were"),
            reason.as_str()
        )));
    }
}

/// Returns a history made from modification times, for projects without git.
fn history_from_mtimes(root: &Dir, files: &[RelPath]) -> CommitHistory {
    let changed = |path: &RelPath| {
        let stamp = root.stat_beneath(path, Follow::Never).ok()??;
        Timestamp::from_nanosecond(stamp.modified.into()).ok()
    };
    let known = files.iter().filter_map(|path| {
        Some((path.to_string(), FileHistory { last_changed: changed(path)?, commits: 0 }))
    });
    CommitHistory::new(known.collect(), Vec::new())
}
