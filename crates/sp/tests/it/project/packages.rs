//! `packages` of a manifest, and the commands of `sp pkg` in a project with a manifest.

use serde_json::Value;
use sp_testkit::{FaultScenario, Faults, sweep};

use super::*;
use crate::pkg::package::TestPackage;
use crate::support::engine::recover;

const NOTES_FILE: &str = ".ctxpkg/packages/notes.ctxpkg";

/// A project whose manifest has this text, and packages in the store.
fn project_with(manifest: &str, packages: &[TestPackage]) -> Project {
    let project = Project::new();
    import(&project.world, packages);
    project.write("skillpack.yaml", manifest);
    project
}

fn import(world: &World, packages: &[TestPackage]) {
    for (number, package) in packages.iter().enumerate() {
        let file = package.write_to(world, &format!("in/{number}.ctxpkg"));
        world.sp_in("home/app", &["pkg", "import", &file]).ok();
    }
    let _ = std::fs::remove_dir_all(world.path("in"));
}

/// The package `notes`, whose content depends on the version.
fn notes(version: &str) -> TestPackage {
    TestPackage::new("notes", version).with_text(version)
}

/// A package with the skill `tidy`, which needs `notes`.
fn review(version: &str) -> TestPackage {
    let text = format!("---\nname: tidy\ndescription: Tidies.\n---\n\nTidy {version}.\n");
    TestPackage::skills("@acme/review", version, &[("tidy/SKILL.md", &text)])
        .with_dependencies(&[("notes", "^1")])
}

/// The packages in the lockfile, with their versions.
fn locked(project: &Project) -> Vec<String> {
    let text = project.read("skillpack.lock");
    let blocks = text.split("[[package]]").skip(1);
    let member = |block: &str, key: &str| {
        let line = block.lines().find_map(|line| line.strip_prefix(&format!("{key} = \"")));
        line.unwrap().trim_end_matches('"').to_owned()
    };
    blocks.map(|it| format!("{} {}", member(it, "name"), member(it, "version"))).collect()
}

fn exists(project: &Project, path: &str) -> bool {
    project.path(path).exists()
}

#[test]
fn lc_04_packages_of_a_manifest_are_installed_and_removed() {
    let project = project_with("packages: {notes: ^1}\n", &[notes("1.0.0"), notes("2.0.0")]);
    project.fails(&["sync", "--locked"], "E-lock-mismatch");
    project.fails(&["sync", "--frozen"], "E-lock-mismatch");
    insta::assert_snapshot!(project.sp(&["sync"]));
    assert_eq!(locked(&project), ["notes 1.0.0"]);
    assert!(exists(&project, NOTES_FILE) && !exists(&project, "ctxpkg.lock"));
    insta::assert_snapshot!(project.sp(&["status", "--exit-code"]).ok());
    insta::assert_snapshot!(project.sp(&["why", "notes"]).ok());
    project.sp(&["pkg", "query"]).ok();
    let synced = project.world.files("home/app");
    std::fs::remove_file(project.path(NOTES_FILE)).unwrap();
    let run = project.sp(&["status", "--exit-code"]).fails(1);
    assert!(run.stdout.contains("missing"), "{run}");
    project.sp(&["sync", "--frozen"]).ok();
    assert_eq!(project.world.files("home/app"), synced);
    std::fs::write(project.path(NOTES_FILE), "edited").unwrap();
    project.sp(&["status", "--exit-code"]).fails(1);
    let run = project.sp(&["sync"]).ok();
    assert!(run.stdout.contains("kept the previous `notes.ctxpkg`"), "{run}");
    assert_eq!(project.world.files("home/app"), synced);
    project.sp(&["remove", "notes"]).ok();
    assert!(!exists(&project, NOTES_FILE) && locked(&project).is_empty());
    assert!(!project.read("skillpack.yaml").contains("notes"));
    let error = project.fails(&["remove", "notes"], "E-not-installed");
    assert!(error.message.contains("notes"), "{error:?}");
}

