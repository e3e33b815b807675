//! `SKILL.md`, read as leniently as agents do, with everything that is not to the letter.

mod body;
mod fields;
mod frontmatter;
mod name;

use std::ops::Range;

use sp_tree::Limits;

pub use body::{
    MAX_BODY_LINES, MAX_BODY_TOKENS, ReferenceKind, ReferencingFile, SkillFileReference,
    SkillFiles, check_body_size, check_markdown, check_references, for_each_reference, references,
};

pub use name::{SkillName, SkillNameError};

use crate::checks::{AS_01, SE_04};
use crate::report::Report;
use crate::yaml::YamlValue;
use fields::FrontmatterFields;
use frontmatter::read_frontmatter;

/// The file that makes a directory a skill. Its case counts.
pub const SKILL_FILE: &str = "SKILL.md";

/// What a `SKILL.md` says of itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SkillMetadata {
    /// The name in the frontmatter.
    pub name: Option<String>,
    /// The description in the frontmatter.
    pub description: Option<String>,
    /// Where the description stands.
    pub description_span: Range<usize>,
    /// The tools in the frontmatter that it asks to use without a question.
    pub allowed_tools: Vec<String>,
    /// Where the Markdown body starts.
    pub body_start: usize,
}

/// Reads the `SKILL.md` of the directory `folder`. There is a skill wherever there is text: an
/// agent may make something of it even where the report has errors.
pub fn read(
    file: &str,
    folder: &str,
    bytes: &[u8],
    limits: &Limits,
) -> (Option<SkillMetadata>, Report) {
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            let at = error.valid_up_to();
            // What cannot be text is shown up to where it stops being text.
            let mut report = Report::new(file, String::from_utf8_lossy(&bytes[..at]));
            report
                .error(&AS_01, at..at, format!("it is not UTF-8 text from byte {at} on"))
                .help("save it as UTF-8");
            return (None, report);
        }
    };
    if bytes.len() as u64 > limits.markdown_bytes {
        let mut report = Report::new(file, "");
        let message = format!(
            "it has {} bytes, more than the limit of {}",
            bytes.len(),
            limits.markdown_bytes
        );
        report.error(&SE_04, 0..0, message).help("raise it with `--limit markdown-bytes=<bytes>`");
        return (None, report);
    }
    let mut report = Report::new(file, text);
    if text.starts_with('\u{feff}') {
        report
            .warning(&AS_01, 0..3, "it starts with a byte-order mark")
            .help("save it as UTF-8 without one")
            .fix(0..3, "");
    }
    let skill = read_text(text, folder, limits, &mut report);
    report.sort();
    (Some(skill), report)
}

/// The fields of the frontmatter as they stand, as JSON. Where agents would have to guess there are none; why
/// is a fragment that goes on after the file.
pub fn frontmatter_json(
    bytes: &[u8],
    limits: &Limits,
) -> Result<serde_json::Map<String, serde_json::Value>, String> {
    if bytes.len() as u64 > limits.markdown_bytes {
        return Err(format!("has more than {} bytes", limits.markdown_bytes));
    }
    let text = std::str::from_utf8(bytes).map_err(|_| "is not UTF-8 text".to_owned())?;
    if text.starts_with('\u{feff}') {
        return Err("starts with a byte-order mark".into());
    }
    let mut report = Report::new(SKILL_FILE, "");
    let root = read_frontmatter(text, limits, &mut report).and_then(|front| front.root);
    match root.filter(|_| report.findings.is_empty()).map(|root| root.to_core_json()) {
        Some(Some(serde_json::Value::Object(fields))) => Ok(fields),
        Some(None) => Err("says what JSON cannot".into()),
        _ => Err("has no frontmatter that can be read as it stands".into()),
    }
}

