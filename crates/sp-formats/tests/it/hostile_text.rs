//! Parsers accept or reject arbitrary text without a panic, and report valid spans. Fixes converge.

use proptest::prelude::*;
use sp_formats::git_repo::GitTransport;
use sp_formats::report::{Finding, Report, TextEdit, apply_edits, text_digest};
use sp_formats::skill::SkillFileReference;
use sp_formats::state::InstallState;
use sp_formats::{config, git_repo, pack, pattern, printable, skill};
use sp_tree::Limits;

/// Parts of YAML, frontmatter, URLs and patterns, in any order.
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

/// Parts of Markdown, in any order.
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

/// Frontmatter with problems, some of which can be fixed.
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
    let line_ending = prop::sample::select(vec!["\n", "\r\n"]);
    let start =
        prop::sample::select(vec!["---\n", "\u{feff}---\n", "\n\n---\n", "\u{feff}\r\n---\r\n"]);
    (start, line_ending, prop::collection::vec(lines, 0..8)).prop_map(
        |(start, line_ending, lines)| {
            format!(
                "{start}{}{line_ending}---{line_ending}Body.{line_ending}",
                lines.join(line_ending)
            )
        },
    )
}

/// Packs with problems, some of which can be fixed.
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
    let line_ending = prop::sample::select(vec!["\n", "\r\n"]);
    (line_ending, prop::collection::vec(lines, 0..10))
        .prop_map(|(line_ending, lines)| lines.join(line_ending) + line_ending)
}

fn edits(report: &Report) -> Vec<TextEdit> {
    report.findings.iter().flat_map(|finding| finding.fix.iter().cloned()).collect()
}

