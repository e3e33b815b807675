//! Invisible characters that a script or an emoji requires.
//!
//! Only visible characters, or invisible ones that are legitimate themselves, justify another. So
//! removing the hidden characters from a text makes nothing else in it hidden.

use super::HiddenKind;

/// Whether a run of one kind belongs to the text directly before or after it.
pub(super) fn is_legitimate(
    kind: HiddenKind,
    run: &str,
    before: &str,
    after: &str,
    at: usize,
) -> bool {
    let (last, next) = (before.chars().next_back(), after.chars().next());
    let mut characters = run.chars();
    let (Some(c), None) = (characters.next(), characters.next()) else {
        return match kind {
            HiddenKind::Tag => is_flag(last, run),
            HiddenKind::Blank => {
                run.chars().all(|c| c == BLANK_BRAILLE) && is_adjacent(is_braille, last, next)
            }
            _ => false,
        };
    };
    match kind {
        HiddenKind::VariationSelector => last.is_some_and(|base| takes_selector(base, c, next)),
        HiddenKind::Bidi => is_bidi_mark(c) && is_near_right_to_left(before, after),
        HiddenKind::ZeroWidth if c == '\u{FEFF}' => at == 0,
        HiddenKind::ZeroWidth => last.is_some_and(|last| is_legitimate_joiner(last, c, next)),
        HiddenKind::Blank => c == BLANK_BRAILLE && is_adjacent(is_braille, last, next),
        // Old licenses and source files contain form feeds between lines.
        HiddenKind::Control => {
            c == '\u{C}' && (last.is_none_or(is_line_end) || next.is_none_or(is_line_end))
        }
        HiddenKind::Tag | HiddenKind::Format => false,
    }
}

const BLANK_BRAILLE: char = '\u{2800}';

fn is_adjacent(is_one: fn(char) -> bool, last: Option<char>, next: Option<char>) -> bool {
    last.is_some_and(is_one) || next.is_some_and(is_one)
}

/// The flags of England, Scotland and Wales are a black flag followed by a region in tag
/// characters.
fn is_flag(last: Option<char>, run: &str) -> bool {
    const FLAGS: [&str; 3] = ["gbeng", "gbsct", "gbwls"];
    let spells = |region: &str| {
        let tags = region.bytes().map(u32::from).chain([0x7F]);
        run.chars().map(|c| u32::from(c) - 0xE0000).eq(tags)
    };
    last == Some('\u{1F3F4}') && FLAGS.into_iter().any(spells)
}

/// Whether a character has variants that this selector chooses from.
fn takes_selector(base: char, selector: char, next: Option<char>) -> bool {
    match selector {
        '\u{FE0E}' | '\u{FE0F}' => {
            is_emoji(base) || (is_keycap_base(base) && next == Some('\u{20E3}'))
        }
        '\u{FE00}'..='\u{FE0D}' => {
            is_ideograph(base)
                || matches!(base,
                    // Mathematical operators, CJK punctuation and its wide forms, Myanmar,
                    // Phags-pa.
                    '\u{2200}'..='\u{22FF}' | '\u{2A00}'..='\u{2AFF}' | '\u{3001}'..='\u{3002}'
                    | '\u{FF01}' | '\u{FF0C}' | '\u{FF0E}' | '\u{FF1A}' | '\u{FF1B}' | '\u{FF1F}'
                    | '\u{1000}'..='\u{109F}' | '\u{A840}'..='\u{A87F}')
        }
        _ => is_ideograph(base),
    }
}

fn is_keycap_base(c: char) -> bool {
    c.is_ascii_digit() || matches!(c, '#' | '*')
}

/// Whether a character may be displayed as an emoji.
fn is_emoji(c: char) -> bool {
    matches!(c,
        '\u{A9}' | '\u{AE}' | '\u{203C}' | '\u{2049}' | '\u{2122}' | '\u{2139}' | '\u{2190}'..='\u{21FF}'
        | '\u{2300}'..='\u{23FF}' | '\u{2460}'..='\u{24FF}' | '\u{25A0}'..='\u{27BF}' | '\u{2934}' | '\u{2935}'
        | '\u{2B00}'..='\u{2BFF}' | '\u{3030}' | '\u{303D}' | '\u{3297}' | '\u{3299}'
        | '\u{1F000}'..='\u{1FAFF}')
}

