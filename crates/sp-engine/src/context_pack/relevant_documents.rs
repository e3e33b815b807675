//! Finds the documents of knowledge bases that a context pack quotes.

use std::collections::HashMap;
use std::path::Path;

use sp_analyze::knowledge::{Brief, DocumentRanking, OmittedItem, RankedSource, rank};

use super::generation_progress::GenerationProgress;
use super::generation_times::GenerationTimes;
use crate::error::{Error, ErrorCode, Result};
use crate::kb::{KnowledgeBase, KnowledgeIndex, MergedDocuments, TimeRange};

/// The maximum number of documents that are quoted.
const MAX_SOURCES: usize = 16;
/// The number of documents to which the lenient minimum score applies.
const LENIENT_SOURCES: usize = 4;
/// The minimum score of a document, in percent of the best score.
const MIN_SCORE_PERCENT: u64 = 40;
const LENIENT_MIN_SCORE_PERCENT: u64 = 20;
/// The maximum number of omitted documents that are reported.
const MAX_OMITTED_DOCUMENTS: usize = 50;

/// How many documents were considered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DocumentCounts {
    pub total: usize,
    /// Documents in the time window.
    pub in_window: usize,
    /// Documents in the time window that match the brief.
    pub relevant: usize,
}

/// The documents of the knowledge bases that match a brief.
pub(super) struct RelevantDocuments {
    pub sources: Vec<RankedSource>,
    pub word_weights: HashMap<u64, f64>,
    pub omitted: Vec<OmittedItem>,
    pub counts: DocumentCounts,
    pub time_range: TimeRange,
}

impl RelevantDocuments {
    pub(super) fn search(
        bases: &[KnowledgeBase],
        brief: &Brief,
        times: &GenerationTimes,
        progress: &mut GenerationProgress<'_>,
    ) -> Result<Self> {
        let stores: Vec<(&Path, &KnowledgeIndex)> =
            bases.iter().map(|base| (base.folder.as_path(), &base.index)).collect();
        let WindowDocuments { total, records } = load_window(bases, &stores, times)?;
        progress.check_cancelled()?;
        let DocumentRanking { hits, word_weights } = rank(&records.documents, &brief.to_query());
        let best = hits.first().map_or(0, |(_, score)| *score);
        if best == 0 {
            return Err(no_match_error(records.documents.len(), times));
        }
        let in_window = records.documents.len();
        let mut found = Self {
            sources: Vec::new(),
            word_weights,
            omitted: Vec::new(),
            counts: DocumentCounts { total, in_window, relevant: hits.len() },
            time_range: records.time_range(),
        };
        found.read_hits(&hits, &records, &stores, progress)?;
        Ok(found)
    }

    /// Reads the best hits as sources, and some of the others as omitted documents.
    fn read_hits(
        &mut self,
        hits: &[(usize, u64)],
        records: &MergedDocuments,
        stores: &[(&Path, &KnowledgeIndex)],
        progress: &mut GenerationProgress<'_>,
    ) -> Result<()> {
        let near = near_hits(hits);
        let near_count = near.iter().filter(|is_near| **is_near).count();
        progress.add_documents(hits.len().min(near_count + MAX_OMITTED_DOCUMENTS));
        for ((document, score), is_near) in hits.iter().zip(near) {
            if is_near {
                let document = records.document(*document, stores)?.document;
                self.sources.push(RankedSource::new(document, *score));
            } else if self.omitted.len() < MAX_OMITTED_DOCUMENTS {
                self.omitted.push(OmittedItem {
                    url: records.document(*document, stores)?.document.url,
                    text: None,
                    reason: "other documents are more relevant".to_owned(),
                });
            } else {
                continue;
            }
            progress.advance()?;
        }
        Ok(())
    }
}

/// Returns for each hit whether its score is near enough to the best one to be quoted.
fn near_hits(hits: &[(usize, u64)]) -> Vec<bool> {
    let best = hits.first().map_or(0, |(_, score)| *score);
    let is_near = |(number, (_, score)): (usize, &(usize, u64))| {
        let percent = score * 100 / best;
        match number {
            ..LENIENT_SOURCES => percent >= LENIENT_MIN_SCORE_PERCENT,
            LENIENT_SOURCES..MAX_SOURCES => percent >= MIN_SCORE_PERCENT,
            _ => false,
        }
    };
    hits.iter().enumerate().map(is_near).collect()
}

/// The documents in the time window.
struct WindowDocuments {
    /// The number of all documents.
    total: usize,
    records: MergedDocuments,
}

fn load_window(
    bases: &[KnowledgeBase],
    stores: &[(&Path, &KnowledgeIndex)],
    times: &GenerationTimes,
) -> Result<WindowDocuments> {
    let load = |since| MergedDocuments::load(stores.iter().map(|(_, store)| *store), since);
    let all = load(None)?;
    let total = all.documents.len();
    if total == 0 {
        return Err(no_documents_error(bases));
    }
    let records = match times.since.as_deref() {
        Some(since) => load(Some(since))?,
        None => all,
    };
    Ok(WindowDocuments { total, records })
}

fn no_documents_error(bases: &[KnowledgeBase]) -> Error {
    let skipped: Vec<_> = bases.iter().flat_map(|base| &base.skipped).collect();
    let error = Error::new(ErrorCode::NothingFound, "the knowledge base has no documents");
    match skipped.first() {
        Some(first) => error
            .because(format!(
                "skipped inputs: {}; the first is `{}`: {}",
                skipped.len(),
                first.path,
                first.reason
            ))
            .hint(
                "give every document a URL and a date: `url:` and `captured_at:` in its \
                 frontmatter, or `base_url:` and `captured_at:` in a `kb.yaml` in its directory",
            ),
        None => error.hint(
            "add Markdown files, saved pages, `.jsonl` captures, bookmarks, `llms.txt`, packages \
             or skills",
        ),
    }
}

fn no_match_error(in_window: usize, times: &GenerationTimes) -> Error {
    let error = Error::new(ErrorCode::NothingFound, "no document matches the description");
    match (&times.since, in_window) {
        (Some(since), 0) => error
            .because(format!("no document was captured since {since}"))
            .hint("set an earlier date with `--since`"),
        _ => error.hint(
            "describe the topic in `--description` or `--prompt` with terms that the documents use",
        ),
    }
}
