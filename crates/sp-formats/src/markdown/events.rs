//! The events of a Markdown text, in time and memory that do not depend on what it holds.
//!
//! The parser builds a tree of the whole text that it is given, with a node for every mark and every line
//! end: 50 bytes or more for one byte of dense Markdown. So a long text is parsed window by window. A window
//! ends between two top-level blocks: a block counts as closed if anything but white space follows it in
//! the window, and one that may go on is parsed again at the start of the next window. A block that does not
//! fit in a window makes it grow.
//!
//! Two kinds of text are not written by people, and are split where the rules of Markdown would not:
//!
//! - one block with more than [`MAX_MARKS`] marks and line ends is parsed in parts,
//! - in a line that begins with more than [`MAX_DEPTH`] quotes and list items, these marks are skipped,
//!   because the parser compares all of them with each following line.
//!
//! [`Events::split_at`] returns where that happened. A text of at most [`WINDOW_BYTES`] is otherwise parsed
//! as a whole. In a longer one, a link by reference finds every line of the text that looks like its
//! definition; a footnote finds its definition only in its own window.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;
use std::rc::Rc;

use pulldown_cmark::{BrokenLink, BrokenLinkCallback, CowStr, Event, OffsetIter, Options, Parser};

/// The usual length of a window.
const WINDOW_BYTES: usize = 256 * 1024;
/// How many marks and line ends a window that has grown may have.
const MAX_MARKS: usize = 256 * 1024;
/// Quotes and list items within each other, at the start of one line.
const MAX_DEPTH: usize = 100;
/// More blanks than this before a mark make it code.
const MAX_BLANKS: usize = 8;
/// How many link definitions are remembered for other windows.
const MAX_DEFINITIONS: usize = 16 * 1024;

/// The events of a text, each with its bytes.
pub struct Events<'a> {
    text: &'a str,
    options: Options,
    /// How much is parsed at once, unless one block is longer.
    window_bytes: usize,
    definitions: Option<Definitions<'a>>,
    window: Option<Window<'a>>,
    /// Where the next window begins.
    next_start: usize,
    split_at: Option<usize>,
    /// The link definitions of the windows that were parsed, if somebody wants them.
    found_definitions: Option<Vec<Definition>>,
}

/// A link definition: `[label]: destination`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Definition {
    /// All of its bytes.
    pub span: Range<usize>,
    /// Where it leads.
    pub destination: String,
}

/// A part of the text that is being parsed.
struct Window<'a> {
    range: Range<usize>,
    events: OffsetIter<'a, Definitions<'a>>,
    /// How many elements are open.
    depth: usize,
    /// The last byte that is not white space: a block that ends behind it may go on in the next window.
    last_byte: Option<usize>,
    /// The end of the last block that cannot go on.
    closed_to: usize,
}

/// The events of a Markdown text from `start` on; ranges count from the start of `text`.
pub fn events(text: &str, start: usize, options: Options) -> Events<'_> {
    let is_long = text.len() - start > WINDOW_BYTES;
    Events {
        text,
        options,
        window_bytes: WINDOW_BYTES,
        definitions: is_long.then(|| Definitions::of(text, start)),
        window: None,
        next_start: start,
        split_at: None,
        found_definitions: None,
    }
}

impl<'a> Events<'a> {
    /// The first place at which the text was split although a block goes on there.
    pub fn split_at(&self) -> Option<usize> {
        self.split_at
    }

    /// The same events, and link definitions for [`Events::take_definitions`].
    pub fn with_definitions(self) -> Self {
        Self { found_definitions: Some(Vec::new()), ..self }
    }

    /// Takes the link definitions that were found since the last call, in no particular order. They do not
    /// come with the blocks between which they stand, but some time later.
    pub fn take_definitions(&mut self) -> Vec<Definition> {
        self.found_definitions.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Begins the next window; `false` at the end of the text.
    fn open_window(&mut self) -> bool {
        let mut start = self.next_start;
        if let Some(behind) = behind_deep_marks(&self.text[start..]) {
            self.split_at.get_or_insert(start);
            start += behind;
        }
        if start >= self.text.len() {
            return false;
        }
        self.window = Some(self.parse(start, window_end(self.text, start, self.window_bytes)));
        true
    }

    fn parse(&self, start: usize, end: usize) -> Window<'a> {
        let text = &self.text[start..end];
        let parser = Parser::new_with_broken_link_callback(text, self.options, self.definitions.clone());
        let is_last = end == self.text.len() || is_deep(&self.text[end..]);
        let last_byte = text.trim_end().len().checked_sub(1).filter(|_| !is_last).map(|last| start + last);
        Window { range: start..end, events: parser.into_offset_iter(), depth: 0, last_byte, closed_to: start }
    }

