//! Text that people do not see or cannot tell from other text.

use std::ops::Range;

use super::evidence::Evidence;
use super::finding::{AuditClass, Confidence, Detection, Risk};
use super::prose::SentenceScanner;
use super::value::is_readable;
use crate::hidden::{HiddenKind, HiddenText, LookalikeContext, find, find_lookalikes};

/// Shorter runs of entities or private characters are typography.
const MIN_ENCODED_CHARS: usize = 8;
/// A run of private characters without meaning is reported from this length on.
const MIN_PRIVATE_RUN: usize = 24;

/// Programs that a lookalike in a sentence may imitate.
const PROGRAMS: &[&str] = &[
    "aws",
    "bash",
    "brew",
    "bun",
    "cargo",
    "cat",
    "chmod",
    "chown",
    "claude",
    "codex",
    "cp",
    "curl",
    "deno",
    "docker",
    "echo",
    "find",
    "gh",
    "git",
    "go",
    "grep",
    "java",
    "kubectl",
    "make",
    "mv",
    "nc",
    "node",
    "npm",
    "npx",
    "perl",
    "php",
    "pip",
    "pip3",
    "pnpm",
    "powershell",
    "python",
    "python3",
    "rm",
    "rsync",
    "ruby",
    "rustup",
    "scp",
    "sed",
    "sh",
    "source",
    "ssh",
    "sudo",
    "tar",
    "terraform",
    "uv",
    "uvx",
    "wget",
    "yarn",
    "zsh",
    "paypal",
    "github",
    "google",
    "anthropic",
    "openai",
    "microsoft",
    "apple",
    "amazon",
];

/// Reports hidden text in a file.
pub(super) fn scan_hidden(text: &str, is_markdown: bool, evidence: &mut Evidence) {
    for hidden in find(text) {
        report_hidden(&hidden, text, evidence);
    }
    if text.is_ascii() {
        if is_markdown {
            scan_entities(text, evidence);
        }
        return;
    }
    for word in find_lookalikes(text) {
        let what = match word.context {
            LookalikeContext::Host => "the host",
            LookalikeContext::Command => "the word",
        };
        let message = format!(
            "{what} `{}` imitates `{}` with letters of another script",
            &text[word.range.clone()],
            word.looks_like
        );
        report(evidence, word.range, STRONG, message, Some(word.looks_like));
    }
    if is_markdown {
        scan_entities(text, evidence);
        scan_prose_lookalikes(text, evidence);
    }
    scan_private_use(text, evidence);
    scan_spaces(text, is_markdown, evidence);
}

type Danger = (Risk, Confidence);
const SURE: Danger = (Risk::High, Confidence::Certain);
const STRONG: Danger = (Risk::High, Confidence::Likely);
const MEDIUM: Danger = (Risk::Medium, Confidence::Likely);
const WEAK: Danger = (Risk::Low, Confidence::Hint);

fn report(
    evidence: &mut Evidence,
    span: Range<usize>,
    danger: Danger,
    message: String,
    decoded: Option<String>,
) {
    let detection = Detection::new(AuditClass::Hidden, danger.0, danger.1, message);
    evidence.report_decoded(Some(span), detection, decoded);
}

fn report_hidden(hidden: &HiddenText, text: &str, evidence: &mut Evidence) {
    let count = text[hidden.range.clone()].chars().count();
    let is_text = hidden.decoded.as_deref().is_some_and(|text| match hidden.kind {
        // Nothing else uses these characters, so a single word is enough.
        HiddenKind::Tag => {
            is_readable(text) && text.matches(|c: char| c.is_ascii_alphabetic()).count() >= 4
        }
        _ => has_words(text),
    });
    let danger = match hidden.kind {
        _ if is_text => SURE,
        HiddenKind::Tag | HiddenKind::VariationSelector if count >= MIN_ENCODED_CHARS => STRONG,
        HiddenKind::Bidi => MEDIUM,
        HiddenKind::ZeroWidth if count >= 2 * MIN_ENCODED_CHARS => STRONG,
        _ => WEAK,
    };
    let message = format!("hidden {}", hidden.kind.name());
    report(evidence, hidden.range.clone(), danger, message, hidden.decoded.clone());
}

/// Whether a decoded text contains at least two words.
fn has_words(text: &str) -> bool {
    let is_word = |word: &&str| {
        word.len() >= 2 && word.chars().all(|c| c.is_ascii_alphabetic() || ".,:;!?'\"-".contains(c))
    };
    is_readable(text) && text.split_whitespace().filter(is_word).take(2).count() == 2
}

/// Letters that are written as numeric entities: readers of the file see numbers, agents letters.
fn scan_entities(text: &str, evidence: &mut Evidence) {
    let mut at = 0;
    while let Some(found) = text[at..].find("&#") {
        let start = at + found;
        let (decoded, end) = decode_entities(text, start);
        at = end.max(start + 2);
        let letters = decoded.chars().filter(char::is_ascii_alphabetic).count();
        // An address in entities is hidden from collectors of addresses.
        let is_address =
            decoded.contains('@') && !decoded.contains(' ') || decoded.starts_with("mailto:");
        if letters >= MIN_ENCODED_CHARS && !is_address {
            let is_text = has_words(&decoded);
            let danger = if is_text { SURE } else { MEDIUM };
            let message = "text written as numeric entities".to_owned();
            report(evidence, start..end, danger, message, Some(decoded.clone()));
            check_decoded(&decoded, start..end, evidence);
        }
    }
}

