//! The skills of packages that were published, unpacked: for installers and for agents alike.

use sp_engine::library::{PackedSkills, Unpacked};
use sp_formats::package;
use sp_tree::{Digest, FileError, Limits};

use crate::registry::objects::Objects;

/// The skills of packages. They are unpacked when somebody wants them, and kept as long as there is room.
pub(crate) struct PublishedSkills {
    objects: Objects,
    limits: Limits,
    unpacked: Unpacked,
}

impl PublishedSkills {
    pub(crate) fn new(objects: Objects, limits: Limits) -> Self {
        Self { objects, limits, unpacked: Unpacked::default() }
    }

    /// How much of a package is taken.
    pub(crate) fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The skills of the package with this digest; none if it has no skills, or is gone.
    pub(crate) fn of(&self, digest: &Digest) -> Result<PackedSkills, FileError> {
        self.unpacked.get(digest, || {
            let bytes = self.objects.get(digest)?;
            let package = bytes.and_then(|bytes| package::read("package", bytes, &self.limits).package);
            Ok(package.map(|package| package.skills().skills).unwrap_or_default().into())
        })
    }
}
