//! `skillpack.lock`: what a manifest resolved to.
//!
//! The file is TOML with one block for each source, skill, package and context pack, sorted, so
//! that changes of different items usually merge. It contains nothing of the machine that wrote it,
//! and the same content always has the same text. Members that this version does not know are kept.

mod names;
mod plain_skills;

use std::collections::BTreeMap;
use std::ops::Range;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sp_tree::Digest;
use toml_edit::{Document, Item, Key, Table};

use super::conflict::has_conflict_markers;
use super::rules::{LC_06, LC_07};
use super::source::{ManifestSource, SourceVersion};
use crate::git_repo::SHORTHAND_HOSTS;
use crate::package::PackageName;
use crate::package::lock::{LockedContext, LockedPackage};
use crate::report::Report;
use crate::toml_json::{item_to_json, table_to_json, to_toml_value};
use crate::workspace::LockedSkill;

pub use names::{LockedNames, scan_names};

const LOCK_VERSION: i64 = 1;
const HEADER: &str = "# Written by `sp`. Do not edit; commit it with `skillpack.yaml`.\n";

/// What a manifest resolved to.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ProjectLock {
    /// By source.
    pub sources: BTreeMap<SourceKey, LockedSource>,
    /// By the name of their folder.
    pub skills: BTreeMap<String, LockedProjectSkill>,
    pub packages: BTreeMap<PackageName, LockedPackage>,
    /// The merged knowledge of the packages, if it is stored.
    pub merged: Option<LockedContext>,
    /// Context packs by location, as in the manifest.
    pub contexts: BTreeMap<String, LockedContextPack>,
    /// The skills of a SkillBag workspace, by name.
    pub workspace: BTreeMap<String, LockedSkill>,
    /// Members written by a newer version.
    extra: Map<String, Value>,
}

/// A source with its ref: `github.com/acme/skills#v1`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SourceKey(String);

impl SourceKey {
    pub fn new(source: &ManifestSource, version: Option<&SourceVersion>) -> Self {
        let name = match source {
            ManifestSource::Git(_) => {
                let identity = source.identity();
                let url = identity.strip_prefix("git ").unwrap_or(&identity);
                let is_shorthand =
                    |path: &&str| SHORTHAND_HOSTS.iter().any(|host| path.starts_with(host));
                // One repository has one key, however it is written.
                url.strip_prefix("https://").filter(is_shorthand).unwrap_or(url).to_owned()
            }
            ManifestSource::Dir(path) | ManifestSource::Zip(path) => {
                let path = path.trim_end_matches('/');
                if path.is_empty() { "/".into() } else { path.to_owned() }
            }
            other => other.to_string(),
        };
        Self(match version {
            Some(version) => format!("{name}#{version}"),
            None => name,
        })
    }

    /// A key as a lockfile has it.
    fn from_lock(text: &str) -> Self {
        Self(text.to_owned())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for SourceKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// What a source resolved to.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LockedSource {
    /// The full commit of a git repository.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub commit: Option<String>,
    /// The ref in the URL of a web page, which does not show where the ref ends.
    #[serde(rename = "ref", skip_serializing_if = "Option::is_none", default)]
    pub git_ref: Option<String>,
    /// The digest of an archive, or of an index of skills.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub digest: Option<Digest>,
    /// The version of a package.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub version: Option<String>,
    /// The registry of a package.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub registry: Option<String>,
    /// The commits of the imports of a pack.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub imports: Vec<LockedImport>,
    /// The patterns of the manifest that are not IDs, and that were applied to this version.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub patterns: Vec<String>,
    /// Members written by a newer version.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// An import of a pack.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockedImport {
    /// The repository as in the pack, without credentials.
    pub repo: String,
    #[serde(rename = "ref", skip_serializing_if = "Option::is_none", default)]
    pub git_ref: Option<String>,
    /// The full commit.
    pub commit: String,
}

/// An installed skill.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LockedProjectSkill {
    pub source: SourceKey,
    /// The path in the source.
    pub id: String,
    /// The digest of its tree.
    pub tree: Digest,
    /// The packs that select it.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub packs: Vec<String>,
    /// The skills that depend on it, if nothing else selects it.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub required_by: Vec<String>,
    /// What the skill can do, such as `host api.example.com`. A lockfile of an earlier version has
    /// none.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub capabilities: Vec<String>,
    /// The IDs of findings that do not block the installation.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub accepted: Vec<String>,
    /// Members written by a newer version.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// An installed context pack.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LockedContextPack {
    pub id: String,
    /// The digest of its manifest.
    pub manifest: Digest,
    /// Its files that are installed, if the agents read them.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub documents: Vec<String>,
    /// The IDs of findings that do not block the installation.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub accepted: Vec<String>,
    /// Members written by a newer version.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// A kind of block, and the member that identifies a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BlockKind {
    pub name: &'static str,
    pub key: &'static str,
}

