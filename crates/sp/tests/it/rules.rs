//! Every rule that `sp check` reports is explained, and its examples violate it or conform to it.

use std::collections::BTreeSet;
use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::Value;
use sp_testkit::{World, world};
use tempfile::TempDir;

use crate::corpus::cases;

const PACKAGE: &str = env!("CARGO_MANIFEST_DIR");

/// Returns every rule, as `sp explain` prints it.
fn rules() -> Vec<Value> {
    let run = world!().sp(&["explain", "--format", "json"]).ok();
    let list: Value = serde_json::from_str(&run.stdout).unwrap();
    list["rules"].as_array().unwrap().clone()
}

fn id(rule: &Value) -> &str {
    rule["rule"].as_str().unwrap()
}

/// A world with this example as its repository.
fn world_of(example: &[Value]) -> World {
    let world = world!();
    std::fs::remove_dir_all(world.repo()).unwrap();
    std::fs::create_dir(world.repo()).unwrap();
    for file in example {
        let path = file["path"].as_str().unwrap();
        match (file["text"].as_str(), file["link"].as_str()) {
            (Some(text), None) => world.write(path, text),
            (None, Some(target)) => link(target, &world.repo().join(path)),
            other => assert_eq!(other, (None, None), "{path} must have a text or a link"),
        }
    }
    world
}

fn link(target: &str, path: &Path) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    symlink(target, path).unwrap();
}

/// Whether only `sp audit` reports a rule.
fn is_audit_rule(rule: &str) -> bool {
    rule.strip_prefix("AU-").is_some_and(|number| number > "20")
}

/// The rule and severity of a finding.
#[derive(Debug)]
struct ExampleFinding {
    rule: String,
    severity: String,
}

/// Checks an example. The home is shared, so that the tokens of a text are counted only once.
fn findings(rule: &str, example: &Value, home: &TempDir) -> Vec<ExampleFinding> {
    let files = example.as_array().unwrap();
    let mut world = world_of(files);
    world.set_env("SKILLPACK_HOME", &home.path().display().to_string());
    let is_config = files.iter().any(|file| file["path"] == "config.yaml");
    let paths: &[&str] = if is_config { &["config.yaml"] } else { &[] };
    let command = if is_audit_rule(rule) { "audit" } else { "check" };
    let run = world.sp(&[&[command, "--format", "json"], paths].concat());
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(report["unreadable"], Value::Array(Vec::new()), "{run}");
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let findings = report["findings"].as_array().unwrap().iter();
    findings
        .map(|finding| ExampleFinding {
            rule: text(&finding["rule"]),
            severity: text(&finding["severity"]),
        })
        .collect()
}

#[test]
fn bad_examples_violate_their_rule() {
    let home = TempDir::new().unwrap();
    for rule in rules() {
        let found = findings(id(&rule), &rule["bad"], &home);
        assert!(found.iter().any(|finding| finding.rule == id(&rule)), "{}: {found:?}", id(&rule));
    }
}

#[test]
fn good_examples_conform_to_their_rule() {
    let home = TempDir::new().unwrap();
    for rule in rules() {
        let found = findings(id(&rule), &rule["good"], &home);
        let is_bad =
            |finding: &ExampleFinding| finding.rule == id(&rule) || finding.severity == "error";
        assert!(!found.iter().any(is_bad), "{}: {found:?}", id(&rule));
    }
}

#[test]
fn the_corpus_has_exactly_the_explained_rules() {
    let explained: BTreeSet<String> = rules()
        .iter()
        .map(|rule| id(rule).to_owned())
        .filter(|rule| !is_audit_rule(rule))
        .collect();
    let mut reported = BTreeSet::new();
    for case in cases() {
        reported.extend(case.expected().lines().filter_map(rule_of));
    }
    assert_eq!(reported, explained);
}

/// Returns the rule of a line such as `<position> warning AS-02`.
fn rule_of(line: &str) -> Option<String> {
    let is_finding = !line.starts_with([' ', '+', '-', '@']);
    let words: Vec<&str> = line.split(' ').collect();
    let pair = words.windows(2).find(|pair| matches!(pair[0], "error" | "warning" | "note"))?;
    (is_finding && pair[1].contains('-')).then(|| pair[1].into())
}

#[test]
fn every_rule_has_a_heading_in_the_documentation() {
    let page = std::fs::read_to_string(Path::new(PACKAGE).join("../../docs/rules.md")).unwrap();
    let rules = rules();
    let ids: Vec<&str> = rules.iter().map(id).collect();
    // Examples have headings too.
    let is_rule =
        |heading: &&str| heading.as_bytes().get(2) == Some(&b'-') && !heading.contains(' ');
    let headings: Vec<&str> =
        page.lines().filter_map(|line| line.strip_prefix("## ")).filter(is_rule).collect();
    assert_eq!(headings, ids);
}

#[test]
fn code_fences_in_the_documentation_are_balanced() {
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
