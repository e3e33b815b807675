//! `--plan`: a command applies exactly the plan of a dry run, or fails if the plan is outdated.

use serde_json::Value;
use sp_testkit::{Run, World, world};

const SINK: &str = "home/.claude/skills";
const INSTALL: &[&str] = &["install", "team", "--agent", "claude"];

/// A world with these skills, and the pack `team` with all of them.
fn world_with_skills(ids: &[&str]) -> World {
    let world = world!();
    ids.iter().for_each(|id| world.skill(id));
    world.pack("team", "name: team\ninclude: ['**']\n");
    world
}

fn json(run: Run) -> Value {
    serde_json::from_str(&run.ok().stdout).unwrap()
}

fn plan_id(report: &Value) -> String {
    report["plan"].as_str().unwrap().to_owned()
}

/// Returns the plan ID of a dry run.
fn dry_run(world: &World, args: &[&str]) -> String {
    let report = json(world.sp(&[args, &["--dry-run", "--format", "json"]].concat()));
    assert_eq!(report["applied"], false);
    plan_id(&report)
}

fn apply(world: &World, args: &[&str], plan: &str) -> Run {
    world.sp(&[args, &["--plan", plan, "--format", "json"]].concat())
}

/// Checks that an outdated plan is refused without any change, and that a new plan can be applied.
#[track_caller]
fn assert_outdated(world: &World, args: &[&str], plan: &str) {
    // A plan does not cover the lock and the caches in the home directory.
    let state = || std::fs::read(world.path("home/.skillpack/state.json")).ok();
    let before = (world.files(SINK), world.files("home/.codex"), state());
    let error = apply(world, args, plan).error();
    assert_eq!(error.code, "E-plan-mismatch");
    let new_plan = dry_run(world, args);
    assert_ne!(new_plan, plan);
    assert!(error.because[0].contains(plan), "{error:?}");
    assert!(error.because[0].contains(&new_plan), "{error:?}");
    assert_eq!((world.files(SINK), world.files("home/.codex"), state()), before);
    assert!(!world.path("home/.skillpack/journal.json").exists());
    apply(world, args, &new_plan).ok();
}

#[test]
fn mc_03_plan_of_a_dry_run_is_applied_by_every_command() {
    let world = world_with_skills(&["a", "b"]);
    world.pack("other", "name: other\ninclude: [a]\n");
    for args in [
        INSTALL,
        INSTALL,
        &["install", "team", "other", "--agent", "claude", "--agent", "codex"],
        &["switch", "other", "--agent", "claude"],
        &["uninstall", "other", "--agent", "claude", "--agent", "codex"],
    ] {
        let plan = dry_run(&world, args);
        assert_eq!(dry_run(&world, args), plan, "a dry run is reproducible");
        let report = json(apply(&world, args, &plan));
        assert_eq!((report["applied"].as_bool(), plan_id(&report)), (Some(true), plan), "{args:?}");
    }
    assert!(world.files(SINK).is_empty());
}

