//! Brings an index up to date by reading the files that changed.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;
use serde_json::json;
use sp_analyze::knowledge::{KnowledgeFile, SkippedInput, index_words, max_file_bytes, parse_file};
use sp_formats::output::{KbAddReport, KbSkippedItem, PlanStatus};
use sp_tree::{Digest, Dir};

use super::files::{KnowledgeFileEntry, read_file, scan_files};
use super::index::{IndexedFile, IndexedFileContents, IndexedFileUpdate, KnowledgeIndex};
use super::resolve_folder;
use crate::context::Event;
use crate::error::Result;
use crate::plan_id::{PlanHasher, PlanId};
use crate::session::Session;

/// The files, and bytes, that are read before they are written to the index, to bound memory.
const MAX_CHUNK_FILES: usize = 512;
const MAX_CHUNK_BYTES: u64 = 64 * 1024 * 1024;
const MAX_SIDECAR_BYTES: u64 = 64 * 1024;
/// A file that changed more recently may change again without a new timestamp, so it is read again
/// the next time.
const RECENT_NANOS: i64 = 2_000_000_000;
const PROGRESS_INTERVAL: usize = 64;

/// A knowledge base whose index is up to date.
pub(crate) struct KnowledgeBase {
    pub folder: PathBuf,
    pub index: KnowledgeIndex,
    /// The number of files that were read.
    pub files_read: usize,
    pub files_removed: usize,
    /// Files and lines that are not documents.
    pub skipped: Vec<SkippedInput>,
}

/// Updates and opens the index of a directory.
pub(crate) fn refresh(session: &Session<'_>, dir: &Path) -> Result<KnowledgeBase> {
    let folder = resolve_folder(session.context, dir)?;
    let root = Dir::open(&folder)?;
    let mut store = KnowledgeIndex::open(session.context, &folder)?;
    let (found, mut skipped) = scan_files(session, &root)?;
    let known = store.files()?;
    let may_have_changed = |file: &&KnowledgeFileEntry| {
        let stamp = known.get(file.path.as_str()).map(|known| known.stamp.as_slice());
        stamp != Some(file.fingerprint().as_bytes().as_slice())
    };
    let changed: Vec<&KnowledgeFileEntry> = found.iter().filter(may_have_changed).collect();
    let existing: HashSet<&str> = found.iter().map(|file| file.path.as_str()).collect();
    let removed: Vec<&str> =
        known.keys().map(String::as_str).filter(|path| !existing.contains(path)).collect();
    if !changed.is_empty() || !removed.is_empty() || store.stats()?.indexed_at.is_empty() {
        let indexer = FileIndexer {
            session,
            root: &root,
            known: &known,
            done: AtomicUsize::new(0),
            total: changed.len(),
        };
        indexer.update(&mut store, &changed, &removed)?;
    }
    let store = store.begin_snapshot()?;
    skipped.extend(store.skipped()?);
    skipped.sort();
    Ok(KnowledgeBase {
        folder,
        files_read: changed.len(),
        files_removed: removed.len(),
        index: store,
        skipped,
    })
}

/// What a refresh of an index would do. Making a plan creates and changes nothing.
pub(super) struct RefreshPlan {
    folder: PathBuf,
    root: Dir,
    found: Vec<KnowledgeFileEntry>,
    skipped: Vec<SkippedInput>,
    index: Option<KnowledgeIndex>,
    known: HashMap<String, IndexedFile>,
}

impl RefreshPlan {
    pub(super) fn of(session: &Session<'_>, dir: &Path) -> Result<Self> {
        let folder = resolve_folder(session.context, dir)?;
        let root = Dir::open(&folder)?;
        let (found, skipped) = scan_files(session, &root)?;
        let index = KnowledgeIndex::open_existing(session.context, &folder);
        let known = index.as_ref().map(KnowledgeIndex::files).transpose()?.unwrap_or_default();
        Ok(Self { folder, root, found, skipped, index, known })
    }

    /// Covers the files of the directory, and those that are indexed.
    pub(super) fn id(&self) -> PlanId {
        let mut hasher = PlanHasher::of_operation("context kb add");
        hasher.path(&self.folder);
        hasher.list(self.found.iter(), |hasher, file| {
            hasher.text(file.path.as_str());
            hasher.digest(Some(file.fingerprint()));
        });
        let known: BTreeMap<&String, &IndexedFile> = self.known.iter().collect();
        hasher.list(known.into_iter(), |hasher, (path, file)| {
            hasher.text(path);
            hasher.bytes(&file.digest);
        });
        hasher.finish()
    }

    /// Reads the files that are new or may have changed, and reports the index that would result.
    pub(super) fn report(self, session: &Session<'_>, status: PlanStatus) -> Result<KbAddReport> {
        let is_unchanged = |file: &KnowledgeFileEntry| {
            let stamp = self.known.get(file.path.as_str()).map(|known| known.stamp.as_slice());
            stamp == Some(file.fingerprint().as_bytes().as_slice())
        };
        let changed: Vec<&KnowledgeFileEntry> =
            self.found.iter().filter(|file| !is_unchanged(file)).collect();
        let existing: HashSet<&str> = self.found.iter().map(|file| file.path.as_str()).collect();
        // Nothing counts as known, so that every changed file is parsed.
        let indexer = FileIndexer {
            session,
            root: &self.root,
            known: &HashMap::new(),
            done: AtomicUsize::new(0),
            total: changed.len(),
        };
        let mut skipped = self.skipped;
        let mut documents = 0;
        let mut read = HashSet::new();
        for chunk in chunks(&changed) {
            let updates: Result<Vec<Option<IndexedFileUpdate>>> =
                chunk.par_iter().map(|file| indexer.index_file(file)).collect();
            for update in updates?.into_iter().flatten() {
                let contents = update.contents.unwrap_or_default();
                documents += contents.documents.len();
                skipped.extend(contents.skipped);
                read.insert(update.path);
            }
        }
        let stays = |path: &String| existing.contains(path.as_str()) && !read.contains(path);
        if let Some(index) = &self.index {
            let counts = index.document_counts()?;
            let kept = counts.iter().filter(|(path, _)| stays(path));
            documents += kept.map(|(_, count)| count).sum::<usize>();
            skipped.extend(index.skipped()?.into_iter().filter(|item| stays(&item.path)));
        }
        skipped.sort();
        Ok(KbAddReport {
            status,
            files: self.found.len(),
            documents,
            read: changed.len(),
            removed: self.known.keys().filter(|path| !existing.contains(path.as_str())).count(),
            skipped: skipped.into_iter().map(skipped_output).collect(),
            dir: self.folder,
        })
    }
}

