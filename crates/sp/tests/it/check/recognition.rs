//! What `sp check` recognizes, and its exit codes.

use super::*;

/// A world with one of everything that is recognized, each with its own finding.
fn every_kind() -> World {
    let world = world!();
    world.write(
        "skills/review/SKILL.md",
        "---\nname: review\ndescription: Reviews.\nversion: v1\n---\nBody.\n",
    );
    world.write("skills/review/references/notes.md", "Notes.\n");
    world.skill("deep/tidy");
    world.pack("team", "name: team\ninclude: [revew]\n");
    std::fs::create_dir_all(world.repo().join("docs/more")).unwrap();
    world.write(
        "../.claude/skills/one/SKILL.md",
        "---\nname: one\ndescription: One.\nmodel: x\n---\n",
    );
    world.write("../.claude/skills/two/SKILL.md", valid_skill("two"));
    world.write("../other/config.yaml", "sinks:\n  mine: work\n");
    std::fs::create_dir_all(world.path("nowhere")).unwrap();
    world
}

const REVIEW: &str = "skills/review/SKILL.md:4:1: warning[AS-05]";
const TEAM: &str = "packs/team.yaml:2:11: error[SP-17]";
const ONE: &str = "~/.claude/skills/one/SKILL.md:4:1: warning[AS-05]";
const MINE: &str = "~/other/config.yaml:2:9: error[SP-27]";

#[test]
fn a_path_is_recognized_by_its_files() {
    let world = every_kind();
    for (path, skills, packs, expected) in [
        ("skills/review", 1, 0, &[REVIEW][..]),
        ("skills/review/", 1, 0, &[REVIEW]),
        ("skills/review/SKILL.md", 1, 0, &[REVIEW]),
        ("skills/review/references/notes.md", 1, 0, &[REVIEW]),
        ("skills/deep/tidy", 1, 0, &[]),
        ("packs/team.yaml", 0, 1, &[TEAM]),
        (".", 2, 1, &[TEAM, REVIEW]),
        ("../repo", 2, 1, &[TEAM, REVIEW]),
        ("skills", 2, 0, &[REVIEW]),
        ("skills/deep", 1, 0, &[]),
        ("../.claude/skills", 2, 0, &[ONE]),
        ("~/.claude/skills", 2, 0, &[ONE]),
        ("../other/config.yaml", 0, 0, &[MINE]),
    ] {
        assert_eq!(findings(&world, &[path]), expected, "{path}");
        let run = check(&world, &[path, "--format", "json"]);
        let summary = json(&run)["summary"].clone();
        assert_eq!(
            (summary["skills"].as_u64(), summary["packs"].as_u64()),
            (Some(skills), Some(packs)),
            "{path}"
        );
        let code = i32::from(expected.iter().any(|finding| finding.contains("error[")));
        assert_eq!(run.code, Some(code), "{path}: {run}");
    }
}

#[test]
fn the_default_is_what_contains_the_current_directory() {
    let world = every_kind();
    let outside = |finding: &str| format!("~/repo/{finding}");
    for (dir, expected) in [
        ("home/repo", vec![TEAM.into(), REVIEW.into()]),
        ("home/repo/docs/more", vec![outside(TEAM), outside(REVIEW)]),
        ("home/repo/skills", vec![outside(TEAM), REVIEW.replace("skills/", "")]),
        ("home/repo/packs", vec![TEAM.replace("packs/", ""), outside(REVIEW)]),
        ("home/repo/skills/review", vec![REVIEW.replace("skills/review/", "")]),
        ("home/repo/skills/review/references", vec![outside(REVIEW)]),
        ("home/repo/skills/deep/tidy", vec![]),
    ] {
        let run = world.sp_in(dir, &["check", "--format", "plain"]);
        assert_eq!(positions(&run), expected, "{dir}: {run}");
        assert_eq!(run.stderr, "", "{dir}");
    }
    let error = world.sp_error_in("nowhere", &["check"]);
    assert_eq!(error.code, "E-nothing-to-check");
    assert!(!error.hints.is_empty(), "{error:?}");
    let run =
        world.sp_in("nowhere", &["check", "--root", "../home/repo", "--format", "plain"]).fails(1);
    assert_eq!(run.stdout.lines().count(), 2, "{run}");
}

