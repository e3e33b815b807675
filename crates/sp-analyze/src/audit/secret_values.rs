//! Credentials in the files of a skill, with their position and without their value.
//!
//! What is a credential is decided by [`find_secrets`]; how dangerous it is depends on its kind.

use super::evidence::Evidence;
use super::finding::{AuditClass, Confidence, Detection, Risk};
use crate::secrets::{FoundSecret, SecretKind, find_secrets};

/// Files that contain invented values.
const TEST_PATHS: &[&str] =
    &["test", "fixture", "example", "sample", "mock", "spec", "demo", "corpus", "eval"];

/// How far the end of a private key is searched.
const MAX_KEY_BYTES: usize = 16 * 1024;

/// Reports secrets in a text.
pub(super) fn scan_secrets(path: &str, text: &str, evidence: &mut Evidence) {
    let lower = path.to_ascii_lowercase();
    let is_test = TEST_PATHS.iter().any(|part| lower.contains(part));
    for secret in find_secrets(text) {
        let (risk, confidence) = match (secret.kind, is_test) {
            (SecretKind::PrivateKey, false) if is_whole_key(text, &secret) => {
                (Risk::High, Confidence::Certain)
            }
            (SecretKind::PrivateKey | SecretKind::AccessToken | SecretKind::UrlPassword, false) => {
                (Risk::Medium, Confidence::Likely)
            }
            (SecretKind::AssignedValue | SecretKind::Credentials, _) | (_, true) => {
                (Risk::Low, Confidence::Hint)
            }
        };
        let message = format!("contains a credential: {}", secret.kind.name());
        let detection = Detection::new(AuditClass::Secret, risk, confidence, message);
        evidence.report_decoded(Some(secret.span), detection, None);
    }
}

/// Whether a private key has an end, so that it can be used.
fn is_whole_key(text: &str, key: &FoundSecret) -> bool {
    let end = text.floor_char_boundary(key.span.end.saturating_add(MAX_KEY_BYTES).min(text.len()));
    text[key.span.end..end].contains("-----END")
}
