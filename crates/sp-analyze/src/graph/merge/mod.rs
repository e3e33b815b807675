//! Merging graphs: any order, any grouping, twice or once, the same graph comes out and nothing is lost.
//!
//! Every input is taken apart into what it says (a node is its id, type and content; an edge its two
//! nodes and its type) and who says it. What is said by several is joined by rules that do not know
//! an order: the higher activation, the higher confidence, the greatest of two texts. Ids and averages
//! are worked out at the end, from the whole. A merged graph remembers who said what (`contributions`
//! of an edge, `sources` of the graph), so it can be merged again.

mod parts;
mod write;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use sp_tree::Digest;

use foldhash::fast::RandomState;
use sp_formats::package::{CanonicalGraph, GRAPH_FORMAT, Graph};

use crate::interner::{Map, Table, Texts, hash_of};
use parts::{EdgeParts, Fields, NodeParts, gather_node};
use sp_formats::json::{Numbers, Value, canonical, quoted};
use write::{Edge, Writer};

/// A graph that is merged, and who says it.
#[derive(Debug, Clone)]
pub struct Voice<'j> {
    /// What tells this package from every other: the hash of its content.
    pub source: String,
    /// What people call it.
    pub label: String,
    /// Whether its ids mean something outside it; if not, what a node says is its id.
    pub ids: Ids,
    /// Its content.
    pub content: Value<'j>,
}

/// Whether the ids of a package mean something outside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ids {
    /// They do.
    Global,
    /// They were counted: `N1`, `N2` and so on.
    Counted,
}

impl Ids {
    /// How the ids of a graph were given.
    pub fn of(graph: &Graph<'_>) -> Self {
        let counted = |id: &str| {
            id.strip_prefix('N').is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()))
        };
        match !graph.nodes.is_empty() && graph.nodes.iter().all(|node| counted(&node.id)) {
            true => Self::Counted,
            false => Self::Global,
        }
    }
}

/// What came of it.
#[derive(Debug, Clone, Default)]
pub struct Merged {
    pub graph: CanonicalGraph,
    /// Nodes that the first package does not have.
    pub added: Vec<String>,
    /// Nodes that the first package has, and of which the others say more.
    pub updated: Vec<String>,
    /// Nodes that more than one package has.
    pub shared: Vec<String>,
    /// Nodes that another supersedes: the old id, and the new one.
    pub superseded: Vec<(String, String)>,
    /// Two nodes that contradict each other, with what each says.
    pub contradictions: Vec<Contradiction>,
}

/// Two nodes that contradict each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contradiction {
    /// The first id.
    pub from: String,
    /// What it says.
    pub from_content: String,
    /// The second id.
    pub to: String,
    /// What it says.
    pub to_content: String,
    /// Whether the two had one id.
    pub same_id: bool,
}

/// Id, type and content: what makes a node the same in two packages.
type Said<'j> = (Cow<'j, str>, Cow<'j, str>, Cow<'j, str>);

/// What is known of a node, whoever says it.
struct State {
    activation: f64,
    confidence: Option<f64>,
    /// The last that was said of it.
    last: u32,
    /// The first package that has it, and whether another has it too.
    voice: u32,
    shared: bool,
    /// Whether all who have it have it to the letter, and it would be written so.
    settled: bool,
    /// Whether another node took its place: it keeps what it was, and is no longer active.
    superseded: bool,
}

/// What a node takes the place of. Few do, so this stands apart.
#[derive(Default)]
struct Replaces<'j> {
    /// Nodes of its own package.
    here: BTreeSet<u32>,
    /// Ids that its own package does not have.
    elsewhere: BTreeSet<Cow<'j, str>>,
}

/// A node as one package has it.
struct Statement<'j> {
    value: Value<'j>,
    voice: u32,
    /// What was said of the same node before; itself, if it is the first.
    before: u32,
}

