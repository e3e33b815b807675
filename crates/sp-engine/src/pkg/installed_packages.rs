//! The package files that a project has, each read and hashed once.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use sp_formats::package::lock::{LockedPackage, PackageLock};
use sp_formats::package::{Package, PackageKind, PackageName, read_hashed};
use sp_tree::{Digest, HashedBytes};

use super::load_package::without_size_limit;
use super::project::PackageProject;
use crate::error::Result;
use crate::session::Session;

/// The files of the context packages that the lock of a project names, as they are on disk.
pub(super) struct InstalledPackages {
    files: BTreeMap<PackageName, InstalledPackage>,
}

struct InstalledPackage {
    bytes: HashedBytes,
    /// Parsed on first use; none if it is not a usable package.
    package: OnceLock<Option<Arc<Package>>>,
}

impl InstalledPackages {
    pub(super) fn read(session: &Session<'_>, project: &PackageProject) -> Result<Self> {
        let mut files = BTreeMap::new();
        for name in context_packages(&project.lock).map(|(name, _)| name) {
            if let Some(bytes) = project.read_package(session, name)? {
                files.insert(name.clone(), InstalledPackage { bytes, package: OnceLock::new() });
            }
        }
        Ok(Self { files })
    }

    /// Returns the digest of the file of a package; none if there is no file.
    pub(super) fn digest(&self, name: &PackageName) -> Option<Digest> {
        self.files.get(name).map(|file| file.bytes.digest())
    }

    /// Returns the digests of all files.
    pub(super) fn digests(&self) -> BTreeMap<PackageName, Digest> {
        self.files.iter().map(|(name, file)| (name.clone(), file.bytes.digest())).collect()
    }

    /// Returns the context packages of a lock whose files are the locked ones.
    pub(super) fn packages(&self, session: &Session<'_>, lock: &PackageLock) -> Vec<Arc<Package>> {
        context_packages(lock)
            .filter(|(name, locked)| self.digest(name) == Some(locked.digest))
            .filter_map(|(name, _)| self.files.get(name)?.package(session, name))
            .collect()
    }
}

impl InstalledPackage {
    fn package(&self, session: &Session<'_>, name: &PackageName) -> Option<Arc<Package>> {
        let parse = || {
            // The size was checked, and findings were reported, when the package was installed.
            let limits = without_size_limit(&session.limits);
            read_hashed(name.as_str(), self.bytes.clone(), &limits).package.map(Arc::new)
        };
        self.package.get_or_init(parse).clone()
    }
}

fn context_packages(lock: &PackageLock) -> impl Iterator<Item = (&PackageName, &LockedPackage)> {
    lock.packages.iter().filter(|(_, locked)| locked.kind == PackageKind::Context)
}
