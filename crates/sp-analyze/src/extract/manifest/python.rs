//! `pyproject.toml` and `requirements.txt`.

use toml::de::DeValue;

use super::{dependency_note, location_suffix};
use crate::extract::file_extract::{DeclaredPackage, ExtractedNote, FileExtract};
use crate::extract::source_text::SourceText;
use crate::extract::toml_file::{TomlFile, format_value};

pub(super) fn read_pyproject(source: SourceText<'_>, found: &mut FileExtract) {
    let Some(toml) = TomlFile::parse(source) else { return };
    let table: &[&str] =
        if toml.table(&["project"]).is_some() { &["project"] } else { &["tool", "poetry"] };
    let own = |key: &str| toml.scalar_text(&[table, &[key]].concat());
    if let Some(name) = own("name") {
        let mut content = format!("`{name}`{} is a Python package", location_suffix(source));
        content += &own("requires-python")
            .map(|version| format!(" (Python {version})"))
            .unwrap_or_default();
        content += &own("description")
            .map(|text| format!(": {}", text.trim_end_matches('.')))
            .unwrap_or_default();
        content += &toml
            .scalar_text(&["build-system", "build-backend"])
            .map(|tool| format!(". It is built with `{tool}`"))
            .unwrap_or_default();
        found.add_note(
            ExtractedNote::fact("layout", content + ".", toml.line_range(table))
                .with_key(name.clone()),
        );
        found.package = Some(DeclaredPackage { name: name.replace('-', "_") });
    }
    add_dependencies(source, &toml, table, found);
    let scripts = toml.entries(&[table, &["scripts"]].concat());
    if !scripts.is_empty() {
        let list: Vec<String> = scripts
            .iter()
            .map(|(name, value)| format!("- `{name}` runs `{}`", format_value(value)))
            .collect();
        let content = format!("Commands that `{}` installs:\n{}", source.path, list.join("\n"));
        found.add_note(ExtractedNote::fact(
            "command",
            content,
            toml.line_range(&[table, &["scripts"]].concat()),
        ));
    }
    add_tool_settings(&toml, found);
}

fn add_dependencies(
    source: SourceText<'_>,
    toml: &TomlFile<'_>,
    table: &[&str],
    found: &mut FileExtract,
) {
    let whose = format!("`{}`", source.path);
    let listed = [table, &["dependencies"]].concat();
    let names = toml.strings(&listed);
    let lines =
        toml.value(&listed).map_or(source.all_lines(), |value| source.line_range(&value.span()));
    dependency_note(&whose, "Dependencies", &names, lines)
        .into_iter()
        .for_each(|note| found.add_note(note));
    let by_name: Vec<String> = toml
        .entries(&listed)
        .into_iter()
        .map(|(name, value)| format!("{name} {}", format_value(value)))
        .collect();
    dependency_note(&whose, "Dependencies", &by_name, toml.line_range(&listed))
        .into_iter()
        .for_each(|note| found.add_note(note));
    for group in [&[table, &["optional-dependencies"]].concat()[..], &["dependency-groups"]] {
        for (name, value) in toml.entries(group) {
            let DeValue::Array(list) = value else { continue };
            let names: Vec<String> = list.iter().map(|item| format_value(item.get_ref())).collect();
            let what = format!("Dependencies for `{name}`");
            dependency_note(&whose, &what, &names, toml.line_range(group))
                .into_iter()
                .for_each(|note| found.add_note(note));
        }
    }
}

/// Adds the settings of linters, formatters and test runners.
fn add_tool_settings(toml: &TomlFile<'_>, found: &mut FileExtract) {
    for tool in
        ["ruff", "black", "isort", "mypy", "pyright", "pytest", "pylint", "flake8", "coverage"]
    {
        let path = ["tool", tool];
        let settings: Vec<String> = toml
            .entries(&path)
            .into_iter()
            .map(|(key, value)| format!("{key} = {}", format_value(value)))
            .collect();
        if !settings.is_empty() {
            let content = format!("Settings for {tool}: {}.", settings.join(", "));
            found.add_note(ExtractedNote::new("policy", "lint", content, toml.line_range(&path)));
        }
    }
}

pub(super) fn read_requirements(source: SourceText<'_>, found: &mut FileExtract) {
    let lines = source.text.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
    let names: Vec<String> = lines
        .filter(|line| line.starts_with(|c: char| c.is_alphabetic()))
        .map(Into::into)
        .collect();
    dependency_note(&format!("`{}`", source.path), "Dependencies", &names, source.all_lines())
        .into_iter()
        .for_each(|note| found.add_note(note));
}
