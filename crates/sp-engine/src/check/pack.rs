//! Checking pack files, one by one or all of a repository.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use sp_formats::output::CountedKind;
use sp_formats::pack::rules::{SP_11, SP_12, SP_17};
use sp_formats::pack::{self, Pack};
use sp_formats::report::{Report, Severity};

use super::discover::{is_repository, local_skill_ids};
use super::target::CheckTarget;
use super::{Checker, ImportPolicy, hidden};
use crate::error::Result;
use crate::install::selection::importable_skills;
use crate::repository::{ParsedPackFile, SkillRepository, is_pack_file, parse_pack_lenient};
use crate::select::{ImportableSkills, select_skills};
use crate::source::git::CheckoutOpener;

/// What the summary counts.
pub(super) const PACKS: CountedKind = CountedKind { key: "packs", noun: "pack" };

/// Whether a target is a pack file. In `packs/`, a YAML file is a pack even inside a skill.
pub(super) fn is_pack(target: &CheckTarget) -> bool {
    is_pack_file(&target.path)
        && target.path.is_file()
        && (target.is_in_dir_named("packs") || !target.is_inside_skill())
}

pub(super) fn check_pack_file(checker: &Checker<'_>, target: &CheckTarget) -> Result<()> {
    let read = read_pack_file(checker, target.path.clone())?;
    match repository_root(checker, &target.path) {
        Some(root) => {
            let local = local_skill_ids(checker.session, &root)?;
            check_pack(checker, &root, &local, read)
        }
        None => {
            record_pack(checker, &read.0, &read.2, 0);
            Ok(())
        }
    }
}

/// Returns the root of the repository that a pack file belongs to.
fn repository_root(checker: &Checker<'_>, file: &Path) -> Option<PathBuf> {
    let requested = checker.request.root.as_deref();
    let requested = requested.map(|root| checker.session.context.expand(&root.to_string_lossy()));
    requested.or_else(|| file.ancestors().skip(1).find(|dir| is_repository(dir)).map(Into::into))
}

fn read_pack_file(checker: &Checker<'_>, path: PathBuf) -> Result<ParsedPackFile> {
    let bytes = checker.drafts.read(&path, checker.session.limits.yaml_bytes);
    if let Ok(bytes) = &bytes {
        hidden::check_file_bytes(checker, &path, bytes);
    }
    parse_pack_lenient(checker.session, path, bytes)
}

/// Checks every pack of a repository.
pub(super) fn check_packs(
    checker: &Checker<'_>,
    repository: &SkillRepository,
    local: &[String],
) -> Result<()> {
    let (paths, not_files): (Vec<PathBuf>, Vec<PathBuf>) =
        repository.pack_paths()?.into_iter().partition(|path| path.is_file());
    for path in not_files {
        let mut report = Report::new("", "");
        report
            .whole_file(Severity::Error, &SP_11, "not a regular file, but named like a pack")
            .help("remove it, or rename it");
        checker.collector.add_report(&path, &report);
    }
    let mut packs: Vec<ParsedPackFile> =
        paths.into_iter().map(|path| read_pack_file(checker, path)).collect::<Result<_>>()?;
    report_duplicate_names(checker, &mut packs);
    packs.into_iter().try_for_each(|pack| check_pack(checker, &repository.root, local, pack))
}

fn report_duplicate_names(checker: &Checker<'_>, packs: &mut [ParsedPackFile]) {
    let mut by_name: HashMap<String, Vec<PathBuf>> = HashMap::new();
    for (path, pack, _) in packs.iter() {
        if let Some(pack) = pack {
            by_name.entry(pack.name.clone()).or_default().push(path.clone());
        }
    }
    for (path, pack, report) in packs {
        let Some(pack) = pack else { continue };
        let others: Vec<String> = by_name[&pack.name]
            .iter()
            .filter(|other| *other != path)
            .map(|other| format!("`{}`", checker.session.context.display_relative_path(other)))
            .collect();
        if !others.is_empty() {
            let message = format!(
                "duplicate pack name `{}`, also used by {}",
                pack.name,
                others.join(" and ")
            );
            report
                .error(&SP_12, pack.name_span.clone(), message)
                .help("use a unique `name` for each pack");
        }
    }
}

fn check_pack(
    checker: &Checker<'_>,
    root: &Path,
    local: &[String],
    read: ParsedPackFile,
) -> Result<()> {
    let (path, pack, mut report) = read;
    let Some(pack) = pack else {
        record_pack(checker, &path, &report, 0);
        return Ok(());
    };
    pack::report_advisories(&pack, &mut report);
    if !report.is_usable()
        || checker.request.imports == ImportPolicy::Skip && !pack.imports.is_empty()
    {
        check_local(checker, &path, pack, local, report);
        return Ok(());
    }
    let (context, limits) = (checker.session.context, &checker.session.limits);
    match (CheckoutOpener { context, limits, root }.open(&pack.imports)) {
        Ok(checkouts) => {
            let offers: Vec<ImportableSkills> =
                checkouts.iter().map(|checkout| importable_skills(context, checkout)).collect();
            select_skills(&pack, local, &offers, &mut report);
            record_pack(checker, &path, &report, 0);
        }
        // Check everything that does not need the imports.
        Err(error) => {
            checker.collector.add_unreadable(error.in_pack(&report));
            check_local(checker, &path, pack, local, report);
        }
    }
    Ok(())
}

/// Checks a pack without its imports.
fn check_local(
    checker: &Checker<'_>,
    path: &Path,
    pack: Pack,
    local: &[String],
    mut report: Report,
) {
    let imports = pack.imports.len();
    let excludes: Vec<_> = pack.exclude.iter().map(|exclude| Some(exclude.span.clone())).collect();
    select_skills(&Pack { imports: Vec::new(), ..pack }, local, &[], &mut report);
    // An exclude that matches no local skill may be for the imports.
    report.findings.retain(|finding| {
        finding.severity == Severity::Error
            || finding.check.id != SP_17.id
            || !excludes.contains(&finding.span)
    });
    record_pack(checker, path, &report, imports);
}

fn record_pack(checker: &Checker<'_>, path: &Path, report: &Report, imports_left: usize) {
    checker.collector.add_report(path, report);
    checker.collector.add_item(PACKS, path);
    checker.collector.add_skipped_imports(path, imports_left);
}
