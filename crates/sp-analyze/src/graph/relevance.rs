//! Relevance of nodes to a query.
//!
//! Nodes are scored with BM25 over word stems, in two rounds, because queries rarely use the words
//! of the text. The second round adds terms that the best nodes of the first round have in common
//! and others lack, with lower weight. Words are stored as hashes, without an allocation per word.

use std::collections::BTreeMap;

use crate::stemming::{for_each_word, stop_words};
use sp_formats::package::{Graph, GraphNode};

/// Relevance of a node without any query term.
const MIN_RELEVANCE: f64 = 0.05;
/// The usual constants of BM25.
const BM25_K1: f64 = 1.2;
const BM25_B: f64 = 0.75;
/// Feedback terms: number of nodes they are taken from, maximum number of terms, maximum weight.
const FEEDBACK_NODES: usize = 5;
const FEEDBACK_TERMS: usize = 12;
const MAX_FEEDBACK_WEIGHT: f64 = 0.4;
/// Maximum number of feedback candidates.
const MAX_FEEDBACK_CANDIDATES: usize = 60;

/// Returns the relevance of each node, from just above 0 to 1; 1 for all if the query is empty.
pub(super) fn relevance(graph: &Graph<'_>, focus: &str) -> Vec<f64> {
    let idle = stop_words();
    let mut terms: Vec<(u64, f64)> = Vec::new();
    for_each_word(focus, &mut |word| {
        if !idle.contains(&word) && !terms.iter().any(|(known, _)| *known == word) {
            terms.push((word, 1.0));
        }
    });
    if terms.is_empty() {
        return vec![1.0; graph.nodes.len()];
    }
    let texts = NodeWords::of(graph);
    let mut scores = texts.scores(&terms);
    let common = texts.feedback_terms(&scores, |word| {
        idle.contains(&word) || terms.iter().any(|(known, _)| *known == word)
    });
    if !common.is_empty() {
        scores = texts.scores(&[terms, common].concat());
    }
    let best = scores.iter().copied().fold(0.0, f64::max);
    scores
        .into_iter()
        .map(|score| {
            if best > 0.0 {
                MIN_RELEVANCE + (1.0 - MIN_RELEVANCE) * score / best
            } else {
                MIN_RELEVANCE
            }
        })
        .collect()
}

/// A Bloom filter that rejects most words that are not in the query.
struct WordBloomFilter([u64; 64]);

impl WordBloomFilter {
    fn of(words: impl Iterator<Item = u64>) -> Self {
        let mut filter = Self([0; 64]);
        words.for_each(|word| filter.0[(word >> 6 & 63) as usize] |= 1 << (word & 63));
        filter
    }

    fn may_contain(&self, word: u64) -> bool {
        self.0[(word >> 6 & 63) as usize] >> (word & 63) & 1 == 1
    }
}

/// The words of all nodes, concatenated.
struct NodeWords {
    words: Vec<u64>,
    /// End offset of each node's words.
    ends: Vec<usize>,
}

impl NodeWords {
    fn of(graph: &Graph<'_>) -> Self {
        let mut texts = Self { words: Vec::new(), ends: Vec::with_capacity(graph.nodes.len()) };
        for node in &graph.nodes {
            texts.add_node(node);
        }
        texts
    }

    /// Adds the words of a node's content and location.
    fn add_node(&mut self, node: &GraphNode<'_>) {
        for_each_word(&node.content, &mut |word| self.words.push(word));
        for_each_word(&node.kind, &mut |word| self.words.push(word));
        for (key, value) in node.value.members() {
            if key.eq_str("key") || key.eq_str("category") || key.eq_str("file_path") {
                for_each_word(&value.text().unwrap_or_default(), &mut |word| self.words.push(word));
            }
        }
        self.ends.push(self.words.len());
    }

