//! The skills of public packages, as other installers look for them: indexes, and what is fetched by them.
//!
//! A package never changes, so what it offers is worked out once. Files are kept unpacked as long as there is
//! room, the latest first; everything can be made again from the package at any time.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use axum::body::Bytes;
use serde::Serialize;
use sp_formats::discovery::{Offered, artifact, indexes, names, offers};
use sp_formats::package;
use sp_formats::registry::Place;
use sp_tree::{Content, Digest, Limits};

use crate::metadata::PublicSkills;
use crate::objects::Objects;

/// So many bytes of unpacked skills are kept.
const MOST_BYTES: u64 = 64 * 1024 * 1024;
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
    made: Option<(Vec<PublicSkills>, Arc<Made>)>,
    unpacked: Unpacked,
}

/// The indexes, and which skill of which package each name means.
pub(crate) struct Made {
    pub index: Bytes,
    pub legacy: Bytes,
    by_name: BTreeMap<String, (Digest, String)>,
}

/// The skills of packages with their files, by the path of each; the latest last.
#[derive(Default)]
struct Unpacked {
    packages: VecDeque<(Digest, Skills)>,
    bytes: u64,
}

type Skills = Arc<BTreeMap<String, Content>>;

impl Unpacked {
    fn get(&self, digest: &Digest) -> Option<Skills> {
        self.packages.iter().find(|(known, _)| known == digest).map(|(_, skills)| Arc::clone(skills))
    }

    fn keep(&mut self, digest: Digest, skills: &Skills) {
        self.bytes += size(skills);
        self.packages.push_back((digest, Arc::clone(skills)));
        while self.bytes > MOST_BYTES
            && let Some((_, oldest)) = self.packages.pop_front()
        {
            self.bytes -= size(&oldest);
        }
    }
}

fn size(skills: &Skills) -> u64 {
    skills.values().map(Content::size).sum()
}

/// Where packages are, and how much of one is taken.
pub(crate) struct Shelf<'a> {
    pub objects: &'a Objects,
    pub limits: &'a Limits,
}

impl Shelf<'_> {
    /// What a package offers; nothing if it cannot be read any more.
    fn offers(&self, digest: &Digest) -> Vec<(Offered, Content)> {
        let bytes = self.objects.get(digest).ok().flatten();
        let package = bytes.and_then(|bytes| package::read("package", bytes, self.limits).package);
        package.map(|package| offers(&package, self.limits)).unwrap_or_default()
    }
}

impl Discovery {
    /// The indexes of these packages. It reads packages that it does not know, one after another, and whoever
    /// comes meanwhile waits for that instead of doing it again.
    pub(crate) fn made(&self, shelf: &Shelf<'_>, packages: Vec<PublicSkills>) -> Arc<Made> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, made)) = known.made.as_ref().filter(|(of, _)| *of == packages) {
            return Arc::clone(made);
        }
        let mut offered = HashMap::new();
        for package in &packages {
            let skills = known.offered.remove(&package.digest).unwrap_or_else(|| {
                let (skills, contents): (Vec<Offered>, Vec<Content>) =
                    shelf.offers(&package.digest).into_iter().unzip();
                let paths = skills.iter().map(|skill| skill.path.clone());
                known.unpacked.keep(package.digest, &Arc::new(paths.zip(contents).collect()));
                skills.into()
            });
            offered.insert(package.digest, skills);
        }
        let made = Arc::new(make(&packages, &offered));
        known.offered = offered;
        known.made = Some((packages, Arc::clone(&made)));
        made
    }

    /// The files of the skill that a name means.
    fn files(&self, shelf: &Shelf<'_>, made: &Made, name: &str) -> Option<(Skills, String)> {
        let (digest, path) = made.by_name.get(name)?;
        let kept = self.known.lock().unwrap_or_else(PoisonError::into_inner).unpacked.get(digest);
        let skills = kept.unwrap_or_else(|| {
            let offers = shelf.offers(digest).into_iter();
            let skills: Skills = Arc::new(offers.map(|(skill, content)| (skill.path, content)).collect());
            self.known.lock().unwrap_or_else(PoisonError::into_inner).unpacked.keep(*digest, &skills);
            skills
        });
        Some((skills, path.clone()))
    }

    /// The zip of a skill.
    pub(crate) fn archive(&self, shelf: &Shelf<'_>, made: &Made, name: &str) -> Option<Vec<u8>> {
        let (skills, path) = self.files(shelf, made, name)?;
        Some(artifact(skills.get(&path)?)?.1)
    }

    /// A file of a skill, by its path in it.
    pub(crate) fn file(&self, shelf: &Shelf<'_>, made: &Made, (name, file): (&str, &str)) -> Option<Vec<u8>> {
        let (skills, path) = self.files(shelf, made, name)?;
        skills.get(&path)?.get(file).map(<[u8]>::to_vec)
    }
}

fn make(packages: &[PublicSkills], offered: &HashMap<Digest, Arc<[Offered]>>) -> Made {
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
