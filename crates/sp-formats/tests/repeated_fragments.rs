//! Every scanner of text is linear: a short fragment, repeated, costs no more than other text of its length.
//!
//! Each text has a million bytes. A scan that looks at the rest of the text from each position takes hours
//! for it, and a linear one a fraction of a second, so nothing here measures time: a scan that is not linear
//! never ends, and the test runner says so.

use std::hint::black_box;

use proptest::prelude::*;
use sp_formats::checks::AS_02;
use sp_formats::json::Json;
use sp_formats::report::Report;
use sp_formats::skill::{self, Place, SkillFiles};
use sp_formats::{bag, context_pack, hidden, hosts, markdown, pack, printable, secrets, tokens, words, yaml};
use sp_tree::Limits;

const BYTES: usize = 1_000_000;

/// What every scanner is tried with.
const NAMED: &[&str] = &["a=>", "lambda:", "<http://", "0", "a"];

/// What scanners look for: fragments are made of a few of these.
const PARTS: &[&str] = &[
    "a",
    "A",
    "1",
    " ",
    "\t",
    "\n",
    "\r\n",
    "\r",
    "[",
    "]",
    "(",
    ")",
    "{",
    "}",
    "<",
    ">",
    "!",
    "*",
    "_",
    "`",
    "~",
    "|",
    "&",
    "#",
    "\\",
    "\"",
    "'",
    "$",
    "%",
    "=",
    ":",
    ";",
    ",",
    ".",
    "/",
    "-",
    "+",
    "?",
    "@",
    "^",
    "é",
    "日",
    "🙂",
    "\u{301}",
    "\u{200b}",
    "\u{200d}",
    "\u{fe0f}",
    "\u{e0041}",
    "\u{202e}",
    "\u{430}",
    "://",
    "->",
    "=>",
    "```",
    "---",
    "- ",
    "> ",
    "1. ",
    "# ",
    "<!--",
    "-->",
    "](",
    "![",
    "[^",
    "]:",
    "<a ",
    "=\"",
    "='",
    "&#",
    "$(",
    "%%",
    "==",
    "lambda",
    "http",
    "token",
    "password",
    "bearer ",
    "scripts/",
    "assets/a.b",
    "eyJ",
    "sk-",
    "ghp_",
    "your",
    "\\u",
];

fn fragments() -> impl Strategy<Value = String> {
    proptest::collection::vec(prop::sample::select(PARTS), 1..=4).prop_map(|parts| parts.concat())
}

fn repeated(fragment: &str) -> String {
    fragment.repeat(BYTES.div_ceil(fragment.len()))
}

/// A test for each scanner, with the named fragments and some others.
macro_rules! linear {
    ($($name:ident: $scan:expr;)+) => {$(
        #[test]
        fn $name() {
            let scan: fn(&str) = $scan;
            NAMED.iter().for_each(|fragment| scan(&repeated(fragment)));
            proptest!(ProptestConfig::with_cases(4), |(fragment in fragments())| {
                scan(&repeated(&fragment));
            });
        }
    )+};
}

