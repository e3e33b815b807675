//! Makefiles and justfiles.

use crate::extract::file_extract::{ExtractedNote, FileExtract};
use crate::extract::source_text::SourceText;
use crate::extract::text::truncate_text;

const MAX_TASKS: usize = 50;

/// Adds the targets of a makefile with their descriptions.
pub(super) fn read_makefile(source: SourceText<'_>, found: &mut FileExtract) {
    let lines: Vec<&str> = source.text.lines().collect();
    let mut list = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        let Some((target, rest)) = line.split_once(':') else { continue };
        let is_target = !target.is_empty()
            && !rest.starts_with('=')
            && target.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-'));
        if !is_target {
            continue;
        }
        let description = rest
            .split_once("##")
            .map(|(_, description)| description.trim())
            .or_else(|| comment_above(&lines, index));
        let first = lines
            .get(index + 1)
            .and_then(|line| line.strip_prefix('\t'))
            .map(|line| line.trim_start_matches(['@', '-']));
        list.push(format_task("make", target, description, first));
    }
    add_commands(source, list, found);
}

/// Adds the recipes of a justfile.
pub(super) fn read_justfile(source: SourceText<'_>, found: &mut FileExtract) {
    let lines: Vec<&str> = source.text.lines().collect();
    let mut list = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        let Some((head, rest)) = line.split_once(':') else { continue };
        let name = head.split_whitespace().next().unwrap_or_default().trim_start_matches('@');
        let is_recipe = line.starts_with(|c: char| c.is_alphabetic() || c == '@')
            && !rest.starts_with('=')
            && !name.starts_with('_')
            && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-'));
        if is_recipe && !matches!(name, "set" | "alias" | "export" | "import" | "mod") {
            let first = lines
                .get(index + 1)
                .filter(|line| line.starts_with([' ', '\t']))
                .map(|line| line.trim().trim_start_matches(['@', '-']));
            list.push(format_task("just", name, comment_above(&lines, index), first));
        }
    }
    add_commands(source, list, found);
}

/// The comment on the line above.
fn comment_above<'t>(lines: &[&'t str], at: usize) -> Option<&'t str> {
    let line = lines.get(at.checked_sub(1)?)?.strip_prefix('#')?.trim_start_matches('#').trim();
    Some(line).filter(|line| !line.is_empty())
}

fn format_task(tool: &str, name: &str, description: Option<&str>, first: Option<&str>) -> String {
    match (description, first) {
        (Some(description), _) => format!("- `{tool} {name}`: {}", truncate_text(description, 160)),
        (None, Some(first)) if !first.is_empty() => {
            format!("- `{tool} {name}`: `{}`", truncate_text(first, 120))
        }
        _ => format!("- `{tool} {name}`"),
    }
}

fn add_commands(source: SourceText<'_>, mut list: Vec<String>, found: &mut FileExtract) {
    list.truncate(MAX_TASKS);
    if !list.is_empty() {
        let content = format!("Commands of `{}`:\n{}", source.path, list.join("\n"));
        found.add_note(ExtractedNote::fact("command", content, source.all_lines()));
    }
}
