//! The package store: packages by digest in `~/.skillpack/store`, and the records about them.
//!
//! [`PackageStore`] holds four records in memory while a command changes them: the index of stored
//! and waiting packages, the trust pins, the envelopes that were received, and the versions that
//! registries have shown. [`PackageStore::save`] writes all of them, and the blobs that are added
//! or removed, in one transaction. Commands that change records must hold the lock of the home.
//!
//! A version is immutable: the index remembers the identity of every version that was ever stored,
//! and refuses a different package under the same version even after the first one was removed.

use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sp_formats::output::{PlanStatus, StoredPackageItem};
use sp_formats::package::store::{
    KnownVersion, PackageStoreIndex, ReceivedEnvelopes, SeenRegistryVersions, StoredPackage,
    TrustStore, WaitingPackage,
};
use sp_formats::package::{Package, PackageName, PackageVersion, RecordedSource, VersionRange};
use sp_formats::suggest::{did_you_mean, list_few};
use sp_tree::transaction::PriorState;
use sp_tree::{BlobStore, Digest, HashedBytes, read_optional};

use super::items::package_item;
use super::package_spec::is_package_file;
use super::store_record::RecordFile;
use super::stored_package::stored_package;
use super::trust::{TrustOverrides, check_signer, record_signer};
use crate::context::{Context, Event};
use crate::error::{Error, ErrorCode, Result};
use crate::home::LockedHome;
use crate::install::change::ChangeExecutor;
use crate::install::plan::FilePlan;
use crate::plan_id::ApplyOptions;
use crate::session::Session;

pub(super) const STORE_INDEX_FILE: &str = "store/packages.json";
pub(super) const TRUST_FILE: &str = "trust.json";
pub(super) const RECEIVED_FILE: &str = "received.json";
pub(super) const SEEN_VERSIONS_FILE: &str = "registries.json";
pub(super) fn read_store_index(context: &Context<'_>) -> Result<PackageStoreIndex> {
    RecordFile::read(context, STORE_INDEX_FILE).map(RecordFile::into_value)
}

pub(super) fn read_trust_pins(context: &Context<'_>) -> Result<TrustStore> {
    RecordFile::read(context, TRUST_FILE).map(RecordFile::into_value)
}

/// Returns the bytes of a package of the store, verified against their digest.
pub(super) fn read_blob(context: &Context<'_>, digest: &Digest) -> Result<HashedBytes> {
    // The size was checked when the package was added.
    let bytes = BlobStore::of(&context.home)
        .get(digest, u64::MAX)
        .map_err(|e| Error::from(e).with_code(ErrorCode::DigestMismatch))?;
    bytes.ok_or_else(|| {
        Error::new(ErrorCode::DigestMismatch, format!("{digest} is missing from the store"))
            .hint("import the package again, or remove it with `sp pkg remove`")
    })
}

/// A verified package and where it came from: a file, a registry, a sender or the store.
#[derive(Debug, Clone)]
pub(super) struct LoadedPackage {
    pub package: Arc<Package>,
    pub source: RecordedSource,
}

/// The records while a command changes them. Nothing is written before [`save`](Self::save).
pub(super) struct PackageStore<'a> {
    session: &'a Session<'a>,
    pub index: RecordFile<PackageStoreIndex>,
    pub trust: RecordFile<TrustStore>,
    pub received_envelopes: RecordFile<ReceivedEnvelopes>,
    pub seen_versions: RecordFile<SeenRegistryVersions>,
    /// The digests of the packages that were in the store, waiting ones included.
    stored_before: BTreeSet<Digest>,
    /// The texts of packages whose blobs may be missing.
    new_blobs: BTreeMap<Digest, Arc<str>>,
    /// Emitted after the change was saved.
    deferred_events: Vec<Event<'static>>,
}

impl<'a> PackageStore<'a> {
    /// Reads the records. A caller that saves them must hold the lock of the home from here on.
    pub(super) fn open(session: &'a Session<'a>) -> Result<Self> {
        let context = session.context;
        let index = RecordFile::read(context, STORE_INDEX_FILE)?;
        Ok(Self {
            session,
            stored_before: referenced_digests(&index),
            index,
            trust: RecordFile::read(context, TRUST_FILE)?,
            received_envelopes: RecordFile::read(context, RECEIVED_FILE)?,
            seen_versions: RecordFile::read(context, SEEN_VERSIONS_FILE)?,
            new_blobs: BTreeMap::new(),
            deferred_events: Vec::new(),
        })
    }

