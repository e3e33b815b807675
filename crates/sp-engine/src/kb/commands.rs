//! `sp context kb add`, `list`, `stats` and `remove`.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use jiff::civil::Date;
use sp_analyze::knowledge::KnowledgeDocument;
use sp_formats::output::{
    KbAddReport, KbDocument, KbFileState, KbKindCount, KbList, KbRemoveReport, KbStats,
    KnowledgeBaseItem,
};
use sp_tree::{Digest, Dir};

use super::files::scan_files as list_files;
use super::index::{KindCounts, KnowledgeIndex, KnowledgeIndexStats};
use super::refresh::{RefreshPlan, refresh, skipped_output};
use super::{no_knowledge_base, resolve_folder};
use crate::context::Context;
use crate::error::{Error, ErrorCode, Result};
use crate::plan_id::{ApplyOptions, PlanHasher};
use crate::session::Session;

/// A document is old if it was captured this many days before the newest one.
const OLD_AFTER_DAYS: i32 = 365;

/// Adds a directory, or updates its index.
pub fn add(context: &Context<'_>, dir: &Path, apply: ApplyOptions) -> Result<KbAddReport> {
    let session = Session::begin(context)?;
    let plan = RefreshPlan::of(&session, dir)?;
    let status = apply.confirm(plan.id())?;
    if !status.applied {
        return plan.report(&session, status);
    }
    let base = refresh(&session, dir)?;
    let size = base.index.stats()?;
    Ok(KbAddReport {
        status,
        dir: base.folder,
        files: size.files,
        documents: size.documents,
        read: base.files_read,
        removed: base.files_removed,
        skipped: base.skipped.into_iter().map(skipped_output).collect(),
    })
}

/// Lists the knowledge bases, or the documents of one.
pub fn list(context: &Context<'_>, dir: Option<&Path>) -> Result<KbList> {
    let session = Session::begin(context)?;
    let stores = match (dir, KnowledgeIndex::open_all(context)) {
        (None, stores) if stores.is_empty() => return Err(no_knowledge_base()),
        (None, stores) => stores,
        (Some(_), _) => open_indexes(&session, dir)?,
    };
    let mut view = KbList { bases: Vec::new(), documents: None };
    for (_, store) in &stores {
        view.bases.push(base_item(store.stats()?));
        if dir.is_some() {
            let documents = store.documents()?.into_iter();
            let items = documents.map(|(document, file)| document_item(document, file));
            view.documents.get_or_insert_default().extend(items);
        }
    }
    Ok(view)
}

fn base_item(stats: KnowledgeIndexStats) -> KnowledgeBaseItem {
    KnowledgeBaseItem {
        dir: stats.folder,
        files: stats.files,
        documents: stats.documents,
        indexed_at: stats.indexed_at,
    }
}

fn document_item(document: KnowledgeDocument, file: String) -> KbDocument {
    KbDocument {
        title: document.title,
        url: document.url,
        kind: document.kind,
        published_at: document.published_at,
        captured_at: document.captured_at,
        tags: document.tags,
        file,
    }
}

/// Counts documents by kind, and files that changed since they were indexed.
pub fn stats(context: &Context<'_>, dir: Option<&Path>) -> Result<KbStats> {
    let session = Session::begin(context)?;
    let mut stats = KbStats::default();
    for (folder, store) in &open_indexes(&session, dir)? {
        let size = store.stats()?;
        stats.files += size.files;
        stats.documents += size.documents;
        stats.skipped += store.skipped()?.len();
        count_stale(&session, folder, store, &mut stats)?;
        for counts in store.kind_counts()? {
            add_kind(&mut stats, counts);
        }
        stats.bases.push(base_item(size));
    }
    let newest = day_number(&stats.newest);
    for (_, store) in &open_indexes(&session, dir)? {
        stats.old += store
            .document_rows(None)?
            .iter()
            .filter(|row| newest - day_number(&row.captured) > OLD_AFTER_DAYS)
            .count();
    }
    stats.kinds.sort_by(|a, b| b.documents.cmp(&a.documents).then_with(|| a.kind.cmp(&b.kind)));
    Ok(stats)
}

