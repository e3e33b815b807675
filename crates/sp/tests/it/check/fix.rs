//! `sp check --fix`: what it fixes, how it writes files, and what it leaves alone.

use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;

use super::*;

/// A skill with problems that can be fixed, and the same skill after the fix.
pub(super) const BROKEN: &str = "---\nname: tidy-up\ndescription: Use when: it's late # note\nallowed-tools: Read, Grep\n---\nBody.\n";
pub(super) const FIXED: &str = "---\nname: tidy-up\ndescription: 'Use when: it''s late' # note\nallowed-tools: Read Grep\n---\nBody.\n";

fn read(path: &Path) -> String {
    String::from_utf8(std::fs::read(path).unwrap()).unwrap()
}

/// Fixes a `SKILL.md` of the skill `tidy-up`, and returns its new text and the run.
fn fix(text: &str) -> (String, Run) {
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
    let before = files_except_home(&world);
    insta::assert_snapshot!(check(&world, &["--fix", "--dry-run"]), @"
    exit: 1
    --- stdout
    would fix 4 problems in 2 files
    1 skill and 1 pack: after fixing, no problems
    tokens: 8 always, 2 when used, 0 in other files (o200k_base)

    to apply this plan: sp check --fix --plan [PLAN]
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
     name: tidy-up
    -description: Use when: it's late # note
    -allowed-tools: Read, Grep
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
    assert_eq!(files_except_home(&world), before);
    // Git can apply the diff.
    std::fs::write(
        world.path("diff"),
        fixed.iter().map(|file| file["diff"].as_str().unwrap()).collect::<String>(),
    )
    .unwrap();
    let mut patch = std::process::Command::new("git");
    patch.args(["apply", "--whitespace=nowarn"]).arg(world.path("diff")).current_dir(world.repo());
    world.run(patch).ok();
    let patched = files_except_home(&world);
    check(&world, &["--fix"]).ok();
    assert_eq!(files_except_home(&world), patched);
    assert_eq!(read(&world.repo().join("skills/tidy-up/SKILL.md")), FIXED);
}

#[test]
fn a_second_fix_changes_nothing() {
    let world = world!();
    world.write("skills/tidy-up/SKILL.md", BROKEN);
    check(&world, &["--fix"]).ok();
    let file = world.repo().join("skills/tidy-up/SKILL.md");
    let stamp = |path: &Path| {
        let metadata = path.metadata().unwrap();
        (metadata.ino(), metadata.mtime_nsec(), metadata.ctime_nsec())
    };
    let before = stamp(&file);
    check(&world, &["--fix"]).ok();
    assert_eq!(
        (read(&file).as_str(), stamp(&file)),
        (FIXED, before),
        "the file is not written again"
    );
    let report = report(&world, &["--fix"]);
    assert_eq!(
        (&report["summary"]["fixable"], &report["fixed"]),
        (&0.into(), &Value::Array(vec![]))
    );
}

#[test]
fn problems_that_cannot_be_fixed_determine_the_exit_code() {
    let world = world!();
    world.write("skills/tidy-up/SKILL.md", format!("{BROKEN}[gone](gone.md)\n"));
    let run = check(&world, &["--fix", "--format", "plain"]).fails(1);
    assert_eq!(positions(&run), ["skills/tidy-up/SKILL.md:7:8: error[AS-07]"]);
    assert_eq!(
        read(&world.repo().join("skills/tidy-up/SKILL.md")),
        format!("{FIXED}[gone](gone.md)\n")
    );
}

#[test]
fn each_fix_produces_the_intended_text() {
    for (case, text, expected) in [
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
            "\u{feff}\r\n---\r\nname: tidy-up\r\ndescription: A: b\r\n---\r\nBody\r\n",
            "---\r\nname: tidy-up\r\ndescription: 'A: b'\r\n---\r\nBody\r\n",
        ),
        (
            "a value of several lines",
            "---\nname: tidy-up\ndescription: One: two\n  three: it's\n---\n",
            "---\nname: tidy-up\ndescription: 'One: two\n  three: it''s'\n---\n",
        ),
    ] {
        let (after, run) = fix(text);
        assert_eq!(after, expected, "{case}");
        assert_eq!(run.to_string(), "exit: 0\n", "{case}");
        assert_eq!(fix(&after).0, after, "{case}, again");
    }
}

