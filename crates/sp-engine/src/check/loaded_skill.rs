//! Inspecting a skill in memory, before it is installed: what `sp check` and `sp audit` report
//! about it, and what it costs.

use std::collections::HashSet;

use sp_analyze::hidden::check_name;
use sp_formats::output::{AuditedSkill, FindingItem, SkillCost};
use sp_formats::report::{Report, Severity};
use sp_formats::skill::{
    self, OutsideFile, ReferencingFile, SKILL_FILE, SkillFiles, SkillMetadata, check_body_size,
    check_markdown,
};
use sp_tree::{Limits, LoadedTree, RelPath};

use super::hidden::check_description_escapes;
use crate::content_audit::{
    AuditCache, AuditFiles, audit_loaded_tree, finding_reports, to_audited_skill,
};
use crate::token_counter::TokenCounter;

/// What is known about a skill before it is installed.
pub(crate) struct InspectedSkill {
    pub cost: SkillCost,
    pub findings: Vec<FindingItem>,
    pub facts: AuditedSkill,
}

/// Inspects skills.
pub(crate) struct SkillInspector<'a> {
    pub tokens: &'a TokenCounter<'a>,
    pub limits: &'a Limits,
    pub audits: &'a AuditCache<'a>,
}

/// A skill while it is inspected.
struct SkillInspection<'s> {
    id: &'s str,
    files: Vec<&'s str>,
    all: HashSet<&'s str>,
    reports: Vec<Report>,
}

impl SkillInspector<'_> {
    /// Inspects the skill with this ID, which will be installed as `folder`.
    pub(crate) fn inspect(&self, id: &str, folder: &str, tree: &LoadedTree) -> InspectedSkill {
        let files: Vec<&str> = tree.files().map(|(path, _, _)| path.as_str()).collect();
        let dirs = tree.dirs().map(RelPath::as_str);
        let all = files.iter().copied().chain(dirs).collect();
        let mut inspection = SkillInspection { id, files, all, reports: Vec::new() };
        let bytes = tree.get(SKILL_FILE).unwrap_or_default();
        let label = format!("{id}/{SKILL_FILE}");
        let (skill, mut report) = skill::read(&label, folder, bytes, self.limits);
        let skill = skill.unwrap_or_default();
        let text = std::str::from_utf8(bytes).unwrap_or_default();
        let mut cost = self.cost(id, text, &skill);
        if !text.is_empty() {
            check_description_escapes(&skill, text, &mut report);
            check_body_size(&(skill.body_start..text.len()), cost.body, &mut report);
            inspection.check_references(text, skill.body_start, "", &mut report);
        }
        inspection.reports.push(report);
        for (path, _, bytes) in tree.files().filter(|it| it.0.as_str() != SKILL_FILE) {
            let text = std::str::from_utf8(bytes).ok().filter(|text| !text.contains('\0'));
            cost.files += inspection.check_file(self, path, text);
        }
        let audit = audit_loaded_tree(self.audits, tree);
        let files = AuditFiles::from_tree(tree, "");
        for (file, mut report) in finding_reports(&audit, &files) {
            report.file = format!("{id}/{file}");
            // `sp audit` lists hints.
            report.findings.retain(|finding| finding.severity > Severity::Note);
            inspection.reports.push(report);
        }
        let findings = inspection.into_findings();
        InspectedSkill { cost, findings, facts: to_audited_skill(id.into(), skill.name, &audit) }
    }

    fn cost(&self, id: &str, text: &str, skill: &SkillMetadata) -> SkillCost {
        let count = |text: Option<&String>| text.map_or(0, |text| self.tokens.count(text));
        SkillCost {
            path: id.into(),
            name: skill.name.clone(),
            always: count(skill.name.as_ref()) + count(skill.description.as_ref()),
            body: self.tokens.count(text.get(skill.body_start..).unwrap_or_default().trim()),
            files: 0,
        }
    }
}

impl SkillInspection<'_> {
    fn check_references(&self, text: &str, start: usize, dir: &str, report: &mut Report) {
        let file = if dir.is_empty() && start > 0 {
            ReferencingFile::SkillMd
        } else {
            ReferencingFile::OtherFile(dir)
        };
        let known = SkillFiles {
            names: &self.files,
            exists: &|path| self.all.contains(path),
            // The skills around it are not known before the installation.
            outside: &|_| OutsideFile::Unknown,
        };
        check_markdown(text, start, file, &known, report);
    }

    /// Checks a file beside `SKILL.md`, and returns its tokens.
    fn check_file(
        &mut self,
        inspector: &SkillInspector<'_>,
        path: &RelPath,
        text: Option<&str>,
    ) -> usize {
        let mut report = Report::new(format!("{}/{path}", self.id), text.unwrap_or_default());
        check_name(path.file_name(), &mut report);
        let Some(text) = text else {
            self.reports.push(report);
            return 0;
        };
        if path.as_str().ends_with(".md") {
            self.check_references(text, 0, path.parent().unwrap_or_default(), &mut report);
        }
        self.reports.push(report);
        inspector.tokens.count(text)
    }

    fn into_findings(self) -> Vec<FindingItem> {
        let mut items = Vec::new();
        for mut report in self.reports {
            report.sort();
            let located = report.located_findings();
            items.extend(located.iter().map(|finding| FindingItem::new(&report.file, finding)));
        }
        items
    }
}
