//! The files and the history of a project, given to `sp_analyze::extract` to be read. No network, no model, no guess.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use ignore::{DirEntry, WalkBuilder};
use jiff::Timestamp;
use rayon::prelude::*;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use sp_analyze::extract::{
    Extracted, File, FileHistory, Found, History, Noise, Options, assemble, is_foreign, is_wanted, read,
};
use sp_formats::package::NewGraph;
use sp_tree::{Dir, Follow, RelPath};

use crate::config::Session;
use crate::context::Event;
use crate::error::{Error, Kind, Result};
use crate::source::git::history;

/// One byte more than is ever read of a file: a larger one is known by it.
const MOST_BYTES: u64 = 1024 * 1024 + 1;
/// Of the room that a package has, so much is for the graph; the rest is for what is written around it.
const SHARE: (u64, u64) = (4, 5);
/// So many places that look like secrets are named.
const SHOWN: usize = 8;
/// What the whole process may ask for while source code is read: far more than any project needs.
const MOST_MEMORY: u64 = 6 << 30;
/// How often it is told how far the reading is.
const STEP: usize = 64;

/// What a project says of itself.
pub(super) fn extract(session: &Session<'_>, dir: &Path, level: u64) -> Result<NewGraph> {
    let files = wanted_files(session, dir)?;
    let root = Dir::open(dir)?;
    let found = within_memory(|| read_all(session, &root, &files))?;
    tell(session, &found);
    session.context.go_on()?;
    let history = history(session.context, dir).unwrap_or_else(|| by_stamps(&root, &files));
    let most_bytes = session.limits.package_bytes.saturating_mul(SHARE.0) / SHARE.1;
    let options = Options { level, most_bytes: usize::try_from(most_bytes).unwrap_or(usize::MAX) };
    let Extracted { graph, left_out } = assemble(found, &history, options);
    if left_out > 0 {
        let message = format!(
            "{left_out} symbols were left out: a package has {} bytes at the most",
            session.limits.package_bytes
        );
        session.context.tell(Event::Warning(message));
        session.context.tell(Event::Hint(
            "name a part of the project with `--from`, or raise `--limit package-bytes=<bytes>`".into(),
        ));
    }
    match graph.nodes.is_empty() {
        false => Ok(graph),
        true => Err(Error::new(Kind::Request, format!("there is nothing to pack in `{}`", session.context.show(dir)))
            .because("it has no documents, no manifests and no source code that can be read")
            .hint("write what is to be known with `--input <file>`: nodes in JSON or YAML")),
    }
}

/// The files of a project that could say something, sorted. What git ignores is not the project's.
fn wanted_files(session: &Session<'_>, dir: &Path) -> Result<Vec<RelPath>> {
    let mut walk = WalkBuilder::new(dir);
    // The user's own list of what to ignore would make two machines differ.
    walk.hidden(false).git_global(false).require_git(false).follow_links(false).filter_entry(is_own);
    let mut files = Vec::new();
    let mut seen: u64 = 0;
    for entry in walk.build() {
        let Ok(entry) = entry else { continue };
        session.context.go_on()?;
        seen += 1;
        if seen > session.limits.repo_entries {
            let message =
                format!("`{}` has more than {} files", session.context.show(dir), session.limits.repo_entries);
            return Err(
                Error::new(Kind::Data, message).hint("name a part of it, or raise `--limit repo-entries=<number>`")
            );
        }
        let path = entry.path().strip_prefix(dir).ok().and_then(Path::to_str);
        let is_file = entry.file_type().is_some_and(|kind| kind.is_file());
        let Some(path) = path.filter(|path| is_file && is_wanted(path)) else { continue };
        files.extend(RelPath::new(path));
    }
    files.sort();
    Ok(files)
}

/// Git's own folder, repositories inside of this one and what others made are left alone, however much it is.
fn is_own(entry: &DirEntry) -> bool {
    let is_folder = entry.depth() > 0 && entry.file_type().is_some_and(|kind| kind.is_dir());
    let is_foreign_folder = is_folder && entry.file_name().to_str().is_some_and(is_foreign);
    entry.file_name() != ".git" && !is_foreign_folder && !(is_folder && entry.path().join(".git").exists())
}

/// Reads under a limit on memory. The parsers of source code are written in C, and what is made to confuse
/// one may ask for any amount: then the run ends, and the machine does not.
fn within_memory<T>(read: impl FnOnce() -> T) -> T {
    let before = getrlimit(Resource::As);
    let is_lower = before.current.is_some_and(|current| current <= MOST_MEMORY);
    if is_lower || setrlimit(Resource::As, Rlimit { current: Some(MOST_MEMORY), maximum: before.maximum }).is_err() {
        return read();
    }
    let found = read();
    // What was lowered can be raised again up to where it was.
    let _ = setrlimit(Resource::As, before);
    found
}

fn read_all(session: &Session<'_>, root: &Dir, files: &[RelPath]) -> Result<Vec<Found>> {
    let done = AtomicUsize::new(0);
    let total = files.len();
    let one = |path: &RelPath| {
        session.context.go_on()?;
        let found = read_one(root, path);
        let done = done.fetch_add(1, Ordering::Relaxed) + 1;
        if done.is_multiple_of(STEP) {
            session.context.tell(Event::Reading { done, total });
        }
        Ok(found)
    };
    let found: Result<Vec<Option<Found>>> = files.par_iter().map(one).collect();
    Ok(found?.into_iter().flatten().collect())
}

/// What a file says; none if it went away or may not be read.
fn read_one(root: &Dir, path: &RelPath) -> Option<Found> {
    let mut bytes = Vec::new();
    let file = root.open_beneath(path, Follow::Never).ok()?;
    file.take(MOST_BYTES).read_to_end(&mut bytes).ok()?;
    Some(read(File { path: path.as_str(), bytes: &bytes }))
}

/// Says what was not taken, and why.
fn tell(session: &Session<'_>, found: &[Found]) {
    let withheld = found.iter().flat_map(|file| file.withheld.iter().map(move |line| (&file.path, line)));
    for (number, (path, line)) in withheld.clone().enumerate() {
        let message = format!("`{path}:{line}` was left out: something in it looks like a secret");
        session.context.tell(if number < SHOWN { Event::Warning(message) } else { Event::Detail(message) });
    }
    if let Some(more) = withheld.count().checked_sub(SHOWN).filter(|more| *more > 0) {
        let message = format!("{more} more places were left out for the same reason; `--verbose` names them");
        session.context.tell(Event::Warning(message));
    }
    let mut noise: BTreeMap<Noise, usize> = BTreeMap::new();
    found.iter().filter_map(|file| file.noise).for_each(|reason| *noise.entry(reason).or_default() += 1);
    for (reason, count) in noise {
        session.context.tell(Event::Detail(format!("{count} files were not read: {}", reason.word())));
    }
}

/// Without a history: when each file was written.
fn by_stamps(root: &Dir, files: &[RelPath]) -> History {
    let changed = |path: &RelPath| {
        let stamp = root.look_beneath(path, Follow::Never).ok()??;
        Timestamp::from_nanosecond(stamp.modified.into()).ok()
    };
    let known =
        files.iter().filter_map(|path| Some((path.to_string(), FileHistory { changed: changed(path)?, commits: 0 })));
    History::new(known.collect(), Vec::new())
}
