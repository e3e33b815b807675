//! The skills of packages, unpacked. A package never changes, so that is done once as long as there is room.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use sp_tree::{Content, Digest};

/// So many bytes of unpacked skills are kept.
const MOST_BYTES: u64 = 64 * 1024 * 1024;

/// The skills of a package, by the path of each in it.
pub type PackedSkills = Arc<[(String, Content)]>;

/// The skills of packages that were wanted lately.
#[derive(Default)]
pub struct Unpacked {
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    /// The latest last.
    packages: VecDeque<(Digest, PackedSkills)>,
    bytes: u64,
}

impl Unpacked {
    /// The skills of the package with this digest; they are made if they are not here.
    pub fn get<E>(
        &self,
        digest: &Digest,
        make: impl FnOnce() -> Result<Vec<(String, Content)>, E>,
    ) -> Result<PackedSkills, E> {
        let known = |kept: &Kept| kept.packages.iter().find(|(one, _)| one == digest).map(|(_, it)| Arc::clone(it));
        if let Some(skills) = known(&self.kept.lock().unwrap_or_else(PoisonError::into_inner)) {
            return Ok(skills);
        }
        let skills: PackedSkills = make()?.into();
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).keep(*digest, &skills);
        Ok(skills)
    }
}

impl Kept {
    fn keep(&mut self, digest: Digest, skills: &PackedSkills) {
        if self.packages.iter().any(|(known, _)| *known == digest) {
            return;
        }
        self.bytes += size(skills);
        self.packages.push_back((digest, Arc::clone(skills)));
        while self.bytes > MOST_BYTES
            && let Some((_, oldest)) = self.packages.pop_front()
        {
            self.bytes -= size(&oldest);
        }
    }
}

fn size(skills: &PackedSkills) -> u64 {
    skills.iter().map(|(_, content)| content.size()).sum()
}
