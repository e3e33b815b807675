//! What `sp check` takes for what, and how it exits.

use super::*;

/// A world with one of everything that can be recognised, each with one finding of its own.
fn places() -> World {
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
    world.write("../.claude/skills/two/SKILL.md", good("two"));
    world.write("../other/config.yaml", "sinks:\n  mine: work\n");
    std::fs::create_dir_all(world.path("nowhere")).unwrap();
    world
}

const REVIEW: &str =
    "skills/review/SKILL.md:4:1: warning[AS-05] the field `version` is not one of the format";
const TEAM: &str = "packs/team.yaml:2:11: error[SP-17] `revew` matches no local skill";
const ONE: &str =
    "~/.claude/skills/one/SKILL.md:4:1: warning[AS-05] the field `model` is not one of the format";
const MINE: &str =
    "~/other/config.yaml:2:9: error[SP-27] the path of the sink `mine` must be absolute";

#[test]
fn a_path_is_recognised_by_its_files() {
    let world = places();
    for (path, skills, packs, findings) in [
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
        assert_eq!(lines(&world, &[path]), findings, "{path}");
        let run = check(&world, &[path, "--format", "json"]);
        let summary = json(&run)["summary"].clone();
        assert_eq!(
            (summary["skills"].as_u64(), summary["packs"].as_u64()),
            (Some(skills), Some(packs)),
            "{path}"
        );
        let worst = i32::from(findings.iter().any(|line| line.contains("error[")));
        assert_eq!(run.code, Some(worst), "{path}: {run}");
    }
}

#[test]
fn without_a_path_it_is_what_the_current_directory_is_in() {
    let world = places();
    let elsewhere = |line: &str| format!("~/repo/{line}");
    for (dir, findings) in [
        ("home/repo", vec![TEAM.into(), REVIEW.into()]),
        ("home/repo/docs/more", vec![elsewhere(TEAM), elsewhere(REVIEW)]),
        ("home/repo/skills", vec![elsewhere(TEAM), REVIEW.replace("skills/", "")]),
        ("home/repo/packs", vec![TEAM.replace("packs/", ""), elsewhere(REVIEW)]),
        ("home/repo/skills/review", vec![REVIEW.replace("skills/review/", "")]),
        ("home/repo/skills/review/references", vec![elsewhere(REVIEW)]),
        ("home/repo/skills/deep/tidy", vec![]),
    ] {
        let run = world.sp_in(dir, &["check", "--format", "plain"]);
        assert_eq!(run.stdout.lines().collect::<Vec<_>>(), findings, "{dir}: {run}");
        assert_eq!(run.stderr, "", "{dir}");
    }
    let run = world.sp_in("nowhere", &["check"]).fails(3);
    assert!(run.stderr.starts_with(
        "error: the current directory is in no skill and no repository of skills\n\nhint: "
    ));
    let run =
        world.sp_in("nowhere", &["check", "--root", "../home/repo", "--format", "plain"]).fails(1);
    assert_eq!(run.stdout.lines().count(), 2, "{run}");
}

#[test]
fn several_paths_are_checked_together_and_what_two_of_them_lead_to_is_told_once() {
    let world = places();
    assert_eq!(
        lines(&world, &["../.claude/skills", "packs/team.yaml", "skills/review"]),
        [ONE, TEAM, REVIEW]
    );
    for twice in [
        &["skills/review", "skills/review"][..],
        &["skills/review", "./skills/review/", "skills/../skills/review"],
        &["skills/review", "skills/review/SKILL.md", "skills/review/references/notes.md"],
        &["skills", "skills/review"],
    ] {
        assert_eq!(lines(&world, twice), [REVIEW], "{twice:?}");
    }
    assert_eq!(lines(&world, &[".", "skills/review", "packs/team.yaml"]), [TEAM, REVIEW]);
    let summary = report(&world, &[".", "skills/review", "packs/team.yaml"])["summary"].clone();
    assert_eq!((summary["skills"].as_u64(), summary["packs"].as_u64()), (Some(2), Some(1)));
}

#[test]
fn a_file_that_is_named_through_a_link_too_is_told_once() {
    let world = places();
    std::os::unix::fs::symlink("skills", world.repo().join("alias")).unwrap();
    assert_eq!(lines(&world, &["skills/review", "alias/review"]).len(), 1);
}

#[test]
fn se_12_what_cannot_be_read_is_exit_code_3_and_the_rest_is_checked_all_the_same() {
    let world = places();
    std::fs::create_dir_all(world.repo().join("empty")).unwrap();
    std::fs::create_dir_all(world.repo().join("odd/SKILL.md")).unwrap();
    world.write("notes.txt", "text\n");
    for (path, why) in [
        ("gone", "cannot read `gone`"),
        ("skills/gone/SKILL.md", "cannot read `skills/gone/SKILL.md`"),
        ("packs/gone.yaml", "cannot read `packs/gone.yaml`"),
        ("skills/review/SKILL.md/x", "cannot read `skills/review/SKILL.md/x`"),
        ("empty", "there is nothing to check in `empty`"),
        ("odd", "there is nothing to check in `odd`"),
        ("odd/SKILL.md", "there is nothing to check in `odd/SKILL.md`"),
        ("notes.txt", "there is nothing to check in `notes.txt`"),
    ] {
        for format in ["human", "plain", "sarif", "github"] {
            let run = check(&world, &[path, "skills/review", "--format", format]).fails(3);
            assert!(run.stderr.contains(&format!("error: {why}\n")), "{path}: {run}");
            assert!(run.stderr.contains("\nhint: "), "it names the way out: {run}");
            assert!(
                run.stdout.contains("the field `version` is not one of the format"),
                "{path} {format}: {run}"
            );
        }
        let report = report(&world, &[path, "skills/review"]);
        assert_eq!(report["unreadable"][0]["message"], why);
        assert_eq!(report["findings"].as_array().unwrap().len(), 1, "{path}");
    }
}

