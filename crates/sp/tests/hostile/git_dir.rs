//! A stranger's `.git`, however it is spelled: nothing of it lands where git would read it.

use super::*;
use sp_testkit::zip;

const CONFIG: &[u8] = b"[core]\n\tfsmonitor = \"touch canary\"\n";
const SKILL: &[u8] = b"---\nname: x\ndescription: Does x.\n---\n";
const WORDS: &str = "as its own directory";
/// The spellings, and how each is shown.
const SPELLINGS: &[(&str, &str)] = &[
    (".git", ".git"),
    (".GIT", ".GIT"),
    ("git~1", "git~1"),
    (".git.", ".git."),
    (".git::$INDEX_ALLOCATION", ".git::$INDEX_ALLOCATION"),
    (".g\u{200c}it", ".g\\u{200c}it"),
    ("\u{feff}.git", "\\u{feff}.git"),
];

#[test]
fn se_03_git_folders_of_a_zip_are_refused_by_bag_get_and_context_unzip() {
    for (name, shown) in SPELLINGS {
        for folder in [format!(".skills/x/{name}"), format!(".skills/x/deep/{name}")] {
            let world = world!();
            std::fs::create_dir(world.path("ws")).unwrap();
            world.sp_in("ws", &["bag", "init"]).ok();
            let config = format!("{folder}/config");
            let bytes = zip(&[
                ("AGENTS.md", b"# SKILLBAG\n\nSkills live under `.skills/`; `.skills/SKILLS.md` lists them.\n"),
                (".skills/SKILLS.md", b"x: Does x.\n"),
                (".skills/x/SKILL.md", SKILL),
                (&config, CONFIG),
            ]);
            std::fs::write(world.path("ws/x.zip"), bytes).unwrap();
            let before = everything(&world);
            let run = world.sp_in("ws", &["bag", "get", "x", "--source", "x.zip"]).fails(3);
            assert!(run.stderr.contains(WORDS) && run.stderr.contains(shown), "{name:?}: {run}");
            unchanged(&before, &world, name);
        }
        let world = world!();
        let config = format!("context-pack/{name}/config");
        std::fs::write(
            world.path("home/x.zip"),
            zip(&[("context-pack/pack.json", b"{}"), (&config, CONFIG)]),
        )
        .unwrap();
        let before = everything(&world);
        let run = world.sp_in("home", &["context", "unzip", "x.zip", "out"]).fails(3);
        assert!(run.stderr.contains(WORDS) && run.stderr.contains(shown), "{name:?}: {run}");
        unchanged(&before, &world, name);
    }
}

#[test]
fn se_03_git_folders_of_a_commit_are_refused_in_every_spelling_and_depth() {
    for (name, shown) in SPELLINGS.iter().chain(&[(".git ", ".git "), (".git\\config", ".git\\")]) {
        for deep in [false, true] {
            let world = guarded();
            let repo = remote(&world);
            let (skill, config) = (repo.blob(SKILL), repo.blob(CONFIG));
            let mut evil = raw_tree(&repo, &[("100644", &config, b"config")]);
            evil = raw_tree(
                &repo,
                &[("100644", &skill, b"SKILL.md"), ("40000", &evil, name.as_bytes())],
            );
            if deep {
                evil =
                    raw_tree(&repo, &[("100644", &skill, b"SKILL.md"), ("40000", &evil, b"deep")]);
            }
            let tools = raw_tree(&repo, &[("40000", &evil, b"x")]);
            commit_root(&repo, &raw_tree(&repo, &[("40000", &tools, b"tools")]));
            let before = everything(&world);
            // A server may refuse to hand the plain ones out.
            let run = install(&world, "bad");
            let is_refused =
                run.code == Some(3) && run.stderr.contains(WORDS) && run.stderr.contains(shown);
            assert!(is_refused || run.code == Some(5), "{name:?}: {run}");
            unchanged(&before, &world, name);
        }
    }
}

#[test]
fn se_03_a_remote_skill_below_a_git_folder_is_refused() {
    let world = guarded();
    let repo = remote(&world);
    let skill = raw_tree(&repo, &[("100644", &repo.blob(SKILL), b"SKILL.md")]);
    let hidden = raw_tree(&repo, &[("40000", &skill, b"x")]);
    let tools = raw_tree(&repo, &[("40000", &hidden, ".g\u{200d}it".as_bytes())]);
    commit_root(&repo, &raw_tree(&repo, &[("40000", &tools, b"tools")]));
    refused(&world, 3, WORDS);
}

