//! Skills with mistakes that do not prevent an install.

use super::*;

#[test]
fn as_01_as_03_install_is_lenient_and_warns() {
    let world = team(&[]);
    world.write("skills/a-none/SKILL.md", "# Just text\n");
    world.write("skills/c-open/SKILL.md", "---\nname: c-open\n");
    world.write(
        "skills/d-dashes/SKILL.md",
        "---\nname: d-dashes\ndescription: \"one\n---\n  two\"\n---\nBody\n",
    );
    world.write("skills/e-flow/SKILL.md", "---\n{name: e-flow, description: Flow.}\n---\n");
    world.write("skills/f-nameless/SKILL.md", "---\ndescription: No name.\n---\n");
    insta::assert_snapshot!(install(&world), @"
    exit: 0
    --- stdout
    + team__a-none
    + team__c-open
    + team__d-dashes
    + team__e-flow
    + team__f-nameless

    installed team · claude · ~/.claude/skills · 5 added
    --- stderr
    warning[AS-01]: it has no frontmatter
     --> ~/repo/skills/a-none/SKILL.md:1:1
      |
    1 | # Just text
      | ^
      |
      = help: start it with `---`, `name: …`, `description: …`, `---`

    warning[AS-01]: the frontmatter has no end
     --> ~/repo/skills/c-open/SKILL.md:1:1
      |
    1 | ---
      | ^^^
      |
      = help: close it with a line `---`

    warning[AS-02]: the frontmatter has no `name`
     --> ~/repo/skills/f-nameless/SKILL.md:2:1
      |
    2 | description: No name.
      | ^
      |
      = help: add `name: f-nameless`
    ");
    assert_eq!(folders(&world).len(), 5);
}

#[test]
fn as_01_a_byte_order_mark_is_a_warning_and_is_skipped() {
    let world = team(&[]);
    world.write("skills/a/SKILL.md", "\u{feff}---\nname: a\ndescription: Fine.\n---\n");
    let run = install(&world).ok();
    assert!(run.stderr.contains("warning[AS-01]: it starts with a byte-order mark"), "{run}");
    assert_eq!(
        run.stderr.matches("warning").count(),
        1,
        "the frontmatter behind it is read: {run}"
    );
}

#[test]
fn as_03_a_skill_md_that_is_no_text_is_refused_before_anything_changes() {
    let world = team(&["b"]);
    world.write("skills/a/SKILL.md", b"---\nname: a\xff\n---\n");
    insta::assert_snapshot!(install(&world), @"
    exit: 3
    --- stderr
    error[AS-01]: it is not UTF-8 text from byte 11 on
     --> ~/repo/skills/a/SKILL.md:2:8
      |
    2 | name: a
      |        ^
      |
      = help: save it as UTF-8

    error: a skill cannot be read
    ");
    assert!(world.files(SINK).is_empty(), "{:?}", world.files(SINK));
}

#[test]
fn as_03_many_warnings_are_counted_and_verbose_shows_all() {
    let world = team(&[]);
    (0..8)
        .for_each(|number| world.write(&format!("skills/s{number}/SKILL.md"), "no frontmatter\n"));
    let run = world.sp(&["install", "team", "--agent", "claude"]).ok();
    assert_eq!(run.stderr.matches("it has no frontmatter").count(), 5, "{run}");
    assert!(
        run.stderr.contains("warning: 3 more files have warnings; `--verbose` shows them"),
        "{run}"
    );
    let run = world.sp(&["install", "team", "--agent", "codex", "--verbose"]).ok();
    assert_eq!(run.stderr.matches("it has no frontmatter").count(), 8, "{run}");
}

#[test]
fn as_04_an_unquoted_colon_is_shown_with_its_line_and_its_quoted_form() {
    let world = team(&[]);
    world.write("skills/a/SKILL.md", "---\nname: a\ndescription: Use when: it rains\n---\n");
    let run = install(&world).ok();
    assert!(
        run.stderr.contains("warning[AS-04]") && run.stderr.contains("skills/a/SKILL.md:3:"),
        "{run}"
    );
    assert!(run.stderr.contains("3 | description: Use when: it rains"), "the line: {run}");
    let quoted = ["\"Use when: it rains\"", "'Use when: it rains'"];
    assert!(quoted.iter().any(|form| run.stderr.contains(form)), "the quoted form: {run}");
}
