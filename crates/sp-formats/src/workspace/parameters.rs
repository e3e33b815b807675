//! The `Parameters` section of a skill, and the resolution of parameter values.

use std::ops::Range;

use serde_json::Value as Json;
use sp_tree::Limits;

use crate::checks::SB_07;
use crate::markdown::read_yaml_blocks;
use crate::printable::printable;
use crate::report::{LineIndex, Report};
use crate::yaml::{YamlNode, YamlValue};

/// The parameters that a skill declares.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SkillParameters {
    /// Required and optional parameters in file order.
    pub all: Vec<SkillParameter>,
}

/// A parameter of a skill.
#[derive(Debug, Clone, PartialEq)]
pub struct SkillParameter {
    pub name: String,
    pub required: bool,
    pub description: Option<String>,
    /// The value if no level sets another.
    pub default: Option<Json>,
    pub span: Range<usize>,
    pub line: usize,
}

/// Reads the parameters that a `SKILL.md` declares, from the start of its body.
pub fn read_parameters(
    text: &str,
    body: usize,
    limits: &Limits,
    report: &mut Report,
) -> SkillParameters {
    let mut parameters = SkillParameters::default();
    let lines = report.line_index();
    for block in read_yaml_blocks(text, body, "Parameters", (&SB_07, limits), report) {
        let YamlValue::Map(pairs) = &block.value else {
            report
                .error(
                    &SB_07,
                    block.span.clone(),
                    format!("the block must be a mapping, not {}", block.kind()),
                )
                .help("write `required:` and `optional:`, each with a list");
            continue;
        };
        for (key, value) in pairs {
            match key.text() {
                Some("required") => {
                    read_parameter_list(value, true, &lines, &mut parameters, report);
                }
                Some("optional") => {
                    read_parameter_list(value, false, &lines, &mut parameters, report);
                }
                other => {
                    let word = printable(other.unwrap_or_default()).into_owned();
                    report
                        .error(&SB_07, key.span.clone(), format!("unknown key `{word}`"))
                        .help("the keys are: required, optional");
                }
            }
        }
    }
    parameters
}

fn read_parameter_list(
    node: &YamlNode,
    required: bool,
    lines: &LineIndex,
    parameters: &mut SkillParameters,
    report: &mut Report,
) {
    let items = match &node.value {
        YamlValue::Seq(items) => items.as_slice(),
        _ if node.is_null() => &[],
        _ => {
            report
                .error(&SB_07, node.span.clone(), format!("it must be a list, not {}", node.kind()))
                .help("write `- name: …` for each parameter");
            &[]
        }
    };
    for item in items {
        let Some(parameter) = read_parameter(item, required, lines, report) else { continue };
        if parameters.all.iter().any(|other| other.name == parameter.name) {
            let message =
                format!("the parameter `{}` is declared a second time", printable(&parameter.name));
            report.error(&SB_07, parameter.span.clone(), message).help("give each its own name");
            continue;
        }
        parameters.all.push(parameter);
    }
}

fn read_parameter(
    node: &YamlNode,
    required: bool,
    lines: &LineIndex,
    report: &mut Report,
) -> Option<SkillParameter> {
    if let Some(name) = node.text() {
        let span = node.span.clone();
        let line = lines.line_number(span.start);
        return Some(SkillParameter {
            name: name.into(),
            required,
            description: None,
            default: None,
            span,
            line,
        });
    }
    let YamlValue::Map(pairs) = &node.value else {
        report
            .error(
                &SB_07,
                node.span.clone(),
                format!("a parameter must be a name or a mapping, not {}", node.kind()),
            )
            .help("write `- name: …`");
        return None;
    };
    let get =
        |key: &str| pairs.iter().find(|(name, _)| name.text() == Some(key)).map(|(_, value)| value);
    let Some(name) = get("name").and_then(YamlNode::text) else {
        report
            .error(&SB_07, node.span.start..node.span.start, "`name` is missing")
            .help("write `- name: …`");
        return None;
    };
    let default = get("default");
    if let (true, Some(default)) = (required, default) {
        report
            .error(
                &SB_07,
                default.span.clone(),
                format!("the required parameter `{}` has a default", printable(name)),
            )
            .help("remove the default, or move the parameter to `optional`");
    }
    Some(SkillParameter {
        name: name.into(),
        required,
        description: get("description").and_then(YamlNode::text).map(Into::into),
        default: default.filter(|_| !required).map(YamlNode::to_json),
        line: lines.line_number(node.span.start),
        span: node.span.clone(),
    })
}

