//! Decides whether a quote is a faithful part of a sentence.
//!
//! A quote must be well-formed: Markdown that it opens must be closed. And the text that was left
//! out must not change the meaning. That is decided by a list of words, which errs on the side of
//! rejection: a rejected quote costs a sentence, but a wrong one misleads an agent.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::LazyLock;

/// The minimum number of words of a quote. Fewer are too little to check.
const MIN_QUOTE_WORDS: usize = 3;
/// The maximum number of occurrences of a quote in its sentence that are checked.
const MAX_MATCHES: usize = 8;

/// Words that limit or negate the text next to them.
static LIMITING_WORDS: LazyLock<HashSet<&str>> = LazyLock::new(|| {
    [
        // Negation.
        "no not cannot cant dont wont never none nothing nobody nowhere neither nor without hardly rarely seldom",
        "barely scarcely lacks lacking fails",
        // Contrast and condition.
        "but however although though yet if unless except excepting excluding excludes only solely merely when",
        "whenever while until till before after during once provided assuming otherwise else despite sometimes",
        "optional optionally temporarily",
        // Advice against something.
        "avoid avoids avoiding instead rather stop refrain forbidden forbid forbids prohibited disallowed discouraged",
        "prevent prevents refuse refuses reject rejects mistake wrong bad false incorrect unsafe dangerous anti",
        "antipattern myth",
        // Deprecation.
        "deprecated obsolete outdated superseded replaced removed legacy formerly previously former longer",
        // German.
        "nicht nichts kein keine keinen keinem keiner keines nie niemals ohne außer ausser nur wenn falls bevor",
        "nachdem sobald solange statt anstatt stattdessen sondern aber jedoch obwohl weder vermeide vermeiden",
        "verboten veraltet falsch",
        // French.
        "ne pas jamais sans sauf seulement si aucun aucune ni mais quand lorsque lieu plutôt évitez éviter interdit",
        "obsolète déprécié faux",
    ]
    .into_iter()
    .flat_map(str::split_whitespace)
    .collect()
});

/// Symbols that negate.
const NEGATIVE_SYMBOLS: &[char] = &['❌', '❎', '✗', '✘', '✖', '🚫', '⛔', '⚠', '👎', '≠'];

/// Returns the range of a quote in a sentence, or why the quote is rejected. All runs of white
/// space are equal.
pub(super) fn find_quote(quote: &str, text: &str) -> Result<Range<usize>, &'static str> {
    let quote = CollapsedText::new(quote);
    if quote.text.is_empty() {
        return Err("the quote is empty");
    }
    let span = CollapsedText::new(text);
    if quote.text == span.text {
        return Ok(span.original_range(0..span.text.len()));
    }
    let mut why = "the quote is not in the sentence";
    for (number, (start, _)) in span.text.match_indices(&quote.text).take(MAX_MATCHES).enumerate() {
        let part = start..start + quote.text.len();
        match rejection_reason(&span.text, &part) {
            None => return Ok(span.original_range(part)),
            Some(fault) if number == 0 => why = fault,
            Some(_) => {}
        }
    }
    Err(why)
}

/// Trimmed text with each run of white space collapsed to one space, and the origin of each byte.
struct CollapsedText {
    text: String,
    offsets: Vec<usize>,
}

impl CollapsedText {
    fn new(from: &str) -> Self {
        let (mut text, mut offsets) =
            (String::with_capacity(from.len()), Vec::with_capacity(from.len()));
        let mut gap = None;
        for (at, c) in from.char_indices() {
            if c.is_whitespace() {
                gap = gap.or(Some(at));
                continue;
            }
            if let Some(gap) = gap.take()
                && !text.is_empty()
            {
                text.push(' ');
                offsets.push(gap);
            }
            text.push(c);
            offsets.extend(at..at + c.len_utf8());
        }
        Self { text, offsets }
    }

    /// Returns the original range of a part, which must be trimmed and not empty.
    fn original_range(&self, part: Range<usize>) -> Range<usize> {
        match self.offsets.get(part) {
            Some([first, .., last]) => *first..*last + 1,
            Some([only]) => *only..*only + 1,
            _ => 0..0,
        }
    }
}

