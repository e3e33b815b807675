//! How near each node is to what is asked for.
//!
//! BM25 over the stems of words, twice: people do not ask in the words of those who wrote. What the best
//! nodes of the first round have in common, and others do not, is asked for in the second as well, with
//! less weight. Words are kept as hashes: nothing is allocated for each of them.

use std::collections::{BTreeMap, HashSet};

use super::{Graph, Node};

/// What a node is worth that has nothing of what is asked for.
const BESIDE: f64 = 0.05;
/// The constants of BM25 that everybody uses.
const SATURATION: f64 = 1.2;
const LENGTH: f64 = 0.75;
/// From how many of the best nodes words are taken, how many, and what they weigh at the most.
const BEST: usize = 5;
const TAKEN: usize = 12;
const WEIGHT: f64 = 0.4;
/// How many words are looked at for that.
const LOOKED_AT: usize = 60;

/// Words that say nothing of what is asked for.
const IDLE: &[&str] = &[
    "the", "an", "of", "to", "in", "is", "it", "and", "or", "for", "on", "with", "by", "my", "do", "does", "how",
    "what", "why", "which", "who", "where", "when", "that", "this", "be", "are", "was", "not", "no", "can", "should",
    "may", "me", "you", "your", "from", "at", "as", "into", "so", "use", "used", "using", "get", "its", "if", "there",
    "has", "have", "will", "would", "we", "our", "all", "any",
];
/// Endings that do not change what a word is about, by their last letters; the longer before the shorter.
const ENDINGS: &[(u8, &[&str])] = &[
    (b's', &["izations", "ations", "ments", "ings", "ions", "ers", "es", "s"]),
    (b'n', &["ization", "ation", "ion"]),
    (b't', &["ment"]),
    (b'g', &["ing"]),
    (b'y', &["edly", "ly"]),
    (b'd', &["ed"]),
    (b'r', &["er"]),
    (b'e', &["able", "e"]),
];
/// What is left of a word without its ending has at least so many letters.
const SHORTEST: usize = 4;
/// Of a longer word the first so many bytes count.
const LONGEST: usize = 48;

/// How near each node is to the words, from just above 0 to 1; 1 for all where nothing is asked for.
pub(super) fn relevance(graph: &Graph<'_>, focus: &str) -> Vec<f64> {
    let idle: HashSet<u64> = IDLE.iter().map(|word| hash(word.as_bytes())).collect();
    let mut asked: Vec<(u64, f64)> = Vec::new();
    each_word(focus, &mut |word| {
        if !idle.contains(&word) && !asked.iter().any(|(known, _)| *known == word) {
            asked.push((word, 1.0));
        }
    });
    if asked.is_empty() {
        return vec![1.0; graph.nodes.len()];
    }
    let texts = Texts::of(graph);
    let mut scores = texts.scores(&asked);
    let common = texts.common(&scores, |word| idle.contains(&word) || asked.iter().any(|(known, _)| *known == word));
    if !common.is_empty() {
        scores = texts.scores(&[asked, common].concat());
    }
    let best = scores.iter().copied().fold(0.0, f64::max);
    scores.into_iter().map(|score| if best > 0.0 { BESIDE + (1.0 - BESIDE) * score / best } else { BESIDE }).collect()
}

/// Lets through the words of a set, and few others: most words are none of those that are looked for.
struct Sieve([u64; 64]);

impl Sieve {
    fn of(words: impl Iterator<Item = u64>) -> Self {
        let mut sieve = Self([0; 64]);
        words.for_each(|word| sieve.0[(word >> 6 & 63) as usize] |= 1 << (word & 63));
        sieve
    }

    fn lets_through(&self, word: u64) -> bool {
        self.0[(word >> 6 & 63) as usize] >> (word & 63) & 1 == 1
    }
}

/// The words of all nodes, one after the other.
struct Texts {
    words: Vec<u64>,
    /// Where the words of each node end.
    ends: Vec<usize>,
}

