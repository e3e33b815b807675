//! The SkillBag format: workspaces and sources. A directory may be both.

use std::collections::BTreeMap;
use std::path::Path;

use rayon::prelude::*;
use sp_formats::report::{Report, Severity};
use sp_formats::skill::SKILL_FILE;
use sp_formats::workspace::rules::{RULES, SB_01, SB_04, SB_11, SB_12, SB_17};
use sp_formats::workspace::{
    AGENTS_FILE, BOOTSTRAP_CATALOG_LINE, BOOTSTRAP_SKILL, CATALOG_FILE, CONTEXT_FILE,
    ENTRYPOINT_FILE, SKILLS_DIR, USER_CONTEXT_FILE, WorkspaceCatalog, WorkspaceSkill,
    check_catalog, read_agents_file, read_catalog, read_context, read_entrypoint,
    read_workspace_skill, write_catalog,
};

use super::discover::is_repository;
use super::format::{Form, Format, Specificity};
use super::repository::check_repository;
use super::skill_checks::check_skill;
use super::target::CheckTarget;
use super::{CheckResults, Checker, hidden};
use crate::error::Result;
use crate::source::git::is_tracked;
use crate::workspace::RepairedFile;
use crate::workspace::workspace_dir::{is_workspace, skill_folders};

pub(super) const WORKSPACES: Format = Format {
    rules: RULES,
    counted: None,
    targets: &["a workspace"],
    forms: &[Form {
        specificity: Specificity::Item,
        matches: |target| target.is_dir() && is_workspace(&target.path),
        check: check_target,
    }],
    files_in: None,
};

fn check_target(checker: &Checker<'_>, target: &CheckTarget) -> Result<()> {
    let root = target.path.as_path();
    let agents = read_text_file(checker, &root.join(AGENTS_FILE))?;
    let is_source = agents.as_deref().is_some_and(|text| text.contains("SKILLBAG"));
    let has_entrypoint = root.join(ENTRYPOINT_FILE).is_file();
    let WorkspaceSkills { skills, all_valid } = check_skills(checker, root)?;
    if is_source {
        let (_, report) = read_agents_file("", agents.as_deref().unwrap_or_default());
        checker.collector.add_report(&root.join(AGENTS_FILE), &report);
    }
    if has_entrypoint || !is_source {
        check_workspace(checker, root, &skills)?;
    }
    let catalog = CatalogCheck { is_source, can_regenerate: all_valid };
    check_catalog_file(checker, root, &skills, catalog)?;
    if is_repository(root) {
        check_repository(checker, target)?;
    }
    Ok(())
}

/// Reads a file, or its draft. Returns `None` if it does not exist.
fn read_text_file(checker: &Checker<'_>, path: &Path) -> Result<Option<String>> {
    if !path.is_file() {
        return Ok(None);
    }
    let bytes = checker.drafts.read(path, checker.session.limits.markdown_bytes)?;
    hidden::check_file_bytes(checker, path, &bytes);
    Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
}

fn report_file_error(
    checker: &Checker<'_>,
    path: &Path,
    rule: &'static sp_formats::rules::CheckRule,
    message: &str,
    help: &str,
) {
    let mut report = Report::new("", "");
    report.whole_file(Severity::Error, rule, message).help(help);
    checker.collector.add_report(path, &report);
}

/// The skills of a workspace.
struct WorkspaceSkills {
    /// The valid ones.
    skills: Vec<WorkspaceSkill>,
    all_valid: bool,
}

/// How to check the catalog.
struct CatalogCheck {
    is_source: bool,
    /// Without the lines of invalid skills, a new catalog would be incomplete.
    can_regenerate: bool,
}

/// Checks all folders in `.skills/`.
fn check_skills(checker: &Checker<'_>, root: &Path) -> Result<WorkspaceSkills> {
    let dir = root.join(SKILLS_DIR);
    let folders = skill_folders(&dir)?;
    folders.par_iter().for_each(|folder| {
        if dir.join(folder).join(SKILL_FILE).exists() {
            check_skill(checker, &dir.join(folder));
        }
    });
    let mut skills = Vec::new();
    for folder in &folders {
        let path = dir.join(folder).join(SKILL_FILE);
        if !path.is_file() {
            let message = "the folder has no `SKILL.md`";
            let help = "add `SKILL.md`, or move the folder out of `.skills/`";
            report_file_error(checker, &dir.join(folder), &SB_04, message, help);
            continue;
        }
        let bytes = checker.drafts.read(&path, checker.session.limits.markdown_bytes)?;
        let (skill, report) = read_workspace_skill("", folder, &bytes, &checker.session.limits);
        checker.collector.add_report(&path, &report);
        skills.extend(skill);
    }
    let all_valid = skills.len() == folders.len();
    Ok(WorkspaceSkills { skills, all_valid })
}

fn check_workspace(checker: &Checker<'_>, root: &Path, skills: &[WorkspaceSkill]) -> Result<()> {
    let path = root.join(ENTRYPOINT_FILE);
    match read_text_file(checker, &path)? {
        Some(text) => checker.collector.add_report(&path, &read_entrypoint("", &text).1),
        None => {
            let message = "`SKILLBAG.md` is missing";
            let help = "run `sp bag init` to create it";
            report_file_error(checker, root, &SB_01, message, help);
        }
    }
    for name in [CONTEXT_FILE, USER_CONTEXT_FILE, ENTRYPOINT_FILE] {
        if let Some(text) = read_text_file(checker, &root.join(name))? {
            checker
                .collector
                .add_report(&root.join(name), &read_context("", &text, &checker.session.limits).1);
        }
    }
    if root.join(USER_CONTEXT_FILE).is_file()
        && is_tracked(checker.session.context, root, USER_CONTEXT_FILE)?
    {
        let mut report = Report::new("", "");
        report
            .whole_file(Severity::Warning, &SB_01, "the file is tracked by git")
            .help("run `git rm --cached USER_CONTEXT.md`, and add the name to `.gitignore`");
        checker.collector.add_report(&root.join(USER_CONTEXT_FILE), &report);
    }
    check_dependencies(checker, root, skills)
}

