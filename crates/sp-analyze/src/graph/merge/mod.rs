//! Merges graphs. The merge is commutative, associative and idempotent, and loses nothing.
//!
//! Every input is split into statements: a node is identified by its ID, type and content, an edge
//! by its two nodes and its type, and each statement has a source. Statements about the same thing
//! are combined by rules that do not depend on order: the higher activation, the higher confidence,
//! the greater of two texts. IDs and averages are computed at the end, from all statements.
//!
//! A merged graph records who said what (`contributions` of an edge, `sources` of the graph), so it
//! can be merged again.

mod parts;
mod write;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use sp_tree::Digest;

use foldhash::fast::RandomState;
use sp_formats::package::{CanonicalGraph, GRAPH_FORMAT, Graph};

use crate::interner::{FastMap, HashIndex, StringInterner, hash_of};
use parts::{EdgeParts, MergeFields, NodeParts, collect_node_fields};
use sp_formats::json::{JsonNumberFormat, JsonValue, canonicalize, quoted};
use write::{MergedEdge, MergedGraphWriter};

/// A graph to merge, and its source.
#[derive(Debug, Clone)]
pub struct MergeInput<'j> {
    /// Hash of the package content.
    pub source: String,
    /// Display name.
    pub label: String,
    /// How the node IDs were assigned.
    pub id_scheme: NodeIdScheme,
    pub content: JsonValue<'j>,
}

/// Whether node IDs have a meaning outside their package.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeIdScheme {
    /// IDs are meaningful across packages.
    Global,
    /// IDs are sequence numbers (`N1`, `N2`, …). The node is identified by its content.
    Sequential,
}

impl NodeIdScheme {
    /// Detects the scheme of a graph.
    pub fn of(graph: &Graph<'_>) -> Self {
        let is_sequential = |id: &str| {
            id.strip_prefix('N').is_some_and(|rest| {
                !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit())
            })
        };
        if !graph.nodes.is_empty() && graph.nodes.iter().all(|node| is_sequential(&node.id)) {
            Self::Sequential
        } else {
            Self::Global
        }
    }
}

/// The result of a merge.
#[derive(Debug, Clone, Default)]
pub struct MergedGraph {
    pub graph: CanonicalGraph,
    /// Nodes that the first package does not have.
    pub added: Vec<String>,
    /// Nodes of the first package to which others add information.
    pub updated: Vec<String>,
    /// Nodes that more than one package has.
    pub shared: Vec<String>,
    /// Superseded nodes, as `(old ID, new ID)`.
    pub superseded: Vec<(String, String)>,
    pub contradictions: Vec<Contradiction>,
}

/// Two nodes that contradict each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contradiction {
    pub from: String,
    pub from_content: String,
    pub to: String,
    pub to_content: String,
    /// Whether the two nodes had the same ID.
    pub same_id: bool,
}

/// Identity of a node across packages: ID, type and content.
type MergeNodeKey<'j> = (Cow<'j, str>, Cow<'j, str>, Cow<'j, str>);

/// The combined state of a node.
struct MergedNodeState {
    activation: f64,
    confidence: Option<f64>,
    /// Index of the most recent statement about it.
    last_statement: u32,
    /// The first input that has the node.
    first_input: u32,
    shared: bool,
    /// Whether all inputs have identical text for the node, in the form in which it would be
    /// written.
    verbatim: bool,
    /// Whether another node supersedes it. Its statements are kept, its activation is not.
    superseded: bool,
}

/// What a node supersedes. Few nodes do, so this is kept separately.
#[derive(Default)]
struct SupersededNodes<'j> {
    /// Nodes of the same package.
    local: BTreeSet<u32>,
    /// IDs that the same package does not define.
    external_ids: BTreeSet<Cow<'j, str>>,
}

/// A node as one package states it.
struct NodeStatement<'j> {
    value: JsonValue<'j>,
    input: u32,
    /// The previous statement about the same node; its own index for the first one.
    previous: u32,
}

/// An edge as one package states it, with its nodes and type by index.
struct EdgeStatement<'j> {
    from: u32,
    to: u32,
    kind: u32,
    input: u32,
    weight: f64,
    coactivations: f64,
    contributions: Option<JsonValue<'j>>,
    has_extra_fields: bool,
    value: JsonValue<'j>,
}

