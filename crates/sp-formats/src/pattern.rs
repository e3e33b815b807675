//! Patterns that select skills by ID: `*` within a segment, `**` across segments.
//!
//! Matching simulates all alternatives at once, one bit each, so there is no backtracking: the cost
//! is the length of the ID times the length of the pattern divided by 64.

use std::fmt;

use thiserror::Error;

/// The maximum length of a pattern.
const MAX_PATTERN_BYTES: usize = 4096;

/// Why a text is not a pattern.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PatternError {
    #[error("the pattern is empty")]
    Empty,
    #[error("a pattern must not start with `/`")]
    LeadingSlash,
    #[error("a pattern must not start with `./`")]
    LeadingDot,
    #[error("a pattern must not end with `/`")]
    TrailingSlash,
    #[error("a pattern must not be longer than {MAX_PATTERN_BYTES} bytes")]
    TooLong,
}

impl PatternError {
    /// What to write instead.
    pub fn hint(&self, text: &str) -> String {
        match self {
            Self::Empty => "use `**` to select all skills".into(),
            Self::TooLong => "split it into several patterns".into(),
            Self::LeadingSlash | Self::LeadingDot => match text.trim_start_matches(['.', '/']) {
                "" => "use `**` to select all skills".into(),
                rest => format!("use `{rest}`: IDs are relative"),
            },
            Self::TrailingSlash => {
                format!(
                    "use `{0}` for this skill, or `{0}/**` for all skills below it",
                    text.trim_end_matches('/')
                )
            }
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PatternToken {
    /// A literal byte.
    Byte(u8),
    /// `*`: any bytes except `/`.
    Star,
    /// `**`: any bytes.
    DoubleStar,
    /// `**/` at the start of a segment: nothing, or any bytes up to and including a `/`.
    DoubleStarSlash,
}

/// A valid pattern.
#[derive(Clone, PartialEq, Eq)]
pub struct Pattern {
    text: Box<str>,
    tokens: Vec<PatternToken>,
}

impl Pattern {
    pub fn new(text: &str) -> Result<Self, PatternError> {
        match text {
            "" => Err(PatternError::Empty),
            _ if text.len() > MAX_PATTERN_BYTES => Err(PatternError::TooLong),
            _ if text.starts_with('/') => Err(PatternError::LeadingSlash),
            _ if text.starts_with("./") => Err(PatternError::LeadingDot),
            _ if text.ends_with('/') => Err(PatternError::TrailingSlash),
            _ => Ok(Self { text: text.into(), tokens: tokenize(text.as_bytes()) }),
        }
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether the whole ID matches.
    pub fn matches(&self, id: &str) -> bool {
        let mut states = StateSet::new(self.tokens.len() + 1);
        let mut next = StateSet::new(self.tokens.len() + 1);
        self.add_reachable(&mut states, 0);
        for &byte in id.as_bytes() {
            self.step(&states, byte, &mut next);
            std::mem::swap(&mut states, &mut next);
            if states.is_empty() {
                return false;
            }
        }
        states.contains(self.tokens.len())
    }

    /// Sets `next` to the states after one more byte.
    fn step(&self, states: &StateSet, byte: u8, next: &mut StateSet) {
        next.0.fill(0);
        for state in states.iter().take_while(|&state| state < self.tokens.len()) {
            match self.tokens[state] {
                PatternToken::Byte(expected) if expected == byte => {
                    self.add_reachable(next, state + 1);
                }
                PatternToken::Star if byte != b'/' => self.add_reachable(next, state),
                PatternToken::DoubleStar => self.add_reachable(next, state),
                PatternToken::Byte(_) | PatternToken::Star => {}
                PatternToken::DoubleStarSlash => {
                    // Once started, it ends only after a `/`.
                    next.insert(state);
                    if byte == b'/' {
                        self.add_reachable(next, state + 1);
                    }
                }
            }
        }
    }

    /// Adds a state and those that follow it if wildcards match nothing.
    fn add_reachable(&self, states: &mut StateSet, mut state: usize) {
        states.insert(state);
        while !matches!(self.tokens.get(state), None | Some(PatternToken::Byte(_))) {
            state += 1;
            states.insert(state);
        }
    }
}

fn tokenize(text: &[u8]) -> Vec<PatternToken> {
    let mut tokens = Vec::new();
    let mut index = 0;
    while index < text.len() {
        let stars = text[index..].iter().take_while(|&&byte| byte == b'*').count();
        let starts_segment = index == 0 || text[index - 1] == b'/';
        index += stars.max(1);
        match stars {
            0 => tokens.push(PatternToken::Byte(text[index - 1])),
            1 => tokens.push(PatternToken::Star),
            _ if starts_segment && text.get(index) == Some(&b'/') => {
                // `**/**/` is equivalent to `**/`, and this keeps runs of wildcards short.
                if tokens.last() != Some(&PatternToken::DoubleStarSlash) {
                    tokens.push(PatternToken::DoubleStarSlash);
                }
                index += 1;
            }
            _ => tokens.push(PatternToken::DoubleStar),
        }
    }
    tokens
}

/// A set of small integers.
struct StateSet(Vec<u64>);

impl StateSet {
    fn new(count: usize) -> Self {
        Self(vec![0; count.div_ceil(64)])
    }

    fn insert(&mut self, state: usize) {
        self.0[state / 64] |= 1 << (state % 64);
    }

    fn contains(&self, state: usize) -> bool {
        self.0[state / 64] >> (state % 64) & 1 == 1
    }

    fn is_empty(&self) -> bool {
        self.0.iter().all(|&word| word == 0)
    }

    fn iter(&self) -> impl Iterator<Item = usize> {
        self.0.iter().enumerate().flat_map(|(index, &word)| {
            std::iter::successors(Some(word), |&rest| Some(rest & rest.wrapping_sub(1)))
                .take_while(|&rest| rest != 0)
                .map(move |rest| index * 64 + rest.trailing_zeros() as usize)
        })
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn matches(pattern: &str, id: &str) -> bool {
        Pattern::new(pattern).unwrap().matches(id)
    }

    #[test]
    fn sp_14_only_stars_are_special() {
        for (pattern, id, expected) in [
            ("coding/dotnet/*", "coding/dotnet/ef", true),
            ("coding/dotnet/*", "coding/dotnet/ef/x", false),
            ("coding/*", "coding/", true),
            ("general/**", "general/a/b", true),
            ("**/experimental/**", "a/experimental/b", true),
            ("**/experimental/**", "experimental/b", true),
            ("General", "general", false),
            ("a?c", "abc", false),
            ("a?c", "a?c", true),
            ("[ab]", "a", false),
            ("[ab]", "[ab]", true),
            ("{a,b}", "{a,b}", true),
            ("a\\*", "a\\b", true),
            ("pre*post", "prepost", true),
            ("*", "a/b", false),
            ("**", "a/b", true),
            ("é*", "éa", true),
        ] {
            assert_eq!(matches(pattern, id), expected, "{pattern} on {id}");
        }
    }

    #[test]
    fn sp_33_double_stars_span_segments_and_invalid_patterns_are_rejected() {
        for (pattern, id, expected) in [
            ("general/**", "general", false),
            ("**/x", "x", true),
            ("**/x", "ax", false),
            ("**/x", "a/x", true),
            ("a/**/b", "a/b", true),
            ("a/**/b", "a/x/y/b", true),
            ("a/**/b", "a/xb", false),
            ("a**b", "ab", true),
            ("a**b", "a/x/b", true),
            ("***", "a/b", true),
            ("**/**/x", "x", true),
        ] {
            assert_eq!(matches(pattern, id), expected, "{pattern} on {id}");
        }
        for (pattern, error, hint) in [
            ("", PatternError::Empty, "use `**`"),
            ("/a", PatternError::LeadingSlash, "use `a`"),
            ("./a", PatternError::LeadingDot, "use `a`"),
            ("a/", PatternError::TrailingSlash, "`a/**`"),
        ] {
            assert_eq!(Pattern::new(pattern), Err(error.clone()));
            assert!(error.hint(pattern).contains(hint));
        }
    }

    #[test]
    fn sp_15_hostile_pattern_does_not_backtrack() {
        let pattern = Pattern::new(&format!("{}b", "*a".repeat(2000))).unwrap();
        // Backtracking would exceed the time limit of the test runner.
        assert!(!pattern.matches(&"a".repeat(4000)));
    }

    /// The definition of matching, written as directly as possible.
    fn oracle(pattern: &[u8], id: &[u8], starts_segment: bool) -> bool {
        match pattern {
            [] => id.is_empty(),
            [b'*', b'*', rest @ ..] => {
                let rest = &rest[rest.iter().take_while(|&&byte| byte == b'*').count()..];
                let empty_prefix =
                    starts_segment && matches!(rest, [b'/', tail @ ..] if oracle(tail, id, true));
                empty_prefix || (0..=id.len()).any(|n| oracle(rest, &id[n..], false))
            }
            [b'*', rest @ ..] => (0..=id.len())
                .take_while(|&n| !id[..n].contains(&b'/'))
                .any(|n| oracle(rest, &id[n..], false)),
            [byte, rest @ ..] => id.first() == Some(byte) && oracle(rest, &id[1..], *byte == b'/'),
        }
    }

    proptest! {
        #[test]
        fn sp_14_matching_agrees_with_the_definition(pattern in "[ab*/]{1,8}", id in "[ab]{1,3}(/[ab]{1,3}){0,3}") {
            if let Ok(parsed) = Pattern::new(&pattern) {
                prop_assert_eq!(parsed.matches(&id), oracle(pattern.as_bytes(), id.as_bytes(), true));
            }
        }

        #[test]
        fn sp_14_matching_agrees_with_globset_where_both_are_defined(
            pattern in "(\\*\\*/)?([ab]{1,2}|\\*[ab]|[ab]\\*)(/[ab]{1,2}\\*?){0,2}",
            id in "[ab]{1,3}(/[ab]{1,3}){0,3}",
        ) {
            let glob = globset::GlobBuilder::new(&pattern).literal_separator(true).build().unwrap().compile_matcher();
            prop_assert_eq!(matches(&pattern, &id), glob.is_match(&id), "{}", pattern);
        }
    }
}
