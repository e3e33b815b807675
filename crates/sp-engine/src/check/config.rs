//! The user's config.

use sp_formats::config;

use super::target::CheckTarget;
use super::{CheckableFormat, Checker};
use crate::error::Result;

/// A `config.yaml` that is no pack.
pub(super) struct ConfigFormat;

impl CheckableFormat for ConfigFormat {
    fn matches(&self, place: &CheckTarget) -> bool {
        place.is_file_named("config.yaml")
            && !place.is_in_dir_named("packs")
            && !place.is_inside_skill()
    }

    fn check(&self, checker: &Checker<'_>, place: &CheckTarget) -> Result<()> {
        let bytes = checker.drafts.read(&place.path, checker.session.limits.yaml_bytes)?;
        let (_, report) = config::read_bytes("", &bytes, &checker.session.limits);
        checker.collector.add_report(&place.path, &report);
        Ok(())
    }
}
