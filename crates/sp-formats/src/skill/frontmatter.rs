//! The YAML between the first two `---` lines, read even if it is not quite YAML.
//!
//! Authors write values that YAML reads as something else. Such a block is parsed a second time
//! with quotes around those values; spans still refer to the original file.

use std::ops::Range;

use sp_tree::Limits;

use super::fields::STANDARD_FIELDS;
use super::tags::comment_start;
use crate::printable::printable;
use crate::report::Report;
use crate::skill::rules::{AS_01, AS_04};
use crate::yaml::{self, YamlError, YamlNode};

/// The maximum number of `---` lines inside quoted values.
const MAX_CLOSINGS: usize = 8;

pub(super) struct SkillFrontmatter {
    /// The bytes between the `---` lines.
    pub block: Range<usize>,
    pub body_start: usize,
    /// The content, if it can be parsed. Its spans refer to the whole text.
    pub root: Option<YamlNode>,
}

/// Finds and parses the frontmatter.
///
/// A `---` line inside a quoted value does not end the block: if the text up to the first such line
/// is not valid YAML, the next one is tried.
pub(super) fn read_frontmatter(
    text: &str,
    limits: &Limits,
    report: &mut Report,
) -> Option<SkillFrontmatter> {
    let start = opening_end(text, report)?;
    let closings = closing_candidates(text, start, limits);
    let mut first_error: Option<YamlError> = None;
    for &ClosingLine { start: end, body_start } in &closings {
        let block = start..end;
        match parse(text, &block, &inner_dash_patches(text, &block), limits) {
            Ok(root) => return Some(SkillFrontmatter { block, body_start, root: Some(root) }),
            Err(error) => first_error = first_error.or(Some(error)),
        }
    }
    for &ClosingLine { start: end, body_start } in &closings {
        let block = start..end;
        if let Some((root, quoted)) = parse_quoted(text, &block, limits) {
            quoted.iter().for_each(|value| report_missing_quotes(text, value, report));
            return Some(SkillFrontmatter { block, body_start, root: Some(root) });
        }
    }
    Some(unreadable_frontmatter(text, start, first_error.zip(closings.first()), report))
}

/// Reports that the block does not end, or the error of the block up to its first closing line.
fn unreadable_frontmatter(
    text: &str,
    start: usize,
    first: Option<(YamlError, &ClosingLine)>,
    report: &mut Report,
) -> SkillFrontmatter {
    let Some((error, closing)) = first else {
        let opening = text[..start].trim_end();
        let span = opening.len().saturating_sub(3)..opening.len();
        report
            .error(&AS_01, span, "the frontmatter is not closed")
            .help("add a closing line `---`");
        return SkillFrontmatter { block: start..text.len(), body_start: text.len(), root: None };
    };
    let help = error.help();
    report
        .error(&AS_01, error.span, format!("invalid YAML in the frontmatter: {}", error.message))
        .help(help);
    SkillFrontmatter { block: start..closing.start, body_start: closing.body_start, root: None }
}

/// Returns where the text after the opening `---` line starts.
fn opening_end(text: &str, report: &mut Report) -> Option<usize> {
    let bom = text.len() - text.trim_start_matches('\u{feff}').len();
    let blank = text[bom..].len() - text[bom..].trim_start().len();
    let rest = text[bom + blank..].strip_prefix("---");
    let line = rest.map(|rest| rest.split_inclusive('\n').next().unwrap_or(rest));
    let Some(line) = line.filter(|line| line.trim().is_empty()) else {
        let help = "start the file with `---`, `name: …`, `description: …`, `---`";
        report.error(&AS_01, 0..0, "it has no frontmatter").help(help);
        return None;
    };
    if blank > 0 {
        let help = "remove them: agents expect `---` at the start of the file";
        report
            .error(&AS_01, bom..bom + blank, "blank lines before the frontmatter")
            .help(help)
            .fix(bom..bom + blank, "");
    }
    Some(bom + blank + 3 + line.len())
}

/// A `---` line that could end the block.
struct ClosingLine {
    start: usize,
    /// Where the body after it starts.
    body_start: usize,
}

