//! `package.json` and `tsconfig.json`.

use sp_formats::json::{Json, Value, without_comments};
use sp_tree::Limits;

use super::{built_on, place};
use crate::extract::note::{Found, Lines, Note, Package, Source, shortened};

pub(super) fn read(source: Source<'_>, found: &mut Found) {
    let Ok(json) = Json::parse(source.text, &Limits::default()) else { return };
    let root = json.root();
    let text = |key: &str| root.get(key).and_then(Value::text).map(std::borrow::Cow::into_owned);
    let lines = |key: &str| root.get(key).map_or(source.whole(), |value| source.lines(&value.span()));
    if let Some(name) = text("name") {
        let mut content = format!("`{name}`{} is a package for Node", place(source));
        let engine = root.get("engines").and_then(|engines| engines.get("node")).and_then(Value::text);
        content += &engine.map(|engine| format!(" ({engine})")).unwrap_or_default();
        content += &text("description")
            .filter(|text| !text.is_empty())
            .map(|text| format!(": {}", text.trim_end_matches('.')))
            .unwrap_or_default();
        content += match text("type").as_deref() {
            Some("module") => ". Its files are ES modules.",
            _ => ".",
        };
        content += &text("packageManager").map(|manager| format!(" Packages come by {manager}.")).unwrap_or_default();
        let first = lines("name").first;
        let last = ["description", "type", "version"]
            .iter()
            .filter(|key| root.get(key).is_some())
            .map(|key| lines(key).last)
            .fold(first, usize::max);
        found.add(Note::fact("layout", content, Lines { first, last }).called(name.clone()));
        found.package = Some(Package { name });
    }
    scripts(source, root, text("packageManager").as_deref(), found);
    let whose = format!("`{}`", source.path);
    for (key, what) in [
        ("dependencies", "Dependencies"),
        ("devDependencies", "Dependencies of development"),
        ("peerDependencies", "Dependencies that users bring"),
    ] {
        let members = root.get(key).into_iter().flat_map(Value::members);
        let names: Vec<String> =
            members.filter_map(|(name, version)| Some(format!("{} {}", name.text()?, version.text()?))).collect();
        built_on(&whose, what, &names, lines(key)).into_iter().for_each(|note| found.add(note));
    }
    let workspaces: Vec<String> = root
        .get("workspaces")
        .into_iter()
        .flat_map(Value::items)
        .filter_map(|item| Some(item.text()?.into_owned()))
        .collect();
    if !workspaces.is_empty() {
        let content = format!("A workspace of packages; they are in `{}`.", workspaces.join("`, `"));
        found.add(Note::fact("layout", content, lines("workspaces")));
    }
}

fn scripts(source: Source<'_>, root: Value<'_>, manager: Option<&str>, found: &mut Found) {
    const MOST: usize = 50;
    let Some(scripts) = root.get("scripts") else { return };
    let manager = manager.and_then(|manager| manager.split('@').next()).unwrap_or("npm");
    let list: Vec<String> = scripts
        .members()
        .take(MOST)
        .filter_map(|(name, command)| {
            Some(format!("- `{manager} run {}`: `{}`", name.text()?, shortened(&command.text()?, 160)))
        })
        .collect();
    if !list.is_empty() {
        let content = format!("Commands{}:\n{}", place(source), list.join("\n"));
        found.add(Note::fact("command", content, source.lines(&scripts.span())));
    }
}

/// What the compiler of TypeScript insists on.
pub(super) fn compiler(source: Source<'_>, found: &mut Found) {
    let plain = without_comments(source.text);
    let Ok(json) = Json::parse(plain, &Limits::default()) else { return };
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
    let list: Vec<String> =
        wanted.iter().filter_map(|key| Some(format!("{key} {}", options.get(key)?.raw().trim_matches('"')))).collect();
    if !list.is_empty() {
        let content = format!("TypeScript (`{}`): {}.", source.path, list.join(", "));
        found.add(Note::fact("configuration", content, source.lines(&options.span())));
    }
}
