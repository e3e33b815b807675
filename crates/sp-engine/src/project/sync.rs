//! `sp sync`: makes the folders match the manifest and the lockfile.

use sp_formats::output::ProjectChangeReport;

use super::approval::with_approval;
use super::change::{LifecycleChange, LifecycleRequest, LockChange};
use super::files::{GitConflicts, MissingManifest, ProjectDir, ProjectFiles, ProjectLocation};
use crate::context::{Context, Network};
use crate::error::Result;
use crate::home::LockedHome;
use crate::plan_id::ApplyOptions;
use crate::session::Session;

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
    let dir = ProjectDir::find(&context, &request.location, MissingManifest::Refuse)?;
    let mode = request.apply.mode;
    let home = LockedHome::open_unless_missing(&context, &session.limits, mode)?;
    let conflicts = match request.policy {
        SyncPolicy::Resolve => GitConflicts::Unite,
        SyncPolicy::Locked | SyncPolicy::Frozen => GitConflicts::Refuse,
    };
    let files = ProjectFiles::read(&session, &dir, conflicts)?;
    let lock_change = match request.policy {
        SyncPolicy::Resolve => LockChange::Allowed,
        SyncPolicy::Locked | SyncPolicy::Frozen => LockChange::Refused,
    };
    let lifecycle =
        LifecycleRequest { lock_change, ..LifecycleRequest::edit(Vec::new(), request.apply) };
    LifecycleChange::new(&session, home.as_ref(), &files, lifecycle, Vec::new())?.run()
}
