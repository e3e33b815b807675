//! What is said of a single skill: fields that are not the format's, bodies that cost too much,
//! links that lead nowhere.

use super::*;

/// What is found in a skill called `a` with this text, as
/// `line:column severity[rule] message; help`.
fn found(world: &World, text: &str) -> Vec<String> {
    world.write("skills/a/SKILL.md", text);
    let findings = report(world, &["skills/a"])["findings"].as_array().unwrap().clone();
    let show = |finding: &Value| {
        let text = |name: &str| finding[name].as_str().unwrap_or_default().to_owned();
        let place = format!("{}:{}", finding["line"], finding["column"]);
        format!(
            "{place} {}[{}] {}; {}",
            text("severity"),
            text("rule"),
            text("message"),
            text("help")
        )
    };
    findings.iter().map(show).collect()
}

#[test]
fn as_05_a_field_that_an_agent_reads_is_a_warning_that_names_it() {
    let world = world!();
    for (field, agents) in [
        ("disable-model-invocation", "Claude Code, Cursor and GitHub Copilot"),
        ("argument-hint", "Claude Code and GitHub Copilot"),
        ("model", "Claude Code"),
        ("user-invocable", "Claude Code and GitHub Copilot"),
        ("hooks", "Claude Code"),
        ("agent", "Claude Code"),
        ("context", "Claude Code"),
    ] {
        let text = format!("---\nname: a\ndescription: Does a.\n{field}: x\n---\n");
        let expected = format!(
            "4:1 warning[AS-05] the field `{field}` is not one of the format; read by {agents}; other agents pass it over"
        );
        assert_eq!(found(&world, &text), [expected]);
        check(&world, &["skills/a"]).ok();
        check(&world, &["skills/a", "--strict"]).fails(1);
    }
}

#[test]
fn as_05_a_field_of_ones_own_belongs_below_metadata_and_a_misspelt_one_is_recognised() {
    let world = world!();
    for (field, help) in [
        ("version", "no agent reads it: put it below `metadata:` as `  version: …`"),
        ("author", "no agent reads it: put it below `metadata:` as `  author: …`"),
        ("licence", "did you mean `license`?"),
        ("allowed_tools", "did you mean `allowed-tools`?"),
        ("Description", "did you mean `description`?"),
        ("x-team", "no agent that we know reads it: what is your own goes below `metadata:`"),
    ] {
        let text = format!("---\nname: a\ndescription: Does a.\n{field}: x\n---\n");
        let expected =
            format!("4:1 warning[AS-05] the field `{field}` is not one of the format; {help}");
        assert_eq!(found(&world, &text), [expected]);
    }
}

#[test]
fn as_05_the_fields_of_the_format_are_no_finding() {
    let text = "---\nname: a\ndescription: Does a.\nlicense: MIT\ncompatibility: Needs git.\nmetadata:\n  author: mira\n\
                allowed-tools: Read Bash(git:*)\n---\n";
    assert_eq!(found(&world!(), text), [""; 0]);
}

#[test]
fn as_06_a_body_of_500_lines_is_no_finding_and_one_more_is() {
    let world = world!();
    let text =
        |lines: usize| format!("---\nname: a\ndescription: Does a.\n---\n{}", "x\n".repeat(lines));
    assert_eq!(found(&world, &text(500)), [""; 0]);
    let help =
        "move what is needed only now and then into files below `references/`, and link to them";
    assert_eq!(
        found(&world, &text(501)),
        [format!("5:1 warning[AS-06] the body has 501 lines, more than 500; {help}")]
    );
}

#[test]
fn as_06_a_body_of_5000_tokens_is_no_finding_and_one_more_is() {
    let world = world!();
    let text = |words: usize| {
        format!("---\nname: a\ndescription: Does a.\n---\nthe{}\n", " the".repeat(words - 1))
    };
    assert_eq!(sp_analyze::tokens::count(&format!("the{}", " the".repeat(4999))), 5000);
    assert_eq!(found(&world, &text(5000)), [""; 0]);
    let over = found(&world, &text(5001));
    assert!(
        over.len() == 1
            && over[0].starts_with("5:1 warning[AS-06] the body has 5001 tokens, more than 5000;")
    );
}

#[test]
fn as_06_other_files_cost_what_they_cost_and_are_no_finding() {
    let world = world!();
    world.write("skills/a/references/long.md", "word ".repeat(20_000));
    assert_eq!(found(&world, &good("a")), [""; 0]);
    assert!(report(&world, &["skills/a"])["skills"][0]["files"].as_u64().unwrap() >= 20_000);
}

/// A skill with files to refer to.
fn with_files() -> World {
    let world = world!();
    for file in [
        "references/list.md",
        "references/deep/more.md",
        "scripts/run.sh",
        "assets/a b.png",
        "notes.md",
        "ü.md",
    ] {
        world.write(&format!("skills/a/{file}"), "x\n");
    }
    world.skill("other");
    world
}

