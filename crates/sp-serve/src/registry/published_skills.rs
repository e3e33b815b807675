//! The skills of published packages, unpacked and cached.

use sp_engine::{UnpackedSkills, UnpackedSkillsCache};
use sp_formats::package;
use sp_tree::{Digest, FileError, Limits};

use crate::registry::object_store::ObjectStore;

/// Unpacks the skills of packages on demand.
pub(crate) struct PublishedSkills {
    objects: ObjectStore,
    limits: Limits,
    unpacked: UnpackedSkillsCache,
}

impl PublishedSkills {
    pub(crate) fn new(objects: ObjectStore, limits: Limits) -> Self {
        Self { objects, limits, unpacked: UnpackedSkillsCache::default() }
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Returns the skills of a package; empty if it has none.
    pub(crate) fn get(&self, digest: &Digest) -> Result<UnpackedSkills, FileError> {
        self.unpacked.get_or_try_insert(digest, || {
            let bytes = self.objects.require(digest)?;
            let package = package::read("package", bytes, &self.limits).package;
            Ok(package.map(|package| package.skills().skills).unwrap_or_default().into())
        })
    }
}
