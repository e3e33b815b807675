//! Wholly old or wholly new: `sp pkg` and `sp key` are killed and refused at every call that
//! changes something.

use super::*;

const PARTS: [&str; 2] = ["home", "project"];
const NO_SPACE: i32 = 28;
const NO_RIGHT: i32 = 13;

/// A command, and the world that it starts from.
struct Scenario {
    world: World,
    args: Vec<String>,
    /// What a user can tell: records without their times and keys, sinks, and the project.
    old: Files,
    new: Files,
    calls: u64,
    /// Whether it also writes a file for the user: what a killed run left beside it is nobody's to
    /// sweep, and the file may still be missing where all else is new.
    delivers: bool,
}

impl Scenario {
    /// Plays it once, to learn what comes of it and how many calls that takes.
    fn new(world: World, args: &[&str]) -> Self {
        PARTS.iter().for_each(|part| copy(&world.path(part), &world.path("before").join(part)));
        let trace = world.path("trace");
        let args = args.iter().map(|arg| (*arg).to_owned()).collect();
        let old = seen(&world);
        let mut scenario = Self { world, args, new: old.clone(), old, calls: 0, delivers: false };
        scenario.run("SP_FAULT_TRACE", &trace.display().to_string()).ok();
        scenario.calls = std::fs::read_to_string(&trace).unwrap().lines().count() as u64;
        scenario.new = seen(&scenario.world);
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

    /// After a broken run: the next command finds it old or new, and a rerun makes it new. True if
    /// it was old.
    #[track_caller]
    fn check(&self, what: &str) -> bool {
        // A command that changes the store, and not what is looked at.
        let next = pkg(&self.world, &["rollback", "anchor", "--to", "1.0.0"]).ok();
        let now = seen(&self.world);
        let (is_old, is_new) = (now == self.old, now == self.new);
        assert!(
            is_old || is_new || self.delivers,
            "{what}: torn{}\n{next}",
            differences(&now, &self.old, &self.new)
        );
        if !self.delivers {
            no_leftovers(&self.world, what);
        }
        swept(&self.world, what);
        if !is_new {
            let run = self.run("X", "");
            assert_eq!(run.code, Some(0), "{what}: a rerun fails: {run}");
        }
        let now = seen(&self.world);
        assert!(
            now == self.new,
            "{what}: a rerun does not converge{}",
            differences(&now, &self.old, &self.new)
        );
        swept(&self.world, what);
        is_old
    }

    fn kill_everywhere(&self) {
        let (mut old, mut new) = (0, 0);
        for call in 1..=self.calls {
            self.restart();
            let run = self.run("SP_FAULT", &format!("kill@{call}"));
            assert_eq!(run.code, None, "call {call} of {}: {run}", self.calls);
            match self.check(&format!("killed at call {call} of {}", self.calls)) {
                true => old += 1,
                false => new += 1,
            }
        }
        assert!(old > 0 && new > 0, "both ends are seen: {old} old, {new} new");
    }

    /// No space and no right in turn, at every call.
    fn refuse_everywhere(&self) {
        for call in 1..=self.calls {
            self.restart();
            let number = if call % 2 == 0 { NO_SPACE } else { NO_RIGHT };
            let run = self.run("SP_FAULT", &format!("{number}@{call}"));
            let what = format!("error {number} at call {call} of {}", self.calls);
            match run.code {
                Some(0) => assert_eq!(seen(&self.world), self.new, "{what}: {run}"),
                Some(4 | 5) => assert!(
                    run.stderr.contains("error:") && run.stderr.contains("hint:"),
                    "{what}: {run}"
                ),
                _ => panic!("{what}: {run}"),
            }
            self.check(&what);
        }
    }
}

/// What a user can tell of a world: project and sinks to the byte, and what is in the store,
/// trusted, and waiting.
fn seen(world: &World) -> Files {
    let mut files = Files::new();
    for part in ["project", "home/.claude"] {
        files.extend(
            world.files(part).into_iter().map(|(name, entry)| (format!("{part}/{name}"), entry)),
        );
    }
    files.retain(|name, _| !name.ends_with(".sp-new") && !name.ends_with("history.json"));
    // A rotation makes another key each time: only that there is one counts.
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
    let text = |text: String| Entry::File(text, false);
    let shelf = record("home/.skillpack/store/packages.json");
    files.insert("the shelf".into(), text(shelf.to_string()));
    let pins = record("home/.skillpack/trust.json");
    let pins = pins["pins"].as_object().into_iter().flatten();
    let pins: Vec<String> = pins.map(|(name, pin)| format!("{name}: {}", pin["because"])).collect();
    files.insert("pins".into(), text(pins.join(", ")));
    files
        .insert("keys".into(), text(format!("{} and {} retired", count(".pem"), count("retired"))));
    files.retain(|name, _| name != "project/statement.json");
    if exists(world, "project/statement.json") {
        files.insert("a statement".into(), Entry::Dir);
    }
    files
}

fn is_empty(value: &Value) -> bool {
    value.as_array().is_some_and(Vec::is_empty) || value.as_object().is_some_and(Map::is_empty)
}

fn differences(now: &Files, old: &Files, new: &Files) -> String {
    let mut text = String::new();
    for (what, other) in [("old", old), ("new", new)] {
        let mut names: Vec<&String> = now.keys().chain(other.keys()).collect();
        names.sort();
        names.dedup();
        for name in names.into_iter().filter(|name| now.get(*name) != other.get(*name)) {
            text += &format!(
                "\nnot as {what}: {name}: {:?}, and not {:?}",
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

/// A world with a package on which the next command is tried.
fn anchored(packages: &[Made]) -> World {
    let world = project();
    import(&world, &[Made::new("anchor", "1.0.0")]);
    import(&world, packages);
    world
}

fn tools(version: &str) -> Made {
    Made::skills(
        "tools",
        version,
        &[("tidy/SKILL.md", &skill("tidy", version)), ("tidy/x.md", "x")],
    )
}

fn importing(first: Made) -> Scenario {
    let world = anchored(&[]);
    let files = [first, tools("1.0.0")];
    let files = [files[0].put(&world, "a.ctxpkg"), files[1].put(&world, "tools.ctxpkg")];
    Scenario::new(world, &["pkg", "import", &files[0], &files[1]])
}

fn creating() -> Scenario {
    let world = anchored(&[]);
    write(
        &world,
        "project/a.json",
        r#"{"name": "a", "nodes": [{"id": "x", "type": "fact", "content": "y"}]}"#,
    );
    let scenario = Scenario::new(
        world,
        &["pkg", "create", "--input", "a.json", "--output", "a.ctxpkg", "--force"],
    );
    Scenario { delivers: true, ..scenario }
}

fn installing(first: Made) -> Scenario {
    let world = anchored(&[Made::new("base", "1.0.0")]);
    let file = first.needs(&[("base", "^1")]).put(&world, "tools.ctxpkg");
    Scenario::new(world, &["pkg", "install", &file, "--agent", "claude"])
}

/// A project with knowledge and skills, and a newer version of both in the store.
fn installed() -> World {
    let world = anchored(&[Made::new("base", "1.0.0"), tools("1.0.0")]);
    pkg(&world, &["install", "base", "tools", "--agent", "claude"]).ok();
    import(&world, &[Made::new("base", "1.1.0").says("New."), tools("1.1.0")]);
    world
}

fn upgrading() -> Scenario {
    Scenario::new(installed(), &["pkg", "install", "base", "tools"])
}

/// A project knows something, and a package comes that says otherwise.
fn contradicting() -> Scenario {
    let world =
        anchored(&[Made::new("base", "1.0.0"), Made::new("other", "1.0.0").says("It is not so.")]);
    pkg(&world, &["install", "base"]).ok();
    Scenario::new(world, &["pkg", "install", "other"])
}

fn uninstalling() -> Scenario {
    Scenario::new(installed(), &["pkg", "uninstall", "base", "tools"])
}

fn removing() -> Scenario {
    Scenario::new(
        anchored(&[Made::new("a", "1.0.0"), Made::new("a", "1.1.0")]),
        &["pkg", "remove", "a"],
    )
}

fn rolling_back() -> Scenario {
    let world = installed();
    pkg(&world, &["install", "base", "tools"]).ok();
    Scenario::new(world, &["pkg", "rollback"])
}

fn rotating(more: &[&str]) -> Scenario {
    let world = anchored(&[]);
    write(
        &world,
        "project/a.json",
        r#"{"name": "a", "nodes": [{"id": "x", "type": "fact", "content": "y"}]}"#,
    );
    pkg(&world, &["create", "--input", "a.json", "--sign"]).ok();
    Scenario::new(world, &[&["key", "rotate"], more].concat())
}

/// A package waits, and is about to be taken.
fn accepting(made: &Made) -> Scenario {
    let world = anchored(&[]);
    let file = made.put(&world, "sent.ctxpkg");
    pkg(&world, &["import", &file]).ok();
    // The shelf is written by hand, so that no server is needed.
    let path = "home/.skillpack/store/packages.json";
    let mut shelf: Value = serde_json::from_str(&read(&world, path)).unwrap();
    let taken = shelf["packages"].as_array_mut().unwrap().pop().unwrap();
    shelf["known"].as_object_mut().unwrap().remove("sent");
    shelf["waiting"] = json!([{"name": "sent", "version": "1.0.0", "digest": taken["digest"], "sender": "ada", "received_at": "2026-05-22T00:00:00Z"}]);
    write(&world, path, shelf.to_string());
    let _ = std::fs::remove_file(world.path("home/.skillpack/trust.json"));
    let id = answer(&world, &["inbox"])["waiting"][0]["id"].as_str().unwrap().to_owned();
    Scenario::new(world, &["pkg", "inbox", "--accept", &id])
}

fn plain() -> Made {
    Made::new("a", "1.0.0")
}

fn signed() -> Made {
    plain().signed(1, Signs::Whole)
}

fn sent() -> Made {
    Made::new("sent", "1.0.0")
}

#[test]
fn se_01_import_killed_at_every_call_is_old_or_new() {
    importing(plain()).kill_everywhere();
}

#[test]
fn se_01_import_of_a_first_signature_killed_at_every_call_is_old_or_new() {
    importing(signed()).kill_everywhere();
}

#[test]
fn se_01_create_killed_at_every_call_is_old_or_new() {
    creating().kill_everywhere();
}

#[test]
fn se_01_install_of_knowledge_and_skills_killed_at_every_call_is_old_or_new() {
    installing(tools("1.0.0")).kill_everywhere();
}

#[test]
fn se_01_install_of_a_first_signature_killed_at_every_call_is_old_or_new() {
    installing(tools("1.0.0").signed(1, Signs::Whole)).kill_everywhere();
}

#[test]
fn se_01_an_upgrade_killed_at_every_call_is_old_or_new() {
    upgrading().kill_everywhere();
}

#[test]
fn se_01_pk_23_a_merge_into_the_context_killed_at_every_call_is_old_or_new() {
    let scenario = contradicting();
    assert!(
        scenario.new != scenario.old && scenario.new.contains_key("project/.ctxpkg/context.json")
    );
    scenario.kill_everywhere();
}

#[test]
fn se_01_pk_23_a_merge_into_the_context_refused_at_every_call_is_old_or_new() {
    contradicting().refuse_everywhere();
}

#[test]
fn se_01_uninstall_killed_at_every_call_is_old_or_new() {
    uninstalling().kill_everywhere();
}

#[test]
fn se_01_remove_killed_at_every_call_is_old_or_new() {
    removing().kill_everywhere();
}

#[test]
fn se_01_rollback_killed_at_every_call_is_old_or_new() {
    rolling_back().kill_everywhere();
}

#[test]
fn se_01_a_key_rotation_killed_at_every_call_can_be_run_again() {
    rotating(&[]).kill_everywhere();
}

#[test]
fn se_01_a_key_rotation_with_a_statement_killed_at_every_call_can_be_run_again() {
    rotating(&["--statement", "statement.json"]).kill_everywhere();
}

#[test]
fn se_01_inbox_accept_killed_at_every_call_is_old_or_new() {
    accepting(&sent()).kill_everywhere();
}

#[test]
fn se_01_import_without_space_or_right_at_any_call_is_old_or_new() {
    importing(plain()).refuse_everywhere();
}

#[test]
fn se_01_import_of_a_first_signature_without_space_at_any_call_is_old_or_new() {
    importing(signed()).refuse_everywhere();
}

#[test]
fn se_01_install_without_space_or_right_at_any_call_is_old_or_new() {
    installing(tools("1.0.0")).refuse_everywhere();
}

#[test]
fn se_01_an_upgrade_without_space_or_right_at_any_call_is_old_or_new() {
    upgrading().refuse_everywhere();
}

#[test]
fn se_01_uninstall_and_remove_without_space_at_any_call_are_old_or_new() {
    uninstalling().refuse_everywhere();
    removing().refuse_everywhere();
}

#[test]
fn se_01_rollback_and_create_without_space_at_any_call_are_old_or_new() {
    rolling_back().refuse_everywhere();
    creating().refuse_everywhere();
}

#[test]
fn se_01_inbox_accept_without_space_at_any_call_is_old_or_new() {
    accepting(&sent()).refuse_everywhere();
}

#[test]
fn se_01_a_key_rotation_without_space_at_any_call_can_be_run_again() {
    rotating(&[]).refuse_everywhere();
}

#[test]
fn se_01_records_that_are_broken_are_told_and_kept() {
    for (path, commands) in [
        (
            "store/packages.json",
            &[&["list"][..], &["install", "anchor"], &["import"], &["remove", "anchor"]][..],
        ),
        ("trust.json", &[&["install", "signed"], &["import"], &["verify", "signed"]]),
    ] {
        for bad in [
            "",
            "{",
            "null",
            "[]",
            r#"{"version": 2}"#,
            r#"{"version":9,"packages":[],"known":{},"waiting":[],"pins":{}}"#,
            "\u{0}\u{0}",
        ] {
            let world = anchored(&[Made::new("signed", "1.0.0").signed(1, Signs::Whole)]);
            let file = Made::new("new", "1.0.0").put(&world, "new.ctxpkg");
            write(&world, &format!("home/.skillpack/{path}"), bad);
            for args in commands {
                let args = if *args == ["import"] { &["import", file.as_str()][..] } else { *args };
                refused(&world, args, 3, path.rsplit('/').next().unwrap());
            }
        }
    }
}

#[test]
fn se_01_installs_and_removals_at_once_lose_nothing() {
    for _ in 0..3 {
        let world = project();
        import(&world, &["a", "b", "c", "d"].map(|name| Made::new(name, "1.0.0")));
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
        swept(&world, "all at once");
        no_leftovers(&world, "all at once");
    }
}

#[test]
fn se_01_eight_imports_at_once_lose_nothing() {
    for _ in 0..3 {
        let world = project();
        let files: Vec<String> = (0..8)
            .map(|at| Made::new(&format!("p{at}"), "1.0.0").put(&world, &format!("{at}.ctxpkg")))
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
        assert_eq!(stored(&world), (0..8).map(|at| format!("p{at} 1.0.0")).collect::<Vec<_>>());
        swept(&world, "eight at once");
        no_leftovers(&world, "eight at once");
    }
}
