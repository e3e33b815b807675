//! `sp pkg load`: the best of what is known, within a number of tokens, ready to be read by an agent.

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
use crate::error::{Error, FailureKind, Result};
use crate::session::Session;

/// Of what was left out, so many are named.
const MAX_NAMED_NODES: usize = 10;

/// What is asked for.
#[derive(Debug, Clone)]
pub struct LoadRequest {
    /// Packages; none means those of the project.
    pub packages: Vec<String>,
    /// The most tokens.
    pub budget: usize,
    /// What it should be about.
    pub focus: String,
    /// When it is asked, if not now.
    pub at: Option<String>,
    /// How it is written.
    pub shape: ContextFormat,
    /// The project, if it was given.
    pub root: Option<PathBuf>,
}

/// Chooses what an agent should know.
pub fn load(context: &Context<'_>, request: &LoadRequest) -> Result<PackageLoadReport> {
    // The tables of the tokenizer take as long as a large package, and can be loaded beside it.
    rayon::spawn(sp_analyze::tokens::preload);
    let session = Session::begin(context)?;
    let gathered = PackageGraphs::load(&session, &request.packages, request.root.as_deref())?;
    let question = SelectionQuery {
        budget: request.budget,
        focus: &request.focus,
        at: request_time(context, request)?,
    };
    let sources = gathered.labels();
    gathered.with_graph(&session.limits, |graph| {
        Ok(load_graph(graph, sources, &question, request.shape))
    })
}

/// The same of packages that somebody has read already.
pub fn load_packages(
    limits: &Limits,
    packages: Vec<Package>,
    question: &SelectionQuery<'_>,
    shape: ContextFormat,
) -> Result<PackageLoadReport> {
    let gathered = PackageGraphs::from_packages(limits, packages)?;
    let sources = gathered.labels();
    gathered.with_graph(limits, |graph| Ok(load_graph(graph, sources, question, shape)))
}

fn load_graph(
    graph: &Graph<'_>,
    sources: Vec<String>,
    question: &SelectionQuery<'_>,
    shape: ContextFormat,
) -> PackageLoadReport {
    let LoadedContext { text, tokens, selection } = load_context(graph, question, shape);
    let nodes = selection.selected.iter().map(|one| LoadedNode {
        id: graph.nodes[one.node_index].id.clone().into_owned(),
        kind: graph.nodes[one.node_index].kind.clone().into_owned(),
        worth: one.score,
    });
    PackageLoadReport {
        tokens,
        budget: question.budget,
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
        Some(text) => sp_formats::package::time::parse(text).ok_or_else(|| {
            Error::new(FailureKind::Usage, format!("`{text}` is no time"))
                .hint("write it as `2026-05-22T00:00:00Z`")
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
            // They are in order but for those that were taken out again at the end.
            nodes.sort_by(|a, b| b.0.total_cmp(&a.0));
            let best = nodes.iter().take(MAX_NAMED_NODES).map(|(_, id)| (*id).to_owned()).collect();
            OmittedNodes { reason: reason.as_str().into(), count: nodes.len(), best }
        })
        .collect()
}