/// Adds the documents of one kind, and widens the range of times.
fn add_kind(stats: &mut KbStats, counts: KindCounts) {
    let KindCounts { kind, documents, oldest, newest } = counts;
    if stats.oldest.is_empty() || oldest < stats.oldest {
        stats.oldest = oldest;
    }
    if newest > stats.newest {
        stats.newest = newest;
    }
    match stats.kinds.iter_mut().find(|known| known.kind == kind) {
        Some(known) => known.documents += documents,
        None => stats.kinds.push(KbKindCount { kind, documents }),
    }
}

/// Counts files that changed since they were indexed.
fn count_stale(
    session: &Session<'_>,
    folder: &Path,
    store: &KnowledgeIndex,
    stats: &mut KbStats,
) -> Result<()> {
    let known = store.files()?;
    let CurrentFiles(now) = CurrentFiles::scan(session, folder)?;
    stats.new += now.keys().filter(|path| !known.contains_key(*path)).count();
    for (path, known) in &known {
        match now.get(path) {
            None => stats.gone += 1,
            Some(now) if has_changed(&known.stamp, now.as_bytes()) => stats.changed += 1,
            Some(_) => {}
        }
    }
    Ok(())
}

/// Returns whether a file changed. An empty stamp, of a file that was read right after a change,
/// counts as unchanged.
fn has_changed(known: &[u8], now: &[u8]) -> bool {
    !known.is_empty() && known != now
}

/// Removes the index of a directory. The directory itself is not changed.
pub fn remove(context: &Context<'_>, dir: &Path, apply: ApplyOptions) -> Result<KbRemoveReport> {
    Session::begin(context)?;
    // The directory itself may be gone already.
    let path =
        resolve_folder(context, dir).unwrap_or_else(|_| context.expand(&dir.to_string_lossy()));
    let mut hasher = PlanHasher::of_operation("context kb remove");
    hasher.path(&path);
    let status = apply.confirm(hasher.finish())?;
    let is_indexed = if status.applied {
        KnowledgeIndex::remove(context, &path)?
    } else {
        KnowledgeIndex::exists(context, &path)
    };
    if !is_indexed {
        return Err(Error::new(
            ErrorCode::NothingFound,
            format!("`{}` is not in the knowledge base", context.display_path(&path)),
        )
        .hint("run `sp context kb list` to list the directories that are"));
    }
    Ok(KbRemoveReport { status, dir: path })
}

/// Opens the index of a directory, or of all that were added.
pub(super) fn open_indexes(
    session: &Session<'_>,
    dir: Option<&Path>,
) -> Result<Vec<(PathBuf, KnowledgeIndex)>> {
    let context = session.context;
    let Some(dir) = dir else {
        let all = KnowledgeIndex::open_all(context);
        return if all.is_empty() { Err(no_knowledge_base()) } else { Ok(all) };
    };
    let path = resolve_folder(context, dir)?;
    match KnowledgeIndex::open_existing(context, &path) {
        Some(store) => Ok(vec![(path, store)]),
        None => Err(Error::new(
            ErrorCode::NothingFound,
            format!("`{}` is not in the knowledge base", context.display_path(&path)),
        )
        .hint(format!("run `sp context kb add {}` to add it", context.display_path(&path)))),
    }
}

/// The current files of a directory, to compare with the index.
pub(super) struct CurrentFiles(HashMap<String, Digest>);

impl CurrentFiles {
    pub(super) fn scan(session: &Session<'_>, folder: &Path) -> Result<Self> {
        let Ok(root) = Dir::open(folder) else { return Ok(Self(HashMap::new())) };
        let (found, _) = list_files(session, &root)?;
        Ok(Self(found.iter().map(|file| (file.path.to_string(), file.fingerprint())).collect()))
    }

    /// Returns whether a file changed since it was indexed.
    pub(super) fn state(&self, store: &KnowledgeIndex, path: &str) -> Result<KbFileState> {
        let known = store.file_stamp(path)?.unwrap_or_default();
        Ok(match self.0.get(path) {
            None => KbFileState::Gone,
            Some(now) if has_changed(&known, now.as_bytes()) => KbFileState::Changed,
            Some(_) => KbFileState::Fresh,
        })
    }
}

/// Returns the number of the day of a timestamp.
pub(super) fn day_number(moment: &str) -> i32 {
    let date: Option<Date> = moment.get(..10).and_then(|day| day.parse().ok());
    date.map_or(0, |date| date.since(Date::ZERO).map_or(0, |span| span.get_days()))
}
