//! File formats of a knowledge base.
//!
//! [`parse_file`] detects the format of a [`KnowledgeFile`] and returns its documents and what was
//! skipped. It needs nothing but that file, its sidecar and the defaults of its folder, so files
//! can be parsed in parallel.

mod bookmarks;
mod captures;
mod llms_txt;
mod note;
mod package;

use crate::secrets::has_secret;
use sp_formats::yaml;
use sp_tree::Limits;

use crate::knowledge::classify::is_prompt_injection;
use crate::knowledge::date;
use crate::knowledge::document::{
    KnowledgeBlock, KnowledgeBlockKind, KnowledgeDocument, KnowledgeSection, has_site_suffix,
};
use crate::knowledge::markdown::{self, MarkdownContent};
use crate::knowledge::meta::{DocumentMeta, to_single_line};
use crate::knowledge::sentence::{split_sentences, to_plain_text};
use crate::knowledge::url::{guess_kind, normalize_url, page_url};

/// Maximum size of a note, a page or a capture.
const MAX_DOCUMENT_BYTES: u64 = 8 * 1024 * 1024;
/// Maximum size of a file with many documents, or a package.
const MAX_COLLECTION_BYTES: u64 = 128 * 1024 * 1024;
/// Maximum number of skipped documents reported individually per file.
const MAX_REPORTED: usize = 50;
/// The file with defaults for all files in a folder.
pub const FOLDER_DEFAULTS_FILE: &str = "kb.yaml";

/// A file that may contain documents.
#[derive(Debug, Clone, Copy)]
pub struct KnowledgeFile<'a> {
    /// Path in the knowledge base, with `/` separators.
    pub path: &'a str,
    pub bytes: &'a [u8],
    /// Content of the metadata file next to it.
    pub sidecar: Option<&'a [u8]>,
    pub defaults: &'a FolderDefaults,
}

/// The documents of a file.
#[derive(Debug, Default)]
pub struct ParsedDocuments {
    pub documents: Vec<KnowledgeDocument>,
    pub skipped: Vec<SkippedInput>,
}

/// Something that could not be read.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct SkippedInput {
    pub path: String,
    /// The line, if the file contains several documents.
    pub line: Option<usize>,
    pub reason: String,
}

/// Metadata for all files of a folder, from `kb.yaml` or from flags.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FolderDefaults {
    /// Length of the path prefix that `base_url` stands for.
    base_path_len: usize,
    base_url: Option<String>,
    meta: DocumentMeta,
}

impl FolderDefaults {
    /// All values in a fixed order, for a digest that changes when any of them does.
    pub fn values(&self) -> serde_json::Value {
        serde_json::json!([self.base_path_len, self.base_url, self.meta.values()])
    }

    /// Defaults for a whole knowledge base.
    pub fn new(base_url: Option<String>, captured_at: Option<String>) -> Self {
        Self {
            base_path_len: 0,
            base_url,
            meta: DocumentMeta { captured: captured_at, ..DocumentMeta::default() },
        }
    }

    /// Defaults for a subfolder with the given `kb.yaml`.
    pub fn for_subfolder(&self, path: &str, text: &str) -> Result<Self, String> {
        let node = yaml::parse(text, &Limits::default()).map_err(|error| error.message)?;
        let value = node.to_json();
        let own = DocumentMeta::from_json(&value);
        if let Some((key, found)) = &own.bad_date {
            return Err(format!("invalid date in `{key}`: `{found}`"));
        }
        let base = value.get("base_url").and_then(|base| base.as_str()).map(str::to_owned);
        if base.as_deref().is_some_and(|base| normalize_url(base).is_none()) {
            return Err("`base_url` is not a web URL".into());
        }
        let from = if base.is_some() { path.len() } else { self.base_path_len };
        let base_url = base.or_else(|| self.base_url.clone());
        Ok(Self {
            base_path_len: from,
            base_url,
            meta: DocumentMeta { url: None, title: None, ..own }.or(&self.meta),
        })
    }

    /// The URL of a file in the folder.
    fn file_url(&self, path: &str) -> Option<String> {
        page_url(self.base_url.as_deref()?, path.get(self.base_path_len..)?.trim_start_matches('/'))
    }
}

/// A format, as recognized by file name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum KnowledgeFormat {
    Note,
    Skill,
    WebPage,
    Captures,
    LlmsTxt,
    Package,
}

fn detect_format(path: &str) -> Option<KnowledgeFormat> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let ending = name.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase())?;
    match ending.as_str() {
        _ if name == "SKILL.md" => Some(KnowledgeFormat::Skill),
        "md" | "markdown" | "mdx" => Some(KnowledgeFormat::Note),
        "html" | "htm" | "xhtml" => Some(KnowledgeFormat::WebPage),
        "jsonl" | "ndjson" => Some(KnowledgeFormat::Captures),
        "txt" if name.eq_ignore_ascii_case("llms.txt") => Some(KnowledgeFormat::LlmsTxt),
        "ctxpkg" | "lctxpkg" => Some(KnowledgeFormat::Package),
        _ => None,
    }
}

