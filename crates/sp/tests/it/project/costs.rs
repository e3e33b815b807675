//! What the commands of a project read, and whom they ask.

use sp_testkit::{AnswerBarrier, HttpServer};

use super::*;

/// Runs `sp` in the project, and returns the files that it read, relative to the project.
fn files_read(project: &Project, args: &[&str]) -> Vec<String> {
    let trace = project.world.path("trace");
    let _ = std::fs::remove_file(&trace);
    let mut command = project.world.command(args);
    command.current_dir(project.path(".")).env("SP_READ_TRACE", &trace);
    project.world.run(command).ok();
    let text = std::fs::read_to_string(&trace).unwrap_or_default();
    let root = format!("read {}/", project.world.path("home/app").display());
    text.lines().filter_map(|line| Some(line.strip_prefix(&root)?.to_owned())).collect()
}

/// A project with skills of a directory and of a repository, which have files and folders.
fn project_with_directory() -> Project {
    let project = Project::new();
    for (path, text) in [
        ("team/a/SKILL.md", "---\nname: a\ndescription: Does a.\n---\n\nDo a.\n"),
        ("team/a/scripts/run.sh", "exit 0\n"),
        ("team/more/b/SKILL.md", "---\nname: b\ndescription: Does b.\n---\n\nDo b.\n"),
        // Not searched for skills, but part of one.
        ("team/more/b/node_modules/x.js", "1\n"),
        ("own/SKILL.md", "---\nname: own\ndescription: Does own.\n---\n\nDo own.\n"),
    ] {
        project.write(path, text);
    }
    project.add(&["./team", "acme/skills", "--all", "-a", "claude,codex"]).ok();
    project.add(&["./own"]).ok();
    project
}

#[test]
fn lc_13_status_and_sync_read_no_skill_when_nothing_changed() {
    let project = project_with_directory();
    for args in [&["status", "--exit-code"][..], &["sync"], &["sync", "--frozen"]] {
        // The stamps of a file that was just written may not show a change yet.
        let read = sp_testkit::eventually(|| {
            let read = files_read(&project, args);
            read.iter().all(|path| !path.contains('/')).then_some(read)
        });
        assert_eq!(read, ["skillpack.yaml", "skillpack.lock"], "{args:?}");
    }
}

/// Whether a command of the project computes the digest of a file.
fn hashes(project: &Project, args: &[&str], file: &str) -> bool {
    let digest = sp_testkit::sha256(&std::fs::read(project.path(file)).unwrap());
    let trace = project.world.path("trace");
    let _ = std::fs::remove_file(&trace);
    let mut command = project.world.command(args);
    command.current_dir(project.path(".")).env("SP_READ_TRACE", &trace);
    project.world.run(command).ok();
    std::fs::read_to_string(&trace).unwrap_or_default().contains(&digest)
}

#[test]
fn lc_11_an_unchanged_zip_is_not_read_by_sync() {
    let project = Project::new();
    let write = |text: &str| {
        let bytes = sp_testkit::zip(&[("pdf/SKILL.md", text.as_bytes())]);
        std::fs::write(project.path("team.zip"), bytes).unwrap();
    };
    write(OLD_PDF);
    project.add(&["./team.zip", "-a", "claude"]).ok();
    let is_read = || hashes(&project, &["sync"], "team.zip");
    // The stamp of a file that was just written may not show a change yet.
    sp_testkit::eventually(|| (!is_read()).then_some(()));
    let before = project.read("skillpack.lock");
    write(NEW_PDF);
    assert!(is_read());
    assert_ne!(project.read("skillpack.lock"), before);
    assert_eq!(project.read(".claude/skills/pdf/SKILL.md"), NEW_PDF);
}

