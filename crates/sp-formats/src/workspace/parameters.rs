//! The `Parameters` section of a skill, and the resolution of parameter values.

use std::ops::Range;

use serde_json::Value as Json;
use sp_tree::Limits;

use crate::markdown::{YamlBlockRules, read_yaml_blocks};
use crate::printable::printable;
use crate::report::{LineIndex, Report};
use crate::workspace::rules::SB_07;
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
    let lines = report.line_index();
    let rules = YamlBlockRules { check: &SB_07, limits };
    let blocks = read_yaml_blocks(text, body, "Parameters", rules, report);
    let mut reader = ParameterReader { lines, parameters: SkillParameters::default(), report };
    blocks.iter().for_each(|block| reader.read_block(block));
    reader.parameters
}

struct ParameterReader<'r> {
    lines: LineIndex,
    parameters: SkillParameters,
    report: &'r mut Report,
}

impl ParameterReader<'_> {
    fn read_block(&mut self, block: &YamlNode) {
        let YamlValue::Map(pairs) = &block.value else {
            let message = format!("expected a mapping, not {}", block.kind());
            self.report
                .error(&SB_07, block.span.clone(), message)
                .help("write `required:` and `optional:`, each with a list");
            return;
        };
        for (key, value) in pairs {
            match key.text() {
                Some("required") => self.read_list(value, ParameterNeed::Required),
                Some("optional") => self.read_list(value, ParameterNeed::Optional),
                other => {
                    let word = printable(other.unwrap_or_default()).into_owned();
                    self.report
                        .error(&SB_07, key.span.clone(), format!("unknown key `{word}`"))
                        .help("valid keys: required, optional");
                }
            }
        }
    }

    fn read_list(&mut self, node: &YamlNode, need: ParameterNeed) {
        let items = match &node.value {
            YamlValue::Seq(items) => items.as_slice(),
            _ if node.is_null() => &[],
            _ => {
                let message = format!("expected a list, not {}", node.kind());
                self.report
                    .error(&SB_07, node.span.clone(), message)
                    .help("write `- name: …` for each parameter");
                &[]
            }
        };
        for item in items {
            let Some(parameter) = self.read_parameter(item, need) else { continue };
            let name = &parameter.name;
            if self.parameters.all.iter().any(|other| other.name == *name) {
                let message = format!("duplicate parameter `{}`", printable(name));
                self.report
                    .error(&SB_07, parameter.span, message)
                    .help("rename or remove one of them");
                continue;
            }
            self.parameters.all.push(parameter);
        }
    }

    fn read_parameter(&mut self, node: &YamlNode, need: ParameterNeed) -> Option<SkillParameter> {
        let required = need == ParameterNeed::Required;
        let (line, span) = (self.lines.line_number(node.span.start), node.span.clone());
        if let Some(name) = node.text() {
            let name = name.into();
            return Some(SkillParameter {
                name,
                required,
                description: None,
                default: None,
                span,
                line,
            });
        }
        let pairs = self.parameter_members(node)?;
        let get = |key: &str| {
            pairs.iter().find(|(name, _)| name.text() == Some(key)).map(|(_, value)| value)
        };
        let Some(name) = get("name").and_then(YamlNode::text) else {
            self.report
                .error(&SB_07, span.start..span.start, "`name` is missing")
                .help("write `- name: …`");
            return None;
        };
        let default = get("default");
        if let (true, Some(default)) = (required, default) {
            self.reject_default(name, default);
        }
        Some(SkillParameter {
            name: name.into(),
            required,
            description: get("description").and_then(YamlNode::text).map(Into::into),
            default: default.filter(|_| !required).map(YamlNode::to_json),
            span,
            line,
        })
    }

    fn parameter_members<'y>(&mut self, node: &'y YamlNode) -> Option<&'y [(YamlNode, YamlNode)]> {
        if let YamlValue::Map(pairs) = &node.value {
            return Some(pairs);
        }
        let message = format!("expected a name or a mapping, not {}", node.kind());
        self.report.error(&SB_07, node.span.clone(), message).help("write `- name: …`");
        None
    }

    fn reject_default(&mut self, name: &str, default: &YamlNode) {
        let message = format!("the required parameter `{}` has a default", printable(name));
        self.report
            .error(&SB_07, default.span.clone(), message)
            .help("remove the default, or move the parameter to `optional`");
    }
}

