//! `sp migrate`: what other tools installed is taken over, and what is not is listed.

use std::os::unix::fs::{PermissionsExt, symlink};

use sp_testkit::{FaultScenario, Faults, sweep};

use super::*;
use crate::support::engine::recover;

const SKILLS_LOCK: &str = r#"{
  "version": 1,
  "skills": {
    "pdf": {
      "source": "acme/skills",
      "sourceType": "github",
      "skillPath": "skills/pdf/SKILL.md",
      "computedHash": "66629a5c0c2d8d2d0d3c0c4d6a1ad09c5c1c9a4b3a07c2b9a5d2c6b7e8f90a1b"
    }
  }
}
"#;

/// Copies a skill of the upstream repository, as another tool does.
fn install_by_hand(project: &Project, id: &str, dir: &str) {
    let name = id.rsplit('/').next().unwrap();
    let text = read(&project.upstream.path().join(id).join("SKILL.md"));
    project.write(&format!("{dir}/{name}/SKILL.md"), &text);
}

/// A project in which `skills` installed a skill for two agents: a folder, and a link to it.
fn project_of_skills() -> Project {
    let project = Project::new();
    project.write("skills-lock.json", SKILLS_LOCK);
    install_by_hand(&project, "skills/pdf", ".agents/skills");
    std::fs::create_dir_all(project.path(CLAUDE)).unwrap();
    symlink("../../.agents/skills/pdf", project.path(CLAUDE).join("pdf")).unwrap();
    project
}

/// Migrates, and checks that a sync has nothing left to do.
#[track_caller]
fn migrate(project: &Project) -> serde_json::Value {
    let files = || {
        let mut files = project.world.files("home/app");
        files.retain(|name, _| !name.starts_with("skillpack."));
        files
    };
    let before = files();
    let preview = project.sp(&["migrate", "--dry-run", "--json"]).ok();
    assert!(!project.path("skillpack.yaml").exists(), "{preview}");
    let preview: serde_json::Value = serde_json::from_str(&preview.stdout).unwrap();
    let plan = preview["plan"].as_str().unwrap();
    let run = project.sp(&["migrate", "--plan", plan, "--json"]).ok();
    assert_eq!(files(), before, "only the manifest and the lockfile are written");
    if project.path("skillpack.yaml").exists() {
        let sync = project.sp(&["sync", "--frozen", "--json"]).ok();
        let sync: serde_json::Value = serde_json::from_str(&sync.stdout).unwrap();
        assert_eq!(sync["lock_changed"], false);
        assert_eq!(files(), before);
    }
    serde_json::from_str(&run.stdout).unwrap()
}

fn skipped(report: &serde_json::Value) -> Vec<(String, String)> {
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    let items = report["skipped"].as_array().unwrap();
    items.iter().map(|item| (text(&item["name"]), text(&item["position"]))).collect()
}