#[test]
fn lc_04_skills_of_packages_are_installed_for_the_agents_of_the_manifest() {
    let manifest = "agents: [claude, codex]\npackages:\n  '@acme/review': ^1\n";
    let project = project_with(manifest, &[notes("1.0.0"), review("1.0.0")]);
    project.sp(&["sync"]).ok();
    assert_eq!(locked(&project), ["@acme/review 1.0.0", "notes 1.0.0"]);
    assert_eq!(project.skills(CLAUDE), ["tidy"]);
    assert_eq!(project.skills(".agents/skills"), ["tidy"]);
    let run = project.sp(&["why", "tidy"]).ok();
    assert!(run.stdout.contains("skillpack.yaml:3:3"), "{run}");
    let run = project.sp(&["why", "notes"]).ok();
    assert!(run.stdout.contains("needed by `@acme/review`"), "{run}");
    project.sp(&["sync", "--frozen"]).ok();
    // A folder comes back from the store, with the locked digest.
    let synced = project.world.files("home/app");
    std::fs::remove_dir_all(project.path(CLAUDE)).unwrap();
    project.sp(&["status", "--exit-code"]).fails(1);
    project.sp(&["sync", "--frozen"]).ok();
    assert_eq!(project.world.files("home/app"), synced);
    // Edits are kept, as those of other skills.
    let skill = ".claude/skills/tidy/SKILL.md";
    project.write(skill, &project.read(skill).replace("Tidies", "Tidies well"));
    import(&project.world, &[review("1.1.0")]);
    project.sp(&["update", "tidy"]).ok();
    assert_eq!(locked(&project)[0], "@acme/review 1.1.0");
    let text = project.read(skill);
    assert!(text.contains("Tidies well") && text.contains("Tidy 1.1.0"), "{text}");
    let error = project.fails(&["remove", "tidy"], "E-still-required");
    assert!(error.hints_at("sp remove @acme/review"), "{error:?}");
    project.fails(&["remove", "notes"], "E-still-required");
    project.sp(&["remove", "@acme/review"]).ok();
    assert_eq!(project.skills(".agents/skills"), [""; 0]);
    assert!(!project.read("skillpack.lock").contains("[["));
    assert!(!exists(&project, NOTES_FILE));
}

#[test]
fn lc_04_lc_16_a_package_and_another_source_can_own_one_skill() {
    let manifest = "agents: [claude]\npackages: {'@acme/review': ^1}\n";
    let project = project_with(manifest, &[notes("1.0.0"), review("1.0.0")]);
    project.write("team/tidy/SKILL.md", "---\nname: tidy\ndescription: Other.\n---\n\nX.\n");
    project.sp(&["sync"]).ok();
    let error = project.fails(&["add", "./team", "--all"], "E-name-collision");
    assert!(error.because.iter().any(|why| why.contains("@acme/review")), "{error:?}");
    let text = project.read(".claude/skills/tidy/SKILL.md");
    project.write("team/tidy/SKILL.md", &text);
    project.add(&["./team", "--all"]).ok();
    project.sp(&["remove", "@acme/review"]).ok();
    assert_eq!(project.skills(CLAUDE), ["tidy"]);
}

