//! The events of a Markdown text, in time and memory that do not depend on what it holds.
//!
//! The parser builds a tree of the whole text that it is given, with a node for every mark and every line
//! end: 50 bytes or more for one byte of dense Markdown. So a long text is parsed window by window. A window
//! ends between two top-level blocks: a block counts as closed if anything but white space follows it in
//! the window, and one that may go on is parsed again at the start of the next window. A block that does not
//! fit in a window makes it grow.
//!
//! Three kinds of text are not written by people, and are read no further than to where they begin:
//!
//! - a block with more than [`MAX_BLOCK_MARKS`] marks and line ends,
//! - a text with more than [`MAX_MARKS`] of them,
//! - a line that begins with more than [`MAX_DEPTH`] quotes and list items, because the parser compares all of
//!   them with each following line.
//!
//! [`Events::unread_from`] returns where that is. A text of at most [`WINDOW_BYTES`] is otherwise parsed
//! as a whole. In a longer one, a link by reference finds every line of the text that looks like its
//! definition; a footnote finds its definition only in its own window.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;
use std::rc::Rc;

use pulldown_cmark::{BrokenLink, BrokenLinkCallback, CowStr, Event, OffsetIter, Options, Parser};

/// The usual length of a window.
const WINDOW_BYTES: usize = 128 * 1024;
/// How many marks and line ends one block may have. The densest of a thousand files of skills and
/// programs has one in four bytes, the usual one in ten.
const MAX_BLOCK_MARKS: usize = 96 * 1024;
/// The same for a text: one in five bytes of 16 MiB.
const MAX_MARKS: usize = 3 * 1024 * 1024;
/// Quotes and list items within each other, at the start of one line.
const MAX_DEPTH: usize = 100;
/// More blanks than this before a mark make it code.
const MAX_BLANKS: usize = 8;
/// How many link definitions are remembered for other windows.
const MAX_DEFINITIONS: usize = 16 * 1024;

/// The events of a text, each with its bytes.
pub struct MarkdownEvents<'a> {
    text: &'a str,
    options: Options,
    /// How much is parsed at once, unless one block is longer.
    window_bytes: usize,
    definitions: Option<LinkDestinations<'a>>,
    window: Option<MarkdownWindow<'a>>,
    /// Where the next window begins.
    next_start: usize,
    unread_from: Option<usize>,
    /// How many marks and line ends the windows may still have.
    marks_left: usize,
    /// The link definitions of the windows that were parsed, if somebody wants them.
    found_definitions: Option<Vec<LinkDefinition>>,
}

/// A link definition: `[label]: destination`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkDefinition {
    /// All of its bytes.
    pub span: Range<usize>,
    /// Where it leads.
    pub destination: String,
}

/// A part of the text that is being parsed.
struct MarkdownWindow<'a> {
    range: Range<usize>,
    events: OffsetIter<'a, LinkDestinations<'a>>,
    /// How many elements are open.
    depth: usize,
    /// The last byte that is not white space: a block that ends behind it may go on in the next window.
    last_byte: Option<usize>,
    /// The end of the last block that cannot go on.
    closed_to: usize,
}

