//! `skil` of crates.io: `.skil.toml` of a project, and the same file of the user.
//!
//! It has a table for each source, with the names of the installed skills and the commit.

use sp_tree::Limits;

use super::ForeignSelection;
use super::reader::{EntryDraft, ForeignReader, is_commit, local_source};
use super::syntax::{ForeignMember, ForeignSyntax};

pub(super) fn read_config(reader: &mut ForeignReader<'_>, limits: &Limits) {
    let Some(root) = reader.parse(ForeignSyntax::Toml, limits) else { return };
    let Some(root) = reader.map(&root, "the file") else { return };
    let Some(sources) = reader.map_member(&root, "source") else { return };
    for source in sources.members {
        read_source(reader, source);
    }
}

fn read_source(reader: &mut ForeignReader<'_>, member: &ForeignMember) {
    let Some(map) = reader.map(&member.node, "a source") else { return };
    let Some(kind) = reader.required(&map, "source-type") else { return };
    let source = match kind.text {
        "local" => local_source(&member.key),
        "gitlab" | "codeberg" if !member.key.contains(':') => {
            let host = if kind.text == "gitlab" { "gitlab.com" } else { "codeberg.org" };
            format!("https://{host}/{}", member.key)
        }
        _ => member.key.clone(),
    };
    let version = reader.text_member(&map, "branch");
    let revision = reader.text_member(&map, "revision");
    let selection = ForeignSelection {
        folder: reader.text_member(&map, "subpath"),
        skills: reader.texts(&map, "skills"),
        ..ForeignSelection::default()
    };
    let name = member.key.clone();
    let draft = EntryDraft { span: member.key_span.clone(), name, source, version, selection };
    if let Some(entry) = reader.add(draft) {
        entry.commit = revision.filter(|commit| is_commit(commit));
    }
}
