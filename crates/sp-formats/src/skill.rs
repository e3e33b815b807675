//! `SKILL.md`, read as leniently as agents do: what an install needs to know of a skill.

use std::ops::Range;

use sp_tree::Limits;

use crate::printable::printable;
use crate::report::Report;
use crate::yaml::{self, Node, Value};

/// The file that makes a directory a skill. Its case counts.
pub const SKILL_FILE: &str = "SKILL.md";

/// What a `SKILL.md` says of itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Skill {
    /// The name in the frontmatter.
    pub name: Option<String>,
    /// The description in the frontmatter.
    pub description: Option<String>,
    /// Where the Markdown body starts.
    pub body: usize,
}

/// Reads the `SKILL.md` of the directory `folder`. What is odd about it is a warning; only text
/// that is no text is an error.
pub fn read(file: &str, folder: &str, bytes: &[u8], limits: &Limits) -> (Option<Skill>, Report) {
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            let mut report = Report::new(file, String::from_utf8_lossy(bytes));
            let at = error.valid_up_to();
            report.error("AS-03", at..at, format!("it is not UTF-8 text from byte {at} on")).help("save it as UTF-8");
            return (None, report);
        }
    };
    let mut report = Report::new(file, text);
    if bytes.len() as u64 > limits.markdown_bytes {
        let message = format!("it has {} bytes, more than the limit of {}", bytes.len(), limits.markdown_bytes);
        report.error("SE-04", 0..0, message).help("raise it with `--limit markdown-bytes=<bytes>`");
        return (None, report);
    }
    if text.starts_with('\u{feff}') {
        report.warning("AS-01", 0..3, "it starts with a byte-order mark").help("save it as UTF-8 without one");
    }
    let skill = read_text(text, folder, limits, &mut report);
    (Some(skill), report)
}

fn read_text(text: &str, folder: &str, limits: &Limits, report: &mut Report) -> Skill {
    let Some((block, body, root)) = frontmatter(text, limits, report) else {
        return Skill { body: text.len() - text.trim_start_matches('\u{feff}').len(), ..Skill::default() };
    };
    let mut skill = Skill { body, ..Skill::default() };
    match root.as_ref().map(|root| &root.value) {
        Some(Value::Map(pairs)) => {
            let (name, description) = (field(pairs, "name"), field(pairs, "description"));
            // The nodes count from the start of the block.
            let place = |node: &Node| block.start + node.span.start..block.start + node.span.end;
            if let Some(node) = name {
                check_name(node, place(node), folder, report);
            }
            if let Some(node) = description {
                check_description(node, place(node), report);
            }
            let text = |node: Option<&Node>| node.and_then(Node::text).map(Into::into);
            (skill.name, skill.description) = (text(name), text(description));
            for (key, value) in [("name", name), ("description", description)] {
                if value.is_none() {
                    report
                        .warning("AS-02", block.clone(), format!("the frontmatter has no `{key}`"))
                        .help(format!("add `{key}: …`"));
                }
            }
        }
        Some(_) => {
            report
                .warning("AS-01", block, "the frontmatter is not a mapping")
                .help("write `name: …` and `description: …`");
        }
        None => {}
    }
    skill
}

fn field<'a>(pairs: &'a [(Node, Node)], key: &str) -> Option<&'a Node> {
    let (_, value) = pairs.iter().find(|(name, _)| name.text() == Some(key))?;
    value.text().filter(|text| !text.trim().is_empty()).map(|_| value)
}

fn check_name(node: &Node, at: Range<usize>, folder: &str, report: &mut Report) {
    let name = node.text().unwrap_or_default();
    let form = !name.is_empty()
        && name.chars().count() <= 64
        && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
        && !name.starts_with('-')
        && !name.ends_with('-')
        && !name.contains("--");
    let shown = printable(name);
    if !form {
        report
            .warning("AS-02", at, format!("the name `{shown}` is not of the form that agents expect"))
            .help("use 1 to 64 characters of a-z, 0-9 and single hyphens");
    } else if name != folder {
        report
            .warning("AS-02", at, format!("the name `{shown}` is not that of the folder"))
            .help(format!("call both the same: the folder is `{}`", printable(folder)));
    }
}

fn check_description(node: &Node, at: Range<usize>, report: &mut Report) {
    let length = node.text().unwrap_or_default().chars().count();
    if length > 1024 {
        report
            .warning("AS-02", at, format!("the description has {length} characters"))
            .help("agents read 1024 of them at the most");
    }
}

