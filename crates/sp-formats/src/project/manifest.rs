//! Reading `skillpack.yaml`.
//!
//! Doc comments on fields are descriptions in the published JSON Schema.

use std::fmt;
use std::ops::Range;

use schemars::JsonSchema;
use sp_tree::{Limits, Name};

use super::conflict::has_conflict_markers;
use super::rules::{LC_01, LC_02, LC_03, LC_04, LC_07};
use super::source::{ManifestSource, PackSource, SourceVersion};
use crate::naming::{FolderNameError, FolderNaming};
use crate::pack::{SpannedPattern, read_patterns};
use crate::package::{PackageName, VersionRange};
use crate::printable::{mask_secrets, printable};
use crate::report::Report;
use crate::suggest::nearest;
use crate::yaml::{self, YamlNode, YamlValue};
use crate::yaml_mapping::{YamlMapping, YamlMappingSpec};

const MANIFEST_KEYS: &[&str] = &["agents", "skills", "packs", "packages", "context", "edits"];
const ENTRY_KEYS: &[&str] = &["source", "ref", "include", "exclude", "agents", "prefix", "edits"];

/// The skills, packs, packages and context packs that a project uses.
#[derive(Debug, Clone, Default, PartialEq, Eq, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct ProjectManifest {
    /// Agents to install for. `detected` stands for the agents that are found on the machine.
    #[schemars(with = "Option<Vec<String>>")]
    pub agents: Vec<String>,
    /// Skills, by source.
    #[schemars(with = "Option<Vec<SkillsEntry>>")]
    pub skills: Vec<SkillsEntry>,
    /// Packs: names or paths of packs of this repository, or
    /// `<git source>//packs/<name>.yaml#<ref>`.
    #[schemars(with = "Option<Vec<String>>")]
    pub packs: Vec<PackEntry>,
    /// Packages, with ranges of versions.
    #[schemars(with = "Option<std::collections::BTreeMap<String, String>>")]
    pub packages: Vec<PackageEntry>,
    /// Context packs: paths, zip files or URLs.
    #[schemars(with = "Option<Vec<String>>")]
    pub context: Vec<ContextEntry>,
    /// What happens to skills that were edited locally, when they are updated.
    pub edits: Option<EditPolicy>,
}

/// Skills from one source.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct SkillsEntry {
    #[schemars(skip)]
    pub span: Range<usize>,
    /// Where the skills come from: `<owner>/<repo>`, a git URL, a path, a zip file, a host with an
    /// index of skills, or a package.
    #[schemars(with = "String")]
    pub source: ManifestSource,
    #[schemars(skip)]
    pub source_span: Range<usize>,
    /// Tag, branch or commit of a repository, or range of versions of a package.
    #[schemars(with = "Option<crate::schema::TextSchema>", rename = "ref")]
    pub version: Option<SourceVersion>,
    /// Patterns that select skills by ID. Default: all skills.
    #[schemars(with = "Option<Vec<SpannedPattern>>")]
    pub include: Vec<SpannedPattern>,
    /// Patterns that remove skills from the selection.
    #[schemars(with = "Option<Vec<SpannedPattern>>")]
    pub exclude: Vec<SpannedPattern>,
    /// Agents to install these skills for. Default: all agents of the manifest.
    #[schemars(with = "Option<Vec<String>>")]
    pub agents: Vec<String>,
    /// Prefix of the names of the installed folders.
    #[schemars(with = "Option<crate::schema::FolderPartSchema>")]
    pub prefix: String,
    /// What happens to these skills if they were edited locally.
    pub edits: Option<EditPolicy>,
}

/// A pack of this repository, or of another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackEntry {
    pub span: Range<usize>,
    /// As written.
    pub text: String,
    pub location: PackSource,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackageEntry {
    pub span: Range<usize>,
    pub name: PackageName,
    pub range: VersionRange,
}

/// A context pack: a path, a zip file or a URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextEntry {
    pub span: Range<usize>,
    pub location: String,
}

