//! The directories of agents.

use std::path::Path;

use rustix::fs::Access;
use sp_formats::output::DoctorCode;
use sp_formats::text::plural;

use super::examination::ExaminedMachine;
use super::problem::{AreaResult, FoundProblem};
use super::projects::unusable_agents;

pub(super) fn examine(machine: &ExaminedMachine<'_>) -> AreaResult {
    let dirs = machine.skill_dirs();
    let mut problems: Vec<FoundProblem> =
        dirs.iter().filter_map(|dir| directory_problem(machine, dir)).collect();
    for project in &machine.projects {
        problems.extend(unusable_agents(machine, project));
    }
    let existing = dirs.iter().filter(|dir| dir.is_dir()).count();
    let noun = plural(existing, "directory", "directories");
    AreaResult::new(format!("{existing} {noun} of skills"), problems)
}

fn directory_problem(machine: &ExaminedMachine<'_>, dir: &Path) -> Option<FoundProblem> {
    // A missing directory is created by the next installation.
    let metadata = dir.metadata().ok()?;
    let context = machine.session.context;
    let (shown, quoted) = (context.display_path(dir), machine.shell_path(dir));
    if !metadata.is_dir() {
        let message = format!("`{shown}` is not a directory");
        let problem = FoundProblem::new(DoctorCode::DirectoryUnusable, message)
            .because("an agent reads skills from this path")
            .at(dir)
            .command(format!("mv {quoted} {quoted}.broken"));
        return Some(problem);
    }
    let is_writable =
        !metadata.permissions().readonly() && rustix::fs::access(dir, Access::WRITE_OK).is_ok();
    (!is_writable).then(|| {
        FoundProblem::new(DoctorCode::DirectoryNotWritable, format!("`{shown}` is not writable"))
            .because("skills in it cannot be installed, updated or removed")
            .at(dir)
            .command(format!("chmod u+w {quoted}"))
    })
}
