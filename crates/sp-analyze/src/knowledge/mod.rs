//! What somebody has collected, and what of it a project needs.
//!
//! Files in, documents out ([`read`]): notes, vaults, saved pages, captures, bookmarks, lists of links,
//! packages and skills all become [`Document`]s, sentences with an address and a date. Documents in, a pack
//! out. No disk, no network, no clock, no model: the same input gives the same output everywhere.

mod address;
mod claim;
mod compose;
mod date;
mod document;
mod forms;
mod html;
mod index;
mod markdown;
mod meta;
mod names;
mod page;
mod phrases;
mod rank;
mod sentence;

pub use address::{address, identity, source_id};
pub use claim::best_sentence;
pub use compose::{Brief, Choosable, Composed, Left, Pick, Pool, Source, Span, TooSmall, compose, gather};
pub use document::{Block, Document, Section, Sort};
pub use forms::{FOLDER_FILE, File, Folder, Read, Skipped, most_bytes, read, sidecars};
pub use index::{join, words};
pub use rank::{Candidate, Question, Ranking, rank};
pub use sentence::plain;
