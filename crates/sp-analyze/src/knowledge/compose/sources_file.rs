//! `sources.md`: the sources with URL, summary and key claims.

use sp_formats::context_pack::{ContextPackSourceEntry, SOURCES_FILE, count_sentences};

use super::budget::{BudgetError, max_fitting, token_cost};
use super::pool::{ClaimPool, ClaimPosition, MAX_SCORE_RATIO, SourceClaim};
use super::{OmittedItem, RankedSource};
use crate::knowledge::classify::SentenceRole;
use crate::knowledge::sentence::escape_markdown;

/// Maximum number of claims and sentences in a summary, and of key claims.
const MAX_SUMMARY_CLAIMS: usize = 3;
const MAX_SUMMARY_SENTENCES: usize = 4;
const MAX_KEY_CLAIMS: usize = 5;

/// `sources.md` and the number of leading sources that it contains.
pub(super) struct SourcesFile {
    pub text: String,
    pub source_count: usize,
}

/// Renders as many sources as fit the budget.
pub(super) fn fit_sources(pool: &mut ClaimPool, budget: usize) -> Result<SourcesFile, BudgetError> {
    let sections: Vec<String> =
        (0..pool.sources.len()).map(|number| render_source(pool, number)).collect();
    let text = |count: usize| format!("# Sources\n\n{}", sections[..count].join("\n"));
    let count = max_fitting(sections.len(), budget, text).unwrap_or_default();
    if count == 0 && !sections.is_empty() {
        return Err(BudgetError { file: SOURCES_FILE, required_tokens: token_cost(&text(1)) });
    }
    for source in &pool.sources[count..] {
        let why = "it exceeds the token budget of `sources.md`".to_owned();
        pool.omitted.push(OmittedItem {
            url: source.document.url.clone(),
            text: None,
            reason: why,
        });
    }
    Ok(SourcesFile { text: text(count), source_count: count })
}

/// The manifest entry of a source.
pub(super) fn source_entry(source: &RankedSource) -> ContextPackSourceEntry {
    let document = &source.document;
    ContextPackSourceEntry {
        id: source.id.clone(),
        url: document.url.clone(),
        title: document.title.clone(),
        kind: document.kind.clone(),
        published_at: document.published_at.clone(),
        captured_at: document.captured_at.clone(),
        ..ContextPackSourceEntry::default()
    }
}

fn render_source(pool: &ClaimPool, number: usize) -> String {
    let RankedSource { id, document, .. } = &pool.sources[number];
    let claims: Vec<&SourceClaim> =
        pool.claims.iter().filter(|claim| claim.source == number).collect();
    let summary = summary_claims(&claims);
    let key: Vec<String> =
        key_claims(&claims, &summary).iter().map(|claim| format!("  - {}\n", claim.text)).collect();
    let summary: Vec<&str> = summary.iter().map(|claim| claim.text.as_str()).collect();
    let day = |moment: &str| moment.get(..10).unwrap_or(moment).to_owned();
    let published = document
        .published_at
        .as_deref()
        .map(|at| format!("- Published: {}\n", day(at)))
        .unwrap_or_default();
    format!(
        "## [^{id}]\n\n- Title: {}\n- URL: <{}>\n- Kind: {}\n{published}- Captured: {}\n- Summary: {}\n- Key claims:\n{}",
        escape_markdown(&document.title),
        document.url,
        escape_markdown(&document.kind),
        day(&document.captured_at),
        join_sentences(&summary),
        key.concat(),
    )
}

/// Joins sentences, adding a period where the end mark is missing.
fn join_sentences(sentences: &[&str]) -> String {
    let with_end_mark = |sentence: &&str| {
        let bare = sentence.trim_end_matches(['"', ')', '”', '’', '`']);
        if bare.ends_with(['.', '!', '?', '…', '。']) {
            (*sentence).to_owned()
        } else {
            format!("{sentence}.")
        }
    };
    sentences.iter().map(with_end_mark).collect::<Vec<_>>().join(" ")
}

/// Selects the claims of a summary, preferring facts, in document order.
fn summary_claims<'c>(claims: &[&'c SourceClaim]) -> Vec<&'c SourceClaim> {
    let mut ranked: Vec<&SourceClaim> = claims.to_vec();
    // The beginning of a text usually describes its topic.
    let lead = |claim: &SourceClaim| {
        let ClaimPosition { section, block, sentence } = claim.position;
        if section == 0 { 100 + 60 / (1 + block as u64 + sentence as u64) } else { 100 }
    };
    let fact = |claim: &SourceClaim| if claim.role == SentenceRole::Fact { 130 } else { 100 };
    ranked.sort_by_key(|claim| {
        std::cmp::Reverse((
            claim.score * lead(claim) * fact(claim),
            std::cmp::Reverse(claim.position),
        ))
    });
    let mut chosen: Vec<&SourceClaim> = Vec::new();
    for claim in ranked {
        let texts: Vec<&str> =
            chosen.iter().chain([&claim]).map(|claim| claim.text.as_str()).collect();
        if chosen.len() < MAX_SUMMARY_CLAIMS
            && count_sentences(&join_sentences(&texts)) <= MAX_SUMMARY_SENTENCES
            && !chosen.iter().any(|known| known.text == claim.text)
        {
            chosen.push(claim);
        }
    }
    chosen.sort_by_key(|claim| claim.position);
    chosen
}

/// The best claims that are not in the summary; if there are none, the best claim.
fn key_claims<'c>(claims: &[&'c SourceClaim], summary: &[&SourceClaim]) -> Vec<&'c SourceClaim> {
    let is_said = |claim: &&&SourceClaim| summary.iter().any(|known| known.text == claim.text);
    let mut seen = std::collections::HashSet::new();
    let best = claims.iter().map(|claim| claim.score).max().unwrap_or_default();
    let is_near = |claim: &&&SourceClaim| {
        claim.selection_rank.is_some() || claim.score * MAX_SCORE_RATIO >= best
    };
    let fresh: Vec<&SourceClaim> = claims
        .iter()
        .filter(|claim| is_near(claim) && !is_said(claim) && seen.insert(&claim.text))
        .take(MAX_KEY_CLAIMS)
        .copied()
        .collect();
    if fresh.is_empty() { claims.iter().take(1).copied().collect() } else { fresh }
}
