//! `sp add` and `sp remove`.

use super::*;

#[test]
fn lc_10_add_writes_manifest_and_lock_and_installs() {
    let project = Project::new();
    let run = project.add(&["acme/skills", "--skill", "pdf,docx", "-a", "claude,codex"]);
    insta::assert_snapshot!(run, @"
    exit: 0
    --- stdout
    github.com/acme/skills  3a88a0a68520

      docx
        Does docx.
        tokens: 6 always, 4 body, 0 files
      pdf
        Does pdf.
        tokens: 4 always, 3 body, 0 files

    + docx  github.com/acme/skills
    + pdf  github.com/acme/skills

    installed for codex · .agents/skills · 2 added
    installed for claude · .claude/skills · 2 added
    wrote skillpack.yaml and skillpack.lock
    ");
    insta::assert_snapshot!(project.read("skillpack.yaml"), @"
    agents:
      - claude
      - codex
    skills:
      - source: acme/skills
        include: [skills/pdf, skills/docx]
    ");
    insta::assert_snapshot!(project.world.normalize(&project.read("skillpack.lock")), @r#"
    # Written by `sp`. Do not edit; commit it with `skillpack.yaml`.
    version = 1

    [[source]]
    source = "github.com/acme/skills"
    commit = "[COMMIT]"

    [[skill]]
    name = "docx"
    source = "github.com/acme/skills"
    id = "skills/docx"
    tree = "sha256:166aca01fd1432c9aef3a6ddfb90fd52c2ccbba8966214d984032c73e8b2f767"

    [[skill]]
    name = "pdf"
    source = "github.com/acme/skills"
    id = "skills/pdf"
    tree = "sha256:d2b3a97168f34cfb81caf6a2cf04d94ad72a1f99e41c6c4b7abcc19d41503ed2"
    "#);
    assert_eq!(project.skills(CLAUDE), ["docx", "pdf"]);
    assert_eq!(project.skills(".agents/skills"), ["docx", "pdf"]);
    let run = project.sp(&["sync"]);
    insta::assert_snapshot!(run, @"
    exit: 0
    --- stdout
    up to date: codex · .agents/skills · 2 unchanged
    up to date: claude · .claude/skills · 2 unchanged
    ");
    let run = project.sp(&["remove", "pdf"]);
    insta::assert_snapshot!(run, @"
    exit: 0
    --- stdout
    - pdf  github.com/acme/skills

    updated for codex · .agents/skills · 1 removed, 1 unchanged
    updated for claude · .claude/skills · 1 removed, 1 unchanged
    wrote skillpack.yaml and skillpack.lock
    ");
    insta::assert_snapshot!(project.read("skillpack.yaml"), @"
    agents:
      - claude
      - codex
    skills:
      - source: acme/skills
        include: [skills/docx]
    ");
    assert_eq!(project.skills(CLAUDE), ["docx"]);
    project.sp(&["remove", "acme/skills"]).ok();
    insta::assert_snapshot!(project.read("skillpack.yaml"), @"
    agents:
      - claude
      - codex
    skills:
    ");
    assert_eq!(project.skills(CLAUDE), [""; 0]);
}

#[test]
fn lc_10_without_a_terminal_skills_have_to_be_named() {
    let project = Project::new();
    let error = project.fails(&["add", "acme/skills", "-a", "claude"], "E-missing-argument");
    assert!(error.because[0].contains("docx, pdf, xlsx"), "{error:?}");
    assert!(error.hints_at("--skill") && error.hints_at("--all"), "{error:?}");
    let args = ["add", "acme/skills", "--skill", "pfd", "-a", "claude"];
    let error = project.fails(&args, "E-skill-not-found");
    assert!(error.hints_at("pdf"), "{error:?}");
    for (source, code) in [("pdf", "E-invalid-arguments"), ("./missing", "E-source-not-found")] {
        project.fails(&["add", source, "-a", "claude"], code);
    }
    assert!(!project.path("skillpack.yaml").exists());
    let list = project.add(&["acme/skills", "--list", "--format", "plain"]).ok();
    let ids: Vec<&str> = list.stdout.lines().filter_map(|line| line.split('\t').nth(1)).collect();
    assert_eq!(ids, ["skills/docx", "skills/pdf", "skills/xlsx"]);
    assert!(!project.path("skillpack.yaml").exists());
}

#[test]
fn lc_01_lc_10_global_manifest_installs_for_the_user() {
    let project = Project::new();
    let dir = "home";
    let sp = |args: &[&str]| project.world.sp_in(dir, args);
    sp(&["add", "acme/skills", "--skill", "pdf", "-g", "-a", "claude"]).ok();
    assert!(project.world.path("home/.skillpack/skillpack.lock").is_file());
    assert!(project.world.path("home/.claude/skills/pdf/SKILL.md").is_file());
    std::fs::remove_dir_all(project.world.path("home/.claude/skills")).unwrap();
    sp(&["sync", "-g", "--frozen"]).ok();
    assert!(project.world.path("home/.claude/skills/pdf/SKILL.md").is_file());
    assert!(!project.path("skillpack.yaml").exists());
    sp(&["remove", "-g", "pdf"]).ok();
    assert!(!project.world.path("home/.claude/skills/pdf").exists());
}

#[test]
fn lc_02_agents_that_share_a_directory_are_one_sink_and_can_be_dropped() {
    let project = Project::new();
    project.add(&["acme/skills", "--skill", "pdf", "-a", "codex,cursor,claude"]).ok();
    let run = project.sp(&["sync", "--json"]).ok();
    let report: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    let agents: Vec<_> =
        report["sinks"].as_array().unwrap().iter().map(|it| it["agents"].clone()).collect();
    assert!(agents.contains(&serde_json::json!(["claude"])), "{agents:?}");
    let manifest = project.read("skillpack.yaml");
    project.write("skillpack.yaml", &manifest.replace("  - claude\n", ""));
    project.sp(&["sync"]).ok();
    assert_eq!(project.skills(CLAUDE), [""; 0]);
    assert_eq!(project.skills(".agents/skills"), ["pdf"]);
    let args = ["add", "acme/skills", "--skill", "docx", "-a", "unknown"];
    project.fails(&args, "E-unknown-agent");
}

#[test]
fn lc_16_one_name_with_different_content_is_refused() {
    let project = Project::new();
    project.write("team/pdf/SKILL.md", "---\nname: pdf\ndescription: Mine.\n---\n\nMine.\n");
    project.add(&["acme/skills", "--skill", "pdf", "-a", "claude"]).ok();
    let error = project.fails(&["add", "./team"], "E-name-collision");
    assert!(error.because[0].contains("acme/skills") && error.because[0].contains("./team"));
    assert!(error.hints_at("prefix"), "{error:?}");
    project.add(&["./team", "--prefix", "my-"]).ok();
    assert_eq!(project.skills(CLAUDE), ["my-pdf", "pdf"]);
}

#[test]
fn lc_11_switch_leaves_the_skills_of_a_project_alone() {
    let project = Project::new();
    project.add(&["acme/skills", "--skill", "pdf", "-a", "claude"]).ok();
    project.world.skill("a");
    project.world.pack("team", "name: team\ninclude: ['**']\n");
    let root = project.world.repo().display().to_string();
    let args = ["switch", "team", "-a", "claude", "--scope", "project", "--root", &root];
    project.sp(&args).ok();
    assert_eq!(project.skills(CLAUDE), ["pdf", "team__a"]);
    project.sp(&["sync"]).ok();
    assert_eq!(project.skills(CLAUDE), ["pdf", "team__a"]);
}

#[test]
fn lc_20_a_dry_run_has_the_plan_of_the_change() {
    let project = Project::new();
    let add = ["acme/skills", "--skill", "pdf", "-a", "claude", "--format", "json"];
    let plan = |run: &Run| -> String {
        let report: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
        report["plan"].as_str().unwrap().to_owned()
    };
    let dry = project.add(&[&add[..], &["--dry-run"]].concat()).ok();
    assert!(!project.path("skillpack.yaml").exists() && !project.path(".claude").exists());
    let other = format!("sha256:{}", "0".repeat(64));
    project.add(&[&add[..], &["--plan", &other]].concat()).fails(4);
    assert!(!project.path("skillpack.yaml").exists());
    let applied = project.add(&[&add[..], &["--plan", &plan(&dry)]].concat()).ok();
    assert_eq!(plan(&dry), plan(&applied));
    assert_eq!(project.skills(CLAUDE), ["pdf"]);
}
