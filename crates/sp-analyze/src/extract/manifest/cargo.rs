//! `Cargo.toml`.

use toml::de::DeValue;

use super::{built_on, place};
use crate::extract::note::{Found, Note, Package, Source};
use crate::extract::toml_file::{Toml, shown, text};

pub(super) fn read(source: Source<'_>, found: &mut Found) {
    let Some(toml) = Toml::read(source) else { return };
    if let Some(name) = toml.text(&["package", "name"]) {
        found.package = Some(Package { name: name.replace('-', "_") });
        package(source, &toml, &name, found);
    }
    workspace(source, &toml, found);
    let whose = format!("`{}`", source.path);
    for (table, what) in [
        (&["dependencies"][..], "Dependencies"),
        (&["dev-dependencies"][..], "Dependencies of the tests"),
        (&["build-dependencies"][..], "Dependencies of the build script"),
        (&["workspace", "dependencies"][..], "Dependencies that its crates may use"),
    ] {
        let names: Vec<String> =
            toml.entries(table).into_iter().filter_map(|(name, value)| dependency(&name, value)).collect();
        built_on(&whose, what, &names, toml.lines(table)).into_iter().for_each(|note| found.add(note));
    }
    let features = toml.entries(&["features"]);
    if !features.is_empty() {
        let list: Vec<String> = features.iter().map(|(name, value)| format!("- `{name}`: {}", shown(value))).collect();
        let content = format!("Features of {whose}:\n{}", list.join("\n"));
        found.add(Note::fact("configuration", content, toml.lines(&["features"])));
    }
    lints(source, &toml, found);
}

fn package(source: Source<'_>, toml: &Toml<'_>, name: &str, found: &mut Found) {
    let own = |key: &str| toml.text(&["package", key]);
    let mut content = format!("`{name}`{} is a Rust crate", place(source));
    let said: Vec<String> = [("edition", "edition "), ("rust-version", "at least Rust ")]
        .into_iter()
        .filter_map(|(key, word)| Some(format!("{word}{}", own(key)?)))
        .collect();
    if !said.is_empty() {
        content += &format!(" ({})", said.join(", "));
    }
    content += &own("description").map(|text| format!(": {}", text.trim_end_matches('.'))).unwrap_or_default();
    found.add(Note::fact("layout", content + ".", toml.lines(&["package"])).called(name));
}

fn workspace(source: Source<'_>, toml: &Toml<'_>, found: &mut Found) {
    let members = toml.texts(&["workspace", "members"]);
    if members.is_empty() {
        return;
    }
    let mut content = format!("A Cargo workspace{}; its crates are in `{}`", place(source), members.join("`, `"));
    let shared: Vec<String> = ["edition", "rust-version", "license", "version"]
        .iter()
        .filter_map(|key| Some(format!("{key} {}", toml.text(&["workspace", "package", key])?)))
        .collect();
    if !shared.is_empty() {
        content += &format!(". They share {}", shared.join(", "));
    }
    let mut lines = toml.lines(&["workspace"]);
    lines.last = lines.last.min(toml.lines(&["workspace", "package"]).last.max(lines.first));
    found.add(Note::fact("stack", content + ".", lines));
}

fn dependency(name: &str, value: &DeValue<'_>) -> Option<String> {
    match value {
        DeValue::String(version) => Some(format!("{name} {version}")),
        DeValue::Table(table) => {
            let version = table.get("version").and_then(|version| text(version.get_ref()));
            Some(version.map_or_else(|| name.to_owned(), |version| format!("{name} {version}")))
        }
        _ => None,
    }
}

/// What the compiler must not see is a policy.
fn lints(source: Source<'_>, toml: &Toml<'_>, found: &mut Found) {
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
                let content = format!("Lints of {tool}{}: {}.", place(source), list.join(", "));
                found.add(Note::new("policy", "lint", content, toml.lines(&tool_path)));
            }
        }
    }
}
