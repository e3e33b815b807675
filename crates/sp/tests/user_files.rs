//! Files that belong to the user keep their permission bits, and their existence, whatever is
//! written to them.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a test arranges its world with the plain calls"
)]

use std::os::unix::fs::{PermissionsExt, symlink};

use sp_testkit::{Entry, World, world};

fn put(world: &World, path: &str, text: &str, mode: u32) {
    let path = world.path(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, text).unwrap();
    std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
}

fn mode(world: &World, path: &str) -> u32 {
    world.path(path).metadata().unwrap().permissions().mode() & 0o7777
}

fn text(world: &World, path: &str) -> String {
    std::fs::read_to_string(world.path(path)).unwrap()
}

/// A world with the context pack `work/shop`.
fn with_context_pack() -> World {
    let world = world!();
    std::fs::create_dir_all(world.path("work/repo")).unwrap();
    world
        .sp_in(
            "work",
            &["context", "new", "shop", "--name", "Shop", "--description", "It sells things."],
        )
        .ok();
    world
}

fn context(world: &World, args: &[&str]) {
    world.sp_in("work", &[&["context", "--root", "repo"], args].concat()).ok();
}

const FOR_ALL: &[&str] = &["install", "shop", "--agent", "claude", "--agent", "cursor"];

#[test]
fn cp_14_context_install_and_uninstall_keep_modes() {
    let world = with_context_pack();
    put(&world, "work/repo/AGENTS.md", "Mine.\n", 0o600);
    put(&world, "work/repo/CLAUDE.md", "Mine too.\n", 0o664);
    let modes = |world: &World| {
        ["AGENTS.md", "CLAUDE.md"].map(|file| mode(world, &format!("work/repo/{file}")))
    };
    context(&world, FOR_ALL);
    assert!(text(&world, "work/repo/AGENTS.md").contains("skillpack:begin"));
    assert_eq!(modes(&world), [0o600, 0o664]);
    context(&world, &["uninstall"]);
    assert_eq!(text(&world, "work/repo/AGENTS.md"), "Mine.\n");
    assert_eq!(modes(&world), [0o600, 0o664]);
}

#[test]
fn cp_14_files_that_were_empty_survive_uninstall_and_created_ones_do_not() {
    let world = with_context_pack();
    put(&world, "work/repo/AGENTS.md", "", 0o640);
    context(&world, FOR_ALL);
    // Replacing the block keeps what it remembers.
    put(
        &world,
        "work/shop/AGENTS.md",
        &text(&world, "work/shop/AGENTS.md").replace("sells", "buys"),
        0o644,
    );
    world.sp_in("work", &["context", "seal", "shop"]).ok();
    context(&world, FOR_ALL);
    context(&world, &["uninstall"]);
    assert_eq!(
        world.files("work/repo"),
        [("AGENTS.md".into(), Entry::File(String::new(), false))].into()
    );
    assert_eq!(mode(&world, "work/repo/AGENTS.md"), 0o640);
}

#[test]
fn sb_02_bag_init_keeps_the_mode_of_gitignore() {
    let world = world!();
    put(&world, "ws/.gitignore", "target\n", 0o600);
    world.sp_in("ws", &["bag", "init"]).ok();
    assert!(text(&world, "ws/.gitignore").contains("USER_CONTEXT.md"));
    assert_eq!(mode(&world, "ws/.gitignore"), 0o600);
}

#[test]
fn check_fix_keeps_modes() {
    let world = world!();
    let broken = "---\nname: Tidy Up\ndescription: Use when it is late.\n---\nBody.\n";
    for (name, mode) in [("tidy-up", 0o600), ("clean-up", 0o755)] {
        put(&world, &format!("home/repo/skills/{name}/SKILL.md"), broken, mode);
    }
    world.sp(&["check", "--fix"]).ok();
    assert_ne!(text(&world, "home/repo/skills/tidy-up/SKILL.md"), broken);
    assert_eq!(mode(&world, "home/repo/skills/tidy-up/SKILL.md"), 0o600);
    assert_eq!(mode(&world, "home/repo/skills/clean-up/SKILL.md"), 0o755);
}