    /// Checks the signers of packages and adds the packages to the index.
    pub(super) fn add<'p>(
        &mut self,
        packages: impl IntoIterator<Item = &'p LoadedPackage>,
        overrides: TrustOverrides,
    ) -> Result<Vec<StoredPackageItem>> {
        let mut added = Vec::new();
        for LoadedPackage { package, source } in packages {
            let status = check_signer(self.session, &self.trust, package, overrides)?;
            let event = record_signer(self.session.context, &mut self.trust, package, &status);
            self.deferred_events.extend(event);
            self.warn_if_older(package);
            let (stored, new) = self.put(package, source)?;
            added.push(StoredPackageItem { package: package_item(&stored), new, file: None });
        }
        Ok(added)
    }

    /// Warns about an old version that arrives after a newer one: it may bring back a
    /// vulnerability.
    fn warn_if_older(&mut self, package: &Package) {
        let manifest = &package.manifest;
        let newest = find_best_stored(&self.index, &manifest.name, None)
            .ok()
            .map(|newest| newest.version.clone());
        if let Some(newest) = newest.filter(|newest| *newest > manifest.version) {
            self.deferred_events.push(Event::Warning(format!(
                "`{} {}` is older than {newest}, which remains the preferred version in the store",
                manifest.name, manifest.version
            )));
        }
    }

    /// Adds a package to the index. The flag is true if the version was not in the store.
    fn put(&mut self, package: &Package, from: &RecordedSource) -> Result<(StoredPackage, bool)> {
        self.check_version_unchanged(package)?;
        let stored = stored_package(self.session.context, package, from);
        let known = self
            .index
            .packages
            .iter_mut()
            .find(|known| known.name == stored.name && known.version == stored.version);
        if let Some(known) = known {
            known.withdrawn = false;
            // The same content, now with a signature.
            if known.signer.is_none() && stored.signer.is_some() {
                *known = stored;
            }
            let known = known.clone();
            // Restores the blob if it is missing or damaged. One that was just read is neither.
            if known.digest == package.digest() && *from != RecordedSource::Store {
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

    /// Queues a received package for review.
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

    /// Refuses a version that was a different package before.
    fn check_version_unchanged(&self, package: &Package) -> Result<()> {
        let (manifest, identity) = (&package.manifest, package.identity());
        let known = self
            .index
            .known
            .get(&manifest.name)
            .and_then(|versions| versions.get(manifest.version.as_str()));
        match known {
            Some(known) if known.identity != identity => {
                let message =
                    format!("the content of `{} {}` has changed", manifest.name, manifest.version);
                let sha256 = &manifest.integrity.sha256;
                let because = if known.sha256 == *sha256 {
                    format!(
                        "the digest with the manifest was {}, but is now {identity}",
                        known.identity
                    )
                } else {
                    format!("the digest was {}, but is now {sha256}", known.sha256)
                };
                Err(Error::new(ErrorCode::VersionReplaced, message).because(because).hint(
                    "ask the publisher to release a new version; a version must never change, \
                     even after it is removed from the store",
                ))
            }
            _ => Ok(()),
        }
    }

    /// Returns the changes of records and blobs.
    pub(super) fn file_plans(&self) -> Result<Vec<FilePlan>> {
        let home = self.real_home()?;
        let store = BlobStore::of(&home);
        let after = referenced_digests(&self.index);
        let mut plans = Vec::new();
        for digest in &after {
            let (dir, name) = store.location(digest)?;
            let Some(bytes) = self.new_blobs.get(digest) else { continue };
            if let Some(before) = prior_blob(&dir.join(name.as_str()), bytes)? {
                let bytes = Some(Arc::clone(bytes).into());
                let plan = FilePlan::new(dir, name, before, bytes);
                plans.push(plan.with_digest(Some(*digest)));
            }
        }
        for digest in self.stored_before.difference(&after) {
            let (dir, name) = store.location(digest)?;
            if dir.join(name.as_str()).exists() {
                plans.push(FilePlan::new(dir, name, PriorState::Ours(Some(*digest)), None));
            }
        }
        plans.extend(self.index.plan(&home)?);
        plans.extend(self.trust.plan(&home)?);
        plans.extend(self.received_envelopes.plan(&home)?);
        plans.extend(self.seen_versions.plan(&home)?);
        Ok(plans)
    }

    /// Returns the real path of the home directory. Only a dry run can find it missing.
    fn real_home(&self) -> Result<PathBuf> {
        let home = &self.session.context.home;
        match home.canonicalize() {
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(home.clone()),
            real => Ok(real.map_err(|e| sp_tree::FileError::new("find", home, e))?),
        }
    }

    /// Writes all changes in one transaction, then emits the deferred events.
    pub(super) fn save(self, home: &LockedHome<'_>) -> Result<()> {
        let session = self.session;
        let options = ApplyOptions::APPLY;
        self.save_with(&ChangeExecutor { session, home: Some(home), options }).map(drop)
    }

    /// Writes all changes in one transaction, then emits the deferred events. A dry run writes
    /// nothing.
    pub(super) fn save_with(self, change: &ChangeExecutor<'_>) -> Result<PlanStatus> {
        self.save_and_write(change, None)
    }

    /// Saves the store together with other files.
    pub(super) fn save_and_write(
        self,
        change: &ChangeExecutor<'_>,
        others: impl IntoIterator<Item = FilePlan>,
    ) -> Result<PlanStatus> {
        let mut files = self.file_plans()?;
        files.extend(others);
        let status = change.execute_files(files)?;
        if status.applied {
            self.emit_deferred_events();
        }
        Ok(status)
    }

    /// Emits the deferred events, for callers that write [`file_plans`](Self::file_plans)
    /// themselves.
    pub(super) fn emit_deferred_events(self) {
        self.deferred_events.into_iter().for_each(|event| self.session.context.emit(event));
    }

    /// Returns the deferred events, for plans that emit them when they were applied.
    pub(super) fn take_deferred_events(&mut self) -> Vec<Event<'static>> {
        std::mem::take(&mut self.deferred_events)
    }
}

/// Returns what a blob replaces: nothing, or a damaged one. None if the blob is there.
fn prior_blob(path: &Path, bytes: &str) -> Result<Option<PriorState>> {
    let limit = bytes.len() as u64;
    let stored = match path.symlink_metadata() {
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(Some(PriorState::Absent)),
        Ok(metadata) if metadata.len() == limit => read_optional(path, limit)?,
        _ => None,
    };
    Ok((stored.as_deref() != Some(bytes.as_bytes())).then_some(PriorState::Ours(None)))
}

fn referenced_digests(index: &PackageStoreIndex) -> BTreeSet<Digest> {
    let packages = index.packages.iter().map(|stored| stored.digest);
    packages.chain(index.waiting.iter().map(|waiting| waiting.digest)).collect()
}

/// Returns the version of a package to use: see [`select_best_version`].
pub(super) fn find_best_stored<'s>(
    index: &'s PackageStoreIndex,
    name: &PackageName,
    range: Option<&VersionRange>,
) -> Result<&'s StoredPackage> {
    let all: Vec<&StoredPackage> =
        index.packages.iter().filter(|stored| stored.name == *name).collect();
    let found = select_best_version(
        all.iter().copied(),
        |stored| (&stored.version, stored.withdrawn),
        range,
    );
    found.ok_or_else(|| not_found_error(index, name, range, &all))
}

