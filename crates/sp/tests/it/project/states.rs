//! `sp status`, `sp why`, `sp diff`, `sp restore`, `sp disable`, `sp enable`, `sp adopt` and what
//! `sp clean` keeps.

use super::*;

const PDF: &str = ".claude/skills/pdf/SKILL.md";

/// A project with three skills of one source.
fn installed_project() -> Project {
    let project = Project::new();
    project.upstream.write("skills/pdf/SKILL.md", OLD_PDF).commit("old");
    project.add(&["acme/skills", "--all", "-a", "claude"]).ok();
    project
}

fn json(run: &Run) -> serde_json::Value {
    serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}: {run}"))
}

/// The status of each skill of the first directory.
fn statuses(project: &Project) -> Vec<String> {
    let report = json(&project.sp(&["status", "--json"]).ok());
    let skills = report["sinks"][0]["skills"].as_array().unwrap().clone();
    let text = |skill: &serde_json::Value, key: &str| skill[key].as_str().unwrap().to_owned();
    skills.iter().map(|it| format!("{} {}", text(it, "name"), text(it, "status"))).collect()
}

#[test]
fn lc_13_status_shows_every_skill_and_its_state() {
    let project = installed_project();
    insta::assert_snapshot!(project.sp(&["status", "--exit-code"]));
    project.write(PDF, &OLD_PDF.replace("Last", "My last"));
    std::fs::remove_dir_all(project.path(".claude/skills/docx")).unwrap();
    project.write(".claude/skills/mine/SKILL.md", "---\nname: mine\ndescription: x\n---\n");
    project.write(".claude/skills/notes/README.md", "not a skill\n");
    insta::assert_snapshot!(project.sp(&["status", "--exit-code"]));
    let expected = ["docx missing", "mine foreign", "pdf edited", "xlsx up-to-date"];
    assert_eq!(statuses(&project), expected);
    project.sp(&["sync"]).ok();
    project.sp(&["restore", "pdf"]).ok();
    project.sp(&["status", "--exit-code"]).ok();
}

#[test]
fn lc_13_status_knows_what_outdated_found_and_what_the_lockfile_changed() {
    let project = installed_project();
    let old_lock = project.read("skillpack.lock");
    project.upstream.write("skills/pdf/SKILL.md", NEW_PDF).commit("new");
    assert_eq!(statuses(&project)[1], "pdf up-to-date");
    project.sp(&["outdated"]).ok();
    assert_eq!(statuses(&project)[1], "pdf outdated");
    // A newer version is no difference from the lockfile.
    project.sp(&["status", "--exit-code"]).ok();
    project.sp(&["update"]).ok();
    assert_eq!(statuses(&project)[1], "pdf up-to-date");
    project.write("skillpack.lock", &old_lock);
    assert_eq!(statuses(&project)[1], "pdf unsynced");
    project.sp(&["status", "--exit-code"]).fails(1);
}

#[test]
fn lc_13_status_reads_no_file_when_nothing_changed() {
    let project = installed_project();
    let trace = project.world.path("trace");
    let status = || {
        let _ = std::fs::remove_file(&trace);
        let mut command = project.world.command(&["status", "--exit-code"]);
        command.current_dir(project.path(".")).env("SP_READ_TRACE", &trace);
        project.world.run(command).ok();
        let read = std::fs::read_to_string(&trace).unwrap_or_default();
        read.lines().any(|line| line.contains(".claude"))
    };
    // The stamps of a file that was just written may not show a change yet.
    sp_testkit::eventually(|| (!status()).then_some(()));
    project.write(PDF, "changed\n");
    let mut command = project.world.command(&["status", "--exit-code"]);
    command.current_dir(project.path("."));
    project.world.run(command).fails(1);
}

#[test]
fn lc_01_the_manifest_is_searched_up_to_the_repository_or_the_home_directory() {
    let world = world!();
    let status = |dir: &str| {
        std::fs::create_dir_all(world.path(dir)).unwrap();
        let run = world.sp_in(dir, &["status", "--json"]);
        let report: serde_json::Value = serde_json::from_str(&run.stdout).unwrap_or_default();
        report["manifest"].as_str().map(|path| world.normalize(path))
    };
    for dir in ["", "home", "home/app", "outside"] {
        std::fs::create_dir_all(world.path(dir)).unwrap();
        std::fs::write(world.path(dir).join("skillpack.yaml"), "agents: [claude]\n").unwrap();
    }
    std::fs::create_dir_all(world.path("home/git/.git")).unwrap();
    for (dir, found) in [
        ("home/app/a/b", Some("home/app")),
        ("home/other/a", Some("home")),
        ("home/git/a", None),
        ("outside", Some("outside")),
        ("outside/a", None),
    ] {
        let found = found.map(|dir| format!("[WORLD]/{dir}/skillpack.yaml"));
        assert_eq!(status(dir), found, "{dir}");
    }
    std::fs::remove_file(world.path("home/skillpack.yaml")).unwrap();
    assert_eq!(status("home/other/a"), None, "not above the home directory");
}

