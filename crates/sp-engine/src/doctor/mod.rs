//! `sp doctor`: finds damage, and repairs what can be repaired safely.
//!
//! An examination changes nothing: unlike other operations, it does not recover an interrupted run
//! but reports it. Each area is a file that returns an `AreaResult`; each problem has a stable
//! code, and the command that fixes it.
//!
//! ```text
//! examination    what the areas have in common: state, projects, results
//! configuration, git, interruptions, records, agent_dirs, projects, store, cache, permissions,
//! registries     one area each
//! repair         what `--fix` does, with a plan ID
//! ```
//!
//! A repair never deletes what a user could have written: it moves files to the trash, in the one
//! transaction. Only cached repositories, which can be fetched again, are deleted.

mod agent_dirs;
mod cache;
mod configuration;
mod examination;
mod git;
mod interruptions;
mod permissions;
mod problem;
mod project_files;
mod projects;
mod records;
mod registries;
mod repair;
mod store;

use std::path::PathBuf;

use sp_formats::output::{
    DoctorArea, DoctorCheck, DoctorProblem, DoctorRepair, DoctorReport, DoctorStatus,
};
use sp_formats::text::pluralize;

use self::examination::ExaminedMachine;
use self::problem::{AreaResult, FoundProblem};
use crate::context::Context;
use crate::error::Result;
use crate::plan_id::ApplyOptions;
use crate::session::Session;

/// What to examine, and whether to repair it.
#[derive(Debug, Clone, Default)]
pub struct DoctorRequest {
    /// The directory of the project, given with `--root`.
    pub root: Option<PathBuf>,
    /// Repairs what can be repaired safely.
    pub fix: Option<ApplyOptions>,
}

/// What an examination found.
struct Examination {
    checks: Vec<DoctorCheck>,
    problems: Vec<FoundProblem>,
}

/// Examines this machine and the current project, and repairs problems if that was requested.
pub fn doctor(context: &Context<'_>, request: &DoctorRequest) -> Result<DoctorReport> {
    let session = Session::read_only(context);
    let examination = examine(&session, request)?;
    let Some(options) = request.fix else {
        return Ok(examination.into_report(None));
    };
    let fixable: Vec<&FoundProblem> =
        examination.problems.iter().filter(|problem| !problem.repairs.is_empty()).collect();
    let status = options.confirm(repair::plan_id(fixable.iter().flat_map(|it| &it.repairs)))?;
    let repaired: Vec<DoctorProblem> = fixable.iter().map(|problem| problem.item.clone()).collect();
    if !status.applied || fixable.is_empty() {
        let repair = DoctorRepair { status, repaired, kept: Vec::new() };
        return Ok(examination.into_report(Some(repair)));
    }
    let kept = repair::apply(&session, fixable.iter().flat_map(|problem| &problem.repairs))?;
    let repair = DoctorRepair { status, repaired, kept };
    Ok(examine(&session, request)?.into_report(Some(repair)))
}

fn examine(session: &Session<'_>, request: &DoctorRequest) -> Result<Examination> {
    let machine = ExaminedMachine::read(session, request.root.as_deref());
    let mut examination = Examination { checks: Vec::new(), problems: Vec::new() };
    type ExamineArea = fn(&ExaminedMachine<'_>) -> AreaResult;
    let areas: [(DoctorArea, ExamineArea); 10] = [
        (DoctorArea::Configuration, configuration::examine),
        (DoctorArea::Git, git::examine),
        (DoctorArea::Interruptions, interruptions::examine),
        (DoctorArea::Records, records::examine),
        (DoctorArea::Agents, agent_dirs::examine),
        (DoctorArea::Projects, projects::examine),
        (DoctorArea::Store, store::examine),
        (DoctorArea::Cache, cache::examine),
        (DoctorArea::Permissions, permissions::examine),
        (DoctorArea::Registries, registries::examine),
    ];
    for (area, examine) in areas {
        session.context.check_cancelled()?;
        examination.add(area, examine(&machine));
    }
    // Nothing can be recorded, and no transaction can run.
    let is_blocked = machine.state.is_err() || interruptions::has_invalid_journal(&machine);
    if is_blocked {
        examination.problems.iter_mut().for_each(FoundProblem::retain_simple_repairs);
    }
    Ok(examination)
}

impl Examination {
    fn add(&mut self, area: DoctorArea, result: AreaResult) {
        let worst = result.problems.iter().map(|problem| problem.item.status).max();
        let count =
            |status| result.problems.iter().filter(|problem| problem.item.status == status).count();
        let detail = match (count(DoctorStatus::Problem), count(DoctorStatus::Notice)) {
            (0, 0) => result.detail,
            (0, notices) => pluralize(notices, "notice"),
            (problems, _) => pluralize(problems, "problem"),
        };
        let status = match worst {
            Some(worst) => worst,
            None if result.is_skipped => DoctorStatus::Skipped,
            None => DoctorStatus::Ok,
        };
        self.checks.push(DoctorCheck { area, status, detail });
        self.problems.extend(result.problems.into_iter().map(|mut problem| {
            problem.item.area = area;
            problem
        }));
    }

    fn into_report(self, repair: Option<DoctorRepair>) -> DoctorReport {
        let healthy = self.checks.iter().all(|check| check.status != DoctorStatus::Problem);
        let problems = self.problems.into_iter().map(FoundProblem::into_item).collect();
        DoctorReport { healthy, checks: self.checks, problems, repair }
    }
}
