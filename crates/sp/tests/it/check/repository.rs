//! Which skills of a repository are checked.

use std::os::unix::fs::PermissionsExt;

use super::*;

const BROKEN: &str = "---\nname: x\ndescription: Does x.\nversion: v1\n---\nBody.\n";

#[test]
fn sp_03_skills_are_checked_wherever_they_are_in_a_repository() {
    let world = world!();
    world.skill("own");
    for dir in ["plugins/a/skills/x", "template/x", ".claude/skills/x", "node_modules/p/x"] {
        world.write(&format!("{dir}/SKILL.md"), BROKEN);
    }
    // A link in `skills/` is the same skill.
    std::os::unix::fs::symlink("../template/x", world.repo().join("skills/x")).unwrap();
    assert_eq!(
        findings(&world, &[]),
        [
            "plugins/a/skills/x/SKILL.md:4:1: warning[AS-05]",
            "skills/x/SKILL.md:4:1: warning[AS-05]",
        ]
    );
    let run = check(&world, &[]).ok();
    for dir in [".claude/skills", "node_modules/p"] {
        let line = format!("1 skill in `{dir}` not checked; use `sp check {dir}` to check them");
        assert!(run.stdout.contains(&line), "{run}");
        assert_eq!(findings(&world, &[dir]).len(), 1, "{dir}");
    }
    assert_eq!(report(&world, &[])["summary"]["skills_left"], 2);
    let all = report(&world, &[".", ".claude/skills", "node_modules"]);
    assert_eq!(all["summary"]["skills_left"], 0);
}

#[test]
fn as_01_a_skill_file_in_another_case_is_reported() {
    let world = world!();
    for (file, folder) in [("skill.md", "a"), ("Skill.md", "b"), ("SKILL.MD", "c")] {
        world.write(&format!("skills/{folder}/{file}"), valid_skill(folder));
    }
    // These are not skills.
    world.write("docs/skill.md", "# How to write a skill\n");
    world.write("skills/d/SKILL.md", valid_skill("d"));
    world.write("skills/d/references/skill.md", valid_skill("d"));
    assert_eq!(
        findings(&world, &[]),
        [
            "skills/a/skill.md:1:1: error[AS-01]",
            "skills/b/Skill.md:1:1: error[AS-01]",
            "skills/c/SKILL.MD:1:1: error[AS-01]",
        ]
    );
    assert_eq!(findings(&world, &["skills/a"]), ["skills/a/skill.md:1:1: error[AS-01]"]);
    let run = check(&world, &["skills/a/skill.md"]).fails(3);
    assert!(run.stderr.contains("rename the file to `SKILL.md`"), "{run}");
}

#[test]
fn se_12_an_unreadable_file_gets_advice_about_reading() {
    let world = world!();
    world.skill("a");
    let file = world.repo().join("skills/a/SKILL.md");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o000)).unwrap();
    // Root can read any file unless its capabilities are dropped.
    let is_root = std::fs::read(&file).is_ok();
    let drop_capabilities: &[&str] =
        if is_root { &["--bounding-set=-all", "--inh-caps=-all"] } else { &[] };
    let sp = world.command(&["check"]);
    let mut command = std::process::Command::new("setpriv");
    command.args(drop_capabilities).arg(sp.get_program()).args(sp.get_args());
    command.current_dir(world.repo()).env_clear();
    command.envs(sp.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let run = world.run(command).fails(3);
    assert!(run.stderr.contains("permission to read") && !run.stderr.contains("writable"), "{run}");
}

#[test]
fn cp_01_sb_17_there_is_one_checker_with_one_help() {
    let world = world!();
    let help = |args: &[&str]| {
        let run = world.sp(&[args, &["--help"]].concat()).ok();
        let lines = run.stdout.lines().filter(|line| !line.contains("sp ") && !line.is_empty());
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    let expected = help(&["check"]);
    assert_eq!(help(&["bag", "check"]), expected);
    assert_eq!(help(&["context", "check"]), expected);
    world.write("skills/a/SKILL.md", BROKEN);
    for args in [&[][..], &["--strict"], &["skills/a", "--format", "plain"], &["gone"]] {
        let run = check(&world, args);
        assert_eq!(world.sp(&[&["bag", "check"], args].concat()), run, "{args:?}");
        assert_eq!(world.sp(&[&["context", "check"], args].concat()), run, "{args:?}");
    }
}
