//! Credentials in the files of a skill, with their position and without their value.

use sp_formats::workspace::detect_secret;

use super::evidence::Evidence;
use super::finding::{AuditClass, Confidence, Detection, Risk};
use crate::secrets::{has_secret, is_secret};

/// Parts of values that are placeholders.
const PLACEHOLDERS: &[&str] = &[
    "xxx",
    "abc123",
    "example",
    "your",
    "test",
    "dummy",
    "fake",
    "placeholder",
    "redacted",
    "sample",
    "1234567890",
    "abcdef",
    "changeme",
    "insert",
    "replace",
    "...",
    "…",
    "***",
    "todo",
    "secret",
    "deadbeef",
    "0000000",
    "mock",
    "demo",
    "invalid",
];

/// Files that contain invented values.
const TEST_PATHS: &[&str] =
    &["test", "fixture", "example", "sample", "mock", "spec", "demo", "corpus", "eval"];

/// The minimum number of different characters in a random value.
const MIN_DISTINCT: usize = 12;

/// Reports secrets in a text.
pub(super) fn scan_secrets(path: &str, text: &str, evidence: &mut Evidence) {
    if !has_secret(text) {
        return;
    }
    let lower = path.to_ascii_lowercase();
    let is_test = TEST_PATHS.iter().any(|part| lower.contains(part));
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        scan_line(line, start, is_test, evidence);
        if line.contains("PRIVATE KEY-----") && line.contains("-----BEGIN") {
            report_key(text, start, line, is_test, evidence);
        }
        start += line.len();
    }
}

fn scan_line(line: &str, start: usize, is_test: bool, evidence: &mut Evidence) {
    if !has_secret(line) {
        return;
    }
    let mut found_word = false;
    let mut at = 0;
    for word in line.split(|c: char| c.is_whitespace() || "\"'`,;()<>=[]{}|".contains(c)) {
        let span = start + at..start + at + word.len();
        at += word.len() + line[at + word.len()..].chars().next().map_or(0, char::len_utf8);
        let Some(what) = detect_secret("", word).filter(|_| is_secret(word)) else { continue };
        found_word = true;
        // The password of a URL may be a token.
        let password = password_of(word).filter(|password| is_secret(password));
        let what = password.and_then(|password| detect_secret("", password)).unwrap_or(what);
        let word = password.unwrap_or(word);
        let is_known = what.contains("prefix") || what.contains("signed") && word.len() >= 100;
        let (risk, confidence) = match is_known && is_random(word) {
            true if !is_test => (Risk::Medium, Confidence::Likely),
            _ => (Risk::Low, Confidence::Hint),
        };
        let message = format!("contains a credential: {what}");
        evidence.report_decoded(
            Some(span),
            Detection::new(AuditClass::Secret, risk, confidence, message),
            None,
        );
    }
    if !found_word && !line.contains("PRIVATE KEY") {
        let indent = line.len() - line.trim_start().len();
        let span = start + indent..start + line.trim_end().len().max(indent);
        let message = "assigns a literal value to the name of a secret";
        evidence.report_decoded(
            Some(span),
            Detection::new(AuditClass::Secret, Risk::Low, Confidence::Hint, message),
            None,
        );
    }
}

/// The password in `scheme://user:password@host`.
fn password_of(word: &str) -> Option<&str> {
    let (user, _) = word.split_once("://")?.1.rsplit_once('@')?;
    Some(user.split_once(':')?.1)
}

/// Whether a value looks random and not like a placeholder.
fn is_random(word: &str) -> bool {
    let lower = word.to_ascii_lowercase();
    let mut distinct: Vec<char> = word.chars().collect();
    distinct.sort_unstable();
    distinct.dedup();
    let digits = word.bytes().filter(u8::is_ascii_digit).count();
    distinct.len() >= MIN_DISTINCT
        && digits >= 2
        && !PLACEHOLDERS.iter().any(|part| lower.contains(part))
}

/// A private key with its content, not only its first line.
fn report_key(text: &str, start: usize, line: &str, is_test: bool, evidence: &mut Evidence) {
    let body: String = text[start + line.len()..]
        .lines()
        .take_while(|line| !line.contains("-----END"))
        .take(60)
        .map(str::trim)
        .collect();
    let is_base64 = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '=');
    let is_whole = body.len() >= 100
        && body.chars().all(is_base64)
        && is_random(&body)
        && text[start..].contains("-----END");
    let (risk, confidence) = match (is_whole, is_test) {
        (true, false) => (Risk::High, Confidence::Certain),
        (true, true) => (Risk::Medium, Confidence::Hint),
        (false, _) => (Risk::Low, Confidence::Hint),
    };
    let span = start..start + line.trim_end().len();
    evidence.report_decoded(
        Some(span),
        Detection::new(AuditClass::Secret, risk, confidence, "contains a private key"),
        None,
    );
}
