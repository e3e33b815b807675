//! The manifest `pack.json`: identity of the pack, its files with their hashes, and its sources.
//!
//! Every member is checked and every problem is reported; unknown members are kept for rewriting.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use sp_tree::{RelPath, fold_name};

use super::sentences::count_sentences;
use super::{MANIFEST_FILE, SPEC_VERSION};
use crate::checks::{CP_02, CP_03, CheckRule};
use crate::json::{JsonKind, JsonValue};
use crate::package::time;
use crate::printable::printable;
use crate::report::Report;

/// Unknown members in order: the name, and the value as raw JSON.
pub type UnknownMembers = Vec<(String, String)>;

/// A manifest. Members that are missing or invalid are empty, and were reported.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ContextPackManifest {
    pub spec_version: String,
    /// A ULID or UUID.
    pub pack_id: String,
    pub generated_at: String,
    pub generator: ContextPackGenerator,
    pub project: ContextPackProject,
    /// The prompt that the pack was generated from.
    pub user_prompt: Option<String>,
    /// The period that the knowledge is from.
    pub window: Option<ContextPackWindow>,
    pub files: Vec<ContextPackFileEntry>,
    pub sources: Vec<ContextPackSourceEntry>,
    pub unknown_members: UnknownMembers,
}

/// The program that generated a pack.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ContextPackGenerator {
    pub name: String,
    pub version: Option<String>,
    pub url: Option<String>,
    pub unknown_members: UnknownMembers,
}

/// The project that a pack is for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ContextPackProject {
    pub name: String,
    /// The intent in one to three sentences.
    pub description: String,
    /// Technologies that the project uses.
    pub stack: Vec<String>,
    pub unknown_members: UnknownMembers,
}

