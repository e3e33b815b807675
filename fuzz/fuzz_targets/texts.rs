//! Any bytes as a pack file, a config, a `SKILL.md`, a state and an index; mended, and mended
//! again.
//!
//! `cargo +nightly fuzz run texts`
#![no_main]

use libfuzzer_sys::fuzz_target;
use sp_formats::report::{Edit, edited};
use sp_formats::state::State;
use sp_formats::{bag, Report, config, pack, skill, tokens};
use sp_tree::{Index, Limits};

fn check(report: &Report) {
    let placed = report.placed();
    assert!(placed.len() >= report.findings.len());
    for place in placed.iter().filter_map(|placed| placed.place.as_ref()) {
        assert!(place.span.start <= place.span.end && report.text.get(place.span.clone()).is_some(), "{place:?}");
        assert!(place.start <= place.end, "{place:?}");
    }
    for finding in &report.findings {
        let span = finding.span.clone().unwrap_or(0..0);
        assert!(span.start <= span.end && span.start <= report.text.len(), "{finding:?}");
        report.place(finding);
    }
}

fn edits(report: &Report) -> Vec<Edit> {
    report.findings.iter().flat_map(|finding| finding.fix.iter().cloned()).collect()
}

/// Mends a text until nothing is left to mend.
fn settle(text: &str, read: impl Fn(&str) -> Report) {
    let mut text = text.to_owned();
    for _ in 0..8 {
        let report = read(&text);
        check(&report);
        let edits = edits(&report);
        if edits.is_empty() {
            return;
        }
        assert!(edits.iter().all(|edit| text.get(edit.span.clone()).is_some()), "{edits:?}");
        text = edited(&text, edits);
    }
    assert!(edits(&read(&text)).is_empty(), "eight times mended, and still to mend: {text:?}");
}

fn refer(text: &str, start: usize) {
    let found = skill::references(text, start);
    for reference in &found {
        assert!(start <= reference.span.start && text.get(reference.span.clone()).is_some(), "{reference:?}");
    }
    let mut report = Report::new("f", text);
    skill::check_references(&found, skill::Place::Other("references"), &["a.md"], &|path| path == "a.md", &mut report);
    check(&report);
}

/// Everything that a workspace or a source may hold.
fn bags(bytes: &[u8], text: &str, limits: &Limits) {
    let (catalog, mut report) = bag::read_catalog("SKILLS.md", text);
    bag::compare(&catalog, &[], &mut report);
    check(&report);
    check(&bag::read_context("CONTEXT.md", text, limits).1);
    check(&bag::read_agents("AGENTS.md", text).1);
    check(&bag::read_entrypoint("SKILLBAG.md", text).1);
    let (skill, report) = bag::read_bag_skill("SKILL.md", "folder", bytes, limits);
    check(&report);
    assert!(skill.is_none_or(|skill| skill.body <= skill.text.len()));
    if let Ok(lock) = bag::Lock::parse(bytes) {
        assert!(bag::Lock::parse(&lock.to_json()).expect("what was written can be read") == lock);
    }
    if let Ok(source) = bag::SourceRef::new(text) {
        assert!(!source.to_string().chars().any(char::is_control));
    }
    bag::secret(text, text);
    bag::tags_in(text);
}

fuzz_target!(|bytes: &[u8]| {
    let limits = Limits::default();
    if let Ok(text) = std::str::from_utf8(bytes) {
        let (pack, report) = pack::read("pack", text, &limits);
        assert_eq!(pack.is_some(), report.is_usable());
        check(&report);
        check(&config::read("config", text, &limits).1);
        bags(bytes, text, &limits);
        settle(text, |text| pack::read_partly("pack", text, &limits).1);
        settle(text, |text| skill::read("SKILL.md", "folder", text.as_bytes(), &limits).1);
        refer(text, 0);
        if text.len() <= 100 {
            let count = tokens::count(text);
            assert!(count <= text.len() && (count == 0) == text.is_empty());
        }
    }
    let (skill, mut report) = skill::read("SKILL.md", "folder", bytes, &limits);
    check(&report);
    if let (Some(skill), Ok(text)) = (skill, std::str::from_utf8(bytes)) {
        assert!(skill.body <= bytes.len());
        refer(text, skill.body);
        skill::check_body(&(skill.body..text.len()), 0, &mut report);
        check(&report);
    }
    if let Ok(state) = State::parse(bytes) {
        let written = state.to_json().expect("what was read can be written");
        assert!(State::parse(&written).expect("what was written can be read") == state);
    }
    Index::decode(bytes.to_vec());
});
