//! A change of a project's packages: solve, load, judge, plan, apply.

use std::collections::{BTreeMap, BTreeSet};

use sp_formats::output::{FolderAction, PackageChangeItem, PackageChangeReport};
use sp_formats::package::lock::LockedPackage;
use sp_formats::package::store::{PackageStoreIndex, StoredPackage};
use sp_formats::package::{Package, PackageKind, PackageName, PackageVersion, VersionRange};
use sp_tree::{Digest, fold_name};

use super::install::PackageInstallRequest;
use super::manage::add_packages;
use super::merged_context::update_merged_context;
use super::package_spec::{PackageSpec, load_file, load_stored};
use super::package_store::{PackageStore, read_store_index};
use super::project::{HistoryUpdate, PackageProject, SinksByPackage};
use super::registry::{AvailablePackage, KnownRegistries, is_registry_url};
use super::solve::{CandidatesByName, SolveRequest as Asked, VersionCandidate, solve};
use super::trust::check_signing_policy;
use crate::error::{Error, FailureKind, Result};
use crate::home::{DigestIndexes, LockedHome};
use crate::install::change::ChangeExecutor;
use crate::install::plan::{FilePlan, OtherPacks, PackTargets, PlanRequest, ReplacePolicy};
use crate::session::Session;
use crate::sinks::Sink;

/// A change of a project's packages, while it is being made.
pub(super) struct ProjectChange<'a> {
    pub session: &'a Session<'a>,
    home: Option<&'a LockedHome<'a>>,
    pub request: &'a PackageInstallRequest,
    pub project: PackageProject,
    pub(super) index: PackageStoreIndex,
    /// Packages from files that were named, or from registries.
    pub(super) loaded: Vec<(Package, String)>,
    /// The registries, and what they said of packages.
    pub(super) registries: KnownRegistries<'a>,
    pub(super) available: BTreeMap<PackageName, AvailablePackage>,
    /// The packages that they were asked for.
    pub(super) queried: BTreeSet<PackageName>,
    /// Packages that go out of sinks, though this project's lock does not know them.
    pub unlocked_removals: BTreeSet<PackageName>,
    /// Whether all that is locked is to be there.
    pub restore_locked: bool,
    /// How many entries of the past are left, when the project goes back.
    pub truncate_history_to: Option<usize>,
    /// Into which sinks skills had gone that come back.
    pub past_sinks: SinksByPackage,
}

/// A package that the project is to have.
pub(super) struct ResolvedPackage {
    pub version: PackageVersion,
    pub locked: LockedPackage,
    /// Its bytes, if they must be written.
    pub package: Option<Package>,
}

