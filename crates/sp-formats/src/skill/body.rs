//! The Markdown body of a skill: its size, and the files that it refers to.
//!
//! A path in the text counts as a reference, and so does one in a block of shell commands. Code in
//! other languages shows examples. Whether a reference is valid is checked in
//! [`reference_check`](super::reference_check).

use std::iter::Peekable;
use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, LinkType, Options, Tag, TagEnd};

use crate::markdown::{LinkDefinition, events};
use crate::percent;
use crate::report::Report;
use crate::skill::rules::AS_06;
use crate::web_url::split_scheme;

/// The recommended maximum number of tokens in a body.
pub const MAX_BODY_TOKENS: usize = 5000;
/// The recommended maximum number of lines in a body.
pub const MAX_BODY_LINES: usize = 500;

/// The maximum number of references of a block that are buffered.
const MAX_PENDING_REFERENCES: usize = 1_000;

/// Directories of a skill whose files may be mentioned in its text.
const RESOURCE_FOLDERS: [&str; 3] = ["scripts/", "references/", "assets/"];
/// The common suffix of [`RESOURCE_FOLDERS`].
const RESOURCE_FOLDER_SUFFIX: &str = "s/";

/// Prefixes of paths that are relative to the skill's directory.
const SKILL_DIR_PREFIXES: [&str; 4] =
    ["./", "{baseDir}/", "${CLAUDE_SKILL_DIR}/", "$CLAUDE_SKILL_DIR/"];

/// A file that a text refers to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillFileReference {
    /// The path as written, percent-decoded.
    pub path: String,
    pub span: Range<usize>,
    pub kind: ReferenceKind,
}

impl SkillFileReference {
    /// Whether it is a link or an image.
    pub fn is_link(&self) -> bool {
        self.kind == ReferenceKind::Link
    }
}

/// How a text refers to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReferenceKind {
    /// A link or an image, relative to the file with the text.
    Link,
    /// A path in the text, relative to the skill's directory.
    Mention,
    /// A path in a block of shell commands. It may belong to the project that the skill is used in.
    Command,
}

/// Reports a body that is too large.
pub fn check_body_size(body: &Range<usize>, tokens: usize, report: &mut Report) {
    let lines = count_lines(&report.text[body.clone()]);
    let (has_many_tokens, has_many_lines) = (tokens > MAX_BODY_TOKENS, lines > MAX_BODY_LINES);
    let message = match (has_many_tokens, has_many_lines) {
        (true, true) => format!(
            "the body has {tokens} tokens and {lines} lines; the recommended maximum is \
             {MAX_BODY_TOKENS} tokens and {MAX_BODY_LINES} lines"
        ),
        (true, false) => {
            format!("the body has {tokens} tokens; the recommended maximum is {MAX_BODY_TOKENS}")
        }
        (false, true) => {
            format!("the body has {lines} lines; the recommended maximum is {MAX_BODY_LINES}")
        }
        (false, false) => return,
    };
    let span = first_nonblank_line(&report.text, body);
    let help = "move details to files in `references/`, and link to them";
    report.warning(&AS_06, span, message).help(help);
}

/// Returns what `text.lines().count()` would, without looking at each line.
fn count_lines(text: &str) -> usize {
    let line_feeds = text.bytes().filter(|byte| *byte == b'\n').count();
    line_feeds + usize::from(!text.is_empty() && !text.ends_with('\n'))
}

/// The first line of the body that is not blank.
fn first_nonblank_line(text: &str, body: &Range<usize>) -> Range<usize> {
    let blank = text[body.clone()].len() - text[body.clone()].trim_start().len();
    let start = body.start + blank;
    let line = text[start..].lines().next().unwrap_or_default();
    start..start + line.len()
}

/// Returns every file that the Markdown from `start` on refers to.
pub fn references(text: &str, start: usize) -> Vec<SkillFileReference> {
    let mut found = Vec::new();
    for_each_reference(text, start, &mut |reference| found.push(reference));
    found.sort_by_key(|reference| reference.span.start);
    found
}

/// Calls a function for every file that the Markdown from `start` on refers to, block by block,
/// since a text may have millions. Returns where reading stopped: see [`events`].
pub fn for_each_reference(
    text: &str,
    start: usize,
    on_reference: &mut dyn FnMut(SkillFileReference),
) -> Option<usize> {
    let options = Options::ENABLE_TABLES | Options::ENABLE_FOOTNOTES | Options::ENABLE_TASKLISTS;
    let mut events = events(text, start, options).with_definitions();
    let mut reader = ReferenceReader {
        text,
        mentions: find_mentions(text, start).peekable(),
        code: CodeKind::None,
        depth: 0,
        pending: Vec::new(),
        on_reference,
    };
    while let Some((event, range)) = events.next() {
        reader.read(event, range);
        if reader.depth == 0 || reader.pending.len() >= MAX_PENDING_REFERENCES {
            reader.flush_block();
        }
        reader.report_definitions(events.take_definitions());
    }
    reader.report_definitions(events.take_definitions());
    events.unread_from()
}

