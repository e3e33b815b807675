//! Skills in sinks.

use super::*;

fn tools(version: &str, more: &str) -> Made {
    let (tidy, review) = (skill("tidy", more), skill("review", ""));
    Made::skills(
        "tools",
        version,
        &[("review/SKILL.md", &review), ("tidy/SKILL.md", &tidy), ("tidy/x.md", "x")],
    )
}

#[test]
fn pk_24_skills_go_into_the_sinks_that_are_named() {
    let world = stocked(&[tools("1.0.0", "")]);
    refused(&world, &["install", "tools"], 2, "no agent is named");
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

#[test]
fn pk_24_skills_go_into_a_path_a_project_and_under_a_prefix() {
    let world = stocked(&[tools("1.0.0", "")]);
    let path = world.path("sink").display().to_string();
    pkg(&world, &["install", "tools", "--agent", "custom", "--path", &path, "--prefix", "acme"])
        .ok();
    assert!(exists(&world, "sink/acme__tidy/SKILL.md"), "{:?}", world.files("sink"));
    pkg(&world, &["install", "tools", "--agent", "claude", "--scope", "project"]).ok();
    let here = world.files("project");
    assert!(
        here.keys()
            .any(|name| name.starts_with(".claude/skills/") && name.ends_with("tidy/SKILL.md")),
        "{here:?}"
    );
    pkg(&world, &["uninstall", "tools"]).ok();
    assert!(!world.files("").keys().any(|name| name.ends_with("tidy/SKILL.md")), "gone from both");
}

#[test]
fn pk_24_a_prefix_stays_when_the_lock_is_installed_again() {
    let world = stocked(&[tools("1.0.0", "")]);
    pkg(&world, &["install", "tools", "--agent", "claude", "--prefix", "acme"]).ok();
    let before = world.files("home/.claude");
    pkg(&world, &["install"]).ok();
    assert_eq!(world.files("home/.claude"), before);
}

#[test]
fn pk_24_a_prefix_is_for_the_packages_that_are_named() {
    let one = |name: &str| Made::skills(name, "1.0.0", &[("tidy/SKILL.md", &skill("tidy", name))]);
    let world = stocked(&[one("first"), one("second")]);
    pkg(&world, &["install", "first", "--agent", "claude", "--prefix", "a"]).ok();
    pkg(&world, &["install", "second", "--agent", "claude", "--prefix", "b"]).ok();
    assert!(
        exists(&world, "home/.claude/skills/a__tidy")
            && exists(&world, "home/.claude/skills/b__tidy")
    );
}

#[test]
fn pk_24_pk_23_taking_skills_out_can_be_undone() {
    let world = stocked(&[tools("1.0.0", "")]);
    pkg(&world, &["install", "tools", "--agent", "claude"]).ok();
    let before = world.files("home/.claude");
    pkg(&world, &["uninstall", "tools"]).ok();
    pkg(&world, &["rollback"]).ok();
    assert_eq!(world.files("home/.claude"), before);
}

#[test]
fn pk_24_se_01_a_folder_that_is_not_ours_is_refused_and_nothing_is_kept() {
    let world = project();
    write(&world, "home/.claude/skills/tidy/SKILL.md", "mine");
    let file = tools("1.0.0", "").signed(1, Signs::Whole).put(&world, "tools.ctxpkg");
    let before = world.files("home/.claude");
    refused(&world, &["install", &file, "--agent", "claude"], 4, "tidy");
    assert_eq!(world.files("home/.claude"), before);
}

#[test]
fn pk_24_an_upgrade_replaces_the_skills_and_keeps_what_was_edited() {
    let world = stocked(&[tools("1.0.0", "")]);
    pkg(&world, &["install", "tools", "--agent", "claude"]).ok();
    import(
        &world,
        &[Made::skills("tools", "1.1.0", &[("tidy/SKILL.md", &skill("tidy", "New.\n"))])],
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
    let held = |entry: &Entry| matches!(entry, Entry::File(text, _) if text == "By hand.\n");
    assert!(world.files("home").values().any(held), "an edit is kept: {run}");
    let run = pkg(&world, &["uninstall", "tools"]);
    assert!(world.files("home").values().any(held), "an edit is kept: {run}");
}

#[test]
fn pk_24_skills_are_uninstalled_from_another_directory_too() {
    let world = stocked(&[tools("1.0.0", "")]);
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
        "the lock of the project brings them back"
    );
}

#[test]
fn pk_24_pk_23_knowledge_and_skills_are_installed_in_one_go_or_not_at_all() {
    let world = stocked(&[tools("1.0.0", "").needs(&[("base", "^1")]), Made::new("base", "1.0.0")]);
    write(&world, "home/.claude/skills/review/SKILL.md", "mine");
    refused(&world, &["install", "tools", "--agent", "claude"], 4, "review");
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
fn pk_24_a_package_without_a_skill_is_not_installed() {
    let world = stocked(&[
        Made::skills("empty", "1.0.0", &[("README.md", "x")]),
        Made::skills("self", "1.0.0", &[("SKILL.md", &skill("self", ""))]),
    ]);
    refused(&world, &["install", "empty", "--agent", "claude"], 3, "no skill in it");
    pkg(&world, &["install", "self", "--agent", "claude"]).ok();
    assert!(exists(&world, "home/.claude/skills/self/SKILL.md"));
    for kind in ["addon", "grammar"] {
        import(&world, &[Made::new(kind, "1.0.0").with("kind", json!(kind))]);
        refused(&world, &["install", kind], 1, &format!("kind `{kind}`"));
    }
}
