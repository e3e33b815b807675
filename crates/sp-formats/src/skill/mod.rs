//! `SKILL.md`, read as leniently as agents do.
//!
//! [`read`] returns [`SkillMetadata`] for any text, because an agent may use it even if the report
//! has errors. Frontmatter that is almost YAML is repaired and reported. [`SkillName`] is a valid
//! name; [`check_body_size`] and [`check_markdown`] check the Markdown.
//!
//! ```
//! use sp_formats::skill;
//! use sp_tree::Limits;
//!
//! let text = b"---\nname: Review\ndescription: Reviews a diff.\n---\n\nRead the diff first.\n";
//! let (skill, report) = skill::read("SKILL.md", "review", text, &Limits::default());
//! let skill = skill.expect("an agent can use it");
//! assert_eq!(skill.description.as_deref(), Some("Reviews a diff."));
//! // The name of a skill is in lower case and equals the name of its directory.
//! assert_eq!(report.format_location(&report.findings[0]), "SKILL.md:2:7");
//! ```

mod body;
mod fields;
mod frontmatter;
mod name;
mod reference_check;
pub mod rules;
pub(crate) mod tags;

use std::ops::Range;

use sp_tree::Limits;

pub use body::{
    MAX_BODY_LINES, MAX_BODY_TOKENS, ReferenceKind, SkillFileReference, check_body_size,
    for_each_reference, references,
};
pub use name::{SkillName, SkillNameError};
pub use reference_check::{
    OutsideFile, ReferencingFile, SkillFiles, check_markdown, check_references,
};

use crate::report::Report;
use crate::rules::safety::SE_04;
use crate::skill::rules::AS_01;
use crate::text::ByteSize;
use crate::yaml::{YamlNode, YamlValue};
use fields::FrontmatterFields;
use frontmatter::read_frontmatter;

/// The file that makes a directory a skill. Case-sensitive.
pub const SKILL_FILE: &str = "SKILL.md";

/// The metadata in a `SKILL.md`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SkillMetadata {
    pub name: Option<String>,
    pub description: Option<String>,
    pub description_span: Range<usize>,
    /// The tags after an unquoted description, which YAML reads as a comment.
    pub commented_tags: Option<Range<usize>>,
    pub license: Option<String>,
    /// The tools that the skill may use without asking.
    pub allowed_tools: Vec<String>,
    /// The field `dependencies`, which authors of SkillBag sources write.
    pub dependencies: Option<YamlNode>,
    pub body_start: usize,
}

/// Reads the `SKILL.md` of the directory `folder`. There is a skill for any text, even if the
/// report has errors, because an agent may still use it.
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
            // A file that is not UTF-8 is shown up to the first invalid byte.
            let mut report = Report::new(file, String::from_utf8_lossy(&bytes[..at]));
            report
                .error(&AS_01, at..at, format!("invalid UTF-8 at byte {at}"))
                .help("save the file as UTF-8");
            return (None, report);
        }
    };
    if bytes.len() as u64 > limits.markdown_bytes {
        let mut report = Report::new(file, "");
        let message = format!(
            "the file is {}; the limit is {}",
            ByteSize(bytes.len() as u64),
            ByteSize(limits.markdown_bytes)
        );
        report
            .error(&SE_04, 0..0, message)
            .help("raise the limit with `--limit markdown-bytes=<bytes>`");
        return (None, report);
    }
    let mut report = Report::new(file, text);
    if text.starts_with('\u{feff}') {
        report
            .warning(&AS_01, 0..3, "the file starts with a byte-order mark")
            .help("save the file as UTF-8 without a byte-order mark")
            .fix(0..3, "");
    }
    let skill = read_text(text, folder, limits, &mut report);
    report.sort();
    (Some(skill), report)
}

