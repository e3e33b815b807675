//! What a node and an edge say, found in one pass over their members.

use std::borrow::Cow;

use sp_formats::json::{Kind, Numbers, Value, canonical, is_canonical};

/// What is said of something: keys with values, in no order, perhaps more than once.
pub(super) type Fields<'j> = Vec<(Cow<'j, str>, Cow<'j, str>)>;

/// A member of a node that has a rule of its own, or that we write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NodeRule {
    Id,
    Type,
    Content,
    Activation,
    ActiveBefore,
    Confidence,
    Supersedes,
    Elsewhere,
    VariantOf,
    Also,
}

impl NodeRule {
    /// The rule of a member; a key is compared as it stands there, and unescaped only if it must be.
    fn of(key: Value<'_>) -> Option<Self> {
        Self::named(key.raw()).or_else(|| escaped(key).and_then(|key| Self::named(&format!("\"{key}\""))))
    }

    fn named(quoted: &str) -> Option<Self> {
        Some(match quoted {
            "\"id\"" => Self::Id,
            "\"type\"" => Self::Type,
            "\"content\"" => Self::Content,
            "\"activation\"" => Self::Activation,
            "\"active_before\"" => Self::ActiveBefore,
            "\"confidence\"" => Self::Confidence,
            "\"supersedes\"" => Self::Supersedes,
            "\"supersedes_elsewhere\"" => Self::Elsewhere,
            "\"variant_of\"" => Self::VariantOf,
            "\"also\"" => Self::Also,
            _ => return None,
        })
    }
}

/// A key that is not as it stands there.
fn escaped(key: Value<'_>) -> Option<Cow<'_, str>> {
    key.raw().as_bytes().contains(&b'\\').then(|| key.text()).flatten()
}

/// A node of a package.
pub(super) struct NodeParts<'j> {
    pub id: Cow<'j, str>,
    pub kind: Cow<'j, str>,
    pub content: Cow<'j, str>,
    pub variant_of: Option<Cow<'j, str>>,
    /// How active it is, or was before another took its place.
    pub activation: f64,
    pub confidence: Option<f64>,
    pub supersedes: Option<Value<'j>>,
    pub elsewhere: Option<Value<'j>>,
    /// Whether a merge of this node alone would write it as it stands there.
    pub settled: bool,
}

impl<'j> NodeParts<'j> {
    /// A node, if it has what a node must have.
    pub(super) fn of(value: Value<'j>) -> Option<Self> {
        let (mut id, mut kind, mut content, mut variant_of) = (None, None, None, None);
        let (mut activation, mut before, mut confidence) = (None, None, None);
        let (mut supersedes, mut elsewhere) = (None, None);
        // The opening brace is where a comma would be; the last brace comes on top.
        let (mut settled, mut length, mut last) = (true, 1, "");
        for (key, member) in value.members() {
            let rule = NodeRule::of(key);
            match rule {
                Some(NodeRule::Id) => id = member.text(),
                Some(NodeRule::Type) => kind = member.text(),
                Some(NodeRule::Content) => content = member.text(),
                Some(NodeRule::VariantOf) => variant_of = member.text(),
                Some(NodeRule::Activation) => activation = finite(member),
                Some(NodeRule::ActiveBefore) => before = finite(member),
                Some(NodeRule::Confidence) => confidence = finite(member),
                Some(NodeRule::Supersedes) => supersedes = Some(member),
                Some(NodeRule::Elsewhere) => elsewhere = Some(member),
                Some(NodeRule::Also) | None => {}
            }
            settled = settled && is_settled(rule, member) && inside(last) < inside(key.raw()) && is_plain(key);
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
            elsewhere,
            settled: settled && activation.is_some() && length == value.raw().len(),
        })
    }
}

/// What stands between quotes, so that keys are compared by what they say.
fn inside(raw: &str) -> &str {
    raw.get(1..raw.len().saturating_sub(1)).unwrap_or_default()
}

/// A text that stands there as it would be written.
fn is_plain(text: Value<'_>) -> bool {
    !text.raw().as_bytes().contains(&b'\\')
}

