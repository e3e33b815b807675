//! Markdown events, in time and memory that do not depend on the content.
//!
//! The parser builds a tree of the whole text that it is given, with a node for every delimiter and
//! line break: 50 bytes or more per byte of dense Markdown. So a long text is parsed in windows. A
//! window ends between two top-level blocks: a block is closed if anything but white space follows
//! it in the window, and a block that may continue is parsed again at the start of the next window.
//! A block that does not fit into a window makes it grow.
//!
//! Reading stops before text that no human writes:
//!
//! - a block with more than [`MAX_BLOCK_MARKS`] delimiters and line breaks,
//! - a text with more than [`MAX_MARKS`] of them,
//! - a line that starts with more than [`MAX_DEPTH`] block quotes and list items, because the
//!   parser compares all of them with each following line.
//!
//! [`MarkdownEvents::unread_from`] returns where reading stopped. A text of at most
//! [`WINDOW_BYTES`] is otherwise parsed as a whole. In a longer one, a reference link finds every
//! line of the text that looks like its definition; a footnote finds its definition only in its own
//! window.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;
use std::rc::Rc;

use pulldown_cmark::{BrokenLink, BrokenLinkCallback, CowStr, Event, OffsetIter, Options, Parser};

/// The usual length of a window.
const WINDOW_BYTES: usize = 128 * 1024;
/// The maximum number of delimiters and line breaks in a block. Of a thousand files of skills and
/// source code, the densest has one in four bytes, and one in ten is typical.
const MAX_BLOCK_MARKS: usize = 96 * 1024;
/// The same for a whole text: one in five bytes of 16 MiB.
const MAX_MARKS: usize = 3 * 1024 * 1024;
/// The maximum nesting of block quotes and list items at the start of a line.
const MAX_DEPTH: usize = 100;
/// A delimiter after more spaces than this is code.
const MAX_BLANKS: usize = 8;
/// The maximum number of link definitions that are shared between windows.
const MAX_DEFINITIONS: usize = 16 * 1024;

/// An iterator over the events of a text, each with its span.
pub struct MarkdownEvents<'a> {
    text: &'a str,
    options: Options,
    /// How much is parsed at once, unless a single block is longer.
    window_bytes: usize,
    definitions: Option<LinkDestinations<'a>>,
    window: Option<MarkdownWindow<'a>>,
    next_start: usize,
    unread_from: Option<usize>,
    /// How many delimiters and line breaks may still be parsed.
    marks_left: usize,
    /// The link definitions of the windows parsed so far, if requested.
    found_definitions: Option<Vec<LinkDefinition>>,
}

/// A link definition, `[label]: destination`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkDefinition {
    pub span: Range<usize>,
    pub destination: String,
}

/// The part of the text that is being parsed.
struct MarkdownWindow<'a> {
    range: Range<usize>,
    events: OffsetIter<'a, LinkDestinations<'a>>,
    /// The number of open elements.
    depth: usize,
    /// The last byte that is not white space. A block that ends after it may continue in the next
    /// window.
    last_byte: Option<usize>,
    /// The end of the last closed block.
    closed_to: usize,
}

/// Returns the events of a Markdown text from `start` on. Spans are relative to the start of
/// `text`.
pub fn events(text: &str, start: usize, options: Options) -> MarkdownEvents<'_> {
    let is_long = text.len() - start > WINDOW_BYTES;
    MarkdownEvents {
        text,
        options,
        window_bytes: WINDOW_BYTES,
        definitions: is_long.then(|| LinkDestinations::of(text, start)),
        window: None,
        next_start: start,
        unread_from: None,
        marks_left: MAX_MARKS,
        found_definitions: None,
    }
}

impl<'a> MarkdownEvents<'a> {
    /// Where reading stopped, after the last event; `None` if everything was read.
    pub fn unread_from(&self) -> Option<usize> {
        self.unread_from
    }

    /// Collects link definitions for [`take_definitions`](Self::take_definitions).
    pub fn with_definitions(self) -> Self {
        Self { found_definitions: Some(Vec::new()), ..self }
    }

