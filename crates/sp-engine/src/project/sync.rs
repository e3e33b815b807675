//! `sp sync`: makes the folders match the manifest and the lockfile.

use sp_formats::output::ProjectChangeReport;

use super::approval::with_approval;
use super::change::LifecycleChange;
use super::files::{GitConflicts, MissingManifest, ProjectDir, ProjectFiles, ProjectLocation};
use super::lifecycle_request::{LifecycleRequest, LockChange};
use super::workspace_sync::{WorkspaceSync, is_workspace_root, without_project};
use crate::context::{Context, Network};
use crate::error::{ErrorCode, Result};
use crate::home::LockedHome;
use crate::plan_id::ApplyOptions;
use crate::session::Session;
use crate::sinks::SinkScope;

/// What a sync may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SyncPolicy {
    /// Resolve what the lockfile lacks.
    Resolve,
    /// Fail if the lockfile would change (`--locked`).
    Locked,
    /// In addition, do not use the network (`--frozen`).
    Frozen,
}

impl SyncPolicy {
    fn lock_change(self) -> LockChange {
        match self {
            Self::Resolve => LockChange::Allowed,
            Self::Locked | Self::Frozen => LockChange::Refused,
        }
    }
}

/// Which manifest to sync, and how.
#[derive(Debug, Clone)]
pub struct SyncRequest {
    pub location: ProjectLocation,
    pub policy: SyncPolicy,
    pub apply: ApplyOptions,
}

/// Installs, updates and removes what the manifest and the lockfile contain.
pub fn sync(context: &Context<'_>, request: &SyncRequest) -> Result<ProjectChangeReport> {
    with_approval(context, &|context| run_sync(context, request))
}

fn run_sync(context: &Context<'_>, request: &SyncRequest) -> Result<ProjectChangeReport> {
    let mut context = context.clone();
    if request.policy == SyncPolicy::Frozen {
        context.network = Network::Offline;
    }
    let session = Session::begin(&context)?;
    let location = &request.location;
    let (policy, apply) = (request.policy, request.apply);
    let lock_change = policy.lock_change();
    let dir = match ProjectDir::find(&context, location, MissingManifest::Refuse) {
        Err(error) if error.has_code(ErrorCode::ManifestNotFound) => {
            let dir = ProjectDir::find(&context, location, MissingManifest::Create)?;
            if location.scope != SinkScope::Project || !is_workspace_root(&dir.path) {
                return Err(error);
            }
            let sync = WorkspaceSync { session: &session, root: &dir.path, lock_change, apply };
            return sync.run(&|apply| Ok(without_project(&dir.path, apply)));
        }
        found => found?,
    };
    if location.scope != SinkScope::Project || !is_workspace_root(&dir.path) {
        return sync_project(&session, &dir, policy, apply);
    }
    let sync = WorkspaceSync { session: &session, root: &dir.path, lock_change, apply };
    sync.run(&|apply| sync_project(&session, &dir, policy, apply))
}

fn sync_project(
    session: &Session<'_>,
    dir: &ProjectDir,
    policy: SyncPolicy,
    apply: ApplyOptions,
) -> Result<ProjectChangeReport> {
    let home = LockedHome::open_unless_missing(session.context, &session.limits, apply.mode)?;
    let lock_change = policy.lock_change();
    let conflicts = match lock_change {
        LockChange::Allowed => GitConflicts::Unite,
        LockChange::Refused => GitConflicts::Refuse,
    };
    let files = ProjectFiles::read(session, dir, conflicts)?;
    let lifecycle = LifecycleRequest { lock_change, ..LifecycleRequest::edit(Vec::new(), apply) };
    LifecycleChange::new(session, home.as_ref(), &files, lifecycle, Vec::new())?.run()
}
