//! Installed skills: upgrades, edits, replacement, removal, and the catalog after each change.

use std::os::unix::fs::{PermissionsExt, symlink};

use super::*;

/// Returns a workspace with `review` from the directory `local`, which has a newer version now.
fn outdated_workspace() -> World {
    let world = workspace();
    let source = source_dir(&world, "local", &SourceFiles::new(&["other", "review"]));
    bag(&world, &["get", "review", "--source", &source]).ok();
    newer_source().write_to(&world.path("local"));
    world
}

fn newer_source() -> SourceFiles {
    SourceFiles::new(&["other"]).with_skill("review", "New.\n")
}

/// Whether `sp bag list` reports `review` as edited.
#[track_caller]
fn is_edited(world: &World) -> bool {
    let list = json(world, &["list"]);
    let review = list["skills"].as_array().unwrap().iter().find(|skill| skill["name"] == "review");
    review.unwrap_or_else(|| panic!("{list}"))["edited"].as_bool().unwrap()
}

/// Whether the trash contains a file with this text.
fn is_in_trash(world: &World, text: &str) -> bool {
    let files = world.files("home/.skillpack/trash");
    files.values().any(|entry| matches!(entry, FileEntry::File(content, _) if content == text))
}

#[test]
fn sb_18_installed_skill_changes_only_with_upgrade() {
    let world = outdated_workspace();
    let before = world.files("ws");
    let source = world.path("local").display().to_string();
    for args in [
        &["get", "review"][..],
        &["get", "review", "--source", &source],
        &["get", "review", "--replace"],
    ] {
        bag(&world, args).ok();
        assert_eq!(world.files("ws"), before, "{args:?}");
    }
    let plan = json(&world, &["get", "review", "--upgrade", "--dry-run"]);
    assert_eq!(
        (&plan["applied"], &plan["skills"][0]["action"]),
        (&false.into(), &"update".into()),
        "{plan}"
    );
    assert_eq!(world.files("ws"), before, "a dry run changes nothing");
    bag(&world, &["get", "review", "--upgrade"]).ok();
    assert_eq!(read(&world, "ws/.skills/review/SKILL.md"), skill("review", "New.\n"));
    assert!(!is_edited(&world));
    assert!(!is_in_trash(&world, &skill("review", "")), "an unedited skill is not kept");
    assert_consistent(&world, "upgraded");
    let after = world.files("ws");
    bag(&world, &["get", "review", "--upgrade"]).ok();
    assert_eq!(world.files("ws"), after, "the upgrade is idempotent");
}

#[test]
fn sb_18_upgrade_adds_new_files_and_removes_old_ones() {
    let world = outdated_workspace();
    let source = newer_source()
        .with_file(".skills/review/scripts/run.sh", None)
        .with_file(".skills/review/references/a.md", Some("a"));
    source.write_to(&world.path("local"));
    bag(&world, &["get", "review", "--upgrade"]).ok();
    let names: Vec<String> = world.files("ws/.skills/review").into_keys().collect();
    assert_eq!(names, ["SKILL.md", "references", "references/a.md"]);
    assert_consistent(&world, "upgraded");
}

#[test]
fn sb_18_upgrade_leaves_other_skills_unchanged() {
    let world = outdated_workspace();
    bag(&world, &["get", "other", "--source", &world.path("local").display().to_string()]).ok();
    SourceFiles::new(&[])
        .with_skill("other", "New.\n")
        .with_skill("review", "New.\n")
        .write_to(&world.path("local"));
    bag(&world, &["get", "review", "--upgrade"]).ok();
    assert_eq!(read(&world, "ws/.skills/other/SKILL.md"), skill("other", ""));
    assert_eq!(read(&world, "ws/.skills/review/SKILL.md"), skill("review", "New.\n"));
}

#[test]
fn sb_18_upgrade_without_names_upgrades_the_dependencies_of_the_context() {
    let world = outdated_workspace();
    let source = world.path("local").display().to_string();
    write(
        &world,
        "ws/CONTEXT.md",
        &dependency_section(&[&format!("name: review, version: '1', source: {source}")]),
    );
    bag(&world, &["get", "--upgrade"]).ok();
    assert_eq!(read(&world, "ws/.skills/review/SKILL.md"), skill("review", "New.\n"));
}

