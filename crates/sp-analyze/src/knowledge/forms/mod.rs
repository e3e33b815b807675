//! The forms in which people keep things. Each file is read for itself, so that files can be read side by side.

mod bookmarks;
mod captures;
mod llms;
mod note;
mod package;

use crate::secrets::has_secret;
use sp_formats::yaml;
use sp_tree::Limits;

use crate::knowledge::address::{address, below, kind_of};
use crate::knowledge::claim::speaks_to_agent;
use crate::knowledge::date;
use crate::knowledge::document::{Block, Document, Section, Sort, is_with_site};
use crate::knowledge::markdown::{self, Text};
use crate::knowledge::meta::{Meta, on_one_line};
use crate::knowledge::sentence::{plain, sentences};

/// Of a note, a page or a capture so many bytes are read.
const MOST_BYTES: u64 = 8 * 1024 * 1024;
/// Of a file of captures or bookmarks, or a package, so many.
const MOST_COLLECTED: u64 = 128 * 1024 * 1024;
/// So many documents of a file that cannot be used are told one by one.
const TOLD: usize = 50;
/// What holds for all files of a folder.
pub const FOLDER_FILE: &str = "kb.yaml";

/// A file that may hold documents.
#[derive(Debug, Clone, Copy)]
pub struct File<'a> {
    /// Its path in the knowledge base, with `/`.
    pub path: &'a str,
    /// What is in it.
    pub bytes: &'a [u8],
    /// What is in the file beside it that tells of it.
    pub sidecar: Option<&'a [u8]>,
    /// What holds for the folder that it lies in.
    pub folder: &'a Folder,
}

/// What a file holds.
#[derive(Debug, Default)]
pub struct Read {
    /// The documents.
    pub documents: Vec<Document>,
    /// What is none, and why.
    pub skipped: Vec<Skipped>,
}

/// Something that was not taken.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Skipped {
    /// The file.
    pub path: String,
    /// The line, where it is one of many in the file.
    pub line: Option<usize>,
    /// Why.
    pub why: String,
}

/// What holds for all files of a folder: from `kb.yaml`, or from flags.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Folder {
    /// How many bytes of a path lead to the folder whose address is given.
    from: usize,
    base_url: Option<String>,
    meta: Meta,
}

impl Folder {
    /// Everything that it holds, in a fixed order: for a digest that changes when any of it does.
    pub fn values(&self) -> serde_json::Value {
        serde_json::json!([self.from, self.base_url, self.meta.values()])
    }

    /// What holds for a whole knowledge base.
    pub fn new(base_url: Option<String>, captured_at: Option<String>) -> Self {
        Self { from: 0, base_url, meta: Meta { captured: captured_at, ..Meta::default() } }
    }

    /// What holds for a folder below this one, by the text of its `kb.yaml`.
    pub fn below(&self, path: &str, text: &str) -> Result<Self, String> {
        let node = yaml::parse(text, &Limits::default()).map_err(|error| error.message)?;
        let value = node.to_json();
        let own = Meta::of(&value);
        if let Some((key, found)) = &own.bad_date {
            return Err(format!("`{key}` is no date: `{found}`"));
        }
        let base = value.get("base_url").and_then(|base| base.as_str()).map(str::to_owned);
        if base.as_deref().is_some_and(|base| address(base).is_none()) {
            return Err("`base_url` is no address of the web".into());
        }
        let from = if base.is_some() { path.len() } else { self.from };
        let base_url = base.or_else(|| self.base_url.clone());
        Ok(Self { from, base_url, meta: Meta { url: None, title: None, ..own }.or(&self.meta) })
    }

    /// The address of a file in it.
    fn address_of(&self, path: &str) -> Option<String> {
        below(self.base_url.as_deref()?, path.get(self.from..)?.trim_start_matches('/'))
    }
}

/// The forms, by the names of files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Note,
    Skill,
    Page,
    Captures,
    Llms,
    Package,
}

fn form(path: &str) -> Option<Form> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let ending = name.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase())?;
    match ending.as_str() {
        _ if name == "SKILL.md" => Some(Form::Skill),
        "md" | "markdown" | "mdx" => Some(Form::Note),
        "html" | "htm" | "xhtml" => Some(Form::Page),
        "jsonl" | "ndjson" => Some(Form::Captures),
        "txt" if name.eq_ignore_ascii_case("llms.txt") => Some(Form::Llms),
        "ctxpkg" | "lctxpkg" => Some(Form::Package),
        _ => None,
    }
}

/// How many bytes of a file are read at the most; none if its name says that it holds no document.
pub fn most_bytes(path: &str) -> Option<u64> {
    Some(match form(path)? {
        Form::Note | Form::Skill | Form::Llms => MOST_BYTES,
        // Bookmarks are pages by their names.
        Form::Page | Form::Captures | Form::Package => MOST_COLLECTED,
    })
}

/// The names that the file beside another may have, the first that is there counts.
pub fn sidecars(path: &str) -> Vec<String> {
    let stem = path.rsplit_once('.').map_or(path, |(stem, _)| stem);
    let can_have = matches!(form(path), Some(Form::Note | Form::Page | Form::Llms | Form::Skill));
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

/// Reads a file.
pub fn read(file: File<'_>) -> Read {
    let mut read = Read::default();
    let Some(form) = form(file.path) else { return read };
    let mut give = Give { file, read: &mut read, skipped: 0 };
    if form == Form::Package {
        package::read(&mut give);
    } else if let Some(text) = give.text() {
        match form {
            Form::Note | Form::Skill => note::read(text, form == Form::Skill, &mut give),
            Form::Page if bookmarks::is_one(text) => bookmarks::read(text, &mut give),
            Form::Page => note::page(text, &mut give),
            Form::Captures => captures::read(text, &mut give),
            Form::Llms => llms::read(text, &mut give),
            Form::Package => {}
        }
    }
    give.finish();
    read
}

/// What a form gives: documents, and what it had to leave out.
struct Give<'a> {
    file: File<'a>,
    read: &'a mut Read,
    /// How many were left out.
    skipped: usize,
}

