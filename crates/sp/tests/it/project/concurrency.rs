//! Eight commands at once on one project: all succeed, and nothing is lost.

use super::*;

const TEAM: [&str; 8] = ["s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7"];

fn skill_text(name: &str, text: &str) -> String {
    format!("---\nname: {name}\ndescription: Does {name}.\n---\n\n{text}\n")
}

/// A project whose directory `team` has eight skills.
fn project_of_team() -> Project {
    let project = Project::new();
    TEAM.iter().for_each(|name| write_skill(&project, "team", name, "Old."));
    project
}

fn write_skill(project: &Project, dir: &str, name: &str, text: &str) {
    project.write(&format!("{dir}/{name}/SKILL.md"), &skill_text(name, text));
}

/// Runs eight commands at once. All of them must succeed, and leave the project in sync.
fn run_at_once(project: &Project, command_of: impl Fn(&'static str) -> Vec<&'static str>) {
    let commands: Vec<Vec<&str>> = TEAM.iter().map(|name| command_of(name)).collect();
    for run in project.world.sp_concurrently("home/app", &commands) {
        run.ok();
    }
    project.sp(&["sync", "--frozen"]).ok();
    project.sp(&["status", "--exit-code"]).ok();
}

#[test]
fn lc_20_eight_adds_at_once_lose_nothing() {
    let project = project_of_team();
    run_at_once(&project, |name| vec!["add", "./team", "--agent", "claude", "--skill", name]);
    assert_eq!(project.skills(CLAUDE), TEAM);
}

#[test]
fn lc_20_eight_syncs_at_once_agree() {
    let project = project_of_team();
    project.add(&["./team", "--all", "--agent", "claude"]).ok();
    write_skill(&project, "team", "s0", "New.");
    write_skill(&project, "team", "s8", "New.");
    std::fs::remove_dir_all(project.path("team/s1")).unwrap();
    run_at_once(&project, |_| vec!["sync"]);
    assert_eq!(project.skills(CLAUDE), ["s0", "s2", "s3", "s4", "s5", "s6", "s7", "s8"]);
    assert_eq!(project.read(".claude/skills/s0/SKILL.md"), skill_text("s0", "New."));
}

#[test]
fn lc_20_eight_updates_at_once_agree() {
    let project = Project::new();
    project.upstream.write("skills/pdf/SKILL.md", OLD_PDF).commit("old");
    project.add(&["acme/skills", "--all", "--agent", "claude"]).ok();
    project.upstream.write("skills/pdf/SKILL.md", NEW_PDF).commit("new");
    run_at_once(&project, |_| vec!["update"]);
    assert_eq!(project.read(".claude/skills/pdf/SKILL.md"), NEW_PDF);
}

#[test]
fn lc_20_eight_removals_at_once_lose_nothing() {
    let project = project_of_team();
    project.add(&["./team", "--all", "--agent", "claude"]).ok();
    write_skill(&project, "team", "kept", "Old.");
    run_at_once(&project, |name| vec!["remove", name]);
    assert_eq!(project.skills(CLAUDE), ["kept"]);
}

#[test]
fn lc_20_eight_adoptions_at_once_lose_nothing() {
    let project = Project::new();
    write_skill(&project, "team", "a", "Old.");
    project.add(&["./team", "--all", "--agent", "claude"]).ok();
    TEAM.iter().for_each(|name| write_skill(&project, CLAUDE, name, "Mine."));
    run_at_once(&project, |name| vec!["adopt", name]);
    assert_eq!(project.skills("skills"), TEAM);
    let lock = project.read("skillpack.lock");
    assert!(TEAM.iter().all(|name| lock.contains(&format!("name = \"{name}\""))), "{lock}");
}

#[test]
fn lc_17_lc_20_eight_migrations_at_once_agree() {
    let project = Project::new();
    let lock =
        r#"{"version": 1, "skills": {"pdf": {"source": "./own/pdf", "sourceType": "local"}}}"#;
    project.write("skills-lock.json", lock);
    write_skill(&project, "own", "pdf", "Old.");
    write_skill(&project, CLAUDE, "pdf", "Old.");
    run_at_once(&project, |_| vec!["migrate"]);
    let manifest = project.read("skillpack.yaml");
    assert_eq!(manifest.matches("source:").count(), 1, "{manifest}");
}
