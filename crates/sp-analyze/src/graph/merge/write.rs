//! Writes a merged graph as canonical JSON, sorted by ID.

use std::borrow::Cow;
use std::fmt::Write;

use super::assigned_ids::AssignedNodeIds;
use super::parts::{MergeFields, collect_edge_fields, collect_node_fields, finite_number};
use super::{EdgeStatement, GraphMerger, MergeNodeKey, SupersededNodes};
use sp_formats::json::{JsonValue, push_number, push_quoted, quoted};

/// A value to write.
enum MergedValue<'m> {
    /// Written as is.
    Json(&'m str),
    /// Written as a JSON string.
    Text(&'m str),
    Number(f64),
    Contributions(&'m [EdgeContribution<'m>]),
    OwnedJson(String),
}

impl MergedValue<'_> {
    fn write(&self, text: &mut String) {
        match self {
            Self::Json(json) => text.push_str(json),
            Self::Text(plain) => push_quoted(plain, text),
            Self::Number(number) => push_number(*number, text),
            Self::Contributions(contributions) => write_contributions(contributions, text),
            Self::OwnedJson(json) => text.push_str(json),
        }
    }
}

/// Members sorted by key.
type MergedMembers<'m> = Vec<(&'m str, MergedValue<'m>)>;

/// What one source states about an edge.
pub(super) struct EdgeContribution<'m> {
    source: Cow<'m, str>,
    weight: f64,
    coactivations: f64,
}

/// An edge of the merged graph. Its nodes are positions in ID order.
pub(super) struct MergedEdge<'m, 'j> {
    pub from: u32,
    pub to: u32,
    /// The edge type as a JSON string.
    pub kind: &'m str,
    /// The statements in input order; empty for a derived edge.
    pub statements: &'m [&'m EdgeStatement<'j>],
}

/// Writes nodes and edges, reusing its buffers.
pub(super) struct MergedGraphWriter<'m, 'j> {
    merger: &'m GraphMerger<'m, 'j>,
    pub assigned_ids: &'m AssignedNodeIds<'j>,
    pub text: String,
    fields: MergeFields<'j>,
    contributions: Vec<EdgeContribution<'m>>,
    /// All IDs as JSON strings, in order: edges write them more often than nodes do.
    quoted_ids: String,
    quoted_id_ends: Vec<usize>,
}

impl<'m, 'j: 'm> MergedGraphWriter<'m, 'j> {
    pub(super) fn new(
        merger: &'m GraphMerger<'m, 'j>,
        assigned_ids: &'m AssignedNodeIds<'j>,
    ) -> Self {
        // Reserving too much costs nothing; growing the buffer copies it.
        let room: usize = merger.inputs.iter().map(|input| input.content.raw().len()).sum();
        let (mut quoted_ids, mut quoted_id_ends) = (String::new(), vec![0]);
        for index in &assigned_ids.order {
            push_quoted(&assigned_ids.ids[*index as usize], &mut quoted_ids);
            quoted_id_ends.push(quoted_ids.len());
        }
        let (text, fields, contributions) =
            (String::with_capacity(room * 2), MergeFields::new(), Vec::new());
        Self { merger, assigned_ids, text, fields, contributions, quoted_ids, quoted_id_ends }
    }

    pub(super) fn write_edge(&mut self, edge: &MergedEdge<'_, 'j>) {
        let Self { text, fields, contributions, quoted_ids, quoted_id_ends, .. } = self;
        let quoted_id = |rank: u32| {
            let rank = rank as usize;
            &quoted_ids[quoted_id_ends[rank]..quoted_id_ends[rank + 1]]
        };
        let ends =
            QuotedEnds { from: quoted_id(edge.from), to: quoted_id(edge.to), kind: edge.kind };
        if edge.statements.is_empty() {
            return ends.write_derived(text);
        }
        self.merger.collect_contributions(edge.statements, contributions);
        let totals = EdgeTotals::of(contributions);
        if !edge.statements.iter().any(|statement| statement.has_extra_fields) {
            return ends.write_plain(&totals, contributions, text);
        }
        fields.clear();
        edge.statements
            .iter()
            .filter(|statement| statement.has_extra_fields)
            .for_each(|statement| collect_edge_fields(fields, statement.value));
        let (fields, also) = resolve_fields(fields);
        let mut members: MergedMembers<'_> = Vec::with_capacity(7);
        members.extend(also.map(|also| ("also", MergedValue::OwnedJson(also))));
        if totals.coactivations != 0.0 {
            members.push(("coactivations", MergedValue::Number(totals.coactivations)));
        }
        members.push(("contributions", MergedValue::Contributions(contributions)));
        members.extend(ends.members());
        members.push(("weight", MergedValue::Number(totals.mean_weight)));
        write_object(&members, &fields, text);
    }

    pub(super) fn write_node(&mut self, index: usize) {
        let (merger, ids) = (self.merger, &self.assigned_ids.ids);
        let (MergeNodeKey { id, kind, content }, state) =
            (&merger.keys[index], &merger.states[index]);
        if state.verbatim && !state.superseded && ids[index] == *id {
            let statement = &merger.node_statements[state.last_statement as usize];
            return self.text.push_str(statement.value.raw());
        }
        self.fields.clear();
        merger
            .statements_of(index)
            .for_each(|statement| collect_node_fields(&mut self.fields, statement.value));
        let (fields, also) = resolve_fields(&mut self.fields);
        let mut members: MergedMembers<'_> = Vec::with_capacity(10);
        let activation = if state.superseded { 0.0 } else { state.activation };
        members.push(("activation", MergedValue::Number(activation)));
        if state.superseded && state.activation > 0.0 {
            members.push(("active_before", MergedValue::Number(state.activation)));
        }
        members.extend(also.map(|also| ("also", MergedValue::OwnedJson(also))));
        members.extend(
            state.confidence.map(|confidence| ("confidence", MergedValue::Number(confidence))),
        );
        members.push(("content", MergedValue::Text(content)));
        members.push(("id", MergedValue::Text(&ids[index])));
        if let Some(superseded) = merger.supersedes.get(&(index as u32)) {
            push_superseded(superseded, ids, &mut members);
        }
        members.push(("type", MergedValue::Text(kind)));
        if ids[index] != *id {
            members.push(("variant_of", MergedValue::Text(id)));
        }
        write_object(&members, &fields, &mut self.text);
    }
}

