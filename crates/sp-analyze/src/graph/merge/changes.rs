//! What a merge reports: superseded nodes, contradictions, and what each input adds.

use std::borrow::Cow;
use std::collections::BTreeSet;

use sp_formats::json::JsonValue;

use super::assigned_ids::AssignedNodeIds;
use super::parts::{MergeFields, NodeParts, collect_node_fields};
use super::{Contradiction, GraphMerger, MergedGraph, max_option};
use crate::interner::FastMap;

impl<'j> GraphMerger<'_, 'j> {
    /// The edges of a type, as node indices.
    fn edges_of_kind<'m>(&'m self, kind: &'m str) -> impl Iterator<Item = (u32, u32)> + 'm {
        let number = self.kind_numbers.get(kind).copied();
        self.edge_statements
            .iter()
            .filter(move |edge| Some(edge.kind) == number && edge.from != edge.to)
            .map(|edge| (edge.from, edge.to))
    }

    /// Marks superseded nodes: they are kept, but inactive.
    pub(super) fn mark_superseded(&mut self, ids: &[Cow<'j, str>], merged: &mut MergedGraph) {
        let mut by_id: FastMap<&str, Vec<u32>> = FastMap::default();
        if self.supersedes.values().any(|replaces| !replaces.external_ids.is_empty()) {
            for (index, key) in self.keys.iter().enumerate() {
                by_id.entry(&key.id).or_default().push(index as u32);
            }
        }
        let mut pairs: BTreeSet<(u32, u32)> = BTreeSet::new();
        for (new, replaces) in &self.supersedes {
            let external = replaces.external_ids.iter().filter_map(|id| by_id.get(&**id)).flatten();
            let old = replaces.local.iter().chain(external).filter(|old| *old != new);
            pairs.extend(old.map(|old| (*old, *new)));
        }
        let by_edge: BTreeSet<(u32, u32)> =
            self.edges_of_kind("supersedes").map(|(new, old)| (old, new)).collect();
        for (old, new) in &pairs {
            self.supersedes.entry(*new).or_default().local.insert(*old);
        }
        for (old, new) in pairs.union(&by_edge) {
            self.states[*old as usize].superseded = true;
            let id = |index: u32| ids[index as usize].clone().into_owned();
            merged.superseded.push((id(*old), id(*new)));
        }
        merged.superseded.sort();
    }

    /// Collects contradictions: between nodes that share an ID, and those stated by edges.
    pub(super) fn collect_contradictions(
        &self,
        assigned: &AssignedNodeIds<'j>,
        contradicts: u32,
        merged: &mut MergedGraph,
    ) {
        let stated: BTreeSet<(u32, u32)> =
            self.edges_of_kind(&self.kinds[contradicts as usize]).collect();
        let contradiction = |from: u32, to: u32, same_id: bool| {
            let id = |index: u32| assigned.ids[index as usize].clone().into_owned();
            let content = |index: u32| self.keys[index as usize].content.clone().into_owned();
            Contradiction {
                from: id(from),
                from_content: content(from),
                to: id(to),
                to_content: content(to),
                same_id,
            }
        };
        let variants = assigned
            .variants
            .iter()
            .map(|variant| contradiction(variant.keeper, variant.other, true));
        merged.contradictions.extend(variants);
        merged
            .contradictions
            .extend(stated.iter().map(|(from, to)| contradiction(*from, *to, false)));
        merged.contradictions.sort_by(|a, b| (&a.from, &a.to).cmp(&(&b.from, &b.to)));
    }

    /// Collects the nodes that several inputs have, and what the others add to the first.
    pub(super) fn collect_node_changes(
        &self,
        assigned: &AssignedNodeIds<'j>,
        merged: &mut MergedGraph,
    ) {
        for &index in &assigned.order {
            let index = index as usize;
            let id = || assigned.ids[index].clone().into_owned();
            let state = &self.states[index];
            if state.shared {
                merged.shared.push(id());
            }
            if state.first_input != 0 {
                merged.added.push(id());
            } else if state.shared && self.others_add_information(index) {
                merged.updated.push(id());
            }
        }
    }

    /// Whether other inputs add information to a node of the first one.
    fn others_add_information(&self, index: usize) -> bool {
        if self.states[index].verbatim {
            return false;
        }
        let (mut activation, mut confidence) = (0.0f64, None);
        let (mut own, mut all) = (MergeFields::new(), MergeFields::new());
        for statement in self.statements_of(index) {
            collect_node_fields(&mut all, statement.value);
            if let (0, Some(node)) = (statement.input, NodeParts::of(statement.value)) {
                (activation, confidence) =
                    (activation.max(node.activation), max_option(confidence, node.confidence));
                collect_node_fields(&mut own, statement.value);
            }
        }
        own.sort_unstable();
        let state = &self.states[index];
        (activation, confidence) != (state.activation, state.confidence)
            || all.iter().any(|field| own.binary_search(field).is_err())
    }
}

/// Whether two merged nodes are equal apart from their IDs and superseded state.
pub(in crate::graph) fn nodes_equal_ignoring_ids(a: JsonValue<'_>, b: JsonValue<'_>) -> bool {
    let parts = |value| NodeParts::of(value).map(|node| (node.activation, node.confidence));
    let fields = |value| {
        let mut fields = MergeFields::new();
        collect_node_fields(&mut fields, value);
        fields
    };
    a.raw() == b.raw() || parts(a) == parts(b) && fields(a) == fields(b)
}
