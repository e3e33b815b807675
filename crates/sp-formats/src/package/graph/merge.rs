//! Merging graphs: any order, any grouping, twice or once, the same graph comes out and nothing is lost.
//!
//! Every input is taken apart into what it says (a node is its id, type and content; an edge its two
//! nodes and its type) and who says it. What is said by several is joined by rules that do not know
//! an order: the higher activation, the higher confidence, the greatest of two texts. Ids and averages
//! are worked out at the end, from the whole. A merged graph remembers who said what (`contributions`
//! of an edge, `sources` of the graph), so it can be merged again.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write;

use sp_tree::Digest;

use super::{Edge, GRAPH_FORMAT, Graph, Node};
use crate::json::{Kind, Numbers, Value, canonical, quoted};

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
    /// The graph, as canonical JSON.
    pub graph: String,
    /// How many nodes it has.
    pub nodes: usize,
    /// How many edges it has.
    pub edges: usize,
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

/// Members of a node that have rules of their own, or that we write.
const NODE_RULES: &[&str] = &[
    "id",
    "type",
    "content",
    "activation",
    "active_before",
    "confidence",
    "supersedes",
    "supersedes_elsewhere",
    "variant_of",
    "also",
];
const EDGE_RULES: &[&str] = &["from", "to", "type", "weight", "coactivations", "contributions", "derived", "also"];

/// What is said of something: keys with values, in no order, perhaps more than once.
type Fields<'j> = Vec<(Cow<'j, str>, Cow<'j, str>)>;

/// Id, type and content: what makes a node the same in two packages.
type Said<'j> = (Cow<'j, str>, Cow<'j, str>, Cow<'j, str>);

/// A node, whoever says it.
struct Variant<'j> {
    id: Cow<'j, str>,
    kind: Cow<'j, str>,
    content: Cow<'j, str>,
    activation: f64,
    confidence: Option<f64>,
    /// The nodes of its own package that it supersedes.
    supersedes: BTreeSet<usize>,
    /// Ids that it supersedes and that its own package does not have.
    elsewhere: BTreeSet<Cow<'j, str>>,
    fields: Fields<'j>,
    /// The first package that has it, and whether another has it too.
    voice: usize,
    shared: bool,
    /// Whether another node took its place: it keeps what it was, and is no longer active.
    superseded: bool,
}

/// An edge, whoever says it.
#[derive(Default)]
struct Tie<'j> {
    /// Weight and coactivations, by the number of the source that says them.
    contributions: Vec<(usize, f64, f64)>,
    fields: Fields<'j>,
}

#[derive(Default)]
struct Merger<'j> {
    variants: Vec<Variant<'j>>,
    known: HashMap<Said<'j>, usize>,
    ties: HashMap<(usize, usize, Cow<'j, str>), Tie<'j>>,
    sources: BTreeMap<String, String>,
    /// The sources of contributions, by number.
    speakers: Vec<String>,
    numbers: HashMap<String, usize>,
    /// Edges that lead to nodes that are not there, as canonical JSON.
    loose: BTreeSet<String>,
}

