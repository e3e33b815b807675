//! Phrases: sequences of word groups with bounded gaps, read from `phrases.txt`.

use std::sync::LazyLock;

use super::SentenceWord;
use super::vocabulary::{WordId, vocabulary};
use super::words::{alternatives, gap_of, phrase_rows};
use crate::audit::finding::{AuditClass, Confidence, Risk};

/// A phrase that sentences are compared with.
pub(super) struct Phrase {
    pub class: AuditClass,
    pub risk: Risk,
    pub confidence: Confidence,
    pub message: &'static str,
    /// The phrase itself starts with a negation.
    pub starts_negated: bool,
    steps: Vec<PhraseStep>,
}

struct PhraseStep {
    max_gap: usize,
    words: Vec<WordId>,
}

impl Phrase {
    /// Returns the index of the last word of a match that starts at a word.
    pub(super) fn matches(&self, words: &[SentenceWord], start: usize) -> Option<usize> {
        let mut at = start;
        for step in &self.steps[1..] {
            let from = at + 1;
            let to = (from + step.max_gap + 1).min(words.len());
            let found =
                words.get(from..to)?.iter().position(|word| step.words.contains(&word.id))?;
            at = from + found;
        }
        Some(at)
    }
}

/// All phrases, by their first word.
pub(super) struct PhraseTable {
    phrases: Vec<Phrase>,
    by_first: Vec<Vec<usize>>,
}

impl PhraseTable {
    pub(super) fn starts_with(&self, word: WordId) -> bool {
        self.by_first.get(usize::from(word)).is_some_and(|phrases| !phrases.is_empty())
    }

    pub(super) fn starting_with(&self, word: WordId) -> impl Iterator<Item = &Phrase> {
        self.by_first
            .get(usize::from(word))
            .into_iter()
            .flatten()
            .map(|index| &self.phrases[*index])
    }
}

pub(super) fn phrases() -> &'static PhraseTable {
    static TABLE: LazyLock<PhraseTable> = LazyLock::new(|| {
        let phrases: Vec<Phrase> = phrase_rows().filter_map(parse_phrase).collect();
        let mut by_first = Vec::new();
        for (index, phrase) in phrases.iter().enumerate() {
            for word in &phrase.steps[0].words {
                let word = usize::from(*word);
                by_first.resize_with(by_first.len().max(word + 1), Vec::new);
                by_first[word].push(index);
            }
        }
        PhraseTable { phrases, by_first }
    });
    &TABLE
}

/// `None` for a row with an unknown class, risk or confidence.
fn parse_phrase([class, risk, confidence, message, phrase]: [&'static str; 5]) -> Option<Phrase> {
    let mut steps = Vec::new();
    let mut max_gap = 0;
    for part in phrase.split_whitespace() {
        match gap_of(part) {
            Some(gap) => max_gap = gap,
            None => {
                let words = alternatives(part).map(|word| vocabulary().id_of(word)).collect();
                steps.push(PhraseStep { max_gap, words });
                max_gap = 0;
            }
        }
    }
    let class = AuditClass::ALL.into_iter().find(|known| known.as_str() == class)?;
    let risk = [Risk::Low, Risk::Medium, Risk::High].into_iter().find(|it| it.as_str() == risk)?;
    let levels = [Confidence::Hint, Confidence::Likely];
    let confidence = levels.into_iter().find(|known| known.as_str() == confidence)?;
    // `never … without asking` asks for the opposite.
    let starts_negated = phrase.starts_with("$NOT") || phrase.starts_with("not|");
    Some(Phrase { class, risk, confidence, message, starts_negated, steps })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn au_06_every_phrase_is_parsed() {
        assert_eq!(phrases().phrases.len(), phrase_rows().count());
    }
}
