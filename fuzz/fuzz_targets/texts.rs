//! Reads any bytes as a pack file, a config, a `SKILL.md`, a state and an index, and applies fixes
//! until none is left.
//!
//! `cargo +nightly fuzz run texts`
#![no_main]

use libfuzzer_sys::fuzz_target;
use sp_analyze::tokens;
use sp_formats::report::{TextEdit, apply_edits};
use sp_formats::state::InstallState;
use sp_formats::{JsonRecord, Report, config, pack, skill, workspace};
use sp_tree::{DigestIndex, Limits};

fn check(report: &Report) {
    let located = report.located_findings();
    assert!(located.len() >= report.findings.len());
    for location in located.iter().filter_map(|finding| finding.location.as_ref()) {
        assert!(
            location.span.start <= location.span.end
                && report.text.get(location.span.clone()).is_some(),
            "{location:?}"
        );
        assert!(location.start <= location.end, "{location:?}");
    }
    for finding in &report.findings {
        let span = finding.span.clone().unwrap_or(0..0);
        assert!(span.start <= span.end && span.start <= report.text.len(), "{finding:?}");
        report.format_location(finding);
    }
}

fn edits(report: &Report) -> Vec<TextEdit> {
    report.findings.iter().flat_map(|finding| finding.fix.iter().cloned()).collect()
}

/// Applies fixes until none is left.
fn fix_until_stable(text: &str, read: impl Fn(&str) -> Report) {
    let mut text = text.to_owned();
    for _ in 0..8 {
        let report = read(&text);
        check(&report);
        let edits = edits(&report);
        if edits.is_empty() {
            return;
        }
        assert!(edits.iter().all(|edit| text.get(edit.span.clone()).is_some()), "{edits:?}");
        text = apply_edits(&text, edits);
    }
    assert!(edits(&read(&text)).is_empty(), "fixes remain after eight rounds: {text:?}");
}

fn check_references(text: &str, start: usize) {
    let found = skill::references(text, start);
    for reference in &found {
        assert!(
            start <= reference.span.start && text.get(reference.span.clone()).is_some(),
            "{reference:?}"
        );
    }
    let mut report = Report::new("f", text);
    skill::check_references(
        &found,
        skill::ReferencingFile::OtherFile("references"),
        &["a.md"],
        &|path| path == "a.md",
        &mut report,
    );
    check(&report);
}

/// Reads the text as each file of a workspace.
fn check_workspace_files(bytes: &[u8], text: &str, limits: &Limits) {
    let (catalog, mut report) = workspace::read_catalog("SKILLS.md", text);
    workspace::check_catalog(&catalog, &[], &mut report);
    check(&report);
    check(&workspace::read_context("CONTEXT.md", text, limits).1);
    check(&workspace::read_agents_file("AGENTS.md", text).1);
    check(&workspace::read_entrypoint("SKILLBAG.md", text).1);
    let (skill, report) = workspace::read_workspace_skill("SKILL.md", "folder", bytes, limits);
    check(&report);
    assert!(skill.is_none_or(|skill| skill.body_start <= skill.text.len()));
    if let Ok(lock) = workspace::WorkspaceLock::parse(bytes) {
        assert!(
            workspace::WorkspaceLock::parse(&lock.to_json()).expect("what was written can be read")
                == lock
        );
    }
    if let Ok(source) = workspace::SourceRef::new(text) {
        assert!(!source.to_string().chars().any(char::is_control));
    }
    workspace::detect_secret(text, text);
    workspace::parse_tags(text);
}

fuzz_target!(|bytes: &[u8]| {
    let limits = Limits::default();
    if let Ok(text) = std::str::from_utf8(bytes) {
        let (pack, report) = pack::read("pack", text, &limits);
        assert_eq!(pack.is_some(), report.is_usable());
        check(&report);
        check(&config::read("config", text, &limits).1);
        check_workspace_files(bytes, text, &limits);
        fix_until_stable(text, |text| pack::read_partial("pack", text, &limits).1);
        fix_until_stable(text, |text| {
            skill::read("SKILL.md", "folder", text.as_bytes(), &limits).1
        });
        check_references(text, 0);
        if text.len() <= 100 {
            let count = tokens::count(text);
            assert!(count <= text.len() && (count == 0) == text.is_empty());
        }
    }
    let (skill, mut report) = skill::read("SKILL.md", "folder", bytes, &limits);
    check(&report);
    if let (Some(skill), Ok(text)) = (skill, std::str::from_utf8(bytes)) {
        assert!(skill.body_start <= bytes.len());
        check_references(text, skill.body_start);
        skill::check_body_size(&(skill.body_start..text.len()), 0, &mut report);
        check(&report);
    }
    if let Ok(state) = InstallState::parse(bytes) {
        let written = state.to_json().expect("what was read can be written");
        assert!(InstallState::parse(&written).expect("what was written can be read") == state);
    }
    DigestIndex::decode(bytes.to_vec());
});
