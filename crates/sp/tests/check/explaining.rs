//! `sp explain`: every rule that can be reported, with the reason and an example.

use sp_formats::checks::CHECKS;

use super::*;

#[test]
fn all_rules_are_listed_a_line_each() {
    let world = world!();
    let run = world.sp(&["explain"]).ok();
    assert_eq!(run.stderr, "");
    let plain = world.sp(&["explain", "--format", "plain"]).ok().stdout;
    assert_eq!(plain.lines().count(), CHECKS.len());
    for (line, check) in plain.lines().zip(CHECKS) {
        assert_eq!(line, format!("{}\t{}", check.id, check.title()));
        assert!(
            run.stdout.lines().any(|row| row.starts_with(check.id) && row.ends_with(check.title())),
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
    assert_eq!(ids, CHECKS.iter().map(|check| check.id).collect::<Vec<_>>());
}

#[test]
fn one_rule_is_told_with_its_reason_and_its_examples() {
    let world = world!();
    let run = world.sp(&["explain", "AS-04"]);
    insta::assert_snapshot!(run, @"
    exit: 0
    --- stdout
    AS-04  An unquoted `: ` is read as if quoted, with a warning

    A value in the frontmatter that holds a colon followed by a space, or starts with a character that
    means something to YAML, stands in quotes.

    It is the commonest break of all. YAML takes the words before the colon for a key, and an agent that
    reads by the letter loses the whole frontmatter. `sp` reads the value as if it were quoted, and says
    so.

    bad

      skills/tidy-up/SKILL.md
        ---
        name: tidy-up
        description: Use when: code is dead.
        ---

    good

      skills/tidy-up/SKILL.md
        ---
        name: tidy-up
        description: 'Use when: code is dead.'
        ---
    ");
    for other in ["as-04", "As-04"] {
        assert_eq!(world.sp(&["explain", other]), run, "{other}");
    }
    for check in CHECKS {
        let run = world.sp(&["explain", check.id]).ok();
        assert!(run.stdout.contains(check.title()) && run.stderr.is_empty(), "{run}");
        assert!(run.stdout.lines().all(|line| line.chars().count() <= 120), "{run}");
    }
}

#[test]
fn as_06_an_example_that_is_bad_because_it_is_long_is_shown_in_part() {
    let run = world!().sp(&["explain", "AS-06"]).ok();
    assert!(run.stdout.lines().count() < 60 && run.stdout.contains(" more lines\n"), "{run}");
}

#[test]
fn a_link_in_an_example_is_shown_as_one() {
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
fn a_rule_that_is_not_reported_is_wrong_usage_with_the_nearest() {
    let world = world!();
    insta::assert_snapshot!(world.sp(&["explain", "as04"]), @"
    exit: 2
    --- stderr
    error: `sp check` reports no rule called `as04`

    hint: did you mean `AS-04`?
    hint: `sp explain` lists them all
    ");
    insta::assert_snapshot!(world.sp(&["explain", "frontmatter"]), @"
    exit: 2
    --- stderr
    error: `sp check` reports no rule called `frontmatter`

    hint: `sp explain` lists them all
    ");
    let run = world.sp(&["explain", "AS-4", "--format", "json"]).fails(2);
    let error: Value = serde_json::from_str(run.stderr.lines().last().unwrap()).unwrap();
    assert_eq!((error["error"]["exit_code"].as_u64(), run.stdout.as_str()), (Some(2), ""), "{run}");
    assert!(
        error["error"]["hints"][0].as_str().unwrap().starts_with("did you mean `AS-04`"),
        "{run}"
    );
}

#[test]
fn every_rule_of_a_finding_can_be_explained() {
    let world = sample();
    for line in lines(&world, &[]) {
        let rule = line.split_once('[').unwrap().1.split_once(']').unwrap().0;
        world.sp(&["explain", rule]).ok();
    }
}
