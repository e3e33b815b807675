//! Text and graphs in, knowledge out.
//!
//! - [`extract`] reads a project's files into the nodes and edges of a knowledge graph;
//! - [`knowledge`] reads notes, pages and bookmarks into documents, and selects what a context pack
//!   says from them;
//! - [`graph`] merges, ages, searches, selects and draws knowledge graphs;
//! - [`tokens`] counts tokens, [`hidden`] finds text that people do not see, [`secrets`] finds
//!   credentials, and [`audit`] collects what a skill brings and refers to.
//!
//! All of it is pure: nothing here touches disk or network, reads the clock, or prints. The same
//! input gives the same output on every machine.

pub mod audit;
pub mod extract;
pub mod graph;
pub mod hidden;
mod hosts;
mod interner;
pub mod knowledge;
pub mod secrets;
pub mod stemming;
pub mod tokens;
