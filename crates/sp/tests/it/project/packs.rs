//! `packs` of a manifest.

use super::*;

/// A project with the skills `a` and `b`, and the pack `team`, which has `a` and imports `pdf`.
fn project_with_pack() -> Project {
    let project = Project::new();
    for name in ["a", "b"] {
        let text = format!("---\nname: {name}\ndescription: Does {name}.\n---\n\nDo {name}.\n");
        project.write(&format!("skills/{name}/SKILL.md"), &text);
    }
    project.write("packs/team.yaml", TEAM);
    project.write("skillpack.yaml", "agents: [claude]\npacks: [team]\n");
    project
}

const TEAM: &str = "\
name: team
include: [a]
imports:
  - repo: https://github.com/acme/skills
    include: [skills/pdf]
install: {prefix: team, flatten: true}
";

#[test]
fn lc_04_packs_of_the_repository_are_installed_and_removed() {
    let project = project_with_pack();
    project.fails(&["sync", "--locked"], "E-lock-mismatch");
    project.sp(&["sync"]).ok();
    let lock = project.read("skillpack.lock");
    let commit = project.upstream.head();
    assert!(lock.contains("source = \"pack team\"") && lock.contains(&commit), "{lock}");
    let folders = project.skills(CLAUDE);
    assert_eq!(folders.len(), 2, "{folders:?}");
    let synced = project.world.files("home/app");
    std::fs::remove_dir_all(project.path(CLAUDE)).unwrap();
    project.sp(&["status", "--exit-code"]).fails(1);
    project.sp(&["sync", "--frozen"]).ok();
    assert_eq!(project.world.files("home/app"), synced);
    let run = project.sp(&["why", &folders[0]]).ok();
    assert!(run.stdout.contains("skillpack.yaml:2:9"), "{run}");
    // A skill of the repository changes with it, and one of an import does not.
    project.upstream.write("skills/pdf/SKILL.md", NEW_PDF).commit("new");
    let text = project.read("skills/a/SKILL.md").replace("Do a.", "Do a well.");
    project.write("skills/a/SKILL.md", &text);
    project.sp(&["sync"]).ok();
    let installed = |text: &str| {
        let has_text =
            |folder: &String| project.read(&format!("{CLAUDE}/{folder}/SKILL.md")) == text;
        project.skills(CLAUDE).iter().any(has_text)
    };
    assert!(installed(&text) && !installed(NEW_PDF));
    let run = project.sp(&["outdated"]).ok();
    assert!(run.stdout.contains(&commit[..12]), "{run}");
    project.sp(&["update", "team"]).ok();
    assert!(installed(NEW_PDF));
    let error = project.fails(&["remove", &folders[0]], "E-still-required");
    assert!(error.hints_at("sp remove team"), "{error:?}");
    project.write("packs/team.yaml", &TEAM.replace("[a]", "[a, b]"));
    project.sp(&["sync"]).ok();
    assert_eq!(project.skills(CLAUDE).len(), 3);
    project.sp(&["remove", "team"]).ok();
    assert_eq!(project.skills(CLAUDE), [""; 0]);
    assert!(!project.read("skillpack.lock").contains("[["));
}

#[test]
fn lc_04_lc_09_packs_of_other_repositories_are_locked_to_their_commit() {
    let project = Project::new();
    let pack = "name: dev\ninclude: ['**']\nexclude: [xlsx]\n";
    project.upstream.write("packs/dev.yaml", pack).commit("pack");
    let manifest = "agents: [claude]\npacks: ['acme/skills//packs/dev.yaml#main']\n";
    project.write("skillpack.yaml", manifest);
    project.sp(&["sync"]).ok();
    let folders = project.skills(CLAUDE);
    assert_eq!(folders.len(), 2, "{folders:?}");
    assert!(project.read("skillpack.lock").contains(&project.upstream.head()));
    let synced = project.world.files("home/app");
    project.upstream.write("packs/dev.yaml", pack.replace("xlsx", "none")).commit("more");
    std::fs::remove_dir_all(project.path(CLAUDE)).unwrap();
    project.sp(&["sync", "--frozen"]).ok();
    assert_eq!(project.world.files("home/app"), synced);
    project.sp(&["outdated", "--exit-code"]).fails(1);
    project.sp(&["update"]).ok();
    assert_eq!(project.skills(CLAUDE).len(), 3);
    project.sp(&["outdated", "--exit-code"]).ok();
    // A path in the pack of someone else would be a path on this machine.
    let path = format!("{pack}imports:\n  - repo: ../other\n    include: ['**']\n");
    project.upstream.write("packs/dev.yaml", path).commit("path");
    project.fails(&["update", "acme/skills//packs/dev.yaml#main"], "E-foreign-local-source");
    project.write("skillpack.yaml", &manifest.replace("dev.yaml", "none.yaml"));
    project.fails(&["sync"], "E-pack-not-found");
}

