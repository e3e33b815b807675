//! `sources.md`: where everything is from, and what each source says.

use sp_formats::context_pack::{SOURCES, SourceEntry, sentences};

use super::budget::{TooSmall, cost, most_that_fit};
use super::pool::{Claim, FARTHEST, Pool};
use super::{Left, Source};
use crate::knowledge::claim::Role;
use crate::knowledge::sentence::escaped;

/// How many sentences a summary has, and how many claims are listed.
const SUMMARY: usize = 3;
const LONGEST_SUMMARY: usize = 4;
const CLAIMS: usize = 5;

/// `sources.md`, and of how many sources, the first ones.
pub(super) struct Bibliography {
    pub text: String,
    pub count: usize,
}

/// As many sources as fit.
pub(super) fn fitting(pool: &mut Pool, budget: usize) -> Result<Bibliography, TooSmall> {
    let sections: Vec<String> = (0..pool.sources.len()).map(|number| section(pool, number)).collect();
    let text = |count: usize| format!("# Sources\n\n{}", sections[..count].join("\n"));
    let count = most_that_fit(sections.len(), budget, text).unwrap_or_default();
    if count == 0 && !sections.is_empty() {
        return Err(TooSmall { file: SOURCES, needs: cost(&text(1)) });
    }
    for source in &pool.sources[count..] {
        let why = "`sources.md` has no room for it".to_owned();
        pool.left.push(Left { url: source.document.url.clone(), text: None, why });
    }
    Ok(Bibliography { text: text(count), count })
}

/// What the manifest says of a source.
pub(super) fn entry(source: &Source) -> SourceEntry {
    let document = &source.document;
    SourceEntry {
        id: source.id.clone(),
        url: document.url.clone(),
        title: document.title.clone(),
        kind: document.kind.clone(),
        published_at: document.published_at.clone(),
        captured_at: document.captured_at.clone(),
        ..SourceEntry::default()
    }
}

fn section(pool: &Pool, number: usize) -> String {
    let Source { id, document, .. } = &pool.sources[number];
    let claims: Vec<&Claim> = pool.claims.iter().filter(|claim| claim.source == number).collect();
    let summary = summary(&claims);
    let key: Vec<String> = key_claims(&claims, &summary).iter().map(|claim| format!("  - {}\n", claim.text)).collect();
    let summary: Vec<&str> = summary.iter().map(|claim| claim.text.as_str()).collect();
    let day = |moment: &str| moment.get(..10).unwrap_or(moment).to_owned();
    let published =
        document.published_at.as_deref().map(|at| format!("- Published: {}\n", day(at))).unwrap_or_default();
    format!(
        "## [^{id}]\n\n- Title: {}\n- URL: <{}>\n- Kind: {}\n{published}- Captured: {}\n- Summary: {}\n- Key claims:\n{}",
        escaped(&document.title),
        document.url,
        escaped(&document.kind),
        day(&document.captured_at),
        ended(&summary),
        key.concat(),
    )
}

/// Sentences one after the other; one that has no end gets one, so that they stay apart.
fn ended(sentences: &[&str]) -> String {
    let end = |sentence: &&str| match sentence
        .trim_end_matches(['"', ')', '”', '’', '`'])
        .ends_with(['.', '!', '?', '…', '。'])
    {
        true => (*sentence).to_owned(),
        false => format!("{sentence}."),
    };
    sentences.iter().map(end).collect::<Vec<_>>().join(" ")
}

/// What a source is about: facts before advice, in the order of the text.
fn summary<'c>(claims: &[&'c Claim]) -> Vec<&'c Claim> {
    let mut ranked: Vec<&Claim> = claims.to_vec();
    // What stands first in a text says what it is about.
    let lead = |claim: &Claim| {
        if claim.place.0 == 0 { 100 + 60 / (1 + claim.place.1 as u64 + claim.place.2 as u64) } else { 100 }
    };
    let fact = |claim: &Claim| if claim.role == Role::Fact { 130 } else { 100 };
    ranked.sort_by_key(|claim| {
        std::cmp::Reverse((claim.score * lead(claim) * fact(claim), std::cmp::Reverse(claim.place)))
    });
    let mut chosen: Vec<&Claim> = Vec::new();
    for claim in ranked {
        let texts: Vec<&str> = chosen.iter().chain([&claim]).map(|claim| claim.text.as_str()).collect();
        if chosen.len() < SUMMARY
            && sentences(&ended(&texts)) <= LONGEST_SUMMARY
            && !chosen.iter().any(|known| known.text == claim.text)
        {
            chosen.push(claim);
        }
    }
    chosen.sort_by_key(|claim| claim.place);
    chosen
}

/// The best of what a source says: what its summary does not say, and if that is nothing, the best of it.
fn key_claims<'c>(claims: &[&'c Claim], summary: &[&Claim]) -> Vec<&'c Claim> {
    let is_said = |claim: &&&Claim| summary.iter().any(|known| known.text == claim.text);
    let mut seen = std::collections::HashSet::new();
    let best = claims.iter().map(|claim| claim.score).max().unwrap_or_default();
    let is_near = |claim: &&&Claim| claim.chosen.is_some() || claim.score * FARTHEST >= best;
    let fresh: Vec<&Claim> = claims
        .iter()
        .filter(|claim| is_near(claim) && !is_said(claim) && seen.insert(&claim.text))
        .take(CLAIMS)
        .copied()
        .collect();
    if fresh.is_empty() { claims.iter().take(1).copied().collect() } else { fresh }
}
