//! Parses the packages that a command names, and checks that they can be removed.

use std::collections::BTreeMap;
use std::sync::Arc;

use sp_formats::package::lock::LockedPackage;
use sp_formats::package::{PackageName, RecordedSource, VersionRange};

use super::ProjectChange;
use crate::error::{Error, ErrorCode, Result};
use crate::pkg::load_package::load_file;
use crate::pkg::package_spec::PackageSpec;
use crate::pkg::package_store::LoadedPackage;

/// A package and the versions of it that are requested.
struct PackageRequest {
    name: PackageName,
    range: VersionRange,
}

impl ProjectChange<'_> {
    /// Parses the requested packages to names and ranges. Files are loaded.
    pub(in crate::pkg) fn parse_requests(
        &mut self,
        packages: &[String],
    ) -> Result<BTreeMap<PackageName, VersionRange>> {
        let mut requested = BTreeMap::new();
        for text in packages {
            let PackageRequest { name, range } = self.parse_request(text)?;
            if let Some(other) = requested.insert(name.clone(), range.clone())
                && other != range
            {
                return Err(Error::new(
                    ErrorCode::DuplicateArgument,
                    format!("`{name}` is specified twice: {other} and {range}"),
                )
                .hint("specify each package once"));
            }
        }
        Ok(requested)
    }

    fn parse_request(&mut self, text: &str) -> Result<PackageRequest> {
        match PackageSpec::parse(self.session, text)? {
            PackageSpec::File(path) => {
                let package = Arc::new(load_file(self.session, &path)?);
                let name = package.manifest.name.clone();
                let range = VersionRange::exactly(&package.manifest.version);
                let source = RecordedSource::Other(self.session.context.display_path(&path));
                self.loaded.push(LoadedPackage { package, source });
                Ok(PackageRequest { name, range })
            }
            PackageSpec::Named(name, Some(range)) => Ok(PackageRequest { name, range }),
            PackageSpec::Named(name, None) => {
                let newest = self.newest_version(&name)?;
                // No range matches a pre-release or a version that is not SemVer.
                let is_release = newest.semver().is_some() && !newest.is_pre_release();
                let range =
                    if is_release { VersionRange::any() } else { VersionRange::exactly(&newest) };
                Ok(PackageRequest { name, range })
            }
        }
    }

    /// Checks that a package that was not requested can be uninstalled: it is in a sink, and no
    /// other package depends on it.
    pub(in crate::pkg) fn check_installed_in_sink(&self, name: &PackageName) -> Result<()> {
        if let Some(dependent) = self.find_dependent(name) {
            return Err(Error::new(
                ErrorCode::StillRequired,
                format!("`{name}` is required by `{dependent}`"),
            )
            .hint(format!("run `sp pkg uninstall {dependent}` to uninstall both")));
        }
        if !self.recorded_sinks(name)?.is_empty() {
            return Ok(());
        }
        Err(self.not_installed_error(name))
    }

    fn not_installed_error(&self, name: &PackageName) -> Error {
        let installed: Vec<String> =
            self.project.lock.requests.keys().map(ToString::to_string).collect();
        let root = self.session.context.display_path(&self.project.root);
        let error =
            Error::new(ErrorCode::NotInstalled, format!("`{name}` is not installed in `{root}`"));
        if installed.is_empty() {
            error.hint("run `sp pkg install <package>` to install a package; the project has none")
        } else {
            error.suggest(name.as_str(), &installed, "installed packages")
        }
    }

    fn find_dependent(&self, name: &PackageName) -> Option<&PackageName> {
        let packages = &self.project.lock.packages;
        if !packages.contains_key(name) {
            return None;
        }
        let depends_on = |locked: &LockedPackage| {
            locked.dependencies.iter().any(|dependency| dependency.name == *name)
        };
        packages.iter().find(|(_, locked)| depends_on(locked)).map(|(name, _)| name)
    }
}
