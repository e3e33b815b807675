//! Packages: `.ctxpkg` files.

use sp_formats::package::read;
use sp_formats::skill::{self, SKILL_FILE};
use sp_tree::{Dir, EntryKind};

use super::place::Place;
use super::{Checker, Format};
use crate::error::Result;
use crate::pkg::{installed_in, is_package_file};

/// A package.
pub(super) struct PackageFile;

impl Format for PackageFile {
    fn is_at(&self, place: &Place) -> bool {
        is_package_file(&place.path) && place.path.is_file()
    }

    fn check(&self, checker: &Checker<'_>, place: &Place) -> Result<()> {
        let limits = &checker.session.limits;
        let bytes = checker.drafts.read(&place.path, limits.package_bytes)?;
        let read = read("", bytes, limits);
        checker.findings.report(&place.path, &read.report);
        checker.findings.package(&place.path);
        let documents = read.package.as_ref().and_then(|package| package.documents.as_ref());
        for (path, _, bytes) in documents.into_iter().flat_map(|documents| documents.files()) {
            if path.leaf() == SKILL_FILE {
                let folder = path.parent().and_then(|parent| parent.rsplit('/').next()).unwrap_or_default();
                let (_, report) = skill::read("", folder, bytes, limits);
                checker.findings.report(&place.path.join(path.as_str()), &report);
            }
        }
        Ok(())
    }
}

/// Checks the packages that lie in a directory, and those that are installed there. How many, is told.
pub(super) fn check_folder(checker: &Checker<'_>, place: &Place) -> Result<usize> {
    if !place.is_dir() {
        return Ok(0);
    }
    let mut found = Vec::new();
    for dir in [place.path.clone(), installed_in(&place.path)] {
        let Ok(opened) = Dir::open(&dir) else { continue };
        let files = opened.entries()?.into_iter().filter(|entry| entry.kind == EntryKind::File);
        found.extend(files.map(|entry| dir.join(entry.name())).filter(|path| is_package_file(path)));
    }
    found.sort();
    for path in &found {
        PackageFile.check(checker, &Place::new(path.clone()))?;
    }
    Ok(found.len())
}