fn is_ideograph(c: char) -> bool {
    matches!(c,
        '\u{3400}'..='\u{4DBF}' | '\u{4E00}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}' | '\u{20000}'..='\u{323AF}')
}

/// Whether a zero-width character joins emoji or is required by a script.
fn is_legitimate_joiner(last: char, c: char, next: Option<char>) -> bool {
    let between = |is_one: fn(char) -> bool| is_one(last) && next.is_some_and(is_one);
    match c {
        '\u{200D}' if (is_emoji(last) || last == '\u{FE0F}') && next.is_some_and(is_emoji) => true,
        // After a virama, a joiner selects the form of a letter even at the end of a word.
        '\u{200C}' | '\u{200D}' => is_virama(last) || between(is_joining_letter),
        '\u{200B}' => between(is_unspaced_script),
        '\u{180B}'..='\u{180D}' | '\u{180F}' => is_mongolian(last),
        '\u{180E}' => between(is_mongolian),
        _ => false,
    }
}

/// Letters of scripts in which joiners and non-joiners change the spelling.
fn is_joining_letter(c: char) -> bool {
    let is_script = matches!(c,
        // Arabic, Syriac, Thaana, N'Ko and their extensions.
        '\u{0620}'..='\u{08FF}' | '\u{FB50}'..='\u{FDFF}' | '\u{FE70}'..='\u{FEFC}'
        // Indic scripts, Sinhala, Tibetan, Myanmar, Khmer, Mongolian.
        | '\u{0900}'..='\u{0DFF}' | '\u{0F00}'..='\u{109F}' | '\u{1780}'..='\u{17B3}' | '\u{17B6}'..='\u{17FF}'
        | '\u{1820}'..='\u{18AA}' | '\u{A8E0}'..='\u{A8FF}' | '\u{11000}'..='\u{114FF}');
    is_script && !c.is_numeric()
}

/// The sign that suppresses the vowel of a consonant.
fn is_virama(c: char) -> bool {
    matches!(
        c,
        '\u{094D}'
            | '\u{09CD}'
            | '\u{0A4D}'
            | '\u{0ACD}'
            | '\u{0B4D}'
            | '\u{0BCD}'
            | '\u{0C4D}'
            | '\u{0CCD}'
            | '\u{0D4D}'
            | '\u{0DCA}'
            | '\u{1039}'
            | '\u{17D2}'
    )
}

/// Scripts without spaces between words: a zero-width space marks a possible line break.
fn is_unspaced_script(c: char) -> bool {
    matches!(c,
        '\u{0E01}'..='\u{0EFF}' | '\u{0F00}'..='\u{0FFF}' | '\u{1000}'..='\u{109F}'
        | '\u{1780}'..='\u{17B3}' | '\u{17B6}'..='\u{17FF}')
}

fn is_mongolian(c: char) -> bool {
    matches!(c, '\u{1820}'..='\u{18AA}')
}

fn is_line_end(c: char) -> bool {
    matches!(c, '\n' | '\r')
}

fn is_braille(c: char) -> bool {
    matches!(c, '\u{2801}'..='\u{28FF}')
}

fn is_bidi_mark(c: char) -> bool {
    matches!(c, '\u{200E}' | '\u{200F}' | '\u{061C}')
}

/// A bidi mark keeps neutral characters, such as `!` or `++`, next to right-to-left text. It is
/// legitimate beside right-to-left letters, or one space away from them.
fn is_near_right_to_left(before: &str, after: &str) -> bool {
    let last = before.strip_suffix(' ').unwrap_or(before).chars().next_back();
    let next = after.strip_prefix(' ').unwrap_or(after).chars().next();
    is_adjacent(is_right_to_left, last, next)
}

/// Letters of right-to-left scripts.
fn is_right_to_left(c: char) -> bool {
    matches!(c, '\u{0590}'..='\u{061B}' | '\u{061D}'..='\u{08FF}' | '\u{FB1D}'..='\u{FDFF}' | '\u{FE70}'..='\u{FEFC}')
}