/// Returns a document or part of one that was skipped, for output.
pub(crate) fn skipped_output(skipped: SkippedInput) -> KbSkippedItem {
    KbSkippedItem { file: skipped.path, line: skipped.line, why: skipped.reason }
}

/// Splits files into chunks that are read in parallel and written together.
fn chunks<'f>(files: &[&'f KnowledgeFileEntry]) -> Vec<Vec<&'f KnowledgeFileEntry>> {
    let mut chunks: Vec<Vec<&KnowledgeFileEntry>> = Vec::new();
    let mut chunk_bytes = 0;
    for file in files {
        chunk_bytes += file.stamp.size;
        match chunks.last_mut() {
            Some(chunk) if chunk.len() < MAX_CHUNK_FILES && chunk_bytes <= MAX_CHUNK_BYTES => {
                chunk.push(file);
            }
            _ => {
                chunk_bytes = file.stamp.size;
                chunks.push(vec![file]);
            }
        }
    }
    chunks
}

struct FileIndexer<'a> {
    session: &'a Session<'a>,
    root: &'a Dir,
    known: &'a HashMap<String, IndexedFile>,
    done: AtomicUsize,
    total: usize,
}

impl FileIndexer<'_> {
    /// Reads the changed files into the index, and takes the removed ones out of it.
    fn update(
        &self,
        store: &mut KnowledgeIndex,
        changed: &[&KnowledgeFileEntry],
        removed: &[&str],
    ) -> Result<()> {
        let context = self.session.context;
        store.update(|writer| {
            removed.iter().try_for_each(|path| writer.remove_file(path))?;
            for chunk in chunks(changed) {
                let updates: Result<Vec<Option<IndexedFileUpdate>>> =
                    chunk.par_iter().map(|file| self.index_file(file)).collect();
                for update in updates?.iter().flatten() {
                    context.check_cancelled()?;
                    writer.write_file(update)?;
                }
            }
            writer.set_indexed_at(&context.timestamp())
        })
    }

    /// Reads a file and reports progress; none if the file is gone.
    fn index_file(&self, file: &KnowledgeFileEntry) -> Result<Option<IndexedFileUpdate>> {
        self.session.context.check_cancelled()?;
        let update = self.read_update(file);
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        if done.is_multiple_of(PROGRESS_INTERVAL) || done == self.total {
            self.session.context.emit(Event::Reading { done, total: self.total });
        }
        Ok(update)
    }

    fn read_update(&self, file: &KnowledgeFileEntry) -> Option<IndexedFileUpdate> {
        let path = file.path.as_str();
        let bytes = match read_file(self.root, &file.path, max_file_bytes(path)?) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => return None,
            Err(error) => return Some(unreadable_file(path, &error)),
        };
        let sidecar = file
            .sidecar
            .as_ref()
            .and_then(|(path, _)| read_file(self.root, path, MAX_SIDECAR_BYTES).ok());
        let digest = Digest::of(
            json!([Digest::of(&bytes).hex(), sidecar, file.defaults.values()])
                .to_string()
                .as_bytes(),
        );
        let is_recent = file.changed_at() > (self.session.context.wall_clock)() - RECENT_NANOS;
        let stamp = if is_recent { Vec::new() } else { file.fingerprint().as_bytes().to_vec() };
        let is_known = self.known.get(path).is_some_and(|known| known.digest == digest.as_bytes());
        let contents = (!is_known).then(|| parse_contents(file, &bytes, sidecar.as_deref()));
        Some(IndexedFileUpdate { path: path.into(), stamp, digest, contents })
    }
}

fn parse_contents(
    file: &KnowledgeFileEntry,
    bytes: &[u8],
    sidecar: Option<&[u8]>,
) -> IndexedFileContents {
    let path = file.path.as_str();
    let parsed = parse_file(KnowledgeFile { path, bytes, sidecar, defaults: &file.defaults });
    let with_words = |document| {
        let words = index_words(&document);
        (document, words)
    };
    IndexedFileContents {
        documents: parsed.documents.into_iter().map(with_words).collect(),
        skipped: parsed.skipped,
    }
}

/// Returns the update for a file that cannot be read. Without a stamp, it is tried again every
/// time.
fn unreadable_file(path: &str, error: &std::io::Error) -> IndexedFileUpdate {
    let reason = format!("cannot read the file: {error}");
    let digest = Digest::of(reason.as_bytes());
    let skipped = vec![SkippedInput { path: path.into(), line: None, reason }];
    IndexedFileUpdate {
        path: path.into(),
        stamp: Vec::new(),
        digest,
        contents: Some(IndexedFileContents { documents: Vec::new(), skipped }),
    }
}
