//! Changing a workspace: skills, catalog, lockfile and files at its root, in one transaction.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sp_formats::JsonRecord;
use sp_formats::output::{PlanStatus, TrashedFolder, WorkspaceChangeReport};
use sp_formats::project::LOCK_FILE as PROJECT_LOCK_FILE;
use sp_formats::project::lock::ProjectLock;
use sp_formats::skill::{SKILL_FILE, SkillName};
use sp_formats::workspace::{
    CATALOG_FILE, LOCK_FILE, LockedSkill, SKILLS_DIR, WorkspaceLock, WorkspaceSkill,
    read_workspace_skill, write_catalog,
};
use sp_tree::atomic::FileAccess;
use sp_tree::transaction::{
    PriorState, Transaction, TransactionAction, TransactionChange, TransactionPlan,
};
use sp_tree::{LoadedTree, Name, PinnedDir, TreeWriter};

use super::workspace_dir::{Workspace, folder_digest};
use crate::error::{Error, ErrorCode, Result};
use crate::files::read_for_update;
use crate::home::LockedHome;
use crate::plan_id::{ApplyOptions, PlanHasher, PlanId};
use crate::session::Session;

/// The changes to a workspace.
#[derive(Default)]
pub(crate) struct WorkspaceChanges {
    /// Skills to add or replace.
    pub put: Vec<SkillFolder>,
    /// The names of skills to remove.
    pub remove: Vec<String>,
    /// Files to write at the root of the workspace.
    pub files: Vec<WorkspaceFile>,
    /// The new lockfile.
    pub lock: WorkspaceLock,
}

/// The new content of a folder below `.skills/`.
pub(crate) struct SkillFolder {
    pub name: String,
    pub content: LoadedTree,
}

/// The new content of a file at the root of a workspace.
pub(crate) struct WorkspaceFile {
    pub name: String,
    pub bytes: Vec<u8>,
}

/// The result of [`WorkspaceChanges::run`].
pub(crate) struct WorkspaceChangeOutcome {
    pub status: PlanStatus,
    /// Edited folders that were moved to the trash.
    pub kept: Vec<TrashedFolder>,
    pub catalog_changed: bool,
}

impl WorkspaceChangeOutcome {
    pub(crate) fn add_to(self, report: &mut WorkspaceChangeReport) {
        report.status = self.status;
        report.kept = self.kept;
        report.catalog_changed = self.catalog_changed;
    }
}

/// The root of the transaction that is the workspace.
const WORKSPACE_ROOT: usize = 0;
/// The root of the transaction that is `.skills/`.
const SKILLS_ROOT: usize = 1;

/// One entry that the transaction writes or removes.
struct WorkspaceChangeStep<'a> {
    /// [`WORKSPACE_ROOT`] or [`SKILLS_ROOT`].
    root: usize,
    name: String,
    before: PriorState,
    content: StepContent<'a>,
}

/// Everything that a transaction writes or removes.
struct WorkspaceSteps<'a> {
    steps: Vec<WorkspaceChangeStep<'a>>,
    catalog_changed: bool,
}

enum StepContent<'a> {
    Folder(&'a LoadedTree),
    File(Vec<u8>),
    Removed,
}

impl WorkspaceChanges {
    /// Adds or replaces a skill and its record in the lockfile.
    pub(crate) fn put_skill(&mut self, name: String, content: LoadedTree, record: LockedSkill) {
        self.lock.skills.insert(name.clone(), record);
        self.put.push(SkillFolder { name, content });
    }

    /// Returns the catalog after the changes.
    pub(super) fn render_catalog(&self, session: &Session<'_>, workspace: &Workspace) -> String {
        let is_unchanged = |name: &str| {
            !self.remove.iter().any(|removed| removed == name)
                && !self.put.iter().any(|folder| folder.name == name)
        };
        let mut lines: Vec<(SkillName, String)> = workspace
            .skills
            .iter()
            .filter(|skill| is_unchanged(skill.name.as_str()))
            .map(WorkspaceSkill::catalog_line)
            .collect();
        for SkillFolder { name, content } in &self.put {
            let bytes = content.get(SKILL_FILE).unwrap_or_default();
            lines.extend(
                read_workspace_skill(name, name, bytes, &session.limits)
                    .0
                    .map(|skill| skill.catalog_line()),
            );
        }
        write_catalog(&lines)
    }