/// What happens to an edited skill when a newer version is installed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, JsonSchema)]
#[schemars(rename_all = "lowercase")]
pub enum EditPolicy {
    /// Merge the edits with the newer version. If they conflict, the skill stays as it is.
    #[default]
    Merge,
    /// Keep the edited skill.
    Keep,
    /// Install the newer version; the edited skill is moved to the trash.
    Replace,
    /// Fail.
    Fail,
}

impl EditPolicy {
    const ALL: [(&'static str, Self); 4] = [
        ("merge", Self::Merge),
        ("keep", Self::Keep),
        ("replace", Self::Replace),
        ("fail", Self::Fail),
    ];
}

impl fmt::Display for EditPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = Self::ALL.iter().find(|(_, policy)| policy == self);
        f.write_str(named.map_or("merge", |(name, _)| name))
    }
}

impl ProjectManifest {
    /// Returns the policy for the edits of an entry's skills.
    pub fn edits_of(&self, entry: &SkillsEntry) -> EditPolicy {
        entry.edits.or(self.edits).unwrap_or_default()
    }
}

impl SkillsEntry {
    /// Returns what identifies the entry in its manifest.
    pub fn key(&self) -> EntryKey {
        EntryKey {
            source: self.source.identity(),
            version: self.version.as_ref().map(ToString::to_string),
            prefix: self.prefix.clone(),
        }
    }

    /// Whether the entry selects a skill.
    pub fn selects(&self, id: &str) -> bool {
        let matches = |list: &[SpannedPattern]| list.iter().any(|it| it.pattern.matches(id));
        (self.include.is_empty() || matches(&self.include)) && !matches(&self.exclude)
    }

    /// Returns the folder of a skill with this name.
    pub fn folder_name(&self, name: &str) -> Result<Name, FolderNameError> {
        entry_folder_name(&self.prefix, name)
    }
}

/// Returns the folder of a skill of an entry with this prefix: its name after the prefix.
pub fn entry_folder_name(prefix: &str, name: &str) -> Result<Name, FolderNameError> {
    let naming = FolderNaming { prefix: prefix.into(), sep: String::new(), flatten: true };
    naming.folder_name(name)
}

/// What identifies an entry of `skills`. A manifest has at most one entry with a key.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EntryKey {
    /// See [`ManifestSource::identity`].
    pub source: String,
    pub version: Option<String>,
    pub prefix: String,
}

/// Reads a manifest. It is `Some` exactly if the report has no error.
pub fn read(file: &str, text: &str, limits: &Limits) -> (Option<ProjectManifest>, Report) {
    let mut report = Report::new(file, text);
    if let Some(marker) = has_conflict_markers(text) {
        report
            .error(&LC_07, marker, "the file contains git conflict markers")
            .help("run `sp sync` to merge both sides, or resolve the conflict by hand");
        return (None, report);
    }
    let root = match yaml::parse(text, limits) {
        Ok(root) => root,
        Err(error) => {
            let help = error.help();
            report.error(&LC_01, error.span, error.message).help(help);
            return (None, report);
        }
    };
    if root.is_null() {
        return (Some(ProjectManifest::default()), report);
    }
    let manifest = read_manifest(&root, &mut report);
    report.sort();
    (manifest.filter(|_| report.is_usable()), report)
}

fn read_manifest(root: &YamlNode, report: &mut Report) -> Option<ProjectManifest> {
    let spec = YamlMappingSpec { name: "the manifest", check: &LC_01 };
    let fields = YamlMapping::of(root, spec, MANIFEST_KEYS, report)?;
    let skills: Vec<SkillsEntry> =
        fields.list("skills", report).iter().filter_map(|node| read_entry(node, report)).collect();
    report_duplicate_entries(&skills, report);
    Some(ProjectManifest {
        agents: read_agents(&fields, report),
        skills,
        packs: read_packs(&fields, report),
        packages: read_packages(&fields, report),
        context: read_context(&fields, report),
        edits: read_edits(&fields, report),
    })
}