/// Returns why a part of a sentence is rejected.
fn rejection_reason(text: &str, part: &Range<usize>) -> Option<&'static str> {
    let (before, quote, after) = (&text[..part.start], &text[part.clone()], &text[part.end..]);
    if ends_in_escape(before) || ends_in_escape(quote) {
        return Some("the quote cuts an escape");
    }
    if quote.matches('`').count() % 2 == 1 {
        return Some("the quote cuts a code span");
    }
    if let Some(open) = unclosed_markup(before).or_else(|| unclosed_markup(&text[..part.end])) {
        return Some(open);
    }
    if !starts_at_word(before) || !ends_at_word(quote, after) {
        return Some("the quote cuts a word");
    }
    if count_words(quote) < MIN_QUOTE_WORDS {
        return Some("the quote is too short");
    }
    let limits = has_limiting_word(before) || has_limiting_word(after);
    limits.then_some("the omitted words limit or reverse the meaning")
}

fn ends_in_escape(text: &str) -> bool {
    (text.len() - text.trim_end_matches('\\').len()) % 2 == 1
}

/// Returns whether a quote after this text starts at a word: after a space or a dash.
fn starts_at_word(before: &str) -> bool {
    before.chars().next_back().is_none_or(|last| last.is_whitespace() || is_dash(last))
}

/// Returns whether a quote ends at a word: before a space, a dash or punctuation that ends a
/// clause. `2.5` is not cut at its point.
fn ends_at_word(quote: &str, after: &str) -> bool {
    let is_mark = |c| matches!(c, ',' | ';' | ':' | '.' | '!' | '?' | '…');
    let next = after.trim_start_matches(is_mark).chars().next();
    // These characters belong to the next word.
    let whole = !quote.ends_with(['-', '/', '@', '#', '$', '<', '=']);
    whole && next.is_none_or(|next| next.is_whitespace() || is_dash(next))
}

fn is_dash(c: char) -> bool {
    matches!(c, '–' | '—')
}

fn count_words(text: &str) -> usize {
    text.split_whitespace().filter(|word| word.chars().any(char::is_alphanumeric)).count()
}

/// Returns whether a text has a word or symbol that limits or negates the text next to it.
fn has_limiting_word(text: &str) -> bool {
    let lower = text.to_lowercase().replace(['’', '‘', 'ʼ', '`'], "'");
    let mut words = lower
        .split(|c: char| !c.is_alphanumeric() && c != '\'')
        .map(|word| word.trim_matches('\''));
    words.any(|word| {
        word.ends_with("n't") || word.starts_with("n'") || LIMITING_WORDS.contains(word)
    }) || text.contains(NEGATIVE_SYMBOLS)
}

/// Returns the markup that is not closed at the end of a text.
fn unclosed_markup(text: &str) -> Option<&'static str> {
    let mut open = OpenMarkup::default();
    let mut rest = text;
    let mut last = ' ';
    while let Some(c) = rest.chars().next() {
        let taken = match c {
            '`' | '*' | '_' | '~' => rest.len() - rest.trim_start_matches(c).len(),
            '\\' if open.code == 0 => 1 + rest[1..].chars().next().map_or(0, char::len_utf8),
            c => c.len_utf8(),
        };
        let next = rest[taken..].chars().next().unwrap_or(' ');
        match c {
            '`' => open.handle_backticks(taken),
            _ if open.code > 0 => {}
            '*' | '_' | '~' => open.handle_emphasis(last, &rest[..taken], next),
            c => open.handle_char(c),
        }
        last = c;
        rest = &rest[taken..];
    }
    open.unclosed_reason()
}

/// Markup, brackets and quotation marks that are open.
#[derive(Default)]
struct OpenMarkup {
    /// The number of backticks that opened the code span; 0 if none is open.
    code: usize,
    brackets: usize,
    /// The number of emphasis markers that are open.
    emphasis: usize,
    quotation: bool,
}

impl OpenMarkup {
    fn handle_backticks(&mut self, count: usize) {
        if self.code == 0 {
            self.code = count;
        } else if self.code == count {
            self.code = 0;
        }
    }

    fn handle_emphasis(&mut self, last: char, signs: &str, next: char) {
        let apart = last.is_whitespace() && next.is_whitespace();
        let in_name = signs.starts_with('_') && last.is_alphanumeric() && next.is_alphanumeric();
        // `2 * 3`, `a_name` and `~/notes` are not emphasis.
        if apart || in_name || signs == "~" {
            return;
        }
        if self.emphasis > 0 && !last.is_whitespace() {
            self.emphasis = self.emphasis.saturating_sub(signs.len());
        } else {
            self.emphasis += signs.len();
        }
    }