    /// Applies the changes, unless this is a dry run. The workspace must have been read after the
    /// home directory was locked. There must be a home directory if the changes are applied.
    pub(crate) fn run(
        &self,
        session: &Session<'_>,
        home: Option<&LockedHome<'_>>,
        workspace: &Workspace,
        apply: ApplyOptions,
    ) -> Result<WorkspaceChangeOutcome> {
        let WorkspaceSteps { steps, catalog_changed } = self.steps(session, workspace)?;
        let status = apply.confirm(plan_id(session, workspace, &steps)?)?;
        let kept = match home {
            Some(home) if status.applied && !steps.is_empty() => {
                run_transaction(session, home, workspace, &steps)?
            }
            _ => Vec::new(),
        };
        Ok(WorkspaceChangeOutcome { status, kept, catalog_changed })
    }

    fn steps(&self, session: &Session<'_>, workspace: &Workspace) -> Result<WorkspaceSteps<'_>> {
        let catalog = self.render_catalog(session, workspace).into_bytes();
        let mut steps = self.folder_steps(workspace);
        let changes_skills = !steps.is_empty();
        for WorkspaceFile { name, bytes } in &self.files {
            steps.extend(file_step(session, WORKSPACE_ROOT, &workspace.root, name, bytes.clone())?);
        }
        let skills = workspace.skills_dir();
        let catalog_step = file_step(session, SKILLS_ROOT, &skills, CATALOG_FILE, catalog)?;
        let catalog_changed = catalog_step.is_some();
        steps.extend(catalog_step);
        match &workspace.project_lock {
            Some(project_lock) => {
                steps.extend(self.project_lock_steps(session, workspace, project_lock)?);
            }
            None if self.lock != workspace.lock || changes_skills => {
                let lock = self.lock.to_json();
                steps.extend(file_step(session, SKILLS_ROOT, &skills, LOCK_FILE, lock)?);
            }
            None => {}
        }
        Ok(WorkspaceSteps { steps, catalog_changed })
    }

    /// Returns the steps that record the lock in that of the project, which replaces the one of the
    /// workspace.
    fn project_lock_steps<'s>(
        &self,
        session: &Session<'_>,
        workspace: &Workspace,
        project_lock: &ProjectLock,
    ) -> Result<Vec<WorkspaceChangeStep<'s>>> {
        let mut steps = Vec::new();
        let mut lock = project_lock.clone();
        lock.workspace.clone_from(&self.lock.skills);
        let root = &workspace.root;
        if lock != *project_lock {
            let text = lock.to_text().into_bytes();
            steps.extend(file_step(session, WORKSPACE_ROOT, root, PROJECT_LOCK_FILE, text)?);
        }
        let own = workspace.skills_dir().join(LOCK_FILE);
        if let (Some(_), before) = read_for_update(&own, session.limits.file_bytes)? {
            steps.push(WorkspaceChangeStep {
                root: SKILLS_ROOT,
                name: LOCK_FILE.into(),
                before,
                content: StepContent::Removed,
            });
        }
        Ok(steps)
    }

    fn folder_steps(&self, workspace: &Workspace) -> Vec<WorkspaceChangeStep<'_>> {
        let before = |name: &str| match workspace.skills_dir().join(name).symlink_metadata() {
            Ok(_) => PriorState::Ours(workspace.lock.skills.get(name).map(|record| record.tree)),
            Err(_) => PriorState::Absent,
        };
        let put = self.put.iter().map(|SkillFolder { name, content }| WorkspaceChangeStep {
            root: SKILLS_ROOT,
            name: name.clone(),
            before: before(name),
            content: StepContent::Folder(content),
        });
        let removed = self.remove.iter().map(|name| WorkspaceChangeStep {
            root: SKILLS_ROOT,
            name: name.clone(),
            before: before(name),
            content: StepContent::Removed,
        });
        put.chain(removed).collect()
    }
}