#[test]
fn se_12_what_could_not_be_read_is_never_called_no_problems() {
    let world = places();
    let run = check(&world, &["gone"]).fails(3);
    assert!(!run.stdout.contains("no problems"), "{run}");
    let run = check(&world, &["gone", "skills/deep/tidy"]).fails(3);
    assert!(!run.stdout.contains("no problems"), "{run}");
}

#[test]
fn se_12_a_pipe_in_the_place_of_a_file_never_hangs_it() {
    let world = places();
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
        let run = ends(&world, &["check", path]);
        assert_eq!(run.code, Some(3), "{path}: {run}");
    }
    for path in ["skills/review", "skills/review/pipe", "skills"] {
        let run = ends(&world, &["check", path, "--format", "plain"]);
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
        ends(&world, args);
    }
}

#[test]
fn se_12_a_folder_whose_skill_md_cannot_be_a_file_is_not_called_good() {
    let world = world!();
    mkfifo(&world.repo().join("pipe"));
    for (folder, target) in [("to-pipe", "../pipe"), ("to-nothing", "../gone")] {
        std::fs::create_dir_all(world.repo().join(folder)).unwrap();
        std::os::unix::fs::symlink(target, world.repo().join(folder).join("SKILL.md")).unwrap();
        let run = ends(&world, &["check", folder]);
        assert_ne!(run.code, Some(0), "{folder}: {run}");
    }
    mkfifo(&world.repo().join("packs/pipe.yaml"));
    std::fs::create_dir_all(world.repo().join("packs/folder.yaml")).unwrap();
    let run = ends(&world, &["check"]);
    assert_ne!(run.code, Some(0), "two packs that cannot be read: {run}");
}

#[test]
fn a_yaml_file_of_a_skill_is_part_of_the_skill() {
    let world = places();
    for file in ["assets/openapi.yaml", "assets/config.yaml", "agents/openai.yml"] {
        world.write(&format!("skills/review/{file}"), "openapi: 3.1.0\n");
        assert_eq!(lines(&world, &[&format!("skills/review/{file}")]), [REVIEW], "{file}");
    }
}

#[test]
fn sp_31_wrong_flags_are_exit_code_2() {
    let world = places();
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
fn se_12_errors_are_exit_code_1_warnings_are_not_unless_strict() {
    let world = places();
    check(&world, &["skills/deep/tidy"]).ok();
    check(&world, &["skills/deep/tidy", "--strict"]).ok();
    check(&world, &["packs/team.yaml"]).fails(1);
    check(&world, &["packs/team.yaml", "--strict"]).fails(1);
    check(&world, &["skills/review"]).ok();
    let run = check(&world, &["skills/review", "--strict", "--format", "plain"]).fails(1);
    assert_eq!(run.stdout.trim_end(), REVIEW.replace("warning", "error"));
    let summary = report(&world, &["skills/review", "--strict"])["summary"].clone();
    assert_eq!((summary["errors"].as_u64(), summary["warnings"].as_u64()), (Some(1), Some(0)));
    // What is only worth knowing stays a note.
    world.write(
        "skills/deep/tidy/SKILL.md",
        "---\nname: tidy\ndescription: Tidies.\nmetadata: {a: b}\n---\n",
    );
    let run = check(&world, &["skills/deep/tidy", "--strict", "--format", "plain"]).ok();
    assert!(run.stdout.contains("note[AS-03]"), "{run}");
    // What cannot be read is worse than what is wrong.
    check(&world, &["packs/team.yaml", "gone"]).fails(3);
}

#[test]
fn sp_28_the_users_own_config_is_checked_wherever_it_is_named() {
    let world = places();
    std::fs::create_dir_all(world.path("home/.skillpack")).unwrap();
    let config = world.path("home/.skillpack/config.yaml");
    std::fs::write(&config, "sinks:\n  mine: ~/work\nlimits:\n  depth: 9\n").unwrap();
    assert_eq!(lines(&world, &["~/.skillpack/config.yaml"]), [""; 0]);
    std::fs::write(&config, "sinks:\n  mine: work\n").unwrap();
    let run = check(&world, &["~/.skillpack/config.yaml"]);
    assert_ne!(run.code, Some(0), "{run}");
    assert!(
        run.to_string().contains("error[SP-27]: the path of the sink `mine` must be absolute"),
        "{run}"
    );
    // A pack may be called so too.
    std::fs::write(&config, "").unwrap();
    world.pack("config", "name: config\nincluded: [review]\n");
    assert!(
        lines(&world, &["packs/config.yaml"])[0].contains("error[SP-11] unknown key `included`")
    );
}
