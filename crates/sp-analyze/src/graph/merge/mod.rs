//! Merges graphs. The merge is commutative, associative and idempotent, and loses nothing.
//!
//! Every input is split into statements: a node is identified by its ID, type and content, an edge
//! by its two nodes and its type, and each statement has a source. Statements about the same thing
//! are combined by rules that do not depend on order: the higher activation, the higher confidence,
//! the greater of two texts. IDs and averages are computed at the end, from all statements.
//!
//! A merged graph records who said what (`contributions` of an edge, `sources` of the graph), so it
//! can be merged again.

mod assigned_ids;
mod changes;
mod edge_order;
mod parts;
mod write;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use foldhash::fast::RandomState;
use sp_formats::json::{JsonNumberFormat, JsonValue, canonicalize, quoted};
use sp_formats::package::{CanonicalGraph, GRAPH_FORMAT, Graph};

use crate::interner::{FastMap, HashIndex, StringInterner, hash_of};
use assigned_ids::{AssignedNodeIds, content_id};
use parts::{EdgeParts, NodeParts};
use write::MergedGraphWriter;

pub(super) use changes::nodes_equal_ignoring_ids;

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

/// Identity of a node across packages.
#[derive(PartialEq, Eq, PartialOrd, Ord, Hash)]
struct MergeNodeKey<'j> {
    id: Cow<'j, str>,
    /// The node type.
    kind: Cow<'j, str>,
    content: Cow<'j, str>,
}

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

impl MergedNodeState {
    /// The state before the first statement is applied.
    fn new(statement: u32, input: u32, verbatim: bool) -> Self {
        Self {
            activation: 0.0,
            confidence: None,
            last_statement: statement,
            first_input: input,
            shared: false,
            verbatim,
            superseded: false,
        }
    }
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
            let index = self.add_node(number, ids, &mut node, value);
            local.insert(&node.id, index);
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
        let (kind, content) = (std::mem::take(&mut node.kind), std::mem::take(&mut node.content));
        let (statement, input) = (self.node_statements.len() as u32, input as u32);
        let verbatim = node.verbatim && ids == NodeIdScheme::Global;
        let new_state = MergedNodeState::new(statement, input, verbatim);
        let index = self.intern_node(MergeNodeKey { id, kind, content }, new_state);
        let state = &mut self.states[index as usize];
        state.shared |= state.first_input != input;
        state.activation = state.activation.max(node.activation);
        state.confidence = max_option(state.confidence, node.confidence);
        let previous = std::mem::replace(&mut state.last_statement, statement);
        if previous != statement {
            state.verbatim &= self.node_statements[previous as usize].value.raw() == value.raw();
        }
        self.node_statements.push(NodeStatement { value, input, previous });
        index
    }

    /// Returns the index of a node. A node that is not known yet gets `new_state`.
    fn intern_node(&mut self, key: MergeNodeKey<'j>, new_state: MergedNodeState) -> u32 {
        let hash = hash_of(&self.hasher, &key);
        if let Some(index) = self.key_index.find(hash, |index| self.keys[index as usize] == key) {
            return index;
        }
        let index = self.keys.len() as u32;
        self.key_index.insert(hash, index);
        if !self.types.contains(&key.kind) {
            self.types.insert(key.kind.clone());
        }
        self.keys.push(key);
        self.states.push(new_state);
        index
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
            let kind = self.intern_kind(edge.kind);
            self.edge_statements.push(EdgeStatement {
                from,
                to,
                kind,
                input: input as u32,
                weight: edge.weight,
                coactivations: edge.coactivations,
                contributions: edge.contributions,
                has_extra_fields: edge.has_extra_fields,
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
    fn statements_of(&self, index: usize) -> impl Iterator<Item = &NodeStatement<'j>> {
        let mut next = Some(self.states[index].last_statement);
        std::iter::from_fn(move || {
            let current = next?;
            let statement = &self.node_statements[current as usize];
            next = Some(statement.previous).filter(|previous| *previous != current);
            Some(statement)
        })
    }

    fn finish(mut self) -> MergedGraph {
        let assigned = self.assign_ids();
        let types = std::mem::take(&mut self.types).into_iter().map(Cow::into_owned).collect();
        let graph = CanonicalGraph {
            node_count: self.keys.len(),
            node_types: types,
            ..CanonicalGraph::default()
        };
        let mut merged = MergedGraph { graph, ..MergedGraph::default() };
        self.mark_superseded(&assigned.ids, &mut merged);
        let contradicts = self.intern_kind(Cow::Borrowed("contradicts"));
        self.collect_contradictions(&assigned, contradicts, &mut merged);
        self.write_graph(&assigned, contradicts, &mut merged.graph);
        self.collect_node_changes(&assigned, &mut merged);
        merged
    }

    /// Renders the graph, with its members sorted by key.
    fn write_graph(
        &self,
        assigned: &AssignedNodeIds<'j>,
        contradicts: u32,
        graph: &mut CanonicalGraph,
    ) {
        let mut writer = MergedGraphWriter::new(self, assigned);
        writer.text.push_str("{\"edges\":[");
        graph.edge_count = self.write_edges(contradicts, &mut writer);
        let _ = write!(writer.text, "],\"format\":{}", quoted(GRAPH_FORMAT));
        if !self.dangling_edges.is_empty() {
            let loose: Vec<&str> = self.dangling_edges.iter().map(String::as_str).collect();
            let _ = write!(writer.text, ",\"loose\":[{}]", loose.join(","));
        }
        writer.text.push_str(",\"nodes\":[");
        for (position, &index) in assigned.order.iter().enumerate() {
            if position > 0 {
                writer.text.push(',');
            }
            writer.write_node(index as usize);
        }
        writer.text.push_str("],\"sources\":{");
        for (position, (source, label)) in self.sources.iter().enumerate() {
            let comma = if position > 0 { "," } else { "" };
            let _ = write!(writer.text, "{comma}{}:{}", quoted(source), quoted(label));
        }
        writer.text.push_str("}}");
        graph.json = writer.text;
    }
}

fn max_option(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    a.zip(b).map(|(a, b)| a.max(b)).or(a).or(b)
}
