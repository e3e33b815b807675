//! Writing context packs. The same values give the same bytes.

use std::collections::BTreeMap;

use sp_tree::{Digest, Limits, RelPath};

use super::document::frontmatter_value;
use super::manifest::{
    ContextPackGenerator, ContextPackManifest, ContextPackProject, ContextPackSourceEntry,
    ContextPackWindow,
};
use super::manifest_object::UnknownMembers;
use super::{KNOWN_FILES, MANIFEST_FILE};
use crate::json::quoted;
use crate::markdown::find_frontmatter;
use crate::yaml;

/// A pack to be written: the manifest without its file list, and the Markdown without frontmatter.
#[derive(Debug, Clone, Default)]
pub struct ContextPackDraft {
    /// Of `manifest.files` only the unknown members are used: they stay with the file of that path.
    pub manifest: ContextPackManifest,
    /// The Markdown of each file, by path.
    pub documents: BTreeMap<RelPath, String>,
}

impl ContextPackDraft {
    /// Returns every file of the pack with its bytes, including `pack.json`.
    pub fn files(&self) -> BTreeMap<String, Vec<u8>> {
        seal_files(&self.manifest, &self.documents, BTreeMap::new())
    }
}

/// Sorts paths in manifest order: known files first.
pub(super) fn manifest_order<'p>(paths: impl Iterator<Item = &'p str>) -> Vec<&'p str> {
    let mut paths: Vec<&str> = paths.filter(|path| *path != MANIFEST_FILE).collect();
    paths.sort_by_key(|path| {
        (KNOWN_FILES.iter().position(|known| known == path).unwrap_or(KNOWN_FILES.len()), *path)
    });
    paths
}

/// Returns the Markdown of a file without its frontmatter.
pub fn without_frontmatter(text: &str) -> &str {
    match find_frontmatter(text) {
        Some((block, body)) if !is_plain_text(&text[block.clone()]) => &text[body..],
        _ => text,
    }
}

/// Returns the Markdown with the frontmatter that the file must have, which replaces any other.
pub fn with_frontmatter(path: &str, manifest: &ContextPackManifest, text: &str) -> String {
    let body = without_frontmatter(text).replace("\r\n", "\n").replace('\r', "\n");
    let body = body.trim_start_matches(['\u{feff}', '\n']);
    format!(
        "---\nfile: {}\npack_id: {}\nspec_version: {}\n---\n\n{body}",
        frontmatter_value("file", path),
        frontmatter_value("pack_id", &manifest.pack_id),
        frontmatter_value("spec_version", &manifest.spec_version)
    )
}

/// Whether the block between two `---` lines is not frontmatter but text between two thematic
/// breaks.
fn is_plain_text(block: &str) -> bool {
    let parsed = yaml::parse(block, &Limits::default());
    parsed.is_ok_and(|node| !node.is_null() && !matches!(node.value, yaml::YamlValue::Map(_)))
}

/// Updates a pack after its files were edited: Markdown gets the right frontmatter, other files
/// stay as they are, and the manifest lists all of them with their hashes.
pub fn seal_files(
    manifest: &ContextPackManifest,
    documents: &BTreeMap<RelPath, String>,
    others: BTreeMap<String, Vec<u8>>,
) -> BTreeMap<String, Vec<u8>> {
    let mut files = others;
    for (path, body) in documents {
        files
            .insert(path.to_string(), with_frontmatter(path.as_str(), manifest, body).into_bytes());
    }
    let listed: Vec<(&str, String)> = manifest_order(files.keys().map(String::as_str))
        .into_iter()
        .map(|path| (path, Digest::of(&files[path]).hex()))
        .collect();
    let manifest = render_manifest(manifest, &listed);
    files.insert(MANIFEST_FILE.into(), manifest.into_bytes());
    files
}

