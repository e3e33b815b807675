//! Finds sentences that give an agent dangerous instructions.
//!
//! A [`SentenceScanner`] receives pieces of text in order, cuts them into words, and compares each
//! sentence with the phrases in [`phrases`]. A phrase is a sequence of word groups with bounded
//! gaps, so the cost per word is constant. What is quoted, negated or described as an attack is at
//! most a hint: see [`guards`].

mod guards;
mod phrases;
mod vocabulary;
mod words;

use std::ops::Range;

use super::capability::CapabilityKind;
use super::evidence::{Evidence, Origin, Scope};
use super::finding::{AuditClass, Confidence, Detection, Risk};
use super::sensitive::{credential_in, is_collector};
use crate::hosts::{external_host, host_ranges};
pub(super) use guards::{is_cautionary_title, is_security_topic};
use phrases::{Phrase, phrases};
use vocabulary::{WordId, vocabulary};

/// Longer sentences are cut: no one reads them as one.
const MAX_SENTENCE_WORDS: usize = 400;

/// A word of a sentence.
#[derive(Debug, Clone, Copy)]
struct SentenceWord {
    id: WordId,
    start: usize,
    end: usize,
    is_quoted: bool,
}

/// Where a sentence is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct ProseContext {
    /// The heading above, or the text around, is about attacks.
    pub is_cautionary: bool,
    /// The whole document is about security.
    pub is_security_topic: bool,
    /// A comment that people do not see.
    pub is_hidden: bool,
    /// A code block, a table, or a string in a script.
    pub is_quoted: bool,
    /// A comment in a script, which asks for nothing that the script does.
    pub is_comment: bool,
}

/// Collects words, and checks each sentence when it ends.
pub(super) struct SentenceScanner<'a, 'e> {
    text: &'a str,
    evidence: &'e mut Evidence,
    /// Decoded text has no positions of its own.
    fixed: Option<Range<usize>>,
    words: Vec<SentenceWord>,
    /// Hosts and paths in the sentence, with their index in `words`.
    hosts: Vec<(usize, Range<usize>, String)>,
    credentials: Vec<(Range<usize>, String)>,
    in_quotes: bool,
    /// Whether one of the words starts a phrase.
    starts_phrase: bool,
    /// The number of phrases that were found.
    pub found: usize,
    pub context: ProseContext,
}

impl<'a, 'e> SentenceScanner<'a, 'e> {
    pub(super) fn new(text: &'a str, evidence: &'e mut Evidence) -> Self {
        Self {
            text,
            evidence,
            fixed: None,
            words: Vec::new(),
            hosts: Vec::new(),
            credentials: Vec::new(),
            in_quotes: false,
            starts_phrase: false,
            found: 0,
            context: ProseContext::default(),
        }
    }

    /// A scanner of a text that was decoded from a span of the file.
    pub(super) fn of_decoded(
        text: &'a str,
        evidence: &'e mut Evidence,
        span: Range<usize>,
    ) -> Self {
        Self { fixed: Some(span), ..Self::new(text, evidence) }
    }

    /// Adds a piece of the text. Sentences may continue in the next piece.
    pub(super) fn push(&mut self, range: Range<usize>, is_code: bool) {
        let text = self.text;
        let mut tokens = TokenScanner::new(&text[..range.end]);
        let mut at = range.start;
        while at < range.end {
            if let Some(end) = plain_word_end(&text.as_bytes()[..range.end], at) {
                self.push_plain_word(at..end, is_code);
                at = end;
                continue;
            }
            let rest = &text[at..range.end];
            let Some(first) = rest.chars().next() else { break };
            if first.is_alphanumeric()
                || matches!(first, '/' | '~' | '.' | '$' | '<' | '@' | '-') && starts_token(rest)
            {
                let end = tokens.end_of(at);
                self.push_word(at..end, is_code);
                at = end;
                continue;
            }
            match first {
                '.' | '!' | '?' | ';'
                    if !is_code
                        && rest[1..].starts_with(|c: char| {
                            c.is_whitespace() || c == '"' || c == '\'' || c == ')'
                        }) =>
                {
                    self.end_sentence();
                }
                '.' | '!' | '?' if !is_code && rest.len() == 1 => self.end_sentence(),
                '"' | '“' | '”' | '«' | '»' => self.in_quotes = !self.in_quotes,
                _ => {}
            }
            at += first.len_utf8();
        }
    }