#[test]
fn lc_17_project_of_skills_is_migrated() {
    let project = project_of_skills();
    let report = migrate(&project);
    assert_eq!(report["adopted"], serde_json::json!(["pdf"]));
    assert_eq!(skipped(&report), []);
    insta::assert_snapshot!(project.read("skillpack.yaml"), @r"
    agents:
      - codex
    skills:
      - source: acme/skills
        include: [skills/pdf]
    ");
    // It belongs to the project now, so it is updated and removed.
    project.upstream.write("skills/pdf/SKILL.md", NEW_PDF).commit("new");
    project.sp(&["update"]).ok();
    assert_eq!(project.read(".agents/skills/pdf/SKILL.md"), NEW_PDF);
    project.sp(&["remove", "pdf"]).ok();
    assert_eq!(project.skills(".agents/skills"), [""; 0]);
}

#[test]
fn lc_17_manifest_and_lockfile_of_apm_are_migrated_at_the_locked_commit() {
    let project = Project::new();
    let commit = project.upstream.head();
    project.write(
        "apm.yml",
        "name: app\nversion: 1.0.0\ntarget: claude\ndependencies:\n  apm:\n    - acme/skills/skills/pdf\n    \
         - acme/skills/skills/docx\n  mcp:\n    - io.example/server\n",
    );
    let entry = |name: &str| {
        format!(
            "- repo_url: acme/skills\n  host: github.com\n  resolved_commit: {commit}\n  virtual_path: \
             skills/{name}\n  is_virtual: true\n  package_type: claude_skill\n  deployed_files:\n  - \
             .claude/skills/{name}\n"
        )
    };
    let lock = format!("lockfile_version: '1'\ndependencies:\n{}{}", entry("pdf"), entry("docx"));
    project.write("apm.lock.yaml", &lock);
    for id in ["skills/pdf", "skills/docx"] {
        install_by_hand(&project, id, CLAUDE);
    }
    // The repository moves on, but that is not what is installed.
    project.upstream.write("skills/pdf/SKILL.md", NEW_PDF).commit("new");
    let report = migrate(&project);
    assert_eq!(report["adopted"], serde_json::json!(["docx", "pdf"]), "{report:#}");
    assert_eq!(skipped(&report), [("MCP server `io.example/server`".into(), "apm.yml:9:7".into())]);
    assert!(project.read("skillpack.lock").contains(&commit));
    let outdated = project.sp(&["outdated", "--exit-code"]);
    assert_eq!(outdated.code, Some(1), "{outdated}");
}

#[test]
fn lc_17_manifest_of_dotagents_is_migrated() {
    let project = Project::new();
    let commit = project.upstream.head();
    project.write(
        "agents.toml",
        "version = 1\nagents = [\"claude\"]\n\n[[skills]]\nname = \"pdf\"\nsource = \"acme/skills\"\n",
    );
    project.write(
        "agents.lock",
        &format!(
            "version = 1\n\n[skills.pdf]\nsource = \"acme/skills\"\nresolved_url = \
             \"https://github.com/acme/skills.git\"\nresolved_path = \"skills/pdf\"\nresolved_commit = \
             \"{commit}\"\n"
        ),
    );
    install_by_hand(&project, "skills/pdf", ".agents/skills");
    std::fs::create_dir_all(project.path(".claude")).unwrap();
    symlink("../.agents/skills", project.path(CLAUDE)).unwrap();
    let report = migrate(&project);
    assert_eq!(report["adopted"], serde_json::json!(["pdf"]), "{report:#}");
    assert!(project.read("skillpack.yaml").starts_with("agents:\n  - claude\n"));
}

#[test]
fn lc_17_skills_of_openskills_are_migrated_with_the_file_of_the_tool() {
    let project = Project::new();
    install_by_hand(&project, "skills/pdf", CLAUDE);
    project.write(
        ".claude/skills/pdf/.openskills.json",
        r#"{"source": "acme/skills", "sourceType": "git", "repoUrl": "https://github.com/acme/skills", "subpath": "skills/pdf"}"#,
    );
    // Permissions do not matter: not every tool keeps them.
    let file = project.path(".claude/skills/pdf/SKILL.md");
    std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o755)).unwrap();
    let report = migrate(&project);
    assert_eq!(report["adopted"], serde_json::json!(["pdf"]), "{report:#}");
}