/// The period that the knowledge in a pack is from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ContextPackWindow {
    pub from: Option<String>,
    pub to: Option<String>,
    pub unknown_members: UnknownMembers,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextPackFileEntry {
    pub path: RelPath,
    /// In lowercase hexadecimal digits; empty if the manifest has no valid hash.
    pub sha256: String,
    /// The path in the manifest, for findings.
    pub span: Range<usize>,
    /// The hash in the manifest, for findings.
    pub sha256_span: Range<usize>,
    pub unknown_members: UnknownMembers,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ContextPackSourceEntry {
    /// The ID that footnotes use, such as `src_1`.
    pub id: String,
    pub url: String,
    pub title: String,
    /// Such as `docs`, `article` or `video`.
    pub kind: String,
    pub published_at: Option<String>,
    /// When the content was retrieved.
    pub captured_at: String,
    /// The ID in the manifest, for findings.
    pub span: Range<usize>,
    pub unknown_members: UnknownMembers,
}

const MANIFEST_KEYS: &[&str] = &[
    "spec_version",
    "pack_id",
    "generated_at",
    "generator",
    "project",
    "user_prompt",
    "window",
    "files",
    "sources",
];

/// Whether `text` is a ULID or UUID, optionally prefixed with `pk_`.
pub fn is_pack_id(text: &str) -> bool {
    let id = text.strip_prefix("pk_").unwrap_or(text);
    let is_ulid = id.len() == 26
        && id.bytes().all(|byte| byte.is_ascii_alphanumeric() && !b"ILOUilou".contains(&byte))
        && id.starts_with(|first: char| ('0'..='7').contains(&first));
    let groups: Vec<&str> = id.split('-').collect();
    let is_uuid = groups.iter().map(|group| group.len()).eq([8, 4, 4, 4, 12])
        && groups.iter().all(|group| group.bytes().all(|byte| byte.is_ascii_hexdigit()));
    is_ulid || is_uuid
}

/// Whether `text` is a supported version of the specification. Patch versions are compatible.
pub(super) fn is_known_spec_version(text: &str) -> bool {
    let patch = text.strip_prefix(SPEC_VERSION).and_then(|rest| rest.strip_prefix('.'));
    text == SPEC_VERSION
        || patch.is_some_and(|patch| {
            patch.parse::<u32>().is_ok_and(|number| number.to_string() == patch)
        })
}

/// Whether `text` is `src_` followed by letters, digits, `_` and `-`.
pub fn is_source_id(text: &str) -> bool {
    text.strip_prefix("src_").is_some_and(|rest| {
        rest.starts_with(|first: char| first.is_ascii_alphanumeric())
            && rest.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
    })
}

/// Reads a manifest, whatever is wrong with its members. Returns `None` if it is not an object.
pub(super) fn read(root: JsonValue<'_>, report: &mut Report) -> Option<ContextPackManifest> {
    if root.kind() != JsonKind::Object {
        let message = format!("`pack.json` must be an object, not {}", root.kind().describe());
        report.error(&CP_02, root.span(), message).help("write `{\"spec_version\": \"0.1\", …}`");
        return None;
    }
    let mut object = ManifestObject { value: root, path_prefix: "", report };
    let more = object.read_unknown_members(MANIFEST_KEYS);
    Some(ContextPackManifest {
        spec_version: object.spec_version(),
        pack_id: object.pack_id(),
        generated_at: object
            .required_timestamp("generated_at", TimestampKind::UtcTime)
            .unwrap_or_default(),
        generator: read_generator(&mut object),
        project: read_project(&mut object),
        user_prompt: object.optional_text("user_prompt"),
        window: read_window(&mut object),
        files: read_files(&mut object),
        sources: read_sources(&mut object),
        unknown_members: more,
    })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum TimestampKind {
    /// RFC 3339, in UTC.
    UtcTime,
    /// RFC 3339, or a date.
    DayOrTime,
}

/// An object of the manifest, read member by member.
struct ManifestObject<'j, 'r> {
    value: JsonValue<'j>,
    /// The path of the object in the manifest with a trailing dot; empty for the root.
    path_prefix: &'j str,
    report: &'r mut Report,
}

impl<'j> ManifestObject<'j, '_> {
    fn get(&self, key: &str) -> Option<JsonValue<'j>> {
        self.value.get(key)
    }

    fn report_error(
        &mut self,
        check: &'static CheckRule,
        span: Range<usize>,
        message: String,
        help: impl Into<String>,
    ) {
        self.report.error(check, span, message).help(help);
    }

    /// Returns the unknown members and reports each one.
    fn read_unknown_members(&mut self, known: &[&str]) -> UnknownMembers {
        let mut more = UnknownMembers::new();
        for (key, value) in self.value.members() {
            let name = key.text().unwrap_or_default();
            if !known.contains(&&*name) {
                let message = format!("nobody knows `{}{}`", self.path_prefix, printable(&name));
                let help = match crate::suggest::nearest(&name, known.iter().copied()) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => "it means nothing to whoever reads the pack".into(),
                };
                self.report.warning(&CP_03, key.span(), message).help(help);
                // A raw CR can only be white space here, and files of a pack must not contain one.
                more.push((
                    name.into_owned(),
                    value.raw().replace("\r\n", "\n").replace('\r', "\n"),
                ));
            }
        }
        more
    }

    fn optional_text(&mut self, key: &str) -> Option<String> {
        let value = self.get(key)?;
        let text = value.text();
        if text.is_none() {
            let message = format!(
                "`{}{key}` must be text, not {}",
                self.path_prefix,
                value.kind().describe()
            );
            let help = if value.kind() == JsonKind::Null {
                "leave it out, or say what it is"
            } else {
                "write it in quotes"
            };
            self.report_error(&CP_02, value.span(), message, help);
        }
        text.map(Into::into)
    }

    /// Reads a text that must be present and not blank.
    fn required_text(&mut self, key: &str) -> String {
        let Some(value) = self.get(key) else {
            let message = format!("`{}{key}` is missing", self.path_prefix);
            let at = self.value.span().start..self.value.span().start + 1;
            self.report_error(&CP_02, at, message, format!("add `\"{key}\": \"…\"`"));
            return String::new();
        };
        let text = self.optional_text(key).unwrap_or_default();
        if text.trim().is_empty() && value.text().is_some() {
            self.report_error(
                &CP_02,
                value.span(),
                format!("`{}{key}` says nothing", self.path_prefix),
                "write what it is",
            );
        }
        text
    }

    fn spec_version(&mut self) -> String {
        let text = self.required_text("spec_version");
        if !text.trim().is_empty() && !is_known_spec_version(&text) {
            let span = self.get("spec_version").map_or(0..0, JsonValue::span);
            let message =
                format!("there is no version `{}` of the specification", printable(&text));
            self.report_error(
                &CP_02,
                span,
                message,
                "the version is \"0.1\"; a newer `sp` may know more",
            );
        }
        text
    }

    fn pack_id(&mut self) -> String {
        let text = self.required_text("pack_id");
        if !text.trim().is_empty() && !is_pack_id(&text) {
            let span = self.get("pack_id").map_or(0..0, JsonValue::span);
            let message = format!("`pack_id` is neither a ULID nor a UUID: `{}`", printable(&text));
            self.report_error(&CP_02, span, message, "`sp context seal` gives it a new one");
        }
        text
    }

    fn required_timestamp(&mut self, key: &str, kind: TimestampKind) -> Option<String> {
        // A blank value is reported already.
        let text = Some(self.required_text(key)).filter(|text| !text.trim().is_empty())?;
        self.check_timestamp(key, &text, kind);
        Some(text)
    }

    fn optional_timestamp(&mut self, key: &str, kind: TimestampKind) -> Option<String> {
        let text = self.optional_text(key)?;
        self.check_timestamp(key, &text, kind);
        Some(text)
    }

    fn check_timestamp(&mut self, key: &str, text: &str, kind: TimestampKind) {
        let is_utc = text.ends_with('Z') || text.ends_with("+00:00");
        let (is_right, what, help) = match kind {
            TimestampKind::UtcTime => {
                (is_time(text) && is_utc, "no time in UTC", "write it as `2026-04-24T14:22:03Z`")
            }
            TimestampKind::DayOrTime => {
                let help = "write it as `2026-04-24` or as `2026-04-24T14:22:03Z`";
                (is_day_or_time(text), "neither a day nor a time", help)
            }
        };
        if is_right {
            return;
        }
        let span = self.get(key).map_or(0..0, JsonValue::span);
        self.report_error(
            &CP_02,
            span,
            format!("`{}{key}` is {what}: `{}`", self.path_prefix, printable(text)),
            help,
        );
    }

    /// Reports a URL that is not blank and not valid.
    fn check_url(&mut self, text: &str) {
        if text.trim().is_empty() || is_url(text) {
            return;
        }
        let span = self.get("url").map_or(0..0, JsonValue::span);
        let message = format!("`{}url` is no URL: `{}`", self.path_prefix, printable(text));
        self.report_error(&CP_02, span, message, "write it with its scheme, as `https://…`");
    }

    /// Returns the member if it is an object, and reports it if it is something else.
    fn optional_object(&mut self, key: &str) -> Option<JsonValue<'j>> {
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
    fn required_list(&mut self, key: &str) -> Vec<JsonValue<'j>> {
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
                let at = self.value.span().start..self.value.span().start + 1;
                self.report_error(
                    &CP_02,
                    at,
                    format!("`{key}` is missing"),
                    format!("add `\"{key}\": []`"),
                );
                Vec::new()
            }
        }
    }
}

