//! One change of the packages of a project: solve, load, check trust, plan, apply.
//!
//! `install`, `uninstall` and `rollback` set up a [`ProjectChange`] and call
//! [`ProjectChange::apply`] with the candidates and requests for the solver. All files that change
//! (`.ctxpkg/`, the lock, sinks and the store) change in one transaction, and only after every
//! package was verified.

mod registry_lookup;
mod skill_plan;

use std::collections::{BTreeMap, BTreeSet};

use sp_formats::output::{FolderAction, PackageChangeItem, PackageChangeReport};
use sp_formats::package::lock::{LockedPackage, PackageLock};
use sp_formats::package::store::{PackageStoreIndex, StoredPackage};
use sp_formats::package::{Package, PackageKind, PackageName, PackageVersion, VersionRange};
use sp_tree::{Digest, fold_name};

use super::load_package::{load_file, load_stored};
use super::merged_context_update::update_merged_context;
use super::package_spec::PackageSpec;
use super::package_store::{LoadedPackage, PackageStore, read_store_index};
use super::project::{HistoryUpdate, PackageProject, SinksByPackage};
use super::registry::{AvailablePackage, KnownRegistries, is_registry_url};
use super::solve::{CandidatesByName, SolveRequest, VersionCandidate, solve};
use super::trust::{TrustOverrides, check_signing_policy};
use crate::apply_mode::ApplyMode;
use crate::error::{Error, ErrorCode, Result};
use crate::home::{DigestIndexes, LockedHome};
use crate::install::change::ChangeExecutor;
use crate::install::plan::{FilePlan, OtherPacks, PackTargets, PlanRequest, ReplacePolicy};
use crate::session::Session;
use crate::sinks::{Sink, SinkRequest};

/// The parts of a request that every change needs.
#[derive(Debug, Clone, Copy)]
pub(super) struct ChangeOptions<'a> {
    /// The sinks for skills of requested or new packages.
    pub sinks: &'a [SinkRequest],
    /// The prefix of the names of skill folders.
    pub prefix: Option<&'a str>,
    pub trust: TrustOverrides,
    /// If set, the only registry that is asked.
    pub registry: Option<&'a str>,
    pub mode: ApplyMode,
}

/// A change of the packages of a project.
pub(super) struct ProjectChange<'a> {
    session: &'a Session<'a>,
    /// None in a dry run.
    home: Option<&'a LockedHome<'a>>,
    options: ChangeOptions<'a>,
    pub project: PackageProject,
    index: PackageStoreIndex,
    /// Packages from named files and from registries, which are added to the store.
    loaded: Vec<LoadedPackage>,
    registries: KnownRegistries<'a>,
    /// What registries offer of the packages in `queried`.
    available: BTreeMap<PackageName, AvailablePackage>,
    /// The packages that registries were asked for.
    queried: BTreeSet<PackageName>,
    /// Packages that are removed from sinks although the lock does not name them.
    pub unlocked_removals: BTreeSet<PackageName>,
    /// Whether locked packages that are missing are installed again.
    pub restore_locked: bool,
    /// The number of history entries that a rollback keeps.
    pub truncate_history_to: Option<usize>,
    /// The sinks of skills that a rollback restores.
    pub past_sinks: SinksByPackage,
}

/// A package of the solution.
struct ResolvedPackage {
    version: PackageVersion,
    locked: LockedPackage,
    /// The package, if it must be written.
    package: Option<Package>,
}

impl<'a> ProjectChange<'a> {
    pub(super) fn new(
        session: &'a Session<'a>,
        home: Option<&'a LockedHome<'a>>,
        project: PackageProject,
        options: ChangeOptions<'a>,
    ) -> Result<Self> {
        Ok(Self {
            session,
            home,
            options,
            project,
            index: read_store_index(session.context)?,
            loaded: Vec::new(),
            registries: KnownRegistries::open(session, options.registry)?,
            available: BTreeMap::new(),
            queried: BTreeSet::new(),
            unlocked_removals: BTreeSet::new(),
            restore_locked: false,
            truncate_history_to: None,
            past_sinks: SinksByPackage::new(),
        })
    }