#[test]
fn sb_18_upgrade_follows_a_branch_but_not_a_tag() {
    let world = workspace();
    let repo = world.git("skills");
    SourceFiles::new(&["branch", "tag"]).write_to(repo.path());
    let first = repo.commit("one");
    repo.git(&["tag", "v1"]);
    bag(&world, &["get", "tag", "--source", &repo.url(), "--version", "v1"]).ok();
    bag(&world, &["get", "branch", "--source", &repo.url(), "--version", "main"]).ok();
    SourceFiles::new(&[])
        .with_skill("branch", "New.\n")
        .with_skill("tag", "New.\n")
        .write_to(repo.path());
    let second = repo.commit("two");
    bag(&world, &["get", "branch", "tag", "--upgrade"]).ok();
    assert_eq!(read(&world, "ws/.skills/branch/SKILL.md"), skill("branch", "New.\n"));
    assert_eq!(read(&world, "ws/.skills/tag/SKILL.md"), skill("tag", ""));
    let lock = lock(&world);
    assert_eq!(
        (&lock["skills"]["branch"]["commit"], &lock["skills"]["tag"]["commit"]),
        (&second.into(), &first.into())
    );
}

type Edit = fn(&Path);

/// Every way to edit a skill's folder.
const EDITS: [(&str, Edit); 9] = [
    ("content", |dir| std::fs::write(dir.join("SKILL.md"), skill("review", "By hand.\n")).unwrap()),
    ("mode", |dir| {
        std::fs::set_permissions(dir.join("scripts/run.sh"), PermissionsExt::from_mode(0o755))
            .unwrap();
    }),
    ("added file", |dir| std::fs::write(dir.join("mine.md"), "By hand.\n").unwrap()),
    ("added hidden file", |dir| std::fs::write(dir.join(".mine"), "By hand.\n").unwrap()),
    ("added folder", |dir| std::fs::create_dir(dir.join("assets")).unwrap()),
    ("removed file", |dir| std::fs::remove_file(dir.join("scripts/run.sh")).unwrap()),
    ("renamed file", |dir| {
        std::fs::rename(dir.join("scripts/run.sh"), dir.join("scripts/go.sh")).unwrap();
    }),
    ("file to link", |dir| {
        std::fs::rename(dir.join("scripts/run.sh"), dir.join("../../run.sh")).unwrap();
        symlink("../../../run.sh", dir.join("scripts/run.sh")).unwrap();
    }),
    ("file to FIFO", |dir| {
        std::fs::remove_file(dir.join("scripts/run.sh")).unwrap();
        make_fifo(&dir.join("scripts/run.sh"));
    }),
];

/// Checks that `sp bag` refuses to replace the edited skill `review`.
#[track_caller]
fn refuses_edited(world: &World, args: &[&str]) {
    let error = assert_refused(world, args, "E-edited-skill");
    assert!(error.message.contains("`review`") && error.hints_at("--replace"), "{error:#?}");
}

#[test]
fn sb_20_every_edit_is_detected_and_replaced_only_with_replace() {
    for (name, edit) in EDITS {
        let world = outdated_workspace();
        assert!(!is_edited(&world), "{name}: not edited yet");
        edit(&world.path("ws/.skills/review"));
        assert!(is_edited(&world), "{name}");
        let edited = world.files("ws/.skills/review");
        bag(&world, &["get", "review"]).ok();
        assert_eq!(world.files("ws/.skills/review"), edited, "{name}: without --upgrade");
        refuses_edited(&world, &["get", "review", "--upgrade"]);
        let source = world.path("local").display().to_string();
        refuses_edited(&world, &["get", "other", "review", "--upgrade", "--source", &source]);
        let run = bag(&world, &["get", "review", "--upgrade", "--replace"]).ok();
        assert!(run.stdout.contains("~/.skillpack/trash/"), "{name}: {run}");
        assert_eq!(read(&world, "ws/.skills/review/SKILL.md"), skill("review", "New.\n"), "{name}");
        let trash = world.files("home/.skillpack/trash");
        let path = trash
            .keys()
            .find(|name| name.ends_with("/SKILL.md"))
            .unwrap()
            .trim_end_matches("SKILL.md");
        let old = trash
            .iter()
            .filter_map(|(name, entry)| Some((name.strip_prefix(path)?.to_owned(), entry.clone())));
        assert_eq!(old.collect::<sp_testkit::FileMap>(), edited, "{name}: in the trash");
        assert!(!is_edited(&world), "{name}: replaced");
        assert_consistent(&world, name);
    }
}

