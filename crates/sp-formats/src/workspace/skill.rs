//! A skill in a workspace, which must meet stricter rules than other skills.

use sp_tree::Limits;

use super::catalog::one_line;
use super::dependencies::{SkillDependency, read_skill_dependencies};
use super::parameters::{SkillParameters, read_parameters};
use super::tags::{SkillTags, parse_tags};
use crate::printable::printable;
use crate::report::Report;
use crate::skill::{self, SkillMetadata, SkillName};
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

/// Returns the description with its tags, also with those that YAML reads as a comment because the
/// description is not quoted. Reports the latter.
fn read_description(skill: &SkillMetadata, text: &str, report: &mut Report) -> Option<String> {
    let description = skill.description.as_ref()?;
    let Some(tags) = &skill.commented_tags else { return Some(description.clone()) };
    let span = skill.description_span.start..tags.end;
    let quoted = format!("'{}'", text[span.clone()].replace('\'', "''"));
    report
        .warning(&SB_23, tags.clone(), "YAML reads the tags as a comment")
        .help("quote the whole description; until then, `sp` reads the tags as part of it")
        .fix(span, quoted);
    Some(format!("{description}{}", &text[skill.description_span.end..tags.end]))
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
    let dependencies = read_skill_dependencies(&skill, &text, limits, &mut report);
    let parameters = read_parameters(&text, skill.body_start, limits, &mut report);
    let name = read_name(skill.name.as_deref().unwrap_or_default(), folder, &mut report);
    let description = read_description(&skill, &text, &mut report);
    let description = description.as_deref().map(one_line);
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
        let message = format!("the name `{}` differs from the name of the folder", printable(name));
        report
            .error(&SB_04, 0..0, message)
            .help(format!("use the same name for both: the folder is `{}`", printable(folder)));
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

    fn fix(text: &str) -> String {
        let (_, report) =
            read_workspace_skill("SKILL.md", "tidy-up", text.as_bytes(), &Limits::default());
        let fixes = report.findings.iter().flat_map(|finding| finding.fix.clone()).collect();
        crate::report::apply_edits(text, fixes)
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
                "SB-04 the name `tidy` differs from the name of the folder",
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
    fn sb_23_tags_after_an_unquoted_description_are_part_of_it() {
        let text = "---\nname: tidy-up\ndescription: It's clean.  #run/always #use/b # now\n---\n";
        let (skill, findings) = read(text);
        let skill = skill.unwrap();
        assert_eq!(&*skill.description, "It's clean.  #run/always #use/b");
        assert!(skill.tags().runs_always());
        assert_eq!(findings, ["SKILL.md:3:27 SB-23 YAML reads the tags as a comment"]);
        let fixed = fix(text);
        assert_eq!(
            fixed,
            "---\nname: tidy-up\ndescription: 'It''s clean.  #run/always #use/b' # now\n---\n"
        );
        let (fixed, findings) = read(&fixed);
        assert_eq!((fixed.unwrap().description, findings), (skill.description, Vec::new()));
    }

    #[test]
    fn sb_23_quoting_a_description_keeps_its_tags() {
        let text = "---\nname: tidy-up\ndescription: Use when: late. #run/always\n---\n";
        let (skill, findings) = read(text);
        assert_eq!(&*skill.unwrap().description, "Use when: late. #run/always");
        assert_eq!(findings, ["SKILL.md:3:14 AS-04 an unquoted value contains `: `"]);
        assert_eq!(
            fix(text),
            "---\nname: tidy-up\ndescription: 'Use when: late. #run/always'\n---\n"
        );
    }

    #[test]
    fn sb_23_comment_after_a_quoted_description_is_a_comment() {
        let (skill, findings) =
            read("---\nname: tidy-up\ndescription: 'Sweeps.' #run/always\n---\n");
        assert_eq!((&*skill.unwrap().description, findings), ("Sweeps.", Vec::new()));
    }

    #[test]
    fn sb_11_frontmatter_may_declare_dependencies() {
        let head = "---\nname: tidy-up\ndescription: x\ndependencies:\n";
        let names = |skill: Option<WorkspaceSkill>| -> Vec<String> {
            let dependencies = skill.unwrap().dependencies;
            dependencies.iter().map(|dependency| dependency.name.to_string()).collect()
        };
        let (skill, findings) = read(&format!(
            "{head}  - name: a\n    source: git@github.com:acme/skills.git\n    version: main\n---\n\
             ## Dependencies\n```yaml\n- name: b\n```\n"
        ));
        assert_eq!(names(skill), ["a", "b"]);
        assert!(findings.iter().all(|finding| finding.contains("AS-05")), "{findings:?}");
        // Other tools have a field of this name too.
        let (skill, findings) = read(&format!("{head}  - pandas>=2\n---\n"));
        assert!(names(skill).is_empty());
        assert_eq!(findings[1], "SKILL.md:5:3 SB-11 `dependencies` does not list skills");
        let (skill, findings) = read(&format!("{head}  - name: a_b\n---\n"));
        assert_eq!((skill, findings.len()), (None, 2));
    }
}
