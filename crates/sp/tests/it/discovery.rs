//! Which directories are skills, and where `sp` searches for them.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;

use sp_testkit::{FileEntry, World, world};

const SKILL: &str = "---\nname: x\ndescription: Does x.\n---\n";

fn ids(world: &World) -> Vec<String> {
    world.sp(&["list", "--format", "plain"]).ok().stdout.lines().map(Into::into).collect()
}

/// Runs `sp list`, which must fail with an error that names this path.
#[track_caller]
fn assert_invalid_repository(world: &World, path: &str) {
    let error = world.sp_error(&["list"]);
    assert_eq!(error.code, "E-invalid-repository", "{error:?}");
    assert!(error.message.contains(path) && !error.hints.is_empty(), "{error:?}");
}

fn write(world: &World, path: &str, text: &str) {
    let path = world.path(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

#[test]
fn sp_01_a_skill_is_a_directory_with_skill_md() {
    let world = world!();
    for id in ["top", "general/writing", "a/b/c/d/deep"] {
        world.skill(id);
    }
    world.write("skills/lower/skill.md", SKILL);
    world.write("skills/mixed/Skill.md", SKILL);
    world.write("skills/longer/SKILL.md.bak", SKILL);
    world.write("skills/folder/SKILL.md/README.md", "a directory");
    world.write("skills/top/references/more.md", "not a skill");
    assert_eq!(ids(&world), ["a/b/c/d/deep", "general/writing", "top"]);
}

#[test]
fn sp_02_skill_md_directly_in_skills_is_an_error() {
    let world = world!();
    world.skill("a");
    world.write("skills/SKILL.md", SKILL);
    assert_invalid_repository(&world, "`~/repo/skills/SKILL.md`");
}

#[test]
fn sp_02_skill_md_at_the_root_of_a_remote_is_ignored_with_a_warning() {
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
    assert!(run.stderr.starts_with("warning: ") && run.stderr.contains("`SKILL.md`"), "{run}");
}

#[test]
fn sp_03_a_directory_that_contains_skills_is_not_a_skill() {
    let world = world!();
    for id in ["suite", "suite/one", "suite/deep/two", "suite-b"] {
        world.skill(id);
    }
    assert_eq!(ids(&world), ["suite-b", "suite/deep/two", "suite/one"]);
    let stderr = world.sp(&["list", "--verbose"]).ok().stderr;
    assert!(stderr.starts_with("note: ") && stderr.contains("`~/repo/skills/suite`"), "{stderr}");
    let json: serde_json::Value =
        serde_json::from_str(&world.sp(&["list", "--format", "json"]).stdout).unwrap();
    assert_eq!(json["hidden"], serde_json::json!(["suite"]));
}

#[test]
fn sp_04_a_linked_skill_has_the_id_of_its_path() {
    let world = world!();
    write(&world, "elsewhere/real/SKILL.md", SKILL);
    write(&world, "elsewhere/group/inner/SKILL.md", SKILL);
    write(&world, "elsewhere/linked/target.md", SKILL);
    symlink("target.md", world.path("elsewhere/linked/SKILL.md")).unwrap();
    for (target, id) in [("real", "by-link"), ("group", "through"), ("linked", "both-links")] {
        symlink(world.path("elsewhere").join(target), world.repo().join("skills").join(id))
            .unwrap();
    }
    assert_eq!(ids(&world), ["both-links", "by-link", "through/inner"]);
    world.pack("team", "name: team\ninclude: ['**']\n");
    world.sp(&["install", "team", "--agent", "claude"]).ok();
    let files = world.files("home/.claude/skills");
    assert_eq!(files["team__by-link"], FileEntry::Dir);
    assert_eq!(files["team__both-links/SKILL.md"], FileEntry::File(SKILL.into(), false));
}

#[test]
fn sp_04_a_link_instead_of_skill_md_is_an_error() {
    let world = world!();
    write(&world, "elsewhere/SKILL.md", SKILL);
    std::fs::create_dir_all(world.repo().join("skills/a/b")).unwrap();
    symlink(world.path("elsewhere/SKILL.md"), world.repo().join("skills/a/b/SKILL.md")).unwrap();
    assert_invalid_repository(&world, "`~/repo/skills/a/b/SKILL.md`");
}

#[test]
fn sp_04_cyclic_and_dangling_links_are_skipped() {
    let world = world!();
    world.skill("group/a");
    symlink("..", world.repo().join("skills/group/up")).unwrap();
    symlink("no-such-folder", world.repo().join("skills/group/gone")).unwrap();
    symlink("itself", world.repo().join("skills/itself")).unwrap();
    assert_eq!(ids(&world), ["group/a"]);
    let stderr = world.sp(&["list", "--verbose"]).ok().stderr;
    assert!(stderr.contains("`~/repo/skills/group/up`"), "{stderr}");
}

#[test]
fn sp_05_an_id_is_the_path_relative_to_skills() {
    let world = world!();
    for id in ["schreiben/grüße", "日本/翻訳", "with space/x y"] {
        world.skill(id);
    }
    assert_eq!(ids(&world), ["schreiben/grüße", "with space/x y", "日本/翻訳"]);
}

#[test]
fn sp_05_a_directory_name_that_is_not_utf_8_is_an_error() {
    let world = world!();
    let dir = world.repo().join("skills").join(OsStr::from_bytes(b"caf\xe9"));
    std::fs::create_dir_all(&dir).unwrap();
    std::fs::write(dir.join("SKILL.md"), SKILL).unwrap();
    assert_invalid_repository(&world, r"`~/repo/skills/caf\xe9`");
}

#[test]
fn sp_06_packs_with_only_imports_do_not_require_skills() {
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
    for args in [&["list"][..], &["install", "local", "--agent", "claude"]] {
        let error = world.sp_error(args);
        assert_eq!(error.code, "E-directory-not-found", "{args:?}");
        assert!(error.message.contains("`~/repo/skills`"), "{error:?}");
    }
    assert!(world.sp_error(&["list"]).hints_at("sp init"));
    world.sp(&["install", "imports", "--agent", "claude"]).ok();
    assert!(world.path("home/.claude/skills/imports__review/SKILL.md").is_file());
}

#[test]
fn sp_34_git_directories_are_skipped() {
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
fn sp_31_the_root_is_the_nearest_parent_with_skills_or_packs() {
    let world = world!();
    world.skill("general/a");
    for dir in ["home/repo", "home/repo/packs", "home/repo/skills/general/a"] {
        assert_eq!(
            world.sp_in(dir, &["list", "--format", "plain"]).ok().stdout,
            "general/a\n",
            "{dir}"
        );
    }
    let error = world.sp_error_in("home", &["list"]);
    assert_eq!(error.code, "E-repository-not-found");
    assert!(error.hints_at("sp init") && error.hints_at("--root"), "{error:?}");
}

#[test]
fn sp_31_root_flags_name_the_repository() {
    let world = world!();
    world.skill("a");
    world.pack("team", "name: team\ninclude: [a]\n");
    let absolute = world.repo().display().to_string();
    for root in
        [["--root", "repo"], ["--repo-root", "repo"], ["--root", "~/repo"], ["--root", &absolute]]
    {
        assert_eq!(
            world.sp_in("home", &["list", root[0], root[1], "--format", "plain"]).ok().stdout,
            "a\n",
            "{root:?}"
        );
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
    let error = world.sp_error(&["list", "--root", "nowhere"]);
    assert_eq!(error.code, "E-directory-not-found");
    assert!(error.message.contains("repo/nowhere`") && error.hints_at("--root"), "{error:?}");
}
