//! Context packs: a manifest `pack.json` and Markdown files in which every statement cites a
//! source.
//!
//! [`read`] takes the files of a pack, wherever they came from, and returns a [`ContextPack`]
//! together with one [`Report`] per file. A pack is valid if no report has an error. The layout of
//! each Markdown file is a recommendation; deviations are warnings.
//!
//! The rest of the module writes packs ([`ContextPackDraft`], [`seal_files`]), zips and unzips
//! them, inserts a [`MarkedBlock`] into project files, and defines the HTTP API and the signed URLs
//! of a registry that hosts packs. The same input always gives the same bytes. Nothing here reads
//! files or the clock.

mod archive;
mod document;
mod footnotes;
mod heading_label;
mod layout;
mod manifest;
mod marked_block;
mod pack_id;
mod prompts;
mod registry_api;
mod sentences;
mod url_signature;
mod write;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use sp_tree::{Digest, Limits, RelPath, fold_name};

use crate::checks::{CP_01, CP_02, CP_03, CP_10};
use crate::json::{JsonDocument, JsonKind, JsonValue};
use crate::report::{Report, Severity};

pub use archive::{ContextPackZipError, listed_files, unzip_entries, zip_files};
pub use document::{ContextPackDocument, sections_by_title};
pub use footnotes::{SourceFootnote, footnotes};
pub use manifest::{
    ContextPackFileEntry, ContextPackGenerator, ContextPackManifest, ContextPackProject,
    ContextPackSourceEntry, ContextPackWindow, UnknownMembers, is_pack_id, is_source_id,
};
pub use marked_block::{
    MarkedBlock, MarkedBlockError, TextWithoutBlock, find_block, put_block, remove_block,
};
pub use pack_id::{crockford_digits, derive_pack_id};
pub use prompts::{ContextPackPrompt, read_prompts};
pub use registry_api::{
    ContextPackUrlRequest, ContextPackUrlResponse, HostedContextPack, ListContextPacksResponse,
    PutContextPackResponse, UrlSigningKeyInfo,
};
pub use sentences::count_sentences;
pub use url_signature::{DEFAULT_URL_LIFETIME_SECS, MAX_URL_LIFETIME_SECS, UrlSignature};
pub use write::{
    ContextPackDraft, render_manifest, seal_files, with_frontmatter, without_frontmatter,
};

/// The supported version of the specification.
pub const SPEC_VERSION: &str = "0.1";
pub const MANIFEST_FILE: &str = "pack.json";
/// Rules for Cursor.
pub const CURSOR_FILE: &str = "cursor.md";
/// Rules for every agent.
pub const AGENTS_FILE: &str = "AGENTS.md";
/// Reusable techniques.
pub const SKILLS_FILE: &str = "skills.md";
/// The citations.
pub const SOURCES_FILE: &str = "sources.md";
/// Prompts to paste.
pub const PROMPTS_FILE: &str = "prompts.md";
/// Tasks in order.
pub const TASKS_FILE: &str = "tasks.md";
/// Every Markdown file that a pack may have, in manifest order.
pub const KNOWN_FILES: &[&str] =
    &[CURSOR_FILE, AGENTS_FILE, SKILLS_FILE, SOURCES_FILE, PROMPTS_FILE, TASKS_FILE];

/// An entry of a pack's directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ContextPackEntry {
    File(Vec<u8>),
    /// A symbolic link or another special file.
    NotAFile,
}

/// The entries of a pack's directory by path.
pub type ContextPackEntries = BTreeMap<String, ContextPackEntry>;

/// A valid pack.
#[derive(Debug, Clone)]
pub struct ContextPack {
    pub manifest: ContextPackManifest,
    /// The listed Markdown files by path.
    pub documents: BTreeMap<RelPath, ContextPackDocument>,
}

/// The result of [`read`].
#[derive(Debug)]
pub struct ContextPackReadResult {
    /// `None` if there is any error.
    pub pack: Option<ContextPack>,
    /// The manifest if it could be read, even if the pack is invalid.
    pub manifest: Option<ContextPackManifest>,
    /// One report per file, the manifest's first.
    pub reports: Vec<Report>,
}

