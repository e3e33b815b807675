//! Making workspaces and sources, and judging them.

use super::*;

const RESERVED: &str = ".skills/skillbag-get-skills/SKILL.md";

fn empty() -> World {
    let world = world!();
    std::fs::create_dir(world.path("ws")).unwrap();
    world
}

fn names(world: &World) -> Vec<String> {
    world
        .files("ws")
        .into_iter()
        .filter(|(_, entry)| *entry != Entry::Dir)
        .map(|(name, _)| name)
        .collect()
}

#[test]
fn sb_01_init_makes_a_workspace_and_no_empty_contexts() {
    let world = empty();
    bag(&world, &["init"]).ok();
    assert_eq!(
        names(&world),
        [".gitignore", ".skills/.skillbag.lock", ".skills/SKILLS.md", RESERVED, "SKILLBAG.md"]
    );
    assert_eq!(read(&world, "ws/.skills/SKILLS.md"), BOOTSTRAP, "SB-17");
    assert_eq!(read(&world, "ws/.gitignore"), "USER_CONTEXT.md\n");
    assert!(read(&world, "ws/SKILLBAG.md").starts_with("SkillBag v0.3.0\n"));
    bag(&world, &["check"]).ok();
    let before = world.files("ws");
    bag(&world, &["init"]).ok();
    assert_eq!(world.files("ws"), before, "a second time changes nothing");
}

#[test]
fn sb_01_init_makes_the_directory_that_is_named() {
    let world = empty();
    let report = json(&world, &["init", "deep/er"]);
    assert!(world.path("ws/deep/er/SKILLBAG.md").is_file(), "{report}");
    assert_eq!(report["files"], serde_json::json!(["SKILLBAG.md", ".gitignore"]));
    // The nearest workspace upward is meant.
    std::fs::create_dir_all(world.path("ws/deep/er/src/x")).unwrap();
    world.sp_in("ws/deep/er/src/x", &["bag", "list"]).ok();
    bag(&world, &["list"]).fails(1);
}

#[test]
fn sb_01_init_leaves_what_is_there_as_it_is() {
    let world = empty();
    write(&world, "ws/SKILLBAG.md", "SkillBag v0.1.0\n\nOurs.\n");
    write(&world, "ws/.gitignore", "target\n*.log");
    write(&world, "ws/CONTEXT.md", "# Ours\n");
    write(&world, "ws/.skills/own/SKILL.md", &skill("own", ""));
    let reserved = "---\nname: skillbag-get-skills\ndescription: Install one or more skills into .skills/.\n---\nOurs.\n";
    write(&world, &format!("ws/{RESERVED}"), reserved);
    let mut expected = world.files("ws");
    write(&world, "entry.md", "SkillBag v0.2.0\n");
    bag(&world, &["init", "--entrypoint", "../entry.md"]).ok();
    let after = world.files("ws");
    expected
        .insert(".gitignore".into(), Entry::File("target\n*.log\nUSER_CONTEXT.md\n".into(), false));
    for (path, entry) in &expected {
        assert_eq!(after.get(path), Some(entry), "{path}");
    }
    assert_eq!(read(&world, "ws/.skills/SKILLS.md"), format!("own: Does own.\n{BOOTSTRAP}"));
    for listed in ["/USER_CONTEXT.md\n", "x\nUSER_CONTEXT.md\n", "USER_CONTEXT.md"] {
        write(&world, "ws/.gitignore", listed);
        bag(&world, &["init"]).ok();
        assert_eq!(read(&world, "ws/.gitignore"), listed);
    }
}

#[test]
fn sb_01_the_entrypoint_may_be_another_text() {
    let world = empty();
    let text = "SkillBag v0.1.0\n\nOther words.\n";
    write(&world, "entry.md", text);
    bag(&world, &["init", "--entrypoint", "../entry.md"]).ok();
    assert_eq!(read(&world, "ws/SKILLBAG.md"), text);
    let world = empty();
    let run = bag(&world, &["init", "--entrypoint", "nowhere.md"]).fails(1);
    assert!(run.stderr.contains("hint:"), "{run}");
    assert_eq!(names(&world), [""; 0]);
}

#[test]
fn sb_01_init_that_fails_makes_no_directory() {
    let world = empty();
    bag(&world, &["init", "new/er", "--entrypoint", "nowhere.md"]).fails(1);
    assert_eq!(world.files("ws"), sp_testkit::Files::new());
}

