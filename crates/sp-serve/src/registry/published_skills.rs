//! The skills of packages that were published, unpacked: for installers and for agents alike.

use sp_engine::library::{UnpackedSkills, UnpackedSkillsCache};
use sp_formats::package;
use sp_tree::{Digest, FileError, Limits};

use crate::registry::object_store::ObjectStore;

/// The skills of packages. They are unpacked when somebody wants them, and kept as long as there is room.
pub(crate) struct PublishedSkills {
    objects: ObjectStore,
    limits: Limits,
    unpacked: UnpackedSkillsCache,
}

impl PublishedSkills {
    pub(crate) fn new(objects: ObjectStore, limits: Limits) -> Self {
        Self { objects, limits, unpacked: UnpackedSkillsCache::default() }
    }

    /// How much of a package is taken.
    pub(crate) fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The skills of the package with this digest; none if it has no skills, or is gone.
    pub(crate) fn get(&self, digest: &Digest) -> Result<UnpackedSkills, FileError> {
        self.unpacked.get_or_try_insert(digest, || {
            let bytes = self.objects.get(digest)?;
            let package =
                bytes.and_then(|bytes| package::read("package", bytes, &self.limits).package);
            Ok(package.map(|package| package.skills().skills).unwrap_or_default().into())
        })
    }
}
