//! Hostile text in names, paths and messages: it is told, and never raw.

use super::*;

/// What must never reach a terminal as it is. Colours of our own are taken out before.
fn is_hostile(c: char) -> bool {
    c != '\n' && c != '\t' && c.is_control()
        || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{e0000}'..='\u{e007f}')
}

/// The text without colours, which are `ESC [ digits m`.
fn without_colours(text: &str) -> String {
    let mut pieces = text.split("\u{1b}[");
    let mut plain = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let digits = piece.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';');
        match digits.strip_prefix('m') {
            Some(rest) => plain += rest,
            None => {
                plain += "\u{1b}[";
                plain += piece;
            }
        }
    }
    plain
}

/// Each kind of character that plays tricks; none of the sequences is a colour.
const TRICKS: [(&str, &str); 9] = [
    ("\u{1b}[2J", "\\e[2J"),
    ("\u{1b}]0;x\u{7}", "\\e]0;x\\a"),
    ("\u{9b}2J", "\\x9b2J"),
    ("\u{85}", "\\x85"),
    ("\u{202e}", "\\u202e"),
    ("\u{2066}", "\\u2066"),
    ("\u{200f}", "\\u200f"),
    ("\u{7f}", "\\x7f"),
    ("\u{e0041}", "\\U000e0041"),
];

/// A world in which everything that can be named is named by a trick: `raw` as it is, `yaml` as
/// YAML writes it.
fn tricked(raw: &str, yaml: &str) -> World {
    let world = world!();
    let folder: String = raw.chars().filter(|c| !c.is_control()).collect();
    world.write(
        &format!("skills/a{folder}/SKILL.md"),
        format!("---\nname: \"x{yaml}\"\ndescription: \"d\"\n\"k{yaml}\": 1\nmetadata: {{\"m{yaml}\": 1}}\n---\n[l](refs/x{raw}.md)\n"),
    );
    world.write(
        "skills/colon/SKILL.md",
        format!("---\nname: colon\ndescription: Use: {raw}x\n---\n"),
    );
    world.write("skills/none/SKILL.md", format!("{raw}text\n"));
    world.write("skills/twice/SKILL.md", format!("---\n\"k{yaml}\": 1\n\"k{yaml}\": 2\n---\n"));
    world.write(
        "skills/tools/SKILL.md",
        format!("---\nname: tools\ndescription: d\nallowed-tools: [\"R{yaml}\"]\n---\n"),
    );
    world
        .write("skills/near/SKILL.md", format!("{}[l](references/fil{folder}.md)\n", good("near")));
    world.write(&format!("skills/near/references/file{folder}.md"), "x");
    world.pack(
        "a",
        &format!(
            "name: \"p{yaml}\"\ninclude: [\"i{yaml}\"]\nexclude: [\"e{yaml}\"]\n\"k{yaml}\": 1\n"
        ),
    );
    world.pack("b", &format!("name: \"p{yaml}\"\ninclude: ['**']\n"));
    world.pack(
        "c",
        &format!("name: c\nimports:\n  - repo: \"./r{yaml}\"\n    ref: \"v{yaml}\"\n    include: [\"/x{yaml}\"]\n"),
    );
    world.pack("d", &format!("\"k{yaml}\": 1\n\"k{yaml}\": 2\n"));
    world.write(
        "conf/config.yaml",
        format!("sinks: {{\"s{yaml}\": x, \"t{yaml}\": [1]}}\nlimits: {{\"l{yaml}\": 1}}\n"),
    );
    world
}

/// The tricks that get through somewhere.
fn leaks(formats: &[&str], is_bad: fn(char) -> bool) -> Vec<String> {
    let mut leaks = Vec::new();
    for (raw, yaml) in TRICKS {
        let world = tricked(raw, yaml);
        let gone = format!("gone{raw}");
        for format in formats {
            for args in [
                &["check", ".", "conf/config.yaml"][..],
                &["check", "--fix", "--dry-run"],
                &["check", &gone],
                &["check", "--limit", "file-bytes=1"],
            ] {
                let mut command = world.command(&[args, &["--format", format]].concat());
                // So that nothing is taken out on its way to what is no terminal.
                command.env("CLICOLOR_FORCE", "1");
                let run = world.run(command);
                assert!(matches!(run.code, Some(1 | 3)), "{args:?}: {run:?}");
                for line in without_colours(&format!("{}{}", run.stdout, run.stderr)).lines() {
                    if line.contains(is_bad) {
                        leaks.push(format!("{format} {yaml}: {line:?}"));
                    }
                }
            }
        }
    }
    leaks.sort();
    leaks.dedup();
    leaks
}

#[test]
fn se_08_hostile_text_is_escaped_in_the_human_and_the_plain_form() {
    assert_eq!(leaks(&["human", "plain"], is_hostile), [""; 0]);
}

#[test]
fn se_08_hostile_text_is_escaped_for_github() {
    assert_eq!(leaks(&["github"], is_hostile), [""; 0]);
}

#[test]
fn se_08_no_ascii_control_character_stands_raw_in_json_and_sarif() {
    assert_eq!(leaks(&["json", "sarif"], |c| c < ' '), [""; 0]);
}

#[test]
fn se_08_hostile_text_is_escaped_in_json_and_sarif() {
    assert_eq!(leaks(&["json", "sarif"], is_hostile), [""; 0]);
}

#[test]
fn se_07_a_password_in_a_skill_is_covered_wherever_its_line_is_shown() {
    let world = world!();
    world.write(
        "skills/a/SKILL.md",
        "---\nname: a\ndescription: See https://me:geheim@host.example/x: now\n---\n",
    );
    for format in ["human", "plain", "json", "sarif", "github"] {
        let run = check(&world, &["--format", format]);
        assert!(!run.to_string().contains("geheim"), "{format}: {run}");
    }
}

#[test]
fn se_08_explain_and_cost_escape_what_they_are_given() {
    for (raw, _) in TRICKS {
        let world = world!();
        let folder: String = raw.chars().filter(|c| !c.is_control()).collect();
        world.write(&format!("skills/a{folder}/SKILL.md"), good("a"));
        for args in
            [&["explain", &format!("AS{raw}")][..], &["cost"], &["cost", &format!("gone{raw}")]]
        {
            for format in ["human", "plain"] {
                let mut command = world.command(&[args, &["--format", format]].concat());
                command.env("CLICOLOR_FORCE", "1");
                let run = world.run(command);
                let said = without_colours(&format!("{}{}", run.stdout, run.stderr));
                assert!(!said.contains(is_hostile), "{args:?} {format}: {said:?}");
            }
        }
    }
}