    fn push_word(&mut self, range: Range<usize>, is_code: bool) {
        let written = &self.text[range.clone()];
        // Most words have none of the characters of addresses and paths.
        let is_plain = !written.bytes().any(|byte| matches!(byte, b'/' | b'@' | b'.' | b'~'));
        let id = if is_plain {
            vocabulary().id_of(written.trim_end_matches([',', ':', ';']))
        } else if written.contains("://") {
            self.push_host(range.clone());
            vocabulary().url
        } else if written.contains('@')
            && written.split('@').nth(1).is_some_and(|host| host.contains('.'))
        {
            vocabulary().email
        } else if written.contains(['/', '.', '~']) && credential_in(written).is_some() {
            self.credentials.push((range.clone(), written.to_owned()));
            vocabulary().credential
        } else {
            vocabulary().id_of(written.trim_end_matches(['.', ',', ':', ';']))
        };
        self.push_known_word(id, range, is_code);
    }

    /// Adds a word of ASCII letters and digits.
    fn push_plain_word(&mut self, range: Range<usize>, is_code: bool) {
        let id = vocabulary().id_of(&self.text[range.clone()]);
        self.push_known_word(id, range, is_code);
    }

    fn push_known_word(&mut self, id: WordId, range: Range<usize>, is_code: bool) {
        let is_quoted = self.in_quotes || is_code || self.context.is_quoted;
        self.starts_phrase |= phrases().starts_with(id);
        self.words.push(SentenceWord { id, start: range.start, end: range.end, is_quoted });
        if self.words.len() >= MAX_SENTENCE_WORDS {
            self.end_sentence();
        }
    }

    fn push_host(&mut self, range: Range<usize>) {
        let written = &self.text[range.clone()];
        let host = host_ranges(written).next().and_then(|host| external_host(&written[host]));
        if let Some(host) = host {
            self.hosts.push((self.words.len(), range, host));
        }
    }

    /// Ends a paragraph, a heading or the like.
    pub(super) fn end_block(&mut self) {
        self.end_sentence();
        self.in_quotes = false;
    }

    fn end_sentence(&mut self) {
        let has_addresses = !self.hosts.is_empty() || !self.credentials.is_empty();
        if self.words.len() >= 2 && (self.starts_phrase || has_addresses) {
            self.check_sentence();
        }
        self.starts_phrase = false;
        self.words.clear();
        self.hosts.clear();
        self.credentials.clear();
    }

    fn check_sentence(&mut self) {
        let mut reported: Vec<AuditClass> = Vec::new();
        let guard = guards::SentenceGuard::of(&self.words);
        for start in 0..self.words.len() {
            for phrase in phrases().starting_with(self.words[start].id) {
                if reported.contains(&phrase.class) {
                    continue;
                }
                let Some(end) = phrase.matches(&self.words, start) else { continue };
                if guard.is_negated(start) && !phrase.starts_negated {
                    continue;
                }
                self.report(phrase, start, end, guard.is_cautionary);
                reported.push(phrase.class);
                self.found += 1;
            }
        }
        self.record_capabilities(&reported, &guard);
    }

    fn report(&mut self, phrase: &Phrase, start: usize, end: usize, is_cautionary: bool) {
        let span = self.words[start].start..self.words[end].end;
        let is_quoted = self.words[start..=end].iter().all(|word| word.is_quoted);
        let ProseContext { is_cautionary: in_warning, is_security_topic, is_hidden, .. } =
            self.context;
        let host = self.hosts.iter().map(|(_, _, host)| host).find(|host| is_collector(host));
        let (mut risk, mut confidence) = (phrase.risk, phrase.confidence);
        if phrase.class == AuditClass::Exfiltration && host.is_some() {
            (risk, confidence) = (Risk::High, Confidence::Likely);
        }
        if is_hidden && phrase.confidence >= Confidence::Likely {
            risk = Risk::High;
        }
        if is_cautionary || in_warning || is_quoted {
            confidence = Confidence::Hint;
        } else if is_security_topic && !is_hidden {
            risk = risk.min(Risk::Medium);
        }
        let detection = Detection::new(phrase.class, risk, confidence, phrase.message);
        match &self.fixed {
            None => self.evidence.report_decoded(Some(span), detection, None),
            Some(fixed) => {
                let risk = Risk::High;
                let decoded = Some(self.text.to_owned());
                let detection = Detection { risk, ..detection };
                self.evidence.report_decoded(Some(fixed.clone()), detection, decoded);
            }
        }
    }