#[test]
fn no_fix_breaks_the_frontmatter() {
    for (case, text) in [
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
        let (after, run) = fix(text);
        assert!(!run.stdout.contains("AS-01"), "{case}: {after:?}: {run}");
        assert!(after.ends_with("\n---\nBody\n"), "{case}: {after:?}");
        assert!(
            !text.contains("description: d") || after.contains("description: d"),
            "{case}: {after:?}"
        );
        let is_read = !run.stdout.contains("`description`");
        assert!(is_read || !text.contains("description"), "{case}: {after:?}: {run}");
    }
}

#[test]
fn an_inserted_line_has_the_line_ending_of_the_file() {
    let (after, _) = fix("---\r\ndescription: d\r\n---\r\nBody\r\n");
    assert_eq!(after, "---\r\nname: tidy-up\r\ndescription: d\r\n---\r\nBody\r\n");
}

#[test]
fn directory_names_that_are_not_yaml_strings_are_quoted() {
    for folder in ["null", "true", "123", "1e3", "0x1f"] {
        let world = world!();
        world.write(&format!("skills/{folder}/SKILL.md"), "---\ndescription: d\n---\n");
        let run = check(&world, &["--fix", "--format", "plain"]);
        assert_eq!(run.to_string(), "exit: 0\n", "{folder}: {run}");
        assert_eq!(report(&world, &[])["skills"][0]["name"], folder);
    }
}

#[test]
fn as_02_a_fix_never_renames_a_skill() {
    for name in ["Tidy Up", "\"Tidy\"", "tidy", "-tidy-up", "tidy_up"] {
        let text = format!("---\nname: {name}\ndescription: d\n---\n");
        let (after, run) = fix(&text);
        assert_eq!(after, text);
        assert!(run.stdout.contains("warning[AS-02]"), "{name}: {run}");
    }
}

#[test]
fn patterns_and_flatten_of_a_pack_are_fixed() {
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
fn a_fixed_pattern_is_still_the_same_yaml_string() {
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
        let included: Vec<String> = pack
            .iter()
            .flat_map(|pack| &pack.include)
            .map(|include| include.pattern.as_str().into())
            .collect();
        let expected = pattern.trim_start_matches('/').trim_start_matches("./");
        assert!(after == text || included == ["tidy-up", expected], "{pattern}: {after:?}");
    }
}

#[test]
fn permissions_are_kept() {
    for mode in [0o600, 0o640, 0o444, 0o755, 0o664] {
        let world = world!();
        world.write("skills/tidy-up/SKILL.md", BROKEN);
        let file = world.repo().join("skills/tidy-up/SKILL.md");
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
        check(&world, &["--fix"]).ok();
        let metadata = file.metadata().unwrap();
        assert_eq!((metadata.mode() & 0o7777, read(&file).as_str()), (mode, FIXED), "{mode:o}");
    }
}

#[test]
fn links_are_followed_and_stay_links() {
    let world = world!();
    world.write("../shared/tidy-up/text.md", BROKEN);
    symlink("text.md", world.path("home/shared/tidy-up/SKILL.md")).unwrap();
    symlink("../../shared/tidy-up", world.repo().join("skills/tidy-up")).unwrap();
    let mut expected = files_except_home(&world);
    check(&world, &["--fix"]).ok();
    expected.insert(
        "home/shared/tidy-up/text.md".into(),
        sp_testkit::FileEntry::File(FIXED.into(), false),
    );
    assert_eq!(files_except_home(&world), expected, "only the target of the links is written");
}

