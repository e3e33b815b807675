//! Flips every byte of signed packages. The package is then rejected, unless the signature does not
//! cover the byte.

use std::collections::BTreeSet;

use sp_formats::json::{JsonDocument, JsonNumberFormat, canonicalize};
use sp_formats::package::{Package, SignatureCoverage, read};
use sp_formats::report::Severity;
use sp_tree::{Digest, Limits, PrivateKey};

/// Returns a small package with whitespace, escapes and numbers, signed with the key of the interop
/// vector.
fn package(coverage: SignatureCoverage) -> String {
    let content = r#"{"context_graph":{"format":"ctxpkg-graph-v2","nodes":[{"id":"n\u0031","type":"fact","content":"a b","activation":1.0}],"edges":[]}}"#;
    let hash = Digest::of(content.as_bytes()).hex();
    let sha256 = Digest::of(format!("flip:1.0.0:{hash}").as_bytes()).hex();
    let manifest = format!(
        r#"{{"author":"Ada","conflicts":["never"],"conformance_level":1,"created_at":"2026-05-22T00:00:00Z","dependencies":[{{"name":"base","optional":false,"version_req":"^1"}}],"description":"Some words","integrity":{{"byte_size":{},"content_hash":"{hash}","sha256":"{sha256}"}},"layers":[],"name":"flip","provenance":{{"tool":"hand","tool_version":"1"}},"schema_version":2,"tags":["x"],"version":"1.0.0","x-more":1.5}}"#,
        content.len()
    );
    let key = PrivateKey::from_seed(&[7; 32]);
    let sign = |text: String| key.sign(Digest::of(text.as_bytes()).hex().as_bytes()).hex();
    let value = sign(format!("ctxpkg-sign-v1:flip:1.0.0:{sha256}"));
    let manifest_value =
        format!(",\"manifest_value\":\"{}\"", sign(format!("ctxpkg-sign-manifest-v1:{manifest}")));
    let manifest_value =
        if coverage == SignatureCoverage::Whole { manifest_value } else { String::new() };
    let unclosed_manifest = manifest.strip_suffix('}').unwrap();
    let public = key.public().hex();
    let signature = format!(
        r#"{{"algorithm":"ed25519","public_key":"{public}","value":"{value}"{manifest_value}}}"#
    );
    let content = content.replacen("{\"context_graph\":{", "{ \"context_graph\":\n\t{", 1);
    format!(
        "{{ \"manifest\": {unclosed_manifest},\"signature\":{signature}}},\"content\":{content}}}\n"
    )
}

fn read_package(text: &[u8]) -> Option<Package> {
    read("flipped", text.to_vec(), &Limits::default()).package
}

/// Returns the canonical manifest without its signature.
fn signed_manifest(package: &Package) -> String {
    canonicalize(package.raw_manifest(), "signature", JsonNumberFormat::Rounded).unwrap()
}

/// Returns the names of the members that differ between two manifests.
fn changed_members(before: &Package, after: &Package) -> BTreeSet<String> {
    let members_of = |package: &Package| -> BTreeSet<(String, String)> {
        let text = |value| canonicalize(value, "", JsonNumberFormat::Lossless).unwrap();
        let members = package.raw_manifest().members();
        members.map(|(key, value)| (key.text().unwrap().into_owned(), text(value))).collect()
    };
    let (before, after) = (members_of(before), members_of(after));
    before.symmetric_difference(&after).map(|(key, _)| key.clone()).collect()
}

/// A package that is still accepted after a change of one byte.
struct AcceptedFlip {
    offset: usize,
    mask: u8,
    package: Package,
}

/// Flips bits of every byte, and returns the packages that are still accepted.
fn accepted_flips(text: &str) -> Vec<AcceptedFlip> {
    let mut accepted = Vec::new();
    for mask in [1, 3, 0x20, 0x80] {
        let mut bytes = text.as_bytes().to_vec();
        for offset in 0..bytes.len() {
            bytes[offset] ^= mask;
            let package = read_package(&bytes);
            accepted.extend(package.map(|package| AcceptedFlip { offset, mask, package }));
            bytes[offset] ^= mask;
        }
    }
    accepted
}

