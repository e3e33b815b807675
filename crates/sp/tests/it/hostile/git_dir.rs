//! Names of git's own directory from an untrusted source, in any spelling: nothing may be written
//! where git would read it.

use super::*;
use sp_testkit::zip;

const CONFIG: &[u8] = b"[core]\n\tfsmonitor = \"touch canary\"\n";

/// A name that git or a file system takes for `.git`.
struct Spelling {
    name: &'static str,
    /// The name as messages show it.
    escaped: &'static str,
}

const SPELLINGS: &[Spelling] = &[
    Spelling { name: ".git", escaped: ".git" },
    Spelling { name: ".GIT", escaped: ".GIT" },
    Spelling { name: "git~1", escaped: "git~1" },
    Spelling { name: ".git.", escaped: ".git." },
    Spelling { name: ".git::$INDEX_ALLOCATION", escaped: ".git::$INDEX_ALLOCATION" },
    Spelling { name: ".g\u{200c}it", escaped: ".g\\u{200c}it" },
    Spelling { name: "\u{feff}.git", escaped: "\\u{feff}.git" },
];

/// Spellings that an archive cannot have, because its reader changes or splits them.
const SPELLINGS_IN_GIT: &[Spelling] = &[
    Spelling { name: ".git ", escaped: ".git " },
    Spelling { name: ".git\\config", escaped: ".git\\" },
];

/// Runs a command that reads an archive with this spelling, and checks that it is refused.
#[track_caller]
fn archive_refused(world: &World, dir: &str, args: &[&str], spelling: &Spelling) {
    let error = unchanged_by(world, spelling.name, || world.sp_error_in(dir, args));
    assert_eq!(error.code, "E-invalid-archive", "{error:?}");
    assert!(text_of(&error).contains(spelling.escaped), "{error:?}");
}

#[test]
fn se_03_git_directories_in_zips_are_refused() {
    for spelling in SPELLINGS {
        let name = spelling.name;
        for dir in [format!(".skills/x/{name}"), format!(".skills/x/deep/{name}")] {
            let world = world!();
            std::fs::create_dir(world.path("ws")).unwrap();
            world.sp_in("ws", &["bag", "init"]).ok();
            let config = format!("{dir}/config");
            let bytes = zip(&[
                ("AGENTS.md", b"# SKILLBAG\n\nSkills live under `.skills/`; `.skills/SKILLS.md` lists them.\n"),
                (".skills/SKILLS.md", b"x: Does x.\n"),
                (".skills/x/SKILL.md", SKILL),
                (&config, CONFIG),
            ]);
            std::fs::write(world.path("ws/x.zip"), bytes).unwrap();
            archive_refused(&world, "ws", &["bag", "get", "x", "--source", "x.zip"], spelling);
        }
        let world = world!();
        let config = format!("context-pack/{name}/config");
        let bytes = zip(&[("context-pack/pack.json", b"{}"), (&config, CONFIG)]);
        std::fs::write(world.path("home/x.zip"), bytes).unwrap();
        archive_refused(&world, "home", &["context", "unzip", "x.zip", "out"], spelling);
    }
}

#[test]
fn se_03_git_directories_in_commits_are_refused_at_any_depth() {
    for spelling in SPELLINGS.iter().chain(SPELLINGS_IN_GIT) {
        for deep in [false, true] {
            let world = guarded();
            let repo = remote(&world);
            let (skill, config) = (repo.blob(SKILL), repo.blob(CONFIG));
            let below = |id: &str, name: &[u8]| {
                raw_tree(&repo, &[("100644", &skill, b"SKILL.md"), ("40000", id, name)])
            };
            let git_dir = raw_tree(&repo, &[("100644", &config, b"config")]);
            let mut evil = below(&git_dir, spelling.name.as_bytes());
            if deep {
                evil = below(&evil, b"deep");
            }
            commit_raw_tools(&repo, &[("40000", &evil, b"x")]);
            let error = unchanged_by(&world, spelling.name, || {
                install_with(&world, "bad", &["--format", "json"]).error()
            });
            // Git itself may refuse to send the plain ones.
            if error.exit_code != 5 {
                assert_eq!(error.code, "E-unsafe-path", "{error:?}");
                assert!(text_of(&error).contains(spelling.escaped), "{error:?}");
            }
        }
    }
}

#[test]
fn se_03_a_remote_skill_below_a_git_directory_is_refused() {
    let world = guarded();
    let repo = remote(&world);
    let skill = raw_tree(&repo, &[("100644", &repo.blob(SKILL), b"SKILL.md")]);
    let hidden = raw_tree(&repo, &[("40000", &skill, b"x")]);
    commit_raw_tools(&repo, &[("40000", &hidden, ".g\u{200d}it".as_bytes())]);
    let error = refused(&world, "E-unsafe-path");
    assert!(text_of(&error).contains(".g\\u{200d}it"), "{error:?}");
}