#[test]
fn a_file_that_belongs_to_two_skills_is_fixed_once() {
    let world = world!();
    world.write("../shared/x/SKILL.md", "---\nname: a\ndescription: Use: x\n---\n");
    symlink("../../shared/x", world.repo().join("skills/a")).unwrap();
    symlink("../../shared/x", world.repo().join("skills/b")).unwrap();
    let report = report(&world, &["--fix"]);
    assert_eq!(report["fixed"].as_array().unwrap().len(), 1, "{report}");
    assert_eq!(report["unreadable"], Value::Array(vec![]), "{report}");
}

#[test]
fn other_files_are_not_changed() {
    let world = world!();
    world.write("skills/tidy-up/SKILL.md", BROKEN);
    world.write("skills/tidy-up/.hidden", "x");
    world.write("skills/tidy-up/scripts/run.sh", "#!/bin/sh\n");
    world.write("skills/tidy-up/references/SKILL.md.bak", BROKEN);
    world.write("SKILL.md.orig", BROKEN);
    world.skill("good");
    world.pack("team", "name: team\ninclude: ['**']\n");
    let mut expected = files_except_home(&world);
    check(&world, &["--fix"]).ok();
    expected.insert(
        "home/repo/skills/tidy-up/SKILL.md".into(),
        sp_testkit::FileEntry::File(FIXED.into(), false),
    );
    assert_eq!(files_except_home(&world), expected);
    // Only the given paths are fixed.
    world.write("skills/tidy-up/SKILL.md", BROKEN);
    let before = files_except_home(&world);
    check(&world, &["skills/good", "--fix"]).ok();
    assert_eq!(files_except_home(&world), before);
}

#[test]
fn a_fix_on_a_read_only_file_system_is_an_error() {
    let world = world!();
    world.write("skills/tidy-up/SKILL.md", BROKEN);
    let (skills, sp) =
        (world.repo().join("skills").display().to_string(), env!("CARGO_BIN_EXE_sp"));
    // A mount that only this process and its children see.
    let script = format!(
        "mount --bind {skills} {skills} && mount -o remount,ro,bind {skills} && \
         exec {sp} check --fix --format json"
    );
    let mut command = std::process::Command::new("unshare");
    command.args(["--mount", "--map-root-user", "sh", "-c", &script]).current_dir(world.repo());
    command.env_clear().env("HOME", world.home()).env("PATH", std::env::var_os("PATH").unwrap());
    let error = world.run(command).error();
    assert_eq!(error.code, "E-permission-denied", "{error:?}");
    assert!(!error.hints.is_empty(), "{error:?}");
    let files: Vec<String> = world.files("home/repo/skills/tidy-up").into_keys().collect();
    assert_eq!(
        (files, read(&world.repo().join("skills/tidy-up/SKILL.md")).as_str()),
        (vec!["SKILL.md".into()], BROKEN)
    );
}

#[test]
fn sp_31_a_fix_on_a_terminal_asks_after_the_diff() {
    for (args, input, env, code, is_fixed, is_asked) in [
        (&[][..], "n\n", &[][..], 1, false, true),
        (&[], "\n", &[], 1, false, true),
        (&[], "y\n", &[], 0, true, true),
        (&[], "YES\n", &[], 0, true, true),
        (&["--yes"], "", &[], 0, true, false),
        (&[], "", &[("CI", "true")], 0, true, false),
        (&["--dry-run"], "", &[], 1, false, false),
    ] {
        let world = world!();
        world.write("skills/tidy-up/SKILL.md", BROKEN);
        let run = world.sp_on_terminal(80, &[&["check", "--fix"], args].concat(), input, env);
        let context = format!("{args:?} {input:?} {env:?}: {run}");
        assert_eq!(run.code, Some(code), "{context}");
        let expected = if is_fixed { FIXED } else { BROKEN };
        assert_eq!(read(&world.repo().join("skills/tidy-up/SKILL.md")), expected, "{context}");
        assert_eq!(run.stdout.contains("[y/N]"), is_asked, "{context}");
        assert!(run.stdout.contains("allowed-tools: Read Grep"), "the diff is shown: {context}");
    }
    let world = world!();
    check(&world, &["--yes"]).fails(2);
    check(&world, &["--fix", "--yes", "--dry-run"]).fails(2);
}
