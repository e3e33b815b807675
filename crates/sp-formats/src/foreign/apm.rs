//! `apm-cli` of PyPI: the manifest `apm.yml`.
//!
//! A dependency is text, `[<host>/]<owner>/<repo>[/<path>][#<ref>]`, a URL or a path, or a mapping
//! with `git` or `path`. It may be any kind of package; only the lockfile shows which ones have
//! skills.

use std::ops::Range;

use sp_tree::Limits;

use super::ForeignSelection;
use super::reader::{EntryDraft, ForeignMap, ForeignReader, local_source};
use super::syntax::{ForeignNode, ForeignSyntax, ForeignValue};
use crate::printable::printable;

/// The endings of packages that are a single file.
const FILE_ENDINGS: &[&str] =
    &[".prompt.md", ".instructions.md", ".agent.md", ".chatmode.md", ".md", ".yml", ".json"];

pub(super) fn read_manifest(reader: &mut ForeignReader<'_>, limits: &Limits) {
    let Some(root) = reader.parse(ForeignSyntax::Yaml, limits) else { return };
    let Some(root) = reader.map(&root, "the manifest") else { return };
    read_targets(reader, &root);
    for key in ["dependencies", "devDependencies"] {
        let Some(dependencies) = reader.map_member(&root, key) else { continue };
        for dependency in reader.list(&dependencies, "apm") {
            read_dependency(reader, dependency);
        }
        for (kind, what) in [("mcp", "MCP server"), ("lsp", "LSP server")] {
            for server in reader.list(&dependencies, kind) {
                let name = format!("{what} {}", describe(server));
                reader.skip(server.span.clone(), name, format!("it is not a skill but an {what}"));
            }
        }
    }
}

/// Reads `targets`, a list, or `target`, a list or text with commas.
fn read_targets(reader: &mut ForeignReader<'_>, root: &ForeignMap<'_>) {
    for key in ["targets", "target"] {
        match root.get(key) {
            Some(ForeignNode { span, value: ForeignValue::Text(text) }) => {
                for name in text.split(',').map(str::trim).filter(|name| !name.is_empty()) {
                    reader.add_agent(span.clone(), name);
                }
            }
            Some(_) => reader.read_agents(root, key),
            None => {}
        }
    }
}

/// Returns the name of a server, for messages.
fn describe(node: &ForeignNode) -> String {
    let name = match &node.value {
        ForeignValue::Text(text) => Some(text.as_str()),
        ForeignValue::Map(members) => members.iter().find_map(|member| match &member.node.value {
            ForeignValue::Text(text) if member.key == "name" => Some(text.as_str()),
            _ => None,
        }),
        _ => None,
    };
    format!("`{}`", printable(name.unwrap_or("?")))
}

fn read_dependency(reader: &mut ForeignReader<'_>, node: &ForeignNode) {
    match &node.value {
        ForeignValue::Text(text) => {
            add_reference(reader, node.span.clone(), text, ApmReference::parse(text));
        }
        ForeignValue::Map(_) => read_mapping(reader, node),
        _ => {
            let help = "write `<owner>/<repo>`, a path, or a mapping with `git` or `path`";
            let message = format!("expected a dependency, not {}", node.kind());
            reader.error(node.span.clone(), message, help);
        }
    }
}

fn add_reference(
    reader: &mut ForeignReader<'_>,
    span: Range<usize>,
    name: &str,
    reference: ApmReference,
) {
    let ApmReference { source, folder, version } = reference;
    if let Some(file) = folder.as_deref().filter(|path| is_file(path)) {
        let reason = format!("`{}` is a single file, not a skill", printable(file));
        reader.skip(span, name, reason);
        return;
    }
    let selection = ForeignSelection { folder, ..ForeignSelection::default() };
    reader.add(EntryDraft { span, name: name.into(), source, version, selection });
}

fn is_file(path: &str) -> bool {
    FILE_ENDINGS.iter().any(|ending| path.ends_with(ending))
}

