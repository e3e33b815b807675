//! `sp pkg install` and `sp pkg uninstall`: what a project is to have.

use std::collections::BTreeSet;
use std::path::PathBuf;

use sp_formats::output::PackageChangeReport;
use sp_formats::package::PackageName;

use super::project::PackageProject;
use super::project_change::ProjectChange;
use super::solve::SolveRequest as Asked;
use super::trust::TrustOverrides;
use crate::apply_mode::ApplyMode;
use crate::context::Context;
use crate::error::{Error, FailureKind, Result};
use crate::home::LockedHome;
use crate::session::Session;
use crate::sinks::SinkRequest;

/// Whether optional dependencies are installed where they can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OptionalDependencies {
    /// No.
    Skip,
    /// Yes.
    Include,
}

/// What is to be installed.
#[derive(Debug, Clone)]
pub struct PackageInstallRequest {
    /// Packages by name, by name and range, or by file; none means what is locked.
    pub packages: Vec<String>,
    /// Where skills go.
    pub sinks: Vec<SinkRequest>,
    /// What stands before the names of skills' folders.
    pub prefix: Option<String>,
    /// The project, if it was given.
    pub root: Option<PathBuf>,
    /// Whether optional dependencies are installed.
    pub optional: OptionalDependencies,
    /// What is accepted for once.
    pub trust: TrustOverrides,
    /// The only registry where packages are looked for, if one was named.
    pub registry: Option<String>,
    /// Whether it is done.
    pub mode: ApplyMode,
}

/// Installs packages with all that they need, all or none.
pub fn install(
    context: &Context<'_>,
    request: &PackageInstallRequest,
) -> Result<PackageChangeReport> {
    let session = Session::begin(context)?;
    let home = LockedHome::open_unless_dry_run(context, &session.limits, request.mode)?;
    let project = PackageProject::find(&session, request.root.as_deref())?;
    let mut work = ProjectChange::new(&session, home.as_ref(), project, request)?;
    work.restore_locked = request.packages.is_empty();
    let asked = work.parse_requests(&request.packages)?;
    if work.project.lock.requests.is_empty() && asked.is_empty() {
        return Err(Error::new(FailureKind::Usage, "there is nothing to install")
            .hint("name a package or a file; without one, what `ctxpkg.lock` says is installed"));
    }
    let mut wanted = Asked {
        requests: work.project.lock.requests.clone(),
        preferred: work.locked_versions(),
        with_optional: request.optional == OptionalDependencies::Include,
    };
    for (name, range) in &asked {
        wanted.preferred.remove(name);
        wanted.requests.insert(name.clone(), range.clone());
    }
    work.query_dependency_closure(&asked, &wanted)?;
    let world = work.all_candidates();
    work.apply(&world, &wanted, &wanted.requests, &asked.keys().cloned().collect())
}

/// Takes packages out of a project, and what nothing else needs.
pub fn uninstall(
    context: &Context<'_>,
    names: &[String],
    request: &PackageInstallRequest,
) -> Result<PackageChangeReport> {
    let session = Session::begin(context)?;
    let home = LockedHome::open_unless_dry_run(context, &session.limits, request.mode)?;
    let project = PackageProject::find(&session, request.root.as_deref())?;
    let mut work = ProjectChange::new(&session, home.as_ref(), project, request)?;
    let mut requests = work.project.lock.requests.clone();
    for text in names {
        let name = PackageName::new(text).map_err(|why| {
            Error::new(FailureKind::Usage, format!("`{text}` is no name of a package"))
                .because(why)
                .hint("name it without a version")
        })?;
        if requests.remove(&name).is_none() {
            work.check_installed_in_sink(&name)?;
            work.unlocked_removals.insert(name);
        }
    }
    let wanted = Asked { requests, preferred: work.locked_versions(), with_optional: false };
    // Nothing comes when something goes: only what is there can stay.
    let world = work.locked_candidates();
    work.apply(&world, &wanted, &wanted.requests, &BTreeSet::new())
}
