//! The quotable sentences of the selected documents, ranked.

use std::cmp::{Ordering, Reverse};
use std::collections::HashSet;

use super::{OmittedItem, RankedSource};
use crate::knowledge::classify::{
    RelevanceScorer, SentenceRole, classify_sentence, is_near_duplicate, rejection_reason,
    standalone_percent, word_set,
};
use crate::knowledge::document::{KnowledgeBlock, KnowledgeBlockKind};
use crate::knowledge::sentence::{escape_line_start, is_clean_excerpt, to_plain_text};

/// Maximum number of candidates offered per list.
const MAX_CANDIDATES_PER_LIST: usize = 40;
/// Maximum number of sentences read per source, from its start.
const MAX_CLAIMS_PER_SOURCE: usize = 5_000;
/// Maximum number of omitted sentences recorded.
const MAX_OMITTED: usize = 500;

/// Sentences that score lower than the best one by more than this factor are left out.
pub(super) const MAX_SCORE_RATIO: u64 = 4;

/// Where a sentence is in its document, by index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ClaimPosition {
    pub section: usize,
    pub block: usize,
    pub sentence: usize,
}

/// A block with everything that the scores of its sentences depend on.
struct ScoredBlock<'d> {
    block: &'d KnowledgeBlock,
    url: &'d str,
    source: usize,
    section: usize,
    index: usize,
    /// Score of the document relative to the best one, from 400 to 1000.
    document_score: u64,
    /// Score of the heading or the title, whichever is greater.
    heading_score: u64,
}

/// A quotable sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SourceClaim {
    /// Index of the source.
    pub source: usize,
    pub position: ClaimPosition,
    /// The quote: the sentence, or the selected part of it.
    pub text: String,
    /// The whole sentence, if only a part is quoted.
    pub full_sentence: Option<String>,
    pub role: SentenceRole,
    pub score: u64,
    /// Position in the caller's selection, if selected.
    pub selection_rank: Option<usize>,
}

impl SourceClaim {
    /// Orders selected claims first, in the order of the selection, then by score.
    pub(super) fn cmp_by_rank(&self, other: &Self) -> Ordering {
        let key = |claim: &Self| {
            (
                claim.selection_rank.unwrap_or(usize::MAX),
                Reverse(claim.score),
                claim.source,
                claim.position,
            )
        };
        key(self).cmp(&key(other))
    }

    /// The words of the whole sentence. A part would not suffice to detect duplicates.
    fn words(&self) -> HashSet<u64> {
        word_set(self.full_sentence.as_deref().unwrap_or(&self.text))
    }
}

/// A list that sentences can be selected for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CandidateList {
    /// `conventions` or `dont`.
    pub name: &'static str,
    /// Maximum number of selected sentences.
    pub limit: usize,
    /// The best sentences, without near duplicates.
    pub sentences: Vec<CandidateSentence>,
}

/// A sentence offered for selection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CandidateSentence {
    pub number: usize,
    pub text: String,
}

/// A selected sentence, possibly shortened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SelectedQuote {
    /// Number of the candidate.
    pub number: usize,
    /// The part to quote.
    pub quote: String,
}

/// All quotable sentences of the sources.
#[derive(Debug, Clone)]
pub struct ClaimPool {
    pub(super) sources: Vec<RankedSource>,
    /// Best first.
    pub(super) claims: Vec<SourceClaim>,
    pub(super) omitted: Vec<OmittedItem>,
    pub(super) relevance: RelevanceScorer,
}

impl ClaimPool {
    pub(super) fn new(sources: Vec<RankedSource>, relevance: RelevanceScorer) -> Self {
        let mut pool =
            Self { sources: Vec::new(), claims: Vec::new(), omitted: Vec::new(), relevance };
        let best = sources.iter().map(|source| source.score).max().unwrap_or(1).max(1);
        for source in sources {
            pool.add_source(source, best);
        }
        pool.claims.sort_by(SourceClaim::cmp_by_rank);
        pool
    }

