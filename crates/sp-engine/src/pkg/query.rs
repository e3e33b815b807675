//! `sp pkg query` and `sp pkg graph`: what is known, looked at.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use sp_analyze::graph::{Filter, activation_at, dot, find, mermaid, near, page, path};
use sp_formats::json::Value;
use sp_formats::output::{EdgeItem, GraphView, NodeItem};
use sp_formats::package::{Edge, Graph, Package};
use sp_formats::suggest::nearest;
use sp_tree::Limits;
use sp_tree::atomic::{Delivery, Existing, Readers};

use super::gathered::Gathered;
use super::manage::{OUTPUT_OR_FORCE, Overwrite, deliver};
use crate::config::Session;
use crate::context::Context;
use crate::error::{Error, Kind, Result};

/// What is asked.
#[derive(Debug, Clone)]
pub enum Query {
    /// Which nodes.
    Find(Filter),
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
    pub query: Query,
    /// The project, if it was given.
    pub root: Option<PathBuf>,
}

/// A language in which graphs are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Drawing {
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
    let gathered = Gathered::read(&session, &request.packages, request.root.as_deref())?;
    answer(&session.limits, &gathered, &request.query, context.now)
}

/// The same of packages that somebody has read already.
pub fn query_packages(limits: &Limits, packages: Vec<Package>, query: &Query, now: Timestamp) -> Result<GraphView> {
    answer(limits, &Gathered::of(limits, packages)?, query, now)
}

fn answer(limits: &Limits, gathered: &Gathered, query: &Query, now: Timestamp) -> Result<GraphView> {
    let sources = gathered.labels();
    gathered.look(limits, |graph| {
        let (nodes, way) = match query {
            Query::Find(filter) => (find(graph, filter), None),
            Query::Near(id, steps) => (near(graph, id, *steps).ok_or_else(|| unknown(graph, id))?, None),
            Query::Path(from, to) => {
                let known = |id: &String| graph.nodes.iter().any(|node| node.id == *id);
                if let Some(id) = [from, to].into_iter().find(|id| !known(id)) {
                    return Err(unknown(graph, id));
                }
                let (nodes, edges) = path(graph, from, to).ok_or_else(|| {
                    Error::new(Kind::Request, format!("no edges lead from `{from}` to `{to}`"))
                        .hint("edges are followed both ways: the two have nothing to do with each other")
                })?;
                (nodes, Some(edges))
            }
        };
        Ok(view(now, graph, sources, (&nodes, way.as_deref())))
    })
}

/// The whole graph, drawn.
pub fn draw(context: &Context<'_>, packages: &[String], root: Option<&Path>, drawing: Drawing) -> Result<String> {
    let session = Session::begin(context)?;
    let gathered = Gathered::read(&session, packages, root)?;
    gathered.look(&session.limits, |graph| {
        Ok(match drawing {
            Drawing::Dot => dot(graph),
            Drawing::Mermaid => mermaid(graph),
            Drawing::Html => page(graph, &title(&gathered.labels()), context.now),
        })
    })
}

/// Writes a drawing into a file, whole or not at all; the file's path.
pub fn keep_drawing(context: &Context<'_>, text: &str, file: &Path, overwrite: Overwrite) -> Result<PathBuf> {
    let path = context.absolute(file);
    let existing = match overwrite {
        Overwrite::Refuse => Existing::Keep,
        Overwrite::Allow => Existing::Replace,
    };
    deliver(context, &path, Delivery { bytes: text.as_bytes(), readers: Readers::Anybody, existing }, OUTPUT_OR_FORCE)?;
    Ok(path.canonicalize().unwrap_or(path))
}

/// What a drawing of these packages is called.
fn title(labels: &[String]) -> String {
    match labels {
        [a, b, c, more @ ..] if !more.is_empty() => format!("{a}, {b}, {c} and {} more", more.len()),
        few => few.join(", "),
    }
}

pub(super) fn unknown(graph: &Graph<'_>, id: &str) -> Error {
    let error = Error::new(Kind::Request, format!("there is no node called `{id}`"));
    match nearest(id, graph.nodes.iter().map(|node| &*node.id)) {
        Some(near) => error.hint(format!("did you mean `{near}`?")),
        None => error.hint("`sp pkg query` lists the nodes"),
    }
}

fn view(
    now: Timestamp,
    graph: &Graph<'_>,
    sources: Vec<String>,
    (nodes, way): (&[usize], Option<&[usize]>),
) -> GraphView {
    let shown: HashSet<&str> = nodes.iter().map(|at| &*graph.nodes[*at].id).collect();
    let between = |edge: &&Edge<'_>| shown.contains(&*edge.from) && shown.contains(&*edge.to);
    let edges: Vec<&Edge<'_>> = match way {
        Some(way) => way.iter().map(|at| &graph.edges[*at]).collect(),
        None => graph.edges.iter().filter(between).collect(),
    };
    let node = |at: &usize| {
        let node = &graph.nodes[*at];
        NodeItem {
            id: node.id.clone().into_owned(),
            kind: node.kind.clone().into_owned(),
            content: node.content.clone().into_owned(),
            activation: activation_at(node.value, now),
            file: node.value.get("file_path").and_then(Value::text).map(Into::into),
            line: node.value.get("line_start").and_then(Value::whole),
        }
    };
    let edge = |edge: &&Edge<'_>| EdgeItem {
        from: edge.from.clone().into_owned(),
        to: edge.to.clone().into_owned(),
        kind: edge.kind.clone().into_owned(),
        weight: edge.value.get("weight").and_then(Value::number).unwrap_or(1.0),
    };
    GraphView { sources, nodes: nodes.iter().map(node).collect(), edges: edges.iter().map(edge).collect() }
}