/// Merges graphs.
pub fn merge(voices: &[Voice<'_>]) -> Merged {
    let mut merger = Merger::default();
    for (number, voice) in voices.iter().enumerate() {
        merger.hear(number, voice);
    }
    merger.finish()
}

impl<'j> Merger<'j> {
    fn hear(&mut self, number: usize, voice: &Voice<'j>) {
        let graph = Graph::of(voice.content);
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
        let mut local: HashMap<Cow<'j, str>, usize> = HashMap::with_capacity(graph.nodes.len());
        for node in &graph.nodes {
            let at = self.node(number, ids, node);
            local.insert(node.id.clone(), at);
        }
        for node in &graph.nodes {
            self.supersede(voice, &local, node);
        }
        let speaker = self.speaker(&voice.source);
        for edge in &graph.edges {
            self.edge(speaker, &local, edge);
        }
        let loose = voice.content.get("context_graph").and_then(|graph| graph.get("loose"));
        let loose = loose.into_iter().flat_map(Value::items);
        self.loose.extend(loose.filter_map(|edge| canonical(edge, "", Numbers::Lossless)));
    }

    fn node(&mut self, voice: usize, ids: Ids, node: &Node<'j>) -> usize {
        let id = match (ids, node.value.get("variant_of").and_then(Value::text)) {
            (Ids::Counted, _) => Cow::Owned(said_id(&node.kind, &node.content)),
            (Ids::Global, Some(of)) => of,
            (Ids::Global, None) => node.id.clone(),
        };
        let key = (id.clone(), node.kind.clone(), node.content.clone());
        let at = *self.known.entry(key).or_insert_with(|| {
            self.variants.push(Variant {
                id,
                kind: node.kind.clone(),
                content: node.content.clone(),
                activation: 0.0,
                confidence: None,
                supersedes: BTreeSet::new(),
                elsewhere: BTreeSet::new(),
                fields: Fields::new(),
                voice,
                shared: false,
                superseded: false,
            });
            self.variants.len() - 1
        });
        let variant = &mut self.variants[at];
        variant.shared |= variant.voice != voice;
        let number = |key: &str| node.value.get(key).and_then(Value::number).filter(|number| number.is_finite());
        let activation = number("active_before").or_else(|| number("activation")).unwrap_or(1.0);
        variant.activation = variant.activation.max(activation);
        if let Some(confidence) = number("confidence") {
            variant.confidence = Some(variant.confidence.map_or(confidence, |known| known.max(confidence)));
        }
        gather(&mut variant.fields, node.value, NODE_RULES);
        at
    }

    fn supersede(&mut self, voice: &Voice<'j>, local: &HashMap<Cow<'j, str>, usize>, node: &Node<'j>) {
        let own = local[&node.id];
        let elsewhere =
            node.value.get("supersedes_elsewhere").into_iter().flat_map(Value::items).filter_map(Value::text);
        self.variants[own].elsewhere.extend(elsewhere);
        let Some(value) = node.value.get("supersedes") else { return };
        // One id, or several.
        for id in value.text().into_iter().chain(value.items().filter_map(Value::text)) {
            match (local.get(&id), voice.ids) {
                (Some(&old), _) if old != own => drop(self.variants[own].supersedes.insert(old)),
                (Some(_), _) => {}
                (None, Ids::Global) => drop(self.variants[own].elsewhere.insert(id)),
                // A counted id means nothing outside its package.
                (None, Ids::Counted) => {
                    let qualified = format!("{}/{id}", voice.source);
                    self.variants[own].elsewhere.insert(qualified.into());
                }
            }
        }
    }

    /// The number of a source.
    fn speaker(&mut self, source: &str) -> usize {
        if let Some(&number) = self.numbers.get(source) {
            return number;
        }
        self.speakers.push(source.to_owned());
        self.numbers.insert(source.to_owned(), self.speakers.len() - 1);
        self.speakers.len() - 1
    }

    fn edge(&mut self, speaker: usize, local: &HashMap<Cow<'j, str>, usize>, edge: &Edge<'j>) {
        let (Some(&from), Some(&to)) = (local.get(&edge.from), local.get(&edge.to)) else {
            self.loose.extend(canonical(edge.value, "", Numbers::Lossless));
            return;
        };
        if edge.value.get("derived").and_then(Value::truth) == Some(true) {
            return;
        }
        let number = |value: Option<Value<'_>>, default: f64| {
            value.and_then(Value::number).filter(|number| number.is_finite()).unwrap_or(default)
        };
        let said: Vec<(usize, f64, f64)> = match edge.value.get("contributions") {
            Some(contributions) if contributions.kind() == Kind::Object => contributions
                .members()
                .map(|(source, pair)| {
                    let mut pair = pair.items();
                    let (weight, count) = (number(pair.next(), 1.0), number(pair.next(), 0.0));
                    (self.speaker(&source.text().unwrap_or_default()), weight, count)
                })
                .collect(),
            _ => vec![(speaker, number(edge.value.get("weight"), 1.0), number(edge.value.get("coactivations"), 0.0))],
        };
        let tie = self.ties.entry((from, to, edge.kind.clone())).or_default();
        for (speaker, weight, count) in said {
            // What a package says twice counts with the heavier of the two.
            match tie.contributions.iter_mut().find(|(known, ..)| *known == speaker) {
                Some(known) => *known = (speaker, known.1.max(weight), known.2.max(count)),
                None => tie.contributions.push((speaker, weight, count)),
            }
        }
        gather(&mut tie.fields, edge.value, EDGE_RULES);
    }

    fn finish(mut self) -> Merged {
        let ids = self.name();
        let mut merged = Merged::default();
        self.set_aside(&ids, &mut merged);
        self.derive_contradictions(&ids, &mut merged);
        let mut order: Vec<usize> = (0..self.variants.len()).collect();
        order.sort_by(|a, b| ids[*a].cmp(&ids[*b]));
        let mut graph = String::with_capacity(self.variants.len() * 256);
        graph.push_str("{\"edges\":[");
        merged.edges = self.write_edges(&ids, &mut merged, &mut graph);
        let _ = write!(graph, "],\"format\":{}", quoted(GRAPH_FORMAT));
        if !self.loose.is_empty() {
            let loose: Vec<&str> = self.loose.iter().map(String::as_str).collect();
            let _ = write!(graph, ",\"loose\":[{}]", loose.join(","));
        }
        graph.push_str(",\"nodes\":[");
        for (place, &at) in order.iter().enumerate() {
            if place > 0 {
                graph.push(',');
            }
            self.write_node(at, &ids, &mut graph);
            if self.variants[at].shared {
                merged.shared.push(ids[at].clone());
            }
        }
        graph.push_str("],\"sources\":{");
        for (place, (source, label)) in self.sources.iter().enumerate() {
            let comma = if place > 0 { "," } else { "" };
            let _ = write!(graph, "{comma}{}:{}", quoted(source), quoted(label));
        }
        graph.push_str("}}");
        merged.nodes = self.variants.len();
        merged.graph = graph;
        merged.superseded.sort();
        merged
    }

    /// The id of every variant: one of those that share an id keeps it, the others have it with a part of their hash.
    fn name(&self) -> Vec<String> {
        let mut by_id: HashMap<&str, Vec<usize>> = HashMap::with_capacity(self.variants.len());
        for (at, variant) in self.variants.iter().enumerate() {
            by_id.entry(&variant.id).or_default().push(at);
        }
        let mut ids = vec![String::new(); self.variants.len()];
        for (id, mut variants) in by_id {
            variants.sort_by(|a, b| rank(&self.variants[*b]).cmp(&rank(&self.variants[*a])));
            for (place, at) in variants.into_iter().enumerate() {
                let variant = &self.variants[at];
                ids[at] = if place == 0 {
                    id.to_owned()
                } else {
                    format!("{id}~{}", short_hash(&variant.kind, &variant.content))
                };
            }
        }
        ids
    }

    /// What was superseded is kept, and no longer active.
    fn set_aside(&mut self, ids: &[String], merged: &mut Merged) {
        let mut by_id: HashMap<&str, Vec<usize>> = HashMap::new();
        if self.variants.iter().any(|variant| !variant.elsewhere.is_empty()) {
            for (at, variant) in self.variants.iter().enumerate() {
                by_id.entry(&variant.id).or_default().push(at);
            }
        }
        let mut pairs: BTreeSet<(usize, usize)> = BTreeSet::new();
        for (at, variant) in self.variants.iter().enumerate() {
            let found = variant.elsewhere.iter().filter_map(|id| by_id.get(&**id)).flatten();
            let old = variant.supersedes.iter().chain(found).filter(|old| **old != at);
            pairs.extend(old.map(|old| (*old, at)));
        }
        let edges = self.ties.keys().filter(|(from, to, kind)| kind == "supersedes" && from != to);
        let by_edge: BTreeSet<(usize, usize)> = edges.map(|(from, to, _)| (*to, *from)).collect();
        for (old, new) in &pairs {
            self.variants[*new].supersedes.insert(*old);
        }
        for (old, new) in pairs.union(&by_edge) {
            self.variants[*old].superseded = true;
            merged.superseded.push((ids[*old].clone(), ids[*new].clone()));
        }
    }

    /// Variants of one id contradict the one that kept it.
    fn derive_contradictions(&self, ids: &[String], merged: &mut Merged) {
        let kept: HashMap<&str, usize> = ids.iter().enumerate().map(|(at, id)| (id.as_str(), at)).collect();
        for (at, variant) in self.variants.iter().enumerate().filter(|(at, variant)| ids[*at] != variant.id) {
            if let Some(&first) = kept.get(&*variant.id) {
                merged.contradictions.push(self.contradiction(ids, first, at, true));
            }
        }
        let told = self.ties.keys().filter(|(from, to, kind)| kind == "contradicts" && from != to);
        merged.contradictions.extend(told.map(|(from, to, _)| self.contradiction(ids, *from, *to, false)));
        merged.contradictions.sort_by(|a, b| (&a.from, &a.to).cmp(&(&b.from, &b.to)));
    }

    fn contradiction(&self, ids: &[String], from: usize, to: usize, same_id: bool) -> Contradiction {
        let content = |at: usize| self.variants[at].content.clone().into_owned();
        Contradiction {
            from: ids[from].clone(),
            from_content: content(from),
            to: ids[to].clone(),
            to_content: content(to),
            same_id,
        }
    }

    fn write_edges(&self, ids: &[String], merged: &mut Merged, text: &mut String) -> usize {
        let mut edges: Vec<(&str, &str, &str, Option<&Tie<'_>>)> = self
            .ties
            .iter()
            .map(|((from, to, kind), tie)| (ids[*from].as_str(), ids[*to].as_str(), &**kind, Some(tie)))
            .collect();
        let derived = merged.contradictions.iter().filter(|one| one.same_id);
        edges.extend(derived.map(|one| (one.from.as_str(), one.to.as_str(), "contradicts", None)));
        edges.sort_by(|a, b| (a.0, a.1, a.2, a.3.is_some()).cmp(&(b.0, b.1, b.2, b.3.is_some())));
        // What somebody says needs no derivation.
        edges.dedup_by(|b, a| {
            (a.0, a.1, a.2) == (b.0, b.1, b.2) && {
                if a.3.is_none() {
                    a.3 = b.3;
                }
                true
            }
        });
        for (place, (from, to, kind, tie)) in edges.iter().enumerate() {
            if place > 0 {
                text.push(',');
            }
            self.write_edge((from, to, kind), *tie, text);
        }
        edges.len()
    }

    fn write_edge(&self, (from, to, kind): (&str, &str, &str), tie: Option<&Tie<'_>>, text: &mut String) {
        let mut members: Members<'_> =
            vec![("from", quoted(from).into()), ("to", quoted(to).into()), ("type", quoted(kind).into())];
        let Some(tie) = tie else {
            members.extend([("weight", "1.0".into()), ("derived", "true".into())]);
            return write_object(members, &Fields::new(), text);
        };
        // Summed in the order of the sources, so that the sum is the same whoever was heard first.
        let mut said: Vec<(&str, f64, f64)> = tie
            .contributions
            .iter()
            .map(|(at, weight, count)| (self.speakers[*at].as_str(), *weight, *count))
            .collect();
        said.sort_by(|a, b| a.0.cmp(b.0));
        #[expect(clippy::cast_precision_loss, reason = "nobody merges 2^52 packages")]
        let count = said.len() as f64;
        let (weights, counts) = said.iter().fold((0.0, 0.0), |sum, one| (sum.0 + one.1, sum.1 + one.2));
        members.push(("weight", number(weights / count).into()));
        if counts != 0.0 {
            members.push(("coactivations", number(counts).into()));
        }
        let mut contributions = String::from("{");
        for (at, (source, weight, count)) in said.iter().enumerate() {
            let comma = if at > 0 { "," } else { "" };
            let _ = write!(contributions, "{comma}{}:[{},{}]", quoted(source), number(*weight), number(*count));
        }
        members.push(("contributions", (contributions + "}").into()));
        write_object(members, &tie.fields, text);
    }

    fn write_node(&self, at: usize, ids: &[String], text: &mut String) {
        let variant = &self.variants[at];
        let mut members: Members<'_> = vec![
            ("id", quoted(&ids[at]).into()),
            ("type", quoted(&variant.kind).into()),
            ("content", quoted(&variant.content).into()),
        ];
        let now = if variant.superseded { 0.0 } else { variant.activation };
        members.push(("activation", number(now).into()));
        if variant.superseded && variant.activation > 0.0 {
            members.push(("active_before", number(variant.activation).into()));
        }
        if let Some(confidence) = variant.confidence {
            members.push(("confidence", number(confidence).into()));
        }
        if ids[at] != variant.id {
            members.push(("variant_of", quoted(&variant.id).into()));
        }
        let mut old: Vec<&str> = variant.supersedes.iter().map(|old| ids[*old].as_str()).collect();
        old.sort_unstable();
        match old.as_slice() {
            [] => {}
            [one] => members.push(("supersedes", quoted(one).into())),
            many => members.push(("supersedes", list(many.iter().copied()).into())),
        }
        if !variant.elsewhere.is_empty() {
            members.push(("supersedes_elsewhere", list(variant.elsewhere.iter().map(|id| &**id)).into()));
        }
        write_object(members, &variant.fields, text);
    }
}