    fn nodes(&self) -> impl Iterator<Item = &[u64]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, end)| &self.words[start..*end])
    }

    fn scores(&self, terms: &[(u64, f64)]) -> Vec<f64> {
        let mut counts = vec![0_u32; self.ends.len() * terms.len()];
        let filter = WordBloomFilter::of(terms.iter().map(|(word, _)| *word));
        for (words, counts) in self.nodes().zip(counts.chunks_mut(terms.len())) {
            for word in words.iter().filter(|word| filter.may_contain(**word)) {
                if let Some(term) = terms.iter().position(|(known, _)| known == word) {
                    counts[term] += 1;
                }
            }
        }
        let total = to_f64(self.ends.len());
        let mean = (to_f64(self.words.len()) / total.max(1.0)).max(1.0);
        let rarity = |term: usize| {
            let frequency =
                to_f64(counts.chunks(terms.len()).filter(|counts| counts[term] > 0).count());
            terms[term].1 * (1.0 + (total - frequency + 0.5) / (frequency + 0.5)).ln()
        };
        let rarity: Vec<f64> = (0..terms.len()).map(rarity).collect();
        let score = |(counts, words): (&[u32], &[u64])| {
            let length = 1.0 - BM25_B + BM25_B * to_f64(words.len()) / mean;
            let one = |(often, rarity): (&u32, &f64)| {
                let often = f64::from(*often);
                rarity * often * (BM25_K1 + 1.0) / (often + BM25_K1 * length)
            };
            counts.iter().zip(&rarity).map(one).sum()
        };
        counts.chunks(terms.len()).zip(self.nodes()).map(score).collect()
    }

    /// The terms that distinguish the best nodes, with weights.
    fn feedback_terms(&self, scores: &[f64], is_left_out: impl Fn(u64) -> bool) -> Vec<(u64, f64)> {
        let mut best: Vec<usize> = (0..scores.len()).filter(|index| scores[*index] > 0.0).collect();
        best.sort_by(|a, b| scores[*b].total_cmp(&scores[*a]).then(a.cmp(b)));
        best.truncate(FEEDBACK_NODES);
        let mut weights: BTreeMap<u64, f64> = BTreeMap::new();
        for index in best {
            let start = if index == 0 { 0 } else { self.ends[index - 1] };
            let words = &self.words[start..self.ends[index]];
            for word in words.iter().filter(|word| !is_left_out(**word)) {
                *weights.entry(*word).or_default() += scores[index] / to_f64(words.len());
            }
        }
        let mut heaviest: Vec<(u64, f64)> = weights.into_iter().collect();
        heaviest.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        heaviest.truncate(MAX_FEEDBACK_CANDIDATES);
        self.weigh_terms(heaviest)
    }

    /// Weights terms by how few nodes have them.
    fn weigh_terms(&self, mut words: Vec<(u64, f64)>) -> Vec<(u64, f64)> {
        words.sort_unstable_by_key(|(word, _)| *word);
        let mut frequencies = vec![(0_usize, usize::MAX); words.len()];
        let filter = WordBloomFilter::of(words.iter().map(|(word, _)| *word));
        for (node, text) in self.nodes().enumerate() {
            for word in text.iter().filter(|word| filter.may_contain(**word)) {
                if let Ok(at) = words.binary_search_by_key(word, |(known, _)| *known)
                    && frequencies[at].1 != node
                {
                    frequencies[at] = (frequencies[at].0 + 1, node);
                }
            }
        }
        let total = to_f64(self.ends.len());
        for ((_, weight), (frequency, _)) in words.iter_mut().zip(frequencies) {
            *weight *= (1.0 + total / (1.0 + to_f64(frequency))).ln();
        }
        words.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        words.truncate(FEEDBACK_TERMS);
        let max_weight = words.first().map_or(1.0, |(_, weight)| *weight);
        words.iter_mut().for_each(|(_, weight)| *weight *= MAX_FEEDBACK_WEIGHT / max_weight);
        words
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts of words and nodes are far below 2^52")]
fn to_f64(count: usize) -> f64 {
    count as f64
}