/// Decodes the run of entities at an offset, with single characters between them.
fn decode_entities(text: &str, start: usize) -> (String, usize) {
    let mut decoded = String::new();
    let mut end = start;
    while decoded.len() < 4_000 {
        let rest = &text[end..];
        let gap = rest
            .chars()
            .next()
            .filter(|c| matches!(c, ' ' | '\n' | '.' | ','))
            .map_or(0, char::len_utf8);
        let Some(number) = rest[gap..].strip_prefix("&#") else { break };
        let digits = number.find(';').filter(|length| *length <= 8).map(|length| &number[..length]);
        let Some(digits) = digits else { break };
        let code = match digits.strip_prefix(['x', 'X']) {
            Some(hex) => u32::from_str_radix(hex, 16).ok(),
            None => digits.parse().ok(),
        };
        let Some(c) = code.and_then(char::from_u32) else { break };
        decoded.push_str(&rest[..gap]);
        decoded.push(c);
        end += gap + 2 + digits.len() + 1;
    }
    (decoded, end)
}

/// Compares decoded text with the phrases for instructions.
fn check_decoded(decoded: &str, span: Range<usize>, evidence: &mut Evidence) {
    let mut sentences = SentenceScanner::of_decoded(decoded, evidence, span);
    sentences.push(0..decoded.len(), false);
    sentences.end_block();
}

/// Private-use characters: fonts give them any meaning, and their low bytes may be text.
fn scan_private_use(text: &str, evidence: &mut Evidence) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(found) =
        bytes[at..].iter().position(|byte| matches!(byte, 0xEE | 0xEF | 0xF3 | 0xF4))
    {
        let start = at + found;
        let run: String = text[start..].chars().take_while(|c| is_private(*c)).collect();
        if run.is_empty() {
            at = start + text[start..].chars().next().map_or(1, char::len_utf8);
            continue;
        }
        at = start + run.len();
        let count = run.chars().count();
        let decoded: String =
            run.chars().take(2_000).filter_map(|c| char::from_u32(u32::from(c) & 0xFF)).collect();
        let is_text = count >= MIN_ENCODED_CHARS && decoded.is_ascii() && has_words(&decoded);
        if is_text {
            report(
                evidence,
                start..at,
                SURE,
                "text in private-use characters".into(),
                Some(decoded.clone()),
            );
            check_decoded(&decoded, start..at, evidence);
        } else if count >= MIN_PRIVATE_RUN {
            report(
                evidence,
                start..at,
                MEDIUM,
                format!("{count} private-use characters in a row"),
                None,
            );
        }
    }
}

fn is_private(c: char) -> bool {
    matches!(c, '\u{E000}'..='\u{F8FF}' | '\u{F0000}'..='\u{FFFFD}' | '\u{100000}'..='\u{10FFFD}')
}

/// Spaces that are not ASCII: a shell treats them as part of a word.
fn scan_spaces(text: &str, is_markdown: bool, evidence: &mut Evidence) {
    let mut in_shell = false;
    let mut start = 0;
    if !text.contains(is_odd_space) {
        return;
    }
    for line in text.split_inclusive('\n') {
        let trimmed = line.trim_start();
        if is_markdown && trimmed.starts_with("```") {
            let language = trimmed.trim_start_matches('`').trim().to_ascii_lowercase();
            in_shell = !in_shell
                && ["bash", "sh", "shell", "zsh", "console", "terminal"]
                    .contains(&language.as_str());
        } else if let Some(at) = line.find(is_odd_space)
            && !trimmed.starts_with('#')
        {
            let before = line[..at].rsplit('`').next().unwrap_or_default().trim_start();
            let is_inline = is_markdown && line[..at].matches('`').count() % 2 == 1;
            let command = if is_inline || !is_markdown { before } else { trimmed };
            let first =
                command.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
            if (in_shell || is_inline) && PROGRAMS.contains(&first) {
                let length = line[at..].chars().next().map_or(1, char::len_utf8);
                let message = "a space in a command is not an ASCII space".to_owned();
                report(evidence, start + at..start + at + length, MEDIUM, message, None);
            }
        }
        start += line.len();
    }
}

fn is_odd_space(c: char) -> bool {
    matches!(c, '\u{A0}' | '\u{2000}'..='\u{200A}' | '\u{202F}' | '\u{205F}' | '\u{3000}')
}

/// Names of programs and companies in sentences, with letters of another script.
fn scan_prose_lookalikes(text: &str, evidence: &mut Evidence) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(found) = bytes[at..].iter().position(|byte| matches!(byte, 0xCD..=0xD6)) {
        let here = at + found;
        let start = text[..here]
            .char_indices()
            .rev()
            .take(40)
            .take_while(|(_, c)| c.is_alphanumeric())
            .last()
            .map_or(here, |(start, _)| start);
        let length =
            text[start..].find(|c: char| !c.is_alphanumeric()).unwrap_or(text.len() - start);
        let word = &text[start..start + length];
        at = (start + length).max(here + 1);
        while !text.is_char_boundary(at) {
            at += 1;
        }
        if word.len() > 64 || !word.contains(|c: char| c.is_ascii_alphabetic()) {
            continue;
        }
        let plain = crate::hidden::to_latin(word).to_lowercase();
        if plain.is_ascii() && PROGRAMS.contains(&plain.as_str()) {
            let message =
                format!("the word `{word}` imitates `{plain}` with letters of another script");
            report(evidence, start..start + length, STRONG, message, Some(plain));
        }
    }
}