impl ContextPackReadResult {
    pub fn is_valid(&self) -> bool {
        self.pack.is_some()
    }
}

/// Reads the files of a pack and reports every problem.
pub fn read(entries: &ContextPackEntries, limits: &Limits) -> ContextPackReadResult {
    let ManifestFile { parsed, mut report, text } = read_manifest(entries, limits);
    let Some(ParsedContextPackManifest { manifest, lists }) = parsed else {
        return ContextPackReadResult {
            pack: None,
            manifest: None,
            reports: vec![finish_report(report, &text)],
        };
    };
    let mut pages = check_listed_files(entries, &manifest, limits, &mut report);
    if lists.files {
        check_unlisted_files(entries, &manifest, limits, &mut pages);
    }
    let citations = CitationIndex::new(&manifest, &pages, lists);
    citations.check_sources_file(&manifest, &pages, lists, &mut report);
    citations.check_citations(&mut pages, &mut report);
    let mut reports = vec![finish_report(report, &text)];
    let mut documents = BTreeMap::new();
    for page in pages.into_values() {
        let text = page
            .document
            .as_ref()
            .map_or_else(|| Arc::from(""), |document| Arc::clone(&document.text));
        reports.push(finish_report(page.report, &text));
        documents.extend(page.listed_path.zip(page.document));
    }
    let valid = reports.iter().all(Report::is_usable);
    ContextPackReadResult {
        pack: valid.then(|| ContextPack { manifest: manifest.clone(), documents }),
        manifest: Some(manifest),
        reports,
    }
}

/// A file of the pack and its findings.
struct CheckedContextFile {
    /// The path if the manifest lists the file.
    listed_path: Option<RelPath>,
    /// The content if it is readable Markdown.
    document: Option<ContextPackDocument>,
    report: Report,
}

type CheckedContextFiles = BTreeMap<String, CheckedContextFile>;

fn finish_report(mut report: Report, text: &Arc<str>) -> Report {
    report.sort();
    report.with_text(text)
}

/// Checks that every listed file exists, has the right hash and is valid Markdown.
fn check_listed_files(
    entries: &ContextPackEntries,
    manifest: &ContextPackManifest,
    limits: &Limits,
    report: &mut Report,
) -> CheckedContextFiles {
    let names = FoldedPaths::new(entries, manifest);
    let mut pages = CheckedContextFiles::new();
    for entry in &manifest.files {
        let path = entry.path.as_str();
        match entries.get(path) {
            Some(ContextPackEntry::File(bytes)) => {
                check_hash(entry, bytes, report);
                let mut file_report = Report::deferred(path);
                let document = document::read(path, bytes, manifest, limits, &mut file_report);
                pages.insert(
                    path.into(),
                    CheckedContextFile {
                        listed_path: Some(entry.path.clone()),
                        document,
                        report: file_report,
                    },
                );
            }
            Some(ContextPackEntry::NotAFile) => {
                let help = "put the file itself there: a pack has no links";
                report.error(&CP_03, entry.span.clone(), format!("`{path}` is no file")).help(help);
            }
            None => report_missing_file(entries, &names, entry, report),
        }
    }
    pages
}

/// The paths of a pack folded for file systems that ignore case and Unicode normalization.
struct FoldedPaths<'a> {
    /// Folded to actual path.
    present: BTreeMap<String, &'a str>,
    /// How often the manifest lists each folded path.
    listed_counts: BTreeMap<String, usize>,
}

impl<'a> FoldedPaths<'a> {
    fn new(entries: &'a ContextPackEntries, manifest: &ContextPackManifest) -> Self {
        let present = entries.keys().map(|path| (fold_name(path), path.as_str())).collect();
        let mut listed_counts = BTreeMap::new();
        for entry in &manifest.files {
            *listed_counts.entry(fold_name(entry.path.as_str())).or_default() += 1;
        }
        Self { present, listed_counts }
    }
}

