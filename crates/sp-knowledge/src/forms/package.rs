//! `.ctxpkg` packages: what the nodes of one say is what one document says.

use sp_formats::package;
use sp_tree::Limits;

use super::Give;
use crate::document::Section;
use crate::markdown::{self, Text, is_too_deep};
use crate::meta::Meta;

/// Code is no knowledge in words.
const CODE: &[&str] =
    &["code_file", "function", "class", "method", "struct", "enum", "trait", "interface", "module", "symbol"];

pub(super) fn read(give: &mut Give<'_>) {
    let file = give.file;
    let read = package::read(file.path, file.bytes.to_vec(), &Limits::default());
    let Some(package) = read.package else {
        let why = read.report.findings.first().map_or_else(String::new, |finding| format!(": {}", finding.message));
        return give.skip(None, format!("it is no package that can be trusted{why}"));
    };
    let manifest = &package.manifest;
    let mut text = Text::default();
    let graph = package::to_graph(package.content());
    for node in graph.nodes.iter().filter(|node| !CODE.contains(&node.kind.as_str()) && !is_too_deep(&node.content)) {
        let said = markdown::read(&node.content);
        text.code.push_str(&said.code);
        let blocks = said.sections.into_iter().flat_map(|section| section.blocks).collect();
        text.sections.push(Section { title: node.kind.replace('_', " "), blocks });
    }
    let stated = ["repository", "homepage", "url"].iter().find_map(|key| package.raw_manifest().get(key)?.text());
    let meta = Meta {
        url: stated.map(Into::into),
        title: Some(format!("{} {}", manifest.name, manifest.version)),
        kind: Some("package".into()),
        captured: manifest.created_at.as_ref().and_then(|at| crate::date::date(&at.as_str().into())),
        tags: manifest.tags.iter().filter_map(|word| crate::meta::tag(word)).collect(),
        about: manifest.description.clone(),
        ..Meta::default()
    };
    give.document(None, meta, text);
}
