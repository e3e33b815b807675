//! Every parser takes any text at all: it may refuse it, but it never panics, and what it
//! says of it stands inside the text.

#![allow(clippy::unwrap_used, reason = "a test ends at the first surprise")]

use proptest::prelude::*;
use sp_formats::git_repo::GitTransport;
use sp_formats::report::{Report, TextEdit, apply_edits, text_digest};
use sp_formats::state::InstallState;
use sp_formats::{config, git_repo, pack, pattern, printable, skill};
use sp_tree::Limits;

/// Pieces that YAML, frontmatter, URLs and patterns are made of, in any order.
fn hostile() -> impl Strategy<Value = String> {
    let pieces = prop::sample::select(vec![
        "---",
        "\n",
        "\r\n",
        ": ",
        "- ",
        "name",
        "include",
        "imports",
        "repo",
        "ref",
        "install",
        "prefix",
        "sep",
        "flatten",
        "true",
        "[",
        "]",
        "{",
        "}",
        ",",
        "\"",
        "'",
        "&a",
        "*a",
        "|",
        ">",
        "#",
        "!!str ",
        "\u{feff}",
        "\t",
        " ",
        "  ",
        "**",
        "*",
        "/",
        "..",
        "é",
        "日本",
        "\u{202e}",
        "\u{1b}[31m",
        "\0",
        "?",
        "%",
        "@",
        "https://u:p@h/x",
        "ext::",
        "description",
        "x: y: z",
        "~",
        "null",
        "0",
        "\\",
        "\u{85}",
    ]);
    prop_oneof![
        prop::collection::vec(pieces, 0..40).prop_map(|pieces| pieces.concat()),
        ".{0,200}",
        "\\PC{0,200}",
    ]
}

/// Pieces that Markdown is made of, in any order.
fn markdown() -> impl Strategy<Value = String> {
    let pieces = prop::sample::select(vec![
        "[a]",
        "(b.md)",
        "[",
        "]",
        "(",
        ")",
        "![",
        "<",
        ">",
        "[x]: ../y",
        "scripts/",
        "references/a.md",
        "assets/é.png",
        "./",
        "../",
        "%20",
        "%C3%BC",
        "%",
        "#",
        "?",
        "`",
        "```",
        "```md",
        "\n",
        "\r\n",
        "\n\n",
        "> ",
        "- ",
        "1. ",
        "    ",
        "\t",
        "|",
        "*",
        "_",
        "\\",
        "&amp;",
        "├",
        "é",
        "日本",
        "\u{202e}",
        "\0",
        "\"",
        "'",
        "~~~",
        "---",
        "https://",
        "a b",
        "${",
        "}",
        "...",
        "<a href=",
    ]);
    prop::collection::vec(pieces, 0..40).prop_map(|pieces| pieces.concat())
}

/// Frontmatter with problems that can be mended, among others.
fn frontmatter() -> impl Strategy<Value = String> {
    let lines = prop::sample::select(vec![
        "name: Foo",
        "name: folder",
        "name: 'x y'",
        "name: 12",
        "name:",
        "description: d",
        "description: Use: it's",
        "description: 1.5",
        "description: \"a\" b",
        "license: yes",
        "license: a: b # c",
        "compatibility: no",
        "metadata: {a: 1, b: yes}",
        "metadata:",
        "  a: 1",
        "  b: \"x\"",
        "allowed-tools: [Read, Grep]",
        "allowed-tools: Read, Bash(a:*)",
        "allowed-tools: []",
        "allowed-tools:",
        "- Read",
        "  - Grep",
        "name: >",
        "  Foo",
        "model: x",
        "# comment",
        "",
        "  more: b",
        "é: ü",
        "allowed-tools: ['*', \"#x\"]",
    ]);
    let end = prop::sample::select(vec!["\n", "\r\n"]);
    let start =
        prop::sample::select(vec!["---\n", "\u{feff}---\n", "\n\n---\n", "\u{feff}\r\n---\r\n"]);
    (start, end, prop::collection::vec(lines, 0..8)).prop_map(|(start, end, lines)| {
        format!("{start}{}{end}---{end}Body.{end}", lines.join(end))
    })
}