#[test]
fn sp_34_local_git_directories_are_skipped_and_other_spellings_refused() {
    let world = guarded();
    world.skill("evil");
    world.pack("bad", "name: bad\ninclude: [evil]\n");
    let plain = world.repo().join("skills/evil/.git");
    std::fs::create_dir(&plain).unwrap();
    std::fs::write(plain.join("config"), CONFIG).unwrap();
    install(&world, "bad").ok();
    assert!(world.path("sink/bad__evil/SKILL.md").is_file());
    assert!(!world.path("sink/bad__evil/.git").exists());
    uninstall(&world, "bad").ok();
    std::fs::remove_dir_all(plain).unwrap();
    for name in [".GIT", "git~1", ".g\u{200c}it", ".git "] {
        let escaped = name.replace('\u{200c}', "\\u{200c}");
        for parent in ["skills/evil", "skills/evil/references"] {
            let dir = world.repo().join(parent).join(name);
            std::fs::create_dir_all(&dir).unwrap();
            std::fs::write(dir.join("config"), CONFIG).unwrap();
            let error = refused(&world, "E-invalid-repository");
            assert!(text_of(&error).contains(&escaped), "{error:?}");
            for (command, code) in [("check", 1), ("audit", 3)] {
                let run = world.sp(&[command, "skills/evil", "--format", "plain"]).fails(code);
                let has_finding = run
                    .stdout
                    .lines()
                    .any(|line| line.contains("SE-03") && line.contains(&escaped));
                assert!(has_finding, "{command} {name:?}: {run}");
            }
            std::fs::remove_dir_all(dir).unwrap();
        }
        // Git reads the path of a repository from a file with this name.
        let file = world.repo().join("skills/evil").join(name);
        std::fs::write(&file, "gitdir: ../canary\n").unwrap();
        refused(&world, "E-unsafe-path");
        std::fs::remove_file(file).unwrap();
    }
}

#[test]
fn se_03_a_git_directory_in_a_local_context_pack_is_refused() {
    let world = world!();
    world.sp_in("home", &["context", "new", "pack"]).ok();
    for name in [".GIT", "git~1", ".g\u{200c}it"] {
        let dir = world.path("home/pack").join(name);
        std::fs::create_dir(&dir).unwrap();
        std::fs::write(dir.join("config"), CONFIG).unwrap();
        let (error, checked) = unchanged_by(&world, name, || {
            let error = world.sp_error_in("home", &["context", "zip", "pack"]);
            (error, world.sp_in("home", &["check", "pack", "--format", "json"]).fails(3))
        });
        assert_eq!(error.code, "E-unsafe-path", "{error:?}");
        let checked: serde_json::Value = serde_json::from_str(&checked.stdout).unwrap();
        assert_eq!(checked["unreadable"][0]["code"], "E-unsafe-path", "{checked}");
        std::fs::remove_dir_all(dir).unwrap();
    }
}

#[test]
fn sp_09_trees_with_duplicate_or_invalid_entries_are_refused() {
    let world = guarded();
    let repo = remote(&world);
    let (skill, other) = (repo.blob(SKILL), repo.blob(b"other"));
    let dir = raw_tree(&repo, &[("100644", &other, b"y")]);
    // The path that is wrong, and the entries besides `SKILL.md`.
    let cases: [(&str, &[TreeEntry<'_>]); 7] = [
        ("tools/x/SKILL.md", &[("100644", &other, b"SKILL.md")]),
        ("tools/x/SKILL.md", &[("100644", &skill, b"SKILL.md")]),
        ("tools/x/a", &[("100644", &other, b"a"), ("40000", &dir, b"a")]),
        ("tools/x/a/b", &[("100644", &other, b"a/b")]),
        ("tools/x/a/z", &[("40000", &dir, b"a"), ("100644", &other, b"a/z")]),
        ("tools/x/.", &[("40000", &dir, b".")]),
        ("tools/x/..", &[("40000", &dir, b"..")]),
    ];
    for (path, entries) in cases {
        let entries = [&[("100644", skill.as_str(), &b"SKILL.md"[..])], entries].concat();
        commit_raw_tools(&repo, &[("40000", &raw_tree(&repo, &entries), b"x")]);
        let error = refused(&world, "E-invalid-git-tree");
        assert!(text_of(&error).contains(&format!("`{path}`")), "{path}: {error:?}");
    }
}
