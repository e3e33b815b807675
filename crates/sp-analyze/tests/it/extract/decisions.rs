//! Decision records, the edges between them, and changelogs.

use insta::assert_snapshot;

use super::*;

#[test]
fn pk_21_nygard_decision_records() {
    let text = "\
# 3. Use SQLite

Date: 2024-05-06

## Status

Accepted

## Context

Books must be one file.

## Decision

We use SQLite.

## Consequences

No server is needed.
";
    assert_snapshot!(notes("docs/adr/0003-use-sqlite.md", text), @"decision/record 1-19 on 2024-05-06: 3. Use SQLite⏎⏎Status: Accepted⏎⏎Decision: We use SQLite.⏎⏎Context: Books must be one file.⏎⏎Consequences: No server is needed.");
}

#[test]
fn pk_21_madr_decision_records() {
    let text = "\
---
status: accepted
date: 2024-05-06
deciders: me
---

# Use SQLite

## Context and Problem Statement

Where do the books go?

## Considered Options

* SQLite
* Files

## Decision Outcome

Chosen option: SQLite, because it is one file.
";
    assert_snapshot!(notes("docs/decisions/0003-use-sqlite.md", text), @"decision/record 1-20 on 2024-05-06: Use SQLite⏎⏎Status: accepted⏎⏎Decision: Chosen option: SQLite, because it is one file.⏎⏎Context: Where do the books go?");
}

#[test]
fn pk_21_decision_records_without_sections() {
    let text = "# Use SQLite\n\n* Status: **accepted**\n* Date: 2024-05-06\n\nIt is one file.\n";
    assert_snapshot!(notes("rfcs/0003-use-sqlite.md", text), @"decision/record 1-6 on 2024-05-06: Use SQLite⏎⏎Status: accepted⏎⏎* Status: **accepted**⏎* Date: 2024-05-06⏎⏎It is one file.");
    assert_eq!(extract("docs/adr/0003.md", "").notes, []);
    assert_eq!(extract("docs/adr/0003.md", "no heading at all, only words\n").notes, []);
    assert_eq!(
        extract("docs/adr/template.md", "# Title\n\n## Decision\n\nWords.\n")
            .notes
            .iter()
            .filter(|note| note.category == "record")
            .count(),
        0
    );
}

/// Lists the edges between records, with file names.
fn supersedes_edges(records: &[(&str, &str)]) -> Vec<String> {
    let edges = edges(&graph(records));
    let is_supersedes = |edge: &&str| edge.contains("-supersedes->");
    edges
        .lines()
        .filter(is_supersedes)
        .map(|edge| edge.replace("docs/adr/", "").replace(":1 decision", ""))
        .collect()
}

#[test]
fn pk_21_supersedes_edges_are_found_from_either_record() {
    let old =
        |status: &str| format!("# 1. Files\n\n## Status\n\n{status}\n\n## Decision\n\nFiles.\n");
    let new =
        |status: &str| format!("# 12. SQLite\n\n## Status\n\n{status}\n\n## Decision\n\nSQLite.\n");
    let other = "# 2. Names\n\n## Decision\n\nWhole words.\n";
    let edge = ["0012-sqlite.md -supersedes-> 0001-files.md"];
    for (old_status, new_status) in [
        ("Superseded by [SQLite](0012-sqlite.md)", "Accepted"),
        ("Superseded by [ADR 12](./0012-sqlite.md#decision)", "Accepted"),
        ("Superseded by ADR-0012", "Accepted"),
        ("superseded by ADR 12", "Accepted"),
        ("Replaced by 12.", "Accepted"),
        ("Accepted", "Accepted. Supersedes [1. Files](0001-files.md)"),
        ("Accepted", "Supersedes ADR-0001"),
        ("Superseded by [SQLite](0012-sqlite.md)", "Supersedes [1. Files](0001-files.md)"),
    ] {
        let (old, new) = (old(old_status), new(new_status));
        let records = [
            ("docs/adr/0001-files.md", old.as_str()),
            ("docs/adr/0002-names.md", other),
            ("docs/adr/0012-sqlite.md", new.as_str()),
        ];
        assert_eq!(supersedes_edges(&records), edge, "{old_status}, {new_status}");
    }
    let (old, new) = (old("Superseded by ADR-0099"), new("Supersedes nothing"));
    let records =
        [("docs/adr/0001-files.md", old.as_str()), ("docs/adr/0012-sqlite.md", new.as_str())];
    assert_eq!(supersedes_edges(&records), [""; 0], "a missing record");
    let itself = "# 1. Files\n\nSupersedes ADR-0001\n\n## Decision\n\nFiles.\n";
    assert_eq!(
        supersedes_edges(&[("docs/adr/0001-files.md", itself)]),
        [""; 0],
        "no record supersedes itself"
    );
}

#[test]
fn pk_21_changelog_sections_are_decisions_with_dates() {
    let text = "\
# Changelog

## [Unreleased]

### Changed

- Books are sorted.

## [1.2.0] - 2024-05-06

### Added

- A new thing.

### Removed

- The old format,
  of 2019.

### Deprecated

- `--old`.

## v1.1.0 (2024-01-02)

### Fixed

- A bug.
";
    assert_snapshot!(notes("CHANGELOG.md", text), @"
    decision/release 5-7: [Unreleased], changed:⏎- Books are sorted.
    decision/release 15-18 on 2024-05-06: [1.2.0] - 2024-05-06, removed:⏎- The old format,⏎  of 2019.
    decision/release 20-22 on 2024-05-06: [1.2.0] - 2024-05-06, deprecated:⏎- `--old`.
    ");
}

#[test]
fn pk_21_decisions_in_free_form_changelogs_are_found_by_keywords() {
    let text = "\
# Release notes

## 2.0.0 - 2024-05-06

- Remove the old format
  of 2019.
- Faster.
- Python 3.7 is no longer supported.
* Breaking: `open` needs a path.

## 1.9.0

- Fix a bug.

## Notes

- Remove nothing.
";
    assert_snapshot!(notes("CHANGES.md", text), @"
    decision/release 5-6 ~0.8 on 2024-05-06: 2.0.0 - 2024-05-06: Remove the old format of 2019.
    decision/release 8-8 ~0.8 on 2024-05-06: 2.0.0 - 2024-05-06: Python 3.7 is no longer supported.
    decision/release 9-9 ~0.8 on 2024-05-06: 2.0.0 - 2024-05-06: Breaking: `open` needs a path.
    ");
    let rst = "History\n=======\n\n1.0.0 (2024-05-06)\n------------------\n\n* Drop support for 3.7.\n* Faster.\n";
    assert_snapshot!(notes("HISTORY.rst", rst), @"decision/release 7-7 ~0.8 on 2024-05-06: 1.0.0 (2024-05-06): Drop support for 3.7.");
}

#[test]
fn pk_21_invalid_dates_are_ignored() {
    for date in ["2024-13-40", "yesterday", "2024-5-6", "0000-00-00", "2024-02-30"] {
        let text = format!("# A\n\nDate: {date}\n\n## Decision\n\nWords of it.\n");
        assert_eq!(extract("docs/adr/1.md", &text).notes[0].date, None, "{date}");
    }
}
