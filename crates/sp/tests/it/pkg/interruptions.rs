//! Atomicity: `sp pkg` and `sp key` are killed, or fail, at every system call that changes
//! something. Afterwards, everything is in the old or in the new state.

use super::*;

const PARTS: [&str; 2] = ["home", "project"];
const NO_SPACE: i32 = 28;
const NO_ACCESS: i32 = 13;

/// A command, and the world that it starts from.
struct Scenario {
    world: World,
    args: Vec<String>,
    /// What a user can observe: records without times and keys, sinks, and the project.
    old: FileMap,
    new: FileMap,
    calls: u64,
    /// Whether the command writes an output file, too. It may be missing after an interruption, and
    /// its temporary file is not removed.
    writes_output: bool,
}

impl Scenario {
    /// Runs the command once to record the new state and the number of calls.
    fn new(world: World, args: &[&str]) -> Self {
        PARTS.iter().for_each(|part| copy(&world.path(part), &world.path("before").join(part)));
        let trace = world.path("trace");
        let args = args.iter().map(|arg| (*arg).to_owned()).collect();
        let old = observed(&world);
        let mut scenario =
            Self { world, args, new: old.clone(), old, calls: 0, writes_output: false };
        scenario.run("SP_FAULT_TRACE", &trace.display().to_string()).ok();
        scenario.calls = std::fs::read_to_string(&trace).unwrap().lines().count() as u64;
        scenario.new = observed(&scenario.world);
        assert_ne!(scenario.new, scenario.old);
        scenario
    }

    fn run(&self, variable: &str, value: &str) -> Run {
        let args: Vec<&str> = self.args.iter().map(String::as_str).collect();
        let mut command = self.world.command(&args);
        command.current_dir(self.world.path("project")).env(variable, value);
        self.world.run(command)
    }

    fn restart(&self) {
        for part in PARTS {
            std::fs::remove_dir_all(self.world.path(part)).unwrap();
            copy(&self.world.path("before").join(part), &self.world.path(part));
        }
    }

    /// After an interrupted run, the next command must find the old or the new state, and a rerun
    /// must lead to the new state. Returns whether it was the old state.
    #[track_caller]
    fn check(&self, context: &str) -> bool {
        // This command recovers the store without changing the observed state.
        let next = pkg(&self.world, &["rollback", "anchor", "--to", "1.0.0"]).ok();
        let now = observed(&self.world);
        let (is_old, is_new) = (now == self.old, now == self.new);
        assert!(
            is_old || is_new || self.writes_output,
            "{context}: inconsistent{}\n{next}",
            differences(&now, &self.old, &self.new)
        );
        if !self.writes_output {
            assert_no_leftovers(&self.world, context);
        }
        assert_store_is_consistent(&self.world, context);
        if !is_new {
            let run = self.run("X", "");
            assert_eq!(run.code, Some(0), "{context}: the rerun failed: {run}");
        }
        let now = observed(&self.world);
        assert!(
            now == self.new,
            "{context}: the rerun did not converge{}",
            differences(&now, &self.old, &self.new)
        );
        assert_store_is_consistent(&self.world, context);
        is_old
    }

    fn kill_at_every_call(&self) {
        let (mut old, mut new) = (0, 0);
        for call in 1..=self.calls {
            self.restart();
            let run = self.run("SP_FAULT", &format!("kill@{call}"));
            assert_eq!(run.code, None, "call {call} of {}: {run}", self.calls);
            if self.check(&format!("killed at call {call} of {}", self.calls)) {
                old += 1;
            } else {
                new += 1;
            }
        }
        assert!(old > 0 && new > 0, "{old} old, {new} new");
    }

    /// Makes each call fail in turn, alternately for lack of space and of permission.
    fn fail_at_every_call(&self) {
        for call in 1..=self.calls {
            self.restart();
            let number = if call % 2 == 0 { NO_SPACE } else { NO_ACCESS };
            let run = self.run("SP_FAULT", &format!("{number}@{call}"));
            let context = format!("error {number} at call {call} of {}", self.calls);
            match run.code {
                Some(0) => assert_eq!(observed(&self.world), self.new, "{context}: {run}"),
                Some(4 | 5) => assert!(
                    run.stderr.contains("error:") && run.stderr.contains("hint:"),
                    "{context}: {run}"
                ),
                _ => panic!("{context}: {run}"),
            }
            self.check(&context);
        }
    }
}

