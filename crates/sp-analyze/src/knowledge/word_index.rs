//! A compact word index of a document, so that thousands of documents can be searched quickly.

use std::collections::BTreeMap;

use crate::stemming::for_each_word;

use crate::knowledge::document::{KnowledgeBlockKind, KnowledgeDocument};
use crate::knowledge::sentence::to_plain_text;
use crate::knowledge::url::url_identity;

/// Bytes per word: its hash, and its counts in text, in headings and highlights, and in the title.
const ENTRY_LEN: usize = 12;

/// Number of occurrences by part of the document.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct WordCounts {
    /// In text and code.
    pub text: u16,
    /// In headings and highlights.
    pub marked: u8,
    /// In the title, tags and URL.
    pub title: u8,
}

/// Encodes the distinct words of a document, sorted by hash.
pub fn index_words(document: &KnowledgeDocument) -> Vec<u8> {
    let mut counts: BTreeMap<u64, WordCounts> = BTreeMap::new();
    let mut each = |text: &str, add: fn(&mut WordCounts)| {
        for_each_word(text, &mut |word| add(counts.entry(word).or_default()));
    };
    let in_text: fn(&mut WordCounts) = |counts| counts.text = counts.text.saturating_add(1);
    let in_marked: fn(&mut WordCounts) = |counts| counts.marked = counts.marked.saturating_add(1);
    let in_title: fn(&mut WordCounts) = |counts| counts.title = counts.title.saturating_add(1);
    each(&document.title, in_title);
    document.tags.iter().for_each(|tag| each(tag, in_title));
    each(url_identity(&document.url).split_once('/').unwrap_or_default().1, in_title);
    each(&document.code, in_text);
    for section in &document.sections {
        each(&section.title, in_marked);
        for block in &section.blocks {
            let add = if block.sort == KnowledgeBlockKind::Highlight { in_marked } else { in_text };
            block.sentences.iter().for_each(|sentence| each(&to_plain_text(sentence), add));
        }
    }
    encode_words(counts.into_iter())
}

fn encode_words(words: impl Iterator<Item = (u64, WordCounts)>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (word, WordCounts { text, marked, title }) in words {
        bytes.extend(word.to_le_bytes());
        bytes.extend(text.to_le_bytes());
        bytes.extend([marked, title]);
    }
    bytes
}

/// Decodes an index.
pub(crate) fn decode_words(bytes: &[u8]) -> impl Iterator<Item = (u64, WordCounts)> {
    bytes.chunks_exact(ENTRY_LEN).map(|entry| {
        let word = entry[..8].iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
        (
            word,
            WordCounts {
                text: u16::from_le_bytes([entry[8], entry[9]]),
                marked: entry[10],
                title: entry[11],
            },
        )
    })
}

/// Merges the indexes of two documents with the same URL.
pub fn merge_words(a: &[u8], b: &[u8]) -> Vec<u8> {
    let mut counts: BTreeMap<u64, WordCounts> = decode_words(a).collect();
    for (word, more) in decode_words(b) {
        let known = counts.entry(word).or_default();
        known.text = known.text.saturating_add(more.text);
        known.marked = known.marked.saturating_add(more.marked);
        known.title = known.title.saturating_add(more.title);
    }
    encode_words(counts.into_iter())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knowledge::document::{KnowledgeBlock, KnowledgeSection};

    #[test]
    fn words_are_counted_by_part() {
        let document = KnowledgeDocument {
            url: "https://example.com/retry".into(),
            title: "Retries".into(),
            sections: vec![KnowledgeSection {
                title: "Limits".into(),
                blocks: vec![KnowledgeBlock {
                    sort: KnowledgeBlockKind::Text,
                    sentences: vec!["Retry `with` a limit.".into()],
                }],
            }],
            ..KnowledgeDocument::default()
        };
        let bytes = index_words(&document);
        let mut retry = 0;
        for_each_word("retry", &mut |word| retry = word);
        let found = decode_words(&bytes).find(|(word, _)| *word == retry);
        assert_eq!(
            found.map(|(_, counts)| counts),
            Some(WordCounts { text: 1, marked: 0, title: 2 })
        );
        let merged = merge_words(&bytes, &bytes);
        assert_eq!(decode_words(&merged).count(), decode_words(&bytes).count());
        assert!(decode_words(&merged).any(|(word, counts)| word == retry && counts.title == 4));
    }
}
