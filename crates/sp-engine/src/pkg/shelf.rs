//! The shelf: which packages the store holds, and what every version ever was.

use std::path::PathBuf;

use sp_formats::output::{PackageItem, WaitingItem};
use sp_formats::package::store::{Record, Shelf, StoredPackage, WaitingPackage};
use sp_formats::package::{Package, PackageName, PackageVersion, Range};
use sp_tree::atomic::{self, Durability, Temp};
use sp_tree::{Digest, Dir, Fixed, Limits, Store};

use crate::bag::workspace::read_optional;
use crate::config::Session;
use crate::context::Context;
use crate::error::{Error, Kind, Result};
use crate::home::Home;

pub(super) const SHELF: Fixed = Fixed("packages.json");
const SHELF_TEMP: Fixed = Fixed("packages.json.tmp");
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

/// Writes a record of the home.
pub(super) fn write_record<T: Record>(home: &Home<'_>, name: Fixed, temp: Fixed, record: &T) -> Result<()> {
    let temp = Temp { dir: &home.dir, name: temp };
    Ok(atomic::replace(&home.dir, &name, temp, &record.to_json(), Durability::Durable)?)
}

/// Which packages the store holds.
pub(super) fn read_shelf(context: &Context<'_>) -> Result<Shelf> {
    read_record(context, "store/packages.json")
}

/// The bytes of a package of the store.
pub(super) fn read_blob(context: &Context<'_>, digest: &Digest, limits: &Limits) -> Result<Vec<u8>> {
    let gone = || {
        Error::new(Kind::Trust, format!("the store does not hold {digest} any more"))
            .hint("import the package again, or take it out with `sp pkg remove`")
    };
    let store = match Dir::open(&context.home) {
        Ok(home) => Store::open(&home)?,
        Err(_) => None,
    };
    let limit = limits.package_bytes.max(64 * 1024 * 1024);
    store.ok_or_else(gone)?.get(digest, limit).map_err(|e| Error { kind: Kind::Trust, ..e.into() })?.ok_or_else(gone)
}

/// The shelf while it is being changed.
pub(super) struct Stock<'a> {
    session: &'a Session<'a>,
    store: Store,
    pub shelf: Shelf,
}

impl<'a> Stock<'a> {
    /// Opens the shelf for a change; the home is locked.
    pub(super) fn open(session: &'a Session<'a>, home: &Home<'_>) -> Result<Self> {
        Ok(Self { session, store: Store::create(&home.dir)?, shelf: read_shelf(session.context)? })
    }

    /// Where the shelf's own file is.
    pub(super) fn dir(&self) -> PathBuf {
        self.store.dir().path().into()
    }

    /// Puts a package; whether it is new, is told. A version that was here once never becomes another.
    pub(super) fn put(&mut self, package: &Package, from: &str) -> Result<(StoredPackage, bool)> {
        self.refuse_other(package)?;
        let digest = self.store.put(package.text().as_bytes())?;
        let manifest = &package.manifest;
        let found = self
            .shelf
            .packages
            .iter_mut()
            .find(|stored| stored.name == manifest.name && stored.version == manifest.version);
        if let Some(stored) = found {
            stored.withdrawn = false;
            // Another spelling of the same content, perhaps with a signature that was missing.
            if stored.digest != digest && (package.signer.is_some() || stored.signer.is_none()) {
                *stored = record(self.session.context, package, digest, from);
            }
            return Ok((stored.clone(), false));
        }
        let stored = record(self.session.context, package, digest, from);
        self.shelf.packages.push(stored.clone());
        self.shelf.packages.sort_by(|a, b| (&a.name, &a.version).cmp(&(&b.name, &b.version)));
        self.note(package);
        Ok((stored, true))
    }

    /// Lets a package wait to be taken.
    pub(super) fn wait(&mut self, package: &Package, sender: &str) -> Result<WaitingPackage> {
        self.refuse_other(package)?;
        let digest = self.store.put(package.text().as_bytes())?;
        let waiting = WaitingPackage {
            name: package.manifest.name.clone(),
            version: package.manifest.version.clone(),
            digest,
            sender: sender.into(),
            received_at: self.session.context.timestamp(),
        };
        self.shelf.waiting.retain(|other| other.digest != digest);
        self.shelf.waiting.push(waiting.clone());
        Ok(waiting)
    }

    fn note(&mut self, package: &Package) {
        let manifest = &package.manifest;
        let versions = self.shelf.known.entry(manifest.name.clone()).or_default();
        versions.insert(manifest.version.to_string(), manifest.integrity.sha256.clone());
    }

    /// Refuses a version that was another package before.
    pub(super) fn refuse_other(&self, package: &Package) -> Result<()> {
        let manifest = &package.manifest;
        let known = self.shelf.known.get(&manifest.name).and_then(|versions| versions.get(manifest.version.as_str()));
        match known {
            Some(known) if *known != manifest.integrity.sha256 => {
                let message = format!("`{} {}` was another package before", manifest.name, manifest.version);
                let because = format!("it hashed to {known}, and this one to {}", manifest.integrity.sha256);
                Err(Error::new(Kind::Trust, message).because(because).hint(
                    "a version never becomes another, even after it was removed: whoever made it gives it a new version",
                ))
            }
            _ => Ok(()),
        }
    }

    /// Stores the shelf, and removes the bytes that nothing on it needs.
    pub(super) fn save(&self) -> Result<()> {
        let temp = Temp { dir: self.store.dir(), name: SHELF_TEMP };
        atomic::replace(self.store.dir(), &SHELF, temp, &self.shelf.to_json(), Durability::Durable)?;
        self.sweep()
    }

    /// Removes the bytes that nothing on the shelf needs.
    pub(super) fn sweep(&self) -> Result<()> {
        let packages = self.shelf.packages.iter().map(|stored| stored.digest);
        let kept: std::collections::HashSet<Digest> =
            packages.chain(self.shelf.waiting.iter().map(|waiting| waiting.digest)).collect();
        self.store.sweep(&|digest| kept.contains(digest))?;
        Ok(())
    }
}

fn record(context: &Context<'_>, package: &Package, digest: Digest, from: &str) -> StoredPackage {
    let manifest = &package.manifest;
    let graph = package.graph();
    StoredPackage {
        name: manifest.name.clone(),
        version: manifest.version.clone(),
        kind: manifest.kind,
        description: manifest.description.clone().unwrap_or_default(),
        digest,
        sha256: manifest.integrity.sha256.clone(),
        size: package.text().len() as u64,
        nodes: graph.nodes.len() as u64,
        edges: graph.edges.len() as u64,
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
    let exact = |stored: &StoredPackage| range.is_some_and(|range| is_exactly(range, &stored.version));
    let fits = |stored: &&&StoredPackage| match range {
        None => !stored.withdrawn,
        Some(range) => range.fits(&stored.version) && (!stored.withdrawn || exact(stored)) || exact(stored),
    };
    let fitting = all.iter().filter(fits);
    fitting
        .max_by_key(|stored| (!stored.version.is_pre_release(), &stored.version))
        .copied()
        .ok_or_else(|| not_there(shelf, name, range, &all))
}

/// Whether a range is a version, written as one.
pub(super) fn is_exactly(range: &Range, version: &PackageVersion) -> bool {
    let text = range.as_str().trim();
    text.strip_prefix('=').unwrap_or(text).trim() == version.as_str()
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
            let error = Error::new(Kind::Request, format!("there is no package called `{name}` in the store"));
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
    let mut item = item(&record(context, package, package.digest(), ""));
    item.stored_at = None;
    item.from = None;
    item
}
