//! Reads any members in a manifest with valid hashes, so that everything after that check is reached.
//!
//! `cargo +nightly fuzz run manifests fuzz/corpus/manifests fuzz/seeds/manifests`
#![no_main]

use libfuzzer_sys::fuzz_target;
use sp_formats::package::read;
use sp_tree::{Digest, Limits};

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    // The first line goes into the manifest, the rest is the content.
    let (members, content) = text.split_once('\n').unwrap_or((text, "{}"));
    let limits = Limits::default();
    let compact: String = match sp_formats::json::JsonDocument::parse_hashing(
        format!("{{\"content\":{content}}}"),
        "content",
        &limits,
    ) {
        Ok((_, Some(compact))) => {
            format!("\"content_hash\":\"{}\",\"byte_size\":{}", compact.digest.hex(), compact.size)
        }
        _ => return,
    };
    let hash = &compact[16..80];
    let sha256 = Digest::of(format!("x:1.0.0:{hash}").as_bytes()).hex();
    let comma = if members.trim().is_empty() { "" } else { "," };
    let package = format!(
        "{{\"manifest\":{{\"name\":\"x\",\"version\":\"1.0.0\",\"integrity\":{{\"sha256\":\"{sha256}\",{compact}}}{comma}{members}}},\"content\":{content}}}"
    );
    let result = read("x.ctxpkg", package.clone().into_bytes(), &limits);
    assert!(result.report.located_findings().len() >= result.report.findings.len());
    if let Some(read) = result.package {
        assert_eq!(&**read.text(), package);
    }
});
