//! Folders that an install leaves alone, and folders that it removes.

use super::*;

#[test]
fn sp_22_a_folder_that_somebody_else_put_there_is_left_alone() {
    let world = team(&["a", "b"]);
    std::fs::create_dir_all(world.path(SINK).join("team__b")).unwrap();
    std::fs::write(world.path(SINK).join("team__b/mine.md"), "mine\n").unwrap();
    let before = world.files(SINK);
    insta::assert_snapshot!(install(&world), @"
    exit: 4
    --- stderr
    error: `team__b` in `~/.claude/skills` was not installed by this pack
      because: no pack owns it: somebody put it there by hand, or with another tool

    hint: move it away, or give this pack another `install.prefix`
    ");
    assert_eq!(world.files(SINK), before);
    assert!(!world.path("home/.skillpack/state.json").exists());
}

#[test]
fn sp_22_a_folder_of_another_pack_is_left_alone() {
    let world = team(&["a"]);
    world.pack("other", "name: other\ninclude: [a]\ninstall: {prefix: team}\n");
    install(&world).ok();
    let before = world.files(SINK);
    insta::assert_snapshot!(world.sp(&["install", "other", "--agent", "claude"]), @"
    exit: 4
    --- stderr
    error: `team__a` in `~/.claude/skills` was not installed by this pack
      because: `team` from `~/repo/packs/team.yaml` owns it

    hint: `sp uninstall team --agent claude`, or give this pack another `install.prefix`
    ");
    assert_eq!(world.files(SINK), before);
}

#[test]
fn sp_22_a_file_or_a_link_in_the_place_of_a_new_folder_is_left_alone() {
    let world = team(&["a"]);
    std::fs::create_dir_all(world.path(SINK)).unwrap();
    std::fs::create_dir_all(world.path("precious")).unwrap();
    let place = world.path(SINK).join("team__a");
    std::fs::write(&place, "a file").unwrap();
    install(&world).fails(4);
    std::fs::remove_file(&place).unwrap();
    for target in [world.path("precious"), world.path("nowhere")] {
        symlink(&target, &place).unwrap();
        install(&world).fails(4);
        assert_eq!(std::fs::read_link(&place).unwrap(), target);
        std::fs::remove_file(&place).unwrap();
    }
    assert!(world.files("precious").is_empty());
}

#[test]
fn sp_23_what_is_no_longer_selected_goes_and_nothing_else_does() {
    let world = team(&["a", "b", "c"]);
    world.pack("other", "name: other\ninclude: [b]\n");
    install(&world).ok();
    world.sp(&["install", "other", "--agent", "claude"]).ok();
    std::fs::create_dir_all(world.path(SINK).join("team__foreign")).unwrap();
    world.pack("team", "name: team\ninclude: [a]\n");
    insta::assert_snapshot!(install(&world), @"
    exit: 0
    --- stdout
    - team__b
    - team__c

    installed team · claude · ~/.claude/skills · 2 removed, 1 unchanged
    ");
    assert_eq!(folders(&world), ["other__b", "team__a", "team__foreign"]);
    world.pack("team", "name: team\ninclude: [a]\ninstall: {prefix: new}\n");
    install(&world).ok();
    assert_eq!(folders(&world), ["new__a", "other__b", "team__foreign"]);
}

#[test]
fn sp_23_a_pack_whose_excludes_take_everything_out_removes_all_with_a_warning() {
    let world = team(&["a"]);
    install(&world).ok();
    world.pack("team", "name: team\ninclude: [a]\nexclude: ['**']\n");
    insta::assert_snapshot!(install(&world), @"
    exit: 0
    --- stdout
    - team__a

    installed team · claude · ~/.claude/skills · 1 removed
    --- stderr
    warning: the pack `team` selects no skill: its excludes take everything out
    ");
    assert!(folders(&world).is_empty());
}
