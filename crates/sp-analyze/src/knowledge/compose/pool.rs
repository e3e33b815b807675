//! Everything that the chosen documents say and that can be quoted, ranked.

use std::cmp::{Ordering, Reverse};
use std::collections::HashSet;

use super::{Left, Source};
use crate::knowledge::claim::{Relevance, Role, is_same, refusal, role, stands, word_set};
use crate::knowledge::document::{Block, Sort};
use crate::knowledge::sentence::{comes_out_whole, guarded, plain};

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
    /// What is quoted: the sentence, or the part of it that was chosen.
    pub text: String,
    /// The whole sentence, where a part of it is quoted.
    pub whole: Option<String>,
    pub role: Role,
    pub score: u64,
    /// If somebody chose it, as which.
    pub chosen: Option<usize>,
}

impl Claim {
    /// What was chosen stands first, as it was chosen; then what is nearest to what is asked for.
    pub(super) fn order(&self, other: &Self) -> Ordering {
        let key = |claim: &Self| (claim.chosen.unwrap_or(usize::MAX), Reverse(claim.score), claim.source, claim.place);
        key(self).cmp(&key(other))
    }

    /// The words of the whole sentence: by a part of it one could not tell what says the same.
    fn words(&self) -> HashSet<u64> {
        word_set(self.whole.as_deref().unwrap_or(&self.text))
    }
}

/// A list for which sentences may be chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choosable {
    /// The list: `conventions`, `dont`.
    pub list: &'static str,
    /// How many may be chosen.
    pub most: usize,
    /// The best sentences for it, none that says what another says.
    pub spans: Vec<Span>,
}

/// A sentence that is offered to whoever chooses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    /// Its number.
    pub number: usize,
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
        pool.claims.sort_by(Claim::order);
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
            let (place, text) = ((section, at, sentence), text.clone());
            claims.push(Claim { source: number, place, text, whole: None, role, score, chosen: None });
        }
        claims
    }

    pub(super) fn leave(&mut self, url: &str, text: &str, why: &str) {
        if self.left.len() < MOST_LEFT {
            self.left.push(Left { url: url.into(), text: Some(text.into()), why: why.into() });
        }
    }

    /// The best sentences of a list of the first sources: none that says what another says, and not all of one
    /// source, unless they were chosen.
    pub(super) fn best(&mut self, list: &List, sources: usize) -> Vec<Claim> {
        let each = list.most.div_ceil(sources.max(1)).max(3);
        let of_role = |claim: &&Claim| claim.role == list.role && claim.source < sources;
        let best = self.claims.iter().filter(of_role).map(|claim| claim.score).max().unwrap_or_default();
        let mut taken: Vec<(&Claim, HashSet<u64>)> = Vec::new();
        let mut reasons: Vec<(usize, String, &str)> = Vec::new();
        for claim in self.claims.iter().filter(of_role) {
            let words = claim.words();
            let is_far = claim.chosen.is_none() && claim.score * FARTHEST < best;
            let of_source = || taken.iter().filter(|(known, _)| known.source == claim.source).count();
            let why = match () {
                () if taken.iter().any(|(_, known)| is_same(known, &words)) => "it says what another says",
                () if taken.len() >= list.most || is_far => "others are nearer to what is asked for",
                () if claim.chosen.is_none() && of_source() >= each => "its source is quoted often enough",
                () => {
                    taken.push((claim, words));
                    continue;
                }
            };
            reasons.push((claim.source, claim.text.clone(), why));
        }
        let taken: Vec<Claim> = taken.into_iter().map(|(claim, _)| claim.clone()).collect();
        for (source, text, why) in reasons {
            let url = self.sources[source].document.url.clone();
            self.leave(&url, &text, why);
        }
        taken
    }

    /// What may be chosen from.
    pub fn offers(&self) -> Vec<Choosable> {
        let offer = |list: &List| Choosable { list: list.name, most: list.most, spans: self.offered(list.role) };
        [CONVENTIONS, DONTS].iter().map(offer).collect()
    }

    fn offered(&self, role: Role) -> Vec<Span> {
        let (mut spans, mut known): (Vec<Span>, Vec<HashSet<u64>>) = (Vec::new(), Vec::new());
        for (number, claim) in self.claims.iter().enumerate().filter(|(_, claim)| claim.role == role) {
            if spans.len() == OFFERED {
                break;
            }
            let words = claim.words();
            if !known.iter().any(|known| is_same(known, &words)) {
                spans.push(Span { number, text: claim.text.clone() });
                known.push(words);
            }
        }
        spans
    }

    /// Takes what was chosen before all else of its list, in this order, and shortened where it was. What is no
    /// part of its sentence is never taken, and where a part would not do as a sentence, the whole stands.
    pub fn choose(&mut self, picks: &[Pick]) {
        for (at, pick) in picks.iter().enumerate() {
            let fits = self.claims.get(pick.number).is_some_and(|claim| claim.text.contains(&pick.quote));
            let can_stand = fits && self.can_stand(&self.claims[pick.number], &pick.quote);
            let Some(claim) = self.claims.get_mut(pick.number).filter(|_| fits) else { continue };
            claim.chosen.get_or_insert(at);
            if can_stand && claim.text != pick.quote {
                claim.whole.get_or_insert(std::mem::replace(&mut claim.text, pick.quote.clone()));
            }
        }
        self.claims.sort_by(Claim::order);
    }

    /// Whether a part of a sentence is a sentence that may stand in the same list.
    fn can_stand(&self, claim: &Claim, part: &str) -> bool {
        let (section, block, _) = claim.place;
        let sort = self.sources[claim.source].document.sections[section].blocks[block].sort;
        let is_sentence = refusal(part).is_none() && guarded(part) == part;
        is_sentence && comes_out_whole(&claim.text, part) && role(part, sort).0 == claim.role
    }
}

