//! `sp pkg query` and `sp pkg graph`: what is known, looked at.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use sp_analyze::graph::{
    NodeFilter, activation_at, find_nodes, neighborhood, render_page, shortest_path, to_dot,
    to_mermaid,
};
use sp_formats::json::JsonValue;
use sp_formats::output::{GraphEdgeItem, GraphNodeItem, GraphView};
use sp_formats::package::{Graph, GraphEdge, Package};
use sp_formats::suggest::nearest;
use sp_tree::Limits;
use sp_tree::atomic::{ExistingFilePolicy, FileAccess, OutputFile};

use super::manage::{OUTPUT_OR_FORCE_HINT, Overwrite, write_output_file};
use super::package_graphs::PackageGraphs;
use crate::context::Context;
use crate::error::{Error, FailureKind, Result};
use crate::session::Session;

/// What is asked.
#[derive(Debug, Clone)]
pub enum GraphQuery {
    /// Which nodes.
    Find(NodeFilter),
    /// What is within some steps of a node.
    Near(String, usize),
    /// How two nodes hang together.
    Path(String, String),
}

/// What is asked of which packages.
#[derive(Debug, Clone)]
pub struct QueryRequest {
    /// Packages; none means those of the project.
    pub packages: Vec<String>,
    /// What is asked.
    pub query: GraphQuery,
    /// The project, if it was given.
    pub root: Option<PathBuf>,
}

/// A language in which graphs are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GraphFormat {
    /// Graphviz.
    Dot,
    /// Mermaid.
    Mermaid,
    /// A page that draws itself.
    Html,
}

/// Answers a question.
pub fn query(context: &Context<'_>, request: &QueryRequest) -> Result<GraphView> {
    let session = Session::begin(context)?;
    let gathered = PackageGraphs::load(&session, &request.packages, request.root.as_deref())?;
    run_query(&session.limits, &gathered, &request.query, context.now)
}

/// The same of packages that somebody has read already.
pub fn query_packages(
    limits: &Limits,
    packages: Vec<Package>,
    query: &GraphQuery,
    now: Timestamp,
) -> Result<GraphView> {
    run_query(limits, &PackageGraphs::from_packages(limits, packages)?, query, now)
}

fn run_query(
    limits: &Limits,
    gathered: &PackageGraphs,
    query: &GraphQuery,
    now: Timestamp,
) -> Result<GraphView> {
    let sources = gathered.labels();
    gathered.with_graph(limits, |graph| {
        let (nodes, way) = match query {
            GraphQuery::Find(filter) => (find_nodes(graph, filter), None),
            GraphQuery::Near(id, steps) => (
                neighborhood(graph, id, *steps).ok_or_else(|| unknown_node_error(graph, id))?,
                None,
            ),
            GraphQuery::Path(from, to) => {
                let known = |id: &String| graph.nodes.iter().any(|node| node.id == *id);
                if let Some(id) = [from, to].into_iter().find(|id| !known(id)) {
                    return Err(unknown_node_error(graph, id));
                }
                let (nodes, edges) = shortest_path(graph, from, to).ok_or_else(|| {
                    Error::new(
                        FailureKind::Request,
                        format!("no edges lead from `{from}` to `{to}`"),
                    )
                    .hint(
                        "edges are followed both ways: the two have nothing to do with each other",
                    )
                })?;
                (nodes, Some(edges))
            }
        };
        Ok(graph_view(now, graph, sources, (&nodes, way.as_deref())))
    })
}

/// The whole graph, drawn.
pub fn render_graph(
    context: &Context<'_>,
    packages: &[String],
    root: Option<&Path>,
    drawing: GraphFormat,
) -> Result<String> {
    let session = Session::begin(context)?;
    let gathered = PackageGraphs::load(&session, packages, root)?;
    gathered.with_graph(&session.limits, |graph| {
        Ok(match drawing {
            GraphFormat::Dot => to_dot(graph),
            GraphFormat::Mermaid => to_mermaid(graph),
            GraphFormat::Html => render_page(graph, &title(&gathered.labels()), context.now),
        })
    })
}

/// Writes a drawing into a file, whole or not at all; the file's path.
pub fn write_graph(
    context: &Context<'_>,
    text: &str,
    file: &Path,
    overwrite: Overwrite,
) -> Result<PathBuf> {
    let path = context.absolute(file);
    let existing = match overwrite {
        Overwrite::Refuse => ExistingFilePolicy::Refuse,
        Overwrite::Allow => ExistingFilePolicy::Replace,
    };
    write_output_file(
        context,
        &path,
        OutputFile { bytes: text.as_bytes(), access: FileAccess::Ordinary, if_exists: existing },
        OUTPUT_OR_FORCE_HINT,
    )?;
    Ok(path.canonicalize().unwrap_or(path))
}

/// What a drawing of these packages is called.
fn title(labels: &[String]) -> String {
    match labels {
        [a, b, c, more @ ..] if !more.is_empty() => {
            format!("{a}, {b}, {c} and {} more", more.len())
        }
        few => few.join(", "),
    }
}

pub(super) fn unknown_node_error(graph: &Graph<'_>, id: &str) -> Error {
    let error = Error::new(FailureKind::Request, format!("there is no node called `{id}`"));
    match nearest(id, graph.nodes.iter().map(|node| &*node.id)) {
        Some(near) => error.hint(format!("did you mean `{near}`?")),
        None => error.hint("`sp pkg query` lists the nodes"),
    }
}

fn graph_view(
    now: Timestamp,
    graph: &Graph<'_>,
    sources: Vec<String>,
    (nodes, way): (&[usize], Option<&[usize]>),
) -> GraphView {
    let shown: HashSet<&str> = nodes.iter().map(|at| &*graph.nodes[*at].id).collect();
    let between = |edge: &&GraphEdge<'_>| shown.contains(&*edge.from) && shown.contains(&*edge.to);
    let edges: Vec<&GraphEdge<'_>> = match way {
        Some(way) => way.iter().map(|at| &graph.edges[*at]).collect(),
        None => graph.edges.iter().filter(between).collect(),
    };
    let node = |at: &usize| {
        let node = &graph.nodes[*at];
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
        nodes: nodes.iter().map(node).collect(),
        edges: edges.iter().map(edge).collect(),
    }
}