/// Whether a skill can run without a value of a parameter.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ParameterNeed {
    Required,
    Optional,
}

/// The precedence of a value, highest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ParameterLevel {
    /// A value given with `--set`.
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

/// The values and prohibitions of one level for the parameters of one skill.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ParameterLayer {
    /// In file order.
    pub settings: Vec<LayerSetting>,
    /// Parameters that lower levels must not set, or not to this value.
    pub prohibitions: Vec<LayerProhibition>,
}

/// The value that a level sets for a parameter.
#[derive(Debug, Clone, PartialEq)]
pub struct LayerSetting {
    /// The name of the parameter.
    pub name: String,
    pub value: Json,
    pub source: SettingFileLine,
}

/// A parameter that lower levels must not set.
#[derive(Debug, Clone, PartialEq)]
pub struct LayerProhibition {
    /// The name of the parameter.
    pub name: String,
    /// The prohibited value; `None` for any value.
    pub value: Option<Json>,
    pub source: SettingFileLine,
}

/// A file and line: the location without its level.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingFileLine {
    /// The file; `--set` for the conversation.
    pub file: String,
    /// `None` outside of a file.
    pub line: Option<usize>,
}

impl SettingFileLine {
    fn at_level(&self, level: ParameterLevel) -> SettingLocation {
        SettingLocation { level, file: self.file.clone(), line: self.line }
    }
}

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
    let mut values = ValueCollector::default();
    for (level, layer) in ParameterLevel::ALL.into_iter().zip(layers) {
        // Within a level the last definition wins.
        for setting in layer.settings.iter().rev().filter(|other| other.name == parameter.name) {
            values.add(&setting.value, setting.source.at_level(level));
        }
        for prohibition in layer.prohibitions.iter().filter(|other| other.name == parameter.name) {
            let location = prohibition.source.at_level(level);
            values.prohibitions.push(ActiveProhibition { only: &prohibition.value, location });
        }
    }
    if let Some(default) = &parameter.default {
        let source = SettingFileLine { file: file.into(), line: Some(parameter.line) };
        values.add(default, source.at_level(ParameterLevel::Skill));
    }
    let mut admitted = values.admitted.into_iter();
    ResolvedParameter {
        parameter: parameter.clone(),
        value: admitted.next(),
        overridden: admitted.collect(),
        blocked: values.blocked,
    }
}

/// A prohibition of a level that was read already.
struct ActiveProhibition<'p> {
    /// The prohibited value; `None` for any value.
    only: &'p Option<Json>,
    location: SettingLocation,
}

/// The values of a parameter, highest precedence first.
#[derive(Default)]
struct ValueCollector<'p> {
    prohibitions: Vec<ActiveProhibition<'p>>,
    admitted: Vec<(Json, SettingLocation)>,
    blocked: Vec<BlockedValue>,
}

impl ValueCollector<'_> {
    /// Adds a value, unless a higher level prohibits it.
    fn add(&mut self, value: &Json, location: SettingLocation) {
        // Quotes do not make a different value.
        let text = |value: &Json| value.as_str().map_or_else(|| value.to_string(), Into::into);
        let prohibits = |prohibition: &&ActiveProhibition<'_>| {
            prohibition.only.as_ref().is_none_or(|only| text(only) == text(value))
        };
        let value = value.clone();
        match self.prohibitions.iter().find(prohibits) {
            Some(prohibition) => {
                let blocked_by = prohibition.location.clone();
                self.blocked.push(BlockedValue { value, location, blocked_by });
            }
            None => self.admitted.push((value, location)),
        }
    }
}