    pub(super) fn locked_versions(&self) -> BTreeMap<PackageName, PackageVersion> {
        self.project
            .lock
            .packages
            .iter()
            .map(|(name, locked)| (name.clone(), locked.version.clone()))
            .collect()
    }

    /// Parses the requested packages to names and ranges. Files are loaded.
    pub(super) fn parse_requests(
        &mut self,
        packages: &[String],
    ) -> Result<BTreeMap<PackageName, VersionRange>> {
        let mut requested = BTreeMap::new();
        for text in packages {
            let (name, range) = match PackageSpec::parse(self.session, text)? {
                PackageSpec::File(path) => {
                    let package = load_file(self.session, &path)?;
                    let (name, version) =
                        (package.manifest.name.clone(), package.manifest.version.clone());
                    let source = self.session.context.display_path(&path);
                    self.loaded.push(LoadedPackage { package, source });
                    (name, VersionRange::exactly(&version))
                }
                PackageSpec::Named(name, Some(range)) => (name, range),
                PackageSpec::Named(name, None) => {
                    let newest = self.newest_version(&name)?;
                    // No range matches a pre-release or a version that is not SemVer.
                    let is_release = newest.semver().is_some() && !newest.is_pre_release();
                    let range = if is_release {
                        VersionRange::any()
                    } else {
                        VersionRange::exactly(&newest)
                    };
                    (name, range)
                }
            };
            if let Some(other) = requested.insert(name.clone(), range.clone())
                && other != range
            {
                return Err(Error::new(
                    ErrorCode::DuplicateArgument,
                    format!("`{name}` is named twice: {other} and {range}"),
                )
                .hint("name it once"));
            }
        }
        Ok(requested)
    }

    fn history_update(&self) -> Result<HistoryUpdate> {
        if let Some(entries) = self.truncate_history_to {
            return Ok(HistoryUpdate::Truncate(entries));
        }
        let mut sinks = SinksByPackage::new();
        for (name, locked) in &self.project.lock.packages {
            if locked.kind == PackageKind::Skills {
                let recorded = self.recorded_sinks(name)?;
                let entry = |sink: Sink| (sink.name, sink.path.to_string_lossy().into_owned());
                sinks.insert(name.clone(), recorded.into_iter().map(entry).collect());
            }
        }
        Ok(HistoryUpdate::Append(sinks))
    }

    /// Returns the locked versions as candidates.
    pub(super) fn locked_candidates(&self) -> CandidatesByName {
        let candidate = |locked: &LockedPackage| VersionCandidate {
            version: locked.version.clone(),
            dependencies: locked.dependencies.clone(),
            conflicts: locked.conflicts.clone(),
            withdrawn: false,
        };
        self.project
            .lock
            .packages
            .iter()
            .map(|(name, locked)| (name.clone(), vec![candidate(locked)]))
            .collect()
    }

    /// Returns every version that could be installed: from named files, the store, the lock and
    /// registries. Where several have a version, the first of these describes it.
    pub(super) fn all_candidates(&self) -> CandidatesByName {
        let mut candidates = CandidatesByName::new();
        let mut add = |name: &PackageName, candidate: VersionCandidate| {
            let list = candidates.entry(name.clone()).or_default();
            if !list.iter().any(|known: &VersionCandidate| known.version == candidate.version) {
                list.push(candidate);
            }
        };
        for loaded in &self.loaded {
            let manifest = &loaded.package.manifest;
            let (dependencies, conflicts) =
                (manifest.dependencies.clone(), manifest.conflicts.clone());
            add(
                &manifest.name,
                VersionCandidate {
                    version: manifest.version.clone(),
                    dependencies,
                    conflicts,
                    withdrawn: false,
                },
            );
        }
        for stored in &self.index.packages {
            let (dependencies, conflicts) = (stored.dependencies.clone(), stored.conflicts.clone());
            let candidate = VersionCandidate {
                version: stored.version.clone(),
                dependencies,
                conflicts,
                withdrawn: stored.withdrawn,
            };
            add(&stored.name, candidate);
        }
        for (name, locked) in self.locked_candidates() {
            locked.into_iter().for_each(|candidate| add(&name, candidate));
        }
        self.add_available_candidates(&mut candidates);
        for list in candidates.values_mut() {
            list.sort_by(|a, b| a.version.cmp(&b.version));
        }
        candidates
    }