#[test]
fn lc_11_every_change_of_a_directory_is_found() {
    let skill = |name: &str, text: &str| {
        format!("---\nname: {name}\ndescription: Does {name}.\n---\n\n{text}\n")
    };
    let copy = |project: &Project| {
        let text = project.read("team/a/SKILL.md");
        project.write("team/copies/a/SKILL.md", &text);
        project.write("team/copies/a/scripts/run.sh", "exit 0\n");
    };
    type Change<'c> = &'c dyn Fn(&Project);
    let changes: [(&str, Change<'_>, &[&str]); 7] = [
        ("edit", &|it| it.write("team/a/SKILL.md", &skill("a", "New.")), &["a", "b", "own"]),
        ("a file", &|it| it.write("team/a/new.md", "New.\n"), &["a", "b", "own"]),
        ("a dependency", &|it| it.write("team/more/b/node_modules/y.js", ""), &["a", "b", "own"]),
        ("the root", &|it| it.write("own/SKILL.md", &skill("own", "New.")), &["a", "b", "own"]),
        (
            "a skill",
            &|it| it.write("team/c/SKILL.md", &skill("c", "New.")),
            &["a", "b", "c", "own"],
        ),
        ("a loss", &|it| std::fs::remove_dir_all(it.path("team/more/b")).unwrap(), &["a", "own"]),
        ("a copy", &copy, &["a", "b", "own"]),
    ];
    for (what, change, expected) in changes {
        let project = project_with_directory();
        sp_testkit::eventually(|| {
            let read = files_read(&project, &["sync"]);
            read.iter().all(|path| !path.contains('/')).then_some(())
        });
        change(&project);
        let before = project.read("skillpack.lock");
        project.sp(&["sync"]).ok();
        assert_eq!(before == project.read("skillpack.lock"), what == "a copy", "{what}");
        let mut skills = project.skills(CLAUDE);
        skills.retain(|name| !["docx", "pdf", "xlsx"].contains(&name.as_str()));
        assert_eq!(skills, expected, "{what}");
        project.sp(&["status", "--exit-code"]).ok();
        project.sp(&["sync", "--frozen"]).ok();
        // The unchanged copy is not read each time either.
        sp_testkit::eventually(|| {
            let read = files_read(&project, &["sync"]);
            read.iter().all(|path| !path.contains('/')).then_some(())
        });
    }
}

#[test]
fn lc_11_a_lockfile_from_elsewhere_is_compared_with_the_directory() {
    let project = project_with_directory();
    let old = project.read("skillpack.lock");
    project.write("team/a/new.md", "New.\n");
    sp_testkit::eventually(|| {
        let read = files_read(&project, &["sync"]);
        read.iter().all(|path| !path.contains('/')).then_some(())
    });
    let new = project.read("skillpack.lock");
    assert_ne!(old, new);
    project.write("skillpack.lock", &old);
    assert_eq!(
        project.world.sp_error_in("home/app", &["sync", "--locked"]).code,
        "E-lock-mismatch"
    );
    project.sp(&["sync"]).ok();
    assert_eq!(project.read("skillpack.lock"), new);
}

#[test]
fn lc_12_outdated_asks_all_servers_once_and_at_the_same_time() {
    const SERVERS: usize = 20;
    let project = Project::new();
    let git = project.world.path("git");
    let servers: Vec<HttpServer> = (0..SERVERS).map(|_| HttpServer::start(&git)).collect();
    let urls: Vec<String> = servers.iter().map(|server| server.url("skills.git")).collect();
    let sources: Vec<&str> = urls.iter().map(String::as_str).collect();
    project.add(&[&sources[..], &["--skill", "pdf", "-a", "claude"]].concat()).ok();
    project.upstream.write("skills/pdf/SKILL.md", NEW_PDF).commit("new");
    let barrier = AnswerBarrier::new(SERVERS);
    servers.iter().for_each(|server| server.wait_at(&barrier));
    let run = project.sp(&["outdated", "--json"]).ok();
    let list: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(list["sources"].as_array().unwrap().len(), SERVERS);
    assert_eq!(barrier.counts(), [1; SERVERS]);
}