fn closing_candidates(text: &str, start: usize, limits: &Limits) -> Vec<ClosingLine> {
    let limit = usize::try_from(limits.frontmatter_bytes).unwrap_or(usize::MAX);
    let mut closings = Vec::new();
    let mut offset = start;
    for line in text[start..].split_inclusive('\n') {
        if line.trim_end() == "---" {
            closings.push(ClosingLine { start: offset, body_start: offset + line.len() });
        }
        offset += line.len();
        if offset - start > limit || closings.len() == MAX_CLOSINGS {
            break;
        }
    }
    closings
}

/// Parses a block with patches. Spans refer to the file.
fn parse(
    text: &str,
    block: &Range<usize>,
    patches: &[FrontmatterPatch],
    limits: &Limits,
) -> Result<YamlNode, YamlError> {
    let patched = PatchedFrontmatter::new(text, block, patches);
    match yaml::parse(&patched.text, limits) {
        Ok(mut node) => {
            node.map_spans(&|span| patched.original_span(span));
            Ok(node)
        }
        Err(error) => Err(YamlError { span: patched.original_span(&error.span), ..error }),
    }
}

/// Parses a block with quotes where they are needed and returns the values that were quoted.
fn parse_quoted(
    text: &str,
    block: &Range<usize>,
    limits: &Limits,
) -> Option<(YamlNode, Vec<Range<usize>>)> {
    let values = values_to_quote(text, block, limits);
    let quotes = values.iter().flat_map(|value| quote_patches(text, value));
    let mut patches: Vec<FrontmatterPatch> =
        inner_dash_patches(text, block).into_iter().chain(quotes).collect();
    patches.sort_by_key(|(at, _)| *at);
    let node = parse(text, block, &patches, limits).ok()?;
    (!values.is_empty()).then_some((node, values))
}

fn report_missing_quotes(text: &str, value: &Range<usize>, report: &mut Report) {
    let written = &text[value.clone()];
    let colon = [": ", ":\t", ":\n", ":\r"].iter().any(|colon| written.contains(colon))
        || written.ends_with(':');
    let message = if colon {
        "an unquoted value contains `: `"
    } else {
        "an unquoted value starts with a character that is special in YAML"
    };
    let line_start = text[..value.start].rfind('\n').map_or(0, |at| at + 1);
    let quoted = format!("'{}'", written.replace('\'', "''"));
    let help =
        format!("quote the value: {}{}", &text[line_start..value.start], first_line(&quoted));
    report
        .warning(&AS_04, value.clone(), message)
        .help(printable(&help))
        .fix(value.clone(), quoted);
}

fn first_line(text: &str) -> String {
    match text.split_once(['\r', '\n']) {
        Some((line, _)) => format!("{line} …"),
        None => text.into(),
    }
}

/// An inserted character and its position in the file.
type FrontmatterPatch = (usize, char);

/// YAML ends a document at a `---` line even inside quotes; a space before it prevents that.
fn inner_dash_patches(text: &str, block: &Range<usize>) -> Vec<FrontmatterPatch> {
    let lines = text[block.clone()].match_indices("\n---");
    lines.map(|(at, _)| (block.start + at + 1, ' ')).collect()
}

/// Quotes a value; quotes inside it are doubled.
fn quote_patches(text: &str, value: &Range<usize>) -> Vec<FrontmatterPatch> {
    let inner = text[value.clone()].match_indices('\'').map(|(at, _)| value.start + at);
    let places = [value.start].into_iter().chain(inner).chain([value.end]);
    places.map(|at| (at, '\'')).collect()
}

/// A block with inserted characters.
struct PatchedFrontmatter {
    text: String,
    start: usize,
    /// The positions of the inserted characters in `text`, sorted. Each is one byte.
    patches: Vec<usize>,
}

impl PatchedFrontmatter {
    fn new(text: &str, block: &Range<usize>, patches: &[FrontmatterPatch]) -> Self {
        let mut patched = Self { text: String::new(), start: block.start, patches: Vec::new() };
        let mut done = block.start;
        for &(at, c) in patches {
            patched.text += &text[done..at];
            patched.patches.push(patched.text.len());
            patched.text.push(c);
            done = at;
        }
        patched.text += &text[done..block.end];
        patched
    }

