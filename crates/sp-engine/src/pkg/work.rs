//! A change of a project's packages: solve, load, judge, plan, apply.

use std::collections::{BTreeMap, BTreeSet};

use sp_formats::output::{FolderAction, PackageChange, PackageChangeItem};
use sp_formats::package::lock::LockedPackage;
use sp_formats::package::store::{Shelf, StoredPackage};
use sp_formats::package::{Package, PackageKind, PackageName, PackageVersion, Range};
use sp_tree::{Digest, fold};

use super::context::renew;
use super::install::InstallPackages;
use super::manage::take;
use super::project::{Onwards, Project, SinksOf};
use super::registry::{Catalog, Offer, is_registry};
use super::shelf::{Stock, read_shelf};
use super::solve::{Candidate, Wanted as Asked, World, solve};
use super::subject::{Subject, load_file, load_stored};
use super::trust::follow_policy;
use crate::config::Session;
use crate::error::{Error, Kind, Result};
use crate::home::{Home, Indexes};
use crate::install::Change;
use crate::plan::{FilePlan, Others, Places, Replace, Wanted};
use crate::sinks::Sink;

/// A change of a project's packages, while it is being made.
pub(super) struct Work<'a> {
    pub session: &'a Session<'a>,
    home: Option<&'a Home<'a>>,
    pub request: &'a InstallPackages,
    pub project: Project,
    pub(super) shelf: Shelf,
    /// Packages from files that were named, or from registries.
    pub(super) offered: Vec<(Package, String)>,
    /// The registries, and what they said of packages.
    pub(super) catalog: Catalog<'a>,
    pub(super) offers: BTreeMap<PackageName, Offer>,
    /// The packages that they were asked for.
    pub(super) sought: BTreeSet<PackageName>,
    /// Packages that go out of sinks, though this project's lock does not know them.
    pub gone: BTreeSet<PackageName>,
    /// Whether all that is locked is to be there.
    pub restores: bool,
    /// How many entries of the past are left, when the project goes back.
    pub back_to: Option<usize>,
    /// Into which sinks skills had gone that come back.
    pub past_sinks: SinksOf,
}

/// A package that the project is to have.
pub(super) struct Target {
    pub version: PackageVersion,
    pub locked: LockedPackage,
    /// Its bytes, if they must be written.
    pub package: Option<Package>,
}

impl<'a> Work<'a> {
    pub(super) fn new(
        session: &'a Session<'a>,
        home: Option<&'a Home<'a>>,
        project: Project,
        request: &'a InstallPackages,
    ) -> Result<Self> {
        let shelf = read_shelf(session.context)?;
        let catalog = Catalog::open(session, request.registry.as_deref())?;
        Ok(Self {
            session,
            home,
            request,
            project,
            shelf,
            offered: Vec::new(),
            catalog,
            offers: BTreeMap::new(),
            sought: BTreeSet::new(),
            gone: BTreeSet::new(),
            restores: false,
            back_to: None,
            past_sinks: SinksOf::new(),
        })
    }

    pub(super) fn locked_versions(&self) -> BTreeMap<PackageName, PackageVersion> {
        self.project.lock.packages.iter().map(|(name, locked)| (name.clone(), locked.version.clone())).collect()
    }

    /// What the user asks for; files are read and verified.
    pub(super) fn ask(&mut self, packages: &[String]) -> Result<BTreeMap<PackageName, Range>> {
        let mut asked = BTreeMap::new();
        for text in packages {
            let (name, range) = match Subject::parse(self.session, text)? {
                Subject::File(path) => {
                    let package = load_file(self.session, &path)?;
                    let (name, version) = (package.manifest.name.clone(), package.manifest.version.clone());
                    self.offered.push((package, self.session.context.show(&path)));
                    (name, Range::exactly(&version))
                }
                Subject::Named(name, Some(range)) => (name, range),
                Subject::Named(name, None) => {
                    let best = self.newest(&name)?;
                    let plain = best.semver().is_some() && !best.is_pre_release();
                    let range = if plain { Range::any() } else { Range::exactly(&best) };
                    (name, range)
                }
            };
            if let Some(other) = asked.insert(name.clone(), range.clone())
                && other != range
            {
                return Err(Error::new(Kind::Usage, format!("`{name}` is named twice: {other} and {range}"))
                    .hint("name it once"));
            }
        }
        Ok(asked)
    }

    /// What becomes of the past.
    fn onwards(&self) -> Result<Onwards> {
        if let Some(entries) = self.back_to {
            return Ok(Onwards::BackTo(entries));
        }
        let mut sinks = SinksOf::new();
        for (name, locked) in &self.project.lock.packages {
            if locked.kind == PackageKind::Skills {
                let own = self.recorded_sinks(name)?;
                let shown = |sink: Sink| (sink.name, sink.path.to_string_lossy().into_owned());
                sinks.insert(name.clone(), own.into_iter().map(shown).collect());
            }
        }
        Ok(Onwards::Remember(sinks))
    }

