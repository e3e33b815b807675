//! Operations on knowledge graphs: merge, decay, query, selection, rendering.
//!
//! The layout of a graph is [`sp_formats::package::Graph`]. Everything here takes one or several of
//! them and returns values or text. Ties are broken by ID, so the same input always gives the same
//! output.

mod decay;
mod diff;
mod draw;
mod evolve;
mod load;
mod merge;
mod page;
mod query;
mod relevance;
mod render;
mod select;
mod svg;

pub use decay::activation_at;
pub use diff::{GraphDiff, diff_graphs};
pub use draw::{to_dot, to_mermaid};
pub use evolve::{GraphEvolution, evolve};
pub use load::{LoadedContext, load_context};
pub use merge::{Contradiction, MergeInput, MergedGraph, NodeIdScheme, merge};
pub use page::render_page;
pub use query::{NodeFilter, find_nodes, neighborhood, shortest_path};
pub use render::ContextFormat;
pub use select::{NodeSelection, OmitReason, RankedNode, SelectionQuery, select};
pub use svg::{GraphSvg, render_svg};