#[test]
fn mc_03_dry_run_prints_the_command_that_applies_its_plan() {
    let world = world_with_skills(&["a"]);
    let install =
        ["install", "--dry-run", "team", "--agent", "custom", "--path", "my sink"].as_slice();
    insta::assert_snapshot!(world.sp(install).ok(), @"
    exit: 0
    --- stdout
    + team__a

    would install team · custom · ~/repo/my sink · 1 added

    to apply this plan: sp install --plan [PLAN] team --agent custom --path 'my sink'
    ");
    // The run above has a placeholder for the plan ID.
    let output = world.command(install).output().unwrap();
    let stdout = String::from_utf8(output.stdout).unwrap();
    let command = stdout.lines().last().unwrap().split_once("sp install ").unwrap().1;
    let options = command.strip_suffix(" 'my sink'").unwrap();
    let args: Vec<&str> =
        ["install"].into_iter().chain(options.split(' ')).chain(["my sink"]).collect();
    world.sp(&args).ok();
    assert!(world.repo().join("my sink/team__a/SKILL.md").exists());
    let run = world.sp(install).ok();
    assert!(!run.stdout.contains("--plan"), "nothing to do: {run}");
}

#[test]
fn mc_03_plan_is_outdated_when_a_skill_changes() {
    let world = world_with_skills(&["a", "b"]);
    let plan = dry_run(&world, INSTALL);
    world.write("skills/b/SKILL.md", "---\nname: b\ndescription: Does more.\n---\n\nDo more.\n");
    assert_outdated(&world, INSTALL, &plan);
    let plan = dry_run(&world, INSTALL);
    world.write("skills/b/more.md", "More.\n");
    assert_outdated(&world, INSTALL, &plan);
    let plan = dry_run(&world, INSTALL);
    world.skill("c");
    assert_outdated(&world, INSTALL, &plan);
}

#[test]
fn mc_03_plan_is_outdated_when_the_sink_changes() {
    let world = world_with_skills(&["a", "b"]);
    world.sp(INSTALL).ok();
    world.write("skills/a/more.md", "More.\n");
    let in_sink = world.path(SINK).join("team__a/SKILL.md");
    for args in [INSTALL, &["uninstall", "team", "--agent", "claude"]] {
        let plan = dry_run(&world, args);
        std::fs::write(&in_sink, "mine\n").unwrap();
        let plan_after_edit = dry_run(&world, args);
        assert_ne!(plan_after_edit, plan);
        // Another edit of an edited skill makes the plan outdated, too.
        std::fs::write(&in_sink, "mine again\n").unwrap();
        assert_eq!(apply(&world, args, &plan).error().code, "E-plan-mismatch");
        assert_outdated(&world, args, &plan_after_edit);
    }
}

#[test]
fn mc_03_plan_is_outdated_when_another_pack_is_installed() {
    let world = world_with_skills(&["a", "b"]);
    world.pack("other", "name: other\ninclude: [a]\n");
    let switch: &[&str] = &["switch", "team", "--agent", "claude"];
    let plans = [(INSTALL, dry_run(&world, INSTALL)), (switch, dry_run(&world, switch))];
    world.sp(&["install", "other", "--agent", "claude"]).ok();
    for (args, plan) in plans {
        assert_outdated(&world, args, &plan);
    }
}

#[test]
fn mc_03_plan_is_outdated_when_a_branch_moves() {
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
    let plan = dry_run(&world, INSTALL);
    assert_eq!(plan_id(&json(apply(&world, INSTALL, &plan))), plan);
    let plan = dry_run(&world, INSTALL);
    // The skill is the same, but comes from another commit.
    repo.write("README.md", "more\n").commit("two");
    assert_outdated(&world, INSTALL, &plan);
    let plan = dry_run(&world, INSTALL);
    repo.write("tools/review/more.md", "more\n").commit("three");
    assert_outdated(&world, INSTALL, &plan);
}

#[test]
fn mc_03_plan_does_not_apply_to_another_agent_or_pack() {
    let world = world_with_skills(&["a"]);
    world.pack("other", "name: other\ninclude: [a]\n");
    let plan = dry_run(&world, INSTALL);
    assert_outdated(&world, &["install", "team", "--agent", "codex"], &plan);
    assert_outdated(&world, &["install", "other", "--agent", "claude"], &plan);
    assert_outdated(&world, &["install", "team", "--agent", "claude", "--agent", "codex"], &plan);
}

#[test]
fn mc_03_invalid_plan_id_is_a_usage_error() {
    let world = world_with_skills(&["a"]);
    let plan = dry_run(&world, INSTALL);
    for invalid in ["", "sha256:", &plan[..20], &plan.to_uppercase(), &format!("{plan}0")] {
        let error = apply(&world, INSTALL, invalid).error();
        assert_eq!(error.code, "E-invalid-arguments", "{invalid}");
    }
    let error = world.sp_error(&[INSTALL, &["--plan", &plan, "--dry-run"]].concat());
    assert_eq!(error.code, "E-invalid-arguments");
    assert!(!world.path(SINK).exists());
}
