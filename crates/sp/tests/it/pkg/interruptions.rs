//! Atomicity: `sp pkg` and `sp key` are killed, or fail, at every system call that changes
//! something. Afterwards, everything is in the old or in the new state.

use sp_testkit::{
    FaultScenario, Faults, Messages, WorldState, next_command, observed_files, sweep,
};

use super::*;

/// Returns a scenario of a command in the project. `anchor` is only used by the command that
/// recovers the store.
fn scenario(world: World, args: &[&str]) -> FaultScenario {
    let next = next_command("project", &["pkg", "rollback", "anchor", "--to", "1.0.0"]);
    let mut scenario = FaultScenario::new(world, "project", args, next);
    scenario.observe = Box::new(observed);
    scenario.messages = Messages::Hint;
    scenario.failures = &[4, 5];
    scenario.recovered = Box::new(|world, what| {
        assert_no_leftovers(world, what);
        assert_store_is_consistent(world, what);
    });
    scenario.done = Box::new(assert_store_is_consistent);
    scenario
}

/// What a user can observe: the bytes of project and sinks, and the contents of the store, the pins
/// and the inbox.
fn observed(world: &World) -> WorldState {
    let mut state = observed_files(world, "project");
    state.extend(observed_files(world, "home/.claude"));
    state.retain(|name, _| !name.ends_with(".sp-new") && !name.ends_with("history.json"));
    // A rotation creates a random key, so that only the number of keys is compared.
    let count = |name: &str| {
        world.files("home/.skillpack/keys").keys().filter(|key| key.contains(name)).count()
    };
    let record = |path: &str| {
        let bytes = std::fs::read(world.path(path)).unwrap_or_else(|_| b"{}".to_vec());
        let mut value: Value = serde_json::from_slice(&bytes).unwrap();
        value.as_object_mut().unwrap().remove("version");
        value.as_object_mut().unwrap().retain(|_, value| !is_empty(value));
        value
    };
    let index = record("home/.skillpack/store/packages.json").to_string();
    let pins = record("home/.skillpack/trust.json");
    let pins = pins["pins"].as_object().into_iter().flatten();
    let pins: Vec<String> = pins.map(|(name, pin)| format!("{name}: {}", pin["because"])).collect();
    let keys = format!("{} and {} retired", count(".pem"), count("retired"));
    for (name, text) in [("index", index), ("pins", pins.join(", ")), ("keys", keys)] {
        state.insert(name.into(), (0, FileEntry::File(text, false)));
    }
    if let Some((_, statement)) = state.get_mut("project/statement.json") {
        *statement = FileEntry::File("a statement".into(), false);
    }
    state
}

fn is_empty(value: &Value) -> bool {
    value.as_array().is_some_and(Vec::is_empty) || value.as_object().is_some_and(Map::is_empty)
}

/// A project with these packages in the store, and `anchor`.
fn project_with_anchor(packages: &[TestPackage]) -> World {
    let world = project();
    import(&world, &[TestPackage::new("anchor", "1.0.0")]);
    import(&world, packages);
    world
}

fn tools(version: &str) -> TestPackage {
    TestPackage::skills(
        "tools",
        version,
        &[("tidy/SKILL.md", &skill("tidy", version)), ("tidy/x.md", "x")],
    )
}

fn import_scenario(package: &TestPackage) -> FaultScenario {
    let world = project_with_anchor(&[]);
    let first = package.write_to(&world, "a.ctxpkg");
    let second = tools("1.0.0").write_to(&world, "tools.ctxpkg");
    scenario(world, &["pkg", "import", &first, &second])
}

fn create_scenario() -> FaultScenario {
    let world = project_with_anchor(&[]);
    write(&world, "project/a.json", SMALL_GRAPH);
    let args = ["pkg", "create", "--input", "a.json", "--output", "a.ctxpkg", "--force"];
    let mut scenario = scenario(world, &args);
    scenario.outputs = &["project/a.ctxpkg"];
    // The temporary file of the output is not removed.
    scenario.recovered = Box::new(assert_store_is_consistent);
    scenario
}

fn install_scenario(package: TestPackage) -> FaultScenario {
    let world = project_with_anchor(&[TestPackage::new("base", "1.0.0")]);
    let file = package.with_dependencies(&[("base", "^1")]).write_to(&world, "tools.ctxpkg");
    scenario(world, &["pkg", "install", &file, "--agent", "claude"])
}