impl Texts {
    fn of(graph: &Graph<'_>) -> Self {
        let mut texts = Self { words: Vec::new(), ends: Vec::with_capacity(graph.nodes.len()) };
        for node in &graph.nodes {
            texts.add(node);
        }
        texts
    }

    /// The words of what a node says, and of where it stands.
    fn add(&mut self, node: &Node<'_>) {
        each_word(&node.content, &mut |word| self.words.push(word));
        each_word(&node.kind, &mut |word| self.words.push(word));
        for (key, value) in node.value.members() {
            if key.is("key") || key.is("category") || key.is("file_path") {
                each_word(&value.text().unwrap_or_default(), &mut |word| self.words.push(word));
            }
        }
        self.ends.push(self.words.len());
    }

    fn nodes(&self) -> impl Iterator<Item = &[u64]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, end)| &self.words[start..*end])
    }

    fn scores(&self, sought: &[(u64, f64)]) -> Vec<f64> {
        let mut counts = vec![0_u32; self.ends.len() * sought.len()];
        let sieve = Sieve::of(sought.iter().map(|(word, _)| *word));
        for (words, counts) in self.nodes().zip(counts.chunks_mut(sought.len())) {
            for word in words.iter().filter(|word| sieve.lets_through(**word)) {
                if let Some(at) = sought.iter().position(|(known, _)| known == word) {
                    counts[at] += 1;
                }
            }
        }
        let total = number(self.ends.len());
        let mean = (number(self.words.len()) / total.max(1.0)).max(1.0);
        let rarity = |at: usize| {
            let holders = number(counts.chunks(sought.len()).filter(|counts| counts[at] > 0).count());
            sought[at].1 * (1.0 + (total - holders + 0.5) / (holders + 0.5)).ln()
        };
        let rarity: Vec<f64> = (0..sought.len()).map(rarity).collect();
        let score = |(counts, words): (&[u32], &[u64])| {
            let length = 1.0 - LENGTH + LENGTH * number(words.len()) / mean;
            let one = |(often, rarity): (&u32, &f64)| {
                let often = f64::from(*often);
                rarity * often * (SATURATION + 1.0) / (often + SATURATION * length)
            };
            counts.iter().zip(&rarity).map(one).sum()
        };
        counts.chunks(sought.len()).zip(self.nodes()).map(score).collect()
    }

    /// The words that the best nodes have and others have not, with their weights.
    fn common(&self, scores: &[f64], is_left_out: impl Fn(u64) -> bool) -> Vec<(u64, f64)> {
        let mut best: Vec<usize> = (0..scores.len()).filter(|at| scores[*at] > 0.0).collect();
        best.sort_by(|a, b| scores[*b].total_cmp(&scores[*a]).then(a.cmp(b)));
        best.truncate(BEST);
        let mut weights: BTreeMap<u64, f64> = BTreeMap::new();
        for at in best {
            let start = if at == 0 { 0 } else { self.ends[at - 1] };
            let words = &self.words[start..self.ends[at]];
            for word in words.iter().filter(|word| !is_left_out(**word)) {
                *weights.entry(*word).or_default() += scores[at] / number(words.len());
            }
        }
        let mut heaviest: Vec<(u64, f64)> = weights.into_iter().collect();
        heaviest.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        heaviest.truncate(LOOKED_AT);
        self.weigh(heaviest)
    }

    /// The rarest of some words, by how many nodes have them.
    fn weigh(&self, mut words: Vec<(u64, f64)>) -> Vec<(u64, f64)> {
        words.sort_unstable_by_key(|(word, _)| *word);
        let mut holders = vec![(0_usize, usize::MAX); words.len()];
        let sieve = Sieve::of(words.iter().map(|(word, _)| *word));
        for (node, text) in self.nodes().enumerate() {
            for word in text.iter().filter(|word| sieve.lets_through(**word)) {
                if let Ok(at) = words.binary_search_by_key(word, |(known, _)| *known)
                    && holders[at].1 != node
                {
                    holders[at] = (holders[at].0 + 1, node);
                }
            }
        }
        let total = number(self.ends.len());
        for ((_, weight), (holders, _)) in words.iter_mut().zip(holders) {
            *weight *= (1.0 + total / (1.0 + number(holders))).ln();
        }
        words.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        words.truncate(TAKEN);
        let most = words.first().map_or(1.0, |(_, weight)| *weight);
        words.iter_mut().for_each(|(_, weight)| *weight *= WEIGHT / most);
        words
    }
}