struct GraphMerger<'v, 'j> {
    inputs: &'v [MergeInput<'j>],
    /// Identities of the nodes, parallel to `states`.
    keys: Vec<MergeNodeKey<'j>>,
    key_index: HashIndex,
    hasher: RandomState,
    states: Vec<MergedNodeState>,
    supersedes: BTreeMap<u32, SupersededNodes<'j>>,
    node_statements: Vec<NodeStatement<'j>>,
    edge_statements: Vec<EdgeStatement<'j>>,
    /// Edge types, by index.
    kinds: Vec<Cow<'j, str>>,
    kind_numbers: FastMap<Cow<'j, str>, u32>,
    /// Node types.
    types: BTreeSet<Cow<'j, str>>,
    sources: BTreeMap<String, String>,
    /// Edges to missing nodes, as canonical JSON.
    dangling_edges: BTreeSet<String>,
}

/// Maps the IDs of one package to nodes.
struct LocalNodeIds {
    ids: StringInterner,
    nodes: Vec<u32>,
}

impl LocalNodeIds {
    /// If two nodes have the same ID, the second one gets it.
    fn insert(&mut self, id: &str, node: u32) {
        match self.ids.intern(id) {
            (_, true) => self.nodes.push(node),
            (number, false) => self.nodes[number as usize] = node,
        }
    }

    fn find(&self, id: &str) -> Option<u32> {
        self.ids.find(id).map(|number| self.nodes[number as usize])
    }
}

/// The nodes with their IDs in the merged graph.
struct AssignedNodeIds<'j> {
    ids: Vec<Cow<'j, str>>,
    /// Node indices, sorted by ID.
    order: Vec<u32>,
    /// Nodes that share an ID, as `(node that keeps it, other node)`.
    variants: Vec<(u32, u32)>,
}

/// Merges graphs.
pub fn merge(inputs: &[MergeInput<'_>]) -> MergedGraph {
    let mut merger = GraphMerger::new(inputs);
    for number in 0..inputs.len() {
        merger.add_input(number);
    }
    merger.finish()
}

fn graph_items<'j>(content: JsonValue<'j>, key: &str) -> impl Iterator<Item = JsonValue<'j>> {
    content
        .get("context_graph")
        .and_then(|graph| graph.get(key))
        .into_iter()
        .flat_map(JsonValue::items)
}

