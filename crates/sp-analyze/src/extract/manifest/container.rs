//! Container images and compose files.

use sp_formats::yaml::{self, YamlNode};
use sp_tree::Limits;

use crate::extract::file_extract::{ExtractedNote, FileExtract};
use crate::extract::source_text::SourceText;

/// Adds base image and command of a container file.
pub(super) fn read_image(source: SourceText<'_>, found: &mut FileExtract) {
    let values = |word: &str| -> Vec<String> {
        let lines = source.text.lines().map(str::trim);
        lines
            .filter_map(|line| Some(line.strip_prefix(word)?.strip_prefix(' ')?.trim().to_owned()))
            .collect()
    };
    let (from, ports, entry, command) =
        (values("FROM"), values("EXPOSE"), values("ENTRYPOINT"), values("CMD"));
    if from.is_empty() {
        return;
    }
    let mut content = format!("`{}` builds an image from {}", source.path, from.join(", then "));
    for (what, values) in
        [("It listens on", ports), ("Its entry point is", entry), ("Its command is", command)]
    {
        if let Some(last) = values.last() {
            content += &format!(". {what} {last}");
        }
    }
    found.add_note(ExtractedNote::fact("stack", content + ".", source.all_lines()));
}

/// Adds the services of a compose file.
pub(super) fn read_services(source: SourceText<'_>, found: &mut FileExtract) {
    let Ok(root) = yaml::parse(source.text, &Limits::default()) else { return };
    let Some(services) = root.get("services") else { return };
    let list: Vec<String> = services
        .members()
        .map(|(name, service)| {
            let image = service.get("image").and_then(YamlNode::text);
            let from = image
                .map(|image| format!(": `{image}`"))
                .or_else(|| service.get("build").map(|_| ": built locally".to_owned()));
            format!("- `{name}`{}", from.unwrap_or_default())
        })
        .collect();
    if !list.is_empty() {
        let content = format!("Services of `{}`:\n{}", source.path, list.join("\n"));
        found.add_note(ExtractedNote::fact("stack", content, source.line_range(&services.span)));
    }
}
