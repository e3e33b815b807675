//! Mappings in YAML files of `sp`: their keys, and the errors for unknown keys and wrong types.
//!
//! A [`YamlMapping`] reports every problem with the rule of its format, and returns what is valid.

use std::ops::Range;

use crate::report::Report;
use crate::rules::CheckRule;
use crate::suggest::nearest;
use crate::yaml::{YamlNode, YamlValue};

/// A kind of mapping, and the rule for its members.
#[derive(Clone, Copy)]
pub(crate) struct YamlMappingSpec {
    pub name: &'static str,
    pub check: &'static CheckRule,
}

/// The members of a mapping, with reporting of invalid ones.
pub(crate) struct YamlMapping<'a> {
    /// The rule that invalid members violate.
    check: &'static CheckRule,
    node: &'a YamlNode,
    pairs: &'a [(YamlNode, YamlNode)],
}

impl<'a> YamlMapping<'a> {
    pub(crate) fn of(
        node: &'a YamlNode,
        what: YamlMappingSpec,
        known: &[&str],
        report: &mut Report,
    ) -> Option<Self> {
        let YamlMappingSpec { name: what, check } = what;
        let YamlValue::Map(pairs) = &node.value else {
            report
                .error(
                    check,
                    node.span.clone(),
                    if node.is_null() {
                        format!("{what} is empty")
                    } else {
                        format!("{what} must be a mapping, not {}", node.kind())
                    },
                )
                .help(format!("write `{}: …`", known[0]));
            return None;
        };
        for (key, _) in pairs {
            let text = key.text().unwrap_or_default();
            if !known.contains(&text) {
                let help = match nearest(text, known.iter().copied()) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => format!("valid keys: {}", known.join(", ")),
                };
                let shown = crate::printable::printable(text).into_owned();
                report.error(check, key.span.clone(), format!("unknown key `{shown}`")).help(help);
            }
        }
        Some(Self { check, node, pairs })
    }

    pub(crate) fn get(&self, key: &str) -> Option<&'a YamlNode> {
        self.pairs.iter().find(|(name, _)| name.text() == Some(key)).map(|(_, value)| value)
    }

    /// Reports a missing member.
    pub(crate) fn report_missing(&self, key: &str, help: &str, report: &mut Report) {
        let at = self.node.span.start;
        report.error(self.check, at..at, format!("`{key}` is missing")).help(help);
    }

    /// The text of a member; null counts as missing.
    pub(crate) fn text(&self, key: &str, report: &mut Report) -> Option<(String, Range<usize>)> {
        let node = self.get(key).filter(|node| !node.is_null())?;
        match node.text() {
            Some(text) => Some((text.into(), node.span.clone())),
            None => {
                report
                    .error(
                        self.check,
                        node.span.clone(),
                        format!("`{key}` must be text, not {}", node.kind()),
                    )
                    .help(format!("write `{key}: …`"));
                None
            }
        }
    }

    /// The items of a list; null counts as empty.
    pub(crate) fn list(&self, key: &str, report: &mut Report) -> &'a [YamlNode] {
        match self.get(key) {
            Some(YamlNode { value: YamlValue::Seq(items), .. }) => items,
            Some(node) if !node.is_null() => {
                report
                    .error(
                        self.check,
                        node.span.clone(),
                        format!("`{key}` must be a list, not {}", node.kind()),
                    )
                    .help(format!(
                        "write each item on its own line below `{key}:`, starting with `- `"
                    ));
                &[]
            }
            _ => &[],
        }
    }

    pub(crate) fn list_is_empty(&self, key: &str) -> bool {
        match self.get(key) {
            Some(YamlNode { value: YamlValue::Seq(items), .. }) => items.is_empty(),
            other => other.is_none_or(YamlNode::is_null),
        }
    }
}
