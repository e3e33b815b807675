//! Where agents read their skills: install goes there, and moves what is in a directory that the
//! agent does not read.

use std::os::unix::fs::symlink;

use serde_json::{Value, json};
use sp_testkit::{FileEntry, World, world};

const OLD: &str = "home/.windsurf/skills";
const NEW: &str = "home/.codeium/windsurf/skills";
const INSTALL: &[&str] = &["install", "team", "--agent", "windsurf"];

/// A repository with the packs `team` and `other`.
fn repository() -> World {
    let world = world!();
    world.skill("a");
    world.skill("b");
    world.pack("team", "name: team\ninclude: [a]\n");
    world.pack("other", "name: other\ninclude: [b]\n");
    world
}

/// Creates the settings of an agent, so that it counts as installed.
fn create_agent_settings(world: &World, dir: &str) {
    std::fs::create_dir_all(world.path(dir)).unwrap();
    std::fs::write(world.path(dir).join("settings.json"), "{}").unwrap();
}

fn write_config(world: &World, yaml: &str) {
    std::fs::create_dir_all(world.path("home/.skillpack")).unwrap();
    std::fs::write(world.path("home/.skillpack/config.yaml"), yaml).unwrap();
}

/// Installs packs for Windsurf into its default directory, then installs Windsurf.
fn installed_before_windsurf(packs: &[&str]) -> World {
    let world = repository();
    for pack in packs {
        world.sp(&["install", pack, "--agent", "windsurf"]).ok();
    }
    create_agent_settings(&world, "home/.codeium/windsurf");
    world
}

fn json_of(world: &World, args: &[&str]) -> Value {
    let run = world.sp(&[args, &["--format", "json"]].concat()).ok();
    serde_json::from_str(&run.stdout).unwrap()
}

fn records(world: &World) -> Vec<Value> {
    let text = std::fs::read(world.path("home/.skillpack/state.json")).unwrap();
    let state: Value = serde_json::from_slice(&text).unwrap();
    state["installs"].as_array().unwrap().clone()
}

fn write_records(world: &World, installs: &[Value]) {
    let state = json!({"version": 1, "generation": 1, "installs": installs});
    std::fs::write(world.path("home/.skillpack/state.json"), state.to_string()).unwrap();
}

/// Returns the pack and the directory of each record.
fn installed(world: &World) -> Vec<(String, String)> {
    let pair = |record: &Value| {
        let path = world.normalize(record["sink_path"].as_str().unwrap());
        (record["pack"].as_str().unwrap().to_owned(), path.replace("[WORLD]/", ""))
    };
    let mut pairs: Vec<(String, String)> = records(world).iter().map(pair).collect();
    pairs.sort();
    pairs
}

fn pair(pack: &str, path: &str) -> (String, String) {
    (pack.into(), path.into())
}

/// Returns a path as it is in printed JSON.
fn world_path(path: &str) -> Value {
    json!(format!("[WORLD]/{path}"))
}

fn skills(world: &World, dir: &str) -> Vec<String> {
    world.files(dir).into_keys().filter(|path| !path.contains('/')).collect()
}

#[test]
fn sp_41_install_goes_where_the_agent_reads_and_says_so() {
    for (agent, variable, default, reads) in [
        ("windsurf", "", OLD, NEW),
        ("claude", "CLAUDE_CONFIG_DIR", "home/.claude/skills", "moved/skills"),
        ("claude-code", "CLAUDE_CONFIG_DIR", "home/.claude/skills", "moved/skills"),
        ("codex", "CODEX_HOME", "home/.codex/skills", "moved/skills"),
        ("opencode", "XDG_CONFIG_HOME", "home/.config/opencode/skills", "moved/opencode/skills"),
    ] {
        let mut world = repository();
        if variable.is_empty() {
            create_agent_settings(&world, "home/.codeium/windsurf");
        } else {
            world.set_env(variable, &world.path("moved").display().to_string());
        }
        let report = json_of(&world, &["install", "team", "--agent", agent]);
        let sink = &report["sinks"][0];
        assert_eq!(sink["path"], world_path(reads), "{agent}");
        assert_eq!(sink["instead_of"], world_path(default), "{agent}");
        assert_eq!(skills(&world, reads), ["team__a"], "{agent}");
        assert!(!world.path(default).exists(), "{agent}");
        let run = world.sp(&["install", "team", "--agent", agent]).ok();
        let shown = default.replace("home/", "~/");
        assert!(run.stdout.contains(&format!("instead of {shown}\n")), "{run}");
        assert_eq!(run.stderr, "", "no hint contradicts the action");
        let config = json_of(&world, &["config"]);
        let items = config["sinks"].as_array().unwrap();
        let item = items.iter().find(|item| item["sink"] == agent).unwrap();
        assert_eq!(item["path"], world_path(reads), "{agent}");
        assert_eq!(item["instead_of"], world_path(default), "{agent}");
        assert_eq!(world.sp(&["config"]).ok().stderr, "");
    }
}