/// Finds references in the events of a Markdown parser.
struct ReferenceReader<'t, 'f, M: Iterator<Item = SkillFileReference>> {
    text: &'t str,
    /// The paths in the text that were not reached yet.
    mentions: Peekable<M>,
    /// The code block that is being read.
    code: CodeKind,
    depth: usize,
    /// References in the current block.
    pending: Vec<SkillFileReference>,
    on_reference: &'f mut dyn FnMut(SkillFileReference),
}

impl<M: Iterator<Item = SkillFileReference>> ReferenceReader<'_, '_, M> {
    fn read(&mut self, event: Event<'_>, range: Range<usize>) {
        match event {
            Event::Start(_) => self.depth += 1,
            Event::End(_) => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
        match event {
            Event::Start(
                Tag::Link { dest_url, link_type, .. } | Tag::Image { dest_url, link_type, .. },
            ) => {
                // A reference link is checked at its definition, once.
                if matches!(link_type, LinkType::Inline) {
                    self.pending.extend(link_reference(self.text, range, &dest_url));
                }
            }
            Event::Start(Tag::CodeBlock(kind)) => {
                self.code = CodeKind::of(&kind, &self.text[range]);
            }
            Event::End(TagEnd::CodeBlock) => self.code = CodeKind::None,
            // A link in code shows how to write one.
            Event::Code(code) if code.contains("](") => {}
            Event::Text(_) | Event::Code(_) | Event::Html(_) | Event::InlineHtml(_) => {
                self.read_mentions(&range);
            }
            _ => {}
        }
    }

    /// Takes the mentions that start in `range`.
    fn read_mentions(&mut self, range: &Range<usize>) {
        let kind = match self.code {
            CodeKind::None => ReferenceKind::Mention,
            CodeKind::Shell => ReferenceKind::Command,
            CodeKind::Example => return,
        };
        while self.mentions.next_if(|mention| mention.span.start < range.start).is_some() {}
        // A path with an underscore is several text events, so only the start is compared.
        while let Some(mention) = self.mentions.next_if(|mention| mention.span.start < range.end) {
            self.pending.push(SkillFileReference { kind, ..mention });
            if self.pending.len() >= MAX_PENDING_REFERENCES {
                self.flush_block();
            }
        }
    }

    /// Passes on the references of a block without duplicates.
    fn flush_block(&mut self) {
        self.pending
            .sort_by_key(|reference| (reference.span.start, reference.kind != ReferenceKind::Link));
        self.pending.dedup_by(is_duplicate);
        self.pending.drain(..).for_each(&mut *self.on_reference);
    }

    fn report_definitions(&mut self, definitions: impl IntoIterator<Item = LinkDefinition>) {
        for definition in definitions {
            link_reference(self.text, definition.span, &definition.destination)
                .into_iter()
                .for_each(&mut *self.on_reference);
        }
    }
}

/// Whether two references are the same: the text of a link often is its destination. The link is
/// kept.
fn is_duplicate(later: &mut SkillFileReference, earlier: &mut SkillFileReference) -> bool {
    let overlap = later.span.start < earlier.span.end;
    let same = overlap || later.path == earlier.path && later.span.start - earlier.span.end < 4;
    if same && later.is_link() && !earlier.is_link() {
        std::mem::swap(later, earlier);
    }
    same
}

/// What the text that is being read is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CodeKind {
    /// It is not in a code block.
    None,
    /// Commands, which an agent may run.
    Shell,
    /// Any other code, such as a file to write.
    Example,
}

impl CodeKind {
    fn of(kind: &CodeBlockKind<'_>, text: &str) -> Self {
        const SHELLS: [&str; 9] = [
            "bash",
            "console",
            "fish",
            "powershell",
            "sh",
            "shell",
            "shell-session",
            "terminal",
            "zsh",
        ];
        let is_shell = matches!(kind, CodeBlockKind::Fenced(info) if info
            .split([' ', '\t', ',', '{'])
            .next()
            .is_some_and(|word| SHELLS.iter().any(|shell| word.eq_ignore_ascii_case(shell))));
        let is_tree = ["├", "└", "│", "|-- ", "+-- ", "`-- "].iter().any(|it| text.contains(it));
        if is_shell && !is_tree { Self::Shell } else { Self::Example }
    }
}

/// Returns a reference for a relative link, with the span of its destination.
fn link_reference(
    text: &str,
    range: Range<usize>,
    destination: &str,
) -> Option<SkillFileReference> {
    let path = destination.split(['#', '?']).next().unwrap_or_default();
    if path.is_empty()
        || path.starts_with(['/', '\\', '~', '<', '{', '$'])
        || split_scheme(path).is_some()
    {
        return None;
    }
    let span = destination_span(text, &range).unwrap_or(range);
    Some(SkillFileReference { path: decode_path(path), span, kind: ReferenceKind::Link })
}

