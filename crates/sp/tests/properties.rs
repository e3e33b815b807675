//! What holds for every repository, not only for those that somebody thought of.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a test arranges its world with the plain calls"
)]

use std::collections::BTreeMap;

use proptest::prelude::*;
use sp_testkit::{Entry, World, world};

/// Files below `skills/`, by path: some skills, some not, some nested in others.
fn repository() -> impl Strategy<Value = BTreeMap<String, String>> {
    let dir = prop::sample::select(vec!["a", "b", "a/x", "a/x/y", "b/é", "c d", "deep/er/st"]);
    let name =
        prop::sample::select(vec!["SKILL.md", "notes.md", "refs/one.md", "refs/two/three.txt"]);
    let file = (dir, name).prop_map(|(dir, name)| format!("{dir}/{name}"));
    prop::collection::btree_map(file, "[a-z\n]{0,40}", 1..12)
}

fn author(world: &World, files: &BTreeMap<String, String>) {
    let _ = std::fs::remove_dir_all(world.repo().join("skills"));
    std::fs::create_dir_all(world.repo().join("skills")).unwrap();
    files.iter().for_each(|(path, text)| world.write(&format!("skills/{path}"), text));
}

fn install(world: &World) -> sp_testkit::Run {
    let sink = world.path("sink").display().to_string();
    world.sp(&["install", "team", "--agent", "custom", "--path", &sink])
}

fn has_skill(files: &BTreeMap<String, String>) -> bool {
    files.keys().any(|path| path.ends_with("/SKILL.md"))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn sp_23_install_reinstall_and_uninstall_lead_from_repository_to_repository_and_back(
        first in repository(),
        second in repository(),
    ) {
        prop_assume!(has_skill(&first) && has_skill(&second));
        let world = world!();
        world.pack("team", "name: team\ninclude: ['**']\n");
        std::fs::create_dir_all(world.path("sink/theirs")).unwrap();
        let before = world.files("sink");
        for files in [&first, &second, &first] {
            author(&world, files);
            install(&world).ok();
            // The sink holds exactly what a fresh install would put there.
            let fresh = world!();
            fresh.pack("team", "name: team\ninclude: ['**']\n");
            std::fs::create_dir_all(fresh.path("sink/theirs")).unwrap();
            author(&fresh, files);
            install(&fresh).ok();
            prop_assert_eq!(world.files("sink"), fresh.files("sink"));
            // And every skill that `sp list` names, with all its files.
            let listed = world.sp(&["list"]).ok().stdout;
            for id in listed.lines() {
                let folder = format!("team__{}", id.replace('/', "__"));
                let source = world.files(&format!("home/repo/skills/{id}"));
                prop_assert_eq!(world.files(&format!("sink/{folder}")), source);
            }
            let again = install(&world).ok().stdout;
            prop_assert!(!again.contains("added") && !again.contains("updated"), "{}", again);
        }
        let sink = world.path("sink").display().to_string();
        world.sp(&["uninstall", "team", "--agent", "custom", "--path", &sink]).ok();
        prop_assert_eq!(world.files("sink"), before);
        prop_assert!(!world.files("home/.skillpack").values().any(|entry| matches!(entry, Entry::Link(_))));
    }
}
