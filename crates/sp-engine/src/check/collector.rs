//! Collects findings from all threads, and sorts them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use sp_formats::FileFindings;
use sp_formats::output::{AuditedPackage, AuditedSkill, CountedKind, SkillCost};
use sp_formats::report::{LocatedFinding, Report, Severity};

use sp_tree::Digest;

use super::{AcceptedCounts, AuditFacts, CheckResults, CheckStrictness, UnreadableTarget};
use crate::context::{Context, Event};
use crate::error::{Error, FailureKind};

/// Collects the results of a check.
pub(super) struct FindingCollector<'a> {
    context: &'a Context<'a>,
    collected: Mutex<CollectedFindings>,
}

#[derive(Default)]
struct CollectedFindings {
    files: BTreeMap<PathBuf, FileFindings>,
    /// The checked items by the key of their kind.
    items: BTreeMap<&'static str, BTreeSet<PathBuf>>,
    costs: BTreeMap<PathBuf, SkillCost>,
    /// The number of skipped imports by pack.
    skipped_imports: BTreeMap<PathBuf, usize>,
    /// Skills that were only counted.
    skipped_skills: BTreeSet<PathBuf>,
    audited_skills: BTreeMap<PathBuf, AuditedSkill>,
    audited_packages: BTreeMap<PathBuf, AuditedPackage>,
    unreadable: Vec<UnreadableTarget>,
}

impl<'a> FindingCollector<'a> {
    pub(super) fn new(context: &'a Context<'a>) -> Self {
        Self { context, collected: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, CollectedFindings> {
        self.collected.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds the findings in a file.
    pub(super) fn add_report(&self, path: &Path, report: &Report) {
        let fixable = report.findings.iter().any(|finding| !finding.fix.is_empty());
        let digest = fixable.then(|| Digest::of(report.text.as_bytes()));
        self.add(path, report.located_findings(), digest);
    }

    /// Adds a finding with its location.
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
        let mut collected = self.lock();
        let file = collected.files.entry(path.into()).or_insert_with(file);
        file.findings.extend(placed);
        file.digest = file.digest.or(digest);
    }

    /// Adds a checked item. An item that several targets contain is counted once.
    pub(super) fn add_item(&self, kind: CountedKind, path: &Path) {
        self.lock().items.entry(kind.key).or_default().insert(path.into());
    }

    /// Adds the cost of a checked skill.
    pub(super) fn add_cost(&self, dir: &Path, cost: SkillCost) {
        let mut collected = self.lock();
        collected.costs.insert(dir.into(), cost);
        let done = collected.costs.len();
        drop(collected);
        if done.is_multiple_of(64) {
            self.context.emit(Event::Checking { done });
        }
    }

    /// Adds the number of imports of a pack that were skipped.
    pub(super) fn add_skipped_imports(&self, pack: &Path, imports: usize) {
        self.lock().skipped_imports.insert(pack.into(), imports);
    }

    /// Adds a skill that is not checked unless its directory is named.
    pub(super) fn add_skipped_skill(&self, dir: &Path) {
        self.lock().skipped_skills.insert(dir.into());
    }

    pub(super) fn add_audited_skill(&self, skill: AuditedSkill) {
        self.lock().audited_skills.insert(skill.path.clone(), skill);
    }

    pub(super) fn add_audited_package(&self, package: AuditedPackage) {
        self.lock().audited_packages.insert(package.path.clone(), package);
    }

    /// Adds a local target that could not be read. For a check, that is always invalid data.
    pub(super) fn add_unreadable(&self, error: Error) {
        self.lock().unreadable.push(UnreadableTarget { error, kind: FailureKind::Data });
    }

    /// Adds a remote target that could not be read: the network may have failed.
    pub(super) fn add_unreachable(&self, error: Error) {
        let kind = error.kind();
        self.lock().unreadable.push(UnreadableTarget { error, kind });
    }

    pub(super) fn finish(self, strictness: CheckStrictness) -> CheckResults {
        let collected = self.collected.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut files: Vec<FileFindings> = collected.files.into_values().collect();
        for file in &mut files {
            for placed in &mut file.findings {
                if strictness == CheckStrictness::Strict
                    && placed.finding.severity == Severity::Warning
                {
                    placed.finding.severity = Severity::Error;
                }
            }
            file.sort();
            // Two targets may contain the same file.
            file.findings.dedup();
        }
        let is_checked = |dir: &PathBuf| collected.costs.contains_key(dir);
        let mut skills_left: BTreeMap<PathBuf, usize> = BTreeMap::new();
        for dir in collected.skipped_skills.iter().filter(|dir| !is_checked(dir)) {
            *skills_left.entry(dir.parent().unwrap_or(dir).into()).or_default() += 1;
        }
        let mut unreadable = collected.unreadable;
        unreadable.sort_by(|a, b| a.error.message.cmp(&b.error.message));
        CheckResults {
            files,
            items: collected.items.into_iter().map(|(key, paths)| (key, paths.len())).collect(),
            imports_left: collected.skipped_imports.values().sum(),
            skills_left,
            accepted: AcceptedCounts::default(),
            costs: collected.costs.into_values().collect(),
            facts: AuditFacts {
                skills: collected.audited_skills.into_values().collect(),
                packages: collected.audited_packages.into_values().collect(),
            },
            unreadable,
        }
    }
}
