//! Ranks documents by relevance to a query.
//!
//! Documents are scored with BM25 over word stems, with more weight on titles, in two rounds,
//! because queries rarely use the words of the text. The second round adds words that the best
//! documents of the first round have in common and others lack, with lower weight. Final scores are
//! integers, so that the ranking does not depend on the machine.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::stemming::{for_each_word, stop_words};

use crate::knowledge::synonyms::{join_compounds, synonyms_of};
use crate::knowledge::word_index::{WordCounts, decode_words};

/// The usual constants of BM25.
const BM25_K1: f64 = 1.2;
const BM25_B: f64 = 0.75;
/// Weights of words in titles and tags, and in headings and highlights.
const TITLE_WEIGHT: f64 = 4.0;
const MARKED_WEIGHT: f64 = 1.5;
/// Weight of a synonym of a query word.
const SYNONYM_WEIGHT: f64 = 0.6;
/// Weight of words that occur in nearly every request.
const FILLER_WEIGHT: f64 = 0.15;
/// Query expansion: number of documents it is based on, maximum number of words, maximum weight.
const EXPANSION_DOCUMENTS: usize = 4;
const MAX_EXPANSION_WORDS: usize = 12;
const MAX_EXPANSION_WEIGHT: f64 = 0.3;
/// The part of a score that depends on how many of the query words occur.
const COVERAGE_WEIGHT: f64 = 0.5;
/// Preference for newer documents, and its half-life in days.
const RECENCY_WEIGHT: f64 = 0.1;
const RECENCY_HALF_LIFE_DAYS: f64 = 365.0;
/// Factor for converting scores to integers.
const SCORE_SCALE: f64 = 1_000_000.0;

/// Words of requests that say nothing about the subject.
#[rustfmt::skip]
const FILLER_WORDS: &[&str] = &[
    "build", "building", "make", "making", "create", "want", "need", "help", "give", "show", "tell",
    "write", "add", "current", "best", "practice", "good", "new", "project", "app", "application",
    "tool", "please", "like", "work", "way", "without", "them", "they", "their", "each", "one",
    "two", "only", "must", "also", "than", "then", "every", "when", "while", "some", "more", "most",
    "other", "people", "user", "users", "small", "simple", "able", "lets", "let", "know", "right",
    "thing", "things", "about", "after", "before", "because", "but", "out", "up", "own", "just",
    "keep", "our", "put", "still", "never", "always", "across", "between", "both", "over",
    "instead", "such",
];

/// A weighted set of words.
#[derive(Debug, Clone, Default)]
pub struct KnowledgeQuery {
    /// Words with weights.
    words: Vec<(u64, f64)>,
}

impl KnowledgeQuery {
    /// Builds a query from texts with weights.
    pub fn new(texts: &[(&str, f64)]) -> Self {
        let idle = stop_words();
        let polite: HashSet<u64> = FILLER_WORDS.iter().flat_map(|word| word_hashes(word)).collect();
        let mut words: Vec<(u64, f64)> = Vec::new();
        for (text, weight) in texts {
            for word in
                word_hashes(&join_compounds(text)).into_iter().filter(|word| !idle.contains(word))
            {
                let weight = if polite.contains(&word) { weight * FILLER_WEIGHT } else { *weight };
                match words.iter_mut().find(|(known, _)| *known == word) {
                    Some((_, known)) => *known = known.max(weight),
                    None => words.push((word, weight)),
                }
            }
        }
        for (word, weight) in words.clone() {
            for other in synonyms_of(word) {
                if !words.iter().any(|(known, _)| *known == other) {
                    words.push((other, weight * SYNONYM_WEIGHT));
                }
            }
        }
        Self { words }
    }

    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }
}

fn word_hashes(text: &str) -> Vec<u64> {
    let mut found = Vec::new();
    for_each_word(text, &mut |word| found.push(word));
    found
}

/// A document as the ranking needs it.
#[derive(Debug, Clone)]
pub struct IndexedDocument {
    /// See [`url_identity`](crate::knowledge::url_identity).
    pub identity: String,
    /// Capture date as a day number.
    pub day: i32,
    /// See [`index_words`](crate::knowledge::index_words).
    pub words: Vec<u8>,
}