    /// What the project has.
    pub(super) fn locked_world(&self) -> World {
        let candidate = |locked: &LockedPackage| Candidate {
            version: locked.version.clone(),
            dependencies: locked.dependencies.clone(),
            conflicts: locked.conflicts.clone(),
            withdrawn: false,
        };
        self.project.lock.packages.iter().map(|(name, locked)| (name.clone(), vec![candidate(locked)])).collect()
    }

    /// Everything that could be installed: what the project has, the files that were named, the store, and what
    /// registries offer.
    pub(super) fn world(&self) -> World {
        let mut world = World::new();
        let mut add = |name: &PackageName, candidate: Candidate| {
            let list = world.entry(name.clone()).or_default();
            if !list.iter().any(|known: &Candidate| known.version == candidate.version) {
                list.push(candidate);
            }
        };
        for (package, _) in &self.offered {
            let manifest = &package.manifest;
            let (dependencies, conflicts) = (manifest.dependencies.clone(), manifest.conflicts.clone());
            add(
                &manifest.name,
                Candidate { version: manifest.version.clone(), dependencies, conflicts, withdrawn: false },
            );
        }
        for stored in &self.shelf.packages {
            let (dependencies, conflicts) = (stored.dependencies.clone(), stored.conflicts.clone());
            let candidate =
                Candidate { version: stored.version.clone(), dependencies, conflicts, withdrawn: stored.withdrawn };
            add(&stored.name, candidate);
        }
        for (name, candidates) in self.locked_world() {
            candidates.into_iter().for_each(|candidate| add(&name, candidate));
        }
        self.add_offers(&mut world);
        for list in world.values_mut() {
            list.sort_by(|a, b| a.version.cmp(&b.version));
        }
        world
    }

    /// Solves, loads, plans and applies.
    pub(super) fn apply(
        &mut self,
        world: &World,
        wanted: &Asked,
        requests: &BTreeMap<PackageName, Range>,
        asked: &BTreeSet<PackageName>,
    ) -> Result<PackageChange> {
        let solution = solve(world, wanted).map_err(|conflict| {
            Error::new(Kind::Request, "these packages do not go together")
                .because(conflict)
                .hint("nothing was changed: import what is missing, or ask for other versions")
        })?;
        self.download(&solution, asked)?;
        let mut targets = BTreeMap::new();
        for (name, version) in solution {
            let target = self.target(&name, version, asked)?;
            targets.insert(name, target);
        }
        refuse_twins(targets.keys())?;
        let mut lock = self.project.lock.clone();
        lock.requests.clone_from(requests);
        lock.packages = targets.iter().map(|(name, target)| (name.clone(), target.locked.clone())).collect();
        let packages = self.describe(&targets, world);
        let skills = self.skills(&mut targets, asked)?;
        let coming: Vec<&Package> = targets.values().filter_map(|target| target.package.as_ref()).collect();
        let context = renew(self.session, &self.project, &lock, &coming)?;
        lock.context = context.locked;
        let mut files = self.package_files(&targets)?;
        files.extend(context.file);
        files.extend(self.project.lock_plans(self.session, &lock, &self.onwards()?)?);
        let stock = self.stock(&targets)?;
        if self.home.is_some() {
            files.extend(stock.plans()?);
        }
        let removed = self.removed(&targets);
        let wanted = Wanted {
            packs: &skills.packs,
            removed: removed.iter().map(ToString::to_string).collect(),
            others: Others::Stay,
            replace: Replace::Refuse,
            places: Places::Only(skills.places),
        };
        let change = Change { session: self.session, home: self.home, terms: self.request.mode.into() };
        let mut indexes = Indexes::new(self.session.context);
        let (report, kept) = change.make(&skills.sinks, &wanted, files, &mut indexes)?;
        if report.applied {
            stock.tell();
        }
        let root = self.project.root.clone();
        let (applied, sinks, context) = (report.applied, report.sinks, context.change);
        Ok(PackageChange { applied, root, packages, sinks, kept, context })
    }

    /// Whether a package of the solution is there as it should be, or is left as it is.
    pub(super) fn stays(
        &self,
        name: &PackageName,
        version: &PackageVersion,
        asked: &BTreeSet<PackageName>,
    ) -> Result<bool> {
        let Some(locked) = self.project.lock.packages.get(name).filter(|locked| locked.version == *version) else {
            return Ok(false);
        };
        let intact = self.project.read(self.session, name)?.is_some_and(|bytes| Digest::of(&bytes) == locked.digest);
        if intact && locked.kind == PackageKind::Context {
            return Ok(true);
        }
        // Skills that are not asked for are left as they are where their package is not here.
        let asked_for = asked.contains(name) || self.restores;
        Ok(locked.kind == PackageKind::Skills && !asked_for && !self.is_here(name, version))
    }

