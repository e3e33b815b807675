//! `sp bag init`, `sp bag source init` and `sp bag check`.

use super::*;

const RESERVED: &str = ".skills/skillbag-get-skills/SKILL.md";

/// Returns a world with an empty directory `ws`.
fn empty_dir() -> World {
    let world = world!();
    std::fs::create_dir(world.path("ws")).unwrap();
    world
}

/// Returns the files of the workspace without directories.
fn file_names(world: &World) -> Vec<String> {
    world
        .files("ws")
        .into_iter()
        .filter(|(_, entry)| *entry != FileEntry::Dir)
        .map(|(name, _)| name)
        .collect()
}

#[test]
fn sb_01_init_creates_a_workspace_without_context_files() {
    let world = empty_dir();
    bag(&world, &["init"]).ok();
    assert_eq!(
        file_names(&world),
        [".gitignore", ".skills/.skillbag.lock", ".skills/SKILLS.md", RESERVED, "SKILLBAG.md"]
    );
    assert_eq!(read(&world, "ws/.skills/SKILLS.md"), RESERVED_LINE, "SB-17");
    assert_eq!(read(&world, "ws/.gitignore"), "USER_CONTEXT.md\n");
    assert!(read(&world, "ws/SKILLBAG.md").starts_with("SkillBag v0.3.0\n"));
    bag(&world, &["check"]).ok();
    let before = world.files("ws");
    bag(&world, &["init"]).ok();
    assert_eq!(world.files("ws"), before, "init is idempotent");
}

#[test]
fn sb_01_init_creates_the_named_directory() {
    let world = empty_dir();
    let report = json(&world, &["init", "deep/er"]);
    assert!(world.path("ws/deep/er/SKILLBAG.md").is_file(), "{report}");
    assert_eq!(report["files"], serde_json::json!(["SKILLBAG.md", ".gitignore"]));
    // Commands use the nearest workspace upward.
    std::fs::create_dir_all(world.path("ws/deep/er/src/x")).unwrap();
    world.sp_in("ws/deep/er/src/x", &["bag", "list"]).ok();
    assert_eq!(bag_error(&world, &["list"]).code, "E-workspace-not-found");
}

#[test]
fn sb_01_init_keeps_existing_files() {
    let world = empty_dir();
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
    expected.insert(
        ".gitignore".into(),
        FileEntry::File("target\n*.log\nUSER_CONTEXT.md\n".into(), false),
    );
    for (path, entry) in &expected {
        assert_eq!(after.get(path), Some(entry), "{path}");
    }
    assert_eq!(read(&world, "ws/.skills/SKILLS.md"), format!("own: Does own.\n{RESERVED_LINE}"));
    for ignored in ["/USER_CONTEXT.md\n", "x\nUSER_CONTEXT.md\n", "USER_CONTEXT.md"] {
        write(&world, "ws/.gitignore", ignored);
        bag(&world, &["init"]).ok();
        assert_eq!(read(&world, "ws/.gitignore"), ignored);
    }
}

#[test]
fn sb_01_init_accepts_another_entrypoint_text() {
    let world = empty_dir();
    let text = "SkillBag v0.1.0\n\nOther words.\n";
    write(&world, "entry.md", text);
    bag(&world, &["init", "--entrypoint", "../entry.md"]).ok();
    assert_eq!(read(&world, "ws/SKILLBAG.md"), text);
    let world = empty_dir();
    assert_refused(&world, &["init", "--entrypoint", "nowhere.md"], "E-file-not-found");
    assert_eq!(file_names(&world), [""; 0]);
}

#[test]
fn sb_01_failed_init_creates_no_directory() {
    let world = empty_dir();
    let args = ["init", "new/er", "--entrypoint", "nowhere.md"];
    assert_refused(&world, &args, "E-file-not-found");
}

#[test]
fn sb_01_entrypoint_without_a_version_is_rejected() {
    let world = empty_dir();
    write(&world, "entry.md", "# Hello\n");
    let error = assert_refused(&world, &["init", "--entrypoint", "../entry.md"], "SB-01");
    assert_eq!((error.findings[0].file.as_str(), error.findings[0].line), ("../entry.md", 1));
    assert_eq!(file_names(&world), [""; 0]);
}

#[test]
fn sb_10_init_installs_the_dependencies_of_the_context() {
    let world = empty_dir();
    let a = source_dir(&world, "a", &SourceFiles::new(&["a"]));
    let b = source_dir(&world, "b", &SourceFiles::new(&["b"]));
    write(
        &world,
        "ws/CONTEXT.md",
        &dependency_section(&[
            &format!("name: a, version: '1', source: {a}"),
            &format!("name: b, version: '1', source: {b}"),
        ]),
    );
    bag(&world, &["init"]).ok();
    assert_eq!(skill_names(&world), ["a", "b"]);
    assert_consistent(&world, "init");
    bag(&world, &["check"]).ok();
}