fn read_mapping(reader: &mut ForeignReader<'_>, node: &ForeignNode) {
    let Some(map) = reader.map(node, "a dependency") else { return };
    for (key, what) in [
        ("marketplace", "a plugin of a marketplace"),
        ("registry", "a package of a registry of apm"),
        ("id", "a package of a registry of apm"),
    ] {
        if map.get(key).is_some() {
            let name = ["name", "id"].iter().find_map(|key| reader.text_member(&map, key));
            reader.skip(map.span, name.unwrap_or_else(|| what.into()), format!("it is {what}"));
            return;
        }
    }
    let Some(reference) = mapping_reference(reader, &map) else { return };
    if let Some(file) = reference.folder.as_deref().filter(|path| is_file(path)) {
        let reason = "it is a single file, not a skill";
        reader.skip(map.span, file, reason);
        return;
    }
    let selection = ForeignSelection {
        folder: reference.folder,
        skills: reader.texts(&map, "skills"),
        ..ForeignSelection::default()
    };
    let agents = reader.texts(&map, "targets");
    let folder_name = reader.text_member(&map, "alias");
    let draft = EntryDraft {
        span: map.span,
        name: reference.source.clone(),
        source: reference.source,
        version: reference.version,
        selection,
    };
    if let Some(entry) = reader.add(draft) {
        entry.agents = agents;
        entry.folder_name = folder_name;
    }
}

fn mapping_reference(reader: &mut ForeignReader<'_>, map: &ForeignMap<'_>) -> Option<ApmReference> {
    let path = reader.text_member(map, "path");
    let Some(git) = reader.member(map, "git") else {
        let Some(path) = path else {
            let help = "write `git: <url>` or `path: ./<directory>`";
            reader.error(map.span.clone(), "the dependency has neither `git` nor `path`", help);
            return None;
        };
        return Some(ApmReference { source: local_source(&path), folder: None, version: None });
    };
    if git.text == "parent" {
        let reason = "it is a folder of the repository that contains this package";
        reader.skip(map.span.clone(), path.unwrap_or_default(), reason);
        return None;
    }
    let reference = ApmReference::parse(git.text);
    let version = reader.text_member(map, "ref").or(reference.version);
    Some(ApmReference { folder: path.or(reference.folder), version, source: reference.source })
}

/// A source, a folder in it, and a ref.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ApmReference {
    pub source: String,
    pub folder: Option<String>,
    pub version: Option<String>,
}

impl ApmReference {
    /// Parses a dependency in text form. What is not recognized becomes the source as it is.
    pub(super) fn parse(text: &str) -> Self {
        let text = text.trim();
        let is_local = ["./", "../", "/", "~/"].iter().any(|start| text.starts_with(start));
        if is_local && !text.starts_with("//") {
            return Self { source: text.into(), folder: None, version: None };
        }
        let (location, version) = match text.rsplit_once('#') {
            Some((location, version)) => (location, Some(version.to_owned())),
            None => (text, None),
        };
        if location.contains("://") || location.contains(':') {
            return Self { source: location.into(), folder: None, version };
        }
        let segments: Vec<&str> = location.split('/').filter(|part| !part.is_empty()).collect();
        let host = usize::from(segments.first().is_some_and(|host| host.contains('.')));
        let split = (host + 2).min(segments.len());
        let (repo, folder) = segments.split_at(split);
        let folder = (!folder.is_empty()).then(|| folder.join("/"));
        Self { source: repo.join("/"), folder, version }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lc_17_apm_dependencies_are_split() {
        for (text, source, folder, version) in [
            ("acme/skills", "acme/skills", None, None),
            ("acme/skills#v1", "acme/skills", None, Some("v1")),
            ("acme/skills/a/b#v1", "acme/skills", Some("a/b"), Some("v1")),
            ("github.com/acme/skills/a", "github.com/acme/skills", Some("a"), None),
            ("git.example.com/acme/skills", "git.example.com/acme/skills", None, None),
            ("https://example.com/a/b.git#v1", "https://example.com/a/b.git", None, Some("v1")),
            ("git@example.com:a/b.git", "git@example.com:a/b.git", None, None),
            ("./own#1", "./own#1", None, None),
            ("acme", "acme", None, None),
        ] {
            let expected = ApmReference {
                source: source.into(),
                folder: folder.map(Into::into),
                version: version.map(Into::into),
            };
            assert_eq!(ApmReference::parse(text), expected, "{text}");
        }
    }
}
