//! Brings an index up to date: only what changed is read.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;
use serde_json::json;
use sp_analyze::knowledge::{KnowledgeFile, SkippedInput, index_words, max_file_bytes, parse_file};
use sp_tree::{Digest, Dir};

use super::files::{KnowledgeFileEntry, read_file, scan_files};
use super::index::{IndexedFile, IndexedFileContents, IndexedFileUpdate, KnowledgeIndex};
use super::resolve_folder;
use crate::context::Event;
use crate::error::Result;
use crate::session::Session;

/// So many files, and bytes, are read before they are written: what is held stays small.
const MAX_CHUNK_FILES: usize = 512;
const MAX_CHUNK_BYTES: u64 = 64 * 1024 * 1024;
const MAX_SIDECAR_BYTES: u64 = 64 * 1024;
/// A file that changed so shortly before may change again without another time.
const RECENT_NANOS: i64 = 2_000_000_000;
const PROGRESS_INTERVAL: usize = 64;

/// A knowledge base whose index is up to date.
pub(crate) struct KnowledgeBase {
    /// The folder.
    pub folder: PathBuf,
    pub index: KnowledgeIndex,
    /// How many files were read, and how many are gone.
    pub files_read: usize,
    pub files_removed: usize,
    /// What was not taken.
    pub skipped: Vec<SkippedInput>,
}

/// Reads what changed in a folder since it was read last.
pub(crate) fn refresh(session: &Session<'_>, dir: &Path) -> Result<KnowledgeBase> {
    let folder = resolve_folder(session.context, dir)?;
    let root = Dir::open(&folder)?;
    let mut store = KnowledgeIndex::open(session.context, &folder)?;
    let (found, mut skipped) = scan_files(session, &root)?;
    let known = store.files()?;
    let may_differ = |file: &&KnowledgeFileEntry| {
        let stamp = known.get(file.path.as_str()).map(|known| known.stamp.as_slice());
        stamp != Some(file.fingerprint().as_bytes().as_slice())
    };
    let to_read: Vec<&KnowledgeFileEntry> = found.iter().filter(may_differ).collect();
    let there: std::collections::HashSet<&str> =
        found.iter().map(|file| file.path.as_str()).collect();
    let gone: Vec<&str> =
        known.keys().map(String::as_str).filter(|path| !there.contains(path)).collect();
    if !to_read.is_empty() || !gone.is_empty() || store.stats()?.indexed_at.is_empty() {
        let reading = FileIndexer {
            session,
            root: &root,
            known: &known,
            done: AtomicUsize::new(0),
            total: to_read.len(),
        };
        store.update(|writer| {
            gone.iter().try_for_each(|path| writer.remove_file(path))?;
            for chunk in chunks(&to_read) {
                let read: Result<Vec<Option<IndexedFileUpdate>>> =
                    chunk.par_iter().map(|file| reading.index_file(file)).collect();
                for file in read?.iter().flatten() {
                    session.context.check_cancelled()?;
                    writer.write_file(file)?;
                }
            }
            writer.set_indexed_at(&session.context.timestamp())
        })?;
    }
    let store = store.begin_snapshot()?;
    skipped.extend(store.skipped()?);
    skipped.sort();
    Ok(KnowledgeBase {
        folder,
        files_read: to_read.len(),
        files_removed: gone.len(),
        index: store,
        skipped,
    })
}

/// The files in parts that are read at once.
fn chunks<'f>(files: &[&'f KnowledgeFileEntry]) -> Vec<Vec<&'f KnowledgeFileEntry>> {
    let mut chunks: Vec<Vec<&KnowledgeFileEntry>> = Vec::new();
    let mut held = 0;
    for file in files {
        held += file.stamp.size;
        match chunks.last_mut() {
            Some(chunk) if chunk.len() < MAX_CHUNK_FILES && held <= MAX_CHUNK_BYTES => {
                chunk.push(file)
            }
            _ => {
                held = file.stamp.size;
                chunks.push(vec![file]);
            }
        }
    }
    chunks
}

struct FileIndexer<'a> {
    session: &'a Session<'a>,
    root: &'a Dir,
    known: &'a std::collections::HashMap<String, IndexedFile>,
    done: AtomicUsize,
    total: usize,
}

impl FileIndexer<'_> {
    /// What a file holds; none if it went away.
    fn index_file(&self, file: &KnowledgeFileEntry) -> Result<Option<IndexedFileUpdate>> {
        self.session.context.check_cancelled()?;
        let fresh = self.read_update(file);
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        if done.is_multiple_of(PROGRESS_INTERVAL) || done == self.total {
            self.session.context.emit(Event::Reading { done, total: self.total });
        }
        Ok(fresh)
    }

    fn read_update(&self, file: &KnowledgeFileEntry) -> Option<IndexedFileUpdate> {
        let path = file.path.as_str();
        let bytes = match read_file(self.root, &file.path, max_file_bytes(path)?) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => return None,
            Err(error) => return Some(unreadable_file(path, &error)),
        };
        let beside = file
            .sidecar
            .as_ref()
            .and_then(|(path, _)| read_file(self.root, path, MAX_SIDECAR_BYTES).ok());
        let digest = Digest::of(
            json!([Digest::of(&bytes).hex(), beside, file.defaults.values()])
                .to_string()
                .as_bytes(),
        );
        let is_recent = file.changed_at() > (self.session.context.wall_clock)() - RECENT_NANOS;
        let stamp = if is_recent { Vec::new() } else { file.fingerprint().as_bytes().to_vec() };
        let is_known = self.known.get(path).is_some_and(|known| known.digest == digest.as_bytes());
        let contents = || {
            let found = parse_file(KnowledgeFile {
                path,
                bytes: &bytes,
                sidecar: beside.as_deref(),
                defaults: &file.defaults,
            });
            let with_words = |document| {
                let words = index_words(&document);
                (document, words)
            };
            IndexedFileContents {
                documents: found.documents.into_iter().map(with_words).collect(),
                skipped: found.skipped,
            }
        };
        Some(IndexedFileUpdate {
            path: path.into(),
            stamp,
            digest,
            contents: (!is_known).then(contents),
        })
    }
}

/// A file that is there and cannot be read. It is tried again every time.
fn unreadable_file(path: &str, error: &std::io::Error) -> IndexedFileUpdate {
    let reason = format!("it cannot be read: {error}");
    let digest = Digest::of(reason.as_bytes());
    let skipped = vec![SkippedInput { path: path.into(), line: None, reason }];
    IndexedFileUpdate {
        path: path.into(),
        stamp: Vec::new(),
        digest,
        contents: Some(IndexedFileContents { documents: Vec::new(), skipped }),
    }
}
