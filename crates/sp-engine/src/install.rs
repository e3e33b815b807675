//! `sp install` and `sp switch`: resolve, plan, apply.

use std::io::ErrorKind;
use std::path::PathBuf;

use sp_formats::output::{ChangeReport, KeptFolder, SinkChange};
use sp_formats::state::State;
use sp_tree::Digest;
use sp_tree::transaction::Kept;

use crate::apply::{Applied, Apply};
use crate::config::Session;
use crate::context::{Context, Event};
use crate::error::{Error, Kind, Result};
use crate::home::{Home, Indexes, read_state};
use crate::plan::{FilePlan, LocalDigests, Places, Plan, Planner, Wanted, folders_on_record};
use crate::plan_id::{Identified, PlanId};
use crate::resolve::Origin;
use crate::show::{Chosen, choose};
use crate::sinks::{Sink, SinkRequest, find, hint_place, refuse_overlap, refuse_own_dirs};
use crate::stage::Stager;

pub use crate::plan::{Others, Replace};

/// Whether a change is made or only shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Make it.
    Apply,
    /// Show it.
    DryRun,
}

/// What is to be installed where.
#[derive(Debug, Clone)]
pub struct InstallRequest {
    /// The packs, by name or path.
    pub packs: Vec<String>,
    /// The sinks.
    pub sinks: Vec<SinkRequest>,
    /// The authoring repository, if it was given.
    pub root: Option<PathBuf>,
    /// What happens to the other packs of the sinks.
    pub others: Others,
    /// Whether a pack of the same name from elsewhere may be replaced.
    pub replace: Replace,
    /// Whether it is done.
    pub mode: Mode,
    /// The plan that was shown: another is refused.
    pub plan: Option<PlanId>,
}

/// Installs packs into sinks.
pub fn install(context: &Context<'_>, request: &InstallRequest) -> Result<ChangeReport> {
    let session = Session::begin(context)?;
    let sinks = distinct(request.sinks.iter().map(|sink| find(&session, sink)).collect::<Result<_>>()?);
    let mut indexes = Indexes::new(context);
    let packs = choose_all(&session, request, &mut indexes)?;
    for (sink, chosen) in sinks.iter().flat_map(|sink| packs.iter().map(move |chosen| (sink, chosen))) {
        refuse_overlap(context, sink, &chosen.authoring)?;
    }
    let wanted = Wanted {
        packs: &packs,
        removed: Vec::new(),
        others: request.others,
        replace: request.replace,
        places: Places::Everywhere,
    };
    let terms = Terms { mode: request.mode, shown: request.plan };
    let report = change(&session, &sinks, &wanted, terms, &mut indexes)?;
    for sink in &sinks {
        if let Some(reads) = &sink.reads {
            hint_place(context, &sink.name, sink.agent.map_or(&sink.name, |agent| agent.name), reads);
        }
    }
    Ok(report)
}

fn choose_all(session: &Session<'_>, request: &InstallRequest, indexes: &mut Indexes<'_>) -> Result<Vec<Chosen>> {
    let mut packs: Vec<Chosen> = Vec::new();
    for named in &request.packs {
        let chosen = choose(session, request.root.as_deref(), named, Some(indexes))?;
        if packs.iter().any(|other| other.file.pack.name == chosen.file.pack.name) {
            return Err(Error::new(Kind::Usage, format!("the pack `{}` is named twice", chosen.file.pack.name))
                .hint("name it once"));
        }
        packs.push(chosen);
    }
    Ok(packs)
}

/// Whether a change is made, and on what condition.
#[derive(Clone, Copy)]
pub(crate) struct Terms {
    pub mode: Mode,
    /// The plan that was shown: another is refused.
    pub shown: Option<PlanId>,
}

impl From<Mode> for Terms {
    fn from(mode: Mode) -> Self {
        Self { mode, shown: None }
    }
}

/// Plans a change of sinks and, unless it is a dry run, makes it.
pub(crate) fn change(
    session: &Session<'_>,
    sinks: &[Sink],
    wanted: &Wanted<'_>,
    terms: Terms,
    indexes: &mut Indexes<'_>,
) -> Result<ChangeReport> {
    let (context, limits) = (session.context, &session.limits);
    // A dry run on a machine without a home makes none.
    let home = match terms.mode {
        Mode::DryRun if !context.home.exists() => None,
        _ => Some(Home::open(context, limits)?),
    };
    let change = Change { session, home: home.as_ref(), terms };
    Ok(change.make(sinks, wanted, Vec::new(), indexes)?.0)
}

/// A change that is about to be made, or shown.
pub(crate) struct Change<'a> {
    pub session: &'a Session<'a>,
    /// The home, if there is one.
    pub home: Option<&'a Home<'a>>,
    pub terms: Terms,
}