/// Returns how many bytes of a file are read; `None` if it is not a document, judging by its name.
pub fn max_file_bytes(path: &str) -> Option<u64> {
    Some(match detect_format(path)? {
        KnowledgeFormat::Note | KnowledgeFormat::Skill | KnowledgeFormat::LlmsTxt => {
            MAX_DOCUMENT_BYTES
        }
        // Bookmark files have the extension of a web page.
        KnowledgeFormat::WebPage | KnowledgeFormat::Captures | KnowledgeFormat::Package => {
            MAX_COLLECTION_BYTES
        }
    })
}

/// Possible paths of the metadata file next to a file, in order of preference.
pub fn sidecar_paths(path: &str) -> Vec<String> {
    let stem = path.rsplit_once('.').map_or(path, |(stem, _)| stem);
    let can_have = matches!(
        detect_format(path),
        Some(
            KnowledgeFormat::Note
                | KnowledgeFormat::WebPage
                | KnowledgeFormat::LlmsTxt
                | KnowledgeFormat::Skill
        )
    );
    let names = [
        format!("{path}.json"),
        format!("{path}.yaml"),
        format!("{stem}.meta.json"),
        format!("{stem}.json"),
        format!("{stem}.yaml"),
        format!("{stem}.yml"),
    ];
    if can_have { names.into() } else { Vec::new() }
}

/// Parses a file.
pub fn parse_file(file: KnowledgeFile<'_>) -> ParsedDocuments {
    let mut read = ParsedDocuments::default();
    let Some(form) = detect_format(file.path) else { return read };
    let mut give = DocumentCollector { file, parsed: &mut read, skipped_count: 0 };
    if form == KnowledgeFormat::Package {
        package::read(&mut give);
    } else if let Some(text) = give.text() {
        match form {
            KnowledgeFormat::Note | KnowledgeFormat::Skill => {
                note::read(text, form == KnowledgeFormat::Skill, &mut give);
            }
            KnowledgeFormat::WebPage if bookmarks::is_bookmark_file(text) => {
                bookmarks::read(text, &mut give);
            }
            KnowledgeFormat::WebPage => note::read_page(text, &mut give),
            KnowledgeFormat::Captures => captures::read(text, &mut give),
            KnowledgeFormat::LlmsTxt => llms_txt::read(text, &mut give),
            KnowledgeFormat::Package => {}
        }
    }
    give.finish();
    read
}

/// Collects the documents of a file, and what was skipped.
struct DocumentCollector<'a> {
    file: KnowledgeFile<'a>,
    parsed: &'a mut ParsedDocuments,
    /// Total number of skipped documents, including those not reported individually.
    skipped_count: usize,
}

impl<'a> DocumentCollector<'a> {
    fn skip(&mut self, line: Option<usize>, why: impl Into<String>) {
        self.skipped_count += 1;
        if self.skipped_count <= MAX_REPORTED {
            self.parsed.skipped.push(SkippedInput {
                path: self.file.path.into(),
                line,
                reason: why.into(),
            });
        }
    }

    /// Reports how many skipped documents were not reported individually.
    fn finish(self) {
        if self.skipped_count > MAX_REPORTED {
            let why = format!(
                "{} more documents of this file were skipped",
                self.skipped_count - MAX_REPORTED
            );
            self.parsed.skipped.push(SkippedInput {
                path: self.file.path.into(),
                line: None,
                reason: why,
            });
        }
    }

