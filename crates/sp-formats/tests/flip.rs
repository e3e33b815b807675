//! Every byte of a signed package is flipped: it is refused, or the byte is shown to be outside of
//! what is covered.
#![allow(clippy::unwrap_used, reason = "a test arranges its packages with the plain calls")]

use std::collections::BTreeSet;

use sp_formats::json::{JsonDocument, JsonNumberFormat, canonicalize};
use sp_formats::package::{Package, PackageReadResult, SignatureCoverage, read};
use sp_tree::{Digest, Limits, PrivateKey};

/// A small package with white space, escapes and numbers, signed with the key of the interop
/// vector.
fn package(whole: bool) -> String {
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
    let second =
        format!(",\"manifest_value\":\"{}\"", sign(format!("ctxpkg-sign-manifest-v1:{manifest}")));
    let second = if whole { second } else { String::new() };
    let open = manifest.strip_suffix('}').unwrap();
    let public = key.public().hex();
    let signature =
        format!(r#"{{"algorithm":"ed25519","public_key":"{public}","value":"{value}"{second}}}"#);
    let content = content.replacen("{\"context_graph\":{", "{ \"context_graph\":\n\t{", 1);
    format!("{{ \"manifest\": {open},\"signature\":{signature}}},\"content\":{content}}}\n")
}

fn taken(text: &[u8]) -> Option<Package> {
    let PackageReadResult { package, .. } = read("flipped", text.to_vec(), &Limits::default());
    package
}

/// The manifest without its signature, in the one form that is signed.
fn signed(package: &Package) -> String {
    canonicalize(package.raw_manifest(), "signature", JsonNumberFormat::Rounded).unwrap()
}

/// The members of the manifest that differ.
fn differing(before: &Package, after: &Package) -> BTreeSet<String> {
    let of = |package: &Package| -> BTreeSet<(String, String)> {
        let text = |value| canonicalize(value, "", JsonNumberFormat::Lossless).unwrap();
        let members = package.raw_manifest().members();
        members.map(|(key, value)| (key.text().unwrap().into_owned(), text(value))).collect()
    };
    let (before, after) = (of(before), of(after));
    before.symmetric_difference(&after).map(|(key, _)| key.clone()).collect()
}

/// Flips every byte, and gives the packages that were still taken, with the place of the byte.
fn survivors(text: &str) -> Vec<(usize, u8, Package)> {
    let mut found = Vec::new();
    for mask in [1, 3, 0x20, 0x80] {
        let mut bytes = text.as_bytes().to_vec();
        for at in 0..bytes.len() {
            bytes[at] ^= mask;
            found.extend(taken(&bytes).map(|package| (at, mask, package)));
            bytes[at] ^= mask;
        }
    }
    found
}

#[test]
fn se_11_pk_12_no_byte_of_a_signed_package_can_be_flipped_unless_it_says_nothing() {
    let text = package(true);
    let good = taken(text.as_bytes()).unwrap();
    assert_eq!(good.signer.unwrap().coverage, SignatureCoverage::Whole);
    let mut open = BTreeSet::new();
    for (at, mask, flipped) in survivors(&text) {
        let around = &text[at.saturating_sub(12)..(at + 12).min(text.len())];
        let what = format!("byte {at} ^ {mask:#x}, in `{around}`");
        let content = |package: &Package| {
            canonicalize(package.content(), "", JsonNumberFormat::Lossless).unwrap()
        };
        assert_eq!(content(&flipped), content(&good), "{what}: the content is another");
        if flipped.signer.is_none_or(|signer| signer.coverage == SignatureCoverage::Content) {
            // The name of a member of the signature: without it, the package is signed less well,
            // and trust refuses it.
            let word = text[..at].rsplit('"').next().unwrap().to_owned()
                + text[at..].split('"').next().unwrap();
            assert!(["signature", "manifest_value"].contains(&word.as_str()), "{what}: {word}");
            open.insert(format!("strips {word}"));
        } else {
            assert_eq!(signed(&flipped), signed(&good), "{what}: the manifest is another");
            assert!(
                text.as_bytes()[at].is_ascii_whitespace(),
                "{what} says something, and can be changed"
            );
            open.insert("white space".into());
        }
    }
    let open: Vec<&str> = open.iter().map(String::as_str).collect();
    assert_eq!(open, ["strips manifest_value", "strips signature", "white space"]);
}

#[test]
fn pk_12_with_the_first_signature_only_exactly_the_rest_of_the_manifest_is_open() {
    let text = package(false);
    let good = taken(text.as_bytes()).unwrap();
    assert_eq!(good.signer.unwrap().coverage, SignatureCoverage::Content);
    let mut open = BTreeSet::new();
    for (at, mask, flipped) in survivors(&text) {
        let content = |package: &Package| {
            canonicalize(package.content(), "", JsonNumberFormat::Lossless).unwrap()
        };
        assert_eq!(content(&flipped), content(&good), "byte {at} ^ {mask:#x}");
        let known = |key: &String| good.raw_manifest().get(key).is_some();
        open.extend(differing(&good, &flipped).into_iter().filter(known));
    }
    let open: Vec<&str> = open.iter().map(String::as_str).collect();
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
    assert_eq!(open, expected);
    let read = read("half", text.into_bytes(), &Limits::default());
    let warning = read.report.findings.iter().find(|finding| finding.check.id == "PK-12").unwrap();
    assert!(warning.message.contains("and nothing else"), "{}", warning.message);
}

#[test]
fn pk_12_a_number_of_the_manifest_that_is_signed_is_the_number_that_is_read() {
    // What is signed is what serde_json reads; a second spelling is the same number, and only that.
    let text = package(true);
    for (spelling, same) in
        [("1.50", true), ("15e-1", true), ("1.5000000000000000001", true), ("1.6", false)]
    {
        let other = text.replace("\"x-more\":1.5", &format!("\"x-more\":{spelling}"));
        assert_eq!(taken(other.as_bytes()).is_some(), same, "{spelling}");
    }
    let json = JsonDocument::parse("1e400", &Limits::default()).unwrap();
    assert_eq!(canonicalize(json.root(), "", JsonNumberFormat::Rounded), None);
}
