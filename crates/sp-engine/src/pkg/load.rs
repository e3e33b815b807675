//! `sp pkg load`: the best of what is known, within a number of tokens, ready to be read by an agent.

use std::collections::BTreeMap;
use std::path::PathBuf;

use jiff::Timestamp;
use sp_analyze::graph::{Question, Reading, Reason, Selection, Shape, reading};
use sp_analyze::tokens::TOKENIZER;
use sp_formats::output::{LeftOut, LoadedNode, PackageLoaded};
use sp_formats::package::{Graph, Package};
use sp_tree::Limits;

use super::gathered::Gathered;
use crate::config::Session;
use crate::context::Context;
use crate::error::{Error, Kind, Result};

/// Of what was left out, so many are named.
const NAMED: usize = 10;

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
    pub shape: Shape,
    /// The project, if it was given.
    pub root: Option<PathBuf>,
}

/// Chooses what an agent should know.
pub fn load(context: &Context<'_>, request: &LoadRequest) -> Result<PackageLoaded> {
    // The tables of the tokenizer take as long as a large package, and can be loaded beside it.
    rayon::spawn(sp_analyze::tokens::prepare);
    let session = Session::begin(context)?;
    let gathered = Gathered::read(&session, &request.packages, request.root.as_deref())?;
    let question = Question { budget: request.budget, focus: &request.focus, at: moment(context, request)? };
    let sources = gathered.labels();
    gathered.look(&session.limits, |graph| Ok(choose(graph, sources, &question, request.shape)))
}

/// The same of packages that somebody has read already.
pub fn load_packages(
    limits: &Limits,
    packages: Vec<Package>,
    question: &Question<'_>,
    shape: Shape,
) -> Result<PackageLoaded> {
    let gathered = Gathered::of(limits, packages)?;
    let sources = gathered.labels();
    gathered.look(limits, |graph| Ok(choose(graph, sources, question, shape)))
}

fn choose(graph: &Graph<'_>, sources: Vec<String>, question: &Question<'_>, shape: Shape) -> PackageLoaded {
    let Reading { text, tokens, selection } = reading(graph, question, shape);
    let nodes = selection.chosen.iter().map(|one| LoadedNode {
        id: graph.nodes[one.node].id.clone().into_owned(),
        kind: graph.nodes[one.node].kind.clone().into_owned(),
        worth: one.worth,
    });
    PackageLoaded {
        tokens,
        budget: question.budget,
        tokenizer: TOKENIZER.into(),
        sources,
        nodes: nodes.collect(),
        left_out: ledger(graph, &selection),
        context: text,
    }
}

fn moment(context: &Context<'_>, request: &LoadRequest) -> Result<Timestamp> {
    match &request.at {
        None => Ok(context.now),
        Some(text) => sp_formats::package::time::parse(text).ok_or_else(|| {
            Error::new(Kind::Usage, format!("`{text}` is no time")).hint("write it as `2026-05-22T00:00:00Z`")
        }),
    }
}

fn ledger(graph: &Graph<'_>, selection: &Selection) -> Vec<LeftOut> {
    let mut by_reason: BTreeMap<Reason, Vec<(f64, &str)>> = BTreeMap::new();
    for (one, reason) in &selection.left {
        by_reason.entry(*reason).or_default().push((one.worth, &graph.nodes[one.node].id));
    }
    by_reason
        .into_iter()
        .map(|(reason, mut nodes)| {
            // They are in order but for those that were taken out again at the end.
            nodes.sort_by(|a, b| b.0.total_cmp(&a.0));
            let best = nodes.iter().take(NAMED).map(|(_, id)| (*id).to_owned()).collect();
            LeftOut { reason: reason.word().into(), count: nodes.len(), best }
        })
        .collect()
}
