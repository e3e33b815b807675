//! Context packs: a folder with `pack.json`, or a zip with such a folder.

use sp_formats::context_pack::{MANIFEST, read};

use super::place::Place;
use super::{Checker, Format};
use crate::context_pack::{is_pack, read_entries};
use crate::error::Result;

/// A context pack.
pub(super) struct ContextPackAt;

impl Format for ContextPackAt {
    fn is_at(&self, place: &Place) -> bool {
        is_pack(&place.path)
    }

    fn check(&self, checker: &Checker<'_>, place: &Place) -> Result<()> {
        let entries = read_entries(checker.session, &place.path)?;
        let read = read(&entries, &checker.session.limits);
        let folder = match place.is_file_called(MANIFEST) {
            true => place.path.parent().unwrap_or(&place.path),
            false => &place.path,
        };
        for report in &read.reports {
            checker.findings.report(&folder.join(&report.file), report);
        }
        checker.findings.context_pack(&folder.join(MANIFEST));
        Ok(())
    }
}