/// The span of the destination in a link `[…](…)` or a definition `[…]: …`.
fn destination_span(text: &str, range: &Range<usize>) -> Option<Range<usize>> {
    let link = &text[range.clone()];
    let after_bracket =
        if link.ends_with(')') { link.rfind("](")? + 2 } else { link.find("]:")? + 2 };
    let start =
        after_bracket + (link[after_bracket..].len() - link[after_bracket..].trim_start().len());
    let rest = &link[start..];
    let (start, end) = match rest.strip_prefix('<') {
        Some(inner) => (start + 1, start + 1 + inner.find('>')?),
        None => (start, start + rest.find(|c: char| c.is_whitespace()).unwrap_or(rest.len())),
    };
    // Without a title, the closing parenthesis follows the destination.
    let closed = link[start..end].ends_with(')') && end == link.len();
    Some(range.start + start..range.start + end - usize::from(closed))
}

/// Decodes a path. One that would not be UTF-8 stays as it was written.
fn decode_path(path: &str) -> String {
    percent::decode_utf8(path).unwrap_or_else(|| path.into())
}

/// Finds paths below `scripts/`, `references/` and `assets/` in the text from `start` on, in order.
fn find_mentions(text: &str, start: usize) -> impl Iterator<Item = SkillFileReference> {
    // Searching for the common suffix finds all folders in one pass.
    let ends = text[start..].match_indices(RESOURCE_FOLDER_SUFFIX);
    ends.filter_map(move |(at, end)| {
        let behind = start + at + end.len();
        let folder =
            RESOURCE_FOLDERS.into_iter().find(|folder| text[start..behind].ends_with(folder))?;
        let at = behind - folder.len();
        let span = at..at + mention_len(&text[start..at], &text[at..], folder)?;
        Some(SkillFileReference {
            path: text[span.clone()].into(),
            span,
            kind: ReferenceKind::Mention,
        })
    })
}

/// The length of the path that starts here, if there is one.
fn mention_len(before: &str, from: &str, folder: &str) -> Option<usize> {
    let own =
        SKILL_DIR_PREFIXES.iter().find_map(|prefix| before.strip_suffix(prefix)).unwrap_or(before);
    // The rest of a longer path, which was handled at its start.
    if own.ends_with(|c: char| c.is_alphanumeric() || "_-./\\}*>~".contains(c)) {
        return None;
    }
    let end = from
        .find(|c: char| !(c.is_ascii_alphanumeric() || "_-./".contains(c)))
        .unwrap_or(from.len());
    let path = from[..end].trim_end_matches(['.', '-', '_', '/']);
    // A placeholder such as `scripts/<name>.py` or `assets/*.png` is not a file.
    let form = from[end..].starts_with(['*', '<', '{', '$', '[', '…']) || path.contains("...");
    let named =
        path.len() > folder.len() && path.rsplit('/').next().is_some_and(|leaf| leaf.contains('.'));
    (!form && named).then_some(path.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found_references(text: &str) -> Vec<(String, bool)> {
        let check_span = |reference: SkillFileReference| {
            assert_eq!(
                decode_path(text[reference.span.clone()].split('#').next().unwrap()),
                reference.path
            );
            let link = reference.is_link();
            (reference.path, link)
        };
        references(text, 0).into_iter().map(check_span).collect()
    }

    #[test]
    fn as_07_links_images_definitions_and_mentions_are_references() {
        for (text, expected) in [
            ("[a](references/x.md)", &[("references/x.md", true)][..]),
            ("![a](assets/x%20y.png)", &[("assets/x y.png", true)]),
            ("[a](x.md#part)", &[("x.md", true)]),
            ("[a]( <x y.md> \"x y.md\")", &[("x y.md", true)]),
            ("[a](x.md \"see x.md\")", &[("x.md", true)]),
            ("[![a](assets/b.png)](c.md)", &[("assets/b.png", true), ("c.md", true)]),
            ("[a][b]\n\n[b]: x.md", &[("x.md", true)]),
            ("[references/x.md](references/x.md)", &[("references/x.md", true)]),
            ("run `scripts/my_run_me.py --now`", &[("scripts/my_run_me.py", false)]),
            ("run scripts/my_run_me.py.", &[("scripts/my_run_me.py", false)]),
            ("```sh\npython ./scripts/x.py\n```", &[("scripts/x.py", false)]),
            ("python {baseDir}/scripts/x.py", &[("scripts/x.py", false)]),
        ] {
            let expected: Vec<(String, bool)> =
                expected.iter().map(|(path, link)| ((*path).into(), *link)).collect();
            assert_eq!(found_references(text), expected, "{text}");
        }
    }

    #[test]
    fn as_07_urls_and_placeholders_are_not_references() {
        for text in [
            "[a](https://x.y/z.md) [b](mailto:a@b.c) [c](#part) [d](/root.md) [e](~/x.md)",
            "my-skill/scripts/x.py and https://x.y/scripts/x.py",
            "scripts/*.py, scripts/<name>.py, scripts/{name}.py, scripts/, scripts/run",
            "```\nskill/\n├── scripts/x.py\n```",
            "```markdown\n[a](x.md) scripts/x.py\n```",
            "`[a](x.md)` and `[a](references/x.md)`",
            "```yaml\n# see references/x.md\n```",
            "```\npython scripts/x.py\n```",
            "    python scripts/x.py",
        ] {
            assert_eq!(found_references(text), [], "{text}");
        }
    }
}