impl Change<'_> {
    /// Changes files and no sink, all at once. Fails with [`Error::is_overtaken`] and changes nothing if a
    /// file is not what its plan saw.
    pub(crate) fn make_files(&self, files: Vec<FilePlan>) -> Result<()> {
        let wanted = Wanted {
            packs: &[],
            removed: Vec::new(),
            others: Others::Stay,
            replace: Replace::Refuse,
            places: Places::Everywhere,
        };
        let made = self.make(&[], &wanted, files, &mut Indexes::new(self.session.context));
        for kept in made.map_err(without_sinks)?.1 {
            self.session.context.tell(Event::Warning(format!(
                "`{}` was edited while the command was running; the edited file is now `{}`",
                kept.folder,
                self.session.context.show(&kept.kept_at)
            )));
        }
        Ok(())
    }

    /// Plans a change of sinks, and of files with it, and, unless it is a dry run, makes it.
    /// Returns what was kept of the files besides.
    pub(crate) fn make(
        &self,
        sinks: &[Sink],
        wanted: &Wanted<'_>,
        files: Vec<FilePlan>,
        indexes: &mut Indexes<'_>,
    ) -> Result<(ChangeReport, Vec<KeptFolder>)> {
        // What an earlier version put there can still be removed.
        if !wanted.packs.is_empty() {
            sinks.iter().try_for_each(|sink| refuse_own_dirs(self.session.context, sink))?;
        }
        let state = match self.home {
            Some(home) => home.state()?,
            None => read_state(self.session.context)?,
        };
        let digests = self.local_digests(&state, sinks, wanted.packs, indexes)?;
        let planner = Planner { session: self.session, state: &state, wanted, digests: &digests };
        let planned: Result<Vec<_>> = sinks.iter().map(|sink| planner.plan(sink, indexes.of(&sink.path))).collect();
        let plan = Plan { sinks: planned?, files };
        let Applied { kept, id } = match (self.terms.mode, self.home) {
            (Mode::Apply, Some(home)) => {
                let apply = Apply { session: self.session, home, packs: wanted.packs, shown: self.terms.shown };
                apply.apply(&state, &plan, indexes)?
            }
            _ => self.only_look(&plan, wanted.packs, &digests)?,
        };
        let mut report = ChangeReport {
            applied: self.terms.mode == Mode::Apply,
            plan: id.to_string(),
            sinks: plan.sinks.iter().map(|sink| sink.describe(wanted.packs)).collect(),
        };
        let mut of_files = Vec::new();
        let in_sink = |kept: &Kept, sink: &SinkChange| kept.from.parent() == Some(&sink.path);
        for kept in kept {
            match report.sinks.iter_mut().find(|sink| in_sink(&kept, sink)) {
                Some(sink) => sink.kept.push(kept_folder(kept)),
                None => of_files.push(kept_folder(kept)),
            }
        }
        Ok((report, of_files))
    }

    /// The digests of the local skills that the plan needs to know.
    fn local_digests(
        &self,
        state: &State,
        sinks: &[Sink],
        packs: &[Chosen],
        indexes: &mut Indexes<'_>,
    ) -> Result<LocalDigests> {
        let on_record = folders_on_record(state, sinks);
        // A dry run tells what each folder would hold; an install learns it of new ones while it copies them.
        let is_needed = |folder: &str| self.terms.mode == Mode::DryRun || on_record.contains(folder);
        LocalDigests::find(self.session, packs, &is_needed, indexes)
    }

    /// Does what can be done without changing anything: what an install would refuse, a dry run refuses too.
    fn only_look(&self, plan: &Plan, packs: &[Chosen], digests: &LocalDigests) -> Result<Applied> {
        Stager { session: self.session, packs }.prepare(plan)?;
        let digest = |skill: (usize, usize)| digests.of(skill).or_else(|| packed_digest(packs, skill));
        let id = Identified { plan, packs, digest: &digest }.id();
        id.must_be(self.terms.shown)?;
        Ok(Applied { kept: Vec::new(), id })
    }
}

/// The error of a change that has nothing to do with sinks: hints about sinks do not apply to it.
fn without_sinks(error: Error) -> Error {
    let refused = error.source.as_deref().and_then(|source| source.downcast_ref::<std::io::Error>());
    let hint = match refused.map(std::io::Error::kind) {
        _ if error.is_overtaken() => "nothing was changed: run the command again",
        Some(ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem) => {
            "nothing was changed: make the directory writable, then run the command again"
        }
        _ => return error,
    };
    Error { hints: vec![hint.into()], ..error }
}

/// The digest of a skill that a package carries.
fn packed_digest(packs: &[Chosen], (pack, at): (usize, usize)) -> Option<Digest> {
    match (&packs[pack].packed, packs[pack].skills[at].origin) {
        (Some(packed), Origin::Packed(number)) => Some(packed.contents[number].digest()),
        _ => None,
    }
}

pub(crate) fn kept_folder(kept: Kept) -> KeptFolder {
    let folder = kept.from.file_name().unwrap_or_default().to_string_lossy().into_owned();
    KeptFolder { folder, kept_at: kept.to }
}

/// Two names for one directory are one sink.
pub(crate) fn distinct(sinks: Vec<Sink>) -> Vec<Sink> {
    let mut seen = std::collections::HashSet::new();
    sinks.into_iter().filter(|sink| seen.insert(sink.path.clone())).collect()
}
