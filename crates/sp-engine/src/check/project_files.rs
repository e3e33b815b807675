//! The formats of `skillpack.yaml` and `skillpack.lock`.

use std::path::{Path, PathBuf};

use sp_formats::project::rules::RULES;
use sp_formats::project::{LOCK_FILE, MANIFEST_FILE, MAX_LOCK_BYTES, lock, manifest};

use super::Checker;
use super::format::{Form, Format, Specificity};
use super::target::CheckTarget;
use crate::error::Result;

pub(super) const PROJECT_FILES: Format = Format {
    rules: RULES,
    counted: None,
    targets: &["a `skillpack.yaml`"],
    forms: &[
        Form {
            specificity: Specificity::File,
            matches: |target| target.is_file_named(MANIFEST_FILE),
            check: check_manifest,
        },
        Form {
            specificity: Specificity::File,
            matches: |target| target.is_file_named(LOCK_FILE),
            check: check_lock,
        },
    ],
    files_in: Some(find_project_files),
};

fn find_project_files(dir: &Path) -> Vec<PathBuf> {
    let paths = [MANIFEST_FILE, LOCK_FILE].map(|name| dir.join(name));
    paths.into_iter().filter(|path| path.is_file()).collect()
}

fn check_manifest(checker: &Checker<'_>, target: &CheckTarget) -> Result<()> {
    let limits = &checker.session.limits;
    let bytes = checker.drafts.read(&target.path, limits.yaml_bytes)?;
    let (_, report) = manifest::read("", &String::from_utf8_lossy(&bytes), limits);
    checker.collector.add_report(&target.path, &report);
    Ok(())
}

fn check_lock(checker: &Checker<'_>, target: &CheckTarget) -> Result<()> {
    let bytes = checker.drafts.read(&target.path, MAX_LOCK_BYTES)?;
    let (_, report) = lock::read("", &String::from_utf8_lossy(&bytes));
    checker.collector.add_report(&target.path, &report);
    Ok(())
}
