//! Agents that read the same directory: one sink with several readers.

use serde_json::{Value, json};
use sp_testkit::{World, world};

/// The directory that Codex, Cursor and GitHub Copilot read in a project.
const SHARED: &str = "home/repo/.agents/skills";

fn repository() -> World {
    let world = world!();
    ["a", "b", "c"].iter().for_each(|id| world.skill(id));
    world.pack("team", "name: team\ninclude: [a]\n");
    world.pack("other", "name: other\ninclude: [b]\n");
    world.pack("third", "name: third\ninclude: [c]\n");
    world
}

fn write_config(world: &World, yaml: &str) {
    std::fs::create_dir_all(world.path("home/.skillpack")).unwrap();
    std::fs::write(world.path("home/.skillpack/config.yaml"), yaml).unwrap();
}

/// Runs a command for agents in the project.
fn run(world: &World, command: &str, pack: &str, agents: &str) -> sp_testkit::Run {
    world.sp(&[command, pack, "--agent", agents, "--scope", "project"]).ok()
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

/// Returns the agents of each recorded pack.
fn agents(world: &World) -> Vec<(String, Value)> {
    let pair =
        |record: &Value| (record["pack"].as_str().unwrap().to_owned(), record["agents"].clone());
    let mut agents: Vec<(String, Value)> = records(world).iter().map(pair).collect();
    agents.sort_by(|a, b| a.0.cmp(&b.0));
    agents
}

fn of(pack: &str, agents: &[&str]) -> (String, Value) {
    (pack.into(), json!(agents))
}

fn skills(world: &World, dir: &str) -> Vec<String> {
    world.files(dir).into_keys().filter(|path| !path.contains('/')).collect()
}

#[test]
fn lc_02_agents_with_one_directory_are_reported_and_recorded_together() {
    let world = repository();
    insta::assert_snapshot!(run(&world, "install", "team", "codex,cursor"), @r#"
    exit: 0
    --- stdout
    + team__a

    installed team · codex, cursor · ~/repo/.agents/skills · 1 added
    --- stderr
    hint: Cursor requires that the name of a directory equals the name of the skill; set `install: {prefix: "", flatten: true}` in the pack
    "#);
    assert_eq!(agents(&world), [of("team", &["codex", "cursor"])]);
    let args = ["install", "team", "--agent", "copilot", "--scope", "project"];
    let report = json_of(&world, &args);
    let sink = &report["sinks"][0];
    assert_eq!((&sink["sink"], &sink["agents"]), (&json!("copilot"), &json!(["copilot"])));
    let others = json!([{"pack": "team", "agents": ["codex", "cursor"]}]);
    assert_eq!((&sink["shared_packs"], &sink["changed"]), (&others, &json!(true)));
    assert_eq!(json_of(&world, &args)["sinks"][0]["changed"], json!(false));
    insta::assert_snapshot!(run(&world, "install", "team", "copilot"), @"
    exit: 0
    --- stdout
    up to date: team · copilot · ~/repo/.agents/skills · 1 unchanged
    `team` is also installed for codex, cursor, which read the same directory
    ");
    let all = json!(["codex", "cursor", "copilot"]);
    assert_eq!(agents(&world), [("team".to_owned(), all.clone())]);
    assert_eq!(records(&world)[0]["sink"], "codex");
    let item = &json_of(&world, &["installed"])["installs"][0];
    assert_eq!((&item["sink"], &item["agents"]), (&json!("codex"), &all));
    let plain = world.sp(&["installed", "--format", "plain"]).ok().stdout;
    assert!(plain.starts_with("codex,cursor,copilot\tteam\t1\t"), "{plain}");
    let human = world.sp(&["installed"]).ok().stdout;
    assert!(human.contains("codex, cursor, copilot  team"), "{human}");
}

#[test]
fn lc_02_folders_are_removed_with_the_last_agent() {
    let world = repository();
    run(&world, "install", "team", "codex,cursor,copilot");
    for (agent, left) in [("codex", &["cursor", "copilot"][..]), ("github-copilot", &["cursor"])] {
        let before = world.files(SHARED);
        let args = ["uninstall", "team", "--agent", agent, "--scope", "project"];
        let planned = json_of(&world, &[&args[..], &["--dry-run"]].concat());
        let released = json!([{"pack": "team", "agents": left}]);
        assert_eq!(planned["sinks"][0]["released_packs"], released, "{agent}");
        assert_eq!(planned["sinks"][0]["removed_packs"], json!([]), "{agent}");
        let shown = world.sp(&args).ok();
        let verb = if left.len() == 1 { "reads" } else { "read" };
        let stays = format!("`team` stays for {}, which {verb} the same", left.join(", "));
        assert!(shown.stdout.contains(&stays), "{shown}");
        assert_eq!(world.files(SHARED), before);
        assert_eq!(agents(&world), [of("team", left)]);
        assert_eq!(records(&world)[0]["sink"], left[0], "the member `sink` is one of the agents");
        let error = world.sp_error(&args);
        assert_eq!(error.code, "E-not-installed", "{agent}");
        assert!(error.hints_at(&format!("--agent {}", left.join(","))), "{error:?}");
    }
    run(&world, "uninstall", "team", "cursor");
    assert!(records(&world).is_empty() && skills(&world, SHARED).is_empty());
}

#[test]
fn lc_02_uninstall_for_all_agents_at_once_removes_the_folders() {
    let world = repository();
    run(&world, "install", "team", "codex,cursor");
    let shown = run(&world, "uninstall", "team", "cursor,codex");
    assert!(!shown.stdout.contains("stays"), "{shown}");
    assert!(records(&world).is_empty() && skills(&world, SHARED).is_empty());
}

#[test]
fn lc_02_update_for_one_agent_is_an_update_for_all() {
    let world = repository();
    run(&world, "install", "team", "codex,cursor");
    world.write("skills/a/SKILL.md", "---\nname: a\ndescription: Another.\n---\n");
    let shown = run(&world, "install", "team", "cursor");
    assert!(shown.stdout.contains("`team` is also installed for codex, which reads"), "{shown}");
    assert_eq!(agents(&world), [of("team", &["codex", "cursor"])]);
    let text = std::fs::read_to_string(world.path(SHARED).join("team__a/SKILL.md")).unwrap();
    assert!(text.contains("Another"));
}

#[test]
fn lc_02_record_without_agents_works() {
    let world = repository();
    let strip = |world: &World| {
        let mut records = records(world);
        records[0].as_object_mut().unwrap().remove("agents");
        let state = json!({"version": 1, "generation": 1, "installs": records});
        std::fs::write(world.path("home/.skillpack/state.json"), state.to_string()).unwrap();
    };
    // Nobody knows who else reads it, so everyone can uninstall it.
    for agent in ["codex", "cursor"] {
        run(&world, "install", "team", "codex");
        strip(&world);
        assert_eq!(json_of(&world, &["installed"])["installs"][0]["agents"], json!(["codex"]));
        run(&world, "uninstall", "team", agent);
        assert!(records(&world).is_empty() && skills(&world, SHARED).is_empty(), "{agent}");
    }
    run(&world, "install", "team", "codex");
    strip(&world);
    run(&world, "install", "team", "cursor");
    assert_eq!(agents(&world), [of("team", &["codex", "cursor"])]);
}

#[test]
fn lc_02_switch_for_one_agent_keeps_what_others_use() {
    let world = repository();
    world.skill("d");
    world.pack("new", "name: new\ninclude: [d]\n");
    run(&world, "install", "team", "codex,cursor,copilot");
    run(&world, "install", "other", "cursor");
    run(&world, "install", "third", "codex");
    insta::assert_snapshot!(run(&world, "switch", "new", "codex"), @"
    exit: 0
    --- stdout
    + new__d
    - third__c

    installed new, replacing third, team · codex · ~/repo/.agents/skills · 1 added, 1 removed
    `team` stays for cursor, copilot, which read the same directory
    `other` stays for cursor, which reads the same directory
    ");
    assert_eq!(
        agents(&world),
        [of("new", &["codex"]), of("other", &["cursor"]), of("team", &["cursor", "copilot"])]
    );
    assert_eq!(skills(&world, SHARED), ["new__d", "other__b", "team__a"]);
    run(&world, "switch", "new", "codex,cursor");
    assert_eq!(agents(&world), [of("new", &["codex", "cursor"]), of("team", &["copilot"])]);
    run(&world, "switch", "third", "codex,cursor,copilot");
    assert_eq!(agents(&world), [of("third", &["codex", "cursor", "copilot"])]);
    assert_eq!(skills(&world, SHARED), ["third__c"]);
}

#[test]
fn lc_02_folder_of_a_pack_that_stays_for_others_is_not_replaced() {
    let world = repository();
    world.pack("same", "name: same\ninclude: [a]\ninstall: {prefix: team}\n");
    run(&world, "install", "team", "codex,cursor");
    let before = world.files(SHARED);
    let args = ["switch", "same", "--agent", "codex", "--scope", "project"];
    let error = world.sp_error(&args);
    assert_eq!(error.code, "E-not-owned");
    assert!(error.hints_at("--agent codex,cursor"), "{error:?}");
    assert_eq!(world.files(SHARED), before);
    run(&world, "switch", "same", "codex,cursor");
    assert_eq!(agents(&world), [of("same", &["codex", "cursor"])]);
}

#[test]
fn lc_02_directory_given_by_its_path_stands_for_all_agents() {
    let world = repository();
    let path = world.path(SHARED).display().to_string();
    run(&world, "install", "team", "codex,cursor");
    world.sp(&["uninstall", "team", "--agent", "custom", "--path", &path]).ok();
    assert!(records(&world).is_empty() && skills(&world, SHARED).is_empty());
    run(&world, "install", "team", "codex");
    world.sp(&["install", "team", "--agent", "custom", "--path", &path]).ok();
    world.sp(&["uninstall", "team", "--agent", "custom", "--path", &path]).ok();
    assert_eq!(agents(&world), [of("team", &["codex"])]);
}

#[test]
fn lc_02_plan_is_outdated_when_another_agent_joins() {
    let world = repository();
    run(&world, "install", "team", "codex");
    let args = ["uninstall", "team", "--agent", "codex", "--scope", "project"];
    let plan = json_of(&world, &[&args[..], &["--dry-run"]].concat());
    run(&world, "install", "team", "cursor");
    let plan = plan["plan"].as_str().unwrap();
    let error = world.sp_error(&[&args[..], &["--plan", plan]].concat());
    assert_eq!(error.code, "E-plan-mismatch");
    assert_eq!(skills(&world, SHARED), ["team__a"]);
}

#[test]
fn lc_02_agent_option_takes_repeats_lists_and_groups() {
    let world = repository();
    let report = json_of(
        &world,
        &["install", "team", "-a", "claude,codex", "-a", "cursor", "-a", "claude", "-n"],
    );
    let named = |report: &Value| {
        let sinks = report["sinks"].as_array().unwrap().iter();
        sinks.flat_map(|sink| sink["agents"].as_array().unwrap().clone()).collect::<Vec<_>>()
    };
    assert_eq!(named(&report), ["claude", "codex", "cursor"]);
    for group in ["all", "detected"] {
        let error = world.sp_error(&["install", "team", "-a", group]);
        assert_eq!(error.code, "E-agent-required", "no agent is installed: {group}");
    }
    for dir in ["home/.gemini", "home/.claude"] {
        std::fs::create_dir_all(world.path(dir)).unwrap();
        std::fs::write(world.path(dir).join("settings.json"), "{}").unwrap();
    }
    let detected = ["claude-code", "gemini-cli"];
    for group in ["all", "detected", "detected,all"] {
        let report = json_of(&world, &["install", "team", "-a", group, "-n"]);
        assert_eq!(named(&report), detected, "{group}: never the whole table");
    }
    for (config, expected) in [
        ("agents: [codex]\n", &["codex"][..]),
        ("agents: [codex, detected]\n", &["codex", "claude-code", "gemini-cli"]),
        ("agents: []\n", &detected),
    ] {
        write_config(&world, config);
        let report = json_of(&world, &["install", "team", "-a", "all", "-n"]);
        assert_eq!(named(&report), expected, "{config}");
        let report = json_of(&world, &["install", "team", "-a", "detected", "-n"]);
        assert_eq!(named(&report), detected, "{config}");
    }
    world.sp(&["install", "team", "-a", "all"]).ok();
    let listed = json_of(&world, &["installed", "-a", "all"]);
    assert_eq!(listed["installs"].as_array().unwrap().len(), 2);
    world.sp(&["uninstall", "team", "-a", "all"]).ok();
    assert!(records(&world).is_empty());
}

#[test]
fn lc_02_cost_of_a_shared_directory_is_counted_once() {
    let world = repository();
    run(&world, "install", "team", "codex,cursor");
    let args = ["cost", "--agent", "codex,cursor", "--scope", "project"];
    let groups = json_of(&world, &args)["groups"].as_array().unwrap().clone();
    assert_eq!(groups.len(), 1);
    assert_eq!(groups[0]["agents"], json!(["codex", "cursor"]));
    assert_eq!(groups[0]["sink"], "codex");
    let human = world.sp(&args).ok().stdout;
    assert!(human.starts_with("codex, cursor  ~/repo/.agents/skills\n"), "{human}");
}

#[test]
fn lc_02_equal_changes_for_several_agents_are_one_block() {
    let world = repository();
    insta::assert_snapshot!(world.sp(&["install", "team", "-a", "claude,codex,gemini-cli"]), @"
    exit: 0
    --- stdout
    + team__a

    installed team · 3 agents · 1 added
      claude      ~/.claude/skills
      codex       ~/.codex/skills
      gemini-cli  ~/.gemini/skills
    ");
    world.write("skills/a/SKILL.md", "---\nname: a\ndescription: Another.\n---\n");
    let edited = world.path("home/.codex/skills/team__a/SKILL.md");
    std::fs::write(edited, "mine").unwrap();
    let run = world.sp(&["install", "team", "-a", "claude,codex,gemini-cli"]).ok();
    assert_eq!(run.stdout.matches("~ team__a").count(), 2, "an edit is never hidden: {run}");
    let run = world.sp(&["uninstall", "team", "-a", "claude,codex,gemini-cli"]).ok();
    assert_eq!(run.stdout.matches("- team__a").count(), 1, "{run}");
    let plain = ["install", "team", "-a", "claude,codex", "--format", "plain"];
    assert_eq!(world.sp(&plain).ok().stdout.lines().count(), 2);
}

#[test]
fn sp_31_installed_packs_can_be_limited_to_a_scope() {
    let world = repository();
    world.sp(&["install", "team", "-a", "claude"]).ok();
    run(&world, "install", "team", "claude");
    run(&world, "install", "team", "codex,cursor");
    let mine = world.path("elsewhere").display().to_string();
    world.sp(&["install", "team", "-a", "custom", "--path", &mine]).ok();
    world.sp(&["install", "team", "-a", "custom", "--path", "vendored"]).ok();
    let (user, project) = ("home/.claude/skills", "home/repo/.claude/skills");
    let vendored = "home/repo/vendored";
    for (filter, expected) in [
        (&[][..], &["elsewhere", user, SHARED, project, vendored][..]),
        (&["--scope", "global"], &[user]),
        (&["--scope", "user"], &[user]),
        (&["--scope", "project"], &[SHARED, project, vendored]),
        (&["-a", "claude"], &[user, project]),
        (&["-a", "claude", "--scope", "project"], &[project]),
        (&["-a", "claude-code,cursor", "--scope", "project"], &[SHARED, project]),
        (&["-a", "claude", "-a", "codex", "--scope", "global"], &[user]),
        (&["-a", "cursor"], &[SHARED]),
        (&["--path", "vendored"], &[vendored]),
    ] {
        let args = [&["installed", "--format", "plain"], filter].concat();
        let listed = world.sp(&args).ok().stdout;
        let mut paths: Vec<&str> =
            listed.lines().map(|line| line.rsplit_once("[WORLD]/").unwrap().1).collect();
        paths.sort_unstable();
        assert_eq!(paths, expected, "{filter:?}");
    }
    std::fs::create_dir(world.path("empty")).unwrap();
    let listed = world.sp_in("empty", &["installed", "--scope", "project"]).ok().stdout;
    assert!(listed.starts_with("no packs installed there"), "{listed}");
    let error = world.sp_error(&["installed", "-a", "eve", "--scope", "global"]);
    assert_eq!(error.code, "E-agent-scope-unsupported");
    assert_eq!(world.sp_error(&["installed", "-a", "cluade"]).code, "E-unknown-agent");
}
