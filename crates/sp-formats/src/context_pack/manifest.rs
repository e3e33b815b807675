//! The manifest `pack.json`: identity of the pack, its files with their hashes, and its sources.
//!
//! Every member is checked and every problem is reported; unknown members are kept for rewriting.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use sp_tree::{RelPath, fold_name};

use super::MANIFEST_FILE;
use super::manifest_object::{ManifestObject, TimestampKind, UnknownMembers};
use super::sentences::count_sentences;
use super::value_syntax::is_source_id;
use crate::context_pack::rules::{CP_02, CP_03};
use crate::json::{JsonKind, JsonValue};
use crate::printable::printable;
use crate::report::Report;
use crate::time;

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

/// Reads a manifest, whatever is wrong with its members. Returns `None` if it is not an object.
pub(super) fn read(root: JsonValue<'_>, report: &mut Report) -> Option<ContextPackManifest> {
    if root.kind() != JsonKind::Object {
        let message = format!("`pack.json` must be an object, not {}", root.kind().describe());
        report.error(&CP_02, root.span(), message).help("write `{\"spec_version\": \"0.1\", …}`");
        return None;
    }
    let mut object = ManifestObject { value: root, path_prefix: "", report };
    let unknown_members = object.read_unknown_members(MANIFEST_KEYS);
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
        unknown_members,
    })
}

fn read_generator(root: &mut ManifestObject<'_, '_>) -> ContextPackGenerator {
    let Some(value) = root.required_object("generator") else {
        return ContextPackGenerator::default();
    };
    let mut object = ManifestObject { value, path_prefix: "generator.", report: root.report };
    let unknown_members = object.read_unknown_members(&["name", "version", "url"]);
    let (name, version, url) = (
        object.required_text("name"),
        object.optional_text("version"),
        object.optional_text("url"),
    );
    object.check_url(url.as_deref().unwrap_or_default());
    ContextPackGenerator { name, version, url, unknown_members }
}

fn read_project(root: &mut ManifestObject<'_, '_>) -> ContextPackProject {
    let Some(value) = root.required_object("project") else {
        return ContextPackProject::default();
    };
    let mut object = ManifestObject { value, path_prefix: "project.", report: root.report };
    let unknown_members = object.read_unknown_members(&["name", "description", "stack"]);
    let (name, description) = (object.required_text("name"), object.required_text("description"));
    let sentences = count_sentences(&description);
    if sentences > 3 {
        let span = object.get("description").map_or(0..0, JsonValue::span);
        let message = format!("`project.description` has {sentences} sentences; the maximum is 3");
        object
            .report
            .warning(&CP_02, span, message)
            .help("describe the project in one to three sentences");
    }
    let stack = read_stack(&mut object);
    ContextPackProject { name, description, stack, unknown_members }
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
                    "empty item in `project.stack`".into(),
                    "remove the item",
                );
            }
            Some(text) => stack.push(text.into_owned()),
            None => {
                let message = format!(
                    "an item of `project.stack` must be a string, not {}",
                    item.kind().describe()
                );
                project.report_error(&CP_02, item.span(), message, "write the item in quotes");
            }
        }
    }
    stack
}

fn read_window(root: &mut ManifestObject<'_, '_>) -> Option<ContextPackWindow> {
    let value = root.optional_object("window")?;
    let mut object = ManifestObject { value, path_prefix: "window.", report: root.report };
    let unknown_members = object.read_unknown_members(&["from", "to"]);
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
            "the window ends before it starts".into(),
            "swap `from` and `to`",
        );
    }
    Some(ContextPackWindow { from, to, unknown_members })
}

fn read_files(root: &mut ManifestObject<'_, '_>) -> Vec<ContextPackFileEntry> {
    let mut files = Vec::new();
    let mut seen = PathsByFoldedName::new();
    for value in root.required_list("files") {
        if value.kind() != JsonKind::Object {
            let message =
                format!("an entry of `files` must be an object, not {}", value.kind().describe());
            let help = "write `{\"path\": …, \"sha256\": …}`";
            root.report_error(&CP_02, value.span(), message, help);
            continue;
        }
        let mut object = ManifestObject { value, path_prefix: "files[].", report: root.report };
        files.extend(read_file(&mut object, &mut seen));
    }
    files
}

/// The paths that were read, by their names on file systems that ignore case and Unicode form.
type PathsByFoldedName = BTreeMap<String, String>;