#[test]
fn lc_12_packages_are_outdated_and_move_to_the_newest_version_in_their_range() {
    let project = project_with("packages: {notes: ^1}\n", &[notes("1.0.0")]);
    project.sp(&["sync"]).ok();
    let list = || project.sp(&["outdated", "--format", "plain"]).ok().stdout;
    assert_eq!(list(), "");
    import(&project.world, &[notes("1.2.0"), notes("2.0.0")]);
    project.sp(&["sync"]).ok();
    assert_eq!(locked(&project), ["notes 1.0.0"]);
    assert_eq!(list(), "notes\t1.0.0\t1.2.0\n");
    let run = project.sp(&["status", "--exit-code"]).ok();
    assert!(run.stdout.contains("outdated  1.2.0 is known"), "{run}");
    let run = project.sp(&["update", "--dry-run"]).ok();
    assert!(run.stdout.contains("1.0.0 → 1.2.0"), "{run}");
    project.sp(&["update", "notes"]).ok();
    assert_eq!((locked(&project), list()), (vec!["notes 1.2.0".to_owned()], String::new()));
    let manifest = project.read("skillpack.yaml");
    project.write("skillpack.yaml", &manifest.replace("^1", "^2"));
    project.sp(&["status", "--exit-code"]).fails(1);
    project.fails(&["sync", "--frozen"], "E-lock-mismatch");
    project.sp(&["sync"]).ok();
    assert_eq!(locked(&project), ["notes 2.0.0"]);
    project.fails(&["update", "nots"], "E-not-installed");
}

#[test]
fn lc_08_pkg_commands_record_in_the_manifest_and_its_lockfile() {
    let project = project_with("agents: [claude]   # ours\n", &[notes("1.0.0"), review("1.0.0")]);
    let file = notes("1.1.0").write_to(&project.world, "in.ctxpkg");
    project.sp(&["pkg", "install", "notes@^1"]).ok();
    let manifest = "agents: [claude]   # ours\npackages:\n  notes: ^1\n";
    assert_eq!(project.read("skillpack.yaml"), manifest);
    assert!(!exists(&project, "ctxpkg.lock"));
    project.sp(&["sync", "--frozen"]).ok();
    let run = project.sp(&["pkg", "install", &file, "@acme/review", "--json"]).ok();
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(report["packages"][1]["from_version"], "1.0.0", "{report}");
    assert_eq!(locked(&project), ["@acme/review 1.0.0", "notes 1.1.0"]);
    // Nothing in the lockfile depends on this machine.
    assert!(!project.read("skillpack.lock").contains("in.ctxpkg"));
    assert_eq!(project.skills(CLAUDE), ["tidy"]);
    project.sp(&["sync", "--frozen"]).ok();
    project.sp(&["pkg", "rollback"]).ok();
    assert_eq!(project.read("skillpack.yaml"), manifest);
    assert_eq!((locked(&project), project.skills(CLAUDE)), (vec!["notes 1.0.0".into()], vec![]));
    project.sp(&["sync", "--frozen"]).ok();
    for (args, code) in [
        (&["pkg", "uninstall", "other"][..], "E-not-installed"),
        (&["pkg", "install", "notes", "--prefix", "x-"], "E-invalid-arguments"),
        (&["pkg", "install", "notes", "--agent", "codex"], "E-invalid-arguments"),
    ] {
        project.fails(args, code);
    }
    project.sp(&["pkg", "uninstall", "notes"]).ok();
    assert!(!project.read("skillpack.yaml").contains("notes") && locked(&project).is_empty());
    project.fails(&["pkg", "install"], "E-missing-argument");
}

#[test]
fn lc_08_without_a_manifest_packages_keep_their_own_lockfile() {
    let project = Project::new();
    import(&project.world, &[notes("1.0.0")]);
    project.sp(&["pkg", "install", "notes"]).ok();
    assert!(exists(&project, "ctxpkg.lock") && !exists(&project, "skillpack.yaml"));
    project.sp(&["pkg", "uninstall", "notes"]).ok();
    assert!(!exists(&project, "skillpack.yaml") && !exists(&project, "skillpack.lock"));
    // A directory of a project with packages and a lockfile of its own.
    project.sp(&["pkg", "install", "notes"]).ok();
    let inner = project.path("inner");
    std::fs::create_dir(&inner).unwrap();
    for name in ["ctxpkg.lock", ".ctxpkg"] {
        std::fs::rename(project.path(name), inner.join(name)).unwrap();
    }
    project.write("skillpack.yaml", "agents: [claude]\n");
    project.world.sp_in("home/app/inner", &["pkg", "uninstall", "notes"]).ok();
    assert_eq!(project.read("skillpack.yaml"), "agents: [claude]\n");
}