    /// Leaves a top-level block that may go on behind the window to another window; `false` if it must be
    /// taken as it is.
    fn hold_back(&mut self, block_start: usize) -> bool {
        let Some(window) = &self.window else { return false };
        let Window { range: Range { start, .. }, closed_to, .. } = *window;
        let line_start = self.text[closed_to..block_start].rfind('\n').map_or(closed_to, |at| closed_to + at + 1);
        // A definition decides what an indented line behind it is, so it is parsed again too.
        let is_behind_definition = !self.text[closed_to..line_start].trim().is_empty();
        let next_start = if is_behind_definition { closed_to } else { line_start };
        if next_start == start {
            return self.grow();
        }
        self.leave_window(next_start);
        true
    }

    /// Parses the current window again with more behind it; `false` if it must not grow, and all of its
    /// blocks count as closed.
    fn grow(&mut self) -> bool {
        let Some(window) = &mut self.window else { return false };
        let Range { start, end } = window.range;
        let mut length = (end - start) * 2;
        // The next line may be longer than the window.
        while window_end(self.text, start, length) <= end && start + length < self.text.len() {
            length *= 2;
        }
        let longer = window_end(self.text, start, length);
        if longer > end && marks(&self.text[start..longer]) <= MAX_MARKS {
            self.window = Some(self.parse(start, longer));
            return true;
        }
        window.last_byte = None;
        self.split_at.get_or_insert(end);
        false
    }

    /// Ends a window whose events were all taken.
    fn close_window(&mut self) {
        let Some(window) = &self.window else { return };
        let Window { last_byte, closed_to, .. } = *window;
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
            let span = definition.span.start + window.range.start..definition.span.end + window.range.start;
            if span.start < next_start {
                found.push(Definition { span, destination: definition.dest.to_string() });
            }
        }
    }
}

impl<'a> Iterator for Events<'a> {
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
            let may_go_on = window.depth == 0 && window.last_byte.is_some_and(|last| range.end > last);
            if may_go_on && self.hold_back(range.start) {
                continue;
            }
            let window = self.window.as_mut()?;
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
    let mut at = start;
    for line in text[start..end].split_inclusive('\n') {
        // What begins the window was looked at before.
        if at > start && is_deep(line) {
            return at;
        }
        at += line.len();
    }
    end
}

/// How many nodes the parser makes of a text, about.
fn marks(text: &str) -> usize {
    text.bytes()
        .map(|byte| match byte {
            b'\n' => 2,
            b'*' | b'_' | b'~' | b'`' | b'[' | b']' | b'!' | b'<' | b'&' | b'\\' | b'|' | b'\r' => 1,
            _ => 0,
        })
        .sum()
}

fn is_deep(text: &str) -> bool {
    behind_deep_marks(text).is_some()
}

/// Where the text behind the marks of quotes and list items begins, if its first line has too many.
fn behind_deep_marks(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = 0;
    let mut depth = 0;
    loop {
        let blanks = bytes[at..].iter().take(MAX_BLANKS).take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        match container_mark(&bytes[at + blanks..]) {
            Some(length) => at += blanks + length,
            None => break,
        }
        depth += 1;
    }
    let is_rule = || is_rule(text.split('\n').next().unwrap_or_default());
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
    bytes.get(length).is_none_or(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n')).then_some(length)
}

/// Whether a line is a thematic break: stars or dashes with blanks between them.
fn is_rule(line: &str) -> bool {
    let mut marks = line.bytes().filter(|byte| !byte.is_ascii_whitespace());
    let first = marks.next();
    matches!(first, Some(b'-' | b'*')) && marks.all(|byte| Some(byte) == first)
}

/// The destinations of the link definitions in a whole text, by their labels: a window knows only its own.
#[derive(Clone)]
struct Definitions<'a> {
    text: &'a str,
    destinations: Rc<HashMap<u64, Range<usize>>>,
}

impl<'a> Definitions<'a> {
    fn of(text: &'a str, start: usize) -> Self {
        let mut destinations = HashMap::new();
        let mut at = start;
        for line in text[start..].split_inclusive('\n') {
            if destinations.len() < MAX_DEFINITIONS
                && let Some((label, destination)) = definition(line)
            {
                destinations.entry(hash(label)).or_insert(at + destination.start..at + destination.end);
            }
            at += line.len();
        }
        Self { text, destinations: Rc::new(destinations) }
    }
}

impl<'a> BrokenLinkCallback<'a> for Definitions<'a> {
    fn handle_broken_link(&mut self, link: BrokenLink<'a>) -> Option<(CowStr<'a>, CowStr<'a>)> {
        let destination = self.destinations.get(&hash(&link.reference))?.clone();
        Some((self.text[destination].into(), "".into()))
    }
}

/// The label of a line `[label]: destination`, and where its destination stands.
fn definition(line: &str) -> Option<(&str, Range<usize>)> {
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
fn hash(label: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    for word in label.split_whitespace() {
        word.to_lowercase().hash(&mut hasher);
    }
    hasher.finish()
}

#[cfg(test)]
mod tests;
