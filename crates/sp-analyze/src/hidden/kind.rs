//! Classification of invisible characters.

/// A class of invisible characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HiddenKind {
    /// Tag characters: an invisible copy of ASCII.
    Tag,
    /// Variation selectors: 256 invisible characters, one per byte value.
    VariationSelector,
    /// Bidirectional controls: they change the display order of a line.
    Bidi,
    /// Zero-width characters: joiners, zero-width spaces, soft hyphens.
    ZeroWidth,
    /// Blank letters and symbols: Hangul fillers and the empty braille pattern.
    Blank,
    /// Control characters, including the escape that starts terminal sequences.
    Control,
    /// Separators, annotations and other invisible layout characters.
    Format,
}

impl HiddenKind {
    /// Display name, in the plural.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tag => "tag characters",
            Self::VariationSelector => "variation selectors",
            Self::Bidi => "bidi controls",
            Self::ZeroWidth => "zero-width characters",
            Self::Blank => "blank characters",
            Self::Control => "control characters",
            Self::Format => "format characters",
        }
    }
}

/// Returns the class of a character, or `None` if it is visible.
pub(super) fn kind_of(c: char) -> Option<HiddenKind> {
    Some(match c {
        '\t' | '\n' | '\r' => return None,
        c if c.is_control() => HiddenKind::Control,
        '\u{E0000}'..='\u{E007F}' => HiddenKind::Tag,
        '\u{FE00}'..='\u{FE0F}' | '\u{E0100}'..='\u{E01EF}' => HiddenKind::VariationSelector,
        '\u{061C}'
        | '\u{200E}'
        | '\u{200F}'
        | '\u{202A}'..='\u{202E}'
        | '\u{2066}'..='\u{2069}' => HiddenKind::Bidi,
        // Soft hyphen, grapheme joiner, Mongolian selectors and vowel separator, zero-width space
        // and joiners, word joiner and invisible operators, byte-order mark.
        '\u{00AD}'
        | '\u{034F}'
        | '\u{180B}'..='\u{180F}'
        | '\u{200B}'..='\u{200D}'
        | '\u{2060}'..='\u{2064}'
        | '\u{FEFF}' => HiddenKind::ZeroWidth,
        '\u{115F}' | '\u{1160}' | '\u{3164}' | '\u{FFA0}' | '\u{2800}' => HiddenKind::Blank,
        // Khmer inherent vowels, line and paragraph separators, deprecated and unassigned
        // characters, interlinear annotation, shorthand and musical format characters, the rest of
        // the tag plane.
        '\u{17B4}'
        | '\u{17B5}'
        | '\u{2028}'
        | '\u{2029}'
        | '\u{2065}'
        | '\u{206A}'..='\u{206F}'
        | '\u{FFF0}'..='\u{FFFB}'
        | '\u{1BCA0}'..='\u{1BCA3}'
        | '\u{1D173}'..='\u{1D17A}'
        | '\u{E0080}'..='\u{E00FF}'
        | '\u{E01F0}'..='\u{E0FFF}' => HiddenKind::Format,
        _ => return None,
    })
}

/// Whether the UTF-8 encoding of a character with a [`kind_of`] may start with this byte. None of
/// these bytes is a continuation byte.
pub(super) fn may_start_hidden(byte: u8) -> bool {
    const LEADS: [bool; 256] = lead_byte_table();
    LEADS[byte as usize]
}

const fn lead_byte_table() -> [bool; 256] {
    let mut leads = [false; 256];
    let mut byte = 0;
    while byte < 0x20 {
        leads[byte] = !matches!(byte as u8, b'\t' | b'\n' | b'\r');
        byte += 1;
    }
    let others = [0x7F, 0xC2, 0xCD, 0xD8, 0xE1, 0xE2, 0xE3, 0xEF, 0xF0, 0xF3];
    let mut index = 0;
    while index < others.len() {
        leads[others[index]] = true;
        index += 1;
    }
    leads
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn se_09_every_hidden_character_starts_with_a_candidate_byte() {
        for c in '\0'..=char::MAX {
            let lead = c.to_string().as_bytes()[0];
            assert!(kind_of(c).is_none() || may_start_hidden(lead), "{}", c.escape_unicode());
        }
    }

    #[test]
    fn se_09_every_escaped_character_has_a_kind() {
        let escaped = |c: &char| sp_formats::printable::is_hidden(*c) && !"\t\n\r".contains(*c);
        for c in ('\0'..=char::MAX).filter(escaped) {
            assert!(kind_of(c).is_some(), "{}", c.escape_unicode());
        }
    }
}
