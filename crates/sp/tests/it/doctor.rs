//! `sp doctor`: each test makes one kind of damage, finds it by its code, and repairs it if that is
//! safe.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use serde_json::{Value, json};
use sp_testkit::{FileEntry, World, world};

const STATE: &str = "home/.skillpack/state.json";
const SINK: &str = "home/.claude/skills";
const STAGE: &str = ".skillpack-20260101T000000-1-2";

/// A world with the pack `team`, installed for Claude Code.
fn installed() -> World {
    let world = world!();
    world.skill("a");
    world.skill("b");
    world.pack("team", "name: team\ninclude: ['**']\ninstall: {prefix: ''}\n");
    world.sp(&["install", "team", "--agent", "claude"]).ok();
    world
}

/// A world with the project `home/app`, which installs two skills for Claude Code.
fn project() -> World {
    let world = world!();
    std::fs::create_dir_all(world.path("home/app/.git")).unwrap();
    for name in ["a", "b"] {
        let text = format!("---\nname: {name}\ndescription: Does {name}.\n---\n\nDo {name}.\n");
        write(&world, &format!("home/app/team/{name}/SKILL.md"), &text);
    }
    world.sp_in("home/app", &["add", "./team", "--all", "--agent", "claude"]).ok();
    world
}

fn write(world: &World, path: &str, text: &str) {
    let path = world.path(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn state(world: &World) -> Value {
    serde_json::from_str(&read(&world.path(STATE))).unwrap()
}

/// Runs `sp doctor` with these arguments, and checks that the exit code matches the report.
fn doctor_in(world: &World, dir: &str, args: &[&str]) -> Value {
    let run = world.sp_in(dir, &[&["doctor", "--json"], args].concat());
    let report: Value = serde_json::from_str(&run.stdout).unwrap_or_else(|e| panic!("{e}: {run}"));
    assert_eq!(run.code, Some(i32::from(report["healthy"] == false)), "{run}");
    report
}

fn doctor(world: &World, args: &[&str]) -> Value {
    doctor_in(world, "home/repo", args)
}

fn codes(report: &Value) -> Vec<&str> {
    report["problems"].as_array().unwrap().iter().map(|it| it["code"].as_str().unwrap()).collect()
}

/// Asserts that there is exactly one problem, and returns it.
#[track_caller]
fn only_problem<'r>(report: &'r Value, code: &str) -> &'r Value {
    assert_eq!(codes(report), [code], "{report:#}");
    let problem = &report["problems"][0];
    assert!(problem["command"].is_string() || problem["help"].is_string(), "{problem:#}");
    problem
}

/// Asserts that `--fix` repairs a problem, that the dry run shows it with the ID of the same plan
/// and changes nothing, and that nothing is left to repair.
#[track_caller]
fn assert_repaired(world: &World, dir: &str, code: &str) -> Value {
    let found = doctor_in(world, dir, &[]);
    assert_eq!(only_problem(&found, code)["fixable"], true, "{found:#}");
    let before = world.files("home");
    let planned = doctor_in(world, dir, &["--fix", "--dry-run"]);
    assert_eq!(world.files("home"), before, "a dry run changed something");
    assert_eq!(planned["repair"]["applied"], false);
    let wrong = format!("sha256:{}", "0".repeat(64));
    let args = ["doctor", "--fix", "--plan", &wrong];
    assert_eq!(world.sp_error_in(dir, &args).code, "E-plan-mismatch");
    assert_eq!(world.files("home"), before, "another plan changed something");
    let plan = planned["repair"]["plan"].as_str().unwrap();
    let fixed = doctor_in(world, dir, &["--fix", "--plan", plan]);
    assert_eq!(fixed["repair"]["repaired"][0]["code"], code, "{fixed:#}");
    assert!(!codes(&fixed).contains(&code), "{fixed:#}");
    fixed
}

/// The version of git differs between machines.
fn without_git_version(text: &str) -> String {
    let lines: Vec<&str> = text.lines().filter(|line| !line.contains("git version")).collect();
    lines.join("\n")
}

fn find(world: &World, dir: &str, name: &str) -> Option<String> {
    world.files(dir).into_keys().find(|path| path.ends_with(name))
}