const SOURCE: BlockKind = BlockKind { name: "source", key: "source" };
const SKILL: BlockKind = BlockKind { name: "skill", key: "name" };
const PACKAGE: BlockKind = BlockKind { name: "package", key: "name" };
const CONTEXT: BlockKind = BlockKind { name: "context", key: "location" };
const WORKSPACE: BlockKind = BlockKind { name: "workspace", key: "name" };
pub(super) const BLOCK_KINDS: [BlockKind; 5] = [SOURCE, SKILL, PACKAGE, CONTEXT, WORKSPACE];

/// Reads a lockfile. It is `Some` exactly if the report has no error.
pub fn read(file: &str, text: &str) -> (Option<ProjectLock>, Report) {
    let mut report = Report::new(file, text);
    if let Some(marker) = has_conflict_markers(text) {
        report
            .error(&LC_07, marker, "the file contains git conflict markers")
            .help("run `sp sync` to merge both sides, or resolve the conflict by hand");
        return (None, report);
    }
    if let Some(lock) = read_plain(file, text) {
        return (Some(lock), report);
    }
    read_toml(text, report)
}

/// Reads a lockfile whose blocks of skills have the form in which `sp` writes them. None if it has
/// anything else, valid or not.
fn read_plain(file: &str, text: &str) -> Option<ProjectLock> {
    let split = plain_skills::split(text)?;
    let (lock, _) = read_toml(&split.rest, Report::new(file, split.rest.as_str()));
    let mut lock = lock?;
    for (name, skill) in split.skills {
        if lock.skills.insert(name, skill).is_some() {
            return None;
        }
    }
    Some(lock)
}

fn read_toml(text: &str, mut report: Report) -> (Option<ProjectLock>, Report) {
    let document = match Document::parse(text) {
        Ok(document) => document,
        Err(error) => {
            let span = error.span().unwrap_or(0..0);
            let message = error.message().lines().next().unwrap_or_default().to_owned();
            add_error(&mut report, span, message);
            return (None, report);
        }
    };
    let lock = LockReader { report: &mut report }.read(document.as_table());
    report.sort();
    (lock.filter(|_| report.is_usable()), report)
}

fn add_error(report: &mut Report, span: Range<usize>, message: impl Into<String>) {
    report.error(&LC_06, span, message).help(
        "restore the file from version control, or delete it and run `sp sync` to resolve \
         everything again",
    );
}

struct LockReader<'r> {
    report: &'r mut Report,
}

