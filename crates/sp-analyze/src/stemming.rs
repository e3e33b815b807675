//! Word stems as hashes, without an allocation per word.
//!
//! All forms of a word have the same hash, which never changes: it is stored in indexes.

use std::collections::HashSet;

/// Words that carry no meaning in a query.
const STOP_WORDS: &[&str] = &[
    "the", "an", "of", "to", "in", "is", "it", "and", "or", "for", "on", "with", "by", "my", "do",
    "does", "how", "what", "why", "which", "who", "where", "when", "that", "this", "be", "are",
    "was", "not", "no", "can", "should", "may", "me", "you", "your", "from", "at", "as", "into",
    "so", "use", "used", "using", "get", "its", "if", "there", "has", "have", "will", "would",
    "we", "our", "all", "any",
];
/// Suffixes that do not change the topic of a word, by last letter; longer ones first.
const SUFFIXES: &[(u8, &[&str])] = &[
    (b's', &["izations", "ations", "ments", "ings", "ions", "ers", "es", "s"]),
    (b'n', &["ization", "ation", "ion"]),
    (b't', &["ment"]),
    (b'g', &["ing"]),
    (b'y', &["edly", "ly"]),
    (b'd', &["ed"]),
    (b'r', &["er"]),
    (b'e', &["able", "e"]),
];
/// Minimum length of a stem.
const MIN_STEM_LEN: usize = 4;
/// Longer words are truncated to this many bytes.
const MAX_WORD_LEN: usize = 48;

/// Returns the hashes of the stop words.
pub fn stop_words() -> HashSet<u64> {
    STOP_WORDS.iter().map(|word| hash_stem(word.as_bytes())).collect()
}

/// Calls `give` with the hash of every word, and of the parts of identifiers such as
/// `ReadWriteLock`.
pub fn for_each_word(text: &str, give: &mut impl FnMut(u64)) {
    for word in text.split(|c: char| !c.is_alphanumeric()) {
        if word.len() < 2 {
            continue;
        }
        if !word.is_ascii() {
            for_each_non_ascii_word(word, give);
            continue;
        }
        give(hash_stem(word.as_bytes()));
        // Fast path: most words are lowercase.
        if word.bytes().skip(1).any(|byte| !byte.is_ascii_lowercase()) {
            for_each_name_part(word.as_bytes(), give);
        }
    }
}

/// Hashes a non-ASCII word. In scripts without spaces, every pair of characters is a word.
fn for_each_non_ascii_word(word: &str, give: &mut impl FnMut(u64)) {
    let lower = word.to_lowercase();
    if !lower.contains(is_unspaced_script) {
        give(hash_stem(lower.as_bytes()));
        return;
    }
    let chars: Vec<char> = lower.chars().collect();
    for pair in chars.windows(2) {
        give(hash_stem(pair.iter().collect::<String>().as_bytes()));
    }
}

/// Characters of scripts without spaces between words.
fn is_unspaced_script(c: char) -> bool {
    matches!(c, '\u{0E00}'..='\u{0E7F}' | '\u{3040}'..='\u{30FF}' | '\u{3400}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}')
}

/// Hashes the parts of a camel-case identifier; nothing if there is only one.
fn for_each_name_part(word: &[u8], give: &mut impl FnMut(u64)) {
    let is_start = |index: usize| {
        let (before, here) = (word[index - 1], word[index]);
        let next_is_small = word.get(index + 1).is_some_and(u8::is_ascii_lowercase);
        before.is_ascii_digit() != here.is_ascii_digit()
            || here.is_ascii_uppercase() && (before.is_ascii_lowercase() || next_is_small)
    };
    let mut start = 0;
    for index in (1..word.len()).filter(|index| is_start(*index)).chain([word.len()]) {
        let part = &word[start..index];
        if part.len() > 1 && part.len() < word.len() {
            give(hash_stem(part));
        }
        start = index;
    }
}

/// Hashes a word, in lowercase and without its suffix. The result must never change.
pub fn hash_stem(word: &[u8]) -> u64 {
    let mut buffer = [0_u8; MAX_WORD_LEN];
    let length = word.len().min(MAX_WORD_LEN);
    buffer[..length].copy_from_slice(&word[..length]);
    buffer[..length].make_ascii_lowercase();
    let stem = stem(&buffer[..length]);
    // FNV-1a: stable across processes, and fast for short words.
    stem.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

fn stem(word: &[u8]) -> &[u8] {
    let without =
        |end: &&str| word.strip_suffix(end.as_bytes()).filter(|stem| stem.len() >= MIN_STEM_LEN);
    // The plural of a word that is too short for [`SUFFIXES`], such as `keys`.
    let plural = || match word {
        [rest @ .., last, b's'] if rest.len() > 1 && !b"sui".contains(last) => {
            Some(&word[..word.len() - 1])
        }
        _ => None,
    };
    let last = word.last().copied().unwrap_or_default();
    let endings =
        SUFFIXES.iter().find(|(letter, _)| *letter == last).map_or(&[][..], |(_, endings)| endings);
    let mut stem = endings.iter().find_map(without).or_else(plural).unwrap_or(word);
    if stem.len() > MIN_STEM_LEN
        && let Some(shorter) = stem.strip_suffix(b"i").or_else(|| stem.strip_suffix(b"y"))
    {
        stem = shorter;
    }
    match stem {
        [rest @ .., a, b] if a == b && stem.len() > MIN_STEM_LEN => &stem[..=rest.len()],
        _ => stem,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_forms_of_a_word_have_the_same_hash() {
        for forms in [
            &["install", "installs", "installed", "installing", "installer"][..],
            &["policy", "policies"],
            &["create", "creates", "creating", "creation", "Created"],
            &["run", "runs"],
            &["key", "keys"],
        ] {
            let hashes: HashSet<u64> =
                forms.iter().map(|form| hash_stem(form.as_bytes())).collect();
            assert_eq!(hashes.len(), 1, "{forms:?}");
        }
        assert_ne!(hash_stem(b"read"), hash_stem(b"write"));
    }

    #[test]
    fn identifier_includes_the_words_of_its_parts() {
        let words = |text: &str| {
            let mut found = HashSet::new();
            for_each_word(text, &mut |word| {
                found.insert(word);
            });
            found
        };
        for (name, parts) in [
            ("ReadWriteLock", "read write lock"),
            ("parse_HTTPHeader2", "parse http header"),
            ("SkillBag", "skill bag"),
        ] {
            assert!(words(parts).is_subset(&words(name)), "{name}");
        }
        assert_eq!(words("lock"), words("Lock"));
        assert!(words("認証").is_subset(&words("単一認証で")));
    }
}