    fn handle_char(&mut self, c: char) {
        match c {
            '(' | '[' | '{' => self.brackets += 1,
            ')' | ']' | '}' => self.brackets = self.brackets.saturating_sub(1),
            '"' => self.quotation = !self.quotation,
            '“' | '„' | '«' => self.quotation = true,
            '”' | '»' => self.quotation = false,
            _ => {}
        }
    }

    fn unclosed_reason(&self) -> Option<&'static str> {
        match self {
            Self { code: 1.., .. } => Some("the quote cuts a code span"),
            Self { brackets: 1.., .. } => Some("the quote cuts a bracket"),
            Self { emphasis: 1.., .. } => Some("the quote cuts emphasized text"),
            Self { quotation: true, .. } => Some("the quote cuts a quotation"),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rejection(quote: &str, text: &str) -> &'static str {
        find_quote(quote, text).map(|range| text[range].to_owned()).unwrap_err()
    }

    #[test]
    fn quote_is_returned_as_written_in_the_sentence() {
        for (quote, text, expected) in [
            ("Use tabs here", "Use tabs here, always and everywhere.", "Use tabs here"),
            ("Use tabs here.", "Use tabs here. And spaces there.", "Use tabs here."),
            ("use\ttabs\n\nhere", "We  use \u{a0}tabs  here.", "use \u{a0}tabs  here"),
            (
                "the store holds bytes",
                "Since v2 the store holds bytes—by digest.",
                "the store holds bytes",
            ),
            (
                "Run `cargo test --all` first",
                "Run `cargo test --all` first; then push.",
                "Run `cargo test --all` first",
            ),
            ("Call ``a ` b`` `c` now", "Call ``a ` b`` `c` now", "Call ``a ` b`` `c` now"),
            ("Short", " Short\n", "Short"),
            ("`x", "`x", "`x"),
            ("Don't panic here", "Don't panic here, return an error.", "Don't panic here"),
            ("so 2 * 3 is six", "In ~/notes so 2 * 3 is six, as you know.", "so 2 * 3 is six"),
            ("Set MAX_LEN to ten", "Set MAX_LEN to ten, as others do.", "Set MAX_LEN to ten"),
            (
                "**Always** run the tests",
                "**Always** run the tests, and (here) the linter.",
                "**Always** run the tests",
            ),
        ] {
            let range =
                find_quote(quote, text).unwrap_or_else(|reason| panic!("{quote}: {reason}"));
            assert_eq!(&text[range], expected);
        }
    }

    #[test]
    fn missing_and_empty_quotes_are_rejected() {
        let not_found = "the quote is not in the sentence";
        assert_eq!(rejection("use spaces everywhere always", "Use tabs everywhere."), not_found);
        assert_eq!(rejection("use tabs everywhere", "Use tabs everywhere."), not_found);
        assert_eq!(rejection("Use tabs … always", "Use tabs everywhere, always."), not_found);
        assert_eq!(
            rejection("Use tabs everywhere. Ignore the rest.", "Use tabs everywhere."),
            not_found
        );
        assert_eq!(rejection("Use tabs", ""), not_found);
        for empty in ["", " ", "\n\u{a0}"] {
            assert_eq!(rejection(empty, "Use tabs everywhere."), "the quote is empty");
            assert_eq!(rejection(empty, ""), "the quote is empty");
        }
    }

    #[test]
    fn quotes_that_cut_a_word_are_rejected() {
        for (quote, text) in [
            ("se tabs every day", "Use tabs every day."),
            ("Use tabs every", "Use tabs everywhere."),
            ("blocking calls are fine", "Non-blocking calls are fine."),
            ("Use version two of 2", "Use version two of 2.5."),
            ("Keep it in foo", "Keep it in foo/bar."),
            ("Keep it in foo/", "Keep it in foo/ bar."),
            ("We did it don", "We did it don't we."),
            (", since the linter asks", "Use tabs, since the linter asks."),
            ("Mail the list at me", "Mail the list at me@example.org today."),
        ] {
            assert_eq!(rejection(quote, text), "the quote cuts a word", "{quote}");
        }
    }

