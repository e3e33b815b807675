//! `Cargo.toml`.

use toml::de::DeValue;

use super::{dependency_note, location_suffix};
use crate::extract::file_extract::{DeclaredPackage, ExtractedNote, FileExtract};
use crate::extract::source_text::SourceText;
use crate::extract::toml_file::{TomlFile, format_value, text};

pub(super) fn read(source: SourceText<'_>, found: &mut FileExtract) {
    let Some(toml) = TomlFile::parse(source) else { return };
    if let Some(name) = toml.scalar_text(&["package", "name"]) {
        found.package = Some(DeclaredPackage { name: name.replace('-', "_") });
        add_package(source, &toml, &name, found);
    }
    add_workspace(source, &toml, found);
    let whose = format!("`{}`", source.path);
    for (table, what) in [
        (&["dependencies"][..], "Dependencies"),
        (&["dev-dependencies"][..], "Dev dependencies"),
        (&["build-dependencies"][..], "Build dependencies"),
        (&["workspace", "dependencies"][..], "Workspace dependencies"),
    ] {
        let names: Vec<String> = toml
            .entries(table)
            .into_iter()
            .filter_map(|(name, value)| format_dependency(&name, value))
            .collect();
        dependency_note(&whose, what, &names, toml.line_range(table))
            .into_iter()
            .for_each(|note| found.add_note(note));
    }
    let features = toml.entries(&["features"]);
    if !features.is_empty() {
        let list: Vec<String> = features
            .iter()
            .map(|(name, value)| format!("- `{name}`: {}", format_value(value)))
            .collect();
        let content = format!("Features of {whose}:\n{}", list.join("\n"));
        found.add_note(ExtractedNote::fact(
            "configuration",
            content,
            toml.line_range(&["features"]),
        ));
    }
    add_lints(source, &toml, found);
}

fn add_package(source: SourceText<'_>, toml: &TomlFile<'_>, name: &str, found: &mut FileExtract) {
    let own = |key: &str| toml.scalar_text(&["package", key]);
    let mut content = format!("`{name}`{} is a Rust crate", location_suffix(source));
    let details: Vec<String> = [("edition", "edition "), ("rust-version", "Rust ")]
        .into_iter()
        .filter_map(|(key, word)| Some(format!("{word}{}", own(key)?)))
        .collect();
    if !details.is_empty() {
        content += &format!(" ({})", details.join(", "));
    }
    content += &own("description")
        .map(|text| format!(": {}", text.trim_end_matches('.')))
        .unwrap_or_default();
    found.add_note(
        ExtractedNote::fact("layout", content + ".", toml.line_range(&["package"])).with_key(name),
    );
}

fn add_workspace(source: SourceText<'_>, toml: &TomlFile<'_>, found: &mut FileExtract) {
    let members = toml.strings(&["workspace", "members"]);
    if members.is_empty() {
        return;
    }
    let mut content = format!(
        "A Cargo workspace{}; its crates are in `{}`",
        location_suffix(source),
        members.join("`, `")
    );
    let shared: Vec<String> = ["edition", "rust-version", "license", "version"]
        .iter()
        .filter_map(|key| {
            Some(format!("{key} {}", toml.scalar_text(&["workspace", "package", key])?))
        })
        .collect();
    if !shared.is_empty() {
        content += &format!(". Shared settings: {}", shared.join(", "));
    }
    let mut lines = toml.line_range(&["workspace"]);
    lines.last = lines.last.min(toml.line_range(&["workspace", "package"]).last.max(lines.first));
    found.add_note(ExtractedNote::fact("stack", content + ".", lines));
}

fn format_dependency(name: &str, value: &DeValue<'_>) -> Option<String> {
    match value {
        DeValue::String(version) => Some(format!("{name} {version}")),
        DeValue::Table(table) => {
            let version = table.get("version").and_then(|version| text(version.get_ref()));
            Some(version.map_or_else(|| name.to_owned(), |version| format!("{name} {version}")))
        }
        _ => None,
    }
}

/// Adds the configured lint levels.
fn add_lints(source: SourceText<'_>, toml: &TomlFile<'_>, found: &mut FileExtract) {
    for path in [&["lints"][..], &["workspace", "lints"][..]] {
        for (tool, table) in toml.entries(path) {
            let DeValue::Table(rules) = table else { continue };
            let mut list: Vec<(usize, String)> = rules
                .iter()
                .filter_map(|(rule, level)| {
                    let level = match level.get_ref() {
                        DeValue::Table(table) => text(table.get("level")?.get_ref())?,
                        other => text(other)?,
                    };
                    Some((rule.span().start, format!("`{}` {level}", rule.get_ref())))
                })
                .collect();
            list.sort();
            if !list.is_empty() {
                let list: Vec<String> = list.into_iter().map(|(_, text)| text).collect();
                let tool_path = [path, &[tool.as_str()]].concat();
                let content =
                    format!("{tool} lints{}: {}.", location_suffix(source), list.join(", "));
                found.add_note(ExtractedNote::new(
                    "policy",
                    "lint",
                    content,
                    toml.line_range(&tool_path),
                ));
            }
        }
    }
}