    /// A package of the solution, verified; its bytes only if it is not there as it should be.
    fn target(&self, name: &PackageName, version: PackageVersion, asked: &BTreeSet<PackageName>) -> Result<Target> {
        let locked = self.project.lock.packages.get(name).filter(|locked| locked.version == version);
        if let Some(locked) = locked {
            self.refuse_other(name, locked)?;
            if self.stays(name, &version, asked)? {
                return Ok(Target { version, locked: locked.clone(), package: None });
            }
        }
        let (package, from) = self.load(name, &version)?;
        let manifest = &package.manifest;
        if matches!(manifest.kind, PackageKind::Addon | PackageKind::Grammar) {
            return Err(Error::new(Kind::Request, format!("`{name}` is a package of kind `{}`", manifest.kind.word()))
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
        Ok(Target { version, locked, package: Some(package) })
    }

    /// What is locked stays what it was, whatever the store or a file says now.
    fn refuse_other(&self, name: &PackageName, locked: &LockedPackage) -> Result<()> {
        let stored = self.shelf.packages.iter().filter(|one| one.name == *name && one.version == locked.version);
        let stored = stored.map(|stored| (stored.identity, stored.digest, stored.sha256.clone()));
        let offered = self.offered.iter().map(|(package, _)| package);
        let offered = offered
            .filter(|package| package.manifest.name == *name && package.manifest.version == locked.version)
            .map(|package| (package.identity(), package.digest(), package.manifest.integrity.sha256.clone()));
        let other = stored.chain(offered).find(|(identity, ..)| *identity != locked.identity);
        let Some((_, digest, sha256)) = other else {
            return Ok(());
        };
        let because = match sha256 == locked.sha256 {
            false => format!("the lock says {}, and this one hashes to {sha256}", locked.sha256),
            true => format!("with its manifest the lock says {}, and this one is {digest}", locked.digest),
        };
        Err(Error::new(Kind::Trust, format!("`{name} {}` is not what `ctxpkg.lock` says", locked.version))
            .because(because)
            .hint("nothing was changed: find out who changed it; a version never becomes another"))
    }

    pub(super) fn is_here(&self, name: &PackageName, version: &PackageVersion) -> bool {
        self.shelf.packages.iter().any(|one| one.name == *name && one.version == *version)
    }

    fn load(&self, name: &PackageName, version: &PackageVersion) -> Result<(Package, String)> {
        let is = |package: &Package| package.manifest.name == *name && package.manifest.version == *version;
        if let Some((package, from)) = self.offered.iter().find(|(package, _)| is(package)) {
            return Ok((package.clone(), from.clone()));
        }
        if let Some(stored) = self.shelf.packages.iter().find(|one| one.name == *name && one.version == *version) {
            return Ok((load_stored(self.session, stored)?, self.origin(stored)));
        }
        let because = match self.catalog.asked().as_slice() {
            [] => "neither the store nor the project has its bytes, and no registry is asked".to_owned(),
            asked => format!("neither the store nor the project has its bytes, nor {}", asked.join(", ")),
        };
        Err(Error::new(Kind::Request, format!("`{name} {version}` is locked, and is not here"))
            .because(because)
            .hint("`sp pkg import <file>` puts it into the store; `--registry <address>` asks a registry"))
    }

    /// Where others find a package of the store: the registry that it came from, or that has these very bytes.
    fn origin(&self, stored: &StoredPackage) -> String {
        let offer = self.offers.get(&stored.name);
        let has = |offer: &&Offer| offer.version(&stored.version).is_some_and(|one| one.digest == stored.digest);
        match offer.filter(has) {
            Some(offer) => offer.registry.clone(),
            None if is_registry(&stored.from) => stored.from.clone(),
            None => "store".into(),
        }
    }

    /// The packages that the project had and is not to have any more.
    pub(super) fn removed(&self, targets: &BTreeMap<PackageName, Target>) -> BTreeSet<PackageName> {
        let gone = self.project.lock.packages.keys().filter(|name| !targets.contains_key(*name)).cloned();
        gone.chain(self.gone.iter().cloned()).collect()
    }

    /// The files below `.ctxpkg/` that come, change or go.
    fn package_files(&self, targets: &BTreeMap<PackageName, Target>) -> Result<Vec<FilePlan>> {
        let mut plans = Vec::new();
        for (name, target) in targets {
            if let (PackageKind::Context, Some(package)) = (target.locked.kind, &target.package) {
                plans.extend(self.project.file_plan(self.session, name, Some(package.text()))?);
            }
        }
        for name in self.removed(targets) {
            if self.project.lock.packages.get(&name).is_some_and(|locked| locked.kind == PackageKind::Context) {
                plans.extend(self.project.file_plan(self.session, &name, None)?);
            }
        }
        Ok(plans)
    }

    /// Judges all that comes, and puts on the shelf what came from files.
    fn stock(&self, targets: &BTreeMap<PackageName, Target>) -> Result<Stock<'_>> {
        let mut stock = Stock::open(self.session)?;
        for package in targets.values().filter_map(|target| target.package.as_ref()) {
            // What is in the store was judged when it was taken.
            follow_policy(self.session, package, self.request.accepted.unsigned)?;
        }
        take(self.session, &mut stock, &self.offered, self.request.accepted)?;
        stock.seen.clone_from(self.catalog.seen());
        Ok(stock)
    }

    /// Whether a package is where it is to be.
    fn is_present(&self, name: &PackageName, locked: &LockedPackage) -> bool {
        match locked.kind {
            PackageKind::Skills => self.recorded_sinks(name).is_ok_and(|sinks| !sinks.is_empty()),
            _ => self.project.read(self.session, name).is_ok_and(|bytes| bytes.is_some()),
        }
    }

    fn describe(&self, targets: &BTreeMap<PackageName, Target>, world: &World) -> Vec<PackageChangeItem> {
        let needs = |by: &PackageName, name: &PackageName| {
            let version = targets.get(by).map(|target| &target.version);
            let candidate = world.get(by).and_then(|all| all.iter().find(|one| Some(&one.version) == version));
            candidate.is_some_and(|candidate| candidate.dependencies.iter().any(|one| one.name == *name))
        };
        let mut items: Vec<PackageChangeItem> = targets
            .iter()
            .map(|(name, target)| {
                let old = self.project.lock.packages.get(name).map(|locked| &locked.version);
                let action = match old.filter(|_| self.is_present(name, &target.locked)) {
                    None => FolderAction::Add,
                    Some(old) if *old != target.version => FolderAction::Update,
                    Some(_) => FolderAction::Keep,
                };
                PackageChangeItem {
                    name: name.to_string(),
                    action,
                    version: target.version.to_string(),
                    from_version: old.filter(|old| **old != target.version).map(ToString::to_string),
                    kind: target.locked.kind.word().into(),
                    needed_by: targets
                        .keys()
                        .filter(|by| *by != name && needs(by, name))
                        .map(ToString::to_string)
                        .collect(),
                }
            })
            .collect();
        for name in self.removed(targets) {
            let locked = self.project.lock.packages.get(&name);
            items.push(PackageChangeItem {
                name: name.to_string(),
                action: FolderAction::Remove,
                version: locked.map(|locked| locked.version.to_string()).unwrap_or_default(),
                from_version: None,
                kind: locked.map_or("skills", |locked| locked.kind.word()).into(),
                needed_by: Vec::new(),
            });
        }
        items.sort_by(|a, b| a.name.cmp(&b.name));
        items
    }

    pub(super) fn must_be_in_a_sink(&self, name: &PackageName) -> Result<()> {
        if let Some(needing) = self.needing(name) {
            return Err(Error::new(Kind::Request, format!("`{name}` is needed by `{needing}`"))
                .hint(format!("`sp pkg uninstall {needing}` takes both out")));
        }
        match self.recorded_sinks(name)?.is_empty() {
            false => Ok(()),
            true => {
                let installed: Vec<String> = self.project.lock.requests.keys().map(ToString::to_string).collect();
                let error = Error::new(
                    Kind::Request,
                    format!("`{name}` is not installed in `{}`", self.session.context.show(&self.project.root)),
                );
                Err(match installed.is_empty() {
                    true => error.hint("nothing is installed there"),
                    false => error.hint(format!("installed there: {}", installed.join(", "))),
                })
            }
        }
    }

    fn needing(&self, name: &PackageName) -> Option<&PackageName> {
        let needs = |locked: &LockedPackage| locked.dependencies.iter().any(|one| one.name == *name);
        let here = self.project.lock.packages.contains_key(name);
        self.project.lock.packages.iter().filter(|_| here).find(|(_, locked)| needs(locked)).map(|(name, _)| name)
    }
}

/// Two names that a file system takes for one cannot both be there.
fn refuse_twins<'n>(names: impl Iterator<Item = &'n PackageName>) -> Result<()> {
    let mut seen: BTreeMap<String, &PackageName> = BTreeMap::new();
    for name in names {
        if let Some(other) = seen.insert(fold(&name.file_stem()), name) {
            return Err(Error::new(Kind::Data, format!("`{other}` and `{name}` would share a file"))
                .because("where case does not count, they are one name")
                .hint("uninstall one of the two"));
        }
    }
    Ok(())
}
