//! Images and services.

use sp_formats::yaml::{self, Node};
use sp_tree::Limits;

use crate::extract::note::{Found, Note, Source};

/// What an image is built from, and what runs in it.
pub(super) fn image(source: Source<'_>, found: &mut Found) {
    let said = |word: &str| -> Vec<String> {
        let lines = source.text.lines().map(str::trim);
        lines.filter_map(|line| Some(line.strip_prefix(word)?.strip_prefix(' ')?.trim().to_owned())).collect()
    };
    let (from, ports, entry, command) = (said("FROM"), said("EXPOSE"), said("ENTRYPOINT"), said("CMD"));
    if from.is_empty() {
        return;
    }
    let mut content = format!("The image of `{}` is built from {}", source.path, from.join(", then "));
    for (what, said) in [("It listens on", ports), ("It starts", entry), ("Its command is", command)] {
        if let Some(last) = said.last() {
            content += &format!(". {what} {last}");
        }
    }
    found.add(Note::fact("stack", content + ".", source.whole()));
}

/// The services that run together.
pub(super) fn services(source: Source<'_>, found: &mut Found) {
    let Ok(root) = yaml::parse(source.text, &Limits::default()) else { return };
    let Some(services) = root.get("services") else { return };
    let list: Vec<String> = services
        .members()
        .map(|(name, service)| {
            let image = service.get("image").and_then(Node::text);
            let from = image
                .map(|image| format!(": `{image}`"))
                .or_else(|| service.get("build").map(|_| ": built here".to_owned()));
            format!("- `{name}`{}", from.unwrap_or_default())
        })
        .collect();
    if !list.is_empty() {
        let content = format!("Services of `{}`:\n{}", source.path, list.join("\n"));
        found.add(Note::fact("stack", content, source.lines(&services.span)));
    }
}
