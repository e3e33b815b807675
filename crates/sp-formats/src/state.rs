//! `state.json`, version 1: which packs are installed where.
//!
//! The fields of the Skillpacks specification are written as it defines them. Fields of `sp` are
//! next to them (`generation`, and in a record `sink_id`, `agents`, `flatten` and `skills`), and
//! unknown members survive a rewrite byte for byte.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Error as _, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sp_tree::Digest;
use thiserror::Error;

use crate::json::JsonMembers;
use crate::package::PackageName;

const VERSION: u64 = 1;

/// What the member `pack_file` of a package of skills starts with. The package's name follows.
const PACKAGE_PREFIX: &str = "ctxpkg:";

/// What the member `pack_file` of a project starts with. The path of its manifest follows.
const PROJECT_PREFIX: &str = "project:";

/// Why a text is not a usable state.
#[derive(Debug, Error)]
pub enum InstallStateError {
    #[error("it does not have the format of a state file")]
    Parse(#[from] serde_json::Error),
    /// Written by a newer version of `sp`.
    #[error("it has version {0}, but this `sp` supports versions up to {VERSION}")]
    NewerVersion(u64),
    /// Two records of one pack in one sink.
    #[error("it contains two records of `{pack}` in `{sink_path}`")]
    DuplicateInstall { pack: String, sink_path: String },
}

/// Everything that is installed.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct InstallState {
    /// Incremented by every change.
    pub generation: u64,
    pub installs: Vec<InstallRecord>,
    extra: JsonMembers,
}

/// A pack in a sink.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct InstallRecord {
    pub sink: String,
    /// The resolved path of the sink.
    pub sink_path: String,
    /// Device and inode of the sink; `None` in a record written by another tool.
    pub sink_id: Option<String>,
    /// The agents that the pack is installed for, of which `sink` is one. All of them read the
    /// sink. Empty in a record without the member, written by another tool.
    pub agents: Vec<String>,
    pub pack: String,
    /// The member `pack_file`.
    pub source: InstallSource,
    pub prefix: String,
    pub sep: String,
    /// Whether only the last segment of IDs was used for folder names.
    pub flatten: bool,
    pub imports: Vec<ImportRecord>,
    /// The absolute paths of the installed folders.
    pub installed_paths: Vec<String>,
    /// The content of each folder; empty in a record written by another tool.
    pub skills: Vec<SkillRecord>,
    /// RFC 3339.
    pub installed_at: String,
    pub extra: UnknownRecordMembers,
}

/// Where the skills of a record came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InstallSource {
    /// The path of a pack file. Empty in a record without one, written by another tool.
    PackFile(String),
    /// A package of skills.
    Package(PackageName),
    /// The absolute path of the manifest of a project.
    Project(String),
}

/// Members that are not known to `sp`, kept as raw text.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct UnknownRecordMembers(JsonMembers);

/// An import of a pack.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ImportRecord {
    /// The repository as in the pack, without credentials.
    pub repo: String,
    /// The requested ref.
    pub git_ref: Option<String>,
    /// The resolved commit.
    pub commit: String,
    pub extra: UnknownRecordMembers,
}

/// An installed folder.
#[derive(Debug, Clone, PartialEq)]
pub struct SkillRecord {
    /// The name of the folder in the sink.
    pub folder: String,
    pub id: String,
    /// An index into the imports; `None` for a local skill.
    pub import: Option<usize>,
    /// The digest of its tree when it was installed.
    pub digest: Digest,
    /// The git tree, if it alone determines the content.
    pub git_tree: Option<String>,
    pub extra: UnknownRecordMembers,
}

/// The names of the packs in a state.
#[derive(Deserialize)]
struct InstalledPackNames {
    #[serde(default)]
    installs: Vec<InstalledPackName>,
}

#[derive(Deserialize)]
struct InstalledPackName {
    pack: String,
}

/// Returns the names of the packs in a state. Skips everything else, so it is much faster than
/// [`InstallState::parse`].
pub fn installed_pack_names(text: &[u8]) -> serde_json::Result<Vec<String>> {
    let names: InstalledPackNames = serde_json::from_slice(text)?;
    Ok(names.installs.into_iter().map(|install| install.pack).collect())
}