#[test]
fn sb_20_skill_not_installed_by_sp_counts_as_edited() {
    let world = workspace();
    write(&world, "ws/.skills/review/SKILL.md", &skill("review", "Mine.\n"));
    bag(&world, &["sync"]).ok();
    let source = source_dir(&world, "local", &SourceFiles::new(&["review"]));
    assert!(is_edited(&world));
    bag(&world, &["get", "review", "--source", &source]).ok();
    assert_eq!(read(&world, "ws/.skills/review/SKILL.md"), skill("review", "Mine.\n"));
    refuses_edited(&world, &["get", "review", "--source", &source, "--upgrade"]);
    bag(&world, &["get", "review", "--source", &source, "--upgrade", "--replace"]).ok();
    assert_eq!(read(&world, "ws/.skills/review/SKILL.md"), skill("review", ""));
    assert!(is_in_trash(&world, &skill("review", "Mine.\n")));
    assert_consistent(&world, "replaced");
}

#[test]
fn sb_20_unrecorded_skill_with_the_same_content_needs_no_replace() {
    let world = workspace();
    let source = source_dir(&world, "local", &SourceFiles::new(&["review"]));
    bag(&world, &["get", "review", "--source", &source]).ok();
    std::fs::remove_file(world.path("ws/.skills/.skillbag.lock")).unwrap();
    assert!(is_edited(&world));
    bag(&world, &["get", "review", "--source", &source, "--upgrade"]).ok();
    assert!(!is_edited(&world));
    assert!(!is_in_trash(&world, &skill("review", "")));
}

#[test]
fn sb_20_anything_at_the_path_of_a_skill_needs_replace() {
    let cases: [(&str, Edit); 4] = [
        ("invalid skill", |path| {
            std::fs::create_dir(path).unwrap();
            std::fs::write(path.join("SKILL.md"), "Mine.\n").unwrap();
        }),
        ("folder without SKILL.md", |path| {
            std::fs::create_dir(path).unwrap();
            std::fs::write(path.join("notes.md"), "Mine.\n").unwrap();
        }),
        ("file", |path| std::fs::write(path, "Mine.\n").unwrap()),
        ("dangling link", |path| symlink("../nowhere", path).unwrap()),
    ];
    for (name, create) in cases {
        let world = workspace();
        let source = source_dir(&world, "local", &SourceFiles::new(&["review"]));
        create(&world.path("ws/.skills/review"));
        let args = ["get", "review", "--source", &source];
        refuses_edited(&world, &args);
        bag(&world, &[&args[..], &["--replace"]].concat()).ok();
        assert_eq!(read(&world, "ws/.skills/review/SKILL.md"), skill("review", ""), "{name}");
        assert!(name.contains("link") || is_in_trash(&world, "Mine.\n"), "{name}: kept");
        assert_consistent(&world, name);
    }
}

#[test]
fn sb_20_target_of_a_linked_skill_is_never_changed() {
    let world = workspace();
    let source = source_dir(&world, "local", &SourceFiles::new(&["review"]));
    write(&world, "mine/review/SKILL.md", &skill("review", "Mine.\n"));
    symlink(world.path("mine/review"), world.path("ws/.skills/review")).unwrap();
    let before = world.files("mine");
    bag(&world, &["sync"]).ok();
    refuses_edited(&world, &["get", "review", "--source", &source, "--upgrade"]);
    bag(&world, &["get", "review", "--source", &source, "--upgrade", "--replace"]).ok();
    assert_eq!(world.files("mine"), before);
    assert!(!world.path("ws/.skills/review").is_symlink());
    bag(&world, &["remove", "review"]).ok();
    symlink(world.path("mine/review"), world.path("ws/.skills/review")).unwrap();
    bag(&world, &["sync"]).ok();
    bag(&world, &["remove", "review"]).ok();
    assert_eq!(world.files("mine"), before);
    assert_consistent(&world, "removed");
}

