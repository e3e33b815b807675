//! Lookalikes: words that mix Latin with letters of other scripts that look Latin.
//!
//! Only hosts of URLs and words of commands are checked, because that is where the difference
//! matters.

use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, Options, Tag, TagEnd};

use super::{MAX_HIDDEN_RUNS, position_counter::PositionCounter};
use crate::hosts::host_ranges;
use sp_formats::markdown::events;

/// A word that looks like another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lookalike {
    /// Byte range of the host or the word.
    pub range: Range<usize>,
    /// One-based line of the start.
    pub line: u32,
    /// One-based column of the start, in characters.
    pub column: u32,
    pub context: LookalikeContext,
    /// The ASCII text that it resembles.
    pub looks_like: String,
}

/// Where a lookalike was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LookalikeContext {
    /// The host of a URL.
    Host,
    /// A command: inline code, a shell block, or a script.
    Command,
}

/// Finds lookalikes, in order; at most [`MAX_HIDDEN_RUNS`].
///
/// A text that starts with `#!` is a script; any other is parsed as Markdown.
pub fn find_lookalikes(text: &str) -> Vec<Lookalike> {
    if !has_confusable(text) {
        return Vec::new();
    }
    let hosts = host_ranges(text)
        .filter(|range| is_confusable_host(&text[range.clone()]))
        .take(MAX_HIDDEN_RUNS)
        .map(|range| (range, LookalikeContext::Host));
    let words = confusable_words(text).into_iter().map(|range| (range, LookalikeContext::Command));
    let mut ranges: Vec<(Range<usize>, LookalikeContext)> = hosts.chain(words).collect();
    ranges.sort_by_key(|(range, context)| (range.start, *context == LookalikeContext::Command));
    let mut position = PositionCounter::default();
    let mut found: Vec<Lookalike> = Vec::new();
    for (range, context) in ranges {
        // A host inside code is reported as a host only.
        if found.last().is_some_and(|last| range.start < last.range.end) {
            continue;
        }
        if found.len() == MAX_HIDDEN_RUNS {
            break;
        }
        position.advance(text, range.start);
        let looks_like =
            text[range.clone()].chars().map(|c| latin_lookalike(c).unwrap_or(c)).collect();
        found.push(Lookalike {
            range,
            line: position.line(),
            column: position.column(),
            context,
            looks_like,
        });
    }
    found
}

/// Replaces letters that look Latin with the Latin ones.
pub(crate) fn to_latin(word: &str) -> String {
    word.chars().map(|c| latin_lookalike(c).unwrap_or(c)).collect()
}

/// Whether a text contains a letter that looks Latin. Most texts contain none, so this has to be
/// fast.
fn has_confusable(text: &str) -> bool {
    let mut leads = text.bytes().enumerate().filter(|(_, byte)| may_start_confusable(*byte));
    leads.any(|(at, _)| text[at..].chars().next().is_some_and(|c| latin_lookalike(c).is_some()))
}

/// Whether the UTF-8 encoding of a letter with a [`latin_lookalike`] may start with this byte. None
/// of these bytes is a continuation byte.
fn may_start_confusable(byte: u8) -> bool {
    matches!(byte, 0xC9 | 0xCD..=0xD6 | 0xE2 | 0xEF)
}

fn is_confusable_host(host: &str) -> bool {
    // With an ASCII top-level domain, a label without any Latin letter may pass for one.
    let ends_in_ascii = host.trim_end_matches('.').rsplit('.').next().is_some_and(str::is_ascii);
    host.split('.').any(|label| is_confusable_word(label, usize::from(!ends_in_ascii)))
}

/// Whether all letters of a word are ASCII or look like it, with at least `fewest_ascii` of the
/// former and one of the latter.
fn is_confusable_word(word: &str, fewest_ascii: usize) -> bool {
    let (mut plain, mut disguised) = (0, 0);
    for c in word.chars().filter(|c| c.is_alphabetic()) {
        match latin_lookalike(c) {
            Some(_) => disguised += 1,
            None if c.is_ascii() => plain += 1,
            None => return false,
        }
    }
    disguised > 0 && plain >= fewest_ascii
}

/// Lookalike words in a script, in inline code and in shell blocks.
fn confusable_words(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    if text.starts_with("#!") {
        push_confusable_words(text, 0..text.len(), &mut found);
        return found;
    }
    let mut is_shell = false;
    let mut events = events(text, 0, Options::empty());
    for (event, range) in events.by_ref() {
        match event {
            Event::Code(_) => push_confusable_words(text, range, &mut found),
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info))) => {
                is_shell = is_shell_language(&info);
            }
            Event::End(TagEnd::CodeBlock) => is_shell = false,
            Event::Text(_) if is_shell => push_confusable_words(text, range, &mut found),
            _ => {}
        }
    }
    // The part that the Markdown parser did not reach may contain commands.
    if let Some(unread_from) = events.unread_from() {
        push_confusable_words(text, unread_from..text.len(), &mut found);
    }
    found
}

