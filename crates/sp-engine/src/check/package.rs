//! Packages: `.ctxpkg` files.

use std::path::{Path, PathBuf};

use sp_formats::hidden::{check_json, check_part, check_text};
use sp_formats::package::{Package, check_level, read};
use sp_formats::report::Report;
use sp_formats::skill::{self, SKILL_FILE};
use sp_tree::{Content, Dir, EntryKind};

use super::place::Place;
use super::{Checker, Format, hidden};
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
        let mut read = read("", bytes, limits);
        if let Some(package) = &read.package {
            let mut report = Report::deferred("");
            check_level(package.raw_manifest(), package.content(), &mut report);
            check_hidden(package, &mut report);
            checker.findings.report(&place.path, &report.about(package.text()));
        }
        read.report.sort();
        checker.findings.report(&place.path, &read.report);
        checker.findings.package(&place.path);
        let documents = read.package.as_ref().and_then(|package| package.documents.as_ref());
        for (path, _, bytes) in documents.into_iter().flat_map(Content::files) {
            hidden::in_name(checker, &place.path.join(path.as_str()), path.leaf());
            hidden::in_bytes(checker, &place.path.join(path.as_str()), bytes);
            if path.leaf() == SKILL_FILE {
                let folder = path.parent().and_then(|parent| parent.rsplit('/').next()).unwrap_or_default();
                let (_, mut report) = skill::read("", folder, bytes, limits);
                // What a package carries is hashed: it is mended where it was made.
                report.findings.iter_mut().for_each(|finding| finding.fix.clear());
                checker.findings.report(&place.path.join(path.as_str()), &report);
            }
        }
        Ok(())
    }
}

/// Reports what a package hides; what its documents hide is told of each.
fn check_hidden(package: &Package, report: &mut Report) {
    let text = package.text();
    match package.documents {
        Some(_) => {
            check_part(text, package.raw_manifest().span(), report);
            check_json(package.raw_manifest(), report);
        }
        None => {
            check_text(text, report);
            [package.raw_manifest(), package.content()].into_iter().for_each(|value| check_json(value, report));
        }
    }
}

/// The packages that lie in a directory, and those that are installed there.
pub(super) fn packages_in(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for dir in [root.to_path_buf(), installed_in(root)] {
        let entries = Dir::open(&dir).and_then(|opened| opened.entries()).unwrap_or_default();
        let files = entries.iter().filter(|entry| entry.kind == EntryKind::File);
        found.extend(files.map(|entry| dir.join(entry.name())).filter(|path| is_package_file(path)));
    }
    found.sort();
    found
}

/// Whether packages lie in a directory, or are installed there.
pub(super) fn has_packages(dir: &Path) -> bool {
    !packages_in(dir).is_empty()
}

/// Checks the packages of a directory.
pub(super) fn check_folder(checker: &Checker<'_>, place: &Place) -> Result<()> {
    let found = if place.is_dir() { packages_in(&place.path) } else { Vec::new() };
    found.into_iter().try_for_each(|path| PackageFile.check(checker, &Place::new(path)))
}
