//! `Parameters`: what a skill wants to know, and which of all that is said counts.

use std::ops::Range;

use serde_json::Value as Json;
use sp_tree::Limits;

use crate::checks::SB_07;
use crate::markdown::yaml_below;
use crate::printable::printable;
use crate::report::{LineIndex, Report};
use crate::yaml::{Node, Value};

/// What a skill wants to know.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Parameters {
    /// In the order of the file, required ones as well as optional ones.
    pub all: Vec<Parameter>,
}

/// One thing that a skill wants to know.
#[derive(Debug, Clone, PartialEq)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// Whether the skill cannot run without it.
    pub required: bool,
    /// What it is about, if that is said.
    pub description: Option<String>,
    /// Its value where nobody says another.
    pub default: Option<Json>,
    /// Where it stands.
    pub span: Range<usize>,
    /// On which line that is.
    pub line: usize,
}

/// The parameters that a `SKILL.md` declares, from the start of its body on.
pub fn read_parameters(text: &str, body: usize, limits: &Limits, report: &mut Report) -> Parameters {
    let mut parameters = Parameters::default();
    let lines = report.lines();
    for block in yaml_below(text, body, "Parameters", (&SB_07, limits), report) {
        let Value::Map(pairs) = &block.value else {
            report
                .error(&SB_07, block.span.clone(), format!("the block must be a mapping, not {}", block.kind()))
                .help("write `required:` and `optional:`, each with a list");
            continue;
        };
        for (key, value) in pairs {
            match key.text() {
                Some("required") => read_list(value, true, &lines, &mut parameters, report),
                Some("optional") => read_list(value, false, &lines, &mut parameters, report),
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

fn read_list(node: &Node, required: bool, lines: &LineIndex, parameters: &mut Parameters, report: &mut Report) {
    let items = match &node.value {
        Value::Seq(items) => items.as_slice(),
        _ if node.is_null() => &[],
        _ => {
            report
                .error(&SB_07, node.span.clone(), format!("it must be a list, not {}", node.kind()))
                .help("write `- name: …` for each parameter");
            &[]
        }
    };
    for item in items {
        let Some(parameter) = read_one(item, required, lines, report) else { continue };
        if parameters.all.iter().any(|other| other.name == parameter.name) {
            let message = format!("the parameter `{}` is declared a second time", printable(&parameter.name));
            report.error(&SB_07, parameter.span.clone(), message).help("give each its own name");
            continue;
        }
        parameters.all.push(parameter);
    }
}

fn read_one(node: &Node, required: bool, lines: &LineIndex, report: &mut Report) -> Option<Parameter> {
    if let Some(name) = node.text() {
        let span = node.span.clone();
        let line = lines.line(span.start);
        return Some(Parameter { name: name.into(), required, description: None, default: None, span, line });
    }
    let Value::Map(pairs) = &node.value else {
        report
            .error(&SB_07, node.span.clone(), format!("a parameter must be a name or a mapping, not {}", node.kind()))
            .help("write `- name: …`");
        return None;
    };
    let get = |key: &str| pairs.iter().find(|(name, _)| name.text() == Some(key)).map(|(_, value)| value);
    let Some(name) = get("name").and_then(Node::text) else {
        report.error(&SB_07, node.span.start..node.span.start, "`name` is missing").help("write `- name: …`");
        return None;
    };
    let default = get("default");
    if let (true, Some(default)) = (required, default) {
        report
            .error(&SB_07, default.span.clone(), format!("the required parameter `{}` has a default", printable(name)))
            .help("remove the default, or move the parameter to `optional`");
    }
    Some(Parameter {
        name: name.into(),
        required,
        description: get("description").and_then(Node::text).map(Into::into),
        default: default.filter(|_| !required).map(Node::to_json),
        line: lines.line(node.span.start),
        span: node.span.clone(),
    })
}

/// How much a definition counts: the conversation most, the skill's own default least.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// What the user says now.
    Conversation,
    /// `USER_CONTEXT.md`
    UserContext,
    /// `CONTEXT.md`
    Context,
    /// `SKILLBAG.md`
    Entrypoint,
    /// The skill's default.
    Skill,
}

impl Level {
    /// Every level, the one that counts most first.
    pub const ALL: [Self; 5] = [Self::Conversation, Self::UserContext, Self::Context, Self::Entrypoint, Self::Skill];
}

/// Where something was said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// On which level.
    pub level: Level,
    /// In which file; `--set` for the conversation.
    pub file: String,
    /// On which line, if it was in a file.
    pub line: Option<usize>,
}

/// What one level says of the parameters of one skill.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Layer {
    /// Values by parameter, in the order in which they stand.
    pub settings: Vec<(String, Json, OriginOf)>,
    /// Parameters that lower levels must not set, or not to this value.
    pub prohibitions: Vec<(String, Option<Json>, OriginOf)>,
}

/// An origin that a layer knows but for its level.
pub type OriginOf = (String, Option<usize>);

/// A value that a prohibition kept out.
#[derive(Debug, Clone, PartialEq)]
pub struct Blocked {
    /// The value.
    pub value: Json,
    /// Where it was said.
    pub origin: Origin,
    /// Where it was prohibited.
    pub by: Origin,
}

/// What a parameter is, and why.
#[derive(Debug, Clone, PartialEq)]
pub struct Resolved {
    /// The parameter.
    pub parameter: Parameter,
    /// The value that counts, and where it was said.
    pub value: Option<(Json, Origin)>,
    /// What it overrode, the nearest first.
    pub beaten: Vec<(Json, Origin)>,
    /// What a prohibition kept out.
    pub blocked: Vec<Blocked>,
}

impl Resolved {
    /// Whether the skill cannot run because of it.
    pub fn is_missing(&self) -> bool {
        self.parameter.required && self.value.is_none()
    }
}

/// Decides what each parameter is. `layers` has one entry for each of [`Level::ALL`] but the last.
pub fn resolve(parameters: &Parameters, file: &str, layers: &[Layer; 4]) -> Vec<Resolved> {
    parameters.all.iter().map(|parameter| resolve_one(parameter, file, layers)).collect()
}

fn resolve_one(parameter: &Parameter, file: &str, layers: &[Layer; 4]) -> Resolved {
    let mut said: Vec<(Json, Origin)> = Vec::new();
    let mut blocked = Vec::new();
    let mut forbidden: Vec<(&Option<Json>, Origin)> = Vec::new();
    for (level, layer) in Level::ALL.into_iter().zip(layers) {
        let origin = |(file, line): &OriginOf| Origin { level, file: file.clone(), line: *line };
        // Within one level the last definition counts, and beats those before it.
        for (_, value, at) in layer.settings.iter().rev().filter(|(name, ..)| *name == parameter.name) {
            admit(value, origin(at), &forbidden, &mut said, &mut blocked);
        }
        let here = layer.prohibitions.iter().filter(|(name, ..)| *name == parameter.name);
        forbidden.extend(here.map(|(_, value, at)| (value, origin(at))));
    }
    if let Some(default) = &parameter.default {
        let origin = Origin { level: Level::Skill, file: file.into(), line: Some(parameter.line) };
        admit(default, origin, &forbidden, &mut said, &mut blocked);
    }
    let mut said = said.into_iter();
    Resolved { parameter: parameter.clone(), value: said.next(), beaten: said.collect(), blocked }
}

fn admit(
    value: &Json,
    origin: Origin,
    forbidden: &[(&Option<Json>, Origin)],
    said: &mut Vec<(Json, Origin)>,
    blocked: &mut Vec<Blocked>,
) {
    // Quotes make no other value of it.
    let text = |value: &Json| value.as_str().map_or_else(|| value.to_string(), Into::into);
    let prohibits = |(only, _): &&(&Option<Json>, Origin)| only.as_ref().is_none_or(|only| text(only) == text(value));
    match forbidden.iter().find(prohibits) {
        Some((_, by)) => blocked.push(Blocked { value: value.clone(), origin, by: by.clone() }),
        None => said.push((value.clone(), origin)),
    }
}