#[test]
fn se_11_pk_12_flipped_bytes_of_signed_packages_are_detected() {
    let text = package(SignatureCoverage::Whole);
    let good = read_package(text.as_bytes()).unwrap();
    assert_eq!(good.signer.unwrap().coverage, SignatureCoverage::Whole);
    let mut uncovered = BTreeSet::new();
    for AcceptedFlip { offset, mask, package: flipped } in accepted_flips(&text) {
        let around = &text[offset.saturating_sub(12)..(offset + 12).min(text.len())];
        let flip = format!("byte {offset} ^ {mask:#x}, in `{around}`");
        let content = |package: &Package| {
            canonicalize(package.content(), "", JsonNumberFormat::Lossless).unwrap()
        };
        assert_eq!(content(&flipped), content(&good), "{flip}: the content differs");
        if flipped.signer.is_none_or(|signer| signer.coverage == SignatureCoverage::Content) {
            // Renaming a member of the signature weakens it, which the trust policy rejects.
            let word = text[..offset].rsplit('"').next().unwrap().to_owned()
                + text[offset..].split('"').next().unwrap();
            assert!(["signature", "manifest_value"].contains(&word.as_str()), "{flip}: {word}");
            uncovered.insert(format!("strips {word}"));
        } else {
            assert_eq!(
                signed_manifest(&flipped),
                signed_manifest(&good),
                "{flip}: the manifest differs"
            );
            assert!(text.as_bytes()[offset].is_ascii_whitespace(), "{flip} is not whitespace");
            uncovered.insert("whitespace".into());
        }
    }
    let uncovered: Vec<&str> = uncovered.iter().map(String::as_str).collect();
    assert_eq!(uncovered, ["strips manifest_value", "strips signature", "whitespace"]);
}

#[test]
fn pk_12_content_signature_does_not_cover_the_rest_of_the_manifest() {
    let text = package(SignatureCoverage::Content);
    let good = read_package(text.as_bytes()).unwrap();
    assert_eq!(good.signer.unwrap().coverage, SignatureCoverage::Content);
    let mut uncovered = BTreeSet::new();
    for AcceptedFlip { offset, mask, package: flipped } in accepted_flips(&text) {
        let content = |package: &Package| {
            canonicalize(package.content(), "", JsonNumberFormat::Lossless).unwrap()
        };
        assert_eq!(content(&flipped), content(&good), "byte {offset} ^ {mask:#x}");
        let is_known = |key: &String| good.raw_manifest().get(key).is_some();
        uncovered.extend(changed_members(&good, &flipped).into_iter().filter(is_known));
    }
    let uncovered: Vec<&str> = uncovered.iter().map(String::as_str).collect();
    let expected = [
        "author",
        "conflicts",
        "conformance_level",
        "created_at",
        "dependencies",
        "description",
        "layers",
        "provenance",
        "schema_version",
        "signature",
        "tags",
        "x-more",
    ];
    assert_eq!(uncovered, expected);
    let report = read("content-only", text.clone().into_bytes(), &Limits::default()).report;
    let warning = report.findings.iter().find(|finding| finding.check.id == "PK-12").unwrap();
    assert_eq!(warning.severity, Severity::Warning);
    let signature = good.raw_manifest().get("signature").unwrap();
    assert_eq!(&text[warning.span.clone().unwrap()], signature.raw());
}

#[test]
fn pk_12_signed_numbers_may_be_respelled_but_not_changed() {
    // The signature covers the number as serde_json reads it, not its spelling.
    let text = package(SignatureCoverage::Whole);
    for (spelling, is_accepted) in
        [("1.50", true), ("15e-1", true), ("1.5000000000000000001", true), ("1.6", false)]
    {
        let respelled = text.replace("\"x-more\":1.5", &format!("\"x-more\":{spelling}"));
        assert_eq!(read_package(respelled.as_bytes()).is_some(), is_accepted, "{spelling}");
    }
    let json = JsonDocument::parse("1e400", &Limits::default()).unwrap();
    assert_eq!(canonicalize(json.root(), "", JsonNumberFormat::Rounded), None);
}
