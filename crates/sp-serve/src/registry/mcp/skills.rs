//! The skills that packages have, as agents are told of them. A package never changes, so it is read once as long
//! as there is room.

use std::sync::Arc;

use sp_engine::Result;
use sp_engine::library::Weigh;
use sp_formats::mcp::{SkillEntry, entry, front, skill_path};
use sp_formats::registry::Place;
use sp_formats::skill::SKILL_FILE;
use sp_tree::{Content, Limits, RelPath};

use super::RegistryShelf;
use crate::registry::metadata::{Database, Newest};

/// How the paths of all skills start.
const ROOT: &str = "registry";
/// Of a `SKILL.md` so much is searched: what it is for stands at its beginning.
const MOST_TEXT: usize = 4 * 1024;
/// What a file of a skill takes in memory, more or less, besides its name.
const FILE_WEIGHT: usize = 128;

/// The skills of a package that can be served.
pub(super) struct PackageSkills {
    pub skills: Vec<PublishedSkill>,
}

/// A skill of a package.
pub(super) struct PublishedSkill {
    /// Where it is in its package.
    folder: String,
    /// By what lists go on behind it: its folder among all.
    pub key: String,
    /// Where it stands among all that are served.
    pub path: String,
    pub name: String,
    pub description: String,
    /// The beginning of its `SKILL.md`.
    pub text: Arc<str>,
    pub entry: SkillEntry,
}

impl Weigh for PackageSkills {
    fn weight(&self) -> u64 {
        let file = |uri: &String| uri.len() + FILE_WEIGHT;
        let skill = |skill: &PublishedSkill| {
            let files: usize = skill.entry.resources.iter().map(|one| file(&one.uri)).sum();
            // What its frontmatter says is kept twice, read and as text.
            files + skill.text.len() * 2 + skill.description.len() + FILE_WEIGHT
        };
        self.skills.iter().map(|one| skill(one) as u64).sum()
    }
}

impl PublishedSkill {
    /// A skill of a package, unless no host would take it.
    fn new(prefix: &str, (folder, content): &(String, Content), limits: &Limits) -> Option<Self> {
        let bytes = content.get(SKILL_FILE)?;
        let front = front(bytes, limits).ok()?;
        let key = format!("{prefix}{folder}");
        let path = skill_path(&key, &front.name);
        let text = std::str::from_utf8(bytes).ok()?;
        Some(Self {
            name: front.name.to_string(),
            description: front.description.clone(),
            text: text[..text.floor_char_boundary(MOST_TEXT)].into(),
            entry: entry(&path, front, content.digests()).ok()?,
            folder: folder.clone(),
            key,
            path,
        })
    }
}

fn prefix(namespace: &str, name: &str) -> String {
    format!("{ROOT}/{namespace}/{name}/")
}

/// The package that a path among all skills leads into.
fn place_of(path: &str) -> Option<Place> {
    let mut parts = path.split('/');
    let is_ours = parts.next() == Some(ROOT);
    let (namespace, name) = (parts.next()?, parts.next()?);
    Place::new(namespace, name).ok().filter(|_| is_ours)
}

/// A skill, and which file of it is meant.
pub(super) struct Found {
    package: Newest,
    skills: Arc<PackageSkills>,
    at: usize,
    /// Empty for the folder itself.
    file: String,
}

impl Found {
    pub(super) fn entry(&self) -> SkillEntry {
        self.skills.skills[self.at].entry.clone()
    }
}

impl RegistryShelf {
    /// The newest version of every package of skills that the client may see.
    pub(super) fn packages_of_skills(&self) -> Result<Vec<Newest>> {
        self.ask(Database::newest_skills)
    }

    /// The skills of a package.
    pub(super) fn skills_of(&self, package: &Newest) -> Result<Arc<PackageSkills>> {
        let published = &self.store.stock.skills;
        // The name of a package is part of its bytes, so its digest says where its skills stand.
        self.store.listed.get(&package.digest, || {
            let prefix = prefix(&package.namespace, &package.name);
            let unpacked = published.of(&package.digest).map_err(|error| self.failed(&error))?;
            let skill = |one: &(String, Content)| PublishedSkill::new(&prefix, one, published.limits());
            Ok(Arc::new(PackageSkills { skills: unpacked.iter().filter_map(skill).collect() }))
        })
    }

    /// The package and the skill in it that a key means; none if it is gone, or was never there.
    pub(super) fn place_of_key(&self, packages: &[Newest], key: &str) -> Result<Option<(usize, usize)>> {
        let Some(place) = place_of(key) else { return Ok(None) };
        let is_it = |one: &Newest| one.namespace == place.namespace() && one.name == place.name();
        let Some(package) = packages.iter().position(is_it) else { return Ok(None) };
        let skill = self.skills_of(&packages[package])?.skills.iter().position(|skill| skill.key == key);
        Ok(skill.map(|skill| (package, skill)))
    }

    /// The skill that a path leads into.
    pub(super) fn find_skill(&self, path: &RelPath) -> Result<Option<Found>> {
        let Some(place) = place_of(path.as_str()) else { return Ok(None) };
        let found = self.ask(|database, reader| database.newest_of(&place, reader))?;
        let Some(package) = found.filter(|package| package.kind == "skills") else { return Ok(None) };
        let skills = self.skills_of(&package)?;
        // No skill of a package stands in another.
        let inside = skills.skills.iter().enumerate().find_map(|(at, skill)| {
            let rest = path.as_str().strip_prefix(&skill.path)?;
            Some((at, if rest.is_empty() { rest } else { rest.strip_prefix('/')? }.to_owned()))
        });
        Ok(inside.map(|(at, file)| Found { package, skills, at, file }))
    }

    /// The bytes of a file of a skill.
    pub(super) fn read_skill(&self, found: &Found) -> Result<Option<Vec<u8>>> {
        let unpacked = self.store.stock.skills.of(&found.package.digest).map_err(|error| self.failed(&error))?;
        let folder = &found.skills.skills[found.at].folder;
        let content = unpacked.iter().find(|(one, _)| one == folder).map(|(_, content)| content);
        Ok(content.and_then(|content| content.get(&found.file)).map(<[u8]>::to_vec))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mc_02_a_path_leads_into_one_package_or_into_none() {
        assert_eq!(place_of("registry/acme/tools/review").unwrap().to_string(), "@acme/tools");
        assert_eq!(place_of("registry/acme/tools").unwrap().to_string(), "@acme/tools");
        for path in ["repo/acme/tools/x", "registry/acme", "registry", "registry/../tools/x", "registry/A/b/c", ""] {
            assert!(place_of(path).is_none(), "{path}");
        }
    }
}
