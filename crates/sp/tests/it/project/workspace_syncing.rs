//! `sp sync` in a SkillBag workspace.

use sp_testkit::{FaultScenario, Faults, observed_files, sweep};

use super::*;
use crate::support::engine::recover;

const CONTEXT: &str = "# Context\n\n## Dependencies\n\n```yaml\ndependencies:\n  - name: pdf\n    version: '1'\n    source: ../source\n```\n";

/// A workspace whose context declares a skill of `../source`, with a project that has another one.
fn workspace() -> Project {
    let project = Project::new();
    let text =
        |name: &str| format!("---\nname: {name}\ndescription: Does {name}.\n---\n\nDo {name}.\n");
    project.write(
        "../source/AGENTS.md",
        "# SKILLBAG\n\nSkills live under `.skills/`; `.skills/SKILLS.md` lists them.\n",
    );
    project.write("../source/.skills/SKILLS.md", "pdf: Does pdf.\n");
    project.write("../source/.skills/pdf/SKILL.md", &text("pdf"));
    project.write("team/a/SKILL.md", &text("a"));
    project.sp(&["bag", "init"]).ok();
    project.write("CONTEXT.md", CONTEXT);
    project
}

const DEPENDENCY: &str = ".skills/pdf/SKILL.md";

#[test]
fn lc_19_sync_of_a_workspace_installs_its_dependencies_first_and_keeps_edits() {
    let project = workspace();
    project.add(&["./team", "--all", "-a", "claude"]).ok();
    assert!(!project.path(DEPENDENCY).exists());
    for flag in ["--locked", "--frozen"] {
        let error = project.world.sp_error_in("home/app", &["sync", flag]);
        assert_eq!(error.code, "E-lock-mismatch", "{flag}: {error:?}");
        assert!(error.because[0].contains("pdf") && error.hints_at("sp sync"), "{error:?}");
    }
    std::fs::remove_dir_all(project.path(".claude/skills/a")).unwrap();
    let before = project.world.files("home/app");
    let preview = project.sp(&["sync", "--dry-run", "--json"]).ok();
    assert_eq!(project.world.files("home/app"), before);
    let wrong = format!("sha256:{}", "0".repeat(64));
    let error = project.world.sp_error_in("home/app", &["sync", "--plan", &wrong]);
    assert_eq!(error.code, "E-plan-mismatch");
    assert_eq!(project.world.files("home/app"), before);
    let preview: serde_json::Value = serde_json::from_str(&preview.stdout).unwrap();
    assert_eq!(preview["workspace"]["skills"][0]["name"], "pdf");
    project.sp(&["sync", "--plan", preview["plan"].as_str().unwrap()]).ok();
    assert!(project.path(DEPENDENCY).exists() && project.path(".claude/skills/a").exists());
    assert!(project.read(".skills/SKILLS.md").contains("pdf: Does pdf.\n"));

    // Edits and skills of the user are kept, and the catalog follows them.
    let edited = project.read(DEPENDENCY).replace("Does pdf.", "Does PDF.");
    project.write(DEPENDENCY, &edited);
    project.write("../source/.skills/pdf/SKILL.md", NEW_PDF);
    project.write(".skills/mine/SKILL.md", "---\nname: mine\ndescription: Mine.\n---\n\nMine.\n");
    let run = project.sp(&["sync"]).ok();
    assert!(run.stdout.contains("updated workspace"), "{run}");
    assert_eq!(project.read(DEPENDENCY), edited);
    let catalog = project.read(".skills/SKILLS.md");
    assert!(catalog.contains("mine: Mine.\n") && catalog.contains("pdf: Does PDF.\n"), "{catalog}");
    let run = project.sp(&["sync", "--frozen"]).ok();
    assert!(run.stdout.contains("up to date: workspace"), "{run}");
}

#[test]
fn lc_19_workspace_without_a_manifest_is_synced_and_gets_none() {
    let project = workspace();
    project.sp(&["sync"]).ok();
    assert!(project.path(DEPENDENCY).exists());
    assert!(!project.path("skillpack.yaml").exists() && !project.path("skillpack.lock").exists());
    // An invalid skill stops everything.
    std::fs::remove_dir_all(project.path(".skills/pdf")).unwrap();
    project.write(".skills/bad/SKILL.md", "no frontmatter\n");
    let run = project.sp(&["sync"]);
    assert_ne!(run.code, Some(0), "{run}");
    assert!(!project.path(DEPENDENCY).exists());
}

fn scenario(project: Project) -> FaultScenario {
    FaultScenario {
        observe: Box::new(|world| observed_files(world, "home/app")),
        ..FaultScenario::new(project.world, "home/app", &["sync"], recover())
    }
}

/// A workspace with a lockfile of its own, and a manifest that was not synced yet.
fn before_conversion() -> FaultScenario {
    let project = workspace();
    project.sp(&["sync"]).ok();
    assert!(project.path(".skills/.skillbag.lock").exists());
    project.write("skillpack.yaml", "agents: [claude]\nskills:\n  - source: ./team\n");
    scenario(project)
}

#[test]
fn lc_08_lc_20_conversion_of_a_workspace_interrupted_at_every_call_is_all_or_nothing() {
    sweep(before_conversion, Faults::All);
}

/// A workspace and a project that both lack a skill.
fn before_both() -> FaultScenario {
    let project = workspace();
    project.add(&["./team", "--all", "-a", "claude"]).ok();
    project.sp(&["sync"]).ok();
    for dir in [".skills/pdf", ".claude/skills/a"] {
        std::fs::remove_dir_all(project.path(dir)).unwrap();
    }
    // The workspace has its dependency before the project is synced.
    let outputs = &["home/app/.skills/pdf", "home/app/.skills/pdf/SKILL.md"];
    FaultScenario { outputs, ..scenario(project) }
}

#[test]
fn lc_19_lc_20_sync_killed_between_workspace_and_project_is_completed_by_the_next() {
    sweep(before_both, Faults::Kills);
}
