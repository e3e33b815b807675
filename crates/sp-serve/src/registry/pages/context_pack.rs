//! The page of a context pack that was opened by its signed URL.

use askama::Template;
use axum::http::HeaderMap;
use serde::Deserialize;
use serde::de::IgnoredAny;
use sp_formats::context_pack::MANIFEST_FILE;
use sp_formats::text::{ByteSize, pluralize};

use super::visitor::{PageLayout, base_url};
use super::{PageResult, display, render_page, set_page_headers};
use crate::registry::markdown;
use crate::registry::metadata::StoredContextPackFile;

/// The file that the page shows.
const PREVIEW_FILE: &str = "AGENTS.md";

pub(crate) struct OpenedContextPack<'a> {
    pub id: &'a str,
    /// The requested path; the signature is in the path or in the query.
    pub path: &'a str,
    pub query: Option<&'a str>,
    pub manifest: ContextPackPageManifest,
    pub files: Vec<StoredContextPackFile>,
    pub bytes: u64,
    /// The contents of the preview file.
    pub text: String,
}

/// The part of a manifest that the page shows. It was validated when the pack was pushed.
#[derive(Deserialize)]
pub(crate) struct ContextPackPageManifest {
    project: ContextPackPageProject,
    generator: ContextPackPageGenerator,
    generated_at: String,
    sources: Vec<IgnoredAny>,
}

#[derive(Deserialize)]
struct ContextPackPageProject {
    name: String,
    #[serde(default)]
    description: String,
}

#[derive(Deserialize)]
struct ContextPackPageGenerator {
    name: String,
}

impl OpenedContextPack<'_> {
    /// Returns the file whose contents the page shows.
    pub(crate) fn preview_file(files: &[StoredContextPackFile]) -> Option<&StoredContextPackFile> {
        files.iter().find(|file| file.path == PREVIEW_FILE)
    }

    fn link(&self, name: &str) -> String {
        self.query.map_or_else(|| name.to_owned(), |query| format!("{name}?{query}"))
    }
}

#[derive(Template)]
#[template(path = "context_pack.html")]
struct ContextPackPage<'a> {
    frame: &'a PageLayout,
    pack: &'a OpenedContextPack<'a>,
    day: &'a str,
    size: String,
    sources: String,
    files: Vec<ContextPackFileView>,
    zip: String,
    install: String,
    html: String,
    is_cut: bool,
}

struct ContextPackFileView {
    name: String,
    link: String,
    size: String,
}

/// Renders the page. It has no login link, which would contain the signed URL.
pub(crate) fn render_context_pack(pack: &OpenedContextPack<'_>, headers: &HeaderMap) -> PageResult {
    let frame = PageLayout { address: base_url(headers), ..PageLayout::default() };
    let line = |file: &StoredContextPackFile| ContextPackFileView {
        name: file.path.clone(),
        link: pack.link(&file.path),
        size: ByteSize(file.bytes).to_string(),
    };
    let (html, is_cut) = markdown::render(strip_frontmatter(&pack.text));
    let mut answer = render_page(&ContextPackPage {
        frame: &frame,
        day: display::date(&pack.manifest.generated_at),
        size: ByteSize(pack.bytes).to_string(),
        sources: pluralize(pack.manifest.sources.len(), "source"),
        files: pack.files.iter().map(line).collect(),
        zip: pack.link(&format!("../{}.zip", pack.id)),
        install: format!(
            "sp context install '{}{}{}'",
            frame.address,
            pack.path,
            pack.link(MANIFEST_FILE)
        ),
        pack,
        html,
        is_cut,
    })?;
    set_page_headers(&mut answer);
    Ok(answer)
}

fn strip_frontmatter(text: &str) -> &str {
    let rest = text.strip_prefix("---\n").and_then(|rest| rest.split_once("\n---\n"));
    rest.map_or(text, |(_, body)| body)
}