/// A project with installed knowledge and skills, and a newer version of both in the store.
fn project_with_updates() -> World {
    let world = project_with_anchor(&[TestPackage::new("base", "1.0.0"), tools("1.0.0")]);
    pkg(&world, &["install", "base", "tools", "--agent", "claude"]).ok();
    import(&world, &[TestPackage::new("base", "1.1.0").with_text("New."), tools("1.1.0")]);
    world
}

fn upgrade_scenario() -> FaultScenario {
    scenario(project_with_updates(), &["pkg", "install", "base", "tools"])
}

/// Installs a package that contradicts an installed one.
fn contradiction_scenario() -> FaultScenario {
    let world = project_with_anchor(&[
        TestPackage::new("base", "1.0.0"),
        TestPackage::new("other", "1.0.0").with_text("It is not so."),
    ]);
    pkg(&world, &["install", "base"]).ok();
    let mut scenario = scenario(world, &["pkg", "install", "other"]);
    scenario.done = Box::new(|world, what| {
        assert_store_is_consistent(world, what);
        assert!(exists(world, "project/.ctxpkg/context.json"), "{what}");
    });
    scenario
}

fn uninstall_scenario() -> FaultScenario {
    scenario(project_with_updates(), &["pkg", "uninstall", "base", "tools"])
}

fn remove_scenario() -> FaultScenario {
    scenario(
        project_with_anchor(&[TestPackage::new("a", "1.0.0"), TestPackage::new("a", "1.1.0")]),
        &["pkg", "remove", "a"],
    )
}

fn rollback_scenario() -> FaultScenario {
    let world = project_with_updates();
    pkg(&world, &["install", "base", "tools"]).ok();
    scenario(world, &["pkg", "rollback"])
}

fn rotation_scenario(more: &[&str]) -> FaultScenario {
    let world = project_with_anchor(&[]);
    write(&world, "project/a.json", SMALL_GRAPH);
    pkg(&world, &["create", "--input", "a.json", "--sign"]).ok();
    scenario(world, &[&["key", "rotate"], more].concat())
}

/// Accepts a package from the inbox.
fn accept_scenario(package: &TestPackage) -> FaultScenario {
    let world = project_with_anchor(&[]);
    let file = package.write_to(&world, "sent.ctxpkg");
    pkg(&world, &["import", &file]).ok();
    // Moves the package to the inbox by hand, so that no server is needed.
    let path = "home/.skillpack/store/packages.json";
    let mut index: Value = serde_json::from_str(&read(&world, path)).unwrap();
    let package = index["packages"].as_array_mut().unwrap().pop().unwrap();
    index["known"].as_object_mut().unwrap().remove("sent");
    index["waiting"] = json!([{"name": "sent", "version": "1.0.0", "digest": package["digest"], "sender": "ada", "received_at": "2026-05-22T00:00:00Z"}]);
    write(&world, path, index.to_string());
    let _ = std::fs::remove_file(world.path("home/.skillpack/trust.json"));
    let id = pkg_json(&world, &["inbox"])["waiting"][0]["id"].as_str().unwrap().to_owned();
    scenario(world, &["pkg", "inbox", "--accept", &id])
}

fn unsigned() -> TestPackage {
    TestPackage::new("a", "1.0.0")
}

fn signed() -> TestPackage {
    unsigned().signed(1, SignatureScope::Full)
}

fn sent() -> TestPackage {
    TestPackage::new("sent", "1.0.0")
}

#[test]
fn se_01_import_interrupted_at_every_call_is_old_or_new() {
    sweep(|| import_scenario(&unsigned()), Faults::All);
}

#[test]
fn se_01_first_signed_import_interrupted_at_every_call_is_old_or_new() {
    sweep(|| import_scenario(&signed()), Faults::All);
}

#[test]
fn se_01_create_interrupted_at_every_call_is_old_or_new() {
    sweep(create_scenario, Faults::All);
}

#[test]
fn se_01_install_interrupted_at_every_call_is_old_or_new() {
    sweep(|| install_scenario(tools("1.0.0")), Faults::All);
}

