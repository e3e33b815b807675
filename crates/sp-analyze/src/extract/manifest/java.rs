//! `pom.xml` and `build.gradle`.

use roxmltree::{Document, Node, ParsingOptions};

use super::{dependency_note, location_suffix};
use crate::extract::file_extract::{ExtractedNote, FileExtract};
use crate::extract::line_range::LineRange;
use crate::extract::source_text::SourceText;

/// A normal manifest has a few hundred elements.
const MAX_XML_NODES: u32 = 50_000;
/// The parser compares every attribute with the others of its element, so larger files are slow.
const MAX_POM_BYTES: usize = 200_000;

pub(super) fn read_maven(source: SourceText<'_>, found: &mut FileExtract) {
    if source.text.len() > MAX_POM_BYTES {
        return;
    }
    let options = ParsingOptions {
        allow_dtd: false,
        nodes_limit: MAX_XML_NODES,
        ..ParsingOptions::default()
    };
    let Ok(document) = Document::parse_with_options(source.text, options) else { return };
    let root = document.root_element();
    let lines = |node: Node<'_, '_>| source.line_range(&node.range());
    if let Some(artifact) = child(root, "artifactId") {
        let group =
            child_text(root, "groupId").map(|group| format!("{group}:")).unwrap_or_default();
        let mut content = format!(
            "`{group}{}`{} is a Maven project",
            artifact.text().unwrap_or_default().trim(),
            location_suffix(source)
        );
        let properties = child(root, "properties");
        let java = ["maven.compiler.release", "java.version", "maven.compiler.source"]
            .iter()
            .find_map(|key| child_text(properties?, key));
        content += &java.map(|java| format!(" (Java {java})")).unwrap_or_default();
        content += &child_text(root, "description")
            .map(|said| format!(": {}", said.trim_end_matches('.')))
            .unwrap_or_default();
        found.add_note(ExtractedNote::fact("layout", content + ".", lines(artifact)));
    }
    if let Some(modules) = child(root, "modules") {
        let names: Vec<&str> = modules
            .children()
            .filter_map(|module| module.text())
            .map(str::trim)
            .filter(|name| !name.is_empty())
            .collect();
        let content = format!("Modules: `{}`.", names.join("`, `"));
        found.add_note(ExtractedNote::fact("layout", content, lines(modules)));
    }
    if let Some(dependencies) = child(root, "dependencies") {
        let named = |node: Node<'_, '_>| {
            let version = child_text(node, "version")
                .map(|version| format!(" {version}"))
                .unwrap_or_default();
            Some(format!(
                "{}:{}{version}",
                child_text(node, "groupId")?,
                child_text(node, "artifactId")?
            ))
        };
        let names: Vec<String> = dependencies.children().filter_map(named).collect();
        dependency_note(&format!("`{}`", source.path), "Dependencies", &names, lines(dependencies))
            .into_iter()
            .for_each(|note| found.add_note(note));
    }
}

fn child<'a, 'input>(node: Node<'a, 'input>, name: &str) -> Option<Node<'a, 'input>> {
    node.children().find(|child| child.tag_name().name() == name)
}

fn child_text(node: Node<'_, '_>, name: &str) -> Option<String> {
    Some(child(node, name)?.text()?.trim().to_owned()).filter(|text| !text.is_empty())
}

pub(super) fn read_gradle(source: SourceText<'_>, found: &mut FileExtract) {
    const CONFIGURATIONS: &[&str] = &[
        "implementation",
        "api",
        "testImplementation",
        "compileOnly",
        "runtimeOnly",
        "kapt",
        "annotationProcessor",
    ];
    let quoted = |line: &str| Some(line.split(['"', '\'']).nth(1)?.to_owned());
    let (mut names, mut plugins) = (Vec::new(), Vec::new());
    let mut extent: Option<LineRange> = None;
    for (at, line) in source.text.lines().enumerate() {
        let trimmed = line.trim();
        if let Some(name) = CONFIGURATIONS
            .iter()
            .find(|kind| {
                trimmed.strip_prefix(**kind).is_some_and(|rest| rest.starts_with([' ', '(']))
            })
            .and_then(|_| quoted(trimmed))
        {
            names.push(name);
            extent =
                Some(LineRange { first: extent.map_or(at + 1, |lines| lines.first), last: at + 1 });
        } else if trimmed.starts_with("id ") || trimmed.starts_with("id(") {
            plugins.extend(quoted(trimmed));
        }
    }
    if !plugins.is_empty() {
        let content = format!(
            "A Gradle build{} with the plugins {}.",
            location_suffix(source),
            plugins.join(", ")
        );
        found.add_note(ExtractedNote::fact("stack", content, source.all_lines()));
    }
    dependency_note(
        &format!("`{}`", source.path),
        "Dependencies",
        &names,
        extent.unwrap_or(source.all_lines()),
    )
    .into_iter()
    .for_each(|note| found.add_note(note));
}
