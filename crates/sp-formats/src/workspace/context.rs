//! Context files: `CONTEXT.md`, `USER_CONTEXT.md` and optional parts of `SKILLBAG.md`.
//!
//! They contain dependencies, parameter values, prohibitions, tags, and the precedence of skills,
//! each below its own heading in a fenced YAML block:
//!
//! ```yaml
//! # Dependencies
//! dependencies: [{name: a, version: v1, source: ./a}]
//! # Parameters
//! parameters: {paper: a4}                                  # for every skill that has it
//! skills: {convert-to-pdf: {paper: letter}}                # for one skill
//! prohibit: [upload, {paper: a5}]                          # a parameter, or one of its values
//! # Tags
//! tags: {take-notes: {add: ["#run/last"], remove: ["#run/always"]}}
//! # Conflict resolution
//! conflict-resolution: [take-notes, convert-to-pdf]        # highest precedence first
//! ```

use serde_json::Value as Json;
use sp_tree::Limits;

use super::dependencies::{DependencyDeclarer, SkillDependency, read_dependencies};
use super::parameters::{LayerProhibition, LayerSetting, ParameterLayer, SettingFileLine};
use super::tags::TagChange;
use crate::markdown::{YamlBlockRules, read_yaml_blocks};
use crate::printable::printable;
use crate::report::{LineIndex, Report};
use crate::rules::CheckRule;
use crate::workspace::rules::{SB_07, SB_16, SB_23};
use crate::yaml::{YamlNode, YamlValue};

/// A parameter value in a context file.
#[derive(Debug, Clone, PartialEq)]
pub struct ParameterSetting {
    /// `None` for every skill that has the parameter.
    pub skill: Option<String>,
    pub name: String,
    pub value: Json,
    pub line: usize,
}

/// A parameter or value that lower levels must not set.
#[derive(Debug, Clone, PartialEq)]
pub struct ParameterProhibition {
    pub name: String,
    /// `None` for any value.
    pub value: Option<Json>,
    pub line: usize,
}

/// A parsed context file.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct WorkspaceContext {
    /// The file as the user would name it.
    pub file: String,
    pub dependencies: Vec<SkillDependency>,
    /// In file order.
    pub settings: Vec<ParameterSetting>,
    pub prohibitions: Vec<ParameterProhibition>,
    pub tags: Vec<TagChange>,
    /// The precedence of skills, highest first.
    pub precedence: Vec<String>,
}

impl WorkspaceContext {
    /// Returns the values and prohibitions for the parameters of a skill.
    pub fn parameter_layer(&self, skill: &str) -> ParameterLayer {
        let source = |line: usize| SettingFileLine { file: self.file.clone(), line: Some(line) };
        let applies = |setting: &&ParameterSetting| {
            setting.skill.as_deref().is_none_or(|other| other == skill)
        };
        let settings = self.settings.iter().filter(applies).map(|setting| LayerSetting {
            name: setting.name.clone(),
            value: setting.value.clone(),
            source: source(setting.line),
        });
        let prohibitions = self.prohibitions.iter().map(|prohibition| LayerProhibition {
            name: prohibition.name.clone(),
            value: prohibition.value.clone(),
            source: source(prohibition.line),
        });
        ParameterLayer { settings: settings.collect(), prohibitions: prohibitions.collect() }
    }
}

pub fn read_context(file: &str, text: &str, limits: &Limits) -> (WorkspaceContext, Report) {
    let mut report = Report::new(file, text);
    let mut context = WorkspaceContext { file: file.into(), ..WorkspaceContext::default() };
    let lines = report.line_index();
    let rules = |check| YamlBlockRules { check, limits };
    context.dependencies =
        read_dependencies(text, 0, DependencyDeclarer::Workspace, limits, &mut report);
    for block in read_yaml_blocks(text, 0, "Parameters", rules(&SB_07), &mut report) {
        read_parameter_values(&block, &lines, &mut context, &mut report);
    }
    for block in read_yaml_blocks(text, 0, "Tags", rules(&SB_23), &mut report) {
        read_tags(&block, &mut context, &mut report);
    }
    for title in ["Conflict resolution", "conflict-resolution"] {
        for block in read_yaml_blocks(text, 0, title, rules(&SB_16), &mut report) {
            for (key, value) in known_members(&block, &SB_16, &["conflict-resolution"], &mut report)
            {
                context.precedence.extend(text_list(value, key, &SB_16, &mut report));
            }
        }
    }
    report.sort();
    (context, report)
}

