//! The format of `skillpack-accept.yaml`. How its entries apply is in
//! [`acceptance`](super::acceptance).

use sp_formats::accept::rules::RULES;
use sp_formats::accept::{ACCEPT_FILE, read};

use super::Checker;
use super::format::{Form, Format, Specificity};
use super::target::CheckTarget;
use crate::error::Result;

pub(super) const ACCEPT_FILES: Format = Format {
    rules: RULES,
    counted: None,
    targets: &[],
    forms: &[Form {
        specificity: Specificity::File,
        matches: |target| target.is_file_named(ACCEPT_FILE),
        check: check_accept_file,
    }],
    files_in: None,
};

fn check_accept_file(checker: &Checker<'_>, target: &CheckTarget) -> Result<()> {
    let limits = &checker.session.limits;
    let bytes = checker.drafts.read(&target.path, limits.yaml_bytes)?;
    let (_, report) = read("", &String::from_utf8_lossy(&bytes), limits);
    checker.collector.add_report(&target.path, &report);
    Ok(())
}