#[test]
fn lc_18_healthy_machine_has_no_problem_and_is_not_changed() {
    for world in [world!(), installed()] {
        let before = world.files("home");
        let report = doctor(&world, &[]);
        assert_eq!((&report["healthy"], codes(&report).len()), (&json!(true), 0), "{report:#}");
        assert_eq!(world.files("home"), before);
        assert_eq!(doctor(&world, &["--fix"])["repair"]["repaired"], json!([]));
    }
    let world = project();
    assert_eq!(doctor_in(&world, "home/app", &[])["healthy"], true);
    let text = without_git_version(&world.sp_in("home/app", &["doctor"]).ok().stdout);
    insta::assert_snapshot!(text, @"
    ok       configuration  defaults (no `~/.skillpack/config.yaml`)
    ok       interruptions  none
    ok       records        1 record
    ok       agents         1 directory of skills
    ok       projects       2 skills in the lockfile
    ok       store          0 packages
    ok       cache          empty
    ok       permissions    0 private files
    ok       registries     none configured
    ");
}

#[test]
fn lc_18_interrupted_run_is_reported_and_then_recovered() {
    let world = installed();
    world.skill("c");
    let trace = world.path("trace");
    let mut command = world.command(&["install", "team", "--agent", "codex"]);
    command.env("SP_FAULT_TRACE", &trace);
    world.run(command).ok();
    let calls = read(&trace).lines().count();
    world.sp(&["uninstall", "team", "--agent", "codex"]).ok();
    let mut command = world.command(&["install", "team", "--agent", "codex"]);
    command.env("SP_FAULT", format!("kill@{}", calls / 2));
    world.run(command);
    assert!(world.path("home/.skillpack/journal.json").exists());
    assert_repaired(&world, "home/repo", "run-interrupted");
    assert!(!world.path("home/.skillpack/journal.json").exists());
    assert_eq!(find(&world, "home/.codex", STAGE), None);
}

#[test]
fn lc_18_invalid_journal_is_reported_and_not_touched() {
    for text in ["not JSON", r#"{"version": 99}"#] {
        let world = installed();
        write(&world, "home/.skillpack/journal.json", text);
        let report = doctor(&world, &["--fix"]);
        assert_eq!(only_problem(&report, "journal-invalid")["fixable"], false);
        assert_eq!(read(&world.path("home/.skillpack/journal.json")), text);
    }
}

#[test]
fn lc_18_invalid_and_newer_state_is_reported_and_not_touched() {
    for (text, code) in
        [("{", "state-invalid"), (r#"{"version": 99, "installs": []}"#, "state-newer")]
    {
        let world = installed();
        write(&world, STATE, text);
        only_problem(&doctor(&world, &["--fix"]), code);
        assert_eq!(read(&world.path(STATE)), text);
    }
}

#[test]
fn lc_18_missing_skills_are_reported_and_the_command_restores_them() {
    let world = installed();
    std::fs::remove_dir_all(world.path(SINK).join("a")).unwrap();
    let report = doctor(&world, &[]);
    let command = only_problem(&report, "skills-missing")["command"].as_str().unwrap();
    assert_eq!(command, "sp install ~/repo/packs/team.yaml --agent claude");
    let pack = world.repo().join("packs/team.yaml");
    world.sp(&["install", &pack.to_string_lossy(), "--agent", "claude"]).ok();
    assert_eq!(doctor(&world, &[])["healthy"], true);
}

#[test]
fn lc_18_edited_skills_are_a_notice() {
    let world = installed();
    write(&world, &format!("{SINK}/a/SKILL.md"), "edited");
    let report = doctor(&world, &["--fix"]);
    assert_eq!(only_problem(&report, "skills-edited")["status"], "notice");
    assert_eq!(report["healthy"], true);
    assert_eq!(read(&world.path(SINK).join("a/SKILL.md")), "edited");
    let world = project();
    write(&world, "home/app/.claude/skills/a/SKILL.md", "edited");
    let report = doctor_in(&world, "home/app", &[]);
    assert_eq!(only_problem(&report, "skills-edited")["command"], "sp diff");
}

#[test]
fn lc_18_staging_directories_are_moved_to_the_trash() {
    let world = installed();
    write(&world, &format!("{SINK}/{STAGE}/0.old/SKILL.md"), "an old skill");
    // Directories of others are left alone.
    write(&world, &format!("{SINK}/.skillpack-mine/SKILL.md"), "mine");
    assert_repaired(&world, "home/repo", "staging-left");
    assert!(!world.path(SINK).join(STAGE).exists());
    assert!(world.path(SINK).join(".skillpack-mine").exists());
    let kept = find(&world, "home/.skillpack/trash", "0.old/SKILL.md").unwrap();
    assert_eq!(read(&world.path("home/.skillpack/trash").join(kept)), "an old skill");
    assert_eq!(doctor(&world, &[])["healthy"], true);
}

#[test]
fn lc_18_damaged_manifests_and_lockfiles_are_reported() {
    let lock = "home/app/skillpack.lock";
    let manifest = "home/app/skillpack.yaml";
    for (path, text, code) in [
        (lock, "version = 1\n[[skill]\n", "lock-invalid"),
        (lock, "version = 99\n", "lock-newer"),
        (
            lock,
            "<<<<<<< ours\nversion = 1\n=======\nversion = 1\n>>>>>>> theirs\n",
            "merge-conflict",
        ),
        (manifest, "skils: []\n", "manifest-invalid"),
        (manifest, "skills:\n<<<<<<< ours\n=======\n>>>>>>> theirs\n", "merge-conflict"),
    ] {
        let world = project();
        write(&world, path, text);
        let report = doctor_in(&world, "home/app", &["--fix"]);
        let problem = only_problem(&report, code);
        assert_eq!(problem["command"] == "sp sync", code == "merge-conflict", "{problem:#}");
        assert_eq!(read(&world.path(path)), text, "{code}");
    }
}

#[test]
fn lc_18_locked_skills_that_are_not_installed_are_reported() {
    let world = project();
    // As after `git clone`.
    std::fs::remove_file(world.path(STATE)).unwrap();
    std::fs::remove_dir_all(world.path("home/app/.claude")).unwrap();
    let report = doctor_in(&world, "home/app", &[]);
    assert_eq!(only_problem(&report, "lock-not-installed")["command"], "sp sync");
    world.sp_in("home/app", &["sync"]).ok();
    assert_eq!(doctor_in(&world, "home/app", &[])["healthy"], true);
}

#[test]
fn lc_18_agent_directories_that_cannot_be_used_are_reported() {
    let world = project();
    let outside = world.path("home/outside");
    std::fs::create_dir_all(&outside).unwrap();
    std::fs::remove_file(world.path(STATE)).unwrap();
    std::fs::remove_dir_all(world.path("home/app/.claude")).unwrap();
    symlink(&outside, world.path("home/app/.claude")).unwrap();
    let report = doctor_in(&world, "home/app", &["--fix"]);
    let problem = only_problem(&report, "directory-outside-project");
    assert_eq!(problem["command"], "rm ~/app/.claude");
    assert!(world.path("home/app/.claude").is_symlink());

    let world = installed();
    std::fs::set_permissions(world.path(SINK), PermissionsExt::from_mode(0o555)).unwrap();
    let report = doctor(&world, &[]);
    let problem = only_problem(&report, "directory-not-writable");
    assert_eq!(problem["command"], "chmod u+w ~/.claude/skills");

    let world = world!();
    write(&world, "home/.skillpack/config.yaml", "sinks:\n  mine: ~/mine\n");
    write(&world, "home/mine", "a file");
    only_problem(&doctor(&world, &[]), "directory-unusable");
}

#[test]
fn lc_18_damaged_cached_repository_is_deleted_and_fetched_again() {
    let world = world!();
    let repo = world.git("shared");
    repo.skill("tools/r");
    repo.commit("one");
    let pack = format!(
        "name: team\nimports:\n  - repo: {}\n    ref: main\n    include: ['**']\n",
        repo.url()
    );
    world.pack("team", &pack);
    world.sp(&["install", "team", "--agent", "claude"]).ok();
    assert_eq!(doctor(&world, &[])["healthy"], true);
    let cache = world.path("home/.skillpack/cache/git");
    for (path, entry) in world.files("home/.skillpack/cache/git") {
        if path.ends_with(".pack") && matches!(entry, FileEntry::File(..)) {
            std::fs::set_permissions(cache.join(&path), PermissionsExt::from_mode(0o644)).unwrap();
            std::fs::write(cache.join(&path), "damaged").unwrap();
        }
    }
    assert_repaired(&world, "home/repo", "cache-damaged");
    assert_eq!(doctor(&world, &[])["healthy"], true);
    std::fs::remove_dir_all(world.path(SINK)).unwrap();
    world.sp(&["install", "team", "--agent", "claude"]).ok();
}

#[test]
fn lc_18_damaged_package_moves_to_the_trash_and_can_be_imported_again() {
    let world = world!();
    let notes =
        "name: notes\nversion: 1.0.0\nnodes:\n  - {id: a, type: fact, content: It is so.}\n";
    world.write("notes.yaml", notes);
    let created = world.sp(&["pkg", "create", "--input", "notes.yaml", "--json"]).ok();
    assert_eq!(doctor(&world, &[])["healthy"], true, "{created}");
    let store = world.path("home/.skillpack/store");
    let is_blob = |path: &String| path.len() == 65;
    let blob = world.files("home/.skillpack/store").into_keys().find(is_blob).unwrap();
    let package = read(&store.join(&blob));
    let damaged = package.replacen("so", "SO", 1);
    for damaged in ["damaged", &damaged] {
        std::fs::write(store.join(&blob), damaged).unwrap();
        only_problem(&doctor(&world, &[]), "package-damaged");
        write(&world, "home/notes.ctxpkg", &package);
        world.sp(&["pkg", "import", "../notes.ctxpkg"]).ok();
        assert_eq!(read(&store.join(&blob)), package);
        assert_eq!(doctor(&world, &[])["healthy"], true);
    }
    std::fs::write(store.join(&blob), "damaged").unwrap();
    let fixed = assert_repaired(&world, "home/repo", "package-damaged");
    assert_eq!(codes(&fixed), ["package-missing"]);
    assert_eq!(fixed["repair"]["kept"].as_array().unwrap().len(), 1);
    world.sp(&["pkg", "create", "--input", "notes.yaml"]);
    std::fs::write(world.path("home/.skillpack/store/packages.json"), "{").unwrap();
    only_problem(&doctor(&world, &["--fix"]), "store-invalid");
}

#[test]
fn lc_18_damaged_base_moves_to_the_trash() {
    let world = project();
    let bases = world.path("home/.skillpack/bases");
    let base = std::fs::read_dir(&bases).unwrap().next().unwrap().unwrap().path();
    std::fs::write(&base, "damaged").unwrap();
    assert_repaired(&world, "home/app", "base-damaged");
    assert!(!base.exists());
    assert_eq!(doctor_in(&world, "home/app", &[])["healthy"], true);
}

#[test]
fn lc_18_missing_and_outdated_git_is_reported() {
    for (script, code) in
        [(None, "git-missing"), (Some("#!/bin/sh\necho git version 2.20.1\n"), "git-outdated")]
    {
        let mut world = world!();
        if let Some(script) = script {
            write(&world, "bin/git", script);
            let git = world.path("bin/git");
            std::fs::set_permissions(git, PermissionsExt::from_mode(0o755)).unwrap();
        }
        let path = world.path("bin").display().to_string();
        world.set_env("PATH", &path);
        only_problem(&doctor(&world, &[]), code);
    }
}

#[test]
fn lc_18_exposed_keys_and_tokens_are_restricted() {
    let world = world!();
    world.sp(&["key", "new", "work"]).ok();
    let key = world.path("home/.skillpack/keys/work.pem");
    std::fs::set_permissions(&key, PermissionsExt::from_mode(0o644)).unwrap();
    let command = doctor(&world, &[])["problems"][0]["command"].clone();
    assert_eq!(command, "chmod 600 ~/.skillpack/keys/work.pem");
    assert_repaired(&world, "home/repo", "secret-exposed");
    assert_eq!(key.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    world.sp(&["key", "list"]).ok();

    write(&world, "home/.skillpack/credentials.json", "{}");
    let credentials = world.path("home/.skillpack/credentials.json");
    std::fs::set_permissions(&credentials, PermissionsExt::from_mode(0o640)).unwrap();
    assert_repaired(&world, "home/repo", "secret-exposed");
    std::fs::write(&credentials, "{").unwrap();
    only_problem(&doctor(&world, &["--fix"]), "credentials-invalid");
}

#[test]
fn lc_18_records_of_a_deleted_project_are_removed() {
    let world = project();
    std::fs::remove_dir_all(world.path("home/app")).unwrap();
    assert_repaired(&world, "home/repo", "record-orphaned");
    assert_eq!(state(&world)["installs"], json!([]));

    // A directory that an agent lost is not a deleted project.
    let world = installed();
    std::fs::remove_dir_all(world.path(SINK)).unwrap();
    only_problem(&doctor(&world, &["--fix"]), "skills-missing");
    assert_eq!(state(&world)["installs"].as_array().unwrap().len(), 1);
}

#[test]
fn lc_18_contradicting_records_of_a_shared_directory_are_united() {
    let world = installed();
    symlink(world.path(SINK), world.path("home/link")).unwrap();
    let mut damaged = state(&world);
    let mut second = damaged["installs"][0].clone();
    second["sink"] = json!("codex");
    second["agents"] = json!(["codex"]);
    second["sink_path"] = json!(world.path("home/link"));
    damaged["installs"].as_array_mut().unwrap().push(second);
    std::fs::write(world.path(STATE), damaged.to_string()).unwrap();
    assert_repaired(&world, "home/repo", "records-conflict");
    let united = state(&world);
    assert_eq!(united["installs"].as_array().unwrap().len(), 1);
    assert_eq!(united["installs"][0]["agents"], json!(["claude", "codex"]));

    let mut damaged = united;
    damaged["installs"][0]["agents"] = json!(["codex"]);
    std::fs::write(world.path(STATE), damaged.to_string()).unwrap();
    assert_repaired(&world, "home/repo", "records-conflict");
    assert_eq!(state(&world)["installs"][0]["agents"], json!(["codex", "claude"]));
}

#[test]
fn lc_18_invalid_configuration_is_reported() {
    let world = installed();
    write(&world, "home/.skillpack/config.yaml", "agents: [nobody-has-it]\n");
    only_problem(&doctor(&world, &[]), "agent-unknown");
    write(&world, "home/.skillpack/config.yaml", "agents: {\n");
    only_problem(&doctor(&world, &[]), "config-invalid");
}

#[test]
fn lc_18_unreachable_registries_are_reported_unless_offline() {
    let world = world!();
    write(&world, "home/.skillpack/config.yaml", "registries:\n  - url: http://127.0.0.1:1\n");
    only_problem(&doctor(&world, &[]), "registry-unreachable");
    // A server that accepts connections, and says nothing.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let config = format!("registries:\n  - url: http://{}\n", silent.local_addr().unwrap());
    write(&world, "home/.skillpack/config.yaml", &config);
    only_problem(&doctor(&world, &[]), "registry-unreachable");
    let report = doctor(&world, &["--offline"]);
    assert_eq!((&report["healthy"], codes(&report).len()), (&json!(true), 0));
    let registries = &report["checks"].as_array().unwrap().last().unwrap()["status"];
    assert_eq!(registries, "skipped");
}

#[test]
fn lc_18_reachable_registry_is_healthy() {
    let world = world!();
    let registry = crate::support::registry::start(&world);
    let config = format!("registries:\n  - url: http://{}\n", registry.address);
    write(&world, "home/.skillpack/config.yaml", &config);
    assert_eq!(doctor(&world, &[])["healthy"], true);
}

#[test]
fn lc_18_a_lock_of_another_command_is_not_an_interruption() {
    let world = installed();
    write(&world, "home/.skillpack/journal.json", "{}");
    let file = std::fs::File::open(world.path("home/.skillpack/lock")).unwrap();
    file.lock().unwrap();
    let report = doctor(&world, &[]);
    assert_eq!(codes(&report), [""; 0], "{report:#}");
    assert_eq!(report["checks"][2]["status"], "skipped");
}

#[test]
fn lc_18_text_and_plain_output_name_the_code_and_the_command() {
    let world = installed();
    std::fs::remove_dir_all(world.path(SINK).join("a")).unwrap();
    write(&world, &format!("{SINK}/{STAGE}/0/x"), "x");
    insta::assert_snapshot!(without_git_version(&world.sp(&["doctor"]).fails(1).stdout), @"
    ok       configuration  defaults (no `~/.skillpack/config.yaml`)
    problem  interruptions  1 problem
    problem  records        1 problem
    ok       agents         1 directory of skills
    skipped  projects       no `skillpack.yaml` here
    ok       store          0 packages
    ok       cache          empty
    ok       permissions    0 private files
    ok       registries     none configured

    problem: `~/.claude/skills/.skillpack-[RUN]` was left behind [staging-left]
      caused by: no interrupted command refers to it; it may contain replaced skills
      run: sp doctor --fix

    problem: 1 skill of `team` is missing from `~/.claude/skills`: a [skills-missing]
      run: sp install ~/repo/packs/team.yaml --agent claude

    `sp doctor --fix` repairs 1 problem; `sp doctor --fix --dry-run` shows what it does
    ");
    assert_eq!(
        world.sp(&["doctor", "--format", "plain"]).fails(1).stdout,
        "problem\tstaging-left\t[WORLD]/home/.claude/skills/.skillpack-[RUN]\tsp doctor --fix\n\
         problem\tskills-missing\t[WORLD]/home/.claude/skills\t\
         sp install ~/repo/packs/team.yaml --agent claude\n"
    );
    let fixed = world.sp(&["doctor", "--fix"]).fails(1).stdout;
    assert!(
        fixed.ends_with(
            "\nrepaired: `~/.claude/skills/.skillpack-[RUN]` was left behind [staging-left]\n\
             moved `.skillpack-[RUN]` to `~/.skillpack/trash/[RUN]/0/.skillpack-[RUN]`\n\
             repaired 1 problem; 1 left\n"
        ),
        "{fixed}"
    );
}

#[test]
fn lc_18_documentation_lists_every_code() {
    let docs = read(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/lifecycle.md")));
    for code in sp_formats::output::DoctorCode::ALL {
        assert!(docs.contains(&format!("| `{}` |", code.as_str())), "{}", code.as_str());
    }
}
