//! Asks registries for the packages that a change could need.

use std::collections::{BTreeMap, BTreeSet};

use sp_formats::package::{PackageDependency, PackageName, PackageVersion, VersionRange};

use super::ProjectChange;
use crate::error::{Error, ErrorCode, Result};
use crate::pkg::package_store::find_best_stored;
use crate::pkg::solve::SolveRequest;

/// The maximum number of packages that are looked up for one change.
const MAX_QUERIED_PACKAGES: usize = 2_000;

impl ProjectChange<'_> {
    /// Asks registries for packages, once each.
    pub(super) fn query_registries(&mut self, names: &[PackageName]) -> Result<()> {
        let new_names: Vec<PackageName> =
            names.iter().filter(|name| self.queried.insert((*name).clone())).cloned().collect();
        let locked = &self.project.lock.packages;
        let found = self
            .registries
            .query(&new_names, |name| locked.get(name).map(|locked| locked.from.clone()))?;
        self.available.extend(found.into_iter().map(|package| (package.name.clone(), package)));
        Ok(())
    }

    /// Returns the newest version of a package in the store or a registry.
    pub(super) fn newest_version(&mut self, name: &PackageName) -> Result<PackageVersion> {
        self.query_registries(std::slice::from_ref(name))?;
        let stored =
            find_best_stored(&self.store.index, name, None).map(|stored| stored.version.clone());
        let available = self.available.get(name).into_iter().flat_map(|package| &package.versions);
        let available = available.filter(|version| !version.yanked).map(|version| &version.version);
        let in_store = stored.as_ref().ok().filter(|version| !self.is_yanked(name, version));
        let newest =
            available.chain(in_store).max_by_key(|version| (!version.is_pre_release(), *version));
        match newest {
            Some(newest) => Ok(newest.clone()),
            None if self.available.contains_key(name) => Err(Error::new(
                ErrorCode::VersionNotFound,
                format!("all versions of `{name}` are yanked"),
            )
            .hint(format!(
                "run `sp info {name}` to list them, and install one by its exact version"
            ))),
            None => stored.map_err(|error| match self.registries.default_addresses().as_slice() {
                [] => error,
                asked => {
                    let message = format!(
                        "package `{name}` not found in the store or at {}",
                        asked.join(", ")
                    );
                    let word = name.as_str().rsplit('/').next().unwrap_or_default();
                    Error::new(ErrorCode::PackageNotFound, message)
                        .hint(format!("run `sp search {word}` to find similar packages"))
                }
            }),
        }
    }

    /// Asks registries for the requested packages and for everything that these could depend on.
    pub(in crate::pkg) fn query_dependency_closure(
        &mut self,
        requested: &BTreeMap<PackageName, VersionRange>,
        solve_request: &SolveRequest,
    ) -> Result<()> {
        let mut visited: BTreeSet<PackageName> = BTreeSet::new();
        let mut pending: Vec<PackageName> = requested.keys().cloned().collect();
        while !pending.is_empty() {
            visited.extend(pending.iter().cloned());
            if visited.len() > MAX_QUERIED_PACKAGES {
                return Err(Error::new(
                    ErrorCode::LimitExceeded,
                    format!(
                        "resolving the dependencies may require more than {MAX_QUERIED_PACKAGES} \
                         packages"
                    ),
                )
                .hint("specify an exact version"));
            }
            self.query_registries(&pending)?;
            let dependencies: BTreeSet<PackageName> = pending
                .iter()
                .flat_map(|name| {
                    self.possible_dependencies(name, requested.get(name), solve_request)
                })
                .collect();
            pending = dependencies.into_iter().filter(|name| !visited.contains(name)).collect();
        }
        Ok(())
    }

    /// Returns the dependencies of all versions of a package that could be selected.
    fn possible_dependencies(
        &self,
        name: &PackageName,
        range: Option<&VersionRange>,
        solve_request: &SolveRequest,
    ) -> BTreeSet<PackageName> {
        let is_match = |version: &PackageVersion| {
            range.is_none_or(|range| range.matches(version) || range.is_exactly(version))
        };
        let available = self.available.get(name).into_iter().flat_map(|package| &package.versions);
        let available = available
            .filter(|version| is_match(&version.version))
            .flat_map(|version| &version.dependencies);
        let stored = self.store.index.packages.iter();
        let stored = stored
            .filter(|stored| stored.name == *name && is_match(&stored.version))
            .flat_map(|stored| &stored.dependencies);
        let loaded = self.loaded.iter().map(|loaded| &loaded.package.manifest);
        let loaded = loaded
            .filter(|manifest| manifest.name == *name)
            .flat_map(|manifest| &manifest.dependencies);
        let is_included = |dependency: &&PackageDependency| {
            !dependency.optional || solve_request.includes_optional(&dependency.name)
        };
        available
            .chain(stored)
            .chain(loaded)
            .filter(is_included)
            .map(|dependency| dependency.name.clone())
            .collect()
    }

    fn is_yanked(&self, name: &PackageName, version: &PackageVersion) -> bool {
        let available = self.available.get(name).and_then(|package| package.version(version));
        available.is_some_and(|available| available.yanked)
    }
}
