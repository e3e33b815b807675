//! The digests of local skills, read from the digest index where it is up to date.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use sp_formats::state::{InstallRecord, InstallState};
use sp_tree::{
    Digest, DigestIndex, Dir, DirSnapshot, Follow, HashedDir, StampScope, hash_scanned, scan_dir,
};

use super::plan::SinkTarget;
use super::skill_set::{InstallableSkill, SkillSource};
use crate::error::Result;
use crate::home::DigestIndexes;
use crate::session::Session;

/// Skills per rayon job. Looking up one skill is too little work for a job of its own.
const SKILLS_PER_JOB: usize = 16;

/// Returns the names of the folders that the state records for these sinks.
pub(super) fn recorded_folders<'s>(
    state: &'s InstallState,
    targets: &[SinkTarget],
) -> HashSet<&'s str> {
    let is_recorded =
        |install: &&InstallRecord| targets.iter().any(|target| target.sink.matches_record(install));
    let folders =
        |install: &'s InstallRecord| install.skills.iter().map(|skill| skill.folder.as_str());
    state.installs.iter().filter(is_recorded).flat_map(folders).collect()
}

/// The digests of local skills, by their directory.
pub(super) struct LocalDigests(HashMap<PathBuf, Digest>);

/// A skill of a repository, as the digest index needs it.
#[derive(Clone, Copy)]
struct LocalSkill<'a> {
    id: &'a str,
    stamp_scope: StampScope,
}

/// The digest of a local skill.
struct LocalSkillDigest<'a> {
    id: &'a str,
    digest: Digest,
    /// The new index entry, if the skill had to be read.
    index_update: Option<Option<DirSnapshot>>,
}

impl LocalDigests {
    /// Computes the digests of the local skills whose folder name is needed.
    ///
    /// Digests of skills that had to be read are added to the indexes.
    pub(super) fn compute(
        session: &Session<'_>,
        targets: &[SinkTarget],
        is_needed: &dyn Fn(&str) -> bool,
        indexes: &mut DigestIndexes<'_>,
    ) -> Result<Self> {
        let mut digests = HashMap::new();
        for (skills_dir, skills) in needed_skills(targets, is_needed) {
            let dir = Dir::open(skills_dir)?;
            let index = indexes.for_dir(skills_dir);
            let found: Result<Vec<LocalSkillDigest<'_>>> = skills
                .par_iter()
                .with_min_len(SKILLS_PER_JOB)
                .map(|skill| local_skill_digest(session, skills_dir, &dir, index, *skill))
                .collect();
            for LocalSkillDigest { id, digest, index_update } in found? {
                digests.insert(skills_dir.join(id), digest);
                if let Some(snapshot) = index_update {
                    index.set_snapshot(id, snapshot.as_ref());
                }
            }
        }
        Ok(Self(digests))
    }

    pub(super) fn get(&self, skill_dir: &Path) -> Option<Digest> {
        self.0.get(skill_dir).copied()
    }
}

/// Returns the local skills whose folder name is needed, each once, by the `skills/` that contains
/// them.
fn needed_skills<'a>(
    targets: &'a [SinkTarget],
    is_needed: &dyn Fn(&str) -> bool,
) -> BTreeMap<&'a Path, Vec<LocalSkill<'a>>> {
    let mut seen = HashSet::new();
    let mut needed: BTreeMap<&Path, Vec<LocalSkill<'_>>> = BTreeMap::new();
    for InstallableSkill { folder, source } in targets.iter().flat_map(SinkTarget::skills) {
        if let SkillSource::Local { skills_dir, id, stamp_scope } = source
            && is_needed(folder.as_str())
            && seen.insert((skills_dir, id))
        {
            let skill = LocalSkill { id, stamp_scope: *stamp_scope };
            needed.entry(skills_dir).or_default().push(skill);
        }
    }
    needed
}

fn local_skill_digest<'a>(
    session: &Session<'_>,
    skills_dir: &Path,
    root: &Dir,
    index: &DigestIndex,
    skill: LocalSkill<'a>,
) -> Result<LocalSkillDigest<'a>> {
    session.context.check_cancelled()?;
    let LocalSkill { id, stamp_scope } = skill;
    if let Some(digest) = index.digest(root, id, Follow::Links, stamp_scope) {
        return Ok(LocalSkillDigest { id, digest, index_update: None });
    }
    let dir = Dir::open(&skills_dir.join(id))?;
    let scanned = scan_dir(&dir, &session.limits)?;
    let HashedDir { tree, stamps } = hash_scanned(&dir, &scanned, &session.limits)?;
    let digest = tree.digest();
    let snapshot = DirSnapshot::from_settled(id, digest, stamps, (session.context.wall_clock)());
    Ok(LocalSkillDigest { id, digest, index_update: Some(snapshot) })
}
