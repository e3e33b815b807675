//! What was shown is what is done: the id of a plan, and what becomes of one that is not true any
//! more.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a test arranges its world with the plain calls"
)]

use serde_json::Value;
use sp_testkit::{Run, World, world};

const SINK: &str = "home/.claude/skills";
const INSTALL: &[&str] = &["install", "team", "--agent", "claude"];

fn team(ids: &[&str]) -> World {
    let world = world!();
    ids.iter().for_each(|id| world.skill(id));
    world.pack("team", "name: team\ninclude: ['**']\n");
    world
}

fn json(run: Run) -> Value {
    serde_json::from_str(&run.ok().stdout).unwrap()
}

fn plan_of(report: &Value) -> String {
    report["plan"].as_str().unwrap().to_owned()
}

/// The id that a dry run tells.
fn shown(world: &World, args: &[&str]) -> String {
    let report = json(world.sp(&[args, &["--dry-run", "--format", "json"]].concat()));
    assert_eq!(report["applied"], false);
    plan_of(&report)
}

fn apply(world: &World, args: &[&str], plan: &str) -> Run {
    world.sp(&[args, &["--plan", plan, "--format", "json"]].concat())
}

/// What was shown does not hold any more: it is refused, and nothing is different afterwards.
#[track_caller]
fn refuses(world: &World, args: &[&str], plan: &str) {
    // The home and its lock are no part of what a plan changes.
    let state = || std::fs::read(world.path("home/.skillpack/state.json")).ok();
    let before = (world.files(SINK), world.files("home/.codex"), state());
    let run = apply(world, args, plan).fails(4);
    let error: Value = serde_json::from_str(&run.stderr).unwrap();
    assert_eq!(error["error"]["message"], "this is not what was shown", "{run}");
    let now = shown(world, args);
    let because = error["error"]["because"][0].as_str().unwrap();
    assert!(because.contains(plan) && because.contains(&now) && plan != now, "{because}");
    assert_eq!((world.files(SINK), world.files("home/.codex"), state()), before);
    assert!(!world.path("home/.skillpack/journal.json").exists());
    // Whoever looks again can go on.
    apply(world, args, &now).ok();
}

#[test]
fn mc_03_what_was_shown_is_what_is_done_for_every_verb() {
    let world = team(&["a", "b"]);
    world.pack("other", "name: other\ninclude: [a]\n");
    for args in [
        INSTALL,
        INSTALL,
        &["install", "team", "other", "--agent", "claude", "--agent", "codex"],
        &["switch", "other", "--agent", "claude"],
        &["uninstall", "other", "--agent", "claude", "--agent", "codex"],
    ] {
        let plan = shown(&world, args);
        assert_eq!(shown(&world, args), plan, "the same twice");
        let report = json(apply(&world, args, &plan));
        assert_eq!((report["applied"].as_bool(), plan_of(&report)), (Some(true), plan), "{args:?}");
    }
    assert!(world.files(SINK).is_empty());
}

