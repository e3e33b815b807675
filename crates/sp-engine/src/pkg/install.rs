//! `sp pkg install`, `uninstall` and `rollback`: solve, load, plan, apply.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::{Path, PathBuf};

use sp_formats::folder::Naming;
use sp_formats::output::{FolderAction, PackageChange, PackageChangeItem};
use sp_formats::pack::Pack;
use sp_formats::package::lock::LockedPackage;
use sp_formats::package::store::{Record, Shelf};
use sp_formats::package::{Package, PackageKind, PackageName, PackageVersion, Range};
use sp_formats::report::Report;
use sp_formats::skill::SKILL_FILE;
use sp_tree::transaction::Before;
use sp_tree::{Check, Content, Digest, Name, RelPath, fold};

use super::project::Project;
use super::shelf::{SHELF, Stock, best, read_shelf};
use super::solve::{Candidate, Wanted as Asked, World, solve};
use super::subject::{Subject, load_file, load_stored};
use super::trust::{Acceptance, judge, note, read_trust, write_trust};
use crate::authoring::{Authoring, PackFile};
use crate::config::Session;
use crate::context::{Context, Event};
use crate::error::{Error, Kind, Result};
use crate::home::{Home, Indexes, read_state};
use crate::install::{Change, Mode, distinct};
use crate::plan::{FilePlan, Others, Places, Replace, Wanted, is_in};
use crate::resolve::{Origin, Selected};
use crate::show::{Chosen, PackedSkills};
use crate::sinks::{Sink, SinkRequest, find};

/// Whether optional dependencies are installed where they can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Optional {
    /// No.
    Leave,
    /// Yes.
    Take,
}

/// What is to be installed.
#[derive(Debug, Clone)]
pub struct InstallPackages {
    /// Packages by name, by name and range, or by file; none means what is locked.
    pub packages: Vec<String>,
    /// Where skills go.
    pub sinks: Vec<SinkRequest>,
    /// What stands before the names of skills' folders.
    pub prefix: Option<String>,
    /// The project, if it was given.
    pub root: Option<PathBuf>,
    /// Whether optional dependencies are installed.
    pub optional: Optional,
    /// What is accepted for once.
    pub accepted: Acceptance,
    /// Whether it is done.
    pub mode: Mode,
}

/// Installs packages with all that they need, all or none.
pub fn install(context: &Context<'_>, request: &InstallPackages) -> Result<PackageChange> {
    let session = Session::begin(context)?;
    let home = Home::open_for(context, &session.limits, request.mode)?;
    let project = Project::find(&session, request.root.as_deref())?;
    let mut work = Work::new(&session, home.as_ref(), project, request)?;
    let asked = work.ask(&request.packages)?;
    if work.project.lock.requests.is_empty() && asked.is_empty() {
        return Err(Error::new(Kind::Usage, "there is nothing to install")
            .hint("name a package or a file; without one, what `ctxpkg.lock` says is installed"));
    }
    let mut wanted = Asked {
        requests: work.project.lock.requests.clone(),
        preferred: work.locked_versions(),
        with_optional: request.optional == Optional::Take,
    };
    for (name, range) in &asked {
        wanted.preferred.remove(name);
        wanted.requests.insert(name.clone(), range.clone());
    }
    work.apply(&wanted, &wanted.requests, &asked.keys().cloned().collect())
}

/// Takes packages out of a project, and what nothing else needs.
pub fn uninstall(context: &Context<'_>, names: &[String], request: &InstallPackages) -> Result<PackageChange> {
    let session = Session::begin(context)?;
    let home = Home::open_for(context, &session.limits, request.mode)?;
    let project = Project::find(&session, request.root.as_deref())?;
    let mut work = Work::new(&session, home.as_ref(), project, request)?;
    let mut requests = work.project.lock.requests.clone();
    for text in names {
        let name = PackageName::new(text).map_err(|why| {
            Error::new(Kind::Usage, format!("`{text}` is no name of a package"))
                .because(why)
                .hint("name it without a version")
        })?;
        if requests.remove(&name).is_none() {
            work.must_be_in_a_sink(&name)?;
            work.gone.insert(name);
        }
    }
    let wanted = Asked { requests, preferred: work.locked_versions(), with_optional: true };
    work.apply(&wanted, &wanted.requests, &BTreeSet::new())
}

