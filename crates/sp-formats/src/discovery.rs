//! Skill discovery under `/.well-known/`: the current index format and the legacy one.
//!
//! A name in an index becomes a directory name wherever the skill is installed, so it is always a
//! valid skill name and refers to one skill. A name that several packages claim is given to none of
//! them: otherwise a later publisher could take over a name.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use sp_tree::{Digest, Limits, LoadedTree, RelPath, zip_tree};

use crate::registry::RegistryPackageName;
use crate::skill::{self, SKILL_FILE, SkillName};

/// The value of `$schema`.
const SCHEMA_URL: &str = "https://schemas.agentskills.io/discovery/0.2.0/schema.json";
const MAX_DESCRIPTION_LEN: usize = 1024;
const MAX_NAME_LEN: usize = 64;

/// `/.well-known/agent-skills/index.json`, version 0.2.0.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiscoveryIndex {
    /// The URL of the format version.
    #[serde(rename = "$schema")]
    pub schema: String,
    /// Sorted by name.
    pub skills: Vec<DiscoveredSkill>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiscoveredSkill {
    pub name: String,
    #[serde(rename = "type")]
    pub sort: SkillArtifact,
    pub description: String,
    /// The URL of the artifact, relative to the index.
    pub url: String,
    /// The digest of the artifact, `sha256:…`.
    pub digest: String,
}

/// What is downloaded for a skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum SkillArtifact {
    /// The `SKILL.md`, if the skill has no other files.
    #[serde(rename = "skill-md")]
    SkillMd,
    /// A zip of its files without a top-level directory.
    #[serde(rename = "archive")]
    Archive,
}

/// `/.well-known/skills/index.json`, version 0.1.0.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LegacyDiscoveryIndex {
    /// Sorted by name.
    pub skills: Vec<LegacyDiscoveredSkill>,
}

/// A skill in the legacy index.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LegacyDiscoveredSkill {
    pub name: String,
    pub description: String,
    /// Its files, relative to the skill's directory.
    pub files: Vec<String>,
}

/// An index as another server wrote it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillIndex {
    pub version: SkillIndexVersion,
    /// In the order of the index.
    pub skills: Vec<IndexedSkill>,
}

/// The version of an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SkillIndexVersion {
    Current,
    Legacy,
}

/// A skill of an index as another server wrote it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexedSkill {
    pub name: SkillName,
    pub description: String,
    pub artifact: IndexedArtifact,
}

/// Where the files of a skill are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IndexedArtifact {
    /// One file that has a digest.
    File {
        sort: SkillArtifact,
        /// Absolute, or relative to the index.
        url: String,
        digest: Digest,
    },
    /// Files below the directory of the skill, which is beside the index.
    Files(Vec<RelPath>),
}

impl SkillIndex {
    /// Parses an index of either version. The error is a fragment.
    pub fn parse(bytes: &[u8]) -> Result<Self, String> {
        let index: serde_json::Value = serde_json::from_slice(bytes).map_err(|e| e.to_string())?;
        let entries = index.get("skills").and_then(serde_json::Value::as_array);
        let entries = entries.ok_or("it has no list `skills`")?;
        let is_legacy = index.get("$schema").is_none()
            && entries.iter().any(|entry| entry.get("files").is_some());
        let skills: Vec<IndexedSkill> = if is_legacy {
            entries.iter().map(legacy_skill).collect::<Result<_, _>>()?
        } else {
            entries.iter().map(indexed_skill).collect::<Result<_, _>>()?
        };
        let mut names = std::collections::BTreeSet::new();
        if let Some(twice) = skills.iter().find(|skill| !names.insert(&skill.name)) {
            return Err(format!("it lists `{}` twice", twice.name));
        }
        let version =
            if is_legacy { SkillIndexVersion::Legacy } else { SkillIndexVersion::Current };
        Ok(Self { version, skills })
    }
}

fn indexed_skill(entry: &serde_json::Value) -> Result<IndexedSkill, String> {
    let entry = DiscoveredSkill::deserialize(entry).map_err(|e| invalid_entry(entry, &e))?;
    let digest = entry.digest.parse();
    let digest = digest.map_err(|_| format!("the digest of `{}` is invalid", entry.name))?;
    Ok(IndexedSkill {
        name: indexed_name(&entry.name)?,
        description: entry.description,
        artifact: IndexedArtifact::File { sort: entry.sort, url: entry.url, digest },
    })
}

