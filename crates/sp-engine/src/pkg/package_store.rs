//! The records of packages: which the store holds, what every version ever was, and whom we trust.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use sp_formats::output::{PackageItem, WaitingPackageItem};
use sp_formats::package::store::{
    KnownVersion, PackageStoreIndex, ReceivedEnvelopes, SeenRegistryVersions, StoreRecord,
    StoredPackage, TrustStore, WaitingPackage,
};
use sp_formats::package::{Package, PackageName, PackageVersion, VersionRange};
use sp_tree::transaction::PriorState;
use sp_tree::{BlobStore, Digest, Name, read_optional};

use super::registry::SEEN_VERSIONS_FILE;
use crate::apply_mode::ApplyMode;
use crate::context::{Context, Event};
use crate::error::{Error, FailureKind, Result};
use crate::home::LockedHome;
use crate::install::change::ChangeExecutor;
use crate::install::plan::FilePlan;
use crate::session::Session;

const MAX_RECORD_BYTES: u64 = 256 * 1024 * 1024;

/// Reads a record of the home; one that is not there is an empty one.
pub(super) fn read_record<T: StoreRecord>(context: &Context<'_>, path: &str) -> Result<T> {
    let path = context.home.join(path);
    match read_optional(&path, MAX_RECORD_BYTES)? {
        None => Ok(T::default()),
        Some(bytes) => T::parse(&bytes).map_err(|why| {
            let shown = context.display_path(&path);
            Error::new(FailureKind::Data, format!("`{shown}` cannot be used"))
                .because(why)
                .hint(format!("nothing was changed. Mend the file, or move it away (`mv {shown} {shown}.broken`)"))
        }),
    }
}

/// Which packages the store holds.
pub(super) fn read_store_index(context: &Context<'_>) -> Result<PackageStoreIndex> {
    read_record(context, "store/packages.json")
}

/// The bytes of a package of the store.
pub(super) fn read_blob(context: &Context<'_>, digest: &Digest) -> Result<Vec<u8>> {
    // They were taken when their size was allowed.
    let bytes = BlobStore::of(&context.home)
        .get(digest, u64::MAX)
        .map_err(|e| Error { kind: FailureKind::Trust, ..e.into() })?;
    bytes.ok_or_else(|| {
        Error::new(FailureKind::Trust, format!("the store does not hold {digest} any more"))
            .hint("import the package again, or take it out with `sp pkg remove`")
    })
}

/// The records of packages while they are being changed. Nothing is written until all of it is, at once.
pub(super) struct PackageStore<'a> {
    session: &'a Session<'a>,
    pub index: PackageStoreIndex,
    pub trust: TrustStore,
    pub received_envelopes: ReceivedEnvelopes,
    pub seen_versions: SeenRegistryVersions,
    /// Packages that are not in the store yet.
    new_blobs: BTreeMap<Digest, Arc<str>>,
    /// What is told when it is done.
    deferred_events: Vec<Event<'static>>,
}

/// The records and their files.
const STORE_INDEX_FILE: &str = "store/packages.json";
const TRUST_FILE: &str = "trust.json";
const RECEIVED_FILE: &str = "received.json";

impl<'a> PackageStore<'a> {
    /// Reads the records; whoever changes them holds the lock of the home.
    pub(super) fn open(session: &'a Session<'a>) -> Result<Self> {
        let context = session.context;
        Ok(Self {
            session,
            index: read_record(context, STORE_INDEX_FILE)?,
            trust: read_record(context, TRUST_FILE)?,
            received_envelopes: read_record(context, RECEIVED_FILE)?,
            seen_versions: read_record(context, SEEN_VERSIONS_FILE)?,
            new_blobs: BTreeMap::new(),
            deferred_events: Vec::new(),
        })
    }

    /// Says something when it is done, and nothing if it is not.
    pub(super) fn defer_event(&mut self, event: Event<'static>) {
        self.deferred_events.push(event);
    }

    /// Puts a package; whether it is new, is told. A version that was here once never becomes another.
    pub(super) fn put(&mut self, package: &Package, from: &str) -> Result<(StoredPackage, bool)> {
        self.check_version_unchanged(package)?;
        let stored = stored_package(self.session.context, package, from);
        let known = self
            .index
            .packages
            .iter_mut()
            .find(|one| one.name == stored.name && one.version == stored.version);
        if let Some(known) = known {
            known.withdrawn = false;
            // The same version with a signature that was missing.
            if known.signer.is_none() && stored.signer.is_some() {
                *known = stored;
            }
            let known = known.clone();
            // Its bytes may have gone missing.
            if known.digest == package.digest() {
                self.new_blobs.insert(known.digest, Arc::clone(package.text()));
            }
            return Ok((known, false));
        }
        self.new_blobs.insert(stored.digest, Arc::clone(package.text()));
        let versions = self.index.known.entry(stored.name.clone()).or_default();
        let known = KnownVersion { sha256: stored.sha256.clone(), identity: stored.identity };
        versions.insert(stored.version.to_string(), known);
        self.index.packages.push(stored.clone());
        self.index.packages.sort_by(|a, b| (&a.name, &a.version).cmp(&(&b.name, &b.version)));
        Ok((stored, true))
    }