#[derive(Debug, Clone, Default)]
pub struct DocumentRanking {
    /// Candidates as `(index, score)`, best first, without those that contain no query word.
    pub hits: Vec<(usize, u64)>,
    /// The weight of each query word.
    pub word_weights: HashMap<u64, f64>,
}

/// Ranks documents.
pub fn rank(candidates: &[IndexedDocument], query: &KnowledgeQuery) -> DocumentRanking {
    let texts = Bm25Corpus::of(candidates);
    let idle = stop_words();
    let first = texts.score(&query.words);
    let taken = texts.expansion_words(&first.scores, |word| {
        idle.contains(&word) || query.words.iter().any(|(known, _)| *known == word)
    });
    let all = if taken.is_empty() {
        first
    } else {
        texts.score(&[query.words.as_slice(), &taken].concat())
    };
    let newest = candidates.iter().map(|candidate| candidate.day).max().unwrap_or_default();
    let newer = |day: i32| {
        1.0 + RECENCY_WEIGHT * (-f64::from(newest - day) / RECENCY_HALF_LIFE_DAYS).exp2()
    };
    let mut places: Vec<(usize, u64)> = all
        .scores
        .iter()
        .enumerate()
        .map(|(at, score)| (at, to_fixed_point(score * newer(candidates[at].day))))
        .filter(|(_, score)| *score > 0)
        .collect();
    places.sort_by(|(a, a_score), (b, b_score)| {
        b_score.cmp(a_score).then_with(|| candidates[*a].identity.cmp(&candidates[*b].identity))
    });
    DocumentRanking { hits: places, word_weights: all.word_weights }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "scores are small and not negative"
)]
fn to_fixed_point(score: f64) -> u64 {
    (score * SCORE_SCALE).round() as u64
}

/// The candidates with their text lengths.
struct Bm25Corpus<'a> {
    candidates: &'a [IndexedDocument],
    lengths: Vec<f64>,
    mean_length: f64,
}

struct Bm25Scores {
    scores: Vec<f64>,
    word_weights: HashMap<u64, f64>,
}

impl<'a> Bm25Corpus<'a> {
    fn of(candidates: &'a [IndexedDocument]) -> Self {
        let length = |candidate: &IndexedDocument| {
            decode_words(&candidate.words)
                .map(|(_, counts)| f64::from(counts.text) + f64::from(counts.marked))
                .sum()
        };
        let lengths: Vec<f64> = candidates.iter().map(length).collect();
        let mean_length = (lengths.iter().sum::<f64>() / to_f64(lengths.len()).max(1.0)).max(1.0);
        Self { candidates, lengths, mean_length }
    }

    /// Computes the BM25 score of each document.
    fn score(&self, terms: &[(u64, f64)]) -> Bm25Scores {
        let occurrences = self.find_terms(terms);
        let mut frequencies = vec![0_usize; terms.len()];
        for (term, _) in occurrences.iter().flatten() {
            frequencies[*term] += 1;
        }
        let total = to_f64(self.candidates.len());
        let rarity = |frequency: usize| {
            (1.0 + (total - to_f64(frequency) + 0.5) / (to_f64(frequency) + 0.5)).ln()
        };
        let weights: Vec<f64> = terms
            .iter()
            .zip(&frequencies)
            .map(|((_, weight), frequency)| weight * rarity(*frequency))
            .collect();
        let weight_found: f64 = weights
            .iter()
            .zip(&frequencies)
            .filter(|(_, frequency)| **frequency > 0)
            .map(|(weights, _)| weights)
            .sum();
        let scores = occurrences
            .iter()
            .zip(&self.lengths)
            .map(|(terms, length)| self.score_document(terms, *length, &weights, weight_found))
            .collect();
        let word_weights = terms.iter().map(|(word, _)| *word).zip(weights).collect();
        Bm25Scores { scores, word_weights }
    }