linear! {
    se_04_tokens_are_counted_in_linear_time: |text| {
        black_box(tokens::count(text));
    };
    se_04_secrets_are_found_in_linear_time: |text| {
        black_box(secrets::has_secret(text));
    };
    se_04_values_behind_a_telling_name_are_found_in_linear_time: |text| {
        black_box(secrets::has_secret(&format!("password: {text}")));
        black_box(bag::secret("value", text));
    };
    se_04_hidden_characters_are_found_in_linear_time: |text| {
        black_box(hidden::search(text));
        black_box(hidden::mark(text));
    };
    se_04_lookalikes_are_found_in_linear_time: |text| {
        black_box(hidden::lookalikes(&format!("{text}\u{430}")));
        black_box(hidden::lookalikes(&format!("#!{text}\u{430}")));
    };
    se_04_references_are_checked_in_linear_time: |text| {
        let files = SkillFiles { names: &["scripts/run.py"], exists: &|_| false };
        let mut report = Report::new("SKILL.md", text);
        skill::check_markdown(text, 0, Place::Skill, &files, &mut report);
        black_box(report.placed());
    };
    se_04_sections_are_found_in_linear_time: |text| {
        black_box(markdown::sections(text, 0));
        black_box(markdown::frontmatter(text));
    };
    se_04_skills_are_read_in_linear_time: |text| {
        black_box(skill::read("", "a", text.as_bytes(), &Limits::default()));
        let front = &text[..text.floor_char_boundary(250_000)];
        let whole = format!("---\nname: a\ndescription: {front}\n---\n{text}");
        black_box(skill::read("", "a", whole.as_bytes(), &Limits::default()));
    };
    se_04_yaml_and_packs_are_read_in_linear_time: |text| {
        black_box(yaml::parse(text, &Limits::default()).ok());
        black_box(pack::read("", text, &Limits::default()));
    };
    se_04_json_is_read_in_linear_time: |text| {
        black_box(Json::parse(text, &Limits::default()).ok());
        black_box(Json::parse(format!("[\"{text}"), &Limits::default()).ok());
        black_box(Json::parse(format!("[{text}"), &Limits::default()).ok());
    };
    se_04_text_is_made_printable_in_linear_time: |text| {
        black_box(printable::printable(text));
        black_box(printable::printable_text(text));
        black_box(printable::masked(text));
    };
    se_04_hosts_and_words_are_found_in_linear_time: |text| {
        black_box(hosts::hosts(text).filter_map(|range| hosts::outside(&text[range])).count());
        let mut sum = 0_u64;
        words::each_word(text, &mut |hash| sum ^= hash);
        black_box(sum);
    };
    se_04_files_of_a_workspace_are_read_in_linear_time: |text| {
        black_box(bag::read_agents("", text));
        black_box(bag::read_catalog("", text));
    };
    se_04_context_files_are_read_in_linear_time: |text| {
        let block = &text[..text.floor_char_boundary(500_000)];
        let whole = format!("## Parameters\n```yaml\n{block}\n```\n{text}");
        black_box(bag::read_context("", &whole, &Limits::default()));
    };
    se_04_context_packs_are_read_in_linear_time: |text| {
        black_box(context_pack::references(text, 0));
        black_box(context_pack::chapters(text));
        black_box(context_pack::prompts(text));
        black_box(context_pack::sentences(text));
    };
    se_04_findings_are_placed_in_linear_time: |text| {
        let mut report = Report::new("", text);
        for at in 0..500 {
            let start = text.len() / 500 * at;
            report.warning(&AS_02, start..text.len() - start / 2, "x");
        }
        black_box(report.placed());
    };
}

/// One line of marks, and many lines that the parser compares with all of them.
#[test]
fn se_04_lines_below_thousands_of_quotes_cost_no_more_than_others() {
    for mark in [">", "> ", "- ", "> - ", "1. "] {
        let text = format!("{}a\n{}", mark.repeat(BYTES / 4), "a\n".repeat(BYTES / 4));
        black_box(markdown::sections(&text, 0));
    }
}

/// Every value is on another line of a large file.
#[test]
fn se_04_lines_of_yaml_values_are_found_in_linear_time() {
    let values: String = (0..4_000).map(|number| format!("  name-{number}: x\n")).collect();
    let blocks = format!("## Parameters\n```yaml\nparameters:\n{values}```\n");
    let paragraph = format!("{}\n\n", "words ".repeat(20));
    let text = format!("{}{blocks}", paragraph.repeat(BYTES / paragraph.len()));
    let (context, _) = bag::read_context("", &text, &Limits::default());
    assert_eq!(context.settings.len(), 4_000);
    assert_eq!(context.settings[1].line, context.settings[0].line + 1);
}