impl<'v, 'j> GraphMerger<'v, 'j> {
    fn new(inputs: &'v [MergeInput<'j>]) -> Self {
        Self {
            inputs,
            keys: Vec::new(),
            key_index: HashIndex::with_capacity(0),
            hasher: RandomState::default(),
            states: Vec::new(),
            supersedes: BTreeMap::new(),
            node_statements: Vec::new(),
            edge_statements: Vec::new(),
            kinds: Vec::new(),
            kind_numbers: FastMap::default(),
            types: BTreeSet::new(),
            sources: BTreeMap::new(),
            dangling_edges: BTreeSet::new(),
        }
    }

    fn add_input(&mut self, number: usize) {
        let input = &self.inputs[number];
        let sources = input.content.get("context_graph").and_then(|graph| graph.get("sources"));
        match sources {
            // A merged graph stands for the sources it was merged from.
            Some(sources) => {
                for (source, label) in sources.members() {
                    let text = |value: JsonValue<'_>| value.text().unwrap_or_default().into_owned();
                    self.sources.insert(text(source), text(label));
                }
            }
            None => {
                self.sources.insert(input.source.clone(), input.label.clone());
            }
        }
        // A merged graph has assigned its IDs itself.
        let ids = if sources.is_some() { NodeIdScheme::Global } else { input.id_scheme };
        let local = self.add_nodes(number, ids);
        for value in graph_items(input.content, "edges") {
            self.add_edge(number, &local, value);
        }
        let loose = graph_items(input.content, "loose");
        self.dangling_edges
            .extend(loose.filter_map(|edge| canonicalize(edge, "", JsonNumberFormat::Lossless)));
    }

    /// Adds the nodes of an input and returns its ID mapping.
    fn add_nodes(&mut self, number: usize, ids: NodeIdScheme) -> LocalNodeIds {
        let input = &self.inputs[number];
        let count = graph_items(input.content, "nodes").count();
        let mut local = LocalNodeIds {
            ids: StringInterner::with_capacity(count),
            nodes: Vec::with_capacity(count),
        };
        let mut replacing: Vec<NodeParts<'j>> = Vec::new();
        for value in graph_items(input.content, "nodes") {
            let Some(mut node) = NodeParts::of(value) else { continue };
            let at = self.add_node(number, ids, &mut node, value);
            local.insert(&node.id, at);
            if node.supersedes.is_some() || node.supersedes_elsewhere.is_some() {
                replacing.push(node);
            }
        }
        replacing.iter().for_each(|node| self.supersede(input, &local, node));
        local
    }

    fn add_node(
        &mut self,
        input: usize,
        ids: NodeIdScheme,
        node: &mut NodeParts<'j>,
        value: JsonValue<'j>,
    ) -> u32 {
        let id = match (ids, node.variant_of.take()) {
            (NodeIdScheme::Sequential, _) => Cow::Owned(content_id(&node.kind, &node.content)),
            (NodeIdScheme::Global, Some(of)) => of,
            (NodeIdScheme::Global, None) => node.id.clone(),
        };
        let settled = node.verbatim && ids == NodeIdScheme::Global;
        let key = (id, std::mem::take(&mut node.kind), std::mem::take(&mut node.content));
        let hash = hash_of(&self.hasher, &key);
        let (this, input) = (self.node_statements.len() as u32, input as u32);
        let at =
            self.key_index.find(hash, |at| self.keys[at as usize] == key).unwrap_or_else(|| {
                let at = self.keys.len() as u32;
                self.key_index.insert(hash, at);
                if !self.types.contains(&key.1) {
                    self.types.insert(key.1.clone());
                }
                self.keys.push(key);
                let (activation, confidence) = (0.0, None);
                self.states.push(MergedNodeState {
                    activation,
                    confidence,
                    last_statement: this,
                    first_input: input,
                    shared: false,
                    verbatim: settled,
                    superseded: false,
                });
                at
            });
        let state = &mut self.states[at as usize];
        state.shared |= state.first_input != input;
        state.activation = state.activation.max(node.activation);
        state.confidence = max_option(state.confidence, node.confidence);
        let before = std::mem::replace(&mut state.last_statement, this);
        if before != this {
            state.verbatim &= self.node_statements[before as usize].value.raw() == value.raw();
        }
        self.node_statements.push(NodeStatement { value, input, previous: before });
        at
    }

    fn supersede(&mut self, input: &MergeInput<'j>, local: &LocalNodeIds, node: &NodeParts<'j>) {
        let Some(own) = local.find(&node.id) else { return };
        let replaces = self.supersedes.entry(own).or_default();
        let elsewhere = node
            .supersedes_elsewhere
            .into_iter()
            .flat_map(JsonValue::items)
            .filter_map(JsonValue::text);
        replaces.external_ids.extend(elsewhere);
        let Some(value) = node.supersedes else { return };
        // `supersedes` is one ID or a list.
        for id in value.text().into_iter().chain(value.items().filter_map(JsonValue::text)) {
            match (local.find(&id), input.id_scheme) {
                (Some(old), _) if old != own => drop(replaces.local.insert(old)),
                (Some(_), _) => {}
                (None, NodeIdScheme::Global) => drop(replaces.external_ids.insert(id)),
                // A sequence number has no meaning outside its package.
                (None, NodeIdScheme::Sequential) => {
                    replaces.external_ids.insert(format!("{}/{id}", input.source).into());
                }
            }
        }
    }

    fn add_edge(&mut self, input: usize, local: &LocalNodeIds, value: JsonValue<'j>) {
        let Some(edge) = EdgeParts::of(value) else { return };
        let (Some(from), Some(to)) = (local.find(&edge.from), local.find(&edge.to)) else {
            self.dangling_edges.extend(canonicalize(value, "", JsonNumberFormat::Lossless));
            return;
        };
        if !edge.derived {
            let EdgeParts {
                weight,
                coactivations: count,
                contributions,
                has_extra_fields: more,
                ..
            } = edge;
            let (kind, input) = (self.intern_kind(edge.kind), input as u32);
            self.edge_statements.push(EdgeStatement {
                from,
                to,
                kind,
                input,
                weight,
                coactivations: count,
                contributions,
                has_extra_fields: more,
                value,
            });
        }
    }

    /// Returns the index of an edge type.
    fn intern_kind(&mut self, kind: Cow<'j, str>) -> u32 {
        *self.kind_numbers.entry(kind).or_insert_with_key(|kind| {
            self.kinds.push(kind.clone());
            (self.kinds.len() - 1) as u32
        })
    }

    /// All statements about a node, most recent first.
    fn statements_of(&self, at: usize) -> impl Iterator<Item = &NodeStatement<'j>> {
        let mut next = Some(self.states[at].last_statement);
        std::iter::from_fn(move || {
            let this = next?;
            let one = &self.node_statements[this as usize];
            next = Some(one.previous).filter(|before| *before != this);
            Some(one)
        })
    }

    fn finish(mut self) -> MergedGraph {
        let named = self.assign_ids();
        let types = std::mem::take(&mut self.types).into_iter().map(Cow::into_owned).collect();
        let graph = CanonicalGraph {
            node_count: self.keys.len(),
            node_types: types,
            ..CanonicalGraph::default()
        };
        let mut merged = MergedGraph { graph, ..MergedGraph::default() };
        self.mark_superseded(&named.ids, &mut merged);
        let contradicts = self.intern_kind(Cow::Borrowed("contradicts"));
        self.collect_contradictions(&named, contradicts, &mut merged);
        let mut writer = MergedGraphWriter::new(&self, &named);
        writer.text.push_str("{\"edges\":[");
        merged.graph.edge_count = self.write_edges(contradicts, &mut writer);
        let _ = write!(writer.text, "],\"format\":{}", quoted(GRAPH_FORMAT));
        if !self.dangling_edges.is_empty() {
            let loose: Vec<&str> = self.dangling_edges.iter().map(String::as_str).collect();
            let _ = write!(writer.text, ",\"loose\":[{}]", loose.join(","));
        }
        writer.text.push_str(",\"nodes\":[");
        for (place, &at) in named.order.iter().enumerate() {
            if place > 0 {
                writer.text.push(',');
            }
            writer.write_node(at as usize);
        }
        writer.text.push_str("],\"sources\":{");
        for (place, (source, label)) in self.sources.iter().enumerate() {
            let comma = if place > 0 { "," } else { "" };
            let _ = write!(writer.text, "{comma}{}:{}", quoted(source), quoted(label));
        }
        writer.text.push_str("}}");
        merged.graph.json = writer.text;
        self.collect_node_changes(&named, &mut merged);
        merged
    }

    /// Assigns an ID to every node. Of the nodes that share an ID, one keeps it and the others get
    /// a suffix from their content hash.
    fn assign_ids(&self) -> AssignedNodeIds<'j> {
        let mut ids: Vec<Cow<'j, str>> = self.keys.iter().map(|(id, ..)| id.clone()).collect();
        let by_id = self.sorted_by_text(|at| &self.keys[at].0);
        let mut variants = Vec::new();
        for group in by_id.chunk_by(|a, b| self.keys[*a as usize].0 == self.keys[*b as usize].0) {
            if let [_, _, ..] = group {
                let mut group = group.to_vec();
                group.sort_by(|a, b| self.id_priority(*b).cmp(&self.id_priority(*a)));
                for &at in &group[1..] {
                    let (id, kind, content) = &self.keys[at as usize];
                    ids[at as usize] = format!("{id}~{}", short_hash(kind, content)).into();
                    variants.push((group[0], at));
                }
            }
        }
        let order = if variants.is_empty() { by_id } else { self.sorted_by_text(|at| &ids[at]) };
        AssignedNodeIds { ids, order, variants }
    }

    /// Node indices sorted by a text; ties are broken by content.
    fn sorted_by_text<'t>(&'t self, text: impl Fn(usize) -> &'t str) -> Vec<u32> {
        let mut all: Vec<(u64, &str, u32)> =
            (0..self.keys.len()).map(|at| (prefix_as_u64(text(at)), text(at), at as u32)).collect();
        all.sort_by(|a, b| {
            let same = || self.keys[a.2 as usize].cmp(&self.keys[b.2 as usize]);
            a.0.cmp(&b.0).then_with(|| a.1.cmp(b.1)).then_with(same)
        });
        all.into_iter().map(|(_, _, at)| at).collect()
    }

    /// Sort key that decides which node keeps a shared ID: activation, confidence, then content.
    fn id_priority(&self, at: u32) -> (u64, u64, &str, &str) {
        let ((_, kind, content), state) = (&self.keys[at as usize], &self.states[at as usize]);
        // Both are between 0 and 1, where the bit patterns of floats sort like their values.
        (
            state.activation.max(0.0).to_bits(),
            state.confidence.unwrap_or(0.0).max(0.0).to_bits(),
            kind,
            content,
        )
    }

    /// The edges of a type, as node indices.
    fn edges_of_kind<'m>(&'m self, kind: &'m str) -> impl Iterator<Item = (u32, u32)> + 'm {
        let number = self.kind_numbers.get(kind).copied();
        let claims = self
            .edge_statements
            .iter()
            .filter(move |claim| Some(claim.kind) == number && claim.from != claim.to);
        claims.map(|claim| (claim.from, claim.to))
    }

    /// Marks superseded nodes: they are kept, but inactive.
    fn mark_superseded(&mut self, ids: &[Cow<'j, str>], merged: &mut MergedGraph) {
        let mut by_id: FastMap<&str, Vec<u32>> = FastMap::default();
        if self.supersedes.values().any(|replaces| !replaces.external_ids.is_empty()) {
            for (at, (id, ..)) in self.keys.iter().enumerate() {
                by_id.entry(id).or_default().push(at as u32);
            }
        }
        let mut pairs: BTreeSet<(u32, u32)> = BTreeSet::new();
        for (at, replaces) in &self.supersedes {
            let found = replaces.external_ids.iter().filter_map(|id| by_id.get(&**id)).flatten();
            let old = replaces.local.iter().chain(found).filter(|old| *old != at);
            pairs.extend(old.map(|old| (*old, *at)));
        }
        let by_edge: BTreeSet<(u32, u32)> =
            self.edges_of_kind("supersedes").map(|(new, old)| (old, new)).collect();
        for (old, new) in &pairs {
            self.supersedes.entry(*new).or_default().local.insert(*old);
        }
        for (old, new) in pairs.union(&by_edge) {
            self.states[*old as usize].superseded = true;
            let id = |at: u32| ids[at as usize].clone().into_owned();
            merged.superseded.push((id(*old), id(*new)));
        }
        merged.superseded.sort();
    }

    /// Collects contradictions: between nodes that share an ID, and those stated by edges.
    fn collect_contradictions(
        &self,
        named: &AssignedNodeIds<'j>,
        contradicts: u32,
        merged: &mut MergedGraph,
    ) {
        let told: BTreeSet<(u32, u32)> =
            self.edges_of_kind(&self.kinds[contradicts as usize]).collect();
        let tell = |from: u32, to: u32, same_id: bool| {
            let id = |at: u32| named.ids[at as usize].clone().into_owned();
            let content = |at: u32| self.keys[at as usize].2.clone().into_owned();
            Contradiction {
                from: id(from),
                from_content: content(from),
                to: id(to),
                to_content: content(to),
                same_id,
            }
        };
        merged
            .contradictions
            .extend(named.variants.iter().map(|(kept, other)| tell(*kept, *other, true)));
        merged.contradictions.extend(told.iter().map(|(from, to)| tell(*from, *to, false)));
        merged.contradictions.sort_by(|a, b| (&a.from, &a.to).cmp(&(&b.from, &b.to)));
    }

    /// Writes the edges sorted by node IDs and type, and returns their number.
    fn write_edges(&self, contradicts: u32, writer: &mut MergedGraphWriter<'_, 'j>) -> usize {
        const DERIVED: u32 = u32::MAX;
        let named = writer.assigned_ids;
        let mut rank = vec![0u32; self.keys.len()];
        named
            .order
            .iter()
            .enumerate()
            .for_each(|(position, at)| rank[*at as usize] = position as u32);
        let mut kinds: Vec<u32> = (0..self.kinds.len() as u32).collect();
        kinds.sort_by_key(|kind| &self.kinds[*kind as usize]);
        let mut kind_rank = vec![0u32; kinds.len()];
        kinds
            .iter()
            .enumerate()
            .for_each(|(position, kind)| kind_rank[*kind as usize] = position as u32);
        let key = |from: u32, to: u32, kind: u32| {
            let ends = u64::from(rank[from as usize]) << 32 | u64::from(rank[to as usize]);
            (ends, kind_rank[kind as usize])
        };
        let stated = self
            .edge_statements
            .iter()
            .enumerate()
            .map(|(at, one)| (key(one.from, one.to, one.kind), at as u32));
        // Stated edges precede derived ones.
        let derived = named
            .variants
            .iter()
            .map(|(keeper, other)| (key(*keeper, *other, contradicts), DERIVED));
        let mut edges: Vec<((u64, u32), u32)> = stated.chain(derived).collect();
        edges.sort_unstable();
        let quoted: Vec<String> =
            kinds.iter().map(|kind| quoted(&self.kinds[*kind as usize])).collect();
        let (mut count, mut claims) = (0, Vec::new());
        for same in edges.chunk_by(|a, b| a.0 == b.0) {
            if count > 0 {
                writer.text.push(',');
            }
            count += 1;
            claims.clear();
            claims.extend(same.iter().filter_map(|(_, at)| self.edge_statements.get(*at as usize)));
            let ((ends, kind), _) = same[0];
            let kind = &quoted[kind as usize];
            writer.write_edge(&MergedEdge {
                from: (ends >> 32) as u32,
                to: ends as u32,
                kind,
                statements: &claims,
            });
        }
        count
    }

    /// Collects the nodes that several inputs have, and what the others add to the first.
    fn collect_node_changes(&self, named: &AssignedNodeIds<'j>, merged: &mut MergedGraph) {
        for &at in &named.order {
            let (at, id) = (at as usize, || named.ids[at as usize].clone().into_owned());
            let state = &self.states[at];
            if state.shared {
                merged.shared.push(id());
            }
            if state.first_input != 0 {
                merged.added.push(id());
            } else if state.shared && self.others_add_information(at) {
                merged.updated.push(id());
            }
        }
    }

    /// Whether other inputs add information to a node of the first one.
    fn others_add_information(&self, at: usize) -> bool {
        if self.states[at].verbatim {
            return false;
        }
        let (mut activation, mut confidence) = (0.0f64, None);
        let (mut own, mut all) = (MergeFields::new(), MergeFields::new());
        for one in self.statements_of(at) {
            collect_node_fields(&mut all, one.value);
            if let (0, Some(node)) = (one.input, NodeParts::of(one.value)) {
                (activation, confidence) =
                    (activation.max(node.activation), max_option(confidence, node.confidence));
                collect_node_fields(&mut own, one.value);
            }
        }
        own.sort_unstable();
        let state = &self.states[at];
        (activation, confidence) != (state.activation, state.confidence)
            || all.iter().any(|field| own.binary_search(field).is_err())
    }
}

/// Whether two merged nodes are equal apart from their IDs and superseded state.
pub(super) fn nodes_equal_ignoring_ids(one: JsonValue<'_>, other: JsonValue<'_>) -> bool {
    let parts = |value| NodeParts::of(value).map(|node| (node.activation, node.confidence));
    let fields = |value| {
        let mut fields = MergeFields::new();
        collect_node_fields(&mut fields, value);
        fields
    };
    one.raw() == other.raw() || parts(one) == parts(other) && fields(one) == fields(other)
}

fn max_option(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    one.zip(other).map(|(one, other)| one.max(other)).or(one).or(other)
}

/// The first bytes of a text as a number, to compare most texts without a memory access.
fn prefix_as_u64(text: &str) -> u64 {
    let mut bytes = [0; 8];
    let length = text.len().min(8);
    bytes[..length].copy_from_slice(&text.as_bytes()[..length]);
    u64::from_be_bytes(bytes)
}

/// The ID of a node derived from its type and content.
fn content_id(kind: &str, content: &str) -> String {
    format!("{kind}-{}", short_hash(kind, content))
}

fn short_hash(kind: &str, content: &str) -> String {
    Digest::of(format!("{kind}\0{content}\0").as_bytes()).hex()[..12].to_owned()
}