    /// Lets a package wait to be taken.
    pub(super) fn queue(&mut self, package: &Package, sender: &str) -> Result<WaitingPackage> {
        self.check_version_unchanged(package)?;
        let waiting = WaitingPackage {
            name: package.manifest.name.clone(),
            version: package.manifest.version.clone(),
            digest: package.digest(),
            sender: sender.into(),
            received_at: self.session.context.timestamp(),
        };
        self.new_blobs.insert(waiting.digest, Arc::clone(package.text()));
        self.index.waiting.retain(|other| other.digest != waiting.digest);
        self.index.waiting.push(waiting.clone());
        Ok(waiting)
    }

    /// Refuses a version that was another package before.
    pub(super) fn check_version_unchanged(&self, package: &Package) -> Result<()> {
        let (manifest, identity) = (&package.manifest, package.identity());
        let known = self
            .index
            .known
            .get(&manifest.name)
            .and_then(|versions| versions.get(manifest.version.as_str()));
        match known {
            Some(known) if known.identity != identity => {
                let message =
                    format!("`{} {}` was another package before", manifest.name, manifest.version);
                let sha256 = &manifest.integrity.sha256;
                let because = match known.sha256 == *sha256 {
                    false => format!("it hashed to {}, and this one to {sha256}", known.sha256),
                    true => format!(
                        "with its manifest it hashed to {}, and this one to {identity}",
                        known.identity
                    ),
                };
                Err(Error::new(FailureKind::Trust, message).because(because).hint(
                    "a version never becomes another, even after it was removed: whoever made it gives it a new version",
                ))
            }
            _ => Ok(()),
        }
    }

    /// Every file that changes.
    pub(super) fn file_plans(&self) -> Result<Vec<FilePlan>> {
        let context = self.session.context;
        let home = context
            .home
            .canonicalize()
            .map_err(|e| sp_tree::FileError::new("find", &context.home, e))?;
        let store = BlobStore::of(&home);
        let old: PackageStoreIndex = read_record(context, STORE_INDEX_FILE)?;
        let (before, after) = (referenced_digests(&old), referenced_digests(&self.index));
        let place = |digest: &Digest| {
            store.location(digest).map_err(|e| Error::new(FailureKind::Data, e.to_string()))
        };
        let mut plans = Vec::new();
        for digest in &after {
            let (dir, name) = place(digest)?;
            if let (Some(bytes), false) =
                (self.new_blobs.get(digest), dir.join(name.as_str()).exists())
            {
                plans.push(FilePlan::new(
                    dir,
                    name,
                    PriorState::Absent,
                    Some(Arc::clone(bytes).into()),
                ));
            }
        }
        for digest in before.difference(&after) {
            let (dir, name) = place(digest)?;
            if dir.join(name.as_str()).exists() {
                plans.push(FilePlan::new(dir, name, PriorState::Ours(Some(*digest)), None));
            }
        }
        plans.extend(record_plan(&home, STORE_INDEX_FILE, &self.index)?);
        plans.extend(record_plan(&home, TRUST_FILE, &self.trust)?);
        plans.extend(record_plan(&home, RECEIVED_FILE, &self.received_envelopes)?);
        plans.extend(record_plan(&home, SEEN_VERSIONS_FILE, &self.seen_versions)?);
        Ok(plans)
    }

    /// Writes it all, at once.
    pub(super) fn save(self, home: &LockedHome<'_>) -> Result<()> {
        let change = ChangeExecutor {
            session: self.session,
            home: Some(home),
            options: ApplyMode::Apply.into(),
        };
        change.execute_files(self.file_plans()?)?;
        self.emit_deferred_events();
        Ok(())
    }

    /// Says what was to be said when it is done.
    pub(super) fn emit_deferred_events(self) {
        self.deferred_events.into_iter().for_each(|event| self.session.context.emit(event));
    }
}

fn referenced_digests(shelf: &PackageStoreIndex) -> BTreeSet<Digest> {
    let packages = shelf.packages.iter().map(|stored| stored.digest);
    packages.chain(shelf.waiting.iter().map(|waiting| waiting.digest)).collect()
}