/// Returns the fields of the frontmatter as JSON, without repairs. The error is a fragment that
/// continues a sentence about the file.
pub fn frontmatter_json(
    bytes: &[u8],
    limits: &Limits,
) -> Result<serde_json::Map<String, serde_json::Value>, String> {
    if bytes.len() as u64 > limits.markdown_bytes {
        return Err(format!("is larger than {}", ByteSize(limits.markdown_bytes)));
    }
    let text = std::str::from_utf8(bytes).map_err(|_| "is not UTF-8 text".to_owned())?;
    if text.starts_with('\u{feff}') {
        return Err("starts with a byte-order mark".into());
    }
    let mut report = Report::new(SKILL_FILE, "");
    let root = read_frontmatter(text, limits, &mut report).and_then(|front| front.root);
    match root.filter(|_| report.findings.is_empty()).map(|root| root.to_core_json()) {
        Some(Some(serde_json::Value::Object(fields))) => Ok(fields),
        Some(None) => Err("contains a value that JSON cannot represent".into()),
        _ => Err("has no valid frontmatter".into()),
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
        // Empty frontmatter: both required fields are missing.
        Some((_, root)) if root.is_null() => fields::read_fields(
            &FrontmatterFields { pairs: &[], span: block, root },
            folder,
            report,
        ),
        Some(_) => {
            report
                .error(&AS_01, front.block, "the frontmatter must be a mapping")
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

    fn read_with_findings(text: &str) -> (SkillMetadata, Vec<String>) {
        let (skill, report) = read("SKILL.md", "a", text.as_bytes(), &Limits::default());
        let format_finding = |finding: &crate::Finding| {
            format!("{} {} {}", report.format_location(finding), finding.check.id, finding.message)
        };
        (skill.unwrap(), report.findings.iter().map(format_finding).collect())
    }

    fn name_and_description(text: &str) -> (Option<String>, Option<String>) {
        let (skill, _) = read_with_findings(text);
        (skill.name, skill.description)
    }

    #[test]
    fn as_01_frontmatter_is_between_the_dashes() {
        let (skill, findings) =
            read_with_findings("---\nname: a\ndescription: b\n---\n# Body\n\n---\nmore\n");
        assert_eq!((skill.name.as_deref(), skill.description.as_deref()), (Some("a"), Some("b")));
        assert_eq!(skill.body_start, "---\nname: a\ndescription: b\n---\n".len());
        assert_eq!(findings, [""; 0]);
        let crlf = "---\r\nname: a\r\ndescription: b\r\n---\r\nBody";
        assert_eq!(name_and_description(crlf), (Some("a".into()), Some("b".into())));
        let (skill, findings) = read_with_findings("\u{feff}---\nname: a\ndescription: b\n---\n");
        assert_eq!(skill.name.as_deref(), Some("a"));
        assert_eq!(findings, ["SKILL.md:1:1 AS-01 the file starts with a byte-order mark"]);
    }

    #[test]
    fn as_01_dashes_inside_a_quoted_value_do_not_end_the_block() {
        let text = "---\nname: a\ndescription: \"one\n---\n  two\"\n---\nBody\n";
        let (skill, _) = read_with_findings(text);
        assert_eq!(&text[skill.body_start..], "Body\n");
        assert_eq!(skill.name.as_deref(), Some("a"));
    }

    #[test]
    fn as_03_missing_frontmatter_is_a_warning() {
        for (text, finding) in [
            ("# Just text\n", "SKILL.md:1:1 AS-01 it has no frontmatter"),
            ("", "SKILL.md:1:1 AS-01 it has no frontmatter"),
            ("---\nname: a\n", "SKILL.md:1:1 AS-01 the frontmatter is not closed"),
            ("---\n- a\n---\n", "SKILL.md:2:1 AS-01 the frontmatter must be a mapping"),
        ] {
            assert_eq!(read_with_findings(text).1, [finding], "{text}");
        }
        let (skill, report) = read("SKILL.md", "a", b"---\nname: \xff\n---\n", &Limits::default());
        assert_eq!(skill, None);
        assert_eq!(report.findings[0].message, "invalid UTF-8 at byte 10");
    }

    #[test]
    fn as_04_unquoted_colon_is_repaired_with_a_warning() {
        let (skill, findings) =
            read_with_findings("---\nname: a\ndescription: Use when: it's late\n---\n");
        assert_eq!(skill.description.as_deref(), Some("Use when: it's late"));
        assert_eq!(findings, ["SKILL.md:3:14 AS-04 an unquoted value contains `: `"]);
    }

    #[test]
    fn se_14_markdown_limit_accepts_the_maximum_and_rejects_one_more() {
        let limits = Limits { markdown_bytes: 5, ..Limits::default() };
        assert!(read("SKILL.md", "a", b"12345", &limits).0.is_some());
        assert!(read("SKILL.md", "a", b"123456", &limits).0.is_none());
    }

    #[test]
    fn as_02_invalid_name_or_description_is_a_warning() {
        for (name, message) in [
            ("b", "the name `b` differs from the directory `a`"),
            ("A", "the name `A` contains `A`"),
            ("-a", "the name `-a` starts with a hyphen"),
            ("a--b", "the name `a--b` has two hyphens in a row"),
        ] {
            let (_, findings) =
                read_with_findings(&format!("---\nname: {name}\ndescription: x\n---\n"));
            assert_eq!(findings, [format!("SKILL.md:2:7 AS-02 {message}")]);
        }
        let (_, findings) =
            read_with_findings(&format!("---\nname: a\ndescription: {}\n---\n", "x".repeat(1025)));
        assert_eq!(
            findings,
            ["SKILL.md:3:14 AS-02 the description has 1025 characters; the maximum is 1024"]
        );
        let (_, findings) =
            read_with_findings(&format!("---\nname: a\ndescription: {}\n---\n", "x".repeat(1024)));
        assert_eq!(findings, [""; 0]);
    }
}
