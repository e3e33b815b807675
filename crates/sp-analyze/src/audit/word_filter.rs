//! Rejects most texts that contain none of many words with one pass over the text.

use regex::Regex;

/// Whether a text may contain one of some words.
pub(super) struct WordFilter(Option<Regex>);

impl WordFilter {
    pub(super) fn of<'w>(words: impl Iterator<Item = &'w str>) -> Self {
        let escaped: Vec<String> = words.map(regex::escape).collect();
        Self(Regex::new(&escaped.join("|")).ok())
    }

    pub(super) fn may_match(&self, text: &str) -> bool {
        self.0.as_ref().is_none_or(|words| words.is_match(text))
    }
}
