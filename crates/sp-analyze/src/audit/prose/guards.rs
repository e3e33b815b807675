//! What makes a phrase harmless: negation, description, and warnings.

use std::sync::LazyLock;

use super::SentenceWord;
use super::vocabulary::WordSet;
use super::words::{CAUTIONS, NEGATIONS, NETWORK_VERBS};
use crate::audit::word_filter::WordFilter;

/// Words in headings of what is not meant to be done.
const CAUTIONARY_TITLES: &[&str] = &[
    "attack",
    "malicious",
    "injection",
    "vulnerab",
    "exploit",
    "threat",
    "red flag",
    "anti-pattern",
    "antipattern",
    "never",
    "do not",
    "don't",
    "avoid",
    "dangerous",
    "unsafe",
    "insecure",
    "bad ",
    "bad:",
    "wrong",
    "prohibited",
    "forbidden",
    "blocked",
    "deny",
    "detect",
    "payload",
    "jailbreak",
    "adversarial",
    "phishing",
    "malware",
    "warning signs",
    "suspicious",
    "abuse",
    "misuse",
    "privilege escalation",
    "what not",
    "reject",
    "contains one of",
    "scam",
    "trojan",
    "backdoor",
    "❌",
    "🚫",
    "not allowed",
    "refuse",
    "destructive",
    "incorrect",
    "reverse shell",
    "exfiltrat",
    "rationaliz",
    "post-exploitation",
    "lateral movement",
    "persistence techniques",
    "credential access",
    "poison",
];

/// Words in the names and descriptions of skills about security.
const SECURITY_TOPICS: &[&str] = &[
    "security",
    "pentest",
    "penetration",
    "red team",
    "red-team",
    "redteam",
    "ctf",
    "injection",
    "exploit",
    "vulnerab",
    "malware",
    "forensic",
    "threat",
    "adversarial",
    "jailbreak",
    "guardrail",
    "phishing",
    "incident",
    "hardening",
    "scanner",
    "attack",
    "privilege",
    "escalation",
    "hacking",
    "hacker",
    "bug bounty",
    "reverse engineer",
    "owasp",
    "fuzz",
    "offensive",
    "defensive",
    "audit",
    "secrets",
    "metasploit",
    "burp",
    "sqlmap",
    "active directory",
    "shodan",
    "wireless",
    "ssh",
];

/// Whether a heading announces something that is not meant to be done.
pub(in crate::audit) fn is_cautionary_title(title: &str) -> bool {
    static FILTER: LazyLock<WordFilter> =
        LazyLock::new(|| WordFilter::of(CAUTIONARY_TITLES.iter().copied()));
    let lower = title.to_lowercase();
    FILTER.may_match(&lower) && CAUTIONARY_TITLES.iter().any(|word| lower.contains(word))
}

/// Whether a skill is about security, as far as its name and description say.
pub(in crate::audit) fn is_security_topic(text: &str) -> bool {
    let lower = text.to_lowercase();
    SECURITY_TOPICS.iter().any(|word| lower.contains(word))
}

struct GuardWords {
    negations: WordSet,
    cautions: WordSet,
    network: WordSet,
}

static WORDS: LazyLock<GuardWords> = LazyLock::new(|| GuardWords {
    negations: WordSet::of(NEGATIONS),
    cautions: WordSet::of(CAUTIONS),
    network: WordSet::of(NETWORK_VERBS),
});

/// What a sentence as a whole says about its phrases.
pub(super) struct SentenceGuard {
    /// The indexes of negations.
    negations: Vec<usize>,
    pub is_cautionary: bool,
}

/// A negation applies to at most this many words after it.
const NEGATION_REACH: usize = 7;
/// A verb applies to at most this many words after it.
const VERB_REACH: usize = 14;

impl SentenceGuard {
    pub(super) fn of(words: &[SentenceWord]) -> Self {
        let indexes = words.iter().enumerate();
        Self {
            negations: indexes
                .filter(|(_, word)| WORDS.negations.contains(word.id))
                .map(|(index, _)| index)
                .collect(),
            is_cautionary: words.iter().any(|word| WORDS.cautions.contains(word.id)),
        }
    }

    /// Whether a negation precedes a word closely.
    pub(super) fn is_negated(&self, index: usize) -> bool {
        let before = self.negations.partition_point(|negation| *negation < index);
        before.checked_sub(1).is_some_and(|last| index - self.negations[last] <= NEGATION_REACH)
    }

    /// Whether a verb before a word asks to contact a host.
    pub(super) fn uses_network_before(&self, words: &[SentenceWord], index: usize) -> bool {
        let from = index.saturating_sub(VERB_REACH);
        words[from..index.min(words.len())].iter().any(|word| WORDS.network.contains(word.id))
    }
}