    fn text(&mut self) -> Option<&'a str> {
        let bytes = self.file.bytes;
        let text = std::str::from_utf8(bytes).ok().filter(|text| !text.contains('\0'));
        if text.is_none() {
            self.skip(None, "not a UTF-8 text file");
        }
        text.map(|text| text.trim_start_matches('\u{feff}'))
    }

    /// The metadata in the sidecar.
    fn sidecar_meta(&mut self) -> Option<DocumentMeta> {
        let Some(bytes) = self.file.sidecar else { return Some(DocumentMeta::default()) };
        let text = std::str::from_utf8(bytes).map_err(|_| "not a UTF-8 text file".to_owned());
        let node = text
            .and_then(|text| yaml::parse(text, &Limits::default()).map_err(|error| error.message));
        match node {
            Ok(node) => Some(DocumentMeta::from_json(&node.to_json())),
            Err(why) => {
                self.skip(None, format!("invalid sidecar file: {why}"));
                None
            }
        }
    }

    /// Adds a document if it is valid.
    fn push_document(&mut self, line: Option<usize>, meta: DocumentMeta, text: MarkdownContent) {
        match self.build_document(meta.or(&self.file.defaults.meta), text) {
            Ok(document) => self.parsed.documents.push(document),
            Err(why) => self.skip(line, why),
        }
    }

    fn build_document(
        &self,
        meta: DocumentMeta,
        text: MarkdownContent,
    ) -> Result<KnowledgeDocument, String> {
        if let Some((key, value)) = &meta.bad_date {
            return Err(format!("invalid date in `{key}`: `{value}`"));
        }
        let path = self.file.path;
        let url = self.document_url(meta.url.as_deref())?;
        let captured_at = meta
            .captured
            .or_else(|| date::date_from_file_name(path))
            .ok_or("the capture date is missing")?;
        let title = document_title(path, meta.title, text.title).unwrap_or_else(|| url.clone());
        let mut document = KnowledgeDocument {
            kind: meta.kind.unwrap_or_else(|| guess_kind(&url).into()),
            title,
            published_at: meta.published,
            captured_at,
            tags: [meta.tags, text.tags].concat(),
            sections: text.sections,
            code: text.code,
            url,
        };
        document.tags.sort();
        document.tags.dedup();
        prepend_description(&mut document, meta.description.as_deref());
        append_highlights(&mut document, &meta.highlights);
        remove_unsafe_text(&mut document);
        let is_empty = document.sentences().next().is_none();
        if is_empty { Err("the document contains no text".into()) } else { Ok(document) }
    }

    /// The address in the metadata, or the one that the file has by default.
    fn document_url(&self, stated: Option<&str>) -> Result<String, String> {
        let url = match stated {
            Some(stated) => normalize_url(stated)
                .ok_or_else(|| format!("not a web URL: `{}`", to_single_line(stated, 80)))?,
            None => self.file.defaults.file_url(self.file.path).ok_or("`url` is missing")?,
        };
        if has_secret(&url) {
            return Err("the URL appears to contain a secret".into());
        }
        Ok(url)
    }
}

/// The title in the metadata, the first heading, or the name of the file. A title that only adds
/// the name of the site to the heading is not used.
fn document_title(path: &str, stated: Option<String>, heading: Option<String>) -> Option<String> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    let stated = stated
        .filter(|stated| !heading.as_ref().is_some_and(|heading| has_site_suffix(stated, heading)));
    [stated, heading, Some(to_single_line(stem, 300))]
        .into_iter()
        .flatten()
        .find(|title| !title.trim().is_empty())
}

/// Puts the description first, unless the document contains it.
fn prepend_description(document: &mut KnowledgeDocument, about: Option<&str>) {
    let Some(about) = about else { return };
    let known: std::collections::HashSet<String> =
        document.sentences().map(str::to_owned).collect();
    let text = markdown::parse(about);
    let blocks = text.sections.into_iter().flat_map(|section| section.blocks);
    let sentences: Vec<String> = blocks
        .flat_map(|block| block.sentences)
        .filter(|sentence| !known.contains(sentence))
        .collect();
    if !sentences.is_empty() {
        let blocks = vec![KnowledgeBlock { sort: KnowledgeBlockKind::Text, sentences }];
        document.sections.insert(0, KnowledgeSection { title: String::new(), blocks });
    }
}

/// Adds what the reader highlighted.
fn append_highlights(document: &mut KnowledgeDocument, highlights: &[String]) {
    let one = |text: &String| {
        let sentences = split_sentences(&crate::knowledge::sentence::escape_markdown(text));
        KnowledgeBlock { sort: KnowledgeBlockKind::Highlight, sentences }
    };
    let blocks: Vec<KnowledgeBlock> =
        highlights.iter().map(one).filter(|block| !block.sentences.is_empty()).collect();
    if !blocks.is_empty() {
        document.sections.push(KnowledgeSection { title: String::new(), blocks });
    }
}

/// Removes sentences that contain secrets or hidden characters. Titles and tags must not address
/// the agent either; sentences that do are reported when a pack is composed.
fn remove_unsafe_text(document: &mut KnowledgeDocument) {
    let is_fine = |text: &str| {
        !text.chars().any(sp_formats::printable::is_hidden) && !has_secret(&to_plain_text(text))
    };
    let is_label = |text: &str| is_fine(text) && !is_prompt_injection(text);
    for section in &mut document.sections {
        if !is_label(&section.title) {
            section.title.clear();
        }
        for block in &mut section.blocks {
            block.sentences.retain(|sentence| is_fine(sentence));
        }
        section.blocks.retain(|block| !block.sentences.is_empty());
    }
    document.sections.retain(|section| !section.blocks.is_empty());
    document.tags.retain(|tag| is_label(tag));
    if !is_label(&document.title) {
        document.title = document.url.clone();
    }
    if !is_label(&document.kind) {
        document.kind = guess_kind(&document.url).into();
    }
}
