//! A merged graph as canonical JSON, in one text and in the order of its ids.

use std::borrow::Cow;
use std::fmt::Write;

use super::parts::{Fields, finite, gather_edge, gather_node};
use super::{Claim, Merger, Named};
use sp_formats::json::{push_number, quote, quoted};

/// A value that is about to be written.
enum Piece<'m> {
    /// As it is.
    Json(&'m str),
    /// In quotes.
    Text(&'m str),
    Number(f64),
    Contributions(&'m Contributions<'m>),
    Made(String),
}

impl Piece<'_> {
    fn write(&self, text: &mut String) {
        match self {
            Self::Json(json) => text.push_str(json),
            Self::Text(plain) => quote(plain, text),
            Self::Number(number) => push_number(*number, text),
            Self::Contributions(said) => write_contributions(said, text),
            Self::Made(json) => text.push_str(json),
        }
    }
}

/// Members, in the order of their keys.
type Members<'m> = Vec<(&'m str, Piece<'m>)>;

/// What the sources of an edge say of it: weight, and how often its ends were used together.
type Contributions<'m> = Vec<(Cow<'m, str>, f64, f64)>;

/// An edge of the merged graph; its two nodes are counted in the order of their ids.
pub(super) struct Edge<'m, 'j> {
    pub from: u32,
    pub to: u32,
    /// Its type, in quotes.
    pub kind: &'m str,
    /// Those who say it, in the order in which they were heard; nobody says what was derived.
    pub claims: &'m [&'m Claim<'j>],
}

/// Writes nodes and edges, with memory that is used again for each.
pub(super) struct Writer<'m, 'j> {
    merger: &'m Merger<'m, 'j>,
    pub named: &'m Named<'j>,
    pub text: String,
    fields: Fields<'j>,
    said: Contributions<'m>,
    /// The ids in quotes, in their order: edges name them more often than nodes do.
    quoted: String,
    ends: Vec<usize>,
}

impl<'m, 'j: 'm> Writer<'m, 'j> {
    pub(super) fn new(merger: &'m Merger<'m, 'j>, named: &'m Named<'j>) -> Self {
        // Room that is not used costs nothing, and room that grows is copied.
        let room: usize = merger.voices.iter().map(|voice| voice.content.raw().len()).sum();
        let (mut quoted, mut ends) = (String::new(), vec![0]);
        for at in &named.order {
            quote(&named.ids[*at as usize], &mut quoted);
            ends.push(quoted.len());
        }
        let (text, fields, said) = (String::with_capacity(room * 2), Fields::new(), Vec::new());
        Self { merger, named, text, fields, said, quoted, ends }
    }

    pub(super) fn edge(&mut self, edge: &Edge<'_, 'j>) {
        let Self { text, fields, said, quoted, ends, .. } = self;
        let id = |rank: u32| &quoted[ends[rank as usize]..ends[rank as usize + 1]];
        let ends =
            [("from", Piece::Json(id(edge.from))), ("to", Piece::Json(id(edge.to))), ("type", Piece::Json(edge.kind))];
        let mut members: Members<'_> = Vec::with_capacity(7);
        if edge.claims.is_empty() {
            members.push(("derived", Piece::Json("true")));
            members.extend(ends);
            members.push(("weight", Piece::Number(1.0)));
            return write_object(&members, &[], text);
        }
        self.merger.contributions(edge.claims, said);
        #[expect(clippy::cast_precision_loss, reason = "nobody merges 2^52 packages")]
        let count = said.len() as f64;
        let (weights, counts) = said.iter().fold((0.0, 0.0), |sum, one| (sum.0 + one.1, sum.1 + one.2));
        let [from, to, kind] = [id(edge.from), id(edge.to), edge.kind];
        if !edge.claims.iter().any(|claim| claim.more) {
            text.push('{');
            if counts != 0.0 {
                text.push_str("\"coactivations\":");
                push_number(counts, text);
                text.push(',');
            }
            text.push_str("\"contributions\":");
            write_contributions(said, text);
            for part in [",\"from\":", from, ",\"to\":", to, ",\"type\":", kind, ",\"weight\":"] {
                text.push_str(part);
            }
            push_number(weights / count, text);
            return text.push('}');
        }
        fields.clear();
        edge.claims.iter().filter(|claim| claim.more).for_each(|claim| gather_edge(fields, claim.value));
        let (fields, also) = settled(fields);
        members.extend(also.map(|also| ("also", Piece::Made(also))));
        if counts != 0.0 {
            members.push(("coactivations", Piece::Number(counts)));
        }
        members.push(("contributions", Piece::Contributions(said)));
        members.extend(ends);
        members.push(("weight", Piece::Number(weights / count)));
        write_object(&members, &fields, text);
    }

    pub(super) fn node(&mut self, at: usize) {
        let (merger, ids) = (self.merger, &self.named.ids);
        let ((id, kind, content), state) = (&merger.said[at], &merger.states[at]);
        if state.settled && !state.superseded && ids[at] == *id {
            return self.text.push_str(merger.statements[state.last as usize].value.raw());
        }
        self.fields.clear();
        merger.statements_of(at).for_each(|one| gather_node(&mut self.fields, one.value));
        let (fields, also) = settled(&mut self.fields);
        let mut members: Members<'_> = Vec::with_capacity(10);
        let now = if state.superseded { 0.0 } else { state.activation };
        members.push(("activation", Piece::Number(now)));
        if state.superseded && state.activation > 0.0 {
            members.push(("active_before", Piece::Number(state.activation)));
        }
        members.extend(also.map(|also| ("also", Piece::Made(also))));
        members.extend(state.confidence.map(|confidence| ("confidence", Piece::Number(confidence))));
        members.push(("content", Piece::Text(content)));
        members.push(("id", Piece::Text(&ids[at])));
        if let Some(replaces) = merger.replaces.get(&(at as u32)) {
            let mut old: Vec<&str> = replaces.here.iter().map(|old| &*ids[*old as usize]).collect();
            old.sort_unstable();
            match old.as_slice() {
                [] => {}
                [one] => members.push(("supersedes", Piece::Text(one))),
                many => members.push(("supersedes", Piece::Made(list(many.iter().copied())))),
            }
            if !replaces.elsewhere.is_empty() {
                let elsewhere = list(replaces.elsewhere.iter().map(|id| &**id));
                members.push(("supersedes_elsewhere", Piece::Made(elsewhere)));
            }
        }
        members.push(("type", Piece::Text(kind)));
        if ids[at] != *id {
            members.push(("variant_of", Piece::Text(id)));
        }
        write_object(&members, &fields, &mut self.text);
    }
}

