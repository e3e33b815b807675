//! `load_context` and `graph_neighbors`.

use schemars::JsonSchema;
use serde::Deserialize;
use sp_engine::pkg::{LoadRequest, Query, QueryRequest, load, query};
use sp_engine::{Error, Kind, Result};
use sp_formats::output::{GraphView, PackageLoaded};
use sp_formats::package::Shape;

use super::Local;
use crate::tools::{About, Call, Tool};

/// So many tokens are loaded if nothing is said, and at the most.
const USUAL_BUDGET: usize = 4_000;
const LARGEST_BUDGET: usize = 200_000;
/// So many steps are gone from a node at the most, and so many nodes are shown.
const MOST_STEPS: usize = 5;
const MOST_NODES: usize = 500;

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

pub(super) fn tools() -> Vec<Tool<Local>> {
    vec![Tool::new(LOAD_CONTEXT, load_context), Tool::new(GRAPH_NEIGHBORS, graph_neighbors)]
}

#[derive(Deserialize, JsonSchema)]
struct LoadWanted {
    /// Packages by name, as `@acme/notes@^1`; those of the project if nothing is said.
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

fn load_context(local: &Local, wanted: LoadWanted, call: &Call) -> Result<PackageLoaded> {
    if wanted.budget > LARGEST_BUDGET {
        let message = format!("{} tokens are more than {LARGEST_BUDGET}", wanted.budget);
        return Err(Error::new(Kind::Usage, message).hint("ask for fewer"));
    }
    let request = LoadRequest {
        packages: local.packages_named(&wanted.packages)?,
        budget: wanted.budget,
        focus: wanted.focus,
        at: None,
        shape: Shape::Markdown,
        root: local.settings.shelves.root.clone(),
    };
    local.with(Some(call), |context| load(context, &request))
}

#[derive(Deserialize, JsonSchema)]
struct NeighborsWanted {
    /// Packages by name; those of the project if nothing is said.
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

fn graph_neighbors(local: &Local, wanted: NeighborsWanted, call: &Call) -> Result<GraphView> {
    if wanted.steps > MOST_STEPS {
        return Err(Error::new(Kind::Usage, format!("{MOST_STEPS} steps are the most")).hint("ask for fewer"));
    }
    let request = QueryRequest {
        packages: local.packages_named(&wanted.packages)?,
        query: Query::Near(wanted.node, wanted.steps),
        root: local.settings.shelves.root.clone(),
    };
    let view = local.with(Some(call), |context| query(context, &request))?;
    match view.nodes.len() > MOST_NODES {
        true => Err(Error::new(Kind::Request, format!("{} nodes are too many to show", view.nodes.len()))
            .hint("ask for fewer steps")),
        false => Ok(view),
    }
}

impl Local {
    /// Packages by name, or files of packages that lie where this server looks.
    fn packages_named(&self, names: &[String]) -> Result<Vec<String>> {
        let named = |name: &String| match name.ends_with(".ctxpkg") || name.starts_with(['/', '~', '.']) {
            true => self.inside(name).map(|path| path.to_string_lossy().into_owned()),
            false => Ok(name.clone()),
        };
        names.iter().map(named).collect()
    }
}
