//! The part of a change that registries have in it: what they offer, and the bytes of what was chosen.

use std::collections::{BTreeMap, BTreeSet};

use sp_formats::package::{PackageDependency, PackageName, PackageVersion, VersionRange};

use super::package_store::find_best_stored;
use super::project_change::ProjectChange;
use super::registry::{AvailablePackage, KeepPartial};
use super::solve::{CandidatesByName, SolveRequest, VersionCandidate};
use crate::apply_mode::ApplyMode;
use crate::error::{Error, FailureKind, Result};

/// More packages than this nothing needs.
const MAX_QUERIED_PACKAGES: usize = 2_000;

impl ProjectChange<'_> {
    /// Asks the registries for some packages, once each.
    fn query_registries(&mut self, names: &[PackageName]) -> Result<()> {
        let unknown: Vec<PackageName> =
            names.iter().filter(|name| self.queried.insert((*name).clone())).cloned().collect();
        let locked = &self.project.lock.packages;
        let found = self
            .registries
            .query(&unknown, |name| locked.get(name).map(|locked| locked.from.clone()))?;
        self.available.extend(found.into_iter().map(|offer| (offer.name.clone(), offer)));
        Ok(())
    }

    /// The newest version of a package that the store or a registry has.
    pub(super) fn newest_version(&mut self, name: &PackageName) -> Result<PackageVersion> {
        self.query_registries(std::slice::from_ref(name))?;
        let stored = find_best_stored(&self.index, name, None).map(|stored| stored.version.clone());
        let offer = self.available.get(name).into_iter().flat_map(|offer| &offer.versions);
        let yanked = |version: &PackageVersion| self.is_yanked(name, version);
        let offered = offer.filter(|one| !one.yanked).map(|one| &one.version);
        let stored_too = stored.as_ref().ok().filter(|version| !yanked(version));
        match offered.chain(stored_too).max_by_key(|version| (!version.is_pre_release(), *version))
        {
            Some(newest) => Ok(newest.clone()),
            None if self.available.contains_key(name) => Err(Error::new(
                FailureKind::Request,
                format!("every version of `{name}` was yanked"),
            )
            .hint(format!("`sp info {name}` lists them; one is installed by its exact version"))),
            None => stored.map_err(|error| match self.registries.default_addresses().as_slice() {
                [] => error,
                asked => {
                    let message = format!(
                        "there is no package called `{name}`, neither in the store nor at {}",
                        asked.join(", ")
                    );
                    let word = name.as_str().rsplit('/').next().unwrap_or_default();
                    Error::new(FailureKind::Request, message)
                        .hint(format!("`sp search {word}` looks for packages like it"))
                }
            }),
        }
    }

    /// Asks the registries for what was asked for, and for all that this could need.
    pub(super) fn query_dependency_closure(
        &mut self,
        asked: &BTreeMap<PackageName, VersionRange>,
        wanted: &SolveRequest,
    ) -> Result<()> {
        let mut known: BTreeSet<PackageName> = BTreeSet::new();
        let mut open: Vec<PackageName> = asked.keys().cloned().collect();
        while !open.is_empty() {
            known.extend(open.iter().cloned());
            if known.len() > MAX_QUERIED_PACKAGES {
                return Err(Error::new(
                    FailureKind::Data,
                    format!("this could need more than {MAX_QUERIED_PACKAGES} packages"),
                )
                .hint("nothing was changed: ask for an exact version"));
            }
            self.query_registries(&open)?;
            let needed: BTreeSet<PackageName> = open
                .iter()
                .flat_map(|name| self.possible_dependencies(name, asked.get(name), wanted))
                .collect();
            open = needed.into_iter().filter(|name| !known.contains(name)).collect();
        }
        Ok(())
    }

    /// What the versions of a package that could be chosen need.
    fn possible_dependencies(
        &self,
        name: &PackageName,
        range: Option<&VersionRange>,
        wanted: &SolveRequest,
    ) -> BTreeSet<PackageName> {
        let fits = |version: &PackageVersion| {
            range.is_none_or(|range| range.matches(version) || range.is_exactly(version))
        };
        let offered = self.available.get(name).into_iter().flat_map(|offer| &offer.versions);
        let offered = offered.filter(|one| fits(&one.version)).flat_map(|one| &one.dependencies);
        let stored =
            self.index.packages.iter().filter(|one| one.name == *name && fits(&one.version));
        let stored = stored.flat_map(|one| &one.dependencies);
        let named = self.loaded.iter().filter(|(package, _)| package.manifest.name == *name);
        let named = named.flat_map(|(package, _)| &package.manifest.dependencies);
        let is_taken =
            |one: &&PackageDependency| !one.optional || wanted.includes_optional(&one.name);
        offered.chain(stored).chain(named).filter(is_taken).map(|one| one.name.clone()).collect()
    }

    fn is_yanked(&self, name: &PackageName, version: &PackageVersion) -> bool {
        let offered = self.available.get(name).and_then(|offer| offer.version(version));
        offered.is_some_and(|offered| offered.yanked)
    }

    /// Adds what registries offer. What was yanked is chosen by its exact version only, wherever else it is, unless
    /// this project has it locked.
    pub(super) fn add_available_candidates(&self, world: &mut CandidatesByName) {
        for (name, offer) in &self.available {
            let locked = self.project.lock.packages.get(name).map(|locked| &locked.version);
            let list = world.entry(name.clone()).or_default();
            for offered in &offer.versions {
                let withdrawn = offered.yanked && locked != Some(&offered.version);
                match list.iter_mut().find(|known| known.version == offered.version) {
                    Some(known) => known.withdrawn |= withdrawn,
                    None => list.push(VersionCandidate {
                        version: offered.version.clone(),
                        dependencies: offered.dependencies.clone(),
                        conflicts: offered.conflicts.clone(),
                        withdrawn,
                    }),
                }
            }
        }
    }

    /// Gets what was chosen and is not here.
    pub(super) fn download_missing(
        &mut self,
        solution: &BTreeMap<PackageName, PackageVersion>,
        asked: &BTreeSet<PackageName>,
    ) -> Result<()> {
        let mut missing = Vec::new();
        for (name, version) in solution {
            let is_named = |(package, _): &(_, String)| is_package_version(package, name, version);
            if !self.is_in_store(name, version)
                && !self.loaded.iter().any(is_named)
                && !self.can_skip_loading(name, version, asked)?
            {
                missing.push((name.clone(), version));
            }
        }
        let names: Vec<PackageName> = missing.iter().map(|(name, _)| name.clone()).collect();
        self.query_registries(&names)?;
        let offers = missing.iter().filter_map(|(name, version)| {
            let offer: &AvailablePackage = self.available.get(name)?;
            Some((offer, offer.version(version)?))
        });
        let wanted: Vec<_> = offers.collect();
        let keep =
            if self.request.mode == ApplyMode::Apply { KeepPartial::Yes } else { KeepPartial::No };
        let packages = self.registries.download(&wanted, keep)?;
        let sources: Vec<String> = wanted.iter().map(|(offer, _)| offer.registry.clone()).collect();
        self.loaded.extend(packages.into_iter().zip(sources));
        Ok(())
    }
}

fn is_package_version(
    package: &sp_formats::package::Package,
    name: &PackageName,
    version: &PackageVersion,
) -> bool {
    package.manifest.name == *name && package.manifest.version == *version
}