    /// The terms that each document has, by index.
    fn find_terms(&self, terms: &[(u64, f64)]) -> Vec<Vec<(usize, WordCounts)>> {
        let indices: HashMap<u64, usize> =
            terms.iter().enumerate().map(|(index, (word, _))| (*word, index)).collect();
        let find = |candidate: &IndexedDocument| {
            decode_words(&candidate.words)
                .filter_map(|(word, counts)| Some((*indices.get(&word)?, counts)))
                .collect()
        };
        self.candidates.iter().map(find).collect()
    }

    /// `weight_found` is the weight of all terms that any document has.
    fn score_document(
        &self,
        terms: &[(usize, WordCounts)],
        length: f64,
        weights: &[f64],
        weight_found: f64,
    ) -> f64 {
        let norm = 1.0 - BM25_B + BM25_B * length / self.mean_length;
        let (mut score, mut covered) = (0.0, 0.0);
        for (term, counts) in terms {
            let frequency = (f64::from(counts.text) + MARKED_WEIGHT * f64::from(counts.marked))
                / norm
                + TITLE_WEIGHT * f64::from(counts.title).min(2.0);
            score += weights[*term] * frequency * (BM25_K1 + 1.0) / (frequency + BM25_K1);
            covered += weights[*term];
        }
        let coverage = covered / weight_found.max(f64::MIN_POSITIVE);
        score * (1.0 - COVERAGE_WEIGHT + COVERAGE_WEIGHT * coverage)
    }

    /// The words that distinguish the best documents, with weights.
    fn expansion_words(
        &self,
        scores: &[f64],
        is_left_out: impl Fn(u64) -> bool,
    ) -> Vec<(u64, f64)> {
        let mut best: Vec<usize> = (0..scores.len()).filter(|index| scores[*index] > 0.0).collect();
        let identity = |index: &usize| self.candidates[*index].identity.as_str();
        best.sort_by(|a, b| {
            scores[*b].total_cmp(&scores[*a]).then_with(|| identity(a).cmp(identity(b)))
        });
        best.truncate(EXPANSION_DOCUMENTS);
        let mut weights: BTreeMap<u64, (f64, usize)> = BTreeMap::new();
        for index in &best {
            for (word, counts) in
                decode_words(&self.candidates[*index].words).filter(|(word, _)| !is_left_out(*word))
            {
                let often = f64::from(counts.text)
                    + MARKED_WEIGHT * f64::from(counts.marked)
                    + TITLE_WEIGHT * f64::from(counts.title);
                let known = weights.entry(word).or_default();
                *known =
                    (known.0 + scores[*index] * often / self.lengths[*index].max(1.0), known.1 + 1);
            }
        }
        // A word in only one of them is specific to that document.
        weights.retain(|_, (_, holders)| *holders > 1);
        let mut words: Vec<(u64, f64)> =
            weights.into_iter().map(|(word, (weight, _))| (word, weight)).collect();
        self.apply_idf(&mut words);
        words.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        words.truncate(MAX_EXPANSION_WORDS);
        let max_weight = words.first().map_or(1.0, |(_, weight)| *weight);
        words.iter_mut().for_each(|(_, weight)| *weight *= MAX_EXPANSION_WEIGHT / max_weight);
        words
    }

    /// Multiplies the weights by inverse document frequency.
    fn apply_idf(&self, words: &mut [(u64, f64)]) {
        let places: HashMap<u64, usize> =
            words.iter().enumerate().map(|(at, (word, _))| (*word, at)).collect();
        let mut frequencies = vec![0_usize; words.len()];
        for candidate in self.candidates {
            decode_words(&candidate.words)
                .filter_map(|(word, _)| places.get(&word))
                .for_each(|at| frequencies[*at] += 1);
        }
        let total = to_f64(self.candidates.len());
        for ((_, weight), frequency) in words.iter_mut().zip(frequencies) {
            *weight *= (1.0 + total / (1.0 + to_f64(frequency))).ln();
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts of words and documents are far below 2^52")]
fn to_f64(count: usize) -> f64 {
    count as f64
}
