//! The format of `skillpack-policy.yaml`. What policies restrict is in
//! [`crate::policy`](crate::policy).

use std::path::{Path, PathBuf};

use sp_formats::policy::rules::RULES;
use sp_formats::policy::{POLICY_FILE, read};

use super::Checker;
use super::format::{Form, Format, Specificity};
use super::target::CheckTarget;
use crate::error::Result;

pub(super) const POLICY_FILES: Format = Format {
    rules: RULES,
    counted: None,
    targets: &[],
    forms: &[Form {
        specificity: Specificity::File,
        matches: |target| target.is_file_named(POLICY_FILE),
        check: check_policy_file,
    }],
    files_in: Some(find_policy_file),
};

fn find_policy_file(dir: &Path) -> Vec<PathBuf> {
    let path = dir.join(POLICY_FILE);
    if path.is_file() { vec![path] } else { Vec::new() }
}

fn check_policy_file(checker: &Checker<'_>, target: &CheckTarget) -> Result<()> {
    let limits = &checker.session.limits;
    let bytes = checker.drafts.read(&target.path, limits.yaml_bytes)?;
    let (_, report) = read("", &String::from_utf8_lossy(&bytes), limits);
    checker.collector.add_report(&target.path, &report);
    Ok(())
}