/// The events of a Markdown text from `start` on; ranges count from the start of `text`.
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
    /// Where the part of the text begins that was not read, once there are no more events.
    pub fn unread_from(&self) -> Option<usize> {
        self.unread_from
    }

    /// The same events, and link definitions for [`Events::take_definitions`].
    pub fn with_definitions(self) -> Self {
        Self { found_definitions: Some(Vec::new()), ..self }
    }

    /// Takes the link definitions that were found since the last call, in no particular order. They do not
    /// come with the blocks between which they stand, but some time later.
    pub fn take_definitions(&mut self) -> Vec<LinkDefinition> {
        self.found_definitions.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Begins the next window; `false` at the end of what is read.
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

    /// Leaves a top-level block that may go on behind the window to another window.
    fn defer_block(&mut self, block_start: usize) {
        let Some(window) = &self.window else { return };
        let MarkdownWindow { range: Range { start, .. }, closed_to, .. } = *window;
        let line_start = self.text[closed_to..block_start]
            .rfind('\n')
            .map_or(closed_to, |at| closed_to + at + 1);
        // A definition decides what an indented line behind it is, so it is parsed again too.
        let is_behind_definition = !self.text[closed_to..line_start].trim().is_empty();
        let next_start = if is_behind_definition { closed_to } else { line_start };
        if next_start == start {
            self.grow();
        } else {
            self.leave_window(next_start);
        }
    }

    /// Parses the current window again with more behind it, unless its one block has too many marks.
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

    /// Ends a window whose events were all taken.
    fn close_window(&mut self) {
        let Some(window) = &self.window else { return };
        let MarkdownWindow { last_byte, closed_to, .. } = *window;
        let Range { start, end } = window.range;
        if last_byte.is_none() || self.text[closed_to..end].trim().is_empty() {
            self.leave_window(end);
        } else if closed_to > start {
            // Behind the last block stand link definitions, of which the last may go on.
            self.leave_window(closed_to);
        } else {
            self.grow();
        }
    }

    /// Goes on to the next window, with the definitions of what was taken of this one.
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

/// The end of the window of about `length` bytes from `start` on: the end of a line, unless a line is as long
/// as the window. It ends before a line that is nested too deep.
fn window_end(text: &str, start: usize, length: usize) -> usize {
    let most = text.floor_char_boundary(start.saturating_add(length));
    let end = match most < text.len() {
        true => text[start..most].rfind('\n').map_or(most, |at| start + at + 1),
        false => text.len(),
    };
    let bytes = text.as_bytes();
    let mut at = start;
    while at < end {
        // What begins the window was looked at before.
        let may_be_deep =
            matches!(bytes[at], b' ' | b'\t' | b'>' | b'-' | b'*' | b'+' | b'0'..=b'9');
        if may_be_deep && at > start && is_too_deep(&text[at..]) {
            return at;
        }
        at += match bytes[at] {
            b'\n' => 1,
            _ => text[at..end].find('\n').map_or(end - at, |length| length + 1),
        };
    }
    end
}

/// How many nodes the parser makes of a text, about.
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

/// Where the text behind the marks of quotes and list items begins, if its first line has too many.
fn behind_deep_marks(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = 0;
    let mut depth = 0;
    loop {
        let blanks = bytes[at..]
            .iter()
            .take(MAX_BLANKS)
            .take_while(|byte| matches!(byte, b' ' | b'\t'))
            .count();
        match container_mark(&bytes[at + blanks..]) {
            Some(length) => at += blanks + length,
            None => break,
        }
        depth += 1;
    }
    let is_rule = || is_thematic_break(text.split('\n').next().unwrap_or_default());
    (depth > MAX_DEPTH && !is_rule()).then_some(at)
}

/// The length of the mark of a quote or a list item that a text begins with.
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

/// Whether a line is a thematic break: stars or dashes with blanks between them.
fn is_thematic_break(line: &str) -> bool {
    let mut marks = line.bytes().filter(|byte| !byte.is_ascii_whitespace());
    let first = marks.next();
    matches!(first, Some(b'-' | b'*')) && marks.all(|byte| Some(byte) == first)
}

/// The destinations of the link definitions in a whole text, by their labels: a window knows only its own.
#[derive(Clone)]
struct LinkDestinations<'a> {
    text: &'a str,
    destinations: Rc<HashMap<u64, Range<usize>>>,
}

impl<'a> LinkDestinations<'a> {
    fn of(text: &'a str, start: usize) -> Self {
        let mut destinations = HashMap::new();
        let (mut seen, mut line_start, mut last_line) = (start, start, None);
        for (at, _) in text[start..].match_indices("]:") {
            let at = start + at;
            line_start =
                text[seen..at].rfind('\n').map_or(line_start, |newline| seen + newline + 1);
            seen = at;
            // The first of a line ends the label.
            if last_line.replace(line_start) == Some(line_start) {
                continue;
            }
            let line_end = text[at..].find('\n').map_or(text.len(), |length| at + length);
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

/// The label of a line `[label]: destination`, and where its destination stands.
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

/// Labels are the same if their words are, in either case.
fn hash_label(label: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    for word in label.split_whitespace() {
        word.to_lowercase().hash(&mut hasher);
    }
    hasher.finish()
}

#[cfg(test)]
mod tests;
