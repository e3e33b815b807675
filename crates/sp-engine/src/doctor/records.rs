//! The records of what is installed, compared with the directories and with each other.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use sp_formats::output::DoctorCode;
use sp_formats::state::{InstallRecord, InstallSource, InstallState, InstallStateError};
use sp_formats::suggest::list_few;
use sp_formats::text::{plural, pluralize};
use sp_tree::{Dir, Follow, Name, StampScope, hash_installed};

use super::examination::ExaminedMachine;
use super::problem::{AreaResult, FoundProblem};
use super::repair::{RecordChange, Repair};
use crate::agent_set::AgentSet;
use crate::built_in_sinks::{CUSTOM_SINK, agent_for_sink};
use crate::error::Error;
use crate::home::DigestIndexes;
use crate::sinks::global_dirs;

pub(super) fn examine(machine: &ExaminedMachine<'_>) -> AreaResult {
    let state = match &machine.state {
        Ok(state) => state,
        Err(error) => return AreaResult::new("", vec![invalid_state(machine, error)]),
    };
    let mut indexes = DigestIndexes::new(machine.session.context);
    let mut problems = Vec::new();
    for install in &state.installs {
        if let Some(project) = missing_project(install) {
            problems.push(orphaned(machine, install, &project));
            continue;
        }
        problems.extend(inconsistent_agents(machine, install));
        problems.extend(folder_problems(machine, install, &mut indexes));
    }
    problems.extend(conflicts(machine, state));
    AreaResult::new(pluralize(state.installs.len(), "record"), problems)
}

fn invalid_state(machine: &ExaminedMachine<'_>, error: &Error) -> FoundProblem {
    let path = machine.session.context.home.join("state.json");
    let why = error.source.as_deref().and_then(|why| why.downcast_ref::<InstallStateError>());
    if matches!(why, Some(InstallStateError::NewerVersion(_))) {
        return FoundProblem::of_error(DoctorCode::StateNewer, error)
            .at(path)
            .help("upgrade `sp`; this version cannot change what is installed");
    }
    let shown = machine.shell_path(&path);
    FoundProblem::of_error(DoctorCode::StateInvalid, error)
        .at(path)
        .command(format!("mv {shown} {shown}.broken"))
}

/// Returns the directory of the project that a record belongs to, if it no longer exists.
fn missing_project(install: &InstallRecord) -> Option<PathBuf> {
    let sink = Path::new(&install.sink_path);
    if sink.symlink_metadata().is_ok() {
        return None;
    }
    let root = match &install.source {
        InstallSource::Project(manifest) => Path::new(manifest).parent()?,
        _ => {
            let agent = agent_for_sink(&install.sink)?;
            let levels = Path::new(agent.project).components().count();
            sink.ends_with(agent.project).then(|| sink.ancestors().nth(levels))??
        }
    };
    root.symlink_metadata().is_err().then(|| root.to_path_buf())
}

fn orphaned(
    machine: &ExaminedMachine<'_>,
    install: &InstallRecord,
    project: &Path,
) -> FoundProblem {
    let shown = machine.session.context.display_path(project);
    let message = format!("`{}` is recorded in `{shown}`, which no longer exists", install.pack);
    FoundProblem::new(DoctorCode::RecordOrphaned, message)
        .at(project)
        .help("removes the record; if the directory is on a disk that is not mounted, mount it")
        .repaired_by([Repair::of_record(install, RecordChange::Remove)])
}

/// A record must list its first agent among all agents of its pack.
fn inconsistent_agents(
    machine: &ExaminedMachine<'_>,
    install: &InstallRecord,
) -> Option<FoundProblem> {
    let mut agents = AgentSet::of_record(install);
    if agents.contains(&install.sink) {
        return None;
    }
    let listed = install.agents.join(", ");
    agents.insert(&install.sink);
    let shown = machine.session.context.display_path(Path::new(&install.sink_path));
    let message = format!("the record of `{}` in `{shown}` contradicts itself", install.pack);
    let problem = FoundProblem::new(DoctorCode::RecordsConflict, message)
        .because(format!("its agent is `{}`, but its agents are: {listed}", install.sink))
        .at(&install.sink_path)
        .repaired_by([Repair::of_record(install, RecordChange::SetAgents(agents))]);
    Some(problem)
}