impl<'j> Merger<'_, 'j> {
    /// What the sources of an edge say, in the order of the sources, so that their sum is the same
    /// whoever was heard first.
    fn contributions<'m>(&'m self, claims: &[&Claim<'j>], said: &mut Contributions<'m>)
    where
        'j: 'm,
    {
        said.clear();
        for claim in claims {
            match claim.contributions {
                None => {
                    let source = &self.voices[claim.voice as usize].source;
                    said.push((Cow::Borrowed(source), claim.weight, claim.count));
                }
                Some(contributions) => said.extend(contributions.members().map(|(source, pair)| {
                    let mut pair = pair.items();
                    let mut next = |default: f64| pair.next().and_then(finite).unwrap_or(default);
                    (source.text().unwrap_or_default(), next(1.0), next(0.0))
                })),
            }
        }
        said.sort_by(|a, b| a.0.cmp(&b.0));
        // What a package says twice counts with the heavier of the two.
        said.dedup_by(|again, first| {
            again.0 == first.0 && {
                (first.1, first.2) = (first.1.max(again.1), first.2.max(again.2));
                true
            }
        });
    }
}

fn write_contributions(said: &Contributions<'_>, text: &mut String) {
    let mut separator = '{';
    for (source, weight, count) in said {
        text.push(separator);
        separator = ',';
        quote(source, text);
        text.push_str(":[");
        push_number(*weight, text);
        text.push(',');
        push_number(*count, text);
        text.push(']');
    }
    text.push_str(if said.is_empty() { "{}" } else { "}" });
}

/// Of every field the greatest value, in the order of the keys, and what else was said aside.
fn settled<'f>(fields: &'f mut Fields<'_>) -> (Vec<(&'f str, &'f str)>, Option<String>) {
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

/// Texts as a list in JSON.
fn list<'t>(texts: impl Iterator<Item = &'t str>) -> String {
    format!("[{}]", texts.map(quoted).collect::<Vec<_>>().join(","))
}

/// Writes an object of members and fields; both are in the order of their keys, and share none.
fn write_object(members: &Members<'_>, fields: &[(&str, &str)], text: &mut String) {
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
            fields.next().into_iter().for_each(|(key, value)| write_member(key, &Piece::Json(value), text));
        } else {
            members.next().into_iter().for_each(|(key, value)| write_member(key, value, text));
        }
    }
    text.push('}');
}

fn write_member(key: &str, value: &Piece<'_>, text: &mut String) {
    quote(key, text);
    text.push(':');
    value.write(text);
}
