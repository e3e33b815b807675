//! The words that sentences are compared with, as data.

use std::collections::HashMap;
use std::sync::LazyLock;

/// Rows of groups and phrases; the file describes their format.
const ROWS: &str = include_str!("phrases.txt");

/// Words that negate what follows them.
pub(super) const NEGATIONS: &str = "never not don't dont avoid refuse cannot can't won't shouldn't mustn't doesn't isn't \
    prevent prevents block blocks reject rejects resist forbid forbidden prohibited instead rather";

/// Words of sentences that describe attacks instead of asking for them.
pub(super) const CAUTIONS: &str = "attack attacks attacker attackers attacker's injection injections injected inject malicious phishing \
    jailbreak jailbreaks exploit exploits exploited exploitation adversarial adversary untrusted vulnerability vulnerabilities vulnerable \
    suspicious threat threats attempts attempted attempting payload payloads e.g eg example examples phrases phrase pattern patterns \
    detect detects detected detection detecting scan flagged says said saying contains claims tricks trick tries hijack hijacking \
    poisoned poisoning malware ransomware spoofing social-engineering red-team pentest ctf risk risks dangerous anti-pattern \
    anti-patterns unsafe insecure compromised warning caution refuse bad wrong hypothetical scenario defend defense defenses \
    mitigation mitigate sanitize leak leaks leaked leakage could might may";

/// Verbs that ask for a connection to a host.
pub(super) const NETWORK_VERBS: &str = "send sends upload uploads post posts transmit forward submit report push sync download downloads fetch \
    fetches retrieve curl wget call calls request query ping contact connect get load pull notify publish export stream back deliver \
    register webhook endpoint";

/// The alternatives of each group, by its name.
fn groups() -> &'static HashMap<&'static str, &'static str> {
    static GROUPS: LazyLock<HashMap<&str, &str>> = LazyLock::new(|| {
        ROWS.lines()
            .filter(|row| row.starts_with('$'))
            .filter_map(|row| row.split_once('\t'))
            .collect()
    });
    &GROUPS
}

/// The fields of each phrase.
pub(super) fn phrase_rows() -> impl Iterator<Item = [&'static str; 5]> {
    let is_row = |row: &&str| !row.is_empty() && !row.starts_with(['#', '$']);
    let fields = |row: &'static str| row.split('\t').collect::<Vec<_>>().try_into().ok();
    ROWS.lines().filter(is_row).filter_map(fields)
}

/// The words of a group, with named groups expanded.
pub(super) fn alternatives(part: &'static str) -> impl Iterator<Item = &'static str> {
    part.split('|').flat_map(|word| {
        let group = if word.starts_with('$') { groups().get(word).copied() } else { None };
        group.unwrap_or(word).split('|')
    })
}

/// The gap of `~3`; `None` for a group.
pub(super) fn gap_of(part: &str) -> Option<usize> {
    part.strip_prefix('~').and_then(|gap| gap.parse().ok())
}

/// All words that have a meaning.
pub(super) fn all_words() -> impl Iterator<Item = &'static str> {
    let parts = phrase_rows().flat_map(|[.., phrase]| phrase.split_whitespace());
    let of_phrases = parts.filter(|part| gap_of(part).is_none()).flat_map(alternatives);
    let of_guards =
        [NEGATIONS, CAUTIONS, NETWORK_VERBS].into_iter().flat_map(str::split_whitespace);
    of_phrases.chain(of_guards)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn au_06_every_row_and_every_group_is_valid() {
        let rows = ROWS.lines().filter(|row| !row.is_empty() && !row.starts_with(['#', '$']));
        assert_eq!(rows.count(), phrase_rows().count());
        for part in phrase_rows().flat_map(|[.., phrase]| phrase.split([' ', '|'])) {
            assert!(!part.starts_with('$') || groups().contains_key(part), "{part}");
        }
    }
}
