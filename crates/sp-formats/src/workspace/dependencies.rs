//! The `Dependencies` section: other skills that a workspace or skill needs, and their sources.

use std::ops::Range;

use sp_tree::Limits;

use super::source::SourceRef;
use crate::markdown::{YamlBlockRules, read_yaml_blocks};
use crate::printable::printable;
use crate::report::Report;
use crate::rules::CheckRule;
use crate::skill::{SkillMetadata, SkillName};
use crate::suggest::nearest;
use crate::workspace::rules::{SB_10, SB_11};
use crate::yaml::{YamlNode, YamlValue};

const DEPENDENCY_KEYS: &[&str] = &["name", "source", "version", "required"];

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillDependency {
    pub name: SkillName,
    pub source: Option<SourceRef>,
    /// A tag, branch or commit.
    pub version: Option<String>,
    pub required: bool,
    pub span: Range<usize>,
}

/// Where a dependency is declared, which determines the required members.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum DependencyDeclarer {
    /// In a context file: name, version and source are required.
    Workspace,
    /// In a skill: only the name is required.
    Skill,
}

impl DependencyDeclarer {
    fn required_keys(self) -> &'static [&'static str] {
        match self {
            Self::Workspace => &["name", "version", "source"],
            Self::Skill => &["name"],
        }
    }

    fn check(self) -> &'static CheckRule {
        match self {
            Self::Workspace => &SB_10,
            Self::Skill => &SB_11,
        }
    }
}

/// Reads the dependencies that a `SKILL.md` declares: in its frontmatter, as authors do, and in the
/// section `Dependencies`.
pub fn read_skill_dependencies(
    skill: &SkillMetadata,
    text: &str,
    limits: &Limits,
    report: &mut Report,
) -> Vec<SkillDependency> {
    let declarer = DependencyDeclarer::Skill;
    let field = skill.dependencies.as_ref().filter(|field| lists_skills(field, report));
    let rules = YamlBlockRules { check: declarer.check(), limits };
    let blocks = read_yaml_blocks(text, skill.body_start, "Dependencies", rules, report);
    read_blocks(field.into_iter().chain(&blocks), declarer, report)
}

/// Whether a field of the frontmatter lists skills. Other tools have a field of this name too.
fn lists_skills(field: &YamlNode, report: &mut Report) -> bool {
    let is_mapping = |node: &YamlNode| matches!(node.value, YamlValue::Map(_));
    let lists_skills = match &field.value {
        YamlValue::Seq(items) => items.iter().all(is_mapping),
        _ => false,
    };
    if !lists_skills && !field.is_null() {
        report
            .warning(&SB_11, field.span.clone(), "`dependencies` does not list skills")
            .help("to depend on a skill, write `- name: …` below `dependencies:`");
    }
    lists_skills
}

pub(super) fn read_dependencies(
    text: &str,
    start: usize,
    declarer: DependencyDeclarer,
    limits: &Limits,
    report: &mut Report,
) -> Vec<SkillDependency> {
    let rules = YamlBlockRules { check: declarer.check(), limits };
    let blocks = read_yaml_blocks(text, start, "Dependencies", rules, report);
    read_blocks(&blocks, declarer, report)
}

/// Reads the entries of all blocks. Of entries with the same name, the last one counts.
fn read_blocks<'a>(
    blocks: impl IntoIterator<Item = &'a YamlNode>,
    declarer: DependencyDeclarer,
    report: &mut Report,
) -> Vec<SkillDependency> {
    let mut found: Vec<SkillDependency> = Vec::new();
    let mut listed: Vec<&YamlNode> = Vec::new();
    for block in blocks {
        listed.extend(dependency_entries(block, declarer, report));
    }
    for entry in listed {
        let Some(dependency) = read_entry(entry, declarer, report) else { continue };
        if let Some(at) = found.iter().position(|other| other.name == dependency.name) {
            let message =
                format!("duplicate dependency `{}`: the last one is used", dependency.name);
            report
                .warning(declarer.check(), dependency.span.clone(), message)
                .help("remove the other entry");
            found.remove(at);
        }
        found.push(dependency);
    }
    found
}

/// The entries of a block: a list, or a list below `dependencies`.
fn dependency_entries<'a>(
    block: &'a YamlNode,
    declarer: DependencyDeclarer,
    report: &mut Report,
) -> &'a [YamlNode] {
    let listed = match &block.value {
        YamlValue::Map(pairs) => {
            pairs.iter().find(|(key, _)| key.text() == Some("dependencies")).map(|(_, value)| value)
        }
        _ if declarer == DependencyDeclarer::Skill => Some(block),
        _ => None,
    };
    match listed.map(|node| (&node.value, node.is_null())) {
        Some((YamlValue::Seq(items), _)) => items,
        Some((_, true)) => &[],
        _ => {
            report
                .error(declarer.check(), block.span.clone(), "expected a list below `dependencies`")
                .help("write `dependencies:`, and below it `  - name: …` for each skill");
            &[]
        }
    }
}

