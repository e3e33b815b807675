//! The integrity block of a manifest: content hash, composite hash and size.

use sp_tree::Digest;

use super::manifest::PackageManifest;
use super::manifest_fields::truncate_for_message;
use super::{VerificationCheck, VerificationOutcome, VerificationStep};
use crate::json::{CompactDigest, JsonValue};
use crate::package::rules::PK_08;
use crate::report::Report;
use crate::text::pluralize;

/// A member of the integrity block.
struct IntegrityMember {
    check: VerificationCheck,
    key: &'static str,
    stated: String,
    actual: String,
    mismatch: &'static str,
}

/// Checks the three members of the integrity block in order. `value` is the manifest as written.
pub(super) fn verify(
    value: JsonValue<'_>,
    manifest: &PackageManifest,
    compact: CompactDigest,
    report: &mut Report,
) -> Vec<VerificationStep> {
    let members = integrity_members(manifest, compact);
    members.into_iter().map(|member| verify_member(value, member, report)).collect()
}

fn integrity_members(manifest: &PackageManifest, compact: CompactDigest) -> [IntegrityMember; 3] {
    let stated = &manifest.integrity;
    let composite =
        composite_hash(manifest.name.as_str(), manifest.version.as_str(), &stated.content_hash);
    [
        IntegrityMember {
            check: VerificationCheck::ContentHash,
            key: "content_hash",
            stated: stated.content_hash.clone(),
            actual: compact.digest.hex(),
            mismatch: "content hash mismatch",
        },
        IntegrityMember {
            check: VerificationCheck::CompositeHash,
            key: "sha256",
            stated: stated.sha256.clone(),
            actual: composite,
            mismatch: "composite hash mismatch",
        },
        IntegrityMember {
            check: VerificationCheck::Size,
            key: "byte_size",
            stated: format_size(stated.byte_size),
            actual: format_size(compact.size),
            mismatch: "content size mismatch",
        },
    ]
}

/// The exact size: a mismatch may be a single byte.
fn format_size(bytes: u64) -> String {
    pluralize(bytes, "byte")
}

fn verify_member(
    manifest: JsonValue<'_>,
    member: IntegrityMember,
    report: &mut Report,
) -> VerificationStep {
    let IntegrityMember { check, key, stated, actual, mismatch } = member;
    if stated == actual {
        return VerificationStep::new(check, VerificationOutcome::Passed, stated);
    }
    // A hash with uppercase digits is rejected, but it is not a sign of tampering.
    let (message, help) = if stated.eq_ignore_ascii_case(&actual) {
        ("hash is not in lowercase", "write the hash in lowercase")
    } else {
        (mismatch, "do not use this package; get a new copy from its author")
    };
    let shown = truncate_for_message(&stated);
    let detail = format!("expected {shown}, found {actual}");
    let block = manifest.get("integrity");
    let span = block.and_then(|block| block.get(key)).map_or(0..1, JsonValue::span);
    report.error(&PK_08, span, format!("{message}: {detail}")).help(help);
    VerificationStep::new(check, VerificationOutcome::Failed, detail)
}

/// The digest over name, version and content hash.
pub(super) fn composite_hash(name: &str, version: &str, content_hash: &str) -> String {
    Digest::of(format!("{name}:{version}:{content_hash}").as_bytes()).hex()
}