/// Reads the names of agents. Whether an agent exists is known when it is used.
fn read_agents(fields: &YamlMapping<'_>, report: &mut Report) -> Vec<String> {
    let nodes = match fields.get("agents") {
        Some(YamlNode { value: YamlValue::Seq(items), .. }) => items.as_slice(),
        Some(node) if !node.is_null() => {
            let message = format!("`agents` must be a list, not {}", node.kind());
            let help = match node.text() {
                Some(name) => format!("write `agents: [{}]`", printable(name)),
                None => "write `agents: [claude, codex]`".into(),
            };
            report.error(&LC_02, node.span.clone(), message).help(help);
            &[]
        }
        _ => &[],
    };
    let mut agents: Vec<String> = Vec::new();
    for node in nodes {
        match node.text() {
            Some(name) if !agents.iter().any(|known| known == name) => agents.push(name.into()),
            Some(_) => {}
            None => {
                let message = format!("an agent must be a name, not {}", node.kind());
                report
                    .error(&LC_02, node.span.clone(), message)
                    .help("write `agents: [claude, codex]`");
            }
        }
    }
    agents
}

fn read_entry(node: &YamlNode, report: &mut Report) -> Option<SkillsEntry> {
    let spec = YamlMappingSpec { name: "an entry of `skills`", check: &LC_03 };
    let fields = YamlMapping::of(node, spec, ENTRY_KEYS, report)?;
    let (source, source_span) = read_source(&fields, report)?;
    let version = read_version(&fields, &source, report);
    let include = read_patterns(&fields, "include", report);
    let exclude = read_patterns(&fields, "exclude", report);
    Some(SkillsEntry {
        span: node.span.clone(),
        source,
        source_span,
        version,
        include,
        exclude,
        agents: read_agents(&fields, report),
        prefix: read_prefix(&fields, report),
        edits: read_edits(&fields, report),
    })
}

fn read_source(
    fields: &YamlMapping<'_>,
    report: &mut Report,
) -> Option<(ManifestSource, Range<usize>)> {
    let Some((text, span)) = fields.text("source", report) else {
        if fields.get("source").is_none_or(YamlNode::is_null) {
            fields.report_missing("source", "add `source: <owner>/<repo>`", report);
        }
        return None;
    };
    match ManifestSource::new(&text) {
        Ok(source) => Some((source, span)),
        Err(error) => {
            let shown = mask_secrets(&text);
            let message = format!("invalid source `{}`: {error}", printable(&shown));
            report.error(&LC_03, span, message).help(error.hint());
            None
        }
    }
}

fn read_version(
    fields: &YamlMapping<'_>,
    source: &ManifestSource,
    report: &mut Report,
) -> Option<SourceVersion> {
    let (text, span) = fields.text("ref", report)?;
    match SourceVersion::new(source, &text) {
        Ok(version) => Some(version),
        Err(why) => {
            let help = match source {
                ManifestSource::Package(_) => "use a range of versions, such as `^1.2`",
                ManifestSource::Git(_) => "use a tag, branch or commit",
                _ => "remove `ref`",
            };
            report.error(&LC_03, span, format!("invalid `ref`: {why}")).help(help);
            None
        }
    }
}

fn read_prefix(fields: &YamlMapping<'_>, report: &mut Report) -> String {
    let Some((prefix, span)) = fields.text("prefix", report) else { return String::new() };
    if let Err(why) = entry_folder_name(&prefix, "x") {
        report
            .error(&LC_03, span, format!("invalid `prefix`: {why}"))
            .help("use letters, digits, `-`, `_` and `.`");
    }
    prefix
}

fn read_edits(fields: &YamlMapping<'_>, report: &mut Report) -> Option<EditPolicy> {
    let (text, span) = fields.text("edits", report)?;
    let known = EditPolicy::ALL.iter().find(|(name, _)| *name == text);
    if known.is_none() {
        let names = EditPolicy::ALL.map(|(name, _)| name);
        let help = match nearest(&text, names) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("use one of: {}", names.join(", ")),
        };
        let message = format!("unknown policy `{}`", printable(&text));
        report.error(&LC_01, span, message).help(help);
    }
    known.map(|(_, policy)| *policy)
}