impl<'a> Give<'a> {
    fn skip(&mut self, line: Option<usize>, why: impl Into<String>) {
        self.skipped += 1;
        if self.skipped <= TOLD {
            self.read.skipped.push(Skipped { path: self.file.path.into(), line, why: why.into() });
        }
    }

    /// Tells how many more were left out than were told one by one.
    fn finish(self) {
        if self.skipped > TOLD {
            let why = format!("{} more of its documents cannot be used", self.skipped - TOLD);
            self.read.skipped.push(Skipped { path: self.file.path.into(), line: None, why });
        }
    }

    fn text(&mut self) -> Option<&'a str> {
        let bytes = self.file.bytes;
        let text = std::str::from_utf8(bytes).ok().filter(|text| !text.contains('\0'));
        if text.is_none() {
            self.skip(None, "it is no text in UTF-8");
        }
        text.map(|text| text.trim_start_matches('\u{feff}'))
    }

    /// What the file beside this one tells of it.
    fn sidecar(&mut self) -> Option<Meta> {
        let Some(bytes) = self.file.sidecar else { return Some(Meta::default()) };
        let text = std::str::from_utf8(bytes).map_err(|_| "it is no text in UTF-8".to_owned());
        let node = text.and_then(|text| yaml::parse(text, &Limits::default()).map_err(|error| error.message));
        match node {
            Ok(node) => Some(Meta::of(&node.to_json())),
            Err(why) => {
                self.skip(None, format!("what tells of it cannot be read: {why}"));
                None
            }
        }
    }

    /// Takes a document, if it can be one.
    fn document(&mut self, line: Option<usize>, meta: Meta, text: Text) {
        match self.complete(meta.or(&self.file.folder.meta), text) {
            Ok(document) => self.read.documents.push(document),
            Err(why) => self.skip(line, why),
        }
    }

    fn complete(&self, meta: Meta, text: Text) -> Result<Document, String> {
        if let Some((key, found)) = &meta.bad_date {
            return Err(format!("`{key}` is no date: `{found}`"));
        }
        let path = self.file.path;
        let url = match meta.url.as_deref() {
            Some(given) => {
                address(given).ok_or_else(|| format!("it has no address of the web: `{}`", on_one_line(given, 80)))?
            }
            None => self.file.folder.address_of(path).ok_or("it has no `url`")?,
        };
        if has_secret(&url) {
            return Err("its address has something that looks like a secret".into());
        }
        let captured_at = meta.captured.or_else(|| date::in_name(path)).ok_or("it has no date when it was captured")?;
        let stem = path.rsplit('/').next().unwrap_or(path);
        let stem = stem.rsplit_once('.').map_or(stem, |(stem, _)| stem);
        let given = meta.title.filter(|given| !text.title.as_ref().is_some_and(|own| is_with_site(given, own)));
        let title = [given, text.title.clone(), Some(on_one_line(stem, 300))];
        let title = title.into_iter().flatten().find(|title| !title.trim().is_empty()).unwrap_or_else(|| url.clone());
        let mut document = Document {
            kind: meta.kind.unwrap_or_else(|| kind_of(&url).into()),
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
        lead(&mut document, meta.about.as_deref());
        highlight(&mut document, &meta.highlights);
        withhold(&mut document);
        let says_nothing = document.sentences().next().is_none();
        if says_nothing { Err("it says nothing".into()) } else { Ok(document) }
    }
}

/// What somebody says a document is about stands before what it says, unless it says that itself.
fn lead(document: &mut Document, about: Option<&str>) {
    let Some(about) = about else { return };
    let said: std::collections::HashSet<String> = document.sentences().map(str::to_owned).collect();
    let text = markdown::read(about);
    let blocks = text.sections.into_iter().flat_map(|section| section.blocks);
    let sentences: Vec<String> = blocks.flat_map(|block| block.sentences).filter(|one| !said.contains(one)).collect();
    if !sentences.is_empty() {
        let blocks = vec![Block { sort: Sort::Text, sentences }];
        document.sections.insert(0, Section { title: String::new(), blocks });
    }
}

/// What the reader marked.
fn highlight(document: &mut Document, highlights: &[String]) {
    let one = |text: &String| {
        let sentences = sentences(&crate::knowledge::sentence::escaped(text));
        Block { sort: Sort::Highlight, sentences }
    };
    let blocks: Vec<Block> = highlights.iter().map(one).filter(|block| !block.sentences.is_empty()).collect();
    if !blocks.is_empty() {
        document.sections.push(Section { title: String::new(), blocks });
    }
}

/// Takes out every sentence that has a secret, or something in it that does not show. What is shown without
/// being a sentence must not speak to the agent, either: sentences that do are told of when a pack is made.
fn withhold(document: &mut Document) {
    let is_fine = |text: &str| !text.chars().any(sp_formats::printable::is_hidden) && !has_secret(&plain(text));
    let is_label = |text: &str| is_fine(text) && !speaks_to_agent(text);
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
        document.kind = kind_of(&document.url).into();
    }
}
