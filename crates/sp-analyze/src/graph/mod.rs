//! What is done with the knowledge graph of a package: merged, aged, searched, drawn.
//!
//! The layout of a graph is [`sp_formats::package::Graph`]. Everything here takes one or several of
//! them and returns values or text; ties are broken by ID, so the same input always gives the same
//! output.

mod brought;
mod decay;
mod draw;
mod evolve;
mod merge;
mod page;
mod query;
mod reading;
mod relevance;
mod render;
mod select;
mod svg;

pub use brought::{Brought, brought};
pub use decay::activation_at;
pub use draw::{dot, mermaid};
pub use evolve::{Evolution, evolve};
pub use merge::{Contradiction, Ids, Merged, Voice, merge};
pub use page::page;
pub use query::{Filter, find, near, path};
pub use reading::{Reading, reading};
pub use render::Shape;
pub use select::{Chosen, Question, Reason, Selection, select};
pub use svg::{Picture, picture};
