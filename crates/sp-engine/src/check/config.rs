//! The user's config.

use sp_formats::config;

use super::place::Place;
use super::{Checker, Format};
use crate::error::Result;

/// A `config.yaml` that is no pack.
pub(super) struct ConfigFile;

impl Format for ConfigFile {
    fn is_at(&self, place: &Place) -> bool {
        place.is_file_called("config.yaml") && !place.is_in_dir_called("packs") && !place.is_in_a_skill()
    }

    fn check(&self, checker: &Checker<'_>, place: &Place) -> Result<()> {
        let bytes = checker.drafts.read(&place.path, checker.session.limits.yaml_bytes)?;
        let (_, report) = config::read_bytes("", &bytes, &checker.session.limits);
        checker.findings.report(&place.path, &report);
        Ok(())
    }
}
