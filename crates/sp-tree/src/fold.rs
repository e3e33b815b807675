//! Names that some file systems consider equal.

use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

/// Returns the same text for names that are equal on a file system that ignores case or normalizes
/// Unicode.
pub fn fold_name(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    let folded: String =
        text.nfd().flat_map(char::to_uppercase).flat_map(char::to_lowercase).collect();
    match is_nfc_quick(folded.chars()) {
        IsNormalized::Yes => folded,
        _ => folded.nfc().collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sp_19_names_that_differ_in_case_or_normalization_fold_to_one() {
        assert_eq!(fold_name("README"), fold_name("readme"));
        assert_eq!(fold_name("caf\u{e9}"), fold_name("CAFE\u{301}"));
        assert_eq!(fold_name("stra\u{df}e"), fold_name("STRASSE"));
        assert_ne!(fold_name("a"), fold_name("b"));
    }
}
