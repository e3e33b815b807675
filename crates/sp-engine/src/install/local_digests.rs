//! The digests of local skills, read from the digest index where it is up to date.

use std::collections::{HashMap, HashSet};

use rayon::prelude::*;
use sp_formats::state::{InstallRecord, InstallState};
use sp_tree::{Digest, DigestIndex, Dir, DirSnapshot, Follow, HashedDir, hash_scanned, scan_dir};

use super::selection::{ResolvedPack, SkillIndex};
use crate::error::Result;
use crate::home::DigestIndexes;
use crate::select::SkillSource;
use crate::session::Session;
use crate::sinks::Sink;

/// Skills per rayon job. Looking up one skill is too little work for a job of its own.
const SKILLS_PER_JOB: usize = 16;

/// Returns the names of the folders that the state records for these sinks.
pub(super) fn recorded_folders<'s>(state: &'s InstallState, sinks: &[Sink]) -> HashSet<&'s str> {
    let is_recorded =
        |install: &&InstallRecord| sinks.iter().any(|sink| sink.matches_record(install));
    let folders =
        |install: &'s InstallRecord| install.skills.iter().map(|skill| skill.folder.as_str());
    state.installs.iter().filter(is_recorded).flat_map(folders).collect()
}

/// The digests of local skills.
pub(super) struct LocalDigests(HashMap<SkillIndex, Digest>);

impl LocalDigests {
    /// Computes the digests of the local skills whose folder name is needed.
    ///
    /// Digests of skills that had to be read are added to the indexes.
    pub(super) fn compute(
        session: &Session<'_>,
        packs: &[ResolvedPack],
        is_needed: &dyn Fn(&str) -> bool,
        indexes: &mut DigestIndexes<'_>,
    ) -> Result<Self> {
        let mut digests = HashMap::new();
        for (pack, resolved) in packs.iter().enumerate() {
            let root = resolved.repository.skills_dir();
            let needed: Vec<usize> = (0..resolved.skills.len())
                .filter(|&skill| {
                    resolved.skills[skill].source == SkillSource::Local
                        && is_needed(resolved.skills[skill].folder.as_str())
                })
                .collect();
            if needed.is_empty() {
                continue;
            }
            let dir = Dir::open(&root)?;
            let index = indexes.for_dir(&root);
            let found: Result<Vec<LocalSkillDigest>> = needed
                .par_iter()
                .with_min_len(SKILLS_PER_JOB)
                .map(|&skill| local_skill_digest(session, &dir, index, resolved, skill))
                .collect();
            for LocalSkillDigest { skill, digest, index_update } in found? {
                digests.insert(SkillIndex { pack, skill }, digest);
                if let Some(snapshot) = index_update {
                    index.set_snapshot(&resolved.skills[skill].id, snapshot.as_ref());
                }
            }
        }
        Ok(Self(digests))
    }

    pub(super) fn get(&self, skill: SkillIndex) -> Option<Digest> {
        self.0.get(&skill).copied()
    }
}

/// The digest of a local skill.
struct LocalSkillDigest {
    skill: usize,
    digest: Digest,
    /// The new index entry, if the skill had to be read.
    index_update: Option<Option<DirSnapshot>>,
}

fn local_skill_digest(
    session: &Session<'_>,
    root: &Dir,
    index: &DigestIndex,
    pack: &ResolvedPack,
    skill: usize,
) -> Result<LocalSkillDigest> {
    session.context.check_cancelled()?;
    let id = &pack.skills[skill].id;
    if let Some(digest) = index.digest(root, id, Follow::Links, pack.stamp_scope) {
        return Ok(LocalSkillDigest { skill, digest, index_update: None });
    }
    let dir = Dir::open(&pack.local_skill_dir(id))?;
    let scanned = scan_dir(&dir, &session.limits)?;
    let HashedDir { tree, stamps } = hash_scanned(&dir, &scanned, &session.limits)?;
    let digest = tree.digest();
    let snapshot = DirSnapshot::from_settled(id, digest, stamps, (session.context.wall_clock)());
    Ok(LocalSkillDigest { skill, digest, index_update: Some(snapshot) })
}
