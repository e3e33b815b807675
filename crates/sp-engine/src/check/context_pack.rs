//! The format of context packs: a directory with `pack.json`, a zip archive of one, or a URL.

use std::path::Path;

use sp_formats::context_pack::rules::RULES;
use sp_formats::context_pack::{ContextPackEntry, MANIFEST_FILE, read};
use sp_formats::output::CountedKind;

use super::format::{Form, Format, Specificity};
use super::skill_audit::audit_skill;
use super::target::CheckTarget;
use super::{CheckMode, Checker, hidden};
use crate::content_audit::AuditFiles;
use crate::context_pack::{ContextPackLocation, is_context_pack, read_entries};
use crate::error::Result;

pub(super) const CONTEXT_PACKS: Format = Format {
    rules: RULES,
    counted: Some(COUNTED),
    targets: &["a context pack"],
    forms: &[
        Form {
            specificity: Specificity::Url,
            matches: |target| target.address.is_some(),
            check: check_address,
        },
        Form {
            specificity: Specificity::Item,
            matches: |target| is_context_pack(&target.path),
            check: check_local,
        },
    ],
    files_in: None,
};

const COUNTED: CountedKind = CountedKind { key: "context_packs", noun: "context pack" };

fn check_local(checker: &Checker<'_>, target: &CheckTarget) -> Result<()> {
    let folder = if target.is_file_named(MANIFEST_FILE) {
        target.path.parent().unwrap_or(&target.path)
    } else {
        &target.path
    };
    check_pack(checker, &ContextPackLocation::Local(target.path.clone()), folder)
}

/// Checks a context pack at a URL.
fn check_address(checker: &Checker<'_>, target: &CheckTarget) -> Result<()> {
    match &target.address {
        Some(address) => {
            check_pack(checker, &ContextPackLocation::Remote(address.clone()), &target.path)
        }
        None => check_local(checker, target),
    }
}

fn check_pack(checker: &Checker<'_>, pack: &ContextPackLocation, folder: &Path) -> Result<()> {
    let entries = read_entries(checker.session, pack)?;
    for report in &read(&entries, &checker.session.limits).reports {
        checker.collector.add_report(&folder.join(&report.file), report);
    }
    let mut files = AuditFiles::default();
    for (path, entry) in &entries {
        let file = folder.join(path);
        let name = path.rsplit('/').next().unwrap_or(path);
        hidden::check_file_name(checker, &file, name);
        if let ContextPackEntry::File(bytes) = entry {
            if checker.mode == CheckMode::WithFacts {
                files.add(path, bytes);
                continue;
            }
            hidden::check_file_bytes(checker, &file, bytes);
            if path == MANIFEST_FILE {
                hidden::check_file_json_escapes(checker, &file, bytes);
            }
        }
    }
    if checker.mode == CheckMode::WithFacts {
        audit_skill(checker, folder, None, &files);
    }
    checker.collector.add_item(COUNTED, &folder.join(MANIFEST_FILE));
    Ok(())
}
