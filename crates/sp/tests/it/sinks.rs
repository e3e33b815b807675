//! The paths of sinks, and when two paths are the same sink.

use std::os::unix::fs::symlink;

use sp_testkit::{World, world};

fn team() -> World {
    let world = world!();
    world.skill("a");
    world.pack("team", "name: team\ninclude: [a]\n");
    world
}

fn write_config(world: &World, yaml: &str) {
    std::fs::create_dir_all(world.path("home/.skillpack")).unwrap();
    std::fs::write(world.path("home/.skillpack/config.yaml"), yaml).unwrap();
}

/// Creates the settings of an agent, so that it counts as installed.
fn create_agent_settings(world: &World, dir: &str) {
    std::fs::create_dir_all(world.path(dir)).unwrap();
    std::fs::write(world.path(dir).join("settings.json"), "{}").unwrap();
}

fn has_skill(world: &World, sink: &str) -> bool {
    world.path(sink).join("team__a/SKILL.md").is_file()
}

fn json(text: &str) -> serde_json::Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn sp_27_built_in_sinks_have_the_paths_of_the_format() {
    let world = team();
    for sink in ["codex", "claude", "copilot", "cursor", "windsurf"] {
        world.sp(&["install", "team", "--agent", sink]).ok();
        assert!(has_skill(&world, &format!("home/.{sink}/skills")), "{sink}");
        world.sp(&["install", "team", "--agent", sink, "--path", "~/mine"]).ok();
        assert!(has_skill(&world, "home/mine"), "{sink}");
        world.sp(&["uninstall", "team", "--agent", sink, "--path", "~/mine"]).ok();
    }
}

#[test]
fn sp_27_custom_requires_a_path() {
    let world = team();
    let error = world.sp_error(&["install", "team", "--agent", "custom"]);
    assert_eq!(error.code, "E-agent-required");
    assert!(error.hints_at("--path"), "{error:?}");
    let absolute = world.path("abs/new/skills").display().to_string();
    for (path, sink) in [
        ("rel/skills", "home/repo/rel/skills"),
        ("~/tilde", "home/tilde"),
        (&absolute, "abs/new/skills"),
    ] {
        world.sp(&["install", "team", "--agent", "custom", "--path", path]).ok();
        assert!(has_skill(&world, sink), "{path}");
    }
}

#[test]
fn sp_27_an_unknown_sink_is_an_error_with_the_nearest() {
    let world = team();
    write_config(&world, "sinks: {mine: ~/mine}\n");
    for command in ["install", "uninstall", "switch"] {
        let error = world.sp_error(&[command, "team", "--agent", "cluade"]);
        assert_eq!(error.code, "E-unknown-agent");
        assert!(
            error.message.contains("`cluade`") && error.hints[0].contains("`claude`"),
            "{error:?}"
        );
        assert!(error.hints_at("sp config --verbose"), "{error:?}");
        let names: usize = error.hints.iter().map(|hint| hint.matches(", ").count()).sum();
        assert!(names <= 2, "at most three names: {error:?}");
    }
    let error = world.sp_error(&["install", "team", "--agent", "mene"]);
    assert!(error.hints_at("`mine`"), "configured names are suggested: {error:?}");
    assert_eq!(world.sp_error(&["installed", "--agent", "cluade"]).code, "E-unknown-agent");
}

#[test]
fn sp_27_sinks_of_the_configuration_override_built_in_ones() {
    let world = team();
    write_config(&world, "sinks:\n  claude: ~/dotfiles/claude\n  mine: ~/mine/skills\n");
    world.sp(&["install", "team", "--agent", "claude", "--agent", "mine"]).ok();
    assert!(has_skill(&world, "home/dotfiles/claude") && has_skill(&world, "home/mine/skills"));
    assert!(!world.path("home/.claude").exists());
    let listed = world.sp(&["config", "--format", "plain"]).ok().stdout;
    assert!(
        listed.contains("claude\t[WORLD]/home/dotfiles/claude\n")
            && listed.contains("mine\t[WORLD]/home/mine/skills\n"),
        "{listed}"
    );
    assert_eq!(
        world
            .sp(&["installed", "--agent", "mine", "--format", "plain"])
            .ok()
            .stdout
            .lines()
            .count(),
        1
    );
}

