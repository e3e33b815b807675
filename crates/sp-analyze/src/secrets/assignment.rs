//! Assignments of secrets in one line: `password = "hunter2"`.
//!
//! A line may be as long as the file and have a sign at every second byte, so every search to the right
//! is shared between the signs: each answer is kept in a [`Next`] until a sign stands behind it. The cost
//! of a line is linear in its length.

use super::{MIN_SECRET_LEN, is_literal};
use sp_formats::workspace::{is_meaningful_value, is_secret_name};

/// A name and its type are not longer.
const MAX_NAME_LEN: usize = 120;

const QUOTES: [char; 3] = ['"', '\'', '`'];

/// Whether a line gives a value to a telling name, and the value is not a type, a place or a sentence.
pub(super) fn assigns_secret(line: &str) -> bool {
    if !line.contains(['=', ':']) {
        return false;
    }
    let mut scan = AssignmentScanner::new(line);
    line.bytes().enumerate().any(|(at, byte)| match byte {
        b',' | b'(' | b';' => {
            scan.segment_start = at + 1;
            false
        }
        b'=' | b':' => scan.has_secret_name(at) && scan.has_value(at, byte == b'='),
        _ => false,
    })
}

/// The first position, from a given one on, at which something begins. Positions must be asked for in
/// ascending order; all the answers together cost one pass over the line.
struct ForwardSearch {
    find: fn(&str) -> Option<usize>,
    /// For positions in this range, the end of it is the answer.
    known: Option<(usize, usize)>,
}

impl ForwardSearch {
    fn new(find: fn(&str) -> Option<usize>) -> Self {
        Self { find, known: None }
    }

    /// The answer for `from`, or the length of the line.
    fn at_or_after(&mut self, line: &str, from: usize) -> usize {
        match self.known {
            Some((asked, found)) if (asked..=found).contains(&from) => found,
            _ => {
                let found = (self.find)(&line[from..]).map_or(line.len(), |length| from + length);
                self.known = Some((from, found));
                found
            }
        }
    }
}

struct AssignmentScanner<'a> {
    line: &'a str,
    /// The end of the line without blanks.
    end: usize,
    /// The same without the commas and semicolons before it.
    value_end: usize,
    /// Where the part of the line begins that the name must stand in.
    segment_start: usize,
    /// A position up to which there is no colon that counts, and whether the name before it tells.
    colon: usize,
    colon_cache: Option<(usize, bool)>,
    after_equals: ForwardSearch,
    after_whitespace: ForwardSearch,
    quotes: [ForwardSearch; 3],
    unquoted_end: ForwardSearch,
    digit: ForwardSearch,
    letter: ForwardSearch,
    code: ForwardSearch,
    non_number: ForwardSearch,
    placeholder: ForwardSearch,
}

impl<'a> AssignmentScanner<'a> {
    fn new(line: &'a str) -> Self {
        let end = line.trim_end().len();
        Self {
            line,
            end,
            value_end: line[..end].trim_end_matches([',', ';']).len(),
            segment_start: 0,
            colon: 0,
            colon_cache: None,
            after_equals: ForwardSearch::new(|rest| rest.find(|c| c != '=')),
            after_whitespace: ForwardSearch::new(|rest| rest.find(|c: char| !c.is_whitespace())),
            quotes: [
                ForwardSearch::new(|rest| rest.find(QUOTES[0])),
                ForwardSearch::new(|rest| rest.find(QUOTES[1])),
                ForwardSearch::new(|rest| rest.find(QUOTES[2])),
            ],
            unquoted_end: ForwardSearch::new(|rest| rest.find(super::ends_unquoted_value)),
            digit: ForwardSearch::new(|rest| rest.find(|c: char| c.is_ascii_digit())),
            letter: ForwardSearch::new(|rest| rest.find(|c: char| c.is_ascii_alphabetic())),
            code: ForwardSearch::new(|rest| rest.find(super::CODE_CHARS)),
            non_number: ForwardSearch::new(|rest| rest.find(|c| !super::is_number_char(c))),
            placeholder: ForwardSearch::new(super::find_placeholder),
        }
    }

    /// Whether the name before the sign says that its value is a secret. Between the two may stand a type.
    fn has_secret_name(&mut self, at: usize) -> bool {
        names_secret(self.word_before(at)) || self.has_typed_secret_name(at)
    }

