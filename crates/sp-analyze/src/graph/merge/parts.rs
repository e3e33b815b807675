//! Splits a node or an edge into its members, in one pass.

use std::borrow::Cow;

use sp_formats::json::{JsonKind, JsonNumberFormat, JsonValue, canonicalize, is_canonical_number};

/// Keys and values, unordered, possibly with duplicates.
pub(super) type MergeFields<'j> = Vec<(Cow<'j, str>, Cow<'j, str>)>;

/// A node member that the merge combines by its own rule or writes itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NodeMember {
    Id,
    Type,
    Content,
    Activation,
    ActiveBefore,
    Confidence,
    Supersedes,
    SupersedesElsewhere,
    VariantOf,
    Also,
}

impl NodeMember {
    /// Returns the rule for a key. The raw text is compared first; it is unescaped only if
    /// necessary.
    fn from_key(key: JsonValue<'_>) -> Option<Self> {
        Self::from_quoted(key.raw())
            .or_else(|| unescaped_key(key).and_then(|key| Self::from_quoted(&format!("\"{key}\""))))
    }

    fn from_quoted(quoted: &str) -> Option<Self> {
        Some(match quoted {
            "\"id\"" => Self::Id,
            "\"type\"" => Self::Type,
            "\"content\"" => Self::Content,
            "\"activation\"" => Self::Activation,
            "\"active_before\"" => Self::ActiveBefore,
            "\"confidence\"" => Self::Confidence,
            "\"supersedes\"" => Self::Supersedes,
            "\"supersedes_elsewhere\"" => Self::SupersedesElsewhere,
            "\"variant_of\"" => Self::VariantOf,
            "\"also\"" => Self::Also,
            _ => return None,
        })
    }
}

/// The unescaped key, if it contains escapes.
fn unescaped_key(key: JsonValue<'_>) -> Option<Cow<'_, str>> {
    key.raw().as_bytes().contains(&b'\\').then(|| key.text()).flatten()
}

/// The members of a node that take part in the merge.
pub(super) struct NodeParts<'j> {
    pub id: Cow<'j, str>,
    pub kind: Cow<'j, str>,
    pub content: Cow<'j, str>,
    pub variant_of: Option<Cow<'j, str>>,
    /// The activation, or the one before the node was superseded.
    pub activation: f64,
    pub confidence: Option<f64>,
    pub supersedes: Option<JsonValue<'j>>,
    pub supersedes_elsewhere: Option<JsonValue<'j>>,
    /// Whether merging this node alone would write it unchanged.
    pub verbatim: bool,
}

impl<'j> NodeParts<'j> {
    /// Returns `None` if a required member is missing.
    pub(super) fn of(value: JsonValue<'j>) -> Option<Self> {
        let (mut id, mut kind, mut content, mut variant_of) = (None, None, None, None);
        let (mut activation, mut before, mut confidence) = (None, None, None);
        let (mut supersedes, mut elsewhere) = (None, None);
        // The opening brace takes the place of a comma; the closing brace is added at the end.
        let (mut settled, mut length, mut last) = (true, 1, "");
        for (key, member) in value.members() {
            let rule = NodeMember::from_key(key);
            match rule {
                Some(NodeMember::Id) => id = member.text(),
                Some(NodeMember::Type) => kind = member.text(),
                Some(NodeMember::Content) => content = member.text(),
                Some(NodeMember::VariantOf) => variant_of = member.text(),
                Some(NodeMember::Activation) => activation = finite_number(member),
                Some(NodeMember::ActiveBefore) => before = finite_number(member),
                Some(NodeMember::Confidence) => confidence = finite_number(member),
                Some(NodeMember::Supersedes) => supersedes = Some(member),
                Some(NodeMember::SupersedesElsewhere) => elsewhere = Some(member),
                Some(NodeMember::Also) | None => {}
            }
            settled = settled
                && is_verbatim(rule, member)
                && strip_quotes(last) < strip_quotes(key.raw())
                && has_no_escapes(key);
            last = key.raw();
            length += key.raw().len() + member.raw().len() + 2;
        }
        Some(Self {
            id: id.filter(|id| !id.is_empty())?,
            kind: kind?,
            content: content?,
            variant_of,
            activation: before.or(activation).unwrap_or(1.0),
            confidence,
            supersedes,
            supersedes_elsewhere: elsewhere,
            verbatim: settled && activation.is_some() && length == value.raw().len(),
        })
    }
}

/// The text between the quotes, so that keys sort by their content.
fn strip_quotes(raw: &str) -> &str {
    raw.get(1..raw.len().saturating_sub(1)).unwrap_or_default()
}

/// Whether a string contains no escape sequences, so that it is written as is.
fn has_no_escapes(text: JsonValue<'_>) -> bool {
    !text.raw().as_bytes().contains(&b'\\')
}

/// Whether a member is written exactly as it was read.
fn is_verbatim(rule: Option<NodeMember>, member: JsonValue<'_>) -> bool {
    use NodeMember::{
        Activation, ActiveBefore, Also, Confidence, Supersedes, SupersedesElsewhere, VariantOf,
    };
    match (rule, member.kind()) {
        (Some(ActiveBefore | Supersedes | SupersedesElsewhere | VariantOf | Also), _) => false,
        (Some(Activation | Confidence), JsonKind::Number) => {
            member.raw().as_bytes().contains(&b'.')
                && !member.raw().starts_with('-')
                && is_canonical_number(member.raw())
        }
        (Some(Activation | Confidence), _) => false,
        (_, JsonKind::Text) => has_no_escapes(member),
        (_, JsonKind::Number) => is_canonical_number(member.raw()),
        (_, JsonKind::Bool) => true,
        (_, JsonKind::Null | JsonKind::Object | JsonKind::Array) => false,
    }
}