#[test]
fn mc_08_settings_keep_modes_and_new_ones_are_private_unless_in_a_project() {
    let world = world!();
    put(&world, "home/.claude.json", "{}\n", 0o640);
    world.sp(&["mcp", "install", "--agent", "claude", "--agent", "cursor"]).ok();
    world.sp(&["mcp", "install", "--agent", "vscode", "--scope", "project"]).ok();
    let modes = |world: &World| {
        ["home/.claude.json", "home/.cursor/mcp.json", "home/repo/.vscode/mcp.json"]
            .map(|file| mode(world, file))
    };
    assert_eq!(modes(&world), [0o640, 0o600, 0o644]);
    world.sp(&["mcp", "uninstall", "--agent", "claude", "--agent", "cursor"]).ok();
    assert_eq!(modes(&world), [0o640, 0o600, 0o644]);
}

#[test]
fn mc_08_two_agents_whose_settings_are_one_file_both_get_their_entry() {
    let world = world!();
    put(&world, "home/dotfiles/mcp.json", "{}\n", 0o600);
    for path in ["home/.cursor/mcp.json", "home/.codeium/windsurf/mcp_config.json"] {
        std::fs::create_dir_all(world.path(path).parent().unwrap()).unwrap();
        symlink(world.path("home/dotfiles/mcp.json"), world.path(path)).unwrap();
    }
    let run = world
        .sp(&["mcp", "install", "--agent", "cursor", "--agent", "windsurf", "--name", "mine"])
        .ok();
    assert!(run.stdout.contains("unchanged"), "the second finds the entry of the first: {run}");
    assert_eq!(text(&world, "home/dotfiles/mcp.json").matches("\"mine\"").count(), 1);
    assert!(world.path("home/.cursor/mcp.json").is_symlink());
    assert_eq!(world.files("home/dotfiles").len(), 1, "nothing is left beside it");
}

#[test]
fn pk_15_project_files_and_exported_packages_keep_modes() {
    let world = world!();
    let graph = |text: &str| {
        format!(r#"{{"name": "a", "nodes": [{{"id": "x", "type": "fact", "content": "{text}"}}]}}"#)
    };
    let create = |version: &str| {
        put(&world, "project/a.json", &graph(version), 0o644);
        world.sp_in("project", &["pkg", "create", "--input", "a.json", "--version", version]).ok();
        world.sp_in("project", &["pkg", "install", "a"]).ok();
    };
    create("1.0.0");
    let export = ["pkg", "export", "a", "--output", "a.ctxpkg", "--force"];
    world.sp_in("project", &export).ok();
    let files = ["project/ctxpkg.lock", "project/a.ctxpkg"];
    let before = files.map(|file| text(&world, file));
    for file in files {
        std::fs::set_permissions(world.path(file), PermissionsExt::from_mode(0o600)).unwrap();
    }
    create("1.1.0");
    world.sp_in("project", &export).ok();
    for (file, before) in files.into_iter().zip(before) {
        assert_ne!(text(&world, file), before, "{file}");
        assert_eq!(mode(&world, file), 0o600, "{file}");
    }
}

#[test]
fn pk_13_private_keys_that_earlier_versions_left_behind_go_with_the_next_key_command() {
    let world = world!();
    world.sp(&["key", "new"]).ok();
    let keys = "home/.skillpack/keys";
    put(&world, &format!("{keys}/.20260101T000000-1-1.sp-new"), "half a key", 0o600);
    world.sp(&["key", "rotate"]).ok();
    let names: Vec<String> = world.files(keys).into_keys().collect();
    assert!(names.len() == 2 && names.iter().all(|name| name.ends_with(".pem")), "{names:?}");
    assert!(names.iter().all(|name| mode(&world, &format!("{keys}/{name}")) == 0o600));
}

#[test]
fn pk_13_a_rotation_that_an_earlier_version_began_goes_on_with_the_same_key() {
    let world = world!();
    world.sp(&["key", "new"]).ok();
    world.sp(&["key", "new", "default.next"]).ok();
    let next = text(&world, "home/.skillpack/keys/default.next.pem");
    world.sp(&["key", "rotate"]).ok();
    assert_eq!(text(&world, "home/.skillpack/keys/default.pem"), next);
    assert!(!world.path("home/.skillpack/keys/default.next.pem").exists());
}
