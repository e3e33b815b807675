//! Sections of documents: their kind and their lines.

use insta::assert_snapshot;

use super::*;

#[test]
fn pk_21_section_titles_determine_the_kind() {
    let text = "\
# Acme

Acme keeps books.

## Installation

Run `make install` first.

## Architecture

The core lies in `src/core`.

### Why SQLite

It is one file.

## Requirements

Rust 1.85 and git.

## Configuration

`ACME_HOME` says where the books are.

## Known issues

Sums over 2^53 are rounded.

## Coding conventions

Names are whole words.

## Security

Write to security@example.com.

## License

MIT.
";
    assert_snapshot!(notes("README.md", text), @"
    fact/overview 1-3: Acme⏎⏎Acme keeps books.
    fact/command 5-7: Installation⏎⏎Run `make install` first.
    fact/layout 9-11: Architecture⏎⏎The core lies in `src/core`.
    decision/design 13-15: Architecture › Why SQLite⏎⏎It is one file.
    fact/stack 17-19: Requirements⏎⏎Rust 1.85 and git.
    fact/configuration 21-23: Configuration⏎⏎`ACME_HOME` says where the books are.
    gotcha/warning 25-27: Known issues⏎⏎Sums over 2^53 are rounded.
    convention/practice 29-31: Coding conventions⏎⏎Names are whole words.
    policy/security 33-35: Security⏎⏎Write to security@example.com.
    ");
}

#[test]
fn pk_21_agent_and_contributor_files_are_conventions_and_policies() {
    let text = "# Rules\n\nAlways run the tests.\n\n## Testing\n\nUse `cargo test`.\n\n## Gotchas\n\nThe cache is shared.\n";
    for path in [
        "AGENTS.md",
        "CLAUDE.md",
        "CONTRIBUTING.md",
        ".github/copilot-instructions.md",
        ".cursor/rules/a.mdc",
        ".cursorrules",
    ] {
        let kinds: Vec<&str> = extract(path, text).notes.iter().map(|note| note.kind).collect();
        assert_eq!(kinds, ["convention", "convention", "gotcha"], "{path}");
    }
    let kinds: Vec<&str> =
        extract("SECURITY.md", text).notes.iter().map(|note| note.kind).collect();
    assert_eq!(kinds, ["policy", "policy", "gotcha"]);
    let kinds: Vec<&str> =
        extract("TROUBLESHOOTING.md", text).notes.iter().map(|note| note.kind).collect();
    assert_eq!(kinds, ["gotcha", "gotcha", "gotcha"]);
}

#[test]
fn pk_21_badges_comments_and_tables_of_contents_are_ignored() {
    let text = "\
<p align=\"center\">
<img src=\"logo.png\">
</p>

# Acme

[![CI](https://ci/badge.svg)](https://ci)
![Logo](logo.png)

<!-- A note to editors,
over two lines. -->

Keeps books. <!-- inline --> Really.

## Table of Contents

- [Usage](#usage)

## Contributors

Everybody.

## Code of Conduct

Be kind.

[ci]: https://ci.example.com
";
    assert_snapshot!(notes("README.md", text), @"fact/overview 5-13: Acme⏎⏎Keeps books. <!-- inline --> Really.");
}

#[test]
fn pk_21_frontmatter_is_not_part_of_the_text() {
    let text = "---\ntitle: Notes\nowner: me\n---\n# Notes\n\nWords of the notes.\n";
    for text in [text.to_owned(), text.replace('\n', "\r\n")] {
        let file = extract("docs/notes.md", &text);
        let notes: Vec<(&str, usize, usize)> = file
            .notes
            .iter()
            .map(|note| (note.content.as_str(), note.lines.first, note.lines.last))
            .collect();
        assert_eq!(notes, [("Notes\n\nWords of the notes.", 5, 7)]);
    }
}

#[test]
fn pk_21_long_sections_are_split_between_paragraphs() {
    let paragraph = |name: &str| format!("{name} {}\n\n", "word ".repeat(110));
    let fence = format!("```sh\n{}```\n\n", "run it\n\n".repeat(80));
    let text = format!(
        "# A\n\n## Usage\n\n{}{}{fence}{}",
        paragraph("One"),
        paragraph("Two"),
        paragraph("Three")
    );
    let file = extract("README.md", &text);
    let lines: Vec<&str> = text.lines().collect();
    assert!(file.notes.len() > 1, "{:?}", file.notes.len());
    let mut next = 3;
    for note in &file.notes {
        assert!(
            note.lines.first >= next
                && lines[next - 1..note.lines.first - 1].iter().all(|line| line.is_empty())
        );
        next = note.lines.last + 1;
        let body = note.content.split_once("\n\n").unwrap().1;
        assert_eq!(body.matches("```").count() % 2, 0, "a fence is split: {body}");
        let source = lines[note.lines.first - 1..note.lines.last].join("\n");
        assert!(source.contains(body.lines().next().unwrap()), "{note:?}");
    }
    let title = file.notes[1].content.lines().next().unwrap();
    assert!(title.starts_with("Usage ") && title != "Usage ", "{title}");
    assert_eq!(next, text.trim_end().lines().count() + 1, "the last line is included");
}

#[test]
fn pk_21_only_warning_admonitions_are_gotchas() {
    let text = "\
# A

> [!WARNING]
> The cache is not shared
> between `workers`.

> [!NOTE]
> This is by the way only.

> [!CAUTION]
> Too short.

> A plain quotation of many words.
";
    let gotchas: Vec<String> = extract("docs/a.md", text)
        .notes
        .iter()
        .filter(|note| note.kind == "gotcha")
        .map(format_note)
        .collect();
    assert_eq!(gotchas, ["gotcha/warning 3-5: The cache is not shared between `workers`."]);
}

#[test]
fn pk_21_restructured_text_sections_and_directives() {
    let text = "\
====
Acme
====

Keeps books.

Installation
------------

Run ``pip install acme``.

.. warning::

   Never run it as root,
   it would own the books.

Known issues
~~~~~~~~~~~~

It is slow on Mondays.

.. note:: This is by the way.
";
    assert_snapshot!(notes("README.rst", text), @"
    fact/overview 2-5: Acme⏎⏎Keeps books.
    fact/command 7-15: Installation⏎⏎Run ``pip install acme``.⏎⏎.. warning::⏎⏎   Never run it as root,⏎   it would own the books.
    gotcha/warning 17-22: Known issues⏎⏎It is slow on Mondays.⏎⏎.. note:: This is by the way.
    gotcha/warning 12-15: Never run it as root, it would own the books.
    ");
}

#[test]
fn pk_21_generated_pages_and_templates_are_ignored() {
    for (path, text) in [
        ("docs/a.md", "<!-- This file is generated by make docs. -->\n# A\n\nWords of it.\n"),
        ("docs/a.md", "# A\n\n<!-- Do not edit: run `make`. -->\n\nWords of it.\n"),
        ("docs/a.rst", ".. This file is @generated\n\nA\n=\n\nWords of it.\n"),
        ("templates/README.md", "# {{name}}\n\nWords of it.\n"),
    ] {
        assert_eq!(extract(path, text).notes, [], "{path}: {text}");
    }
}

#[test]
fn pk_21_names_in_backticks_are_linked_to_symbols_and_files() {
    let project = "
== README.md
# A

## Layout

`src/a.rs` has `Store`, which `Store::open` opens; `other` is unknown, and `same` is two things.
== src/a.rs
pub struct Store;
impl Store {
    pub fn open() {}
}
pub fn same() {}
== src/b.rs
pub fn same() {}
";
    let edges = edges(&graph(&files(project)));
    let mentions: Vec<&str> = edges.lines().filter(|edge| edge.contains("-mentions->")).collect();
    assert_eq!(
        mentions,
        [
            "README.md:3 fact -mentions-> a.rs#Store",
            "README.md:3 fact -mentions-> a.rs#Store.open",
            "README.md:3 fact -mentions-> src/a.rs",
        ]
    );
}
