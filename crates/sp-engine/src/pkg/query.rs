//! `sp pkg query`: finds nodes, neighborhoods and paths in the graph of packages.

use std::collections::HashSet;
use std::path::PathBuf;

use jiff::Timestamp;
use sp_analyze::graph::{NodeFilter, activation_at, find_nodes, neighborhood, shortest_path};
use sp_formats::json::JsonValue;
use sp_formats::output::{GraphEdgeItem, GraphNodeItem, GraphView};
use sp_formats::package::{Graph, GraphEdge, Package};
use sp_formats::suggest::nearest;
use sp_tree::Limits;

use super::package_graphs::PackageGraphs;
use crate::context::Context;
use crate::error::{Error, ErrorCode, Result};
use crate::session::Session;

/// A question about a graph.
#[derive(Debug, Clone)]
pub enum GraphQuery {
    /// Nodes that match a filter.
    Find(NodeFilter),
    /// Nodes within a number of edges of a node.
    Near(String, usize),
    /// The shortest path between two nodes.
    Path(String, String),
}

/// The arguments of `sp pkg query`.
#[derive(Debug, Clone)]
pub struct QueryRequest {
    /// The packages. The default is those of the project.
    pub packages: Vec<String>,
    pub query: GraphQuery,
    pub root: Option<PathBuf>,
}

/// Runs a query.
pub fn query(context: &Context<'_>, request: &QueryRequest) -> Result<GraphView> {
    let session = Session::begin(context)?;
    let graphs = PackageGraphs::load(&session, &request.packages, request.root.as_deref())?;
    run_query(&session.limits, &graphs, &request.query, context.now)
}

/// Like [`query`], for packages that were read already.
pub fn query_packages(
    limits: &Limits,
    packages: Vec<Package>,
    query: &GraphQuery,
    now: Timestamp,
) -> Result<GraphView> {
    run_query(limits, &PackageGraphs::from_packages(limits, packages)?, query, now)
}

/// The indexes of the nodes and edges that answer a query.
struct Selection {
    nodes: Vec<usize>,
    /// The edges of a path; none means all edges between the nodes.
    path: Option<Vec<usize>>,
}

impl Selection {
    fn nodes(nodes: Vec<usize>) -> Self {
        Self { nodes, path: None }
    }
}

fn run_query(
    limits: &Limits,
    graphs: &PackageGraphs,
    query: &GraphQuery,
    now: Timestamp,
) -> Result<GraphView> {
    let sources = graphs.labels();
    graphs.with_graph(limits, |graph| {
        let selection = match query {
            GraphQuery::Find(filter) => Selection::nodes(find_nodes(graph, filter)),
            GraphQuery::Near(id, steps) => {
                let nodes = neighborhood(graph, id, *steps);
                Selection::nodes(nodes.ok_or_else(|| unknown_node_error(graph, id))?)
            }
            GraphQuery::Path(from, to) => {
                let known = |id: &String| graph.nodes.iter().any(|node| node.id == *id);
                if let Some(id) = [from, to].into_iter().find(|id| !known(id)) {
                    return Err(unknown_node_error(graph, id));
                }
                let (nodes, edges) = shortest_path(graph, from, to).ok_or_else(|| {
                    Error::new(
                        ErrorCode::NodeNotFound,
                        format!("no path from `{from}` to `{to}`"),
                    )
                    .hint(
                        "choose nodes that are connected; edges are followed in both directions",
                    )
                })?;
                Selection { nodes, path: Some(edges) }
            }
        };
        Ok(graph_view(now, graph, sources, &selection))
    })
}

pub(super) fn unknown_node_error(graph: &Graph<'_>, id: &str) -> Error {
    let error = Error::new(ErrorCode::NodeNotFound, format!("node `{id}` not found"));
    match nearest(id, graph.nodes.iter().map(|node| &*node.id)) {
        Some(near) => error.hint(format!("did you mean `{near}`?")),
        None => error.hint("run `sp pkg query` to list the nodes"),
    }
}

fn graph_view(
    now: Timestamp,
    graph: &Graph<'_>,
    sources: Vec<String>,
    selection: &Selection,
) -> GraphView {
    let ids: HashSet<&str> = selection.nodes.iter().map(|i| &*graph.nodes[*i].id).collect();
    let is_between = |edge: &&GraphEdge<'_>| ids.contains(&*edge.from) && ids.contains(&*edge.to);
    let edges: Vec<&GraphEdge<'_>> = match &selection.path {
        Some(path) => path.iter().map(|i| &graph.edges[*i]).collect(),
        None => graph.edges.iter().filter(is_between).collect(),
    };
    let node = |index: &usize| {
        let node = &graph.nodes[*index];
        GraphNodeItem {
            id: node.id.clone().into_owned(),
            kind: node.kind.clone().into_owned(),
            content: node.content.clone().into_owned(),
            activation: activation_at(node.value, now),
            file: node.value.get("file_path").and_then(JsonValue::text).map(Into::into),
            line: node.value.get("line_start").and_then(JsonValue::as_u64),
        }
    };
    let edge = |edge: &&GraphEdge<'_>| GraphEdgeItem {
        from: edge.from.clone().into_owned(),
        to: edge.to.clone().into_owned(),
        kind: edge.kind.clone().into_owned(),
        weight: edge.value.get("weight").and_then(JsonValue::as_f64).unwrap_or(1.0),
    };
    GraphView {
        sources,
        nodes: selection.nodes.iter().map(node).collect(),
        edges: edges.iter().map(edge).collect(),
    }
}
