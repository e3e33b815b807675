//! `.ctxpkg` packages: what the nodes and the skills of one say is what one document says.

use sp_formats::markdown::frontmatter;
use sp_formats::package::{self, Graph, Package};
use sp_tree::Limits;

use super::Give;
use crate::knowledge::document::Section;
use crate::knowledge::markdown::{self, Text, is_too_deep};
use crate::knowledge::meta::{Meta, on_one_line};
use crate::knowledge::sentence::escaped;

/// Code is no knowledge in words.
const CODE: &[&str] = &["function", "class", "method", "struct", "enum", "trait", "interface", "module", "symbol"];

fn is_code(kind: &str) -> bool {
    kind.starts_with("code_") || CODE.contains(&kind)
}

/// The nodes of a package, each with its kind: those of its graph, or what its layers say.
fn nodes(package: &Package) -> Vec<(String, String)> {
    let content = package.content();
    match content.get("context_graph").is_some_and(|graph| !graph.is_null()) {
        true => Graph::of(content)
            .nodes
            .into_iter()
            .map(|node| (node.kind.into_owned(), node.content.into_owned()))
            .collect(),
        false => package::to_graph(content).nodes.into_iter().map(|node| (node.kind, node.content)).collect(),
    }
}

/// The Markdown of the skills in a package, without frontmatter, each with its path.
fn skills(package: &Package) -> impl Iterator<Item = (&str, &str)> {
    let files = package.documents.iter().flat_map(sp_tree::Content::files);
    files.filter(|(path, ..)| path.as_str().ends_with(".md")).filter_map(|(path, _, bytes)| {
        let text = std::str::from_utf8(bytes).ok().filter(|text| !is_too_deep(text))?;
        let body = frontmatter(text).map_or(0, |(_, body)| body);
        Some((path.as_str(), &text[body..]))
    })
}

pub(super) fn read(give: &mut Give<'_>) {
    let file = give.file;
    let read = package::read(file.path, file.bytes.to_vec(), &Limits::default());
    let Some(package) = read.package else {
        let why = read.report.findings.first().map_or_else(String::new, |finding| format!(": {}", finding.message));
        return give.skip(None, format!("it is no package that can be trusted{why}"));
    };
    let manifest = &package.manifest;
    let mut text = Text::default();
    for (kind, content) in nodes(&package) {
        if is_code(&kind) || is_too_deep(&content) {
            continue;
        }
        let said = markdown::read(&content);
        text.code.push_str(&said.code);
        let blocks = said.sections.into_iter().flat_map(|section| section.blocks).collect();
        text.sections.push(Section { title: escaped(&on_one_line(&kind.replace('_', " "), 60)), blocks });
    }
    for (path, body) in skills(&package) {
        let said = markdown::read(body);
        text.code.push_str(&said.code);
        let titled = |section: Section| match section.title.is_empty() {
            true => Section { title: escaped(&on_one_line(path, 120)), ..section },
            false => section,
        };
        text.sections.extend(said.sections.into_iter().map(titled));
    }
    let stated = ["repository", "homepage", "url"].iter().find_map(|key| package.raw_manifest().get(key)?.text());
    let meta = Meta {
        url: stated.map(Into::into),
        title: Some(format!("{} {}", manifest.name, manifest.version)),
        kind: Some("package".into()),
        captured: manifest.created_at.as_ref().and_then(|at| crate::knowledge::date::date(&at.as_str().into())),
        tags: manifest.tags.iter().filter_map(|word| crate::knowledge::meta::tag(word)).collect(),
        about: manifest.description.clone(),
        ..Meta::default()
    };
    give.document(None, meta, text);
}