/// Applies fixes until there are none left. Every intermediate text must be readable.
fn fix_all(mut text: String, read: &dyn Fn(&str) -> Report) -> String {
    for _ in 0..8 {
        let report = read(&text);
        check_locations(&report);
        let edits = edits(&report);
        if edits.is_empty() {
            return text;
        }
        assert!(
            edits.iter().all(|edit| text.get(edit.span.clone()).is_some()),
            "an edit outside of the text: {edits:?}"
        );
        assert_eq!(
            text_digest(&text),
            sp_tree::Digest::of(report.text.as_bytes()),
            "the digest of the fixed text"
        );
        text = apply_edits(&text, edits);
    }
    assert!(edits(&read(&text)).is_empty(), "not fixed after eight rounds: {text:?}");
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

/// Returns whether the YAML was readable.
fn is_yaml(report: &Report) -> bool {
    !report.findings.iter().any(|finding| finding.check.id == "AS-01" && finding.fix.is_empty())
}

/// Asserts that all findings have valid locations.
fn check_locations(report: &Report) {
    let located = report.located_findings();
    assert_eq!(located.len(), report.findings.len());
    for location in located.iter().filter_map(|finding| finding.location.as_ref()) {
        assert!(
            location.span.start <= location.span.end
                && report.text.get(location.span.clone()).is_some(),
            "{location:?}"
        );
        assert!(
            location.start <= location.end
                && location.start.line >= 1
                && location.start.column >= 1,
            "{location:?}"
        );
        assert!(
            location.excerpt.before.len()
                + location.excerpt.marked.len()
                + location.excerpt.after.len()
                < 700,
            "{location:?}"
        );
    }
    assert!(located.is_sorted_by_key(|finding| {
        finding.location.as_ref().map_or(0, |location| location.span.start)
    }));
    for finding in &report.findings {
        let span = finding.span.clone().unwrap_or(0..0);
        assert!(span.start <= span.end, "{finding:?}");
        assert!(span.start <= report.text.len(), "{finding:?} in {:?}", report.text);
        assert!(!finding.message.is_empty());
        report.format_location(finding);
    }
}

/// Returns whether a reference in a file of this directory points outside of the skill.
fn leaves_skill(reference: &SkillFileReference, folder: &str) -> bool {
    let base = if reference.is_link() { folder } else { "" };
    let parts = base.split('/').chain(reference.path.split('/'));
    let depths = parts.filter(|part| !matches!(*part, "" | ".")).scan(0, |depth, part| {
        *depth += if part == ".." { -1 } else { 1 };
        Some(*depth)
    });
    depths.min().is_some_and(|depth: i32| depth < 0)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn se_14_arbitrary_packs_are_read_or_rejected(text in hostile()) {
        let (pack, report) = pack::read("f", &text, &Limits::default());
        check_locations(&report);
        prop_assert_eq!(pack.is_some(), report.is_usable());
    }

    #[test]
    fn se_14_arbitrary_configs_are_read_or_rejected(text in hostile()) {
        let (config, report) = config::read("f", &text, &Limits::default());
        check_locations(&report);
        prop_assert_eq!(config.is_some(), report.is_usable());
    }

    #[test]
    fn se_14_arbitrary_skills_are_read_or_rejected(text in hostile(), tail in prop::collection::vec(any::<u8>(), 0..20)) {
        let bytes = [text.as_bytes(), &tail].concat();
        let (skill, report) = skill::read("f", "folder", &bytes, &Limits::default());
        check_locations(&report);
        prop_assert_eq!(skill.is_some(), std::str::from_utf8(&bytes).is_ok());
        if let Some(skill) = skill {
            prop_assert!(skill.body_start <= bytes.len());
        }
    }

    #[test]
    fn se_14_skills_with_arbitrary_frontmatter_are_read(text in hostile()) {
        let (skill, report) = skill::read("f", "folder", format!("---\n{text}\n---\nbody").as_bytes(), &Limits::default());
        check_locations(&report);
        prop_assert!(skill.is_some());
    }

    #[test]
    fn se_14_arbitrary_state_files_are_read_or_rejected(bytes in prop::collection::vec(any::<u8>(), 0..200), text in hostile()) {
        let _ = InstallState::parse(&bytes);
        let _ = InstallState::parse(text.as_bytes());
        let record = serde_json::json!({"version": 1, "installs": [{"sink": text, "sink_path": text, "pack": text, "installed_paths": [text]}]});
        let state = InstallState::parse(record.to_string().as_bytes()).unwrap();
        let reparsed = InstallState::parse(&state.to_json().unwrap()).unwrap();
        prop_assert_eq!(state, reparsed);
    }

    #[test]
    fn se_14_arbitrary_repos_refs_and_patterns_are_accepted_or_rejected(text in hostile()) {
        if let Ok(repo) = git_repo::GitRepo::new(&text) {
            prop_assert!(!repo.url.starts_with('-'));
            // Git runs a helper program with the name before the first `::`. Paths are made
            // absolute before git gets them.
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
    fn se_08_printable_text_has_no_control_characters(text in hostile()) {
        let escaped = printable::printable(&text);
        prop_assert!(!escaped.chars().any(char::is_control));
        prop_assert_eq!(printable::mask_secrets(&text).len(), text.len());
    }

    #[test]
    fn as_07_reference_spans_are_valid_in_arbitrary_text(text in prop_oneof![markdown(), hostile()], start in 0usize..40) {
        let start = (0..=start.min(text.len())).rev().find(|index| text.is_char_boundary(*index)).unwrap_or(0);
        let references = skill::references(&text, start);
        for reference in &references {
            prop_assert!(start <= reference.span.start && reference.span.start <= reference.span.end, "{:?}", reference);
            prop_assert!(text.get(reference.span.clone()).is_some() && !reference.path.is_empty(), "{:?}", reference);
        }
        prop_assert!(references.is_sorted_by_key(|reference| reference.span.start));
        for (folder, exists) in [("", false), ("references/deep", false), ("references", true)] {
            let mut report = Report::new("f", text.as_str());
            skill::check_references(&references, skill::ReferencingFile::OtherFile(folder), &["a.md", "references/a.md"], &|_| exists, &mut report);
            check_locations(&report);
            prop_assert!(report.findings.len() <= references.len());
            // If every file exists, only references to files outside of the skill are broken.
            let outside = |finding: &Finding| references.iter().any(|reference| {
                finding.span.as_ref() == Some(&reference.span) && leaves_skill(reference, folder)
            });
            prop_assert!(!exists || report.findings.iter().all(outside), "{:?}", report.findings);
        }
    }

    #[test]
    fn as_04_fixing_a_skill_leaves_nothing_to_fix(text in prop_oneof![frontmatter(), hostile(), hostile().prop_map(|text| format!("---\n{text}\n---\nbody"))]) {
        fix_all(text, &read_skill);
    }

    #[test]
    fn sp_33_fixing_a_pack_leaves_nothing_to_fix(text in prop_oneof![packs(), hostile()]) {
        fix_all(text, &read_pack);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn as_04_fixes_keep_frontmatter_readable(text in frontmatter()) {
        let before = read_skill(&text);
        let after = read_skill(&fix_all(text.clone(), &read_skill));
        prop_assert!(!is_yaml(&before) || is_yaml(&after), "{:?} became {:?}", text, after.text);
        let errors = |report: &Report| report.findings.iter().filter(|finding| finding.severity == sp_formats::Severity::Error).count();
        prop_assert!(errors(&after) <= errors(&before), "{:?} became {:?}", text, after.text);
    }

    #[test]
    fn sp_33_fixes_do_not_add_findings(text in packs()) {
        let (before, after) = (read_pack(&text), read_pack(&fix_all(text.clone(), &read_pack)));
        prop_assert!(after.findings.len() <= before.findings.len(), "{:?} became {:?}", text, after.text);
    }
}