#[test]
fn as_07_what_exists_in_the_skill_is_no_finding() {
    let world = with_files();
    for body in [
        "[x](references/list.md)",
        "[x](./references/list.md)",
        "[x](references/list.md#part \"title\")",
        "[x](<assets/a b.png>)",
        "![x](assets/a%20b.png)",
        "[x](%C3%BC.md) [x](ü.md)",
        "[x](references) [x](references/) [x](.)",
        "[x](references/deep/../list.md)",
        "[x][l]\n\n[l]: notes.md",
        "<img src=\"assets/a\">",
        "Run `scripts/run.sh`, `./scripts/run.sh` or `{baseDir}/scripts/run.sh`.",
        "```sh\nscripts/run.sh --all\n```",
        "[x](#here) [x](https://example.com/x.md) [x](mailto:a@b.example) <https://example.com>",
        "[x](/etc/hosts) [x](~/.config) [x]($HOME/x.md) [x]({{file}})",
        "`scripts/<name>.py`, `assets/*.png`, `references/{topic}.md`, scripts/…",
        "other/scripts/gone.sh is not ours, nor is https://example.com/scripts/gone.sh",
        "```markdown\n[x](gone.md)\n```",
        "`[x](gone.md)` is how a link is written",
        "[x]() []() [x]",
        "- [ ] a task, [1] a note and a[0] too",
    ] {
        assert_eq!(found(&world, &format!("{}{body}\n", good("a"))), [""; 0], "{body}");
    }
}

#[test]
fn as_07_what_leads_nowhere_is_found_where_it_stands() {
    let world = with_files();
    for (body, expected) in [
        (
            "[x](references/lst.md)",
            "7:5 error[AS-07] `references/lst.md` does not exist in the skill; did you mean `references/list.md`?",
        ),
        (
            "![x](assets/gone.png)",
            "7:6 error[AS-07] `assets/gone.png` does not exist in the skill; add the file, or mend the path",
        ),
        (
            "é [x](Notes.md)",
            "7:7 error[AS-07] `Notes.md` does not exist in the skill; did you mean `notes.md`?",
        ),
        (
            "[x](../other/SKILL.md)",
            "7:5 error[AS-07] `../other/SKILL.md` leads out of the skill; only the skill's own folder is installed: put a copy of the file into it",
        ),
        (
            "[x](references/../../other/SKILL.md)",
            "7:5 error[AS-07] `references/../../other/SKILL.md` leads out of the skill; only the skill's own folder is installed: put a copy of the file into it",
        ),
        (
            "[x][l]\n\n[l]: gone.md",
            "9:6 error[AS-07] `gone.md` does not exist in the skill; add the file, or mend the path",
        ),
        (
            "Run `scripts/rn.sh` now.",
            "7:6 warning[AS-07] `scripts/rn.sh` does not exist in the skill; did you mean `scripts/run.sh`?",
        ),
        (
            "| a |\n|---|\n| [x](gone.md) |",
            "9:7 error[AS-07] `gone.md` does not exist in the skill; add the file, or mend the path",
        ),
        (
            "> - [x](gone.md)",
            "7:9 error[AS-07] `gone.md` does not exist in the skill; add the file, or mend the path",
        ),
        (
            "[![x](gone.png)](notes.md)",
            "7:7 error[AS-07] `gone.png` does not exist in the skill; add the file, or mend the path",
        ),
    ] {
        assert_eq!(found(&world, &format!("{}{body}\n", good("a"))), [expected], "{body}");
    }
}

#[test]
fn as_07_links_in_other_files_are_warnings_and_start_where_the_file_is() {
    let world = with_files();
    world.write("skills/a/references/list.md", "[x](deep/more.md) [x](../notes.md)\n");
    world.write(
        "skills/a/references/deep/more.md",
        "[x](../list.md) [x](more.md) [x](list.md) [x](../../../other/SKILL.md)\n",
    );
    world.write("skills/a/scripts/run.sh", "# [x](gone.md)\n");
    world.write("skills/a/SKILL.md", good("a"));
    assert_eq!(
        lines(&world, &["skills/a"]),
        [
            "skills/a/references/deep/more.md:1:34: warning[AS-07] `list.md` does not exist in the skill",
            "skills/a/references/deep/more.md:1:47: warning[AS-07] `../../../other/SKILL.md` leads out of the skill",
        ]
    );
}

#[test]
fn as_07_a_file_behind_a_link_exists() {
    let world = with_files();
    world.write("../shared/docs/guide.md", "x\n");
    std::os::unix::fs::symlink("../../../shared/docs", world.repo().join("skills/a/docs")).unwrap();
    std::os::unix::fs::symlink("notes.md", world.repo().join("skills/a/alias.md")).unwrap();
    assert_eq!(
        found(&world, &format!("{}[x](docs/guide.md) [x](alias.md) [x](docs)\n", good("a"))),
        [""; 0]
    );
}