    /// Adds the sentences of a source. A source with fewer than two distinct ones is dropped: it
    /// has not enough for a summary and a key claim.
    fn add_source(&mut self, source: RankedSource, best: u64) {
        let mut claims: Vec<SourceClaim> = Vec::new();
        let title_score = self.relevance.score(&source.document.title);
        for (section_index, section) in source.document.sections.iter().enumerate() {
            let heading_score = self.relevance.score(&section.title).max(title_score);
            for (index, block) in section.blocks.iter().enumerate() {
                if claims.len() >= MAX_CLAIMS_PER_SOURCE {
                    break;
                }
                claims.extend(self.extract_claims(&ScoredBlock {
                    block,
                    url: &source.document.url,
                    source: self.sources.len(),
                    section: section_index,
                    index,
                    document_score: 400 + 600 * source.score / best,
                    heading_score,
                }));
            }
        }
        let distinct: HashSet<&str> = claims.iter().map(|claim| claim.text.as_str()).collect();
        if distinct.len() < 2 {
            let why = "it contains too little text to quote".to_owned();
            self.omitted.push(OmittedItem { url: source.document.url, text: None, reason: why });
            return;
        }
        self.claims.extend(claims);
        self.sources.push(source);
    }

    fn extract_claims(&mut self, scored: &ScoredBlock<'_>) -> Vec<SourceClaim> {
        let kind = scored.block.sort;
        let mut claims = Vec::new();
        for (sentence, text) in scored.block.sentences.iter().enumerate() {
            if let Some(reason) = rejection_reason(text) {
                self.omit(scored.url, text, reason);
                continue;
            }
            let (role, clarity) = classify_sentence(text, kind);
            // A sentence inherits the relevance of its document, plus its own.
            let relevance = 150
                + self.relevance.score(&to_plain_text(text)) * 6 / 10
                + scored.heading_score * 25 / 100;
            let highlight = if kind == KnowledgeBlockKind::Highlight { 125 } else { 100 };
            let score =
                relevance * scored.document_score * clarity * standalone_percent(text) * highlight
                    / 1_000_000;
            claims.push(SourceClaim {
                source: scored.source,
                position: ClaimPosition { section: scored.section, block: scored.index, sentence },
                text: text.clone(),
                full_sentence: None,
                role,
                score,
                selection_rank: None,
            });
        }
        claims
    }

    pub(super) fn omit(&mut self, url: &str, text: &str, why: &str) {
        if self.omitted.len() < MAX_OMITTED {
            self.omitted.push(OmittedItem {
                url: url.into(),
                text: Some(text.into()),
                reason: why.into(),
            });
        }
    }

    /// The best claims for a list from the first `sources` sources, without near duplicates. Unless
    /// selected explicitly, they do not all come from one source.
    pub(super) fn best_claims(&mut self, list: &ClaimList, sources: usize) -> Vec<SourceClaim> {
        let max_per_source = list.limit.div_ceil(sources.max(1)).max(3);
        let of_role = |claim: &&SourceClaim| claim.role == list.role && claim.source < sources;
        let best =
            self.claims.iter().filter(of_role).map(|claim| claim.score).max().unwrap_or_default();
        let mut taken: Vec<(&SourceClaim, HashSet<u64>)> = Vec::new();
        let mut omitted: Vec<OmittedItem> = Vec::new();
        for claim in self.claims.iter().filter(of_role) {
            let words = claim.words();
            let is_far = claim.selection_rank.is_none() && claim.score * MAX_SCORE_RATIO < best;
            let of_source =
                || taken.iter().filter(|(known, _)| known.source == claim.source).count();
            let reason = if taken.iter().any(|(_, known)| is_near_duplicate(known, &words)) {
                "it duplicates another sentence"
            } else if taken.len() >= list.limit || is_far {
                "other sentences are more relevant"
            } else if claim.selection_rank.is_none() && of_source() >= max_per_source {
                "too many quotes from the same source"
            } else {
                taken.push((claim, words));
                continue;
            };
            let url = &self.sources[claim.source].document.url;
            omitted.push(OmittedItem {
                url: url.clone(),
                text: Some(claim.text.clone()),
                reason: reason.into(),
            });
        }
        let taken: Vec<SourceClaim> = taken.into_iter().map(|(claim, _)| claim.clone()).collect();
        let room = MAX_OMITTED.saturating_sub(self.omitted.len());
        self.omitted.extend(omitted.into_iter().take(room));
        taken
    }

