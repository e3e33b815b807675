//! Any bytes as a package, and as what somebody wrote to be made one.
//!
//! `cargo +nightly fuzz run packages fuzz/corpus/packages fuzz/seeds/packages`
#![no_main]

use libfuzzer_sys::fuzz_target;
use sp_formats::json::{Json, Numbers, canonical};
use sp_formats::package::{Outcome, read, read_input, to_graph};
use sp_tree::Limits;

fuzz_target!(|bytes: &[u8]| {
    let limits = Limits::default();
    let found = read("x.ctxpkg", bytes.to_vec(), &limits);
    assert!(found.report.placed().len() >= found.report.findings.len());
    assert_eq!(found.package.is_some(), found.report.is_usable());
    if let Some(package) = &found.package {
        assert_eq!(package.text().as_bytes(), bytes);
        assert!(found.steps.iter().all(|step| step.outcome != Outcome::Failed));
        package.graph();
        to_graph(package.content());
    }
    let _ = read_input("x.yaml", bytes, &limits);
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    match Json::parse(text, &limits) {
        Ok(json) => {
            let written = canonical(json.root(), "", Numbers::Lossless).expect("every number is written");
            let again = Json::parse(written.as_str(), &limits).expect("what was written can be read");
            assert_eq!(canonical(again.root(), "", Numbers::Lossless).as_deref(), Some(written.as_str()));
        }
        // Whatever we refuse, is no JSON, has a key twice, a number that is too long, or is too
        // deep.
        Err(error) => {
            let ours = ["second time", "characters, more", "levels deep", "byte-order mark"];
            let theirs = serde_json::from_str::<Box<serde_json::value::RawValue>>(text);
            assert!(theirs.is_err() || ours.iter().any(|word| error.message.contains(word)) || error.message.contains("surrogates"), "{error}");
        }
    }
});
