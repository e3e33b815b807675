//! Properties of installations, checked with generated repositories.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::Value;
use sp_testkit::{FileEntry, World, world};

/// Generates files below `skills/`, by path. Some are skills, some are nested in others.
fn skill_files() -> impl Strategy<Value = BTreeMap<String, String>> {
    let dir = prop::sample::select(vec!["a", "b", "a/x", "a/x/y", "b/é", "c d", "deep/er/st"]);
    let name =
        prop::sample::select(vec!["SKILL.md", "notes.md", "refs/one.md", "refs/two/three.txt"]);
    let file = (dir, name).prop_map(|(dir, name)| format!("{dir}/{name}"));
    prop::collection::btree_map(file, "[a-z\n]{0,40}", 1..12)
}

/// Replaces the skills of the repository.
fn write_skills(world: &World, files: &BTreeMap<String, String>) {
    let _ = std::fs::remove_dir_all(world.repo().join("skills"));
    std::fs::create_dir_all(world.repo().join("skills")).unwrap();
    files.iter().for_each(|(path, text)| world.write(&format!("skills/{path}"), text));
}

/// Installs the pack, and returns the action for each folder.
fn install(world: &World) -> Vec<String> {
    let sink = world.path("sink").display().to_string();
    let args = ["install", "team", "--agent", "custom", "--path", &sink, "--format", "json"];
    let report: Value = serde_json::from_str(&world.sp(&args).ok().stdout).unwrap();
    let folders = report["sinks"][0]["folders"].as_array().unwrap();
    folders.iter().map(|folder| folder["action"].as_str().unwrap().to_owned()).collect()
}

fn has_skill(files: &BTreeMap<String, String>) -> bool {
    files.keys().any(|path| path.ends_with("/SKILL.md"))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn sp_23_reinstall_equals_first_install_and_uninstall_restores_the_sink(
        first in skill_files(),
        second in skill_files(),
    ) {
        prop_assume!(has_skill(&first) && has_skill(&second));
        let world = world!();
        world.pack("team", "name: team\ninclude: ['**']\n");
        std::fs::create_dir_all(world.path("sink/theirs")).unwrap();
        let before = world.files("sink");
        for files in [&first, &second, &first] {
            write_skills(&world, files);
            install(&world);
            // The sink is the same as after a first installation.
            let fresh = world!();
            fresh.pack("team", "name: team\ninclude: ['**']\n");
            std::fs::create_dir_all(fresh.path("sink/theirs")).unwrap();
            write_skills(&fresh, files);
            install(&fresh);
            prop_assert_eq!(world.files("sink"), fresh.files("sink"));
            // It has every skill of `sp list` with all its files.
            let list = world.sp(&["list", "--format", "plain"]).ok().stdout;
            for id in list.lines() {
                let folder = format!("team__{}", id.replace('/', "__"));
                let source = world.files(&format!("home/repo/skills/{id}"));
                prop_assert_eq!(world.files(&format!("sink/{folder}")), source);
            }
            let actions = install(&world);
            prop_assert!(actions.iter().all(|action| action == "keep"), "{:?}", actions);
        }
        let sink = world.path("sink").display().to_string();
        world.sp(&["uninstall", "team", "--agent", "custom", "--path", &sink]).ok();
        prop_assert_eq!(world.files("sink"), before);
        let own_files = world.files("home/.skillpack");
        prop_assert!(!own_files.values().any(|entry| matches!(entry, FileEntry::Link(_))));
    }
}
