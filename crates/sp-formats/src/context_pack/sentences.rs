//! Counting sentences, for fields whose length the specification recommends in sentences.

/// Returns the approximate number of sentences. Footnotes are not counted.
pub fn count_sentences(text: &str) -> usize {
    // CJK punctuation ends a sentence without a following space.
    let spaced = text.replace(['。', '！', '？'], ". ");
    let is_note = |word: &&str| word.starts_with("[^") && word.contains(']');
    let words: Vec<&str> = spaced.split_whitespace().filter(|word| !is_note(word)).collect();
    let ends = |word: &&&str| {
        word.trim_end_matches(['"', '\'', ')', '”', '’']).ends_with(['.', '!', '?', '…'])
    };
    let inner = words
        .iter()
        .take(words.len().saturating_sub(1))
        .filter(ends)
        .filter(|word| !is_abbreviation(word))
        .count();
    if words.is_empty() { 0 } else { inner + 1 }
}

/// `e.g.` and single letters do not end a sentence.
fn is_abbreviation(word: &str) -> bool {
    let bare = word.trim_end_matches('.');
    matches!(bare.to_ascii_lowercase().as_str(), "e.g" | "i.e" | "etc" | "vs" | "cf" | "no")
        || bare.chars().count() == 1 && bare.chars().all(|c| c.is_ascii_alphabetic())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_sentences() {
        for (text, count) in [
            ("", 0),
            ("One", 1),
            ("One. Two.", 2),
            ("It uses e.g. Rust. Yes!", 2),
            ("Is it? \"It is.\" Good.", 3),
            ("One. Two. [^src_a]", 2),
            ("一。二。", 2),
        ] {
            assert_eq!(count_sentences(text), count, "{text}");
        }
    }
}
