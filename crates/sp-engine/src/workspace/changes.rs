//! Changing a workspace: skills, catalog, lock and entrypoint, all in one transaction.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sp_formats::output::TrashedFolder;
use sp_formats::skill::{SKILL_FILE, SkillName};
use sp_formats::workspace::{
    CATALOG_FILE, LOCK_FILE, SKILLS_DIR, WorkspaceLock, WorkspaceSkill, read_workspace_skill,
    write_catalog,
};
use sp_tree::atomic::FileAccess;
use sp_tree::transaction::{
    PriorState, Transaction, TransactionAction, TransactionChange, TransactionPlan,
};
use sp_tree::{LoadedTree, Name, PinnedDir, TreeWriter};

use super::workspace_dir::Workspace;
use crate::error::{Error, FailureKind, Result};
use crate::files::read_for_update;
use crate::home::LockedHome;
use crate::session::Session;

/// What is to change.
#[derive(Default)]
pub(crate) struct WorkspaceChanges {
    /// Skills that come or are replaced.
    pub put: Vec<(String, LoadedTree)>,
    /// Skills that go.
    pub remove: Vec<String>,
    /// Files at the root of the workspace, by name.
    pub files: Vec<(String, Vec<u8>)>,
    /// The lock as it is to be.
    pub lock: WorkspaceLock,
}

/// What came of it.
pub(crate) struct WorkspaceChangeOutcome {
    /// Edited folders that were kept.
    pub kept: Vec<TrashedFolder>,
    /// Whether the catalog is other than it was.
    pub catalog_changed: bool,
}

/// One thing that the transaction puts or removes.
struct WorkspaceChangeStep<'a> {
    /// 0 is the workspace, 1 its `.skills/`.
    root: usize,
    name: String,
    before: PriorState,
    content: StepContent<'a>,
}

enum StepContent<'a> {
    Folder(&'a LoadedTree),
    File(Vec<u8>),
    Removed,
}

impl WorkspaceChanges {
    /// The catalog as it will be.
    fn render_catalog(&self, session: &Session<'_>, workspace: &Workspace) -> String {
        let stays = |name: &str| {
            !self.remove.iter().any(|gone| gone == name)
                && !self.put.iter().any(|(new, _)| new == name)
        };
        let mut lines: Vec<(SkillName, String)> = workspace
            .skills
            .iter()
            .filter(|skill| stays(skill.name.as_str()))
            .map(WorkspaceSkill::catalog_line)
            .collect();
        for (name, content) in &self.put {
            let bytes = content.get(SKILL_FILE).unwrap_or_default();
            lines.extend(
                read_workspace_skill(name, name, bytes, &session.limits)
                    .0
                    .map(|skill| skill.catalog_line()),
            );
        }
        write_catalog(&lines)
    }

    /// Does it. The home is locked, and the workspace was read since.
    pub(crate) fn apply(
        &self,
        session: &Session<'_>,
        home: &LockedHome<'_>,
        workspace: &Workspace,
    ) -> Result<WorkspaceChangeOutcome> {
        let catalog = self.render_catalog(session, workspace).into_bytes();
        let mut steps = self.folder_steps(workspace);
        let before = steps.len();
        for (name, bytes) in &self.files {
            steps.extend(file_step(session, 0, &workspace.root, name, bytes.clone())?);
        }
        let skills = workspace.skills_dir();
        let new_catalog = file_step(session, 1, &skills, CATALOG_FILE, catalog)?;
        let changed = new_catalog.is_some();
        steps.extend(new_catalog);
        if self.lock != workspace.lock || before > 0 {
            steps.extend(file_step(session, 1, &skills, LOCK_FILE, self.lock.to_json())?);
        }
        let kept = if steps.is_empty() {
            Vec::new()
        } else {
            run_transaction(session, home, workspace, &steps)?
        };
        Ok(WorkspaceChangeOutcome { kept, catalog_changed: changed })
    }