/// Packs with problems that can be mended, among others.
fn packs() -> impl Strategy<Value = String> {
    let lines = prop::sample::select(vec![
        "name: x",
        "include: [/a, './b']",
        "include:",
        "  - /a",
        "  - \"./a\"",
        "  - '//a/b'",
        "  - ./././c",
        "  - /**",
        "  - ./*/x",
        "  - /null",
        "exclude: [/]",
        "install: {flatten: yes}",
        "install: {flatten: 'Off', sep: -}",
        "imports:",
        "  - repo: ./r",
        "    include: [/x]",
        "# c",
        "flatten: y",
    ]);
    let end = prop::sample::select(vec!["\n", "\r\n"]);
    (end, prop::collection::vec(lines, 0..10)).prop_map(|(end, lines)| lines.join(end) + end)
}

fn edits(report: &Report) -> Vec<TextEdit> {
    report.findings.iter().flat_map(|finding| finding.fix.iter().cloned()).collect()
}

/// Mends a text until nothing is left to mend. Every text on the way can be read.
fn settled(mut text: String, read: &dyn Fn(&str) -> Report) -> String {
    for _ in 0..8 {
        let report = read(&text);
        check(&report);
        let edits = edits(&report);
        if edits.is_empty() {
            return text;
        }
        assert!(
            edits.iter().all(|edit| text.get(edit.span.clone()).is_some()),
            "an edit that stands nowhere: {edits:?}"
        );
        assert_eq!(
            text_digest(&text),
            sp_tree::Digest::of(report.text.as_bytes()),
            "a fix knows its text"
        );
        text = apply_edits(&text, edits);
    }
    assert!(edits(&read(&text)).is_empty(), "eight times mended, and still to mend: {text:?}");
    text
}

fn read_skill(text: &str) -> Report {
    let (skill, report) = skill::read("f", "folder", text.as_bytes(), &Limits::default());
    assert!(skill.is_some_and(|skill| skill.body_start <= text.len()));
    report
}

fn read_pack(text: &str) -> Report {
    pack::read_partial("f", text, &Limits::default()).1
}

/// Whether the YAML of a report could be read at all.
fn is_yaml(report: &Report) -> bool {
    !report.findings.iter().any(|finding| finding.check.id == "AS-01" && finding.fix.is_empty())
}

