//! `load_context` and `graph_neighbors`, for shelves whose packages can be asked what they know.

use schemars::JsonSchema;
use serde::Deserialize;
use sp_engine::pkg::GraphQuery;
use sp_engine::{Error, FailureKind, Result};
use sp_formats::output::{GraphView, PackageLoadReport};

use crate::mcp::backend::McpBackend;
use crate::mcp::tool::{McpTool, ToolSpec};
use crate::mcp::tool_call::ToolCall;

/// So many tokens are loaded if nothing is said, and at the most.
const DEFAULT_BUDGET: usize = 4_000;
pub(crate) const MAX_BUDGET: usize = 200_000;
/// So many steps are gone from a node at the most, and so many nodes are shown.
const MAX_STEPS: usize = 5;
const MAX_NODES: usize = 500;
/// So many packages are asked at once.
const MAX_PACKAGES: usize = 32;

const LOAD_CONTEXT: ToolSpec = ToolSpec::read_only(
    "load_context",
    "Load context",
    "Load the best of what packages know about a question, within a number of tokens.",
)
.with_data_fields(&["context"]);
const GRAPH_NEIGHBORS: ToolSpec = ToolSpec::read_only(
    "graph_neighbors",
    "Graph neighbours",
    "Show what packages know near a node: nodes within some steps, and the edges between them.",
)
.with_data_fields(&["content"]);

/// A backend whose packages can be asked.
pub trait KnowledgeBackend: McpBackend {
    /// The best of what packages know about something, within a number of tokens.
    fn load(
        &self,
        packages: &[String],
        wanted: KnowledgeLoadRequest,
        call: &ToolCall,
    ) -> Result<PackageLoadReport>;

    /// What packages answer.
    fn query(&self, packages: &[String], query: GraphQuery, call: &ToolCall) -> Result<GraphView>;
}

/// What is to be loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnowledgeLoadRequest {
    /// What it should be about; nothing means everything.
    pub focus: String,
    /// The most tokens.
    pub budget: usize,
}

/// The tools.
pub fn tools<B: KnowledgeBackend>() -> Vec<McpTool<B>> {
    vec![McpTool::new(LOAD_CONTEXT, load_context), McpTool::new(GRAPH_NEIGHBORS, graph_neighbors)]
}

#[derive(Deserialize, JsonSchema)]
struct LoadContextInput {
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
    DEFAULT_BUDGET
}

fn load_context<B: KnowledgeBackend>(
    backend: &B,
    wanted: LoadContextInput,
    call: &ToolCall,
) -> Result<PackageLoadReport> {
    let LoadContextInput { packages, focus, budget } = wanted;
    if budget > MAX_BUDGET {
        let message = format!("{budget} tokens are more than {MAX_BUDGET}");
        return Err(Error::new(FailureKind::Usage, message).hint("ask for fewer"));
    }
    backend.load(check_package_count(&packages)?, KnowledgeLoadRequest { focus, budget }, call)
}

#[derive(Deserialize, JsonSchema)]
struct GraphNeighborsInput {
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

fn graph_neighbors<B: KnowledgeBackend>(
    backend: &B,
    wanted: GraphNeighborsInput,
    call: &ToolCall,
) -> Result<GraphView> {
    let GraphNeighborsInput { packages, node, steps } = wanted;
    if steps > MAX_STEPS {
        return Err(Error::new(FailureKind::Usage, format!("{MAX_STEPS} steps are the most"))
            .hint("ask for fewer"));
    }
    let view =
        backend.query(check_package_count(&packages)?, GraphQuery::Near(node, steps), call)?;
    match view.nodes.len() > MAX_NODES {
        true => Err(Error::new(
            FailureKind::Request,
            format!("{} nodes are too many to show", view.nodes.len()),
        )
        .hint("ask for fewer steps")),
        false => Ok(view),
    }
}

/// Each package is read whole, so they cannot be any number.
fn check_package_count(packages: &[String]) -> Result<&[String]> {
    match packages.len() > MAX_PACKAGES {
        true => {
            Err(Error::new(FailureKind::Usage, format!("{MAX_PACKAGES} packages are the most"))
                .hint("ask for fewer"))
        }
        false => Ok(packages),
    }
}
