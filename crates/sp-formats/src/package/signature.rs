//! Package signatures: what they cover, creating and verifying them.
//!
//! `value` covers name, version and content. `manifest_value` covers the whole manifest as well.

use sp_tree::{Digest, PrivateKey, PublicKey, Signature, SignatureError};

use crate::json::{JsonKind, JsonNumberFormat, JsonValue, canonicalize, quoted};
use crate::package::rules::{PK_11, PK_12, PK_13};
use crate::report::{Report, Severity};
use crate::rules::CheckRule;

use super::manifest::PackageManifest;
use super::manifest_fields::{describe_value, start_span};
use super::{VerificationCheck, VerificationOutcome, VerificationStep};

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
            .whole_file(Severity::Warning, &PK_13, "the package is not signed")
            .help("ask the author to sign it with `sp pkg create --sign`");
        return (
            None,
            VerificationStep::new(
                VerificationCheck::Signature,
                VerificationOutcome::Warned,
                "not signed",
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
            (Some(signer), VerificationStep::new(VerificationCheck::Signature, outcome, detail))
        }
        None => (
            None,
            VerificationStep::new(
                VerificationCheck::Signature,
                VerificationOutcome::Failed,
                "invalid signature",
            ),
        ),
    }
}

fn verify_signature(
    signature: JsonValue<'_>,
    whole: JsonValue<'_>,
    manifest: &PackageManifest,
    report: &mut Report,
) -> Option<Signer> {
    let mut verifier = SignatureVerifier { signature, report };
    if signature.kind() != JsonKind::Object {
        let message = format!("`signature` must be an object, not {}", signature.kind().describe());
        return verifier.reject(&PK_11, Some(signature), message);
    }
    verifier.check_algorithm()?;
    let key = verifier.read_key()?;
    verifier.verify_content(&key, manifest)?;
    let coverage = verifier.verify_manifest(&key, whole)?;
    Some(Signer { key, coverage })
}

/// Verifies the object `signature`. Each step returns `None` if the signature is rejected.
struct SignatureVerifier<'j, 'r> {
    signature: JsonValue<'j>,
    report: &'r mut Report,
}

impl<'j> SignatureVerifier<'j, '_> {
    fn member(&self, key: &str) -> Option<JsonValue<'j>> {
        self.signature.get(key).filter(|value| !value.is_null())
    }

    /// Reports an error at `value`, or at the start of the signature if there is none.
    fn reject<T>(
        &mut self,
        check: &'static CheckRule,
        value: Option<JsonValue<'_>>,
        message: String,
    ) -> Option<T> {
        let span = value.map_or(start_span(self.signature), JsonValue::span);
        self.report
            .error(check, span, message)
            .help("do not use this package; get a new copy from its author");
        None
    }

    fn check_algorithm(&mut self) -> Option<()> {
        let algorithm = self.member("algorithm");
        if algorithm.is_some_and(|value| value.eq_str("ed25519")) {
            return Some(());
        }
        let message = match algorithm {
            Some(other) => {
                format!("the algorithm must be `ed25519`, not {}", describe_value(other))
            }
            None => "`algorithm` is missing".into(),
        };
        self.reject(&PK_11, algorithm, message)
    }

    fn read_key(&mut self) -> Option<PublicKey> {
        let Some(written) = self.member("public_key") else {
            return self.reject(&PK_11, None, "`public_key` is missing".into());
        };
        match PublicKey::from_hex(&written.text().unwrap_or_default()) {
            Ok(key) => Some(key),
            Err(why) => {
                let message = format!("invalid public key: {why}");
                self.reject(&PK_11, Some(written), message)
            }
        }
    }

    /// Verifies `value`, which covers name, version and content.
    fn verify_content(&mut self, key: &PublicKey, manifest: &PackageManifest) -> Option<()> {
        let Some(value) = self.member("value") else {
            return self.reject(&PK_11, None, "`value` is missing".into());
        };
        let message = content_message(
            manifest.name.as_str(),
            manifest.version.as_str(),
            &manifest.integrity.sha256,
        );
        match verify_value(key, value, &message) {
            Ok(()) => Some(()),
            Err(malformed) => {
                let message = malformed.unwrap_or_else(|| {
                    "the signature does not match the name, version and content".into()
                });
                self.reject(&PK_11, Some(value), message)
            }
        }
    }

    /// Verifies `manifest_value`, which covers the whole manifest and may be missing.
    fn verify_manifest(
        &mut self,
        key: &PublicKey,
        manifest: JsonValue<'_>,
    ) -> Option<SignatureCoverage> {
        let Some(value) = self.member("manifest_value") else {
            self.report
                .warning(
                    &PK_12,
                    self.signature.span(),
                    "the signature covers only the name, version and content",
                )
                .help(
                    "the description, author, dependencies, tags and times could have been \
                     changed after signing",
                );
            return Some(SignatureCoverage::Content);
        };
        match verify_manifest_value(key, value, manifest) {
            Ok(()) => Some(SignatureCoverage::Whole),
            Err(why) => {
                let message =
                    why.unwrap_or_else(|| "the signature does not match the manifest".into());
                self.reject(&PK_12, Some(value), message)
            }
        }
    }
}

fn verify_manifest_value(
    key: &PublicKey,
    value: JsonValue<'_>,
    manifest: JsonValue<'_>,
) -> Result<(), Option<String>> {
    let Some(rounded) = manifest_message(manifest, JsonNumberFormat::Rounded) else {
        return Err(Some("the manifest contains a number that is too large to be signed".into()));
    };
    // Writers format exponents differently (`1e22`, `1e+22`), and the signature covers the text
    // that its writer wrote.
    verify_value(key, value, &rounded).or_else(|why| {
        match manifest_message(manifest, JsonNumberFormat::AsWritten) {
            Some(written) if written != rounded => verify_value(key, value, &written),
            _ => Err(why),
        }
    })
}

/// Verifies a signature in hexadecimal. The error has a message if the signature is malformed, and
/// none if it is not of this message.
fn verify_value(
    key: &PublicKey,
    value: JsonValue<'_>,
    message: &str,
) -> Result<(), Option<String>> {
    Signature::from_hex(&value.text().unwrap_or_default())
        .and_then(|signature| key.verify(message.as_bytes(), &signature))
        .map_err(|why| match why {
            SignatureError::InvalidHex => Some(why.to_string()),
            SignatureError::Mismatch => None,
        })
}
