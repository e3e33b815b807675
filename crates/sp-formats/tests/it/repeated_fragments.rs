//! All parsers run in linear time, also for repeated short fragments; see
//! `sp_testkit::fragments`.

use std::hint::black_box;

use sp_formats::json::JsonDocument;
use sp_formats::report::Report;
use sp_formats::skill::rules::AS_02;
use sp_formats::skill::{self, ReferencingFile, SkillFiles};
use sp_formats::{context_pack, markdown, pack, printable, workspace, yaml};
use sp_testkit::fragments::BYTES;
use sp_testkit::linear_scans;
use sp_tree::Limits;

linear_scans! {
    se_04_references_are_checked_in_linear_time: |text| {
        let files = SkillFiles { names: &["scripts/run.py"], exists: &|_| false, outside: &|_| skill::OutsideFile::Unknown };
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
        let document = format!("---\nname: a\ndescription: {front}\n---\n{text}");
        black_box(skill::read("", "a", document.as_bytes(), &Limits::default()));
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
    se_04_workspace_files_are_read_in_linear_time: |text| {
        black_box(workspace::read_agents_file("", text));
        black_box(workspace::read_catalog("", text));
    };
    se_04_context_files_are_read_in_linear_time: |text| {
        let block = &text[..text.floor_char_boundary(500_000)];
        let document = format!("## Parameters\n```yaml\n{block}\n```\n{text}");
        black_box(workspace::read_context("", &document, &Limits::default()));
    };
    se_04_context_packs_are_read_in_linear_time: |text| {
        black_box(context_pack::footnotes(text, 0));
        black_box(context_pack::sections_by_title(text));
        black_box(context_pack::read_prompts(text));
        black_box(context_pack::count_sentences(text));
    };
    se_04_findings_are_located_in_linear_time: |text| {
        let mut report = Report::new("", text);
        for number in 0..500 {
            let start = text.len() / 500 * number;
            report.warning(&AS_02, start..text.len() - start / 2, "x");
        }
        black_box(report.located_findings());
    };
}

/// The parser compares each of the lines with all markers of the first one.
#[test]
fn se_04_lines_after_deep_quotes_are_parsed_in_linear_time() {
    for marker in [">", "> ", "- ", "> - ", "1. "] {
        let text = format!("{}a\n{}", marker.repeat(BYTES / 4), "a\n".repeat(BYTES / 4));
        black_box(markdown::sections(&text, 0));
    }
}

/// Every value is on its own line of a large file.
#[test]
fn se_04_yaml_values_are_located_in_linear_time() {
    let values: String = (0..4_000).map(|number| format!("  name-{number}: x\n")).collect();
    let blocks = format!("## Parameters\n```yaml\nparameters:\n{values}```\n");
    let paragraph = format!("{}\n\n", "words ".repeat(20));
    let text = format!("{}{blocks}", paragraph.repeat(BYTES / paragraph.len()));
    let (context, _) = workspace::read_context("", &text, &Limits::default());
    assert_eq!(context.settings.len(), 4_000);
    assert_eq!(context.settings[1].line, context.settings[0].line + 1);
}
