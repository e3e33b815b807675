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
    "Load the most relevant knowledge in packages about a topic or question, within a token \
     budget.",
)
.with_data_fields(&["context"]);
const GRAPH_NEIGHBORS: ToolSpec = ToolSpec::read_only(
    "graph_neighbors",
    "Graph neighbors",
    "Show the nodes of packages within a number of steps from a node, and the edges between them.",
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
    /// Package names, optionally with a version range, such as `@acme/notes@^1`. Default: the
    /// packages of the project, if there is one.
    #[serde(default)]
    packages: Vec<String>,
    /// Topic or question. Empty for everything.
    #[serde(default)]
    focus: String,
    /// Maximum number of tokens. Default: 4000.
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
        let message = format!("a budget of {budget} tokens exceeds the maximum of {MAX_BUDGET}");
        return Err(Error::new(ErrorCode::ArgumentTooLarge, message).hint("use a smaller `budget`"));
    }
    backend.load(check_package_count(&packages)?, KnowledgeLoadRequest { focus, budget }, call)
}

#[derive(Deserialize, JsonSchema)]
struct GraphNeighborsInput {
    /// Package names, optionally with a version range. Default: the packages of the project, if
    /// there is one.
    #[serde(default)]
    packages: Vec<String>,
    /// Node ID.
    node: String,
    /// Maximum number of edges between the node and the others, up to 5. Default: 1.
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
            format!("`steps` exceeds the maximum of {MAX_STEPS}"),
        )
        .hint("use a smaller `steps`"));
    }
    let view =
        backend.query(check_package_count(&packages)?, GraphQuery::Near(node, steps), call)?;
    if view.nodes.len() > MAX_NODES {
        let message = format!("{} nodes exceed the maximum of {MAX_NODES}", view.nodes.len());
        return Err(Error::new(ErrorCode::ResponseTooLarge, message).hint("use a smaller `steps`"));
    }
    Ok(view)
}

fn check_package_count(packages: &[String]) -> Result<&[String]> {
    if packages.len() > MAX_PACKAGES {
        let message = format!("`packages` exceeds the maximum of {MAX_PACKAGES}");
        return Err(Error::new(ErrorCode::ArgumentTooLarge, message).hint("pass fewer packages"));
    }
    Ok(packages)
}
