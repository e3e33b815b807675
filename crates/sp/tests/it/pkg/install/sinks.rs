//! Packages of skills.

use super::*;

fn tools(version: &str, more: &str) -> TestPackage {
    let (tidy, review) = (skill("tidy", more), skill("review", ""));
    TestPackage::skills(
        "tools",
        version,
        &[("review/SKILL.md", &review), ("tidy/SKILL.md", &tidy), ("tidy/x.md", "x")],
    )
}

#[test]
fn pk_24_skills_are_installed_for_the_requested_agents() {
    let world = project_with(&[tools("1.0.0", "")]);
    refused(&world, &["install", "tools"], "E-agent-required");
    pkg(&world, &["install", "tools", "--agent", "claude", "--agent", "codex"]).ok();
    for sink in ["home/.claude/skills", "home/.codex/skills"] {
        assert_eq!(read(&world, &format!("{sink}/tidy/SKILL.md")), skill("tidy", ""), "{sink}");
        assert_eq!(read(&world, &format!("{sink}/tidy/x.md")), "x");
        assert!(exists(&world, &format!("{sink}/review/SKILL.md")));
    }
    assert_eq!(locked(&world), ["tools 1.0.0"]);
    pkg(&world, &["uninstall", "tools"]).ok();
    for sink in ["home/.claude/skills", "home/.codex/skills"] {
        assert!(
            !exists(&world, &format!("{sink}/tidy")) && !exists(&world, &format!("{sink}/review")),
            "{sink}"
        );
    }
    assert_eq!(locked(&world), [""; 0]);
}

/// Returns the agents and the directory of each record.
fn recorded_agents(world: &World) -> Vec<(Value, String)> {
    let state: Value = serde_json::from_str(&read(world, "home/.skillpack/state.json")).unwrap();
    let root = world.root().display().to_string();
    let pair = |record: &Value| {
        (record["agents"].clone(), record["sink_path"].as_str().unwrap().replace(&root, ""))
    };
    state["installs"].as_array().unwrap().iter().map(pair).collect()
}

#[test]
fn sp_41_pk_24_package_moves_to_the_directory_that_the_agent_reads() {
    let (old, new) = ("/home/.windsurf/skills", "/home/.codeium/windsurf/skills");
    for update in [&["install", "tools"][..], &["install", "tools", "--agent", "windsurf"]] {
        let world = project_with(&[tools("1.0.0", "")]);
        pkg(&world, &["install", "tools", "--agent", "windsurf"]).ok();
        assert_eq!(recorded_agents(&world), [(json!(["windsurf"]), old.to_owned())]);
        write(&world, "home/.codeium/windsurf/settings.json", "{}");
        pkg(&world, update).ok();
        assert_eq!(recorded_agents(&world), [(json!(["windsurf"]), new.to_owned())]);
        assert!(world.files("home/.windsurf/skills").is_empty());
        assert!(exists(&world, "home/.codeium/windsurf/skills/tidy/SKILL.md"));
        pkg(&world, &["uninstall", "tools"]).ok();
        assert_eq!(recorded_agents(&world), []);
        pkg(&world, &["rollback"]).ok();
        assert_eq!(recorded_agents(&world), [(json!(["windsurf"]), new.to_owned())]);
    }
}

#[test]
fn lc_02_pk_24_agents_that_share_a_directory_are_recorded_by_package() {
    let other = TestPackage::skills("other", "1.0.0", &[("more/SKILL.md", &skill("more", ""))]);
    let world = project_with(&[tools("1.0.0", ""), other]);
    let install = |package, agents| {
        pkg(&world, &["install", package, "--agent", agents, "--scope", "project"]).ok();
    };
    install("tools", "codex,cursor");
    install("other", "gemini-cli");
    let mut agents: Vec<Value> = recorded_agents(&world).into_iter().map(|it| it.0).collect();
    agents.sort_by_key(Value::to_string);
    assert_eq!(agents, [json!(["codex", "cursor"]), json!(["gemini-cli"])]);
    install("other", "codex");
    pkg(&world, &["uninstall", "tools"]).ok();
    assert_eq!(recorded_agents(&world)[0].0, json!(["gemini-cli", "codex"]));
    pkg(&world, &["rollback"]).ok();
    assert_eq!(recorded_agents(&world).len(), 2);
    pkg(&world, &["uninstall", "tools", "other"]).ok();
    assert_eq!(recorded_agents(&world), []);
    assert!(world.files("project/.agents/skills").is_empty());
}

#[test]
fn pk_24_skills_can_be_installed_to_a_path_a_project_or_a_prefix() {
    let world = project_with(&[tools("1.0.0", "")]);
    let path = world.path("sink").display().to_string();
    pkg(&world, &["install", "tools", "--agent", "custom", "--path", &path, "--prefix", "acme"])
        .ok();
    assert!(exists(&world, "sink/acme__tidy/SKILL.md"), "{:?}", world.files("sink"));
    pkg(&world, &["install", "tools", "--agent", "claude", "--scope", "project"]).ok();
    let files = world.files("project");
    assert!(
        files
            .keys()
            .any(|name| name.starts_with(".claude/skills/") && name.ends_with("tidy/SKILL.md")),
        "{files:?}"
    );
    pkg(&world, &["uninstall", "tools"]).ok();
    assert!(
        !world.files("").keys().any(|name| name.ends_with("tidy/SKILL.md")),
        "removed from both"
    );
}

#[test]
fn pk_24_prefix_is_kept_when_the_lockfile_is_installed() {
    let world = project_with(&[tools("1.0.0", "")]);
    pkg(&world, &["install", "tools", "--agent", "claude", "--prefix", "acme"]).ok();
    let before = world.files("home/.claude");
    pkg(&world, &["install"]).ok();
    assert_eq!(world.files("home/.claude"), before);
}

