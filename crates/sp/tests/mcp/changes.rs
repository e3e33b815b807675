//! Installing and uninstalling: off, or by a plan that was shown.

use serde_json::{Value, json};
use sp_testkit::World;

use crate::{serve, two_skills};

const SINK: &str = "home/.claude/skills";

fn with_pack() -> World {
    let world = two_skills();
    world.pack("team", "name: team\ninclude: ['**']\n");
    world
}

fn wanted(plan: &Value) -> Value {
    json!({"packs": ["team"], "agents": ["claude"], "plan": plan["plan"]})
}

fn what() -> Value {
    json!({"packs": ["team"], "agents": ["claude"]})
}

#[test]
fn mc_03_nothing_is_changed_unless_that_was_allowed() {
    let world = with_pack();
    let mut server = serve(&world, &[]);
    let plan = server.call("plan_install", what());
    assert_eq!(plan["applied"], false);
    for tool in ["install", "uninstall"] {
        let refused = server.try_call(tool, wanted(&plan));
        assert_eq!(refused["isError"], true);
        assert_eq!(refused["_meta"]["skillpack/code"], "E-read-only-server", "{refused}");
        assert!(refused["content"][0]["text"].as_str().unwrap().contains("--allow-write"));
    }
    assert!(!world.path(SINK).exists());
}

#[test]
fn mc_03_what_was_shown_is_what_is_done_over_mcp() {
    let world = with_pack();
    let mut server = serve(&world, &["--allow-write"]);
    let plan = server.call("plan_install", what());
    let done = server.call("install", wanted(&plan));
    assert_eq!((&done["applied"], &done["plan"]), (&json!(true), &plan["plan"]));
    assert!(world.path(SINK).join("team__review/SKILL.md").is_file());
    let gone = server.call("plan_uninstall", what());
    assert!(world.path(SINK).join("team__review").exists());
    let done = server.call("uninstall", wanted(&gone));
    assert_eq!(done["applied"], true);
    assert!(!world.path(SINK).join("team__review").exists());
}

#[test]
fn mc_03_a_plan_that_is_not_true_any_more_is_refused() {
    let world = with_pack();
    let mut server = serve(&world, &["--allow-write"]);
    let plan = server.call("plan_install", what());
    world
        .write("skills/review/SKILL.md", "---\nname: review\ndescription: Other.\n---\n\nOther.\n");
    let refused = server.try_call("install", wanted(&plan));
    assert_eq!(refused["isError"], true);
    assert_eq!(refused["_meta"]["skillpack/code"], "E-plan-mismatch", "{refused}");
    assert!(!world.path(SINK).join("team__review").exists());
    for plan in [json!({"plan": "yes"}), json!({"plan": ""}), json!({"plan": null}), json!({})] {
        assert_eq!(server.try_call("install", wanted(&plan))["isError"], true, "{plan}");
    }
    for path in ["packs/team.yaml", "team.yaml", "../repo/packs/team.yml"] {
        let refused =
            server.try_call("plan_install", json!({"packs": [path], "agents": ["claude"]}));
        assert!(refused["content"][0]["text"].as_str().unwrap().contains("is a path"), "{refused}");
    }
}