fn check(report: &Report) {
    let placed = report.located_findings();
    assert_eq!(placed.len(), report.findings.len());
    for place in placed.iter().filter_map(|placed| placed.location.as_ref()) {
        assert!(
            place.span.start <= place.span.end && report.text.get(place.span.clone()).is_some(),
            "{place:?}"
        );
        assert!(
            place.start <= place.end && place.start.line >= 1 && place.start.column >= 1,
            "{place:?}"
        );
        assert!(
            place.excerpt.before.len() + place.excerpt.marked.len() + place.excerpt.after.len()
                < 700,
            "{place:?}"
        );
    }
    assert!(
        placed.is_sorted_by_key(|placed| placed
            .location
            .as_ref()
            .map_or(0, |place| place.span.start))
    );
    for finding in &report.findings {
        let span = finding.span.clone().unwrap_or(0..0);
        assert!(span.start <= span.end, "{finding:?}");
        assert!(span.start <= report.text.len(), "{finding:?} in {:?}", report.text);
        assert!(!finding.message.is_empty());
        report.format_location(finding);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn se_14_a_pack_file_of_any_text_is_read_or_refused(text in hostile()) {
        let (pack, report) = pack::read("f", &text, &Limits::default());
        check(&report);
        prop_assert_eq!(pack.is_some(), report.is_usable());
    }

    #[test]
    fn se_14_a_config_of_any_text_is_read_or_refused(text in hostile()) {
        let (config, report) = config::read("f", &text, &Limits::default());
        check(&report);
        prop_assert_eq!(config.is_some(), report.is_usable());
    }

    #[test]
    fn se_14_a_skill_of_any_bytes_is_read_or_refused(text in hostile(), tail in prop::collection::vec(any::<u8>(), 0..20)) {
        let bytes = [text.as_bytes(), &tail].concat();
        let (skill, report) = skill::read("f", "folder", &bytes, &Limits::default());
        check(&report);
        prop_assert_eq!(skill.is_some(), std::str::from_utf8(&bytes).is_ok());
        if let Some(skill) = skill {
            prop_assert!(skill.body_start <= bytes.len());
        }
    }

    #[test]
    fn se_14_a_skill_with_any_frontmatter_is_read(text in hostile()) {
        let (skill, report) = skill::read("f", "folder", format!("---\n{text}\n---\nbody").as_bytes(), &Limits::default());
        check(&report);
        prop_assert!(skill.is_some());
    }

    #[test]
    fn se_14_state_of_any_bytes_is_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200), text in hostile()) {
        let _ = InstallState::parse(&bytes);
        let _ = InstallState::parse(text.as_bytes());
        let record = serde_json::json!({"version": 1, "installs": [{"sink": text, "sink_path": text, "pack": text, "installed_paths": [text]}]});
        let state = InstallState::parse(record.to_string().as_bytes()).unwrap();
        let again = InstallState::parse(&state.to_json().unwrap()).unwrap();
        prop_assert_eq!(state, again);
    }

    #[test]
    fn se_14_repos_refs_and_patterns_of_any_text_are_taken_or_refused(text in hostile()) {
        if let Ok(repo) = git_repo::GitRepo::new(&text) {
            prop_assert!(!repo.url.starts_with('-'));
            // What git would take for the name of a helper program stands before the first `::`.
            // A path becomes absolute before git sees it.
            let helper = repo.url.split_once("::").map(|(helper, _)| helper).filter(|_| repo.transport != GitTransport::Path);
            prop_assert!(helper.is_none_or(|helper| helper.contains(['/', ':'])), "{}", repo.url);
        }
        if let Ok(git_ref) = git_repo::GitRef::new(&text) {
            prop_assert!(!git_ref.as_str().starts_with('-') && !git_ref.as_str().contains(' '));
        }
        if let Ok(pattern) = pattern::Pattern::new(&text) {
            pattern.matches(&text);
            prop_assert!(text.contains('*') || pattern.matches(&text));
        }
    }

    #[test]
    fn se_08_what_is_printable_has_no_control_character(text in hostile()) {
        let shown = printable::printable(&text);
        prop_assert!(!shown.chars().any(char::is_control));
        prop_assert_eq!(printable::mask_secrets(&text).len(), text.len());
    }

    #[test]
    fn as_07_references_of_any_text_stand_where_they_are_said_to(text in prop_oneof![markdown(), hostile()], start in 0usize..40) {
        let start = (0..=start.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        let found = skill::references(&text, start);
        for reference in &found {
            prop_assert!(start <= reference.span.start && reference.span.start <= reference.span.end, "{:?}", reference);
            prop_assert!(text.get(reference.span.clone()).is_some() && !reference.path.is_empty(), "{:?}", reference);
        }
        prop_assert!(found.is_sorted_by_key(|reference| reference.span.start));
        for (from, exists) in [("", false), ("references/deep", false), ("references", true)] {
            let mut report = Report::new("f", text.as_str());
            skill::check_references(&found, skill::ReferencingFile::OtherFile(from), &["a.md", "references/a.md"], &|_| exists, &mut report);
            check(&report);
            prop_assert!(report.findings.len() <= found.len());
            prop_assert!(!exists || report.findings.iter().all(|finding| finding.message.contains("leads out")));
        }
    }

    #[test]
    fn as_04_any_skill_is_mended_to_one_with_nothing_to_mend(text in prop_oneof![frontmatter(), hostile(), hostile().prop_map(|text| format!("---\n{text}\n---\nbody"))]) {
        settled(text, &read_skill);
    }

    #[test]
    fn sp_33_any_pack_is_mended_to_one_with_nothing_to_mend(text in prop_oneof![packs(), hostile()]) {
        settled(text, &read_pack);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn as_04_frontmatter_that_could_be_read_can_be_read_when_it_is_mended(text in frontmatter()) {
        let before = read_skill(&text);
        let after = read_skill(&settled(text.clone(), &read_skill));
        prop_assert!(!is_yaml(&before) || is_yaml(&after), "{:?} became {:?}", text, after.text);
        let errors = |report: &Report| report.findings.iter().filter(|finding| finding.severity == sp_formats::Severity::Error).count();
        prop_assert!(errors(&after) <= errors(&before), "{:?} became {:?}", text, after.text);
    }

    #[test]
    fn sp_33_a_pack_has_no_more_errors_when_it_is_mended(text in packs()) {
        let (before, after) = (read_pack(&text), read_pack(&settled(text.clone(), &read_pack)));
        prop_assert!(after.findings.len() <= before.findings.len(), "{:?} became {:?}", text, after.text);
    }
}
