//! `sp check`: recognises what it is given by its files, and reports every problem in it.
//!
//! A format that `sp` knows is one module here and one line in [`FORMATS`]. It reads with the
//! same functions that installing uses; what is checked besides stands beside them.

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
use crate::error::{Error, FailureKind, Result};
use crate::session::Session;
use crate::token_counter::TokenCounter;
use collector::FindingCollector;
use fix::FileDrafts;
use target::CheckTarget;

/// What is asked of a check.
#[derive(Debug, Clone)]
pub struct CheckRequest {
    /// What to check; nothing means what the current directory is in.
    pub paths: Vec<PathBuf>,
    /// The repository, where it is not the nearest upward.
    pub root: Option<PathBuf>,
    /// Whether warnings count as errors.
    pub strictness: CheckStrictness,
    /// Whether what packs import is looked at too.
    pub imports: ImportPolicy,
}

/// Whether warnings count as errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckStrictness {
    /// They are warnings.
    Lenient,
    /// They are errors.
    Strict,
}

/// Whether what packs import is looked at too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImportPolicy {
    /// It is left alone: nothing is fetched.
    Skip,
    /// It is fetched, and patterns are held against it.
    Fetch,
}

/// What a check found.
#[derive(Debug, Default)]
pub struct CheckResults {
    /// The files in which something was found, sorted by name.
    pub files: Vec<FileFindings>,
    /// How many skills were checked.
    pub skills: usize,
    /// How many packs were checked.
    pub packs: usize,
    /// How many packages were checked.
    pub packages: usize,
    /// How many context packs were checked.
    pub context_packs: usize,
    /// How many imports were not looked at.
    pub imports_left: usize,
    /// What each skill costs, in the order of their paths.
    pub costs: Vec<SkillCost>,
    /// What should be known before it is trusted, if that was asked for.
    pub facts: AuditFacts,
    /// What could not be read at all.
    pub unreadable: Vec<Error>,
}

/// What should be known before skills and packages are trusted.
#[derive(Debug, Default)]
pub struct AuditFacts {
    /// What each skill brings, asks for and names, in the order of their paths.
    pub skills: Vec<AuditedSkill>,
    /// Who signed each package, in the order of their paths.
    pub packages: Vec<AuditedPackage>,
}

/// Whether facts are gathered besides the findings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CheckMode {
    FindingsOnly,
    WithFacts,
}

impl CheckResults {
    /// How many findings there are of a severity.
    pub fn count(&self, severity: Severity) -> usize {
        let findings = self.files.iter().flat_map(|file| &file.findings);
        findings.filter(|placed| placed.finding.severity == severity).count()
    }

    /// How many findings there are.
    pub fn finding_count(&self) -> usize {
        self.files.iter().map(|file| file.findings.len()).sum()
    }

    /// How many findings can be mended without a thought.
    pub fn fixable_count(&self) -> usize {
        let findings = self.files.iter().flat_map(|file| &file.findings);
        findings.filter(|placed| !placed.finding.fix.is_empty()).count()
    }
}

/// Something that `sp check` can recognise.
trait CheckableFormat: Sync {
    /// Whether it is at this place.
    fn matches(&self, place: &CheckTarget) -> bool;
    /// Reports everything about it.
    fn check(&self, checker: &Checker<'_>, place: &CheckTarget) -> Result<()>;
}

/// Everything that can be recognised, the most particular first.
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

/// What the formats share while they check.
struct Checker<'a> {
    session: &'a Session<'a>,
    request: &'a CheckRequest,
    tokens: &'a TokenCounter<'a>,
    /// Texts that are to be written, and count as if they were.
    drafts: &'a FileDrafts,
    collector: FindingCollector<'a>,
    mode: CheckMode,
}

/// Checks what the request names.
pub fn check(context: &Context<'_>, request: &CheckRequest) -> Result<CheckResults> {
    let session = Session::begin(context)?;
    let tokens = TokenCounter::open(context);
    let checked = check_with(&session, request, &tokens, &FileDrafts::default());
    tokens.store();
    checked
}

/// Checks what the request names, and gathers the facts on the way.
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

/// What the skills at each place cost. What cannot be read is told; it is an error if it is all there is.
pub(crate) fn skill_costs(
    session: &Session<'_>,
    request: &CheckRequest,
    tokens: &TokenCounter<'_>,
) -> Result<Vec<(PathBuf, Vec<SkillCost>)>> {
    let cost_of = |place: CheckTarget| {
        place.require_local("`sp context show <address>` counts the tokens of a context pack")?;
        let request = CheckRequest { paths: vec![place.path.clone()], ..request.clone() };
        let checked = check_with(session, &request, tokens, &FileDrafts::default())?;
        let mut unreadable = checked.unreadable.into_iter();
        if checked.costs.is_empty()
            && let Some(error) = unreadable.next()
        {
            return Err(error);
        }
        unreadable.for_each(|error| session.context.emit(Event::Warning(error.to_string())));
        Ok((place.path, checked.costs))
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
    let places = target::resolve_targets(checker.session.context, checker.request)?;
    places.par_iter().for_each(|place| match (check_target(&checker, place), &place.address) {
        (Ok(()), _) => {}
        (Err(error), Some(_)) => checker.collector.add_unreachable(error),
        (Err(error), None) => checker.collector.add_unreadable(error),
    });
    // What was not looked at any more must not pass for what cannot be read.
    checker.session.context.check_cancelled()?;
    Ok(checker.collector.finish(checker.request.strictness))
}

fn check_target(checker: &Checker<'_>, place: &CheckTarget) -> Result<()> {
    let context = checker.session.context;
    if let Some(address) = &place.address {
        return context_pack::check_address(checker, address);
    }
    place.require_exists(context)?;
    package::check_packages_in(checker, place)?;
    match FORMATS.iter().find(|format| format.matches(place)) {
        Some(format) => format.check(checker, place),
        None => Err(Error::new(
            FailureKind::Data,
            format!("there is nothing to check in `{}`", context.display_relative_path(&place.path)),
        )
        .hint(
            "name a skill's folder, a pack file, a package, a context pack, or a directory with `skills/` or `packs/`",
        )),
    }
}