#[test]
fn sp_27_configured_sinks_do_not_depend_on_the_current_directory() {
    let world = team();
    write_config(&world, "sinks: {mine: some/skills}\n");
    let path = |dir: &str| {
        let run = world.sp_in(dir, &["config", "--format", "json"]);
        (run.code == Some(0)).then(|| {
            let sinks = json(&run.stdout)["sinks"].as_array().unwrap().clone();
            sinks.into_iter().find(|sink| sink["sink"] == "mine").unwrap()["path"].clone()
        })
    };
    assert_eq!(
        path("home"),
        path("home/repo"),
        "a relative path is refused or always resolved the same way"
    );
}

#[test]
fn sp_27_agents_have_user_and_project_sinks() {
    let mut world = team();
    world.sp(&["install", "team", "--agent", "gemini-cli"]).ok();
    assert!(has_skill(&world, "home/.gemini/skills"));
    world.set_env("CLAUDE_CONFIG_DIR", &world.path("elsewhere").display().to_string());
    world.sp(&["install", "team", "--agent", "claude-code"]).ok();
    assert!(has_skill(&world, "elsewhere/skills"));
    let project = world.git("project");
    std::fs::create_dir_all(project.path().join("src/deep")).unwrap();
    let root = world.repo().display().to_string();
    world
        .sp_in(
            "git/project/src/deep",
            &["install", "team", "--agent", "claude", "--scope", "project", "--root", &root],
        )
        .ok();
    assert!(has_skill(&world, "git/project/.claude/skills"));
    let error = world.sp_error(&["install", "team", "--agent", "eve"]);
    assert_eq!(error.code, "E-agent-scope-unsupported");
    assert!(error.hints_at("--scope project"), "{error:?}");
}