fn read_packs(fields: &YamlMapping<'_>, report: &mut Report) -> Vec<PackEntry> {
    let mut packs: Vec<PackEntry> = Vec::new();
    for node in fields.list("packs", report) {
        let Some(text) = node.text() else {
            let message = format!("a pack must be a name or a path, not {}", node.kind());
            report.error(&LC_04, node.span.clone(), message).help("write `packs: [team]`");
            continue;
        };
        match PackSource::parse(text) {
            Ok(_) if packs.iter().any(|pack| pack.text == text) => {
                report_duplicate(&format!("pack `{}`", printable(text)), &node.span, report);
            }
            Ok(location) => {
                packs.push(PackEntry { span: node.span.clone(), text: text.into(), location });
            }
            Err(why) => {
                let shown = mask_secrets(text);
                let message = format!("invalid pack `{}`: {why}", printable(&shown));
                report
                    .error(&LC_04, node.span.clone(), message)
                    .help("write a name, a path, or `<git source>//packs/<name>.yaml#<ref>`");
            }
        }
    }
    packs
}

fn read_packages(fields: &YamlMapping<'_>, report: &mut Report) -> Vec<PackageEntry> {
    let pairs = match fields.get("packages") {
        Some(YamlNode { value: YamlValue::Map(pairs), .. }) => pairs.as_slice(),
        Some(node) if !node.is_null() => {
            let message = format!("`packages` must be a mapping, not {}", node.kind());
            report
                .error(&LC_04, node.span.clone(), message)
                .help("write `packages:`, followed by indented lines `'@team/name': ^1`");
            &[]
        }
        _ => &[],
    };
    pairs.iter().filter_map(|(name, range)| read_package(name, range, report)).collect()
}

fn read_package(name: &YamlNode, range: &YamlNode, report: &mut Report) -> Option<PackageEntry> {
    let text = name.text().unwrap_or_default();
    let package = PackageName::new(text).map_err(|why| {
        let message = format!("invalid package `{}`: {why}", printable(text));
        report.error(&LC_04, name.span.clone(), message).help("write `'@team/name': ^1`");
    });
    let written = if range.is_null() { "*" } else { range.text().unwrap_or_default() };
    let parsed = VersionRange::new(written);
    if !parsed.is_semver() {
        let message = format!("`{}` is not a version range", printable(written));
        report
            .error(&LC_04, range.span.clone(), message)
            .help("write a SemVer range, such as `^1.2`, or `*` for every version");
        return None;
    }
    Some(PackageEntry { span: name.span.clone(), name: package.ok()?, range: parsed })
}

fn read_context(fields: &YamlMapping<'_>, report: &mut Report) -> Vec<ContextEntry> {
    let mut entries: Vec<ContextEntry> = Vec::new();
    for node in fields.list("context", report) {
        match node.text() {
            Some(text) if entries.iter().any(|entry| entry.location == text) => {
                report_duplicate(
                    &format!("context pack `{}`", printable(text)),
                    &node.span,
                    report,
                );
            }
            Some(text) => {
                entries.push(ContextEntry { span: node.span.clone(), location: text.into() });
            }
            None => {
                let message = format!("a context pack must be a path or URL, not {}", node.kind());
                report
                    .error(&LC_04, node.span.clone(), message)
                    .help("write `context: [./context-pack]`");
            }
        }
    }
    entries
}

fn report_duplicate_entries(entries: &[SkillsEntry], report: &mut Report) {
    let mut seen = std::collections::HashSet::new();
    for entry in entries {
        if !seen.insert(entry.key()) {
            let what = format!("entry for `{}`", entry.source);
            report_duplicate(&what, &entry.source_span, report);
        }
    }
}