#[test]
fn sb_01_an_entrypoint_without_a_version_is_no_entrypoint() {
    let world = empty();
    write(&world, "entry.md", "# Hello\n");
    let run = bag(&world, &["init", "--entrypoint", "../entry.md"]);
    match run.code {
        // What was made must be a workspace.
        Some(0) => drop(bag(&world, &["check"]).ok()),
        _ => assert_eq!(names(&world), [""; 0], "{run}"),
    }
}

#[test]
fn sb_10_init_installs_what_the_context_declares() {
    let world = empty();
    let a = dir(&world, "a", &Bag::new(&["a"]));
    let b = dir(&world, "b", &Bag::new(&["b"]));
    write(
        &world,
        "ws/CONTEXT.md",
        &needs(&[
            &format!("name: a, version: '1', source: {a}"),
            &format!("name: b, version: '1', source: {b}"),
        ]),
    );
    bag(&world, &["init"]).ok();
    assert_eq!(skills(&world), ["a", "b"]);
    in_step(&world, "init");
    bag(&world, &["check"]).ok();
}

#[test]
fn sb_19_init_that_fails_leaves_nothing() {
    let world = empty();
    let a = dir(&world, "a", &Bag::new(&["a"]));
    let entries = [
        format!("name: a, version: '1', source: {a}"),
        "name: b, version: '1', source: ../nowhere".into(),
    ];
    write(&world, "ws/CONTEXT.md", &needs(&[&entries[0], &entries[1]]));
    refused(&world, &["init"], 5, "nowhere");
    assert_eq!(names(&world), ["CONTEXT.md"]);
}

#[test]
fn sb_12_source_init_makes_a_source_that_others_can_install_from() {
    let world = workspace();
    write(&world, "src/.skills/a/SKILL.md", &skill("a", ""));
    write(&world, "src/README.md", "Hello.\n");
    world.sp_in("src", &["bag", "source", "init"]).ok();
    assert_eq!(read(&world, "src/.skills/SKILLS.md"), "a: Does a.\n");
    assert!(!world.path("src/SKILLBAG.md").exists());
    world.sp_in("src", &["bag", "check"]).ok();
    bag(&world, &["get", "a", "--source", "../src"]).ok();
    let before = world.files("src");
    world.sp_in("src", &["bag", "source", "init"]).ok();
    assert_eq!(world.files("src"), before, "a second time changes nothing");
}

#[test]
fn sb_12_source_init_keeps_what_agents_md_says() {
    let world = empty();
    write(&world, "src/.skills/a/SKILL.md", &skill("a", ""));
    write(&world, "src/AGENTS.md", "# Ours\n\nUse tabs.\n");
    world.sp_in("src", &["bag", "source", "init"]).ok();
    let text = read(&world, "src/AGENTS.md");
    assert!(text.starts_with("# Ours\n\nUse tabs.\n") && text.contains("SKILLBAG"), "{text}");
    world.sp_in("src", &["bag", "check"]).ok();
}

#[test]
fn sb_12_source_init_works_in_an_empty_directory() {
    let world = workspace();
    std::fs::create_dir(world.path("src")).unwrap();
    world.sp_in("src", &["bag", "source", "init"]).ok();
    assert_eq!(read(&world, "src/.skills/SKILLS.md"), "");
    world.sp_in("src", &["bag", "check"]).ok();
}

/// The findings of `sp bag check` as lines.
fn findings(world: &World, place: &str, args: &[&str]) -> Vec<String> {
    let run = world.sp_in(place, &[&["bag", "check", "--format", "plain"], args].concat());
    run.stdout.lines().map(Into::into).collect()
}