fn required_object<'j>(object: &mut ManifestObject<'j, '_>, key: &str) -> Option<JsonValue<'j>> {
    if object.get(key).is_none() {
        let at = object.value.span().start..object.value.span().start + 1;
        object.report_error(
            &CP_02,
            at,
            format!("`{key}` is missing"),
            format!("add `\"{key}\": {{…}}`"),
        );
    }
    object.optional_object(key)
}

fn read_generator(root: &mut ManifestObject<'_, '_>) -> ContextPackGenerator {
    let Some(value) = required_object(root, "generator") else {
        return ContextPackGenerator::default();
    };
    let mut object = ManifestObject { value, path_prefix: "generator.", report: root.report };
    let more = object.read_unknown_members(&["name", "version", "url"]);
    let (name, version, url) = (
        object.required_text("name"),
        object.optional_text("version"),
        object.optional_text("url"),
    );
    object.check_url(url.as_deref().unwrap_or_default());
    ContextPackGenerator { name, version, url, unknown_members: more }
}

fn read_project(root: &mut ManifestObject<'_, '_>) -> ContextPackProject {
    let Some(value) = required_object(root, "project") else {
        return ContextPackProject::default();
    };
    let mut object = ManifestObject { value, path_prefix: "project.", report: root.report };
    let more = object.read_unknown_members(&["name", "description", "stack"]);
    let (name, description) = (object.required_text("name"), object.required_text("description"));
    let sentences = count_sentences(&description);
    if sentences > 3 {
        let span = object.get("description").map_or(0..0, JsonValue::span);
        let message = format!("`project.description` has {sentences} sentences, more than 3");
        object.report.warning(&CP_02, span, message).help("say in one to three what is intended");
    }
    let stack = read_stack(&mut object);
    ContextPackProject { name, description, stack, unknown_members: more }
}

