//! `sp sync` in a SkillBag workspace: first the dependencies of its contexts, then the project.
//!
//! The workspace and the project change in a transaction each. An interruption between the two
//! leaves a workspace that has its dependencies, and the next sync continues with the project. One
//! plan ID covers both.

use std::path::{Path, PathBuf};

use sp_formats::output::{FolderAction, PlanStatus, ProjectChangeReport, WorkspaceChangeReport};
use sp_formats::project::conflict::has_conflict_markers;
use sp_formats::project::{LOCK_FILE, MANIFEST_FILE};
use sp_formats::workspace::{CONTEXT_FILE, ENTRYPOINT_FILE};
use sp_tree::read_optional;

use super::lifecycle_request::LockChange;
use crate::error::{Error, ErrorCode, Result};
use crate::plan_id::{ApplyOptions, PlanHasher, PlanId};
use crate::session::Session;
use crate::workspace::sync_dependencies;

/// Whether a directory is the root of a workspace.
pub(super) fn is_workspace_root(dir: &Path) -> bool {
    dir.join(ENTRYPOINT_FILE).is_file()
}

/// A workspace to sync before the project in the same directory.
pub(super) struct WorkspaceSync<'a> {
    pub session: &'a Session<'a>,
    pub root: &'a Path,
    pub lock_change: LockChange,
    pub apply: ApplyOptions,
}

impl WorkspaceSync<'_> {
    /// Syncs the workspace, then the project with `sync_project`.
    pub(super) fn run(
        &self,
        sync_project: &dyn Fn(ApplyOptions) -> Result<ProjectChangeReport>,
    ) -> Result<ProjectChangeReport> {
        if is_unmerged(self.session, self.root) {
            // The lockfile, which records the workspace too, is united by the project.
            let project = sync_project(self.apply)?;
            if self.apply.is_dry_run() {
                return Ok(project);
            }
            let workspace = self.sync_workspace(ApplyOptions::APPLY)?;
            return Ok(ProjectChangeReport { workspace: Some(workspace), ..project });
        }
        let dry_run = ApplyOptions { expected_plan: None, ..self.apply }.as_dry_run();
        let planned = self.sync_workspace(dry_run)?;
        self.refuse_change(&planned)?;
        let is_confirmed = self.apply.expected_plan.is_some() || self.apply.is_dry_run();
        if is_confirmed || self.lock_change == LockChange::Refused {
            let both = united(planned.clone(), sync_project(dry_run)?);
            both.id.ensure_matches(self.apply.expected_plan)?;
            if self.apply.is_dry_run() {
                return Ok(both.report);
            }
        }
        // Without changes, the project converts a lockfile of the workspace, and reports it.
        let workspace = if changes_workspace(&planned) {
            self.sync_workspace(ApplyOptions::APPLY)?
        } else {
            let status = PlanStatus { applied: true, ..planned.status };
            WorkspaceChangeReport { status, ..planned }
        };
        Ok(united(workspace, sync_project(ApplyOptions::APPLY)?).report)
    }

    fn sync_workspace(&self, apply: ApplyOptions) -> Result<WorkspaceChangeReport> {
        sync_dependencies(self.session, self.root, apply)
    }

    /// Refuses to install skills where the lockfile must not change.
    fn refuse_change(&self, planned: &WorkspaceChangeReport) -> Result<()> {
        let missing = planned.skills.iter().filter(|skill| skill.action != FolderAction::Keep);
        let missing: Vec<&str> = missing.map(|skill| skill.name.as_str()).collect();
        if self.lock_change == LockChange::Allowed || missing.is_empty() {
            return Ok(());
        }
        let message = format!("the workspace lacks skills that `{CONTEXT_FILE}` declares");
        Err(Error::new(ErrorCode::LockMismatch, message)
            .because(format!("these skills are missing: {}", missing.join(", ")))
            .hint("nothing was changed: run `sp sync`, and commit `.skills/`"))
    }
}

/// What happens to a workspace and its project.
struct UnitedSync {
    report: ProjectChangeReport,
    id: PlanId,
}

fn changes_workspace(report: &WorkspaceChangeReport) -> bool {
    report.catalog_changed || report.skills.iter().any(|it| it.action != FolderAction::Keep)
}

/// Whether git left conflicts in the lockfile next to a workspace.
fn is_unmerged(session: &Session<'_>, root: &Path) -> bool {
    let text = read_optional(&root.join(LOCK_FILE), session.limits.file_bytes).ok().flatten();
    text.is_some_and(|text| has_conflict_markers(&String::from_utf8_lossy(&text)).is_some())
}

fn united(workspace: WorkspaceChangeReport, project: ProjectChangeReport) -> UnitedSync {
    let mut hasher = PlanHasher::of_operation("sync workspace");
    hasher.text(&workspace.status.plan);
    hasher.text(&project.status.plan);
    let id = hasher.finish();
    let status = PlanStatus { plan: id.to_string(), ..project.status };
    let report = ProjectChangeReport { status, workspace: Some(workspace), ..project };
    UnitedSync { report, id }
}

/// Returns the report of a workspace without a manifest, whose project never changes.
pub(super) fn without_project(root: &Path, apply: ApplyOptions) -> ProjectChangeReport {
    let manifest: PathBuf = root.join(MANIFEST_FILE);
    let status = PlanStatus { applied: !apply.is_dry_run(), plan: String::new() };
    ProjectChangeReport { status, manifest, ..ProjectChangeReport::default() }
}