#[test]
fn sb_25_check_names_every_broken_rule_with_its_place() {
    let cases: [(&str, &str, &str, &str); 9] = [
        ("SKILLBAG.md", "Hello.\n", "SB-01", "SKILLBAG.md:1:"),
        (".skills/SKILLS.md", "z: gone\n", "SB-02", ".skills/SKILLS.md:1:"),
        (
            ".skills/a/SKILL.md",
            "---\nname: b\ndescription: B.\n---\n",
            "SB-04",
            ".skills/a/SKILL.md:",
        ),
        (
            ".skills/a/SKILL.md",
            "---\nname: a\ndescription: |\n  One.\n  Two.\n---\n",
            "SB-04",
            ".skills/a/SKILL.md:3",
        ),
        ("CONTEXT.md", "# Parameters\n\n```yaml\nparameters: [x]\n```\n", "SB-07", "CONTEXT.md:4:"),
        (
            "CONTEXT.md",
            "# Dependencies\n\n```yaml\ndependencies:\n  - name: x\n```\n",
            "SB-10",
            "CONTEXT.md:5:",
        ),
        (
            ".skills/a/SKILL.md",
            "---\nname: a\ndescription: Does a.\n---\n# Dependencies\n```yaml\n- name: gone\n```\n",
            "SB-11",
            ".skills/a/SKILL.md:7:",
        ),
        (
            "CONTEXT.md",
            "# Conflict resolution\n\n```yaml\nconflict-resolution: a\n```\n",
            "SB-16",
            "CONTEXT.md:4:",
        ),
        (
            "USER_CONTEXT.md",
            "# Tags\n\n```yaml\ntags:\n  a: {add: x}\n```\n",
            "SB-23",
            "USER_CONTEXT.md:5:",
        ),
    ];
    for (file, text, rule, place) in cases {
        let world = workspace();
        write(&world, "ws/.skills/a/SKILL.md", &skill("a", ""));
        bag(&world, &["sync"]).ok();
        assert_eq!(findings(&world, "ws", &[]), [""; 0], "{rule}: before");
        write(&world, &format!("ws/{file}"), text);
        let lines = findings(&world, "ws", &[]);
        assert!(
            lines.iter().any(|line| line.contains(rule) && line.contains(place)),
            "{rule} at {place}: {lines:#?}"
        );
        bag(&world, &["check"]).fails(1);
    }
}

#[test]
fn sb_25_check_finds_what_is_missing() {
    for (file, rule) in
        [("SKILLBAG.md", "SB-01"), (".skills/SKILLS.md", "SB-01"), (RESERVED, "SB-17")]
    {
        let world = workspace();
        std::fs::remove_file(world.path("ws").join(file)).unwrap();
        let lines = findings(&world, "ws", &[]);
        assert!(lines.iter().any(|line| line.contains(rule)), "{file}: {lines:#?}");
    }
}

#[test]
fn sb_25_check_judges_a_source() {
    let world = empty();
    for (file, text, rule) in [
        ("AGENTS.md", Some("# SKILLBAG\n"), "SB-12"),
        (".skills/SKILLS.md", Some("z: gone\n"), "SB-02"),
        (".skills/SKILLS.md", None, "SB-12"),
        (".skills/a/SKILL.md", Some("---\nname: b\ndescription: B.\n---\n"), "SB-04"),
    ] {
        dir(&world, "src", &Bag::new(&["a"]));
        assert_eq!(findings(&world, "src", &[]), [""; 0], "{file}");
        dir(&world, "src", &Bag::new(&["a"]).with(file, text));
        let lines = findings(&world, "src", &[]);
        assert!(
            lines.iter().any(|line| line.contains(rule)),
            "{file}: {rule} is not in {lines:#?}"
        );
        world.sp_in("src", &["bag", "check"]).fails(1);
    }
}

#[test]
fn sb_25_fix_mends_what_is_mechanical_in_a_workspace() {
    let world = workspace();
    write(&world, "ws/.skills/a/SKILL.md", &skill("a", ""));
    bag(&world, &["sync"]).ok();
    let good = world.files("ws");
    type Damage = fn(&World);
    let breakings: [(&str, Damage); 5] = [
        ("catalog", |world| write(world, "ws/.skills/SKILLS.md", "z: gone\n")),
        ("no catalog", |world| std::fs::remove_file(world.path("ws/.skills/SKILLS.md")).unwrap()),
        ("no reserved skill", |world| {
            std::fs::remove_dir_all(world.path("ws/.skills/skillbag-get-skills")).unwrap();
        }),
        ("no .gitignore", |world| std::fs::remove_file(world.path("ws/.gitignore")).unwrap()),
        ("all of it", |world| {
            write(world, "ws/.skills/SKILLS.md", "# Skills\n");
            std::fs::remove_dir_all(world.path("ws/.skills/skillbag-get-skills")).unwrap();
            std::fs::remove_file(world.path("ws/.gitignore")).unwrap();
        }),
    ];
    for (what, damage) in breakings {
        damage(&world);
        let damaged = world.files("ws");
        bag(&world, &["check", "--fix", "--dry-run"]);
        assert_eq!(world.files("ws"), damaged, "{what}: a plan changes nothing");
        bag(&world, &["check", "--fix"]).ok();
        assert_eq!(world.files("ws"), good, "{what}");
        bag(&world, &["check"]).ok();
    }
}