fn report_missing_file(
    entries: &ContextPackEntries,
    names: &FoldedPaths<'_>,
    entry: &ContextPackFileEntry,
    report: &mut Report,
) {
    let (path, folded) = (entry.path.as_str(), fold_name(entry.path.as_str()));
    if names.listed_counts.get(&folded).is_some_and(|times| *times > 1) {
        // A collision is reported already.
        return;
    }
    if is_folder(entries, path) {
        let help = "put a file there, or take it out of `files`";
        report.error(&CP_03, entry.span.clone(), format!("`{path}` is a folder")).help(help);
        return;
    }
    let help = match names.present.get(&folded) {
        Some(other) => format!("there is `{other}`: write its name as it is"),
        None => "add the file, or take it out of `files`".into(),
    };
    report
        .error(&CP_10, entry.span.clone(), format!("`{path}` is listed and not there"))
        .help(help);
}

fn is_folder(entries: &ContextPackEntries, path: &str) -> bool {
    let inside = format!("{path}/");
    entries.range(inside.clone()..).next().is_some_and(|(next, _)| next.starts_with(&inside))
}

/// What was found where the manifest should be.
struct ManifestFile {
    parsed: Option<ParsedContextPackManifest>,
    report: Report,
    text: Arc<str>,
}

/// A manifest, and which of its lists are complete.
struct ParsedContextPackManifest {
    manifest: ContextPackManifest,
    lists: CompleteLists,
}

/// Which lists of the manifest could be read completely. An incomplete list is reported, and
/// nothing is compared with it.
#[derive(Clone, Copy)]
struct CompleteLists {
    files: bool,
    sources: bool,
}

