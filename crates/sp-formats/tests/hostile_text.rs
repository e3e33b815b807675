//! Every parser takes any text at all: it may refuse it, but it never panics, and what it
//! says of it stands inside the text.

#![allow(clippy::unwrap_used, reason = "a test ends at the first surprise")]

use proptest::prelude::*;
use sp_formats::repo::Transport;
use sp_formats::report::Report;
use sp_formats::state::State;
use sp_formats::{config, pack, pattern, printable, repo, skill};
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
    prop_oneof![prop::collection::vec(pieces, 0..40).prop_map(|pieces| pieces.concat()), ".{0,200}", "\\PC{0,200}",]
}

fn check(report: &Report) {
    for finding in &report.findings {
        let span = finding.span.clone().unwrap_or(0..0);
        assert!(span.start <= span.end, "{finding:?}");
        assert!(span.start <= report.text.len(), "{finding:?} in {:?}", report.text);
        assert!(!finding.message.is_empty());
        report.place(finding);
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
            prop_assert!(skill.body <= bytes.len());
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
        let _ = State::parse(&bytes);
        let _ = State::parse(text.as_bytes());
        let record = serde_json::json!({"version": 1, "installs": [{"sink": text, "sink_path": text, "pack": text, "installed_paths": [text]}]});
        let state = State::parse(record.to_string().as_bytes()).unwrap();
        let again = State::parse(&state.to_json().unwrap()).unwrap();
        prop_assert_eq!(state, again);
    }

    #[test]
    fn se_14_repos_refs_and_patterns_of_any_text_are_taken_or_refused(text in hostile()) {
        if let Ok(repo) = repo::Repo::new(&text) {
            prop_assert!(!repo.url.starts_with('-'));
            // What git would take for the name of a helper program stands before the first `::`.
            // A path becomes absolute before git sees it.
            let helper = repo.url.split_once("::").map(|(helper, _)| helper).filter(|_| repo.transport != Transport::Path);
            prop_assert!(helper.is_none_or(|helper| helper.contains(['/', ':'])), "{}", repo.url);
        }
        if let Ok(git_ref) = repo::GitRef::new(&text) {
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
        prop_assert_eq!(printable::masked(&text).len(), text.len());
    }
}