#[test]
fn lc_08_the_lockfile_of_packages_is_converted() {
    let project = Project::new();
    import(&project.world, &[notes("1.0.0"), notes("1.1.0"), notes("2.0.0")]);
    project.sp(&["pkg", "install", "notes@=1.0.0"]).ok();
    let manifest = project.read("ctxpkg.lock").replace("=1.0.0", "^1");
    project.write("ctxpkg.lock", &manifest);
    project.write("skillpack.yaml", "agents: [claude]\n");
    let packages = project.world.files("home/app/.ctxpkg/packages");
    project.fails(&["sync", "--locked"], "E-lock-mismatch");
    let run = project.sp(&["sync", "--dry-run"]).ok();
    assert!(run.stdout.contains("would convert `ctxpkg.lock`"), "{run}");
    assert!(exists(&project, "ctxpkg.lock"));
    project.sp(&["sync"]).ok();
    assert!(!exists(&project, "ctxpkg.lock"));
    // The locked version stays.
    assert_eq!(locked(&project), ["notes 1.0.0"]);
    assert_eq!(project.read("skillpack.yaml"), "agents: [claude]\npackages:\n  notes: ^1\n");
    assert_eq!(project.world.files("home/app/.ctxpkg/packages"), packages);
    project.sp(&["sync", "--frozen"]).ok();
    project.write("ctxpkg.lock", "{");
    project.fails(&["sync"], "E-invalid-project");
}

#[test]
fn lc_08_the_first_add_converts_the_lockfile_of_packages() {
    let project = Project::new();
    import(&project.world, &[notes("1.0.0")]);
    project.sp(&["pkg", "install", "notes"]).ok();
    project.add(&["acme/skills", "--skill", "pdf", "-a", "claude"]).ok();
    assert!(!exists(&project, "ctxpkg.lock"));
    assert_eq!(
        (locked(&project), project.skills(CLAUDE)),
        (vec!["notes 1.0.0".into()], vec!["pdf".into()])
    );
    assert!(project.read("skillpack.yaml").contains("  notes: '*'\n"));
    project.sp(&["sync", "--frozen"]).ok();
}

#[test]
fn lc_07_packages_of_three_branches_are_united() {
    let names = ["base", "one", "two", "three"];
    let packages = names.map(|name| TestPackage::new(name, "1.0.0").with_text(name));
    let project = project_with("packages: {base: ^1}\n", &packages);
    project.sp(&["sync"]).ok();
    project.init_git(".ctxpkg\n");
    let git = |args: &[&str]| project.git(args);
    for name in &names[1..] {
        assert!(git(&["switch", "-qc", name, "main"]));
        project.sp(&["sync"]).ok();
        project.sp(&["pkg", "install", &format!("{name}@^1")]).ok();
        assert!(git(&["commit", "-qam", name]));
    }
    assert!(git(&["switch", "-q", "main"]));
    for name in &names[1..] {
        if !git(&["merge", "-q", name]) {
            project.fails(&["sync", "--locked"], "LC-07");
        }
        project.sp(&["sync"]).ok();
        assert!(git(&["add", "."]) && git(&["commit", "--allow-empty", "-qm", "merge"]));
    }
    let mut all = names.map(|name| format!("{name} 1.0.0"));
    all.sort();
    assert_eq!(locked(&project), all);
    for name in names {
        assert!(project.read("skillpack.yaml").contains(&format!("{name}: ^1")), "{name}");
        assert!(exists(&project, &format!(".ctxpkg/packages/{name}.ctxpkg")), "{name}");
    }
    project.sp(&["sync", "--frozen"]).ok();
    project.sp(&["status", "--exit-code"]).ok();
}

