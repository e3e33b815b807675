//! The rules of Agent Skills.

use crate::rules::rule_set;

rule_set! {
    "Agent Skills"

    "AS-01" "Frontmatter between `---` lines at byte 0, then Markdown" => AS_01 {
        what: "A skill is a directory with a `SKILL.md`. This file is UTF-8 text that starts with YAML frontmatter \
               between two `---` lines, followed by Markdown. Nothing precedes the first `---`.",
        why: "Agents read the name and the description of a skill from its frontmatter. If the frontmatter is missing, \
              invalid or not at the start of the file, most agents silently ignore the skill.",
        bad: "==> skills/tidy-up/SKILL.md\n# Tidy up\n\nRemove unused code.\n",
        good: "==> skills/tidy-up/SKILL.md\n---\nname: tidy-up\ndescription: Removes dead code. Use after a refactoring.\n\
               ---\n# Tidy up\n\nRemove unused code.\n",
    }

    "AS-02" "The fields have valid values" => AS_02 {
        what: "`name` has 1 to 64 characters of a-z, 0-9 and single hyphens, and equals the name of the directory. \
               `description` has 1 to 1024 characters and is unique. `compatibility`, if present, has 1 to 500 \
               characters. `metadata` maps text to text. `allowed-tools` is text, with spaces between the tools.",
        why: "Agents identify skills by name and select them by description. Some agents reject a skill if its name \
              differs from the name of its directory, and text that is too long is truncated. If two skills have the \
              same description, agents cannot distinguish them.",
        bad: "==> skills/tidy-up/SKILL.md\n---\nname: Tidy Up\ndescription: Removes dead code.\nmetadata:\n  version: 1.0\n\
              allowed-tools: [Read, Grep]\n---\n",
        good: "==> skills/tidy-up/SKILL.md\n---\nname: tidy-up\ndescription: Removes dead code.\nmetadata:\n  version: \
               \"1.0\"\nallowed-tools: Read Grep\n---\n",
    }

    "AS-03" "Checking is strict, installing is lenient" => AS_03 {
        what: "Mappings and lists are in block style, with one item per line, not in braces or brackets.",
        why: "The reference validator of Agent Skills supports only block style. Agents support both, so this is a \
              note.",
        bad: "==> skills/tidy-up/SKILL.md\n---\nname: tidy-up\ndescription: Removes dead code.\nmetadata: {author: \
              mira}\n---\n",
        good: "==> skills/tidy-up/SKILL.md\n---\nname: tidy-up\ndescription: Removes dead code.\nmetadata:\n  author: \
               mira\n---\n",
    }

    "AS-04" "An unquoted `: ` is read as if quoted, with a warning" => AS_04 {
        what: "A value in the frontmatter is quoted if it contains a colon followed by a space, or starts with a \
               character that is special in YAML.",
        why: "This is the most common mistake in frontmatter. YAML reads the text before the colon as a key, so the \
              whole frontmatter is invalid for a strict parser. `sp` reads the value as if it were quoted, and prints \
              a warning.",
        bad: "==> skills/tidy-up/SKILL.md\n---\nname: tidy-up\ndescription: Use when: code is dead.\n---\n",
        good: "==> skills/tidy-up/SKILL.md\n---\nname: tidy-up\ndescription: 'Use when: code is dead.'\n---\n",
    }

    "AS-05" "A field that is not standard is a warning that names the agents that use it" => AS_05 {
        what: "The frontmatter only contains the standard fields: `name`, `description`, `license`, `compatibility`, \
               `metadata` and `allowed-tools`. For other fields, the warning names the agents that are known to use \
               them.",
        why: "If only some agents support a field, the skill behaves differently in different agents. A misspelled \
              field is ignored by all of them.",
        bad: "==> skills/tidy-up/SKILL.md\n---\nname: tidy-up\ndescription: Removes dead code.\nversion: 1.2.0\n---\n",
        good: "==> skills/tidy-up/SKILL.md\n---\nname: tidy-up\ndescription: Removes dead code.\nmetadata:\n  version: \
               1.2.0\n---\n",
    }

    "AS-06" "The body is short; the token cost of each tier can be shown" => AS_06 {
        what: "The body of a `SKILL.md` has at most 5,000 tokens and 500 lines. Details are in other files, such as \
               those in `references/`.",
        why: "Agents read the whole body whenever they use the skill, which leaves less of the context window for the \
              task. Other files are read only when they are needed. `sp cost` shows the cost of a skill.",
        bad: LONG_BODY,
        good: "==> skills/tidy-up/SKILL.md\n---\nname: tidy-up\ndescription: Removes dead code.\n---\nSee \
               [the long list](references/list.md).\n==> skills/tidy-up/references/list.md\nOne by one.\n",
    }

    "AS-07" "Referenced files exist inside the skill" => AS_07 {
        what: "Every relative link in the Markdown of a skill, and every file in `scripts/`, `references/` or `assets/` \
               that it mentions, exists in the skill. Links are relative to the file or to the skill's directory. Code \
               blocks are examples, except for shell commands that run files of the skill. A link to a file of another \
               skill is a note.",
        why: "Only the skill's own directory is installed. An agent that follows a broken link stops, or invents what it \
              did not find.",
        bad: "==> skills/tidy-up/SKILL.md\n---\nname: tidy-up\ndescription: Removes dead code.\n---\nSee [the \
              list](references/lst.md), then run `scripts/sweep.sh`.\n==> skills/tidy-up/references/list.md\nOne by one.\n",
        good: "==> skills/tidy-up/SKILL.md\n---\nname: tidy-up\ndescription: Removes dead code.\n---\nSee [the \
               list](references/list.md).\n==> skills/tidy-up/references/list.md\nOne by one.\n",
    }
}

/// A body of 501 lines.
const LONG_BODY: &str = concat!(
    "==> skills/tidy-up/SKILL.md\n---\nname: tidy-up\ndescription: Removes dead code.\n---\n",
    include_str!("long_body.txt")
);