#[test]
fn pk_24_prefix_applies_to_the_requested_packages_only() {
    let package =
        |name: &str| TestPackage::skills(name, "1.0.0", &[("tidy/SKILL.md", &skill("tidy", name))]);
    let world = project_with(&[package("first"), package("second")]);
    pkg(&world, &["install", "first", "--agent", "claude", "--prefix", "a"]).ok();
    pkg(&world, &["install", "second", "--agent", "claude", "--prefix", "b"]).ok();
    assert!(
        exists(&world, "home/.claude/skills/a__tidy")
            && exists(&world, "home/.claude/skills/b__tidy")
    );
}

#[test]
fn pk_24_pk_23_uninstalled_skills_can_be_restored() {
    let world = project_with(&[tools("1.0.0", "")]);
    pkg(&world, &["install", "tools", "--agent", "claude"]).ok();
    let before = world.files("home/.claude");
    pkg(&world, &["uninstall", "tools"]).ok();
    pkg(&world, &["rollback"]).ok();
    assert_eq!(world.files("home/.claude"), before);
}

#[test]
fn pk_24_se_01_foreign_skill_directory_is_not_overwritten() {
    let world = project();
    write(&world, "home/.claude/skills/tidy/SKILL.md", "mine");
    let file = tools("1.0.0", "").signed(1, SignatureScope::Full).write_to(&world, "tools.ctxpkg");
    let before = world.files("home/.claude");
    let error = refused(&world, &["install", &file, "--agent", "claude"], "E-not-owned");
    assert_mentions(&error, "tidy");
    assert_eq!(world.files("home/.claude"), before);
}

#[test]
fn pk_24_upgrade_replaces_skills_and_backs_up_edits() {
    let world = project_with(&[tools("1.0.0", "")]);
    pkg(&world, &["install", "tools", "--agent", "claude"]).ok();
    import(
        &world,
        &[TestPackage::skills("tools", "1.1.0", &[("tidy/SKILL.md", &skill("tidy", "New.\n"))])],
    );
    pkg(&world, &["install", "tools"]).ok();
    assert_eq!(read(&world, "home/.claude/skills/tidy/SKILL.md"), skill("tidy", "New.\n"));
    assert!(
        !exists(&world, "home/.claude/skills/tidy/x.md")
            && !exists(&world, "home/.claude/skills/review")
    );
    pkg(&world, &["rollback"]).ok();
    assert_eq!(read(&world, "home/.claude/skills/tidy/SKILL.md"), skill("tidy", ""));
    assert!(exists(&world, "home/.claude/skills/review/SKILL.md"));
    write(&world, "home/.claude/skills/tidy/SKILL.md", "By hand.\n");
    let run = pkg(&world, &["install", "tools@1.1.0"]);
    assert!(file_with_text(&world, "By hand.\n").is_some(), "the edit is lost: {run}");
    let run = pkg(&world, &["uninstall", "tools"]);
    assert!(file_with_text(&world, "By hand.\n").is_some(), "the edit is lost: {run}");
}

#[test]
fn pk_24_skills_can_be_uninstalled_from_another_directory() {
    let world = project_with(&[tools("1.0.0", "")]);
    std::fs::create_dir(world.path("other")).unwrap();
    pkg(&world, &["install", "tools", "--agent", "claude"]).ok();
    world.sp_in("other", &["pkg", "uninstall", "tools"]).ok();
    assert!(!exists(&world, "home/.claude/skills/tidy"));
    assert!(
        !exists(&world, "other/ctxpkg.lock") && !exists(&world, "other/.ctxpkg"),
        "{:?}",
        world.files("other")
    );
    pkg(&world, &["install", "--agent", "claude"]).ok();
    assert!(
        exists(&world, "home/.claude/skills/tidy/SKILL.md"),
        "the lockfile of the project restores them"
    );
}

#[test]
fn pk_24_pk_23_knowledge_and_skills_are_installed_atomically() {
    let world = project_with(&[
        tools("1.0.0", "").with_dependencies(&[("base", "^1")]),
        TestPackage::new("base", "1.0.0"),
    ]);
    write(&world, "home/.claude/skills/review/SKILL.md", "mine");
    let error = refused(&world, &["install", "tools", "--agent", "claude"], "E-not-owned");
    assert_mentions(&error, "review");
    assert!(!exists(&world, "project/ctxpkg.lock") && !exists(&world, "home/.claude/skills/tidy"));
    std::fs::remove_dir_all(world.path("home/.claude/skills/review")).unwrap();
    pkg(&world, &["install", "tools", "--agent", "claude"]).ok();
    assert_eq!(locked(&world), ["base 1.0.0", "tools 1.0.0"]);
    assert!(
        exists(&world, "home/.claude/skills/tidy")
            && exists(&world, "project/.ctxpkg/packages/base.ctxpkg")
    );
}

#[test]
fn pk_24_packages_without_skills_or_of_other_kinds_are_refused() {
    let world = project_with(&[
        TestPackage::skills("empty", "1.0.0", &[("README.md", "x")]),
        TestPackage::skills("self", "1.0.0", &[("SKILL.md", &skill("self", ""))]),
    ]);
    refused(&world, &["install", "empty", "--agent", "claude"], "E-invalid-package");
    pkg(&world, &["install", "self", "--agent", "claude"]).ok();
    assert!(exists(&world, "home/.claude/skills/self/SKILL.md"));
    for kind in ["addon", "grammar"] {
        import(&world, &[TestPackage::new(kind, "1.0.0").with("kind", json!(kind))]);
        assert_mentions(&refused(&world, &["install", kind], "E-unsupported"), kind);
    }
}