/// The frontmatter's bytes, where the body starts, and the frontmatter's YAML if it can be read.
///
/// A `---` line that stands inside a quoted value does not end the block: when the text up to
/// the first such line is no YAML, the next one is tried.
fn frontmatter(text: &str, limits: &Limits, report: &mut Report) -> Option<(Range<usize>, usize, Option<Node>)> {
    let start = opening(text);
    let Some(start) = start else {
        report
            .warning("AS-01", 0..0, "it has no frontmatter")
            .help("start it with `---`, `name: …`, `description: …`, `---`");
        return None;
    };
    let mut first: Option<(Range<usize>, usize, yaml::YamlError)> = None;
    for (end, body) in closings(text, start, limits) {
        // YAML ends a document at such a line even inside quotes; one blank before it keeps it text.
        let block = text[start..end].replace("\n---", "\n ---");
        let parsed = yaml::parse(&block, limits).map(|node| (node, None));
        match parsed.or_else(|error| quoted(&block, error, limits)) {
            Ok((node, requoted)) => {
                if let Some(line) = requoted {
                    let at = start + line.start..start + line.end;
                    report
                        .warning("AS-04", at, "an unquoted value has a `: ` in it")
                        .help(format!("put the value in quotes: {}", printable(&requoted_line(&block[line]))));
                }
                return Some((start..end, body, Some(node)));
            }
            Err(error) => {
                first.get_or_insert((start..end, body, error));
            }
        }
    }
    match first {
        Some((block, body, error)) => {
            let at = start + error.span.start..start + error.span.end;
            report.warning("AS-01", at, format!("the frontmatter is not YAML: {error}"));
            Some((block, body, None))
        }
        None => {
            report.warning("AS-01", 0..start, "the frontmatter has no end").help("close it with a line `---`");
            Some((start..text.len(), text.len(), None))
        }
    }
}

/// Where the text behind the opening `---` line starts.
fn opening(text: &str) -> Option<usize> {
    let bom = text.len() - text.trim_start_matches('\u{feff}').len();
    let rest = text[bom..].strip_prefix("---")?;
    let line = rest.split_inclusive('\n').next().unwrap_or(rest);
    line.trim().is_empty().then_some(bom + 3 + line.len())
}

/// Every `---` line that could end the block: where it starts, and where the body behind it does.
fn closings(text: &str, start: usize, limits: &Limits) -> Vec<(usize, usize)> {
    let limit = usize::try_from(limits.frontmatter_bytes).unwrap_or(usize::MAX);
    let mut found = Vec::new();
    let mut at = start;
    for line in text[start..].split_inclusive('\n') {
        if line.trim_end() == "---" {
            found.push((at, at + line.len()));
        }
        at += line.len();
        // A few are enough: more `---` inside one quoted value is no frontmatter.
        if at - start > limit || found.len() == 8 {
            break;
        }
    }
    found
}

/// Retries a block whose unquoted values hold `: `, with those values quoted; tells the first such line.
fn quoted(
    block: &str,
    error: yaml::YamlError,
    limits: &Limits,
) -> Result<(Node, Option<Range<usize>>), yaml::YamlError> {
    let mut fixed = String::with_capacity(block.len() + 16);
    let mut first = None;
    let mut at = 0;
    for line in block.split_inclusive('\n') {
        match unquoted_colon(line) {
            Some((key, value)) => {
                first.get_or_insert(at..at + line.trim_end().len());
                fixed += &requote(key, value);
                fixed.push('\n');
            }
            None => fixed += line,
        }
        at += line.len();
    }
    match yaml::parse(&fixed, limits) {
        Ok(node) if first.is_some() => Ok((node, first)),
        _ => Err(error),
    }
}

fn requote(key: &str, value: &str) -> String {
    format!("{key}: '{}'", value.replace('\'', "''"))
}

fn requoted_line(line: &str) -> String {
    unquoted_colon(line).map_or_else(|| line.into(), |(key, value)| requote(key, value))
}

