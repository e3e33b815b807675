//! `package.json` and `tsconfig.json`.

use sp_formats::json::{JsonDocument, JsonValue, without_comments};
use sp_tree::Limits;

use super::{dependency_note, location_suffix};
use crate::extract::file_extract::{DeclaredPackage, ExtractedNote, FileExtract};
use crate::extract::line_range::LineRange;
use crate::extract::source_text::SourceText;
use crate::extract::text::truncate_text;

pub(super) fn read(source: SourceText<'_>, found: &mut FileExtract) {
    let Ok(json) = JsonDocument::parse(source.text, &Limits::default()) else { return };
    let root = json.root();
    add_package(source, root, found);
    add_scripts(source, root, text_member(root, "packageManager").as_deref(), found);
    add_dependencies(source, root, found);
    add_workspaces(source, root, found);
}

fn text_member(root: JsonValue<'_>, key: &str) -> Option<String> {
    root.get(key).and_then(JsonValue::text).map(std::borrow::Cow::into_owned)
}

/// The lines of a member; all lines if it is missing.
fn member_lines(source: SourceText<'_>, root: JsonValue<'_>, key: &str) -> LineRange {
    root.get(key).map_or(source.all_lines(), |value| source.line_range(&value.span()))
}

fn add_package(source: SourceText<'_>, root: JsonValue<'_>, found: &mut FileExtract) {
    let text = |key: &str| text_member(root, key);
    let lines = |key: &str| member_lines(source, root, key);
    if let Some(name) = text("name") {
        let mut content = format!("`{name}`{} is a Node.js package", location_suffix(source));
        let engine =
            root.get("engines").and_then(|engines| engines.get("node")).and_then(JsonValue::text);
        content += &engine.map(|engine| format!(" ({engine})")).unwrap_or_default();
        content += &text("description")
            .filter(|text| !text.is_empty())
            .map(|text| format!(": {}", text.trim_end_matches('.')))
            .unwrap_or_default();
        content += match text("type").as_deref() {
            Some("module") => ". It uses ES modules.",
            _ => ".",
        };
        content += &text("packageManager")
            .map(|manager| format!(" Its package manager is {manager}."))
            .unwrap_or_default();
        let first = lines("name").first;
        let last = ["description", "type", "version"]
            .iter()
            .filter(|key| root.get(key).is_some())
            .map(|key| lines(key).last)
            .fold(first, usize::max);
        found.add_note(
            ExtractedNote::fact("layout", content, LineRange { first, last })
                .with_key(name.clone()),
        );
        found.package = Some(DeclaredPackage { name });
    }
}

fn add_dependencies(source: SourceText<'_>, root: JsonValue<'_>, found: &mut FileExtract) {
    let whose = format!("`{}`", source.path);
    for (key, what) in [
        ("dependencies", "Dependencies"),
        ("devDependencies", "Dev dependencies"),
        ("peerDependencies", "Peer dependencies"),
    ] {
        let members = root.get(key).into_iter().flat_map(JsonValue::members);
        let names: Vec<String> = members
            .filter_map(|(name, version)| Some(format!("{} {}", name.text()?, version.text()?)))
            .collect();
        if let Some(note) = dependency_note(&whose, what, &names, member_lines(source, root, key)) {
            found.add_note(note);
        }
    }
}

fn add_workspaces(source: SourceText<'_>, root: JsonValue<'_>, found: &mut FileExtract) {
    let workspaces: Vec<String> = root
        .get("workspaces")
        .into_iter()
        .flat_map(JsonValue::items)
        .filter_map(|item| Some(item.text()?.into_owned()))
        .collect();
    if !workspaces.is_empty() {
        let content = format!("A workspace with packages in `{}`.", workspaces.join("`, `"));
        found.add_note(ExtractedNote::fact(
            "layout",
            content,
            member_lines(source, root, "workspaces"),
        ));
    }
}

fn add_scripts(
    source: SourceText<'_>,
    root: JsonValue<'_>,
    manager: Option<&str>,
    found: &mut FileExtract,
) {
    const MAX_SCRIPTS: usize = 50;
    let Some(scripts) = root.get("scripts") else { return };
    let manager = manager.and_then(|manager| manager.split('@').next()).unwrap_or("npm");
    let list: Vec<String> = scripts
        .members()
        .take(MAX_SCRIPTS)
        .filter_map(|(name, command)| {
            Some(format!(
                "- `{manager} run {}`: `{}`",
                name.text()?,
                truncate_text(&command.text()?, 160)
            ))
        })
        .collect();
    if !list.is_empty() {
        let content = format!("Commands{}:\n{}", location_suffix(source), list.join("\n"));
        found.add_note(ExtractedNote::fact("command", content, source.line_range(&scripts.span())));
    }
}

/// Adds the strictness options of the TypeScript compiler.
pub(super) fn read_tsconfig(source: SourceText<'_>, found: &mut FileExtract) {
    let plain = without_comments(source.text);
    let Ok(json) = JsonDocument::parse(plain, &Limits::default()) else { return };
    let Some(options) = json.root().get("compilerOptions") else { return };
    let wanted = [
        "target",
        "module",
        "moduleResolution",
        "jsx",
        "strict",
        "noUncheckedIndexedAccess",
        "exactOptionalPropertyTypes",
        "baseUrl",
    ];
    let list: Vec<String> = wanted
        .iter()
        .filter_map(|key| Some(format!("{key} {}", options.get(key)?.raw().trim_matches('"'))))
        .collect();
    if !list.is_empty() {
        let content = format!("TypeScript (`{}`): {}.", source.path, list.join(", "));
        found.add_note(ExtractedNote::fact(
            "configuration",
            content,
            source.line_range(&options.span()),
        ));
    }
}