fn read_text(text: &str, folder: &str, limits: &Limits, report: &mut Report) -> SkillMetadata {
    let Some(front) = read_frontmatter(text, limits, report) else {
        return SkillMetadata {
            body_start: text.len() - text.trim_start_matches('\u{feff}').len(),
            ..SkillMetadata::default()
        };
    };
    let block = front.block.clone();
    let skill = match front.root.as_ref().map(|root| (&root.value, root)) {
        Some((YamlValue::Map(pairs), root)) => {
            fields::read_fields(&FrontmatterFields { pairs, span: block, root }, folder, report)
        }
        // Nothing between the lines: both fields are missing.
        Some((_, root)) if root.is_null() => fields::read_fields(
            &FrontmatterFields { pairs: &[], span: block, root },
            folder,
            report,
        ),
        Some(_) => {
            report
                .error(&AS_01, front.block, "the frontmatter is not a mapping")
                .help("write `name: …` and `description: …`");
            SkillMetadata::default()
        }
        None => SkillMetadata::default(),
    };
    SkillMetadata { body_start: front.body_start, ..skill }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_all(text: &str) -> (SkillMetadata, Vec<String>) {
        let (skill, report) = read("SKILL.md", "a", text.as_bytes(), &Limits::default());
        let show = |finding: &crate::Finding| {
            format!("{} {} {}", report.format_location(finding), finding.check.id, finding.message)
        };
        (skill.unwrap(), report.findings.iter().map(show).collect())
    }

    fn named(text: &str) -> (Option<String>, Option<String>) {
        let (skill, _) = read_all(text);
        (skill.name, skill.description)
    }

    #[test]
    fn as_01_frontmatter_is_what_stands_between_the_dashes() {
        let (skill, findings) =
            read_all("---\nname: a\ndescription: b\n---\n# Body\n\n---\nmore\n");
        assert_eq!((skill.name.as_deref(), skill.description.as_deref()), (Some("a"), Some("b")));
        assert_eq!(skill.body_start, "---\nname: a\ndescription: b\n---\n".len());
        assert_eq!(findings, [""; 0]);
        let crlf = "---\r\nname: a\r\ndescription: b\r\n---\r\nBody";
        assert_eq!(named(crlf), (Some("a".into()), Some("b".into())));
        let (skill, findings) = read_all("\u{feff}---\nname: a\ndescription: b\n---\n");
        assert_eq!(skill.name.as_deref(), Some("a"));
        assert_eq!(findings, ["SKILL.md:1:1 AS-01 it starts with a byte-order mark"]);
    }

    #[test]
    fn as_01_dashes_inside_a_quoted_value_do_not_end_the_block() {
        let text = "---\nname: a\ndescription: \"one\n---\n  two\"\n---\nBody\n";
        let (skill, _) = read_all(text);
        assert_eq!(&text[skill.body_start..], "Body\n");
        assert_eq!(skill.name.as_deref(), Some("a"));
    }

    #[test]
    fn as_03_a_skill_without_frontmatter_is_readable_with_a_warning() {
        for (text, finding) in [
            ("# Just text\n", "SKILL.md:1:1 AS-01 it has no frontmatter"),
            ("", "SKILL.md:1:1 AS-01 it has no frontmatter"),
            ("---\nname: a\n", "SKILL.md:1:1 AS-01 the frontmatter has no end"),
            ("---\n- a\n---\n", "SKILL.md:2:1 AS-01 the frontmatter is not a mapping"),
        ] {
            assert_eq!(read_all(text).1, [finding], "{text}");
        }
        let (skill, report) = read("SKILL.md", "a", b"---\nname: \xff\n---\n", &Limits::default());
        assert_eq!(skill, None);
        assert_eq!(report.findings[0].message, "it is not UTF-8 text from byte 10 on");
    }

    #[test]
    fn as_04_an_unquoted_colon_is_read_as_if_quoted_with_a_warning() {
        let (skill, findings) = read_all("---\nname: a\ndescription: Use when: it's late\n---\n");
        assert_eq!(skill.description.as_deref(), Some("Use when: it's late"));
        assert_eq!(findings, ["SKILL.md:3:14 AS-04 an unquoted value has a `: ` in it"]);
    }

    #[test]
    fn se_14_markdown_at_the_limit_passes_and_one_past_it_does_not() {
        let limits = Limits { markdown_bytes: 5, ..Limits::default() };
        assert!(read("SKILL.md", "a", b"12345", &limits).0.is_some());
        assert!(read("SKILL.md", "a", b"123456", &limits).0.is_none());
    }

    #[test]
    fn as_02_a_name_or_description_of_another_form_is_a_warning() {
        for (name, message) in [
            ("b", "the name `b` is not that of the folder"),
            ("A", "the name `A` has `A` in it"),
            ("-a", "the name `-a` starts with a hyphen"),
            ("a--b", "the name `a--b` has two hyphens in a row"),
        ] {
            let (_, findings) = read_all(&format!("---\nname: {name}\ndescription: x\n---\n"));
            assert_eq!(findings, [format!("SKILL.md:2:7 AS-02 {message}")]);
        }
        let (_, findings) =
            read_all(&format!("---\nname: a\ndescription: {}\n---\n", "x".repeat(1025)));
        assert_eq!(findings, ["SKILL.md:3:14 AS-02 the description has 1025 characters"]);
        let (_, findings) =
            read_all(&format!("---\nname: a\ndescription: {}\n---\n", "x".repeat(1024)));
        assert_eq!(findings, [""; 0]);
    }
}
