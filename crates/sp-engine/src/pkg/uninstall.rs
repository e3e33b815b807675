//! `sp pkg uninstall`: removes packages from a project.

use std::collections::BTreeSet;

use sp_formats::output::PackageChangeReport;
use sp_formats::package::PackageName;

use super::install::PackageInstallRequest;
use super::project::PackageProject;
use super::project_change::ProjectChange;
use super::solve::SolveRequest;
use crate::context::Context;
use crate::error::{Error, ErrorCode, Result};
use crate::home::LockedHome;
use crate::session::Session;

/// Removes packages from a project, and the dependencies that nothing else needs. Of the request,
/// only the project and the mode matter.
pub fn uninstall(
    context: &Context<'_>,
    names: &[String],
    request: &PackageInstallRequest,
) -> Result<PackageChangeReport> {
    let session = Session::begin(context)?;
    let home = LockedHome::open_unless_dry_run(context, &session.limits, request.mode)?;
    let project = PackageProject::find(&session, request.root.as_deref())?;
    let mut change =
        ProjectChange::new(&session, home.as_ref(), project, request.change_options())?;
    let mut requests = change.project.lock.requests.clone();
    for text in names {
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