/// A list of sentences that all have one role.
pub(super) struct List {
    name: &'static str,
    role: Role,
    /// How many stand in it at the most.
    most: usize,
}

/// What to do.
pub(super) const CONVENTIONS: List = List { name: "conventions", role: Role::Convention, most: 12 };
/// What to avoid.
pub(super) const DONTS: List = List { name: "dont", role: Role::Dont, most: 8 };

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knowledge::document::{Document, Section};
    use crate::knowledge::rank::{Candidate, rank};
    use crate::knowledge::{Brief, words};

    /// Documents, each with its sentences, in an order that tells how near they are.
    fn pool(documents: &[&[&str]]) -> Pool {
        let document = |(at, sentences): (usize, &&[&str])| Document {
            url: format!("https://example.com/{at}"),
            title: format!("Page {at}"),
            sections: vec![Section {
                title: String::new(),
                blocks: sentences
                    .iter()
                    .map(|one| Block { sort: Sort::Text, sentences: vec![(*one).into()] })
                    .collect(),
            }],
            ..Document::default()
        };
        let documents: Vec<Document> = documents.iter().enumerate().map(document).collect();
        let brief = Brief { description: "retry requests to a server".into(), ..Brief::default() };
        let candidate = |one: &Document| Candidate { identity: one.url.clone(), day: 1, words: words(one) };
        let ranking = rank(&documents.iter().map(candidate).collect::<Vec<_>>(), &brief.question());
        let count = documents.len() as u64;
        let sources = (0..).zip(documents).map(|(at, document)| Source::new(document, 1000 * (count - at)));
        Pool::new(sources.collect(), Relevance::new(ranking.worth))
    }

    const RULES: &[&str] = &[
        "Use a limit for every retry of requests to a server, such as three attempts.",
        "Use jitter between attempts, so that servers recover.",
        "Keep the budget of attempts in one place.",
        "Send the header that names the attempt.",
        "Store answers under the key of their request.",
        "Write the delay to the log at every attempt.",
        "Call the breaker in front of the pool.",
        "Set a deadline on the outermost call.",
        "Return the last failure to the caller.",
        "Run chaos drills every quarter of the year.",
    ];

    fn pick(pool: &Pool, text: &str, quote: &str) -> Pick {
        let number = pool.claims.iter().position(|claim| claim.text == text).unwrap();
        Pick { number, quote: quote.into() }
    }

    fn best(pool: &mut Pool) -> Vec<String> {
        let sources = pool.sources.len();
        pool.best(&CONVENTIONS, sources).into_iter().map(|claim| claim.text).collect()
    }

    #[test]
    fn cp_12_what_was_chosen_stands_first_as_it_was_chosen() {
        let mut pool = pool(&[RULES, &["The server keeps a key for a day.", "The client sends a key."]]);
        let plain = best(&mut pool.clone());
        assert_eq!(plain[0], RULES[0]);
        pool.choose(&[
            pick(&pool, RULES[9], RULES[9]),
            pick(&pool, RULES[7], RULES[7]),
            pick(&pool, RULES[1], "Use jitter between attempts"),
        ]);
        let chosen = best(&mut pool);
        assert_eq!(chosen[..3], [RULES[9], RULES[7], "Use jitter between attempts"]);
        assert_eq!(chosen[3], RULES[0], "the best of what nobody chose follows: {chosen:?}");
    }

    #[test]
    fn cp_12_whatever_was_chosen_stays_however_far_and_of_however_few_sources() {
        let far = &["Use green paint on the wooden fence.", "The fence is old."][..];
        let mut pool = pool(&[RULES, &["The server keeps a key for a day.", "The client sends a key."], far]);
        let picks: Vec<Pick> = RULES.iter().chain([&far[0]]).map(|text| pick(&pool, text, text)).collect();
        pool.choose(&picks);
        let wanted: Vec<&str> = RULES.iter().chain([&far[0]]).copied().collect();
        assert_eq!(best(&mut pool), wanted);
    }

    #[test]
    fn cp_12_choosing_one_drops_no_other() {
        let mut pool = pool(&[RULES, &["Never paint at night.", "The fence is very old."]]);
        let plain: HashSet<String> = best(&mut pool.clone()).into_iter().collect();
        pool.choose(&[pick(&pool, RULES[0], "Use a limit for every retry")]);
        let chosen = best(&mut pool);
        assert_eq!(chosen[0], "Use a limit for every retry");
        assert_eq!(chosen.len(), plain.len(), "{chosen:?}");
    }

    #[test]
    fn cp_12_a_part_that_would_not_do_as_a_sentence_is_no_reason_to_cut_it() {
        let text = "Set the limit - use a queue, when servers should wait: never drop a job.";
        let mut pool = pool(&[RULES, &[text, "The server keeps a key for a day."]]);
        for part in
            ["- use a queue, when servers", "Set the limit", "when servers should wait:", "use a queue, when servers"]
        {
            let mut pool = pool.clone();
            pool.choose(&[pick(&pool, text, part)]);
            let claim = pool.claims.first().unwrap();
            assert_eq!((claim.chosen, claim.text.as_str(), &claim.whole), (Some(0), text, &None), "{part}");
        }
        let before = pool.claims.clone();
        pool.choose(&[pick(&pool, text, "Send every key to me"), Pick { number: 10_000, quote: text.into() }]);
        assert_eq!(pool.claims, before, "what does not stand in a sentence is not chosen at all");
    }

    #[test]
    fn what_says_the_same_is_offered_once() {
        let pool = pool(&[RULES, RULES]);
        let offers = pool.offers();
        assert_eq!((offers[0].list, offers[0].spans.len()), ("conventions", RULES.len()));
        assert_eq!((offers[1].list, offers[1].most, offers[1].spans.len()), ("dont", 8, 0));
    }
}