fn push_superseded<'m>(
    superseded: &SupersededNodes<'_>,
    ids: &'m [Cow<'_, str>],
    members: &mut MergedMembers<'m>,
) {
    let mut local: Vec<&str> =
        superseded.local.iter().map(|index| &*ids[*index as usize]).collect();
    local.sort_unstable();
    match local.as_slice() {
        [] => {}
        [only] => members.push(("supersedes", MergedValue::Text(only))),
        several => {
            let list = json_text_list(several.iter().copied());
            members.push(("supersedes", MergedValue::OwnedJson(list)));
        }
    }
    if !superseded.external_ids.is_empty() {
        let list = json_text_list(superseded.external_ids.iter().map(|id| &**id));
        members.push(("supersedes_elsewhere", MergedValue::OwnedJson(list)));
    }
}

/// Reads what a merged graph records about a source: its weight and coactivations.
fn read_contribution<'j>(source: JsonValue<'j>, pair: JsonValue<'j>) -> EdgeContribution<'j> {
    let mut pair = pair.items();
    let mut next = |default: f64| pair.next().and_then(finite_number).unwrap_or(default);
    EdgeContribution {
        source: source.text().unwrap_or_default(),
        weight: next(1.0),
        coactivations: next(0.0),
    }
}

/// The nodes and the type of an edge as JSON strings.
struct QuotedEnds<'m> {
    from: &'m str,
    to: &'m str,
    kind: &'m str,
}

impl<'m> QuotedEnds<'m> {
    fn members(&self) -> [(&'static str, MergedValue<'m>); 3] {
        [
            ("from", MergedValue::Json(self.from)),
            ("to", MergedValue::Json(self.to)),
            ("type", MergedValue::Json(self.kind)),
        ]
    }

    /// Writes an edge that no input states.
    fn write_derived(&self, text: &mut String) {
        let mut members: MergedMembers<'_> = Vec::with_capacity(5);
        members.push(("derived", MergedValue::Json("true")));
        members.extend(self.members());
        members.push(("weight", MergedValue::Number(1.0)));
        write_object(&members, &[], text);
    }