#[test]
fn sp_27_config_lists_every_sink() {
    let world = world!();
    write_config(&world, "sinks: {mine: ~/mine, codex: ~/.agents/skills}\n");
    create_agent_settings(&world, "home/.gemini");
    insta::assert_snapshot!(world.sp(&["config"]), @"
    exit: 0
    --- stdout
    AGENT       PATH                PROJECT PATH      SOURCE    DETECTED
    codex       ~/.agents/skills    .agents/skills    config
    claude      ~/.claude/skills    .claude/skills    built-in
    copilot     ~/.copilot/skills   .agents/skills    built-in
    cursor      ~/.cursor/skills    .agents/skills    built-in
    windsurf    ~/.windsurf/skills  .windsurf/skills  built-in
    mine        ~/mine                                config
    gemini-cli  ~/.gemini/skills    .agents/skills    table     yes
    … and 75 more agents (use `--verbose` to list all)

    home    ~/.skillpack
    config  ~/.skillpack/config.yaml
    cache   ~/.skillpack/cache
    ");
}

#[test]
fn sp_28_errors_in_the_configuration_have_positions() {
    let world = team();
    write_config(&world, "sink:\n  mine: ~/mine\nlimits:\n  dept: 3\n  depth: deep\n");
    for args in [&["config"][..], &["install", "team", "--agent", "claude"]] {
        let error = world.sp_error(args);
        assert_eq!(error.code, "SP-28", "{args:?}");
        let expected =
            [("SP-28", 1, 1, "`sink`"), ("SE-04", 4, 3, "`dept`"), ("SE-04", 5, 10, "`depth`")];
        assert_eq!(error.findings.len(), expected.len(), "{error:?}");
        for (finding, (rule, line, column, key)) in error.findings.iter().zip(expected) {
            assert_eq!(finding.file, "~/.skillpack/config.yaml");
            assert_eq!((finding.rule.as_str(), finding.line, finding.column), (rule, line, column));
            assert!(finding.message.contains(key), "{}", finding.message);
        }
    }
    let run = world.sp(&["config"]).fails(3);
    assert!(run.stderr.contains("`sinks`?") && run.stderr.contains("`depth`?"), "{run}");
    assert!(!world.path("home/.claude").exists());
}

#[test]
fn sp_28_a_variable_sets_the_home() {
    let mut world = team();
    world.sp(&["install", "team", "--agent", "claude"]).ok();
    assert!(world.path("home/.skillpack/state.json").is_file());
    let moved = world.path("moved/home").display().to_string();
    for (value, home) in [(moved.as_str(), "moved/home"), ("relative", "home/repo/relative")] {
        world.set_env("SKILLPACK_HOME", value);
        let before = world.files("home/.skillpack");
        let sink = world.path("sink").join(home).display().to_string();
        world.sp(&["install", "team", "--agent", "custom", "--path", &sink]).ok();
        assert!(world.path(home).join("state.json").is_file(), "{value}");
        assert_eq!(world.files("home/.skillpack"), before);
    }
    world.set_env("SKILLPACK_HOME", "");
    assert_eq!(
        world.sp(&["installed", "--format", "plain"]).ok().stdout.lines().count(),
        1,
        "an empty variable is ignored"
    );
}

#[test]
fn sp_28_the_git_cache_is_in_the_home_or_in_cache_dir() {
    let world = world!();
    let repo = world.git("shared");
    repo.skill("r").commit("one");
    world.pack(
        "team",
        &format!("name: team\nimports:\n  - repo: {}\n    include: [r]\n", repo.url()),
    );
    world.sp(&["show", "team", "--cache-dir", "my-cache"]).ok();
    assert!(
        !world.files("home/repo/my-cache").is_empty()
            && !world.path("home/.skillpack/cache").exists()
    );
    world.sp(&["show", "team"]).ok();
    assert!(!world.files("home/.skillpack/cache").is_empty());
    world.sp(&["clean", "--cache"]).ok();
    assert!(world.files("home/.skillpack/cache/git").is_empty());
}

#[test]
fn sp_28_read_only_commands_do_not_create_the_home() {
    let world = team();
    let before = world.files("");
    for args in
        [&["list"][..], &["packs"], &["show", "team"], &["installed"], &["config"], &["clean"]]
    {
        world.sp(args).ok();
    }
    let error = world.sp_error(&["uninstall", "team", "--agent", "claude"]);
    assert_eq!(error.code, "E-not-installed");
    assert_eq!(world.files(""), before);
}

#[test]
fn sp_36_paths_to_the_same_directory_are_the_same_sink() {
    let world = team();
    std::fs::create_dir_all(world.path("real/skills")).unwrap();
    symlink(world.path("real/skills"), world.path("link")).unwrap();
    symlink(world.path("real"), world.path("parent")).unwrap();
    let names = [
        "real/skills",
        "real/skills/",
        "real/./skills",
        "real/../real/skills",
        "link",
        "link/",
        "parent/skills",
    ];
    for (number, name) in names.iter().enumerate() {
        let path = format!("{}/{name}", world.root().display());
        let install = ["install", "team", "--agent", "custom", "--path", &path];
        let run = world.sp(&[&install[..], &["--format", "plain"]].concat()).ok();
        let action = if number == 0 { "add\t" } else { "keep\t" };
        assert!(run.stdout.starts_with(action) && run.stdout.lines().count() == 1, "{name}: {run}");
        assert!(
            world
                .sp(&["installed", "--path", &path, "--format", "plain"])
                .ok()
                .stdout
                .contains("\t[WORLD]/real/skills\n"),
            "{name}"
        );
    }
    assert_eq!(world.sp(&["installed", "--format", "plain"]).ok().stdout.lines().count(), 1);
    let link = world.path("link").display().to_string();
    world.sp(&["uninstall", "team", "--agent", "custom", "--path", &link]).ok();
    assert!(world.files("real/skills").is_empty() && world.path("link").is_symlink());
}

#[test]
fn sp_36_two_agents_that_share_a_directory_are_one_sink() {
    let world = team();
    std::fs::create_dir_all(world.path("home/.claude/skills")).unwrap();
    std::fs::create_dir_all(world.path("home/.codex")).unwrap();
    symlink(world.path("home/.claude/skills"), world.path("home/.codex/skills")).unwrap();
    let agents = ["--agent", "claude", "--agent", "codex", "--agent", "claude"];
    let run = world.sp(&[&["install", "team", "--format", "plain"], &agents[..]].concat()).ok();
    assert_eq!(run.stdout.lines().count(), 1, "{run}");
    assert_eq!(
        world
            .sp(&["installed", "--agent", "codex", "--format", "plain"])
            .ok()
            .stdout
            .lines()
            .count(),
        1
    );
    world.sp(&["uninstall", "team", "--agent", "codex"]).ok();
    assert!(has_skill(&world, "home/.claude/skills"), "Claude still reads it");
    world.sp(&["uninstall", "team", "--agent", "claude"]).ok();
    assert!(world.files("home/.claude/skills").is_empty());
}

#[test]
fn sp_36_a_sink_that_is_a_dangling_link_is_refused() {
    let world = team();
    symlink(world.path("nowhere"), world.path("link")).unwrap();
    let link = world.path("link").display().to_string();
    let error = world.sp_error(&["install", "team", "--agent", "custom", "--path", &link]);
    assert_eq!(error.code, "E-directory-unusable", "{error:?}");
    assert!(error.message.contains("[WORLD]/link") && !world.path("nowhere").exists(), "{error:?}");
}

#[test]
fn sp_37_replacing_a_pack_of_another_repository_requires_a_flag() {
    let world = team();
    world.sp(&["install", "team", "--agent", "claude"]).ok();
    std::fs::create_dir_all(world.path("home/second/packs")).unwrap();
    std::fs::create_dir_all(world.path("home/second/skills/b")).unwrap();
    std::fs::write(world.path("home/second/packs/team.yaml"), "name: team\ninclude: ['**']\n")
        .unwrap();
    std::fs::write(
        world.path("home/second/skills/b/SKILL.md"),
        "---\nname: b\ndescription: B.\n---\n",
    )
    .unwrap();
    let before = world.files("home");
    let error = world.sp_error_in("home/second", &["install", "team", "--agent", "claude"]);
    assert_eq!(error.code, "E-pack-from-elsewhere");
    assert!(
        error.message.contains("`team`") && error.message.contains("`~/.claude/skills`"),
        "{error:?}"
    );
    for path in ["`~/repo/packs/team.yaml`", "`~/second/packs/team.yaml`"] {
        assert!(error.because[0].contains(path), "{error:?}");
    }
    assert!(error.hints_at("--replace"), "{error:?}");
    assert_eq!(world.files("home"), before);
    world.sp_in("home/second", &["install", "team", "--agent", "claude", "--replace"]).ok();
    let skills: Vec<String> = world.files("home/.claude/skills").into_keys().collect();
    assert_eq!(skills, ["team__b", "team__b/SKILL.md"]);
    world.sp_in("home/second", &["install", "team", "--agent", "claude"]).ok();
    for command in ["install", "switch"] {
        let error = world.sp_error(&[command, "team", "--agent", "claude"]);
        assert_eq!(error.code, "E-pack-from-elsewhere", "{command}");
    }
}

#[test]
fn sp_37_a_pack_is_the_same_by_any_path() {
    let world = team();
    world.sp(&["install", "team", "--agent", "claude"]).ok();
    symlink(world.repo(), world.path("home/alias")).unwrap();
    for args in [["install", "packs/team.yaml"], ["install", "~/alias/packs/team.yaml"]] {
        world.sp(&[&args[..], &["--agent", "claude"]].concat()).ok();
    }
    world.sp_in("home/alias/skills", &["install", "team", "--agent", "claude"]).ok();
}

#[test]
fn sp_39_a_sink_that_overlaps_with_the_repository_is_refused() {
    let world = team();
    symlink(world.repo().join("skills"), world.path("home/link")).unwrap();
    let before = world.files("");
    for path in ["skills", "skills/new/deep", "skills/a", ".", "~", "/", "~/link", "~/link/below"] {
        let error = world.sp_error(&["install", "team", "--agent", "custom", "--path", path]);
        assert_eq!(error.code, "E-sink-overlap", "{path}");
        assert!(error.hints_at("--path"), "{path}: {error:?}");
        assert_eq!(world.files(""), before, "{path}");
    }
    world.sp(&["install", "team", "--agent", "claude", "--scope", "project"]).ok();
    assert!(has_skill(&world, "home/repo/.claude/skills"), "a sink beside `skills/` is fine");
}
