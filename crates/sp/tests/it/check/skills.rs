//! Findings of a single skill: unknown fields, long bodies, broken links.

use super::*;

/// A finding as `line:column severity[rule]`, and its texts.
struct SkillFinding {
    position: String,
    message: String,
    help: String,
}

/// Checks a skill called `a` with this text.
fn check_skill(world: &World, text: &str) -> Vec<SkillFinding> {
    world.write("skills/a/SKILL.md", text);
    let findings = report(world, &["skills/a"])["findings"].as_array().unwrap().clone();
    let read = |finding: &Value| {
        let text = |name: &str| finding[name].as_str().unwrap_or_default().to_owned();
        let (line, column) = (&finding["line"], &finding["column"]);
        SkillFinding {
            position: format!("{line}:{column} {}[{}]", text("severity"), text("rule")),
            message: text("message"),
            help: text("help"),
        }
    };
    findings.iter().map(read).collect()
}

/// Checks a skill that must have one finding, at this position.
#[track_caller]
fn only_finding(world: &World, text: &str, position: &str) -> SkillFinding {
    let mut findings = check_skill(world, text);
    let positions: Vec<&str> = findings.iter().map(|finding| &*finding.position).collect();
    assert_eq!(positions, [position], "{text}");
    findings.remove(0)
}

#[track_caller]
fn assert_no_findings(world: &World, text: &str) {
    let messages: Vec<String> =
        check_skill(world, text).into_iter().map(|finding| finding.message).collect();
    assert_eq!(messages, [""; 0], "{text}");
}

/// Returns a skill with another field, in line 4.
fn with_field(field: &str) -> String {
    format!("---\nname: a\ndescription: Does a.\n{field}: x\n---\n")
}

#[test]
fn as_05_fields_of_agents_are_warnings_that_name_the_agents() {
    const AGENTS: [&str; 3] = ["Claude Code", "Cursor", "GitHub Copilot"];
    let world = world!();
    for (field, readers) in [
        ("disable-model-invocation", &AGENTS[..]),
        ("argument-hint", &["Claude Code", "GitHub Copilot"]),
        ("model", &["Claude Code"]),
        ("user-invocable", &["Claude Code", "GitHub Copilot"]),
        ("hooks", &["Claude Code"]),
        ("agent", &["Claude Code"]),
        ("context", &["Claude Code"]),
    ] {
        let finding = only_finding(&world, &with_field(field), "4:1 warning[AS-05]");
        assert!(finding.message.contains(&format!("`{field}`")), "{}", finding.message);
        let agents: Vec<&str> =
            AGENTS.into_iter().filter(|agent| finding.help.contains(agent)).collect();
        assert_eq!(agents, readers, "{field}: {}", finding.help);
        check(&world, &["skills/a"]).ok();
        check(&world, &["skills/a", "--strict"]).fails(1);
    }
}

#[test]
fn as_05_unknown_fields_are_warnings_with_a_suggestion() {
    let world = world!();
    for (field, suggestion) in [
        ("version", "  version: "),
        ("author", "  author: "),
        ("licence", "`license`"),
        ("allowed_tools", "`allowed-tools`"),
        ("Description", "`description`"),
        ("x-team", "`metadata:`"),
    ] {
        let finding = only_finding(&world, &with_field(field), "4:1 warning[AS-05]");
        assert!(finding.message.contains(&format!("`{field}`")), "{}", finding.message);
        assert!(finding.help.contains(suggestion), "{field}: {}", finding.help);
    }
}

#[test]
fn as_05_fields_of_the_format_are_valid() {
    let text = "---\nname: a\ndescription: Does a.\nlicense: MIT\ncompatibility: Needs git.\nmetadata:\n  author: mira\n\
                allowed-tools: Read Bash(git:*)\n---\n";
    assert_no_findings(&world!(), text);
}

#[test]
fn as_06_a_body_of_more_than_500_lines_is_a_warning() {
    let world = world!();
    let text =
        |lines: usize| format!("---\nname: a\ndescription: Does a.\n---\n{}", "x\n".repeat(lines));
    assert_no_findings(&world, &text(500));
    let finding = only_finding(&world, &text(501), "5:1 warning[AS-06]");
    assert!(finding.message.contains("501 lines"), "{}", finding.message);
    assert!(finding.help.contains("`references/`"), "{}", finding.help);
}

