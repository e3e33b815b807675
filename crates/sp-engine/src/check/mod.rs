//! `sp check`: detects the format of its targets, and reports every problem in them.
//!
//! Each format is a [`Format`](format::Format) in the list of [`formats`]. It reads with the same
//! functions as an install; checks that an install does not need are in its module.
//!
//! A check never fails because of findings. Files that cannot be read at all are collected in
//! [`CheckResults::unreadable`], so that everything else is still checked. [`fix`] applies the
//! edits that findings suggest.

mod accept_file;
mod acceptance;
mod baseline;
mod collector;
mod config;
mod context_pack;
mod discover;
mod fix;
mod format;
mod formats;
mod hidden;
mod loaded_skill;
mod pack;
mod package;
mod policy_file;
mod project_files;
mod report;
mod repository;
mod resolve;
mod skill;
mod skill_audit;
mod skill_checks;
mod skillpacks;
mod skills_below;
mod target;
mod watch;
mod workspace;

use std::collections::BTreeMap;
use std::path::PathBuf;

use rayon::prelude::*;
use sp_formats::FileFindings;
use sp_formats::output::{AuditedPackage, AuditedSkill, SkillCost};
use sp_formats::report::Severity;
use sp_formats::skill::SKILL_FILE;

pub use baseline::write_baseline;
pub use fix::{
    FixResults, FixedFile, WorkspaceRepairs, confirm_fixes, fix, fix_if_confirmed,
    repair_workspaces,
};
pub use formats::{check_rules, check_targets_help, find_check_rule, rule_sets};
pub(crate) use loaded_skill::{InspectedSkill, SkillInspector};
pub use watch::{CheckWatcher, watch};

use crate::context::{Context, Event};
use crate::error::{Error, ErrorCode, FailureKind, Result};
use crate::session::Session;
use crate::token_counter::TokenCounter;
use acceptance::Acceptance;
use collector::FindingCollector;
use discover::is_misnamed_skill_file;
use fix::FileDrafts;
use formats::{detect, files_in};
use resolve::resolve_targets;
use target::CheckTarget;

/// What to check, and how.
#[derive(Debug, Clone)]
pub struct CheckRequest {
    /// The targets. If empty, the skill, repository or workspace that contains the current
    /// directory.
    pub paths: Vec<PathBuf>,
    /// The repository given with `--root`. By default, the nearest one upward.
    pub root: Option<PathBuf>,
    pub strictness: CheckStrictness,
    pub imports: ImportPolicy,
    /// A file with findings that are not reported.
    pub baseline: Option<PathBuf>,
}

/// Whether warnings count as errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckStrictness {
    Lenient,
    Strict,
}

/// Whether the imports of packs are checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImportPolicy {
    /// Fetch nothing, and skip the patterns of imports.
    Skip,
    /// Fetch imports, and match their patterns.
    Fetch,
}

/// The results of a check.
#[derive(Debug, Default)]
pub struct CheckResults {
    /// The files with findings, sorted by path.
    pub files: Vec<FileFindings>,
    /// The number of checked items by the key of their kind. A kind without items may be missing;
    /// [`checked_counts`](Self::checked_counts) has it.
    pub items: BTreeMap<&'static str, usize>,
    /// The number of skipped imports.
    pub imports_left: usize,
    /// The number of skills that were not checked, by the directory that contains them.
    pub skills_left: BTreeMap<PathBuf, usize>,
    /// The token cost of each skill, sorted by path.
    pub costs: Vec<SkillCost>,
    /// The facts for an audit. Empty for a check.
    pub facts: AuditFacts,
    /// Findings that were left out because the project accepts them.
    pub accepted: AcceptedCounts,
    /// Why files or targets could not be read.
    pub unreadable: Vec<UnreadableTarget>,
}

/// The number of findings that were left out, by what accepts them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AcceptedCounts {
    /// By `skillpack-accept.yaml`.
    pub by_file: usize,
    /// By comments in the project's own skills.
    pub by_comments: usize,
    pub by_baseline: usize,
}

impl AcceptedCounts {
    pub fn total(self) -> usize {
        self.by_file + self.by_comments + self.by_baseline
    }
}

/// A file or target that could not be read.
#[derive(Debug)]
pub struct UnreadableTarget {
    pub error: Error,
    /// The kind of failure that it is for the check.
    pub kind: FailureKind,
}

/// Facts about skills and packages that an audit reports.
#[derive(Debug, Default)]
pub struct AuditFacts {
    /// The content and permissions of each skill, sorted by path.
    pub skills: Vec<AuditedSkill>,
    /// The signer of each package, sorted by path.
    pub packages: Vec<AuditedPackage>,
}

/// Whether facts are collected in addition to findings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CheckMode {
    FindingsOnly,
    WithFacts,
}

impl CheckResults {
    /// Adds the results of other targets.
    pub(crate) fn add(&mut self, other: Self) {
        self.files.extend(other.files);
        for (kind, count) in other.items {
            *self.items.entry(kind).or_default() += count;
        }
        self.facts.skills.extend(other.facts.skills);
        self.facts.packages.extend(other.facts.packages);
        self.unreadable.extend(other.unreadable);
        self.accepted.by_file += other.accepted.by_file;
        self.accepted.by_comments += other.accepted.by_comments;
        self.accepted.by_baseline += other.accepted.by_baseline;
    }