impl LockReader<'_> {
    fn read(mut self, table: &Table) -> Option<ProjectLock> {
        self.check_version(table)?;
        let mut lock = ProjectLock {
            sources: self.blocks(table, SOURCE, |key, _| Ok(SourceKey(key))),
            skills: self.blocks(table, SKILL, |key, _| {
                sp_tree::Name::new(&key).map(|name| name.to_string()).map_err(|why| why.to_string())
            }),
            packages: self.blocks(table, PACKAGE, |key, _| {
                PackageName::new(&key).map_err(|why| why.to_string())
            }),
            contexts: self.blocks(table, CONTEXT, |key, _| Ok(key)),
            workspace: self.blocks(table, WORKSPACE, |key, _| Ok(key)),
            ..ProjectLock::default()
        };
        if let Some(item) = table.get("merged") {
            lock.merged = self.value(item_to_json(item), &item.span().unwrap_or(0..0), "merged");
        }
        let is_known = |key: &str| {
            matches!(key, "version" | "merged") || BLOCK_KINDS.iter().any(|kind| kind.name == key)
        };
        let unknown = table.iter().filter(|(key, _)| !is_known(key));
        lock.extra = unknown.map(|(key, item)| (key.to_owned(), item_to_json(item))).collect();
        Some(lock)
    }

    fn check_version(&mut self, table: &Table) -> Option<()> {
        let Some(item) = table.get("version") else {
            add_error(self.report, 0..0, "`version` is missing");
            return None;
        };
        let span = item.span().unwrap_or(0..0);
        match item.as_integer() {
            Some(LOCK_VERSION) => Some(()),
            Some(newer) if newer > LOCK_VERSION => {
                let message = format!(
                    "the lockfile has version {newer}, but this `sp` supports version {LOCK_VERSION}"
                );
                self.report.error(&LC_06, span, message).help("upgrade `sp`");
                None
            }
            _ => {
                add_error(self.report, span, format!("`version` must be {LOCK_VERSION}"));
                None
            }
        }
    }

    /// Reads all blocks of a kind.
    fn blocks<K: Ord, T: DeserializeOwned>(
        &mut self,
        table: &Table,
        kind: BlockKind,
        parse_key: impl Fn(String, &Table) -> Result<K, String>,
    ) -> BTreeMap<K, T> {
        let mut blocks = BTreeMap::new();
        let item = table.get(kind.name);
        let tables = item.and_then(Item::as_array_of_tables);
        if let (Some(item), None) = (item, tables) {
            let message = format!("`{0}` must be a list of blocks `[[{0}]]`", kind.name);
            add_error(self.report, item.span().unwrap_or(0..0), message);
        }
        for table in tables.into_iter().flatten() {
            let span = table.span().unwrap_or(0..0);
            let mut members = table_to_json(table);
            let Some(Value::String(key)) = members.shift_remove(kind.key) else {
                let message = format!("`{}` of a `{}` is missing", kind.key, kind.name);
                add_error(self.report, span, message);
                continue;
            };
            let what = format!("{} `{key}`", kind.name);
            let Some(value) = self.value(members.into(), &span, &what) else { continue };
            match parse_key(key, table) {
                Ok(key) => {
                    if blocks.insert(key, value).is_some() {
                        add_error(self.report, span, format!("duplicate {what}"));
                    }
                }
                Err(why) => add_error(self.report, span, format!("invalid {what}: {why}")),
            }
        }
        blocks
    }

    fn value<T: DeserializeOwned>(
        &mut self,
        value: Value,
        span: &Range<usize>,
        what: &str,
    ) -> Option<T> {
        match serde_json::from_value(value) {
            Ok(value) => Some(value),
            Err(why) => {
                add_error(self.report, span.clone(), format!("invalid {what}: {why}"));
                None
            }
        }
    }
}

impl ProjectLock {
    /// Whether nothing is locked.
    pub fn is_empty(&self) -> bool {
        *self == Self { extra: self.extra.clone(), ..Self::default() }
    }

    /// The text of the lockfile. The same lock has the same text on every machine.
    pub fn to_text(&self) -> String {
        let mut text = format!("{HEADER}version = {LOCK_VERSION}\n");
        for (key, value) in &self.extra {
            push_member(&mut text, key, value);
        }
        if let Some(merged) = &self.merged {
            text.push_str("\n[merged]\n");
            push_members(&mut text, merged);
        }
        push_blocks(&mut text, SOURCE, &self.sources);
        for (name, skill) in &self.skills {
            if plain_skills::write_block(&mut text, name, skill).is_none() {
                push_block(&mut text, SKILL, name, skill);
            }
        }
        push_blocks(&mut text, PACKAGE, &self.packages);
        push_blocks(&mut text, CONTEXT, &self.contexts);
        push_blocks(&mut text, WORKSPACE, &self.workspace);
        text
    }
}

fn push_blocks<K: ToString, T: Serialize>(
    text: &mut String,
    kind: BlockKind,
    blocks: &BTreeMap<K, T>,
) {
    blocks.iter().for_each(|(key, block)| push_block(text, kind, &key.to_string(), block));
}

fn push_block(text: &mut String, kind: BlockKind, key: &str, block: &impl Serialize) {
    text.push_str(&format!("\n[[{}]]\n", kind.name));
    push_member(text, kind.key, &Value::String(key.to_owned()));
    push_members(text, block);
}

