//! Context Packs: `pack.json` and Markdown in which everything that is said has its source.
//!
//! [`read`] takes the files of a pack, wherever they came from, and reports everything about them, each
//! file in a report of its own. A pack is valid when no report has an error.

mod block;
mod document;
mod id;
mod manifest;
mod references;
mod shape;
mod write;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use sp_tree::{Digest, Limits, RelPath};

use crate::checks::{CP_01, CP_03, CP_10};
use crate::json::Json;
use crate::report::{Report, Severity};

pub use block::{Block, BlockError, find, put, take_out};
pub use document::Document;
pub use id::pack_id;
pub use manifest::{FileEntry, Generator, Manifest, Project, SourceEntry, Window, is_pack_id, is_source_id};
pub use references::{Reference, references};
pub use write::{Draft, manifest_text, sealed, with_frontmatter};

/// The version of the specification.
pub const SPEC_VERSION: &str = "0.1";
/// The manifest.
pub const MANIFEST: &str = "pack.json";
/// Rules for Cursor.
pub const CURSOR: &str = "cursor.md";
/// The same for every agent.
pub const AGENTS: &str = "AGENTS.md";
/// Techniques.
pub const SKILLS: &str = "skills.md";
/// The bibliography.
pub const SOURCES: &str = "sources.md";
/// Prompts to be pasted.
pub const PROMPTS: &str = "prompts.md";
/// What to do, in order.
pub const TASKS: &str = "tasks.md";
/// Every file that a pack may have, in the order in which it lists them.
pub const FILES: &[&str] = &[CURSOR, AGENTS, SKILLS, SOURCES, PROMPTS, TASKS];

/// Something in the folder of a pack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entry {
    /// A file.
    File(Vec<u8>),
    /// A link, or whatever else is no file.
    Other,
}

/// What lies in the folder of a pack, by path.
pub type Entries = BTreeMap<String, Entry>;

/// A pack without errors.
#[derive(Debug, Clone)]
pub struct ContextPack {
    /// The manifest.
    pub manifest: Manifest,
    /// The Markdown files that it lists, by path.
    pub documents: BTreeMap<RelPath, Document>,
}

/// What was read.
#[derive(Debug)]
pub struct Read {
    /// The pack, if nothing is wrong with it.
    pub pack: Option<ContextPack>,
    /// The manifest, if it could be read, whatever else is wrong.
    pub manifest: Option<Manifest>,
    /// What was found, a report a file, the manifest's first.
    pub reports: Vec<Report>,
}

impl Read {
    /// Whether there is no error.
    pub fn is_valid(&self) -> bool {
        self.pack.is_some()
    }
}

/// Reads the files of a pack and reports everything about them.
pub fn read(entries: &Entries, limits: &Limits) -> Read {
    let (manifest, mut report, text) = read_manifest(entries, limits);
    let Some(manifest) = manifest else {
        report.sort();
        let report = report.about(&text);
        return Read { pack: None, manifest: None, reports: vec![report] };
    };
    let mut reports: BTreeMap<String, Report> = BTreeMap::new();
    let (mut documents, mut texts) = (BTreeMap::new(), BTreeMap::new());
    for entry in &manifest.files {
        match entries.get(entry.path.as_str()) {
            Some(Entry::File(bytes)) => {
                check_hash(entry, bytes, &mut report);
                let mut own = Report::deferred(entry.path.as_str());
                if let Some((document, text)) =
                    document::read(entry.path.as_str(), bytes, (&manifest, limits), &mut own)
                {
                    documents.insert(entry.path.clone(), document);
                    texts.insert(entry.path.to_string(), text);
                }
                reports.insert(entry.path.to_string(), own);
            }
            Some(Entry::Other) => {
                let message = format!("`{}` is no file", entry.path);
                report
                    .error(&CP_03, entry.span.clone(), message)
                    .help("put the file itself there: a pack has no links");
            }
            None => {
                let message = format!("`{}` is listed and not there", entry.path);
                report.error(&CP_10, entry.span.clone(), message).help("add the file, or take it out of `files`");
            }
        }
    }
    unlisted(entries, &manifest, &mut reports);
    cite(&manifest, &documents, &mut report, &mut reports);
    report.sort();
    let mut all = vec![report.about(&text)];
    all.extend(reports.into_iter().map(|(path, mut report)| {
        report.sort();
        texts.get(&path).map_or(report.clone(), |text| report.about(text))
    }));
    let valid = all.iter().all(Report::is_usable);
    Read {
        pack: valid.then(|| ContextPack { manifest: manifest.clone(), documents }),
        manifest: Some(manifest),
        reports: all,
    }
}

