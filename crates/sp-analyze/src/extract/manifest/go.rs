//! `go.mod`.

use super::{dependency_note, location_suffix};
use crate::extract::file_extract::{DeclaredPackage, ExtractedNote, FileExtract};
use crate::extract::line_range::LineRange;
use crate::extract::source_text::SourceText;

pub(super) fn read(source: SourceText<'_>, found: &mut FileExtract) {
    let word = |key: &str| {
        source
            .text
            .lines()
            .enumerate()
            .find_map(|(at, line)| Some((at + 1, line.strip_prefix(key)?.trim().to_owned())))
    };
    if let Some((line, module)) = word("module ") {
        let version = word("go ");
        let shown =
            version.as_ref().map(|(_, version)| format!(" (Go {version})")).unwrap_or_default();
        let last = version.map_or(line, |(line, _)| line).max(line);
        let content = format!("`{module}`{} is a Go module{shown}.", location_suffix(source));
        found.add_note(
            ExtractedNote::fact("layout", content, LineRange { first: line, last })
                .with_key(module.clone()),
        );
        found.package = Some(DeclaredPackage { name: module });
    }
    let direct = source.text.lines().map(str::trim).filter(|line| !line.ends_with("// indirect"));
    let required = direct.map(|line| line.trim_start_matches("require ")).filter(|line| {
        line.contains('.')
            && line.split_whitespace().nth(1).is_some_and(|version| version.starts_with('v'))
    });
    let names: Vec<String> = required.filter(|line| !line.contains("=>")).map(Into::into).collect();
    dependency_note(&format!("`{}`", source.path), "Dependencies", &names, source.all_lines())
        .into_iter()
        .for_each(|note| found.add_note(note));
}