    /// Solves, loads, checks, plans and applies the change.
    ///
    /// `requests` are written to the lock; they differ from those of `solve_request` in a rollback.
    /// `requested` are the packages that the user named.
    pub(super) fn apply(
        &mut self,
        candidates: &CandidatesByName,
        solve_request: &SolveRequest,
        requests: &BTreeMap<PackageName, VersionRange>,
        requested: &BTreeSet<PackageName>,
    ) -> Result<PackageChangeReport> {
        let mut targets = self.resolve_targets(candidates, solve_request, requested)?;
        let mut lock = self.project.lock.clone();
        lock.requests.clone_from(requests);
        lock.packages =
            targets.iter().map(|(name, target)| (name.clone(), target.locked.clone())).collect();
        let packages = self.describe_changes(&targets, candidates);
        let skills = self.plan_skills(&mut targets, requested)?;
        let added: Vec<&Package> =
            targets.values().filter_map(|target| target.package.as_ref()).collect();
        let context = update_merged_context(self.session, &self.project, &lock, &added)?;
        lock.context = context.locked;
        let mut files = self.package_file_plans(&targets)?;
        files.extend(context.file_plan);
        let (store, store_files) = self.plan_lock_and_store(&lock, &targets)?;
        files.extend(store_files);
        let removed = self.removed_packages(&targets);
        let plan_request = PlanRequest {
            packs: &skills.packs,
            removed_packs: removed.iter().map(ToString::to_string).collect(),
            other_packs: OtherPacks::Keep,
            replace: ReplacePolicy::Refuse,
            targets: PackTargets::Only(skills.placements),
        };
        let executor = ChangeExecutor {
            session: self.session,
            home: self.home,
            options: self.options.mode.into(),
        };
        let mut indexes = DigestIndexes::new(self.session.context);
        let outcome = executor.execute(&skills.sinks, &plan_request, files, &mut indexes)?;
        let (report, kept) = (outcome.report, outcome.trashed_files);
        if report.applied {
            store.emit_deferred_events();
        }
        Ok(PackageChangeReport {
            applied: report.applied,
            root: self.project.root.clone(),
            packages,
            sinks: report.sinks,
            kept,
            context: context.change,
        })
    }

    /// Solves, downloads what is missing, and loads and verifies the packages of the solution.
    fn resolve_targets(
        &mut self,
        candidates: &CandidatesByName,
        solve_request: &SolveRequest,
        requested: &BTreeSet<PackageName>,
    ) -> Result<BTreeMap<PackageName, ResolvedPackage>> {
        let solution = solve(candidates, solve_request).map_err(|conflict| {
            Error::new(ErrorCode::Unresolvable, "these packages do not go together")
                .because(conflict)
                .hint("nothing was changed: import what is missing, or ask for other versions")
        })?;
        self.download_missing(&solution, requested)?;
        let mut targets = BTreeMap::new();
        for (name, version) in solution {
            let target = self.resolve_package(&name, version, requested)?;
            targets.insert(name, target);
        }
        check_file_name_collisions(targets.keys())?;
        Ok(targets)
    }

    /// Plans the lock, its history and the records of the store. A dry run does not plan the
    /// records.
    fn plan_lock_and_store(
        &self,
        lock: &PackageLock,
        targets: &BTreeMap<PackageName, ResolvedPackage>,
    ) -> Result<(PackageStore<'_>, Vec<FilePlan>)> {
        let mut files = self.project.lock_plans(self.session, lock, &self.history_update()?)?;
        let store = self.updated_store(targets)?;
        if self.home.is_some() {
            files.extend(store.file_plans()?);
        }
        Ok((store, files))
    }

