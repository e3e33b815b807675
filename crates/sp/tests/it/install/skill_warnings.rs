//! Problems of skills that do not prevent an install.

use super::*;

/// Returns the rules of the warnings.
fn rules(run: &Run) -> Vec<&str> {
    run.stderr
        .lines()
        .filter_map(|line| Some(line.strip_prefix("warning[")?.split_once(']')?.0))
        .collect()
}

#[test]
fn as_01_as_03_invalid_frontmatter_is_a_warning() {
    let world = team(&[]);
    world.write("skills/a-none/SKILL.md", "# Just text\n");
    world.write("skills/c-open/SKILL.md", "---\nname: c-open\n");
    world.write(
        "skills/d-dashes/SKILL.md",
        "---\nname: d-dashes\ndescription: \"one\n---\n  two\"\n---\nBody\n",
    );
    world.write("skills/e-flow/SKILL.md", "---\n{name: e-flow, description: Flow.}\n---\n");
    world.write("skills/f-nameless/SKILL.md", "---\ndescription: No name.\n---\n");
    let run = install(&world).ok();
    let warnings: Vec<&str> = run
        .stderr
        .lines()
        .filter_map(|line| line.trim().strip_prefix("--> ~/repo/skills/"))
        .collect();
    assert_eq!(warnings, ["a-none/SKILL.md:1:1", "c-open/SKILL.md:1:1", "f-nameless/SKILL.md:2:1"]);
    assert_eq!(rules(&run), ["AS-01", "AS-01", "AS-02"]);
    assert_eq!(folders(&world).len(), 5);
}

#[test]
fn as_01_a_byte_order_mark_is_a_warning() {
    let world = team(&[]);
    world.write("skills/a/SKILL.md", "\u{feff}---\nname: a\ndescription: Fine.\n---\n");
    let run = install(&world).ok();
    assert_eq!(rules(&run), ["AS-01"], "the frontmatter is read: {run}");
    assert!(run.stderr.contains("skills/a/SKILL.md:1:1"), "{run}");
}

#[test]
fn as_03_a_skill_md_that_is_not_utf_8_is_an_error() {
    let world = team(&["b"]);
    world.write("skills/a/SKILL.md", b"---\nname: a\xff\n---\n");
    let error = install_error(&world);
    assert_eq!(error.code, "AS-01");
    let finding = &error.findings[0];
    assert_eq!(
        (finding.file.as_str(), finding.line, finding.column),
        ("~/repo/skills/a/SKILL.md", 2, 8)
    );
    assert!(world.files(SINK).is_empty(), "{:?}", world.files(SINK));
}

#[test]
fn as_03_warnings_are_limited_unless_verbose() {
    let world = team(&[]);
    (0..8)
        .for_each(|number| world.write(&format!("skills/s{number}/SKILL.md"), "no frontmatter\n"));
    let run = install(&world).ok();
    assert_eq!(rules(&run), ["AS-01"; 5], "{run}");
    let rest = run.stderr.lines().last().unwrap();
    assert!(rest.starts_with("warning: 3 ") && rest.contains("`--verbose`"), "{run}");
    let run = world.sp(&["install", "team", "--agent", "codex", "--verbose"]).ok();
    assert_eq!(rules(&run), ["AS-01"; 8], "{run}");
}

#[test]
fn as_04_an_unquoted_colon_is_shown_with_its_quoted_form() {
    let world = team(&[]);
    world.write("skills/a/SKILL.md", "---\nname: a\ndescription: Use when: it rains\n---\n");
    let run = install(&world).ok();
    assert!(
        run.stderr.contains("warning[AS-04]") && run.stderr.contains("skills/a/SKILL.md:3:"),
        "{run}"
    );
    assert!(run.stderr.contains("3 | description: Use when: it rains"), "{run}");
    let quoted = ["\"Use when: it rains\"", "'Use when: it rains'"];
    assert!(quoted.iter().any(|form| run.stderr.contains(form)), "{run}");
}
