//! `sp context kb search`: finds documents, each with its best sentence.

use std::path::{Path, PathBuf};

use sp_analyze::knowledge::{
    DocumentRanking, IndexedDocument, KnowledgeDocument, KnowledgeQuery, best_sentence,
    merge_words, rank,
};
use sp_formats::output::{KbFileState, KbHit, KbSearchReport};

use super::commands::{CurrentFiles, day_number, open_indexes};
use super::index::KnowledgeIndex;
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
        return Err(Error::new(ErrorCode::MissingArgument, "there is no word to look for")
            .hint("name what the documents are about"));
    }
    let stores = open_indexes(&session, request.folder.as_deref())?;
    let stores: Vec<(&Path, &KnowledgeIndex)> =
        stores.iter().map(|(folder, store)| (folder.as_path(), store)).collect();
    let records = MergedDocuments::load(stores.iter().map(|(_, store)| *store), None)?;
    let DocumentRanking { hits: places, word_weights: worth } = rank(&records.documents, &question);
    let now: Vec<CurrentFiles> = stores
        .iter()
        .map(|(folder, _)| CurrentFiles::scan(&session, folder))
        .collect::<Result<_>>()?;
    let mut hits = Vec::new();
    for (at, score) in places.iter().take(request.limit) {
        let (document, files) = records.document(*at, &stores)?;
        let snippet = best_sentence(&document, &worth).unwrap_or_default();
        let state = |(number, path): &(usize, String)| now[*number].state(stores[*number].1, path);
        let states: Vec<KbFileState> = files.iter().map(state).collect::<Result<_>>()?;
        let Some((number, path)) = files.first() else { continue };
        hits.push(KbHit {
            title: document.title,
            url: document.url,
            kind: document.kind,
            published_at: document.published_at,
            captured_at: document.captured_at,
            file: stores[*number].0.join(path),
            snippet,
            score: *score,
            state: states.into_iter().max().unwrap_or(KbFileState::Fresh),
        });
    }
    Ok(KbSearchReport {
        query: request.query.clone(),
        documents: records.documents.len(),
        found: places.len(),
        hits,
    })
}

/// The documents of several indexes, merged by URL.
pub(crate) struct MergedDocuments {
    pub documents: Vec<IndexedDocument>,
    /// The parts of each document: the number of the index, and the row ID.
    parts: Vec<Vec<(usize, i64)>>,
    time_range: (String, String),
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
        let span = (captured().min().unwrap_or_default(), captured().max().unwrap_or_default());
        let (mut candidates, mut parts): (Vec<IndexedDocument>, Vec<Vec<(usize, i64)>>) =
            (Vec::new(), Vec::new());
        for (number, row) in rows {
            match candidates.last_mut().zip(parts.last_mut()) {
                Some((known, parts))
                    if known.identity == row.identity && parts.len() >= MAX_PARTS => {}
                Some((known, parts)) if known.identity == row.identity => {
                    known.words = merge_words(&known.words, &row.words);
                    known.day = known.day.max(day_number(&row.captured));
                    parts.push((number, row.id));
                }
                _ => {
                    let day = day_number(&row.captured);
                    candidates.push(IndexedDocument {
                        identity: row.identity,
                        day,
                        words: row.words,
                    });
                    parts.push(vec![(number, row.id)]);
                }
            }
        }
        Ok(Self { documents: candidates, parts, time_range: span })
    }

    /// Returns the times of the oldest and the newest document.
    pub(crate) fn time_range(&self) -> (String, String) {
        self.time_range.clone()
    }

    /// Returns a document merged from its parts, and the index and file of each part.
    pub(crate) fn document(
        &self,
        at: usize,
        stores: &[(&Path, &KnowledgeIndex)],
    ) -> Result<(KnowledgeDocument, Vec<(usize, String)>)> {
        let mut whole: Option<KnowledgeDocument> = None;
        let mut files = Vec::new();
        for (number, row) in &self.parts[at] {
            let (document, path) = stores[*number].1.document(*row)?;
            files.push((*number, path));
            match &mut whole {
                None => whole = Some(document),
                Some(known) => known.merge(document),
            }
        }
        Ok((whole.unwrap_or_default(), files))
    }
}
