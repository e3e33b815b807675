//! Checking `config.yaml`.

use sp_formats::config;

use super::Checker;
use super::target::CheckTarget;
use crate::error::Result;

/// Whether a target is a `config.yaml` that is neither a pack nor part of a skill.
pub(super) fn is_config(target: &CheckTarget) -> bool {
    target.is_file_named("config.yaml")
        && !target.is_in_dir_named("packs")
        && !target.is_inside_skill()
}

pub(super) fn check_config(checker: &Checker<'_>, target: &CheckTarget) -> Result<()> {
    let bytes = checker.drafts.read(&target.path, checker.session.limits.yaml_bytes)?;
    let (_, report) = config::read_bytes("", &bytes, &checker.session.limits);
    checker.collector.add_report(&target.path, &report);
    Ok(())
}