/// Returns the problems of the folders of a record: those that are missing, and those edited.
fn folder_problems(
    machine: &ExaminedMachine<'_>,
    install: &InstallRecord,
    indexes: &mut DigestIndexes<'_>,
) -> Vec<FoundProblem> {
    let (mut missing, mut edited) = (Vec::new(), Vec::new());
    let sink = PathBuf::from(&install.sink_path);
    let dir = Dir::open(&sink).ok();
    for path in install.installed_paths.iter().map(Path::new) {
        let Some(folder) = path.file_name().and_then(|name| name.to_str()) else { continue };
        let recorded = install.skills.iter().find(|skill| skill.folder == folder);
        if sink.join(folder).symlink_metadata().is_err() {
            missing.push(folder);
        } else if let (Some(dir), Some(recorded), Ok(name)) = (&dir, recorded, Name::new(folder)) {
            let index = indexes.for_dir(&sink);
            let known = index.digest(dir, folder, Follow::Never, StampScope::All);
            let current = known.or_else(|| {
                let folder = dir.open_dir(&name, Follow::Never).ok()?;
                Some(hash_installed(&folder, &machine.session.limits).ok()??.tree.digest())
            });
            if current != Some(recorded.digest) {
                edited.push(name.to_string());
            }
        }
    }
    let shown = machine.session.context.display_path(&sink);
    let command = install_command(machine, install);
    let mut problems = Vec::new();
    if !missing.is_empty() {
        let verb = plural(missing.len(), "is", "are");
        let message = describe(install, &missing, &format!("{verb} missing from `{shown}`"));
        problems.push(
            FoundProblem::new(DoctorCode::SkillsMissing, message).at(&sink).command(&command),
        );
    }
    if !edited.is_empty() {
        let names: Vec<&str> = edited.iter().map(String::as_str).collect();
        let verb = plural(names.len(), "was", "were");
        let message = describe(install, &names, &format!("{verb} edited in `{shown}`"));
        let problem = FoundProblem::new(DoctorCode::SkillsEdited, message).at(&sink).notice();
        problems.push(match &install.source {
            InstallSource::Project(manifest) => {
                let dir = Path::new(manifest).parent().unwrap_or(Path::new("/"));
                problem.command(machine.project_command("diff", dir)).help(
                    "the command shows the edits; they are kept, and merged with newer versions",
                )
            }
            _ => problem.command(&command).help(
                "the command replaces the edited skills if their source changed, and moves them \
                 to the trash",
            ),
        });
    }
    problems
}

fn describe(install: &InstallRecord, folders: &[&str], what: &str) -> String {
    let count = pluralize(folders.len(), "skill");
    format!("{count} of `{}` {what}: {}", install.pack, list_few(folders))
}

/// Returns the command that installs the pack, package or project of a record again.
fn install_command(machine: &ExaminedMachine<'_>, install: &InstallRecord) -> String {
    let file = match &install.source {
        InstallSource::Project(manifest) => {
            return machine.sync_command(Path::new(manifest).parent().unwrap_or(Path::new("/")));
        }
        InstallSource::Package(name) => return format!("sp pkg install {name}"),
        InstallSource::PackFile(file) => machine.shell_path(Path::new(file)),
    };
    let sink = Path::new(&install.sink_path);
    let agents = AgentSet::of_record(install);
    let names = agents.names().join(",");
    if agents.contains(CUSTOM_SINK) {
        let path = machine.shell_path(sink);
        return format!("sp install {file} --agent {CUSTOM_SINK} --path {path}");
    }
    let session = machine.session;
    let global = global_dirs(session.context, &session.config, &install.sink);
    let is_global = global.is_ok_and(|dirs| dirs.dir.canonicalize().unwrap_or(dirs.dir) == sink);
    let project = agent_for_sink(&install.sink).map(|agent| Path::new(agent.project));
    let root = project
        .filter(|project| !is_global && sink.ends_with(project))
        .and_then(|project| sink.ancestors().nth(project.components().count()));
    match root {
        Some(root) => {
            let root = machine.shell_path(root);
            format!("cd {root} && sp install {file} --agent {names} --scope project")
        }
        None => format!("sp install {file} --agent {names}"),
    }
}

/// Returns the contradictions between records of one directory.
fn conflicts(machine: &ExaminedMachine<'_>, state: &InstallState) -> Vec<FoundProblem> {
    let mut by_dir: BTreeMap<PathBuf, Vec<&InstallRecord>> = BTreeMap::new();
    for install in &state.installs {
        let path = PathBuf::from(&install.sink_path);
        by_dir.entry(path.canonicalize().unwrap_or(path)).or_default().push(install);
    }
    let mut problems = Vec::new();
    for (dir, installs) in &by_dir {
        for (number, install) in installs.iter().enumerate() {
            let earlier = installs[..number].iter();
            problems.extend(earlier.filter_map(|other| conflict(machine, dir, other, install)));
        }
    }
    problems
}

fn conflict(
    machine: &ExaminedMachine<'_>,
    dir: &Path,
    first: &InstallRecord,
    second: &InstallRecord,
) -> Option<FoundProblem> {
    let shown = machine.session.context.display_path(dir);
    if first.pack == second.pack {
        let message = format!("`{shown}` has two records of `{}`", first.pack);
        let because = format!("as `{}` and as `{}`", first.sink_path, second.sink_path);
        let problem =
            FoundProblem::new(DoctorCode::RecordsConflict, message).because(because).at(dir);
        if first.source != second.source || first.skills != second.skills {
            return Some(problem.command(install_command(machine, first)));
        }
        // The record that has the real path is kept.
        let is_second_real = Path::new(&second.sink_path) == dir;
        let (kept, other) = if is_second_real { (second, first) } else { (first, second) };
        let mut agents = AgentSet::of_record(kept);
        agents.extend(&AgentSet::of_record(other));
        return Some(problem.repaired_by([
            Repair::of_record(kept, RecordChange::SetAgents(agents)),
            Repair::of_record(other, RecordChange::Remove),
        ]));
    }
    let folder = first.skills.iter().find(|skill| {
        second
            .skills
            .iter()
            .any(|other| other.folder == skill.folder && other.digest != skill.digest)
    })?;
    let message = format!("two records of `{shown}` contain `{}`", folder.folder);
    let problem = FoundProblem::new(DoctorCode::RecordsConflict, message)
        .because(format!("`{}` and `{}` installed different content", first.pack, second.pack))
        .at(dir)
        .command(format!(
            "sp uninstall {} --agent {CUSTOM_SINK} --path {}",
            second.pack,
            machine.shell_path(dir)
        ));
    Some(problem)
}
