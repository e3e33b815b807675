//! `openskills` of npm: a file in the folder of each installed skill.
//!
//! It records the source, but neither a commit nor a digest.

use sp_tree::Limits;

use super::ForeignSelection;
use super::reader::{EntryDraft, ForeignReader, local_source};
use super::syntax::ForeignSyntax;

/// The file in the folder of a skill.
pub const METADATA_FILE: &str = ".openskills.json";

pub(super) fn read_metadata(reader: &mut ForeignReader<'_>, limits: &Limits) {
    let Some(root) = reader.parse(ForeignSyntax::Json, limits) else { return };
    let Some(map) = reader.map(&root, "the file") else { return };
    let span = map.span.clone();
    let Some(source) = reader.required(&map, "source") else { return };
    let name = source.text.to_owned();
    let Some(kind) = reader.required(&map, "sourceType") else { return };
    let source = match kind.text {
        "local" => reader.text_member(&map, "localPath").unwrap_or(name.clone()),
        "git" => reader.text_member(&map, "repoUrl").unwrap_or(name.clone()),
        other => {
            let reason = format!("unknown kind of source `{}`", crate::printable::printable(other));
            reader.skip(kind.span, name, reason);
            return;
        }
    };
    let source = if kind.text == "local" { local_source(&source) } else { source };
    let folder = reader.text_member(&map, "subpath").filter(|path| !path.is_empty());
    let selection = ForeignSelection { folder, ..ForeignSelection::default() };
    reader.add(EntryDraft { span, name, source, version: None, selection });
}
