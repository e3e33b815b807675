//! What is here stays: lazy installing, edits, replacing, removing, and the catalog after each
//! change.

use std::os::unix::fs::{PermissionsExt, symlink};

use super::*;

/// A workspace with `review` from the directory `near`, which has a newer one since.
fn outdated() -> World {
    let world = workspace();
    let source = dir(&world, "near", &Bag::new(&["other", "review"]));
    bag(&world, &["get", "review", "--source", &source]).ok();
    newer().put(&world.path("near"));
    world
}

fn newer() -> Bag {
    Bag::new(&["other"]).skill("review", "New.\n")
}

#[track_caller]
fn is_edited(world: &World, what: &str) -> bool {
    let list = json(world, &["list"]);
    let item =
        list["skills"].as_array().unwrap().iter().find(|skill| skill["name"] == "review").cloned();
    item.unwrap_or_else(|| panic!("{what}: {list}"))["edited"].as_bool().unwrap()
}

/// Whether the trash holds a file with this text.
fn kept(world: &World, text: &str) -> bool {
    let files = world.files("home/.skillpack/trash");
    files.values().any(|entry| matches!(entry, Entry::File(content, _) if content == text))
}

#[test]
fn sb_18_a_skill_that_is_here_stays_until_an_upgrade_is_asked_for() {
    let world = outdated();
    let before = world.files("ws");
    let near = world.path("near").display().to_string();
    for args in [
        &["get", "review"][..],
        &["get", "review", "--source", &near],
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
    assert_eq!(world.files("ws"), before, "a plan changes nothing");
    bag(&world, &["get", "review", "--upgrade"]).ok();
    assert_eq!(read(&world, "ws/.skills/review/SKILL.md"), skill("review", "New.\n"));
    assert!(!is_edited(&world, "upgraded"));
    assert!(!kept(&world, &skill("review", "")), "what was not edited need not be kept");
    in_step(&world, "upgraded");
    let after = world.files("ws");
    bag(&world, &["get", "review", "--upgrade"]).ok();
    assert_eq!(world.files("ws"), after, "a second time changes nothing");
}

#[test]
fn sb_18_an_upgrade_brings_other_files_and_takes_old_ones_away() {
    let world = outdated();
    let source = newer()
        .with(".skills/review/scripts/run.sh", None)
        .with(".skills/review/references/a.md", Some("a"));
    source.put(&world.path("near"));
    bag(&world, &["get", "review", "--upgrade"]).ok();
    let names: Vec<String> = world.files("ws/.skills/review").into_keys().collect();
    assert_eq!(names, ["SKILL.md", "references", "references/a.md"]);
    in_step(&world, "upgraded");
}

#[test]
fn sb_18_an_upgrade_leaves_other_skills_as_they_are() {
    let world = outdated();
    bag(&world, &["get", "other", "--source", &world.path("near").display().to_string()]).ok();
    Bag::new(&[]).skill("other", "New.\n").skill("review", "New.\n").put(&world.path("near"));
    bag(&world, &["get", "review", "--upgrade"]).ok();
    assert_eq!(read(&world, "ws/.skills/other/SKILL.md"), skill("other", ""));
    assert_eq!(read(&world, "ws/.skills/review/SKILL.md"), skill("review", "New.\n"));
}

#[test]
fn sb_18_an_upgrade_without_names_renews_what_the_context_declares() {
    let world = outdated();
    let near = world.path("near").display().to_string();
    write(
        &world,
        "ws/CONTEXT.md",
        &needs(&[&format!("name: review, version: '1', source: {near}")]),
    );
    bag(&world, &["get", "--upgrade"]).ok();
    assert_eq!(read(&world, "ws/.skills/review/SKILL.md"), skill("review", "New.\n"));
}

#[test]
fn sb_18_an_upgrade_follows_the_branch_and_stays_at_the_tag() {
    let world = workspace();
    let repo = world.git("skills");
    Bag::new(&["branch", "tag"]).put(repo.path());
    let first = repo.commit("one");
    repo.git(&["tag", "v1"]);
    bag(&world, &["get", "tag", "--source", &repo.url(), "--version", "v1"]).ok();
    bag(&world, &["get", "branch", "--source", &repo.url(), "--version", "main"]).ok();
    Bag::new(&[]).skill("branch", "New.\n").skill("tag", "New.\n").put(repo.path());
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

type Touch = fn(&Path);

/// Every way of touching a skill's folder.
const TOUCHES: [(&str, Touch); 9] = [
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
        let path = dir.join("scripts/run.sh");
        assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
    }),
];

