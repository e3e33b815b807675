//! `pyproject.toml` and `requirements.txt`.

use toml::de::DeValue;

use super::{built_on, place};
use crate::extract::note::{Found, Note, Package, Source};
use crate::extract::toml_file::{Toml, shown};

pub(super) fn project(source: Source<'_>, found: &mut Found) {
    let Some(toml) = Toml::read(source) else { return };
    let table: &[&str] = if toml.table(&["project"]).is_some() { &["project"] } else { &["tool", "poetry"] };
    let own = |key: &str| toml.text(&[table, &[key]].concat());
    if let Some(name) = own("name") {
        let mut content = format!("`{name}`{} is a Python package", place(source));
        content += &own("requires-python").map(|version| format!(" (Python {version})")).unwrap_or_default();
        content += &own("description").map(|text| format!(": {}", text.trim_end_matches('.'))).unwrap_or_default();
        content += &toml
            .text(&["build-system", "build-backend"])
            .map(|tool| format!(". It is built by `{tool}`"))
            .unwrap_or_default();
        found.add(Note::fact("layout", content + ".", toml.lines(table)).called(name.clone()));
        found.package = Some(Package { name: name.replace('-', "_") });
    }
    dependencies(source, &toml, table, found);
    let scripts = toml.entries(&[table, &["scripts"]].concat());
    if !scripts.is_empty() {
        let list: Vec<String> =
            scripts.iter().map(|(name, value)| format!("- `{name}` runs `{}`", shown(value))).collect();
        let content = format!("Commands that `{}` installs:\n{}", source.path, list.join("\n"));
        found.add(Note::fact("command", content, toml.lines(&[table, &["scripts"]].concat())));
    }
    tools(&toml, found);
}

fn dependencies(source: Source<'_>, toml: &Toml<'_>, table: &[&str], found: &mut Found) {
    let whose = format!("`{}`", source.path);
    let listed = [table, &["dependencies"]].concat();
    let names = toml.texts(&listed);
    let lines = toml.value(&listed).map_or(source.whole(), |value| source.lines(&value.span()));
    built_on(&whose, "Dependencies", &names, lines).into_iter().for_each(|note| found.add(note));
    let by_name: Vec<String> =
        toml.entries(&listed).into_iter().map(|(name, value)| format!("{name} {}", shown(value))).collect();
    built_on(&whose, "Dependencies", &by_name, toml.lines(&listed)).into_iter().for_each(|note| found.add(note));
    for group in [&[table, &["optional-dependencies"]].concat()[..], &["dependency-groups"]] {
        for (name, value) in toml.entries(group) {
            let DeValue::Array(list) = value else { continue };
            let names: Vec<String> = list.iter().map(|item| shown(item.get_ref())).collect();
            let what = format!("Dependencies for `{name}`");
            built_on(&whose, &what, &names, toml.lines(group)).into_iter().for_each(|note| found.add(note));
        }
    }
}

/// How linters, formatters and tests are set.
fn tools(toml: &Toml<'_>, found: &mut Found) {
    for tool in ["ruff", "black", "isort", "mypy", "pyright", "pytest", "pylint", "flake8", "coverage"] {
        let path = ["tool", tool];
        let settings: Vec<String> =
            toml.entries(&path).into_iter().map(|(key, value)| format!("{key} = {}", shown(value))).collect();
        if !settings.is_empty() {
            let content = format!("Settings of {tool}: {}.", settings.join(", "));
            found.add(Note::new("policy", "lint", content, toml.lines(&path)));
        }
    }
}

pub(super) fn requirements(source: Source<'_>, found: &mut Found) {
    let lines = source.text.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
    let names: Vec<String> =
        lines.filter(|line| line.starts_with(|c: char| c.is_alphabetic())).map(Into::into).collect();
    built_on(&format!("`{}`", source.path), "Dependencies", &names, source.whole())
        .into_iter()
        .for_each(|note| found.add(note));
}
