//! Package signatures: what they cover, creating and verifying them.
//!
//! `value` covers name, version and content. `manifest_value` covers the whole manifest as well.

use sp_tree::{Digest, PrivateKey, PublicKey, Signature, SignatureError};

use crate::checks::{PK_11, PK_12, PK_13};
use crate::json::{JsonKind, JsonNumberFormat, JsonValue, canonicalize, quoted};
use crate::report::{Report, Severity};

use super::manifest::{PackageManifest, describe_value, start_span};
use super::{VerificationOutcome, VerificationStep};

/// How much of a package is signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SignatureCoverage {
    /// Name, version and content.
    Content,
    /// The whole manifest as well.
    Whole,
}

impl SignatureCoverage {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Content => "content",
            Self::Whole => "whole",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Signer {
    pub key: PublicKey,
    pub coverage: SignatureCoverage,
}

/// The bytes that `value` signs.
fn content_message(name: &str, version: &str, sha256: &str) -> String {
    Digest::of(format!("ctxpkg-sign-v1:{name}:{version}:{sha256}").as_bytes()).hex()
}

/// The bytes that `manifest_value` signs, or `None` if the manifest contains a number that cannot
/// be written.
fn manifest_message(manifest: JsonValue<'_>, numbers: JsonNumberFormat) -> Option<String> {
    let text = canonicalize(manifest, "signature", numbers)?;
    Some(Digest::of(format!("ctxpkg-sign-manifest-v1:{text}").as_bytes()).hex())
}

/// Creates the member `signature` of a manifest that has none.
pub(super) fn sign<'j>(manifest: JsonValue<'j>, key: &PrivateKey) -> Option<String> {
    let text = |value: Option<JsonValue<'j>>| value.and_then(JsonValue::text).unwrap_or_default();
    let sha256 = text(manifest.get("integrity").and_then(|integrity| integrity.get("sha256")));
    let content =
        content_message(&text(manifest.get("name")), &text(manifest.get("version")), &sha256);
    let whole = manifest_message(manifest, JsonNumberFormat::Rounded)?;
    Some(format!(
        "{{\"algorithm\":\"ed25519\",\"manifest_value\":{},\"public_key\":{},\"value\":{}}}",
        quoted(&key.sign(whole.as_bytes()).hex()),
        quoted(&key.public().hex()),
        quoted(&key.sign(content.as_bytes()).hex()),
    ))
}

/// Verifies the signatures of a manifest.
pub(super) fn verify(
    value: JsonValue<'_>,
    manifest: &PackageManifest,
    report: &mut Report,
) -> (Option<Signer>, VerificationStep) {
    let Some(signature) = value.get("signature").filter(|signature| !signature.is_null()) else {
        report
            .whole_file(Severity::Warning, &PK_13, "it is not signed: nobody vouches for it")
            .help("whoever made it signs it with `sp pkg create --sign`");
        return (
            None,
            VerificationStep::new(
                "signature",
                VerificationOutcome::Warned,
                "none: nobody vouches for it",
            ),
        );
    };
    match verify_signature(signature, value, manifest, report) {
        Some(signer) => {
            let (outcome, detail) = match signer.coverage {
                SignatureCoverage::Whole => {
                    (VerificationOutcome::Passed, "Ed25519; covers content and manifest")
                }
                SignatureCoverage::Content => (
                    VerificationOutcome::Warned,
                    "Ed25519; covers name, version and content, not the rest of the manifest",
                ),
            };
            (Some(signer), VerificationStep::new("signature", outcome, detail))
        }
        None => (
            None,
            VerificationStep::new("signature", VerificationOutcome::Failed, "it does not hold"),
        ),
    }
}

fn verify_signature(
    signature: JsonValue<'_>,
    whole: JsonValue<'_>,
    manifest: &PackageManifest,
    report: &mut Report,
) -> Option<Signer> {
    let mut refuse = |check, value: Option<JsonValue<'_>>, message: String| {
        let span = value.map_or(start_span(signature), JsonValue::span);
        report.error(check, span, message).help("do not use it: get it again from whoever made it");
    };
    if signature.kind() != JsonKind::Object {
        refuse(
            &PK_11,
            Some(signature),
            format!("`signature` must be an object, not {}", signature.kind().describe()),
        );
        return None;
    }
    let text = |key: &str| signature.get(key).filter(|value| !value.is_null());
    if !text("algorithm").is_some_and(|value| value.eq_str("ed25519")) {
        let message = match text("algorithm") {
            Some(other) => {
                format!("the algorithm must be `ed25519`, not {}", describe_value(other))
            }
            None => "`algorithm` is missing".into(),
        };
        refuse(&PK_11, text("algorithm"), message);
        return None;
    }
    let Some(written) = text("public_key") else {
        refuse(&PK_11, None, "`public_key` is missing".into());
        return None;
    };
    let key = match PublicKey::from_hex(&written.text().unwrap_or_default()) {
        Ok(key) => key,
        Err(why) => {
            refuse(&PK_11, Some(written), format!("the public key cannot be used: {why}"));
            return None;
        }
    };
    let holds = |value: JsonValue<'_>, message: &str| {
        Signature::from_hex(&value.text().unwrap_or_default())
            .and_then(|signature| key.verify(message.as_bytes(), &signature))
            .map_err(|why| match why {
                SignatureError::InvalidHex => Some(why.to_string()),
                SignatureError::Mismatch => None,
            })
    };
    let Some(value) = text("value") else {
        refuse(&PK_11, None, "`value` is missing".into());
        return None;
    };
    let message = content_message(
        manifest.name.as_str(),
        manifest.version.as_str(),
        &manifest.integrity.sha256,
    );
    if let Err(malformed) = holds(value, &message) {
        let message = malformed
            .unwrap_or_else(|| "name, version and content are not what this key signed".into());
        refuse(&PK_11, Some(value), message);
        return None;
    }
    let Some(value) = text("manifest_value") else {
        report
            .warning(&PK_12, signature.span(), "the signature covers name, version and content, and nothing else")
            .help("description, author, dependencies, tags and times may have been changed since it was signed");
        return Some(Signer { key, coverage: SignatureCoverage::Content });
    };
    let unsigned = || Some("the manifest holds a number that is too large to be signed".to_owned());
    let rounded = manifest_message(whole, JsonNumberFormat::Rounded).ok_or_else(unsigned);
    // Writers format exponents differently (`1e22`, `1e+22`), and the signature covers the text
    // that its writer wrote.
    let verified = rounded.and_then(|rounded| {
        holds(value, &rounded).or_else(|why| {
            match manifest_message(whole, JsonNumberFormat::AsWritten) {
                Some(written) if written != rounded => holds(value, &written),
                _ => Err(why),
            }
        })
    });
    if let Err(why) = verified {
        refuse(
            &PK_12,
            Some(value),
            why.unwrap_or_else(|| "the manifest is not what this key signed".into()),
        );
        return None;
    }
    Some(Signer { key, coverage: SignatureCoverage::Whole })
}