fn report_duplicate(what: &str, span: &Range<usize>, report: &mut Report) {
    report
        .error(&LC_01, span.clone(), format!("duplicate {what}"))
        .help("remove it; list several skills of a source in one `include`");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_text(text: &str) -> (Option<ProjectManifest>, Vec<String>) {
        let (manifest, report) = read("skillpack.yaml", text, &Limits::default());
        let findings = report
            .findings
            .iter()
            .map(|finding| format!("{} {}", report.format_location(finding), finding.message));
        (manifest, findings.collect())
    }

    #[test]
    fn lc_01_manifest_with_every_key_is_read() {
        let text = "\
agents: [claude, detected]
skills:
  - source: acme/skills
    ref: v1
    include: [pdf, 'docs/**']
    exclude: [docs/old]
    agents: [codex]
    prefix: acme-
    edits: keep
  - source: '@acme/review'
    ref: ^1.2
packs: [team, 'acme/tools//packs/dev.yaml#v2']
packages: {'@acme/notes': ^1, other: }
context: [./context-pack]
edits: fail
";
        let (manifest, findings) = read_text(text);
        assert_eq!(findings, [""; 0]);
        let manifest = manifest.unwrap();
        assert_eq!(manifest.agents, ["claude", "detected"]);
        let entry = &manifest.skills[0];
        assert_eq!(entry.version.as_ref().unwrap().as_str(), "v1");
        assert!(entry.selects("pdf") && entry.selects("docs/new") && !entry.selects("docs/old"));
        assert_eq!(manifest.edits_of(entry), EditPolicy::Keep);
        assert_eq!(manifest.edits_of(&manifest.skills[1]), EditPolicy::Fail);
        assert_eq!(manifest.packs[0].location, PackSource::Local("team".into()));
        let PackSource::Remote(pack) = &manifest.packs[1].location else {
            panic!("{:?}", manifest.packs[1]);
        };
        assert_eq!(
            (pack.source.to_string().as_str(), pack.file.as_str()),
            ("acme/tools", "packs/dev.yaml")
        );
        assert_eq!(pack.version.as_ref().unwrap().as_str(), "v2");
        assert_eq!(manifest.packages[1].range.as_str(), "*");
        assert_eq!(read_text("").0, Some(ProjectManifest::default()));
    }

    #[test]
    fn lc_01_every_problem_is_reported_with_its_position() {
        let (manifest, findings) = read_text(
            "skils: []\nagents: claude\nskills:\n  - source: pdf\n  - sorce: x\n  - source: a/b\n    \
             ref: 'a b'\n    edits: merg\n    prefix: a/b\n  - source: github.com/a/b\n    ref: x\n  - \
             source: a/b\n    ref: x\npackages: {x: newest, 'a b': '1'}\npacks: [./x//y, [a]]\n",
        );
        assert_eq!(manifest, None);
        let places: Vec<&str> =
            findings.iter().map(|finding| finding.split(' ').next().unwrap()).collect();
        assert_eq!(
            places,
            [
                "skillpack.yaml:1:1",
                "skillpack.yaml:2:9",
                "skillpack.yaml:4:13",
                "skillpack.yaml:5:5",
                "skillpack.yaml:5:5",
                "skillpack.yaml:7:10",
                "skillpack.yaml:8:12",
                "skillpack.yaml:9:13",
                "skillpack.yaml:12:13",
                "skillpack.yaml:14:15",
                "skillpack.yaml:14:23",
                "skillpack.yaml:15:9",
                "skillpack.yaml:15:17",
            ],
            "{findings:#?}"
        );
    }

    #[test]
    fn lc_07_conflict_markers_are_not_read_as_yaml() {
        let (manifest, findings) =
            read_text("skills:\n<<<<<<< HEAD\n  - source: a/b\n=======\n>>>>>>> x\n");
        assert_eq!(manifest, None);
        assert_eq!(findings.len(), 1);
        assert!(findings[0].starts_with("skillpack.yaml:2:1 "), "{findings:?}");
    }
}