impl InstallState {
    pub fn parse(text: &[u8]) -> Result<Self, InstallStateError> {
        let mut members: JsonMembers = serde_json::from_slice(text)?;
        let version = members.take_required("version")?;
        if version > VERSION {
            return Err(InstallStateError::NewerVersion(version));
        }
        let state = Self {
            generation: members.take("generation")?.unwrap_or(0),
            installs: members.take("installs")?.unwrap_or_default(),
            extra: members,
        };
        for (at, install) in state.installs.iter().enumerate() {
            if state.installs[..at].iter().any(|other| other.key() == install.key()) {
                let (sink_path, pack) = (install.sink_path.clone(), install.pack.clone());
                return Err(InstallStateError::DuplicateInstall { pack, sink_path });
            }
        }
        Ok(state)
    }

    /// The generation after this one. `None` at the maximum: recovery depends on every change
    /// having a greater generation.
    pub fn next_generation(&self) -> Option<u64> {
        self.generation.checked_add(1)
    }

    /// Returns the state of a later generation with these records.
    pub fn with_installs(&self, generation: u64, installs: Vec<InstallRecord>) -> Self {
        Self { generation, installs, extra: self.extra.clone() }
    }

    pub fn to_json(&self) -> serde_json::Result<Vec<u8>> {
        let mut text = serde_json::to_vec_pretty(self)?;
        text.push(b'\n');
        Ok(text)
    }
}

impl InstallSource {
    /// Returns the name of the package, if it is one.
    pub fn package(&self) -> Option<&PackageName> {
        match self {
            Self::PackFile(_) | Self::Project(_) => None,
            Self::Package(name) => Some(name),
        }
    }
}

impl Default for InstallSource {
    fn default() -> Self {
        Self::PackFile(String::new())
    }
}

impl From<String> for InstallSource {
    fn from(text: String) -> Self {
        if let Some(manifest) = text.strip_prefix(PROJECT_PREFIX).filter(|it| it.starts_with('/')) {
            return Self::Project(manifest.into());
        }
        let package = text.strip_prefix(PACKAGE_PREFIX).map(PackageName::new);
        match package {
            Some(Ok(name)) => Self::Package(name),
            Some(Err(_)) | None => Self::PackFile(text),
        }
    }
}

impl fmt::Display for InstallSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PackFile(path) => f.write_str(path),
            Self::Package(name) => write!(f, "{PACKAGE_PREFIX}{name}"),
            Self::Project(manifest) => write!(f, "{PROJECT_PREFIX}{manifest}"),
        }
    }
}

impl InstallRecord {
    fn key(&self) -> (&str, &str) {
        (&self.sink_path, &self.pack)
    }
}

impl Serialize for InstallState {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("version", &VERSION)?;
        map.serialize_entry("generation", &self.generation)?;
        map.serialize_entry("installs", &self.installs)?;
        self.extra.write(&mut map)?;
        map.end()
    }
}

impl Serialize for InstallRecord {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("sink", &self.sink)?;
        map.serialize_entry("sink_path", &self.sink_path)?;
        if let Some(id) = &self.sink_id {
            map.serialize_entry("sink_id", id)?;
        }
        if !self.agents.is_empty() {
            map.serialize_entry("agents", &self.agents)?;
        }
        map.serialize_entry("pack", &self.pack)?;
        map.serialize_entry("pack_file", &format_args!("{}", self.source))?;
        map.serialize_entry("prefix", &self.prefix)?;
        map.serialize_entry("sep", &self.sep)?;
        map.serialize_entry("flatten", &self.flatten)?;
        map.serialize_entry("imports", &self.imports)?;
        map.serialize_entry("installed_paths", &self.installed_paths)?;
        map.serialize_entry("skills", &self.skills)?;
        map.serialize_entry("installed_at", &self.installed_at)?;
        self.extra.0.write(&mut map)?;
        map.end()
    }
}