fn read_file(
    object: &mut ManifestObject<'_, '_>,
    seen: &mut PathsByFoldedName,
) -> Option<ContextPackFileEntry> {
    let unknown_members = object.read_unknown_members(&["path", "sha256"]);
    let (text, sha256) = (object.required_text("path"), read_hash(object));
    let span = object.member_span("path");
    let path = read_path(object, &text)?;
    if !check_unique_path(object, &path, seen) {
        return None;
    }
    let sha256_span = object.member_span("sha256");
    Some(ContextPackFileEntry { path, sha256, span, sha256_span, unknown_members })
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
        let message = if is_upper { "the SHA-256 is not in lowercase" } else { "invalid SHA-256" };
        let span = entry.get("sha256").map_or(0..0, JsonValue::span);
        entry.report_error(&CP_02, span, message.into(), "use 64 lowercase hex digits");
    }
    String::new()
}

/// Reads a path relative to the pack. The manifest itself cannot be listed.
fn read_path(object: &mut ManifestObject<'_, '_>, text: &str) -> Option<RelPath> {
    // A blank path is reported already.
    if text.trim().is_empty() {
        return None;
    }
    let span = object.member_span("path");
    match RelPath::new(text) {
        Ok(path) if fold_name(path.as_str()) == MANIFEST_FILE => {
            let help = "remove the entry; a file cannot contain its own hash";
            object.report_error(&CP_03, span, "`pack.json` lists itself".into(), help);
            None
        }
        Ok(path) => Some(path),
        Err(why) => {
            let message = format!("invalid path `{}`: {why}", printable(text));
            let help = "use a path relative to the context pack, with `/` and without `.` or `..`";
            object.report_error(&CP_03, span, message, help);
            None
        }
    }
}

/// Reports a path that is listed before, or that only differs in case or Unicode form from one
/// that is. Returns `false` if it is the same path.
fn check_unique_path(
    object: &mut ManifestObject<'_, '_>,
    path: &RelPath,
    seen: &mut PathsByFoldedName,
) -> bool {
    let folded = fold_name(path.as_str());
    let span = object.member_span("path");
    match seen.get(&folded) {
        None => {
            seen.insert(folded, path.to_string());
            true
        }
        Some(other) if other == path.as_str() => {
            let message = format!("`{path}` is listed twice");
            object.report_error(&CP_03, span, message, "remove the duplicate");
            false
        }
        Some(other) => {
            let message =
                format!("`{path}` and `{other}` differ only in case or Unicode normalization");
            object.report_error(&CP_03, span, message, "rename one of them");
            true
        }
    }
}

fn read_sources(root: &mut ManifestObject<'_, '_>) -> Vec<ContextPackSourceEntry> {
    let mut sources: Vec<ContextPackSourceEntry> = Vec::new();
    let mut seen: BTreeSet<String> = BTreeSet::new();
    for value in root.required_list("sources") {
        if value.kind() != JsonKind::Object {
            let message =
                format!("an entry of `sources` must be an object, not {}", value.kind().describe());
            let help =
                "write `{\"id\": …, \"url\": …, \"title\": …, \"kind\": …, \"captured_at\": …}`";
            root.report_error(&CP_02, value.span(), message, help);
            continue;
        }
        let mut object = ManifestObject { value, path_prefix: "sources[].", report: root.report };
        let source = read_source(&mut object);
        if check_source_id(&mut object, &source.id, &mut seen) {
            sources.push(source);
        }
    }
    sources
}

const SOURCE_KEYS: &[&str] = &["id", "url", "title", "kind", "published_at", "captured_at"];

fn read_source(object: &mut ManifestObject<'_, '_>) -> ContextPackSourceEntry {
    let unknown_members = object.read_unknown_members(SOURCE_KEYS);
    let source = ContextPackSourceEntry {
        id: object.required_text("id"),
        url: object.required_text("url"),
        title: object.required_text("title"),
        kind: object.required_text("kind"),
        published_at: object.optional_timestamp("published_at", TimestampKind::DayOrTime),
        captured_at: object
            .required_timestamp("captured_at", TimestampKind::DayOrTime)
            .unwrap_or_default(),
        span: object.member_span("id"),
        unknown_members,
    };
    object.check_url(&source.url);
    source
}

/// Reports an ID that is invalid or used before. A blank one is reported already.
fn check_source_id(
    object: &mut ManifestObject<'_, '_>,
    id: &str,
    seen: &mut BTreeSet<String>,
) -> bool {
    if id.trim().is_empty() {
        return false;
    }
    let span = object.member_span("id");
    if !is_source_id(id) {
        let message = format!("invalid source ID `{}`", printable(id));
        let help = "use `src_` followed by letters, digits, `_` and `-`";
        object.report_error(&CP_02, span, message, help);
        return false;
    }
    if !seen.insert(id.to_owned()) {
        let message = format!("duplicate source ID `{id}`");
        object.report_error(&CP_02, span, message, "use a unique ID for each source");
        return false;
    }
    true
}