#[test]
fn sb_20_every_way_of_touching_a_skill_is_noticed_and_replaced_only_when_asked() {
    for (what, touch) in TOUCHES {
        let world = outdated();
        assert!(!is_edited(&world, what), "{what}: before");
        touch(&world.path("ws/.skills/review"));
        assert!(is_edited(&world, what), "{what}");
        let touched = world.files("ws/.skills/review");
        bag(&world, &["get", "review"]).ok();
        assert_eq!(world.files("ws/.skills/review"), touched, "{what}: lazy");
        let run = refused(&world, &["get", "review", "--upgrade"], 4, "`review` was edited here");
        assert!(run.stderr.contains("--replace"), "{what}: {run}");
        refused(
            &world,
            &[
                "get",
                "other",
                "review",
                "--upgrade",
                "--source",
                &world.path("near").display().to_string(),
            ],
            4,
            "`review`",
        );
        let run = bag(&world, &["get", "review", "--upgrade", "--replace"]).ok();
        assert!(
            run.stdout.contains("kept the old `review` in ~/.skillpack/trash/"),
            "{what}: {run}"
        );
        assert_eq!(read(&world, "ws/.skills/review/SKILL.md"), skill("review", "New.\n"), "{what}");
        let trash = world.files("home/.skillpack/trash");
        let path = trash
            .keys()
            .find(|name| name.ends_with("/SKILL.md"))
            .unwrap()
            .trim_end_matches("SKILL.md");
        let old = trash
            .iter()
            .filter_map(|(name, entry)| Some((name.strip_prefix(path)?.to_owned(), entry.clone())));
        assert_eq!(old.collect::<sp_testkit::Files>(), touched, "{what}: in the trash");
        assert!(!is_edited(&world, what), "{what}: after");
        in_step(&world, what);
    }
}

#[test]
fn sb_20_a_skill_that_was_never_installed_is_the_users_own() {
    let world = workspace();
    write(&world, "ws/.skills/review/SKILL.md", &skill("review", "Mine.\n"));
    bag(&world, &["sync"]).ok();
    let near = dir(&world, "near", &Bag::new(&["review"]));
    assert!(is_edited(&world, "own"));
    bag(&world, &["get", "review", "--source", &near]).ok();
    assert_eq!(read(&world, "ws/.skills/review/SKILL.md"), skill("review", "Mine.\n"), "lazy");
    refused(&world, &["get", "review", "--source", &near, "--upgrade"], 4, "`review`");
    bag(&world, &["get", "review", "--source", &near, "--upgrade", "--replace"]).ok();
    assert_eq!(read(&world, "ws/.skills/review/SKILL.md"), skill("review", ""));
    assert!(kept(&world, &skill("review", "Mine.\n")));
    in_step(&world, "replaced");
}

#[test]
fn sb_20_an_own_skill_that_is_just_what_would_come_needs_no_replacing() {
    let world = workspace();
    let near = dir(&world, "near", &Bag::new(&["review"]));
    bag(&world, &["get", "review", "--source", &near]).ok();
    std::fs::remove_file(world.path("ws/.skills/.skillbag.lock")).unwrap();
    assert!(is_edited(&world, "no lock"));
    bag(&world, &["get", "review", "--source", &near, "--upgrade"]).ok();
    assert!(!is_edited(&world, "recorded again"));
    assert!(!kept(&world, &skill("review", "")));
}

