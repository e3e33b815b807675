//! The fields of the frontmatter and their types.

use std::ops::Range;

use super::tags::commented_tags;
use super::{SkillMetadata, SkillName};
use crate::printable::printable;
use crate::report::Report;
use crate::skill::rules::{AS_02, AS_03, AS_04, AS_05};
use crate::suggest::nearest;
use crate::yaml::{YamlNode, YamlValue, to_yaml_scalar};

pub(super) const STANDARD_FIELDS: &[&str] =
    &["name", "description", "license", "compatibility", "metadata", "allowed-tools"];

/// Fields that are not part of the specification, and the agents that read them.
const AGENT_FIELDS: &[(&str, &str)] = &[
    ("agent", "Claude Code"),
    ("alwaysApply", "Cursor, in its rules"),
    ("applyTo", "GitHub Copilot, in its instructions"),
    ("argument-hint", "Claude Code and GitHub Copilot"),
    ("arguments", "Claude Code"),
    ("command-arg-mode", "OpenClaw"),
    ("command-dispatch", "OpenClaw"),
    ("command-tool", "OpenClaw"),
    ("context", "Claude Code"),
    ("dependencies", "SkillBag workspaces"),
    ("disable-model-invocation", "Claude Code, Cursor and GitHub Copilot"),
    ("disallowed-tools", "Claude Code"),
    ("effort", "Claude Code"),
    ("globs", "Cursor, in its rules"),
    ("homepage", "OpenClaw"),
    ("hooks", "Claude Code"),
    ("model", "Claude Code"),
    ("paths", "Claude Code"),
    ("shell", "Claude Code"),
    ("user-invocable", "Claude Code and GitHub Copilot"),
    ("when_to_use", "Claude Code"),
];

/// Fields that authors add on their own; they belong in `metadata`.
const CUSTOM_FIELDS: &[&str] = &[
    "author", "authors", "category", "created", "date", "keywords", "tags", "title", "updated",
    "version",
];

/// Frontmatter that is a mapping.
pub(super) struct FrontmatterFields<'a> {
    pub pairs: &'a [(YamlNode, YamlNode)],
    pub span: Range<usize>,
    pub root: &'a YamlNode,
}

impl FrontmatterFields<'_> {
    /// The indentation of the fields, if a field can be inserted on a line of its own.
    fn indent(&self, text: &str) -> Option<String> {
        match self.pairs.first() {
            Some((key, _)) if !self.root.is_flow => {
                let line_start = text[..key.span.start].rfind('\n').map_or(0, |at| at + 1);
                let indent = &text[line_start..key.span.start];
                indent.bytes().all(|byte| byte == b' ').then(|| indent.into())
            }
            Some(_) => None,
            None => {
                let says_nothing =
                    |line: &str| line.trim().is_empty() || line.trim_start().starts_with('#');
                text[self.span.clone()].lines().all(says_nothing).then(String::new)
            }
        }
    }
}

/// Reads the fields and reports every problem.
pub(super) fn read_fields(
    front: &FrontmatterFields<'_>,
    folder: &str,
    report: &mut Report,
) -> SkillMetadata {
    let mut skill = SkillMetadata::default();
    if front.root.is_flow {
        let message = "the reference validator rejects braces around the frontmatter";
        report
            .note(&AS_03, front.root.span.clone(), message)
            .help("write one field per line, without braces");
    }
    for (key, node) in front.pairs {
        report_yaml_tag(key, node, report);
        read_field(key, node, folder, &mut skill, report);
    }
    for field in &STANDARD_FIELDS[..2] {
        if !front.pairs.iter().any(|(key, _)| key.text() == Some(*field)) {
            report_missing(field, front, folder, report);
        }
    }
    skill
}

fn read_field(
    key: &YamlNode,
    node: &YamlNode,
    folder: &str,
    skill: &mut SkillMetadata,
    report: &mut Report,
) {
    let text = key.text().unwrap_or_default();
    match text {
        "name" => {
            skill.name = required_text(text, node, report)
                .inspect(|name| check_name(name, node, folder, report));
        }
        "description" => {
            skill.description_span = node.span.clone();
            skill.description = required_text(text, node, report);
            if matches!(node.value, YamlValue::Scalar { plain: true, .. }) {
                skill.commented_tags = commented_tags(&report.text, node.span.end);
            }
            check_length(text, node, 1024, report);
        }
        "license" => {
            check_text(text, node, report);
            skill.license = node.text().map(str::to_owned);
        }
        "compatibility" => {
            check_text(text, node, report);
            check_length(text, node, 500, report);
        }
        "metadata" => {
            check_metadata(node, report);
            note_flow_style("metadata", node, report);
        }
        "allowed-tools" => {
            check_tools(key, node, report);
            skill.allowed_tools = parse_tools(node);
        }
        _ => {
            if text == "dependencies" {
                skill.dependencies = Some(node.clone());
            }
            report_unknown_field(text, key, report);
            note_flow_style(text, node, report);
        }
    }
}