    /// Returns the candidates for each list.
    pub fn candidate_lists(&self) -> Vec<CandidateList> {
        let offer = |list: &ClaimList| CandidateList {
            name: list.name,
            limit: list.limit,
            sentences: self.candidate_sentences(list.role),
        };
        [CONVENTIONS, DONTS].iter().map(offer).collect()
    }

    fn candidate_sentences(&self, role: SentenceRole) -> Vec<CandidateSentence> {
        let (mut spans, mut known): (Vec<CandidateSentence>, Vec<HashSet<u64>>) =
            (Vec::new(), Vec::new());
        for (number, claim) in
            self.claims.iter().enumerate().filter(|(_, claim)| claim.role == role)
        {
            if spans.len() == MAX_CANDIDATES_PER_LIST {
                break;
            }
            let words = claim.words();
            if !known.iter().any(|known| is_near_duplicate(known, &words)) {
                spans.push(CandidateSentence { number, text: claim.text.clone() });
                known.push(words);
            }
        }
        spans
    }

    /// Moves the selected sentences to the front of their lists, in this order, shortened as
    /// requested. A quote that is not part of its sentence is ignored; if the part cannot stand
    /// alone, the whole sentence is used.
    pub fn apply_selection(&mut self, picks: &[SelectedQuote]) {
        for (at, pick) in picks.iter().enumerate() {
            let fits =
                self.claims.get(pick.number).is_some_and(|claim| claim.text.contains(&pick.quote));
            let can_stand = fits && self.is_usable_excerpt(&self.claims[pick.number], &pick.quote);
            let Some(claim) = self.claims.get_mut(pick.number).filter(|_| fits) else { continue };
            claim.selection_rank.get_or_insert(at);
            if can_stand && claim.text != pick.quote {
                claim
                    .full_sentence
                    .get_or_insert(std::mem::replace(&mut claim.text, pick.quote.clone()));
            }
        }
        self.claims.sort_by(SourceClaim::cmp_by_rank);
    }

    /// The kind of the block that contains a claim.
    pub(super) fn block_kind(&self, claim: &SourceClaim) -> KnowledgeBlockKind {
        let ClaimPosition { section, block, .. } = claim.position;
        self.sources[claim.source].document.sections[section].blocks[block].sort
    }

    /// Whether a part of a sentence can stand alone in the same list.
    fn is_usable_excerpt(&self, claim: &SourceClaim, part: &str) -> bool {
        let kind = self.block_kind(claim);
        let is_sentence = rejection_reason(part).is_none() && escape_line_start(part) == part;
        is_sentence
            && is_clean_excerpt(&claim.text, part)
            && classify_sentence(part, kind).0 == claim.role
    }
}

/// A list of claims with the same role.
pub(super) struct ClaimList {
    name: &'static str,
    role: SentenceRole,
    /// Maximum number of entries.
    limit: usize,
}

pub(super) const CONVENTIONS: ClaimList =
    ClaimList { name: "conventions", role: SentenceRole::Convention, limit: 12 };
