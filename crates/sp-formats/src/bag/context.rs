//! `CONTEXT.md`, `USER_CONTEXT.md` and what `SKILLBAG.md` may say besides: dependencies, values
//! for parameters, prohibitions, tags, and which skill prevails.
//!
//! Each stands below a heading of its own, in a fenced block of YAML:
//!
//! ```yaml
//! # Dependencies
//! dependencies: [{name: a, version: v1, source: ./a}]
//! # Parameters
//! parameters: {paper: a4}                                  # for every skill that asks
//! skills: {convert-to-pdf: {paper: letter}}                # for one
//! prohibit: [upload, {paper: a5}]                          # a parameter, or one of its values
//! # Tags
//! tags: {take-notes: {add: ["#run/last"], remove: ["#run/always"]}}
//! # Conflict resolution
//! conflict-resolution: [take-notes, convert-to-pdf]        # the first prevails
//! ```

use serde_json::Value as Json;
use sp_tree::Limits;

use super::dependencies::{Declarer, Dependency, read};
use super::parameters::Layer;
use super::tags::TagChange;
use crate::checks::{Check, SB_07, SB_16, SB_23};
use crate::markdown::yaml_below;
use crate::printable::printable;
use crate::report::{LineIndex, Report};
use crate::yaml::{Node, Value};

/// A value that a context gives.
#[derive(Debug, Clone, PartialEq)]
pub struct Setting {
    /// For which skill; none is for every one that asks.
    pub skill: Option<String>,
    /// The parameter.
    pub name: String,
    /// The value.
    pub value: Json,
    /// On which line.
    pub line: usize,
}

/// What lower levels must not say.
#[derive(Debug, Clone, PartialEq)]
pub struct Prohibition {
    /// The parameter.
    pub name: String,
    /// Only this value of it; none is any.
    pub value: Option<Json>,
    /// On which line.
    pub line: usize,
}

/// What a context says.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ContextFile {
    /// The file, as the user would name it.
    pub file: String,
    /// The skills that are needed.
    pub dependencies: Vec<Dependency>,
    /// Values for parameters, in the order in which they stand.
    pub settings: Vec<Setting>,
    /// What lower levels must not say.
    pub prohibitions: Vec<Prohibition>,
    /// Tags that are added and removed.
    pub tags: Vec<TagChange>,
    /// Which skill prevails over which, the strongest first.
    pub order: Vec<String>,
}

impl ContextFile {
    /// What it says of the parameters of a skill.
    pub fn layer(&self, skill: &str) -> Layer {
        let at = |line: usize| (self.file.clone(), Some(line));
        let mine = |setting: &&Setting| setting.skill.as_deref().is_none_or(|other| other == skill);
        Layer {
            settings: self
                .settings
                .iter()
                .filter(mine)
                .map(|setting| (setting.name.clone(), setting.value.clone(), at(setting.line)))
                .collect(),
            prohibitions: self
                .prohibitions
                .iter()
                .map(|one| (one.name.clone(), one.value.clone(), at(one.line)))
                .collect(),
        }
    }
}

/// Reads a context file.
pub fn read_context(file: &str, text: &str, limits: &Limits) -> (ContextFile, Report) {
    let mut report = Report::new(file, text);
    let mut context = ContextFile { file: file.into(), ..ContextFile::default() };
    let lines = report.lines();
    context.dependencies = read(text, 0, Declarer::Workspace, limits, &mut report);
    for block in yaml_below(text, 0, "Parameters", (&SB_07, limits), &mut report) {
        read_values(&block, &lines, &mut context, &mut report);
    }
    for block in yaml_below(text, 0, "Tags", (&SB_23, limits), &mut report) {
        read_tags(&block, &mut context, &mut report);
    }
    for title in ["Conflict resolution", "conflict-resolution"] {
        for block in yaml_below(text, 0, title, (&SB_16, limits), &mut report) {
            for (key, value) in members(&block, &SB_16, &["conflict-resolution"], &mut report) {
                context.order.extend(texts(value, key, &SB_16, &mut report));
            }
        }
    }
    report.sort();
    (context, report)
}

