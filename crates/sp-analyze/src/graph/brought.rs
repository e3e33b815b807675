//! What a merged graph has that the one before it had not.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::merge::{Contradiction, says_the_same};
use crate::interner::Map;
use sp_formats::json::Value;
use sp_formats::package::{Edge, Graph, Node};

/// What a change of the packages of a graph brought.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Brought {
    /// Nodes that are new.
    pub added: Vec<String>,
    /// Nodes of which something else is said: another content, other members, or another activation.
    pub updated: Vec<String>,
    /// Nodes that are there no more, by the ids that they had.
    pub removed: Vec<String>,
    /// Nodes that another supersedes now: the old id, and the new one.
    pub superseded: Vec<(String, String)>,
    /// Nodes that contradict each other now.
    pub contradictions: Vec<Contradiction>,
}

impl Brought {
    /// Whether nothing changed.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// What makes a node the same in two graphs, whatever id it has there: id, type and content as it was said.
type Said<'n> = (Cow<'n, str>, &'n str, &'n str);

/// A graph by what its nodes say.
struct Known<'n, 'j> {
    nodes: Map<Said<'n>, &'n Node<'j>>,
    by_id: Map<&'n str, &'n Node<'j>>,
    graph: &'n Graph<'j>,
}

fn said<'n>(node: &'n Node<'_>) -> Said<'n> {
    let of = node.value.get("variant_of").and_then(Value::text);
    (of.unwrap_or(Cow::Borrowed(&*node.id)), &node.kind, &node.content)
}

impl<'n, 'j> Known<'n, 'j> {
    fn of(graph: &'n Graph<'j>) -> Self {
        let nodes = graph.nodes.iter().map(|node| (said(node), node)).collect();
        Self { nodes, by_id: graph.nodes.iter().map(|node| (&*node.id, node)).collect(), graph }
    }

    /// The edges of a type between two nodes that are there.
    fn between(&self, kind: &str) -> impl Iterator<Item = (&'n Edge<'j>, &'n Node<'j>, &'n Node<'j>)> {
        let edges = self.graph.edges.iter().filter(move |edge| edge.kind == kind && edge.from != edge.to);
        edges.filter_map(|edge| Some((edge, *self.by_id.get(&*edge.from)?, *self.by_id.get(&*edge.to)?)))
    }

    /// Which node takes the place of which: the old one, and the new one.
    fn replacements(&self) -> Vec<(&'n Node<'j>, &'n Node<'j>)> {
        let by_edge = self.between("supersedes").map(|(_, new, old)| (old, new));
        let mut all: Vec<_> = by_edge.collect();
        for node in &self.graph.nodes {
            let Some(value) = node.value.get("supersedes") else { continue };
            let ids = value.text().into_iter().chain(value.items().filter_map(Value::text));
            all.extend(
                ids.filter_map(|id| self.by_id.get(&*id)).filter(|old| old.id != node.id).map(|old| (*old, node)),
            );
        }
        all
    }
}

/// Holds a merged graph against the one before it.
pub fn brought(before: &Graph<'_>, after: &Graph<'_>) -> Brought {
    let (old, new) = (Known::of(before), Known::of(after));
    let mut brought = Brought::default();
    let gone = before.nodes.iter().filter(|node| !new.nodes.contains_key(&said(node)));
    let mut gone: BTreeSet<&str> = gone.map(|node| &*node.id).collect();
    for node in &after.nodes {
        let id = || node.id.clone().into_owned();
        match old.nodes.get(&said(node)) {
            // What it says took the place of what it said.
            None if gone.remove(&*node.id) => brought.updated.push(id()),
            None => brought.added.push(id()),
            Some(known) if !says_the_same(known.value, node.value) => brought.updated.push(id()),
            Some(_) => {}
        }
    }
    brought.removed.extend(gone.into_iter().map(Into::into));
    let pair = |(one, other): (&'_ Node<'_>, &'_ Node<'_>)| [said(one), said(other)].map(own);
    let before: BTreeSet<_> = old.replacements().into_iter().map(pair).collect();
    let fresh = new.replacements().into_iter().filter(|both| !before.contains(&pair(*both)));
    let ids: BTreeSet<(String, String)> =
        fresh.map(|(old, new)| (old.id.clone().into_owned(), new.id.clone().into_owned())).collect();
    brought.superseded.extend(ids);
    let before: BTreeSet<_> = old.between("contradicts").map(|(_, one, other)| pair((one, other))).collect();
    for (edge, from, to) in new.between("contradicts") {
        // Which of two keeps the id may change, and they are the same two.
        if !before.contains(&pair((from, to))) && !before.contains(&pair((to, from))) {
            brought.contradictions.push(Contradiction {
                from: from.id.clone().into_owned(),
                from_content: from.content.clone().into_owned(),
                to: to.id.clone().into_owned(),
                to_content: to.content.clone().into_owned(),
                same_id: edge.value.get("derived").and_then(Value::truth) == Some(true),
            });
        }
    }
    brought
}

/// What a node says, apart from the graph that it is of.
fn own((id, kind, content): Said<'_>) -> [String; 3] {
    [id.into_owned(), kind.to_owned(), content.to_owned()]
}
