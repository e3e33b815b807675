//! The format of packages: `.ctxpkg` files.

use std::path::Path;

use sp_analyze::hidden::{check_json, check_part, check_text};
use sp_formats::output::{AuditedPackage, CountedKind};
use sp_formats::package::rules::{PK_13, RULES};
use sp_formats::package::{Package, VerificationOutcome, check_level, read};
use sp_formats::report::{Report, Severity};
use sp_formats::skill::{self, SKILL_FILE};
use sp_tree::{LoadedTree, RelPath};

use super::discover::find_packages;
use super::format::{Form, Format, Specificity};
use super::skill_audit::audit_skill;
use super::target::CheckTarget;
use super::{CheckMode, Checker, hidden};
use crate::content_audit::AuditFiles;
use crate::error::Result;
use crate::pkg::{is_package_file, verify_signer};

pub(super) const PACKAGES: Format = Format {
    rules: RULES,
    counted: Some(COUNTED),
    targets: &["a package"],
    forms: &[Form { specificity: Specificity::File, matches: is_package, check: check_package }],
    files_in: Some(find_packages),
};

const COUNTED: CountedKind = CountedKind { key: "packages", noun: "package" };

fn is_package(target: &CheckTarget) -> bool {
    is_package_file(&target.path) && target.path.is_file()
}

fn check_package(checker: &Checker<'_>, target: &CheckTarget) -> Result<()> {
    let limits = &checker.session.limits;
    let bytes = checker.drafts.read(&target.path, limits.package_bytes)?;
    let mut read = read("", bytes, limits);
    if let Some(package) = &read.package {
        let mut report = Report::deferred("");
        check_level(package.raw_manifest(), package.content(), &mut report);
        check_hidden(package, &mut report);
        checker.collector.add_report(&target.path, &report.with_text(package.text()));
    }
    read.report.sort();
    checker.collector.add_report(&target.path, &read.report);
    checker.collector.add_item(COUNTED, &target.path);
    if let Some(package) = &read.package {
        check_documents(checker, &target.path, package);
        if checker.mode == CheckMode::WithFacts {
            audit_signer(checker, &target.path, package)?;
        }
    }
    Ok(())
}

/// Checks the files in a package of skills.
fn check_documents(checker: &Checker<'_>, file: &Path, package: &Package) {
    for (path, _, bytes) in package.documents.iter().flat_map(LoadedTree::files) {
        let full_path = file.join(path.as_str());
        hidden::check_file_name(checker, &full_path, path.file_name());
        if checker.mode == CheckMode::FindingsOnly {
            hidden::check_file_bytes(checker, &full_path, bytes);
        }
        if path.file_name() == SKILL_FILE {
            let folder =
                path.parent().and_then(|parent| parent.rsplit('/').next()).unwrap_or_default();
            let (skill, mut report) = skill::read("", folder, bytes, &checker.session.limits);
            // The content is covered by the hash of the package, so it cannot be fixed here.
            report.findings.iter_mut().for_each(|finding| finding.fix.clear());
            checker.collector.add_report(&full_path, &report);
            if let Some(skill) = skill.filter(|_| checker.mode == CheckMode::WithFacts) {
                audit_packaged_skill(checker, file, package, path, skill.name);
            }
        }
    }
}

/// Audits a skill in a package.
fn audit_packaged_skill(
    checker: &Checker<'_>,
    file: &Path,
    package: &Package,
    skill_file: &RelPath,
    name: Option<String>,
) {
    let folder = skill_file.parent().unwrap_or_default();
    if let Some(documents) = &package.documents {
        let files = AuditFiles::from_tree(documents, folder);
        audit_skill(checker, &file.join(folder), name, &files);
    }
}

/// Records who signed a package, and reports a signer who is not trusted.
fn audit_signer(checker: &Checker<'_>, file: &Path, package: &Package) -> Result<()> {
    let step = verify_signer(checker.session, package)?;
    if step.outcome == VerificationOutcome::Failed {
        let mut report = Report::deferred("");
        report
            .whole_file(Severity::Error, &PK_13, step.detail.as_str())
            .help("run `sp pkg verify` for details");
        checker.collector.add_report(file, &report);
    }
    checker.collector.add_audited_package(AuditedPackage {
        path: file.into(),
        name: package.manifest.name.to_string(),
        version: package.manifest.version.to_string(),
        key: package.signer.map(|signer| signer.key.to_string()),
        signer: step.outcome.as_str().into(),
        detail: step.detail,
    });
    Ok(())
}

/// Reports hidden characters in a package. Its documents are checked one by one.
fn check_hidden(package: &Package, report: &mut Report) {
    let text = package.text();
    match package.documents {
        Some(_) => {
            check_part(text, package.raw_manifest().span(), report);
            check_json(package.raw_manifest(), report);
        }
        None => {
            check_text(text, report);
            [package.raw_manifest(), package.content()]
                .into_iter()
                .for_each(|value| check_json(value, report));
        }
    }
}
