//! The order of edges in a merged graph: by the IDs of their nodes, then by type.

use sp_formats::json::quoted;

use super::write::{MergedEdge, MergedGraphWriter};
use super::{EdgeStatement, GraphMerger};

/// The sort key of an edge. Its parts are positions in sorted order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct EdgeSortKey {
    /// The positions of both nodes in one number, because comparing one number is faster.
    ends: u64,
    kind: u32,
}

impl EdgeSortKey {
    fn from(self) -> u32 {
        (self.ends >> 32) as u32
    }

    fn to(self) -> u32 {
        self.ends as u32
    }
}

/// An edge to write.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct OrderedEdge {
    key: EdgeSortKey,
    /// The index of a statement, or [`DERIVED`], which sorts after all of them.
    statement: u32,
}

const DERIVED: u32 = u32::MAX;

/// The positions of nodes and edge types in sorted order, by index.
struct EdgeRanks {
    nodes: Vec<u32>,
    kinds: Vec<u32>,
}

impl EdgeRanks {
    fn key(&self, from: u32, to: u32, kind: u32) -> EdgeSortKey {
        let rank = |node: u32| u64::from(self.nodes[node as usize]);
        EdgeSortKey { ends: rank(from) << 32 | rank(to), kind: self.kinds[kind as usize] }
    }
}

/// Inverts a permutation.
fn positions(order: &[u32]) -> Vec<u32> {
    let mut positions = vec![0u32; order.len()];
    for (position, index) in order.iter().enumerate() {
        positions[*index as usize] = position as u32;
    }
    positions
}

impl<'j> GraphMerger<'_, 'j> {
    /// Writes the edges sorted by node IDs and type, and returns their number.
    pub(super) fn write_edges(
        &self,
        contradicts: u32,
        writer: &mut MergedGraphWriter<'_, 'j>,
    ) -> usize {
        let mut kinds: Vec<u32> = (0..self.kinds.len() as u32).collect();
        kinds.sort_by_key(|kind| &self.kinds[*kind as usize]);
        let ranks =
            EdgeRanks { nodes: positions(&writer.assigned_ids.order), kinds: positions(&kinds) };
        let edges = self.ordered_edges(&ranks, contradicts, writer);
        let quoted_kinds: Vec<String> =
            kinds.iter().map(|kind| quoted(&self.kinds[*kind as usize])).collect();
        let mut count = 0;
        let mut statements: Vec<&EdgeStatement<'j>> = Vec::new();
        for same in edges.chunk_by(|a, b| a.key == b.key) {
            if count > 0 {
                writer.text.push(',');
            }
            count += 1;
            statements.clear();
            statements.extend(
                same.iter().filter_map(|edge| self.edge_statements.get(edge.statement as usize)),
            );
            let key = same[0].key;
            let kind = &quoted_kinds[key.kind as usize];
            let (from, to) = (key.from(), key.to());
            writer.write_edge(&MergedEdge { from, to, kind, statements: &statements });
        }
        count
    }

    /// The stated edges, and those that are derived from nodes that share an ID.
    fn ordered_edges(
        &self,
        ranks: &EdgeRanks,
        contradicts: u32,
        writer: &MergedGraphWriter<'_, 'j>,
    ) -> Vec<OrderedEdge> {
        let stated = self.edge_statements.iter().enumerate().map(|(index, edge)| OrderedEdge {
            key: ranks.key(edge.from, edge.to, edge.kind),
            statement: index as u32,
        });
        let derived = writer.assigned_ids.variants.iter().map(|variant| OrderedEdge {
            key: ranks.key(variant.keeper, variant.other, contradicts),
            statement: DERIVED,
        });
        let mut edges: Vec<OrderedEdge> = stated.chain(derived).collect();
        edges.sort_unstable();
        edges
    }
}