    /// Returns whether a package of the solution is installed correctly, or is left as it is.
    fn can_skip_loading(
        &self,
        name: &PackageName,
        version: &PackageVersion,
        requested: &BTreeSet<PackageName>,
    ) -> Result<bool> {
        let Some(locked) =
            self.project.lock.packages.get(name).filter(|locked| locked.version == *version)
        else {
            return Ok(false);
        };
        let is_intact = self
            .project
            .read_package(self.session, name)?
            .is_some_and(|bytes| Digest::of(&bytes) == locked.digest);
        if is_intact && locked.kind == PackageKind::Context {
            return Ok(true);
        }
        // Skills that were not requested stay as they are if their package is not in the store.
        let is_requested = requested.contains(name) || self.restore_locked;
        Ok(locked.kind == PackageKind::Skills && !is_requested && !self.is_in_store(name, version))
    }

    /// Loads and verifies a package of the solution, unless it is installed correctly.
    fn resolve_package(
        &self,
        name: &PackageName,
        version: PackageVersion,
        requested: &BTreeSet<PackageName>,
    ) -> Result<ResolvedPackage> {
        let locked =
            self.project.lock.packages.get(name).filter(|locked| locked.version == version);
        if let Some(locked) = locked {
            self.check_matches_lock(name, locked)?;
            if self.can_skip_loading(name, &version, requested)? {
                return Ok(ResolvedPackage { version, locked: locked.clone(), package: None });
            }
        }
        let LoadedPackage { package, source } = self.load_package(name, &version)?;
        let manifest = &package.manifest;
        if matches!(manifest.kind, PackageKind::Addon | PackageKind::Grammar) {
            return Err(Error::new(
                ErrorCode::Unsupported,
                format!("`{name}` is a package of kind `{}`", manifest.kind.as_str()),
            )
            .because("such a package is made for one tool, and is installed by that tool")
            .hint("`sp` keeps, verifies, sends and exports it"));
        }
        let locked = LockedPackage {
            version: version.clone(),
            kind: manifest.kind,
            digest: package.digest(),
            sha256: manifest.integrity.sha256.clone(),
            identity: package.identity(),
            from: source,
            signer: package.signer.map(|signer| signer.key),
            dependencies: manifest.dependencies.clone(),
            conflicts: manifest.conflicts.clone(),
            extra: locked.map(|locked| locked.extra.clone()).unwrap_or_default(),
        };
        Ok(ResolvedPackage { version, locked, package: Some(package) })
    }

    /// Checks that the store and named files have the locked package under the locked version.
    fn check_matches_lock(&self, name: &PackageName, locked: &LockedPackage) -> Result<()> {
        let stored = self.find_stored(name, &locked.version);
        let stored = stored
            .filter(|stored| stored.identity != locked.identity)
            .map(|stored| (stored.digest, stored.sha256.clone()));
        let loaded = self.loaded.iter().map(|loaded| &loaded.package);
        let loaded = loaded
            .filter(|package| is_package_version(package, name, &locked.version))
            .filter(|package| package.identity() != locked.identity)
            .map(|package| (package.digest(), package.manifest.integrity.sha256.clone()));
        let Some((digest, sha256)) = stored.into_iter().chain(loaded).next() else {
            return Ok(());
        };
        let because = if sha256 == locked.sha256 {
            format!("with its manifest the lock says {}, and this one is {digest}", locked.digest)
        } else {
            format!("the lock says {}, and this one hashes to {sha256}", locked.sha256)
        };
        Err(Error::new(
            ErrorCode::LockMismatch,
            format!("`{name} {}` is not what `ctxpkg.lock` says", locked.version),
        )
        .because(because)
        .hint("nothing was changed: find out who changed it; a version never becomes another"))
    }

    fn find_stored(&self, name: &PackageName, version: &PackageVersion) -> Option<&StoredPackage> {
        self.index.packages.iter().find(|stored| stored.name == *name && stored.version == *version)
    }

