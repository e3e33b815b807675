//! Text and graphs in, knowledge out.
//!
//! - [`extract`] extracts a knowledge graph from the files of a project;
//! - [`knowledge`] parses notes, web pages and bookmarks into documents, and composes context packs
//!   from them;
//! - [`graph`] merges, decays, queries, selects and renders knowledge graphs;
//! - [`three_way`] merges the edits of a user with a newer version of a skill;
//! - [`tokens`] counts tokens, [`hidden`] finds text that people do not see, [`secrets`] finds
//!   credentials, and [`audit`] collects facts about a skill.
//!
//! Everything here is pure: nothing touches disk or network, reads the clock, or prints. The same
//! input gives the same output on every machine.

pub mod audit;
mod bounded_parser;
pub mod extract;
pub mod graph;
pub mod hidden;
mod hosts;
mod interner;
pub mod knowledge;
pub mod secrets;
pub mod stemming;
pub mod three_way;
pub mod tokens;
