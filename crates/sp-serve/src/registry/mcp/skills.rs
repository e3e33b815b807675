//! The skills of published packages, as MCP lists them. Packages never change, so their skills are
//! cached by digest.

use std::sync::Arc;

use sp_engine::Result;
use sp_formats::mcp::{McpSkillEntry, read_frontmatter, skill_entry, skill_path};
use sp_formats::registry::RegistryPackageName;
use sp_formats::skill::SKILL_FILE;
use sp_tree::{Limits, LoadedTree, RelPath};

use super::RegistryBackend;
use crate::registry::metadata::{Database, LatestVersion};

/// The first segment of all skill paths.
const SKILL_PATH_ROOT: &str = "registry";
/// Search only the beginning of `SKILL.md`, which says what a skill is for.
const MAX_SEARCH_TEXT_BYTES: usize = 4 * 1024;
/// Approximate memory for a file entry, besides its URI.
const FILE_OVERHEAD_BYTES: usize = 128;

/// The valid skills of a package.
pub(super) struct PackageSkills {
    pub skills: Vec<PublishedSkill>,
}

pub(super) struct PublishedSkill {
    /// The path in the package.
    folder: String,
    /// The cursor key: the path in the registry before it is adapted to the name of the skill.
    pub key: String,
    /// The path in the `skill://` URI.
    pub path: String,
    pub name: String,
    pub description: String,
    pub text: Arc<str>,
    pub entry: McpSkillEntry,
}

impl PackageSkills {
    /// The approximate size in bytes.
    pub(super) fn memory_bytes(&self) -> u64 {
        let file = |uri: &String| uri.len() + FILE_OVERHEAD_BYTES;
        let skill = |skill: &PublishedSkill| {
            let files: usize = skill.entry.resources.iter().map(|item| file(&item.uri)).sum();
            // The frontmatter is kept twice: parsed and as text.
            files + skill.text.len() * 2 + skill.description.len() + FILE_OVERHEAD_BYTES
        };
        self.skills.iter().map(|item| skill(item) as u64).sum()
    }
}

impl PublishedSkill {
    /// Reads a skill; `None` if it is invalid.
    fn new(
        prefix: &str,
        (folder, content): &(String, LoadedTree),
        limits: &Limits,
    ) -> Option<Self> {
        let bytes = content.get(SKILL_FILE)?;
        let front = read_frontmatter(bytes, limits).ok()?;
        let key = format!("{prefix}{folder}");
        let path = skill_path(&key, &front.name);
        let text = std::str::from_utf8(bytes).ok()?;
        Some(Self {
            name: front.name.to_string(),
            description: front.description.clone(),
            text: text[..text.floor_char_boundary(MAX_SEARCH_TEXT_BYTES)].into(),
            entry: skill_entry(&path, front, content.file_digests()).ok()?,
            folder: folder.clone(),
            key,
            path,
        })
    }
}

fn path_prefix(namespace: &str, name: &str) -> String {
    format!("{SKILL_PATH_ROOT}/{namespace}/{name}/")
}

/// Returns the package that contains a skill path.
fn package_of_path(path: &str) -> Option<RegistryPackageName> {
    let mut parts = path.split('/');
    let is_ours = parts.next() == Some(SKILL_PATH_ROOT);
    let (namespace, name) = (parts.next()?, parts.next()?);
    RegistryPackageName::new(namespace, name).ok().filter(|_| is_ours)
}

/// A skill, and the path of a file in it.
pub(super) struct SkillFileMatch {
    package: LatestVersion,
    skills: Arc<PackageSkills>,
    skill_index: usize,
    /// Empty for the folder itself.
    file: String,
}

impl SkillFileMatch {
    pub(super) fn entry(&self) -> McpSkillEntry {
        self.skills.skills[self.skill_index].entry.clone()
    }
}

impl RegistryBackend {
    /// The latest version of every skill package that the client may read.
    pub(super) fn skill_packages(&self) -> Result<Vec<LatestVersion>> {
        self.with_database(Database::latest_skill_packages)
    }

    pub(super) fn package_skills(&self, package: &LatestVersion) -> Result<Arc<PackageSkills>> {
        let published = &self.cache.stores.skills;
        // The digest covers the package name, so it determines the paths.
        self.cache.skills.get_or_try_insert(&package.digest, || {
            let prefix = path_prefix(&package.namespace, &package.name);
            let unpacked =
                published.get(&package.digest).map_err(|error| self.record_failure(&error))?;
            let skill =
                |one: &(String, LoadedTree)| PublishedSkill::new(&prefix, one, published.limits());
            Ok(Arc::new(PackageSkills { skills: unpacked.iter().filter_map(skill).collect() }))
        })
    }

    /// Returns the indexes of the package and of the skill with this key.
    pub(super) fn position_of_key(
        &self,
        packages: &[LatestVersion],
        key: &str,
    ) -> Result<Option<(usize, usize)>> {
        let Some(name) = package_of_path(key) else { return Ok(None) };
        let is_named = |package: &LatestVersion| {
            package.namespace == name.namespace() && package.name == name.name()
        };
        let Some(package) = packages.iter().position(is_named) else { return Ok(None) };
        let skill = self
            .package_skills(&packages[package])?
            .skills
            .iter()
            .position(|skill| skill.key == key);
        Ok(skill.map(|skill| (package, skill)))
    }

    /// Finds the skill that contains a path.
    pub(super) fn find_skill(&self, path: &RelPath) -> Result<Option<SkillFileMatch>> {
        let Some(name) = package_of_path(path.as_str()) else { return Ok(None) };
        let found =
            self.with_database(|database, reader| database.latest_version(&name, reader))?;
        let Some(package) = found.filter(|package| package.kind == "skills") else {
            return Ok(None);
        };
        let skills = self.package_skills(&package)?;
        // Skills of a package are not nested.
        let inside = skills.skills.iter().enumerate().find_map(|(index, skill)| {
            let rest = path.as_str().strip_prefix(&skill.path)?;
            Some((index, if rest.is_empty() { rest } else { rest.strip_prefix('/')? }.to_owned()))
        });
        Ok(inside.map(|(skill_index, file)| SkillFileMatch { package, skills, skill_index, file }))
    }

    pub(super) fn read_skill_file(&self, found: &SkillFileMatch) -> Result<Option<Vec<u8>>> {
        let unpacked = self
            .cache
            .stores
            .skills
            .get(&found.package.digest)
            .map_err(|error| self.record_failure(&error))?;
        let folder = &found.skills.skills[found.skill_index].folder;
        let content = unpacked.iter().find(|(name, _)| name == folder).map(|(_, content)| content);
        Ok(content.and_then(|content| content.get(&found.file)).map(<[u8]>::to_vec))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mc_02_skill_paths_resolve_to_at_most_one_package() {
        assert_eq!(
            package_of_path("registry/acme/tools/review").unwrap().to_string(),
            "@acme/tools"
        );
        assert_eq!(package_of_path("registry/acme/tools").unwrap().to_string(), "@acme/tools");
        for path in [
            "repo/acme/tools/x",
            "registry/acme",
            "registry",
            "registry/../tools/x",
            "registry/A/b/c",
            "",
        ] {
            assert!(package_of_path(path).is_none(), "{path}");
        }
    }
}
