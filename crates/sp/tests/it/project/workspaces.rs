//! A workspace in a project with a manifest.

use sp_testkit::{FaultScenario, Faults, sweep};

use super::*;
use crate::pkg::package::TestPackage;
use crate::support::engine::recover;

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

#[test]
fn lc_04_lc_08_everything_shares_one_manifest_and_one_lockfile() {
    let project = project_with_source();
    bag(&project, &["init"]).ok();
    get(&project);
    let file = TestPackage::new("notes", "1.0.0").write_to(&project.world, "notes.ctxpkg");
    project.sp(&["pkg", "install", &file]).ok();
    let own_skill = "---\nname: a\ndescription: Does a.\n---\n\nDo a.\n";
    project.write("skills/a/SKILL.md", own_skill);
    project.write("packs/team.yaml", "name: team\ninclude: ['**']\n");
    let manifest = "\
# Ours.
agents: [claude]
skills:
  - source: acme/skills
    include: [skills/pdf]
packs: [team]
";
    project.write("skillpack.yaml", manifest);
    let run = project.sp(&["sync"]).ok();
    assert!(run.stdout.contains("ctxpkg.lock") && run.stdout.contains(".skillbag.lock"), "{run}");
    assert!(!project.path(OWN_LOCK).exists() && !project.path("ctxpkg.lock").exists());
    let expected = format!("{manifest}packages:\n  notes: =1.0.0\n");
    assert_eq!(project.read("skillpack.yaml"), expected);
    let lock = project.read("skillpack.lock");
    for name in ["pdf", "team__a", "notes", "review"] {
        assert!(lock.contains(&format!("name = \"{name}\"")), "{name}: {lock}");
    }
    assert_eq!(project.skills(CLAUDE), ["pdf", "team__a"]);
    project.sp(&["status", "--exit-code"]).ok();
    let synced = project.world.files("home/app");
    for dir in [".claude", ".ctxpkg/packages"] {
        std::fs::remove_dir_all(project.path(dir)).unwrap();
    }
    project.sp(&["sync", "--frozen"]).ok();
    assert_eq!(project.world.files("home/app"), synced);
    project.sp(&["update"]).ok();
    project.sp(&["remove", "team", "notes", "pdf"]).ok();
    assert_eq!(project.skills(CLAUDE), [""; 0]);
    assert!(project.read("skillpack.lock").contains("name = \"review\""));
}

#[test]
fn lc_07_packs_and_workspace_skills_of_two_branches_are_united() {
    let project = project_with_source();
    let source = project.world.git("bag.git");
    let catalog = "review: Does review.\ntidy: Does tidy.\n";
    source.write(".skills/SKILLS.md", catalog).skill(".skills/tidy").commit("tidy");
    for name in ["a", "b"] {
        let text = format!("---\nname: {name}\ndescription: Does {name}.\n---\n\nDo {name}.\n");
        project.write(&format!("skills/{name}/SKILL.md"), &text);
        let pack = format!("name: pack-{name}\ninclude: [{name}]\n");
        project.write(&format!("packs/pack-{name}.yaml"), &pack);
    }
    bag(&project, &["init"]).ok();
    project.write("skillpack.yaml", "agents: [claude]\n");
    project.sp(&["sync"]).ok();
    // The catalog follows the skills.
    project.init_git(".claude\n.skills/SKILLS.md\n");
    for (branch, skill) in [("a", "review"), ("b", "tidy")] {
        assert!(project.git(&["switch", "-qc", branch, "main"]));
        bag(&project, &["sync"]).ok();
        let args = ["get", skill, "--source", "https://github.com/acme/bag"];
        bag(&project, &args).ok();
        project.add(&[&format!("packs/pack-{branch}.yaml")]).ok();
        assert!(project.git(&["add", "."]) && project.git(&["commit", "-qm", branch]));
    }
    assert!(!project.git(&["merge", "-q", "a"]), "there is a conflict");
    project.fails(&["sync", "--locked"], "LC-07");
    project.sp(&["sync"]).ok();
    let lock = project.read("skillpack.lock");
    for name in ["review", "tidy", "pack-a__a", "pack-b__b"] {
        assert!(lock.contains(&format!("name = \"{name}\"")), "{name}: {lock}");
    }
    assert_eq!(project.skills(CLAUDE), ["pack-a__a", "pack-b__b"]);
    project.sp(&["sync", "--frozen"]).ok();
}

/// A workspace with a lockfile of its own, next to a manifest.
fn before_conversion() -> FaultScenario {
    let project = project_with_source();
    bag(&project, &["init"]).ok();
    get(&project);
    project.write("skillpack.yaml", "agents: [claude]\n");
    FaultScenario::new(project.world, "home/app", &["bag", "remove", "review"], recover())
}

#[test]
fn lc_20_lc_08_conversion_by_the_workspace_is_all_or_nothing() {
    sweep(before_conversion, Faults::All);
}