    fn is_in_store(&self, name: &PackageName, version: &PackageVersion) -> bool {
        self.find_stored(name, version).is_some()
    }

    fn find_loaded(&self, name: &PackageName, version: &PackageVersion) -> Option<&LoadedPackage> {
        self.loaded.iter().find(|loaded| is_package_version(&loaded.package, name, version))
    }

    fn load_package(&self, name: &PackageName, version: &PackageVersion) -> Result<LoadedPackage> {
        if let Some(loaded) = self.find_loaded(name, version) {
            return Ok(loaded.clone());
        }
        if let Some(stored) = self.find_stored(name, version) {
            let package = load_stored(self.session, stored)?;
            return Ok(LoadedPackage { package, source: self.source_of(stored) });
        }
        let because = match self.registries.default_addresses().as_slice() {
            [] => "neither the store nor the project has its bytes, and no registry is asked"
                .to_owned(),
            asked => {
                format!("neither the store nor the project has its bytes, nor {}", asked.join(", "))
            }
        };
        Err(Error::new(
            ErrorCode::PackageNotFound,
            format!("`{name} {version}` is locked, and is not here"),
        )
        .because(because)
        .hint(
            "`sp pkg import <file>` puts it into the store; `--registry <address>` asks a registry",
        ))
    }

    /// Returns where others find a package of the store: the registry that has the same bytes, or
    /// that it came from.
    fn source_of(&self, stored: &StoredPackage) -> String {
        let has_same_bytes = |available: &&AvailablePackage| {
            let version = available.version(&stored.version);
            version.is_some_and(|version| version.digest == stored.digest)
        };
        match self.available.get(&stored.name).filter(has_same_bytes) {
            Some(available) => available.registry.clone(),
            None if is_registry_url(&stored.from) => stored.from.clone(),
            None => "store".into(),
        }
    }

    /// Returns the packages that the change removes.
    fn removed_packages(
        &self,
        targets: &BTreeMap<PackageName, ResolvedPackage>,
    ) -> BTreeSet<PackageName> {
        let unlocked =
            self.project.lock.packages.keys().filter(|name| !targets.contains_key(*name)).cloned();
        unlocked.chain(self.unlocked_removals.iter().cloned()).collect()
    }

    /// Plans the package files below `.ctxpkg/`.
    fn package_file_plans(
        &self,
        targets: &BTreeMap<PackageName, ResolvedPackage>,
    ) -> Result<Vec<FilePlan>> {
        let mut plans = Vec::new();
        for (name, target) in targets {
            if let (PackageKind::Context, Some(package)) = (target.locked.kind, &target.package) {
                plans.extend(self.project.package_file_plan(
                    self.session,
                    name,
                    Some(package.text()),
                )?);
            }
        }
        for name in self.removed_packages(targets) {
            if self
                .project
                .lock
                .packages
                .get(&name)
                .is_some_and(|locked| locked.kind == PackageKind::Context)
            {
                plans.extend(self.project.package_file_plan(self.session, &name, None)?);
            }
        }
        Ok(plans)
    }