/// An edge as one package has it: the numbers of its two nodes and of its type, and what is said of it.
struct Claim<'j> {
    from: u32,
    to: u32,
    kind: u32,
    voice: u32,
    weight: f64,
    count: f64,
    contributions: Option<Value<'j>>,
    more: bool,
    value: Value<'j>,
}

struct Merger<'v, 'j> {
    voices: &'v [Voice<'j>],
    /// The nodes; what is known of each stands at the same place of `states`.
    said: Vec<Said<'j>>,
    known: Table,
    hasher: RandomState,
    states: Vec<State>,
    replaces: BTreeMap<u32, Replaces<'j>>,
    statements: Vec<Statement<'j>>,
    claims: Vec<Claim<'j>>,
    /// The types of edges, and their numbers.
    kinds: Vec<Cow<'j, str>>,
    numbers: Map<Cow<'j, str>, u32>,
    /// The types of nodes.
    types: BTreeSet<Cow<'j, str>>,
    sources: BTreeMap<String, String>,
    /// Edges that lead to nodes that are not there, as canonical JSON.
    loose: BTreeSet<String>,
}

/// The ids of one package, and which nodes they are.
struct Local {
    ids: Texts,
    nodes: Vec<u32>,
}

impl Local {
    /// An id that two nodes have is that of the second.
    fn insert(&mut self, id: &str, node: u32) {
        match self.ids.number(id) {
            (_, true) => self.nodes.push(node),
            (number, false) => self.nodes[number as usize] = node,
        }
    }

    fn find(&self, id: &str) -> Option<u32> {
        self.ids.find(id).map(|number| self.nodes[number as usize])
    }
}

/// The nodes with the ids that they have in the merged graph.
struct Named<'j> {
    ids: Vec<Cow<'j, str>>,
    /// The nodes in the order of their ids.
    order: Vec<u32>,
    /// Nodes that share an id: the one that keeps it, and another.
    variants: Vec<(u32, u32)>,
}

/// Merges graphs.
pub fn merge(voices: &[Voice<'_>]) -> Merged {
    let mut merger = Merger::new(voices);
    for number in 0..voices.len() {
        merger.hear(number);
    }
    merger.finish()
}

fn list<'j>(content: Value<'j>, key: &str) -> impl Iterator<Item = Value<'j>> {
    content.get("context_graph").and_then(|graph| graph.get(key)).into_iter().flat_map(Value::items)
}

