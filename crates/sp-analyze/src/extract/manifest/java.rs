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
        let content = describe_maven_project(root, artifact, source);
        found.add_note(ExtractedNote::fact("layout", content, lines(artifact)));
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
        let names: Vec<String> = dependencies.children().filter_map(maven_dependency).collect();
        dependency_note(&format!("`{}`", source.path), "Dependencies", &names, lines(dependencies))
            .into_iter()
            .for_each(|note| found.add_note(note));
    }
}

fn describe_maven_project(
    root: Node<'_, '_>,
    artifact: Node<'_, '_>,
    source: SourceText<'_>,
) -> String {
    let group = child_text(root, "groupId").map(|group| format!("{group}:")).unwrap_or_default();
    let artifact = artifact.text().unwrap_or_default().trim();
    let location = location_suffix(source);
    let properties = child(root, "properties");
    let java = ["maven.compiler.release", "java.version", "maven.compiler.source"]
        .iter()
        .find_map(|key| child_text(properties?, key))
        .map(|version| format!(" (Java {version})"))
        .unwrap_or_default();
    let description = child_text(root, "description")
        .map(|text| format!(": {}", text.trim_end_matches('.')))
        .unwrap_or_default();
    format!("`{group}{artifact}`{location} is a Maven project{java}{description}.")
}

fn maven_dependency(node: Node<'_, '_>) -> Option<String> {
    let version =
        child_text(node, "version").map(|version| format!(" {version}")).unwrap_or_default();
    let (group, artifact) = (child_text(node, "groupId")?, child_text(node, "artifactId")?);
    Some(format!("{group}:{artifact}{version}"))
}

fn child<'a, 'input>(node: Node<'a, 'input>, name: &str) -> Option<Node<'a, 'input>> {
    node.children().find(|child| child.tag_name().name() == name)
}

fn child_text(node: Node<'_, '_>, name: &str) -> Option<String> {
    Some(child(node, name)?.text()?.trim().to_owned()).filter(|text| !text.is_empty())
}

/// The configurations whose dependencies are noted.
const GRADLE_CONFIGURATIONS: &[&str] = &[
    "implementation",
    "api",
    "testImplementation",
    "compileOnly",
    "runtimeOnly",
    "kapt",
    "annotationProcessor",
];

pub(super) fn read_gradle(source: SourceText<'_>, found: &mut FileExtract) {
    let (mut names, mut plugins) = (Vec::new(), Vec::new());
    let mut extent: Option<LineRange> = None;
    for (index, line) in source.text.lines().enumerate() {
        let (number, line) = (index + 1, line.trim());
        if let Some(name) = gradle_dependency(line) {
            names.push(name);
            let first = extent.map_or(number, |lines| lines.first);
            extent = Some(LineRange { first, last: number });
        } else if line.starts_with("id ") || line.starts_with("id(") {
            plugins.extend(first_quoted(line));
        }
    }
    if !plugins.is_empty() {
        let (location, plugins) = (location_suffix(source), plugins.join(", "));
        let content = format!("A Gradle build{location} with the plugins {plugins}.");
        found.add_note(ExtractedNote::fact("stack", content, source.all_lines()));
    }
    let lines = extent.unwrap_or(source.all_lines());
    dependency_note(&format!("`{}`", source.path), "Dependencies", &names, lines)
        .into_iter()
        .for_each(|note| found.add_note(note));
}

fn gradle_dependency(line: &str) -> Option<String> {
    let is_dependency = GRADLE_CONFIGURATIONS.iter().any(|configuration| {
        line.strip_prefix(configuration).is_some_and(|rest| rest.starts_with([' ', '(']))
    });
    if is_dependency { first_quoted(line) } else { None }
}

/// The first text in quotes.
fn first_quoted(line: &str) -> Option<String> {
    Some(line.split(['"', '\'']).nth(1)?.to_owned())
}
