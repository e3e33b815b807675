//! Finding and parsing `pack.json`.

use std::sync::Arc;

use sp_tree::Limits;

use super::MANIFEST_FILE;
use super::entries::{ContextPackEntries, ContextPackEntry, is_folder};
use super::manifest::{self, ContextPackManifest};
use super::text_file::decode_text;
use crate::context_pack::rules::{CP_01, CP_02};
use crate::json::{JsonDocument, JsonKind, JsonValue};
use crate::report::{Report, Severity};

/// What was found where the manifest should be.
pub(super) struct ManifestFile {
    pub parsed: Option<ParsedContextPackManifest>,
    pub report: Report,
    pub text: Arc<str>,
}

/// A manifest, and which of its lists are complete.
pub(super) struct ParsedContextPackManifest {
    pub manifest: ContextPackManifest,
    pub lists: CompleteLists,
}

/// Which lists of the manifest could be read completely. An incomplete list is reported, and
/// nothing is compared with it.
#[derive(Clone, Copy)]
pub(super) struct CompleteLists {
    pub files: bool,
    pub sources: bool,
}

/// Reads `pack.json` and reports every problem.
pub(super) fn read_manifest(entries: &ContextPackEntries, limits: &Limits) -> ManifestFile {
    let mut report = Report::deferred(MANIFEST_FILE);
    let nothing = Arc::from("");
    let Some(ContextPackEntry::File(bytes)) = entries.get(MANIFEST_FILE) else {
        let is_there = entries.contains_key(MANIFEST_FILE) || is_folder(entries, MANIFEST_FILE);
        let (message, help) = if is_there {
            ("`pack.json` is not a regular file", "replace it with a regular file")
        } else {
            ("`pack.json` is missing", "run `sp context new` to create it")
        };
        report.whole_file(Severity::Error, &CP_01, message).help(help);
        return ManifestFile { parsed: None, report, text: nothing };
    };
    let Some(text) = decode_text(bytes, &mut report) else {
        return ManifestFile { parsed: None, report, text: nothing };
    };
    // The byte order mark is reported already. Spaces of the same length keep the spans valid.
    let readable = text
        .strip_prefix('\u{feff}')
        .map_or_else(|| Arc::clone(&text), |rest| format!("   {rest}").into());
    let parsed = match JsonDocument::parse(readable, limits) {
        Ok(json) => {
            let lists = CompleteLists {
                files: has_named_items(&json, "files", "path"),
                sources: has_named_items(&json, "sources", "id"),
            };
            manifest::read(json.root(), &mut report)
                .map(|manifest| ParsedContextPackManifest { manifest, lists })
        }
        Err(error) => {
            report.error(&CP_02, error.span, error.message).help(error.help);
            None
        }
    };
    ManifestFile { parsed, report, text }
}

/// Whether the member `key` is a list in which every item has the text `name`.
fn has_named_items(json: &JsonDocument, key: &str, name: &str) -> bool {
    let has_name = |item: JsonValue<'_>| {
        let text = if item.kind() == JsonKind::Object {
            item.get(name).and_then(JsonValue::text)
        } else {
            None
        };
        text.is_some_and(|text| !text.trim().is_empty())
    };
    json.root()
        .get(key)
        .is_some_and(|list| list.kind() == JsonKind::Array && list.items().all(has_name))
}
