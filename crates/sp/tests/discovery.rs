//! Which folders are skills, and where `sp` looks for them.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a test arranges its world with the plain calls"
)]

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;

use sp_testkit::{Entry, World, world};

const SKILL: &str = "---\nname: x\ndescription: Does x.\n---\n";

fn ids(world: &World) -> Vec<String> {
    world.sp(&["list"]).ok().stdout.lines().map(Into::into).collect()
}

fn put(world: &World, path: &str, text: &str) {
    let path = world.path(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

#[test]
fn sp_01_a_skill_is_a_folder_with_skill_md_in_that_case_and_none_below_it() {
    let world = world!();
    for id in ["top", "general/writing", "a/b/c/d/deep"] {
        world.skill(id);
    }
    world.write("skills/lower/skill.md", SKILL);
    world.write("skills/mixed/Skill.md", SKILL);
    world.write("skills/longer/SKILL.md.bak", SKILL);
    world.write("skills/folder/SKILL.md/README.md", "SKILL.md is a folder here");
    world.write("skills/top/references/more.md", "no skill of its own");
    insta::assert_snapshot!(world.sp(&["list"]), @"
    exit: 0
    --- stdout
    a/b/c/d/deep
    general/writing
    top
    ");
}

#[test]
fn sp_02_a_skill_md_right_below_skills_is_an_error() {
    let world = world!();
    world.skill("a");
    world.write("skills/SKILL.md", SKILL);
    insta::assert_snapshot!(world.sp(&["list"]), @"
    exit: 3
    --- stderr
    error: `~/repo/skills/SKILL.md` makes `skills/` itself a skill

    hint: move it into a folder of its own below `skills/`
    ");
}

#[test]
fn sp_02_a_skill_md_at_the_root_of_a_remote_is_ignored_with_a_warning() {
    let world = world!();
    let repo = world.git("shared");
    repo.skill("tools/review").write("SKILL.md", SKILL).commit("one");
    world.pack(
        "team",
        &format!(
            "name: team\nimports:\n  - repo: {}\n    include: ['**']\n",
            repo.path().display()
        ),
    );
    let run = world.sp(&["show", "team", "--format", "plain"]).ok();
    assert_eq!(run.stdout, "[WORLD]/git/shared\ttools/review\tteam__tools__review\n");
    assert!(
        run.stderr.starts_with("warning: ") && run.stderr.contains("`SKILL.md` at its root"),
        "{run}"
    );
}

#[test]
fn sp_03_a_skill_above_another_is_none_and_is_named_on_request() {
    let world = world!();
    for id in ["suite", "suite/one", "suite/deep/two", "suite-b"] {
        world.skill(id);
    }
    insta::assert_snapshot!(world.sp(&["list"]), @"
    exit: 0
    --- stdout
    suite-b
    suite/deep/two
    suite/one
    ");
    insta::assert_snapshot!(world.sp(&["list", "--verbose"]).stderr, @"note: `~/repo/skills/suite` is no skill: another `SKILL.md` stands below it");
    let json: serde_json::Value =
        serde_json::from_str(&world.sp(&["list", "--format", "json"]).stdout).unwrap();
    assert_eq!(json["hidden"], serde_json::json!(["suite"]));
}

#[test]
fn sp_04_a_skill_folder_may_be_a_link_and_keeps_the_id_of_its_place() {
    let world = world!();
    put(&world, "elsewhere/real/SKILL.md", SKILL);
    put(&world, "elsewhere/group/inner/SKILL.md", SKILL);
    put(&world, "elsewhere/linked/target.md", SKILL);
    symlink("target.md", world.path("elsewhere/linked/SKILL.md")).unwrap();
    for (target, id) in [("real", "by-link"), ("group", "through"), ("linked", "both-links")] {
        symlink(world.path("elsewhere").join(target), world.repo().join("skills").join(id))
            .unwrap();
    }
    assert_eq!(ids(&world), ["both-links", "by-link", "through/inner"]);
    world.pack("team", "name: team\ninclude: ['**']\n");
    world.sp(&["install", "team", "--agent", "claude"]).ok();
    let files = world.files("home/.claude/skills");
    assert_eq!(files["team__by-link"], Entry::Dir);
    assert_eq!(files["team__both-links/SKILL.md"], Entry::File(SKILL.into(), false));
}

#[test]
fn sp_04_a_linked_skill_md_in_a_folder_that_is_no_link_is_an_error() {
    let world = world!();
    put(&world, "elsewhere/SKILL.md", SKILL);
    std::fs::create_dir_all(world.repo().join("skills/a/b")).unwrap();
    symlink(world.path("elsewhere/SKILL.md"), world.repo().join("skills/a/b/SKILL.md")).unwrap();
    insta::assert_snapshot!(world.sp(&["list"]), @"
    exit: 3
    --- stderr
    error: `~/repo/skills/a/b/SKILL.md` is a link in a folder that is none

    hint: make the whole skill folder the link, or put the file there
    ");
}

#[test]
fn sp_04_a_link_back_up_is_not_followed_and_a_link_to_nothing_is_passed_over() {
    let world = world!();
    world.skill("group/a");
    symlink("..", world.repo().join("skills/group/up")).unwrap();
    symlink("no-such-folder", world.repo().join("skills/group/gone")).unwrap();
    symlink("itself", world.repo().join("skills/itself")).unwrap();
    assert_eq!(ids(&world), ["group/a"]);
    let said = world.sp(&["list", "--verbose"]).ok().stderr;
    assert!(said.contains("`~/repo/skills/group/up` leads back"), "{said}");
}

#[test]
fn sp_05_an_id_is_the_utf_8_path_below_skills() {
    let world = world!();
    for id in ["schreiben/grüße", "日本/翻訳", "with space/x y"] {
        world.skill(id);
    }
    assert_eq!(ids(&world), ["schreiben/grüße", "with space/x y", "日本/翻訳"]);
}

#[test]
fn sp_05_a_folder_name_that_is_not_utf_8_is_an_error_with_its_bytes_escaped() {
    let world = world!();
    let folder = world.repo().join("skills").join(OsStr::from_bytes(b"caf\xe9"));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("SKILL.md"), SKILL).unwrap();
    insta::assert_snapshot!(world.sp(&["list"]), @r"
    exit: 3
    --- stderr
    error: the folder `~/repo/skills/caf\xe9` cannot be part of a skill's id: it is not UTF-8

    hint: rename the folder
    ");
}

#[test]
fn sp_06_list_needs_skills_and_a_pack_that_only_imports_does_not() {
    let world = world!();
    let repo = world.git("shared");
    repo.skill("review").commit("one");
    world.pack(
        "imports",
        &format!(
            "name: imports\nimports:\n  - repo: {}\n    include: [review]\n",
            repo.path().display()
        ),
    );
    world.pack("local", "name: local\ninclude: ['**']\n");
    std::fs::remove_dir(world.repo().join("skills")).unwrap();
    insta::assert_snapshot!(world.sp(&["list"]), @"
    exit: 1
    --- stderr
    error: there is no directory `~/repo/skills`

    hint: make it and put skills into it, or run `sp init` in an empty directory
    ");
    let run = world.sp(&["install", "local", "--agent", "claude"]).fails(1);
    assert!(run.stderr.contains("there is no directory `~/repo/skills`"), "{run}");
    world.sp(&["install", "imports", "--agent", "claude"]).ok();
    assert!(world.path("home/.claude/skills/imports__review/SKILL.md").is_file());
}

#[test]
fn sp_34_git_folders_are_passed_over_wherever_they_stand() {
    let world = world!();
    world.skill("a");
    world.write("skills/a/.git/refs/heads/zz/SKILL.md", SKILL);
    world.write("skills/.git/hooks/SKILL.md", SKILL);
    world.write("skills/group/.git/SKILL.md", SKILL);
    world.skill("group/b");
    world.write("skills/group/b/.git", "gitdir: elsewhere\n");
    assert_eq!(ids(&world), ["a", "group/b"]);
    world.pack("team", "name: team\ninclude: ['**']\n");
    world.sp(&["install", "team", "--agent", "claude"]).ok();
    let installed: Vec<String> = world.files("home/.claude/skills").into_keys().collect();
    assert_eq!(
        installed,
        ["team__a", "team__a/SKILL.md", "team__group__b", "team__group__b/SKILL.md"]
    );
}

#[test]
fn sp_31_the_root_is_the_nearest_directory_upward_that_holds_skills_or_packs() {
    let world = world!();
    world.skill("general/a");
    for dir in ["home/repo", "home/repo/packs", "home/repo/skills/general/a"] {
        assert_eq!(world.sp_in(dir, &["list"]).ok().stdout, "general/a\n", "{dir}");
    }
    insta::assert_snapshot!(world.sp_in("home", &["list"]), @"
    exit: 1
    --- stderr
    error: neither `~` nor a directory above it has `skills/` or `packs/`

    hint: run `sp init` to make a repository here, or give one with `--root <path>`
    ");
}

#[test]
fn sp_31_root_and_repo_root_name_the_repository_from_anywhere() {
    let world = world!();
    world.skill("a");
    world.pack("team", "name: team\ninclude: [a]\n");
    let absolute = world.repo().display().to_string();
    for root in
        [["--root", "repo"], ["--repo-root", "repo"], ["--root", "~/repo"], ["--root", &absolute]]
    {
        assert_eq!(world.sp_in("home", &["list", root[0], root[1]]).ok().stdout, "a\n", "{root:?}");
        assert_eq!(
            world.sp_in("home", &[root[0], root[1], "packs"]).ok().stdout,
            "team\n",
            "{root:?}"
        );
        for pack in ["team", "packs/team.yaml", "repo/packs/team.yaml"] {
            let run =
                world.sp_in("home", &["show", pack, root[0], root[1], "--format", "plain"]).ok();
            assert_eq!(run.stdout, "local\ta\tteam__a\n", "{pack} {root:?}");
        }
    }
    let run = world.sp(&["list", "--root", "nowhere"]).fails(1);
    assert!(
        run.stderr.contains("there is no directory `")
            && run.stderr.contains("repo/nowhere`\n\nhint: give `--root`"),
        "{run}"
    );
}
