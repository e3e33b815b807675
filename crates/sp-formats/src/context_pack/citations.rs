//! Citations across the files of a pack: footnotes, `sources.md` and the manifest must agree.

use std::collections::BTreeSet;
use std::ops::Range;

use super::SOURCES_FILE;
use super::checked_file::{CheckedContextFile, CheckedContextFiles};
use super::document::ContextPackDocument;
use super::footnotes::SourceFootnote;
use super::manifest::ContextPackManifest;
use super::manifest_file::CompleteLists;
use crate::context_pack::rules::CP_10;
use crate::report::{Report, Severity};

/// The sources that footnotes can refer to. `None` for a list that could not be read.
pub(super) struct CitationIndex {
    sources: Vec<(String, Range<usize>)>,
    listed: Option<BTreeSet<String>>,
    defined: Option<BTreeSet<String>>,
    /// Whether every file that could contain a citation was read.
    is_complete: bool,
}

/// Suggestions are searched only until a report has this many findings.
const MAX_SUGGESTIONS: usize = 20;

impl CitationIndex {
    pub(super) fn new(
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
    pub(super) fn check_sources_file(
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
            "`sources.md` does not belong to this context pack, but footnotes refer to it"
        } else {
            "`sources.md` is missing, but footnotes refer to it"
        };
        report
            .whole_file(Severity::Error, &CP_10, message)
            .help("add `sources.md` with a section `## [^src_…]` for each source");
    }

    /// Checks that every footnote is defined in `sources.md` and in the manifest, that the two
    /// agree, and that every source is cited.
    pub(super) fn check_citations(&self, pages: &mut CheckedContextFiles, report: &mut Report) {
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
                    format!("`{}` is not listed in `sources` of `pack.json`", definition.id);
                let help = "add it to `pack.json`, or remove this section";
                page.report.error(&CP_10, definition.span.clone(), message).help(help);
            }
        }
        for (id, span) in &self.sources {
            if is_unknown_id(self.defined.as_ref(), id) {
                let message = format!("`{id}` has no section in `sources.md`");
                report
                    .error(&CP_10, span.clone(), message)
                    .help(format!("add a section `## [^{id}]`"));
            } else if self.is_complete && self.defined.is_some() && !cited.contains(id) {
                let help = "cite the source, or remove it";
                report
                    .warning(&CP_10, span.clone(), format!("the source `{id}` is never cited"))
                    .help(help);
            }
        }
    }

    fn check_footnotes(&self, document: &ContextPackDocument, report: &mut Report) {
        for SourceFootnote { id, span } in &document.footnotes {
            let problem = match (
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
                None => "add the source, or remove the footnote".into(),
            };
            report
                .error(&CP_10, span.clone(), format!("unknown source `[^{id}]`: it is {problem}"))
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