/// Goes back: a project to an earlier version of a package, or to all that it had before; the store to an earlier version.
pub fn rollback(
    context: &Context<'_>,
    name: Option<&str>,
    to: Option<&str>,
    request: &InstallPackages,
) -> Result<PackageChange> {
    let session = Session::begin(context)?;
    let home = Home::open_for(context, &session.limits, request.mode)?;
    let project = Project::find(&session, request.root.as_deref())?;
    let history = project.history(&session)?;
    let Some(text) = name else {
        let past = history.entries.last().ok_or_else(|| {
            Error::new(Kind::Request, "this project has no earlier state")
                .hint("`sp pkg rollback <name>` goes back in the store")
        })?;
        let exactly = past.lock.packages.iter().map(|(name, locked)| (name.clone(), Range::exactly(&locked.version)));
        let wanted = Asked { requests: exactly.collect(), ..Asked::default() };
        let requests = past.lock.requests.clone();
        let mut work = Work::new(&session, home.as_ref(), project, request)?;
        return work.apply(&wanted, &requests, &BTreeSet::new());
    };
    let named = PackageName::new(text)
        .map_err(|why| Error::new(Kind::Usage, format!("`{text}` is no name of a package")).because(why))?;
    let Some(locked) = project.lock.packages.get(&named) else {
        return roll_back_store(&session, home.as_ref(), &project, &named, to, request.mode);
    };
    let earlier = history.entries.iter().rev().filter_map(|past| past.lock.packages.get(&named));
    let target = match to {
        Some(version) => PackageVersion::new(version)
            .map_err(|why| Error::new(Kind::Usage, format!("`{version}` is no version")).because(why))?,
        None => {
            earlier.map(|past| &past.version).find(|version| **version != locked.version).cloned().ok_or_else(|| {
                Error::new(Kind::Request, format!("this project never had another version of `{named}`"))
                    .hint(format!("name one with `--to`; `sp pkg log {named}` lists them"))
            })?
        }
    };
    let mut work = Work::new(&session, home.as_ref(), project, request)?;
    let mut requests = work.project.lock.requests.clone();
    requests.insert(named.clone(), Range::exactly(&target));
    let mut preferred = work.locked_versions();
    preferred.remove(&named);
    let wanted = Asked { requests, preferred, with_optional: false };
    work.apply(&wanted, &wanted.requests, &BTreeSet::from([named]))
}

/// Makes an earlier version the one that the store gives; later ones stay and are named exactly.
fn roll_back_store(
    session: &Session<'_>,
    home: Option<&Home<'_>>,
    project: &Project,
    name: &PackageName,
    to: Option<&str>,
    mode: Mode,
) -> Result<PackageChange> {
    let mut shelf = read_shelf(session.context)?;
    let current = best(&shelf, name, None)?.clone();
    let target = match to {
        Some(version) => best(&shelf, name, Some(&Range::new(&format!("={version}"))))?.clone(),
        None => {
            let earlier = shelf
                .packages
                .iter()
                .filter(|one| one.name == *name && one.version < current.version && !one.withdrawn);
            earlier.max_by_key(|one| &one.version).cloned().ok_or_else(|| {
                Error::new(Kind::Request, format!("the store has no earlier version of `{name}`"))
                    .hint(format!("`sp pkg log {name}` lists its versions"))
            })?
        }
    };
    for stored in shelf.packages.iter_mut().filter(|stored| stored.name == *name) {
        stored.withdrawn = stored.version > target.version;
    }
    if let (Mode::Apply, Some(home)) = (mode, home) {
        let mut stock = Stock::open(session, home)?;
        stock.shelf = shelf;
        stock.save()?;
    }
    let item = PackageChangeItem {
        name: name.to_string(),
        action: FolderAction::Update,
        version: target.version.to_string(),
        from_version: Some(current.version.to_string()),
        kind: target.kind.word().into(),
        needed_by: Vec::new(),
    };
    Ok(PackageChange {
        applied: mode == Mode::Apply,
        root: project.root.clone(),
        packages: vec![item],
        sinks: Vec::new(),
        kept: Vec::new(),
    })
}

/// A change of a project's packages, while it is being made.
struct Work<'a> {
    session: &'a Session<'a>,
    home: Option<&'a Home<'a>>,
    request: &'a InstallPackages,
    project: Project,
    shelf: Shelf,
    /// Packages from files that were named.
    offered: Vec<(Package, String)>,
    /// Packages that go out of sinks, though this project's lock does not know them.
    gone: BTreeSet<PackageName>,
}

/// A package that the project is to have.
struct Target {
    version: PackageVersion,
    locked: LockedPackage,
    /// Its bytes, if they must be written.
    package: Option<Package>,
}