fn read_manifest(entries: &Entries, limits: &Limits) -> (Option<Manifest>, Report, Arc<str>) {
    let missing = |message: &str| {
        let mut report = Report::new(MANIFEST, "");
        report
            .whole(Severity::Error, &CP_01, message)
            .help("every pack has a `pack.json`; `sp context new` writes one");
        (None, report, Arc::from(""))
    };
    let bytes = match entries.get(MANIFEST) {
        Some(Entry::File(bytes)) => bytes,
        Some(Entry::Other) => return missing("`pack.json` is no file"),
        None => return missing("there is no `pack.json`"),
    };
    let mut report = Report::deferred(MANIFEST);
    let Some(text) = text_of(bytes, &mut report) else { return (None, report, Arc::from("")) };
    let manifest = match Json::parse(Arc::clone(&text), limits) {
        Ok(json) => manifest::read(json.root(), &mut report),
        Err(error) => {
            report.error(&crate::checks::CP_02, error.span, error.message).help(error.help);
            None
        }
    };
    (manifest, report, text)
}

/// The text of a file: UTF-8 without a byte order mark, with LF at the ends of lines.
fn text_of(bytes: &[u8], report: &mut Report) -> Option<Arc<str>> {
    let Ok(text) = std::str::from_utf8(bytes) else {
        report.whole(Severity::Error, &CP_01, "it is not UTF-8").help("save it as UTF-8");
        return None;
    };
    if text.starts_with('\u{feff}') {
        report.error(&CP_01, 0..'\u{feff}'.len_utf8(), "it begins with a byte order mark").help("save it without one");
    }
    if let Some(at) = text.find('\r') {
        report.error(&CP_01, at..at + 1, "its lines do not end with LF alone").help("save it with LF line endings");
    }
    Some(text.into())
}

fn check_hash(entry: &FileEntry, bytes: &[u8], report: &mut Report) {
    let found = Digest::of(bytes).hex();
    if found == entry.sha256 {
        return;
    }
    let message = format!("the SHA-256 of `{}` is another: {found}", entry.path);
    let unix = String::from_utf8_lossy(bytes).replace("\r\n", "\n");
    let help = if Digest::of(unix.as_bytes()).hex() == entry.sha256 {
        "its line endings were changed to CRLF: turn them back into LF"
    } else {
        "it was changed after the pack was made: `sp context seal` hashes what is there"
    };
    report.error(&CP_10, entry.sha256_span.clone(), message).help(help);
}

/// What lies there and is not listed is in no pack.
fn unlisted(entries: &Entries, manifest: &Manifest, reports: &mut BTreeMap<String, Report>) {
    let listed: BTreeSet<&str> = manifest.files.iter().map(|entry| entry.path.as_str()).collect();
    for path in entries.keys().filter(|path| *path != MANIFEST && !listed.contains(path.as_str())) {
        let mut report = Report::new(path.as_str(), "");
        report
            .whole(Severity::Warning, &CP_03, "`pack.json` does not list it")
            .help("list it, or take it away; `sp context seal` lists it");
        reports.insert(path.clone(), report);
    }
}

/// Every reference must lead to `sources.md` and to the manifest, and every source should be cited.
fn cite(
    manifest: &Manifest,
    documents: &BTreeMap<RelPath, Document>,
    report: &mut Report,
    reports: &mut BTreeMap<String, Report>,
) {
    let listed: BTreeSet<&str> = manifest.sources.iter().map(|source| source.id.as_str()).collect();
    let bibliography = documents.iter().find(|(path, _)| path.as_str() == SOURCES).map(|(_, document)| document);
    let defined: BTreeSet<&str> =
        bibliography.into_iter().flat_map(|document| &document.defines).map(|one| one.id.as_str()).collect();
    let mut cited: BTreeSet<&str> = BTreeSet::new();
    for (path, document) in documents {
        let Some(own) = reports.get_mut(path.as_str()) else { continue };
        for reference in &document.refers {
            cited.insert(&reference.id);
            let missing = match (defined.contains(reference.id.as_str()), listed.contains(reference.id.as_str())) {
                (true, true) => continue,
                (true, false) => "`pack.json`",
                (false, true) => "`sources.md`",
                (false, false) => "`sources.md` and `pack.json`",
            };
            let message = format!("`[^{}]` leads nowhere: it is not in {missing}", reference.id);
            own.error(&CP_10, reference.span.clone(), message).help("name the source there, or take the footnote away");
        }
        for definition in document.defines.iter().filter(|one| !listed.contains(one.id.as_str())) {
            let message = format!("`{}` is not among the sources of `pack.json`", definition.id);
            own.error(&CP_10, definition.span.clone(), message).help("add it there, or take it away here");
        }
    }
    for source in &manifest.sources {
        if !defined.contains(source.id.as_str()) {
            let message = format!("`{}` is not in `sources.md`", source.id);
            report.error(&CP_10, source.span.clone(), message).help(format!("add `## [^{}]` there", source.id));
        } else if !cited.contains(source.id.as_str()) {
            let message = format!("nothing cites `{}`", source.id);
            report.warning(&CP_10, source.span.clone(), message).help("a source that says nothing here is not needed");
        }
    }
}
