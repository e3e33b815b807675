//! The records of packages: which the store holds, what every version ever was, and whom we trust.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use sp_formats::output::{PackageItem, WaitingItem};
use sp_formats::package::store::{KnownVersion, Received, Record, Seen, Shelf, StoredPackage, Trust, WaitingPackage};
use sp_formats::package::{Package, PackageName, PackageVersion, Range};
use sp_tree::transaction::Before;
use sp_tree::{Digest, Name, Store, read_optional};

use super::registry::SEEN;
use crate::config::Session;
use crate::context::{Context, Event};
use crate::error::{Error, Kind, Result};
use crate::home::Home;
use crate::install::{Change, Mode};
use crate::plan::FilePlan;

const MAX_RECORD: u64 = 256 * 1024 * 1024;

/// Reads a record of the home; one that is not there is an empty one.
pub(super) fn read_record<T: Record>(context: &Context<'_>, path: &str) -> Result<T> {
    let path = context.home.join(path);
    match read_optional(&path, MAX_RECORD)? {
        None => Ok(T::default()),
        Some(bytes) => T::parse(&bytes).map_err(|why| {
            let shown = context.show(&path);
            Error::new(Kind::Data, format!("`{shown}` cannot be used"))
                .because(why)
                .hint(format!("nothing was changed. Mend the file, or move it away (`mv {shown} {shown}.broken`)"))
        }),
    }
}

/// Which packages the store holds.
pub(super) fn read_shelf(context: &Context<'_>) -> Result<Shelf> {
    read_record(context, "store/packages.json")
}

/// The bytes of a package of the store.
pub(super) fn read_blob(context: &Context<'_>, digest: &Digest) -> Result<Vec<u8>> {
    // They were taken when their size was allowed.
    let bytes = Store::of(&context.home).get(digest, u64::MAX).map_err(|e| Error { kind: Kind::Trust, ..e.into() })?;
    bytes.ok_or_else(|| {
        Error::new(Kind::Trust, format!("the store does not hold {digest} any more"))
            .hint("import the package again, or take it out with `sp pkg remove`")
    })
}

/// The records of packages while they are being changed. Nothing is written until all of it is, at once.
pub(super) struct Stock<'a> {
    session: &'a Session<'a>,
    pub shelf: Shelf,
    pub trust: Trust,
    pub received: Received,
    pub seen: Seen,
    /// Packages that are not in the store yet.
    coming: BTreeMap<Digest, Arc<str>>,
    /// What is told when it is done.
    tidings: Vec<Event<'static>>,
}

/// The records and their files.
const SHELF: &str = "store/packages.json";
const TRUST: &str = "trust.json";
const RECEIVED: &str = "received.json";

impl<'a> Stock<'a> {
    /// Reads the records; whoever changes them holds the lock of the home.
    pub(super) fn open(session: &'a Session<'a>) -> Result<Self> {
        let context = session.context;
        Ok(Self {
            session,
            shelf: read_record(context, SHELF)?,
            trust: read_record(context, TRUST)?,
            received: read_record(context, RECEIVED)?,
            seen: read_record(context, SEEN)?,
            coming: BTreeMap::new(),
            tidings: Vec::new(),
        })
    }

    /// Says something when it is done, and nothing if it is not.
    pub(super) fn tell_then(&mut self, event: Event<'static>) {
        self.tidings.push(event);
    }

    /// Puts a package; whether it is new, is told. A version that was here once never becomes another.
    pub(super) fn put(&mut self, package: &Package, from: &str) -> Result<(StoredPackage, bool)> {
        self.refuse_other(package)?;
        let stored = record(self.session.context, package, from);
        let known = self.shelf.packages.iter_mut().find(|one| one.name == stored.name && one.version == stored.version);
        if let Some(known) = known {
            known.withdrawn = false;
            // The same version with a signature that was missing.
            if known.signer.is_none() && stored.signer.is_some() {
                *known = stored;
            }
            let known = known.clone();
            // Its bytes may have gone missing.
            if known.digest == package.digest() {
                self.coming.insert(known.digest, Arc::clone(package.text()));
            }
            return Ok((known, false));
        }
        self.coming.insert(stored.digest, Arc::clone(package.text()));
        let versions = self.shelf.known.entry(stored.name.clone()).or_default();
        let known = KnownVersion { sha256: stored.sha256.clone(), identity: stored.identity };
        versions.insert(stored.version.to_string(), known);
        self.shelf.packages.push(stored.clone());
        self.shelf.packages.sort_by(|a, b| (&a.name, &a.version).cmp(&(&b.name, &b.version)));
        Ok((stored, true))
    }

