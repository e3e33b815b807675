//! `--plan`: a command applies exactly the plan of a dry run, or fails if the plan is outdated.

use serde_json::Value;
use sp_testkit::{FileEntry, Run, World, world};

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

/// Runs a command as a dry run, with another plan, and with its plan. Only the last run changes
/// files.
#[track_caller]
fn assert_planned(world: &World, args: &[&str], written: &str) {
    let files = || {
        let mut files = world.files("home");
        // The lock, caches and records of runs are not part of a plan.
        let is_planned = |path: &str| {
            let planned = ["keys/", "store/", "trust.json", "kb/"];
            match path.strip_prefix(".skillpack") {
                None => true,
                Some(path) => {
                    planned.iter().any(|part| path[1.min(path.len())..].starts_with(part))
                }
            }
        };
        files.retain(|path, _| is_planned(path));
        // Each command may update what the database has stored about unchanged sources.
        for (path, entry) in &mut files {
            if path.starts_with(".skillpack/kb/") {
                *entry = FileEntry::Dir;
            }
        }
        files
    };
    let before = files();
    let plan = dry_run(world, args);
    assert_eq!(files(), before, "{args:?}: a dry run changes nothing");
    assert_eq!(dry_run(world, args), plan, "{args:?}: a dry run is reproducible");
    let other = format!("sha256:{}", "0".repeat(64));
    assert_eq!(apply(world, args, &other).error().code, "E-plan-mismatch", "{args:?}");
    assert_eq!(files(), before, "{args:?}: another plan changes nothing");
    let report = json(apply(world, args, &plan));
    assert_eq!((report["applied"].as_bool(), plan_id(&report)), (Some(true), plan), "{args:?}");
    assert_ne!(files(), before, "{args:?}");
    assert!(world.path(written).exists(), "{args:?}: {written}");
}

const GRAPH: &str = r#"{"name": "notes", "nodes": [
    {"id": "a", "type": "fact", "content": "A."}, {"id": "b", "type": "fact", "content": "B."}]}"#;

#[test]
fn mc_03_new_repositories_packs_and_knowledge_bases_have_plans() {
    let world = world!();
    assert_planned(&world, &["init", "new"], "home/repo/new/README.md");
    assert_planned(&world, &["context", "new", "pack"], "home/repo/pack/pack.json");
    let rules = std::fs::read_to_string(world.repo().join("pack/AGENTS.md")).unwrap();
    world.write("pack/AGENTS.md", format!("{rules}\nMore.\n"));
    assert_planned(&world, &["context", "seal", "pack"], "home/repo/pack/AGENTS.md");
    let note = "---\ntitle: Hooks\nurl: https://example.com/a\ncaptured_at: 2026-04-01\n---\n\
                Use webhooks for events. Retry failed webhooks three times.\n";
    world.write("kb/a.md", note);
    assert_planned(&world, &["context", "kb", "add", "kb"], "home/.skillpack/kb");
    let build = ["context", "build", "--name", "x", "--description", "Send webhooks."];
    assert_planned(&world, &build, "home/repo/context-pack");
    assert_planned(&world, &["context", "kb", "remove", "kb"], "home/.skillpack/kb");
}

#[test]
fn mc_03_changes_of_keys_have_plans() {
    let world = world!();
    assert_planned(&world, &["key", "new"], "home/.skillpack/keys/default.pem");
    assert_planned(&world, &["key", "export", "--private", "k.pem"], "home/repo/k.pem");
    let import = ["key", "import", "k.pem", "--name", "copy"];
    assert_planned(&world, &import, "home/.skillpack/keys/copy.pem");
    let public = world.sp(&["key", "export", "copy"]).ok().stdout;
    assert_planned(&world, &["key", "trust", "@acme", public.trim()], "home/.skillpack/trust.json");
    let rotate = ["key", "rotate", "--statement", "s.json"];
    assert_planned(&world, &rotate, "home/repo/s.json");
}

#[test]
fn mc_03_new_packages_have_plans() {
    let world = world!();
    world.write("notes.json", GRAPH);
    let create = ["pkg", "create", "--input", "notes.json", "--sign", "--output", "n.ctxpkg"];
    assert_planned(&world, &create, "home/repo/n.ctxpkg");
    let merge = ["pkg", "merge", "notes", "--name", "all", "--output", "all.ctxpkg"];
    assert_planned(&world, &merge, "home/repo/all.ctxpkg");
    let touch = ["pkg", "touch", "notes", "a", "--sign"];
    assert_planned(&world, &touch, "home/.skillpack/store");
    world.sp(&["pkg", "remove", "all"]).ok();
    assert_planned(&world, &["pkg", "import", "all.ctxpkg"], "home/.skillpack/store");
}

#[test]
fn mc_03_fixes_have_plans() {
    let world = world!();
    let broken =
        "---\nname: tidy-up\ndescription: Tidies up.\nallowed-tools: Read, Grep\n---\n\nBody.\n";
    world.write("skills/tidy-up/SKILL.md", broken);
    let file = world.repo().join("skills/tidy-up/SKILL.md");
    let check = |args: &[&str]| world.sp(&[&["check", "--fix", "--format", "json"], args].concat());
    let planned: Value = serde_json::from_str(&check(&["--dry-run"]).fails(1).stdout).unwrap();
    let plan = plan_id(&planned);
    let other = format!("sha256:{}", "0".repeat(64));
    assert_eq!(check(&["--plan", &other]).error().code, "E-plan-mismatch");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), broken);
    assert_eq!(plan_id(&json(check(&["--plan", &plan]))), plan);
    assert_ne!(std::fs::read_to_string(&file).unwrap(), broken);
}
