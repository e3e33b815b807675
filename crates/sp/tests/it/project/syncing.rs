//! `sp sync`: the same lockfile gives the same bytes, wherever it is.

use super::*;

/// Everything that a project has, without `.git`.
fn project_files(world: &World, dir: &str) -> sp_testkit::FileMap {
    let mut files = world.files(dir);
    files.retain(|name, _| name != ".git" && !name.starts_with(".git/"));
    files
}

/// Copies a directory.
fn copy(from: &Path, to: &Path) {
    let status = std::process::Command::new("cp").arg("-a").args([from, to]).status();
    assert!(status.unwrap().success());
}

#[test]
fn lc_09_lc_11_a_clone_is_synced_to_the_same_bytes() {
    let project = Project::new();
    project.add(&["acme/skills", "--all", "-a", "claude,codex"]).ok();
    let other = Project::new();
    std::fs::remove_dir_all(other.world.path("home/app")).unwrap();
    std::fs::create_dir_all(other.world.path("home/deep/er/.git")).unwrap();
    for file in ["skillpack.yaml", "skillpack.lock"] {
        std::fs::copy(project.path(file), other.world.path("home/deep/er").join(file)).unwrap();
    }
    // The same commits, in another home.
    std::fs::remove_dir_all(other.upstream.path()).unwrap();
    copy(project.upstream.path(), other.upstream.path());
    let mut command = std::process::Command::new("sh");
    command.args(["-c", "umask 077; exec \"$0\" sync", env!("CARGO_BIN_EXE_sp")]);
    command.current_dir(other.world.path("home/deep/er")).env_clear();
    command.env("HOME", other.world.home()).env("PATH", std::env::var_os("PATH").unwrap());
    other.world.run(command).ok();
    let files = project_files(&project.world, "home/app");
    assert!(files.contains_key(".agents/skills/pdf/SKILL.md"), "{files:?}");
    assert_eq!(files, project_files(&other.world, "home/deep/er"));
    let frozen = other.world.sp_in("home/deep/er", &["sync", "--frozen"]).ok();
    assert!(frozen.stdout.contains("up to date"), "{frozen}");
}

#[test]
fn lc_11_locked_and_frozen_fail_if_the_lockfile_would_change() {
    let project = Project::new();
    project.add(&["acme/skills", "--skill", "pdf", "-a", "claude"]).ok();
    let manifest = project.read("skillpack.yaml");
    project.write("skillpack.yaml", &manifest.replace("skills/pdf", "skills/pdf, skills/docx"));
    let before = project_files(&project.world, "home/app");
    for flag in ["--locked", "--frozen"] {
        let error = project.world.sp_error_in("home/app", &["sync", flag]);
        assert_eq!(error.code, "E-lock-mismatch", "{flag}: {error:?}");
        assert!(error.hints_at("sp sync"), "{error:?}");
        assert_eq!(before, project_files(&project.world, "home/app"));
    }
    project.sp(&["sync"]).ok();
    assert_eq!(project.skills(CLAUDE), ["docx", "pdf"]);
    project.sp(&["sync", "--frozen"]).ok();
}

#[test]
fn lc_11_sync_leaves_other_folders_alone() {
    let project = Project::new();
    project.write(".claude/skills/mine/SKILL.md", "Mine.\n");
    project.add(&["acme/skills", "--skill", "pdf", "-a", "claude"]).ok();
    project.sp(&["remove", "pdf"]).ok();
    assert_eq!(project.skills(CLAUDE), ["mine"]);
    // A folder that someone else made is not replaced.
    project.write(".claude/skills/docx/SKILL.md", "Mine.\n");
    let args = ["add", "acme/skills", "--skill", "docx", "-a", "claude"];
    let error = project.world.sp_error_in("home/app", &args);
    assert_eq!(error.code, "E-not-owned");
    assert!(error.hints_at("prefix"), "{error:?}");
    assert_eq!(project.read(".claude/skills/docx/SKILL.md"), "Mine.\n");
    project.add(&["acme/skills", "--skill", "docx", "-a", "claude", "--prefix", "acme-"]).ok();
    assert_eq!(project.skills(CLAUDE), ["acme-docx", "docx", "mine"]);
}

