//! Brings an index up to date: only what changed is read.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;
use serde_json::json;
use sp_analyze::knowledge::{File, Skipped, most_bytes, read, words};
use sp_tree::{Digest, Dir};

use super::files::{Found, list, read_file};
use super::folder;
use super::store::{Contents, Fresh, Known, Store};
use crate::config::Session;
use crate::context::Event;
use crate::error::Result;

/// So many files, and bytes, are read before they are written: what is held stays small.
const MOST_FILES: usize = 512;
const MOST_HELD: u64 = 64 * 1024 * 1024;
const MOST_BESIDE: u64 = 64 * 1024;
/// A file that changed so shortly before may change again without another time.
const RECENT: i64 = 2_000_000_000;
const STEP: usize = 64;

/// A knowledge base whose index is up to date.
pub(crate) struct Base {
    /// The folder.
    pub folder: PathBuf,
    pub store: Store,
    /// How many files were read, and how many are gone.
    pub read: usize,
    pub removed: usize,
    /// What was not taken.
    pub skipped: Vec<Skipped>,
}

/// Reads what changed in a folder since it was read last.
pub(crate) fn refresh(session: &Session<'_>, dir: &Path) -> Result<Base> {
    let folder = folder(session.context, dir)?;
    let root = Dir::open(&folder)?;
    let mut store = Store::open(session.context, &folder)?;
    let (found, mut skipped) = list(session, &root)?;
    let known = store.files()?;
    let may_differ = |file: &&Found| {
        let stamp = known.get(file.path.as_str()).map(|known| known.stamp.as_slice());
        stamp != Some(file.fingerprint().as_bytes().as_slice())
    };
    let to_read: Vec<&Found> = found.iter().filter(may_differ).collect();
    let there: std::collections::HashSet<&str> = found.iter().map(|file| file.path.as_str()).collect();
    let gone: Vec<&str> = known.keys().map(String::as_str).filter(|path| !there.contains(path)).collect();
    if !to_read.is_empty() || !gone.is_empty() || store.size()?.indexed_at.is_empty() {
        let reading = Reading { session, root: &root, known: &known, done: AtomicUsize::new(0), total: to_read.len() };
        store.change(|writer| {
            gone.iter().try_for_each(|path| writer.forget(path))?;
            for chunk in chunks(&to_read) {
                let read: Result<Vec<Option<Fresh>>> = chunk.par_iter().map(|file| reading.one(file)).collect();
                for file in read?.iter().flatten() {
                    session.context.go_on()?;
                    writer.write(file)?;
                }
            }
            writer.finish(&session.context.timestamp())
        })?;
    }
    let store = store.hold()?;
    skipped.extend(store.skipped()?);
    skipped.sort();
    Ok(Base { folder, read: to_read.len(), removed: gone.len(), store, skipped })
}

/// The files in parts that are read at once.
fn chunks<'f>(files: &[&'f Found]) -> Vec<Vec<&'f Found>> {
    let mut chunks: Vec<Vec<&Found>> = Vec::new();
    let mut held = 0;
    for file in files {
        held += file.stamp.size;
        match chunks.last_mut() {
            Some(chunk) if chunk.len() < MOST_FILES && held <= MOST_HELD => chunk.push(file),
            _ => {
                held = file.stamp.size;
                chunks.push(vec![file]);
            }
        }
    }
    chunks
}

struct Reading<'a> {
    session: &'a Session<'a>,
    root: &'a Dir,
    known: &'a std::collections::HashMap<String, Known>,
    done: AtomicUsize,
    total: usize,
}

impl Reading<'_> {
    /// What a file holds; none if it went away.
    fn one(&self, file: &Found) -> Result<Option<Fresh>> {
        self.session.context.go_on()?;
        let fresh = self.read(file);
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        if done.is_multiple_of(STEP) || done == self.total {
            self.session.context.tell(Event::Reading { done, total: self.total });
        }
        Ok(fresh)
    }

    fn read(&self, file: &Found) -> Option<Fresh> {
        let path = file.path.as_str();
        let bytes = match read_file(self.root, &file.path, most_bytes(path)?) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => return None,
            Err(error) => return Some(unreadable(path, &error)),
        };
        let beside = file.sidecar.as_ref().and_then(|(path, _)| read_file(self.root, path, MOST_BESIDE).ok());
        let digest = Digest::of(json!([Digest::of(&bytes).hex(), beside, file.folder.values()]).to_string().as_bytes());
        let is_recent = file.changed() > (self.session.context.wall_clock)() - RECENT;
        let stamp = if is_recent { Vec::new() } else { file.fingerprint().as_bytes().to_vec() };
        let is_known = self.known.get(path).is_some_and(|known| known.digest == digest.as_bytes());
        let contents = || {
            let found = read(File { path, bytes: &bytes, sidecar: beside.as_deref(), folder: &file.folder });
            let with_words = |document| {
                let words = words(&document);
                (document, words)
            };
            Contents { documents: found.documents.into_iter().map(with_words).collect(), skipped: found.skipped }
        };
        Some(Fresh { path: path.into(), stamp, digest, read: (!is_known).then(contents) })
    }
}

/// A file that is there and cannot be read. It is tried again every time.
fn unreadable(path: &str, error: &std::io::Error) -> Fresh {
    let why = format!("it cannot be read: {error}");
    let digest = Digest::of(why.as_bytes());
    let skipped = vec![Skipped { path: path.into(), line: None, why }];
    Fresh { path: path.into(), stamp: Vec::new(), digest, read: Some(Contents { documents: Vec::new(), skipped }) }
}
