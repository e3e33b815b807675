//! Truncating text and normalizing whitespace.

/// Truncates `text` to `max_chars` characters, after a sentence or a word if possible. A token such
/// as `a-b/c=` is never cut in the middle, because half of a secret is still a secret.
pub(crate) fn truncate_text(text: &str, max_chars: usize) -> String {
    let text = text.trim();
    let Some((end, _)) = text.char_indices().nth(max_chars) else { return text.into() };
    let piece = &text[..end];
    let stop = piece.rfind(". ").map(|offset| offset + 1).filter(|offset| *offset > end / 2);
    let after = |is_end: fn(char) -> bool| piece.rfind(is_end).filter(|offset| *offset > end / 2);
    let word = || {
        after(char::is_whitespace)
            .or_else(|| after(|c| !c.is_alphanumeric() && !"-_.+/=".contains(c)))
    };
    format!("{} …", piece[..stop.or_else(word).unwrap_or(end)].trim_end())
}

/// Replaces every run of whitespace with one space.
pub(crate) fn collapse_whitespace(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