/// The members of a mapping that may be there; others are reported.
fn members<'a>(node: &'a Node, check: &'static Check, known: &[&str], report: &mut Report) -> Vec<(&'a str, &'a Node)> {
    let Value::Map(pairs) = &node.value else {
        if !node.is_null() {
            report
                .error(check, node.span.clone(), format!("it must be a mapping, not {}", node.kind()))
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
                    .help(format!("the keys are: {}", known.join(", ")));
            }
        }
    }
    members
}

fn read_values(block: &Node, lines: &LineIndex, context: &mut ContextFile, report: &mut Report) {
    for (key, value) in members(block, &SB_07, &["parameters", "skills", "prohibit"], report) {
        match key {
            "parameters" => settings(None, value, lines, context, report),
            "skills" => {
                for (skill, value) in pairs(value, &SB_07, report) {
                    settings(Some(skill.text().unwrap_or_default()), value, lines, context, report);
                }
            }
            _ => prohibitions(value, lines, context, report),
        }
    }
}

fn pairs<'a>(node: &'a Node, check: &'static Check, report: &mut Report) -> &'a [(Node, Node)] {
    match &node.value {
        Value::Map(pairs) => pairs,
        _ if node.is_null() => &[],
        _ => {
            report
                .error(check, node.span.clone(), format!("it must be a mapping, not {}", node.kind()))
                .help("write `<name>: <value>`, one a line");
            &[]
        }
    }
}

fn settings(skill: Option<&str>, node: &Node, lines: &LineIndex, context: &mut ContextFile, report: &mut Report) {
    for (name, value) in pairs(node, &SB_07, report) {
        context.settings.push(Setting {
            skill: skill.map(Into::into),
            name: name.text().unwrap_or_default().into(),
            value: value.to_json(),
            line: lines.line(name.span.start),
        });
    }
}

fn prohibitions(node: &Node, lines: &LineIndex, context: &mut ContextFile, report: &mut Report) {
    let Value::Seq(items) = &node.value else {
        report
            .error(&SB_07, node.span.clone(), format!("`prohibit` must be a list, not {}", node.kind()))
            .help("write `- <parameter>`, or `- <parameter>: <value>`");
        return;
    };
    for item in items {
        let line = lines.line(item.span.start);
        match (&item.value, item.text()) {
            (_, Some(name)) => context.prohibitions.push(Prohibition { name: name.into(), value: None, line }),
            (Value::Map(pairs), _) => {
                let one = |(name, value): &(Node, Node)| Prohibition {
                    name: name.text().unwrap_or_default().into(),
                    value: Some(value.to_json()),
                    line,
                };
                context.prohibitions.extend(pairs.iter().map(one));
            }
            _ => {
                report.error(&SB_07, item.span.clone(), "a prohibition is a parameter, or one of its values");
            }
        }
    }
}

fn read_tags(block: &Node, context: &mut ContextFile, report: &mut Report) {
    for (_, skills) in members(block, &SB_23, &["tags"], report) {
        for (skill, change) in pairs(skills, &SB_23, report) {
            let mut tags = TagChange { skill: skill.text().unwrap_or_default().into(), ..TagChange::default() };
            for (key, value) in members(change, &SB_23, &["add", "remove"], report) {
                let listed = texts(value, key, &SB_23, report);
                if key == "add" { tags.add = listed } else { tags.remove = listed }
            }
            context.tags.push(tags);
        }
    }
}

fn texts(node: &Node, key: &str, check: &'static Check, report: &mut Report) -> Vec<String> {
    match &node.value {
        Value::Seq(items) => items.iter().filter_map(Node::text).map(Into::into).collect(),
        _ => {
            report
                .error(check, node.span.clone(), format!("`{key}` must be a list, not {}", node.kind()))
                .help("write each item on its own line, with `- ` before it; quote what starts with `#`");
            Vec::new()
        }
    }
}