/// Returns the known members of a mapping and reports the others.
fn known_members<'a>(
    node: &'a YamlNode,
    check: &'static CheckRule,
    known: &[&str],
    report: &mut Report,
) -> Vec<(&'a str, &'a YamlNode)> {
    let YamlValue::Map(pairs) = &node.value else {
        if !node.is_null() {
            report
                .error(check, node.span.clone(), format!("expected a mapping, not {}", node.kind()))
                .help(format!("write `{}: …`", known[0]));
        }
        return Vec::new();
    };
    let mut members = Vec::new();
    for (key, value) in pairs {
        match key.text() {
            Some(word) if known.contains(&word) => members.push((word, value)),
            other => {
                let word = printable(other.unwrap_or_default()).into_owned();
                report
                    .error(check, key.span.clone(), format!("unknown key `{word}`"))
                    .help(format!("valid keys: {}", known.join(", ")));
            }
        }
    }
    members
}

fn read_parameter_values(
    block: &YamlNode,
    lines: &LineIndex,
    context: &mut WorkspaceContext,
    report: &mut Report,
) {
    for (key, value) in known_members(block, &SB_07, &["parameters", "skills", "prohibit"], report)
    {
        match key {
            "parameters" => read_settings(None, value, lines, context, report),
            "skills" => {
                for (skill, value) in mapping_pairs(value, &SB_07, report) {
                    read_settings(
                        Some(skill.text().unwrap_or_default()),
                        value,
                        lines,
                        context,
                        report,
                    );
                }
            }
            _ => read_prohibitions(value, lines, context, report),
        }
    }
}

fn mapping_pairs<'a>(
    node: &'a YamlNode,
    check: &'static CheckRule,
    report: &mut Report,
) -> &'a [(YamlNode, YamlNode)] {
    match &node.value {
        YamlValue::Map(pairs) => pairs,
        _ if node.is_null() => &[],
        _ => {
            report
                .error(check, node.span.clone(), format!("expected a mapping, not {}", node.kind()))
                .help("write one `<name>: <value>` on each line");
            &[]
        }
    }
}

fn read_settings(
    skill: Option<&str>,
    node: &YamlNode,
    lines: &LineIndex,
    context: &mut WorkspaceContext,
    report: &mut Report,
) {
    for (name, value) in mapping_pairs(node, &SB_07, report) {
        context.settings.push(ParameterSetting {
            skill: skill.map(Into::into),
            name: name.text().unwrap_or_default().into(),
            value: value.to_json(),
            line: lines.line_number(name.span.start),
        });
    }
}

fn read_prohibitions(
    node: &YamlNode,
    lines: &LineIndex,
    context: &mut WorkspaceContext,
    report: &mut Report,
) {
    let YamlValue::Seq(items) = &node.value else {
        let message = format!("`prohibit` must be a list, not {}", node.kind());
        report
            .error(&SB_07, node.span.clone(), message)
            .help("write `- <parameter>`, or `- <parameter>: <value>`");
        return;
    };
    for item in items {
        let line = lines.line_number(item.span.start);
        let prohibition =
            |name: &str, value| ParameterProhibition { name: name.into(), value, line };
        match (&item.value, item.text()) {
            (_, Some(name)) => context.prohibitions.push(prohibition(name, None)),
            (YamlValue::Map(pairs), _) => {
                context.prohibitions.extend(pairs.iter().map(|(name, value)| {
                    prohibition(name.text().unwrap_or_default(), Some(value.to_json()))
                }));
            }
            _ => {
                let message = "expected a parameter, or a parameter with a value";
                report
                    .error(&SB_07, item.span.clone(), message)
                    .help("write `- <parameter>`, or `- <parameter>: <value>`");
            }
        }
    }
}

fn read_tags(block: &YamlNode, context: &mut WorkspaceContext, report: &mut Report) {
    for (_, skills) in known_members(block, &SB_23, &["tags"], report) {
        for (skill, change) in mapping_pairs(skills, &SB_23, report) {
            let mut tags = TagChange {
                skill: skill.text().unwrap_or_default().into(),
                ..TagChange::default()
            };
            for (key, value) in known_members(change, &SB_23, &["add", "remove"], report) {
                let listed = text_list(value, key, &SB_23, report);
                if key == "add" { tags.add = listed } else { tags.remove = listed }
            }
            context.tags.push(tags);
        }
    }
}

fn text_list(
    node: &YamlNode,
    key: &str,
    check: &'static CheckRule,
    report: &mut Report,
) -> Vec<String> {
    match &node.value {
        YamlValue::Seq(items) => items.iter().filter_map(YamlNode::text).map(Into::into).collect(),
        _ => {
            report
                .error(
                    check,
                    node.span.clone(),
                    format!("`{key}` must be a list, not {}", node.kind()),
                )
                .help(
                    "write each item on its own line, after `- `; quote items that start with `#`",
                );
            Vec::new()
        }
    }
}