    /// Records the hosts and paths of sentences that ask to use them.
    fn record_capabilities(&mut self, reported: &[AuditClass], guard: &guards::SentenceGuard) {
        let ProseContext { is_cautionary, is_comment, .. } = self.context;
        if guard.is_cautionary || is_cautionary || is_comment || self.fixed.is_some() {
            return;
        }
        let scope = Scope::new(Origin::Prose, 0);
        let is_remote = reported.contains(&AuditClass::Remote);
        for (index, span, host) in std::mem::take(&mut self.hosts) {
            let is_used = guard.uses_network_before(&self.words, index);
            if is_used && !guard.is_negated(index) {
                self.evidence.capability(&scope, &span, CapabilityKind::Host, &host);
            }
            if is_remote {
                self.evidence.capability(&scope, &span, CapabilityKind::RemoteInstructions, &host);
            }
        }
        for (span, path) in std::mem::take(&mut self.credentials) {
            self.evidence.capability(
                &scope,
                &span,
                CapabilityKind::Secret,
                path.trim_end_matches(['.', ',', ';', ':']),
            );
        }
    }
}

/// Returns the end of a word of ASCII letters and digits that only blanks, or punctuation before a
/// blank, can follow. [`TokenScanner`] finds the same end for it.
fn plain_word_end(text: &[u8], at: usize) -> Option<usize> {
    let length = text[at..].iter().position(|byte| !byte.is_ascii_alphanumeric());
    let end = length.map_or(text.len(), |length| at + length);
    let is_blank = |at: usize| text.get(at).is_none_or(|byte| matches!(byte, b' ' | b'\n' | b'\t'));
    let is_punctuation =
        text.get(end).is_some_and(|byte| matches!(byte, b'.' | b',' | b':' | b';' | b'!' | b'?'));
    let is_plain = end > at && (is_blank(end) || is_punctuation && is_blank(end + 1));
    is_plain.then_some(end)
}

/// Whether punctuation starts a path, a variable or an option.
fn starts_token(rest: &str) -> bool {
    let mut characters = rest.chars();
    characters.next();
    characters
        .next()
        .is_some_and(|c| c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '-' | '_'))
}

/// Finds the ends of words. URLs, addresses and paths are one word.
///
/// What is known about the text up to the next blank is kept, so that a long text without blanks is
/// read once and not again for each of its words.
struct TokenScanner<'a> {
    text: &'a str,
    /// The text up to the next blank or bracket.
    run: TokenSpan,
    /// The position after the last character of the run that only addresses have.
    address_end: usize,
    /// The characters of a word in the run.
    part: TokenSpan,
}

/// The end of a text, with and without punctuation.
#[derive(Clone, Copy, Default)]
struct TokenSpan {
    end: usize,
    trimmed: usize,
}

impl TokenSpan {
    fn new(text: &str, start: usize, end: usize) -> Self {
        let punctuation = ['.', ',', ':', ';', '!', '?', '\'', '*', '_', '-', '’'];
        Self { end, trimmed: start + text[start..end].trim_end_matches(punctuation).len() }
    }
}

impl<'a> TokenScanner<'a> {
    fn new(text: &'a str) -> Self {
        Self { text, run: TokenSpan::default(), address_end: 0, part: TokenSpan::default() }
    }

    /// Returns the end of the word that starts here. Positions must not decrease.
    fn end_of(&mut self, at: usize) -> usize {
        let second = at + self.text[at..].chars().next().map_or(0, char::len_utf8);
        if at >= self.run.end {
            let is_end = |c: char| c.is_whitespace() || "\"“”<>()[]{}|`«»".contains(c);
            let end = self.find(second, self.text.len(), is_end);
            self.run = TokenSpan::new(self.text, at, end);
            let mark = self.text[at..end].rfind(['/', '@']);
            self.address_end = mark.map_or(0, |mark| at + mark + 1);
        }
        let starts_address = self.text[at..].starts_with(['/', '~', '.', '$']);
        let span = if self.address_end > at || starts_address {
            self.run
        } else {
            if at >= self.part.end {
                let is_part =
                    |c: char| c.is_alphanumeric() || matches!(c, '\'' | '’' | '-' | '_' | '.');
                let end = self.find(second, self.run.end, |c| !is_part(c));
                self.part = TokenSpan::new(self.text, at, end);
            }
            self.part
        };
        span.trimmed.max(second)
    }

    fn find(&self, start: usize, end: usize, is_end: impl Fn(char) -> bool) -> usize {
        self.text[start..end].find(is_end).map_or(end, |found| start + found)
    }
}