#[test]
fn sb_20_invalid_or_newer_lock_is_an_error_and_never_overwritten() {
    let world = outdated_workspace();
    let path = world.path("ws/.skills/.skillbag.lock");
    let good = std::fs::read(&path).unwrap();
    let newer =
        String::from_utf8(good.clone()).unwrap().replace("\"version\": 1", "\"version\": 2");
    for (name, bytes) in [
        ("empty", &b""[..]),
        ("truncated", &good[..good.len() / 2]),
        ("garbage", b"\0\xff garbage"),
        ("another type", b"[]"),
        ("no version", b"{\"skills\": {}}"),
        ("newer", newer.as_bytes()),
    ] {
        std::fs::write(&path, bytes).unwrap();
        for args in [
            &["get", "review", "--upgrade"][..],
            &["get", "review", "--upgrade", "--replace"],
            &["remove", "review"],
            &["init"],
            &["sync"],
        ] {
            let error = assert_refused(&world, args, "E-invalid-workspace");
            assert!(error.message.contains(".skillbag.lock"), "{name}: {error:#?}");
        }
    }
    std::fs::write(&path, good).unwrap();
    bag(&world, &["get", "review", "--upgrade"]).ok();
}

#[test]
fn sb_20_lock_keeps_unknown_keys() {
    let world = outdated_workspace();
    let text = read(&world, "ws/.skills/.skillbag.lock").replacen('{', "{\"more\": [1],", 1);
    write(
        &world,
        "ws/.skills/.skillbag.lock",
        &text.replacen("\"source\"", "\"note\": \"x\", \"source\"", 1),
    );
    bag(&world, &["get", "review", "--upgrade"]).ok();
    let lock = lock(&world);
    assert_eq!(
        (&lock["more"][0], &lock["skills"]["review"]["note"]),
        (&1.into(), &"x".into()),
        "{lock}"
    );
}

#[test]
fn sb_21_catalog_is_regenerated_after_every_change() {
    let world = workspace();
    let folded = "---\nname: folded\ndescription: >\n  One,\n  and two.\n---\nDo.\n";
    let source = SourceFiles::new(&["b", "c"]).with_file(".skills/folded/SKILL.md", Some(folded));
    let catalog = "b: Does b.\nc: Does c.\nfolded: One, and two.\n";
    let source = source_dir(&world, "local", &source.with_file(".skills/SKILLS.md", Some(catalog)));
    bag(&world, &["get", "c", "--source", &source]).ok();
    assert_eq!(read(&world, "ws/.skills/SKILLS.md"), format!("c: Does c.\n{RESERVED_LINE}"));
    bag(&world, &["get", "b", "folded", "--source", &source]).ok();
    assert_eq!(read(&world, "ws/.skills/SKILLS.md"), format!("{catalog}{RESERVED_LINE}"));
    // A change regenerates the complete catalog, even if it was edited or removed.
    write(&world, "ws/.skills/SKILLS.md", "# Mine\nz: gone\n");
    bag(&world, &["remove", "c"]).ok();
    assert_eq!(
        read(&world, "ws/.skills/SKILLS.md"),
        format!("b: Does b.\nfolded: One, and two.\n{RESERVED_LINE}")
    );
    std::fs::remove_file(world.path("ws/.skills/SKILLS.md")).unwrap();
    bag(&world, &["remove", "folded"]).ok();
    assert_eq!(read(&world, "ws/.skills/SKILLS.md"), format!("b: Does b.\n{RESERVED_LINE}"));
    assert_consistent(&world, "removed");
}

#[test]
fn sb_21_sync_writes_only_the_catalog() {
    let world = outdated_workspace();
    let before = world.files("ws");
    for damage in
        ["", "review: Else.\n", "z: gone\n# x\n", &format!("{RESERVED_LINE}review: Does review.\n")]
    {
        write(&world, "ws/.skills/SKILLS.md", damage);
        let plan = json(&world, &["sync", "--dry-run"]);
        assert_eq!(
            (&plan["applied"], &plan["catalog_changed"]),
            (&false.into(), &true.into()),
            "{damage}"
        );
        assert_eq!(read(&world, "ws/.skills/SKILLS.md"), damage);
        assert_eq!(json(&world, &["sync"])["catalog_changed"], true, "{damage}");
        assert_eq!(world.files("ws"), before, "{damage}");
    }
    assert_eq!(json(&world, &["sync"])["catalog_changed"], false);
    write(&world, "ws/.skills/broken/SKILL.md", "---\nname: broken\n---\n");
    let error = assert_refused(&world, &["sync"], "AS-02");
    assert_eq!(error.findings[0].file, ".skills/broken/SKILL.md");
}

