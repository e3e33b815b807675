//! A skill in a workspace, which must meet stricter rules than other skills.

use sp_tree::Limits;

use super::catalog::one_line;
use super::dependencies::{SkillDependency, read_skill_dependencies};
use super::parameters::{SkillParameters, read_parameters};
use super::tags::{SkillTags, parse_tags};
use crate::printable::printable;
use crate::report::Report;
use crate::skill::{self, SkillName};
use crate::workspace::rules::{SB_04, SB_23};

#[derive(Debug, Clone, PartialEq)]
pub struct WorkspaceSkill {
    /// Equal to the name of its directory.
    pub name: SkillName,
    /// The description as it is in the catalog.
    pub description: String,
    /// The whole text of its `SKILL.md`.
    pub text: String,
    pub body_start: usize,
    pub dependencies: Vec<SkillDependency>,
    pub parameters: SkillParameters,
}

impl WorkspaceSkill {
    /// The Markdown body.
    pub fn instructions(&self) -> &str {
        self.text[self.body_start..].trim()
    }

    /// The tags in its description.
    pub fn tags(&self) -> SkillTags {
        parse_tags(&self.description)
    }

    pub fn catalog_line(&self) -> (SkillName, String) {
        (self.name.clone(), self.description.clone())
    }
}

/// In an unquoted description, YAML reads ` #run/always` as a comment.
fn report_commented_tag(text: &str, description: &std::ops::Range<usize>, report: &mut Report) {
    let rest = text[description.end.min(text.len())..].lines().next().unwrap_or_default();
    let start = description.end + (rest.len() - rest.trim_start().len());
    if rest.trim_start().starts_with('#') && !parse_tags(rest).0.is_empty() {
        report
            .warning(&SB_23, start..start + rest.trim().len(), "YAML takes the tags for a comment")
            .help("put the whole description in quotes");
    }
}

/// Reads the `SKILL.md` of a directory in a workspace. It is `Some` exactly if the report has no
/// error.
pub fn read_workspace_skill(
    file: &str,
    folder: &str,
    bytes: &[u8],
    limits: &Limits,
) -> (Option<WorkspaceSkill>, Report) {
    let (skill, mut report) = skill::read(file, folder, bytes, limits);
    let Some(skill) = skill else {
        return (None, report);
    };
    let text = String::from_utf8_lossy(bytes).into_owned();
    let dependencies = read_skill_dependencies(&text, skill.body_start, limits, &mut report);
    let parameters = read_parameters(&text, skill.body_start, limits, &mut report);
    let name = read_name(skill.name.as_deref().unwrap_or_default(), folder, &mut report);
    report_commented_tag(&text, &skill.description_span, &mut report);
    let description = skill.description.as_deref().map(one_line);
    if description == Some(None) {
        report
            .error(&SB_04, skill.description_span.clone(), "the description has more than one line")
            .help("write it on one line, or fold it with `>`");
    }
    report.sort();
    let required = name.zip(description.flatten().map(Into::into));
    let skill = required.filter(|_| report.is_usable()).map(|(name, description)| WorkspaceSkill {
        name,
        description,
        body_start: skill.body_start,
        text,
        dependencies,
        parameters,
    });
    (skill, report)
}

/// Checks the name of a skill, which must be that of its folder. A missing one is reported already.
fn read_name(name: &str, folder: &str, report: &mut Report) -> Option<SkillName> {
    let parsed = SkillName::new(name);
    if name.is_empty() {
        return parsed.ok();
    }
    if name != folder {
        let message = format!("the skill is called `{}`, and its folder is not", printable(name));
        report
            .error(&SB_04, 0..0, message)
            .help(format!("call both the same: the folder is `{}`", printable(folder)));
    } else if let Err(why) = &parsed {
        report
            .error(&SB_04, 0..0, format!("the name `{}` {why}", printable(name)))
            .help("use 1 to 64 characters of a-z, 0-9 and single hyphens");
    }
    parsed.ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (Option<WorkspaceSkill>, Vec<String>) {
        let (skill, report) =
            read_workspace_skill("SKILL.md", "tidy-up", text.as_bytes(), &Limits::default());
        let format_finding = |finding: &crate::Finding| {
            format!("{} {} {}", report.format_location(finding), finding.check.id, finding.message)
        };
        (skill, report.findings.iter().map(format_finding).collect())
    }

    #[test]
    fn sb_04_skill_has_the_name_of_its_directory_and_a_one_line_description() {
        let (skill, findings) =
            read("---\nname: tidy-up\ndescription: >\n  Removes\n  dead code.\n---\n\nSweep.\n");
        let skill = skill.unwrap();
        assert_eq!((skill.name.as_str(), &*skill.description), ("tidy-up", "Removes dead code."));
        assert_eq!((skill.instructions(), findings), ("Sweep.", Vec::new()));
        for (text, expected) in [
            (
                "---\nname: tidy\ndescription: x\n---\n",
                "SB-04 the skill is called `tidy`, and its folder is not",
            ),
            (
                "---\nname: tidy-up\ndescription: |\n  a\n  b\n---\n",
                "SB-04 the description has more than one line",
            ),
            ("---\ndescription: x\n---\n", "AS-02 the frontmatter has no `name`"),
            ("---\nname: tidy-up\n---\n", "AS-02 the frontmatter has no `description`"),
            ("Sweep.\n", "AS-01 it has no frontmatter"),
        ] {
            let (skill, findings) = read(text);
            assert_eq!(skill, None, "{text}");
            assert!(
                findings.iter().any(|finding| finding.ends_with(expected)),
                "{text}: {findings:?}"
            );
        }
    }

    #[test]
    fn sb_23_tag_that_yaml_reads_as_a_comment_is_a_warning() {
        let (skill, findings) = read("---\nname: tidy-up\ndescription: Sweeps. #run/always\n---\n");
        assert!(!skill.unwrap().tags().runs_always());
        assert_eq!(findings, ["SKILL.md:3:22 SB-23 YAML takes the tags for a comment"]);
    }
}