fn read_stack(project: &mut ManifestObject<'_, '_>) -> Vec<String> {
    let mut stack = Vec::new();
    let items =
        if project.get("stack").is_some() { project.required_list("stack") } else { Vec::new() };
    for item in items {
        match item.text() {
            Some(text) if text.trim().is_empty() => {
                project.report_error(
                    &CP_02,
                    item.span(),
                    "this word of `project.stack` says nothing".into(),
                    "take it out",
                );
            }
            Some(text) => stack.push(text.into_owned()),
            None => {
                let message = format!("`project.stack` holds text, not {}", item.kind().describe());
                project.report_error(&CP_02, item.span(), message, "write it in quotes");
            }
        }
    }
    stack
}

fn read_window(root: &mut ManifestObject<'_, '_>) -> Option<ContextPackWindow> {
    let value = root.optional_object("window")?;
    let mut object = ManifestObject { value, path_prefix: "window.", report: root.report };
    let more = object.read_unknown_members(&["from", "to"]);
    let from = object.optional_timestamp("from", TimestampKind::UtcTime);
    let to = object.optional_timestamp("to", TimestampKind::UtcTime);
    let parsed = |text: &Option<String>| text.as_deref().and_then(time::parse);
    if let (Some(first), Some(last)) = (parsed(&from), parsed(&to))
        && first > last
    {
        let span = object.get("to").map_or(0..0, JsonValue::span);
        object.report_error(
            &CP_02,
            span,
            "the window ends before it begins".into(),
            "exchange `from` and `to`",
        );
    }
    Some(ContextPackWindow { from, to, unknown_members: more })
}

fn read_files(root: &mut ManifestObject<'_, '_>) -> Vec<ContextPackFileEntry> {
    let mut files = Vec::new();
    let mut seen: BTreeMap<String, String> = BTreeMap::new();
    for value in root.required_list("files") {
        if value.kind() != JsonKind::Object {
            let message =
                format!("an entry of `files` must be an object, not {}", value.kind().describe());
            root.report_error(
                &CP_02,
                value.span(),
                message,
                "write `{\"path\": …, \"sha256\": …}`",
            );
            continue;
        }
        let mut object = ManifestObject { value, path_prefix: "files[].", report: root.report };
        let more = object.read_unknown_members(&["path", "sha256"]);
        let (path, sha256) = (object.required_text("path"), read_hash(&mut object));
        let span = |key: &str| value.get(key).map_or_else(|| value.span(), JsonValue::span);
        if let Some(path) = check_path(&mut object, &path, span("path"), &mut seen) {
            files.push(ContextPackFileEntry {
                path,
                sha256,
                span: span("path"),
                sha256_span: span("sha256"),
                unknown_members: more,
            });
        }
    }
    files
}

/// Reads the hash of a file. Returns an empty string if it is invalid, which is reported.
fn read_hash(entry: &mut ManifestObject<'_, '_>) -> String {
    let text = entry.required_text("sha256");
    let is_hash = text.len() == 64
        && text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
    if is_hash {
        return text;
    }
    if !text.trim().is_empty() {
        let is_upper = text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let message =
            if is_upper { "this SHA-256 is not in lower case" } else { "this is no SHA-256" };
        let span = entry.get("sha256").map_or(0..0, JsonValue::span);
        entry.report_error(
            &CP_02,
            span,
            message.into(),
            "write its 64 hexadecimal digits in lower case",
        );
    }
    String::new()
}