    /// Lets a package wait to be taken.
    pub(super) fn wait(&mut self, package: &Package, sender: &str) -> Result<WaitingPackage> {
        self.refuse_other(package)?;
        let waiting = WaitingPackage {
            name: package.manifest.name.clone(),
            version: package.manifest.version.clone(),
            digest: package.digest(),
            sender: sender.into(),
            received_at: self.session.context.timestamp(),
        };
        self.coming.insert(waiting.digest, Arc::clone(package.text()));
        self.shelf.waiting.retain(|other| other.digest != waiting.digest);
        self.shelf.waiting.push(waiting.clone());
        Ok(waiting)
    }

    /// Refuses a version that was another package before.
    pub(super) fn refuse_other(&self, package: &Package) -> Result<()> {
        let (manifest, identity) = (&package.manifest, package.identity());
        let known = self.shelf.known.get(&manifest.name).and_then(|versions| versions.get(manifest.version.as_str()));
        match known {
            Some(known) if known.identity != identity => {
                let message = format!("`{} {}` was another package before", manifest.name, manifest.version);
                let sha256 = &manifest.integrity.sha256;
                let because = match known.sha256 == *sha256 {
                    false => format!("it hashed to {}, and this one to {sha256}", known.sha256),
                    true => format!("with its manifest it hashed to {}, and this one to {identity}", known.identity),
                };
                Err(Error::new(Kind::Trust, message).because(because).hint(
                    "a version never becomes another, even after it was removed: whoever made it gives it a new version",
                ))
            }
            _ => Ok(()),
        }
    }

    /// Every file that changes.
    pub(super) fn plans(&self) -> Result<Vec<FilePlan>> {
        let context = self.session.context;
        let home = context.home.canonicalize().map_err(|e| sp_tree::FileError::new("find", &context.home, e))?;
        let store = Store::of(&home);
        let old: Shelf = read_record(context, SHELF)?;
        let (before, after) = (digests(&old), digests(&self.shelf));
        let place = |digest: &Digest| store.place(digest).map_err(|e| Error::new(Kind::Data, e.to_string()));
        let mut plans = Vec::new();
        for digest in &after {
            let (dir, name) = place(digest)?;
            if let (Some(bytes), false) = (self.coming.get(digest), dir.join(name.as_str()).exists()) {
                plans.push(FilePlan::new(dir, name, Before::Nothing, Some(Arc::clone(bytes).into())));
            }
        }
        for digest in before.difference(&after) {
            let (dir, name) = place(digest)?;
            if dir.join(name.as_str()).exists() {
                plans.push(FilePlan::new(dir, name, Before::Ours(Some(*digest)), None));
            }
        }
        plans.extend(record_plan(&home, SHELF, &self.shelf)?);
        plans.extend(record_plan(&home, TRUST, &self.trust)?);
        plans.extend(record_plan(&home, RECEIVED, &self.received)?);
        plans.extend(record_plan(&home, SEEN, &self.seen)?);
        Ok(plans)
    }

    /// Writes it all, at once.
    pub(super) fn save(self, home: &Home<'_>) -> Result<()> {
        let change = Change { session: self.session, home: Some(home), terms: Mode::Apply.into() };
        change.make_files(self.plans()?)?;
        self.tell();
        Ok(())
    }

    /// Says what was to be said when it is done.
    pub(super) fn tell(self) {
        self.tidings.into_iter().for_each(|event| self.session.context.tell(event));
    }
}

fn digests(shelf: &Shelf) -> BTreeSet<Digest> {
    let packages = shelf.packages.iter().map(|stored| stored.digest);
    packages.chain(shelf.waiting.iter().map(|waiting| waiting.digest)).collect()
}

/// What gives a record's file its bytes; nothing if it has them, or if there is nothing to record.
fn record_plan<T: Record + PartialEq>(home: &Path, file: &str, record: &T) -> Result<Option<FilePlan>> {
    let path = home.join(file);
    let old = read_optional(&path, MAX_RECORD)?;
    let bytes = record.to_json();
    if old.as_ref() == Some(&bytes) || old.is_none() && *record == T::default() {
        return Ok(None);
    }
    let before = old.map_or(Before::Nothing, |old| Before::Ours(Some(Digest::of(&old))));
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let name = Name::new(&name).map_err(|e| Error::new(Kind::Data, e.to_string()))?;
    let dir = path.parent().unwrap_or(home).to_path_buf();
    Ok(Some(FilePlan::new(dir, name, before, Some(bytes.into()))))
}

