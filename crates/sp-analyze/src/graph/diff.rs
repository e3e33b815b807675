//! Differences between two versions of a merged graph.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::merge::{Contradiction, nodes_equal_ignoring_ids};
use crate::interner::FastMap;
use sp_formats::json::JsonValue;
use sp_formats::package::{Graph, GraphEdge, GraphNode};

/// What changed between two graphs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GraphDiff {
    pub added: Vec<String>,
    /// Nodes whose content, members or activation changed.
    pub updated: Vec<String>,
    /// Removed nodes, by their old IDs.
    pub removed: Vec<String>,
    /// Newly superseded nodes, as `(old ID, new ID)`.
    pub superseded: Vec<(String, String)>,
    /// New contradictions.
    pub contradictions: Vec<Contradiction>,
}

impl GraphDiff {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Identifies a node across graphs, whatever ID each graph assigned: original ID, type, content.
type DiffNodeKey<'n> = (Cow<'n, str>, &'n str, &'n str);

/// The nodes of a graph by key.
struct DiffGraphIndex<'n, 'j> {
    by_key: FastMap<DiffNodeKey<'n>, &'n GraphNode<'j>>,
    by_id: FastMap<&'n str, &'n GraphNode<'j>>,
    graph: &'n Graph<'j>,
}

/// An edge with its nodes.
struct ResolvedEdge<'n, 'j> {
    edge: &'n GraphEdge<'j>,
    from: &'n GraphNode<'j>,
    to: &'n GraphNode<'j>,
}

fn node_key<'n>(node: &'n GraphNode<'_>) -> DiffNodeKey<'n> {
    let of = node.value.get("variant_of").and_then(JsonValue::text);
    (of.unwrap_or(Cow::Borrowed(&*node.id)), &node.kind, &node.content)
}

impl<'n, 'j> DiffGraphIndex<'n, 'j> {
    fn of(graph: &'n Graph<'j>) -> Self {
        let by_key = graph.nodes.iter().map(|node| (node_key(node), node)).collect();
        Self { by_key, by_id: graph.nodes.iter().map(|node| (&*node.id, node)).collect(), graph }
    }

    /// The edges of a type whose ends both exist.
    fn edges_of_kind(&self, kind: &str) -> impl Iterator<Item = ResolvedEdge<'n, 'j>> {
        let edges =
            self.graph.edges.iter().filter(move |edge| edge.kind == kind && edge.from != edge.to);
        edges.filter_map(|edge| {
            let (from, to) = (*self.by_id.get(&*edge.from)?, *self.by_id.get(&*edge.to)?);
            Some(ResolvedEdge { edge, from, to })
        })
    }

    /// Pairs of superseded and superseding node.
    fn supersessions(&self) -> Vec<(&'n GraphNode<'j>, &'n GraphNode<'j>)> {
        let mut pairs: Vec<_> =
            self.edges_of_kind("supersedes").map(|edge| (edge.to, edge.from)).collect();
        for node in &self.graph.nodes {
            let Some(value) = node.value.get("supersedes") else { continue };
            let ids = value.text().into_iter().chain(value.items().filter_map(JsonValue::text));
            pairs.extend(
                ids.filter_map(|id| self.by_id.get(&*id))
                    .filter(|old| old.id != node.id)
                    .map(|old| (*old, node)),
            );
        }
        pairs
    }
}

/// Compares a merged graph with its previous version.
pub fn diff_graphs(before: &Graph<'_>, after: &Graph<'_>) -> GraphDiff {
    let (old, new) = (DiffGraphIndex::of(before), DiffGraphIndex::of(after));
    let mut diff = GraphDiff::default();
    diff.compare_nodes(&old, &new);
    diff.superseded = new_supersessions(&old, &new);
    diff.contradictions = new_contradictions(&old, &new);
    diff
}

impl GraphDiff {
    fn compare_nodes(&mut self, old: &DiffGraphIndex<'_, '_>, new: &DiffGraphIndex<'_, '_>) {
        let mut removed: BTreeSet<&str> = old
            .graph
            .nodes
            .iter()
            .filter(|node| !new.by_key.contains_key(&node_key(node)))
            .map(|node| &*node.id)
            .collect();
        for node in &new.graph.nodes {
            let id = || node.id.clone().into_owned();
            match old.by_key.get(&node_key(node)) {
                // The node kept its ID but has different content.
                None if removed.remove(&*node.id) => self.updated.push(id()),
                None => self.added.push(id()),
                Some(known) if !nodes_equal_ignoring_ids(known.value, node.value) => {
                    self.updated.push(id());
                }
                Some(_) => {}
            }
        }
        self.removed.extend(removed.into_iter().map(Into::into));
    }
}

/// Owned keys of two nodes, for comparing across graphs.
fn pair_key(one: &GraphNode<'_>, other: &GraphNode<'_>) -> [[String; 3]; 2] {
    [node_key(one), node_key(other)].map(owned_key)
}

/// Pairs of superseded and superseding ID that the old graph does not have, sorted.
fn new_supersessions(
    old: &DiffGraphIndex<'_, '_>,
    new: &DiffGraphIndex<'_, '_>,
) -> Vec<(String, String)> {
    let known: BTreeSet<_> =
        old.supersessions().into_iter().map(|(old, new)| pair_key(old, new)).collect();
    let fresh: BTreeSet<(String, String)> = new
        .supersessions()
        .into_iter()
        .filter(|(old, new)| !known.contains(&pair_key(old, new)))
        .map(|(old, new)| (old.id.clone().into_owned(), new.id.clone().into_owned()))
        .collect();
    fresh.into_iter().collect()
}

fn new_contradictions(
    old: &DiffGraphIndex<'_, '_>,
    new: &DiffGraphIndex<'_, '_>,
) -> Vec<Contradiction> {
    let known: BTreeSet<_> =
        old.edges_of_kind("contradicts").map(|edge| pair_key(edge.from, edge.to)).collect();
    // Which of the two nodes keeps the shared ID may change; the contradiction is the same.
    let is_known = |edge: &ResolvedEdge<'_, '_>| {
        known.contains(&pair_key(edge.from, edge.to))
            || known.contains(&pair_key(edge.to, edge.from))
    };
    new.edges_of_kind("contradicts")
        .filter(|edge| !is_known(edge))
        .map(|ResolvedEdge { edge, from, to }| Contradiction {
            from: from.id.clone().into_owned(),
            from_content: from.content.clone().into_owned(),
            to: to.id.clone().into_owned(),
            to_content: to.content.clone().into_owned(),
            same_id: edge.value.get("derived").and_then(JsonValue::as_bool) == Some(true),
        })
        .collect()
}

/// An owned copy of a key, for comparing across graphs.
fn owned_key((id, kind, content): DiffNodeKey<'_>) -> [String; 3] {
    [id.into_owned(), kind.to_owned(), content.to_owned()]
}
