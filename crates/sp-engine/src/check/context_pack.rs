//! Context packs: a folder with `pack.json`, a zip with such a folder, or an address of either.

use std::path::Path;

use sp_formats::context_pack::{ContextPackEntry, MANIFEST_FILE, read};

use super::target::CheckTarget;
use super::{CheckableFormat, Checker, hidden};
use crate::context_pack::{ContextPackLocation, RemoteContextPack, is_context_pack, read_entries};
use crate::error::Result;

/// A context pack.
pub(super) struct ContextPackFormat;

impl CheckableFormat for ContextPackFormat {
    fn matches(&self, place: &CheckTarget) -> bool {
        is_context_pack(&place.path)
    }

    fn check(&self, checker: &Checker<'_>, place: &CheckTarget) -> Result<()> {
        let folder = match place.is_file_named(MANIFEST_FILE) {
            true => place.path.parent().unwrap_or(&place.path),
            false => &place.path,
        };
        check_pack(checker, &ContextPackLocation::Local(place.path.clone()), folder)
    }
}

/// Reports everything about a pack on the web.
pub(super) fn check_address(checker: &Checker<'_>, address: &RemoteContextPack) -> Result<()> {
    let folder = address.to_string();
    check_pack(checker, &ContextPackLocation::Remote(address.clone()), Path::new(&folder))
}

fn check_pack(checker: &Checker<'_>, pack: &ContextPackLocation, folder: &Path) -> Result<()> {
    let entries = read_entries(checker.session, pack)?;
    for report in &read(&entries, &checker.session.limits).reports {
        checker.collector.add_report(&folder.join(&report.file), report);
    }
    for (path, entry) in &entries {
        let (file, leaf) = (folder.join(path), path.rsplit('/').next().unwrap_or(path));
        hidden::check_file_name(checker, &file, leaf);
        if let ContextPackEntry::File(bytes) = entry {
            hidden::check_file_bytes(checker, &file, bytes);
            if path == MANIFEST_FILE {
                hidden::check_file_json_escapes(checker, &file, bytes);
            }
        }
    }
    checker.collector.add_context_pack(&folder.join(MANIFEST_FILE));
    Ok(())
}
