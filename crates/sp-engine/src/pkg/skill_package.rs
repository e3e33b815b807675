//! A package of skills as a source of a project.
//!
//! The same rules hold as for `sp pkg install`: the registry is selected by the config, its index
//! must be append-only, and the signer must be trusted. [`plan_skill_packages`] adds the packages
//! to the store together with the change that installs their skills.

use std::sync::Arc;

use sp_formats::package::store::{SeenRegistryVersions, StoredPackage};
use sp_formats::package::{
    Package, PackageKind, PackageName, PackageVersion, RecordedSource, VersionRange,
};
use sp_tree::{Digest, LoadedTree};

use super::load_package::load_stored;
use super::package_store::{LoadedPackage, PackageStore, find_best_stored, select_best_version};
use super::registry::{AvailablePackage, AvailableVersion, KnownRegistries};
use super::trust::{TrustOverrides, check_signer, check_signing_policy};
use crate::context::Event;
use crate::error::{Error, ErrorCode, Result};
use crate::install::plan::FilePlan;
use crate::io_threads::{MAX_CONCURRENT_QUERIES, run_in_threads};
use crate::registry::KeepPartial;
use crate::session::Session;

/// A verified package of skills.
#[derive(Debug)]
pub(crate) struct SkillPackage {
    loaded: LoadedPackage,
    /// The versions that the registry showed, if it was asked.
    seen_versions: Option<SeenRegistryVersions>,
}

/// The version of a package to use.
#[derive(Debug, Clone, Copy)]
pub(crate) enum SkillPackageVersion<'a> {
    /// The newest in a range.
    Newest(Option<&'a VersionRange>),
    Locked(&'a LockedSkillPackage),
}

/// What a lockfile records of a package of skills.
#[derive(Debug, Clone)]
pub(crate) struct LockedSkillPackage {
    pub version: PackageVersion,
    /// The digest of the file.
    pub digest: Option<Digest>,
    pub registry: Option<String>,
}

/// A package to look up, of skills or of knowledge.
#[derive(Debug, Clone)]
pub(crate) struct NewestPackageQuery<'a> {
    pub name: &'a PackageName,
    /// The ranges that the version must match.
    pub ranges: Vec<&'a VersionRange>,
    /// The registry in the lockfile.
    pub registry: Option<&'a str>,
}

impl From<LoadedPackage> for SkillPackage {
    fn from(loaded: LoadedPackage) -> Self {
        Self { loaded, seen_versions: None }
    }
}

impl SkillPackage {
    pub(crate) fn locked(&self) -> LockedSkillPackage {
        LockedSkillPackage {
            version: self.loaded.package.manifest.version.clone(),
            digest: Some(self.loaded.package.digest()),
            registry: self.loaded.source.registry().map(Into::into),
        }
    }

    /// Returns the skills, by their path in the package.
    pub(crate) fn skills(&self) -> Vec<(String, LoadedTree)> {
        self.loaded.package.skills().skills
    }
}

/// Opens a package of skills from the store or a registry.
pub(crate) fn open_skill_package(
    session: &Session<'_>,
    name: &PackageName,
    version: SkillPackageVersion<'_>,
) -> Result<SkillPackage> {
    let store = PackageStore::open(session)?;
    if let SkillPackageVersion::Locked(locked) = version
        && let Some(loaded) = load_locked(session, &store, name, locked)?
    {
        return verified(session, &store, SkillPackage { loaded, seen_versions: None });
    }
    let locked = match version {
        SkillPackageVersion::Locked(locked) => Some(locked),
        SkillPackageVersion::Newest(_) => None,
    };
    let mut registries = KnownRegistries::open(session, None, store.seen_versions.clone())?;
    let registry = locked.and_then(|locked| locked.registry.clone());
    let available = registries
        .query(std::slice::from_ref(name), |_| registry.clone().map(RecordedSource::Registry))?;
    let loaded = match (available.first(), version) {
        (Some(available), version) => {
            let offered = match version {
                SkillPackageVersion::Newest(range) => newest_version(available, range)?,
                SkillPackageVersion::Locked(locked) => locked_version(available, locked)?,
            };
            load_available(session, &store, &registries, (available, offered))?
        }
        (None, SkillPackageVersion::Newest(range)) => {
            let stored = find_best_stored(&store.index, name, range)?;
            let package = load_stored(session, stored)?.into();
            LoadedPackage { package, source: stored.from.clone() }
        }
        (None, SkillPackageVersion::Locked(locked)) => return Err(missing_error(name, locked)),
    };
    let seen_versions = Some(registries.seen_versions().clone());
    verified(session, &store, SkillPackage { loaded, seen_versions })
}

