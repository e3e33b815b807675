//! Control characters in names, paths and messages are escaped.

use super::*;

/// Characters that must never reach a terminal. Colors are removed before.
fn is_unsafe(c: char) -> bool {
    c != '\n' && c != '\t' && c.is_control()
        || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{e0000}'..='\u{e007f}')
}

/// Removes colors, which are `ESC [ digits m`.
fn without_colors(text: &str) -> String {
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

/// Text with every kind of unsafe character, raw and as YAML writes it. None of them is a color.
const UNSAFE_TEXTS: [(&str, &str); 9] = [
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

/// A world with this text in every name: `raw` as it is, `yaml` as YAML writes it.
fn world_with_unsafe_names(raw: &str, yaml: &str) -> World {
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
    world.write(
        "skills/near/SKILL.md",
        format!("{}[l](references/fil{folder}.md)\n", valid_skill("near")),
    );
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

/// Returns the output lines that contain unsafe characters.
fn leaks(formats: &[&str], is_bad: fn(char) -> bool) -> Vec<String> {
    let mut leaks = Vec::new();
    for (raw, yaml) in UNSAFE_TEXTS {
        let world = world_with_unsafe_names(raw, yaml);
        let gone = format!("gone{raw}");
        for format in formats {
            for args in [
                &["check", ".", "conf/config.yaml"][..],
                &["check", "--fix", "--dry-run"],
                &["check", &gone],
                &["check", "--limit", "file-bytes=1"],
            ] {
                let args = [args, &["--format", format]].concat();
                // Otherwise escape sequences are removed, because stdout is not a terminal.
                let run = run_with_env(&world, &args, &[("CLICOLOR_FORCE", "1")]);
                assert!(matches!(run.code, Some(1 | 3)), "{args:?}: {run:?}");
                for line in without_colors(&format!("{}{}", run.stdout, run.stderr)).lines() {
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
fn se_08_unsafe_text_is_escaped_in_human_and_plain_output() {
    assert_eq!(leaks(&["human", "plain"], is_unsafe), [""; 0]);
}

#[test]
fn se_08_unsafe_text_is_escaped_for_github() {
    assert_eq!(leaks(&["github"], is_unsafe), [""; 0]);
}

#[test]
fn se_08_ascii_control_characters_are_escaped_in_json_and_sarif() {
    assert_eq!(leaks(&["json", "sarif"], |c| c < ' '), [""; 0]);
}

#[test]
fn se_08_unsafe_text_is_escaped_in_json_and_sarif() {
    assert_eq!(leaks(&["json", "sarif"], is_unsafe), [""; 0]);
}

#[test]
fn se_07_a_password_in_a_quoted_source_line_is_masked() {
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
fn se_08_explain_and_cost_escape_unsafe_text() {
    for (raw, _) in UNSAFE_TEXTS {
        let world = world!();
        let folder: String = raw.chars().filter(|c| !c.is_control()).collect();
        world.write(&format!("skills/a{folder}/SKILL.md"), valid_skill("a"));
        for args in
            [&["explain", &format!("AS{raw}")][..], &["cost"], &["cost", &format!("gone{raw}")]]
        {
            for format in ["human", "plain"] {
                let args = [args, &["--format", format]].concat();
                let run = run_with_env(&world, &args, &[("CLICOLOR_FORCE", "1")]);
                let output = without_colors(&format!("{}{}", run.stdout, run.stderr));
                assert!(!output.contains(is_unsafe), "{args:?}: {output:?}");
            }
        }
    }
}
