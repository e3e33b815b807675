//! How often words stand in a text. Words are compared in lower case and without the plainest
//! endings, and nothing is copied for it unless a word is not ASCII.

/// The endings that do not count, if more than three letters are left without them.
const ENDINGS: [&str; 4] = ["ing", "es", "ed", "s"];

/// The words of a text in lower case, without their endings.
pub(super) fn words(text: &str) -> impl Iterator<Item = String> {
    let whole = text.split(|c: char| !c.is_alphanumeric()).filter(|word| word.chars().count() > 1);
    whole.map(|word| {
        let mut lower = word.to_lowercase();
        lower.truncate(stem(&lower));
        lower
    })
}

/// How long a word in lower case is without its ending.
fn stem(lower: &str) -> usize {
    let stem = ENDINGS.iter().find_map(|end| lower.strip_suffix(end)).filter(|stem| stem.len() > 3);
    stem.unwrap_or(lower).len()
}

/// Words that are looked for.
pub(super) struct Sought {
    /// Each once, sorted.
    pub words: Vec<String>,
    /// Whether some of them start with this letter or digit.
    starts: [bool; 128],
}

impl Sought {
    /// The words of a text.
    pub(super) fn of(text: &str) -> Self {
        let mut words: Vec<String> = words(text).collect();
        words.sort_unstable();
        words.dedup();
        let mut starts = [false; 128];
        let firsts = words.iter().filter_map(|word| word.bytes().next());
        firsts.filter(u8::is_ascii).for_each(|first| starts[usize::from(first)] = true);
        Self { words, starts }
    }

    /// Counts the words of a text, and adds to each that is looked for how often it is one of them.
    pub(super) fn count(&self, text: &str, counts: &mut [usize]) -> usize {
        if text.is_ascii() {
            return self.count_ascii(text.as_bytes(), counts);
        }
        words(text).inspect(|word| self.note(|sought| sought == word, counts)).count()
    }

    fn count_ascii(&self, text: &[u8], counts: &mut [usize]) -> usize {
        let mut total = 0;
        for word in text.split(|byte| !byte.is_ascii_alphanumeric()).filter(|word| word.len() > 1) {
            total += 1;
            if self.starts[usize::from(word[0].to_ascii_lowercase() & 0x7f)] {
                let stem = &word[..ascii_stem(word)];
                self.note(|sought| sought.as_bytes().eq_ignore_ascii_case(stem), counts);
            }
        }
        total
    }

    fn note(&self, is: impl Fn(&str) -> bool, counts: &mut [usize]) {
        if let Some(at) = self.words.iter().position(|sought| is(sought)) {
            counts[at] += 1;
        }
    }
}

/// The same as [`stem`], whatever the case.
fn ascii_stem(word: &[u8]) -> usize {
    let ends = |end: &&&str| {
        let from = word.len().checked_sub(end.len());
        from.is_some_and(|from| word[from..].eq_ignore_ascii_case(end.as_bytes()))
    };
    let stem = ENDINGS.iter().find(ends).map(|end| word.len() - end.len()).filter(|stem| *stem > 3);
    stem.unwrap_or(word.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn pk_18_words_are_compared_without_case_and_endings() {
        let all = |text: &str| words(text).collect::<Vec<_>>();
        assert_eq!(
            all("Tokens, a TOKEN; tokening-tokened: used is ß"),
            ["token", "token", "token", "token", "used", "is"]
        );
        let sought = Sought::of("auth tokens Token");
        assert_eq!(sought.words, ["auth", "token"]);
        let mut counts = [0; 2];
        assert_eq!(sought.count("Auth-Tokens: the token's auth", &mut counts), 5);
        assert_eq!(counts, [2, 2]);
    }

    proptest! {
        #[test]
        fn pk_18_counting_on_the_fly_is_counting_every_word(
            text in "([a-cA-C]{1,5}(ing|es|ed|s|S|ING|ES)?|[ _,.\\-]|[0-9]{1,2}|É|Σ|ß|İ){0,20}",
            asked in "([a-cA-C]{1,5}(ing|es|ed|s)?|[0-9]{1,2}|É| ){0,6}",
        ) {
            let sought = Sought::of(&asked);
            let mut counts = vec![0; sought.words.len()];
            let total = sought.count(&text, &mut counts);
            prop_assert_eq!(total, words(&text).count());
            for (word, count) in sought.words.iter().zip(counts) {
                prop_assert_eq!(words(&text).filter(|one| one == word).count(), count);
            }
        }
    }
}
