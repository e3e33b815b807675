//! The catalog `.skills/SKILLS.md`: one sorted line per skill, exactly `<name>: <description>`.

use std::collections::HashMap;
use std::ops::Range;

use crate::checks::SB_02;
use crate::printable::printable;
use crate::report::Report;
use crate::skill::SkillName;

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

impl WorkspaceCatalog {
    pub fn get(&self, name: &str) -> Option<&CatalogLine> {
        self.lines.iter().find(|line| line.name.as_str() == name)
    }
}

/// Parses a catalog. Invalid lines are reported and left out.
pub fn read_catalog(file: &str, text: &str) -> (WorkspaceCatalog, Report) {
    let mut report = Report::new(file, text);
    let mut catalog = WorkspaceCatalog::default();
    let mut seen: HashMap<SkillName, usize> = HashMap::new();
    let mut at = 0;
    for whole in text.split_inclusive('\n') {
        let line = whole.trim_end_matches('\n').trim_end_matches('\r');
        let span = at..at + line.len();
        at += whole.len();
        let Some((name, description)) = line.split_once(": ") else {
            report
                .error(&SB_02, span, "it is not a line of the form `<name>: <description>`")
                .help("`sp bag sync` writes the catalog anew");
            continue;
        };
        match SkillName::new(name) {
            Ok(name) => {
                if seen.insert(name.clone(), span.start).is_some() {
                    let message = format!("`{name}` is listed a second time");
                    report
                        .error(&SB_02, span.start..span.start + name.as_str().len(), message)
                        .help("remove one of the lines");
                }
                catalog.lines.push(CatalogLine { name, description: description.into(), span });
            }
            Err(why) => {
                report
                    .error(
                        &SB_02,
                        span.start..span.start + name.len(),
                        format!("the name `{}` {why}", printable(name)),
                    )
                    .help("use 1 to 64 characters of a-z, 0-9 and single hyphens");
            }
        }
    }
    let unsorted = catalog.lines.windows(2).find(|pair| pair[0].name > pair[1].name);
    if let Some(pair) = unsorted {
        let name = pair[1].name.as_str();
        report
            .warning(
                &SB_02,
                pair[1].span.start..pair[1].span.start + name.len(),
                format!("`{name}` stands behind `{}`", pair[0].name),
            )
            .help("sort the lines by name; `sp bag sync` does it");
    }
    (catalog, report)
}

/// Reports every difference between a catalog and the actual skills.
pub fn check_catalog(
    catalog: &WorkspaceCatalog,
    skills: &[(SkillName, String)],
    report: &mut Report,
) {
    let help = "`sp bag sync` writes the catalog anew";
    for line in &catalog.lines {
        match skills.iter().find(|(name, _)| *name == line.name) {
            None => {
                report
                    .error(
                        &SB_02,
                        line.span.clone(),
                        format!("there is no valid skill `.skills/{}/`", line.name),
                    )
                    .help(help);
            }
            Some((_, description)) if *description != line.description => {
                let start = line.span.end - line.description.len();
                report
                    .error(
                        &SB_02,
                        start..line.span.end,
                        format!("the description is not that of `.skills/{}/SKILL.md`", line.name),
                    )
                    .help(help);
            }
            Some(_) => {}
        }
    }
    let end = report.text.len();
    for (name, _) in skills.iter().filter(|(name, _)| catalog.get(name.as_str()).is_none()) {
        report.error(&SB_02, end..end, format!("`{name}` is not listed")).help(help);
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

    fn findings(text: &str, skills: &[(SkillName, String)]) -> Vec<String> {
        let (catalog, mut report) = read_catalog("SKILLS.md", text);
        check_catalog(&catalog, skills, &mut report);
        report
            .findings
            .iter()
            .map(|f| format!("{} {}", report.format_location(f), f.message))
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
                "SKILLS.md:1:1 it is not a line of the form `<name>: <description>`",
                "SKILLS.md:4:1 `a` is listed a second time",
                "SKILLS.md:6:1 the name `Bad` has `B` in it",
                "SKILLS.md:3:1 `a` stands behind `b`",
                "SKILLS.md:2:4 the description is not that of `.skills/b/SKILL.md`",
                "SKILLS.md:5:1 there is no valid skill `.skills/old/`",
                "SKILLS.md:7:1 `new` is not listed",
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
                descriptions.iter().enumerate().map(|(at, text)| skill(&format!("s{at}"), text)).collect();
            let (catalog, report) = read_catalog("f", &write_catalog(&skills));
            prop_assert!(report.findings.is_empty());
            let read: Vec<_> = catalog.lines.into_iter().map(|line| (line.name, line.description)).collect();
            prop_assert_eq!(read, skills);
        }
    }
}