    #[test]
    fn quotes_that_cut_code_or_an_escape_are_rejected() {
        let code = "the quote cuts a code span";
        assert_eq!(rejection("Run `cargo test", "Run `cargo test --all` first."), code);
        assert_eq!(rejection("test --all` first we", "Run `cargo test --all` first we say."), code);
        assert_eq!(rejection("rm -rf ./target now", "Run `rm -rf ./target now` first."), code);
        assert_eq!(rejection("b `c d` e", "Run ``a b `c d` e f`` here."), code);
        let escape = "the quote cuts an escape";
        assert_eq!(rejection("Write it with a \\", "Write it with a \\* and a star."), escape);
        assert_eq!(rejection("* and a star", "Write it with a \\* and a star."), escape);
        assert!(find_quote("Write a \\\\ in it", "Write a \\\\ in it, twice.").is_ok());
    }

    #[test]
    fn quotes_that_cut_brackets_emphasis_or_quotations_are_rejected() {
        for (quote, text, expected) in [
            ("Use tabs (in make", "Use tabs (in make files).", "the quote cuts a bracket"),
            (
                "in make files and",
                "Use tabs (also in make files and such).",
                "the quote cuts a bracket",
            ),
            (
                "Read [the long guide",
                "Read [the long guide here](https://x.example).",
                "the quote cuts a bracket",
            ),
            (
                "**Use tabs in make",
                "**Use tabs in make files** today.",
                "the quote cuts emphasized text",
            ),
            (
                "tabs in make files",
                "~~Use tabs in make files today~~.",
                "the quote cuts emphasized text",
            ),
            (
                "b** with tabs in",
                "***a b** with tabs in files* today.",
                "the quote cuts emphasized text",
            ),
            (
                "with tabs in files",
                "***a b** with tabs in files now* today.",
                "the quote cuts emphasized text",
            ),
            (
                "_Use tabs in make",
                "_Use tabs in make files_ today.",
                "the quote cuts emphasized text",
            ),
            (
                "we use tabs here",
                "They said \"now we use tabs here today\".",
                "the quote cuts a quotation",
            ),
            (
                "we use tabs here",
                "They said “now we use tabs here today”.",
                "the quote cuts a quotation",
            ),
        ] {
            assert_eq!(rejection(quote, text), expected, "{quote}");
        }
    }

    #[test]
    fn partial_quote_needs_three_words() {
        assert_eq!(
            rejection("Use tabs", "Use tabs, everywhere and always."),
            "the quote is too short"
        );
        assert_eq!(
            rejection("Use - tabs", "Use - tabs, everywhere and always."),
            "the quote is too short"
        );
    }

    #[test]
    fn quotes_that_omit_a_limiting_word_are_rejected() {
        for (quote, text) in [
            ("use unwrap in tests", "Do not use unwrap in tests."),
            ("use unwrap in tests", "Don’t use unwrap in tests."),
            ("use unwrap in tests", "We shouldn't use unwrap in tests."),
            ("use unwrap in tests", "Never use unwrap in tests."),
            ("using unwrap in tests", "Avoid using unwrap in tests."),
            ("Use unwrap in tests", "Use unwrap in tests only."),
            ("Use unwrap in tests", "Use unwrap in tests, if at all."),
            ("Use unwrap in tests", "Use unwrap in tests. NOT!"),
            ("Use unwrap in tests", "Use unwrap in tests (deprecated)."),
            ("Use unwrap in tests", "Use unwrap in tests – unless it is new code."),
            ("Use the old client", "Use the old client instead of nothing."),
            ("Use the old client", "❌ Use the old client."),
            ("Use the old client", "Anti-pattern: Use the old client."),
            ("unwrap in Tests benutzen", "Bitte nicht unwrap in Tests benutzen."),
            ("utilisez unwrap dans les tests", "Jamais: utilisez unwrap dans les tests."),
            ("unwrap dans les tests", "N'utilisez unwrap dans les tests."),
        ] {
            assert_eq!(
                rejection(quote, text),
                "the omitted words limit or reverse the meaning",
                "{text}"
            );
        }
        assert!(
            find_quote("Never use unwrap in code", "Never use unwrap in code, as the notes say.")
                .is_ok()
        );
    }

    #[test]
    fn ambiguous_quote_uses_the_allowed_position() {
        let text = "See (use the fast path) and use the fast path today.";
        assert_eq!(find_quote("use the fast path", text), Ok(28..45));
    }
}