fn report_missing(field: &str, front: &FrontmatterFields<'_>, folder: &str, report: &mut Report) {
    let start = front.span.start;
    let line_end = if report.text[..start].ends_with("\r\n") { "\r\n" } else { "\n" };
    let indent = front.indent(&report.text);
    let finding = report.error(&AS_02, start..start, format!("the frontmatter has no `{field}`"));
    match indent.filter(|_| field == "name" && SkillName::new(folder).is_ok()) {
        Some(indent) => {
            let line = format!("name: {}", to_yaml_scalar(folder));
            finding
                .help(format!("add `{line}`"))
                .fix(start..start, format!("{indent}{line}{line_end}"));
        }
        None => {
            finding.help(format!("add `{field}: …`"));
        }
    }
}

/// The text of a required field.
fn required_text(field: &str, node: &YamlNode, report: &mut Report) -> Option<String> {
    match node.text() {
        Some(text) if !text.trim().is_empty() => {
            check_text(field, node, report);
            Some(text.into())
        }
        Some(_) => {
            report
                .error(&AS_02, node.span.clone(), format!("`{field}` is empty"))
                .help(format!("add a value: `{field}: …`"));
            None
        }
        None => {
            report
                .error(
                    &AS_02,
                    node.span.clone(),
                    format!("`{field}` must be text, not {}", node.kind()),
                )
                .help(format!("write `{field}: …`"));
            None
        }
    }
}

/// Checks that a field is text, and that every YAML parser reads it as text.
fn check_text(field: &str, node: &YamlNode, report: &mut Report) {
    match (node.text(), node.implicit_type()) {
        (None, _) => {
            report
                .warning(
                    &AS_02,
                    node.span.clone(),
                    format!("`{field}` must be text, not {}", node.kind()),
                )
                .help(match field.strip_prefix("metadata.") {
                    Some(key) => {
                        format!("write text in `metadata`: `{key}: …`, or remove the field")
                    }
                    None => format!("write `{field}: …`, or remove the field"),
                });
        }
        (Some(text), Some(kind)) => {
            let quoted = format!("\"{text}\"");
            let key = field.strip_prefix("metadata.").unwrap_or(field);
            report
                .warning(
                    &AS_02,
                    node.span.clone(),
                    format!("`{field}` must be text, but YAML reads `{text}` as {kind}"),
                )
                .help(format!("quote the value: `{key}: {quoted}`"))
                .fix(node.span.clone(), quoted);
        }
        (Some(_), None) => {}
    }
}

/// YAML reads the first word of `!important x` as a tag and drops it.
fn report_yaml_tag(key: &YamlNode, node: &YamlNode, report: &mut Report) {
    let between = report.text.get(key.span.end..node.span.start).unwrap_or_default();
    let word = between.trim_start_matches([':', ' ', '\t', '\r', '\n']).trim_end();
    let lost = word.starts_with('!') && !word.starts_with("!!");
    if !lost || word.contains(char::is_whitespace) {
        return;
    }
    let start = node.span.start - (between.len() - between.rfind(word).unwrap_or(0));
    let whole = report.text.get(start..node.span.end).unwrap_or_default().to_owned();
    let plain = matches!(node.value, YamlValue::Scalar { plain: false, .. })
        && !whole.contains(['\n', '\'', '"', '#']);
    let finding = report
        .warning(
            &AS_04,
            start..start + word.len(),
            format!("YAML reads `{}` as a tag", printable(word)),
        )
        .help("quote the value");
    if plain {
        finding.fix(start..node.span.end, format!("'{whole}'"));
    }
}

fn check_length(field: &str, node: &YamlNode, max: usize, report: &mut Report) {
    let length = node.text().unwrap_or_default().chars().count();
    if length > max {
        report
            .warning(
                &AS_02,
                node.span.clone(),
                format!("the {field} has {length} characters; the maximum is {max}"),
            )
            .help("shorten it: agents truncate longer text");
    }
}

/// Reports a name without a fix: only the author knows by which name the skill is used elsewhere.
fn check_name(name: &str, node: &YamlNode, folder: &str, report: &mut Report) {
    let shown = printable(name);
    let is_valid_folder = SkillName::new(folder).is_ok();
    let (message, help) = match SkillName::new(name).err() {
        Some(problem) => {
            let rule = "use 1 to 64 characters of a-z, 0-9 and single hyphens";
            let example =
                if is_valid_folder { format!(", such as `{folder}`") } else { String::new() };
            (format!("the name `{shown}` {problem}"), format!("{rule}{example}"))
        }
        None if name != folder => {
            let or = if is_valid_folder {
                format!(", or set `name: {}`", to_yaml_scalar(folder))
            } else {
                String::new()
            };
            (
                format!("the name `{shown}` differs from the directory `{}`", printable(folder)),
                format!("rename the directory to `{shown}`{or}"),
            )
        }
        None => return,
    };
    report.warning(&AS_02, node.span.clone(), message).help(help);
}

