//! Context packs: a folder with `pack.json`, a zip with such a folder, or an address of either.

use std::path::Path;

use sp_formats::context_pack::{Entry, MANIFEST, read};

use super::place::Place;
use super::{Checker, Format, hidden};
use crate::context_pack::{PackAddress, PackAt, is_pack, read_entries};
use crate::error::Result;

/// A context pack.
pub(super) struct ContextPackAt;

impl Format for ContextPackAt {
    fn is_at(&self, place: &Place) -> bool {
        is_pack(&place.path)
    }

    fn check(&self, checker: &Checker<'_>, place: &Place) -> Result<()> {
        let folder = match place.is_file_called(MANIFEST) {
            true => place.path.parent().unwrap_or(&place.path),
            false => &place.path,
        };
        check_pack(checker, &PackAt::Here(place.path.clone()), folder)
    }
}

/// Reports everything about a pack on the web.
pub(super) fn check_address(checker: &Checker<'_>, address: &PackAddress) -> Result<()> {
    let folder = address.to_string();
    check_pack(checker, &PackAt::Web(address.clone()), Path::new(&folder))
}

fn check_pack(checker: &Checker<'_>, pack: &PackAt, folder: &Path) -> Result<()> {
    let entries = read_entries(checker.session, pack)?;
    for report in &read(&entries, &checker.session.limits).reports {
        checker.findings.report(&folder.join(&report.file), report);
    }
    for (path, entry) in &entries {
        let (file, leaf) = (folder.join(path), path.rsplit('/').next().unwrap_or(path));
        hidden::in_name(checker, &file, leaf);
        if let Entry::File(bytes) = entry {
            hidden::in_bytes(checker, &file, bytes);
            if path == MANIFEST {
                hidden::in_json_escapes(checker, &file, bytes);
            }
        }
    }
    checker.findings.context_pack(&folder.join(MANIFEST));
    Ok(())
}