/// What a user can observe: the bytes of project and sinks, and the contents of the store, the pins
/// and the inbox.
fn observed(world: &World) -> FileMap {
    let mut files = FileMap::new();
    for part in ["project", "home/.claude"] {
        files.extend(
            world.files(part).into_iter().map(|(name, entry)| (format!("{part}/{name}"), entry)),
        );
    }
    files.retain(|name, _| !name.ends_with(".sp-new") && !name.ends_with("history.json"));
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
    let text = |text: String| FileEntry::File(text, false);
    let index = record("home/.skillpack/store/packages.json");
    files.insert("index".into(), text(index.to_string()));
    let pins = record("home/.skillpack/trust.json");
    let pins = pins["pins"].as_object().into_iter().flatten();
    let pins: Vec<String> = pins.map(|(name, pin)| format!("{name}: {}", pin["because"])).collect();
    files.insert("pins".into(), text(pins.join(", ")));
    files
        .insert("keys".into(), text(format!("{} and {} retired", count(".pem"), count("retired"))));
    files.retain(|name, _| name != "project/statement.json");
    if exists(world, "project/statement.json") {
        files.insert("statement".into(), FileEntry::Dir);
    }
    files
}

fn is_empty(value: &Value) -> bool {
    value.as_array().is_some_and(Vec::is_empty) || value.as_object().is_some_and(Map::is_empty)
}

fn differences(now: &FileMap, old: &FileMap, new: &FileMap) -> String {
    let mut text = String::new();
    for (state, other) in [("old", old), ("new", new)] {
        let mut names: Vec<&String> = now.keys().chain(other.keys()).collect();
        names.sort();
        names.dedup();
        for name in names.into_iter().filter(|name| now.get(*name) != other.get(*name)) {
            text += &format!(
                "\n{name} differs from the {state} state: {:?}, not {:?}",
                now.get(name),
                other.get(name)
            );
        }
    }
    text
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to.parent().unwrap()).unwrap();
    assert!(Command::new("cp").arg("-a").arg(from).arg(to).status().unwrap().success());
}

/// A project with these packages in the store, and `anchor`, which only [`Scenario::check`] uses.
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

fn import_scenario(package: &TestPackage) -> Scenario {
    let world = project_with_anchor(&[]);
    let first = package.write_to(&world, "a.ctxpkg");
    let second = tools("1.0.0").write_to(&world, "tools.ctxpkg");
    Scenario::new(world, &["pkg", "import", &first, &second])
}

fn create_scenario() -> Scenario {
    let world = project_with_anchor(&[]);
    write(&world, "project/a.json", SMALL_GRAPH);
    let scenario = Scenario::new(
        world,
        &["pkg", "create", "--input", "a.json", "--output", "a.ctxpkg", "--force"],
    );
    Scenario { writes_output: true, ..scenario }
}

fn install_scenario(package: TestPackage) -> Scenario {
    let world = project_with_anchor(&[TestPackage::new("base", "1.0.0")]);
    let file = package.with_dependencies(&[("base", "^1")]).write_to(&world, "tools.ctxpkg");
    Scenario::new(world, &["pkg", "install", &file, "--agent", "claude"])
}

/// A project with installed knowledge and skills, and a newer version of both in the store.
fn project_with_updates() -> World {
    let world = project_with_anchor(&[TestPackage::new("base", "1.0.0"), tools("1.0.0")]);
    pkg(&world, &["install", "base", "tools", "--agent", "claude"]).ok();
    import(&world, &[TestPackage::new("base", "1.1.0").with_text("New."), tools("1.1.0")]);
    world
}

fn upgrade_scenario() -> Scenario {
    Scenario::new(project_with_updates(), &["pkg", "install", "base", "tools"])
}

/// Installs a package that contradicts an installed one.
fn contradiction_scenario() -> Scenario {
    let world = project_with_anchor(&[
        TestPackage::new("base", "1.0.0"),
        TestPackage::new("other", "1.0.0").with_text("It is not so."),
    ]);
    pkg(&world, &["install", "base"]).ok();
    Scenario::new(world, &["pkg", "install", "other"])
}

fn uninstall_scenario() -> Scenario {
    Scenario::new(project_with_updates(), &["pkg", "uninstall", "base", "tools"])
}

fn remove_scenario() -> Scenario {
    Scenario::new(
        project_with_anchor(&[TestPackage::new("a", "1.0.0"), TestPackage::new("a", "1.1.0")]),
        &["pkg", "remove", "a"],
    )
}

fn rollback_scenario() -> Scenario {
    let world = project_with_updates();
    pkg(&world, &["install", "base", "tools"]).ok();
    Scenario::new(world, &["pkg", "rollback"])
}

fn rotation_scenario(more: &[&str]) -> Scenario {
    let world = project_with_anchor(&[]);
    write(&world, "project/a.json", SMALL_GRAPH);
    pkg(&world, &["create", "--input", "a.json", "--sign"]).ok();
    Scenario::new(world, &[&["key", "rotate"], more].concat())
}

