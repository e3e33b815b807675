//! `sp explain`: every rule that can be reported, with its reason and an example.

use sp_engine::check_rules;

use super::*;

#[test]
fn all_rules_are_listed() {
    let world = world!();
    let run = world.sp(&["explain"]).ok();
    assert_eq!(run.stderr, "");
    let plain = world.sp(&["explain", "--format", "plain"]).ok().stdout;
    assert_eq!(plain.lines().count(), check_rules().len());
    for (line, check) in plain.lines().zip(check_rules()) {
        assert_eq!(line, format!("{}\t{}", check.id, check.title));
        assert!(
            run.stdout.lines().any(|row| row.starts_with(check.id) && row.ends_with(check.title)),
            "{}",
            check.id
        );
    }
    let list = json(&world.sp(&["explain", "--format", "json"]).ok());
    let ids: Vec<&str> = list["rules"]
        .as_array()
        .unwrap()
        .iter()
        .map(|rule| rule["rule"].as_str().unwrap())
        .collect();
    assert_eq!(ids, check_rules().iter().map(|check| check.id).collect::<Vec<_>>());
}

#[test]
fn a_rule_is_explained_with_its_reason_and_examples() {
    let world = world!();
    let run = world.sp(&["explain", "AS-04"]).ok();
    let rule = json(&world.sp(&["explain", "AS-04", "--format", "json"]).ok())["rules"][0].clone();
    assert!(run.stdout.starts_with(&format!("AS-04  {}\n", rule["title"].as_str().unwrap())));
    for (heading, example) in [
        ("bad", "description: Use when: code is dead."),
        ("good", "description: 'Use when: code is dead.'"),
    ] {
        let section = run.stdout.split_once(&format!("\n{heading}\n")).unwrap().1;
        let expected = format!(
            "\n  skills/tidy-up/SKILL.md\n    ---\n    name: tidy-up\n    {example}\n    ---\n"
        );
        assert!(section.starts_with(&expected), "{heading}: {run}");
    }
    for other in ["as-04", "As-04"] {
        assert_eq!(world.sp(&["explain", other]), run, "{other}");
    }
    for check in check_rules() {
        let run = world.sp(&["explain", check.id]).ok();
        assert!(run.stdout.contains(check.title) && run.stderr.is_empty(), "{run}");
        assert!(run.stdout.lines().all(|line| line.chars().count() <= 120), "{run}");
    }
}

#[test]
fn as_06_a_long_example_is_truncated() {
    let run = world!().sp(&["explain", "AS-06"]).ok();
    let rule =
        json(&world!().sp(&["explain", "AS-06", "--format", "json"]).ok())["rules"][0].clone();
    let example = rule["bad"][0]["text"].as_str().unwrap();
    assert!(example.lines().count() > 500 && run.stdout.lines().count() < 60, "{run}");
}

#[test]
fn links_in_examples_are_shown_with_their_targets() {
    let run = world!().sp(&["explain", "SP-04"]).ok();
    assert!(run.stdout.contains("skills/tidy-up/SKILL.md → ../../tidy.md\n"), "{run}");
    let rule =
        json(&world!().sp(&["explain", "SP-04", "--format", "json"]).ok())["rules"][0].clone();
    assert_eq!(
        rule["bad"][0],
        serde_json::json!({"path": "skills/tidy-up/SKILL.md", "link": "../../tidy.md"})
    );
}

#[test]
fn an_unknown_rule_is_an_error_with_the_nearest() {
    let world = world!();
    for (id, suggestion) in
        [("as04", Some("`AS-04`")), ("AS-4", Some("`AS-04`")), ("frontmatter", None)]
    {
        let error = world.sp_error(&["explain", id]);
        assert_eq!(error.code, "E-unknown-rule");
        assert!(error.message.contains(&format!("`{id}`")), "{error:?}");
        assert!(suggestion.is_none_or(|rule| error.hints[0].contains(rule)), "{error:?}");
        assert_eq!(error.hints.len(), if suggestion.is_some() { 2 } else { 1 }, "{error:?}");
        assert!(error.hints_at("`sp explain`"), "{error:?}");
    }
}

#[test]
fn every_rule_of_a_finding_can_be_explained() {
    let world = sample();
    for finding in findings(&world, &[]) {
        let rule = finding.split_once('[').unwrap().1.trim_end_matches(']');
        world.sp(&["explain", rule]).ok();
    }
}
