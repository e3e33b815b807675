//! Everything that the chosen documents say and that can be quoted, ranked.

use std::collections::HashSet;

use super::{Left, Source};
use crate::claim::{Relevance, Role, is_same, refusal, role, stands, word_set};
use crate::document::{Block, Sort};
use crate::sentence::plain;

/// So many sentences are offered for a list to whoever chooses.
const OFFERED: usize = 40;
/// Of one source so many sentences are looked at, from its beginning.
const MOST_CLAIMS: usize = 5_000;
/// So many reasons why a sentence was left out are kept.
const MOST_LEFT: usize = 500;

/// What is so much farther from what is asked for than the nearest is not said.
pub(super) const FARTHEST: u64 = 4;

/// A sentence that may be quoted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Claim {
    /// Which source says it.
    pub source: usize,
    /// Where in it: the section, the block, the sentence.
    pub place: (usize, usize, usize),
    pub text: String,
    pub role: Role,
    pub score: u64,
}

/// A sentence that is offered to whoever chooses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    /// Its number.
    pub number: usize,
    /// For which list it is offered: `conventions`, `dont`.
    pub list: &'static str,
    /// The sentence.
    pub text: String,
}

/// A span that was chosen, perhaps shortened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pick {
    /// Its number.
    pub number: usize,
    /// What of it is to be quoted.
    pub quote: String,
}

/// Everything that may be quoted.
#[derive(Debug, Clone)]
pub struct Pool {
    pub(super) sources: Vec<Source>,
    /// The best first.
    pub(super) claims: Vec<Claim>,
    pub(super) left: Vec<Left>,
    pub(super) relevance: Relevance,
}

impl Pool {
    pub(super) fn new(sources: Vec<Source>, relevance: Relevance) -> Self {
        let mut pool = Self { sources: Vec::new(), claims: Vec::new(), left: Vec::new(), relevance };
        let best = sources.iter().map(|source| source.score).max().unwrap_or(1).max(1);
        for source in sources {
            pool.add(source, best);
        }
        pool.claims.sort_by(|a, b| b.score.cmp(&a.score).then(a.source.cmp(&b.source)).then(a.place.cmp(&b.place)));
        pool
    }

    /// Takes what a source says. One of which nothing can be quoted twice is none: its summary would be empty.
    fn add(&mut self, source: Source, best: u64) {
        let number = self.sources.len();
        let share = 400 + 600 * source.score / best;
        let mut claims: Vec<Claim> = Vec::new();
        let title = self.relevance.of(&source.document.title);
        for (section, part) in source.document.sections.iter().enumerate() {
            let heading = self.relevance.of(&part.title).max(title);
            for (at, block) in part.blocks.iter().enumerate() {
                let place = (section, at);
                if claims.len() >= MOST_CLAIMS {
                    break;
                }
                claims.extend(self.claims_of(&source, (number, share), (place, heading), block));
            }
        }
        let distinct: HashSet<&str> = claims.iter().map(|claim| claim.text.as_str()).collect();
        if distinct.len() < 2 {
            let why = "it says too little to be quoted".to_owned();
            self.left.push(Left { url: source.document.url, text: None, why });
            return;
        }
        self.claims.extend(claims);
        self.sources.push(source);
    }

    fn claims_of(
        &mut self,
        source: &Source,
        (number, share): (usize, u64),
        ((section, at), heading): ((usize, usize), u64),
        block: &Block,
    ) -> Vec<Claim> {
        let mut claims = Vec::new();
        for (sentence, text) in block.sentences.iter().enumerate() {
            if let Some(why) = refusal(text) {
                self.leave(&source.document.url, text, why);
                continue;
            }
            let (role, clarity) = role(text, block.sort);
            // What stands in a text on the subject is on the subject, and more so if it says it itself.
            let near = 150 + self.relevance.of(&plain(text)) * 6 / 10 + heading * 25 / 100;
            let marked = if block.sort == Sort::Highlight { 125 } else { 100 };
            let score = near * share * clarity * stands(text) * marked / 1_000_000;
            claims.push(Claim { source: number, place: (section, at, sentence), text: text.clone(), role, score });
        }
        claims
    }

    pub(super) fn leave(&mut self, url: &str, text: &str, why: &str) {
        if self.left.len() < MOST_LEFT {
            self.left.push(Left { url: url.into(), text: Some(text.into()), why: why.into() });
        }
    }

    /// The best sentences of a role of the first sources: none that says what another says, and not all of one source.
    pub(super) fn best(&mut self, role: Role, sources: usize, most: usize) -> Vec<Claim> {
        let each = most.div_ceil(sources.max(1)).max(3);
        let of_role = |claim: &&Claim| claim.role == role && claim.source < sources;
        let best = self.claims.iter().find(of_role).map_or(0, |claim| claim.score);
        let mut chosen: Vec<(Claim, HashSet<u64>)> = Vec::new();
        let mut reasons: Vec<(usize, String, &str)> = Vec::new();
        for claim in self.claims.iter().filter(of_role) {
            let words = word_set(&claim.text);
            let why = match () {
                () if chosen.iter().any(|(_, known)| is_same(known, &words)) => "it says what another says",
                () if chosen.len() >= most || claim.score * FARTHEST < best => "others are nearer to what is asked for",
                () if chosen.iter().filter(|(known, _)| known.source == claim.source).count() >= each => {
                    "its source is quoted often enough"
                }
                () => {
                    chosen.push((claim.clone(), words));
                    continue;
                }
            };
            reasons.push((claim.source, claim.text.clone(), why));
        }
        for (source, text, why) in reasons {
            let url = self.sources[source].document.url.clone();
            self.leave(&url, &text, why);
        }
        chosen.into_iter().map(|(claim, _)| claim).collect()
    }

    /// What may be chosen from: the best sentences for each list.
    pub fn offers(&self) -> Vec<Span> {
        let mut spans = Vec::new();
        for (list, role) in LISTS {
            let of_role = self.claims.iter().enumerate().filter(|(_, claim)| claim.role == *role);
            spans.extend(of_role.take(OFFERED).map(|(number, claim)| Span { number, list, text: claim.text.clone() }));
        }
        spans
    }

    /// Takes what was chosen, shortened where it was, before all else of its list. What is no part of its
    /// sentence is never taken.
    pub fn choose(&mut self, picks: &[Pick]) {
        let best = self.claims.first().map_or(0, |claim| claim.score);
        let count = picks.len() as u64;
        for (at, pick) in (0_u64..).zip(picks) {
            let Some(claim) = self.claims.get_mut(pick.number).filter(|claim| claim.text.contains(&pick.quote)) else {
                continue;
            };
            claim.text.clone_from(&pick.quote);
            claim.score = best + count - at;
        }
        self.claims.sort_by(|a, b| b.score.cmp(&a.score).then(a.source.cmp(&b.source)).then(a.place.cmp(&b.place)));
    }
}

/// The lists for which sentences may be chosen.
const LISTS: &[(&str, Role)] = &[("conventions", Role::Convention), ("dont", Role::Dont)];
