//! `pom.xml` and `build.gradle`.

use roxmltree::{Document, Node, ParsingOptions};

use super::{built_on, place};
use crate::extract::note::{Found, Lines, Note, Source};

/// A manifest has some hundreds of elements.
const MOST_NODES: u32 = 50_000;
/// Every attribute is compared with the others of its element: what is larger takes long.
const MOST_BYTES: usize = 200_000;

pub(super) fn maven(source: Source<'_>, found: &mut Found) {
    if source.text.len() > MOST_BYTES {
        return;
    }
    let options = ParsingOptions { allow_dtd: false, nodes_limit: MOST_NODES, ..ParsingOptions::default() };
    let Ok(document) = Document::parse_with_options(source.text, options) else { return };
    let root = document.root_element();
    let lines = |node: Node<'_, '_>| source.lines(&node.range());
    if let Some(artifact) = child(root, "artifactId") {
        let group = text(root, "groupId").map(|group| format!("{group}:")).unwrap_or_default();
        let mut content =
            format!("`{group}{}`{} is a Maven project", artifact.text().unwrap_or_default().trim(), place(source));
        let properties = child(root, "properties");
        let java = ["maven.compiler.release", "java.version", "maven.compiler.source"]
            .iter()
            .find_map(|key| text(properties?, key));
        content += &java.map(|java| format!(" (Java {java})")).unwrap_or_default();
        content +=
            &text(root, "description").map(|said| format!(": {}", said.trim_end_matches('.'))).unwrap_or_default();
        found.add(Note::fact("layout", content + ".", lines(artifact)));
    }
    if let Some(modules) = child(root, "modules") {
        let names: Vec<&str> = modules
            .children()
            .filter_map(|module| module.text())
            .map(str::trim)
            .filter(|name| !name.is_empty())
            .collect();
        let content = format!("Modules: `{}`.", names.join("`, `"));
        found.add(Note::fact("layout", content, lines(modules)));
    }
    if let Some(dependencies) = child(root, "dependencies") {
        let named = |node: Node<'_, '_>| {
            let version = text(node, "version").map(|version| format!(" {version}")).unwrap_or_default();
            Some(format!("{}:{}{version}", text(node, "groupId")?, text(node, "artifactId")?))
        };
        let names: Vec<String> = dependencies.children().filter_map(named).collect();
        built_on(&format!("`{}`", source.path), "Dependencies", &names, lines(dependencies))
            .into_iter()
            .for_each(|note| found.add(note));
    }
}

fn child<'a, 'input>(node: Node<'a, 'input>, name: &str) -> Option<Node<'a, 'input>> {
    node.children().find(|child| child.tag_name().name() == name)
}

fn text(node: Node<'_, '_>, name: &str) -> Option<String> {
    Some(child(node, name)?.text()?.trim().to_owned()).filter(|text| !text.is_empty())
}

pub(super) fn gradle(source: Source<'_>, found: &mut Found) {
    const KINDS: &[&str] =
        &["implementation", "api", "testImplementation", "compileOnly", "runtimeOnly", "kapt", "annotationProcessor"];
    let quoted = |line: &str| Some(line.split(['"', '\'']).nth(1)?.to_owned());
    let (mut names, mut plugins) = (Vec::new(), Vec::new());
    let mut extent: Option<Lines> = None;
    for (at, line) in source.text.lines().enumerate() {
        let trimmed = line.trim();
        if let Some(name) = KINDS
            .iter()
            .find(|kind| trimmed.strip_prefix(**kind).is_some_and(|rest| rest.starts_with([' ', '('])))
            .and_then(|_| quoted(trimmed))
        {
            names.push(name);
            extent = Some(Lines { first: extent.map_or(at + 1, |lines| lines.first), last: at + 1 });
        } else if trimmed.starts_with("id ") || trimmed.starts_with("id(") {
            plugins.extend(quoted(trimmed));
        }
    }
    if !plugins.is_empty() {
        let content = format!("A Gradle build{} with the plugins {}.", place(source), plugins.join(", "));
        found.add(Note::fact("stack", content, source.whole()));
    }
    built_on(&format!("`{}`", source.path), "Dependencies", &names, extent.unwrap_or(source.whole()))
        .into_iter()
        .for_each(|note| found.add(note));
}
