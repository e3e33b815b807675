//! The catalog `.skills/SKILLS.md`: one sorted line per skill, exactly `<name>: <description>`.

use std::collections::HashSet;
use std::ops::Range;

use crate::printable::printable;
use crate::report::Report;
use crate::skill::SkillName;
use crate::workspace::rules::SB_02;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WorkspaceCatalog {
    /// In file order.
    pub lines: Vec<CatalogLine>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CatalogLine {
    pub name: SkillName,
    pub description: String,
    pub span: Range<usize>,
}

impl CatalogLine {
    fn name_span(&self) -> Range<usize> {
        self.span.start..self.span.start + self.name.as_str().len()
    }
}

impl WorkspaceCatalog {
    pub fn get(&self, name: &str) -> Option<&CatalogLine> {
        self.lines.iter().find(|line| line.name.as_str() == name)
    }
}

/// Parses a catalog. Invalid lines are reported and left out.
pub fn read_catalog(file: &str, text: &str) -> (WorkspaceCatalog, Report) {
    let mut report = Report::new(file, text);
    let mut catalog = WorkspaceCatalog::default();
    let mut seen: HashSet<SkillName> = HashSet::new();
    let mut offset = 0;
    for raw_line in text.split_inclusive('\n') {
        let content = raw_line.trim_end_matches('\n').trim_end_matches('\r');
        let span = offset..offset + content.len();
        offset += raw_line.len();
        let Some(line) = read_catalog_line(content, span, &mut report) else { continue };
        if !seen.insert(line.name.clone()) {
            let message = format!("duplicate skill `{}`", line.name);
            report.error(&SB_02, line.name_span(), message).help("remove one of the lines");
        }
        catalog.lines.push(line);
    }
    if let Some(pair) = catalog.lines.windows(2).find(|pair| pair[0].name > pair[1].name) {
        let message = format!("`{}` comes after `{}`", pair[1].name, pair[0].name);
        report
            .warning(&SB_02, pair[1].name_span(), message)
            .help("run `sp bag sync` to sort the lines by name");
    }
    (catalog, report)
}

fn read_catalog_line(line: &str, span: Range<usize>, report: &mut Report) -> Option<CatalogLine> {
    let Some((name, description)) = line.split_once(": ") else {
        report
            .error(&SB_02, span, "the line does not have the form `<name>: <description>`")
            .help("run `sp bag sync` to regenerate the catalog");
        return None;
    };
    match SkillName::new(name) {
        Ok(name) => Some(CatalogLine { name, description: description.into(), span }),
        Err(why) => {
            let message = format!("the name `{}` {why}", printable(name));
            report
                .error(&SB_02, span.start..span.start + name.len(), message)
                .help("use 1 to 64 characters of a-z, 0-9 and single hyphens");
            None
        }
    }
}

/// Reports every difference between a catalog and the actual skills.
pub fn check_catalog(
    catalog: &WorkspaceCatalog,
    skills: &[(SkillName, String)],
    report: &mut Report,
) {
    let help = "run `sp bag sync` to regenerate the catalog";
    for line in &catalog.lines {
        match skills.iter().find(|(name, _)| *name == line.name) {
            None => {
                let message = format!("no valid skill in `.skills/{}/`", line.name);
                report.error(&SB_02, line.span.clone(), message).help(help);
            }
            Some((_, description)) if *description != line.description => {
                let start = line.span.end - line.description.len();
                let message =
                    format!("the description differs from `.skills/{}/SKILL.md`", line.name);
                report.error(&SB_02, start..line.span.end, message).help(help);
            }
            Some(_) => {}
        }
    }
    let end = report.text.len();
    for (name, _) in skills.iter().filter(|(name, _)| catalog.get(name.as_str()).is_none()) {
        report.error(&SB_02, end..end, format!("the skill `{name}` is missing")).help(help);
    }
}

/// Renders the catalog of these skills.
pub fn write_catalog(skills: &[(SkillName, String)]) -> String {
    let mut sorted: Vec<&(SkillName, String)> = skills.iter().collect();
    sorted.sort();
    sorted.iter().map(|(name, description)| format!("{name}: {description}\n")).collect()
}

/// Returns a description without the trailing line break of a block scalar, or `None` if it has
/// more than one line.
pub fn one_line(description: &str) -> Option<&str> {
    let line = description.trim_end_matches(['\n', '\r']);
    (!line.contains(['\n', '\r'])).then_some(line)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn skill(name: &str, description: &str) -> (SkillName, String) {
        (SkillName::new(name).unwrap(), description.into())
    }

    /// Returns the parts of a message in backticks.
    fn quoted(message: &str) -> String {
        message.split('`').skip(1).step_by(2).collect::<Vec<_>>().join(" ")
    }

    fn findings(text: &str, skills: &[(SkillName, String)]) -> Vec<String> {
        let (catalog, mut report) = read_catalog("SKILLS.md", text);
        check_catalog(&catalog, skills, &mut report);
        report
            .findings
            .iter()
            .map(|finding| {
                let location = report.format_location(finding);
                format!("{location} {} {}", finding.check.id, quoted(&finding.message))
            })
            .collect()
    }

    #[test]
    fn sb_02_catalog_that_matches_its_skills_has_no_findings() {
        let longest = "a".repeat(64);
        let skills = [
            skill("b", "Does: it, \"well\", it's said"),
            skill("c", "trailing spaces  "),
            skill("d", "émoji 🚀 日本"),
            skill(&longest, "x"),
        ];
        let text = write_catalog(&skills);
        assert_eq!(findings(&text, &skills), [""; 0]);
        assert!(text.starts_with(&format!("{longest}: x\nb: ")));
        assert_eq!(findings(&text.replace('\n', "\r\n"), &skills), [""; 0]);
    }

    #[test]
    fn sb_02_every_difference_is_reported() {
        let skills = [skill("a", "one"), skill("b", "two"), skill("new", "three")];
        assert_eq!(
            findings("# Skills\nb: 2\na: one\na: one\nold: gone\nBad: x\n", &skills),
            [
                "SKILLS.md:1:1 SB-02 <name>: <description>",
                "SKILLS.md:4:1 SB-02 a",
                "SKILLS.md:6:1 SB-02 Bad B",
                "SKILLS.md:3:1 SB-02 a b",
                "SKILLS.md:2:4 SB-02 .skills/b/SKILL.md",
                "SKILLS.md:5:1 SB-02 .skills/old/",
                "SKILLS.md:7:1 SB-02 new",
            ]
        );
    }

    #[test]
    fn sb_02_description_is_one_line() {
        assert_eq!(one_line("folded\n"), Some("folded"));
        assert_eq!(one_line("spaces  "), Some("spaces  "));
        assert_eq!(one_line("two\nlines\n"), None);
    }

    proptest! {
        #[test]
        fn sb_02_any_one_line_description_round_trips(descriptions in prop::collection::vec("[^\r\n]{1,40}", 1..6)) {
            let skills: Vec<_> =
                descriptions.iter().enumerate().map(|(index, text)| skill(&format!("s{index}"), text)).collect();
            let (catalog, report) = read_catalog("f", &write_catalog(&skills));
            prop_assert!(report.findings.is_empty());
            let read: Vec<_> = catalog.lines.into_iter().map(|line| (line.name, line.description)).collect();
            prop_assert_eq!(read, skills);
        }
    }
}
