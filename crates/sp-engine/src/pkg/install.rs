//! `sp pkg install`: installs packages and their dependencies in a project.

use std::path::PathBuf;

use sp_formats::output::PackageChangeReport;

use super::project::PackageProject;
use super::project_change::{ChangeOptions, ChangeRequest, ProjectChange, UnnamedSkills};
use super::solve::{OptionalDependencies, SolveRequest};
use super::trust::TrustOverrides;
use crate::context::Context;
use crate::error::{Error, ErrorCode, Result};
use crate::home::LockedHome;
use crate::plan_id::ApplyOptions;
use crate::session::Session;
use crate::sinks::SinkRequest;

/// The arguments of `sp pkg install`.
#[derive(Debug, Clone)]
pub struct PackageInstallRequest {
    /// Packages by name, by name and range, or by file. The default is what the lock names.
    pub packages: Vec<String>,
    /// The sinks for skills.
    pub sinks: Vec<SinkRequest>,
    /// The prefix of the names of skill folders.
    pub prefix: Option<String>,
    /// The project. The default is the nearest one from the current directory upward.
    pub root: Option<PathBuf>,
    pub optional: OptionalDependencies,
    pub trust: TrustOverrides,
    /// If set, the only registry that is asked.
    pub registry: Option<String>,
    pub apply: ApplyOptions,
}

impl PackageInstallRequest {
    fn change_options(&self) -> ChangeOptions<'_> {
        ChangeOptions {
            sinks: &self.sinks,
            prefix: self.prefix.as_deref(),
            trust: self.trust,
            registry: self.registry.as_deref(),
            apply: self.apply,
        }
    }
}

/// Installs packages with their dependencies, all or none.
pub fn install(
    context: &Context<'_>,
    request: &PackageInstallRequest,
) -> Result<PackageChangeReport> {
    let session = Session::begin(context)?;
    let home = LockedHome::open_unless_dry_run(context, &session.limits, request.apply.mode)?;
    let project = PackageProject::find(&session, request.root.as_deref())?;
    let mut change =
        ProjectChange::new(&session, home.as_ref(), project, request.change_options())?;
    let change_request = resolve_request(&mut change, request)?;
    change.run(&change_request)
}

/// Parses the packages, and asks registries for everything that these could need.
fn resolve_request(
    change: &mut ProjectChange<'_>,
    request: &PackageInstallRequest,
) -> Result<ChangeRequest> {
    let requested = change.parse_requests(&request.packages)?;
    let locked = &change.project.lock.requests;
    if locked.is_empty() && requested.is_empty() {
        return Err(Error::new(ErrorCode::MissingArgument, "nothing to install")
            .hint("specify a package or a file; `ctxpkg.lock` lists no packages to install"));
    }
    let mut solve = SolveRequest {
        requests: locked.clone(),
        preferred: change.locked_versions(),
        with_optional: request.optional == OptionalDependencies::Include,
    };
    for (name, range) in &requested {
        solve.preferred.remove(name);
        solve.requests.insert(name.clone(), range.clone());
    }
    change.query_dependency_closure(&requested, &solve)?;
    let has_names = !request.packages.is_empty();
    Ok(ChangeRequest {
        locked_requests: solve.requests.clone(),
        solve,
        named: requested.into_keys().collect(),
        unnamed_skills: if has_names { UnnamedSkills::Keep } else { UnnamedSkills::Restore },
        ..ChangeRequest::default()
    })
}
