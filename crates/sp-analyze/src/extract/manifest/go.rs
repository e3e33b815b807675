//! `go.mod`.

use super::{built_on, place};
use crate::extract::note::{Found, Lines, Note, Package, Source};

pub(super) fn read(source: Source<'_>, found: &mut Found) {
    let word = |key: &str| {
        source.text.lines().enumerate().find_map(|(at, line)| Some((at + 1, line.strip_prefix(key)?.trim().to_owned())))
    };
    if let Some((line, module)) = word("module ") {
        let version = word("go ");
        let shown = version.as_ref().map(|(_, version)| format!(" (Go {version})")).unwrap_or_default();
        let last = version.map_or(line, |(line, _)| line).max(line);
        let content = format!("`{module}`{} is a Go module{shown}.", place(source));
        found.add(Note::fact("layout", content, Lines { first: line, last }).called(module.clone()));
        found.package = Some(Package { name: module });
    }
    let direct = source.text.lines().map(str::trim).filter(|line| !line.ends_with("// indirect"));
    let required = direct.map(|line| line.trim_start_matches("require ")).filter(|line| {
        line.contains('.') && line.split_whitespace().nth(1).is_some_and(|version| version.starts_with('v'))
    });
    let names: Vec<String> = required.filter(|line| !line.contains("=>")).map(Into::into).collect();
    built_on(&format!("`{}`", source.path), "Dependencies", &names, source.whole())
        .into_iter()
        .for_each(|note| found.add(note));
}
