//! Every reader of text is linear: a short fragment, repeated, costs no more than other text of its
//! length. See `sp_testkit::fragments`.

use std::hint::black_box;

use sp_formats::checks::AS_02;
use sp_formats::json::JsonDocument;
use sp_formats::report::Report;
use sp_formats::skill::{self, ReferencingFile, SkillFiles};
use sp_formats::{context_pack, markdown, pack, printable, workspace, yaml};
use sp_testkit::fragments::BYTES;
use sp_testkit::linear_scans;
use sp_tree::Limits;

linear_scans! {
    se_04_references_are_checked_in_linear_time: |text| {
        let files = SkillFiles { names: &["scripts/run.py"], exists: &|_| false };
        let mut report = Report::new("SKILL.md", text);
        skill::check_markdown(text, 0, ReferencingFile::SkillMd, &files, &mut report);
        black_box(report.located_findings());
    };
    se_04_sections_are_found_in_linear_time: |text| {
        black_box(markdown::sections(text, 0));
        black_box(markdown::find_frontmatter(text));
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
        black_box(JsonDocument::parse(text, &Limits::default()).ok());
        black_box(JsonDocument::parse(format!("[\"{text}"), &Limits::default()).ok());
        black_box(JsonDocument::parse(format!("[{text}"), &Limits::default()).ok());
    };
    se_04_text_is_made_printable_in_linear_time: |text| {
        black_box(printable::printable(text));
        black_box(printable::printable_text(text));
        black_box(printable::mask_secrets(text));
    };
    se_04_files_of_a_workspace_are_read_in_linear_time: |text| {
        black_box(workspace::read_agents_file("", text));
        black_box(workspace::read_catalog("", text));
    };
    se_04_context_files_are_read_in_linear_time: |text| {
        let block = &text[..text.floor_char_boundary(500_000)];
        let whole = format!("## Parameters\n```yaml\n{block}\n```\n{text}");
        black_box(workspace::read_context("", &whole, &Limits::default()));
    };
    se_04_context_packs_are_read_in_linear_time: |text| {
        black_box(context_pack::footnotes(text, 0));
        black_box(context_pack::sections_by_title(text));
        black_box(context_pack::read_prompts(text));
        black_box(context_pack::count_sentences(text));
    };
    se_04_findings_are_placed_in_linear_time: |text| {
        let mut report = Report::new("", text);
        for at in 0..500 {
            let start = text.len() / 500 * at;
            report.warning(&AS_02, start..text.len() - start / 2, "x");
        }
        black_box(report.located_findings());
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
    let (context, _) = workspace::read_context("", &text, &Limits::default());
    assert_eq!(context.settings.len(), 4_000);
    assert_eq!(context.settings[1].line, context.settings[0].line + 1);
}