fn read_manifest(entries: &ContextPackEntries, limits: &Limits) -> ManifestFile {
    let mut report = Report::deferred(MANIFEST_FILE);
    let nothing = Arc::from("");
    let Some(ContextPackEntry::File(bytes)) = entries.get(MANIFEST_FILE) else {
        let is_there = entries.contains_key(MANIFEST_FILE) || is_folder(entries, MANIFEST_FILE);
        let (message, help) = if is_there {
            ("it is no file", "put the file itself there, neither a link nor a folder")
        } else {
            ("there is no `pack.json`", "every pack has one; `sp context new` writes it")
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

/// Decodes a file and reports anything but UTF-8 without a byte order mark and with LF line
/// endings.
fn decode_text(bytes: &[u8], report: &mut Report) -> Option<Arc<str>> {
    let Ok(text) = std::str::from_utf8(bytes) else {
        report.whole_file(Severity::Error, &CP_01, "it is not UTF-8").help("save it as UTF-8");
        return None;
    };
    if text.starts_with('\u{feff}') {
        report
            .error(&CP_01, 0..'\u{feff}'.len_utf8(), "it begins with a byte order mark")
            .help("save it without one");
    }
    if let Some(at) = text.find('\r') {
        report
            .error(&CP_01, at..at + 1, "its lines do not end with LF alone")
            .help("save it with LF line endings");
    }
    Some(text.into())
}

fn check_hash(entry: &ContextPackFileEntry, bytes: &[u8], report: &mut Report) {
    let found = Digest::of(bytes).hex();
    // An invalid hash is reported already.
    if found == entry.sha256 || entry.sha256.is_empty() {
        return;
    }
    let message = format!("the SHA-256 of `{}` is another: {found}", entry.path);
    let is_hash_of = |text: &str| Digest::of(text.as_bytes()).hex() == entry.sha256;
    let text = String::from_utf8_lossy(bytes);
    let help = if is_hash_of(&text.replace("\r\n", "\n")) {
        "its line endings were changed to CRLF: turn them back into LF"
    } else if is_hash_of(text.trim_start_matches('\u{feff}')) {
        "a byte order mark was added: save it without one"
    } else {
        "it was changed after the pack was made: `sp context seal` hashes what is there"
    };
    report.error(&CP_10, entry.sha256_span.clone(), message).help(help);
}

/// Checks the files that the manifest does not list. They have no hash, and yet agents read those
/// that claim to be part of this pack.
fn check_unlisted_files(
    entries: &ContextPackEntries,
    manifest: &ContextPackManifest,
    limits: &Limits,
    pages: &mut CheckedContextFiles,
) {
    let listed: BTreeSet<&str> = manifest.files.iter().map(|entry| entry.path.as_str()).collect();
    let folders: BTreeSet<&str> =
        listed.iter().filter_map(|path| path.split_once('/')).map(|(top, _)| top).collect();
    let mut strange: BTreeMap<&str, usize> = BTreeMap::new();
    // A path that differs only in case is reported where it is listed.
    let missing = listed.iter().filter(|path| !entries.contains_key(**path));
    let missing: BTreeSet<String> = missing.map(|path| fold_name(path)).collect();
    let is_unlisted = |path: &str| !listed.contains(path) && !missing.contains(&fold_name(path));
    for (path, entry) in entries.iter().filter(|(path, _)| is_unlisted(path)) {
        match path.split_once('/') {
            _ if path == MANIFEST_FILE => {}
            Some((top, _)) if listed.contains(top) || top == MANIFEST_FILE => {}
            Some((top, _)) if !folders.contains(top) => *strange.entry(top).or_default() += 1,
            _ => {
                drop(pages.insert(path.clone(), check_unlisted_file(path, entry, manifest, limits)))
            }
        }
    }
    for (folder, files) in strange {
        let mut report = Report::new(folder, "");
        let (message, what) = match files {
            1 => ("`pack.json` does not list the file in this folder".to_owned(), "it"),
            more => (format!("`pack.json` lists none of the {more} files in this folder"), "them"),
        };
        let help = format!("list {what}, or take the folder away");
        report.whole_file(Severity::Warning, &CP_03, message).help(help);
        pages.insert(
            folder.into(),
            CheckedContextFile { listed_path: None, document: None, report },
        );
    }
}

fn check_unlisted_file(
    path: &str,
    entry: &ContextPackEntry,
    manifest: &ContextPackManifest,
    limits: &Limits,
) -> CheckedContextFile {
    let mut report = Report::deferred(path);
    let ContextPackEntry::File(bytes) = entry else {
        let help = "take it away: a pack has files and folders only";
        report
            .whole_file(
                Severity::Warning,
                &CP_03,
                "it is no file, and `pack.json` does not list it",
            )
            .help(help);
        return CheckedContextFile { listed_path: None, document: None, report };
    };
    let is_claimed = document::claims_membership(path, bytes, manifest, limits);
    let document =
        is_claimed.then(|| document::read(path, bytes, manifest, limits, &mut report)).flatten();
    let help = "list it, or take it away; `sp context seal` lists it";
    report.whole_file(Severity::Warning, &CP_03, "`pack.json` does not list it").help(help);
    CheckedContextFile { listed_path: None, document, report }
}

/// The sources that footnotes can refer to. `None` for a list that could not be read.
struct CitationIndex {
    sources: Vec<(String, Range<usize>)>,
    listed: Option<BTreeSet<String>>,
    defined: Option<BTreeSet<String>>,
    /// Whether every file that could contain a citation was read.
    is_complete: bool,
}

/// Suggestions are searched only until a report has this many findings.
const MAX_SUGGESTIONS: usize = 20;

impl CitationIndex {
    fn new(
        manifest: &ContextPackManifest,
        pages: &CheckedContextFiles,
        lists: CompleteLists,
    ) -> Self {
        let sources: Vec<_> = manifest
            .sources
            .iter()
            .map(|source| (source.id.clone(), source.span.clone()))
            .collect();
        let document = |path: &str| pages.get(path).and_then(|page| page.document.as_ref());
        let defined = document(SOURCES_FILE)
            .map(|document| document.definitions.iter().map(|source| source.id.clone()).collect());
        let listed = lists.sources.then(|| sources.iter().map(|(id, _)| id.clone()).collect());
        let mut markdown = manifest
            .files
            .iter()
            .map(|entry| entry.path.as_str())
            .filter(|path| path.ends_with(".md"));
        let is_complete = lists.files && markdown.all(|path| document(path).is_some());
        Self { sources, listed, defined, is_complete }
    }

    /// Reports a missing `sources.md` if anything is cited.
    fn check_sources_file(
        &self,
        manifest: &ContextPackManifest,
        pages: &CheckedContextFiles,
        lists: CompleteLists,
        report: &mut Report,
    ) {
        let is_listed = manifest.files.iter().any(|entry| entry.path.as_str() == SOURCES_FILE);
        let cites = |page: &CheckedContextFile| {
            page.document.as_ref().is_some_and(|document| !document.footnotes.is_empty())
        };
        let is_needed = !self.sources.is_empty() || pages.values().any(cites);
        // A file that is listed but cannot be read is reported already.
        if self.defined.is_some() || is_listed || !lists.files || !is_needed {
            return;
        }
        let message = if pages.contains_key(SOURCES_FILE) {
            "`sources.md` does not say that it is of this pack, and footnotes lead there"
        } else {
            "there is no `sources.md`, and footnotes lead there"
        };
        report
            .whole_file(Severity::Error, &CP_10, message)
            .help("add it, with `## [^src_…]` for each source");
    }

    /// Checks that every footnote is defined in `sources.md` and in the manifest, that the two
    /// agree, and that every source is cited.
    fn check_citations(&self, pages: &mut CheckedContextFiles, report: &mut Report) {
        let mut cited: BTreeSet<String> = BTreeSet::new();
        for page in pages.values_mut() {
            let Some(document) = &page.document else { continue };
            cited.extend(document.footnotes.iter().map(|reference| reference.id.clone()));
            self.check_footnotes(document, &mut page.report);
            for definition in document
                .definitions
                .iter()
                .filter(|source| is_unknown_id(self.listed.as_ref(), &source.id))
            {
                let message =
                    format!("`{}` is not among the sources of `pack.json`", definition.id);
                let help = "add it there, or take it away here";
                page.report.error(&CP_10, definition.span.clone(), message).help(help);
            }
        }
        for (id, span) in &self.sources {
            if is_unknown_id(self.defined.as_ref(), id) {
                let message = format!("`{id}` is not in `sources.md`");
                report.error(&CP_10, span.clone(), message).help(format!("add `## [^{id}]` there"));
            } else if self.is_complete && self.defined.is_some() && !cited.contains(id) {
                let help = "a source that says nothing here is not needed";
                report.warning(&CP_10, span.clone(), format!("nothing cites `{id}`")).help(help);
            }
        }
    }

    fn check_footnotes(&self, document: &ContextPackDocument, report: &mut Report) {
        for SourceFootnote { id, span } in &document.footnotes {
            let place = match (
                is_unknown_id(self.defined.as_ref(), id),
                is_unknown_id(self.listed.as_ref(), id),
            ) {
                (true, true) => "neither in `sources.md` nor in `pack.json`",
                // A source that only one of the two has is reported there.
                (true, false) if self.listed.is_none() => "not in `sources.md`",
                (false, true) if self.defined.is_none() => "not in `pack.json`",
                _ => continue,
            };
            let near =
                (report.findings.len() < MAX_SUGGESTIONS).then(|| self.nearest(id)).flatten();
            let help = match near {
                Some(near) => format!("did you mean `[^{near}]`?"),
                None => "name the source there, or take the footnote away".into(),
            };
            report
                .error(&CP_10, span.clone(), format!("`[^{id}]` leads nowhere: it is {place}"))
                .help(help);
        }
    }

    fn nearest(&self, id: &str) -> Option<&str> {
        let known = self.defined.as_ref().or(self.listed.as_ref())?;
        crate::suggest::nearest(id, known.iter().map(String::as_str))
    }
}

/// Whether a known list of IDs does not contain `id`.
fn is_unknown_id(ids: Option<&BTreeSet<String>>, id: &str) -> bool {
    ids.is_some_and(|ids| !ids.contains(id))
}
