//! The IDs of the nodes in a merged graph.

use std::borrow::Cow;

use sp_tree::Digest;

use super::{GraphMerger, MergeNodeKey};

/// The nodes with their IDs in the merged graph.
pub(super) struct AssignedNodeIds<'j> {
    pub ids: Vec<Cow<'j, str>>,
    /// Node indices, sorted by ID.
    pub order: Vec<u32>,
    /// Nodes that share an ID.
    pub variants: Vec<NodeVariant>,
}

/// Two nodes with the same ID and different content, by index.
pub(super) struct NodeVariant {
    /// The node that keeps the ID.
    pub keeper: u32,
    pub other: u32,
}

impl<'j> GraphMerger<'_, 'j> {
    /// Assigns an ID to every node. Of the nodes that share an ID, one keeps it and the others get
    /// a suffix from their content hash.
    pub(super) fn assign_ids(&self) -> AssignedNodeIds<'j> {
        let id_of = |index: u32| &self.keys[index as usize].id;
        let mut ids: Vec<Cow<'j, str>> = self.keys.iter().map(|key| key.id.clone()).collect();
        let by_id = self.sorted_by_text(|index| &self.keys[index].id);
        let mut variants = Vec::new();
        for group in by_id.chunk_by(|a, b| id_of(*a) == id_of(*b)) {
            if let [_, _, ..] = group {
                let mut group = group.to_vec();
                group.sort_by(|a, b| self.id_priority(*b).cmp(&self.id_priority(*a)));
                for &other in &group[1..] {
                    let MergeNodeKey { id, kind, content } = &self.keys[other as usize];
                    ids[other as usize] = format!("{id}~{}", short_hash(kind, content)).into();
                    variants.push(NodeVariant { keeper: group[0], other });
                }
            }
        }
        let order =
            if variants.is_empty() { by_id } else { self.sorted_by_text(|index| &ids[index]) };
        AssignedNodeIds { ids, order, variants }
    }

    /// Node indices sorted by a text; ties are broken by content.
    fn sorted_by_text<'t>(&'t self, text: impl Fn(usize) -> &'t str) -> Vec<u32> {
        struct NodeText<'t> {
            prefix: u64,
            text: &'t str,
            index: u32,
        }
        let mut all: Vec<NodeText<'_>> = (0..self.keys.len())
            .map(|index| {
                let text = text(index);
                NodeText { prefix: prefix_as_u64(text), text, index: index as u32 }
            })
            .collect();
        all.sort_by(|a, b| {
            let by_key = || self.keys[a.index as usize].cmp(&self.keys[b.index as usize]);
            a.prefix.cmp(&b.prefix).then_with(|| a.text.cmp(b.text)).then_with(by_key)
        });
        all.into_iter().map(|node| node.index).collect()
    }

    /// Sort key that decides which node keeps a shared ID: activation, confidence, then content.
    fn id_priority(&self, index: u32) -> (u64, u64, &str, &str) {
        let (key, state) = (&self.keys[index as usize], &self.states[index as usize]);
        // Both are between 0 and 1, where the bit patterns of floats sort like their values.
        (
            state.activation.max(0.0).to_bits(),
            state.confidence.unwrap_or(0.0).max(0.0).to_bits(),
            &key.kind,
            &key.content,
        )
    }
}

/// The first bytes of a text as a number, to compare most texts without a memory access.
fn prefix_as_u64(text: &str) -> u64 {
    let mut bytes = [0; 8];
    let length = text.len().min(8);
    bytes[..length].copy_from_slice(&text.as_bytes()[..length]);
    u64::from_be_bytes(bytes)
}

/// The ID of a node derived from its type and content.
pub(super) fn content_id(kind: &str, content: &str) -> String {
    format!("{kind}-{}", short_hash(kind, content))
}

fn short_hash(kind: &str, content: &str) -> String {
    Digest::of(format!("{kind}\0{content}\0").as_bytes()).hex()[..12].to_owned()
}
