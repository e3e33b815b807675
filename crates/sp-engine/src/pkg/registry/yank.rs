//! `sp yank`: excludes a version from new resolutions, or undoes that.

use sp_formats::output::RegistryYankReport;
use sp_formats::package::{PackageName, PackageVersion};

use super::package_path::{registry_name, version_path};
use crate::context::Context;
use crate::error::{Error, ErrorCode, Result};
use crate::registry::{RegistryRequest, connect};
use crate::session::Session;

/// Whether a version is yanked or restored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum YankAction {
    Yank,
    Undo,
}

/// The arguments of `sp yank`.
#[derive(Debug, Clone)]
pub struct YankRequest {
    /// The package with its version: `@team/notes@1.2.0`.
    pub package: String,
    pub action: YankAction,
    /// The URL of the registry. The default is that of the config or of the last login.
    pub registry: Option<String>,
}

/// Yanks a version, or restores it. Lockfiles that name a yanked version keep working.
pub fn yank(context: &Context<'_>, request: &YankRequest) -> Result<RegistryYankReport> {
    let session = Session::begin(context)?;
    let client = connect(&session, request.registry.as_deref())?;
    let invalid = || {
        Error::new(
            ErrorCode::MissingArgument,
            format!("`{}` does not specify a version", request.package),
        )
        .hint("use the form `@team/notes@1.2.0`")
    };
    let (name, version) = request
        .package
        .rsplit_once('@')
        .filter(|(name, _)| !name.is_empty())
        .ok_or_else(invalid)?;
    let name = PackageName::new(name).map_err(|why| invalid().because(why))?;
    let version = PackageVersion::new(version).map_err(|why| invalid().because(why))?;
    let name = registry_name(&name)?;
    let path = version_path(&name, &version);
    match request.action {
        YankAction::Yank => client.execute(&RegistryRequest::delete(&path))?,
        YankAction::Undo => client.execute(&RegistryRequest::post(&format!("{path}/unyank")))?,
    };
    let yanked = request.action == YankAction::Yank;
    let registry = client.address().to_owned();
    Ok(RegistryYankReport {
        registry,
        name: name.to_string(),
        version: version.as_str().into(),
        yanked,
    })
}
