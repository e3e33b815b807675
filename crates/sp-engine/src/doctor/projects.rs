//! The manifests and lockfiles of the user and of the current project, compared with the
//! directories of agents.

use std::path::{Path, PathBuf};

use sp_formats::output::DoctorCode;
use sp_formats::project::{LOCK_FILE, MANIFEST_FILE};
use sp_formats::suggest::list_few;
use sp_formats::text::{plural, pluralize};

use super::examination::ExaminedMachine;
use super::problem::{AreaResult, FoundProblem};
use super::project_files::{ExaminedProject, InvalidFile};
use crate::built_in_sinks::agent_for_sink;
use crate::error::{Error, ErrorCode};

/// Returns the agents of the manifest that cannot be used.
pub(super) fn unusable_agents(
    machine: &ExaminedMachine<'_>,
    project: &ExaminedProject<'_>,
) -> Vec<FoundProblem> {
    let manifests = project.manifest.iter();
    let unusable = manifests.flat_map(|manifest| project.on_disk.sinks(manifest).1);
    let problem = |(agent, error): (String, Error)| {
        let is_link = error.has_code(ErrorCode::PathIsLink);
        let code = if is_link {
            DoctorCode::DirectoryOutsideProject
        } else {
            DoctorCode::AgentUnavailable
        };
        let problem = FoundProblem::of_error(code, &error).at(project.on_disk.path());
        let project_dir = agent_for_sink(&agent)
            .map(|agent| project.on_disk.path().join(agent.project))
            .and_then(|dir| outermost_link(project.on_disk.path(), &dir));
        match project_dir {
            Some(link) => problem.command(format!("rm {}", machine.shell_path(&link))).at(link),
            None => problem.command("sp config --verbose"),
        }
    };
    unusable.map(|unusable| problem((unusable.agent, unusable.error))).collect()
}

/// Returns the first link on the way from a project to a directory in it.
fn outermost_link(project: &Path, dir: &Path) -> Option<PathBuf> {
    let mut ancestors: Vec<&Path> =
        dir.ancestors().take_while(|ancestor| *ancestor != project).collect();
    ancestors.reverse();
    let is_link = |path: &&Path| path.symlink_metadata().is_ok_and(|it| it.is_symlink());
    ancestors.into_iter().find(is_link).map(Path::to_path_buf)
}

pub(super) fn examine(machine: &ExaminedMachine<'_>) -> AreaResult {
    if machine.projects.is_empty() {
        return AreaResult::skipped("no `skillpack.yaml` here");
    }
    let problems = machine.projects.iter().flat_map(|project| project_problems(machine, project));
    let problems = problems.collect();
    let skills = machine.projects.iter().filter_map(|project| project.lock.as_ref().ok());
    let count = skills.map(|lock| lock.skills.len()).sum::<usize>();
    AreaResult::new(format!("{} in the lockfile", pluralize(count, "skill")), problems)
}

fn project_problems(
    machine: &ExaminedMachine<'_>,
    project: &ExaminedProject<'_>,
) -> Vec<FoundProblem> {
    let dir = project.on_disk.path();
    let invalid = [
        project.manifest.as_ref().err().map(|file| (file, MANIFEST_FILE)),
        project.lock.as_ref().err().map(|file| (file, LOCK_FILE)),
    ];
    let mut problems = Vec::new();
    for (InvalidFile { code, error }, name) in invalid.into_iter().flatten() {
        let problem = FoundProblem::of_error(*code, error).at(dir.join(name));
        problems.push(match code {
            DoctorCode::LockNewer => problem,
            DoctorCode::MergeConflict => problem.command(machine.sync_command(dir)),
            _ => problem.command(format!("git -C {} checkout -- {name}", machine.shell_path(dir))),
        });
    }
    if let (Ok(manifest), Ok(lock)) = (&project.manifest, &project.lock) {
        for (sink, folders) in project.on_disk.missing_skills(manifest, lock) {
            let folders: Vec<String> = folders.into_iter().collect();
            let count = pluralize(folders.len(), "skill");
            let shown = machine.session.context.display_path(&sink);
            let verb = plural(folders.len(), "is", "are");
            let list = list_few(&folders);
            let message = format!("{count} of `{LOCK_FILE}` {verb} missing from `{shown}`: {list}");
            problems.push(
                FoundProblem::new(DoctorCode::LockNotInstalled, message)
                    .at(sink)
                    .command(machine.sync_command(dir)),
            );
        }
        if let Some(note) = project.on_disk.missing_context_packs(manifest, lock) {
            let message = format!("context packs of `{LOCK_FILE}` are not installed: {note}");
            problems.push(
                FoundProblem::new(DoctorCode::LockNotInstalled, message)
                    .at(dir)
                    .command(machine.sync_command(dir)),
            );
        }
    }
    problems
}