/// Gives the hash of every word of a text, and of the parts of a name in code such as `ReadWriteLock`.
fn each_word(text: &str, give: &mut impl FnMut(u64)) {
    for word in text.split(|c: char| !c.is_alphanumeric()) {
        if word.len() < 2 {
            continue;
        }
        if !word.is_ascii() {
            give(hash(word.to_lowercase().as_bytes()));
            continue;
        }
        give(hash(word.as_bytes()));
        // Most words are of one sort of letters.
        if word.bytes().skip(1).any(|byte| !byte.is_ascii_lowercase()) {
            each_part(word.as_bytes(), give);
        }
    }
}

/// The parts of a name, where its letters become capitals or digits; nothing if there is one only.
fn each_part(word: &[u8], give: &mut impl FnMut(u64)) {
    let is_start = |at: usize| {
        let (before, here) = (word[at - 1], word[at]);
        let next_is_small = word.get(at + 1).is_some_and(u8::is_ascii_lowercase);
        before.is_ascii_digit() != here.is_ascii_digit()
            || here.is_ascii_uppercase() && (before.is_ascii_lowercase() || next_is_small)
    };
    let mut start = 0;
    for at in (1..word.len()).filter(|at| is_start(*at)).chain([word.len()]) {
        let part = &word[start..at];
        if part.len() > 1 && part.len() < word.len() {
            give(hash(part));
        }
        start = at;
    }
}

/// The hash of a word, in lower case and without its ending. It is the same everywhere and for ever.
fn hash(word: &[u8]) -> u64 {
    let mut buffer = [0_u8; LONGEST];
    let length = word.len().min(LONGEST);
    buffer[..length].copy_from_slice(&word[..length]);
    buffer[..length].make_ascii_lowercase();
    let stem = stem(&buffer[..length]);
    // FNV-1a: words are short, and nobody's table can be filled with them.
    stem.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

fn stem(word: &[u8]) -> &[u8] {
    let without = |end: &&str| word.strip_suffix(end.as_bytes()).filter(|stem| stem.len() >= SHORTEST);
    // `keys` is short, and more than one key all the same.
    let plural = || match word {
        [rest @ .., last, b's'] if rest.len() > 1 && !b"sui".contains(last) => Some(&word[..word.len() - 1]),
        _ => None,
    };
    let last = word.last().copied().unwrap_or_default();
    let endings = ENDINGS.iter().find(|(letter, _)| *letter == last).map_or(&[][..], |(_, endings)| endings);
    let mut stem = endings.iter().find_map(without).or_else(plural).unwrap_or(word);
    if stem.len() > SHORTEST
        && let Some(shorter) = stem.strip_suffix(b"i").or_else(|| stem.strip_suffix(b"y"))
    {
        stem = shorter;
    }
    match stem {
        [rest @ .., a, b] if a == b && stem.len() > SHORTEST => &stem[..=rest.len()],
        _ => stem,
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts of words and nodes are far below 2^52")]
fn number(count: usize) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_the_same_in_all_its_forms() {
        for forms in [
            &["install", "installs", "installed", "installing", "installer"][..],
            &["policy", "policies"],
            &["create", "creates", "creating", "creation", "Created"],
            &["run", "runs"],
            &["key", "keys"],
        ] {
            let hashes: HashSet<u64> = forms.iter().map(|form| hash(form.as_bytes())).collect();
            assert_eq!(hashes.len(), 1, "{forms:?}");
        }
        assert_ne!(hash(b"read"), hash(b"write"));
    }

    #[test]
    fn a_name_in_code_is_its_words_too() {
        let words = |text: &str| {
            let mut found = HashSet::new();
            each_word(text, &mut |word| {
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
    }
}
