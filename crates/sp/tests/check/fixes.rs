//! `sp check --fix`: what it mends, how it writes, and what it leaves alone.

use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;

use super::*;

/// A skill with problems that can be mended, and the same skill mended.
pub(super) const BROKEN: &str = "---\nname: Tidy Up\ndescription: Use when: it's late # note\nallowed-tools: Read, Grep\n---\nBody.\n";
pub(super) const MENDED: &str = "---\nname: tidy-up\ndescription: 'Use when: it''s late' # note\nallowed-tools: Read Grep\n---\nBody.\n";

fn read(path: &Path) -> String {
    String::from_utf8(std::fs::read(path).unwrap()).unwrap()
}

/// Mends a `SKILL.md` of the skill `tidy-up`, and tells what is in it then and how it ended.
fn mended(text: &str) -> (String, Run) {
    let world = world!();
    world.write("skills/tidy-up/SKILL.md", text);
    let run = check(&world, &["--fix", "--format", "plain"]);
    (read(&world.repo().join("skills/tidy-up/SKILL.md")), run)
}

#[test]
fn a_dry_run_shows_a_diff_and_changes_nothing() {
    let world = world!();
    world.write("skills/tidy-up/SKILL.md", BROKEN);
    world.pack("team", "name: team\r\ninclude: [./tidy-up]\r\ninstall: {flatten: yes}\r\n");
    let before = everything(&world);
    insta::assert_snapshot!(check(&world, &["--fix", "--dry-run"]), @"
    exit: 1
    --- stdout
    would mend 5 problems in 2 files
    1 skill and 1 pack: then no problems
    tokens: 8 always, 2 when used, 0 in other files (o200k_base)
    --- stderr
    packs/team.yaml
    @@ -1,3 +1,3 @@
     name: team
    -include: [./tidy-up]
    -install: {flatten: yes}
    +include: [tidy-up]
    +install: {flatten: true}

    skills/tidy-up/SKILL.md
    @@ -1,6 +1,6 @@
     ---
    -name: Tidy Up
    -description: Use when: it's late # note
    -allowed-tools: Read, Grep
    +name: tidy-up
    +description: 'Use when: it''s late' # note
    +allowed-tools: Read Grep
     ---
     Body.
    ");
    let fixed = report(&world, &["--fix", "--dry-run"])["fixed"].as_array().unwrap().clone();
    assert_eq!(fixed.len(), 2);
    assert!(fixed.iter().all(|file| file["applied"] == false), "{fixed:?}");
    let diff = fixed[1]["diff"].as_str().unwrap();
    assert!(
        diff.starts_with("--- a/skills/tidy-up/SKILL.md\n+++ b/skills/tidy-up/SKILL.md\n@@ "),
        "{diff}"
    );
    assert_eq!(everything(&world), before);
    // The diff is one that `patch` takes.
    std::fs::write(
        world.path("diff"),
        fixed.iter().map(|file| file["diff"].as_str().unwrap()).collect::<String>(),
    )
    .unwrap();
    let mut patch = std::process::Command::new("git");
    patch.args(["apply", "--whitespace=nowarn"]).arg(world.path("diff")).current_dir(world.repo());
    world.run(patch).ok();
    let patched = everything(&world);
    check(&world, &["--fix"]).ok();
    assert_eq!(everything(&world), patched);
    assert_eq!(read(&world.repo().join("skills/tidy-up/SKILL.md")), MENDED);
}

#[test]
fn what_was_mended_is_said_and_a_second_run_has_nothing_to_do() {
    let world = world!();
    world.write("skills/tidy-up/SKILL.md", BROKEN);
    insta::assert_snapshot!(check(&world, &["--fix"]), @"
    exit: 0
    --- stdout
    mended 3 problems in 1 file
    1 skill: no problems
    tokens: 8 always, 2 when used, 0 in other files (o200k_base)
    ");
    let file = world.repo().join("skills/tidy-up/SKILL.md");
    let stamp = |path: &Path| {
        let metadata = path.metadata().unwrap();
        (metadata.ino(), metadata.mtime_nsec(), metadata.ctime_nsec())
    };
    let before = stamp(&file);
    insta::assert_snapshot!(check(&world, &["--fix"]), @"
    exit: 0
    --- stdout
    mended 0 problems in 0 files
    1 skill: no problems
    tokens: 8 always, 2 when used, 0 in other files (o200k_base)
    ");
    assert_eq!(
        (read(&file).as_str(), stamp(&file)),
        (MENDED, before),
        "it is not even written again"
    );
    assert_eq!(report(&world, &[])["summary"]["fixable"], 0);
}

#[test]
fn what_cannot_be_mended_stays_and_decides_the_exit_code() {
    let world = world!();
    world.write("skills/tidy-up/SKILL.md", format!("{BROKEN}[gone](gone.md)\n"));
    let run = check(&world, &["--fix", "--format", "plain"]).fails(1);
    assert_eq!(
        run.stdout,
        "skills/tidy-up/SKILL.md:7:8: error[AS-07] `gone.md` does not exist in the skill\n"
    );
    assert_eq!(
        read(&world.repo().join("skills/tidy-up/SKILL.md")),
        format!("{MENDED}[gone](gone.md)\n")
    );
}

#[test]
fn each_fix_gives_the_text_that_was_meant() {
    for (what, text, expected) in [
        (
            "a name",
            "---\nname: Tidy Up\ndescription: d\n---\n",
            "---\nname: tidy-up\ndescription: d\n---\n",
        ),
        (
            "a quoted name",
            "---\nname: \"Tidy\"\ndescription: d\n---\n",
            "---\nname: tidy-up\ndescription: d\n---\n",
        ),
        ("no name", "---\ndescription: d\n---\nB", "---\nname: tidy-up\ndescription: d\n---\nB"),
        (
            "a colon",
            "---\nname: tidy-up\ndescription: A: b\n---\n",
            "---\nname: tidy-up\ndescription: 'A: b'\n---\n",
        ),
        (
            "a number",
            "---\nname: tidy-up\ndescription: 12\n---\n",
            "---\nname: tidy-up\ndescription: \"12\"\n---\n",
        ),
        (
            "a list of tools",
            "---\nname: tidy-up\ndescription: d\nallowed-tools: [Read, \"Bash(git add:*)\"]\n---\n",
            "---\nname: tidy-up\ndescription: d\nallowed-tools: Read Bash(git add:*)\n---\n",
        ),
        (
            "metadata",
            "---\nname: tidy-up\ndescription: d\nmetadata:\n  version: 1.0\n  draft: yes\n---\n",
            "---\nname: tidy-up\ndescription: d\nmetadata:\n  version: \"1.0\"\n  draft: \"yes\"\n---\n",
        ),
        (
            "blank lines first",
            "\n \n---\nname: tidy-up\ndescription: d\n---\n",
            "---\nname: tidy-up\ndescription: d\n---\n",
        ),
        (
            "a byte-order mark and more",
            "\u{feff}\r\n---\r\nname: Tidy\r\ndescription: A: b\r\n---\r\nBody\r\n",
            "---\r\nname: tidy-up\r\ndescription: 'A: b'\r\n---\r\nBody\r\n",
        ),
        (
            "a value of several lines",
            "---\nname: tidy-up\ndescription: One: two\n  three: it's\n---\n",
            "---\nname: tidy-up\ndescription: 'One: two\n  three: it''s'\n---\n",
        ),
    ] {
        let (after, run) = mended(text);
        assert_eq!(after, expected, "{what}");
        assert_eq!(run.to_string(), "exit: 0\n", "{what}");
        assert_eq!(mended(&after).0, after, "{what}, again");
    }
}

/// Where a fix has broken the text, these hold what was meant.
#[test]
fn no_fix_breaks_the_frontmatter_that_it_mends() {
    for (what, text) in [
        (
            "a list that is not indented",
            "---\nname: tidy-up\ndescription: d\nallowed-tools:\n- Read\n- Grep\n---\nBody\n",
        ),
        (
            "a list before another field",
            "---\nname: tidy-up\ndescription: d\nallowed-tools:\n  - Read\n  - Grep\nlicense: MIT\n---\nBody\n",
        ),
        ("a folded name", "---\nname: >\n  Tidy Up\ndescription: d\n---\nBody\n"),
        ("no name, in braces", "---\n{description: d}\n---\nBody\n"),
        ("no name, indented", "---\n  description: d\n---\nBody\n"),
        ("nothing at all", "---\n~\n---\nBody\n"),
    ] {
        let (after, run) = mended(text);
        assert!(!run.stdout.contains("AS-01"), "{what}: {after:?}: {run}");
        assert!(after.ends_with("\n---\nBody\n"), "{what}: {after:?}");
        assert!(
            !text.contains("description: d") || after.contains("description: d"),
            "{what}: {after:?}"
        );
        assert!(
            !run.stdout.contains("no `description`") || !text.contains("description"),
            "{what}: {after:?}: {run}"
        );
    }
}

#[test]
fn a_line_that_is_put_in_ends_as_the_others_do() {
    let (after, _) = mended("---\r\ndescription: d\r\n---\r\nBody\r\n");
    assert_eq!(after, "---\r\nname: tidy-up\r\ndescription: d\r\n---\r\nBody\r\n");
}

#[test]
fn a_folder_that_yaml_takes_for_something_else_becomes_a_name_in_quotes() {
    for folder in ["null", "true", "123", "1e3", "0x1f"] {
        for text in ["---\ndescription: d\n---\n", "---\nname: Other\ndescription: d\n---\n"] {
            let world = world!();
            world.write(&format!("skills/{folder}/SKILL.md"), text);
            let run = check(&world, &["--fix", "--format", "plain"]);
            assert_eq!(run.to_string(), "exit: 0\n", "{folder}: {run}");
            assert_eq!(report(&world, &[])["skills"][0]["name"], folder);
        }
    }
}

#[test]
fn patterns_and_flatten_of_a_pack_are_mended() {
    let world = world!();
    world.skill("tidy-up");
    for (text, expected) in [
        ("name: x\ninclude:\n  - /tidy-up\n", "name: x\ninclude:\n  - tidy-up\n"),
        ("name: x\ninclude:\n  - ./tidy-up # y\n", "name: x\ninclude:\n  - tidy-up # y\n"),
        ("name: x\ninclude: ['/**', \"//tidy-*\"]\n", "name: x\ninclude: ['**', \"tidy-*\"]\n"),
        ("name: x\ninclude: [/./tidy-up]\n", "name: x\ninclude: [tidy-up]\n"),
        (
            "name: x\r\ninclude: ['**']\r\ninstall: {flatten: yes}\r\n",
            "name: x\r\ninclude: ['**']\r\ninstall: {flatten: true}\r\n",
        ),
        ("\u{feff}name: x\ninclude: [/tidy-up]\n", "\u{feff}name: x\ninclude: [tidy-up]\n"),
    ] {
        world.pack("x", text);
        let run = check(&world, &["packs/x.yaml", "--fix", "--format", "plain"]);
        assert_eq!(
            (read(&world.repo().join("packs/x.yaml")).as_str(), run.code),
            (expected, Some(0)),
            "{text:?}: {run}"
        );
    }
}

#[test]
fn a_pattern_that_yaml_would_take_for_something_else_is_not_laid_bare() {
    let world = world!();
    world.skill("tidy-up");
    for pattern in
        ["/**", "./*", "/*-up", "/null", "/#x", "/&x", "/- x", "/!x", "/{x}", "/\"tidy-up\""]
    {
        let text = format!("name: x\ninclude:\n  - tidy-up\n  - {pattern}\n");
        world.pack("x", &text);
        check(&world, &["packs/x.yaml", "--fix"]);
        let after = read(&world.repo().join("packs/x.yaml"));
        let (pack, _) = sp_formats::pack::read_partial("x", &after, &sp_tree::Limits::default());
        let found: Vec<String> = pack
            .iter()
            .flat_map(|pack| &pack.include)
            .map(|at| at.pattern.as_str().into())
            .collect();
        let meant = pattern.trim_start_matches('/').trim_start_matches("./");
        assert!(after == text || found == ["tidy-up", meant], "{pattern}: {after:?}");
    }
}

#[test]
fn modes_and_owners_stay() {
    for mode in [0o600, 0o640, 0o444, 0o755, 0o664] {
        let world = world!();
        world.write("skills/tidy-up/SKILL.md", BROKEN);
        let file = world.repo().join("skills/tidy-up/SKILL.md");
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
        check(&world, &["--fix"]).ok();
        let metadata = file.metadata().unwrap();
        assert_eq!((metadata.mode() & 0o7777, read(&file).as_str()), (mode, MENDED), "{mode:o}");
    }
}

#[test]
fn a_link_is_written_through_and_stays_a_link() {
    let world = world!();
    world.write("../shared/tidy-up/text.md", BROKEN);
    symlink("text.md", world.path("home/shared/tidy-up/SKILL.md")).unwrap();
    symlink("../../shared/tidy-up", world.repo().join("skills/tidy-up")).unwrap();
    let mut expected = everything(&world);
    check(&world, &["--fix"]).ok();
    expected.insert(
        "home/shared/tidy-up/text.md".into(),
        sp_testkit::Entry::File(MENDED.into(), false),
    );
    assert_eq!(everything(&world), expected, "the file at the end of the links, and nothing else");
}

#[test]
fn one_file_that_is_two_skills_is_mended_once() {
    let world = world!();
    world.write("../shared/x/SKILL.md", "---\nname: a\ndescription: Use: x\n---\n");
    symlink("../../shared/x", world.repo().join("skills/a")).unwrap();
    symlink("../../shared/x", world.repo().join("skills/b")).unwrap();
    let run = check(&world, &["--fix"]);
    assert!(!run.stderr.contains("changed while"), "{run}");
}

#[test]
fn nothing_else_in_the_tree_is_touched() {
    let world = world!();
    world.write("skills/tidy-up/SKILL.md", BROKEN);
    world.write("skills/tidy-up/.hidden", "x");
    world.write("skills/tidy-up/scripts/run.sh", "#!/bin/sh\n");
    world.write("skills/tidy-up/references/SKILL.md.bak", BROKEN);
    world.write("SKILL.md.orig", BROKEN);
    world.skill("good");
    world.pack("team", "name: team\ninclude: ['**']\n");
    let mut expected = everything(&world);
    check(&world, &["--fix"]).ok();
    expected.insert(
        "home/repo/skills/tidy-up/SKILL.md".into(),
        sp_testkit::Entry::File(MENDED.into(), false),
    );
    assert_eq!(everything(&world), expected);
    // Only what is named is mended.
    world.write("skills/tidy-up/SKILL.md", BROKEN);
    let before = everything(&world);
    check(&world, &["skills/good", "--fix"]).ok();
    assert_eq!(everything(&world), before);
}

#[test]
fn a_file_in_a_place_that_cannot_be_written_stays_and_it_is_said() {
    let world = world!();
    world.write("skills/tidy-up/SKILL.md", BROKEN);
    let (skills, sp) =
        (world.repo().join("skills").display().to_string(), env!("CARGO_BIN_EXE_sp"));
    // A mount that only this process and its children see.
    let script = format!(
        "mount --bind {skills} {skills} && mount -o remount,ro,bind {skills} && {sp} check --fix; echo exit $?"
    );
    let mut command = std::process::Command::new("unshare");
    command.args(["--mount", "--map-root-user", "sh", "-c", &script]).current_dir(world.repo());
    command.env_clear().env("HOME", world.home()).env("PATH", std::env::var_os("PATH").unwrap());
    let run = world.run(command);
    assert!(run.stdout.ends_with("exit 5\n"), "{run}");
    assert!(run.stderr.contains("Read-only file system") && run.stderr.contains("hint: "), "{run}");
    let files: Vec<String> = world.files("home/repo/skills/tidy-up").into_keys().collect();
    assert_eq!(
        (files, read(&world.repo().join("skills/tidy-up/SKILL.md")).as_str()),
        (vec!["SKILL.md".into()], BROKEN)
    );
}
