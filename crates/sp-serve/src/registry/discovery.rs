//! Indexes of the skills in public packages, in the formats of other installers.
//!
//! A package never changes, so its skills are read once, as long as it is the latest version.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use axum::body::Bytes;
use serde::Serialize;
use sp_formats::discovery::{
    DiscoverableSkill, assign_names, build_artifact, build_indexes, discoverable_skills,
};
use sp_formats::registry::RegistryPackageName;
use sp_tree::{Digest, FileError, LoadedTree};
use tokio::sync::Semaphore;

use crate::registry::metadata::LatestVersion;
use crate::registry::object_store::is_unavailable;
use crate::registry::published_skills::PublishedSkills;

/// Maximum number of skills in an index.
const MAX_SKILLS: usize = 10_000;
const MAX_CONCURRENT_BUILDS: usize = 8;

/// The current indexes, and the skills of the packages in them.
pub(crate) struct DiscoveryCache {
    state: Mutex<DiscoveryCacheState>,
    /// For requests that read skills.
    pub build_permits: Semaphore,
}

impl Default for DiscoveryCache {
    fn default() -> Self {
        Self { state: Mutex::default(), build_permits: Semaphore::new(MAX_CONCURRENT_BUILDS) }
    }
}

#[derive(Default)]
struct DiscoveryCacheState {
    /// Only of packages in the current indexes.
    skills_by_package: HashMap<Digest, Arc<[DiscoverableSkill]>>,
    /// The packages that the indexes were built from, and the indexes.
    current: Option<(Vec<LatestVersion>, Arc<DiscoveryIndexes>)>,
}

/// The indexes, and the package and path of each skill by its name.
pub(crate) struct DiscoveryIndexes {
    pub index: Bytes,
    pub legacy: Bytes,
    by_name: BTreeMap<String, (Digest, String)>,
}

impl DiscoveryCache {
    /// Returns the indexes of these packages. Reads packages that are not cached; concurrent calls
    /// wait for that instead of repeating it. Fails if the object store is not available.
    pub(crate) fn indexes_for(
        &self,
        skills: &PublishedSkills,
        packages: Vec<LatestVersion>,
    ) -> Result<Arc<DiscoveryIndexes>, FileError> {
        let mut known = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, made)) = known.current.as_ref().filter(|(of, _)| *of == packages) {
            return Ok(Arc::clone(made));
        }
        let mut offered = HashMap::new();
        for package in &packages {
            let own = match known.skills_by_package.get(&package.digest) {
                Some(own) => Arc::clone(own),
                None => match skills.get(&package.digest) {
                    Ok(own) => discoverable_skills(&own, skills.limits()).into(),
                    Err(error) if is_unavailable(&error) => return Err(error),
                    // A damaged package has no skills.
                    Err(_) => Arc::default(),
                },
            };
            offered.insert(package.digest, own);
        }
        let made = Arc::new(index_packages(&packages, &offered));
        known.skills_by_package = offered;
        known.current = Some((packages, Arc::clone(&made)));
        Ok(made)
    }
}

impl DiscoveryIndexes {
    /// Calls `look` with the files of a skill.
    fn with_skill_files<T>(
        &self,
        skills: &PublishedSkills,
        name: &str,
        look: impl FnOnce(&LoadedTree) -> Option<T>,
    ) -> Result<Option<T>, FileError> {
        let Some((digest, path)) = self.by_name.get(name) else { return Ok(None) };
        let skills = match skills.get(digest) {
            Ok(skills) => skills,
            Err(error) if is_unavailable(&error) => return Err(error),
            Err(_) => return Ok(None),
        };
        let found = skills.iter().find(|(one, _)| one == path);
        Ok(found.and_then(|(_, content)| look(content)))
    }

    /// Returns a skill as a zip.
    pub(crate) fn archive(
        &self,
        skills: &PublishedSkills,
        name: &str,
    ) -> Result<Option<Vec<u8>>, FileError> {
        self.with_skill_files(skills, name, |content| Some(build_artifact(content)?.1))
    }

    /// Returns a file of a skill by its path.
    pub(crate) fn file(
        &self,
        skills: &PublishedSkills,
        (name, file): (&str, &str),
    ) -> Result<Option<Vec<u8>>, FileError> {
        self.with_skill_files(skills, name, |content| content.get(file).map(<[u8]>::to_vec))
    }
}

fn index_packages(
    packages: &[LatestVersion],
    offered: &HashMap<Digest, Arc<[DiscoverableSkill]>>,
) -> DiscoveryIndexes {
    let mut skills: Vec<(RegistryPackageName, &Digest, &DiscoverableSkill)> = Vec::new();
    for package in packages {
        let Ok(name) = RegistryPackageName::new(&package.namespace, &package.name) else {
            continue;
        };
        let own = offered.get(&package.digest).into_iter().flat_map(|skills| skills.iter());
        skills.extend(own.map(|skill| (name.clone(), &package.digest, skill)));
    }
    skills.truncate(MAX_SKILLS);
    let claims: Vec<(&RegistryPackageName, &DiscoverableSkill)> =
        skills.iter().map(|(name, _, skill)| (name, *skill)).collect();
    let named = assign_names(&claims)
        .into_iter()
        .zip(&skills)
        .filter_map(|(name, skill)| Some((name?, skill)));
    let (mut by_name, mut listed) = (BTreeMap::new(), Vec::new());
    for (name, (_, digest, skill)) in named {
        by_name.insert(name.to_string(), (**digest, skill.path.clone()));
        listed.push((name, *skill));
    }
    let (index, legacy) = build_indexes(&listed);
    DiscoveryIndexes { index: to_json_bytes(&index), legacy: to_json_bytes(&legacy), by_name }
}

fn to_json_bytes(index: &impl Serialize) -> Bytes {
    serde_json::to_vec(index).unwrap_or_default().into()
}
