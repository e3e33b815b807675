//! `sp pkg install`, `uninstall` and `rollback`.
//!
//! In a project with a manifest, they change the manifest and `skillpack.lock`, in one transaction
//! with the packages. Elsewhere, `ctxpkg.lock` has the packages, and no manifest is created.

use std::path::{Path, PathBuf};

use sp_formats::output::{PackageChangeReport, ProjectChangeReport};
use sp_formats::package::PackageName;
use sp_formats::project::MANIFEST_FILE;
use sp_formats::project::manifest::ProjectManifest;
use sp_formats::project::manifest_edit::{ItemList, ManifestEdit};

use super::files::{MissingManifest, ProjectDir, ProjectFiles, ProjectLocation};
use super::lifecycle_request::LifecycleRequest;
use super::open_project::OpenProject;
use super::packages::{dependents, package_lock};
use super::targets::expand_agents;
use crate::context::Context;
use crate::error::{Error, ErrorCode, Result};
use crate::home::LockedHome;
use crate::pkg::{
    self, ManifestPackageOptions, ManifestPackages, PackageInstallRequest, PackageRollbackRequest,
    PackageSelection, PackageUninstallRequest, RollbackTarget, TrustOverrides,
    nearest_package_root, select_rollback,
};
use crate::plan_id::ApplyOptions;
use crate::session::Session;
use crate::sinks::SinkScope;

/// Installs packages.
pub fn install_packages(
    context: &Context<'_>,
    request: &PackageInstallRequest,
) -> Result<PackageChangeReport> {
    let Some(dir) = manifest_dir(context, request.root.as_deref())? else {
        return pkg::install(context, request);
    };
    let project = OpenProject::at(context, &dir, request.apply.mode)?;
    let OpenProject { session, home, files } = &project;
    refuse_target_options(request)?;
    let options = ManifestPackageOptions {
        trust: request.trust,
        registry: request.registry.as_deref(),
        apply: request.apply,
    };
    let locked = (files.dir.path.as_path(), package_lock(files));
    let mut packages = ManifestPackages::open(session, home.as_ref(), locked, options)?;
    let requested = packages.parse_requests(&request.packages)?;
    if requested.is_empty() && package_lock(files).requests.is_empty() {
        return Err(Error::new(ErrorCode::MissingArgument, "nothing to install")
            .hint(format!("specify a package or a file; `{MANIFEST_FILE}` lists no packages")));
    }
    let mut edits = agent_edits(session, &files.manifest, request)?;
    let mut selection = PackageSelection::refresh(requested.keys().cloned().collect());
    selection.optional = request.optional;
    let set = |(name, range)| ManifestEdit::SetPackage { name, range };
    edits.extend(requested.into_iter().map(set));
    let lifecycle =
        LifecycleRequest { packages: selection, ..LifecycleRequest::edit(edits, request.apply) };
    let change = project.change(lifecycle)?.with_packages(packages);
    Ok(package_report(dir.path, change.run()?))
}

/// Uninstalls packages.
pub fn uninstall_packages(
    context: &Context<'_>,
    request: &PackageUninstallRequest,
) -> Result<PackageChangeReport> {
    let Some(dir) = manifest_dir(context, request.root.as_deref())? else {
        return pkg::uninstall(context, request);
    };
    let project = OpenProject::at(context, &dir, request.apply.mode)?;
    let mut edits = Vec::new();
    for text in &request.packages {
        let name = PackageName::new(text).map_err(|why| {
            Error::new(ErrorCode::InvalidName, format!("invalid package name `{text}`"))
                .because(why)
                .hint("specify the package without a version")
        })?;
        edits.push(removal(&project.files, name)?);
    }
    let report = project.run(LifecycleRequest::edit(edits, request.apply))?;
    Ok(package_report(dir.path, report))
}

/// Returns the edit that removes a package from a manifest.
pub(super) fn removal(files: &ProjectFiles, name: PackageName) -> Result<ManifestEdit> {
    let requests = package_lock(files).requests;
    if requests.contains_key(&name) {
        return Ok(ManifestEdit::RemovePackage(name));
    }
    if let Some(dependent) = dependents(&files.lock.packages, &name).next() {
        let message = format!("`{name}` is required by `{dependent}`");
        return Err(Error::new(ErrorCode::StillRequired, message)
            .hint(format!("run `sp remove {dependent}` to remove both")));
    }
    let message = format!("`{MANIFEST_FILE}` does not bring in the package `{name}`");
    let known: Vec<String> = requests.keys().map(ToString::to_string).collect();
    let error = Error::new(ErrorCode::NotInstalled, message);
    Err(if known.is_empty() {
        error.hint("run `sp pkg install <package>` to install a package; the manifest has none")
    } else {
        error.suggest(name.as_str(), &known, "packages in the manifest")
    })
}