impl<'a> ProjectChange<'a> {
    pub(super) fn new(
        session: &'a Session<'a>,
        home: Option<&'a LockedHome<'a>>,
        project: PackageProject,
        request: &'a PackageInstallRequest,
    ) -> Result<Self> {
        let shelf = read_store_index(session.context)?;
        let catalog = KnownRegistries::open(session, request.registry.as_deref())?;
        Ok(Self {
            session,
            home,
            request,
            project,
            index: shelf,
            loaded: Vec::new(),
            registries: catalog,
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

    /// What the user asks for; files are read and verified.
    pub(super) fn parse_requests(
        &mut self,
        packages: &[String],
    ) -> Result<BTreeMap<PackageName, VersionRange>> {
        let mut asked = BTreeMap::new();
        for text in packages {
            let (name, range) = match PackageSpec::parse(self.session, text)? {
                PackageSpec::File(path) => {
                    let package = load_file(self.session, &path)?;
                    let (name, version) =
                        (package.manifest.name.clone(), package.manifest.version.clone());
                    self.loaded.push((package, self.session.context.display_path(&path)));
                    (name, VersionRange::exactly(&version))
                }
                PackageSpec::Named(name, Some(range)) => (name, range),
                PackageSpec::Named(name, None) => {
                    let best = self.newest_version(&name)?;
                    let plain = best.semver().is_some() && !best.is_pre_release();
                    let range =
                        if plain { VersionRange::any() } else { VersionRange::exactly(&best) };
                    (name, range)
                }
            };
            if let Some(other) = asked.insert(name.clone(), range.clone())
                && other != range
            {
                return Err(Error::new(
                    FailureKind::Usage,
                    format!("`{name}` is named twice: {other} and {range}"),
                )
                .hint("name it once"));
            }
        }
        Ok(asked)
    }

    /// What becomes of the past.
    fn history_update(&self) -> Result<HistoryUpdate> {
        if let Some(entries) = self.truncate_history_to {
            return Ok(HistoryUpdate::Truncate(entries));
        }
        let mut sinks = SinksByPackage::new();
        for (name, locked) in &self.project.lock.packages {
            if locked.kind == PackageKind::Skills {
                let own = self.recorded_sinks(name)?;
                let shown = |sink: Sink| (sink.name, sink.path.to_string_lossy().into_owned());
                sinks.insert(name.clone(), own.into_iter().map(shown).collect());
            }
        }
        Ok(HistoryUpdate::Append(sinks))
    }

    /// What the project has.
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

    /// Everything that could be installed: what the project has, the files that were named, the store, and what
    /// registries offer.
    pub(super) fn all_candidates(&self) -> CandidatesByName {
        let mut world = CandidatesByName::new();
        let mut add = |name: &PackageName, candidate: VersionCandidate| {
            let list = world.entry(name.clone()).or_default();
            if !list.iter().any(|known: &VersionCandidate| known.version == candidate.version) {
                list.push(candidate);
            }
        };
        for (package, _) in &self.loaded {
            let manifest = &package.manifest;
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
        for (name, candidates) in self.locked_candidates() {
            candidates.into_iter().for_each(|candidate| add(&name, candidate));
        }
        self.add_available_candidates(&mut world);
        for list in world.values_mut() {
            list.sort_by(|a, b| a.version.cmp(&b.version));
        }
        world
    }

    /// Solves, loads, plans and applies.
    pub(super) fn apply(
        &mut self,
        world: &CandidatesByName,
        wanted: &Asked,
        requests: &BTreeMap<PackageName, VersionRange>,
        asked: &BTreeSet<PackageName>,
    ) -> Result<PackageChangeReport> {
        let solution = solve(world, wanted).map_err(|conflict| {
            Error::new(FailureKind::Request, "these packages do not go together")
                .because(conflict)
                .hint("nothing was changed: import what is missing, or ask for other versions")
        })?;
        self.download_missing(&solution, asked)?;
        let mut targets = BTreeMap::new();
        for (name, version) in solution {
            let target = self.resolve_package(&name, version, asked)?;
            targets.insert(name, target);
        }
        check_file_name_collisions(targets.keys())?;
        let mut lock = self.project.lock.clone();
        lock.requests.clone_from(requests);
        lock.packages =
            targets.iter().map(|(name, target)| (name.clone(), target.locked.clone())).collect();
        let packages = self.describe_changes(&targets, world);
        let skills = self.plan_skills(&mut targets, asked)?;
        let coming: Vec<&Package> =
            targets.values().filter_map(|target| target.package.as_ref()).collect();
        let context = update_merged_context(self.session, &self.project, &lock, &coming)?;
        lock.context = context.locked;
        let mut files = self.package_file_plans(&targets)?;
        files.extend(context.file_plan);
        files.extend(self.project.lock_plans(self.session, &lock, &self.history_update()?)?);
        let stock = self.updated_store(&targets)?;
        if self.home.is_some() {
            files.extend(stock.file_plans()?);
        }
        let removed = self.removed_packages(&targets);
        let wanted = PlanRequest {
            packs: &skills.packs,
            removed_packs: removed.iter().map(ToString::to_string).collect(),
            other_packs: OtherPacks::Keep,
            replace: ReplacePolicy::Refuse,
            targets: PackTargets::Only(skills.placements),
        };
        let change = ChangeExecutor {
            session: self.session,
            home: self.home,
            options: self.request.mode.into(),
        };
        let mut indexes = DigestIndexes::new(self.session.context);
        let outcome = change.execute(&skills.sinks, &wanted, files, &mut indexes)?;
        let (report, kept) = (outcome.report, outcome.trashed_files);
        if report.applied {
            stock.emit_deferred_events();
        }
        let root = self.project.root.clone();
        let (applied, sinks, context) = (report.applied, report.sinks, context.change);
        Ok(PackageChangeReport { applied, root, packages, sinks, kept, context })
    }

    /// Whether a package of the solution is there as it should be, or is left as it is.
    pub(super) fn can_skip_loading(
        &self,
        name: &PackageName,
        version: &PackageVersion,
        asked: &BTreeSet<PackageName>,
    ) -> Result<bool> {
        let Some(locked) =
            self.project.lock.packages.get(name).filter(|locked| locked.version == *version)
        else {
            return Ok(false);
        };
        let intact = self
            .project
            .read_package(self.session, name)?
            .is_some_and(|bytes| Digest::of(&bytes) == locked.digest);
        if intact && locked.kind == PackageKind::Context {
            return Ok(true);
        }
        // Skills that are not asked for are left as they are where their package is not here.
        let asked_for = asked.contains(name) || self.restore_locked;
        Ok(locked.kind == PackageKind::Skills && !asked_for && !self.is_in_store(name, version))
    }

    /// A package of the solution, verified; its bytes only if it is not there as it should be.
    fn resolve_package(
        &self,
        name: &PackageName,
        version: PackageVersion,
        asked: &BTreeSet<PackageName>,
    ) -> Result<ResolvedPackage> {
        let locked =
            self.project.lock.packages.get(name).filter(|locked| locked.version == version);
        if let Some(locked) = locked {
            self.check_matches_lock(name, locked)?;
            if self.can_skip_loading(name, &version, asked)? {
                return Ok(ResolvedPackage { version, locked: locked.clone(), package: None });
            }
        }
        let (package, from) = self.load_package(name, &version)?;
        let manifest = &package.manifest;
        if matches!(manifest.kind, PackageKind::Addon | PackageKind::Grammar) {
            return Err(Error::new(
                FailureKind::Request,
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
            from,
            signer: package.signer.map(|signer| signer.key),
            dependencies: manifest.dependencies.clone(),
            conflicts: manifest.conflicts.clone(),
            extra: locked.map(|locked| locked.extra.clone()).unwrap_or_default(),
        };
        Ok(ResolvedPackage { version, locked, package: Some(package) })
    }

    /// What is locked stays what it was, whatever the store or a file says now.
    fn check_matches_lock(&self, name: &PackageName, locked: &LockedPackage) -> Result<()> {
        let stored = self
            .index
            .packages
            .iter()
            .filter(|one| one.name == *name && one.version == locked.version);
        let stored = stored.map(|stored| (stored.identity, stored.digest, stored.sha256.clone()));
        let offered = self.loaded.iter().map(|(package, _)| package);
        let offered = offered
            .filter(|package| {
                package.manifest.name == *name && package.manifest.version == locked.version
            })
            .map(|package| {
                (package.identity(), package.digest(), package.manifest.integrity.sha256.clone())
            });
        let other = stored.chain(offered).find(|(identity, ..)| *identity != locked.identity);
        let Some((_, digest, sha256)) = other else {
            return Ok(());
        };
        let because = match sha256 == locked.sha256 {
            false => format!("the lock says {}, and this one hashes to {sha256}", locked.sha256),
            true => format!(
                "with its manifest the lock says {}, and this one is {digest}",
                locked.digest
            ),
        };
        Err(Error::new(
            FailureKind::Trust,
            format!("`{name} {}` is not what `ctxpkg.lock` says", locked.version),
        )
        .because(because)
        .hint("nothing was changed: find out who changed it; a version never becomes another"))
    }

    pub(super) fn is_in_store(&self, name: &PackageName, version: &PackageVersion) -> bool {
        self.index.packages.iter().any(|one| one.name == *name && one.version == *version)
    }

    fn load_package(
        &self,
        name: &PackageName,
        version: &PackageVersion,
    ) -> Result<(Package, String)> {
        let is = |package: &Package| {
            package.manifest.name == *name && package.manifest.version == *version
        };
        if let Some((package, from)) = self.loaded.iter().find(|(package, _)| is(package)) {
            return Ok((package.clone(), from.clone()));
        }
        if let Some(stored) =
            self.index.packages.iter().find(|one| one.name == *name && one.version == *version)
        {
            return Ok((load_stored(self.session, stored)?, self.source_of(stored)));
        }
        let because = match self.registries.default_addresses().as_slice() {
            [] => "neither the store nor the project has its bytes, and no registry is asked"
                .to_owned(),
            asked => {
                format!("neither the store nor the project has its bytes, nor {}", asked.join(", "))
            }
        };
        Err(Error::new(
            FailureKind::Request,
            format!("`{name} {version}` is locked, and is not here"),
        )
        .because(because)
        .hint(
            "`sp pkg import <file>` puts it into the store; `--registry <address>` asks a registry",
        ))
    }

    /// Where others find a package of the store: the registry that it came from, or that has these very bytes.
    fn source_of(&self, stored: &StoredPackage) -> String {
        let offer = self.available.get(&stored.name);
        let has = |offer: &&AvailablePackage| {
            offer.version(&stored.version).is_some_and(|one| one.digest == stored.digest)
        };
        match offer.filter(has) {
            Some(offer) => offer.registry.clone(),
            None if is_registry_url(&stored.from) => stored.from.clone(),
            None => "store".into(),
        }
    }

    /// The packages that the project had and is not to have any more.
    pub(super) fn removed_packages(
        &self,
        targets: &BTreeMap<PackageName, ResolvedPackage>,
    ) -> BTreeSet<PackageName> {
        let gone =
            self.project.lock.packages.keys().filter(|name| !targets.contains_key(*name)).cloned();
        gone.chain(self.unlocked_removals.iter().cloned()).collect()
    }

    /// The files below `.ctxpkg/` that come, change or go.
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

    /// Judges all that comes, and puts on the shelf what came from files.
    fn updated_store(
        &self,
        targets: &BTreeMap<PackageName, ResolvedPackage>,
    ) -> Result<PackageStore<'_>> {
        let mut stock = PackageStore::open(self.session)?;
        for package in targets.values().filter_map(|target| target.package.as_ref()) {
            // What is in the store was judged when it was taken.
            check_signing_policy(self.session, package, self.request.trust.unsigned)?;
        }
        add_packages(self.session, &mut stock, &self.loaded, self.request.trust)?;
        stock.seen_versions.clone_from(self.registries.seen_versions());
        Ok(stock)
    }

    /// Whether a package is where it is to be.
    fn is_installed(&self, name: &PackageName, locked: &LockedPackage) -> bool {
        match locked.kind {
            PackageKind::Skills => self.recorded_sinks(name).is_ok_and(|sinks| !sinks.is_empty()),
            _ => self.project.read_package(self.session, name).is_ok_and(|bytes| bytes.is_some()),
        }
    }

    fn describe_changes(
        &self,
        targets: &BTreeMap<PackageName, ResolvedPackage>,
        world: &CandidatesByName,
    ) -> Vec<PackageChangeItem> {
        let needs = |by: &PackageName, name: &PackageName| {
            let version = targets.get(by).map(|target| &target.version);
            let candidate =
                world.get(by).and_then(|all| all.iter().find(|one| Some(&one.version) == version));
            candidate
                .is_some_and(|candidate| candidate.dependencies.iter().any(|one| one.name == *name))
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
                        .filter(|by| *by != name && needs(by, name))
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

    pub(super) fn check_installed_in_sink(&self, name: &PackageName) -> Result<()> {
        if let Some(needing) = self.find_dependent(name) {
            return Err(Error::new(
                FailureKind::Request,
                format!("`{name}` is needed by `{needing}`"),
            )
            .hint(format!("`sp pkg uninstall {needing}` takes both out")));
        }
        match self.recorded_sinks(name)?.is_empty() {
            false => Ok(()),
            true => {
                let installed: Vec<String> =
                    self.project.lock.requests.keys().map(ToString::to_string).collect();
                let error = Error::new(
                    FailureKind::Request,
                    format!(
                        "`{name}` is not installed in `{}`",
                        self.session.context.display_path(&self.project.root)
                    ),
                );
                Err(match installed.is_empty() {
                    true => error.hint("nothing is installed there"),
                    false => error.hint(format!("installed there: {}", installed.join(", "))),
                })
            }
        }
    }

    fn find_dependent(&self, name: &PackageName) -> Option<&PackageName> {
        let needs =
            |locked: &LockedPackage| locked.dependencies.iter().any(|one| one.name == *name);
        let here = self.project.lock.packages.contains_key(name);
        self.project
            .lock
            .packages
            .iter()
            .filter(|_| here)
            .find(|(_, locked)| needs(locked))
            .map(|(name, _)| name)
    }
}

/// Two names that a file system takes for one cannot both be there.
fn check_file_name_collisions<'n>(names: impl Iterator<Item = &'n PackageName>) -> Result<()> {
    let mut seen: BTreeMap<String, &PackageName> = BTreeMap::new();
    for name in names {
        if let Some(other) = seen.insert(fold_name(&name.file_stem()), name) {
            return Err(Error::new(
                FailureKind::Data,
                format!("`{other}` and `{name}` would share a file"),
            )
            .because("where case does not count, they are one name")
            .hint("uninstall one of the two"));
        }
    }
    Ok(())
}