    /// Writes an edge without extra members. Most edges are such edges, so they skip sorting.
    fn write_plain(
        &self,
        totals: &EdgeTotals,
        contributions: &[EdgeContribution<'_>],
        text: &mut String,
    ) {
        text.push('{');
        if totals.coactivations != 0.0 {
            text.push_str("\"coactivations\":");
            push_number(totals.coactivations, text);
            text.push(',');
        }
        text.push_str("\"contributions\":");
        write_contributions(contributions, text);
        let Self { from, to, kind } = self;
        for part in [",\"from\":", from, ",\"to\":", to, ",\"type\":", kind, ",\"weight\":"] {
            text.push_str(part);
        }
        push_number(totals.mean_weight, text);
        text.push('}');
    }
}

/// What all sources together state about an edge.
struct EdgeTotals {
    mean_weight: f64,
    coactivations: f64,
}

impl EdgeTotals {
    fn of(contributions: &[EdgeContribution<'_>]) -> Self {
        let (mut weights, mut coactivations) = (0.0, 0.0);
        for contribution in contributions {
            weights += contribution.weight;
            coactivations += contribution.coactivations;
        }
        #[expect(clippy::cast_precision_loss, reason = "there are fewer than 2^52 packages")]
        let count = contributions.len() as f64;
        Self { mean_weight: weights / count, coactivations }
    }
}

impl<'j> GraphMerger<'_, 'j> {
    /// Collects contributions sorted by source, so that floating-point sums do not depend on input
    /// order.
    fn collect_contributions<'m>(
        &'m self,
        statements: &[&EdgeStatement<'j>],
        contributions: &mut Vec<EdgeContribution<'m>>,
    ) where
        'j: 'm,
    {
        contributions.clear();
        for statement in statements {
            match statement.contributions {
                None => contributions.push(EdgeContribution {
                    source: Cow::Borrowed(&self.inputs[statement.input as usize].source),
                    weight: statement.weight,
                    coactivations: statement.coactivations,
                }),
                Some(merged) => contributions
                    .extend(merged.members().map(|(source, pair)| read_contribution(source, pair))),
            }
        }
        contributions.sort_by(|a, b| a.source.cmp(&b.source));
        // If a source states an edge twice, the greater weight counts.
        contributions.dedup_by(|again, first| {
            let is_repeated = again.source == first.source;
            if is_repeated {
                first.weight = first.weight.max(again.weight);
                first.coactivations = first.coactivations.max(again.coactivations);
            }
            is_repeated
        });
    }
}

fn write_contributions(contributions: &[EdgeContribution<'_>], text: &mut String) {
    let mut separator = '{';
    for EdgeContribution { source, weight, coactivations } in contributions {
        text.push(separator);
        separator = ',';
        push_quoted(source, text);
        text.push_str(":[");
        push_number(*weight, text);
        text.push(',');
        push_number(*coactivations, text);
        text.push(']');
    }
    text.push_str(if contributions.is_empty() { "{}" } else { "}" });
}

/// Keeps the greatest value of each field, sorted by key, and sets the other values aside.
fn resolve_fields<'f>(
    fields: &'f mut MergeFields<'_>,
) -> (Vec<(&'f str, &'f str)>, Option<String>) {
    if !fields.is_sorted() {
        fields.sort_unstable();
    }
    fields.dedup();
    let mut greatest: Vec<(&str, &str)> = Vec::with_capacity(fields.len());
    let mut also = String::new();
    for same in fields.chunk_by(|a, b| a.0 == b.0) {
        let Some(((key, last), others)) = same.split_last() else { continue };
        greatest.push((key, last));
        if !others.is_empty() {
            let others: Vec<&str> = others.iter().map(|(_, value)| &**value).collect();
            let comma = if also.is_empty() { '{' } else { ',' };
            let _ = write!(also, "{comma}{}:[{}]", quoted(key), others.join(","));
        }
    }
    let also = (!also.is_empty()).then(|| also + "}");
    (greatest, also)
}

/// Formats texts as a JSON array.
fn json_text_list<'t>(texts: impl Iterator<Item = &'t str>) -> String {
    format!("[{}]", texts.map(quoted).collect::<Vec<_>>().join(","))
}

/// Writes an object from members and fields. Both are sorted by key and share no key.
fn write_object(members: &MergedMembers<'_>, fields: &[(&str, &str)], text: &mut String) {
    let (mut members, mut fields) = (members.iter().peekable(), fields.iter().peekable());
    let mut separator = '{';
    loop {
        let field_first = match (members.peek(), fields.peek()) {
            (None, None) => break,
            (Some((member, _)), Some((field, _))) => field < member,
            (None, Some(_)) => true,
            (Some(_), None) => false,
        };
        text.push(separator);
        separator = ',';
        if field_first {
            fields
                .next()
                .into_iter()
                .for_each(|(key, value)| write_member(key, &MergedValue::Json(value), text));
        } else {
            members.next().into_iter().for_each(|(key, value)| write_member(key, value, text));
        }
    }
    text.push('}');
}

fn write_member(key: &str, value: &MergedValue<'_>, text: &mut String) {
    push_quoted(key, text);
    text.push(':');
    value.write(text);
}