#[test]
fn lc_04_lc_10_packs_are_added_by_name_and_by_path() {
    let project = project_with_pack();
    let pack = "name: dev\ninclude: [pdf]\n";
    project.upstream.write("packs/dev.yaml", pack).commit("pack");
    project.upstream.git(&["tag", "v1"]);
    for (args, entry) in [
        (&[".", "--pack", "team"][..], "team"),
        (&["packs/team.yaml"], "packs/team.yaml"),
        (&["./packs/team.yaml"], "packs/team.yaml"),
        (&["acme/skills", "--pack", "dev"], "acme/skills//packs/dev.yaml"),
        (&["acme/skills#v1", "--pack", "packs/dev.yaml"], "acme/skills//packs/dev.yaml#v1"),
        (&["acme/skills//packs/dev.yaml#v1"], "acme/skills//packs/dev.yaml#v1"),
    ] {
        project.write("skillpack.yaml", "agents: [claude]\n");
        project.add(args).ok();
        let manifest = project.read("skillpack.yaml");
        assert!(manifest.contains(&format!("packs:\n  - {entry}\n")), "{args:?}: {manifest}");
        assert!(!project.skills(CLAUDE).is_empty(), "{args:?}");
        project.sp(&["sync", "--frozen"]).ok();
        project.add(args).ok();
        assert_eq!(project.read("skillpack.yaml"), manifest, "{args:?}");
        project.sp(&["remove", entry]).ok();
        assert_eq!(project.skills(CLAUDE), [""; 0], "{args:?}");
    }
    for (args, code) in [
        (&["acme/skills", "--pack", "none"][..], "E-pack-not-found"),
        (&["acme/skills/skills", "--pack", "dev"], "E-invalid-arguments"),
        (&["./skills", "--pack", "team"], "E-invalid-arguments"),
        (&["packs/team.yaml", "-a", "codex"], "E-invalid-arguments"),
        (&["packs/team.yaml", "--skill", "a"], "E-invalid-arguments"),
    ] {
        project.fails(&[&["add"], args].concat(), code);
    }
}

#[test]
fn lc_12_lc_13_packs_with_a_newer_version_are_outdated() {
    let project = project_with_pack();
    project.sp(&["sync"]).ok();
    let status = || project.sp(&["status"]).ok().stdout;
    assert!(!status().contains("outdated"));
    project.upstream.write("skills/pdf/SKILL.md", NEW_PDF).commit("new");
    project.sp(&["outdated", "--exit-code"]).fails(1);
    assert!(status().contains("outdated"), "{}", status());
    project.sp(&["update"]).ok();
    project.sp(&["outdated", "--exit-code"]).ok();
    assert!(!status().contains("outdated"), "{}", status());
    // A skill of this repository.
    let text = project.read("skills/a/SKILL.md").replace("Do a.", "Do a well.");
    project.write("skills/a/SKILL.md", &text);
    let run = project.sp(&["outdated", "--exit-code", "--format", "plain"]).fails(1);
    assert!(run.stdout.starts_with("pack team\t"), "{run}");
    assert!(status().contains("outdated"), "{}", status());
    project.sp(&["sync"]).ok();
    assert!(!status().contains("outdated"), "{}", status());
}

#[test]
fn lc_04_invalid_packs_are_reported_with_their_position() {
    let project = Project::new();
    for (text, line, column) in [
        ("packs: [[a]]\n", 1, 9),
        ("packs:\n  - ./x//packs/y.yaml\n", 2, 5),
        ("packs:\n  - acme/skills//../y.yaml\n", 2, 5),
    ] {
        project.write("skillpack.yaml", text);
        let error = project.fails(&["sync"], "LC-04");
        let finding = &error.findings[0];
        assert_eq!((finding.line, finding.column), (line, column), "{text}");
    }
    project.write("skillpack.yaml", "packs: [nothing]\n");
    project.fails(&["sync"], "E-pack-not-found");
}