fn legacy_skill(entry: &serde_json::Value) -> Result<IndexedSkill, String> {
    let entry = LegacyDiscoveredSkill::deserialize(entry).map_err(|e| invalid_entry(entry, &e))?;
    let path = |path: &String| {
        RelPath::new(path).map_err(|why| format!("a path of `{}` is invalid: {why}", entry.name))
    };
    let files: Vec<RelPath> = entry.files.iter().map(path).collect::<Result<_, _>>()?;
    if !files.iter().any(|file| file.as_str() == SKILL_FILE) {
        return Err(format!("`{}` has no `{SKILL_FILE}`", entry.name));
    }
    Ok(IndexedSkill {
        name: indexed_name(&entry.name)?,
        description: entry.description,
        artifact: IndexedArtifact::Files(files),
    })
}

fn indexed_name(name: &str) -> Result<SkillName, String> {
    SkillName::new(name).map_err(|why| format!("the name `{name}` {why}"))
}

fn invalid_entry(entry: &serde_json::Value, why: &serde_json::Error) -> String {
    match entry.get("name").and_then(serde_json::Value::as_str) {
        Some(name) => format!("the entry of `{name}` is invalid: {why}"),
        None => format!("an entry is invalid: {why}"),
    }
}

/// A skill in a package that can be listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiscoverableSkill {
    /// The path in the package.
    pub path: String,
    /// The preferred name.
    pub name: SkillName,
    pub description: String,
    pub artifact: SkillArtifact,
    /// The digest of the artifact.
    pub digest: Digest,
    pub files: Vec<String>,
}

/// Returns the skills of a package that can be listed. A description is required.
pub fn discoverable_skills(
    skills: &[(String, LoadedTree)],
    limits: &Limits,
) -> Vec<DiscoverableSkill> {
    skills.iter().filter_map(|(path, content)| discoverable_skill(path, content, limits)).collect()
}

fn discoverable_skill(
    path: &str,
    content: &LoadedTree,
    limits: &Limits,
) -> Option<DiscoverableSkill> {
    let folder = path.rsplit('/').next().unwrap_or(path);
    let (skill, _) = skill::read(SKILL_FILE, folder, content.get(SKILL_FILE)?, limits);
    let skill = skill?;
    let own = skill.name.as_deref().and_then(|name| SkillName::new(name).ok());
    let name = own.or_else(|| slug(&[skill.name.as_deref()?])).or_else(|| slug(&[folder]))?;
    let description = skill.description.filter(|text| !text.trim().is_empty())?;
    let (sort, bytes) = build_artifact(content)?;
    Some(DiscoverableSkill {
        name,
        description: truncate_description(&description),
        artifact: sort,
        digest: Digest::of(&bytes),
        files: content.files().map(|(path, ..)| path.to_string()).collect(),
        path: path.into(),
    })
}

/// Builds the artifact of a skill. The same skill gives the same bytes.
pub fn build_artifact(content: &LoadedTree) -> Option<(SkillArtifact, Vec<u8>)> {
    let skill = content.get(SKILL_FILE)?;
    match content.files().count() {
        1 => Some((SkillArtifact::SkillMd, skill.to_vec())),
        _ => Some((SkillArtifact::Archive, zip_tree(content).ok()?)),
    }
}

/// Shortens a description to the limit of the format, which counts UTF-16 code units.
fn truncate_description(text: &str) -> String {
    let mut units = 0;
    let fits = |c: &char| {
        units += c.len_utf16();
        units < MAX_DESCRIPTION_LEN
    };
    if text.encode_utf16().count() > MAX_DESCRIPTION_LEN {
        text.chars().take_while(fits).chain(['…']).collect()
    } else {
        text.into()
    }
}

/// Builds a skill name from texts; `None` if no valid character is left.
fn slug(parts: &[&str]) -> Option<SkillName> {
    let lower = parts.join("-").to_lowercase();
    let words = lower
        .split(|c: char| !c.is_ascii_lowercase() && !c.is_ascii_digit())
        .filter(|word| !word.is_empty());
    let joined = words.collect::<Vec<_>>().join("-");
    let short = joined.get(..MAX_NAME_LEN).unwrap_or(&joined);
    SkillName::new(short.trim_end_matches('-')).ok()
}

/// The candidates for a name: the name itself, with the namespace, with the package, and with a
/// hash.
const NAME_LEVELS: usize = 4;

