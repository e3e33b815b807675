//! Turns a collection of texts into context packs.
//!
//! [`parse_file`] reads notes, vaults, saved pages, captures, bookmarks, link lists, packages and
//! skills into [`KnowledgeDocument`]s: sentences with a URL and a date. [`rank()`] orders documents
//! by relevance to a [`KnowledgeQuery`], and [`compose()`] writes a pack from quotes of the best
//! ones.
//!
//! Nothing here touches disk or network, reads the clock, or calls a model, so the same input gives
//! the same output everywhere.

mod classify;
mod compose;
mod date;
mod document;
mod formats;
mod html;
mod markdown;
mod meta;
mod phrases;
mod rank;
mod sentence;
mod synonyms;
mod url;
mod web_page;
mod word_index;

pub use classify::best_sentence;
pub use compose::{
    Brief, BudgetError, CandidateList, CandidateSentence, ClaimPool, ComposedFiles, OmittedItem,
    RankedSource, SelectedQuote, collect_claims, compose,
};
pub use document::{KnowledgeBlock, KnowledgeBlockKind, KnowledgeDocument, KnowledgeSection};
pub use formats::{
    FOLDER_DEFAULTS_FILE, FolderDefaults, KnowledgeFile, ParsedDocuments, SkippedInput,
    max_file_bytes, parse_file, sidecar_paths,
};
pub use rank::{DocumentRanking, IndexedDocument, KnowledgeQuery, rank};
pub use sentence::to_plain_text;
pub use url::{normalize_url, source_id, url_identity};
pub use word_index::{index_words, merge_words};
