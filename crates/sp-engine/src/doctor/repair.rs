//! What `sp doctor --fix` does.
//!
//! Files and directories move to the trash in the one transaction, together with the change of the
//! records. An interrupted run is recovered as by every other command. Permissions are changed, and
//! cached repositories deleted, outside of the transaction: they are not content of the user.

use std::path::{Path, PathBuf};

use sp_formats::output::TrashedFolder;
use sp_formats::state::{InstallRecord, InstallState};
use sp_tree::transaction::PriorState;
use sp_tree::{Dir, DirLock, Name};

use crate::agent_set::AgentSet;
use crate::error::Result;
use crate::home::{DigestIndexes, LockedHome};
use crate::install::change::ChangeExecutor;
use crate::install::plan::{FilePlan, PlanRequest};
use crate::plan_id::{ApplyOptions, PlanHasher, PlanId};
use crate::session::Session;

/// A change that makes a problem disappear and loses nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Repair {
    /// Completes or reverts an interrupted run.
    Recover,
    /// Moves a file or directory to the trash. The path of the directory is real.
    MoveToTrash { dir: PathBuf, name: Name },
    /// Changes a record of the state.
    Record { sink_path: String, pack: String, change: RecordChange },
    /// Makes a file accessible only to its owner.
    Restrict { dir: PathBuf, name: Name },
    /// Deletes a cached repository.
    RemoveCached { dir: PathBuf, name: Name },
}

/// What happens to a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum RecordChange {
    Remove,
    SetAgents(AgentSet),
}

impl Repair {
    pub(super) fn of_record(install: &InstallRecord, change: RecordChange) -> Self {
        Self::Record { sink_path: install.sink_path.clone(), pack: install.pack.clone(), change }
    }

    /// Whether it needs neither the state nor a transaction.
    pub(super) fn is_simple(&self) -> bool {
        matches!(self, Self::Restrict { .. } | Self::RemoveCached { .. })
    }

    fn hash(&self, hasher: &mut PlanHasher) {
        let mut entry = |kind: &str, dir: &Path, name: &Name| {
            hasher.text(kind);
            hasher.path(dir);
            hasher.text(name.as_str());
        };
        match self {
            Self::Recover => hasher.text("recover"),
            Self::MoveToTrash { dir, name } => entry("trash", dir, name),
            Self::Restrict { dir, name } => entry("restrict", dir, name),
            Self::RemoveCached { dir, name } => entry("remove cached", dir, name),
            Self::Record { sink_path, pack, change } => {
                hasher.text("record");
                hasher.text(sink_path);
                hasher.text(pack);
                match change {
                    RecordChange::Remove => hasher.text("remove"),
                    RecordChange::SetAgents(agents) => {
                        hasher.list(agents.names().iter(), |hasher, agent| hasher.text(agent));
                    }
                }
            }
        }
    }
}

/// Returns the ID of what `--fix` does: the repairs, in order.
pub(super) fn plan_id<'r>(repairs: impl Iterator<Item = &'r Repair>) -> PlanId {
    let repairs: Vec<&Repair> = repairs.collect();
    let mut hasher = PlanHasher::of_operation("doctor");
    hasher.list(repairs.into_iter(), |hasher, repair| repair.hash(hasher));
    hasher.finish()
}

/// Makes the repairs. Returns what was moved to the trash.
pub(super) fn apply<'r>(
    session: &Session<'_>,
    repairs: impl Iterator<Item = &'r Repair>,
) -> Result<Vec<TrashedFolder>> {
    let (simple, others): (Vec<&Repair>, Vec<&Repair>) =
        repairs.partition(|repair| repair.is_simple());
    let trashed = if others.is_empty() { Vec::new() } else { apply_locked(session, &others)? };
    for repair in simple {
        match repair {
            Repair::Restrict { dir, name } => Dir::open(dir)?.restrict_file_to_owner(name)?,
            Repair::RemoveCached { dir, name } => remove_cached(session, dir, name)?,
            _ => {}
        }
    }
    Ok(trashed)
}

fn remove_cached(session: &Session<'_>, dir: &Path, name: &Name) -> Result<()> {
    let repository = Dir::open(&dir.join(name.as_str()))?;
    let _lock: DirLock = session.context.lock(&repository)?;
    Ok(Dir::open(dir)?.remove_tree(name)?)
}

/// Makes the repairs that need the lock of the home. Opening it recovers an interrupted run.
fn apply_locked(session: &Session<'_>, repairs: &[&Repair]) -> Result<Vec<TrashedFolder>> {
    let home = LockedHome::open(session.context, &session.limits)?;
    let mut files: Vec<FilePlan> = Vec::new();
    let mut state = home.state()?;
    let before = state.clone();
    for repair in repairs {
        match repair {
            // Recovery may have removed it.
            Repair::MoveToTrash { dir, name }
                if dir.join(name.as_str()).symlink_metadata().is_ok() =>
            {
                let prior = PriorState::Ours(None);
                files.push(FilePlan::new(dir.clone(), name.clone(), prior, None));
            }
            Repair::Record { sink_path, pack, change } => {
                change_record(&mut state, sink_path, pack, change);
            }
            _ => {}
        }
    }
    if files.is_empty() {
        if state != before {
            let generation = home.next_generation(&state)?;
            home.store_state(&state.with_installs(generation, state.installs.clone()))?;
        }
        return Ok(Vec::new());
    }
    let executor = ChangeExecutor { session, home: Some(&home), options: ApplyOptions::APPLY };
    let mut indexes = DigestIndexes::new(session.context);
    let plan = executor.plan(state, &PlanRequest::default(), files, &mut indexes)?;
    Ok(executor.run(plan, &mut indexes)?.trashed_files)
}

fn change_record(state: &mut InstallState, sink_path: &str, pack: &str, change: &RecordChange) {
    let is_it = |install: &InstallRecord| install.sink_path == sink_path && install.pack == pack;
    match change {
        RecordChange::Remove => state.installs.retain(|install| !is_it(install)),
        RecordChange::SetAgents(agents) => {
            for install in state.installs.iter_mut().filter(|install| is_it(install)) {
                install.agents = agents.names().to_vec();
            }
        }
    }
}