    fn folder_steps(&self, workspace: &Workspace) -> Vec<WorkspaceChangeStep<'_>> {
        let before = |name: &str| match workspace.skills_dir().join(name).symlink_metadata() {
            Ok(_) => PriorState::Ours(workspace.lock.skills.get(name).map(|record| record.tree)),
            Err(_) => PriorState::Absent,
        };
        let put = self.put.iter().map(|(name, content)| WorkspaceChangeStep {
            root: 1,
            name: name.clone(),
            before: before(name),
            content: StepContent::Folder(content),
        });
        let gone = self.remove.iter().map(|name| WorkspaceChangeStep {
            root: 1,
            name: name.clone(),
            before: before(name),
            content: StepContent::Removed,
        });
        put.chain(gone).collect()
    }
}

/// The step that gives a file these bytes; none if it has them.
fn file_step<'a>(
    session: &Session<'_>,
    root: usize,
    dir: &Path,
    name: &str,
    bytes: Vec<u8>,
) -> Result<Option<WorkspaceChangeStep<'a>>> {
    let (old, before) = read_for_update(&dir.join(name), session.limits.file_bytes)?;
    if old.as_ref() == Some(&bytes) {
        return Ok(None);
    }
    Ok(Some(WorkspaceChangeStep {
        root,
        name: name.into(),
        before,
        content: StepContent::File(bytes),
    }))
}

fn run_transaction(
    session: &Session<'_>,
    home: &LockedHome<'_>,
    workspace: &Workspace,
    steps: &[WorkspaceChangeStep<'_>],
) -> Result<Vec<TrashedFolder>> {
    let named = |name: &str| {
        Name::new(name).map_err(|e| Error::new(FailureKind::Data, format!("`{name}`: {e}")))
    };
    let state = home.state()?;
    let generation = home.next_generation(&state)?;
    let root = canonical_path(&workspace.root)?;
    let changes: Result<Vec<TransactionChange>> = steps
        .iter()
        .map(|step| {
            Ok(TransactionChange {
                root: step.root,
                name: named(&step.name)?,
                action: if matches!(step.content, StepContent::Removed) {
                    TransactionAction::Remove
                } else {
                    TransactionAction::Put
                },
                prior: step.before,
            })
        })
        .collect();
    let intent = TransactionPlan {
        id: named(&session.context.run_id)?,
        generation,
        roots: vec![pin_dir(&root)?, pin_dir(&root.join(SKILLS_DIR))?],
        changes: changes?,
        remove_if_empty: Vec::new(),
    };
    let mut transaction = Transaction::begin(&home.dir, &session.limits, intent)?;
    if let Err(error) = stage_steps(&transaction, steps) {
        transaction.abort()?;
        return Err(error);
    }
    transaction.swap()?;
    let next = state.with_installs(generation, state.installs.clone());
    let kept = transaction
        .commit(|| home.store_state(&next), || home.state().ok().map(|state| state.generation))?;
    Ok(kept.into_iter().map(crate::install::change::trashed_folder).collect())
}

fn stage_steps(transaction: &Transaction<'_>, steps: &[WorkspaceChangeStep<'_>]) -> Result<()> {
    for (index, step) in steps.iter().enumerate() {
        match &step.content {
            StepContent::Folder(content) => {
                let mut writer = TreeWriter::new(transaction.stage_dir(index)?);
                content.write_to(&mut writer)?;
                writer.finish()?;
            }
            StepContent::File(bytes) => {
                transaction.stage_file(index, bytes, FileAccess::Ordinary)?
            }
            StepContent::Removed => {}
        }
    }
    Ok(())
}

fn pin_dir(path: &Path) -> Result<Arc<PinnedDir>> {
    Ok(Arc::new(PinnedDir::open(path)?))
}

/// The journal names places by their real paths.
fn canonical_path(path: &Path) -> Result<PathBuf> {
    path.canonicalize().map_err(|e| sp_tree::FileError::new("find", path, e).into())
}
