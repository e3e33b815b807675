//! The nearest known word to one that is not known.

/// The nearest of `known` to `word`, if it is near enough to be what was meant.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    nearest_few(word, known, 1).pop()
}

/// The `count` nearest of `known` to `word`, nearest first, as far as they are near enough.
pub fn nearest_few<'a>(
    word: &str,
    known: impl IntoIterator<Item = &'a str>,
    count: usize,
) -> Vec<&'a str> {
    // What is longer was not typed by hand, and would cost its length squared.
    if word.len() > 200 {
        return Vec::new();
    }
    let near_enough = (word.chars().count() / 3).clamp(1, 3);
    let mut near: Vec<(usize, &str)> = known
        .into_iter()
        .filter(|candidate| candidate.len() <= 200)
        .map(|candidate| (strsim::damerau_levenshtein(word, candidate), candidate))
        .filter(|(distance, candidate)| {
            *distance <= near_enough || word.len() > 2 && candidate.contains(word)
        })
        .collect();
    near.sort_unstable();
    near.truncate(count);
    near.into_iter().map(|(_, candidate)| candidate).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_finger_is_understood_and_another_word_is_not() {
        let known = ["name", "include", "exclude", "imports", "install"];
        assert_eq!(nearest("inclde", known), Some("include"));
        assert_eq!(nearest("import", known), Some("imports"));
        assert_eq!(nearest("version", known), None);
    }
}