#[test]
fn as_06_a_body_of_more_than_5000_tokens_is_a_warning() {
    let world = world!();
    let text = |words: usize| {
        format!("---\nname: a\ndescription: Does a.\n---\nthe{}\n", " the".repeat(words - 1))
    };
    assert_eq!(sp_analyze::tokens::count(&format!("the{}", " the".repeat(4999))), 5000);
    assert_no_findings(&world, &text(5000));
    let finding = only_finding(&world, &text(5001), "5:1 warning[AS-06]");
    assert!(finding.message.contains("5001 tokens"), "{}", finding.message);
}

#[test]
fn as_06_long_files_besides_skill_md_are_valid() {
    let world = world!();
    world.write("skills/a/references/long.md", "word ".repeat(20_000));
    assert_no_findings(&world, &valid_skill("a"));
    assert!(report(&world, &["skills/a"])["skills"][0]["files"].as_u64().unwrap() >= 20_000);
}

/// A world with a skill `a` that has files to link to.
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
fn as_07_links_to_existing_files_are_valid() {
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
        assert_no_findings(&world, &format!("{}{body}\n", valid_skill("a")));
    }
}

#[test]
fn as_07_broken_links_are_reported() {
    let world = with_files();
    for (body, position, target, suggestion) in [
        ("[x](references/lst.md)", "7:5 error", "references/lst.md", "`references/list.md`"),
        ("![x](assets/gone.png)", "7:6 error", "assets/gone.png", ""),
        ("é [x](Notes.md)", "7:7 error", "Notes.md", "`notes.md`"),
        ("[x](../other/SKILL.md)", "7:5 note", "../other/SKILL.md", "side by side"),
        ("[x](../gone/SKILL.md)", "7:5 error", "../gone/SKILL.md", ""),
        ("[x](references/../../gone/SKILL.md)", "7:5 error", "references/../../gone/SKILL.md", ""),
        ("[x][l]\n\n[l]: gone.md", "9:6 error", "gone.md", ""),
        ("Run `scripts/rn.sh` now.", "7:6 warning", "scripts/rn.sh", "`scripts/run.sh`"),
        ("| a |\n|---|\n| [x](gone.md) |", "9:7 error", "gone.md", ""),
        ("> - [x](gone.md)", "7:9 error", "gone.md", ""),
        ("[![x](gone.png)](notes.md)", "7:7 error", "gone.png", ""),
    ] {
        let text = format!("{}{body}\n", valid_skill("a"));
        let finding = only_finding(&world, &text, &format!("{position}[AS-07]"));
        assert!(finding.message.contains(&format!("`{target}`")), "{body}: {}", finding.message);
        assert!(finding.help.contains(suggestion), "{body}: {}", finding.help);
    }
}

#[test]
fn as_07_links_in_other_files_are_relative_to_the_file() {
    let world = with_files();
    world.write("skills/a/references/list.md", "[x](deep/more.md) [x](../notes.md)\n");
    world.write(
        "skills/a/references/deep/more.md",
        "[x](../list.md) [x](more.md) [x](list.md) [x](../../../other/SKILL.md)\n",
    );
    world.write("skills/a/scripts/run.sh", "# [x](gone.md)\n");
    world.write("skills/a/SKILL.md", valid_skill("a"));
    assert_eq!(
        findings(&world, &["skills/a"]),
        [
            "skills/a/references/deep/more.md:1:34: warning[AS-07]",
            "skills/a/references/deep/more.md:1:47: note[AS-07]",
        ]
    );
}

#[test]
fn as_07_symbolic_links_are_followed() {
    let world = with_files();
    world.write("../shared/docs/guide.md", "x\n");
    std::os::unix::fs::symlink("../../../shared/docs", world.repo().join("skills/a/docs")).unwrap();
    std::os::unix::fs::symlink("notes.md", world.repo().join("skills/a/alias.md")).unwrap();
    let links = "[x](docs/guide.md) [x](alias.md) [x](docs)";
    assert_no_findings(&world, &format!("{}{links}\n", valid_skill("a")));
}
