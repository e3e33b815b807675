//! Checking all skills below a directory, one by one and against each other.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use sp_formats::pack::rules::{SP_03, SP_04};
use sp_formats::report::{LocatedFinding, Report, Severity};
use sp_formats::skill::SKILL_FILE;
use sp_formats::skill::rules::{AS_01, AS_02};
use sp_tree::WalkReport;

use super::Checker;
use super::discover::{find_misnamed_skill_files, partition_found};
use super::skill_checks::{SkillDescription, check_skill};

/// Checks the skills that a walk found below `top`, and returns their IDs.
pub(super) fn check_skills_below(
    checker: &Checker<'_>,
    top: &Path,
    found: &WalkReport,
) -> Vec<String> {
    let (ids, shadowed) = partition_found(found);
    for id in &shadowed {
        report_shadowed_skill(checker, &top.join(id), &ids, id);
    }
    for file in find_misnamed_skill_files(top, found) {
        let mut report = Report::new("", "");
        report
            .whole_file(Severity::Error, &AS_01, format!("the file must be named `{SKILL_FILE}`"))
            .help("rename it: agents do not find it in another case");
        checker.collector.add_report(&file, &report);
    }
    let in_a_skill = |path: &str| ids.iter().any(|id| path.starts_with(&format!("{id}/")));
    // A cycle inside a skill is reported by the check of that skill.
    for cycle in found.cycles.iter().filter(|cycle| !in_a_skill(cycle)) {
        let mut report = Report::new("", "");
        report
            .whole_file(
                Severity::Warning,
                &SP_04,
                "the link points to one of its parent directories and is not followed",
            )
            .help("remove it");
        checker.collector.add_report(&top.join(&**cycle), &report);
    }
    let descriptions: Vec<SkillDescription> =
        ids.par_iter().filter_map(|id| check_skill(checker, &top.join(id))).collect();
    report_shared_descriptions(checker, descriptions);
    ids
}

/// Reports a directory that is not a skill because one of `ids` lies below it.
pub(super) fn report_shadowed_skill(checker: &Checker<'_>, dir: &Path, ids: &[String], id: &str) {
    let below = format!("{id}/");
    let inner: Vec<&str> =
        ids.iter().filter(|other| other.starts_with(&below)).map(String::as_str).take(3).collect();
    let mut report = Report::new("", "");
    report
        .whole_file(
            Severity::Warning,
            &SP_03,
            format!("not a skill, because a subdirectory contains another `{SKILL_FILE}`"),
        )
        .help(format!("move it to its own directory next to `{}`", inner.join("`, `")));
    checker.collector.add_report(&dir.join(SKILL_FILE), &report);
}

/// Reports skills that share a description: an agent cannot choose between them.
fn report_shared_descriptions(checker: &Checker<'_>, descriptions: Vec<SkillDescription>) {
    let mut by_text: HashMap<String, Vec<SkillDescription>> = HashMap::new();
    for description in descriptions {
        by_text.entry(description.text.trim().to_owned()).or_default().push(description);
    }
    for group in by_text.into_values().filter(|group| group.len() > 1) {
        let mut files: Vec<PathBuf> = group.iter().map(|skill| skill.file.clone()).collect();
        files.sort();
        for skill in group {
            let display = |file: &PathBuf| {
                format!("`{}`", checker.session.context.display_relative_path(file))
            };
            let others: Vec<String> =
                files.iter().filter(|file| **file != skill.file).take(3).map(display).collect();
            let more = files.len() - 1 - others.len();
            let and = if more > 0 { format!(" and {more} more") } else { String::new() };
            let mut report = Report::new("", "");
            report
                .warning(&AS_02, 0..0, format!("same description as {}{and}", others.join(", ")))
                .help("describe how the skills differ: agents select them only by description");
            let finding = report.findings.remove(0);
            checker.collector.add_placed(
                &skill.file,
                LocatedFinding { finding, location: Some(skill.location) },
            );
        }
    }
}
