//! The rules of Agent Skills.

use crate::rules::rule_set;

rule_set! {
    "Agent Skills"

    "AS-01" "Frontmatter between `---` lines at byte 0, then Markdown" => AS_01 {
        what: "A skill is a folder with a `SKILL.md`: UTF-8 text that starts, at its first byte, with YAML between two \
               `---` lines, and goes on with Markdown.",
        why: "Agents read the name and the description from the frontmatter and nowhere else. Where it is missing, \
              broken or preceded by anything, most of them pass the skill over without a word.",
        bad: "==> skills/tidy-up/SKILL.md\n# Tidy up\n\nRemove what nobody uses.\n",
        good: "==> skills/tidy-up/SKILL.md\n---\nname: tidy-up\ndescription: Removes dead code. Use after a refactoring.\n\
               ---\n# Tidy up\n\nRemove what nobody uses.\n",
    }

    "AS-02" "The fields and their forms" => AS_02 {
        what: "`name` is 1 to 64 characters of a-z, 0-9 and single hyphens, and is the folder's name. `description` is 1 \
               to 1024 characters, and no other skill's. `compatibility`, if present, is 1 to 500 characters, `metadata` \
               maps text to text, and `allowed-tools` is text with spaces between the tools.",
        why: "Agents index skills by name and choose among them by description. Some refuse a skill whose name is not \
              its folder's; all cut what is too long; and of two skills with one description the wrong one runs.",
        bad: "==> skills/tidy-up/SKILL.md\n---\nname: Tidy Up\ndescription: Removes dead code.\nmetadata:\n  version: 1.0\n\
              allowed-tools: [Read, Grep]\n---\n",
        good: "==> skills/tidy-up/SKILL.md\n---\nname: tidy-up\ndescription: Removes dead code.\nmetadata:\n  version: \
               \"1.0\"\nallowed-tools: Read Grep\n---\n",
    }

    "AS-03" "Checking is strict, installing is lenient" => AS_03 {
        what: "What strict readers refuse is noted even where agents take it: collections in braces or brackets.",
        why: "The reference validator of Agent Skills reads block-style YAML only. A skill that is to pass it writes one \
              item a line; agents mind neither.",
        bad: "==> skills/tidy-up/SKILL.md\n---\nname: tidy-up\ndescription: Removes dead code.\nmetadata: {author: \
              mira}\n---\n",
        good: "==> skills/tidy-up/SKILL.md\n---\nname: tidy-up\ndescription: Removes dead code.\nmetadata:\n  author: \
               mira\n---\n",
    }

    "AS-04" "An unquoted `: ` is read as if quoted, with a warning" => AS_04 {
        what: "A value in the frontmatter that holds a colon followed by a space, or starts with a character that means \
               something to YAML, stands in quotes.",
        why: "It is the commonest break of all. YAML takes the words before the colon for a key, and an agent that reads \
              by the letter loses the whole frontmatter. `sp` reads the value as if it were quoted, and says so.",
        bad: "==> skills/tidy-up/SKILL.md\n---\nname: tidy-up\ndescription: Use when: code is dead.\n---\n",
        good: "==> skills/tidy-up/SKILL.md\n---\nname: tidy-up\ndescription: 'Use when: code is dead.'\n---\n",
    }

    "AS-05" "Extra fields are warnings that name the agent which uses them" => AS_05 {
        what: "The frontmatter has the fields of the format: `name`, `description`, `license`, `compatibility`, \
               `metadata`, `allowed-tools`. Any other is named, with the agent that reads it where one is known.",
        why: "A field that one agent obeys is passed over by the next, so the skill does different things in different \
              places. A misspelt field is passed over by all of them.",
        bad: "==> skills/tidy-up/SKILL.md\n---\nname: tidy-up\ndescription: Removes dead code.\nversion: 1.2.0\n---\n",
        good: "==> skills/tidy-up/SKILL.md\n---\nname: tidy-up\ndescription: Removes dead code.\nmetadata:\n  version: \
               1.2.0\n---\n",
    }

    "AS-06" "The token cost of the three tiers" => AS_06 {
        what: "The body of a `SKILL.md` has no more than 5,000 tokens and 500 lines. What is needed only now and then \
               stands in files of its own, below `references/`.",
        why: "The body is read whole whenever the skill is used, and leaves less room for the work itself. A file that \
              the body refers to is read only when it is needed. `sp cost` shows what a skill costs.",
        bad: LONG_BODY,
        good: "==> skills/tidy-up/SKILL.md\n---\nname: tidy-up\ndescription: Removes dead code.\n---\nSee \
               [the long list](references/list.md).\n==> skills/tidy-up/references/list.md\nOne by one.\n",
    }

    "AS-07" "Referenced files exist inside the skill" => AS_07 {
        what: "Every relative link in the Markdown of a skill, and every file below `scripts/`, `references/` or \
               `assets/` that it names, exists inside the skill.",
        why: "Only the skill's own folder is installed. An agent that follows a link to nothing stops, or makes up what \
              it did not find.",
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