    /// Takes the link definitions found since the last call, in no particular order. They become
    /// available some time after the blocks around them.
    pub fn take_definitions(&mut self) -> Vec<LinkDefinition> {
        self.found_definitions.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Starts the next window; `false` at the end.
    fn open_window(&mut self) -> bool {
        let start = self.next_start;
        if start >= self.text.len() || self.unread_from.is_some() {
            return false;
        }
        let end = window_end(self.text, start, self.window_bytes);
        let marks = count_marks(&self.text[start..end]);
        if marks > self.marks_left || is_too_deep(&self.text[start..]) {
            self.unread_from = Some(start);
            return false;
        }
        self.marks_left -= marks;
        self.window = Some(self.parse(start, end));
        true
    }

    fn parse(&self, start: usize, end: usize) -> MarkdownWindow<'a> {
        let text = &self.text[start..end];
        let parser =
            Parser::new_with_broken_link_callback(text, self.options, self.definitions.clone());
        let is_last = end == self.text.len() || is_too_deep(&self.text[end..]);
        let last_byte =
            text.trim_end().len().checked_sub(1).filter(|_| !is_last).map(|last| start + last);
        MarkdownWindow {
            range: start..end,
            events: parser.into_offset_iter(),
            depth: 0,
            last_byte,
            closed_to: start,
        }
    }

    /// Leaves a top-level block that may continue to the next window.
    fn defer_block(&mut self, block_start: usize) {
        let Some(window) = &self.window else { return };
        let MarkdownWindow { range: Range { start, .. }, closed_to, .. } = *window;
        let line_start = self.text[closed_to..block_start]
            .rfind('\n')
            .map_or(closed_to, |at| closed_to + at + 1);
        // A definition determines how an indented line after it is parsed, so it is parsed again
        // too.
        let is_behind_definition = !self.text[closed_to..line_start].trim().is_empty();
        let next_start = if is_behind_definition { closed_to } else { line_start };
        if next_start == start {
            self.grow();
        } else {
            self.leave_window(next_start);
        }
    }

    /// Parses the current window again with more text, unless its only block has too many
    /// delimiters.
    fn grow(&mut self) {
        let Some(window) = &self.window else { return };
        let Range { start, end } = window.range;
        let mut length = (end - start) * 2;
        // The next line may be longer than the window.
        while window_end(self.text, start, length) <= end && start + length < self.text.len() {
            length *= 2;
        }
        let longer = window_end(self.text, start, length);
        if count_marks(&self.text[start..longer]) > MAX_BLOCK_MARKS {
            self.unread_from = Some(start);
            self.leave_window(start);
        } else {
            self.window = Some(self.parse(start, longer));
        }
    }

    /// Ends a window after its last event.
    fn close_window(&mut self) {
        let Some(window) = &self.window else { return };
        let MarkdownWindow { last_byte, closed_to, .. } = *window;
        let Range { start, end } = window.range;
        if last_byte.is_none() || self.text[closed_to..end].trim().is_empty() {
            self.leave_window(end);
        } else if closed_to > start {
            // After the last block there may be link definitions, and the last one may continue.
            self.leave_window(closed_to);
        } else {
            self.grow();
        }
    }

    /// Moves on to the next window and collects the link definitions of this one.
    fn leave_window(&mut self, next_start: usize) {
        self.next_start = next_start;
        let Some(window) = self.window.take() else { return };
        let Some(found) = &mut self.found_definitions else { return };
        for (_, definition) in window.events.reference_definitions().iter() {
            let span = definition.span.start + window.range.start
                ..definition.span.end + window.range.start;
            if span.start < next_start {
                found.push(LinkDefinition { span, destination: definition.dest.to_string() });
            }
        }
    }
}

impl<'a> Iterator for MarkdownEvents<'a> {
    type Item = (Event<'a>, Range<usize>);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if self.window.is_none() && !self.open_window() {
                return None;
            }
            let window = self.window.as_mut()?;
            let Some((event, range)) = window.events.next() else {
                self.close_window();
                continue;
            };
            let range = range.start + window.range.start..range.end + window.range.start;
            if window.depth == 0 && window.last_byte.is_some_and(|last| range.end > last) {
                self.defer_block(range.start);
                continue;
            }
            match &event {
                Event::Start(_) => window.depth += 1,
                Event::End(_) => window.depth -= 1,
                _ => {}
            }
            if window.depth == 0 {
                window.closed_to = range.end;
            }
            return Some((event, range));
        }
    }
}

/// Returns the end of a window of about `length` bytes: the end of a line, unless a single line is
/// longer. It ends before a line that is nested too deeply.
fn window_end(text: &str, start: usize, length: usize) -> usize {
    let most = text.floor_char_boundary(start.saturating_add(length));
    let end = if most < text.len() {
        text[start..most].rfind('\n').map_or(most, |offset| start + offset + 1)
    } else {
        text.len()
    };
    let bytes = text.as_bytes();
    let mut offset = start;
    while offset < end {
        // The start of the window was checked before.
        let may_be_deep =
            matches!(bytes[offset], b' ' | b'\t' | b'>' | b'-' | b'*' | b'+' | b'0'..=b'9');
        if may_be_deep && offset > start && is_too_deep(&text[offset..]) {
            return offset;
        }
        offset += match bytes[offset] {
            b'\n' => 1,
            _ => text[offset..end].find('\n').map_or(end - offset, |length| length + 1),
        };
    }
    end
}