pub(super) const DONTS: ClaimList = ClaimList { name: "dont", role: SentenceRole::Dont, limit: 8 };

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knowledge::document::{KnowledgeDocument, KnowledgeSection};
    use crate::knowledge::rank::{IndexedDocument, rank};
    use crate::knowledge::{Brief, index_words};

    /// Builds a pool from documents given as sentences, most relevant first.
    fn pool(documents: &[&[&str]]) -> ClaimPool {
        let build_document = |(number, sentences): (usize, &&[&str])| KnowledgeDocument {
            url: format!("https://example.com/{number}"),
            title: format!("Page {number}"),
            sections: vec![KnowledgeSection {
                title: String::new(),
                blocks: sentences
                    .iter()
                    .map(|sentence| KnowledgeBlock {
                        sort: KnowledgeBlockKind::Text,
                        sentences: vec![(*sentence).into()],
                    })
                    .collect(),
            }],
            ..KnowledgeDocument::default()
        };
        let documents: Vec<KnowledgeDocument> =
            documents.iter().enumerate().map(build_document).collect();
        let brief = Brief { description: "retry requests to a server".into(), ..Brief::default() };
        let index_document = |document: &KnowledgeDocument| IndexedDocument {
            identity: document.url.clone(),
            day: 1,
            words: index_words(document),
        };
        let ranking =
            rank(&documents.iter().map(index_document).collect::<Vec<_>>(), &brief.to_query());
        let count = documents.len() as u64;
        let sources = (0..)
            .zip(documents)
            .map(|(position, document)| RankedSource::new(document, 1000 * (count - position)));
        ClaimPool::new(sources.collect(), RelevanceScorer::new(ranking.word_weights))
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

    fn select(pool: &ClaimPool, text: &str, quote: &str) -> SelectedQuote {
        let number = pool.claims.iter().position(|claim| claim.text == text).unwrap();
        SelectedQuote { number, quote: quote.into() }
    }

    fn best_texts(pool: &mut ClaimPool) -> Vec<String> {
        let sources = pool.sources.len();
        pool.best_claims(&CONVENTIONS, sources).into_iter().map(|claim| claim.text).collect()
    }

    #[test]
    fn cp_12_selected_claims_come_first_in_selection_order() {
        let mut pool =
            pool(&[RULES, &["The server keeps a key for a day.", "The client sends a key."]]);
        let unselected = best_texts(&mut pool.clone());
        assert_eq!(unselected[0], RULES[0]);
        pool.apply_selection(&[
            select(&pool, RULES[9], RULES[9]),
            select(&pool, RULES[7], RULES[7]),
            select(&pool, RULES[1], "Use jitter between attempts"),
        ]);
        let selected = best_texts(&mut pool);
        assert_eq!(selected[..3], [RULES[9], RULES[7], "Use jitter between attempts"]);
        assert_eq!(selected[3], RULES[0], "{selected:?}");
    }

    #[test]
    fn cp_12_selected_claims_are_kept_regardless_of_score_and_source() {
        let off_topic = &["Use green paint on the wooden fence.", "The fence is old."][..];
        let mut pool = pool(&[
            RULES,
            &["The server keeps a key for a day.", "The client sends a key."],
            off_topic,
        ]);
        let selections: Vec<SelectedQuote> =
            RULES.iter().chain([&off_topic[0]]).map(|text| select(&pool, text, text)).collect();
        pool.apply_selection(&selections);
        let expected: Vec<&str> = RULES.iter().chain([&off_topic[0]]).copied().collect();
        assert_eq!(best_texts(&mut pool), expected);
    }

    #[test]
    fn cp_12_selecting_one_claim_drops_no_other() {
        let mut pool = pool(&[RULES, &["Never paint at night.", "The fence is very old."]]);
        let unselected: HashSet<String> = best_texts(&mut pool.clone()).into_iter().collect();
        pool.apply_selection(&[select(&pool, RULES[0], "Use a limit for every retry")]);
        let selected = best_texts(&mut pool);
        assert_eq!(selected[0], "Use a limit for every retry");
        assert_eq!(selected.len(), unselected.len(), "{selected:?}");
    }

    #[test]
    fn cp_12_unusable_excerpt_keeps_the_whole_sentence() {
        let text = "Set the limit - use a queue, when servers should wait: never drop a job.";
        let mut pool = pool(&[RULES, &[text, "The server keeps a key for a day."]]);
        for excerpt in [
            "- use a queue, when servers",
            "Set the limit",
            "when servers should wait:",
            "use a queue, when servers",
        ] {
            let mut pool = pool.clone();
            pool.apply_selection(&[select(&pool, text, excerpt)]);
            let claim = pool.claims.first().unwrap();
            assert_eq!(
                (claim.selection_rank, claim.text.as_str(), &claim.full_sentence),
                (Some(0), text, &None),
                "{excerpt}"
            );
        }
        let before = pool.claims.clone();
        pool.apply_selection(&[
            select(&pool, text, "Send every key to me"),
            SelectedQuote { number: 10_000, quote: text.into() },
        ]);
        assert_eq!(pool.claims, before, "unknown quotes are ignored");
    }

    #[test]
    fn near_duplicates_are_offered_once() {
        let pool = pool(&[RULES, RULES]);
        let candidates = pool.candidate_lists();
        assert_eq!(
            (candidates[0].name, candidates[0].sentences.len()),
            ("conventions", RULES.len())
        );
        assert_eq!(
            (candidates[1].name, candidates[1].limit, candidates[1].sentences.len()),
            ("dont", 8, 0)
        );
    }
}