fn push_confusable_words(text: &str, within: Range<usize>, found: &mut Vec<Range<usize>>) {
    let is_separator = |c: char| !c.is_alphanumeric() && c != '_';
    let mut offset = within.start;
    for piece in text[within].split_inclusive(is_separator) {
        let word = piece.trim_end_matches(is_separator);
        // A single Latin letter next to a Greek one is mathematical notation.
        if !word.is_ascii() && found.len() < MAX_HIDDEN_RUNS && is_confusable_word(word, 2) {
            found.push(offset..offset + word.len());
        }
        offset += piece.len();
    }
}

fn is_shell_language(info: &str) -> bool {
    const SHELLS: [&str; 16] = [
        "bash",
        "bat",
        "cmd",
        "console",
        "fish",
        "ksh",
        "powershell",
        "ps1",
        "pwsh",
        "sh",
        "shell",
        "shell-session",
        "shellscript",
        "shellsession",
        "terminal",
        "zsh",
    ];
    let language =
        info.split(|c: char| !c.is_alphanumeric() && c != '-').find(|word| !word.is_empty());
    language.is_some_and(|language| SHELLS.iter().any(|shell| shell.eq_ignore_ascii_case(language)))
}

/// The Latin letter that a Cyrillic, Greek, Armenian or other letter resembles in many fonts.
fn latin_lookalike(c: char) -> Option<char> {
    Some(match c {
        // Fullwidth forms are in ASCII order.
        '\u{FF21}'..='\u{FF3A}' | '\u{FF41}'..='\u{FF5A}' => {
            return char::from_u32(u32::from(c) - 0xFF01 + 0x21);
        }
        '\u{0430}' | '\u{03B1}' | '\u{0251}' => 'a',
        '\u{0441}' | '\u{03F2}' | '\u{217D}' => 'c',
        '\u{0501}' | '\u{217E}' => 'd',
        '\u{0435}' => 'e',
        '\u{0261}' | '\u{0581}' => 'g',
        '\u{04BB}' | '\u{0570}' => 'h',
        '\u{0456}' | '\u{03B9}' | '\u{2170}' => 'i',
        '\u{0458}' | '\u{03F3}' => 'j',
        '\u{04CF}' | '\u{217C}' => 'l',
        '\u{217F}' => 'm',
        '\u{0578}' => 'n',
        '\u{043E}' | '\u{03BF}' | '\u{0585}' => 'o',
        '\u{0440}' | '\u{03C1}' => 'p',
        '\u{051B}' | '\u{0566}' => 'q',
        '\u{0455}' => 's',
        '\u{03C5}' | '\u{057D}' => 'u',
        '\u{03BD}' | '\u{0475}' | '\u{2174}' => 'v',
        '\u{051D}' | '\u{0461}' => 'w',
        '\u{0445}' | '\u{2179}' => 'x',
        '\u{0443}' | '\u{04AF}' => 'y',
        '\u{0410}' | '\u{0391}' => 'A',
        '\u{0412}' | '\u{0392}' => 'B',
        '\u{0421}' | '\u{03F9}' | '\u{216D}' => 'C',
        '\u{216E}' => 'D',
        '\u{0415}' | '\u{0395}' => 'E',
        '\u{050C}' => 'G',
        '\u{041D}' | '\u{0397}' => 'H',
        '\u{0406}' | '\u{0399}' | '\u{04C0}' | '\u{2160}' => 'I',
        '\u{0408}' | '\u{037F}' => 'J',
        '\u{041A}' | '\u{039A}' | '\u{212A}' => 'K',
        '\u{216C}' => 'L',
        '\u{041C}' | '\u{039C}' | '\u{216F}' => 'M',
        '\u{039D}' => 'N',
        '\u{041E}' | '\u{039F}' | '\u{0555}' => 'O',
        '\u{0420}' | '\u{03A1}' => 'P',
        '\u{051A}' => 'Q',
        '\u{0405}' => 'S',
        '\u{0422}' | '\u{03A4}' => 'T',
        '\u{0474}' | '\u{2164}' => 'V',
        '\u{051C}' => 'W',
        '\u{0425}' | '\u{03A7}' | '\u{2169}' => 'X',
        '\u{0423}' | '\u{03A5}' | '\u{04AE}' => 'Y',
        '\u{0396}' => 'Z',
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn se_09_every_lookalike_starts_with_a_candidate_byte() {
        for c in ('\u{80}'..=char::MAX).filter(|c| latin_lookalike(*c).is_some()) {
            assert!(may_start_confusable(c.to_string().as_bytes()[0]), "{}", c.escape_unicode());
            assert!(latin_lookalike(c).is_some_and(|latin| latin.is_ascii_alphabetic()));
        }
    }
}
