//! The law: every rule that `sp check` can report is explained, and its own examples prove it.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a test arranges its world with the plain calls"
)]

use std::collections::BTreeSet;
use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::Value;
use sp_testkit::{World, world};
use tempfile::TempDir;

const PACKAGE: &str = env!("CARGO_MANIFEST_DIR");

/// Every rule, as `sp explain` tells it.
fn rules() -> Vec<Value> {
    let run = world!().sp(&["explain", "--format", "json"]).ok();
    let list: Value = serde_json::from_str(&run.stdout).unwrap();
    list["rules"].as_array().unwrap().clone()
}

fn id(rule: &Value) -> &str {
    rule["rule"].as_str().unwrap()
}

/// A world in which the repository is an example, and nothing else.
fn world_of(example: &[Value]) -> World {
    let world = world!();
    std::fs::remove_dir_all(world.repo()).unwrap();
    std::fs::create_dir(world.repo()).unwrap();
    for file in example {
        let path = file["path"].as_str().unwrap();
        match (file["text"].as_str(), file["link"].as_str()) {
            (Some(text), None) => world.write(path, text),
            (None, Some(target)) => link(target, &world.repo().join(path)),
            other => assert_eq!(other, (None, None), "{path} is a text or a link"),
        }
    }
    world
}

fn link(target: &str, at: &Path) {
    std::fs::create_dir_all(at.parent().unwrap()).unwrap();
    symlink(target, at).unwrap();
}

/// Rule and severity of everything that is found in an example.
///
/// The home is shared, so that a text that stands in many examples is counted once.
fn findings(example: &Value, home: &TempDir) -> Vec<(String, String)> {
    let files = example.as_array().unwrap();
    let mut world = world_of(files);
    world.set_env("SKILLPACK_HOME", &home.path().display().to_string());
    let is_config = files.iter().any(|file| file["path"] == "config.yaml");
    let what: &[&str] = if is_config { &["config.yaml"] } else { &[] };
    let run = world.sp(&[&["check", "--format", "json"], what].concat());
    let found: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(found["unreadable"], Value::Array(Vec::new()), "{run}");
    let text = |finding: &Value, name: &str| finding[name].as_str().unwrap().to_owned();
    let all = found["findings"].as_array().unwrap().iter();
    all.map(|finding| (text(finding, "rule"), text(finding, "severity"))).collect()
}

#[test]
fn every_bad_example_breaks_its_rule() {
    let home = TempDir::new().unwrap();
    for rule in rules() {
        let found = findings(&rule["bad"], &home);
        assert!(found.iter().any(|(broken, _)| broken == id(&rule)), "{}: {found:?}", id(&rule));
    }
}

#[test]
fn every_good_example_keeps_its_rule_and_has_no_error() {
    let home = TempDir::new().unwrap();
    for rule in rules() {
        let found = findings(&rule["good"], &home);
        let wrong =
            found.iter().any(|(broken, severity)| broken == id(&rule) || severity == "error");
        assert!(!wrong, "{}: {found:?}", id(&rule));
    }
}

#[test]
fn what_the_corpus_finds_is_explained_and_every_rule_has_a_case() {
    let explained: BTreeSet<String> = rules().iter().map(|rule| id(rule).into()).collect();
    let mut found = BTreeSet::new();
    for case in
        std::fs::read_dir(Path::new(PACKAGE).join("tests/corpus")).unwrap().map(Result::unwrap)
    {
        let expected =
            std::fs::read_to_string(case.path().join("expected.snap")).unwrap_or_default();
        found.extend(expected.lines().filter_map(rule_of));
    }
    assert_eq!(found, explained);
}

/// The rule of a line such as `<place> warning AS-02 <message>`.
fn rule_of(line: &str) -> Option<String> {
    let is_place = !line.starts_with([' ', '+', '-', '@']);
    let words: Vec<&str> = line.split(' ').collect();
    let told = words.windows(2).find(|two| matches!(two[0], "error" | "warning" | "note"))?;
    (is_place && told[1].contains('-')).then(|| told[1].into())
}

#[test]
fn every_rule_has_a_heading_in_the_documentation() {
    let page = std::fs::read_to_string(Path::new(PACKAGE).join("../../docs/rules.md")).unwrap();
    let rules = rules();
    let ids: Vec<&str> = rules.iter().map(id).collect();
    // Examples have headings of their own.
    let is_rule =
        |heading: &&str| heading.as_bytes().get(2) == Some(&b'-') && !heading.contains(' ');
    let headings: Vec<&str> =
        page.lines().filter_map(|line| line.strip_prefix("## ")).filter(is_rule).collect();
    assert_eq!(headings, ids);
}

#[test]
fn no_example_in_the_documentation_ends_before_its_end() {
    let page = std::fs::read_to_string(Path::new(PACKAGE).join("../../docs/rules.md")).unwrap();
    let mut fence: Option<&str> = None;
    let mut headings = Vec::new();
    for line in page.lines() {
        let ticks = &line[..line.len() - line.trim_start_matches('`').len()];
        match fence {
            None if ticks.len() >= 3 => fence = Some(ticks),
            None => headings.extend(line.strip_prefix("## ")),
            Some(open) if line == ticks && ticks.len() >= open.len() => fence = None,
            Some(_) => {}
        }
    }
    let rules = rules();
    assert_eq!(headings, rules.iter().map(id).collect::<Vec<_>>());
}
