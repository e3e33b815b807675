//! What a registry serves to one client.

use std::sync::Arc;

use sp_engine::Result;
use sp_formats::mcp::McpSkillEntry;
use sp_formats::registry::RegistryPackageName;
use sp_tree::RelPath;

use super::RegistryBackend;
use super::skills::PublishedSkill;
use crate::mcp::{
    McpBackend, McpContextPack, McpPackageSummary, McpPage, McpSkillSummary, McpTool, common,
    knowledge,
};
use crate::registry::metadata::{Database, LatestVersion};

/// Maximum number of skills that are searched.
const MAX_SEARCHED_SKILLS: usize = 10_000;

impl McpBackend for RegistryBackend {
    fn skills(&self, after: Option<&str>, most: usize) -> Result<Option<McpPage<McpSkillEntry>>> {
        let packages = self.skill_packages()?;
        let (first, mut skip) = match after {
            None => (0, 0),
            Some(key) => match self.position_of_key(&packages, key)? {
                Some((package, skill)) => (package, skill + 1),
                None => return Ok(None),
            },
        };
        let (mut items, mut last) = (Vec::new(), None);
        // Packages after the page are not read.
        for package in &packages[first..] {
            let before = std::mem::take(&mut skip);
            // Skip packages that cannot be read.
            let Ok(own) = self.package_skills(package) else { continue };
            for skill in own.skills.iter().skip(before) {
                if items.len() == most {
                    return Ok(Some(McpPage { items, next: last }));
                }
                items.push(skill.entry.clone());
                last = Some(skill.key.clone());
            }
        }
        Ok(Some(McpPage { items, next: None }))
    }

    fn skill(&self, path: &RelPath) -> Result<Option<McpSkillEntry>> {
        Ok(self.find_skill(path)?.map(|found| found.entry()))
    }

    fn skill_file(&self, path: &RelPath) -> Result<Option<Vec<u8>>> {
        match self.find_skill(path)? {
            Some(found) => self.read_skill_file(&found),
            None => Ok(None),
        }
    }

    fn skill_summaries(&self) -> Result<Vec<McpSkillSummary>> {
        let mut cards = Vec::new();
        for package in self.skill_packages()? {
            cards.extend(
                self.package_skills(&package)
                    .iter()
                    .flat_map(|own| own.skills.iter().map(skill_summary)),
            );
            if cards.len() >= MAX_SEARCHED_SKILLS {
                break;
            }
        }
        Ok(cards)
    }

    /// Empty: problems are reported to publishers, not to readers.
    fn unserved_skills(&self) -> Result<Vec<String>> {
        Ok(Vec::new())
    }

    fn context_packs(&self) -> Result<Vec<Arc<McpContextPack>>> {
        self.list_own_packs()
    }

    fn context_pack(&self, id: &str) -> Result<Option<Arc<McpContextPack>>> {
        self.find_own_pack(id)
    }

    fn packages(&self) -> Result<Vec<McpPackageSummary>> {
        let card = |newest: LatestVersion| McpPackageSummary {
            name: format!("@{}/{}", newest.namespace, newest.name),
            version: newest.version,
            description: newest.description.unwrap_or_default(),
            size: newest.bytes,
        };
        Ok(self.with_database(Database::latest_versions)?.into_iter().map(card).collect())
    }

    fn find_package(&self, name: &str, version: &str) -> Result<Option<McpPackageSummary>> {
        let Some(package) = package_name(name) else { return Ok(None) };
        let found = self
            .with_database(|database, reader| database.find_version(&package, version, reader))?;
        Ok(found.map(|found| McpPackageSummary {
            name: package.to_string(),
            version: version.into(),
            description: String::new(),
            size: found.bytes,
        }))
    }

    fn package_text(&self, name: &str, version: &str) -> Result<Option<String>> {
        let Some(package) = package_name(name) else { return Ok(None) };
        let found = self
            .with_database(|database, reader| database.find_version(&package, version, reader))?;
        let bytes = found.map(|found| self.read_object(&found.digest)).transpose()?;
        Ok(bytes.and_then(|bytes| String::from_utf8(bytes).ok()))
    }

    fn tools() -> Vec<McpTool<Self>> {
        common::tools().into_iter().chain(knowledge::tools()).collect()
    }
}

fn skill_summary(skill: &PublishedSkill) -> McpSkillSummary {
    McpSkillSummary {
        path: skill.path.clone(),
        name: skill.name.clone(),
        description: skill.description.clone(),
        text: Arc::clone(&skill.text),
    }
}

/// Parses a package name with or without `@`.
fn package_name(name: &str) -> Option<RegistryPackageName> {
    let (namespace, name) = name.trim_start_matches('@').split_once('/')?;
    RegistryPackageName::new(namespace, name).ok()
}