    /// Whether the word before the first colon of the segment is such a name.
    fn has_typed_secret_name(&mut self, at: usize) -> bool {
        self.colon = self.colon.max(self.segment_start).max(at.saturating_sub(MAX_NAME_LEN));
        let bytes = self.line.as_bytes();
        while self.colon < at && bytes[self.colon] != b':' {
            self.colon += 1;
        }
        if self.colon == at {
            return false;
        }
        match self.colon_cache {
            Some((known, tells)) if known == self.colon => tells,
            _ => {
                let tells = names_secret(self.word_before(self.colon));
                self.colon_cache = Some((self.colon, tells));
                tells
            }
        }
    }

    /// The last word of the segment before a sign.
    fn word_before(&self, at: usize) -> &'a str {
        let start =
            self.line.floor_char_boundary(self.segment_start.max(at.saturating_sub(MAX_NAME_LEN)));
        let before = self.line[start..at].trim_end().trim_end_matches(['"', '\'', '`', '?']);
        before
            .rsplit(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-' | '.')))
            .next()
            .unwrap_or_default()
    }

    /// Whether what stands behind the sign begins with a value.
    fn has_value(&mut self, at: usize, is_equals: bool) -> bool {
        let line = self.line;
        let start = self.after_equals.at_or_after(line, at + 1);
        let start = self.after_whitespace.at_or_after(line, start).min(self.end);
        let first = line[start..self.end].chars().next();
        if let Some(quote) = QUOTES.iter().position(|quote| first == Some(*quote)) {
            let close = self.quotes[quote].at_or_after(line, start + 1);
            let is_value = |value: &str| is_literal(value) && is_meaningful_value(value);
            return close < self.end && is_value(&line[start + 1..close]);
        }
        let end = self.unquoted_end.at_or_after(line, start).min(self.end);
        let is_whole = is_equals && end == self.value_end.max(start);
        // In a sentence, or behind a colon, only what is no word is a value.
        let is_alone = is_equals || end + 1 >= self.end;
        (is_whole || is_alone && self.has_letters_and_digits(start, end))
            && self.is_literal(start, end)
    }

    /// As [`super::is_mixed`] of a part of the line.
    fn has_letters_and_digits(&mut self, start: usize, end: usize) -> bool {
        self.digit.at_or_after(self.line, start) < end
            && self.letter.at_or_after(self.line, start) < end
    }

    /// As [`is_literal`] of a part of the line that ends where a bare value does.
    fn is_literal(&mut self, start: usize, end: usize) -> bool {
        let line = self.line;
        end - start >= MIN_SECRET_LEN
            && !line[start..].starts_with(super::REFERENCE_PREFIXES)
            && self.code.at_or_after(line, start) >= end
            && self.non_number.at_or_after(line, start) < end
            && self.placeholder.at_or_after(line, start) >= end
    }
}

fn names_secret(name: &str) -> bool {
    is_secret_name(name) && !name.to_lowercase().contains("tokeniz")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn se_09_a_quoted_value_behind_a_telling_name_is_a_secret() {
        for line in [
            r#"password = "hunter2!""#,
            "api_key: 'abc def ghi'",
            "const token: string = `k7Qz9XbR`;",
            "export API_KEY=k7Qz9XbR",
            "db.password==hunter2x",
            "token=token=token=",
        ] {
            assert!(assigns_secret(line), "{line}");
        }
        for line in [
            "password: string",
            "tokenizer = \"o200k_base\"",
            "token = $TOKEN",
            "password = 12345678",
            "a=>",
        ] {
            assert!(!assigns_secret(line), "{line}");
        }
    }

    /// Looks at each sign by itself, as far as the line goes.
    fn assigns_secret_sign_by_sign(line: &str) -> bool {
        line.match_indices(['=', ':']).any(|(at, sign)| {
            let mut scan = AssignmentScanner::new(line);
            scan.segment_start = line[..at].rfind([',', '(', ';']).map_or(0, |before| before + 1);
            scan.has_secret_name(at) && scan.has_value(at, sign == "=")
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 4_000, ..ProptestConfig::default() })]

        #[test]
        fn se_09_answers_that_signs_share_are_those_of_each_sign(
            line in "(token|password|a|:|=|==| |\"|'|`|,|;|\\(|\\$|hunter2|123456|your|x9|é){0,24}",
        ) {
            prop_assert_eq!(assigns_secret(&line), assigns_secret_sign_by_sign(&line));
        }
    }
}
