//! Where the sinks are, and when two names mean one.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a test arranges its world with the plain calls"
)]

use std::os::unix::fs::symlink;

use sp_testkit::{World, world};

fn team() -> World {
    let world = world!();
    world.skill("a");
    world.pack("team", "name: team\ninclude: [a]\n");
    world
}

fn config(world: &World, yaml: &str) {
    std::fs::create_dir_all(world.path("home/.skillpack")).unwrap();
    std::fs::write(world.path("home/.skillpack/config.yaml"), yaml).unwrap();
}

/// What an agent leaves behind where it was installed.
fn put_agent(world: &World, dir: &str) {
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
fn sp_27_each_built_in_sink_has_the_path_of_the_format() {
    let world = team();
    for sink in ["codex", "claude", "copilot", "cursor", "windsurf"] {
        world.sp(&["install", "team", "--agent", sink]).ok();
        assert!(has_skill(&world, &format!("home/.{sink}/skills")), "{sink}");
        world.sp(&["install", "team", "--agent", sink, "--path", "~/mine"]).ok();
        assert!(has_skill(&world, "home/mine"), "--path overrides {sink}, and ~ is expanded");
        world.sp(&["uninstall", "team", "--agent", sink, "--path", "~/mine"]).ok();
    }
}

#[test]
fn sp_27_custom_needs_a_path_and_takes_any() {
    let world = team();
    insta::assert_snapshot!(world.sp(&["install", "team", "--agent", "custom"]), @"
    exit: 2
    --- stderr
    error: the sink `custom` has no place of its own

    hint: add `--path <directory>`
    ");
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
fn sp_27_an_unknown_sink_is_an_error_that_lists_the_known_ones() {
    let world = team();
    config(&world, "sinks: {mine: ~/mine}\n");
    for command in ["install", "uninstall", "switch"] {
        let run = world.sp(&[command, "team", "--agent", "cluade"]).fails(2);
        assert!(
            run.stderr.starts_with(
                "error: there is no sink called `cluade`\n\nhint: did you mean `claude`?\n"
            ),
            "{run}"
        );
        for sink in
            ["codex", "claude", "copilot", "cursor", "windsurf", "custom", "mine", "gemini-cli"]
        {
            assert!(run.stderr.contains(&format!("{sink},")), "{sink}: {run}");
        }
    }
    world.sp(&["installed", "--agent", "cluade"]).fails(2);
}

#[test]
fn sp_27_a_sink_of_the_config_is_as_good_as_a_built_in_one() {
    let world = team();
    config(&world, "sinks:\n  claude: ~/dotfiles/claude\n  mine: ~/mine/skills\n");
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
fn sp_27_a_sink_of_the_config_is_one_place_wherever_sp_runs() {
    let world = team();
    config(&world, "sinks: {mine: some/skills}\n");
    let path = |dir: &str| {
        let run = world.sp_in(dir, &["config", "--format", "json"]);
        (run.code == Some(0)).then(|| {
            let sinks = json(&run.stdout)["sinks"].as_array().unwrap().clone();
            sinks.into_iter().find(|sink| sink["sink"] == "mine").unwrap()["path"].clone()
        })
    };
    assert_eq!(path("home"), path("home/repo"), "a relative path is refused, or means one place");
}

#[test]
fn sp_27_agents_of_the_table_have_their_places_for_the_user_and_in_a_project() {
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
    let run = world.sp(&["install", "team", "--agent", "eve"]).fails(1);
    assert!(run.stderr.contains("--scope project"), "{run}");
}

#[test]
fn sp_27_the_config_shows_every_sink_and_where_it_comes_from() {
    let world = world!();
    config(&world, "sinks: {mine: ~/mine, codex: ~/.agents/skills}\n");
    put_agent(&world, "home/.gemini");
    insta::assert_snapshot!(world.sp(&["config"]), @"
    exit: 0
    --- stdout
    SINK        PATH                IN A PROJECT      FROM      FOUND HERE
    codex       ~/.agents/skills    .agents/skills    config
    claude      ~/.claude/skills    .claude/skills    built-in
    copilot     ~/.copilot/skills   .agents/skills    built-in
    cursor      ~/.cursor/skills    .agents/skills    built-in
    windsurf    ~/.windsurf/skills  .windsurf/skills  built-in
    mine        ~/mine                                config
    gemini-cli  ~/.gemini/skills    .agents/skills    table     yes
    and 75 more agents (`--verbose` lists them)

    home    ~/.skillpack
    config  ~/.skillpack/config.yaml
    cache   ~/.skillpack/cache
    ");
}

#[test]
fn sp_28_a_config_that_is_wrong_is_shown_where_it_is_wrong() {
    let world = team();
    config(&world, "sink:\n  mine: ~/mine\nlimits:\n  dept: 3\n  depth: deep\n");
    insta::assert_snapshot!(world.sp(&["config"]), @"
    exit: 3
    --- stderr
    error[SP-28]: unknown key `sink`
     --> ~/.skillpack/config.yaml:1:1
      |
    1 | sink:
      | ^^^^
      |
      = help: did you mean `sinks`?

    error[SE-04]: there is no limit called `dept`
     --> ~/.skillpack/config.yaml:4:3
      |
    4 |   dept: 3
      |   ^^^^
      |
      = help: did you mean `depth`?

    error[SE-04]: the limit `depth` must be a whole number
     --> ~/.skillpack/config.yaml:5:10
      |
    5 |   depth: deep
      |          ^^^^
      |
      = help: write digits only: `10000`

    error: the config cannot be used
    ");
    world.sp(&["install", "team", "--agent", "claude"]).fails(3);
    assert!(!world.path("home/.claude").exists());
}

#[test]
fn sp_28_the_home_is_below_the_users_and_a_variable_moves_it() {
    let mut world = team();
    world.sp(&["install", "team", "--agent", "claude"]).ok();
    assert!(world.path("home/.skillpack/state.json").is_file());
    let moved = world.path("moved/home").display().to_string();
    for (value, home) in [(moved.as_str(), "moved/home"), ("relative", "home/repo/relative")] {
        world.set_env("SKILLPACK_HOME", value);
        let before = world.files("home/.skillpack");
        world
            .sp(&[
                "install",
                "team",
                "--agent",
                "custom",
                "--path",
                &world.path("sink").join(home).display().to_string(),
            ])
            .ok();
        assert!(world.path(home).join("state.json").is_file(), "{value}");
        assert_eq!(world.files("home/.skillpack"), before);
    }
    world.set_env("SKILLPACK_HOME", "");
    assert_eq!(
        world.sp(&["installed", "--format", "plain"]).ok().stdout.lines().count(),
        1,
        "empty is unset"
    );
}

#[test]
fn sp_28_git_is_cached_in_the_home_or_where_cache_dir_says() {
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
fn sp_28_commands_that_only_look_make_no_home() {
    let world = team();
    let before = world.files("");
    for args in
        [&["list"][..], &["packs"], &["show", "team"], &["installed"], &["config"], &["clean"]]
    {
        world.sp(args).ok();
    }
    world.sp(&["uninstall", "team", "--agent", "claude"]).fails(1);
    assert_eq!(world.files(""), before);
}

#[test]
fn sp_36_a_trailing_slash_dots_and_a_link_mean_the_same_sink() {
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
        let run = world.sp(&["install", "team", "--agent", "custom", "--path", &path]).ok();
        assert!(
            run.stdout.contains(if number == 0 { "1 added" } else { "1 unchanged" }),
            "{name}: {run}"
        );
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
    let run = world
        .sp(&["install", "team", "--agent", "claude", "--agent", "codex", "--agent", "claude"])
        .ok();
    assert_eq!(run.stdout.matches("installed team").count(), 1, "{run}");
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
    assert!(world.files("home/.claude/skills").is_empty());
}

#[test]
fn sp_36_a_sink_that_is_a_link_to_nothing_is_refused() {
    let world = team();
    symlink(world.path("nowhere"), world.path("link")).unwrap();
    let link = world.path("link").display().to_string();
    let run = world.sp(&["install", "team", "--agent", "custom", "--path", &link]).fails(5);
    assert!(run.stderr.contains("[WORLD]/link") && !world.path("nowhere").exists(), "{run}");
}

#[test]
fn sp_37_the_same_pack_name_from_another_repo_needs_replace() {
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
    insta::assert_snapshot!(world.sp_in("home/second", &["install", "team", "--agent", "claude"]), @"
    exit: 4
    --- stderr
    error: a pack called `team` is already installed in `~/.claude/skills` from another place
      because: it came from `~/repo/packs/team.yaml`, and this one is `~/second/packs/team.yaml`

    hint: add `--replace` to put this one in its place
    ");
    assert_eq!(world.files("home"), before);
    insta::assert_snapshot!(world.sp_in("home/second", &["install", "team", "--agent", "claude", "--replace"]), @"
    exit: 0
    --- stdout
    + team__b
    - team__a

    installed team · claude · ~/.claude/skills · 1 added, 1 removed
    ");
    world.sp_in("home/second", &["install", "team", "--agent", "claude"]).ok();
    world.sp(&["install", "team", "--agent", "claude"]).fails(4);
    world.sp(&["switch", "team", "--agent", "claude"]).fails(4);
}

#[test]
fn sp_37_the_same_pack_file_by_another_path_is_the_same_pack() {
    let world = team();
    world.sp(&["install", "team", "--agent", "claude"]).ok();
    symlink(world.repo(), world.path("home/alias")).unwrap();
    for args in [["install", "packs/team.yaml"], ["install", "~/alias/packs/team.yaml"]] {
        world.sp(&[&args[..], &["--agent", "claude"]].concat()).ok();
    }
    world.sp_in("home/alias/skills", &["install", "team", "--agent", "claude"]).ok();
}

#[test]
fn sp_39_a_sink_that_overlaps_the_authoring_tree_is_refused() {
    let world = team();
    symlink(world.repo().join("skills"), world.path("home/link")).unwrap();
    let before = world.files("");
    for path in ["skills", "skills/new/deep", "skills/a", ".", "~", "/", "~/link", "~/link/below"] {
        let run = world.sp(&["install", "team", "--agent", "custom", "--path", path]).fails(1);
        assert!(
            run.stderr.contains("lie inside one another") && run.stderr.contains("hint: "),
            "{path}: {run}"
        );
        assert_eq!(world.files(""), before, "{path}");
    }
    world.sp(&["install", "team", "--agent", "claude", "--scope", "project"]).ok();
    assert!(has_skill(&world, "home/repo/.claude/skills"), "beside the skills is fine");
}

#[test]
fn sp_41_an_agent_that_reads_elsewhere_is_pointed_out_with_the_line_that_mends_it() {
    let world = team();
    put_agent(&world, "home/.codeium/windsurf");
    insta::assert_snapshot!(world.sp(&["install", "team", "--agent", "windsurf"]), @"
    exit: 0
    --- stdout
    + team__a

    installed team · windsurf · ~/.windsurf/skills · 1 added
    --- stderr
    hint: on this machine Windsurf reads `~/.codeium/windsurf/skills`; to install there, put `sinks: {windsurf: ~/.codeium/windsurf/skills}` into `~/.skillpack/config.yaml`
    ");
    assert!(has_skill(&world, "home/.windsurf/skills"), "the default stays");
    let line = "sinks: {windsurf: ~/.codeium/windsurf/skills}";
    let shown = world.sp(&["config"]).ok();
    assert!(shown.to_string().contains(line), "{shown}");
    config(&world, &format!("{line}\n"));
    assert_eq!(world.sp(&["install", "team", "--agent", "windsurf"]).ok().stderr, "");
    assert!(has_skill(&world, "home/.codeium/windsurf/skills"));
    assert!(!world.sp(&["config"]).ok().stdout.contains("hint:"));
}

#[test]
fn sp_41_no_hint_where_the_agent_reads_there_or_is_not_on_this_machine() {
    let world = team();
    put_agent(&world, "home/.claude");
    for agent in ["claude", "windsurf", "codex"] {
        assert_eq!(world.sp(&["install", "team", "--agent", agent]).ok().stderr, "", "{agent}");
    }
}

#[test]
fn sp_41_what_sp_itself_installed_does_not_make_an_agent_found() {
    let world = team();
    world.sp(&["install", "team", "--agent", "codex"]).ok();
    let run = world.sp(&["install", "team", "--agent", "codex"]).ok();
    assert_eq!(run.stderr, "", "the machine has no Codex, only a folder that `sp` made");
}
