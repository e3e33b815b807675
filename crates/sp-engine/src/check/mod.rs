//! `sp check`: detects the format of its targets, and reports every problem in them.
//!
//! Each format is one module that implements [`CheckableFormat`] and one line in [`FORMATS`]. It
//! reads with the same functions as an install; checks that an install does not need are in the
//! module.
//!
//! A check never fails because of findings. Files that cannot be read at all are collected in
//! [`CheckResults::unreadable`], so that everything else is still checked. [`fix`] applies the
//! edits that findings suggest.

mod collector;
mod config;
mod context_pack;
mod discover;
mod fix;
mod hidden;
mod pack;
mod package;
mod report;
mod repository;
mod skill;
mod skill_checks;
mod skills_below;
mod target;
mod watch;
mod workspace;

use std::path::PathBuf;

use rayon::prelude::*;
use sp_formats::FileFindings;
use sp_formats::output::{AuditedPackage, AuditedSkill, SkillCost};
use sp_formats::report::Severity;

pub use fix::{FixResults, FixedFile, fix};
pub use watch::{CheckWatcher, watch};

use crate::context::{Context, Event};
use crate::error::{Error, ErrorCode, FailureKind, Result};
use crate::session::Session;
use crate::token_counter::TokenCounter;
use collector::FindingCollector;
use fix::FileDrafts;
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
    /// The number of checked skills.
    pub skills: usize,
    /// The number of checked packs.
    pub packs: usize,
    /// The number of checked packages.
    pub packages: usize,
    /// The number of checked context packs.
    pub context_packs: usize,
    /// The number of skipped imports.
    pub imports_left: usize,
    /// The token cost of each skill, sorted by path.
    pub costs: Vec<SkillCost>,
    /// The facts for an audit. Empty for a check.
    pub facts: AuditFacts,
    /// Why files or targets could not be read.
    pub unreadable: Vec<UnreadableTarget>,
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

/// A format that `sp check` can detect and check.
trait CheckableFormat: Sync {
    fn matches(&self, target: &CheckTarget) -> bool;
    /// Adds all findings in the target to the collector of the checker.
    fn check(&self, checker: &Checker<'_>, target: &CheckTarget) -> Result<()>;
}

/// All formats, the most specific first. The first that matches a target checks it.
const FORMATS: &[&dyn CheckableFormat] = &[
    &package::PackageFormat,
    &config::ConfigFormat,
    &pack::PackFormat,
    &skill::SkillFormat,
    &context_pack::ContextPackFormat,
    &workspace::WorkspaceFormat,
    &repository::RepositoryFormat,
    &repository::SkillFolderFormat,
];

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
    let findings = FindingCollector::new(session.context);
    let checker = Checker {
        session,
        request,
        tokens: &tokens,
        drafts: &drafts,
        collector: findings,
        mode: CheckMode::WithFacts,
    };
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
        target.require_local("`sp context show <address>` counts the tokens of a context pack")?;
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
    target::resolve_targets(session.context, request)?.into_iter().map(cost_of).collect()
}

fn check_with(
    session: &Session<'_>,
    request: &CheckRequest,
    tokens: &TokenCounter<'_>,
    drafts: &FileDrafts,
) -> Result<CheckResults> {
    let findings = FindingCollector::new(session.context);
    check_targets(Checker {
        session,
        request,
        tokens,
        drafts,
        collector: findings,
        mode: CheckMode::FindingsOnly,
    })
}

fn check_targets(checker: Checker<'_>) -> Result<CheckResults> {
    let targets = target::resolve_targets(checker.session.context, checker.request)?;
    targets.par_iter().for_each(|target| match (check_target(&checker, target), &target.address) {
        (Ok(()), _) => {}
        (Err(error), Some(_)) => checker.collector.add_unreachable(error),
        (Err(error), None) => checker.collector.add_unreadable(error),
    });
    // After cancellation, targets fail and look unreadable.
    checker.session.context.check_cancelled()?;
    Ok(checker.collector.finish(checker.request.strictness))
}

fn check_target(checker: &Checker<'_>, target: &CheckTarget) -> Result<()> {
    let context = checker.session.context;
    if let Some(address) = &target.address {
        return context_pack::check_address(checker, address);
    }
    target.require_exists(context)?;
    package::check_packages_in(checker, target)?;
    match FORMATS.iter().find(|format| format.matches(target)) {
        Some(format) => format.check(checker, target),
        None => Err(Error::new(
            ErrorCode::NothingToCheck,
            format!("there is nothing to check in `{}`", context.display_relative_path(&target.path)),
        )
        .hint(
            "name a skill's folder, a pack file, a package, a context pack, or a directory with `skills/` or `packs/`",
        )),
    }
}