fn candidate_name(
    place: &RegistryPackageName,
    skill: &DiscoverableSkill,
    level: usize,
) -> Option<SkillName> {
    let name = skill.name.as_str();
    match level {
        0 => Some(skill.name.clone()),
        1 => slug(&[place.namespace(), name]),
        2 => slug(&[place.namespace(), place.name(), name]),
        _ => {
            // Includes the part that is cut off a long name.
            let hash = Digest::of(format!("{place}\n{}", skill.path).as_bytes()).hex();
            let short = name.get(..40).unwrap_or(name);
            slug(&[short, &hash[..16]])
        }
    }
}

/// Assigns a unique name to each skill. A name that several skills claim is given to none of them.
pub fn assign_names(
    skills: &[(&RegistryPackageName, &DiscoverableSkill)],
) -> Vec<Option<SkillName>> {
    let mut levels = vec![0; skills.len()];
    loop {
        let name = |index: usize| {
            (levels[index] < NAME_LEVELS)
                .then(|| candidate_name(skills[index].0, skills[index].1, levels[index]))?
        };
        let mut claims: BTreeMap<SkillName, Vec<usize>> = BTreeMap::new();
        for index in 0..skills.len() {
            if let Some(name) = name(index) {
                claims.entry(name).or_default().push(index);
            }
        }
        let contested: Vec<usize> =
            claims.into_values().filter(|claimed| claimed.len() > 1).flatten().collect();
        if contested.is_empty() {
            return (0..skills.len()).map(name).collect();
        }
        contested.into_iter().for_each(|index| levels[index] += 1);
    }
}

/// Builds both indexes.
pub fn build_indexes(
    skills: &[(SkillName, &DiscoverableSkill)],
) -> (DiscoveryIndex, LegacyDiscoveryIndex) {
    let mut sorted: Vec<&(SkillName, &DiscoverableSkill)> = skills.iter().collect();
    sorted.sort_by(|a, b| a.0.cmp(&b.0));
    let new = |(name, skill): &&(SkillName, &DiscoverableSkill)| DiscoveredSkill {
        name: name.to_string(),
        sort: skill.artifact,
        description: skill.description.clone(),
        url: match skill.artifact {
            SkillArtifact::SkillMd => format!("{name}/{SKILL_FILE}"),
            SkillArtifact::Archive => format!("{name}.zip"),
        },
        digest: format!("sha256:{}", skill.digest.hex()),
    };
    let old = |(name, skill): &&(SkillName, &DiscoverableSkill)| LegacyDiscoveredSkill {
        name: name.to_string(),
        description: skill.description.clone(),
        files: skill.files.clone(),
    };
    // Legacy clients insert names into URLs without escaping, so skills with other file names are
    // left out.
    let arrives = |(_, skill): &&&(SkillName, &DiscoverableSkill)| {
        skill.files.iter().all(|path| is_url_safe(path))
    };
    (
        DiscoveryIndex { schema: SCHEMA_URL.into(), skills: sorted.iter().map(new).collect() },
        LegacyDiscoveryIndex { skills: sorted.iter().filter(arrives).map(old).collect() },
    )
}