/// Returns packages to an earlier state.
pub fn roll_back_packages(
    context: &Context<'_>,
    request: &PackageRollbackRequest,
) -> Result<PackageChangeReport> {
    let Some(dir) = manifest_dir(context, request.root.as_deref())? else {
        return pkg::rollback(context, request);
    };
    let project = OpenProject::at(context, &dir, request.apply.mode)?;
    let OpenProject { session, home, files } = &project;
    let target = request.package.as_deref().map(RollbackTarget::parse).transpose()?;
    let of_project = |target: &RollbackTarget| files.lock.packages.contains_key(&target.name);
    if target.as_ref().is_some_and(|target| !of_project(target)) {
        // The lock is taken again.
        drop(project);
        // Only the store has it.
        return pkg::rollback(context, request);
    }
    let packages = open_packages(session, home.as_ref(), files, request.apply)?;
    let selection = select_rollback(session, &packages, target)?;
    let before = package_lock(files).requests;
    let after = selection.rollback_requests().cloned().unwrap_or_default();
    let removed = before.keys().filter(|name| !after.contains_key(*name)).cloned();
    let mut edits: Vec<ManifestEdit> = removed.map(ManifestEdit::RemovePackage).collect();
    let changed = after.into_iter().filter(|(name, range)| before.get(name) != Some(range));
    edits.extend(changed.map(|(name, range)| ManifestEdit::SetPackage { name, range }));
    let lifecycle =
        LifecycleRequest { packages: selection, ..LifecycleRequest::edit(edits, request.apply) };
    let change = project.change(lifecycle)?.with_packages(packages);
    Ok(package_report(dir.path, change.run()?))
}

fn open_packages<'a>(
    session: &'a Session<'a>,
    home: Option<&'a LockedHome<'a>>,
    files: &ProjectFiles,
    apply: ApplyOptions,
) -> Result<ManifestPackages<'a>> {
    let options =
        ManifestPackageOptions { trust: TrustOverrides::default(), registry: None, apply };
    ManifestPackages::open(session, home, (&files.dir.path, package_lock(files)), options)
}

/// Returns the directory of the manifest, if the packages belong to one. Packages in a directory
/// below it that has its own lockfile do not.
fn manifest_dir(context: &Context<'_>, root: Option<&Path>) -> Result<Option<ProjectDir>> {
    let find = |root: Option<&Path>| {
        let root = root.map(Path::to_path_buf);
        let location = ProjectLocation { scope: SinkScope::Project, root };
        match ProjectDir::find(context, &location, MissingManifest::Refuse) {
            Ok(dir) => Ok(Some(dir)),
            Err(error) if error.has_code(ErrorCode::ManifestNotFound) => Ok(None),
            Err(error) => Err(error),
        }
    };
    let own = nearest_package_root(context).filter(|_| root.is_none());
    let own = own.map(|own| own.canonicalize().unwrap_or(own));
    match (find(root)?, own) {
        (Some(dir), Some(own)) if own != dir.path && own.starts_with(&dir.path) => Ok(None),
        (Some(dir), _) => Ok(Some(dir)),
        // The manifest may be above the root of the git repository.
        (None, Some(own)) => find(Some(&own)),
        (None, None) => Ok(None),
    }
}

/// Refuses options that a manifest cannot record for a package.
fn refuse_target_options(request: &PackageInstallRequest) -> Result<()> {
    let refused = if request.prefix.is_some() {
        "--prefix"
    } else if request.sinks.iter().any(|sink| sink.path.is_some()) {
        "--path"
    } else {
        return Ok(());
    };
    let message = format!("`{refused}` does not apply to the packages of a manifest");
    Err(Error::new(ErrorCode::InvalidArguments, message)
        .because("the skills of packages are installed for the agents of the manifest")
        .hint("to choose skills, agents and names, run `sp add @<namespace>/<package>`"))
}

/// Returns the edits that set the agents of a manifest that has none.
fn agent_edits(
    session: &Session<'_>,
    manifest: &ProjectManifest,
    request: &PackageInstallRequest,
) -> Result<Vec<ManifestEdit>> {
    let requested: Vec<&str> = request.sinks.iter().map(|sink| sink.name.as_str()).collect();
    if manifest.agents.is_empty() {
        let list = ItemList::Agents;
        let add = |name: &str| ManifestEdit::AddItem { list, text: name.to_owned() };
        return Ok(requested.into_iter().map(add).collect());
    }
    let known =
        if requested.is_empty() { Vec::new() } else { expand_agents(session, &manifest.agents)? };
    match requested.iter().find(|name| !known.iter().any(|known| known == *name)) {
        None => Ok(Vec::new()),
        Some(other) => {
            let message = format!("`{MANIFEST_FILE}` does not name the agent `{other}`");
            Err(Error::new(ErrorCode::InvalidArguments, message)
                .because("packages are installed for all agents of the manifest")
                .hint(format!("add `{other}` to `agents` in `{MANIFEST_FILE}`")))
        }
    }
}

/// Returns the report of `sp pkg` for a change of a project.
fn package_report(root: PathBuf, change: ProjectChangeReport) -> PackageChangeReport {
    PackageChangeReport {
        status: change.status,
        root,
        packages: change.packages,
        sinks: change.sinks,
        kept: change.kept,
        context: change.context,
    }
}