#[test]
fn lc_04_invalid_packages_are_reported_with_their_position() {
    let project = Project::new();
    for (text, line, column) in [
        ("packages: [notes]\n", 1, 11),
        ("packages:\n  'a b': ^1\n", 2, 3),
        ("packages:\n  notes: newest\n", 2, 10),
        ("packages: {notes: [1]}\n", 1, 19),
    ] {
        project.write("skillpack.yaml", text);
        let error = project.fails(&["sync"], "LC-04");
        let finding = &error.findings[0];
        assert_eq!((finding.line, finding.column), (line, column), "{text}");
    }
    project.write("skillpack.yaml", "packages: {nothing: ^1}\n");
    project.fails(&["sync"], "E-unresolvable");
}

#[test]
fn lc_13_status_reads_no_package_when_nothing_changed() {
    let project = project_with("packages: {notes: ^1}\n", &[notes("1.0.0")]);
    project.sp(&["sync"]).ok();
    let trace = project.world.path("trace");
    let reads_package = || {
        let _ = std::fs::remove_file(&trace);
        let mut command = project.world.command(&["status", "--exit-code"]);
        command.current_dir(project.path(".")).env("SP_READ_TRACE", &trace);
        project.world.run(command).ok();
        let read = std::fs::read_to_string(&trace).unwrap_or_default();
        read.lines().any(|line| line.contains(".ctxpkg"))
    };
    // The stamps of a file that was just written may not show a change yet.
    sp_testkit::eventually(|| (!reads_package()).then_some(()));
}

/// A project with a package in its own lockfile, and a manifest that adds another one.
fn before_conversion() -> FaultScenario {
    let project = Project::new();
    import(&project.world, &[notes("1.0.0"), review("1.0.0")]);
    project.sp(&["pkg", "install", "notes"]).ok();
    project.write("skillpack.yaml", "agents: [claude]\npackages: {'@acme/review': ^1}\n");
    FaultScenario::new(project.world, "home/app", &["sync"], recover())
}

#[test]
fn lc_20_lc_08_conversion_interrupted_at_every_call_is_all_or_nothing() {
    sweep(before_conversion, Faults::All);
}

#[test]
fn lc_20_lc_08_pkg_install_interrupted_at_every_call_is_all_or_nothing() {
    let build = || {
        let packages = [notes("1.0.0"), review("1.0.0")];
        let project = project_with("agents: [claude]\n", &packages);
        let args = ["pkg", "install", "@acme/review"];
        FaultScenario::new(project.world, "home/app", &args, recover())
    };
    sweep(build, Faults::All);
}

#[test]
fn lc_01_lc_04_packages_of_the_user_are_installed_for_all_projects() {
    let project = Project::new();
    import(&project.world, &[notes("1.0.0"), review("1.0.0"), review("1.1.0")]);
    let home = project.world.path("home/.skillpack");
    let manifest = "agents: [claude]\npackages:\n  '@acme/review': =1.0.0\n";
    std::fs::write(home.join("skillpack.yaml"), manifest).unwrap();
    let sp = |args: &[&str]| project.world.sp_in("home", args);
    sp(&["sync", "-g"]).ok();
    let skill = project.world.path("home/.claude/skills/tidy/SKILL.md");
    assert!(read(&skill).contains("Tidy 1.0.0"));
    assert!(read(&home.join("skillpack.lock")).contains("name = \"notes\""));
    sp(&["status", "-g", "--exit-code"]).ok();
    std::fs::remove_dir_all(skill.parent().unwrap()).unwrap();
    sp(&["sync", "-g", "--frozen"]).ok();
    std::fs::write(home.join("skillpack.yaml"), manifest.replace("=1.0.0", "^1")).unwrap();
    let run = sp(&["outdated", "-g", "--format", "plain"]).ok();
    assert_eq!(run.stdout, "@acme/review\t1.0.0\t1.1.0\n");
    sp(&["update", "-g"]).ok();
    assert!(read(&skill).contains("Tidy 1.1.0"));
    sp(&["remove", "-g", "@acme/review"]).ok();
    assert!(!skill.exists() && !read(&home.join("skillpack.lock")).contains("[["));
    assert!(!project.path("skillpack.yaml").exists());
}
