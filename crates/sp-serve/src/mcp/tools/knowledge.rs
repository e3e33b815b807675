//! `load_context` and `graph_neighbors`, for backends that can query the graphs of packages.

use schemars::JsonSchema;
use serde::Deserialize;
use sp_engine::pkg::GraphQuery;
use sp_engine::{Error, ErrorCode, Result};
use sp_formats::output::{GraphView, PackageLoadReport};

use crate::mcp::backend::McpBackend;
use crate::mcp::tool::{McpTool, ToolSpec};
use crate::mcp::tool_call::ToolCall;

const DEFAULT_BUDGET: usize = 4_000;
pub(crate) const MAX_BUDGET: usize = 200_000;
const MAX_STEPS: usize = 5;
const MAX_NODES: usize = 500;
/// Every package is read as a whole.
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

pub trait KnowledgeBackend: McpBackend {
    /// Selects the most relevant nodes of the packages, within a token budget.
    fn load(
        &self,
        packages: &[String],
        request: KnowledgeLoadRequest,
        call: &ToolCall,
    ) -> Result<PackageLoadReport>;

    fn query(&self, packages: &[String], query: GraphQuery, call: &ToolCall) -> Result<GraphView>;
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnowledgeLoadRequest {
    /// The topic; empty for everything.
    pub focus: String,
    /// In tokens.
    pub budget: usize,
}

pub fn tools<B: KnowledgeBackend>() -> Vec<McpTool<B>> {
    vec![McpTool::new(LOAD_CONTEXT, load_context), McpTool::new(GRAPH_NEIGHBORS, graph_neighbors)]
}

#[derive(Deserialize, JsonSchema)]
struct LoadContextInput {
    /// Packages by name, as `@acme/notes@^1`. If nothing is said, those of the project, where there
    /// is one.
    #[serde(default)]
    packages: Vec<String>,
    /// What it should be about.
    #[serde(default)]
    focus: String,
    /// How many tokens it may have; 4,000 if nothing is said.
    #[serde(default = "default_budget")]
    budget: usize,
}

fn default_budget() -> usize {
    DEFAULT_BUDGET
}

fn load_context<B: KnowledgeBackend>(
    backend: &B,
    input: LoadContextInput,
    call: &ToolCall,
) -> Result<PackageLoadReport> {
    let LoadContextInput { packages, focus, budget } = input;
    if budget > MAX_BUDGET {
        let message = format!("{budget} tokens are more than {MAX_BUDGET}");
        return Err(Error::new(ErrorCode::ArgumentTooLarge, message).hint("ask for fewer"));
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
    #[serde(default = "default_steps")]
    steps: usize,
}

fn default_steps() -> usize {
    1
}

fn graph_neighbors<B: KnowledgeBackend>(
    backend: &B,
    input: GraphNeighborsInput,
    call: &ToolCall,
) -> Result<GraphView> {
    let GraphNeighborsInput { packages, node, steps } = input;
    if steps > MAX_STEPS {
        return Err(Error::new(
            ErrorCode::ArgumentTooLarge,
            format!("{MAX_STEPS} steps are the most"),
        )
        .hint("ask for fewer"));
    }
    let view =
        backend.query(check_package_count(&packages)?, GraphQuery::Near(node, steps), call)?;
    if view.nodes.len() > MAX_NODES {
        let message = format!("{} nodes are too many to show", view.nodes.len());
        return Err(Error::new(ErrorCode::ResponseTooLarge, message).hint("ask for fewer steps"));
    }
    Ok(view)
}

fn check_package_count(packages: &[String]) -> Result<&[String]> {
    if packages.len() > MAX_PACKAGES {
        let message = format!("{MAX_PACKAGES} packages are the most");
        return Err(Error::new(ErrorCode::ArgumentTooLarge, message).hint("ask for fewer"));
    }
    Ok(packages)
}
