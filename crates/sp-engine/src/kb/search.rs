//! `sp context kb search`: finds documents, each with its best sentence.

use std::path::{Path, PathBuf};

use sp_analyze::knowledge::{
    DocumentRanking, IndexedDocument, KnowledgeDocument, KnowledgeQuery, best_sentence,
    merge_words, rank,
};
use sp_formats::output::{KbFileState, KbHit, KbSearchReport};

use super::commands::{CurrentFiles, day_number, open_indexes};
use super::index::{DocumentRow, KnowledgeIndex};
use crate::context::Context;
use crate::error::{Error, ErrorCode, Result};
use crate::session::Session;

/// The maximum number of copies of one page that are merged.
const MAX_PARTS: usize = 64;

/// The arguments of `sp context kb search`.
#[derive(Debug, Clone)]
pub struct KnowledgeSearchRequest {
    pub query: String,
    /// The directory. The default is all that were added.
    pub folder: Option<PathBuf>,
    /// The maximum number of results.
    pub limit: usize,
}

/// Searches for documents.
pub fn search(context: &Context<'_>, request: &KnowledgeSearchRequest) -> Result<KbSearchReport> {
    let session = Session::begin(context)?;
    let question = KnowledgeQuery::new(&[(&request.query, 1.0)]);
    if question.is_empty() {
        return Err(Error::new(ErrorCode::MissingArgument, "the search query is empty")
            .hint("specify one or more words to search for"));
    }
    let stores = open_indexes(&session, request.folder.as_deref())?;
    let stores: Vec<(&Path, &KnowledgeIndex)> =
        stores.iter().map(|(folder, store)| (folder.as_path(), store)).collect();
    let records = MergedDocuments::load(stores.iter().map(|(_, store)| *store), None)?;
    let DocumentRanking { hits: ranked, word_weights } = rank(&records.documents, &question);
    let current: Vec<CurrentFiles> = stores
        .iter()
        .map(|(folder, _)| CurrentFiles::scan(&session, folder))
        .collect::<Result<_>>()?;
    let mut hits = Vec::new();
    for (index, score) in ranked.iter().take(request.limit) {
        let merged = records.document(*index, &stores)?;
        let snippet = best_sentence(&merged.document, &word_weights).unwrap_or_default();
        let state = merged_state(&merged.parts, &stores, &current)?;
        let Some(part) = merged.parts.first() else { continue };
        hits.push(KbHit {
            file: stores[part.store].0.join(&part.path),
            title: merged.document.title,
            url: merged.document.url,
            kind: merged.document.kind,
            published_at: merged.document.published_at,
            captured_at: merged.document.captured_at,
            snippet,
            score: *score,
            state,
        });
    }
    Ok(KbSearchReport {
        query: request.query.clone(),
        documents: records.documents.len(),
        found: ranked.len(),
        hits,
    })
}

/// Returns the state of the file that changed most among those of a document.
fn merged_state(
    parts: &[DocumentPart],
    stores: &[(&Path, &KnowledgeIndex)],
    current: &[CurrentFiles],
) -> Result<KbFileState> {
    let state = |part: &DocumentPart| current[part.store].state(stores[part.store].1, &part.path);
    let states: Vec<KbFileState> = parts.iter().map(state).collect::<Result<_>>()?;
    Ok(states.into_iter().max().unwrap_or(KbFileState::Fresh))
}

/// The documents of several indexes, merged by URL.
#[derive(Default)]
pub(crate) struct MergedDocuments {
    pub documents: Vec<IndexedDocument>,
    /// The rows that each document is merged from.
    rows: Vec<Vec<StoredRow>>,
    time_range: TimeRange,
}

/// The times of the oldest and the newest document.
#[derive(Debug, Clone, Default)]
pub(crate) struct TimeRange {
    pub oldest: String,
    pub newest: String,
}

/// A row of one of the indexes.
struct StoredRow {
    /// The number of the index.
    store: usize,
    id: i64,
}

/// A document that is merged from its parts.
pub(crate) struct MergedDocument {
    pub document: KnowledgeDocument,
    parts: Vec<DocumentPart>,
}

/// The file of one part of a document.
struct DocumentPart {
    /// The number of the index.
    store: usize,
    path: String,
}

impl MergedDocuments {
    /// Loads the documents that were captured at this time or later.
    pub(crate) fn load<'s>(
        stores: impl Iterator<Item = &'s KnowledgeIndex>,
        since: Option<&str>,
    ) -> Result<Self> {
        let mut rows = Vec::new();
        for (number, store) in stores.enumerate() {
            rows.extend(store.document_rows(since)?.into_iter().map(|row| (number, row)));
        }
        // Each index returns its rows sorted by URL and path.
        rows.sort_by(|(a_store, a), (b_store, b)| {
            a.identity.cmp(&b.identity).then(a_store.cmp(b_store))
        });
        let captured = || rows.iter().map(|(_, row)| row.captured.clone());
        let mut merged = Self {
            time_range: TimeRange {
                oldest: captured().min().unwrap_or_default(),
                newest: captured().max().unwrap_or_default(),
            },
            ..Self::default()
        };
        for (store, row) in rows {
            merged.add(store, row);
        }
        Ok(merged)
    }

    /// Adds a row to the last document if it has the same URL, or else as a new document.
    fn add(&mut self, store: usize, row: DocumentRow) {
        let stored = StoredRow { store, id: row.id };
        let day = day_number(&row.captured);
        match self.documents.last_mut().zip(self.rows.last_mut()) {
            Some((known, rows)) if known.identity == row.identity => {
                if rows.len() < MAX_PARTS {
                    known.words = merge_words(&known.words, &row.words);
                    known.day = known.day.max(day);
                    rows.push(stored);
                }
            }
            _ => {
                let (identity, words) = (row.identity, row.words);
                self.documents.push(IndexedDocument { identity, day, words });
                self.rows.push(vec![stored]);
            }
        }
    }

    pub(crate) fn time_range(&self) -> TimeRange {
        self.time_range.clone()
    }

    /// Returns a document merged from its parts.
    pub(crate) fn document(
        &self,
        index: usize,
        stores: &[(&Path, &KnowledgeIndex)],
    ) -> Result<MergedDocument> {
        let mut merged: Option<KnowledgeDocument> = None;
        let mut parts = Vec::new();
        for StoredRow { store, id } in &self.rows[index] {
            let (document, path) = stores[*store].1.document(*id)?;
            parts.push(DocumentPart { store: *store, path });
            match &mut merged {
                None => merged = Some(document),
                Some(known) => known.merge(document),
            }
        }
        Ok(MergedDocument { document: merged.unwrap_or_default(), parts })
    }
}