fn check_metadata(node: &YamlNode, report: &mut Report) {
    let YamlValue::Map(pairs) = &node.value else {
        if !node.is_null() {
            report
                .warning(
                    &AS_02,
                    node.span.clone(),
                    format!("`metadata` must be a mapping, not {}", node.kind()),
                )
                .help("write each entry on its own line: `  <key>: <text>`");
        }
        return;
    };
    for (key, value) in pairs {
        check_text(
            &format!("metadata.{}", printable(key.text().unwrap_or_default())),
            value,
            report,
        );
    }
}

fn check_tools(key: &YamlNode, node: &YamlNode, report: &mut Report) {
    let (message, tools) = match &node.value {
        YamlValue::Seq(items) => {
            let tools: Option<Vec<String>> =
                items.iter().map(|item| item.text().map(Into::into)).collect();
            ("`allowed-tools` must be text, not a list", tools)
        }
        YamlValue::Scalar { text, .. } if outside_parentheses(text).contains(',') => {
            let tools = split_tools(text, &[',']);
            ("the tools in `allowed-tools` are separated by commas", Some(tools))
        }
        YamlValue::Map(_) => ("`allowed-tools` must be text, not a mapping", None),
        YamlValue::Scalar { .. } => return,
    };
    // The new value follows the key, wherever the list was.
    let behind = key.span.end..node.span.end;
    let between = report.text.get(key.span.end..node.span.start).unwrap_or_default().trim();
    let plain_place = between == ":";
    let finding = report.warning(&AS_02, node.span.clone(), message);
    // A tool with a space could not be distinguished from two tools, and quotes would need
    // escaping.
    let plain = |tool: &String| {
        !outside_parentheses(tool).contains(' ') && !tool.contains(['"', '\'', '#', '\n'])
    };
    match tools
        .filter(|tools| plain_place && tools.iter().all(plain) && !tools.join(" ").contains(": "))
    {
        Some(tools) => {
            let written = tools.join(" ");
            finding
                .help(format!("write `allowed-tools: {}`", printable(&written)))
                .fix(behind, format!(": {written}"));
        }
        None => {
            finding.help("separate the tools with spaces: `allowed-tools: Read Bash(git:*)`");
        }
    }
}

/// The tools, in any notation.
fn parse_tools(node: &YamlNode) -> Vec<String> {
    match &node.value {
        YamlValue::Seq(items) => items.iter().filter_map(YamlNode::text).map(Into::into).collect(),
        _ => node.text().map(|text| split_tools(text, &[',', ' ', '\t', '\n'])).unwrap_or_default(),
    }
}

/// Removes everything in parentheses: `Bash(git add:*), Read` becomes `Bash, Read`.
fn outside_parentheses(text: &str) -> String {
    let mut depth = 0usize;
    let outside = text.chars().filter(|c| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => return depth == 0,
        }
        false
    });
    outside.collect()
}

fn split_tools(text: &str, between: &[char]) -> Vec<String> {
    let mut depth = 0usize;
    let parts = text.split(|c| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && between.contains(&c)
    });
    parts.map(str::trim).filter(|part| !part.is_empty()).map(Into::into).collect()
}

fn report_unknown_field(field: &str, key: &YamlNode, report: &mut Report) {
    let shown = printable(field);
    let help = match AGENT_FIELDS.iter().find(|(name, _)| *name == field) {
        Some((_, agents)) => format!("used by {agents}; other agents ignore it"),
        None if CUSTOM_FIELDS.contains(&field) => {
            format!("agents ignore it: move it to `metadata:` as `  {shown}: …`")
        }
        None => match nearest(field, STANDARD_FIELDS.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "no known agent reads it: put your own fields below `metadata:`".into(),
        },
    };
    report
        .warning(&AS_05, key.span.clone(), format!("`{shown}` is not a standard field"))
        .help(help);
}

/// Some strict parsers do not support braces and brackets.
fn note_flow_style(field: &str, node: &YamlNode, report: &mut Report) {
    if node.is_flow {
        let what = if matches!(node.value, YamlValue::Seq(_)) { "brackets" } else { "braces" };
        let message = format!("the reference validator rejects {what} in `{}`", printable(field));
        report.note(&AS_03, node.span.clone(), message).help("write one item per line");
    }
}