/// Returns the step that writes a file, or `None` if the file already has this content.
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

/// Returns the ID of the plan to take these steps.
fn plan_id(
    session: &Session<'_>,
    workspace: &Workspace,
    steps: &[WorkspaceChangeStep<'_>],
) -> Result<PlanId> {
    let mut hasher = PlanHasher::of_operation("workspace");
    hasher.path(&workspace.root);
    hasher.number(steps.len());
    for step in steps {
        hasher.number(step.root);
        hasher.text(&step.name);
        hasher.prior_state(step.before);
        match &step.content {
            StepContent::Folder(content) => {
                hasher.text("folder");
                hasher.digest(Some(content.digest()));
            }
            StepContent::File(bytes) => {
                hasher.text("file");
                hasher.bytes(bytes);
                continue;
            }
            StepContent::Removed => hasher.text("removed"),
        }
        // What is replaced or removed.
        let folder = workspace.skills_dir().join(&step.name);
        hasher.digest(if folder.is_dir() { folder_digest(session, &folder)? } else { None });
    }
    Ok(hasher.finish())
}

fn run_transaction(
    session: &Session<'_>,
    home: &LockedHome<'_>,
    workspace: &Workspace,
    steps: &[WorkspaceChangeStep<'_>],
) -> Result<Vec<TrashedFolder>> {
    let state = home.state()?;
    let generation = home.next_generation(&state)?;
    let plan = transaction_plan(session, workspace, steps, generation)?;
    let stage = |transaction: &Transaction<'_>| stage_steps(transaction, steps);
    let (mut transaction, ()) = home.stage_transaction(&session.limits, plan, stage)?;
    transaction.swap()?;
    let next_state = state.with_installs(generation, state.installs.clone());
    let trashed = home.commit_transaction(transaction, &next_state)?;
    Ok(trashed.into_iter().map(Into::into).collect())
}

fn transaction_plan(
    session: &Session<'_>,
    workspace: &Workspace,
    steps: &[WorkspaceChangeStep<'_>],
    generation: u64,
) -> Result<TransactionPlan> {
    let root = canonical_path(&workspace.root)?;
    let changes: Result<Vec<TransactionChange>> = steps.iter().map(transaction_change).collect();
    Ok(TransactionPlan {
        id: to_name(&session.context.run_id)?,
        generation,
        roots: vec![pin_dir(&root)?, pin_dir(&root.join(SKILLS_DIR))?],
        changes: changes?,
        remove_if_empty: Vec::new(),
    })
}

fn transaction_change(step: &WorkspaceChangeStep<'_>) -> Result<TransactionChange> {
    Ok(TransactionChange {
        root: step.root,
        name: to_name(&step.name)?,
        action: if matches!(step.content, StepContent::Removed) {
            TransactionAction::Remove
        } else {
            TransactionAction::Put
        },
        prior: step.before,
    })
}

fn to_name(name: &str) -> Result<Name> {
    Name::new(name).map_err(|e| Error::new(ErrorCode::UnsafePath, format!("`{name}`: {e}")))
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
                transaction.stage_file(index, bytes, FileAccess::Ordinary)?;
            }
            StepContent::Removed => {}
        }
    }
    Ok(())
}

fn pin_dir(path: &Path) -> Result<Arc<PinnedDir>> {
    Ok(Arc::new(PinnedDir::open(path)?))
}

/// Resolves the links of a path: the journal of a transaction has real paths.
fn canonical_path(path: &Path) -> Result<PathBuf> {
    path.canonicalize().map_err(|e| sp_tree::FileError::new("find", path, e).into())
}
