//! Interrupted commands: the journal, and directories for staging.

use std::path::{Path, PathBuf};

use sp_formats::output::DoctorCode;
use sp_tree::transaction::{JournalError, TransactionError, pending_stages};
use sp_tree::{Dir, DirLock, EntryKind, Follow, Name, StaticName};

use super::examination::ExaminedMachine;
use super::problem::{AreaResult, FoundProblem};
use super::repair::Repair;
use crate::error::Error;

const STAGE_PREFIX: &str = ".skillpack-";

pub(super) fn examine(machine: &ExaminedMachine<'_>) -> AreaResult {
    let context = machine.session.context;
    let Ok(home) = Dir::open(&context.home) else {
        return AreaResult::new("none", Vec::new());
    };
    // A journal under a lock is that of a running command.
    let has_lock_file = home.stat(&StaticName("lock"), Follow::Never).is_ok_and(|it| it.is_some());
    let lock = if has_lock_file { DirLock::try_acquire(&home) } else { Ok(None) };
    if has_lock_file && matches!(lock, Ok(None)) {
        return AreaResult::skipped("another `sp` command is running");
    }
    let (mut problems, stages) = match pending_stages(&home) {
        Ok(None) => (Vec::new(), Vec::new()),
        Ok(Some(stages)) => (vec![interrupted(&context.home)], stages),
        Err(error) => (vec![invalid_journal(machine, error)], Vec::new()),
    };
    let mut dirs = machine.skill_dirs();
    dirs.extend(machine.projects.iter().map(|project| project.on_disk.path().clone()));
    dirs.extend(
        [&context.home, &context.home.join("bases"), &context.home.join("keys")]
            .map(|dir| dir.canonicalize().unwrap_or_else(|_| dir.clone())),
    );
    for dir in dirs {
        let is_left = |name: &Name| !stages.contains(&dir.join(name.as_str()));
        let left = stages_in(&dir).into_iter().filter(is_left);
        problems.extend(left.map(|name| stage_left(machine, &dir, name)));
    }
    AreaResult::new("none", problems)
}

/// Whether the journal makes every transaction fail.
pub(super) fn has_invalid_journal(machine: &ExaminedMachine<'_>) -> bool {
    Dir::open(&machine.session.context.home).is_ok_and(|home| pending_stages(&home).is_err())
}

fn interrupted(home: &Path) -> FoundProblem {
    FoundProblem::new(DoctorCode::RunInterrupted, "a command was interrupted")
        .because("its journal exists; the next command completes or reverts it")
        .at(home.join("journal.json"))
        .repaired_by([Repair::Recover])
}

fn invalid_journal(machine: &ExaminedMachine<'_>, error: JournalError) -> FoundProblem {
    let path = machine.session.context.home.join("journal.json");
    let is_newer = matches!(error, JournalError::UnsupportedVersion { .. });
    let error = Error::from(TransactionError::from(error));
    let problem = FoundProblem::of_error(DoctorCode::JournalInvalid, &error).at(&path);
    if is_newer {
        return problem.help("upgrade `sp`");
    }
    let shown = machine.shell_path(&path);
    problem
        .command(format!("mv {shown} {shown}.broken"))
        .help("then run `sp doctor` again, which lists what the interrupted command left behind")
}

/// Returns the directories for staging in a directory.
fn stages_in(dir: &Path) -> Vec<Name> {
    let entries = Dir::open(dir).and_then(|dir| dir.entries()).unwrap_or_default();
    let dirs = entries.iter().filter(|entry| entry.kind == EntryKind::Dir);
    let names = dirs.filter_map(|entry| entry.name().to_str().filter(|name| is_stage(name)));
    let mut names: Vec<Name> = names.filter_map(|name| Name::new(name).ok()).collect();
    names.sort();
    names
}

/// Whether a name is that of a directory for staging, which contains the time of its run.
fn is_stage(name: &str) -> bool {
    let run = name.strip_prefix(STAGE_PREFIX).unwrap_or_default().as_bytes();
    run.len() > 8 && run[8] == b'T' && run[..8].iter().all(u8::is_ascii_digit)
}

fn stage_left(machine: &ExaminedMachine<'_>, dir: &Path, name: Name) -> FoundProblem {
    let path: PathBuf = dir.join(name.as_str());
    let shown = machine.session.context.display_path(&path);
    FoundProblem::new(DoctorCode::StagingLeft, format!("`{shown}` was left behind"))
        .because("no interrupted command refers to it; it may contain replaced skills")
        .at(path)
        .repaired_by([Repair::MoveToTrash { dir: dir.to_path_buf(), name }])
}
