//! `AGENTS.md` of a source: it names itself, says where the skills are, and what else must be done.

use super::sections::sections;
use crate::checks::SB_12;
use crate::report::Report;

/// What a source says of itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AgentsFile {
    /// What must be done besides copying, in the source's own words. Nothing of it is ever run.
    pub steps: Option<String>,
}

/// Reads the `AGENTS.md` of a source.
pub fn read_agents(file: &str, text: &str) -> (AgentsFile, Report) {
    let mut report = Report::new(file, text);
    if !text.contains("SKILLBAG") {
        report
            .error(&SB_12, 0..0, "it does not name itself a `SKILLBAG`")
            .help("write a line such as: This repository is a SKILLBAG source.");
    }
    if !text.contains(".skills/") {
        report
            .error(&SB_12, 0..0, "it does not say that the skills live under `.skills/`")
            .help("write a line such as: Its skills live under `.skills/`.");
    }
    if !text.contains(".skills/SKILLS.md") {
        report
            .warning(&SB_12, 0..0, "it does not mention the catalog `.skills/SKILLS.md`")
            .help("write a line such as: `.skills/SKILLS.md` lists them.");
    }
    (AgentsFile { steps: steps(text) }, report)
}

/// The text of every section about installing that asks for something.
fn steps(text: &str) -> Option<String> {
    let asked: Vec<&str> = sections(text, 0)
        .into_iter()
        .filter(|section| is_about_installing(&section.title))
        .map(|section| text[section.body].trim())
        .filter(|body| !says_nothing(body))
        .collect();
    (!asked.is_empty()).then(|| asked.join("\n\n"))
}

fn is_about_installing(title: &str) -> bool {
    let title = title.to_ascii_lowercase();
    ["install", "setup", "set-up", "set up"].iter().any(|word| title.contains(word))
}

fn says_nothing(body: &str) -> bool {
    let body = body.to_ascii_lowercase();
    let first = body.lines().next().unwrap_or_default().trim_matches(['-', '*', ' ', '.', '_']);
    body.is_empty()
        || body.lines().count() == 1
            && (matches!(first, "none" | "nothing" | "n/a")
                || first.starts_with("no ")
                || first.starts_with("there are no "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sb_12_a_source_names_itself_and_its_skills() {
        let good = "# SKILLBAG\n\nSkills live under `.skills/`; `.skills/SKILLS.md` lists them.\n";
        let (agents, report) = read_agents("AGENTS.md", good);
        assert_eq!((agents.steps, report.findings.len()), (None, 0));
        let (_, report) = read_agents("AGENTS.md", "# Skills\n");
        let messages: Vec<&str> = report.findings.iter().map(|finding| finding.message.as_str()).collect();
        assert_eq!(messages.len(), 3);
        assert!(!report.is_usable());
    }

    #[test]
    fn sb_13_extra_steps_are_the_words_of_the_source() {
        let with = |body: &str| {
            read_agents("f", &format!("# SKILLBAG\n## Extra installation steps\n{body}\n# More\n")).0.steps
        };
        for nothing in ["", "None.", "- none", "No extra steps are needed.", "There are no extra steps."] {
            assert_eq!(with(nothing), None, "{nothing}");
        }
        assert_eq!(with("1. Install pandoc.\n2. Sing.").as_deref(), Some("1. Install pandoc.\n2. Sing."));
    }
}