/// Accepts a package from the inbox.
fn accept_scenario(package: &TestPackage) -> Scenario {
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
    Scenario::new(world, &["pkg", "inbox", "--accept", &id])
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
fn se_01_import_killed_at_every_call_is_old_or_new() {
    import_scenario(&unsigned()).kill_at_every_call();
}

#[test]
fn se_01_first_signed_import_killed_at_every_call_is_old_or_new() {
    import_scenario(&signed()).kill_at_every_call();
}

#[test]
fn se_01_create_killed_at_every_call_is_old_or_new() {
    create_scenario().kill_at_every_call();
}

#[test]
fn se_01_install_killed_at_every_call_is_old_or_new() {
    install_scenario(tools("1.0.0")).kill_at_every_call();
}

#[test]
fn se_01_first_signed_install_killed_at_every_call_is_old_or_new() {
    install_scenario(tools("1.0.0").signed(1, SignatureScope::Full)).kill_at_every_call();
}

#[test]
fn se_01_upgrade_killed_at_every_call_is_old_or_new() {
    upgrade_scenario().kill_at_every_call();
}

#[test]
fn se_01_pk_23_context_merge_killed_at_every_call_is_old_or_new() {
    let scenario = contradiction_scenario();
    assert!(
        scenario.new != scenario.old && scenario.new.contains_key("project/.ctxpkg/context.json")
    );
    scenario.kill_at_every_call();
}

#[test]
fn se_01_pk_23_context_merge_failing_at_any_call_is_old_or_new() {
    contradiction_scenario().fail_at_every_call();
}

#[test]
fn se_01_uninstall_killed_at_every_call_is_old_or_new() {
    uninstall_scenario().kill_at_every_call();
}

#[test]
fn se_01_remove_killed_at_every_call_is_old_or_new() {
    remove_scenario().kill_at_every_call();
}

#[test]
fn se_01_rollback_killed_at_every_call_is_old_or_new() {
    rollback_scenario().kill_at_every_call();
}

#[test]
fn se_01_key_rotation_killed_at_every_call_can_be_repeated() {
    rotation_scenario(&[]).kill_at_every_call();
}

#[test]
fn se_01_rotation_with_statement_killed_at_every_call_can_be_repeated() {
    rotation_scenario(&["--statement", "statement.json"]).kill_at_every_call();
}

#[test]
fn se_01_inbox_accept_killed_at_every_call_is_old_or_new() {
    accept_scenario(&sent()).kill_at_every_call();
}

#[test]
fn se_01_import_failing_at_any_call_is_old_or_new() {
    import_scenario(&unsigned()).fail_at_every_call();
}

#[test]
fn se_01_first_signed_import_failing_at_any_call_is_old_or_new() {
    import_scenario(&signed()).fail_at_every_call();
}

#[test]
fn se_01_install_failing_at_any_call_is_old_or_new() {
    install_scenario(tools("1.0.0")).fail_at_every_call();
}

#[test]
fn se_01_upgrade_failing_at_any_call_is_old_or_new() {
    upgrade_scenario().fail_at_every_call();
}

#[test]
fn se_01_uninstall_and_remove_failing_at_any_call_are_old_or_new() {
    uninstall_scenario().fail_at_every_call();
    remove_scenario().fail_at_every_call();
}

#[test]
fn se_01_rollback_and_create_failing_at_any_call_are_old_or_new() {
    rollback_scenario().fail_at_every_call();
    create_scenario().fail_at_every_call();
}

#[test]
fn se_01_inbox_accept_failing_at_any_call_is_old_or_new() {
    accept_scenario(&sent()).fail_at_every_call();
}

#[test]
fn se_01_key_rotation_failing_at_any_call_can_be_repeated() {
    rotation_scenario(&[]).fail_at_every_call();
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
        let start = |args: &Vec<&str>| {
            let mut command = world.command(args);
            command
                .current_dir(world.path("project"))
                .stdout(Stdio::null())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap()
        };
        let children: Vec<_> = commands.iter().map(start).collect();
        for child in children {
            let output = child.wait_with_output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
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
        let files: Vec<String> = (0..8)
            .map(|index| {
                TestPackage::new(&format!("p{index}"), "1.0.0")
                    .write_to(&world, &format!("{index}.ctxpkg"))
            })
            .collect();
        let start = |file: &String| {
            let mut command = world.command(&["pkg", "import", file]);
            command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
        };
        let children: Vec<_> = files.iter().map(start).collect();
        for child in children {
            let output = child.wait_with_output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        }
        assert_eq!(
            stored(&world),
            (0..8).map(|index| format!("p{index} 1.0.0")).collect::<Vec<_>>()
        );
        assert_store_is_consistent(&world, "after concurrent imports");
        assert_no_leftovers(&world, "after concurrent imports");
    }
}