#[test]
fn sb_19_failed_init_leaves_no_files() {
    let world = empty_dir();
    let a = source_dir(&world, "a", &SourceFiles::new(&["a"]));
    let entries = [
        format!("name: a, version: '1', source: {a}"),
        "name: b, version: '1', source: ../nowhere".into(),
    ];
    write(&world, "ws/CONTEXT.md", &dependency_section(&[&entries[0], &entries[1]]));
    let error = assert_refused(&world, &["init"], "E-source-not-found");
    assert!(error.message.contains("nowhere"), "{error:#?}");
    assert_eq!(file_names(&world), ["CONTEXT.md"]);
}

#[test]
fn sb_12_source_init_creates_an_installable_source() {
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
    assert_eq!(world.files("src"), before, "source init is idempotent");
}

#[test]
fn sb_12_source_init_keeps_the_text_of_agents_md() {
    let world = empty_dir();
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

/// Returns the findings of `sp bag check` without their messages, such as
/// `CONTEXT.md:4:1: error[SB-07]`.
fn findings(world: &World, dir: &str) -> Vec<String> {
    let run = world.sp_in(dir, &["bag", "check", "--format", "plain"]);
    run.stdout.lines().map(|line| line.split_once("] ").unwrap().0.to_owned() + "]").collect()
}

#[test]
fn sb_25_check_reports_each_broken_rule_with_its_position() {
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
    for (file, text, rule, position) in cases {
        let world = workspace();
        write(&world, "ws/.skills/a/SKILL.md", &skill("a", ""));
        bag(&world, &["sync"]).ok();
        assert_eq!(findings(&world, "ws"), [""; 0], "{rule}: not broken yet");
        write(&world, &format!("ws/{file}"), text);
        let lines = findings(&world, "ws");
        assert!(
            lines.iter().any(|line| line.starts_with(position) && line.contains(rule)),
            "{rule} at {position}: {lines:#?}"
        );
        bag(&world, &["check"]).fails(1);
    }
}

#[test]
fn sb_25_check_reports_missing_files() {
    for (file, rule) in
        [("SKILLBAG.md", "SB-01"), (".skills/SKILLS.md", "SB-01"), (RESERVED, "SB-17")]
    {
        let world = workspace();
        std::fs::remove_file(world.path("ws").join(file)).unwrap();
        let lines = findings(&world, "ws");
        assert!(lines.iter().any(|line| line.contains(rule)), "{file}: {lines:#?}");
    }
}

#[test]
fn sb_25_check_reports_invalid_sources() {
    let world = empty_dir();
    for (file, text, rule) in [
        ("AGENTS.md", Some("# SKILLBAG\n"), "SB-12"),
        (".skills/SKILLS.md", Some("z: gone\n"), "SB-02"),
        (".skills/SKILLS.md", None, "SB-12"),
        (".skills/a/SKILL.md", Some("---\nname: b\ndescription: B.\n---\n"), "SB-04"),
    ] {
        source_dir(&world, "src", &SourceFiles::new(&["a"]));
        assert_eq!(findings(&world, "src"), [""; 0], "{file}");
        source_dir(&world, "src", &SourceFiles::new(&["a"]).with_file(file, text));
        let lines = findings(&world, "src");
        assert!(lines.iter().any(|line| line.contains(rule)), "{file}: no {rule} in {lines:#?}");
        world.sp_in("src", &["bag", "check"]).fails(1);
    }
}

#[test]
fn sb_25_fix_restores_generated_files_of_a_workspace() {
    let world = workspace();
    write(&world, "ws/.skills/a/SKILL.md", &skill("a", ""));
    bag(&world, &["sync"]).ok();
    let good = world.files("ws");
    type Damage = fn(&World);
    let damages: [(&str, Damage); 5] = [
        ("catalog", |world| write(world, "ws/.skills/SKILLS.md", "z: gone\n")),
        ("no catalog", |world| std::fs::remove_file(world.path("ws/.skills/SKILLS.md")).unwrap()),
        ("no reserved skill", |world| {
            std::fs::remove_dir_all(world.path("ws/.skills/skillbag-get-skills")).unwrap();
        }),
        ("no .gitignore", |world| std::fs::remove_file(world.path("ws/.gitignore")).unwrap()),
        ("everything", |world| {
            write(world, "ws/.skills/SKILLS.md", "# Skills\n");
            std::fs::remove_dir_all(world.path("ws/.skills/skillbag-get-skills")).unwrap();
            std::fs::remove_file(world.path("ws/.gitignore")).unwrap();
        }),
    ];
    for (name, damage) in damages {
        damage(&world);
        let damaged = world.files("ws");
        bag(&world, &["check", "--fix", "--dry-run"]);
        assert_eq!(world.files("ws"), damaged, "{name}: a dry run changes nothing");
        bag(&world, &["check", "--fix"]).ok();
        assert_eq!(world.files("ws"), good, "{name}");
        bag(&world, &["check"]).ok();
    }
}

#[test]
fn sb_25_fix_regenerates_the_catalog_of_a_source() {
    let world = empty_dir();
    let good = SourceFiles::new(&["a", "b"]);
    for catalog in [Some("b: Does b.\na: Else.\n"), Some(""), None] {
        source_dir(&world, "src", &good.clone().with_file(".skills/SKILLS.md", catalog));
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
fn sb_01_user_context_tracked_by_git_is_a_warning() {
    let world = empty_dir();
    let repo = GitRepository::new(world.path("ws"));
    bag(&world, &["init"]).ok();
    write(&world, "ws/USER_CONTEXT.md", "# Me\n");
    assert_eq!(findings(&world, "ws"), [""; 0], "ignored by git");
    repo.git(&["add", "--force", "USER_CONTEXT.md"]);
    assert_eq!(findings(&world, "ws"), ["USER_CONTEXT.md:1:1: warning[SB-01]"]);
    bag(&world, &["check"]).ok();
    bag(&world, &["check", "--strict"]).fails(1);
    repo.git(&["rm", "--cached", "--quiet", "USER_CONTEXT.md"]);
    bag(&world, &["check", "--strict"]).ok();
}

#[test]
fn sb_01_newer_version_is_a_warning_and_the_known_rules_apply() {
    let world = workspace();
    write(&world, "ws/SKILLBAG.md", "SkillBag v9.9.9\n");
    assert_eq!(findings(&world, "ws"), ["SKILLBAG.md:1:1: warning[SB-01]"]);
    bag(&world, &["check"]).ok();
    assert_eq!(json(&world, &["enter"])["version"], "9.9.9");
    let source = source_dir(&world, "local", &SourceFiles::new(&["a"]));
    bag(&world, &["get", "a", "--source", &source]).ok();
    assert_eq!(read(&world, "ws/SKILLBAG.md"), "SkillBag v9.9.9\n");
}

#[test]
fn sb_25_check_reports_dependency_cycles() {
    let world = workspace();
    write(&world, "ws/.skills/a/SKILL.md", &skill("a", &dependency_section(&["name: b"])));
    write(&world, "ws/.skills/b/SKILL.md", &skill("b", &dependency_section(&["name: a"])));
    bag(&world, &["sync"]).ok();
    assert_eq!(
        findings(&world, "ws"),
        [".skills/a/SKILL.md:12:5: error[SB-11]", ".skills/b/SKILL.md:12:5: error[SB-11]"]
    );
}

#[test]
fn sb_01_root_option_selects_the_workspace() {
    let world = workspace();
    let root = world.path("ws").display().to_string();
    let source = source_dir(&world, "local", &SourceFiles::new(&["a"]));
    let commands: [&[&str]; 8] = [
        &["get", "a", "--source", &source],
        &["list"],
        &["enter"],
        &["deps"],
        &["run", "a"],
        &["params", "a"],
        &["check"],
        &["remove", "a"],
    ];
    let elsewhere = world.files("home/repo");
    for args in commands {
        let run = world.sp(&[&["bag"], args, &["--root", &root]].concat());
        assert_eq!(run.code, Some(0), "{args:?}: {run}");
        assert_eq!(world.files("home/repo"), elsewhere, "{args:?}");
    }
    assert_eq!(skill_names(&world), [""; 0]);
    write(&world, "ws/.skills/SKILLS.md", "");
    world.sp(&["bag", "check", "--root", &root]).fails(1);
    world.sp(&["bag", "check", "--fix", "--root", &root]).ok();
    assert_consistent(&world, "fixed");
}

#[test]
fn sb_17_reserved_skill_is_exact_and_fix_restores_it() {
    let world = workspace();
    assert_eq!(read(&world, "ws/.skills/SKILLS.md"), RESERVED_LINE);
    let skill = read(&world, &format!("ws/{RESERVED}"));
    assert!(skill.starts_with(
        "---\nname: skillbag-get-skills\ndescription: Install one or more skills into .skills/.\n"
    ));
    std::fs::remove_dir_all(world.path("ws/.skills/skillbag-get-skills")).unwrap();
    bag(&world, &["check"]).fails(1);
    let lines = findings(&world, "ws");
    assert!(lines.iter().any(|line| line.ends_with("error[SB-17]")), "{lines:#?}");
    bag(&world, &["check", "--fix"]).ok();
    assert_eq!(read(&world, &format!("ws/{RESERVED}")), skill);
}
