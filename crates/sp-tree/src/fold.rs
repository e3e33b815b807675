//! Names that a file system may take for one.

use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

/// The form in which two names are one on a file system that folds case or normalizes Unicode.
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
    fn sp_19_folding_joins_case_and_normalization_twins() {
        assert_eq!(fold_name("README"), fold_name("readme"));
        assert_eq!(fold_name("caf\u{e9}"), fold_name("CAFE\u{301}"));
        assert_eq!(fold_name("stra\u{df}e"), fold_name("STRASSE"));
        assert_ne!(fold_name("a"), fold_name("b"));
    }
}