#[test]
fn sp_34_a_plain_git_folder_of_a_local_skill_is_passed_over_and_other_spellings_are_refused() {
    let world = guarded();
    world.skill("evil");
    world.pack("bad", "name: bad\ninclude: [evil]\n");
    let plain = world.repo().join("skills/evil/.git");
    std::fs::create_dir(&plain).unwrap();
    std::fs::write(plain.join("config"), CONFIG).unwrap();
    install(&world, "bad").ok();
    assert!(world.path("sink/bad__evil/SKILL.md").is_file());
    assert!(!world.path("sink/bad__evil/.git").exists());
    world.sp(&["uninstall", "bad", "--agent", "custom", "--path", &sink(&world)]).ok();
    std::fs::remove_dir_all(plain).unwrap();
    for name in [".GIT", "git~1", ".g\u{200c}it", ".git "] {
        for place in ["skills/evil", "skills/evil/references"] {
            let folder = world.repo().join(place).join(name);
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join("config"), CONFIG).unwrap();
            let run = refused(&world, 3, WORDS);
            let shown = name.replace('\u{200c}', "\\u{200c}");
            assert!(run.stderr.contains(&shown), "{run}");
            for (command, code) in [("check", 1), ("audit", 3)] {
                let run = world.sp(&[command, "skills/evil", "--format", "json"]).fails(code);
                assert!(
                    run.stdout.contains(WORDS) && run.stdout.contains("SE-03"),
                    "{command} {name:?}: {run}"
                );
            }
            std::fs::remove_dir_all(folder).unwrap();
        }
        // As a file, as which git reads the place of a repository.
        let file = world.repo().join("skills/evil").join(name);
        std::fs::write(&file, "gitdir: ../canary\n").unwrap();
        refused(&world, 3, WORDS);
        std::fs::remove_file(file).unwrap();
    }
}

#[test]
fn se_03_a_git_folder_of_a_local_context_pack_is_refused() {
    let world = world!();
    world.sp_in("home", &["context", "new", "pack"]).ok();
    for name in [".GIT", "git~1", ".g\u{200c}it"] {
        let folder = world.path("home/pack").join(name);
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(folder.join("config"), CONFIG).unwrap();
        let before = everything(&world);
        for args in [&["context", "zip", "pack"][..], &["check", "pack"]] {
            let run = world.sp_in("home", args);
            assert!(matches!(run.code, Some(1 | 3)), "{args:?}: {run}");
            assert!(format!("{}{}", run.stdout, run.stderr).contains(WORDS), "{args:?}: {run}");
        }
        unchanged(&before, &world, name);
        std::fs::remove_dir_all(folder).unwrap();
    }
}

#[test]
fn sp_09_trees_with_duplicate_entries_or_slashes_in_names_are_refused_whole() {
    type Entries<'a> = Vec<(&'a str, &'a str, &'a [u8])>;
    let world = guarded();
    let repo = remote(&world);
    let (skill, other) = (repo.blob(SKILL), repo.blob(b"other"));
    let folder = raw_tree(&repo, &[("100644", &other, b"y")]);
    let cases: [(&str, Entries<'_>, &str); 7] = [
        (
            "two files",
            vec![("100644", &skill, b"SKILL.md"), ("100644", &other, b"SKILL.md")],
            "two entries",
        ),
        (
            "the same twice",
            vec![("100644", &skill, b"SKILL.md"), ("100644", &skill, b"SKILL.md")],
            "two entries",
        ),
        (
            "a file and a folder",
            vec![
                ("100644", &skill, b"SKILL.md"),
                ("100644", &other, b"a"),
                ("40000", &folder, b"a"),
            ],
            "two entries",
        ),
        (
            "a path",
            vec![("100644", &skill, b"SKILL.md"), ("100644", &other, b"a/b")],
            "which git does not allow",
        ),
        (
            "a path into a folder",
            vec![
                ("100644", &skill, b"SKILL.md"),
                ("40000", &folder, b"a"),
                ("100644", &other, b"a/z"),
            ],
            "which git does not allow",
        ),
        (
            "this folder",
            vec![("100644", &skill, b"SKILL.md"), ("40000", &folder, b".")],
            "which git does not allow",
        ),
        (
            "the folder above",
            vec![("100644", &skill, b"SKILL.md"), ("40000", &folder, b"..")],
            "which git does not allow",
        ),
    ];
    for (what, entries, words) in cases {
        let x = raw_tree(&repo, &entries);
        let tools = raw_tree(&repo, &[("40000", &x, b"x")]);
        commit_root(&repo, &raw_tree(&repo, &[("40000", &tools, b"tools")]));
        let before = everything(&world);
        let run = install(&world, "bad").fails(3);
        assert!(run.stderr.contains(words) && run.stderr.contains("tools/x"), "{what}: {run}");
        unchanged(&before, &world, what);
    }
}
