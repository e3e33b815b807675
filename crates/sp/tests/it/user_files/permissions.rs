//! Files of the user keep their permission bits, and files that were empty are not removed.

use super::*;

fn mode(world: &World, path: &str) -> u32 {
    world.path(path).metadata().unwrap().permissions().mode() & 0o7777
}

fn world_with_context_pack() -> World {
    let world = world!();
    create_context_pack(&world);
    world
}

#[test]
fn cp_14_context_install_and_uninstall_keep_modes() {
    let world = world_with_context_pack();
    write(&world, "work/repo/AGENTS.md", "Mine.\n", 0o600);
    write(&world, "work/repo/CLAUDE.md", "Mine too.\n", 0o664);
    let modes = |world: &World| {
        ["AGENTS.md", "CLAUDE.md"].map(|file| mode(world, &format!("work/repo/{file}")))
    };
    world.sp_in("work", CONTEXT_INSTALL).ok();
    assert!(text(&world, "work/repo/AGENTS.md").contains("skillpack:begin"));
    assert_eq!(modes(&world), [0o600, 0o664]);
    world.sp_in("work", CONTEXT_UNINSTALL).ok();
    assert_eq!(text(&world, "work/repo/AGENTS.md"), "Mine.\n");
    assert_eq!(modes(&world), [0o600, 0o664]);
}

#[test]
fn cp_14_uninstall_keeps_empty_files_and_removes_created_ones() {
    let world = world_with_context_pack();
    write(&world, "work/repo/AGENTS.md", "", 0o640);
    world.sp_in("work", CONTEXT_INSTALL).ok();
    // Replacing the block keeps the record that the file existed.
    let rules = text(&world, "work/shop/AGENTS.md").replace("sells", "buys");
    write(&world, "work/shop/AGENTS.md", &rules, 0o644);
    world.sp_in("work", &["context", "seal", "shop"]).ok();
    world.sp_in("work", CONTEXT_INSTALL).ok();
    world.sp_in("work", CONTEXT_UNINSTALL).ok();
    assert_eq!(
        world.files("work/repo"),
        [("AGENTS.md".into(), FileEntry::File(String::new(), false))].into()
    );
    assert_eq!(mode(&world, "work/repo/AGENTS.md"), 0o640);
}

#[test]
fn sb_02_bag_init_keeps_the_mode_of_gitignore() {
    let world = world!();
    write(&world, "ws/.gitignore", "target\n", 0o600);
    world.sp_in("ws", &["bag", "init"]).ok();
    assert!(text(&world, "ws/.gitignore").contains("USER_CONTEXT.md"));
    assert_eq!(mode(&world, "ws/.gitignore"), 0o600);
}

#[test]
fn check_fix_keeps_modes() {
    let world = world!();
    let broken = "---\ndescription: Use when it is late.\n---\nBody.\n";
    for (name, mode) in [("tidy-up", 0o600), ("clean-up", 0o755)] {
        write(&world, &format!("home/repo/skills/{name}/SKILL.md"), broken, mode);
    }
    world.sp(&["check", "--fix"]).ok();
    assert_ne!(text(&world, "home/repo/skills/tidy-up/SKILL.md"), broken);
    assert_eq!(mode(&world, "home/repo/skills/tidy-up/SKILL.md"), 0o600);
    assert_eq!(mode(&world, "home/repo/skills/clean-up/SKILL.md"), 0o755);
}

#[test]
fn mc_08_settings_keep_modes_and_new_user_settings_are_private() {
    let world = world!();
    write(&world, "home/.claude.json", "{}\n", 0o640);
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
fn mc_08_agents_that_share_a_settings_file_share_the_entry() {
    let world = world!();
    write(&world, "home/dotfiles/mcp.json", "{}\n", 0o600);
    for path in ["home/.cursor/mcp.json", "home/.codeium/windsurf/mcp_config.json"] {
        std::fs::create_dir_all(world.path(path).parent().unwrap()).unwrap();
        symlink(world.path("home/dotfiles/mcp.json"), world.path(path)).unwrap();
    }
    let agents = ["--agent", "cursor", "--agent", "windsurf"];
    let options = ["--name", "mine", "--format", "json"];
    let run = world.sp(&[&["mcp", "install"], &agents[..], &options].concat()).ok();
    let report: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(report["agents"][0]["action"], "add", "{report}");
    assert_eq!(report["agents"][1]["action"], "keep", "{report}");
    assert_eq!(text(&world, "home/dotfiles/mcp.json").matches("\"mine\"").count(), 1);
    assert!(world.path("home/.cursor/mcp.json").is_symlink());
    assert_eq!(world.files("home/dotfiles").len(), 1, "no temporary file is left");
}

#[test]
fn pk_15_project_files_and_exported_packages_keep_modes() {
    let world = world!();
    let graph = |text: &str| {
        format!(r#"{{"name": "a", "nodes": [{{"id": "x", "type": "fact", "content": "{text}"}}]}}"#)
    };
    let create = |version: &str| {
        write(&world, "project/a.json", &graph(version), 0o644);
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
fn pk_13_key_rotate_removes_leftover_private_keys() {
    let world = world!();
    world.sp(&["key", "new"]).ok();
    let keys = "home/.skillpack/keys";
    write(&world, &format!("{keys}/.20260101T000000-1-1.sp-new"), "half a key", 0o600);
    world.sp(&["key", "rotate"]).ok();
    let names: Vec<String> = world.files(keys).into_keys().collect();
    assert!(names.len() == 2 && names.iter().all(|name| name.ends_with(".pem")), "{names:?}");
    assert!(names.iter().all(|name| mode(&world, &format!("{keys}/{name}")) == 0o600));
}

#[test]
fn pk_13_interrupted_key_rotation_continues_with_the_same_key() {
    let world = world!();
    world.sp(&["key", "new"]).ok();
    world.sp(&["key", "new", "default.next"]).ok();
    let next = text(&world, "home/.skillpack/keys/default.next.pem");
    world.sp(&["key", "rotate"]).ok();
    assert_eq!(text(&world, "home/.skillpack/keys/default.pem"), next);
    assert!(!world.path("home/.skillpack/keys/default.next.pem").exists());
}