#[test]
fn sp_41_a_default_directory_that_the_agent_reads_stays() {
    for (agent, settings) in
        [("codex", "home/.codex"), ("claude", "home/.claude"), ("windsurf", "home/.elsewhere")]
    {
        let world = repository();
        create_agent_settings(&world, settings);
        let run = world.sp(&["install", "team", "--agent", agent]).ok();
        assert_eq!(run.stderr, "", "{agent}");
        assert!(!run.stdout.contains("instead of"), "{run}");
        assert_eq!(skills(&world, &format!("home/.{agent}/skills")), ["team__a"]);
    }
}

#[test]
fn sp_41_skills_from_sp_do_not_make_an_agent_count_as_installed() {
    let world = repository();
    std::fs::create_dir_all(world.path(NEW)).unwrap();
    world.sp(INSTALL).ok();
    assert_eq!(skills(&world, OLD), ["team__a"], "only `sp` created the directory");
}

#[test]
fn sp_41_config_wins() {
    let mut world = installed_before_windsurf(&["team"]);
    world.set_env("CLAUDE_CONFIG_DIR", &world.path("moved").display().to_string());
    write_config(&world, "sinks: {windsurf: ~/dotfiles/windsurf, claude: ~/dotfiles/claude}\n");
    for agent in ["windsurf", "claude"] {
        let report = json_of(&world, &["install", "team", "--agent", agent]);
        assert_eq!(report["sinks"].as_array().unwrap().len(), 1);
        assert_eq!(report["sinks"][0]["instead_of"], Value::Null);
        assert_eq!(skills(&world, &format!("home/dotfiles/{agent}")), ["team__a"]);
    }
    assert!(!world.path(NEW).exists() && !world.path("moved").exists());
    assert_eq!(skills(&world, OLD), ["team__a"], "the configured sink is another one");
    let config = json_of(&world, &["config"]);
    let items = config["sinks"].as_array().unwrap();
    let item = items.iter().find(|item| item["sink"] == "windsurf").unwrap();
    assert_eq!(item["reads"], world_path(NEW));
    assert_eq!(world.sp(&["config"]).ok().stderr, "");
}

