//! The format of context packs: a directory with `pack.json`, a zip archive of one, or a URL.

use std::path::Path;

use sp_formats::context_pack::{ContextPackEntry, MANIFEST_FILE, read};

use super::target::CheckTarget;
use super::{CheckableFormat, Checker, hidden};
use crate::context_pack::{ContextPackLocation, RemoteContextPack, is_context_pack, read_entries};
use crate::error::Result;

pub(super) struct ContextPackFormat;

impl CheckableFormat for ContextPackFormat {
    fn matches(&self, target: &CheckTarget) -> bool {
        is_context_pack(&target.path)
    }

    fn check(&self, checker: &Checker<'_>, target: &CheckTarget) -> Result<()> {
        let folder = if target.is_file_named(MANIFEST_FILE) {
            target.path.parent().unwrap_or(&target.path)
        } else {
            &target.path
        };
        check_pack(checker, &ContextPackLocation::Local(target.path.clone()), folder)
    }
}

/// Checks a context pack at a URL.
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
        let file = folder.join(path);
        let name = path.rsplit('/').next().unwrap_or(path);
        hidden::check_file_name(checker, &file, name);
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