impl<'de> Deserialize<'de> for InstallRecord {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut members = JsonMembers::deserialize(deserializer)?;
        let mut read = || {
            let pack: String = members.take_required("pack")?;
            Ok(Self {
                sink: members.take_required("sink")?,
                sink_path: members.take_required("sink_path")?,
                sink_id: members.take("sink_id")?,
                agents: members.take("agents")?.unwrap_or_default(),
                source: members.take::<String>("pack_file")?.unwrap_or_default().into(),
                prefix: members.take("prefix")?.unwrap_or_else(|| pack.clone()),
                sep: members.take("sep")?.unwrap_or_else(|| "__".into()),
                flatten: members.take("flatten")?.unwrap_or(false),
                imports: members.take("imports")?.unwrap_or_default(),
                installed_paths: members.take_required("installed_paths")?,
                skills: members.take("skills")?.unwrap_or_default(),
                installed_at: members.take("installed_at")?.unwrap_or_default(),
                extra: UnknownRecordMembers::default(),
                pack,
            })
        };
        let install: serde_json::Result<Self> = read();
        let install = install.map_err(D::Error::custom)?;
        Ok(Self { extra: UnknownRecordMembers(members), ..install })
    }
}

impl Serialize for ImportRecord {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("repo", &self.repo)?;
        if let Some(git_ref) = &self.git_ref {
            map.serialize_entry("ref", git_ref)?;
        }
        map.serialize_entry("commit", &self.commit)?;
        self.extra.0.write(&mut map)?;
        map.end()
    }
}

impl<'de> Deserialize<'de> for ImportRecord {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut members = JsonMembers::deserialize(deserializer)?;
        let mut read = || -> serde_json::Result<Self> {
            Ok(Self {
                repo: members.take_required("repo")?,
                git_ref: members.take("ref")?,
                commit: members.take("commit")?.unwrap_or_default(),
                extra: UnknownRecordMembers::default(),
            })
        };
        let import = read().map_err(D::Error::custom)?;
        Ok(Self { extra: UnknownRecordMembers(members), ..import })
    }
}

impl Serialize for SkillRecord {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("folder", &self.folder)?;
        map.serialize_entry("id", &self.id)?;
        if let Some(import) = self.import {
            map.serialize_entry("import", &import)?;
        }
        map.serialize_entry("digest", &self.digest)?;
        if let Some(git_tree) = &self.git_tree {
            map.serialize_entry("git_tree", git_tree)?;
        }
        self.extra.0.write(&mut map)?;
        map.end()
    }
}

/// There may be thousands of these, so unknown members are not collected through raw text.
impl<'de> Deserialize<'de> for SkillRecord {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(SkillRecordVisitor)
    }
}

struct SkillRecordVisitor;