/// Renders `pack.json` with these files and hashes.
pub fn render_manifest(manifest: &ContextPackManifest, files: &[(&str, String)]) -> String {
    let text = |text: &str| Some(quoted(text));
    let mut members = vec![
        ("spec_version", text(&manifest.spec_version)),
        ("pack_id", text(&manifest.pack_id)),
        ("generated_at", text(&manifest.generated_at)),
        ("generator", Some(render_generator(&manifest.generator))),
        ("project", Some(render_project(&manifest.project))),
        ("user_prompt", manifest.user_prompt.as_deref().map(quoted)),
        ("window", manifest.window.as_ref().map(render_window)),
    ];
    let of_file: BTreeMap<&str, &UnknownMembers> =
        manifest.files.iter().map(|entry| (entry.path.as_str(), &entry.unknown_members)).collect();
    let none = UnknownMembers::new();
    let files = files
        .iter()
        .map(|(path, hash)| render_file(path, hash, of_file.get(path).unwrap_or(&&none)));
    members.push(("files", Some(render_list(files))));
    members.push(("sources", Some(render_list(manifest.sources.iter().map(render_source)))));
    render_object(0, &members, &manifest.unknown_members) + "\n"
}

fn render_generator(generator: &ContextPackGenerator) -> String {
    let members = [
        ("name", Some(quoted(&generator.name))),
        ("version", generator.version.as_deref().map(quoted)),
        ("url", generator.url.as_deref().map(quoted)),
    ];
    render_object(1, &members, &generator.unknown_members)
}

fn render_project(project: &ContextPackProject) -> String {
    let stack: Vec<String> = project.stack.iter().map(|word| quoted(word)).collect();
    let members = [
        ("name", Some(quoted(&project.name))),
        ("description", Some(quoted(&project.description))),
        ("stack", (!stack.is_empty()).then(|| format!("[{}]", stack.join(", ")))),
    ];
    render_object(1, &members, &project.unknown_members)
}

fn render_window(window: &ContextPackWindow) -> String {
    let members =
        [("from", window.from.as_deref().map(quoted)), ("to", window.to.as_deref().map(quoted))];
    render_object(1, &members, &window.unknown_members)
}

/// A file is one line, because there may be many.
fn render_file(path: &str, hash: &str, more: &UnknownMembers) -> String {
    let known = [("path", Some(quoted(path))), ("sha256", Some(quoted(hash)))];
    format!("{{ {} }}", render_members(&known, more).join(", "))
}

fn render_source(source: &ContextPackSourceEntry) -> String {
    let members = [
        ("id", Some(quoted(&source.id))),
        ("url", Some(quoted(&source.url))),
        ("title", Some(quoted(&source.title))),
        ("kind", Some(quoted(&source.kind))),
        ("published_at", source.published_at.as_deref().map(quoted)),
        ("captured_at", Some(quoted(&source.captured_at))),
    ];
    render_object(2, &members, &source.unknown_members)
}

/// Renders members: known ones first, then the unknown ones as they were.
fn render_members(known: &[(&str, Option<String>)], more: &UnknownMembers) -> Vec<String> {
    let known = known.iter().filter_map(|(key, value)| Some((*key, value.as_deref()?)));
    let more = more.iter().map(|(key, value)| (key.as_str(), value.as_str()));
    known.chain(more).map(|(key, value)| format!("{}: {value}", quoted(key))).collect()
}

/// Renders an object over several lines at this nesting depth.
fn render_object(depth: usize, known: &[(&str, Option<String>)], more: &UnknownMembers) -> String {
    let indent = "  ".repeat(depth + 1);
    let lines: Vec<String> =
        render_members(known, more).iter().map(|member| format!("{indent}{member}")).collect();
    if lines.is_empty() {
        "{}".into()
    } else {
        format!("{{\n{}\n{}}}", lines.join(",\n"), "  ".repeat(depth))
    }
}

fn render_list(items: impl Iterator<Item = String>) -> String {
    let items: Vec<String> = items.map(|item| format!("    {item}")).collect();
    if items.is_empty() { "[]".into() } else { format!("[\n{}\n  ]", items.join(",\n")) }
}