/// An edge member that the merge combines by its own rule or writes itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EdgeMember {
    From,
    To,
    Type,
    Weight,
    Coactivations,
    Contributions,
    Derived,
    Also,
}

impl EdgeMember {
    fn from_key(key: JsonValue<'_>) -> Option<Self> {
        Self::from_quoted(key.raw())
            .or_else(|| unescaped_key(key).and_then(|key| Self::from_quoted(&format!("\"{key}\""))))
    }

    fn from_quoted(quoted: &str) -> Option<Self> {
        Some(match quoted {
            "\"from\"" => Self::From,
            "\"to\"" => Self::To,
            "\"type\"" => Self::Type,
            "\"weight\"" => Self::Weight,
            "\"coactivations\"" => Self::Coactivations,
            "\"contributions\"" => Self::Contributions,
            "\"derived\"" => Self::Derived,
            "\"also\"" => Self::Also,
            _ => return None,
        })
    }
}

/// The members of an edge that take part in the merge.
pub(super) struct EdgeParts<'j> {
    pub from: Cow<'j, str>,
    pub to: Cow<'j, str>,
    pub kind: Cow<'j, str>,
    pub weight: f64,
    pub coactivations: f64,
    /// Statements by source, in an edge of a merged graph.
    pub contributions: Option<JsonValue<'j>>,
    /// Whether a merge created the edge.
    pub derived: bool,
    /// Whether the edge has other members.
    pub has_extra_fields: bool,
}

impl<'j> EdgeParts<'j> {
    /// Returns `None` if a required member is missing.
    pub(super) fn of(value: JsonValue<'j>) -> Option<Self> {
        let (mut from, mut to, mut kind, mut contributions) = (None, None, None, None);
        let (mut weight, mut count, mut derived, mut more) = (1.0, 0.0, false, false);
        for (key, member) in value.members() {
            match EdgeMember::from_key(key) {
                Some(EdgeMember::From) => from = member.text(),
                Some(EdgeMember::To) => to = member.text(),
                Some(EdgeMember::Type) => kind = member.text(),
                Some(EdgeMember::Weight) => weight = finite_number(member).unwrap_or(1.0),
                Some(EdgeMember::Coactivations) => count = finite_number(member).unwrap_or(0.0),
                Some(EdgeMember::Contributions) => {
                    contributions = Some(member).filter(|member| member.kind() == JsonKind::Object);
                }
                Some(EdgeMember::Derived) => derived = member.as_bool() == Some(true),
                Some(EdgeMember::Also) | None => more = true,
            }
        }
        Some(Self {
            from: from?,
            to: to?,
            kind: kind?,
            weight,
            coactivations: count,
            contributions,
            derived,
            has_extra_fields: more,
        })
    }
}

pub(super) fn finite_number(value: JsonValue<'_>) -> Option<f64> {
    value.as_f64().filter(|number| number.is_finite())
}

/// Adds every node member without a rule of its own, and the values an earlier merge set aside.
pub(super) fn collect_node_fields<'j>(fields: &mut MergeFields<'j>, value: JsonValue<'j>) {
    for (key, member) in value.members() {
        match NodeMember::from_key(key) {
            Some(NodeMember::Also) => collect_also_fields(fields, member),
            Some(_) => {}
            None => collect_field(fields, key, member),
        }
    }
}

/// Adds every edge member without a rule of its own, and the values an earlier merge set aside.
pub(super) fn collect_edge_fields<'j>(fields: &mut MergeFields<'j>, value: JsonValue<'j>) {
    for (key, member) in value.members() {
        match EdgeMember::from_key(key) {
            Some(EdgeMember::Also) => collect_also_fields(fields, member),
            Some(_) => {}
            None => collect_field(fields, key, member),
        }
    }
}

fn collect_field<'j>(fields: &mut MergeFields<'j>, key: JsonValue<'j>, member: JsonValue<'j>) {
    if !member.is_null() {
        fields.push((key.text().unwrap_or_default(), to_canonical(member)));
    }
}

fn collect_also_fields<'j>(fields: &mut MergeFields<'j>, also: JsonValue<'j>) {
    for (key, values) in also.members() {
        let key = key.text().unwrap_or_default();
        fields.extend(values.items().map(|value| (key.clone(), to_canonical(value))));
    }
}

/// A value as canonical JSON; borrowed if it is canonical already.
fn to_canonical(value: JsonValue<'_>) -> Cow<'_, str> {
    match value.kind() {
        JsonKind::Bool | JsonKind::Null => Cow::Borrowed(value.raw()),
        JsonKind::Text if has_no_escapes(value) => Cow::Borrowed(value.raw()),
        JsonKind::Number if is_canonical_number(value.raw()) => Cow::Borrowed(value.raw()),
        _ => Cow::Owned(canonicalize(value, "", JsonNumberFormat::Lossless).unwrap_or_default()),
    }
}
