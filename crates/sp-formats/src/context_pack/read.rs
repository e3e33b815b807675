//! Reading a pack: the manifest, the files it lists, those it does not list, and the citations.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use sp_tree::{Digest, Limits, RelPath, fold_name};

use super::MANIFEST_FILE;
use super::checked_file::{CheckedContextFile, CheckedContextFiles};
use super::citations::CitationIndex;
use super::document::{self, ContextPackDocument};
use super::entries::{ContextPackEntries, ContextPackEntry, is_folder};
use super::manifest::{ContextPackFileEntry, ContextPackManifest};
use super::manifest_file::{ManifestFile, ParsedContextPackManifest, read_manifest};
use crate::context_pack::rules::{CP_03, CP_10};
use crate::report::{Report, Severity};

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
                let help = "replace it with a regular file; context packs cannot contain links";
                report
                    .error(&CP_03, entry.span.clone(), format!("`{path}` is not a regular file"))
                    .help(help);
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
        let help = "replace it with a file, or remove it from `files`";
        report.error(&CP_03, entry.span.clone(), format!("`{path}` is a directory")).help(help);
        return;
    }
    let help = match names.present.get(&folded) {
        Some(other) => format!("use the exact name `{other}`"),
        None => "add the file, or remove it from `files`".into(),
    };
    report
        .error(&CP_10, entry.span.clone(), format!("the listed file `{path}` is missing"))
        .help(help);
}

fn check_hash(entry: &ContextPackFileEntry, bytes: &[u8], report: &mut Report) {
    let found = Digest::of(bytes).hex();
    // An invalid hash is reported already.
    if found == entry.sha256 || entry.sha256.is_empty() {
        return;
    }
    let message = format!("the SHA-256 of `{}` does not match: found {found}", entry.path);
    let is_hash_of = |text: &str| Digest::of(text.as_bytes()).hex() == entry.sha256;
    let text = String::from_utf8_lossy(bytes);
    let help = if is_hash_of(&text.replace("\r\n", "\n")) {
        "convert the line endings from CRLF back to LF"
    } else if is_hash_of(text.trim_start_matches('\u{feff}')) {
        "remove the byte-order mark that was added"
    } else {
        "run `sp context seal` to update the hash, if the change is intended"
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
    let mut unlisted_folders: BTreeMap<&str, usize> = BTreeMap::new();
    // A path that differs only in case is reported where it is listed.
    let missing = listed.iter().filter(|path| !entries.contains_key(**path));
    let missing: BTreeSet<String> = missing.map(|path| fold_name(path)).collect();
    let is_unlisted = |path: &str| !listed.contains(path) && !missing.contains(&fold_name(path));
    for (path, entry) in entries.iter().filter(|(path, _)| is_unlisted(path)) {
        match path.split_once('/') {
            _ if path == MANIFEST_FILE => {}
            Some((top, _)) if listed.contains(top) || top == MANIFEST_FILE => {}
            Some((top, _)) if !folders.contains(top) => {
                *unlisted_folders.entry(top).or_default() += 1;
            }
            _ => {
                drop(
                    pages.insert(path.clone(), check_unlisted_file(path, entry, manifest, limits)),
                );
            }
        }
    }
    for (folder, files) in unlisted_folders {
        let mut report = Report::new(folder, "");
        let (message, what) = match files {
            1 => ("`pack.json` does not list the file in this directory".to_owned(), "it"),
            more => {
                (format!("`pack.json` lists none of the {more} files in this directory"), "them")
            }
        };
        let help = format!("add {what} to `files`, or remove the directory");
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
        let help = "remove it; context packs contain only files and directories";
        report
            .whole_file(
                Severity::Warning,
                &CP_03,
                "not a regular file, and not listed in `pack.json`",
            )
            .help(help);
        return CheckedContextFile { listed_path: None, document: None, report };
    };
    let is_claimed = document::claims_membership(path, bytes, manifest, limits);
    let document =
        is_claimed.then(|| document::read(path, bytes, manifest, limits, &mut report)).flatten();
    let help = "run `sp context seal` to add it, or remove the file";
    report
        .whole_file(Severity::Warning, &CP_03, "the file is not listed in `pack.json`")
        .help(help);
    CheckedContextFile { listed_path: None, document, report }
}
