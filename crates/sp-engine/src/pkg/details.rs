//! `sp info`: a package wherever it is, in a file, at the registry or in the store.

use sp_formats::output::{PackageInfo, RegistryPackageInfo};

use super::info::info;
use super::registry::info as registry_info;
use crate::context::{Context, Event, Network};
use crate::error::{Error, ErrorCode, Result};

/// A package, and where it was found.
#[derive(Debug)]
pub enum PackageDetails {
    /// In a file or in the store.
    Local(Box<PackageInfo>),
    Registry(Box<RegistryPackageInfo>),
}

/// Describes a package. Without `registry`, that is a file, or else the package at the registry of
/// the last login, or else the one in the store.
pub fn package_details(
    context: &Context<'_>,
    package: &str,
    registry: Option<&str>,
) -> Result<PackageDetails> {
    if registry.is_some() {
        return registry_info(context, package, registry).map(registry_details);
    }
    if context.expand(package).is_file() || context.network == Network::Offline {
        return info(context, package).map(local_details);
    }
    let remote = match registry_info(context, package, None) {
        Ok(found) => return Ok(registry_details(found)),
        Err(error) => error,
    };
    match info(context, package) {
        Ok(found) => {
            warn_about_registry(context, &remote);
            Ok(local_details(found))
        }
        Err(error) if remote.has_code(ErrorCode::NoRegistry) => {
            Err(error.hint("to ask a registry, run `sp login <URL>`, or add `--registry <URL>`"))
        }
        Err(error) if error.has_code(ErrorCode::PackageNotFound) => Err(remote),
        Err(error) => Err(error),
    }
}

fn local_details(found: PackageInfo) -> PackageDetails {
    PackageDetails::Local(Box::new(found))
}

fn registry_details(found: RegistryPackageInfo) -> PackageDetails {
    PackageDetails::Registry(Box::new(found))
}

/// Warns that the package is from the store because the registry failed, unless the registry just
/// does not have it, or there is none.
fn warn_about_registry(context: &Context<'_>, error: &Error) {
    let codes = [
        ErrorCode::NoRegistry,
        ErrorCode::PackageNotFound,
        ErrorCode::VersionNotFound,
        ErrorCode::InvalidPackageSpec,
        ErrorCode::InvalidName,
    ];
    if !codes.into_iter().any(|code| error.has_code(code)) {
        context.emit(Event::Warning(format!("showing the package of the store: {error}")));
    }
}
