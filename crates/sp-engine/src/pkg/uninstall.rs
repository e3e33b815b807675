//! `sp pkg uninstall`: removes packages from a project.

use std::collections::BTreeSet;
use std::path::PathBuf;

use sp_formats::output::PackageChangeReport;
use sp_formats::package::PackageName;

use super::project::PackageProject;
use super::project_change::{CandidateScope, ChangeOptions, ChangeRequest, ProjectChange};
use super::solve::SolveRequest;
use crate::context::Context;
use crate::error::{Error, ErrorCode, Result};
use crate::home::LockedHome;
use crate::plan_id::ApplyOptions;
use crate::session::Session;

/// The arguments of `sp pkg uninstall`.
#[derive(Debug, Clone)]
pub struct PackageUninstallRequest {
    /// The names of the packages.
    pub packages: Vec<String>,
    /// The project. The default is the nearest one from the current directory upward.
    pub root: Option<PathBuf>,
    pub apply: ApplyOptions,
}

/// Removes packages from a project, and the dependencies that nothing else needs.
pub fn uninstall(
    context: &Context<'_>,
    request: &PackageUninstallRequest,
) -> Result<PackageChangeReport> {
    let session = Session::begin(context)?;
    let home = LockedHome::open_unless_dry_run(context, &session.limits, request.apply.mode)?;
    let project = PackageProject::find(&session, request.root.as_deref())?;
    let options = ChangeOptions::local(request.apply);
    let change = ProjectChange::new(&session, home.as_ref(), project, options)?;
    let change_request = removal_request(&change, &request.packages)?;
    change.run(&change_request)
}

fn removal_request(change: &ProjectChange<'_>, packages: &[String]) -> Result<ChangeRequest> {
    let mut requests = change.project.lock.requests.clone();
    let mut unlocked_removals = BTreeSet::new();
    for text in packages {
        let name = PackageName::new(text).map_err(|why| {
            Error::new(ErrorCode::InvalidName, format!("invalid package name `{text}`"))
                .because(why)
                .hint("specify the package without a version")
        })?;
        if requests.remove(&name).is_none() {
            change.check_installed_in_sink(&name)?;
            unlocked_removals.insert(name);
        }
    }
    Ok(ChangeRequest {
        locked_requests: requests.clone(),
        solve: SolveRequest { requests, preferred: change.locked_versions(), with_optional: false },
        candidates: CandidateScope::Locked,
        unlocked_removals,
        ..ChangeRequest::default()
    })
}
