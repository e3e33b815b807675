//! What somebody has collected, and what of it a project needs.
//!
//! Files in, documents out ([`read`]): notes, vaults, saved pages, captures, bookmarks, lists of links,
//! packages and skills all become [`Document`]s, sentences with an address and a date. Documents in, a pack
//! out. No disk, no network, no clock, no model: the same input gives the same output everywhere.

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