/// What gives a record's file its bytes; nothing if it has them, or if there is nothing to record.
fn record_plan<T: StoreRecord + PartialEq>(
    home: &Path,
    file: &str,
    record: &T,
) -> Result<Option<FilePlan>> {
    let path = home.join(file);
    let old = read_optional(&path, MAX_RECORD_BYTES)?;
    let bytes = record.to_json();
    if old.as_ref() == Some(&bytes) || old.is_none() && *record == T::default() {
        return Ok(None);
    }
    let before = old.map_or(PriorState::Absent, |old| PriorState::Ours(Some(Digest::of(&old))));
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let name = Name::new(&name).map_err(|e| Error::new(FailureKind::Data, e.to_string()))?;
    let dir = path.parent().unwrap_or(home).to_path_buf();
    Ok(Some(FilePlan::new(dir, name, before, Some(bytes.into()))))
}

fn stored_package(context: &Context<'_>, package: &Package, from: &str) -> StoredPackage {
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
        nodes: package.node_count() as u64,
        edges: package.edge_count() as u64,
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
pub(super) fn find_best_stored<'s>(
    shelf: &'s PackageStoreIndex,
    name: &PackageName,
    range: Option<&VersionRange>,
) -> Result<&'s StoredPackage> {
    let all: Vec<&StoredPackage> =
        shelf.packages.iter().filter(|stored| stored.name == *name).collect();
    let found = select_best_version(
        all.iter().copied(),
        |stored| (&stored.version, stored.withdrawn),
        range,
    );
    found.ok_or_else(|| not_found_error(shelf, name, range, &all))
}

/// Which of some versions is meant: the newest that fits, releases first. What was taken back counts only where it
/// is named exactly.
pub fn select_best_version<'v, T>(
    all: impl Iterator<Item = &'v T>,
    version: impl Fn(&'v T) -> (&'v PackageVersion, bool),
    range: Option<&VersionRange>,
) -> Option<&'v T> {
    let fits = |one: &&'v T| {
        let (version, is_taken_back) = version(one);
        let is_named = range.is_some_and(|range| range.is_exactly(version));
        is_named || !is_taken_back && range.is_none_or(|range| range.matches(version))
    };
    all.filter(fits).max_by_key(|one| {
        let (version, _) = version(one);
        (!version.is_pre_release(), version)
    })
}

fn not_found_error(
    shelf: &PackageStoreIndex,
    name: &PackageName,
    range: Option<&VersionRange>,
    all: &[&StoredPackage],
) -> Error {
    let versions: Vec<String> = all.iter().map(|stored| stored.version.to_string()).collect();
    match (all.is_empty(), range) {
        (false, Some(range)) => Error::new(
            FailureKind::Request,
            format!("no version of `{name}` in the store fits `{range}`"),
        )
        .hint(format!("in the store: {}", versions.join(", "))),
        (false, None) => {
            Error::new(FailureKind::Request, format!("every version of `{name}` was rolled back"))
                .hint(format!(
                    "name one of them: `{name}@{}`",
                    versions.join(&format!("`, `{name}@"))
                ))
        }
        (true, _) => {
            let names = shelf.packages.iter().map(|stored| stored.name.as_str());
            let file = super::is_package_file(Path::new(name.as_str()));
            let or_file = if file { ", and no file either" } else { "" };
            let message = format!("there is no package called `{name}` in the store{or_file}");
            let error = Error::new(FailureKind::Request, message);
            match sp_formats::suggest::nearest(name.as_str(), names) {
                Some(near) => error.hint(format!("did you mean `{near}`?")),
                None => {
                    error.hint("`sp pkg import <file>` puts one there, `sp pkg create` makes one")
                }
            }
        }
    }
}

/// A package of the store, in the words of the output.
pub(super) fn package_item(stored: &StoredPackage) -> PackageItem {
    PackageItem {
        name: stored.name.to_string(),
        version: stored.version.to_string(),
        kind: stored.kind.as_str().into(),
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

pub(super) fn waiting_item(waiting: &WaitingPackage) -> WaitingPackageItem {
    WaitingPackageItem {
        id: waiting_id(waiting),
        name: waiting.name.to_string(),
        version: waiting.version.to_string(),
        sender: waiting.sender.clone(),
        received_at: waiting.received_at.clone(),
    }
}

/// A package that is not in the store, in the words of the output.
pub(super) fn unstored_package_item(context: &Context<'_>, package: &Package) -> PackageItem {
    let mut item = package_item(&stored_package(context, package, ""));
    item.stored_at = None;
    item.from = None;
    item
}