impl<'v, 'j> Merger<'v, 'j> {
    fn new(voices: &'v [Voice<'j>]) -> Self {
        Self {
            voices,
            said: Vec::new(),
            known: Table::with_room(0),
            hasher: RandomState::default(),
            states: Vec::new(),
            replaces: BTreeMap::new(),
            statements: Vec::new(),
            claims: Vec::new(),
            kinds: Vec::new(),
            numbers: Map::default(),
            types: BTreeSet::new(),
            sources: BTreeMap::new(),
            loose: BTreeSet::new(),
        }
    }

    fn hear(&mut self, number: usize) {
        let voice = &self.voices[number];
        let sources = voice.content.get("context_graph").and_then(|graph| graph.get("sources"));
        match sources {
            // A merge speaks for those that it was made of.
            Some(sources) => {
                for (source, label) in sources.members() {
                    let text = |value: Value<'_>| value.text().unwrap_or_default().into_owned();
                    self.sources.insert(text(source), text(label));
                }
            }
            None => {
                self.sources.insert(voice.source.clone(), voice.label.clone());
            }
        }
        // The ids of a merge were given by it.
        let ids = if sources.is_some() { Ids::Global } else { voice.ids };
        let local = self.hear_nodes(number, ids);
        for value in list(voice.content, "edges") {
            self.edge(number, &local, value);
        }
        let loose = list(voice.content, "loose");
        self.loose.extend(loose.filter_map(|edge| canonical(edge, "", Numbers::Lossless)));
    }

    /// Takes the nodes of a package, and tells which of its ids is which node.
    fn hear_nodes(&mut self, number: usize, ids: Ids) -> Local {
        let voice = &self.voices[number];
        let count = list(voice.content, "nodes").count();
        let mut local = Local { ids: Texts::with_room(count), nodes: Vec::with_capacity(count) };
        let mut replacing: Vec<NodeParts<'j>> = Vec::new();
        for value in list(voice.content, "nodes") {
            let Some(mut node) = NodeParts::of(value) else { continue };
            let at = self.node(number, ids, &mut node, value);
            local.insert(&node.id, at);
            if node.supersedes.is_some() || node.elsewhere.is_some() {
                replacing.push(node);
            }
        }
        replacing.iter().for_each(|node| self.supersede(voice, &local, node));
        local
    }

    fn node(&mut self, voice: usize, ids: Ids, node: &mut NodeParts<'j>, value: Value<'j>) -> u32 {
        let id = match (ids, node.variant_of.take()) {
            (Ids::Counted, _) => Cow::Owned(said_id(&node.kind, &node.content)),
            (Ids::Global, Some(of)) => of,
            (Ids::Global, None) => node.id.clone(),
        };
        let settled = node.settled && ids == Ids::Global;
        let said = (id, std::mem::take(&mut node.kind), std::mem::take(&mut node.content));
        let hash = hash_of(&self.hasher, &said);
        let (this, voice) = (self.statements.len() as u32, voice as u32);
        let at = self.known.find(hash, |at| self.said[at as usize] == said).unwrap_or_else(|| {
            let at = self.said.len() as u32;
            self.known.insert(hash, at);
            if !self.types.contains(&said.1) {
                self.types.insert(said.1.clone());
            }
            self.said.push(said);
            let (activation, confidence) = (0.0, None);
            self.states.push(State {
                activation,
                confidence,
                last: this,
                voice,
                shared: false,
                settled,
                superseded: false,
            });
            at
        });
        let state = &mut self.states[at as usize];
        state.shared |= state.voice != voice;
        state.activation = state.activation.max(node.activation);
        state.confidence = greater(state.confidence, node.confidence);
        let before = std::mem::replace(&mut state.last, this);
        if before != this {
            state.settled &= self.statements[before as usize].value.raw() == value.raw();
        }
        self.statements.push(Statement { value, voice, before });
        at
    }

    fn supersede(&mut self, voice: &Voice<'j>, local: &Local, node: &NodeParts<'j>) {
        let Some(own) = local.find(&node.id) else { return };
        let replaces = self.replaces.entry(own).or_default();
        let elsewhere = node.elsewhere.into_iter().flat_map(Value::items).filter_map(Value::text);
        replaces.elsewhere.extend(elsewhere);
        let Some(value) = node.supersedes else { return };
        // One id, or several.
        for id in value.text().into_iter().chain(value.items().filter_map(Value::text)) {
            match (local.find(&id), voice.ids) {
                (Some(old), _) if old != own => drop(replaces.here.insert(old)),
                (Some(_), _) => {}
                (None, Ids::Global) => drop(replaces.elsewhere.insert(id)),
                // A counted id means nothing outside its package.
                (None, Ids::Counted) => {
                    replaces.elsewhere.insert(format!("{}/{id}", voice.source).into());
                }
            }
        }
    }

    fn edge(&mut self, voice: usize, local: &Local, value: Value<'j>) {
        let Some(edge) = EdgeParts::of(value) else { return };
        let (Some(from), Some(to)) = (local.find(&edge.from), local.find(&edge.to)) else {
            self.loose.extend(canonical(value, "", Numbers::Lossless));
            return;
        };
        if !edge.derived {
            let EdgeParts { weight, count, contributions, more, .. } = edge;
            let (kind, voice) = (self.kind(edge.kind), voice as u32);
            self.claims.push(Claim { from, to, kind, voice, weight, count, contributions, more, value });
        }
    }

    /// The number of a type of edges.
    fn kind(&mut self, kind: Cow<'j, str>) -> u32 {
        *self.numbers.entry(kind).or_insert_with_key(|kind| {
            self.kinds.push(kind.clone());
            (self.kinds.len() - 1) as u32
        })
    }

    /// All that was said of a node, the last first.
    fn statements_of(&self, at: usize) -> impl Iterator<Item = &Statement<'j>> {
        let mut next = Some(self.states[at].last);
        std::iter::from_fn(move || {
            let this = next?;
            let one = &self.statements[this as usize];
            next = Some(one.before).filter(|before| *before != this);
            Some(one)
        })
    }

    fn finish(mut self) -> Merged {
        let named = self.name();
        let types = std::mem::take(&mut self.types).into_iter().map(Cow::into_owned).collect();
        let graph = CanonicalGraph { nodes: self.said.len(), types, ..CanonicalGraph::default() };
        let mut merged = Merged { graph, ..Merged::default() };
        self.set_aside(&named.ids, &mut merged);
        let contradicts = self.kind(Cow::Borrowed("contradicts"));
        self.tell_contradictions(&named, contradicts, &mut merged);
        let mut writer = Writer::new(&self, &named);
        writer.text.push_str("{\"edges\":[");
        merged.graph.edges = self.write_edges(contradicts, &mut writer);
        let _ = write!(writer.text, "],\"format\":{}", quoted(GRAPH_FORMAT));
        if !self.loose.is_empty() {
            let loose: Vec<&str> = self.loose.iter().map(String::as_str).collect();
            let _ = write!(writer.text, ",\"loose\":[{}]", loose.join(","));
        }
        writer.text.push_str(",\"nodes\":[");
        for (place, &at) in named.order.iter().enumerate() {
            if place > 0 {
                writer.text.push(',');
            }
            writer.node(at as usize);
        }
        writer.text.push_str("],\"sources\":{");
        for (place, (source, label)) in self.sources.iter().enumerate() {
            let comma = if place > 0 { "," } else { "" };
            let _ = write!(writer.text, "{comma}{}:{}", quoted(source), quoted(label));
        }
        writer.text.push_str("}}");
        merged.graph.text = writer.text;
        self.tell_nodes(&named, &mut merged);
        merged
    }

    /// The id of every node: one of those that share an id keeps it, the others have it with a part of their hash.
    fn name(&self) -> Named<'j> {
        let mut ids: Vec<Cow<'j, str>> = self.said.iter().map(|(id, ..)| id.clone()).collect();
        let by_id = self.sorted(|at| &self.said[at].0);
        let mut variants = Vec::new();
        for group in by_id.chunk_by(|a, b| self.said[*a as usize].0 == self.said[*b as usize].0) {
            if let [_, _, ..] = group {
                let mut group = group.to_vec();
                group.sort_by(|a, b| self.rank(*b).cmp(&self.rank(*a)));
                for &at in &group[1..] {
                    let (id, kind, content) = &self.said[at as usize];
                    ids[at as usize] = format!("{id}~{}", short_hash(kind, content)).into();
                    variants.push((group[0], at));
                }
            }
        }
        let order = if variants.is_empty() { by_id } else { self.sorted(|at| &ids[at]) };
        Named { ids, order, variants }
    }

    /// The nodes in the order of a text of theirs; of equals, by what they say.
    fn sorted<'t>(&'t self, text: impl Fn(usize) -> &'t str) -> Vec<u32> {
        let mut all: Vec<(u64, &str, u32)> =
            (0..self.said.len()).map(|at| (beginning(text(at)), text(at), at as u32)).collect();
        all.sort_by(|a, b| {
            let same = || self.said[a.2 as usize].cmp(&self.said[b.2 as usize]);
            a.0.cmp(&b.0).then_with(|| a.1.cmp(b.1)).then_with(same)
        });
        all.into_iter().map(|(_, _, at)| at).collect()
    }

    /// Which of several nodes keeps the id: the more active, the more certain, then by what it says.
    fn rank(&self, at: u32) -> (u64, u64, &str, &str) {
        let ((_, kind, content), state) = (&self.said[at as usize], &self.states[at as usize]);
        // Both lie between 0 and 1, where the bits of a number have the order of the number.
        (state.activation.max(0.0).to_bits(), state.confidence.unwrap_or(0.0).max(0.0).to_bits(), kind, content)
    }

    /// The edges of a type that lead from one node to another.
    fn between<'m>(&'m self, kind: &'m str) -> impl Iterator<Item = (u32, u32)> + 'm {
        let number = self.numbers.get(kind).copied();
        let claims = self.claims.iter().filter(move |claim| Some(claim.kind) == number && claim.from != claim.to);
        claims.map(|claim| (claim.from, claim.to))
    }

    /// What was superseded is kept, and no longer active.
    fn set_aside(&mut self, ids: &[Cow<'j, str>], merged: &mut Merged) {
        let mut by_id: Map<&str, Vec<u32>> = Map::default();
        if self.replaces.values().any(|replaces| !replaces.elsewhere.is_empty()) {
            for (at, (id, ..)) in self.said.iter().enumerate() {
                by_id.entry(id).or_default().push(at as u32);
            }
        }
        let mut pairs: BTreeSet<(u32, u32)> = BTreeSet::new();
        for (at, replaces) in &self.replaces {
            let found = replaces.elsewhere.iter().filter_map(|id| by_id.get(&**id)).flatten();
            let old = replaces.here.iter().chain(found).filter(|old| *old != at);
            pairs.extend(old.map(|old| (*old, *at)));
        }
        let by_edge: BTreeSet<(u32, u32)> = self.between("supersedes").map(|(new, old)| (old, new)).collect();
        for (old, new) in &pairs {
            self.replaces.entry(*new).or_default().here.insert(*old);
        }
        for (old, new) in pairs.union(&by_edge) {
            self.states[*old as usize].superseded = true;
            let id = |at: u32| ids[at as usize].clone().into_owned();
            merged.superseded.push((id(*old), id(*new)));
        }
        merged.superseded.sort();
    }

    /// Nodes that share an id contradict the one that kept it, and others contradict each other by what is said.
    fn tell_contradictions(&self, named: &Named<'j>, contradicts: u32, merged: &mut Merged) {
        let told: BTreeSet<(u32, u32)> = self.between(&self.kinds[contradicts as usize]).collect();
        let tell = |from: u32, to: u32, same_id: bool| {
            let id = |at: u32| named.ids[at as usize].clone().into_owned();
            let content = |at: u32| self.said[at as usize].2.clone().into_owned();
            Contradiction { from: id(from), from_content: content(from), to: id(to), to_content: content(to), same_id }
        };
        merged.contradictions.extend(named.variants.iter().map(|(kept, other)| tell(*kept, *other, true)));
        merged.contradictions.extend(told.iter().map(|(from, to)| tell(*from, *to, false)));
        merged.contradictions.sort_by(|a, b| (&a.from, &a.to).cmp(&(&b.from, &b.to)));
    }

    /// Writes the edges in the order of their two ids and their types, and tells how many there are.
    fn write_edges(&self, contradicts: u32, writer: &mut Writer<'_, 'j>) -> usize {
        const DERIVED: u32 = u32::MAX;
        let named = writer.named;
        let mut rank = vec![0u32; self.said.len()];
        named.order.iter().enumerate().for_each(|(place, at)| rank[*at as usize] = place as u32);
        let mut kinds: Vec<u32> = (0..self.kinds.len() as u32).collect();
        kinds.sort_by_key(|kind| &self.kinds[*kind as usize]);
        let mut kind_rank = vec![0u32; kinds.len()];
        kinds.iter().enumerate().for_each(|(place, kind)| kind_rank[*kind as usize] = place as u32);
        let key = |from: u32, to: u32, kind: u32| {
            let ends = u64::from(rank[from as usize]) << 32 | u64::from(rank[to as usize]);
            (ends, kind_rank[kind as usize])
        };
        let said = self.claims.iter().enumerate().map(|(at, one)| (key(one.from, one.to, one.kind), at as u32));
        // What somebody says needs no derivation, and stands before it.
        let derived = named.variants.iter().map(|(kept, other)| (key(*kept, *other, contradicts), DERIVED));
        let mut edges: Vec<((u64, u32), u32)> = said.chain(derived).collect();
        edges.sort_unstable();
        let quoted: Vec<String> = kinds.iter().map(|kind| quoted(&self.kinds[*kind as usize])).collect();
        let (mut count, mut claims) = (0, Vec::new());
        for same in edges.chunk_by(|a, b| a.0 == b.0) {
            if count > 0 {
                writer.text.push(',');
            }
            count += 1;
            claims.clear();
            claims.extend(same.iter().filter_map(|(_, at)| self.claims.get(*at as usize)));
            let ((ends, kind), _) = same[0];
            let kind = &quoted[kind as usize];
            writer.edge(&Edge { from: (ends >> 32) as u32, to: ends as u32, kind, claims: &claims });
        }
        count
    }

    /// Which nodes several packages have, and what the others bring to the first.
    fn tell_nodes(&self, named: &Named<'j>, merged: &mut Merged) {
        for &at in &named.order {
            let (at, id) = (at as usize, || named.ids[at as usize].clone().into_owned());
            let state = &self.states[at];
            if state.shared {
                merged.shared.push(id());
            }
            if state.voice != 0 {
                merged.added.push(id());
            } else if state.shared && self.says_more(at) {
                merged.updated.push(id());
            }
        }
    }

    /// Whether others say more of a node than the first package does.
    fn says_more(&self, at: usize) -> bool {
        if self.states[at].settled {
            return false;
        }
        let (mut activation, mut confidence) = (0.0f64, None);
        let (mut own, mut all) = (Fields::new(), Fields::new());
        for one in self.statements_of(at) {
            gather_node(&mut all, one.value);
            if let (0, Some(node)) = (one.voice, NodeParts::of(one.value)) {
                (activation, confidence) = (activation.max(node.activation), greater(confidence, node.confidence));
                gather_node(&mut own, one.value);
            }
        }
        own.sort_unstable();
        let state = &self.states[at];
        (activation, confidence) != (state.activation, state.confidence)
            || all.iter().any(|field| own.binary_search(field).is_err())
    }
}

/// Whether two merged nodes say the same, whatever ids they have, and whether or not others took their places.
pub(super) fn says_the_same(one: Value<'_>, other: Value<'_>) -> bool {
    let parts = |value| NodeParts::of(value).map(|node| (node.activation, node.confidence));
    let fields = |value| {
        let mut fields = Fields::new();
        gather_node(&mut fields, value);
        fields
    };
    one.raw() == other.raw() || parts(one) == parts(other) && fields(one) == fields(other)
}

/// The greater of two, where there are two.
fn greater(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    one.zip(other).map(|(one, other)| one.max(other)).or(one).or(other)
}

/// The first bytes of a text as a number: most texts are told apart by it.
fn beginning(text: &str) -> u64 {
    let mut bytes = [0; 8];
    let length = text.len().min(8);
    bytes[..length].copy_from_slice(&text.as_bytes()[..length]);
    u64::from_be_bytes(bytes)
}

/// The id of a node that says what it is.
fn said_id(kind: &str, content: &str) -> String {
    format!("{kind}-{}", short_hash(kind, content))
}

fn short_hash(kind: &str, content: &str) -> String {
    Digest::of(format!("{kind}\0{content}\0").as_bytes()).hex()[..12].to_owned()
}