/// The key and value of a top-level line whose plain value holds a `: `.
fn unquoted_colon(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.split_once(": ")?;
    let value = value.trim();
    let plain_key =
        !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_');
    let plain_value = !value.starts_with(['"', '\'', '[', '{', '|', '>', '&', '*', '!', '#']);
    (plain_key && plain_value && (value.contains(": ") || value.ends_with(':'))).then_some((key, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_all(text: &str) -> (Skill, Vec<String>) {
        let (skill, report) = read("SKILL.md", "a", text.as_bytes(), &Limits::default());
        let show = |finding: &crate::Finding| format!("{} {} {}", report.place(finding), finding.rule, finding.message);
        (skill.unwrap(), report.findings.iter().map(show).collect())
    }

    fn named(text: &str) -> (Option<String>, Option<String>) {
        let (skill, _) = read_all(text);
        (skill.name, skill.description)
    }

    #[test]
    fn as_01_frontmatter_is_what_stands_between_the_dashes() {
        let (skill, findings) = read_all("---\nname: a\ndescription: b\n---\n# Body\n\n---\nmore\n");
        assert_eq!((skill.name.as_deref(), skill.description.as_deref()), (Some("a"), Some("b")));
        assert_eq!(skill.body, "---\nname: a\ndescription: b\n---\n".len());
        assert_eq!(findings, [""; 0]);
        let crlf = "---\r\nname: a\r\ndescription: b\r\n---\r\nBody";
        assert_eq!(named(crlf), (Some("a".into()), Some("b".into())));
        let (skill, findings) = read_all("\u{feff}---\nname: a\ndescription: b\n---\n");
        assert_eq!(skill.name.as_deref(), Some("a"));
        assert_eq!(findings, ["SKILL.md:1:1 AS-01 it starts with a byte-order mark"]);
    }

    #[test]
    fn as_01_dashes_inside_a_quoted_value_do_not_end_the_block() {
        let text = "---\nname: a\ndescription: \"one\n---\n  two\"\n---\nBody\n";
        let (skill, _) = read_all(text);
        assert_eq!(&text[skill.body..], "Body\n");
        assert_eq!(skill.name.as_deref(), Some("a"));
    }

    #[test]
    fn as_03_a_skill_without_frontmatter_is_readable_with_a_warning() {
        for (text, finding) in [
            ("# Just text\n", "SKILL.md:1:1 AS-01 it has no frontmatter"),
            ("", "SKILL.md:1:1 AS-01 it has no frontmatter"),
            ("---\nname: a\n", "SKILL.md:1:1 AS-01 the frontmatter has no end"),
            ("---\n- a\n---\n", "SKILL.md:2:1 AS-01 the frontmatter is not a mapping"),
        ] {
            assert_eq!(read_all(text).1, [finding], "{text}");
        }
        let (skill, report) = read("SKILL.md", "a", b"---\nname: \xff\n---\n", &Limits::default());
        assert_eq!(skill, None);
        assert_eq!(report.findings[0].message, "it is not UTF-8 text from byte 10 on");
    }

    #[test]
    fn as_04_an_unquoted_colon_is_read_as_if_quoted_with_a_warning() {
        let (skill, findings) = read_all("---\nname: a\ndescription: Use when: it's late\n---\n");
        assert_eq!(skill.description.as_deref(), Some("Use when: it's late"));
        assert_eq!(findings, ["SKILL.md:3:1 AS-04 an unquoted value has a `: ` in it"]);
    }

    #[test]
    fn se_14_markdown_at_the_limit_passes_and_one_past_it_does_not() {
        let limits = Limits { markdown_bytes: 5, ..Limits::default() };
        assert!(read("SKILL.md", "a", b"12345", &limits).0.is_some());
        assert!(read("SKILL.md", "a", b"123456", &limits).0.is_none());
    }

    #[test]
    fn as_02_a_name_or_description_of_another_form_is_a_warning() {
        for (name, message) in [
            ("b", "the name `b` is not that of the folder"),
            ("A", "the name `A` is not of the form that agents expect"),
            ("-a", "the name `-a` is not of the form that agents expect"),
            ("a--b", "the name `a--b` is not of the form that agents expect"),
        ] {
            let (_, findings) = read_all(&format!("---\nname: {name}\ndescription: x\n---\n"));
            assert_eq!(findings, [format!("SKILL.md:2:7 AS-02 {message}")]);
        }
        let (_, findings) = read_all(&format!("---\nname: a\ndescription: {}\n---\n", "x".repeat(1025)));
        assert_eq!(findings, ["SKILL.md:3:14 AS-02 the description has 1025 characters"]);
        let (_, findings) = read_all(&format!("---\nname: a\ndescription: {}\n---\n", "x".repeat(1024)));
        assert_eq!(findings, [""; 0]);
    }
}