#[test]
fn sb_20_a_broken_skill_a_file_and_a_link_at_the_place_are_the_users_own_too() {
    let own: [(&str, Touch); 4] = [
        ("broken", |place| {
            std::fs::create_dir(place).unwrap();
            std::fs::write(place.join("SKILL.md"), "Mine.\n").unwrap();
        }),
        ("no skill", |place| {
            std::fs::create_dir(place).unwrap();
            std::fs::write(place.join("notes.md"), "Mine.\n").unwrap();
        }),
        ("a file", |place| std::fs::write(place, "Mine.\n").unwrap()),
        ("a dangling link", |place| symlink("../nowhere", place).unwrap()),
    ];
    for (what, make) in own {
        let world = workspace();
        let near = dir(&world, "near", &Bag::new(&["review"]));
        make(&world.path("ws/.skills/review"));
        let args = ["get", "review", "--source", &near];
        refused(&world, &args, 4, "`review`");
        bag(&world, &[&args[..], &["--replace"]].concat()).ok();
        assert_eq!(read(&world, "ws/.skills/review/SKILL.md"), skill("review", ""), "{what}");
        assert!(what.contains("link") || kept(&world, "Mine.\n"), "{what}: kept");
        in_step(&world, what);
    }
}

#[test]
fn sb_20_what_a_linked_skill_leads_to_is_never_touched() {
    let world = workspace();
    let near = dir(&world, "near", &Bag::new(&["review"]));
    write(&world, "mine/review/SKILL.md", &skill("review", "Mine.\n"));
    symlink(world.path("mine/review"), world.path("ws/.skills/review")).unwrap();
    let before = world.files("mine");
    bag(&world, &["sync"]).ok();
    refused(&world, &["get", "review", "--source", &near, "--upgrade"], 4, "`review`");
    bag(&world, &["get", "review", "--source", &near, "--upgrade", "--replace"]).ok();
    assert_eq!(world.files("mine"), before);
    assert!(!world.path("ws/.skills/review").is_symlink());
    bag(&world, &["remove", "review"]).ok();
    symlink(world.path("mine/review"), world.path("ws/.skills/review")).unwrap();
    bag(&world, &["sync"]).ok();
    bag(&world, &["remove", "review"]).ok();
    assert_eq!(world.files("mine"), before);
    in_step(&world, "removed");
}

#[test]
fn sb_20_a_lock_that_is_damaged_or_newer_stops_everything_and_is_not_overwritten() {
    let world = outdated();
    let path = world.path("ws/.skills/.skillbag.lock");
    let good = std::fs::read(&path).unwrap();
    let newer =
        String::from_utf8(good.clone()).unwrap().replace("\"version\": 1", "\"version\": 2");
    for (what, bytes) in [
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
            let run = refused(&world, args, 3, ".skillbag.lock");
            assert!(run.stderr.contains("hint:"), "{what}: {run}");
        }
    }
    std::fs::write(&path, good).unwrap();
    bag(&world, &["get", "review", "--upgrade"]).ok();
}