/// The precedence of a value, highest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ParameterLevel {
    /// The user's request, `--set`.
    Conversation,
    UserContext,
    Context,
    Entrypoint,
    /// The skill's default.
    Skill,
}

impl ParameterLevel {
    /// Every level, highest precedence first.
    pub const ALL: [Self; 5] =
        [Self::Conversation, Self::UserContext, Self::Context, Self::Entrypoint, Self::Skill];
}

/// Where a value or prohibition is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingLocation {
    pub level: ParameterLevel,
    /// The file; `--set` for the conversation.
    pub file: String,
    /// `None` outside of a file.
    pub line: Option<usize>,
}

/// What one level says about the parameters of one skill.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ParameterLayer {
    /// Values by parameter in file order.
    pub settings: Vec<(String, Json, SettingFileLine)>,
    /// Parameters that lower levels must not set, or not to this value.
    pub prohibitions: Vec<(String, Option<Json>, SettingFileLine)>,
}

/// A file and line: the location without its level.
pub type SettingFileLine = (String, Option<usize>);

/// A value rejected by a prohibition.
#[derive(Debug, Clone, PartialEq)]
pub struct BlockedValue {
    pub value: Json,
    pub location: SettingLocation,
    /// Where it is prohibited.
    pub blocked_by: SettingLocation,
}

/// The value of a parameter, and how it was determined.
#[derive(Debug, Clone, PartialEq)]
pub struct ResolvedParameter {
    pub parameter: SkillParameter,
    /// The effective value and its location.
    pub value: Option<(Json, SettingLocation)>,
    /// Overridden values, highest precedence first.
    pub overridden: Vec<(Json, SettingLocation)>,
    /// Values rejected by a prohibition.
    pub blocked: Vec<BlockedValue>,
}

impl ResolvedParameter {
    /// Whether the parameter is required and has no value.
    pub fn is_missing(&self) -> bool {
        self.parameter.required && self.value.is_none()
    }
}

/// Determines the value of each parameter. `layers` has one entry for each of
/// [`ParameterLevel::ALL`] except the last.
pub fn resolve_parameters(
    parameters: &SkillParameters,
    file: &str,
    layers: &[ParameterLayer; 4],
) -> Vec<ResolvedParameter> {
    parameters.all.iter().map(|parameter| resolve_parameter(parameter, file, layers)).collect()
}

fn resolve_parameter(
    parameter: &SkillParameter,
    file: &str,
    layers: &[ParameterLayer; 4],
) -> ResolvedParameter {
    let mut values: Vec<(Json, SettingLocation)> = Vec::new();
    let mut blocked = Vec::new();
    let mut prohibitions: Vec<(&Option<Json>, SettingLocation)> = Vec::new();
    for (level, layer) in ParameterLevel::ALL.into_iter().zip(layers) {
        let locate = |(file, line): &SettingFileLine| SettingLocation {
            level,
            file: file.clone(),
            line: *line,
        };
        // Within a level the last definition wins.
        for (_, value, at) in
            layer.settings.iter().rev().filter(|(name, ..)| *name == parameter.name)
        {
            admit_value(value, locate(at), &prohibitions, &mut values, &mut blocked);
        }
        let here = layer.prohibitions.iter().filter(|(name, ..)| *name == parameter.name);
        prohibitions.extend(here.map(|(_, value, at)| (value, locate(at))));
    }
    if let Some(default) = &parameter.default {
        let location = SettingLocation {
            level: ParameterLevel::Skill,
            file: file.into(),
            line: Some(parameter.line),
        };
        admit_value(default, location, &prohibitions, &mut values, &mut blocked);
    }
    let mut values = values.into_iter();
    ResolvedParameter {
        parameter: parameter.clone(),
        value: values.next(),
        overridden: values.collect(),
        blocked,
    }
}

fn admit_value(
    value: &Json,
    location: SettingLocation,
    prohibitions: &[(&Option<Json>, SettingLocation)],
    values: &mut Vec<(Json, SettingLocation)>,
    blocked: &mut Vec<BlockedValue>,
) {
    // Quotes do not make a different value.
    let text = |value: &Json| value.as_str().map_or_else(|| value.to_string(), Into::into);
    let prohibits = |(only, _): &&(&Option<Json>, SettingLocation)| {
        only.as_ref().is_none_or(|only| text(only) == text(value))
    };
    match prohibitions.iter().find(prohibits) {
        Some((_, by)) => {
            blocked.push(BlockedValue { value: value.clone(), location, blocked_by: by.clone() });
        }
        None => values.push((value.clone(), location)),
    }
}