fn is_url_safe(path: &str) -> bool {
    path.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte))
        && !path.contains("..")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn skill(path: &str, name: &str) -> DiscoverableSkill {
        DiscoverableSkill {
            path: path.into(),
            name: SkillName::new(name).unwrap(),
            description: "x".into(),
            artifact: SkillArtifact::SkillMd,
            digest: Digest::of(b""),
            files: vec![SKILL_FILE.into()],
        }
    }

    #[test]
    fn lc_03_indexes_of_both_versions_are_read() {
        let name = SkillName::new("review").unwrap();
        let offered = DiscoverableSkill {
            files: vec![SKILL_FILE.into(), "scripts/run.sh".into()],
            artifact: SkillArtifact::Archive,
            ..skill("x/review", "review")
        };
        let (current, legacy) = build_indexes(&[(name.clone(), &offered)]);
        let current = SkillIndex::parse(&serde_json::to_vec(&current).unwrap()).unwrap();
        assert_eq!(current.version, SkillIndexVersion::Current);
        let artifact = &current.skills[0].artifact;
        let IndexedArtifact::File { url, digest, .. } = artifact else { panic!("{artifact:?}") };
        assert_eq!((url.as_str(), *digest), ("review.zip", offered.digest));
        let legacy = SkillIndex::parse(&serde_json::to_vec(&legacy).unwrap()).unwrap();
        assert_eq!((legacy.version, &legacy.skills[0].name), (SkillIndexVersion::Legacy, &name));
        let artifact = &legacy.skills[0].artifact;
        let IndexedArtifact::Files(files) = artifact else { panic!("{artifact:?}") };
        assert_eq!(files.len(), 2);
    }

    #[test]
    fn lc_03_invalid_indexes_are_rejected() {
        let entry = |name: &str, digest: &str| {
            format!(
                "{{\"name\": \"{name}\", \"type\": \"skill-md\", \"description\": \"x\", \
                 \"url\": \"a\", \"digest\": \"{digest}\"}}"
            )
        };
        let digest = Digest::of(b"").to_string();
        let index = |entries: &str| format!("{{\"$schema\": \"x\", \"skills\": [{entries}]}}");
        assert!(SkillIndex::parse(index(&entry("a", &digest)).as_bytes()).is_ok());
        for invalid in [
            "[]".to_owned(),
            "{}".into(),
            "{\"skills\": 1}".into(),
            index(&entry("../x", &digest)),
            index(&entry("a", "sha256:00")),
            index(&[entry("a", &digest), entry("a", &digest)].join(",")),
            index("{\"name\": \"a\"}"),
            "{\"skills\": [{\"name\": \"a\", \"description\": \"\", \"files\": [\"x\"]}]}".into(),
            "{\"skills\": [{\"name\": \"a\", \"description\": \"\", \
              \"files\": [\"SKILL.md\", \"../x\"]}]}"
                .into(),
        ] {
            assert!(SkillIndex::parse(invalid.as_bytes()).is_err(), "{invalid}");
        }
    }

    fn assigned_names(skills: &[(&str, &str, &str)]) -> Vec<String> {
        let packages: Vec<RegistryPackageName> = skills
            .iter()
            .map(|(package, ..)| package.split_once('/').unwrap())
            .map(|(namespace, name)| RegistryPackageName::new(namespace, name).unwrap())
            .collect();
        let discoverable: Vec<DiscoverableSkill> =
            skills.iter().map(|(_, path, name)| skill(path, name)).collect();
        let candidates: Vec<(&RegistryPackageName, &DiscoverableSkill)> =
            packages.iter().zip(&discoverable).collect();
        assign_names(&candidates)
            .into_iter()
            .map(|name| name.map(|name| name.to_string()).unwrap_or_default())
            .collect()
    }

    #[test]
    fn mc_09_name_claimed_by_several_packages_is_given_to_none() {
        assert_eq!(assigned_names(&[("acme/tools", "review", "review")]), ["review"]);
        assert_eq!(
            assigned_names(&[
                ("acme/tools", "review", "review"),
                ("evil/x", "review", "review"),
                ("acme/tools", "plan", "plan")
            ]),
            ["acme-review", "evil-review", "plan"]
        );
        assert_eq!(
            assigned_names(&[("acme/a", "review", "review"), ("acme/b", "review", "review")]),
            ["acme-a-review", "acme-b-review"]
        );
        // A skill name that equals another package's fallback name is assigned to neither.
        let names = assigned_names(&[
            ("acme/a", "r", "review"),
            ("evil/x", "r", "review"),
            ("evil/y", "r", "acme-review"),
        ]);
        assert_eq!(names, ["acme-a-review", "evil-review", "evil-acme-review"]);
        let duplicates =
            assigned_names(&[("acme/a", "x/review", "review"), ("acme/a", "y/review", "review")]);
        assert!(
            duplicates[0] != duplicates[1]
                && duplicates.iter().all(|name| name.starts_with("review-")),
            "{duplicates:?}"
        );
    }

    #[test]
    fn mc_09_name_is_always_a_valid_skill_name() {
        for (text, expected) in [
            ("../../etc", Some("etc")),
            ("A B_c", Some("a-b-c")),
            ("é", None),
            ("--", None),
            ("", None),
            (
                &"ab-".repeat(40),
                Some("ab-ab-ab-ab-ab-ab-ab-ab-ab-ab-ab-ab-ab-ab-ab-ab-ab-ab-ab-ab-ab-a"),
            ),
        ] {
            assert_eq!(slug(&[text]).map(|name| name.to_string()).as_deref(), expected, "{text}");
        }
        let long = "x".repeat(64);
        for name in assigned_names(&[
            ("acme/a", "a", &long),
            ("acme/b", "b", &long),
            ("other/c", "c", &long),
        ]) {
            assert!(SkillName::new(&name).is_ok(), "{name}");
        }
    }

    #[test]
    fn mc_09_description_is_truncated_to_the_limit() {
        assert_eq!(truncate_description(&"x".repeat(1024)).len(), 1024);
        assert_eq!(truncate_description(&"👩".repeat(600)).encode_utf16().count(), 1023);
        assert_eq!(truncate_description(&"x".repeat(1025)).encode_utf16().count(), 1024);
    }
}