/// The approximate number of nodes that the parser would create.
fn count_marks(text: &str) -> usize {
    text.bytes()
        .map(|byte| match byte {
            b'\n' => 2,
            b'*' | b'_' | b'~' | b'`' | b'[' | b']' | b'!' | b'<' | b'&' | b'\\' | b'|' | b'\r' => {
                1
            }
            _ => 0,
        })
        .sum()
}

fn is_too_deep(text: &str) -> bool {
    behind_deep_marks(text).is_some()
}

/// If the first line is nested too deeply, returns where the text after its delimiters starts.
fn behind_deep_marks(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut offset = 0;
    let mut depth = 0;
    loop {
        let blanks = bytes[offset..]
            .iter()
            .take(MAX_BLANKS)
            .take_while(|byte| matches!(byte, b' ' | b'\t'))
            .count();
        match container_mark(&bytes[offset + blanks..]) {
            Some(length) => offset += blanks + length,
            None => break,
        }
        depth += 1;
    }
    let is_rule = || is_thematic_break(text.split('\n').next().unwrap_or_default());
    (depth > MAX_DEPTH && !is_rule()).then_some(offset)
}

/// The length of the block quote or list item delimiter at the start of a text.
fn container_mark(bytes: &[u8]) -> Option<usize> {
    let digits = bytes.iter().take(10).take_while(|byte| byte.is_ascii_digit()).count();
    let length = match bytes.get(digits)? {
        b'>' if digits == 0 => return Some(1),
        b'-' | b'*' | b'+' if digits == 0 => 1,
        b'.' | b')' if (1..=9).contains(&digits) => digits + 1,
        _ => return None,
    };
    bytes
        .get(length)
        .is_none_or(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n'))
        .then_some(length)
}

/// Whether a line consists of asterisks or dashes and spaces.
fn is_thematic_break(line: &str) -> bool {
    let mut marks = line.bytes().filter(|byte| !byte.is_ascii_whitespace());
    let first = marks.next();
    matches!(first, Some(b'-' | b'*')) && marks.all(|byte| Some(byte) == first)
}

/// The destinations of all link definitions in a text by label, because a window knows only its
/// own.
#[derive(Clone)]
struct LinkDestinations<'a> {
    text: &'a str,
    destinations: Rc<HashMap<u64, Range<usize>>>,
}

impl<'a> LinkDestinations<'a> {
    fn of(text: &'a str, start: usize) -> Self {
        let mut destinations = HashMap::new();
        let (mut seen, mut line_start, mut last_line) = (start, start, None);
        for (offset, _) in text[start..].match_indices("]:") {
            let offset = start + offset;
            line_start =
                text[seen..offset].rfind('\n').map_or(line_start, |newline| seen + newline + 1);
            seen = offset;
            // Only the first `]:` on a line ends a label.
            if last_line.replace(line_start) == Some(line_start) {
                continue;
            }
            let line_end = text[offset..].find('\n').map_or(text.len(), |length| offset + length);
            if let Some((label, destination)) = parse_definition(&text[line_start..line_end]) {
                destinations
                    .entry(hash_label(label))
                    .or_insert(line_start + destination.start..line_start + destination.end);
            }
            if destinations.len() == MAX_DEFINITIONS {
                break;
            }
        }
        Self { text, destinations: Rc::new(destinations) }
    }
}

impl<'a> BrokenLinkCallback<'a> for LinkDestinations<'a> {
    fn handle_broken_link(&mut self, link: BrokenLink<'a>) -> Option<(CowStr<'a>, CowStr<'a>)> {
        let destination = self.destinations.get(&hash_label(&link.reference))?.clone();
        Some((self.text[destination].into(), "".into()))
    }
}

/// Parses `[label]: destination`; returns the label and the span of the destination.
fn parse_definition(line: &str) -> Option<(&str, Range<usize>)> {
    let inside = line.trim_start_matches([' ', '>']).strip_prefix('[')?;
    let (label, rest) = inside.split_once("]:")?;
    let rest = rest.trim_start();
    let start = line.len() - rest.len();
    let (skipped, length) = match rest.strip_prefix('<') {
        Some(inner) => (1, inner.find('>')?),
        None => (0, rest.find(char::is_whitespace).unwrap_or(rest.len())),
    };
    let start = start + skipped;
    (length > 0 && !label.starts_with('^')).then_some((label, start..start + length))
}

/// Labels match regardless of case and white space.
fn hash_label(label: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    for word in label.split_whitespace() {
        word.to_lowercase().hash(&mut hasher);
    }
    hasher.finish()
}

#[cfg(test)]
mod tests;
