//! What there is for one client.

use std::sync::Arc;

use crate::mcp::{PackCard, PackageCard, Paged, Shelf, SkillCard, Tool, common, knowledge};
use sp_engine::Result;
use sp_formats::mcp::SkillEntry;
use sp_formats::registry::Place;
use sp_tree::RelPath;

use super::RegistryShelf;
use super::skills::PublishedSkill;
use crate::registry::metadata::{Database, Newest};

/// So many skills are looked through for words.
const MOST_SEARCHED: usize = 10_000;

impl Shelf for RegistryShelf {
    fn skills(&self, after: Option<&str>, most: usize) -> Result<Option<Paged<SkillEntry>>> {
        let packages = self.packages_of_skills()?;
        let (first, mut skip) = match after {
            None => (0, 0),
            Some(key) => match self.place_of_key(&packages, key)? {
                Some((package, skill)) => (package, skill + 1),
                None => return Ok(None),
            },
        };
        let (mut items, mut last) = (Vec::new(), None);
        // Packages behind the page are not read.
        for package in &packages[first..] {
            let before = std::mem::take(&mut skip);
            // One that cannot be read any more keeps nobody from the others.
            let Ok(own) = self.skills_of(package) else { continue };
            for skill in own.skills.iter().skip(before) {
                if items.len() == most {
                    return Ok(Some(Paged { items, next: last }));
                }
                items.push(skill.entry.clone());
                last = Some(skill.key.clone());
            }
        }
        Ok(Some(Paged { items, next: None }))
    }

    fn skill(&self, path: &RelPath) -> Result<Option<SkillEntry>> {
        Ok(self.find_skill(path)?.map(|found| found.entry()))
    }

    fn skill_file(&self, path: &RelPath) -> Result<Option<Vec<u8>>> {
        match self.find_skill(path)? {
            Some(found) => self.read_skill(&found),
            None => Ok(None),
        }
    }

    fn cards(&self) -> Result<Vec<SkillCard>> {
        let mut cards = Vec::new();
        for package in self.packages_of_skills()? {
            cards.extend(self.skills_of(&package).iter().flat_map(|own| own.skills.iter().map(card)));
            if cards.len() >= MOST_SEARCHED {
                break;
            }
        }
        Ok(cards)
    }

    /// Whoever publishes is told what is wrong with a skill; those who look for one have no use for it.
    fn left_out(&self) -> Result<Vec<String>> {
        Ok(Vec::new())
    }

    fn packs(&self) -> Result<Vec<Arc<PackCard>>> {
        self.own_packs()
    }

    fn pack(&self, id: &str) -> Result<Option<Arc<PackCard>>> {
        self.own_pack(id)
    }

    fn packages(&self) -> Result<Vec<PackageCard>> {
        let card = |newest: Newest| PackageCard {
            name: format!("@{}/{}", newest.namespace, newest.name),
            version: newest.version,
            description: newest.description.unwrap_or_default(),
            size: newest.bytes,
        };
        Ok(self.ask(Database::newest)?.into_iter().map(card).collect())
    }

    fn find_package(&self, name: &str, version: &str) -> Result<Option<PackageCard>> {
        let Some(place) = place(name) else { return Ok(None) };
        let found = self.ask(|database, reader| database.download(&place, version, reader))?;
        Ok(found.map(|found| PackageCard {
            name: place.to_string(),
            version: version.into(),
            description: String::new(),
            size: found.bytes,
        }))
    }

    fn package(&self, name: &str, version: &str) -> Result<Option<String>> {
        let Some(place) = place(name) else { return Ok(None) };
        let found = self.ask(|database, reader| database.download(&place, version, reader))?;
        let bytes = found.map(|found| self.object(&found.digest)).transpose()?.flatten();
        Ok(bytes.and_then(|bytes| String::from_utf8(bytes).ok()))
    }

    fn tools() -> Vec<Tool<Self>> {
        common::tools().into_iter().chain(knowledge::tools()).collect()
    }
}

fn card(skill: &PublishedSkill) -> SkillCard {
    SkillCard {
        path: skill.path.clone(),
        name: skill.name.clone(),
        description: skill.description.clone(),
        text: Arc::clone(&skill.text),
    }
}

/// Where a package is, by its name with or without `@`.
fn place(name: &str) -> Option<Place> {
    let (namespace, name) = name.trim_start_matches('@').split_once('/')?;
    Place::new(namespace, name).ok()
}
