//! `sp check`: recognises what it is given by its files, and reports every problem in it.
//!
//! A format that `sp` knows is one module here and one line in [`FORMATS`]. It reads with the
//! same functions that installing uses; what is checked besides stands beside them.

mod bag;
mod config;
mod context_pack;
mod findings;
mod fix;
mod hidden;
mod pack;
mod package;
mod place;
mod repo;
mod report;
mod skill;
mod watch;

use std::path::PathBuf;

use rayon::prelude::*;
use sp_formats::FileFindings;
use sp_formats::output::{AuditedPackage, AuditedSkill, SkillCost};
use sp_formats::report::Severity;

pub use fix::{Fixed, FixedFile, fix};
pub use watch::{Watch, watch};

use crate::config::Session;
use crate::context::{Context, Event};
use crate::error::{Error, Kind, Result};
use crate::tokens::Tokens;
use findings::Findings;
use fix::Drafts;
use place::Place;

/// What is asked of a check.
#[derive(Debug, Clone)]
pub struct CheckRequest {
    /// What to check; nothing means what the current directory is in.
    pub paths: Vec<PathBuf>,
    /// The repository, where it is not the nearest upward.
    pub root: Option<PathBuf>,
    /// Whether warnings count as errors.
    pub strictness: Strictness,
    /// Whether what packs import is looked at too.
    pub imports: Imports,
}

/// Whether warnings count as errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strictness {
    /// They are warnings.
    Lenient,
    /// They are errors.
    Strict,
}

/// Whether what packs import is looked at too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Imports {
    /// It is left alone: nothing is fetched.
    Leave,
    /// It is fetched, and patterns are held against it.
    Fetch,
}

/// What a check found.
#[derive(Debug, Default)]
pub struct Checked {
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
    pub facts: Facts,
    /// What could not be read at all.
    pub unreadable: Vec<Error>,
}

/// What should be known before skills and packages are trusted.
#[derive(Debug, Default)]
pub struct Facts {
    /// What each skill brings, asks for and names, in the order of their paths.
    pub skills: Vec<AuditedSkill>,
    /// Who signed each package, in the order of their paths.
    pub packages: Vec<AuditedPackage>,
}

/// Whether facts are gathered besides the findings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Gathering {
    Findings,
    Facts,
}

impl Checked {
    /// How many findings there are of a severity.
    pub fn count(&self, severity: Severity) -> usize {
        let findings = self.files.iter().flat_map(|file| &file.findings);
        findings.filter(|placed| placed.finding.severity == severity).count()
    }

    /// How many findings there are.
    pub fn findings(&self) -> usize {
        self.files.iter().map(|file| file.findings.len()).sum()
    }

    /// How many findings can be mended without a thought.
    pub fn fixable(&self) -> usize {
        let findings = self.files.iter().flat_map(|file| &file.findings);
        findings.filter(|placed| !placed.finding.fix.is_empty()).count()
    }
}

/// Something that `sp check` can recognise.
trait Format: Sync {
    /// Whether it is at this place.
    fn is_at(&self, place: &Place) -> bool;
    /// Reports everything about it.
    fn check(&self, checker: &Checker<'_>, place: &Place) -> Result<()>;
}

/// Everything that can be recognised, the most particular first.
const FORMATS: &[&dyn Format] = &[
    &package::PackageFile,
    &config::ConfigFile,
    &pack::PackFile,
    &skill::OneSkill,
    &context_pack::ContextPackAt,
    &bag::Bag,
    &repo::Repo,
    &repo::SkillFolder,
];

/// What the formats share while they check.
struct Checker<'a> {
    session: &'a Session<'a>,
    request: &'a CheckRequest,
    tokens: &'a Tokens<'a>,
    /// Texts that are to be written, and count as if they were.
    drafts: &'a Drafts,
    findings: Findings<'a>,
    gathering: Gathering,
}

/// Checks what the request names.
pub fn check(context: &Context<'_>, request: &CheckRequest) -> Result<Checked> {
    let session = Session::begin(context)?;
    let tokens = Tokens::open(context);
    let checked = check_with(&session, request, &tokens, &Drafts::default());
    tokens.store();
    checked
}

/// Checks what the request names, and gathers the facts on the way.
pub(crate) fn check_and_gather(session: &Session<'_>, request: &CheckRequest) -> Result<Checked> {
    let tokens = Tokens::open(session.context);
    let drafts = Drafts::default();
    let findings = Findings::new(session.context);
    let checker = Checker { session, request, tokens: &tokens, drafts: &drafts, findings, gathering: Gathering::Facts };
    let checked = check_places(checker);
    tokens.store();
    checked
}

/// What the skills at each place cost. What cannot be read is told; it is an error if it is all there is.
pub(crate) fn costs(
    session: &Session<'_>,
    request: &CheckRequest,
    tokens: &Tokens<'_>,
) -> Result<Vec<(PathBuf, Vec<SkillCost>)>> {
    let cost_of = |place: Place| {
        place.must_be_here("`sp context show <address>` counts the tokens of a context pack")?;
        let request = CheckRequest { paths: vec![place.path.clone()], ..request.clone() };
        let checked = check_with(session, &request, tokens, &Drafts::default())?;
        let mut unreadable = checked.unreadable.into_iter();
        if checked.costs.is_empty()
            && let Some(error) = unreadable.next()
        {
            return Err(error);
        }
        unreadable.for_each(|error| session.context.tell(Event::Warning(error.to_string())));
        Ok((place.path, checked.costs))
    };
    place::places(session.context, request)?.into_iter().map(cost_of).collect()
}

fn check_with(session: &Session<'_>, request: &CheckRequest, tokens: &Tokens<'_>, drafts: &Drafts) -> Result<Checked> {
    let findings = Findings::new(session.context);
    check_places(Checker { session, request, tokens, drafts, findings, gathering: Gathering::Findings })
}

fn check_places(checker: Checker<'_>) -> Result<Checked> {
    let places = place::places(checker.session.context, checker.request)?;
    places.par_iter().for_each(|place| match (check_place(&checker, place), &place.address) {
        (Ok(()), _) => {}
        (Err(error), Some(_)) => checker.findings.unreachable(error),
        (Err(error), None) => checker.findings.unreadable(error),
    });
    // What was not looked at any more must not pass for what cannot be read.
    checker.session.context.go_on()?;
    Ok(checker.findings.finish(checker.request.strictness))
}

fn check_place(checker: &Checker<'_>, place: &Place) -> Result<()> {
    let context = checker.session.context;
    if let Some(address) = &place.address {
        return context_pack::check_address(checker, address);
    }
    place.must_exist(context)?;
    package::check_folder(checker, place)?;
    match FORMATS.iter().find(|format| format.is_at(place)) {
        Some(format) => format.check(checker, place),
        None => Err(Error::new(
            Kind::Data,
            format!("there is nothing to check in `{}`", context.show_near(&place.path)),
        )
        .hint(
            "name a skill's folder, a pack file, a package, a context pack, or a directory with `skills/` or `packs/`",
        )),
    }
}
