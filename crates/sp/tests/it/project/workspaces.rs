//! A workspace in a project with a manifest.

use super::*;

const OWN_LOCK: &str = ".skills/.skillbag.lock";

/// A project with a workspace, and a source with the skill `review`.
fn project_with_source() -> Project {
    let project = Project::new();
    let source = project.world.git("bag.git");
    source.write(
        "AGENTS.md",
        "This is a SKILLBAG source. Its skills live under .skills/, listed in .skills/SKILLS.md.\n",
    );
    source.write(".skills/SKILLS.md", "review: Does review.\n").skill(".skills/review");
    source.commit("bag");
    project
}

fn bag(project: &Project, args: &[&str]) -> Run {
    project.sp(&[&["bag"], args].concat())
}

fn get(project: &Project) {
    bag(project, &["get", "review", "--source", "https://github.com/acme/bag"]).ok();
}

#[test]
fn lc_08_a_workspace_records_its_skills_in_the_lockfile_of_the_manifest() {
    let project = project_with_source();
    project.write("skillpack.yaml", "agents: [claude]\n");
    bag(&project, &["init"]).ok();
    get(&project);
    let lock = project.read("skillpack.lock");
    assert!(lock.contains("[[workspace]]\nname = \"review\""), "{lock}");
    assert!(!project.path(OWN_LOCK).exists());
    assert_eq!(project.read("skillpack.yaml"), "agents: [claude]\n");
    // Both kinds of commands keep what the other one recorded.
    project.add(&["acme/skills", "--skill", "pdf"]).ok();
    let lock = project.read("skillpack.lock");
    assert!(lock.contains("name = \"review\"") && lock.contains("name = \"pdf\""), "{lock}");
    project.sp(&["sync", "--frozen"]).ok();
    let before = project.world.files("home/app");
    get(&project);
    assert_eq!(project.world.files("home/app"), before);
    bag(&project, &["remove", "review"]).ok();
    let lock = project.read("skillpack.lock");
    assert!(!lock.contains("name = \"review\"") && lock.contains("name = \"pdf\""), "{lock}");
}

#[test]
fn lc_08_the_lockfile_of_a_workspace_is_converted() {
    let project = project_with_source();
    bag(&project, &["init"]).ok();
    get(&project);
    assert!(project.path(OWN_LOCK).exists() && !project.path("skillpack.yaml").exists());
    project.add(&["acme/skills", "--skill", "pdf", "-a", "claude"]).ok();
    assert!(!project.path(OWN_LOCK).exists());
    assert!(project.read("skillpack.lock").contains("[[workspace]]\nname = \"review\""));
    let run = bag(&project, &["list", "--json"]).ok();
    let list: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    let skills = list["skills"].as_array().unwrap();
    let review = skills.iter().find(|skill| skill["name"] == "review").unwrap();
    assert_eq!(review["edited"], false, "{list}");
    project.sp(&["sync", "--frozen"]).ok();
}

#[test]
fn lc_08_a_command_of_the_workspace_converts_its_lockfile() {
    let project = project_with_source();
    bag(&project, &["init"]).ok();
    get(&project);
    project.write("skillpack.yaml", "agents: [claude]\n");
    let error = project.world.sp_error_in("home/app", &["sync", "--locked"]);
    assert_eq!(error.code, "E-lock-mismatch", "{error:?}");
    bag(&project, &["remove", "review"]).ok();
    assert!(!project.path(OWN_LOCK).exists());
    assert!(!project.read("skillpack.lock").contains("name = \"review\""));
    project.write("skillpack.lock", "version = 99\n");
    let error = project.world.sp_error_in("home/app", &["bag", "list"]);
    assert_eq!(error.code, "LC-06", "{error:?}");
}