#[test]
fn se_01_first_signed_install_killed_at_every_call_is_old_or_new() {
    let package = || tools("1.0.0").signed(1, SignatureScope::Full);
    sweep(|| install_scenario(package()), Faults::Kills);
}

#[test]
fn se_01_upgrade_interrupted_at_every_call_is_old_or_new() {
    sweep(upgrade_scenario, Faults::All);
}

#[test]
fn se_01_pk_23_context_merge_interrupted_at_every_call_is_old_or_new() {
    sweep(contradiction_scenario, Faults::All);
}

#[test]
fn se_01_uninstall_interrupted_at_every_call_is_old_or_new() {
    sweep(uninstall_scenario, Faults::All);
}

#[test]
fn se_01_remove_interrupted_at_every_call_is_old_or_new() {
    sweep(remove_scenario, Faults::All);
}

#[test]
fn se_01_rollback_interrupted_at_every_call_is_old_or_new() {
    sweep(rollback_scenario, Faults::All);
}

#[test]
fn se_01_key_rotation_interrupted_at_every_call_can_be_repeated() {
    sweep(|| rotation_scenario(&[]), Faults::All);
}

#[test]
fn se_01_rotation_with_statement_killed_at_every_call_can_be_repeated() {
    sweep(|| rotation_scenario(&["--statement", "statement.json"]), Faults::Kills);
}

#[test]
fn se_01_inbox_accept_interrupted_at_every_call_is_old_or_new() {
    sweep(|| accept_scenario(&sent()), Faults::All);
}

#[test]
fn se_01_invalid_records_are_reported_and_kept() {
    for (path, commands) in [
        (
            "store/packages.json",
            &[&["list"][..], &["install", "anchor"], &["import"], &["remove", "anchor"]][..],
        ),
        ("trust.json", &[&["install", "signed"], &["import"], &["verify", "signed"]]),
    ] {
        for invalid in [
            "",
            "{",
            "null",
            "[]",
            r#"{"version": 2}"#,
            r#"{"version":9,"packages":[],"known":{},"waiting":[],"pins":{}}"#,
            "\u{0}\u{0}",
        ] {
            let world = project_with_anchor(&[
                TestPackage::new("signed", "1.0.0").signed(1, SignatureScope::Full)
            ]);
            let file = TestPackage::new("new", "1.0.0").write_to(&world, "new.ctxpkg");
            write(&world, &format!("home/.skillpack/{path}"), invalid);
            for args in commands {
                let args = if *args == ["import"] { &["import", file.as_str()][..] } else { *args };
                let error = refused(&world, args, "E-invalid-state");
                assert_mentions(&error, path.rsplit('/').next().unwrap());
            }
        }
    }
}

#[test]
fn se_01_concurrent_installs_and_removals_lose_nothing() {
    for _ in 0..3 {
        let world = project();
        import(&world, &["a", "b", "c", "d"].map(|name| TestPackage::new(name, "1.0.0")));
        let mut commands: Vec<Vec<&str>> =
            ["a", "b", "c"].iter().map(|name| vec!["pkg", "install", *name]).collect();
        commands.push(vec!["pkg", "remove", "d"]);
        for run in world.sp_concurrently("project", &commands) {
            run.ok();
        }
        assert_eq!(locked(&world), ["a 1.0.0", "b 1.0.0", "c 1.0.0"]);
        assert_eq!(stored(&world), ["a 1.0.0", "b 1.0.0", "c 1.0.0"]);
        assert_store_is_consistent(&world, "after concurrent commands");
        assert_no_leftovers(&world, "after concurrent commands");
    }
}

#[test]
fn se_01_concurrent_imports_lose_nothing() {
    for _ in 0..3 {
        let world = project();
        let import = |index| {
            let package = TestPackage::new(&format!("p{index}"), "1.0.0");
            let file = package.write_to(&world, &format!("{index}.ctxpkg"));
            vec!["pkg".to_owned(), "import".into(), file]
        };
        let commands: Vec<Vec<String>> = (0..8).map(import).collect();
        for run in world.sp_concurrently("project", &commands) {
            run.ok();
        }
        assert_eq!(
            stored(&world),
            (0..8).map(|index| format!("p{index} 1.0.0")).collect::<Vec<_>>()
        );
        assert_store_is_consistent(&world, "after concurrent imports");
        assert_no_leftovers(&world, "after concurrent imports");
    }
}