fn check_path(
    object: &mut ManifestObject<'_, '_>,
    text: &str,
    span: Range<usize>,
    seen: &mut BTreeMap<String, String>,
) -> Option<RelPath> {
    if text.trim().is_empty() {
        return None;
    }
    let path = match RelPath::new(text) {
        Ok(path) => path,
        Err(why) => {
            let message = format!("`{}` is no path in a pack: {why}", printable(text));
            object.report_error(
                &CP_03,
                span,
                message,
                "write it from the folder of the pack, with `/`, without `.` and `..`",
            );
            return None;
        }
    };
    if fold_name(path.as_str()) == MANIFEST_FILE {
        object.report_error(
            &CP_03,
            span,
            "`pack.json` lists itself".into(),
            "take it out: it cannot hold its own hash",
        );
        return None;
    }
    let Some(other) = seen.get(&fold_name(path.as_str())) else {
        seen.insert(fold_name(path.as_str()), text.to_owned());
        return Some(path);
    };
    if other == text {
        object.report_error(
            &CP_03,
            span,
            format!("`{path}` is listed twice"),
            "keep one of the two",
        );
        return None;
    }
    let message =
        format!("`{path}` and `{other}` are one name where case or Unicode form does not count");
    object.report_error(&CP_03, span, message, "rename one of the two");
    Some(path)
}

fn read_sources(root: &mut ManifestObject<'_, '_>) -> Vec<ContextPackSourceEntry> {
    let mut sources: Vec<ContextPackSourceEntry> = Vec::new();
    let mut seen: BTreeSet<String> = BTreeSet::new();
    for value in root.required_list("sources") {
        if value.kind() != JsonKind::Object {
            let message =
                format!("an entry of `sources` must be an object, not {}", value.kind().describe());
            root.report_error(
                &CP_02,
                value.span(),
                message,
                "write `{\"id\": …, \"url\": …, \"title\": …, \"kind\": …, \"captured_at\": …}`",
            );
            continue;
        }
        let mut object = ManifestObject { value, path_prefix: "sources[].", report: root.report };
        let more = object.read_unknown_members(&[
            "id",
            "url",
            "title",
            "kind",
            "published_at",
            "captured_at",
        ]);
        let span = |key: &str| value.get(key).map_or_else(|| value.span(), JsonValue::span);
        let source = ContextPackSourceEntry {
            id: object.required_text("id"),
            url: object.required_text("url"),
            title: object.required_text("title"),
            kind: object.required_text("kind"),
            published_at: object.optional_timestamp("published_at", TimestampKind::DayOrTime),
            captured_at: object
                .required_timestamp("captured_at", TimestampKind::DayOrTime)
                .unwrap_or_default(),
            span: span("id"),
            unknown_members: more,
        };
        object.check_url(&source.url);
        if source.id.trim().is_empty() {
            continue;
        }
        if !is_source_id(&source.id) {
            let message = format!("`{}` is no id of a source", printable(&source.id));
            object.report_error(
                &CP_02,
                span("id"),
                message,
                "write it as `src_` and letters, digits, `_` and `-`",
            );
        } else if seen.insert(source.id.clone()) {
            sources.push(source);
        } else {
            let message = format!("two sources are called `{}`", source.id);
            object.report_error(&CP_02, span("id"), message, "give each its own id");
        }
    }
    sources
}

/// Whether `text` is a timestamp such as `2026-04-24T14:22:03Z`.
fn is_time(text: &str) -> bool {
    text.as_bytes().get(10) == Some(&b'T') && time::parse(text).is_some()
}

/// Whether `text` is a timestamp or a date such as `2026-04-24`.
pub(super) fn is_day_or_time(text: &str) -> bool {
    let is_day = text.len() == "2026-04-24".len() && text.parse::<jiff::civil::Date>().is_ok();
    is_day || is_time(text)
}

/// Whether `text` is an absolute URL; `http` and `https` need a host.
pub(super) fn is_url(text: &str) -> bool {
    let is_no_part =
        |c: char| c.is_whitespace() || c.is_control() || matches!(c, '<' | '>' | '"' | '\\');
    let Some((scheme, rest)) = text.split_once(':') else { return false };
    let is_scheme = scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
    let is_web = scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https");
    let is_somewhere = match rest.strip_prefix("//") {
        Some(place) if is_web => {
            place.starts_with(|first: char| !matches!(first, '/' | '?' | '#' | ':'))
        }
        Some(place) => !place.is_empty(),
        None => !is_web && !rest.is_empty(),
    };
    is_scheme && is_somewhere && !text.contains(is_no_part)
}

#[cfg(test)]
mod tests;