fn push_members(text: &mut String, value: &impl Serialize) {
    if let Ok(Value::Object(members)) = serde_json::to_value(value) {
        members.iter().for_each(|(key, value)| push_member(text, key, value));
    }
}

fn push_member(text: &mut String, key: &str, value: &Value) {
    if value.is_null() {
        return;
    }
    let key = Key::new(key);
    text.push_str(&format!("{} = {}\n", key.display_repr(), to_toml_value(value)));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn skill(source: &str, id: &str) -> LockedProjectSkill {
        LockedProjectSkill {
            source: SourceKey(source.into()),
            id: id.into(),
            tree: Digest::of(id.as_bytes()),
            packs: Vec::new(),
            required_by: Vec::new(),
            capabilities: Vec::new(),
            accepted: Vec::new(),
            extra: Map::new(),
        }
    }

    #[test]
    fn au_05_capabilities_and_accepted_findings_of_skills_are_kept() {
        let plain = LockedProjectSkill {
            capabilities: vec!["host a.example.com".into(), "tool Bash(a, b)".into()],
            accepted: vec!["AU-27-0123456789".into()],
            ..skill("github.com/acme/skills", "a")
        };
        let quoted =
            LockedProjectSkill { capabilities: vec!["read \"x\", \"y".into()], ..plain.clone() };
        let skills = [("a".into(), plain), ("b".into(), quoted)].into();
        let lock = ProjectLock { skills, ..ProjectLock::default() };
        let (read, report) = read("x", &lock.to_text());
        assert_eq!(read, Some(lock), "{:?}", report.findings);
    }

    fn lock_of(count: usize) -> ProjectLock {
        let mut lock = ProjectLock::default();
        let source = LockedSource { commit: Some("a".repeat(40)), ..LockedSource::default() };
        lock.sources.insert(SourceKey("github.com/acme/skills#v1".into()), source);
        for number in 0..count {
            let id = format!("skills/s{number:02}");
            lock.skills.insert(format!("s{number:02}"), skill("github.com/acme/skills#v1", &id));
        }
        lock
    }

    #[test]
    fn names_are_scanned_as_they_are_read() {
        let mut lock = lock_of(3);
        lock.sources.insert(SourceKey("../shared".into()), LockedSource::default());
        let pack = LockedContextPack {
            id: "pk_1".into(),
            manifest: Digest::of(b""),
            documents: vec!["AGENTS.md".into()],
            accepted: Vec::new(),
            extra: Map::new(),
        };
        lock.contexts.insert("./shop".into(), pack);
        assert_eq!(read("x", &lock.to_text()).0.as_ref(), Some(&lock));
        let names = scan_names(&lock.to_text());
        assert!(names.skills.iter().eq(lock.skills.keys()), "{names:?}");
        assert!(names.sources.iter().eq(lock.sources.keys().map(SourceKey::as_str)), "{names:?}");
        assert!(names.contexts.iter().eq(lock.contexts.keys()), "{names:?}");
        for damaged in ["", "[[skill]]\nname = ", "[[skill]]\nname = \"a\\\"b\"", "name = \"x\""] {
            assert_eq!(scan_names(damaged), LockedNames::default(), "{damaged}");
        }
    }

    #[test]
    fn lc_06_lock_round_trips_with_unknown_members() {
        let lock = lock_of(2);
        let text = lock.to_text();
        assert_eq!(read("skillpack.lock", &text).0.unwrap(), lock);
        let newer = text
            .replacen("version = 1\n", "version = 1\nmore = {a = [1, 2.5]}\n", 1)
            .replacen("id = \"skills/s00\"\n", "id = \"skills/s00\"\nstars = 7\n", 1);
        let read_newer = read("skillpack.lock", &newer).0.unwrap();
        let rewritten = read_newer.to_text();
        assert!(rewritten.contains("stars = 7") && rewritten.contains("[1, 2.5]"), "{rewritten}");
        assert_eq!(read("skillpack.lock", &rewritten).0.unwrap(), read_newer);
    }

    /// Blocks of skills in the usual form are read without a TOML parser, with the same result.
    #[test]
    fn lc_06_plain_blocks_are_read_and_written_like_any_toml() {
        let mut lock = lock_of(3);
        let odd = ["a b", "a\"b", "a\\b", "a'b", "\u{e9}\u{7f}", "#", "]", ", ", "", "[[skill]]"];
        for (number, id) in odd.into_iter().enumerate() {
            let mut skill = skill(id, id);
            skill.required_by = vec!["s00".to_owned(), id.to_owned()];
            skill.packs = vec![id.to_owned()];
            lock.skills.insert(format!("t{number}"), skill);
        }
        let plain = lock.to_text();
        let mut toml = String::new();
        for (name, skill) in &lock.skills {
            toml.clear();
            push_block(&mut toml, SKILL, name, skill);
            assert!(plain.contains(&toml), "{toml}");
        }
        for text in [
            plain.clone(),
            lock_of(2).to_text(),
            plain.replace("id = \"#\"", "id = '#' # why"),
            plain.replacen("[[skill]]\n", "[[skill]]\nextra = 1\n", 1),
            plain.replacen("version = 1\n", "version = 1\nnote = \"\"\"\n[[skill]]\n\"\"\"\n", 1),
            plain.replacen("version = 1\n", "version = 1\nlist = [\n1\n]\n", 1),
            plain.replacen("id = ", "id= ", 3),
            plain.replace('\n', "\r\n"),
            format!("{plain}[skill.more]\nx = 1\n"),
            format!("{plain}\n[[skill]]\nname = \"s00\"\nsource = \"x\"\nid = \"x\"\n"),
            plain.replace("name = \"s01\"", "name = \"s00\""),
            plain.replace("name = \"s01\"", "name = \"../x\""),
            plain.replacen("version = 1\n", "version = 1\nlist = [\n", 1) + "]\n",
            plain.replacen("version = 1\n", "version = 1\n[skill]\n", 1),
        ] {
            let whole = read_toml(&text, Report::new("skillpack.lock", text.as_str()));
            let (lock, report) = read("skillpack.lock", &text);
            assert_eq!(lock, whole.0, "{text}");
            assert_eq!(report.findings, whole.1.findings, "{text}");
        }
    }

    #[test]
    fn lc_07_twenty_skills_fit_in_150_lines() {
        let lines = lock_of(20).to_text().lines().count();
        assert!(lines < 150, "{lines}");
    }

    #[test]
    fn lc_07_invalid_locks_are_reported_with_their_line() {
        let text = lock_of(2).to_text();
        for (invalid, line) in [
            (text.replace("version = 1", "version = 2"), 2),
            (text.replace("version = 1\n", ""), 1),
            (text.replace("id = \"skills/s01\"\n", ""), 14),
            (text.replace("name = \"s01\"", "name = \"../x\""), 14),
            (text.replace("name = \"s01\"", "name = \"s00\""), 14),
            (text.replace("sha256:", "md5:"), 8),
            (text[..text.len() - 20].to_owned(), 18),
            (text.replace("[[source]]", "[source]"), 4),
            (text.replace("[[source]]", "<<<<<<< HEAD"), 4),
        ] {
            let (lock, report) = read("skillpack.lock", &invalid);
            assert!(lock.is_none(), "{invalid}");
            let place = report.format_location(&report.findings[0]);
            assert!(
                place.starts_with(&format!("skillpack.lock:{line}:")),
                "{place}: {}\n{invalid}",
                report.findings[0].message
            );
        }
    }

    #[test]
    fn lc_06_one_source_has_one_key() {
        for (written, key) in [
            ("acme/skills", "github.com/acme/skills"),
            ("github.com/acme/skills", "github.com/acme/skills"),
            ("https://github.com/acme/skills.git", "github.com/acme/skills"),
            ("https://git.example.com/x.git", "https://git.example.com/x"),
            ("gitlab.com/a/b", "gitlab.com/a/b"),
            ("./x/", "./x"),
            ("@acme/review", "@acme/review"),
            ("docs.example.com", "https://docs.example.com"),
        ] {
            let source = ManifestSource::new(written).unwrap();
            assert_eq!(SourceKey::new(&source, None).as_str(), key, "{written}");
        }
        let source = ManifestSource::new("acme/skills").unwrap();
        let version = SourceVersion::new(&source, "v1").unwrap();
        let key = SourceKey::new(&source, Some(&version));
        assert_eq!(key.as_str(), "github.com/acme/skills#v1");
    }
}