#[test]
fn sb_21_remove_deletes_skill_lock_entry_and_catalog_line() {
    let world = outdated_workspace();
    let source = world.path("local").display().to_string();
    bag(&world, &["get", "other", "--source", &source]).ok();
    let before = world.files("ws");
    bag(&world, &["remove", "review", "--dry-run"]).ok();
    assert_eq!(world.files("ws"), before, "a dry run changes nothing");
    bag(&world, &["remove", "review"]).ok();
    assert_eq!(skill_names(&world), ["other"]);
    assert_eq!(lock(&world)["skills"].get("review"), None);
    assert_eq!(
        read(&world, "ws/.skills/SKILLS.md"),
        format!("other: Does other.\n{RESERVED_LINE}")
    );
    assert_consistent(&world, "removed");
    for name in ["review", "..", ".", "../local", "SKILLS.md", ".skillbag.lock", "Other"] {
        assert_refused(&world, &["remove", "other", name], "E-skill-not-found");
    }
    assert_refused(&world, &["remove", "skillbag-get-skills"], "E-reserved-name");
}

#[test]
fn sb_21_remove_rejects_an_empty_name() {
    let world = outdated_workspace();
    assert_refused(&world, &["remove", "review", ""], "E-skill-not-found");
}

#[test]
fn sb_21_remove_accepts_a_duplicate_name() {
    let world = outdated_workspace();
    bag(&world, &["remove", "review", "review"]).ok();
    assert_eq!(skill_names(&world), [""; 0]);
    assert_consistent(&world, "removed");
}

#[test]
fn sb_20_remove_moves_edited_skills_to_the_trash() {
    let world = outdated_workspace();
    write(&world, "ws/.skills/review/mine.md", "By hand.\n");
    write(&world, "ws/.skills/own/SKILL.md", &skill("own", "Mine.\n"));
    let run = bag(&world, &["remove", "review", "own"]).ok();
    assert!(
        is_in_trash(&world, "By hand.\n") && is_in_trash(&world, &skill("own", "Mine.\n")),
        "{run}"
    );
    assert_eq!(run.stdout.matches("~/.skillpack/trash/").count(), 2, "{run}");
    assert_consistent(&world, "removed");
}

#[test]
fn sb_21_required_skill_is_removed_only_with_its_dependents() {
    let world = workspace();
    write(
        &world,
        "ws/.skills/a/SKILL.md",
        &skill("a", &dependency_section(&["name: b", "name: c, required: false"])),
    );
    for name in ["b", "c"] {
        write(&world, &format!("ws/.skills/{name}/SKILL.md"), &skill(name, ""));
    }
    bag(&world, &["sync"]).ok();
    let error = assert_refused(&world, &["remove", "b"], "E-still-required");
    assert!(error.message.contains("`b`") && error.message.contains("`a`"), "{error:#?}");
    bag(&world, &["remove", "c"]).ok();
    bag(&world, &["remove", "b", "a"]).ok();
    assert_eq!(skill_names(&world), [""; 0]);
    assert_consistent(&world, "removed");
}

#[test]
fn sb_20_upgrade_of_a_dependency_uses_its_recorded_source() {
    let world = workspace();
    let a = source_dir(
        &world,
        "src/a",
        &SourceFiles::new(&[]).with_skill("a", &dependency_section(&["name: b, source: ../b"])),
    );
    source_dir(&world, "src/b", &SourceFiles::new(&["b"]));
    bag(&world, &["get", "a", "--source", &a]).ok();
    // Relative to the workspace, `../b` is another directory.
    source_dir(&world, "b", &SourceFiles::new(&[]).with_skill("b", "Wrong.\n"));
    SourceFiles::new(&[]).with_skill("b", "New.\n").write_to(&world.path("src/b"));
    bag(&world, &["get", "b", "--upgrade"]).ok();
    assert_eq!(read(&world, "ws/.skills/b/SKILL.md"), skill("b", "New.\n"));
}