/// Loads the locked version from the store.
fn load_locked(
    session: &Session<'_>,
    store: &PackageStore<'_>,
    name: &PackageName,
    locked: &LockedSkillPackage,
) -> Result<Option<LoadedPackage>> {
    let mut stored = store.index.packages.iter();
    let stored = stored.find(|stored| stored.name == *name && stored.version == locked.version);
    let Some(stored) = stored.filter(|it| locked.digest.is_none_or(|digest| digest == it.digest))
    else {
        return Ok(None);
    };
    let source = match &locked.registry {
        Some(registry) => RecordedSource::Registry(registry.clone()),
        None => stored.from.clone(),
    };
    Ok(Some(LoadedPackage { package: load_stored(session, stored)?.into(), source }))
}

fn newest_version<'a>(
    available: &'a AvailablePackage,
    range: Option<&VersionRange>,
) -> Result<&'a AvailableVersion> {
    let best = select_best_version(
        available.versions.iter(),
        |version: &AvailableVersion| (&version.version, version.yanked),
        range,
    );
    best.ok_or_else(|| {
        let message = match range {
            Some(range) => format!("no version of `{}` matches `{range}`", available.name),
            None => format!("all versions of `{}` are yanked", available.name),
        };
        Error::new(ErrorCode::VersionNotFound, message)
            .because(format!("the registry is `{}`", available.registry))
            .hint(format!("run `sp info {}` to list the versions", available.name))
    })
}

fn locked_version<'a>(
    available: &'a AvailablePackage,
    locked: &LockedSkillPackage,
) -> Result<&'a AvailableVersion> {
    let name = &available.name;
    let version = available.version(&locked.version).ok_or_else(|| missing_error(name, locked))?;
    match locked.digest {
        Some(digest) if digest != version.digest => {
            let message = format!("the content of `{name} {}` has changed", locked.version);
            Err(Error::new(ErrorCode::VersionReplaced, message)
                .because(format!("the digest was {digest}, but is now {}", version.digest))
                .hint("ask the publisher to release a new version; nothing was changed"))
        }
        _ => Ok(version),
    }
}

fn missing_error(name: &PackageName, locked: &LockedSkillPackage) -> Error {
    let message = format!("cannot find the locked package `{name} {}`", locked.version);
    let error = Error::new(ErrorCode::PackageNotFound, message)
        .because("it is neither in the store nor in a configured registry");
    match &locked.registry {
        Some(registry) => error.hint(format!("run `sp login {registry}`, then try again")),
        None => error.hint("add it to the store with `sp pkg import <file>`"),
    }
}

/// Loads a version that a registry offers: from the store, if it has the same bytes.
fn load_available(
    session: &Session<'_>,
    store: &PackageStore<'_>,
    registries: &KnownRegistries<'_>,
    (available, version): (&AvailablePackage, &AvailableVersion),
) -> Result<LoadedPackage> {
    let source = RecordedSource::Registry(available.registry.clone());
    let mut stored = store.index.packages.iter();
    if let Some(stored) = stored.find(|stored| stored.digest == version.digest) {
        return Ok(LoadedPackage { package: load_stored(session, stored)?.into(), source });
    }
    let overrides = TrustOverrides::default();
    check_signing_policy(session, &available.name, version.signer, overrides.unsigned)?;
    let packages = registries.download(&[(available, version)], KeepPartial::Yes)?;
    let package: Option<Arc<Package>> = packages.into_iter().next().map(Arc::new);
    let package = package
        .ok_or_else(|| Error::new(ErrorCode::TaskFailed, "the download returned no package"))?;
    Ok(LoadedPackage { package, source })
}

