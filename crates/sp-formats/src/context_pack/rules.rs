//! The rules of context packs.

use crate::rules::rule_set;

rule_set! {
    "Context Pack 0.1"

    "CP-01" "The files of a pack: UTF-8 without a mark, LF; `pack.json` alone is one" => CP_01 {
        what: "A context pack is a folder with a `pack.json` and perhaps `cursor.md`, `AGENTS.md`, `skills.md`, \
               `sources.md`, `prompts.md` and `tasks.md`, all in UTF-8 without a byte-order mark and with LF at the \
               ends of lines.",
        why: "Agents find what they look for by these names, and hashes are of bytes: an editor that adds a mark or \
               changes line endings breaks them.",
        bad: include_str!("rule_examples/cp-01-bad.txt"),
        good: include_str!("rule_examples/cp-01-good.txt"),
    }

    "CP-02" "What `pack.json` states" => CP_02 {
        what: "`pack.json` states the version of the specification, a ULID or UUID of its own, when it was made in UTC, \
               by what, for which project, and lists its files with their SHA-256 and its sources with id, URL, title, \
               kind and when they were taken.",
        why: "Whoever reads a pack must know which it is, how old it is, and where each claim is from.",
        bad: include_str!("rule_examples/cp-02-bad.txt"),
        good: include_str!("rule_examples/cp-02-good.txt"),
    }

    "CP-03" "Paths stay inside, are no links and stand there once; unlisted files and unknown members" => CP_03 security {
        what: "A path in `files` stays inside the pack, is no link, stands there once, also when case does not count, \
               and is not `pack.json`. Every file that lies there is listed. Members that nobody knows are kept.",
        why: "A path that leaves the pack reads or writes what is not the pack's. A file that is not listed has no hash.",
        bad: include_str!("rule_examples/cp-03-bad.txt"),
        good: include_str!("rule_examples/cp-03-good.txt"),
    }

    "CP-04" "Frontmatter with the file, the pack and the version" => CP_04 {
        what: "Every Markdown file begins with frontmatter: `file` is its path, `pack_id` and `spec_version` are those \
               of `pack.json`.",
        why: "A file that was copied out of one pack and into another speaks of something else. Agents take it for \
               part of the pack only if it says so.",
        bad: include_str!("rule_examples/cp-04-bad.txt"),
        good: include_str!("rule_examples/cp-04-good.txt"),
    }

    "CP-05" "`cursor.md` and `AGENTS.md`" => CP_05 {
        what: "`cursor.md` and `AGENTS.md` have the title `# Project:` with the project's name, and the sections Summary, \
               Stack, Conventions, Current focus, Don't and Citations, in this order. `AGENTS.md` does not speak of \
               Cursor.",
        why: "An agent parses them without guessing, and `AGENTS.md` is read by every agent.",
        bad: include_str!("rule_examples/cp-05-bad.txt"),
        good: include_str!("rule_examples/cp-05-good.txt"),
    }

    "CP-06" "`skills.md`: 3 to 12 skills with context, pattern and sources" => CP_06 {
        what: "`skills.md` has 3 to 12 sections, each with `Context:`, `Pattern:` with bullets, and `Sources:` with \
               footnotes.",
        why: "A technique without its occasion is used at the wrong one, and without its source it cannot be checked.",
        bad: include_str!("rule_examples/cp-06-bad.txt"),
        good: include_str!("rule_examples/cp-06-good.txt"),
    }

    "CP-07" "`sources.md`: every source with its summary and claims" => CP_07 {
        what: "`sources.md` has a section `## [^src_…]` for each source, with Title, URL, Kind, Published where it is \
               known, Captured, a Summary of two to four sentences, and Key claims, as `pack.json` has them.",
        why: "Every footnote of every other file is looked up here.",
        bad: include_str!("rule_examples/cp-07-bad.txt"),
        good: include_str!("rule_examples/cp-07-good.txt"),
    }

    "CP-08" "`prompts.md`: 3 to 8 prompts in blocks of text" => CP_08 {
        what: "`prompts.md` has 3 to 8 sections, each with the prompt in a fenced block of `text`, and `Sources:`.",
        why: "A prompt is pasted as it stands: what belongs to it must be seen.",
        bad: include_str!("rule_examples/cp-08-bad.txt"),
        good: include_str!("rule_examples/cp-08-good.txt"),
    }

    "CP-09" "`tasks.md`: numbered tasks with acceptance" => CP_09 {
        what: "`tasks.md` has sections `## 1. …`, `## 2. …` without gaps, each with bullets and an `Acceptance:`.",
        why: "The order is the dependency, and a task that cannot be seen to be done never is.",
        bad: include_str!("rule_examples/cp-09-bad.txt"),
        good: include_str!("rule_examples/cp-09-good.txt"),
    }

    "CP-10" "Hashes hold, and every footnote outside of code leads to its source" => CP_10 security {
        what: "Every listed file is there with its hash. Every footnote `[^src_…]` outside of code leads to a section of \
               `sources.md` and to a source of `pack.json`, and these two name the same sources.",
        why: "What is claimed must be traced to where it was said; what was changed afterwards must be seen.",
        bad: include_str!("rule_examples/cp-10-bad.txt"),
        good: include_str!("rule_examples/cp-10-good.txt"),
    }

    "CP-11" "`sp context check` judges a folder, a zip or an address"
    "CP-12" "A pack from a knowledge base, every sentence with its footnote"
    "CP-13" "The same inputs give the same bytes"
    "CP-14" "Installed into a repository beside the user's own text, and taken out again"
    "CP-15" "The same pack gives the same zip"
    "CP-16" "Served behind a signed address"
    "CP-17" "Packs and their building over MCP"
}