#[test]
fn sb_25_fix_mends_the_catalog_of_a_source() {
    let world = empty();
    let good = Bag::new(&["a", "b"]);
    for catalog in [Some("b: Does b.\na: Else.\n"), Some(""), None] {
        dir(&world, "src", &good.clone().with(".skills/SKILLS.md", catalog));
        world.sp_in("src", &["bag", "check", "--fix"]).ok();
        assert_eq!(
            read(&world, "src/.skills/SKILLS.md"),
            "a: Does a.\nb: Does b.\n",
            "{catalog:?}"
        );
        assert!(!world.path("src/SKILLBAG.md").exists() && !world.path("src/.gitignore").exists());
    }
}

#[test]
fn sb_01_a_user_context_that_git_tracks_is_a_warning() {
    let world = empty();
    let repo = Repo::new(world.path("ws"));
    bag(&world, &["init"]).ok();
    write(&world, "ws/USER_CONTEXT.md", "# Me\n");
    assert_eq!(findings(&world, "ws", &[]), [""; 0], "there, and ignored");
    repo.git(&["add", "--force", "USER_CONTEXT.md"]);
    let run = bag(&world, &["check", "--format", "plain"]).ok();
    assert!(run.stdout.contains("USER_CONTEXT.md") && run.stdout.contains("SB-01"), "{run}");
    bag(&world, &["check", "--strict"]).fails(1);
    repo.git(&["rm", "--cached", "--quiet", "USER_CONTEXT.md"]);
    bag(&world, &["check", "--strict"]).ok();
}

#[test]
fn sb_01_a_newer_version_is_a_warning_and_the_newest_known_rules_apply() {
    let world = workspace();
    write(&world, "ws/SKILLBAG.md", "SkillBag v9.9.9\n");
    let lines = findings(&world, "ws", &[]);
    assert!(
        lines.iter().any(|line| line.contains("SB-01") && line.contains("newer")),
        "{lines:#?}"
    );
    bag(&world, &["check"]).ok();
    assert_eq!(json(&world, &["enter"])["version"], "9.9.9");
    let near = dir(&world, "near", &Bag::new(&["a"]));
    bag(&world, &["get", "a", "--source", &near]).ok();
    assert_eq!(read(&world, "ws/SKILLBAG.md"), "SkillBag v9.9.9\n");
}

#[test]
fn sb_25_check_finds_a_circle_of_dependencies() {
    let world = workspace();
    write(&world, "ws/.skills/a/SKILL.md", &skill("a", &needs(&["name: b"])));
    write(&world, "ws/.skills/b/SKILL.md", &skill("b", &needs(&["name: a"])));
    bag(&world, &["sync"]).ok();
    let lines = findings(&world, "ws", &[]);
    assert_eq!(lines.iter().filter(|line| line.contains("in turn")).count(), 2, "{lines:#?}");
}

#[test]
fn sb_01_root_names_the_workspace_from_anywhere() {
    let world = workspace();
    let (root, near) =
        (world.path("ws").display().to_string(), dir(&world, "near", &Bag::new(&["a"])));
    let runs: [&[&str]; 8] = [
        &["get", "a", "--source", &near],
        &["list"],
        &["enter"],
        &["deps"],
        &["run", "a"],
        &["params", "a"],
        &["check"],
        &["remove", "a"],
    ];
    let elsewhere = world.files("home/repo");
    for args in runs {
        let run = world.sp(&[&["bag"], args, &["--root", &root]].concat());
        assert_eq!(run.code, Some(0), "{args:?}: {run}");
        assert_eq!(world.files("home/repo"), elsewhere, "{args:?}");
    }
    assert_eq!(skills(&world), [""; 0]);
    write(&world, "ws/.skills/SKILLS.md", "");
    world.sp(&["bag", "check", "--root", &root]).fails(1);
    world.sp(&["bag", "check", "--fix", "--root", &root]).ok();
    in_step(&world, "mended");
}

#[test]
fn sb_17_the_reserved_skill_is_there_to_the_letter_and_is_put_back() {
    let world = workspace();
    let catalog = read(&world, "ws/.skills/SKILLS.md");
    assert_eq!(catalog, "skillbag-get-skills: Install one or more skills into .skills/.\n");
    let skill = read(&world, "ws/.skills/skillbag-get-skills/SKILL.md");
    assert!(skill.starts_with(
        "---\nname: skillbag-get-skills\ndescription: Install one or more skills into .skills/.\n"
    ));
    std::fs::remove_dir_all(world.path("ws/.skills/skillbag-get-skills")).unwrap();
    let run = bag(&world, &["check"]);
    assert!(run.code == Some(1) && run.stdout.contains("SB-17"), "{run}");
    bag(&world, &["check", "--fix"]).ok();
    let again = read(&world, "ws/.skills/skillbag-get-skills/SKILL.md");
    assert_eq!(again, skill);
}
