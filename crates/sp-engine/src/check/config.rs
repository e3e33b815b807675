//! The format of `config.yaml`.

use sp_formats::config;

use super::target::CheckTarget;
use super::{CheckableFormat, Checker};
use crate::error::Result;

/// A `config.yaml` that is neither a pack nor part of a skill.
pub(super) struct ConfigFormat;

impl CheckableFormat for ConfigFormat {
    fn matches(&self, target: &CheckTarget) -> bool {
        target.is_file_named("config.yaml")
            && !target.is_in_dir_named("packs")
            && !target.is_inside_skill()
    }

    fn check(&self, checker: &Checker<'_>, target: &CheckTarget) -> Result<()> {
        let bytes = checker.drafts.read(&target.path, checker.session.limits.yaml_bytes)?;
        let (_, report) = config::read_bytes("", &bytes, &checker.session.limits);
        checker.collector.add_report(&target.path, &report);
        Ok(())
    }
}