/// Texts as a list in JSON.
fn list<'t>(texts: impl Iterator<Item = &'t str>) -> String {
    format!("[{}]", texts.map(quoted).collect::<Vec<_>>().join(","))
}

/// Which of several variants keeps the id: the more active, the more certain, then by what it says.
fn rank<'v>(variant: &'v Variant<'_>) -> (u64, u64, &'v str, &'v str) {
    // Both lie between 0 and 1, where the bits of a number have the order of the number.
    (
        variant.activation.max(0.0).to_bits(),
        variant.confidence.unwrap_or(0.0).max(0.0).to_bits(),
        &variant.kind,
        &variant.content,
    )
}

/// The id of a node that says what it is.
fn said_id(kind: &str, content: &str) -> String {
    format!("{kind}-{}", short_hash(kind, content))
}

fn short_hash(kind: &str, content: &str) -> String {
    Digest::of(format!("{kind}\0{content}\0").as_bytes()).hex()[..12].to_owned()
}

/// Takes every member that has no rule of its own, and what an earlier merge put aside.
fn gather<'j>(fields: &mut Fields<'j>, value: Value<'j>, rules: &[&str]) {
    for (key, member) in value.members() {
        let key = key.text().unwrap_or_default();
        if key == "also" {
            for (key, values) in member.members() {
                let key = key.text().unwrap_or_default();
                fields.extend(values.items().map(|value| (key.clone(), as_canonical(value))));
            }
        } else if !rules.contains(&&*key) && !member.is_null() {
            fields.push((key, as_canonical(member)));
        }
    }
}