#[test]
fn findings_of_overlapping_paths_are_reported_once() {
    let world = every_kind();
    assert_eq!(
        findings(&world, &["../.claude/skills", "packs/team.yaml", "skills/review"]),
        [ONE, TEAM, REVIEW]
    );
    for paths in [
        &["skills/review", "skills/review"][..],
        &["skills/review", "./skills/review/", "skills/../skills/review"],
        &["skills/review", "skills/review/SKILL.md", "skills/review/references/notes.md"],
        &["skills", "skills/review"],
    ] {
        assert_eq!(findings(&world, paths), [REVIEW], "{paths:?}");
    }
    assert_eq!(findings(&world, &[".", "skills/review", "packs/team.yaml"]), [TEAM, REVIEW]);
    let summary = report(&world, &[".", "skills/review", "packs/team.yaml"])["summary"].clone();
    assert_eq!((summary["skills"].as_u64(), summary["packs"].as_u64()), (Some(2), Some(1)));
}

#[test]
fn findings_of_a_path_and_a_link_to_it_are_reported_once() {
    let world = every_kind();
    std::os::unix::fs::symlink("skills", world.repo().join("alias")).unwrap();
    assert_eq!(findings(&world, &["skills/review", "alias/review"]).len(), 1);
}

#[test]
fn se_12_unreadable_paths_do_not_hide_findings_of_the_others() {
    let world = every_kind();
    std::fs::create_dir_all(world.repo().join("empty")).unwrap();
    std::fs::create_dir_all(world.repo().join("odd/SKILL.md")).unwrap();
    world.write("notes.txt", "text\n");
    for (path, code) in [
        ("gone", "E-unreadable-file"),
        ("skills/gone/SKILL.md", "E-unreadable-file"),
        ("packs/gone.yaml", "E-unreadable-file"),
        ("skills/review/SKILL.md/x", "E-unreadable-file"),
        ("empty", "E-nothing-to-check"),
        ("odd", "E-nothing-to-check"),
        ("odd/SKILL.md", "E-nothing-to-check"),
        ("notes.txt", "E-nothing-to-check"),
    ] {
        for format in ["human", "plain", "sarif", "github"] {
            let run = check(&world, &[path, "skills/review", "--format", format]).fails(3);
            let error = run.stderr.lines().next().unwrap_or_default();
            assert!(error.starts_with("error: "), "{path}: {run}");
            assert!(error.contains(&format!("`{path}`")), "{path}: {run}");
            assert!(run.stderr.contains("\nhint: "), "{path}: {run}");
            assert!(run.stdout.contains("AS-05"), "{path} {format}: {run}");
        }
        let report = report(&world, &[path, "skills/review"]);
        assert_eq!(report["unreadable"][0]["code"], code, "{path}");
        assert_eq!(report["findings"].as_array().unwrap().len(), 1, "{path}");
    }
}

#[test]
fn se_12_a_summary_is_not_clean_if_a_path_is_unreadable() {
    let world = every_kind();
    let clean = check(&world, &["skills/deep/tidy"]).ok().stdout;
    let clean = clean.lines().next().unwrap().split_once(": ").unwrap().1;
    for paths in [&["gone"][..], &["gone", "skills/deep/tidy"]] {
        let run = check(&world, paths).fails(3);
        assert!(!run.stdout.contains(clean), "{run}");
    }
}

#[test]
fn se_12_a_fifo_instead_of_a_file_does_not_hang() {
    let world = every_kind();
    for pipe in [
        "odd/SKILL.md",
        "packs2/packs/x.yaml",
        "c/config.yaml",
        "skills/review/pipe",
        "pipe",
        "pipe.md",
    ] {
        mkfifo(&world.repo().join(pipe));
    }
    std::fs::create_dir_all(world.repo().join("linked")).unwrap();
    std::os::unix::fs::symlink("../pipe", world.repo().join("linked/SKILL.md")).unwrap();
    for path in
        ["odd", "odd/SKILL.md", "packs2/packs/x.yaml", "c", "c/config.yaml", "pipe", "pipe.md"]
    {
        let run = run_to_end(&world, &["check", path]);
        assert_eq!(run.code, Some(3), "{path}: {run}");
    }
    for path in ["skills/review", "skills/review/pipe", "skills"] {
        let run = run_to_end(&world, &["check", path, "--format", "plain"]);
        assert!(
            run.code == Some(1) && run.stdout.contains("skills/review/pipe:1:1: error[SP-21]"),
            "{path}: {run}"
        );
    }
    for args in [
        &["check", "linked"][..],
        &["check", "."],
        &["check", "--fix"],
        &["cost"],
        &["cost", "linked"],
    ] {
        run_to_end(&world, args);
    }
}