#[test]
fn sp_41_pack_at_the_old_path_is_moved() {
    let world = installed_before_windsurf(&["team"]);
    let mut old = records(&world);
    old[0]["theirs"] = json!([1]);
    write_records(&world, &old);
    std::fs::write(world.path(OLD).join("team__a/mine.md"), "edited").unwrap();
    let planned = json_of(&world, &[INSTALL, &["--dry-run"]].concat());
    assert_eq!(installed(&world), [pair("team", OLD)]);
    insta::assert_snapshot!(world.sp(INSTALL), @"
    exit: 0
    --- stdout
    + team__a

    installed team · windsurf · ~/.codeium/windsurf/skills · 1 added
    windsurf reads this directory instead of ~/.windsurf/skills

    - team__a  edited since it was installed

    kept the previous `team__a` in ~/.skillpack/trash/[RUN]/1/team__a
    run `sp clean` to delete what was kept

    moved team · windsurf · from ~/.windsurf/skills to ~/.codeium/windsurf/skills
    ");
    assert_eq!(planned["sinks"][1]["moved_to"], world_path(NEW));
    assert_eq!(planned["sinks"][1]["removed_packs"], json!(["team"]));

    assert_eq!(installed(&world), [pair("team", NEW)]);
    assert_eq!(records(&world)[0]["theirs"], json!([1]), "unknown members move as well");
    assert_eq!((skills(&world, NEW).len(), skills(&world, OLD).len()), (1, 0));
    assert!(!world.path(NEW).join("team__a/mine.md").exists());
    let trash = world.files("home/.skillpack/trash");
    let is_edit = |entry: &FileEntry| matches!(entry, FileEntry::File(text, _) if text == "edited");
    assert!(trash.values().any(is_edit), "{trash:?}");

    let before = (world.files("home/.codeium"), records(&world));
    let run = world.sp(INSTALL).ok();
    assert!(run.stdout.starts_with("up to date:"), "{run}");
    assert_eq!((world.files("home/.codeium"), records(&world)), before);
}

#[test]
fn sp_41_pack_that_is_moved_comes_from_the_same_repository() {
    let world = installed_before_windsurf(&["team"]);
    let before = world.files("home");
    for dir in ["packs", "skills/b"] {
        std::fs::create_dir_all(world.path("home/second").join(dir)).unwrap();
    }
    std::fs::write(world.path("home/second/packs/team.yaml"), "name: team\ninclude: [b]\n")
        .unwrap();
    let skill = "---\nname: b\ndescription: B.\n---\n";
    std::fs::write(world.path("home/second/skills/b/SKILL.md"), skill).unwrap();
    assert_eq!(world.sp_error_in("home/second", INSTALL).code, "E-pack-from-elsewhere");
    assert_eq!(installed(&world), [pair("team", OLD)]);
    world.sp_in("home/second", &[INSTALL, &["--replace"]].concat()).ok();
    assert_eq!(installed(&world), [pair("team", NEW)]);
    assert_eq!((skills(&world, NEW), skills(&world, OLD)), (vec!["team__b".into()], vec![]));
    assert_ne!(world.files("home"), before);
}

#[test]
fn sp_41_other_packs_at_the_old_path_are_reported() {
    let world = installed_before_windsurf(&["team", "other"]);
    let run = world.sp(INSTALL).ok();
    assert!(run.stderr.starts_with("hint: `other` is still in `~/.windsurf/skills`"), "{run}");
    assert!(run.stderr.contains("`sp install other --agent windsurf`"), "{run}");
    assert_eq!(installed(&world), [pair("other", OLD), pair("team", NEW)]);
    let listed = json_of(&world, &["installed", "--agent", "windsurf"]);
    assert_eq!(listed["installs"].as_array().unwrap().len(), 2, "{listed}");
    assert_eq!(world.sp(&["install", "other", "--agent", "windsurf"]).ok().stderr, "");
    assert_eq!(installed(&world), [pair("other", NEW), pair("team", NEW)]);
}

#[test]
fn sp_41_switch_moves_its_packs_and_removes_the_others() {
    let world = installed_before_windsurf(&["team", "other"]);
    let run = world.sp(&["switch", "team", "--agent", "windsurf"]).ok();
    assert!(run.stdout.contains("moved team, removing other · windsurf"), "{run}");
    assert_eq!(installed(&world), [pair("team", NEW)]);
    assert_eq!((skills(&world, NEW), skills(&world, OLD)), (vec!["team__a".into()], vec![]));
}

#[test]
fn sp_41_uninstall_finds_either() {
    for is_moved in [false, true] {
        let world = installed_before_windsurf(&["team"]);
        if is_moved {
            world.sp(INSTALL).ok();
        }
        let report = json_of(&world, &["uninstall", "team", "--agent", "windsurf"]);
        assert_eq!(report["sinks"].as_array().unwrap().len(), 1);
        assert_eq!(report["sinks"][0]["removed_packs"], json!(["team"]));
        assert!(records(&world).is_empty());
        assert!(skills(&world, OLD).is_empty() && skills(&world, NEW).is_empty());
        let error = world.sp_error(&["uninstall", "team", "--agent", "windsurf"]);
        assert_eq!(error.code, "E-not-installed");
    }
}

#[test]
fn sp_41_uninstall_prefers_the_directory_that_is_read() {
    let mut world = repository();
    let install = ["install", "team", "--agent", "claude"];
    let uninstall = ["uninstall", "team", "--agent", "claude"];
    world.set_env("CLAUDE_CONFIG_DIR", &world.path("work").display().to_string());
    world.sp(&install).ok();
    world.set_env("CLAUDE_CONFIG_DIR", "");
    world.sp(&install).ok();
    let default = pair("team", "home/.claude/skills");
    assert_eq!(installed(&world), [default.clone(), pair("team", "work/skills")]);
    world.set_env("CLAUDE_CONFIG_DIR", &world.path("work").display().to_string());
    world.sp(&uninstall).ok();
    assert_eq!(installed(&world), [default]);
    world.sp(&uninstall).ok();
    assert!(records(&world).is_empty());
}

#[test]
fn sp_41_uninstall_of_packs_at_both_paths_is_one_change() {
    let world = installed_before_windsurf(&["team", "other"]);
    world.sp(INSTALL).ok();
    let report = json_of(&world, &["uninstall", "team", "other", "--agent", "windsurf"]);
    assert_eq!(report["sinks"].as_array().unwrap().len(), 2, "{report}");
    assert!(records(&world).is_empty());
    assert!(skills(&world, OLD).is_empty() && skills(&world, NEW).is_empty());
}

#[test]
fn sp_41_old_path_that_another_agent_reads_keeps_the_pack_for_it() {
    let world = repository();
    write_config(&world, "sinks: {mine: ~/.windsurf/skills}\n");
    world.sp(&["install", "team", "--agent", "windsurf,mine"]).ok();
    create_agent_settings(&world, "home/.codeium/windsurf");
    let run = world.sp(INSTALL).ok();
    assert!(run.stdout.contains("`team` stays for mine, which reads the same directory"), "{run}");
    assert_eq!(installed(&world), [pair("team", NEW), pair("team", OLD)]);
    assert_eq!((skills(&world, NEW).len(), skills(&world, OLD).len()), (1, 1));
    let agents: Vec<Value> = records(&world).iter().map(|it| it["agents"].clone()).collect();
    assert!(agents.contains(&json!(["windsurf"])) && agents.contains(&json!(["mine"])));
    world.sp(&["uninstall", "team", "--agent", "windsurf"]).ok();
    assert_eq!(installed(&world), [pair("team", OLD)]);
}

#[test]
fn sp_41_one_command_for_both_readers_of_the_old_path_moves_only_one() {
    let world = repository();
    write_config(&world, "sinks: {mine: ~/.windsurf/skills}\n");
    world.sp(INSTALL).ok();
    create_agent_settings(&world, "home/.codeium/windsurf");
    for command in ["install", "switch", "install"] {
        world.sp(&[command, "team", "--agent", "windsurf,mine"]).ok();
        assert_eq!(installed(&world), [pair("team", NEW), pair("team", OLD)], "{command}");
        assert_eq!((skills(&world, NEW).len(), skills(&world, OLD).len()), (1, 1), "{command}");
    }
    world.sp(&["uninstall", "team", "--agent", "mine,windsurf"]).ok();
    assert!(records(&world).is_empty());
}

#[test]
fn sp_41_record_of_another_agent_at_the_old_path_is_not_touched() {
    let world = repository();
    world.sp(INSTALL).ok();
    let mut old = records(&world);
    old[0]["sink"] = json!("mine");
    old[0].as_object_mut().unwrap().remove("agents");
    write_records(&world, &old);
    create_agent_settings(&world, "home/.codeium/windsurf");
    world.sp(INSTALL).ok();
    assert_eq!(installed(&world), [pair("team", NEW), pair("team", OLD)]);
    assert_eq!(skills(&world, OLD), ["team__a"]);
}

#[test]
fn sp_41_missing_old_directory_is_not_created_again() {
    let world = installed_before_windsurf(&["team"]);
    std::fs::remove_dir_all(world.path("home/.windsurf")).unwrap();
    world.sp(INSTALL).ok();
    assert_eq!(installed(&world), [pair("team", NEW)]);
    assert!(!world.path("home/.windsurf").exists());
}

#[test]
fn sp_41_default_directory_that_is_a_link_to_the_one_read_is_the_same_sink() {
    let world = repository();
    create_agent_settings(&world, "home/.codeium/windsurf");
    std::fs::create_dir_all(world.path(NEW)).unwrap();
    std::fs::create_dir_all(world.path("home/.windsurf")).unwrap();
    symlink(world.path(NEW), world.path(OLD)).unwrap();
    let report = json_of(&world, INSTALL);
    assert_eq!(report["sinks"][0]["instead_of"], Value::Null);
    assert_eq!(installed(&world), [pair("team", NEW)]);
    world.sp(&["uninstall", "team", "--agent", "windsurf"]).ok();
    assert!(records(&world).is_empty() && world.path(OLD).is_symlink());
}