fn as_canonical(value: Value<'_>) -> Cow<'_, str> {
    match value.kind() {
        Kind::Truth | Kind::Null => Cow::Borrowed(value.raw()),
        Kind::Text if !value.raw().contains('\\') => Cow::Borrowed(value.raw()),
        _ => Cow::Owned(canonical(value, "", Numbers::Lossless).unwrap_or_default()),
    }
}

/// Members that are about to be written, each with its JSON.
type Members<'m> = Vec<(&'m str, Cow<'m, str>)>;

/// Writes an object: of every field the greatest value, and what else was said aside.
fn write_object<'m>(mut members: Members<'m>, fields: &'m Fields<'_>, text: &mut String) {
    let mut said: Vec<(&str, &str)> = fields.iter().map(|(key, value)| (&**key, &**value)).collect();
    said.sort_unstable();
    said.dedup();
    let mut also: Vec<String> = Vec::new();
    for same in said.chunk_by(|a, b| a.0 == b.0) {
        let Some(((key, greatest), others)) = same.split_last() else { continue };
        members.push((key, Cow::Borrowed(greatest)));
        if !others.is_empty() {
            let others: Vec<&str> = others.iter().map(|(_, value)| *value).collect();
            also.push(format!("{}:[{}]", quoted(key), others.join(",")));
        }
    }
    if !also.is_empty() {
        members.push(("also", format!("{{{}}}", also.join(",")).into()));
    }
    members.sort_unstable_by(|a, b| a.0.cmp(b.0));
    text.push('{');
    for (place, (key, value)) in members.iter().enumerate() {
        if place > 0 {
            text.push(',');
        }
        text.push_str(&quoted(key));
        text.push(':');
        text.push_str(value);
    }
    text.push('}');
}

/// A number as short as it can be; a whole one stays a number with a point.
fn number(number: f64) -> String {
    serde_json::Number::from_f64(number).map_or_else(|| "0.0".into(), |number| number.to_string())
}