#[test]
fn mc_03_what_was_shown_is_what_is_done_as_the_dry_run_says() {
    let world = team(&["a"]);
    let dry =
        world.sp(&["install", "--dry-run", "team", "--agent", "custom", "--path", "my sink"]).ok();
    insta::assert_snapshot!(dry, @"
    exit: 0
    --- stdout
    + team__a

    would install team · custom · ~/repo/my sink · 1 added

    to do exactly this: sp install --plan [PLAN] team --agent custom --path 'my sink'
    ");
    let output = world
        .command(&["install", "team", "--agent", "custom", "--path", "my sink", "--dry-run"])
        .output();
    let text = String::from_utf8(output.unwrap().stdout).unwrap();
    let command =
        text.lines().last().unwrap().split_once(": sp ").unwrap().1.replace("'my sink'", "my sink");
    let (before, after) = command.split_once(" my sink ").unwrap();
    let args: Vec<&str> = before.split(' ').chain(["my sink"]).chain(after.split(' ')).collect();
    world.sp(&args).ok();
    assert!(world.repo().join("my sink/team__a/SKILL.md").exists());
    let again =
        world.sp(&["install", "team", "--agent", "custom", "--path", "my sink", "--dry-run"]).ok();
    assert!(!again.stdout.contains("--plan"), "there is nothing to do: {again}");
}

#[test]
fn mc_03_what_was_shown_is_refused_when_a_skill_changed() {
    let world = team(&["a", "b"]);
    let plan = shown(&world, INSTALL);
    world.write("skills/b/SKILL.md", "---\nname: b\ndescription: Does more.\n---\n\nDo more.\n");
    refuses(&world, INSTALL, &plan);
    let plan = shown(&world, INSTALL);
    world.write("skills/b/more.md", "More.\n");
    refuses(&world, INSTALL, &plan);
    let plan = shown(&world, INSTALL);
    world.skill("c");
    refuses(&world, INSTALL, &plan);
}

#[test]
fn mc_03_what_was_shown_is_refused_when_the_sink_changed() {
    let world = team(&["a", "b"]);
    world.sp(INSTALL).ok();
    world.write("skills/a/more.md", "More.\n");
    let in_sink = world.path(SINK).join("team__a/SKILL.md");
    for args in [INSTALL, &["uninstall", "team", "--agent", "claude"]] {
        let plan = shown(&world, args);
        std::fs::write(&in_sink, "mine\n").unwrap();
        let edited = shown(&world, args);
        assert_ne!(edited, plan);
        // What had been edited before, and is edited again, is not what was shown either.
        std::fs::write(&in_sink, "mine again\n").unwrap();
        apply(&world, args, &plan).fails(4);
        refuses(&world, args, &edited);
    }
}

#[test]
fn mc_03_what_was_shown_is_refused_when_another_pack_came() {
    let world = team(&["a", "b"]);
    world.pack("other", "name: other\ninclude: [a]\n");
    let switch: &[&str] = &["switch", "team", "--agent", "claude"];
    let plans = [(INSTALL, shown(&world, INSTALL)), (switch, shown(&world, switch))];
    world.sp(&["install", "other", "--agent", "claude"]).ok();
    for (args, plan) in plans {
        refuses(&world, args, &plan);
    }
}

#[test]
fn mc_03_what_was_shown_is_refused_when_a_branch_moved() {
    let world = world!();
    let repo = world.git("shared");
    repo.skill("tools/review").commit("one");
    world.pack(
        "team",
        &format!(
            "name: team\nimports:\n  - repo: {}\n    include: ['tools/*']\n    ref: main\n",
            repo.url()
        ),
    );
    let plan = shown(&world, INSTALL);
    assert_eq!(plan_of(&json(apply(&world, INSTALL, &plan))), plan);
    let plan = shown(&world, INSTALL);
    // Nothing of the skill changes, and yet it comes from elsewhere.
    repo.write("README.md", "more\n").commit("two");
    refuses(&world, INSTALL, &plan);
    let plan = shown(&world, INSTALL);
    repo.write("tools/review/more.md", "more\n").commit("three");
    refuses(&world, INSTALL, &plan);
}

#[test]
fn mc_03_what_was_shown_is_refused_for_another_agent_or_pack() {
    let world = team(&["a"]);
    world.pack("other", "name: other\ninclude: [a]\n");
    let plan = shown(&world, INSTALL);
    refuses(&world, &["install", "team", "--agent", "codex"], &plan);
    refuses(&world, &["install", "other", "--agent", "claude"], &plan);
    refuses(&world, &["install", "team", "--agent", "claude", "--agent", "codex"], &plan);
}

#[test]
fn mc_03_what_is_no_id_of_a_plan_is_wrong_usage() {
    let world = team(&["a"]);
    let plan = shown(&world, INSTALL);
    for wrong in ["", "sha256:", &plan[..20], &plan.to_uppercase(), &format!("{plan}0")] {
        world.sp(&[INSTALL, &["--plan", wrong]].concat()).fails(2);
    }
    world.sp(&[INSTALL, &["--plan", &plan, "--dry-run"]].concat()).fails(2);
    assert!(!world.path(SINK).exists());
}