fn record(context: &Context<'_>, package: &Package, from: &str) -> StoredPackage {
    let manifest = &package.manifest;
    StoredPackage {
        name: manifest.name.clone(),
        version: manifest.version.clone(),
        kind: manifest.kind,
        description: manifest.description.clone().unwrap_or_default(),
        digest: package.digest(),
        sha256: manifest.integrity.sha256.clone(),
        identity: package.identity(),
        size: package.text().len() as u64,
        nodes: package.nodes() as u64,
        edges: package.edges() as u64,
        created_at: manifest.created_at.clone(),
        stored_at: context.timestamp(),
        from: from.into(),
        signer: package.signer.map(|signer| signer.key),
        dependencies: manifest.dependencies.clone(),
        conflicts: manifest.conflicts.clone(),
        withdrawn: false,
    }
}

/// The best version of a package that fits: the highest release, then the highest pre-release.
pub(super) fn best<'s>(shelf: &'s Shelf, name: &PackageName, range: Option<&Range>) -> Result<&'s StoredPackage> {
    let all: Vec<&StoredPackage> = shelf.packages.iter().filter(|stored| stored.name == *name).collect();
    let found = best_of(all.iter().copied(), |stored| (&stored.version, stored.withdrawn), range);
    found.ok_or_else(|| not_there(shelf, name, range, &all))
}

/// Which of some versions is meant: the newest that fits, releases first. What was taken back counts only where it
/// is named exactly.
pub fn best_of<'v, T>(
    all: impl Iterator<Item = &'v T>,
    version: impl Fn(&'v T) -> (&'v PackageVersion, bool),
    range: Option<&Range>,
) -> Option<&'v T> {
    let fits = |one: &&'v T| {
        let (version, is_taken_back) = version(one);
        let is_named = range.is_some_and(|range| range.is_exactly(version));
        is_named || !is_taken_back && range.is_none_or(|range| range.fits(version))
    };
    all.filter(fits).max_by_key(|one| {
        let (version, _) = version(one);
        (!version.is_pre_release(), version)
    })
}

fn not_there(shelf: &Shelf, name: &PackageName, range: Option<&Range>, all: &[&StoredPackage]) -> Error {
    let versions: Vec<String> = all.iter().map(|stored| stored.version.to_string()).collect();
    match (all.is_empty(), range) {
        (false, Some(range)) => {
            Error::new(Kind::Request, format!("no version of `{name}` in the store fits `{range}`"))
                .hint(format!("in the store: {}", versions.join(", ")))
        }
        (false, None) => Error::new(Kind::Request, format!("every version of `{name}` was rolled back"))
            .hint(format!("name one of them: `{name}@{}`", versions.join(&format!("`, `{name}@")))),
        (true, _) => {
            let names = shelf.packages.iter().map(|stored| stored.name.as_str());
            let file = super::is_package_file(Path::new(name.as_str()));
            let or_file = if file { ", and no file either" } else { "" };
            let message = format!("there is no package called `{name}` in the store{or_file}");
            let error = Error::new(Kind::Request, message);
            match sp_formats::suggest::nearest(name.as_str(), names) {
                Some(near) => error.hint(format!("did you mean `{near}`?")),
                None => error.hint("`sp pkg import <file>` puts one there, `sp pkg create` makes one"),
            }
        }
    }
}

/// A package of the store, in the words of the output.
pub(super) fn item(stored: &StoredPackage) -> PackageItem {
    PackageItem {
        name: stored.name.to_string(),
        version: stored.version.to_string(),
        kind: stored.kind.word().into(),
        description: stored.description.clone(),
        nodes: stored.nodes,
        edges: stored.edges,
        size: stored.size,
        digest: stored.digest.to_string(),
        sha256: stored.sha256.clone(),
        signer: stored.signer.map(|key| key.hex()),
        created_at: stored.created_at.clone(),
        stored_at: Some(stored.stored_at.clone()),
        from: Some(stored.from.clone()),
        withdrawn: stored.withdrawn,
        installed: false,
    }
}

/// The first digits of a digest, by which a waiting package is named.
pub(super) fn waiting_id(waiting: &WaitingPackage) -> String {
    waiting.digest.hex()[..12].to_owned()
}

pub(super) fn waiting_item(waiting: &WaitingPackage) -> WaitingItem {
    WaitingItem {
        id: waiting_id(waiting),
        name: waiting.name.to_string(),
        version: waiting.version.to_string(),
        sender: waiting.sender.clone(),
        received_at: waiting.received_at.clone(),
    }
}

/// A package that is not in the store, in the words of the output.
pub(super) fn item_of(context: &Context<'_>, package: &Package) -> PackageItem {
    let mut item = item(&record(context, package, ""));
    item.stored_at = None;
    item.from = None;
    item
}