#[test]
fn lc_02_all_agents_are_those_of_the_manifest_then_of_the_config() {
    let project = Project::new();
    project.world.skill("a");
    project.world.pack("team", "name: team\ninclude: ['**']\n");
    let config = project.world.path("home/.skillpack/config.yaml");
    std::fs::create_dir_all(config.parent().unwrap()).unwrap();
    std::fs::write(config, "agents: [codex]\n").unwrap();
    let pack = project.world.repo().join("packs/team.yaml").display().to_string();
    let agents_of_all = |dir: &str| {
        let args = ["install", &pack, "--agent", "all", "--dry-run", "--json"];
        let plan = json(&project.world.sp_in(dir, &args).ok());
        let sinks = plan["sinks"].as_array().unwrap().iter();
        sinks.map(|sink| sink["sink"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(agents_of_all("home/app"), ["codex"]);
    for (agents, expected) in [
        ("claude, cursor", &["claude", "cursor"][..]),
        ("all", &["codex"]),
        ("claude, all", &["claude", "codex"]),
    ] {
        project.write("skillpack.yaml", &format!("agents: [{agents}]\n"));
        assert_eq!(agents_of_all("home/app"), expected, "{agents}");
    }
    assert_eq!(agents_of_all("home/repo"), ["codex"]);
    // An entry of the manifest can add to the agents of the manifest.
    project.write(
        "skillpack.yaml",
        "agents: [claude]\nskills:\n  - source: acme/skills\n    include: [skills/pdf]\n    \
         agents: [all, codex]\n",
    );
    project.sp(&["sync"]).ok();
    assert_eq!(
        (project.skills(CLAUDE), project.skills(".agents/skills")),
        (vec!["pdf".into()], vec!["pdf".into()])
    );
    project.sp(&["disable", "pdf", "--agent", "all"]).ok();
    assert_eq!((project.skills(CLAUDE).len(), project.skills(".agents/skills").len()), (0, 1));
}

#[test]
fn lc_13_why_names_the_entry_of_a_skill() {
    let project = installed_project();
    insta::assert_snapshot!(project.sp(&["why", "pdf"]));
    let error = project.world.sp_error_in("home/app", &["why", "pfd"]);
    assert_eq!(error.code, "E-not-installed");
    assert!(error.hints_at("pdf"), "{error:?}");
}

#[test]
fn lc_15_diff_shows_edits_and_restore_takes_them_back() {
    let project = installed_project();
    insta::assert_snapshot!(project.sp(&["diff"]));
    let edited = OLD_PDF.replace("Last", "My last");
    project.write(PDF, &edited);
    project.write(".claude/skills/pdf/notes.md", "mine\n");
    insta::assert_snapshot!(project.sp(&["diff", "pdf"]));
    let plan = json(&project.sp(&["restore", "pdf", "--dry-run", "--json"]).ok());
    assert_eq!(project.read(PDF), edited);
    let id = plan["plan"].as_str().unwrap();
    project.sp(&["restore", "pdf", "--plan", id]).ok();
    assert_eq!(project.read(PDF), OLD_PDF);
    assert!(!project.path(".claude/skills/pdf/notes.md").exists());
    assert_eq!(json(&project.sp(&["diff", "--json"]).ok())["folders"], serde_json::json!([]));

    let trashed = json(&project.sp(&["restore", "--list", "--json"]).ok());
    assert_eq!(trashed["folders"][0]["name"], "pdf");
    project.sp(&["restore", "pdf", "--trash"]).ok();
    assert_eq!(project.read(PDF), edited);
    assert_eq!(statuses(&project)[1], "pdf edited");
    // The edits are merged with a newer version, as before.
    project.upstream.write("skills/pdf/SKILL.md", NEW_PDF).commit("new");
    project.sp(&["update"]).ok();
    assert_eq!(project.read(PDF), NEW_PDF.replace("Last", "My last"));
    let error = project.world.sp_error_in("home/app", &["restore", "docx", "--trash"]);
    assert_eq!(error.code, "E-no-earlier-state");
}

#[test]
fn lc_16_disabled_skill_is_gone_and_comes_back_with_its_edits() {
    let project = installed_project();
    let edited = OLD_PDF.replace("Last", "My last");
    project.write(PDF, &edited);
    let (manifest, lock) = (project.read("skillpack.yaml"), project.read("skillpack.lock"));
    project.sp(&["disable", "pdf", "docx"]).ok();
    assert_eq!(project.skills(CLAUDE), ["xlsx"]);
    assert_eq!(statuses(&project), ["docx disabled", "pdf disabled", "xlsx up-to-date"]);
    project.sp(&["sync", "--frozen"]).ok();
    assert_eq!(project.skills(CLAUDE), ["xlsx"]);
    // Nothing of the project changes, and a second time nothing at all.
    assert_eq!((project.read("skillpack.yaml"), project.read("skillpack.lock")), (manifest, lock));
    project.sp(&["disable", "pdf"]).ok();
    project.sp(&["clean"]).ok();
    project.sp(&["enable", "pdf", "docx"]).ok();
    assert_eq!(project.read(PDF), edited);
    assert_eq!(statuses(&project), ["docx up-to-date", "pdf edited", "xlsx up-to-date"]);
}

#[test]
fn lc_16_directory_of_several_agents_is_not_changed_for_one() {
    let project = Project::new();
    project.add(&["acme/skills", "--skill", "pdf", "-a", "claude,codex,cursor"]).ok();
    project.sp(&["disable", "pdf", "--agent", "claude"]).ok();
    assert!(!project.path(PDF).exists());
    assert!(project.path(".agents/skills/pdf").exists());
    project.sp(&["enable", "pdf", "--agent", "claude"]).ok();
    assert!(project.path(PDF).exists());
}

#[test]
fn lc_15_adopt_copies_a_folder_that_no_source_has() {
    let project = installed_project();
    let text = "---\nname: mine\ndescription: Mine.\n---\n\nDo it.\n";
    project.write(".claude/skills/mine/SKILL.md", text);
    project.write(".claude/skills/mine/scripts/run.sh", "exit 0\n");
    let script = project.path(".claude/skills/mine/scripts/run.sh");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&script, mode).unwrap();
    let before = sp_testkit::files(&project.path(".claude/skills/mine"));
    project.sp(&["adopt", "mine", "--dry-run"]).ok();
    assert!(!project.path("skills").exists());
    insta::assert_snapshot!(project.sp(&["adopt", "mine"]));
    assert_eq!(sp_testkit::files(&project.path("skills/mine")), before);
    assert_eq!(sp_testkit::files(&project.path(".claude/skills/mine")), before);
    insta::assert_snapshot!(project.read("skillpack.yaml"));
    project.sp(&["sync", "--frozen"]).ok();
    assert_eq!(statuses(&project)[1], "mine up-to-date");
    // From now on, `skills/` is where it is changed.
    project.write("skills/mine/SKILL.md", &text.replace("Do it.", "Do it well."));
    project.sp(&["sync"]).ok();
    assert!(project.read(".claude/skills/mine/SKILL.md").contains("Do it well."));
}

#[test]
fn lc_15_adopt_matches_a_folder_to_its_source() {
    let project = Project::new();
    project.add(&["acme/skills", "--skill", "docx", "-a", "claude"]).ok();
    let text = std::fs::read_to_string(project.upstream.path().join("skills/pdf/SKILL.md"));
    project.write(PDF, &text.unwrap());
    project.sp(&["adopt", ".claude/skills/pdf"]).ok();
    assert!(!project.path("skills").exists());
    assert!(project.read("skillpack.yaml").contains("skills/pdf"));
    assert_eq!(statuses(&project), ["docx up-to-date", "pdf up-to-date"]);
    let known = project.world.sp_error_in("home/app", &["adopt", "pdf"]);
    assert_eq!(known.code, "E-already-exists");
    let missing = project.world.sp_error_in("home/app", &["adopt", "nothing"]);
    assert_eq!(missing.code, "E-skill-not-found");
    project.write(".claude/skills/odd/SKILL.md", "---\nname: other\ndescription: x\n---\n");
    let misnamed = project.world.sp_error_in("home/app", &["adopt", "odd"]);
    assert_eq!(misnamed.code, "E-invalid-skill");
}

#[test]
fn lc_20_clean_keeps_the_versions_that_a_lockfile_needs() {
    let project = installed_project();
    let bases = || {
        let files = project.world.files("home/.skillpack/bases");
        files.into_keys().collect::<Vec<_>>()
    };
    let before = bases();
    assert_eq!(before.len(), 3);
    project.upstream.write("skills/pdf/SKILL.md", NEW_PDF).commit("new");
    project.sp(&["update"]).ok();
    assert_eq!(bases().len(), 4);
    let report = json(&project.sp(&["clean", "--dry-run", "--json"]).ok());
    assert_eq!(report["removed"].as_array().unwrap().len(), 1);
    assert!(report["items"][0]["bytes"].as_u64().unwrap() > 0);
    // A lockfile that cannot be read may need any of them.
    let lock = project.read("skillpack.lock");
    project.write("skillpack.lock", "version = 99\n");
    project.sp(&["clean"]).ok();
    assert_eq!(bases().len(), 4);
    project.write("skillpack.lock", &lock);
    project.sp(&["clean"]).ok();
    assert_eq!(bases().len(), 3);
    // The merge of later edits still has its base, without the source.
    project.write(PDF, &NEW_PDF.replace("Last", "My last"));
    std::fs::rename(project.upstream.path(), project.world.path("gone")).unwrap();
    project.sp(&["diff", "pdf"]).ok();
}
