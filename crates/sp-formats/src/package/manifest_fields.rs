//! The members of an object in a package, read with type checks, and how a value is described in a
//! message.

use std::ops::Range;

use crate::json::{JsonKind, JsonValue};
use crate::package::rules::PK_03;
use crate::report::Report;
use crate::rules::CheckRule;
use crate::text::truncate_printable;

/// The members of an object, read with type checks.
pub(super) struct ManifestFields<'j> {
    pub value: JsonValue<'j>,
}

impl<'j> ManifestFields<'j> {
    /// A member that is present and not null.
    pub(super) fn get(&self, key: &str) -> Option<JsonValue<'j>> {
        self.value.get(key).filter(|value| !value.is_null())
    }

    pub(super) fn text(&self, key: &str, report: &mut Report) -> Option<String> {
        let value = self.get(key)?;
        let text = value.text().map(Into::into);
        if text.is_none() {
            warn_kind(value, key, "text", report);
        }
        text
    }

    pub(super) fn integer(
        &self,
        key: &str,
        check: &'static CheckRule,
        report: &mut Report,
    ) -> Option<u64> {
        let value = self.get(key)?;
        let number = value.as_u64();
        if number.is_none() {
            let message =
                format!("`{key}` must be a whole number, not {}", describe_non_number(value));
            report.error(check, value.span(), message).help(format!("write `\"{key}\": 1`"));
        }
        number
    }

    /// The strings of a list with their spans.
    pub(super) fn text_list(&self, key: &str, report: &mut Report) -> Vec<(String, Range<usize>)> {
        let Some(value) = self.get(key) else { return Vec::new() };
        if value.kind() != JsonKind::Array {
            warn_kind(value, key, "a list", report);
        }
        let mut words = Vec::new();
        for item in value.items() {
            match item.text() {
                Some(text) => words.push((text.into_owned(), item.span())),
                None => warn_kind(item, key, "a list of strings", report),
            }
        }
        words
    }
}

/// Describes a value for a message: a string or number as written, anything else by its kind.
pub(super) fn describe_value(value: JsonValue<'_>) -> String {
    match value.kind() {
        JsonKind::Text => {
            format!("`{}`", truncate_for_message(&value.text().unwrap_or_default()))
        }
        JsonKind::Number => format!("`{}`", truncate_for_message(value.raw())),
        other => other.describe().into(),
    }
}

/// Like [`describe_value`] where a number is expected: a string such as `"2"` is described as text.
pub(super) fn describe_non_number(value: JsonValue<'_>) -> String {
    match value.kind() {
        JsonKind::Text => format!("the string {}", describe_value(value)),
        _ => describe_value(value),
    }
}

pub(super) fn warn_kind(value: JsonValue<'_>, key: &str, expected: &str, report: &mut Report) {
    let message = format!("`{key}` must be {expected}, not {}", value.kind().describe());
    report.warning(&PK_03, value.span(), message).help("the value is ignored");
}

/// The first byte of an object, where missing members are reported.
pub(super) fn start_span(value: JsonValue<'_>) -> Range<usize> {
    let span = value.span();
    span.start..span.start + 1
}

/// Returns the message for an invalid package name.
pub(super) fn invalid_name_message(text: &str, why: &impl std::fmt::Display) -> String {
    format!("invalid package name `{}`: {why}", truncate_for_message(text))
}

/// Truncates a text for a message, and escapes what a terminal must not interpret.
pub(super) fn truncate_for_message(text: &str) -> String {
    const MAX_CHARS: usize = 80;
    truncate_printable(text, MAX_CHARS)
}