/// Whether a member of a node would be written as it stands there.
fn is_settled(rule: Option<NodeRule>, member: Value<'_>) -> bool {
    use NodeRule::{Activation, ActiveBefore, Also, Confidence, Elsewhere, Supersedes, VariantOf};
    match (rule, member.kind()) {
        (Some(ActiveBefore | Supersedes | Elsewhere | VariantOf | Also), _) => false,
        (Some(Activation | Confidence), Kind::Number) => {
            member.raw().as_bytes().contains(&b'.') && !member.raw().starts_with('-') && is_canonical(member.raw())
        }
        (Some(Activation | Confidence), _) => false,
        (_, Kind::Text) => is_plain(member),
        (_, Kind::Number) => is_canonical(member.raw()),
        (_, Kind::Truth) => true,
        (_, Kind::Null | Kind::Object | Kind::Array) => false,
    }
}

/// A member of an edge that has a rule of its own, or that we write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EdgeRule {
    From,
    To,
    Type,
    Weight,
    Coactivations,
    Contributions,
    Derived,
    Also,
}

impl EdgeRule {
    fn of(key: Value<'_>) -> Option<Self> {
        Self::named(key.raw()).or_else(|| escaped(key).and_then(|key| Self::named(&format!("\"{key}\""))))
    }

    fn named(quoted: &str) -> Option<Self> {
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

/// An edge of a package.
pub(super) struct EdgeParts<'j> {
    pub from: Cow<'j, str>,
    pub to: Cow<'j, str>,
    pub kind: Cow<'j, str>,
    pub weight: f64,
    pub count: f64,
    /// Who said what, in an edge that was merged before.
    pub contributions: Option<Value<'j>>,
    /// Whether a merge drew it.
    pub derived: bool,
    /// Whether it says anything besides.
    pub more: bool,
}

impl<'j> EdgeParts<'j> {
    /// An edge, if it has what an edge must have.
    pub(super) fn of(value: Value<'j>) -> Option<Self> {
        let (mut from, mut to, mut kind, mut contributions) = (None, None, None, None);
        let (mut weight, mut count, mut derived, mut more) = (1.0, 0.0, false, false);
        for (key, member) in value.members() {
            match EdgeRule::of(key) {
                Some(EdgeRule::From) => from = member.text(),
                Some(EdgeRule::To) => to = member.text(),
                Some(EdgeRule::Type) => kind = member.text(),
                Some(EdgeRule::Weight) => weight = finite(member).unwrap_or(1.0),
                Some(EdgeRule::Coactivations) => count = finite(member).unwrap_or(0.0),
                Some(EdgeRule::Contributions) => {
                    contributions = Some(member).filter(|member| member.kind() == Kind::Object);
                }
                Some(EdgeRule::Derived) => derived = member.truth() == Some(true),
                Some(EdgeRule::Also) | None => more = true,
            }
        }
        Some(Self { from: from?, to: to?, kind: kind?, weight, count, contributions, derived, more })
    }
}

/// A number that is one.
pub(super) fn finite(value: Value<'_>) -> Option<f64> {
    value.number().filter(|number| number.is_finite())
}

/// Takes every member of a node that has no rule of its own, and what an earlier merge put aside.
pub(super) fn gather_node<'j>(fields: &mut Fields<'j>, value: Value<'j>) {
    for (key, member) in value.members() {
        match NodeRule::of(key) {
            Some(NodeRule::Also) => gather_aside(fields, member),
            Some(_) => {}
            None => gather(fields, key, member),
        }
    }
}

/// The same of an edge.
pub(super) fn gather_edge<'j>(fields: &mut Fields<'j>, value: Value<'j>) {
    for (key, member) in value.members() {
        match EdgeRule::of(key) {
            Some(EdgeRule::Also) => gather_aside(fields, member),
            Some(_) => {}
            None => gather(fields, key, member),
        }
    }
}

fn gather<'j>(fields: &mut Fields<'j>, key: Value<'j>, member: Value<'j>) {
    if !member.is_null() {
        fields.push((key.text().unwrap_or_default(), as_canonical(member)));
    }
}

fn gather_aside<'j>(fields: &mut Fields<'j>, also: Value<'j>) {
    for (key, values) in also.members() {
        let key = key.text().unwrap_or_default();
        fields.extend(values.items().map(|value| (key.clone(), as_canonical(value))));
    }
}

/// A value as canonical JSON; what is so already is not copied.
fn as_canonical(value: Value<'_>) -> Cow<'_, str> {
    match value.kind() {
        Kind::Truth | Kind::Null => Cow::Borrowed(value.raw()),
        Kind::Text if is_plain(value) => Cow::Borrowed(value.raw()),
        Kind::Number if is_canonical(value.raw()) => Cow::Borrowed(value.raw()),
        _ => Cow::Owned(canonical(value, "", Numbers::Lossless).unwrap_or_default()),
    }
}
