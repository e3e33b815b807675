//! The words that phrases consist of. All other words are equal.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::words::all_words;

/// The number of a known word; zero for all others.
pub(super) type WordId = u16;

pub(super) const UNKNOWN: WordId = 0;

/// Longer words are unknown.
const MAX_WORD_LEN: usize = 32;

/// A set of known words.
pub(super) struct WordSet(Vec<bool>);

impl WordSet {
    /// Collects words that are separated by blanks.
    pub(super) fn of(words: &str) -> Self {
        let mut set = vec![false; vocabulary().ids.len() + 1];
        for word in words.split_whitespace() {
            set[usize::from(vocabulary().id_of(word))] = true;
        }
        set[usize::from(UNKNOWN)] = false;
        Self(set)
    }

    pub(super) fn contains(&self, word: WordId) -> bool {
        self.0.get(usize::from(word)).copied().unwrap_or_default()
    }
}

/// The known words.
pub(super) struct Vocabulary {
    ids: HashMap<&'static str, WordId, foldhash::fast::RandomState>,
    /// Whether a word with this length has this first letter.
    shapes: Vec<[bool; 256]>,
    pub url: WordId,
    pub email: WordId,
    pub credential: WordId,
}

impl Vocabulary {
    /// The number of a word in any case.
    pub(super) fn id_of(&self, word: &str) -> WordId {
        // Most words of a text are unknown. Apostrophes may have another length.
        if word.is_ascii() {
            let first = word.bytes().next().unwrap_or_default().to_ascii_lowercase();
            let shape = self.shapes.get(word.len());
            if !shape.is_some_and(|starts| starts[usize::from(first)]) {
                return UNKNOWN;
            }
        }
        let mut buffer = [0; MAX_WORD_LEN];
        let mut length = 0;
        for byte in word.bytes() {
            // A typographic apostrophe has three bytes.
            let byte = match byte {
                0xE2 => b'\'',
                0x80 | 0x99 => continue,
                byte if byte.is_ascii() => byte.to_ascii_lowercase(),
                _ => return UNKNOWN,
            };
            if length == MAX_WORD_LEN {
                return UNKNOWN;
            }
            buffer[length] = byte;
            length += 1;
        }
        let word = std::str::from_utf8(&buffer[..length]).unwrap_or_default();
        self.ids.get(word).copied().unwrap_or(UNKNOWN)
    }
}

pub(super) fn vocabulary() -> &'static Vocabulary {
    static VOCABULARY: LazyLock<Vocabulary> = LazyLock::new(|| {
        let mut ids = HashMap::default();
        for word in all_words() {
            let next = WordId::try_from(ids.len() + 1).unwrap_or(UNKNOWN);
            ids.entry(word).or_insert(next);
        }
        let mut shapes = vec![[false; 256]; MAX_WORD_LEN + 1];
        for word in ids.keys() {
            if let (Some(starts), Some(first)) = (shapes.get_mut(word.len()), word.bytes().next()) {
                starts[usize::from(first)] = true;
            }
        }
        let id = |word: &str| ids.get(word).copied().unwrap_or(UNKNOWN);
        let (url, email, credential) = (id("<url>"), id("<email>"), id("<credential>"));
        Vocabulary { ids, shapes, url, email, credential }
    });
    &VOCABULARY
}