    /// Returns the number of findings of a severity.
    pub fn count(&self, severity: Severity) -> usize {
        let findings = self.files.iter().flat_map(|file| &file.findings);
        findings.filter(|placed| placed.finding.severity == severity).count()
    }

    pub fn finding_count(&self) -> usize {
        self.files.iter().map(|file| file.findings.len()).sum()
    }

    /// Returns the number of findings that [`fix`] can fix.
    pub fn fixable_count(&self) -> usize {
        let findings = self.files.iter().flat_map(|file| &file.findings);
        findings.filter(|placed| !placed.finding.fix.is_empty()).count()
    }
}

/// The state that all formats share during a check.
struct Checker<'a> {
    session: &'a Session<'a>,
    request: &'a CheckRequest,
    tokens: &'a TokenCounter<'a>,
    /// Fixed texts that are not written yet, and are checked in place of the files.
    drafts: &'a FileDrafts,
    collector: FindingCollector<'a>,
    mode: CheckMode,
}

/// Checks the targets of the request.
pub fn check(context: &Context<'_>, request: &CheckRequest) -> Result<CheckResults> {
    let session = Session::begin(context)?;
    let tokens = TokenCounter::open(context);
    let checked = check_with(&session, request, &tokens, &FileDrafts::default());
    tokens.store();
    checked
}

/// Checks the targets of the request, and collects facts for an audit.
pub(crate) fn check_with_facts(
    session: &Session<'_>,
    request: &CheckRequest,
) -> Result<CheckResults> {
    let tokens = TokenCounter::open(session.context);
    let drafts = FileDrafts::default();
    let mut checker = Checker::new(session, request, &tokens, &drafts);
    checker.mode = CheckMode::WithFacts;
    let checked = check_targets(checker);
    tokens.store();
    checked
}

/// Returns the token cost of the skills at each target.
///
/// Unreadable files are emitted as warnings. It is an error if a target has nothing else.
pub(crate) fn skill_costs(
    session: &Session<'_>,
    request: &CheckRequest,
    tokens: &TokenCounter<'_>,
) -> Result<Vec<(PathBuf, Vec<SkillCost>)>> {
    let cost_of = |target: CheckTarget| {
        target
            .require_local("run `sp context show <URL>` to count the tokens of a context pack")?;
        let request = CheckRequest { paths: vec![target.path.clone()], ..request.clone() };
        let checked = check_with(session, &request, tokens, &FileDrafts::default())?;
        let mut unreadable = checked.unreadable.into_iter();
        if checked.costs.is_empty()
            && let Some(target) = unreadable.next()
        {
            let is_same_kind = target.error.kind() == target.kind;
            let unreadable = |error: Error| error.with_code(ErrorCode::UnreadableFile);
            return Err(if is_same_kind { target.error } else { unreadable(target.error) });
        }
        unreadable
            .for_each(|target| session.context.emit(Event::Warning(target.error.to_string())));
        Ok((target.path, checked.costs))
    };
    resolve_targets(session.context, request)?.into_iter().map(cost_of).collect()
}

fn check_with(
    session: &Session<'_>,
    request: &CheckRequest,
    tokens: &TokenCounter<'_>,
    drafts: &FileDrafts,
) -> Result<CheckResults> {
    check_targets(Checker::new(session, request, tokens, drafts))
}

impl<'a> Checker<'a> {
    fn new(
        session: &'a Session<'a>,
        request: &'a CheckRequest,
        tokens: &'a TokenCounter<'a>,
        drafts: &'a FileDrafts,
    ) -> Self {
        let collector = FindingCollector::new(session.context);
        Self { session, request, tokens, drafts, collector, mode: CheckMode::FindingsOnly }
    }
}

fn check_targets(checker: Checker<'_>) -> Result<CheckResults> {
    let targets = resolve_targets(checker.session.context, checker.request)?;
    targets.par_iter().for_each(|target| match (check_target(&checker, target), &target.address) {
        (Ok(()), _) => {}
        (Err(error), Some(_)) => checker.collector.add_unreachable(error),
        (Err(error), None) => checker.collector.add_unreadable(error),
    });
    // After cancellation, targets fail and look unreadable.
    checker.session.context.check_cancelled()?;
    let Checker { session, request, drafts, mode, collector, .. } = checker;
    let mut results = collector.finish(request.strictness);
    Acceptance { session, request, drafts, mode }.apply(&targets, &mut results)?;
    Ok(results)
}

/// Checks a target, and the files of any format that lie in it.
fn check_target(checker: &Checker<'_>, target: &CheckTarget) -> Result<()> {
    let context = checker.session.context;
    target.require_exists(context)?;
    let files = if target.is_dir() { files_in(&target.path) } else { Vec::new() };
    let has_files = !files.is_empty();
    files.into_iter().map(CheckTarget::new).try_for_each(|file| check_detected(checker, &file))?;
    match check_detected(checker, target) {
        // Its files were something to check.
        Err(error) if has_files && error.has_code(ErrorCode::NothingToCheck) => Ok(()),
        checked => checked,
    }
}

fn check_detected(checker: &Checker<'_>, target: &CheckTarget) -> Result<()> {
    let Some(form) = detect(target) else {
        let path = checker.session.context.display_relative_path(&target.path);
        let error = Error::new(ErrorCode::NothingToCheck, format!("nothing to check in `{path}`"));
        return Err(error.hint(if is_misnamed_skill_file(&target.path) {
            format!("rename the file to `{SKILL_FILE}`")
        } else {
            format!("name {}", check_targets_help())
        }));
    };
    (form.check)(checker, target)
}