/// Checks that each dependency is present or has a source, and that there are no cycles.
fn check_dependencies(checker: &Checker<'_>, root: &Path, skills: &[WorkspaceSkill]) -> Result<()> {
    let here: BTreeMap<&str, &WorkspaceSkill> =
        skills.iter().map(|skill| (skill.name.as_str(), skill)).collect();
    for skill in skills {
        let mut report = Report::new("", skill.text.as_str());
        for need in &skill.dependencies {
            let name = need.name.as_str();
            if !here.contains_key(name) && need.source.is_none() {
                let message = format!("`{name}` is not in the workspace and has no source");
                let finding = if need.required {
                    report.error(&SB_11, need.span.clone(), message)
                } else {
                    report.warning(&SB_11, need.span.clone(), message)
                };
                finding
                    .help(format!("add `source: …`, or run `sp bag add {name} --source <source>`"));
            }
            if depends_on(&here, name, skill.name.as_str()) {
                report
                    .error(
                        &SB_11,
                        need.span.clone(),
                        format!("circular dependency: `{name}` requires `{}`", skill.name),
                    )
                    .help("remove one of these dependencies");
            }
        }
        checker
            .collector
            .add_report(&root.join(SKILLS_DIR).join(skill.name.as_str()).join(SKILL_FILE), &report);
    }
    Ok(())
}

/// Whether `from` is `to` or depends on it, directly or indirectly.
fn depends_on(here: &BTreeMap<&str, &WorkspaceSkill>, from: &str, to: &str) -> bool {
    let mut pending = vec![from];
    let mut seen = std::collections::BTreeSet::new();
    while let Some(name) = pending.pop() {
        if name == to {
            return true;
        }
        if let (true, Some(skill)) = (seen.insert(name), here.get(name)) {
            pending.extend(skill.dependencies.iter().map(|need| need.name.as_str()));
        }
    }
    false
}

fn check_catalog_file(
    checker: &Checker<'_>,
    root: &Path,
    skills: &[WorkspaceSkill],
    CatalogCheck { is_source, can_regenerate }: CatalogCheck,
) -> Result<()> {
    let dir = root.join(SKILLS_DIR);
    if !dir.is_dir() {
        return Ok(());
    }
    let path = dir.join(CATALOG_FILE);
    let Some(text) = read_text_file(checker, &path)? else {
        let rule = if is_source { &SB_12 } else { &SB_01 };
        let message = "`.skills/SKILLS.md` is missing";
        report_file_error(checker, &dir, rule, message, "run `sp bag sync` to create it");
        return Ok(());
    };
    let (catalog, mut report) = read_catalog("", &text);
    let lines: Vec<_> = skills.iter().map(WorkspaceSkill::catalog_line).collect();
    check_catalog(&catalog, &lines, &mut report);
    report.sort();
    // One edit fixes all findings: it regenerates the file.
    if let Some(first) = report.findings.first_mut().filter(|_| can_regenerate) {
        first.fix(0..text.len(), write_catalog(&lines));
    }
    if root.join(ENTRYPOINT_FILE).is_file() {
        check_bootstrap(&catalog, skills, &mut report);
    }
    checker.collector.add_report(&path, &report);
    Ok(())
}

fn check_bootstrap(catalog: &WorkspaceCatalog, skills: &[WorkspaceSkill], report: &mut Report) {
    let help = "run `sp check --fix` to add it";
    if !skills.iter().any(|skill| skill.name.as_str() == BOOTSTRAP_SKILL) {
        report
            .whole_file(
                Severity::Error,
                &SB_17,
                format!("the reserved skill `{BOOTSTRAP_SKILL}` is missing"),
            )
            .help(help);
    } else if let Some(line) = catalog.get(BOOTSTRAP_SKILL)
        && format!("{}: {}", line.name, line.description) != BOOTSTRAP_CATALOG_LINE
    {
        report
            .error(&SB_17, line.span.clone(), "wrong description of the reserved skill")
            .help(format!("write `{BOOTSTRAP_CATALOG_LINE}`"));
    }
}

impl CheckResults {
    /// Removes the findings about missing files that a repair of the workspace would create.
    #[must_use]
    pub fn without_missing_parts(mut self, repaired: &[RepairedFile]) -> Self {
        let creates = |path: &Path| repaired.iter().any(|file| file.path == path);
        for file in &mut self.files {
            let dir = if file.path.ends_with(SKILLS_DIR) {
                Some(&*file.path)
            } else {
                file.path.parent()
            };
            let Some(dir) = dir.map(Path::to_path_buf) else { continue };
            let catalog = creates(&dir.join(CATALOG_FILE));
            let bootstrap = creates(&dir.join(BOOTSTRAP_SKILL).join(SKILL_FILE));
            file.findings.retain(|placed| {
                let rule = placed.finding.check.id;
                let is_catalog = rule == SB_01.id || rule == SB_12.id;
                placed.location.is_some()
                    || !(catalog && is_catalog || bootstrap && rule == SB_17.id)
            });
        }
        self.files.retain(|file| !file.findings.is_empty());
        self
    }
}
