//! The skills of public packages, as other installers look for them: indexes, and what is fetched by them.
//!
//! A package never changes, so what it offers is worked out once.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use axum::body::Bytes;
use serde::Serialize;
use sp_formats::discovery::{Offered, artifact, indexes, names, offers};
use sp_formats::registry::Place;
use sp_tree::{Content, Digest};

use crate::registry::metadata::Newest;
use crate::registry::skills::PublishedSkills;

/// An index with more skills than this is of no use to anybody.
const MOST_SKILLS: usize = 10_000;

/// What is offered now, and what is remembered of it.
#[derive(Default)]
pub(crate) struct Discovery {
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    /// What each package offers; only of packages that are offered now.
    offered: HashMap<Digest, Arc<[Offered]>>,
    /// What was made of which packages.
    made: Option<(Vec<Newest>, Arc<Made>)>,
}

/// The indexes, and which skill of which package each name means.
pub(crate) struct Made {
    pub index: Bytes,
    pub legacy: Bytes,
    by_name: BTreeMap<String, (Digest, String)>,
}

impl Discovery {
    /// The indexes of these packages. It reads packages that it does not know, one after another, and whoever
    /// comes meanwhile waits for that instead of doing it again.
    pub(crate) fn made(&self, skills: &PublishedSkills, packages: Vec<Newest>) -> Arc<Made> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, made)) = known.made.as_ref().filter(|(of, _)| *of == packages) {
            return Arc::clone(made);
        }
        let mut offered = HashMap::new();
        for package in &packages {
            // One that cannot be read any more offers nothing.
            let offers = || skills.of(&package.digest).map(|own| offers(&own, skills.limits())).unwrap_or_default();
            let own = known.offered.remove(&package.digest).unwrap_or_else(|| offers().into());
            offered.insert(package.digest, own);
        }
        let made = Arc::new(make(&packages, &offered));
        known.offered = offered;
        known.made = Some((packages, Arc::clone(&made)));
        made
    }
}

impl Made {
    /// The files of the skill that a name means, given to whoever looks at them.
    fn files<T>(&self, skills: &PublishedSkills, name: &str, look: impl FnOnce(&Content) -> Option<T>) -> Option<T> {
        let (digest, path) = self.by_name.get(name)?;
        let skills = skills.of(digest).ok()?;
        skills.iter().find(|(one, _)| one == path).and_then(|(_, content)| look(content))
    }

    /// The zip of a skill.
    pub(crate) fn archive(&self, skills: &PublishedSkills, name: &str) -> Option<Vec<u8>> {
        self.files(skills, name, |content| Some(artifact(content)?.1))
    }

    /// A file of a skill, by its path in it.
    pub(crate) fn file(&self, skills: &PublishedSkills, (name, file): (&str, &str)) -> Option<Vec<u8>> {
        self.files(skills, name, |content| content.get(file).map(<[u8]>::to_vec))
    }
}

fn make(packages: &[Newest], offered: &HashMap<Digest, Arc<[Offered]>>) -> Made {
    let mut skills: Vec<(Place, &Digest, &Offered)> = Vec::new();
    for package in packages {
        let Ok(place) = Place::new(&package.namespace, &package.name) else { continue };
        let own = offered.get(&package.digest).into_iter().flat_map(|skills| skills.iter());
        skills.extend(own.map(|skill| (place.clone(), &package.digest, skill)));
    }
    skills.truncate(MOST_SKILLS);
    let claims: Vec<(&Place, &Offered)> = skills.iter().map(|(place, _, skill)| (place, *skill)).collect();
    let named = names(&claims).into_iter().zip(&skills).filter_map(|(name, skill)| Some((name?, skill)));
    let (mut by_name, mut listed) = (BTreeMap::new(), Vec::new());
    for (name, (_, digest, skill)) in named {
        by_name.insert(name.to_string(), (**digest, skill.path.clone()));
        listed.push((name, *skill));
    }
    let (index, legacy) = indexes(&listed);
    Made { index: json(&index), legacy: json(&legacy), by_name }
}

fn json(index: &impl Serialize) -> Bytes {
    serde_json::to_vec(index).unwrap_or_default().into()
}
