//! Finds assignments of secrets in a line: `password = "hunter2"`.
//!
//! A line may be as long as the file, with a `=` or `:` at every second byte. The searches to the
//! right of each operator are therefore shared: a [`ForwardSearch`] keeps its result until the scan
//! passes it. The cost is linear in the length of the line.

use std::ops::Range;

use super::{MIN_SECRET_LEN, is_literal};
use sp_formats::workspace::{is_meaningful_value, is_secret_name};

/// Maximum length of a name with its type.
const MAX_NAME_LEN: usize = 120;

const QUOTES: [char; 3] = ['"', '\'', '`'];

/// The literal values that a line assigns to names such as `password`.
pub(super) fn assigned_values(line: &str) -> impl Iterator<Item = Range<usize>> {
    let line = if line.contains(['=', ':']) { line } else { "" };
    let mut scan = AssignmentScanner::new(line);
    line.bytes().enumerate().filter_map(move |(at, byte)| match byte {
        b',' | b'(' | b';' => {
            scan.segment_start = at + 1;
            None
        }
        b'=' | b':' if scan.has_secret_name(at) => scan.value(at, byte == b'='),
        _ => None,
    })
}

/// Finds the first match at or after an offset. Offsets must be ascending; all searches together
/// cost one pass over the line.
struct ForwardSearch {
    find: fn(&str) -> Option<usize>,
    /// For offsets from the first to the second value, the second one is the result.
    known: Option<(usize, usize)>,
}

impl ForwardSearch {
    fn new(find: fn(&str) -> Option<usize>) -> Self {
        Self { find, known: None }
    }

    /// Returns the offset of the match, or the length of the line.
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
    /// End of the line without trailing whitespace.
    end: usize,
    /// `end` without trailing commas and semicolons.
    value_end: usize,
    /// Start of the current segment; a name cannot span segments.
    segment_start: usize,
    /// Lower bound for the next colon of the segment; the cache holds whether the name before a
    /// colon is that of a secret.
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

    /// Whether the name before the operator is that of a secret. A type may stand between them.
    fn has_secret_name(&mut self, offset: usize) -> bool {
        names_secret(self.word_before(offset)) || self.has_typed_secret_name(offset)
    }

    /// Whether the word before the first colon of the segment is the name of a secret.
    fn has_typed_secret_name(&mut self, offset: usize) -> bool {
        self.colon = self.colon.max(self.segment_start).max(offset.saturating_sub(MAX_NAME_LEN));
        let bytes = self.line.as_bytes();
        while self.colon < offset && bytes[self.colon] != b':' {
            self.colon += 1;
        }
        if self.colon == offset {
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

    /// The last word of the segment before an offset.
    fn word_before(&self, at: usize) -> &'a str {
        let start =
            self.line.floor_char_boundary(self.segment_start.max(at.saturating_sub(MAX_NAME_LEN)));
        let before = self.line[start..at].trim_end().trim_end_matches(['"', '\'', '`', '?']);
        before
            .rsplit(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-' | '.')))
            .next()
            .unwrap_or_default()
    }

    /// The literal value that follows the operator, without quotes.
    fn value(&mut self, at: usize, is_equals: bool) -> Option<Range<usize>> {
        let line = self.line;
        let start = self.after_equals.at_or_after(line, at + 1);
        let start = self.after_whitespace.at_or_after(line, start).min(self.end);
        let first = line[start..self.end].chars().next();
        if let Some(quote) = QUOTES.iter().position(|quote| first == Some(*quote)) {
            let close = self.quotes[quote].at_or_after(line, start + 1);
            let is_value = |value: &str| is_literal(value) && is_meaningful_value(value);
            return (close < self.end && is_value(&line[start + 1..close]))
                .then(|| start + 1..close);
        }
        let end = self.unquoted_end.at_or_after(line, start).min(self.end);
        let is_whole = is_equals && end == self.value_end.max(start);
        // In prose or after a colon, only a mix of letters and digits counts as a value.
        let is_alone = is_equals || end + 1 >= self.end;
        let is_value = (is_whole || is_alone && self.has_letters_and_digits(start, end))
            && self.is_literal(start, end);
        is_value.then_some(start..end)
    }

    /// Like [`super::has_letters_and_digits`], for a part of the line.
    fn has_letters_and_digits(&mut self, start: usize, end: usize) -> bool {
        self.digit.at_or_after(self.line, start) < end
            && self.letter.at_or_after(self.line, start) < end
    }

    /// Like [`super::is_literal`], for an unquoted value in the line.
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

    fn assigns_secret(line: &str) -> bool {
        assigned_values(line).next().is_some()
    }

    #[test]
    fn se_09_literal_value_assigned_to_secret_name_is_a_secret() {
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

    /// Reference implementation: examines each operator independently.
    fn assigns_secret_by_operator(line: &str) -> bool {
        line.match_indices(['=', ':']).any(|(position, operator)| {
            let mut scanner = AssignmentScanner::new(line);
            scanner.segment_start =
                line[..position].rfind([',', '(', ';']).map_or(0, |separator| separator + 1);
            scanner.has_secret_name(position) && scanner.value(position, operator == "=").is_some()
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 4_000, ..ProptestConfig::default() })]

        #[test]
        fn se_09_shared_searches_match_independent_searches(
            line in "(token|password|a|:|=|==| |\"|'|`|,|;|\\(|\\$|hunter2|123456|your|x9|é){0,24}",
        ) {
            prop_assert_eq!(assigns_secret(&line), assigns_secret_by_operator(&line));
        }
    }
}