impl<'de> Visitor<'de> for SkillRecordVisitor {
    type Value = SkillRecord;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<SkillRecord, A::Error> {
        let (mut folder, mut id, mut import, mut digest, mut git_tree) =
            (None, None, None, None, None);
        let mut extra = JsonMembers::default();
        while let Some(key) = map.next_key::<Cow<'de, str>>()? {
            match &*key {
                "folder" => folder = Some(map.next_value()?),
                "id" => id = Some(map.next_value()?),
                "import" => import = map.next_value()?,
                "digest" => digest = Some(map.next_value()?),
                "git_tree" => git_tree = map.next_value()?,
                _ => extra.push(key.into_owned(), map.next_value()?),
            }
        }
        let missing = |name| A::Error::custom(format_args!("`{name}` is missing"));
        Ok(SkillRecord {
            folder: folder.ok_or_else(|| missing("folder"))?,
            id: id.ok_or_else(|| missing("id"))?,
            import,
            digest: digest.ok_or_else(|| missing("digest"))?,
            git_tree,
            extra: UnknownRecordMembers(extra),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example in the specification.
    const SPEC_EXAMPLE: &str = r#"{
      "version": 1,
      "installs": [{
        "sink": "codex", "sink_path": "/Users/me/.codex/skills", "pack": "group-x",
        "pack_file": "/path/to/repo/packs/group-x.yaml", "prefix": "group-x", "sep": "__",
        "imports": [{ "repo": "github.com/acme/shared-skills", "ref": "v1.3.0", "commit": "9f2c1d3" }],
        "installed_paths": ["/Users/me/.codex/skills/group-x__a"],
        "installed_at": "2026-01-21T12:34:56Z"
      }]
    }"#;

    #[test]
    fn names_of_packs_are_read_without_the_rest() {
        assert_eq!(installed_pack_names(SPEC_EXAMPLE.as_bytes()).unwrap(), ["group-x"]);
        assert_eq!(installed_pack_names(br#"{"version": 1}"#).unwrap(), [""; 0]);
        assert!(installed_pack_names(b"{").is_err());
    }

    #[test]
    fn sp_29_example_of_the_specification_round_trips() {
        let state = InstallState::parse(SPEC_EXAMPLE.as_bytes()).unwrap();
        assert_eq!(state.generation, 0);
        assert_eq!(state.installs[0].imports[0].commit, "9f2c1d3");
        assert!(state.installs[0].skills.is_empty());
        let reparsed = InstallState::parse(&state.to_json().unwrap()).unwrap();
        assert_eq!(reparsed.to_json().unwrap(), state.to_json().unwrap());
    }

    #[test]
    fn sp_29_unknown_members_survive_byte_for_byte() {
        let text = SPEC_EXAMPLE
            .replace(
                r#""version": 1,"#,
                r#""version": 1, "theirs": {"n": 1.0, "big": 123456789012345678901, "e": 1E400},"#,
            )
            .replace(r#""sep": "__","#, r#""sep": "__", "note": "\u00e9","#)
            .replace(r#""commit": "9f2c1d3""#, r#""commit": "9f2c1d3", "depth": 1e0"#);
        let written = InstallState::parse(text.as_bytes()).unwrap().to_json().unwrap();
        let written = String::from_utf8(written).unwrap();
        for member in [
            r#"{"n": 1.0, "big": 123456789012345678901, "e": 1E400}"#,
            r#""note": "\u00e9""#,
            r#""depth": 1e0"#,
        ] {
            assert!(written.contains(member), "{member} in {written}");
        }
    }

    #[test]
    fn lc_02_agents_of_a_record_round_trip_and_may_be_missing() {
        let state = InstallState::parse(SPEC_EXAMPLE.as_bytes()).unwrap();
        assert!(state.installs[0].agents.is_empty());
        let written = String::from_utf8(state.to_json().unwrap()).unwrap();
        assert!(!written.contains("\"agents\""), "{written}");
        let member = r#""sink": "codex", "agents": ["codex", "cursor"],"#;
        let text = SPEC_EXAMPLE.replace(r#""sink": "codex","#, member);
        let state = InstallState::parse(text.as_bytes()).unwrap();
        assert_eq!(state.installs[0].agents, ["codex", "cursor"]);
        let reparsed = InstallState::parse(&state.to_json().unwrap()).unwrap();
        assert_eq!(reparsed.installs[0].agents, ["codex", "cursor"]);
    }

    #[test]
    fn sp_29_source_of_a_record_round_trips() {
        for (text, package) in [
            ("", None),
            ("/repo/packs/team.yaml", None),
            ("ctxpkg:notes", Some("notes")),
            ("ctxpkg:@acme/notes", Some("@acme/notes")),
            ("ctxpkg:", None),
            ("ctxpkg:not a name", None),
            ("CTXPKG:notes", None),
            ("project:/work/skillpack.yaml", None),
            ("project:x", None),
        ] {
            let source = InstallSource::from(text.to_owned());
            assert_eq!(source.package().map(PackageName::as_str), package, "{text}");
            assert_eq!(source.to_string(), text);
            let is_project = matches!(source, InstallSource::Project(_));
            assert_eq!(is_project, text.starts_with("project:/"), "{text}");
        }
    }

    #[test]
    fn sp_29_invalid_state_is_rejected() {
        for text in [
            "",
            "{",
            "[]",
            "null",
            "{}",
            r#"{"version": 2}"#,
            r#"{"version": "1"}"#,
            r#"{"version": 1, "version": 1}"#,
            r#"{"version": 1, "installs": [{}]}"#,
            "\u{0}\u{0}",
        ] {
            assert!(InstallState::parse(text.as_bytes()).is_err(), "{text}");
        }
        let duplicate = SPEC_EXAMPLE.replace(
            "}]\n    }",
            r#"}, {"sink": "x", "sink_path": "/Users/me/.codex/skills", "pack": "group-x", "installed_paths": []}] }"#,
        );
        assert!(matches!(
            InstallState::parse(duplicate.as_bytes()),
            Err(InstallStateError::DuplicateInstall { .. })
        ));
    }
}
