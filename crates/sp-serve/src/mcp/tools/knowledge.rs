//! `load_context` and `graph_neighbors`, for shelves whose packages can be asked what they know.

use schemars::JsonSchema;
use serde::Deserialize;
use sp_engine::pkg::Query;
use sp_engine::{Error, Kind, Result};
use sp_formats::output::{GraphView, PackageLoaded};

use super::{About, Call, Tool};
use crate::mcp::shelf::Shelf;

/// So many tokens are loaded if nothing is said, and at the most.
const USUAL_BUDGET: usize = 4_000;
pub(crate) const LARGEST_BUDGET: usize = 200_000;
/// So many steps are gone from a node at the most, and so many nodes are shown.
const MOST_STEPS: usize = 5;
const MOST_NODES: usize = 500;
/// So many packages are asked at once.
const MOST_PACKAGES: usize = 32;

const LOAD_CONTEXT: About = About::reads(
    "load_context",
    "Load context",
    "Load the best of what packages know about a question, within a number of tokens.",
)
.with_data(&["context"]);
const GRAPH_NEIGHBORS: About = About::reads(
    "graph_neighbors",
    "Graph neighbours",
    "Show what packages know near a node: nodes within some steps, and the edges between them.",
)
.with_data(&["content"]);

/// A shelf whose packages can be asked.
pub trait Knowledge: Shelf {
    /// The best of what packages know about something, within a number of tokens.
    fn load(&self, packages: &[String], wanted: Loading, call: &Call) -> Result<PackageLoaded>;

    /// What packages answer.
    fn query(&self, packages: &[String], query: Query, call: &Call) -> Result<GraphView>;
}

/// What is to be loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loading {
    /// What it should be about; nothing means everything.
    pub focus: String,
    /// The most tokens.
    pub budget: usize,
}

/// The tools.
pub fn tools<S: Knowledge>() -> Vec<Tool<S>> {
    vec![Tool::new(LOAD_CONTEXT, load_context), Tool::new(GRAPH_NEIGHBORS, graph_neighbors)]
}

#[derive(Deserialize, JsonSchema)]
struct LoadWanted {
    /// Packages by name, as `@acme/notes@^1`. If nothing is said, those of the project, where there is one.
    #[serde(default)]
    packages: Vec<String>,
    /// What it should be about.
    #[serde(default)]
    focus: String,
    /// How many tokens it may have; 4,000 if nothing is said.
    #[serde(default = "usual_budget")]
    budget: usize,
}

fn usual_budget() -> usize {
    USUAL_BUDGET
}

fn load_context<S: Knowledge>(shelf: &S, wanted: LoadWanted, call: &Call) -> Result<PackageLoaded> {
    let LoadWanted { packages, focus, budget } = wanted;
    if budget > LARGEST_BUDGET {
        let message = format!("{budget} tokens are more than {LARGEST_BUDGET}");
        return Err(Error::new(Kind::Usage, message).hint("ask for fewer"));
    }
    shelf.load(few(&packages)?, Loading { focus, budget }, call)
}

#[derive(Deserialize, JsonSchema)]
struct NeighborsWanted {
    /// Packages by name. If nothing is said, those of the project, where there is one.
    #[serde(default)]
    packages: Vec<String>,
    /// The id of the node.
    node: String,
    /// How many steps from it; one if nothing is said, five at the most.
    #[serde(default = "one")]
    steps: usize,
}

fn one() -> usize {
    1
}

fn graph_neighbors<S: Knowledge>(shelf: &S, wanted: NeighborsWanted, call: &Call) -> Result<GraphView> {
    let NeighborsWanted { packages, node, steps } = wanted;
    if steps > MOST_STEPS {
        return Err(Error::new(Kind::Usage, format!("{MOST_STEPS} steps are the most")).hint("ask for fewer"));
    }
    let view = shelf.query(few(&packages)?, Query::Near(node, steps), call)?;
    match view.nodes.len() > MOST_NODES {
        true => Err(Error::new(Kind::Request, format!("{} nodes are too many to show", view.nodes.len()))
            .hint("ask for fewer steps")),
        false => Ok(view),
    }
}

/// Each package is read whole, so they cannot be any number.
fn few(packages: &[String]) -> Result<&[String]> {
    match packages.len() > MOST_PACKAGES {
        true => Err(Error::new(Kind::Usage, format!("{MOST_PACKAGES} packages are the most")).hint("ask for fewer")),
        false => Ok(packages),
    }
}
