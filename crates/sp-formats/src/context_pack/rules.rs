//! The rules of context packs.

use crate::rules::rule_set;

rule_set! {
    "Context Pack 0.1"

    "CP-01" "Files are UTF-8 with LF line endings; `pack.json` is required" => CP_01 {
        what: "A context pack is a directory with a `pack.json` and, optionally, `cursor.md`, \
               `AGENTS.md`, `skills.md`, `sources.md`, `prompts.md` and `tasks.md`. All files are \
               UTF-8 without a byte-order mark and have LF line endings.",
        why: "Agents find files by these names, and hashes are computed from bytes, so an editor \
              that adds a byte-order mark or changes line endings breaks them.",
        bad: include_str!("rule_examples/cp-01-bad.txt"),
        good: include_str!("rule_examples/cp-01-good.txt"),
    }

    "CP-02" "`pack.json` has the required members" => CP_02 {
        what: "`pack.json` contains the version of the specification, a unique ULID or UUID, the \
               creation time in UTC, the generator and the project. It lists the files with their \
               SHA-256, and the sources with ID, URL, title, kind and capture time.",
        why: "A reader must be able to identify a context pack, see how old it is, and find the \
              source of each claim.",
        bad: include_str!("rule_examples/cp-02-bad.txt"),
        good: include_str!("rule_examples/cp-02-good.txt"),
    }

    "CP-03" "Paths stay inside, are unique and not links; every file is listed" => CP_03 security {
        what: "Every path in `files` is inside the context pack, is not a symbolic link, is unique \
               (ignoring case), and is not `pack.json`. Every file in the context pack is listed. \
               Unknown members are kept.",
        why: "A path that leaves the context pack would read or write other files. A file that is \
              not listed has no hash.",
        bad: include_str!("rule_examples/cp-03-bad.txt"),
        good: include_str!("rule_examples/cp-03-good.txt"),
    }

    "CP-04" "Frontmatter states file, pack ID and specification version" => CP_04 {
        what: "Every Markdown file begins with frontmatter in which `file` is its path, and \
               `pack_id` and `spec_version` are those of `pack.json`.",
        why: "A file that was copied from another context pack describes a different project. \
              Frontmatter shows agents which context pack a file belongs to.",
        bad: include_str!("rule_examples/cp-04-bad.txt"),
        good: include_str!("rule_examples/cp-04-good.txt"),
    }

    "CP-05" "`cursor.md` and `AGENTS.md` have the required sections" => CP_05 {
        what: "`cursor.md` and `AGENTS.md` have the title `# Project:` followed by the project's \
               name, and the sections Summary, Stack, Conventions, Current focus, Don't and \
               Citations, in this order. `AGENTS.md` does not mention Cursor.",
        why: "With a fixed structure, agents can parse the files reliably. `AGENTS.md` is read by \
              all agents, not only by Cursor.",
        bad: include_str!("rule_examples/cp-05-bad.txt"),
        good: include_str!("rule_examples/cp-05-good.txt"),
    }

    "CP-06" "`skills.md` has 3 to 12 skills with context, pattern and sources" => CP_06 {
        what: "`skills.md` has 3 to 12 sections, each with `Context:`, `Pattern:` with bullets, \
               and `Sources:` with footnotes.",
        why: "Without its context, a technique is applied in the wrong situation. Without its \
              sources, it cannot be verified.",
        bad: include_str!("rule_examples/cp-06-bad.txt"),
        good: include_str!("rule_examples/cp-06-good.txt"),
    }

    "CP-07" "`sources.md` lists every source with its summary and claims" => CP_07 {
        what: "`sources.md` has a section `## [^src_…]` for each source, with Title, URL, Kind, \
               Published (if known), Captured, a Summary of two to four sentences, and Key claims. \
               The values match `pack.json`.",
        why: "Footnotes in all other files refer to these sections.",
        bad: include_str!("rule_examples/cp-07-bad.txt"),
        good: include_str!("rule_examples/cp-07-good.txt"),
    }

    "CP-08" "`prompts.md` has 3 to 8 prompts in `text` blocks" => CP_08 {
        what: "`prompts.md` has 3 to 8 sections, each with the prompt in a fenced `text` block, \
               and `Sources:`.",
        why: "Prompts are copied and pasted, so it must be clear where each one begins and ends.",
        bad: include_str!("rule_examples/cp-08-bad.txt"),
        good: include_str!("rule_examples/cp-08-good.txt"),
    }

    "CP-09" "`tasks.md` has numbered tasks with acceptance criteria" => CP_09 {
        what: "`tasks.md` has sections `## 1. …`, `## 2. …`, numbered without gaps, each with \
               bullets and an `Acceptance:` line.",
        why: "Later tasks depend on earlier ones, and a task without acceptance criteria cannot be \
              verified as done.",
        bad: include_str!("rule_examples/cp-09-bad.txt"),
        good: include_str!("rule_examples/cp-09-good.txt"),
    }

    "CP-10" "Hashes match, and footnotes outside of code refer to existing sources" => CP_10 security {
        what: "Every listed file exists and matches its hash. Every footnote `[^src_…]` outside of \
               code refers to a section of `sources.md` and to a source in `pack.json`, and both \
               list the same sources.",
        why: "Every claim must be traceable to its source, and later changes to a file must be \
              detectable.",
        bad: include_str!("rule_examples/cp-10-bad.txt"),
        good: include_str!("rule_examples/cp-10-good.txt"),
    }

    "CP-11" "`sp context check` accepts a directory, a zip or a URL"
    "CP-12" "A context pack is built from a knowledge base, with a footnote for every sentence"
    "CP-13" "The same inputs produce the same bytes"
    "CP-14" "Context packs are installed next to the user's own text, and removed without a trace"
    "CP-15" "The same context pack produces the same zip"
    "CP-16" "Context packs are served at signed URLs"
    "CP-17" "Context packs can be read and built over MCP"
}