/// Checks the kind and the signer of a package.
fn verified(
    session: &Session<'_>,
    store: &PackageStore<'_>,
    package: SkillPackage,
) -> Result<SkillPackage> {
    let manifest = &package.loaded.package.manifest;
    if manifest.kind != PackageKind::Skills {
        let message = format!("`{}` is not a package of skills", manifest.name);
        return Err(Error::new(ErrorCode::Unsupported, message)
            .because(format!("it is a package of kind `{}`", manifest.kind.as_str()))
            .hint(format!("add it below `packages`: `sp pkg install {}`", manifest.name)));
    }
    let overrides = TrustOverrides::default();
    check_signer(session, &store.trust, &package.loaded.package, overrides)?;
    if let Some(registry) = package.loaded.source.registry() {
        session.policies(None)?.require_registry(registry)?;
    }
    Ok(package)
}

/// Returns the changes of the store that install packages of skills, and the events to emit when
/// they were applied.
pub(crate) fn plan_skill_packages(
    session: &Session<'_>,
    packages: &[&SkillPackage],
) -> Result<(Vec<FilePlan>, Vec<Event<'static>>)> {
    let mut store = PackageStore::open(session)?;
    add_skill_packages(&mut store, packages)?;
    let plans = store.file_plans()?;
    Ok((plans, store.take_deferred_events()))
}

/// Adds packages of skills, and what registries showed of them, to the store.
pub(super) fn add_skill_packages(
    store: &mut PackageStore<'_>,
    packages: &[&SkillPackage],
) -> Result<()> {
    for seen in packages.iter().filter_map(|package| package.seen_versions.as_ref()) {
        for (registry, known) in &seen.registries {
            let registry = store.seen_versions.registries.entry(registry.clone()).or_default();
            for (name, versions) in known {
                registry.entry(name.clone()).or_default().extend(versions.clone());
            }
        }
    }
    store.add(packages.iter().map(|package| &package.loaded), TrustOverrides::default())?;
    Ok(())
}

/// Returns the newest version of each package, with one request for each.
pub(crate) fn newest_package_versions(
    session: &Session<'_>,
    queries: &[NewestPackageQuery<'_>],
) -> Result<Vec<Result<LockedSkillPackage>>> {
    let store = PackageStore::open(session)?;
    let registries = KnownRegistries::open(session, None, store.seen_versions.clone())?;
    Ok(run_in_threads(queries, MAX_CONCURRENT_QUERIES, |query| {
        let registry = query.registry.map(|registry| RecordedSource::Registry(registry.into()));
        let is_allowed = |version: &PackageVersion| {
            query.ranges.iter().all(|range| range.matches(version) || range.is_exactly(version))
        };
        if let Some(mut available) = registries.find(query.name, registry)? {
            available.versions.retain(|available| is_allowed(&available.version));
            let newest = newest_version(&available, query.ranges.first().copied())?;
            return Ok(LockedSkillPackage {
                version: newest.version.clone(),
                digest: Some(newest.digest),
                registry: Some(available.registry.clone()),
            });
        }
        let stored = store.index.packages.iter();
        let stored = stored.filter(|it| it.name == *query.name && is_allowed(&it.version));
        let newest = select_best_version(
            stored,
            |stored: &StoredPackage| (&stored.version, stored.withdrawn),
            query.ranges.first().copied(),
        );
        let newest = newest.ok_or_else(|| {
            let message = format!("package `{}` not found", query.name);
            Error::new(ErrorCode::PackageNotFound, message)
                .because("it is neither in a configured registry nor in the store")
                .hint("run `sp login <URL>` if it is in another registry")
        })?;
        Ok(LockedSkillPackage {
            version: newest.version.clone(),
            digest: Some(newest.digest),
            registry: None,
        })
    }))
}
