//! `sp pkg load`: selects the most relevant nodes within a token budget, as text for an agent.

use std::collections::BTreeMap;
use std::path::PathBuf;

use jiff::Timestamp;
use sp_analyze::graph::{
    ContextFormat, LoadedContext, NodeSelection, OmitReason, SelectionQuery, load_context,
};
use sp_analyze::tokens::TOKENIZER;
use sp_formats::output::{LoadedNode, OmittedNodes, PackageLoadReport};
use sp_formats::package::{Graph, Package};
use sp_tree::Limits;

use super::package_graphs::PackageGraphs;
use crate::context::Context;
use crate::error::{Error, ErrorCode, Result};
use crate::session::Session;

/// The maximum number of omitted nodes that are named per reason.
const MAX_NAMED_NODES: usize = 10;

/// The arguments of `sp pkg load`.
#[derive(Debug, Clone)]
pub struct LoadRequest {
    /// The packages. The default is those of the project.
    pub packages: Vec<String>,
    /// The maximum number of tokens.
    pub budget: usize,
    /// What the nodes should be about.
    pub focus: String,
    /// The time that decides how much older nodes count. The default is now.
    pub at: Option<String>,
    pub shape: ContextFormat,
    pub root: Option<PathBuf>,
}

/// Selects nodes of packages and renders them.
pub fn load(context: &Context<'_>, request: &LoadRequest) -> Result<PackageLoadReport> {
    let session = Session::begin(context)?;
    let graphs = PackageGraphs::load(&session, &request.packages, request.root.as_deref())?;
    let selection_query = SelectionQuery {
        budget: request.budget,
        focus: &request.focus,
        at: request_time(context, request)?,
    };
    let sources = graphs.labels();
    graphs.with_graph(&session.limits, |graph| {
        Ok(load_graph(graph, sources, &selection_query, request.shape))
    })
}

/// Like [`load`], for packages that were read already.
pub fn load_packages(
    limits: &Limits,
    packages: Vec<Package>,
    query: &SelectionQuery<'_>,
    shape: ContextFormat,
) -> Result<PackageLoadReport> {
    let graphs = PackageGraphs::from_packages(limits, packages)?;
    let sources = graphs.labels();
    graphs.with_graph(limits, |graph| Ok(load_graph(graph, sources, query, shape)))
}

fn load_graph(
    graph: &Graph<'_>,
    sources: Vec<String>,
    query: &SelectionQuery<'_>,
    shape: ContextFormat,
) -> PackageLoadReport {
    let LoadedContext { text, tokens, selection } = load_context(graph, query, shape);
    let nodes = selection.selected.iter().map(|selected| LoadedNode {
        id: graph.nodes[selected.node_index].id.clone().into_owned(),
        kind: graph.nodes[selected.node_index].kind.clone().into_owned(),
        worth: selected.score,
    });
    PackageLoadReport {
        tokens,
        budget: query.budget,
        tokenizer: TOKENIZER.into(),
        sources,
        nodes: nodes.collect(),
        left_out: left_out_items(graph, &selection),
        context: text,
    }
}

fn request_time(context: &Context<'_>, request: &LoadRequest) -> Result<Timestamp> {
    match &request.at {
        None => Ok(context.now),
        Some(text) => sp_formats::time::parse(text).ok_or_else(|| {
            Error::new(ErrorCode::InvalidTime, format!("invalid time `{text}`"))
                .hint("use the format `2026-05-22T00:00:00Z`")
        }),
    }
}

fn left_out_items(graph: &Graph<'_>, selection: &NodeSelection) -> Vec<OmittedNodes> {
    let mut by_reason: BTreeMap<OmitReason, Vec<(f64, &str)>> = BTreeMap::new();
    for (one, reason) in &selection.omitted {
        by_reason.entry(*reason).or_default().push((one.score, &graph.nodes[one.node_index].id));
    }
    by_reason
        .into_iter()
        .map(|(reason, mut nodes)| {
            // Nodes that were dropped at the end of the selection are out of order.
            nodes.sort_by(|a, b| b.0.total_cmp(&a.0));
            let best = nodes.iter().take(MAX_NAMED_NODES).map(|(_, id)| (*id).to_owned()).collect();
            OmittedNodes { reason: reason.as_str().into(), count: nodes.len(), best }
        })
        .collect()
}
