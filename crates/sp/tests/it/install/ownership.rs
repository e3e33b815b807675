//! Which existing files an install keeps, and which it removes.

use super::*;

#[test]
fn sp_22_directories_that_sp_did_not_create_are_kept() {
    let world = team(&["a", "b"]);
    std::fs::create_dir_all(world.path(SINK).join("team__b")).unwrap();
    std::fs::write(world.path(SINK).join("team__b/mine.md"), "mine\n").unwrap();
    let before = world.files(SINK);
    let error = install_error(&world);
    assert_eq!(error.code, "E-not-owned");
    for path in ["`team__b`", "`~/.claude/skills`"] {
        assert!(error.message.contains(path), "{error:?}");
    }
    assert!(error.hints_at("`install.prefix`"), "{error:?}");
    assert_eq!(world.files(SINK), before);
    assert!(!world.path("home/.skillpack/state.json").exists());
}

#[test]
fn sp_22_directories_of_another_pack_are_kept() {
    let world = team(&["a"]);
    world.pack("other", "name: other\ninclude: [a]\ninstall: {prefix: team}\n");
    install(&world).ok();
    let before = world.files(SINK);
    let error = world.sp_error(&["install", "other", "--agent", "claude"]);
    assert_eq!(error.code, "E-not-owned");
    for path in ["`team__a`", "`~/.claude/skills`"] {
        assert!(error.message.contains(path), "{error:?}");
    }
    assert!(error.because[0].contains("`~/repo/packs/team.yaml`"), "{error:?}");
    assert!(error.hints_at("`sp uninstall team --agent claude`"), "{error:?}");
    assert!(error.hints_at("`install.prefix`"), "{error:?}");
    assert_eq!(world.files(SINK), before);
}

#[test]
fn sp_22_files_and_links_with_the_name_of_a_new_skill_are_kept() {
    let world = team(&["a"]);
    std::fs::create_dir_all(world.path(SINK)).unwrap();
    std::fs::create_dir_all(world.path("precious")).unwrap();
    let path = world.path(SINK).join("team__a");
    std::fs::write(&path, "a file").unwrap();
    assert_eq!(install_error(&world).code, "E-not-owned");
    std::fs::remove_file(&path).unwrap();
    for target in [world.path("precious"), world.path("nowhere")] {
        symlink(&target, &path).unwrap();
        assert_eq!(install_error(&world).code, "E-not-owned");
        assert_eq!(std::fs::read_link(&path).unwrap(), target);
        std::fs::remove_file(&path).unwrap();
    }
    assert!(world.files("precious").is_empty());
}

#[test]
fn sp_23_deselected_skills_are_removed() {
    let world = team(&["a", "b", "c"]);
    world.pack("other", "name: other\ninclude: [b]\n");
    install(&world).ok();
    world.sp(&["install", "other", "--agent", "claude"]).ok();
    std::fs::create_dir_all(world.path(SINK).join("team__foreign")).unwrap();
    world.pack("team", "name: team\ninclude: [a]\n");
    let expected = ["keep team__a", "remove team__b", "remove team__c"];
    assert_eq!(changes(&world, INSTALL), expected);
    assert_eq!(folders(&world), ["other__b", "team__a", "team__foreign"]);
    world.pack("team", "name: team\ninclude: [a]\ninstall: {prefix: new}\n");
    install(&world).ok();
    assert_eq!(folders(&world), ["new__a", "other__b", "team__foreign"]);
}

#[test]
fn sp_23_a_pack_that_excludes_every_skill_removes_all_with_a_warning() {
    let world = team(&["a"]);
    install(&world).ok();
    world.pack("team", "name: team\ninclude: [a]\nexclude: ['**']\n");
    let run = install(&world).ok();
    assert!(run.stderr.starts_with("warning: ") && run.stderr.contains("`team`"), "{run}");
    assert!(folders(&world).is_empty());
}
