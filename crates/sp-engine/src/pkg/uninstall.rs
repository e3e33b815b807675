//! `sp pkg uninstall`: removes packages from a project.

use std::collections::BTreeSet;
use std::path::PathBuf;

use sp_formats::output::PackageChangeReport;
use sp_formats::package::PackageName;

use super::project::PackageProject;
use super::project_change::{ChangeOptions, ProjectChange};
use super::solve::SolveRequest;
use crate::apply_mode::ApplyMode;
use crate::context::Context;
use crate::error::{Error, ErrorCode, Result};
use crate::home::LockedHome;
use crate::session::Session;

/// The arguments of `sp pkg uninstall`.
#[derive(Debug, Clone)]
pub struct PackageUninstallRequest {
    /// The names of the packages.
    pub packages: Vec<String>,
    /// The project. The default is the nearest one from the current directory upward.
    pub root: Option<PathBuf>,
    pub mode: ApplyMode,
}

/// Removes packages from a project, and the dependencies that nothing else needs.
pub fn uninstall(
    context: &Context<'_>,
    request: &PackageUninstallRequest,
) -> Result<PackageChangeReport> {
    let session = Session::begin(context)?;
    let home = LockedHome::open_unless_dry_run(context, &session.limits, request.mode)?;
    let project = PackageProject::find(&session, request.root.as_deref())?;
    let options = ChangeOptions::local(request.mode);
    let mut change = ProjectChange::new(&session, home.as_ref(), project, options)?;
    let mut requests = change.project.lock.requests.clone();
    for text in &request.packages {
        let name = PackageName::new(text).map_err(|why| {
            Error::new(ErrorCode::InvalidName, format!("`{text}` is no name of a package"))
                .because(why)
                .hint("name it without a version")
        })?;
        if requests.remove(&name).is_none() {
            change.check_installed_in_sink(&name)?;
            change.unlocked_removals.insert(name);
        }
    }
    let solve_request =
        SolveRequest { requests, preferred: change.locked_versions(), with_optional: false };
    // Uninstalling never installs: only locked versions are candidates.
    let candidates = change.locked_candidates();
    change.apply(&candidates, &solve_request, &solve_request.requests, &BTreeSet::new())
}