fn read_entry(
    node: &YamlNode,
    declarer: DependencyDeclarer,
    report: &mut Report,
) -> Option<SkillDependency> {
    let check = declarer.check();
    let YamlValue::Map(pairs) = &node.value else {
        report
            .error(check, node.span.clone(), format!("expected a mapping, not {}", node.kind()))
            .help("write `- name: …`");
        return None;
    };
    report_unknown_keys(pairs, check, report);
    let get =
        |key: &str| pairs.iter().find(|(name, _)| name.text() == Some(key)).map(|(_, value)| value);
    let mut is_complete = true;
    for key in declarer.required_keys() {
        if get(key).is_none_or(|value| value.text().is_none()) {
            is_complete = false;
            report
                .error(check, node.span.start..node.span.start, format!("`{key}` is missing"))
                .help(format!("add `{key}: …`"));
        }
    }
    let name = read_name(get("name")?, check, report);
    let source = match get("source").and_then(|node| Some((node, node.text()?))) {
        Some((node, text)) => {
            let source = read_source(node, text, check, report);
            is_complete &= source.is_some();
            source
        }
        None => None,
    };
    let required = get("required").is_none_or(|node| read_required(node, check, report));
    let version = get("version").and_then(YamlNode::text).map(Into::into);
    Some(SkillDependency { name: name?, source, version, required, span: node.span.clone() })
        .filter(|_| is_complete)
}

fn report_unknown_keys(
    pairs: &[(YamlNode, YamlNode)],
    check: &'static CheckRule,
    report: &mut Report,
) {
    for (key, _) in pairs {
        if key.text().is_some_and(|key| DEPENDENCY_KEYS.contains(&key)) {
            continue;
        }
        let word = key.text().unwrap_or_default();
        let help = match nearest(word, DEPENDENCY_KEYS.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("valid keys: {}", DEPENDENCY_KEYS.join(", ")),
        };
        report
            .error(check, key.span.clone(), format!("unknown key `{}`", printable(word)))
            .help(help);
    }
}

fn read_source(
    node: &YamlNode,
    text: &str,
    check: &'static CheckRule,
    report: &mut Report,
) -> Option<SourceRef> {
    match SourceRef::new(text) {
        Ok(source) => Some(source),
        Err(error) => {
            report
                .error(check, node.span.clone(), format!("invalid source: {error}"))
                .help("write a git URL, the URL of a zip, or the path of a zip or directory");
            None
        }
    }
}

fn read_required(node: &YamlNode, check: &'static CheckRule, report: &mut Report) -> bool {
    node.as_bool().unwrap_or_else(|| {
        report
            .error(check, node.span.clone(), "`required` must be `true` or `false`")
            .help("remove it, or write `required: true` or `required: false`");
        true
    })
}

fn read_name(node: &YamlNode, check: &'static CheckRule, report: &mut Report) -> Option<SkillName> {
    let text = node.text()?;
    match SkillName::new(text) {
        Ok(name) => Some(name),
        Err(why) => {
            let canonical = SkillName::new(&text.replace('_', "-")).ok();
            let help = match canonical {
                Some(name) if text.contains('_') => {
                    format!("write the name with hyphens: `{name}`")
                }
                _ => "use 1 to 64 characters of a-z, 0-9 and single hyphens".into(),
            };
            report
                .error(check, node.span.clone(), format!("the name `{}` {why}", printable(text)))
                .help(help);
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the parts of a message in backticks.
    fn quoted(message: &str) -> String {
        message.split('`').skip(1).step_by(2).collect::<Vec<_>>().join(" ")
    }

    fn read_with_findings(
        text: &str,
        declarer: DependencyDeclarer,
    ) -> (Vec<SkillDependency>, Vec<String>) {
        let mut report = Report::new("f.md", text);
        let dependencies = read_dependencies(text, 0, declarer, &Limits::default(), &mut report);
        let findings = report.findings.iter().map(|finding| {
            let location = report.format_location(finding);
            format!("{location} {} {}", finding.check.id, quoted(&finding.message))
        });
        (dependencies, findings.collect())
    }

    #[test]
    fn sb_10_workspace_dependency_needs_name_version_and_source() {
        let text = "# X\n\n## Dependencies\n\n```yaml\ndependencies:\n  - name: a\n    version: v1\n    source: ./a\n  - name: b\n    version: 2\n```\n";
        let (dependencies, findings) = read_with_findings(text, DependencyDeclarer::Workspace);
        assert_eq!(dependencies.len(), 1);
        assert_eq!(
            (dependencies[0].name.as_str(), dependencies[0].version.as_deref()),
            ("a", Some("v1"))
        );
        assert_eq!(findings, ["f.md:10:5 SB-10 source"]);
    }

    #[test]
    fn sb_11_skill_dependency_needs_a_name() {
        let text = "## Dependencies\n```yaml\n- name: a\n- name: b_c\n- name: d\n  required: false\n  sorce: x\n```\n";
        let (dependencies, findings) = read_with_findings(text, DependencyDeclarer::Skill);
        let names: Vec<_> = dependencies
            .iter()
            .map(|dependency| (dependency.name.as_str(), dependency.required))
            .collect();
        assert_eq!(names, [("a", true), ("d", false)]);
        assert_eq!(findings, ["f.md:4:9 SB-11 b_c _", "f.md:7:3 SB-11 sorce"]);
    }
}
