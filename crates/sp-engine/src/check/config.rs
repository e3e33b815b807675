//! The user's config.

use sp_formats::config;

use super::place::Place;
use super::{Checker, Format};
use crate::error::Result;

/// A `config.yaml` that is no pack.
pub(super) struct ConfigFile;

impl Format for ConfigFile {
    fn is_at(&self, place: &Place) -> bool {
        place.is_file_called("config.yaml") && !place.is_in_dir_called("packs")
    }

    fn check(&self, checker: &Checker<'_>, place: &Place) -> Result<()> {
        let bytes = checker.drafts.read(&place.path, checker.session.limits.yaml_bytes)?;
        let text = String::from_utf8_lossy(&bytes);
        let (_, report) = config::read("", &text, &checker.session.limits);
        checker.findings.report(&place.path, &report);
        Ok(())
    }
}
