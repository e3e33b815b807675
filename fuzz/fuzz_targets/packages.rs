//! Reads any bytes as a package, and as the input of `sp pkg create`.
//!
//! `cargo +nightly fuzz run packages fuzz/corpus/packages fuzz/seeds/packages`
#![no_main]

use libfuzzer_sys::fuzz_target;
use sp_formats::json::{JsonDocument, JsonNumberFormat, canonicalize};
use sp_formats::package::{VerificationOutcome, layers_to_graph, read, read_input};
use sp_tree::Limits;

fuzz_target!(|bytes: &[u8]| {
    let limits = Limits::default();
    let result = read("x.ctxpkg", bytes.to_vec(), &limits);
    assert!(result.report.located_findings().len() >= result.report.findings.len());
    assert_eq!(result.package.is_some(), result.report.is_usable());
    if let Some(package) = &result.package {
        assert_eq!(package.text().as_bytes(), bytes);
        assert!(result.steps.iter().all(|step| step.outcome != VerificationOutcome::Failed));
        package.graph();
        layers_to_graph(package.content());
    }
    let _ = read_input("x.yaml", bytes, &limits);
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    match JsonDocument::parse(text, &limits) {
        Ok(json) => {
            let written = canonicalize(json.root(), "", JsonNumberFormat::Lossless)
                .expect("every number is written");
            let again = JsonDocument::parse(written.as_str(), &limits)
                .expect("what was written can be read");
            assert_eq!(
                canonicalize(again.root(), "", JsonNumberFormat::Lossless).as_deref(),
                Some(written.as_str())
            );
        }
        // A text that only we reject has a duplicate key, a long number, a byte-order mark or an
        // unpaired surrogate, or is nested too deeply.
        Err(error) => {
            let ours = ["second time", "characters, more", "levels deep", "byte-order mark"];
            let theirs = serde_json::from_str::<Box<serde_json::value::RawValue>>(text);
            assert!(
                theirs.is_err()
                    || ours.iter().any(|word| error.message.contains(word))
                    || error.message.contains("surrogates"),
                "{error}"
            );
        }
    }
});