#[test]
fn lc_09_committed_folders_are_updated_and_removed_by_others_after_a_move() {
    let project = Project::new();
    project.add(&["acme/skills", "--skill", "pdf,docx", "-a", "claude"]).ok();
    std::fs::rename(project.world.path("home/app"), project.world.path("home/moved")).unwrap();
    // Someone else has no state of this project.
    std::fs::remove_dir_all(project.world.path("home/.skillpack")).unwrap();
    project.upstream.write("skills/pdf/SKILL.md", NEW_PDF).commit("new");
    let sp = |args: &[&str]| project.world.sp_in("home/moved", args);
    sp(&["update"]).ok();
    assert_eq!(read(&project.world.path("home/moved/.claude/skills/pdf/SKILL.md")), NEW_PDF);
    std::fs::remove_dir_all(project.world.path("home/.skillpack")).unwrap();
    sp(&["remove", "pdf"]).ok();
    let skills = project.world.path("home/moved/.claude/skills");
    let names: Vec<String> = sp_testkit::files(&skills).into_keys().collect();
    assert_eq!(names, ["docx", "docx/SKILL.md"]);
}

#[test]
fn lc_07_sync_unites_both_sides_of_a_merge() {
    let project = Project::new();
    project.add(&["acme/skills", "--skill", "docx", "-a", "claude"]).ok();
    project.init_git(".claude\n");
    let git = |args: &[&str]| project.git(args);
    assert!(git(&["switch", "-qc", "theirs"]));
    project.add(&["acme/skills", "--skill", "xlsx"]).ok();
    assert!(git(&["commit", "-qam", "theirs"]));
    assert!(git(&["switch", "-q", "main"]));
    project.add(&["acme/skills", "--skill", "pdf"]).ok();
    assert!(git(&["commit", "-qam", "ours"]));
    assert!(!git(&["merge", "-q", "theirs"]), "there is a conflict");
    assert!(project.read("skillpack.yaml").contains("<<<<<<<"));
    let error = project.world.sp_error_in("home/app", &["sync", "--locked"]);
    assert_eq!((error.code.as_str(), error.findings[0].line > 0), ("LC-07", true));
    let run = project.sp(&["sync"]).ok();
    assert!(run.stdout.contains("skillpack.yaml"), "{run}");
    assert_eq!(project.skills(CLAUDE), ["docx", "pdf", "xlsx"]);
    project.sp(&["sync", "--frozen"]).ok();
}

#[test]
fn lc_01_lc_06_invalid_files_are_reported_with_their_position() {
    let project = Project::new();
    for (file, text, code, line) in [
        ("skillpack.yaml", "skils: []\n", "LC-01", 1),
        ("skillpack.yaml", "skills:\n  - source: pdf\n", "LC-03", 2),
        ("skillpack.lock", "version = 99\n", "LC-06", 1),
        ("skillpack.lock", "version = 1\n\n[[skill]]\nname = \"x\"\n", "LC-06", 3),
    ] {
        project.write("skillpack.yaml", "skills: []\n");
        let _ = std::fs::remove_file(project.path("skillpack.lock"));
        project.write(file, text);
        let error = project.world.sp_error_in("home/app", &["sync"]);
        assert_eq!((error.code.as_str(), error.findings[0].line), (code, line), "{text}");
        assert_eq!(error.findings[0].file, file);
    }
    std::fs::remove_file(project.path("skillpack.yaml")).unwrap();
    let error = project.world.sp_error_in("home/app", &["sync"]);
    assert_eq!(error.code, "E-manifest-not-found");
    assert!(error.hints_at("sp add"), "{error:?}");
}
