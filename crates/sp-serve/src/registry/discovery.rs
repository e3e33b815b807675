//! The skills of public packages, as other installers look for them: indexes, and what is fetched by them.
//!
//! A package never changes, so what it offers is worked out once.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use axum::body::Bytes;
use serde::Serialize;
use sp_formats::discovery::{
    DiscoverableSkill, assign_names, build_artifact, build_indexes, discoverable_skills,
};
use sp_formats::registry::RegistryPackageName;
use sp_tree::{Digest, LoadedTree};

use crate::registry::metadata::LatestVersion;
use crate::registry::published_skills::PublishedSkills;

/// An index with more skills than this is of no use to anybody.
const MAX_SKILLS: usize = 10_000;

/// What is offered now, and what is remembered of it.
#[derive(Default)]
pub(crate) struct DiscoveryCache {
    state: Mutex<DiscoveryCacheState>,
}

#[derive(Default)]
struct DiscoveryCacheState {
    /// What each package offers; only of packages that are offered now.
    skills_by_package: HashMap<Digest, Arc<[DiscoverableSkill]>>,
    /// What was made of which packages.
    current: Option<(Vec<LatestVersion>, Arc<DiscoveryIndexes>)>,
}

/// The indexes, and which skill of which package each name means.
pub(crate) struct DiscoveryIndexes {
    pub index: Bytes,
    pub legacy: Bytes,
    by_name: BTreeMap<String, (Digest, String)>,
}

impl DiscoveryCache {
    /// The indexes of these packages. It reads packages that it does not know, one after another, and whoever
    /// comes meanwhile waits for that instead of doing it again.
    pub(crate) fn indexes_for(
        &self,
        skills: &PublishedSkills,
        packages: Vec<LatestVersion>,
    ) -> Arc<DiscoveryIndexes> {
        let mut known = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, made)) = known.current.as_ref().filter(|(of, _)| *of == packages) {
            return Arc::clone(made);
        }
        let mut offered = HashMap::new();
        for package in &packages {
            // One that cannot be read any more offers nothing.
            let offers = || {
                skills
                    .get(&package.digest)
                    .map(|own| discoverable_skills(&own, skills.limits()))
                    .unwrap_or_default()
            };
            let own =
                known.skills_by_package.remove(&package.digest).unwrap_or_else(|| offers().into());
            offered.insert(package.digest, own);
        }
        let made = Arc::new(index_packages(&packages, &offered));
        known.skills_by_package = offered;
        known.current = Some((packages, Arc::clone(&made)));
        made
    }
}

impl DiscoveryIndexes {
    /// The files of the skill that a name means, given to whoever looks at them.
    fn with_skill_files<T>(
        &self,
        skills: &PublishedSkills,
        name: &str,
        look: impl FnOnce(&LoadedTree) -> Option<T>,
    ) -> Option<T> {
        let (digest, path) = self.by_name.get(name)?;
        let skills = skills.get(digest).ok()?;
        skills.iter().find(|(one, _)| one == path).and_then(|(_, content)| look(content))
    }

    /// The zip of a skill.
    pub(crate) fn archive(&self, skills: &PublishedSkills, name: &str) -> Option<Vec<u8>> {
        self.with_skill_files(skills, name, |content| Some(build_artifact(content)?.1))
    }

    /// A file of a skill, by its path in it.
    pub(crate) fn file(
        &self,
        skills: &PublishedSkills,
        (name, file): (&str, &str),
    ) -> Option<Vec<u8>> {
        self.with_skill_files(skills, name, |content| content.get(file).map(<[u8]>::to_vec))
    }
}

fn index_packages(
    packages: &[LatestVersion],
    offered: &HashMap<Digest, Arc<[DiscoverableSkill]>>,
) -> DiscoveryIndexes {
    let mut skills: Vec<(RegistryPackageName, &Digest, &DiscoverableSkill)> = Vec::new();
    for package in packages {
        let Ok(place) = RegistryPackageName::new(&package.namespace, &package.name) else {
            continue;
        };
        let own = offered.get(&package.digest).into_iter().flat_map(|skills| skills.iter());
        skills.extend(own.map(|skill| (place.clone(), &package.digest, skill)));
    }
    skills.truncate(MAX_SKILLS);
    let claims: Vec<(&RegistryPackageName, &DiscoverableSkill)> =
        skills.iter().map(|(place, _, skill)| (place, *skill)).collect();
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
