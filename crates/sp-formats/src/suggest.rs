//! Suggestions for misspelled words.

/// Returns the closest of `known` to `word`, if it is similar enough.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    nearest_few(word, known, 1).pop()
}

/// Returns up to `count` of `known` that are similar to `word`, closest first.
pub fn nearest_few<'a>(
    word: &str,
    known: impl IntoIterator<Item = &'a str>,
    count: usize,
) -> Vec<&'a str> {
    // Longer words were not typed by hand, and the distance takes quadratic time.
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
    fn typos_get_a_suggestion_and_other_words_do_not() {
        let known = ["name", "include", "exclude", "imports", "install"];
        assert_eq!(nearest("inclde", known), Some("include"));
        assert_eq!(nearest("import", known), Some("imports"));
        assert_eq!(nearest("version", known), None);
    }
}
