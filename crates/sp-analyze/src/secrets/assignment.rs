//! Assignments of secrets in one line: `password = "hunter2"`.
//!
//! A line may be as long as the file and have a sign at every second byte, so every search to the right
//! is shared between the signs: each answer is kept in a [`Next`] until a sign stands behind it. The cost
//! of a line is linear in its length.

use super::{FEWEST, is_literal};
use sp_formats::bag::{is_secret_name, is_worth_hiding};

/// A name and its type are not longer.
const LONGEST_NAME: usize = 120;

const QUOTES: [char; 3] = ['"', '\'', '`'];

/// Whether a line gives a value to a telling name, and the value is not a type, a place or a sentence.
pub(super) fn assigns_secret(line: &str) -> bool {
    if !line.contains(['=', ':']) {
        return false;
    }
    let mut scan = Scan::new(line);
    line.bytes().enumerate().any(|(at, byte)| match byte {
        b',' | b'(' | b';' => {
            scan.segment = at + 1;
            false
        }
        b'=' | b':' => scan.is_named(at) && scan.has_value(at, byte == b'='),
        _ => false,
    })
}

/// The first position, from a given one on, at which something begins. Positions must be asked for in
/// ascending order; all the answers together cost one pass over the line.
struct Next {
    find: fn(&str) -> Option<usize>,
    /// For positions in this range, the end of it is the answer.
    known: Option<(usize, usize)>,
}

impl Next {
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

struct Scan<'a> {
    line: &'a str,
    /// The end of the line without blanks.
    end: usize,
    /// The same without the commas and semicolons before it.
    value_end: usize,
    /// Where the part of the line begins that the name must stand in.
    segment: usize,
    /// A position up to which there is no colon that counts, and whether the name before it tells.
    colon: usize,
    colon_name: Option<(usize, bool)>,
    behind_signs: Next,
    behind_blanks: Next,
    quotes: [Next; 3],
    bare_end: Next,
    digit: Next,
    letter: Next,
    code: Next,
    no_number: Next,
    placeholder: Next,
}

impl<'a> Scan<'a> {
    fn new(line: &'a str) -> Self {
        let end = line.trim_end().len();
        Self {
            line,
            end,
            value_end: line[..end].trim_end_matches([',', ';']).len(),
            segment: 0,
            colon: 0,
            colon_name: None,
            behind_signs: Next::new(|rest| rest.find(|c| c != '=')),
            behind_blanks: Next::new(|rest| rest.find(|c: char| !c.is_whitespace())),
            quotes: [
                Next::new(|rest| rest.find(QUOTES[0])),
                Next::new(|rest| rest.find(QUOTES[1])),
                Next::new(|rest| rest.find(QUOTES[2])),
            ],
            bare_end: Next::new(|rest| rest.find(super::ends_bare)),
            digit: Next::new(|rest| rest.find(|c: char| c.is_ascii_digit())),
            letter: Next::new(|rest| rest.find(|c: char| c.is_ascii_alphabetic())),
            code: Next::new(|rest| rest.find(super::CODE)),
            no_number: Next::new(|rest| rest.find(|c| !super::is_of_number(c))),
            placeholder: Next::new(super::find_placeholder),
        }
    }

    /// Whether the name before the sign says that its value is a secret. Between the two may stand a type.
    fn is_named(&mut self, at: usize) -> bool {
        tells(self.word_before(at)) || self.is_typed_name(at)
    }

    /// Whether the word before the first colon of the segment is such a name.
    fn is_typed_name(&mut self, at: usize) -> bool {
        self.colon = self.colon.max(self.segment).max(at.saturating_sub(LONGEST_NAME));
        let bytes = self.line.as_bytes();
        while self.colon < at && bytes[self.colon] != b':' {
            self.colon += 1;
        }
        if self.colon == at {
            return false;
        }
        match self.colon_name {
            Some((known, tells)) if known == self.colon => tells,
            _ => {
                let tells = tells(self.word_before(self.colon));
                self.colon_name = Some((self.colon, tells));
                tells
            }
        }
    }

    /// The last word of the segment before a sign.
    fn word_before(&self, at: usize) -> &'a str {
        let start = self.line.floor_char_boundary(self.segment.max(at.saturating_sub(LONGEST_NAME)));
        let before = self.line[start..at].trim_end().trim_end_matches(['"', '\'', '`', '?']);
        before.rsplit(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-' | '.'))).next().unwrap_or_default()
    }

    /// Whether what stands behind the sign begins with a value.
    fn has_value(&mut self, at: usize, is_equals: bool) -> bool {
        let line = self.line;
        let start = self.behind_signs.at_or_after(line, at + 1);
        let start = self.behind_blanks.at_or_after(line, start).min(self.end);
        let first = line[start..self.end].chars().next();
        if let Some(quote) = QUOTES.iter().position(|quote| first == Some(*quote)) {
            let close = self.quotes[quote].at_or_after(line, start + 1);
            let is_value = |value: &str| is_literal(value) && is_worth_hiding(value);
            return close < self.end && is_value(&line[start + 1..close]);
        }
        let end = self.bare_end.at_or_after(line, start).min(self.end);
        let is_whole = is_equals && end == self.value_end.max(start);
        // In a sentence, or behind a colon, only what is no word is a value.
        let is_alone = is_equals || end + 1 >= self.end;
        (is_whole || is_alone && self.is_mixed(start, end)) && self.is_literal(start, end)
    }

    /// As [`super::is_mixed`] of a part of the line.
    fn is_mixed(&mut self, start: usize, end: usize) -> bool {
        self.digit.at_or_after(self.line, start) < end && self.letter.at_or_after(self.line, start) < end
    }

    /// As [`is_literal`] of a part of the line that ends where a bare value does.
    fn is_literal(&mut self, start: usize, end: usize) -> bool {
        let line = self.line;
        end - start >= FEWEST
            && !line[start..].starts_with(super::REFERENCES)
            && self.code.at_or_after(line, start) >= end
            && self.no_number.at_or_after(line, start) < end
            && self.placeholder.at_or_after(line, start) >= end
    }
}

fn tells(name: &str) -> bool {
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
        for line in ["password: string", "tokenizer = \"o200k_base\"", "token = $TOKEN", "password = 12345678", "a=>"] {
            assert!(!assigns_secret(line), "{line}");
        }
    }

    /// Looks at each sign by itself, as far as the line goes.
    fn assigns_secret_sign_by_sign(line: &str) -> bool {
        line.match_indices(['=', ':']).any(|(at, sign)| {
            let mut scan = Scan::new(line);
            scan.segment = line[..at].rfind([',', '(', ';']).map_or(0, |before| before + 1);
            scan.is_named(at) && scan.has_value(at, sign == "=")
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