#[test]
fn sb_20_the_lock_keeps_what_others_wrote() {
    let world = outdated();
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
fn sb_21_the_catalog_is_written_after_every_change() {
    let world = workspace();
    let folded = "---\nname: folded\ndescription: >\n  One,\n  and two.\n---\nDo.\n";
    let source = Bag::new(&["b", "c"]).with(".skills/folded/SKILL.md", Some(folded));
    let catalog = "b: Does b.\nc: Does c.\nfolded: One, and two.\n";
    let near = dir(&world, "near", &source.with(".skills/SKILLS.md", Some(catalog)));
    bag(&world, &["get", "c", "--source", &near]).ok();
    assert_eq!(read(&world, "ws/.skills/SKILLS.md"), format!("c: Does c.\n{BOOTSTRAP}"));
    bag(&world, &["get", "b", "folded", "--source", &near]).ok();
    assert_eq!(read(&world, "ws/.skills/SKILLS.md"), format!("{catalog}{BOOTSTRAP}"));
    // Whatever became of it meanwhile, a change writes it whole.
    write(&world, "ws/.skills/SKILLS.md", "# Mine\nz: gone\n");
    bag(&world, &["remove", "c"]).ok();
    assert_eq!(
        read(&world, "ws/.skills/SKILLS.md"),
        format!("b: Does b.\nfolded: One, and two.\n{BOOTSTRAP}")
    );
    std::fs::remove_file(world.path("ws/.skills/SKILLS.md")).unwrap();
    bag(&world, &["remove", "folded"]).ok();
    assert_eq!(read(&world, "ws/.skills/SKILLS.md"), format!("b: Does b.\n{BOOTSTRAP}"));
    in_step(&world, "removed");
}

#[test]
fn sb_21_sync_writes_the_catalog_and_nothing_else() {
    let world = outdated();
    let before = world.files("ws");
    for damage in
        ["", "review: Else.\n", "z: gone\n# x\n", &format!("{BOOTSTRAP}review: Does review.\n")]
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
    refused(&world, &["sync"], 3, "not every folder below `.skills/` is a skill");
}

#[test]
fn sb_21_remove_takes_skills_their_records_and_their_lines() {
    let world = outdated();
    let near = world.path("near").display().to_string();
    bag(&world, &["get", "other", "--source", &near]).ok();
    let before = world.files("ws");
    bag(&world, &["remove", "review", "--dry-run"]).ok();
    assert_eq!(world.files("ws"), before, "a plan changes nothing");
    bag(&world, &["remove", "review"]).ok();
    assert_eq!(skills(&world), ["other"]);
    assert_eq!(lock(&world)["skills"].get("review"), None);
    assert_eq!(read(&world, "ws/.skills/SKILLS.md"), format!("other: Does other.\n{BOOTSTRAP}"));
    in_step(&world, "removed");
    for name in ["review", "..", ".", "../near", "SKILLS.md", ".skillbag.lock", "Other"] {
        refused(&world, &["remove", "other", name], 1, "there is no skill called");
    }
    refused(&world, &["remove", "skillbag-get-skills"], 1, "is reserved");
}

#[test]
fn sb_21_an_empty_name_is_no_skill() {
    let world = outdated();
    refused(&world, &["remove", "review", ""], 1, "there is no skill called");
}

#[test]
fn sb_21_remove_takes_a_name_that_is_given_twice_as_one() {
    let world = outdated();
    bag(&world, &["remove", "review", "review"]).ok();
    assert_eq!(skills(&world), [""; 0]);
    in_step(&world, "removed");
}

#[test]
fn sb_20_remove_keeps_what_was_edited_or_the_users_own() {
    let world = outdated();
    write(&world, "ws/.skills/review/mine.md", "By hand.\n");
    write(&world, "ws/.skills/own/SKILL.md", &skill("own", "Mine.\n"));
    let run = bag(&world, &["remove", "review", "own"]).ok();
    assert!(kept(&world, "By hand.\n") && kept(&world, &skill("own", "Mine.\n")), "{run}");
    assert_eq!(run.stdout.matches("kept the old").count(), 2, "{run}");
    in_step(&world, "removed");
}

#[test]
fn sb_21_what_another_skill_needs_goes_only_with_it() {
    let world = workspace();
    write(
        &world,
        "ws/.skills/a/SKILL.md",
        &skill("a", &needs(&["name: b", "name: c, required: false"])),
    );
    ["b", "c"]
        .iter()
        .for_each(|name| write(&world, &format!("ws/.skills/{name}/SKILL.md"), &skill(name, "")));
    bag(&world, &["sync"]).ok();
    let run = refused(&world, &["remove", "b"], 1, "`b` is needed by `a`");
    assert!(run.stderr.contains("hint:"), "{run}");
    bag(&world, &["remove", "c"]).ok();
    bag(&world, &["remove", "b", "a"]).ok();
    assert_eq!(skills(&world), [""; 0]);
    in_step(&world, "removed");
}

#[test]
fn sb_20_the_lock_leads_back_to_the_source_of_a_dependency() {
    let world = workspace();
    let a = dir(&world, "src/a", &Bag::new(&[]).skill("a", &needs(&["name: b, source: ../b"])));
    dir(&world, "src/b", &Bag::new(&["b"]));
    bag(&world, &["get", "a", "--source", &a]).ok();
    // Seen from the workspace, `../b` is another place.
    dir(&world, "b", &Bag::new(&[]).skill("b", "Wrong.\n"));
    Bag::new(&[]).skill("b", "New.\n").put(&world.path("src/b"));
    bag(&world, &["get", "b", "--upgrade"]).ok();
    assert_eq!(read(&world, "ws/.skills/b/SKILL.md"), skill("b", "New.\n"));
}
