//! Everything that was found, gathered from all threads and put into order.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use sp_formats::FileFindings;
use sp_formats::output::{AuditedPackage, AuditedSkill, SkillCost};
use sp_formats::report::{LocatedFinding, Report, Severity};

use sp_tree::Digest;

use super::{AuditFacts, CheckResults, CheckStrictness};
use crate::context::{Context, Event};
use crate::error::{Error, FailureKind};

/// What was found so far.
pub(super) struct FindingCollector<'a> {
    context: &'a Context<'a>,
    collected: Mutex<CollectedFindings>,
}

#[derive(Default)]
struct CollectedFindings {
    files: BTreeMap<PathBuf, FileFindings>,
    costs: BTreeMap<PathBuf, SkillCost>,
    packs: BTreeMap<PathBuf, usize>,
    packages: BTreeSet<PathBuf>,
    context_packs: BTreeSet<PathBuf>,
    audited_skills: BTreeMap<PathBuf, AuditedSkill>,
    audited_packages: BTreeMap<PathBuf, AuditedPackage>,
    unreadable: Vec<Error>,
}

impl<'a> FindingCollector<'a> {
    pub(super) fn new(context: &'a Context<'a>) -> Self {
        Self { context, collected: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, CollectedFindings> {
        self.collected.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds what was found in a file; its text is not needed any more.
    pub(super) fn add_report(&self, path: &Path, report: &Report) {
        let fixable = report.findings.iter().any(|finding| !finding.fix.is_empty());
        let digest = fixable.then(|| Digest::of(report.text.as_bytes()));
        self.add(path, report.located_findings(), digest);
    }

    /// Adds a finding whose place in the file is known already.
    pub(super) fn add_placed(&self, path: &Path, placed: LocatedFinding) {
        self.add(path, vec![placed], None);
    }

    fn add(&self, path: &Path, placed: Vec<LocatedFinding>, digest: Option<Digest>) {
        if placed.is_empty() {
            return;
        }
        let file = || FileFindings {
            file: self.context.display_relative_path(path),
            path: path.into(),
            findings: Vec::new(),
            digest: None,
        };
        let mut gathered = self.lock();
        let file = gathered.files.entry(path.into()).or_insert_with(file);
        file.findings.extend(placed);
        file.digest = file.digest.or(digest);
    }

    /// Adds a skill that was checked.
    pub(super) fn add_skill(&self, dir: &Path, cost: SkillCost) {
        let mut gathered = self.lock();
        gathered.costs.insert(dir.into(), cost);
        let done = gathered.costs.len();
        drop(gathered);
        if done.is_multiple_of(64) {
            self.context.emit(Event::Checking { done });
        }
    }

    /// Adds a pack that was checked, and how many of its imports were not looked at.
    pub(super) fn add_pack(&self, file: &Path, imports_left: usize) {
        self.lock().packs.insert(file.into(), imports_left);
    }

    /// Adds a context pack that was checked.
    pub(super) fn add_context_pack(&self, file: &Path) {
        self.lock().context_packs.insert(file.into());
    }

    /// Adds a package that was checked.
    pub(super) fn add_package(&self, file: &Path) {
        self.lock().packages.insert(file.into());
    }

    /// Adds what a skill brings, asks for and names.
    pub(super) fn add_audited_skill(&self, skill: AuditedSkill) {
        self.lock().audited_skills.insert(skill.path.clone(), skill);
    }

    /// Adds who signed a package.
    pub(super) fn add_audited_package(&self, package: AuditedPackage) {
        self.lock().audited_packages.insert(package.path.clone(), package);
    }

    /// Adds something that could not be read.
    pub(super) fn add_unreadable(&self, error: Error) {
        // Whatever the reason, to a check it is data that cannot be read.
        self.lock().unreadable.push(Error { kind: FailureKind::Data, ..error });
    }

    /// Adds something on the web that could not be had: the network is to blame, or the data that came.
    pub(super) fn add_unreachable(&self, error: Error) {
        self.lock().unreadable.push(error);
    }

    pub(super) fn finish(self, strictness: CheckStrictness) -> CheckResults {
        let gathered = self.collected.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut files: Vec<FileFindings> = gathered.files.into_values().collect();
        for file in &mut files {
            for placed in &mut file.findings {
                if strictness == CheckStrictness::Strict
                    && placed.finding.severity == Severity::Warning
                {
                    placed.finding.severity = Severity::Error;
                }
            }
            file.sort();
            // A file that two paths of the request lead to is told once.
            file.findings.dedup();
        }
        let mut unreadable = gathered.unreadable;
        unreadable.sort_by(|a, b| a.message.cmp(&b.message));
        CheckResults {
            files,
            skills: gathered.costs.len(),
            packs: gathered.packs.len(),
            packages: gathered.packages.len(),
            context_packs: gathered.context_packs.len(),
            imports_left: gathered.packs.values().sum(),
            costs: gathered.costs.into_values().collect(),
            facts: AuditFacts {
                skills: gathered.audited_skills.into_values().collect(),
                packages: gathered.audited_packages.into_values().collect(),
            },
            unreadable,
        }
    }
}