#[test]
fn se_12_skills_and_packs_that_are_not_files_are_reported() {
    let world = world!();
    mkfifo(&world.repo().join("pipe"));
    for (folder, target) in [("to-pipe", "../pipe"), ("to-nothing", "../gone")] {
        std::fs::create_dir_all(world.repo().join(folder)).unwrap();
        std::os::unix::fs::symlink(target, world.repo().join(folder).join("SKILL.md")).unwrap();
        let run = run_to_end(&world, &["check", folder]);
        assert_ne!(run.code, Some(0), "{folder}: {run}");
    }
    mkfifo(&world.repo().join("packs/pipe.yaml"));
    std::fs::create_dir_all(world.repo().join("packs/folder.yaml")).unwrap();
    let run = run_to_end(&world, &["check"]);
    assert_ne!(run.code, Some(0), "two unreadable packs: {run}");
}

#[test]
fn a_yaml_file_in_a_skill_belongs_to_the_skill() {
    let world = every_kind();
    for file in ["assets/openapi.yaml", "assets/config.yaml", "agents/openai.yml"] {
        world.write(&format!("skills/review/{file}"), "openapi: 3.1.0\n");
        assert_eq!(findings(&world, &[&format!("skills/review/{file}")]), [REVIEW], "{file}");
    }
}

#[test]
fn sp_31_invalid_flags_are_usage_errors() {
    let world = every_kind();
    for args in [
        &["check", "--no-such-flag"][..],
        &["check", "--dry-run"],
        &["check", "--watch", "--fix"],
        &["check", "--format", "xml"],
        &["check", "--limit", "depth"],
        &["explain", "AS-04", "AS-05"],
        &["cost", "skills", "--agent", "claude"],
        &["cost", "--scope", "project"],
        &["schema"],
        &["schema", "skill"],
    ] {
        let run = world.sp(args).fails(2);
        assert!(run.stdout.is_empty() && run.stderr.starts_with("error: "), "{args:?}: {run}");
    }
}

#[test]
fn se_12_warnings_fail_only_with_strict() {
    let world = every_kind();
    check(&world, &["skills/deep/tidy"]).ok();
    check(&world, &["skills/deep/tidy", "--strict"]).ok();
    check(&world, &["packs/team.yaml"]).fails(1);
    check(&world, &["packs/team.yaml", "--strict"]).fails(1);
    check(&world, &["skills/review"]).ok();
    let run = check(&world, &["skills/review", "--strict", "--format", "plain"]).fails(1);
    assert_eq!(positions(&run), [REVIEW.replace("warning", "error")]);
    let summary = report(&world, &["skills/review", "--strict"])["summary"].clone();
    assert_eq!((summary["errors"].as_u64(), summary["warnings"].as_u64()), (Some(1), Some(0)));
    // Notes stay notes.
    world.write(
        "skills/deep/tidy/SKILL.md",
        "---\nname: tidy\ndescription: Tidies.\nmetadata: {a: b}\n---\n",
    );
    let run = check(&world, &["skills/deep/tidy", "--strict", "--format", "plain"]).ok();
    assert!(run.stdout.contains("note[AS-03]"), "{run}");
    // An unreadable path takes precedence over errors.
    check(&world, &["packs/team.yaml", "gone"]).fails(3);
}

#[test]
fn sp_28_the_configuration_is_checked_if_it_is_named() {
    let world = every_kind();
    std::fs::create_dir_all(world.path("home/.skillpack")).unwrap();
    let config = world.path("home/.skillpack/config.yaml");
    std::fs::write(&config, "sinks:\n  mine: ~/work\nlimits:\n  depth: 9\n").unwrap();
    assert_eq!(findings(&world, &["~/.skillpack/config.yaml"]), [""; 0]);
    std::fs::write(&config, "sinks:\n  mine: work\n").unwrap();
    let run = check(&world, &["~/.skillpack/config.yaml"]);
    assert_ne!(run.code, Some(0), "{run}");
    assert!(run.to_string().contains("error[SP-27]"), "{run}");
    assert!(run.to_string().contains("config.yaml:2:9"), "{run}");
    // A pack may have this name too.
    std::fs::write(&config, "").unwrap();
    world.pack("config", "name: config\nincluded: [review]\n");
    let found = findings(&world, &["packs/config.yaml"]);
    assert_eq!(found[0], "packs/config.yaml:2:1: error[SP-11]");
}
