//! A pack as it is written: the same values give the same bytes.

use std::collections::BTreeMap;

use sp_tree::{Digest, Limits, RelPath};

use super::document::written;
use super::manifest::Manifest;
use super::{FILES, MANIFEST};
use crate::json::quoted;
use crate::markdown::frontmatter;
use crate::yaml;

/// A pack that is to be written: the manifest without its files, and the Markdown without its frontmatter.
#[derive(Debug, Clone, Default)]
pub struct Draft {
    /// The manifest; what it says of files does not count.
    pub manifest: Manifest,
    /// The Markdown of each file, by path.
    pub documents: BTreeMap<RelPath, String>,
}

impl Draft {
    /// Every file of the pack with its bytes, `pack.json` among them.
    pub fn files(&self) -> BTreeMap<String, Vec<u8>> {
        let mut files: BTreeMap<String, Vec<u8>> = self
            .documents
            .iter()
            .map(|(path, body)| (path.to_string(), with_frontmatter(path.as_str(), &self.manifest, body).into_bytes()))
            .collect();
        let listed: Vec<(&str, String)> = in_order(files.keys().map(String::as_str))
            .into_iter()
            .map(|path| (path, Digest::of(&files[path]).hex()))
            .collect();
        let manifest = manifest_text(&self.manifest, &listed);
        files.insert(MANIFEST.into(), manifest.into_bytes());
        files
    }
}

/// The files in the order in which a manifest lists them: those that are known first.
pub(super) fn in_order<'p>(paths: impl Iterator<Item = &'p str>) -> Vec<&'p str> {
    let mut paths: Vec<&str> = paths.filter(|path| *path != MANIFEST).collect();
    paths.sort_by_key(|path| (FILES.iter().position(|known| known == path).unwrap_or(FILES.len()), *path));
    paths
}

/// The Markdown of a file with the frontmatter that it must have, whatever it had before.
pub fn with_frontmatter(path: &str, manifest: &Manifest, text: &str) -> String {
    let body = match frontmatter(text) {
        Some((block, body)) if !is_text(&text[block.clone()]) => &text[body..],
        _ => text,
    };
    let body = body.replace("\r\n", "\n").replace('\r', "\n");
    let body = body.trim_start_matches(['\u{feff}', '\n']);
    format!(
        "---\nfile: {}\npack_id: {}\nspec_version: {}\n---\n\n{body}",
        written("file", path),
        written("pack_id", &manifest.pack_id),
        written("spec_version", &manifest.spec_version)
    )
}

/// Whether what stands between two lines `---` is no frontmatter, but text between two rules.
fn is_text(block: &str) -> bool {
    let parsed = yaml::parse(block, &Limits::default());
    parsed.is_ok_and(|node| !node.is_null() && !matches!(node.value, yaml::Value::Map(_)))
}

/// A pack whose Markdown was changed by hand, as it must be: with the right frontmatter and the right hashes.
pub fn sealed(manifest: &Manifest, documents: &BTreeMap<RelPath, String>) -> BTreeMap<String, Vec<u8>> {
    Draft { manifest: manifest.clone(), documents: documents.clone() }.files()
}

/// `pack.json`, with these files and their hashes.
pub fn manifest_text(manifest: &Manifest, files: &[(&str, String)]) -> String {
    let mut members: Vec<(String, String)> = vec![
        ("spec_version".into(), quoted(&manifest.spec_version)),
        ("pack_id".into(), quoted(&manifest.pack_id)),
        ("generated_at".into(), quoted(&manifest.generated_at)),
        (
            "generator".into(),
            object(
                1,
                &[
                    ("name", Some(quoted(&manifest.generator.name))),
                    ("version", manifest.generator.version.as_deref().map(quoted)),
                    ("url", manifest.generator.url.as_deref().map(quoted)),
                ],
            ),
        ),
        ("project".into(), project(manifest)),
    ];
    members.extend(manifest.user_prompt.as_deref().map(|prompt| ("user_prompt".to_owned(), quoted(prompt))));
    if let Some(window) = &manifest.window {
        let window =
            object(1, &[("from", window.from.as_deref().map(quoted)), ("to", window.to.as_deref().map(quoted))]);
        members.push(("window".into(), window));
    }
    let files =
        files.iter().map(|(path, hash)| format!("    {{ \"path\": {}, \"sha256\": {} }}", quoted(path), quoted(hash)));
    members.push(("files".into(), list(files)));
    let sources = manifest.sources.iter().map(|source| {
        let text = object(
            2,
            &[
                ("id", Some(quoted(&source.id))),
                ("url", Some(quoted(&source.url))),
                ("title", Some(quoted(&source.title))),
                ("kind", Some(quoted(&source.kind))),
                ("published_at", source.published_at.as_deref().map(quoted)),
                ("captured_at", Some(quoted(&source.captured_at))),
            ],
        );
        format!("    {text}")
    });
    members.push(("sources".into(), list(sources)));
    members.extend(manifest.more.iter().cloned());
    let lines: Vec<String> = members.iter().map(|(key, value)| format!("  {}: {value}", quoted(key))).collect();
    format!("{{\n{}\n}}\n", lines.join(",\n"))
}

fn project(manifest: &Manifest) -> String {
    let project = &manifest.project;
    let stack: Vec<String> = project.stack.iter().map(|word| quoted(word)).collect();
    object(
        1,
        &[
            ("name", Some(quoted(&project.name))),
            ("description", Some(quoted(&project.description))),
            ("stack", (!stack.is_empty()).then(|| format!("[{}]", stack.join(", ")))),
        ],
    )
}

/// An object over several lines, `depth` levels deep.
fn object(depth: usize, members: &[(&str, Option<String>)]) -> String {
    let indent = "  ".repeat(depth + 1);
    let lines: Vec<String> = members
        .iter()
        .filter_map(|(key, value)| Some(format!("{indent}{}: {}", quoted(key), value.as_ref()?)))
        .collect();
    format!("{{\n{}\n{}}}", lines.join(",\n"), "  ".repeat(depth))
}

fn list(items: impl Iterator<Item = String>) -> String {
    let items: Vec<String> = items.collect();
    if items.is_empty() { "[]".into() } else { format!("[\n{}\n  ]", items.join(",\n")) }
}
