//! `.ctxpkg` packages: the nodes and skills of a package become one document.

use sp_formats::markdown::find_frontmatter;
use sp_formats::package::{self, Graph, Package};
use sp_tree::Limits;

use super::DocumentCollector;
use crate::knowledge::document::KnowledgeSection;
use crate::knowledge::markdown::{self, MarkdownContent, is_too_deep};
use crate::knowledge::meta::{DocumentMeta, to_single_line};
use crate::knowledge::sentence::escape_markdown;

/// Node kinds that describe code and contain no prose.
const CODE_KINDS: &[&str] =
    &["function", "class", "method", "struct", "enum", "trait", "interface", "module", "symbol"];

fn is_code(kind: &str) -> bool {
    kind.starts_with("code_") || CODE_KINDS.contains(&kind)
}

/// The nodes of a package as `(kind, content)`, from its graph or its layers.
fn nodes(package: &Package) -> Vec<(String, String)> {
    let content = package.content();
    if content.get("context_graph").is_some_and(|graph| !graph.is_null()) {
        Graph::from_content(content)
            .nodes
            .into_iter()
            .map(|node| (node.kind.into_owned(), node.content.into_owned()))
            .collect()
    } else {
        package::layers_to_graph(content)
            .nodes
            .into_iter()
            .map(|node| (node.kind, node.content))
            .collect()
    }
}

/// The Markdown of the skills in a package without frontmatter, as `(path, text)`.
fn skills(package: &Package) -> impl Iterator<Item = (&str, &str)> {
    let files = package.documents.iter().flat_map(sp_tree::LoadedTree::files);
    files.filter(|(path, ..)| path.as_str().ends_with(".md")).filter_map(|(path, _, bytes)| {
        let text = std::str::from_utf8(bytes).ok().filter(|text| !is_too_deep(text))?;
        let body = find_frontmatter(text).map_or(0, |(_, body)| body);
        Some((path.as_str(), &text[body..]))
    })
}

pub(super) fn read(collector: &mut DocumentCollector<'_>) {
    let file = collector.file;
    let read = package::read(file.path, file.bytes.to_vec(), &Limits::default());
    let Some(package) = read.package else {
        let why = read
            .report
            .findings
            .first()
            .map_or_else(String::new, |finding| format!(": {}", finding.message));
        return collector.skip(None, format!("invalid package{why}"));
    };
    let mut text = MarkdownContent::default();
    add_nodes(&package, &mut text);
    add_skills(&package, &mut text);
    collector.push_document(None, package_meta(&package), text);
}

/// Adds a section per node, titled with its kind. Code is left out.
fn add_nodes(package: &Package, text: &mut MarkdownContent) {
    for (kind, content) in nodes(package) {
        if is_code(&kind) || is_too_deep(&content) {
            continue;
        }
        let parsed = markdown::parse(&content);
        text.code.push_str(&parsed.code);
        let blocks = parsed.sections.into_iter().flat_map(|section| section.blocks).collect();
        text.sections.push(KnowledgeSection {
            title: escape_markdown(&to_single_line(&kind.replace('_', " "), 60)),
            blocks,
        });
    }
}

/// Adds the sections of the skills. One without a title gets the path of its file.
fn add_skills(package: &Package, text: &mut MarkdownContent) {
    for (path, body) in skills(package) {
        let parsed = markdown::parse(body);
        text.code.push_str(&parsed.code);
        for mut section in parsed.sections {
            if section.title.is_empty() {
                section.title = escape_markdown(&to_single_line(path, 120));
            }
            text.sections.push(section);
        }
    }
}

fn package_meta(package: &Package) -> DocumentMeta {
    let manifest = &package.manifest;
    let url = ["repository", "homepage", "url"]
        .iter()
        .find_map(|key| package.raw_manifest().get(key)?.text());
    let captured = manifest
        .created_at
        .as_ref()
        .and_then(|created_at| crate::knowledge::date::parse_date(&created_at.as_str().into()));
    let tags = manifest.tags.iter().filter_map(|word| crate::knowledge::meta::normalize_tag(word));
    DocumentMeta {
        url: url.map(Into::into),
        title: Some(format!("{} {}", manifest.name, manifest.version)),
        kind: Some("package".into()),
        captured,
        tags: tags.collect(),
        description: manifest.description.clone(),
        ..DocumentMeta::default()
    }
}