    /// Maps a span in the patched block to the file.
    fn original_span(&self, span: &Range<usize>) -> Range<usize> {
        let back = |offset: usize| {
            self.start + offset - self.patches.partition_point(|patch| *patch < offset)
        };
        back(span.start)..back(span.end)
    }
}

/// Returns the values that YAML would not read as text.
fn values_to_quote(text: &str, block: &Range<usize>, limits: &Limits) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut offset = block.start;
    let mut lines = text[block.clone()].split_inclusive('\n').peekable();
    // A key without a value may have nested keys.
    let mut nested = false;
    while let Some(line) = lines.next() {
        let indented = line.starts_with([' ', '\t']);
        let key = key_end(line).filter(|_| !indented || nested);
        let start = offset + key.unwrap_or(0);
        offset += line.len();
        let Some(key) = key else { continue };
        let value_is_empty = line[key..].trim().is_empty();
        if !indented {
            nested = value_is_empty;
        }
        if value_is_empty {
            continue;
        }
        let indent = line.len() - line.trim_start().len();
        // A line that is indented deeper continues the value, unless it is a field itself.
        while let Some(more) = lines.next_if(|next| is_continuation(next, indent)) {
            offset += more.len();
        }
        let value = &text[start..offset];
        let trimmed =
            start + (value.len() - value.trim_start().len())..start + value.trim_end().len();
        let trimmed = trim_comment(text, trimmed);
        if needs_quotes(&text[trimmed.clone()], limits) {
            found.push(trimmed);
        }
    }
    found
}

/// Returns where the value after a key and its colon starts.
fn key_end(line: &str) -> Option<usize> {
    let indent = line.len() - line.trim_start().len();
    let colon = line.find(':')?;
    let key = &line[indent.min(colon)..colon];
    let plain = !key.is_empty()
        && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_');
    let blank = line[colon + 1..].starts_with([' ', '\t', '\r', '\n']) || line.len() == colon + 1;
    (plain && blank).then_some(colon + 1)
}

fn is_continuation(line: &str, indent: usize) -> bool {
    let own = line.len() - line.trim_start().len();
    let field =
        key_end(line).is_some_and(|end| STANDARD_FIELDS.contains(&line[own..end - 1].trim()));
    own > indent && !line.trim().is_empty() && !field
}

/// A comment ends an unquoted value; there are none inside quotes. A tag is not a comment.
fn trim_comment(text: &str, value: Range<usize>) -> Range<usize> {
    let written = &text[value.clone()];
    let comment = comment_start(written).filter(|_| !written.starts_with(['"', '\'']));
    match comment {
        Some(comment) => {
            value.start..value.start + text[value.start..value.start + comment].trim_end().len()
        }
        None => value,
    }
}

fn needs_quotes(value: &str, limits: &Limits) -> bool {
    if value.is_empty() || is_block_header(value) {
        return false;
    }
    if let Some(open) = value.chars().next().filter(|c| matches!(c, '"' | '\'' | '[' | '{')) {
        return continues_after_close(value, open) && yaml::parse(value, limits).is_err();
    }
    let colon = [": ", ":\t", ":\n", ":\r"].iter().any(|colon| value.contains(colon))
        || value.ends_with(':');
    let indicator = ["- ", "? ", "| ", "> "].iter().any(|indicator| value.starts_with(indicator));
    !value.starts_with(['&', '!']) && (colon || indicator) || yaml::parse(value, limits).is_err()
}

/// Whether a value is a block scalar header such as `
/// `, `>-` or `
/// 2`.
fn is_block_header(value: &str) -> bool {
    let first = value.lines().next().unwrap_or_default();
    first.strip_prefix(['|', '>']).is_some_and(|rest| {
        let rest = rest.split(" #").next().unwrap_or_default();
        rest.trim().chars().all(|c| matches!(c, '+' | '-' | '0'..='9'))
    })
}

/// Whether text follows the closing delimiter, as in `[WIP] does x` or `"so called" y`.
fn continues_after_close(value: &str, open: char) -> bool {
    let close = match open {
        '[' => ']',
        '{' => '}',
        quote => quote,
    };
    value[1..].find(close).is_some_and(|at| !value[at + 2..].trim().is_empty())
        && !value.ends_with(close)
}
