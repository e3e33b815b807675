//! Any bytes as a pack file, a config, a `SKILL.md`, a state and an index.
//!
//! `cargo +nightly fuzz run texts`
#![no_main]

use libfuzzer_sys::fuzz_target;
use sp_formats::state::State;
use sp_formats::{Report, config, pack, skill};
use sp_tree::{Index, Limits};

fn check(report: &Report) {
    for finding in &report.findings {
        let span = finding.span.clone().unwrap_or(0..0);
        assert!(span.start <= span.end && span.start <= report.text.len(), "{finding:?}");
        report.place(finding);
    }
}

fuzz_target!(|bytes: &[u8]| {
    let limits = Limits::default();
    if let Ok(text) = std::str::from_utf8(bytes) {
        let (pack, report) = pack::read("pack", text, &limits);
        assert_eq!(pack.is_some(), report.is_usable());
        check(&report);
        check(&config::read("config", text, &limits).1);
    }
    let (skill, report) = skill::read("SKILL.md", "folder", bytes, &limits);
    assert!(skill.is_none_or(|skill| skill.body <= bytes.len()));
    check(&report);
    if let Ok(state) = State::parse(bytes) {
        let written = state.to_json().expect("what was read can be written");
        assert!(State::parse(&written).expect("what was written can be read") == state);
    }
    Index::decode(bytes.to_vec());
});