/// Files as the tools write them: `skills` 1.5, `apm-cli` 0.35 and `@sentry/dotagents` 1.19.
#[test]
fn lc_17_files_that_the_tools_wrote_are_migrated() {
    let text = |name: &str| match name {
        "skills-lock.json" => include_str!("foreign/skills-lock.json"),
        "apm.yml" => include_str!("foreign/apm.yml"),
        "apm.lock.yaml" => include_str!("foreign/apm.lock.yaml"),
        "agents.toml" => include_str!("foreign/agents.toml"),
        _ => include_str!("foreign/agents.lock"),
    };
    for (files, dir, adopted) in [
        (&["skills-lock.json"][..], ".agents/skills", &["docx", "pdf"][..]),
        (&["apm.yml", "apm.lock.yaml"], CLAUDE, &["docx", "pdf"]),
        (&["agents.toml", "agents.lock"], ".agents/skills", &["docx", "pdf", "xlsx"]),
    ] {
        let project = Project::new();
        let main = project.upstream.head();
        for name in adopted {
            install_by_hand(&project, &format!("skills/{name}"), dir);
        }
        let git = project.world.path("git");
        let url = format!("[url \"file://{}/\"]\n", git.display());
        let config = format!(
            "{url}\tinsteadOf = https://github.com/acme/\n\tinsteadOf = https://git.example.com/acme/\n"
        );
        std::fs::write(project.world.home().join(".gitconfig"), config).unwrap();
        project.upstream.git(&["switch", "-qc", "dev"]);
        project.upstream.write("skills/docx/SKILL.md", NEW_PDF).commit("dev");
        let dev = project.upstream.head();
        project.upstream.git(&["switch", "-q", "main"]);
        for name in files {
            let text = text(name).replace("DEV_COMMIT", &dev).replace("COMMIT", &main);
            project.write(name, &text);
        }
        let report = migrate(&project);
        assert_eq!(report["adopted"], serde_json::json!(adopted), "{files:?}: {report:#}");
        assert_eq!(skipped(&report), [], "{files:?}");
        project.sp(&["status", "--exit-code"]).ok();
    }
}

#[test]
fn lc_06_lc_17_the_path_of_a_directory_in_the_project_becomes_relative() {
    let project = Project::new();
    project.write("own/pdf/SKILL.md", OLD_PDF);
    project.write(".claude/skills/pdf/SKILL.md", OLD_PDF);
    let source = project.path("own").display().to_string();
    let lock = serde_json::json!({
        "version": 1,
        "skills": {"pdf": {"source": source, "sourceType": "local"}},
    });
    project.write("skills-lock.json", &lock.to_string());
    let report = migrate(&project);
    assert_eq!(report["adopted"], serde_json::json!(["pdf"]), "{report:#}");
    assert!(project.read("skillpack.yaml").contains("source: ./own\n"));
    assert!(!project.read("skillpack.lock").contains(&source));
}

#[test]
fn lc_17_folders_that_differ_are_listed_and_stay() {
    let project = project_of_skills();
    project.write(".agents/skills/pdf/SKILL.md", OLD_PDF);
    project.write(
        ".claude/settings.json",
        r#"{"enabledPlugins": {"gone@unknown-marketplace": true}}"#,
    );
    let report = migrate(&project);
    assert_eq!(report["adopted"], serde_json::json!([]));
    let items = skipped(&report);
    assert!(items.contains(&("pdf".into(), "skills-lock.json:4:5".into())), "{items:?}");
    assert!(items.iter().any(|(_, at)| at.starts_with(".claude/settings.json:1:")), "{items:?}");
    assert_eq!(project.read(".agents/skills/pdf/SKILL.md"), OLD_PDF);
}

#[test]
fn lc_17_invalid_files_are_reported_with_their_position() {
    let project = Project::new();
    let error = project.world.sp_error_in("home/app", &["migrate"]);
    assert_eq!(error.code, "E-nothing-found");
    project.write("skills-lock.json", "{\"version\": 1,\n \"skills\": []}\n");
    let error = project.world.sp_error_in("home/app", &["migrate"]);
    assert_eq!((error.code.as_str(), error.findings[0].line), ("LC-17", 2));
    assert!(!project.path("skillpack.yaml").exists());
}

#[test]
fn lc_17_lc_20_migration_interrupted_at_every_call_is_all_or_nothing() {
    let scenario = || {
        let world = world!();
        let lock =
            r#"{"version": 1, "skills": {"pdf": {"source": "./own/pdf", "sourceType": "local"}}}"#;
        for dir in [".git", "own/pdf", ".claude/skills/pdf"] {
            std::fs::create_dir_all(world.path("home/app").join(dir)).unwrap();
        }
        std::fs::write(world.path("home/app/skills-lock.json"), lock).unwrap();
        for dir in ["own", CLAUDE] {
            let file = world.path("home/app").join(dir).join("pdf/SKILL.md");
            std::fs::write(file, OLD_PDF).unwrap();
        }
        FaultScenario::new(world, "home/app", &["migrate"], recover())
    };
    sweep(scenario, Faults::All);
}