/// Selects the newest version that matches the range. Any release is preferred to a pre-release. A
/// withdrawn or yanked version, for which `version` returns true, is selected only by its exact
/// version.
pub fn select_best_version<'v, T>(
    candidates: impl Iterator<Item = &'v T>,
    version: impl Fn(&'v T) -> (&'v PackageVersion, bool),
    range: Option<&VersionRange>,
) -> Option<&'v T> {
    let is_match = |candidate: &&'v T| {
        let (version, is_withdrawn) = version(candidate);
        let is_exact = range.is_some_and(|range| range.is_exactly(version));
        is_exact || !is_withdrawn && range.is_none_or(|range| range.matches(version))
    };
    candidates.filter(is_match).max_by_key(|candidate| {
        let (version, _) = version(candidate);
        (!version.is_pre_release(), version)
    })
}

fn not_found_error(
    index: &PackageStoreIndex,
    name: &PackageName,
    range: Option<&VersionRange>,
    all: &[&StoredPackage],
) -> Error {
    let versions: Vec<String> = all.iter().rev().map(|stored| stored.version.to_string()).collect();
    match (all.is_empty(), range) {
        (false, Some(range)) => Error::new(
            ErrorCode::VersionNotFound,
            format!("no version of `{name}` in the store matches `{range}`"),
        )
        .hint(format!("versions in the store: {}", list_few(&versions))),
        (false, None) => Error::new(
            ErrorCode::VersionNotFound,
            format!("all versions of `{name}` are rolled back"),
        )
        .hint(format!(
            "specify an exact version, such as `{name}@{}`",
            versions.first().map_or("", String::as_str)
        )),
        (true, _) => {
            let names = index.packages.iter().map(|stored| stored.name.as_str());
            let is_file_name = is_package_file(Path::new(name.as_str()));
            let or_file = if is_file_name { " or as a file" } else { "" };
            let message = format!("package `{name}` not found in the store{or_file}");
            let error = Error::new(ErrorCode::PackageNotFound, message);
            match did_you_mean(name.as_str(), names.collect::<BTreeSet<_>>()) {
                Some(question) => error.hint(question),
                None => error.hint(
                    "run `sp pkg import <file>` to add a package, or `sp pkg create` to create one",
                ),
            }
        }
    }
}