    /// Checks every package that is written, and adds the loaded packages to the store.
    fn updated_store(
        &self,
        targets: &BTreeMap<PackageName, ResolvedPackage>,
    ) -> Result<PackageStore<'_>> {
        let mut store = PackageStore::open(self.session)?;
        for package in targets.values().filter_map(|target| target.package.as_ref()) {
            // The signers of stored packages were checked when they were added, but the config may
            // have changed since.
            check_signing_policy(self.session, package, self.options.trust.unsigned)?;
        }
        store.add(&self.loaded, self.options.trust)?;
        store.seen_versions.clone_from(self.registries.seen_versions());
        Ok(store)
    }

    /// Returns whether a package is installed, in a sink or below `.ctxpkg/`.
    fn is_installed(&self, name: &PackageName, locked: &LockedPackage) -> bool {
        match locked.kind {
            PackageKind::Skills => self.recorded_sinks(name).is_ok_and(|sinks| !sinks.is_empty()),
            _ => self.project.read_package(self.session, name).is_ok_and(|bytes| bytes.is_some()),
        }
    }

    fn describe_changes(
        &self,
        targets: &BTreeMap<PackageName, ResolvedPackage>,
        candidates: &CandidatesByName,
    ) -> Vec<PackageChangeItem> {
        let depends_on = |dependent: &PackageName, name: &PackageName| {
            let version = targets.get(dependent).map(|target| &target.version);
            let mut versions = candidates.get(dependent).into_iter().flatten();
            let candidate = versions.find(|candidate| Some(&candidate.version) == version);
            candidate.is_some_and(|candidate| {
                candidate.dependencies.iter().any(|dependency| dependency.name == *name)
            })
        };
        let mut items: Vec<PackageChangeItem> = targets
            .iter()
            .map(|(name, target)| {
                let old = self.project.lock.packages.get(name).map(|locked| &locked.version);
                let action = match old.filter(|_| self.is_installed(name, &target.locked)) {
                    None => FolderAction::Add,
                    Some(old) if *old != target.version => FolderAction::Update,
                    Some(_) => FolderAction::Keep,
                };
                PackageChangeItem {
                    name: name.to_string(),
                    action,
                    version: target.version.to_string(),
                    from_version: old
                        .filter(|old| **old != target.version)
                        .map(ToString::to_string),
                    kind: target.locked.kind.as_str().into(),
                    needed_by: targets
                        .keys()
                        .filter(|other| *other != name && depends_on(other, name))
                        .map(ToString::to_string)
                        .collect(),
                }
            })
            .collect();
        for name in self.removed_packages(targets) {
            let locked = self.project.lock.packages.get(&name);
            items.push(PackageChangeItem {
                name: name.to_string(),
                action: FolderAction::Remove,
                version: locked.map(|locked| locked.version.to_string()).unwrap_or_default(),
                from_version: None,
                kind: locked.map_or("skills", |locked| locked.kind.as_str()).into(),
                needed_by: Vec::new(),
            });
        }
        items.sort_by(|a, b| a.name.cmp(&b.name));
        items
    }

    /// Checks that a package that was not requested can be uninstalled: it is in a sink, and no
    /// other package depends on it.
    pub(super) fn check_installed_in_sink(&self, name: &PackageName) -> Result<()> {
        if let Some(dependent) = self.find_dependent(name) {
            return Err(Error::new(
                ErrorCode::StillRequired,
                format!("`{name}` is needed by `{dependent}`"),
            )
            .hint(format!("`sp pkg uninstall {dependent}` takes both out")));
        }
        if !self.recorded_sinks(name)?.is_empty() {
            return Ok(());
        }
        let installed: Vec<String> =
            self.project.lock.requests.keys().map(ToString::to_string).collect();
        let root = self.session.context.display_path(&self.project.root);
        let error =
            Error::new(ErrorCode::NotInstalled, format!("`{name}` is not installed in `{root}`"));
        Err(if installed.is_empty() {
            error.hint("nothing is installed there")
        } else {
            error.hint(format!("installed there: {}", installed.join(", ")))
        })
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

fn is_package_version(package: &Package, name: &PackageName, version: &PackageVersion) -> bool {
    package.manifest.name == *name && package.manifest.version == *version
}

/// Refuses names whose files are the same on a case-insensitive file system.
fn check_file_name_collisions<'n>(names: impl Iterator<Item = &'n PackageName>) -> Result<()> {
    let mut seen: BTreeMap<String, &PackageName> = BTreeMap::new();
    for name in names {
        if let Some(other) = seen.insert(fold_name(&name.file_stem()), name) {
            return Err(Error::new(
                ErrorCode::NameCollision,
                format!("`{other}` and `{name}` would share a file"),
            )
            .because("where case does not count, they are one name")
            .hint("uninstall one of the two"));
        }
    }
    Ok(())
}
