//! An object of the manifest, read member by member. Every problem is reported.

use std::ops::Range;

use super::value_syntax::{is_day_or_time, is_known_spec_version, is_pack_id, is_time, is_url};
use crate::context_pack::rules::{CP_02, CP_03};
use crate::json::{JsonKind, JsonValue};
use crate::printable::printable;
use crate::report::Report;
use crate::rules::CheckRule;

/// Unknown members in order: the name, and the value as raw JSON.
pub type UnknownMembers = Vec<(String, String)>;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum TimestampKind {
    /// RFC 3339, in UTC.
    UtcTime,
    /// RFC 3339, or a date.
    DayOrTime,
}

/// An object of the manifest, read member by member.
pub(super) struct ManifestObject<'j, 'r> {
    pub value: JsonValue<'j>,
    /// The path of the object in the manifest with a trailing dot; empty for the root.
    pub path_prefix: &'j str,
    pub report: &'r mut Report,
}

impl<'j> ManifestObject<'j, '_> {
    pub(super) fn get(&self, key: &str) -> Option<JsonValue<'j>> {
        self.value.get(key)
    }

    pub(super) fn report_error(
        &mut self,
        check: &'static CheckRule,
        span: Range<usize>,
        message: String,
        help: impl Into<String>,
    ) {
        self.report.error(check, span, message).help(help);
    }

    /// The first byte of the object, where missing members are reported.
    fn start_span(&self) -> Range<usize> {
        let start = self.value.span().start;
        start..start + 1
    }

    /// The span of a member, or of the object if the member is missing.
    pub(super) fn member_span(&self, key: &str) -> Range<usize> {
        self.get(key).unwrap_or(self.value).span()
    }

    /// Returns the unknown members and reports each one.
    pub(super) fn read_unknown_members(&mut self, known: &[&str]) -> UnknownMembers {
        let mut unknown = UnknownMembers::new();
        for (key, value) in self.value.members() {
            let name = key.text().unwrap_or_default();
            if known.contains(&&*name) {
                continue;
            }
            let message = format!("unknown member `{}{}`", self.path_prefix, printable(&name));
            let help = match crate::suggest::nearest(&name, known.iter().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => "remove it; agents ignore unknown members".into(),
            };
            self.report.warning(&CP_03, key.span(), message).help(help);
            // A raw CR can only be white space here, and files of a pack must not contain one.
            let raw = value.raw().replace("\r\n", "\n").replace('\r', "\n");
            unknown.push((name.into_owned(), raw));
        }
        unknown
    }

    pub(super) fn optional_text(&mut self, key: &str) -> Option<String> {
        let value = self.get(key)?;
        let text = value.text();
        if text.is_none() {
            let message = format!(
                "`{}{key}` must be a string, not {}",
                self.path_prefix,
                value.kind().describe()
            );
            let help = if value.kind() == JsonKind::Null {
                "remove the member, or set a value"
            } else {
                "write the value in quotes"
            };
            self.report_error(&CP_02, value.span(), message, help);
        }
        text.map(Into::into)
    }

    /// Reads a text that must be present and not blank.
    pub(super) fn required_text(&mut self, key: &str) -> String {
        let Some(value) = self.get(key) else {
            let message = format!("`{}{key}` is missing", self.path_prefix);
            let help = format!("add `\"{key}\": \"…\"`");
            self.report_error(&CP_02, self.start_span(), message, help);
            return String::new();
        };
        let text = self.optional_text(key).unwrap_or_default();
        if text.trim().is_empty() && value.text().is_some() {
            self.report_error(
                &CP_02,
                value.span(),
                format!("`{}{key}` is empty", self.path_prefix),
                "set a value",
            );
        }
        text
    }

    pub(super) fn spec_version(&mut self) -> String {
        let text = self.required_text("spec_version");
        if !text.trim().is_empty() && !is_known_spec_version(&text) {
            let span = self.get("spec_version").map_or(0..0, JsonValue::span);
            let message = format!("unsupported specification version `{}`", printable(&text));
            self.report_error(
                &CP_02,
                span,
                message,
                "use version \"0.1\"; a newer version of `sp` may support more",
            );
        }
        text
    }

    pub(super) fn pack_id(&mut self) -> String {
        let text = self.required_text("pack_id");
        if !text.trim().is_empty() && !is_pack_id(&text) {
            let span = self.get("pack_id").map_or(0..0, JsonValue::span);
            let message = format!("`pack_id` is neither a ULID nor a UUID: `{}`", printable(&text));
            self.report_error(&CP_02, span, message, "run `sp context seal` to generate an ID");
        }
        text
    }

    pub(super) fn required_timestamp(&mut self, key: &str, kind: TimestampKind) -> Option<String> {
        // A blank value is reported already.
        let text = Some(self.required_text(key)).filter(|text| !text.trim().is_empty())?;
        self.check_timestamp(key, &text, kind);
        Some(text)
    }

    pub(super) fn optional_timestamp(&mut self, key: &str, kind: TimestampKind) -> Option<String> {
        let text = self.optional_text(key)?;
        self.check_timestamp(key, &text, kind);
        Some(text)
    }

    fn check_timestamp(&mut self, key: &str, text: &str, kind: TimestampKind) {
        let is_utc = text.ends_with('Z') || text.ends_with("+00:00");
        let (is_valid, problem, help) = match kind {
            TimestampKind::UtcTime => (
                is_time(text) && is_utc,
                "not a UTC time",
                "use a time such as `2026-04-24T14:22:03Z`",
            ),
            TimestampKind::DayOrTime => {
                let help =
                    "use a date such as `2026-04-24`, or a time such as `2026-04-24T14:22:03Z`";
                (is_day_or_time(text), "neither a date nor a time", help)
            }
        };
        if is_valid {
            return;
        }
        let span = self.get(key).map_or(0..0, JsonValue::span);
        self.report_error(
            &CP_02,
            span,
            format!("`{}{key}` is {problem}: `{}`", self.path_prefix, printable(text)),
            help,
        );
    }

    /// Reports a URL that is not blank and not valid.
    pub(super) fn check_url(&mut self, text: &str) {
        if text.trim().is_empty() || is_url(text) {
            return;
        }
        let span = self.get("url").map_or(0..0, JsonValue::span);
        let message = format!("invalid URL in `{}url`: `{}`", self.path_prefix, printable(text));
        self.report_error(&CP_02, span, message, "use a URL with a scheme, such as `https://…`");
    }

    /// Returns the member if it is an object, and reports it if it is something else.
    pub(super) fn optional_object(&mut self, key: &str) -> Option<JsonValue<'j>> {
        let value = self.get(key)?;
        if value.kind() == JsonKind::Object {
            return Some(value);
        }
        let message = format!(
            "`{}{key}` must be an object, not {}",
            self.path_prefix,
            value.kind().describe()
        );
        self.report_error(&CP_02, value.span(), message, format!("write `\"{key}\": {{…}}`"));
        None
    }

    /// Returns the items of an array that must be present.
    pub(super) fn required_list(&mut self, key: &str) -> Vec<JsonValue<'j>> {
        match self.get(key) {
            Some(list) if list.kind() == JsonKind::Array => list.items().collect(),
            Some(other) => {
                let message = format!(
                    "`{}{key}` must be a list, not {}",
                    self.path_prefix,
                    other.kind().describe()
                );
                self.report_error(&CP_02, other.span(), message, format!("write `\"{key}\": […]`"));
                Vec::new()
            }
            None => {
                let help = format!("add `\"{key}\": []`");
                self.report_error(&CP_02, self.start_span(), format!("`{key}` is missing"), help);
                Vec::new()
            }
        }
    }

    /// Returns a member that must be present and an object.
    pub(super) fn required_object(&mut self, key: &str) -> Option<JsonValue<'j>> {
        if self.get(key).is_none() {
            let help = format!("add `\"{key}\": {{…}}`");
            self.report_error(&CP_02, self.start_span(), format!("`{key}` is missing"), help);
        }
        self.optional_object(key)
    }
}
