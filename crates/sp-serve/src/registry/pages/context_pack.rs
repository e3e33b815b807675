//! A context pack, for whoever opened its address in a browser.

use askama::Template;
use axum::http::HeaderMap;
use serde::Deserialize;
use serde::de::IgnoredAny;
use sp_formats::context_pack::MANIFEST;

use super::visit::{Frame, address};
use super::{Answer, markdown, page, protect, show};
use crate::registry::metadata::KeptFile;

/// What agents read first, which is shown.
const SHOWN: &str = "AGENTS.md";

/// A pack that was opened.
pub(crate) struct Opened<'a> {
    pub id: &'a str,
    /// The address of its folder, as it was asked for: what opens it stands in the path or behind the `?`.
    pub path: &'a str,
    pub query: Option<&'a str>,
    pub manifest: Told,
    pub files: Vec<KeptFile>,
    pub bytes: u64,
    /// What agents read first.
    pub text: String,
}

/// What a manifest says of a pack. It was judged when it came.
#[derive(Deserialize)]
pub(crate) struct Told {
    project: Project,
    generator: Generator,
    generated_at: String,
    sources: Vec<IgnoredAny>,
}

#[derive(Deserialize)]
struct Project {
    name: String,
    #[serde(default)]
    description: String,
}

#[derive(Deserialize)]
struct Generator {
    name: String,
}

impl Opened<'_> {
    /// What is shown of it must be read.
    pub(crate) fn shown(files: &[KeptFile]) -> Option<&KeptFile> {
        files.iter().find(|file| file.path == SHOWN)
    }

    fn link(&self, name: &str) -> String {
        self.query.map_or_else(|| name.to_owned(), |query| format!("{name}?{query}"))
    }
}

#[derive(Template)]
#[template(path = "context_pack.html")]
struct ContextPackPage<'a> {
    frame: &'a Frame,
    pack: &'a Opened<'a>,
    day: &'a str,
    size: String,
    sources: String,
    files: Vec<FileLine>,
    zip: String,
    install: String,
    html: String,
    is_cut: bool,
}

struct FileLine {
    name: String,
    link: String,
    size: String,
}

/// The page. It tells nobody the address that opened it: a login would take it along.
pub(crate) fn context_pack(pack: &Opened<'_>, headers: &HeaderMap) -> Answer {
    let frame = Frame { address: address(headers), ..Frame::default() };
    let line = |file: &KeptFile| FileLine {
        name: file.path.clone(),
        link: pack.link(&file.path),
        size: show::size(file.bytes),
    };
    let (html, is_cut) = markdown::render(body(&pack.text));
    let mut answer = page(&ContextPackPage {
        frame: &frame,
        day: show::day(&pack.manifest.generated_at),
        size: show::size(pack.bytes),
        sources: show::counted(pack.manifest.sources.len() as u64, "source", "sources"),
        files: pack.files.iter().map(line).collect(),
        zip: pack.link(&format!("../{}.zip", pack.id)),
        install: format!("sp context install '{}{}{}'", frame.address, pack.path, pack.link(MANIFEST)),
        pack,
        html,
        is_cut,
    })?;
    protect(&mut answer);
    Ok(answer)
}

/// A text without its frontmatter, which is for programs.
fn body(text: &str) -> &str {
    let rest = text.strip_prefix("---\n").and_then(|rest| rest.split_once("\n---\n"));
    rest.map_or(text, |(_, body)| body)
}