impl<'a> Work<'a> {
    fn new(
        session: &'a Session<'a>,
        home: Option<&'a Home<'a>>,
        project: Project,
        request: &'a InstallPackages,
    ) -> Result<Self> {
        let shelf = read_shelf(session.context)?;
        Ok(Self { session, home, request, project, shelf, offered: Vec::new(), gone: BTreeSet::new() })
    }

    fn locked_versions(&self) -> BTreeMap<PackageName, PackageVersion> {
        self.project.lock.packages.iter().map(|(name, locked)| (name.clone(), locked.version.clone())).collect()
    }

    /// What the user asks for; files are read and verified.
    fn ask(&mut self, packages: &[String]) -> Result<BTreeMap<PackageName, Range>> {
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
                    let best = best(&self.shelf, &name, None)?;
                    let plain = best.version.semver().is_some() && !best.version.is_pre_release();
                    let range = if plain { Range::any() } else { Range::exactly(&best.version) };
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

    /// Everything that could be installed: the store, the files that were named, and what the project has.
    fn world(&self) -> World {
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
        for (name, locked) in &self.project.lock.packages {
            let (dependencies, conflicts) = (locked.dependencies.clone(), locked.conflicts.clone());
            add(name, Candidate { version: locked.version.clone(), dependencies, conflicts, withdrawn: false });
        }
        for list in world.values_mut() {
            list.sort_by(|a, b| a.version.cmp(&b.version));
        }
        world
    }

    /// Solves, loads, plans and applies.
    fn apply(
        &mut self,
        wanted: &Asked,
        requests: &BTreeMap<PackageName, Range>,
        asked: &BTreeSet<PackageName>,
    ) -> Result<PackageChange> {
        let world = self.world();
        let solution = solve(&world, wanted).map_err(|conflict| {
            Error::new(Kind::Request, "these packages do not go together")
                .because(conflict)
                .hint("nothing was changed: import what is missing, or ask for other versions")
        })?;
        let mut targets = BTreeMap::new();
        for (name, version) in solution {
            let target = self.target(&name, version)?;
            targets.insert(name, target);
        }
        refuse_twins(targets.keys())?;
        let mut lock = self.project.lock.clone();
        lock.requests.clone_from(requests);
        lock.packages = targets.iter().map(|(name, target)| (name.clone(), target.locked.clone())).collect();
        let packages = self.describe(&targets, &world);
        let (sinks, chosen, places) = self.skills(&mut targets, asked)?;
        let mut files = self.package_files(&targets)?;
        files.extend(self.project.lock_plans(self.session, &lock)?);
        files.extend(self.keep(&targets)?);
        let removed = self.removed(&targets);
        let wanted = Wanted {
            packs: &chosen,
            removed: removed.iter().map(ToString::to_string).collect(),
            others: Others::Stay,
            replace: Replace::Refuse,
            places: Places::Only(places),
        };
        let change = Change { session: self.session, home: self.home, mode: self.request.mode };
        let mut indexes = Indexes::new(self.session.context);
        let (report, kept) = change.make(&sinks, &wanted, files, &mut indexes)?;
        let root = self.project.root.clone();
        Ok(PackageChange { applied: report.applied, root, packages, sinks: report.sinks, kept })
    }

    /// A package of the solution, verified; its bytes only if it is not there as it should be.
    fn target(&self, name: &PackageName, version: PackageVersion) -> Result<Target> {
        let locked = self.project.lock.packages.get(name).filter(|locked| locked.version == version);
        if let Some(locked) = locked {
            self.refuse_other(name, locked)?;
            let intact =
                self.project.read(self.session, name)?.is_some_and(|bytes| Digest::of(&bytes) == locked.digest);
            if intact && locked.kind == PackageKind::Context {
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
        let stored = self.shelf.packages.iter().find(|stored| stored.name == *name && stored.version == locked.version);
        let offered = self.offered.iter().map(|(package, _)| &package.manifest);
        let offered = offered.filter(|manifest| manifest.name == *name && manifest.version == locked.version);
        let others =
            stored.map(|stored| &stored.sha256).into_iter().chain(offered.map(|manifest| &manifest.integrity.sha256));
        match others.into_iter().find(|other| **other != locked.sha256) {
            None => Ok(()),
            Some(other) => {
                Err(Error::new(Kind::Trust, format!("`{name} {}` is not what `ctxpkg.lock` says", locked.version))
                    .because(format!("the lock says {}, and this one hashes to {other}", locked.sha256))
                    .hint("nothing was changed: find out who changed it; a version never becomes another"))
            }
        }
    }

    fn load(&self, name: &PackageName, version: &PackageVersion) -> Result<(Package, String)> {
        let is = |package: &Package| package.manifest.name == *name && package.manifest.version == *version;
        if let Some((package, from)) = self.offered.iter().find(|(package, _)| is(package)) {
            return Ok((package.clone(), from.clone()));
        }
        if let Some(stored) = self.shelf.packages.iter().find(|one| one.name == *name && one.version == *version) {
            return Ok((load_stored(self.session, stored)?, "store".into()));
        }
        Err(Error::new(Kind::Request, format!("`{name} {version}` is locked, and is not here"))
            .because("neither the store nor the project has its bytes")
            .hint("`sp pkg import <file>` puts it into the store"))
    }

    /// The packages that the project had and is not to have any more.
    fn removed(&self, targets: &BTreeMap<PackageName, Target>) -> BTreeSet<PackageName> {
        let gone = self.project.lock.packages.keys().filter(|name| !targets.contains_key(*name)).cloned();
        gone.chain(self.gone.iter().cloned()).collect()
    }

    /// The files below `.ctxpkg/` that come, change or go.
    fn package_files(&self, targets: &BTreeMap<PackageName, Target>) -> Result<Vec<FilePlan>> {
        let mut plans = Vec::new();
        for (name, target) in targets {
            if let (PackageKind::Context, Some(package)) = (target.locked.kind, &target.package) {
                plans.extend(self.project.file_plan(self.session, name, Some(package.text().as_bytes()))?);
            }
        }
        for name in self.removed(targets) {
            if self.project.lock.packages.get(&name).is_some_and(|locked| locked.kind == PackageKind::Context) {
                plans.extend(self.project.file_plan(self.session, &name, None)?);
            }
        }
        Ok(plans)
    }

    /// Judges what is new, and keeps in the store what came from files.
    fn keep(&self, targets: &BTreeMap<PackageName, Target>) -> Result<Option<FilePlan>> {
        let mut trust = read_trust(self.session.context)?;
        let before = trust.clone();
        for package in targets.values().filter_map(|target| target.package.as_ref()) {
            let standing = judge(self.session, &trust, package, self.request.accepted)?;
            if self.request.mode == Mode::Apply {
                note(self.session, &mut trust, package, &standing);
            }
        }
        let (Mode::Apply, Some(home)) = (self.request.mode, self.home) else { return Ok(None) };
        if trust != before {
            write_trust(home, &trust)?;
        }
        if self.offered.is_empty() {
            return Ok(None);
        }
        let mut stock = Stock::open(self.session, home)?;
        let old = stock.shelf.clone();
        for (package, from) in &self.offered {
            stock.put(package, from)?;
        }
        if stock.shelf == old {
            return Ok(None);
        }
        let before = match stock.dir().join(SHELF.0).exists() {
            true => Before::Ours(Some(Digest::of(&old.to_json()))),
            false => Before::Nothing,
        };
        let name = Name::new(SHELF.0).map_err(|e| Error::new(Kind::Data, e.to_string()))?;
        Ok(Some(FilePlan { dir: stock.dir(), name, before, bytes: Some(stock.shelf.to_json()) }))
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
                let action = match old {
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

    /// The skills of packages, as packs; into which sinks each goes.
    #[expect(clippy::type_complexity, reason = "three parts of one answer")]
    fn skills(
        &self,
        targets: &mut BTreeMap<PackageName, Target>,
        asked: &BTreeSet<PackageName>,
    ) -> Result<(Vec<Sink>, Vec<Chosen>, HashSet<(PathBuf, usize)>)> {
        let requested: Vec<Sink> =
            self.request.sinks.iter().map(|sink| find(self.session, sink)).collect::<Result<_>>()?;
        let mut sinks = Vec::new();
        let (mut chosen, mut places) = (Vec::new(), HashSet::new());
        for (name, target) in targets.iter_mut().filter(|(_, target)| target.locked.kind == PackageKind::Skills) {
            let Some(package) = target.package.take() else { continue };
            let mut own = self.recorded_sinks(name)?;
            let new = !self.project.lock.packages.contains_key(name);
            if own.is_empty() || new || asked.contains(name) {
                own.extend(requested.iter().cloned());
            }
            if own.is_empty() {
                return Err(Error::new(Kind::Usage, format!("`{name}` is a package of skills, and no agent is named"))
                    .hint("add `--agent claude`, or another; `sp config` lists them"));
            }
            places.extend(own.iter().map(|sink| (sink.path.clone(), chosen.len())));
            sinks.extend(own);
            chosen.push(self.pack_of(&package)?);
            target.package = Some(package);
        }
        for name in self.removed(targets) {
            sinks.extend(self.recorded_sinks(&name)?);
        }
        Ok((distinct(sinks), chosen, places))
    }

    /// The sinks in which a package of skills is on record.
    fn recorded_sinks(&self, name: &PackageName) -> Result<Vec<Sink>> {
        let state = read_state(self.session.context)?;
        let here = state
            .installs
            .iter()
            .filter(|install| install.pack == name.as_str() && install.pack_file == pack_file(name));
        let of = |install: &sp_formats::state::Install| Sink {
            name: install.sink.clone(),
            path: Path::new(&install.sink_path).into(),
            agent: crate::sinks::agent_of(&install.sink),
            reads: None,
        };
        let mut sinks: Vec<Sink> = here.map(of).collect();
        sinks.retain(|sink| state.installs.iter().any(|install| is_in(install, &sink.path)));
        Ok(sinks)
    }

    fn must_be_in_a_sink(&self, name: &PackageName) -> Result<()> {
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

    /// A package of skills as a pack, so that it goes the way of every pack.
    fn pack_of(&self, package: &Package) -> Result<Chosen> {
        let manifest = &package.manifest;
        let name = manifest.name.to_string();
        let naming =
            Naming { prefix: self.request.prefix.clone().unwrap_or_default(), sep: "__".into(), flatten: true };
        let mut skills: Vec<Selected> = Vec::new();
        let mut contents = Vec::new();
        for (id, content) in self.folders(package) {
            let folder = naming.folder(&id).map_err(|why| {
                Error::new(Kind::Data, format!("`{id}` of `{name}` cannot be installed"))
                    .because(why)
                    .hint("give another `--prefix`")
            })?;
            if let Some(twin) = skills.iter().find(|skill| fold(skill.folder.as_str()) == fold(folder.as_str())) {
                return Err(Error::new(
                    Kind::Data,
                    format!("`{}` and `{id}` of `{name}` would both be installed as `{folder}`", twin.id),
                )
                .hint("whoever made it must rename one of the two"));
            }
            skills.push(Selected { origin: Origin::Packed(contents.len()), id, folder });
            contents.push(content);
        }
        if skills.is_empty() {
            return Err(Error::new(Kind::Data, format!("`{name}` has no skill in it"))
                .because(format!("no folder of it has a `{SKILL_FILE}`"))
                .hint("nothing was changed"));
        }
        let report = Report::new(name.clone(), "");
        let pack =
            Pack { name, name_span: 0..0, include: Vec::new(), exclude: Vec::new(), imports: Vec::new(), naming };
        Ok(Chosen {
            authoring: Authoring { root: PathBuf::new() },
            file: PackFile { path: pack_file(&manifest.name).into(), pack, report },
            skills,
            checkouts: Vec::new(),
            check: Check::All,
            packed: Some(PackedSkills {
                version: manifest.version.to_string(),
                sha256: manifest.integrity.sha256.clone(),
                contents,
            }),
        })
    }

    /// The skills of a package: its outermost folders with a `SKILL.md`, or the package itself.
    fn folders(&self, package: &Package) -> Vec<(String, Content)> {
        let Some(documents) = &package.documents else { return Vec::new() };
        let own_name = package.manifest.name.as_str();
        let own_name = own_name.rsplit('/').next().unwrap_or(own_name).to_owned();
        if documents.get(SKILL_FILE).is_some() {
            return vec![(own_name, documents.clone())];
        }
        let mut roots: Vec<RelPath> = documents
            .files()
            .filter(|(path, ..)| path.leaf() == SKILL_FILE)
            .filter_map(|(path, ..)| path.parent().and_then(|parent| RelPath::new(parent).ok()))
            .collect();
        let all = roots.clone();
        let is_inside = |inner: &RelPath, outer: &RelPath| {
            inner.as_str().strip_prefix(outer.as_str()).is_some_and(|rest| rest.starts_with('/'))
        };
        roots.retain(|root| !all.iter().any(|other| is_inside(root, other)));
        let left = documents.files().filter(|(path, ..)| !roots.iter().any(|root| is_inside(path, root))).count();
        if left > 0 {
            let what = if left == 1 { "a file".into() } else { format!("{left} files") };
            self.session.context.tell(Event::Warning(format!(
                "{what} of `{}` belongs to no skill and is left out",
                package.manifest.name
            )));
        }
        roots.iter().map(|root| (root.to_string(), documents.below(root))).collect()
    }
}

/// What stands in the records in the place of a pack's file.
fn pack_file(name: &PackageName) -> String {
    format!("ctxpkg:{name}")
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
