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

/// The maximum number of names that a message suggests.
const MAX_SUGGESTIONS: usize = 3;

/// Asks whether one of the known words was meant: the closest ones, at most three.
///
/// ```
/// use sp_formats::suggest::did_you_mean;
///
/// assert_eq!(did_you_mean("teem", ["team", "review"]).as_deref(), Some("did you mean `team`?"));
/// assert_eq!(did_you_mean("x", ["team", "review"]), None);
/// ```
pub fn did_you_mean<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let quoted: Vec<String> = nearest_few(word, known, MAX_SUGGESTIONS)
        .into_iter()
        .map(|name| format!("`{name}`"))
        .collect();
    match quoted.as_slice() {
        [] => None,
        [only] => Some(format!("did you mean {only}?")),
        [others @ .., last] => Some(format!("did you mean {} or {last}?", others.join(", "))),
    }
}

/// Lists the first names, and counts the others.
///
/// ```
/// use sp_formats::suggest::list_few;
///
/// assert_eq!(list_few(&["a", "b"]), "a, b");
/// assert_eq!(list_few(&["a", "b", "c", "d", "e"]), "a, b, c and 2 more");
/// ```
pub fn list_few(names: &[impl AsRef<str>]) -> String {
    let shown: Vec<&str> = names.iter().take(MAX_SUGGESTIONS).map(AsRef::as_ref).collect();
    match names.len() - shown.len() {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
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
