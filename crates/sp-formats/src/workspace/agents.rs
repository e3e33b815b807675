//! `AGENTS.md` of a source: it names itself, says where the skills are, and what else must be done.

use crate::checks::SB_12;
use crate::markdown::sections;
use crate::report::Report;

/// What a source says of itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AgentsFile {
    /// What must be done besides copying, in the source's own words. Nothing of it is ever run.
    pub install_steps: Option<String>,
}

/// Reads the `AGENTS.md` of a source.
pub fn read_agents_file(file: &str, text: &str) -> (AgentsFile, Report) {
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
    (AgentsFile { install_steps: find_install_steps(text) }, report)
}

/// The text of every section about installing that asks for something, and every line that does.
fn find_install_steps(text: &str) -> Option<String> {
    let text: String =
        text.lines().map(|line| format!("{}\n", to_markdown_heading(line))).collect();
    let asked = sections(&text, 0)
        .into_iter()
        .filter(|section| is_about_installing(&section.title))
        .map(|section| text[section.body].trim().to_owned())
        .filter(|body| !asks_for_nothing(body));
    let asked: Vec<String> = asked.chain(text.lines().filter_map(install_step_line)).collect();
    (!asked.is_empty()).then(|| asked.join("\n\n"))
}

/// `<h2>Set-up</h2>` as `## Set-up`.
fn to_markdown_heading(line: &str) -> String {
    let level = line.trim().strip_prefix("<h").and_then(|rest| rest.chars().next()?.to_digit(10));
    match (level, line.find('>'), line.find("</h")) {
        (Some(level @ 1..=6), Some(start), Some(end)) if start < end => {
            format!("{} {}", "#".repeat(level as usize), &line[start + 1..end])
        }
        _ => line.into(),
    }
}

/// `Extra installation steps: run make.`
fn install_step_line(line: &str) -> Option<String> {
    let (label, rest) = line.split_once(':')?;
    let label = label.to_ascii_lowercase();
    let about = label.ends_with("installation steps") || label.ends_with("extra steps");
    (about && !asks_for_nothing(rest.trim())).then(|| line.trim().to_owned())
}

fn is_about_installing(title: &str) -> bool {
    let title = title.to_ascii_lowercase();
    ["install", "setup", "set-up", "set up", "extra step", "prerequisite", "requirement"]
        .iter()
        .any(|word| title.contains(word))
}

fn asks_for_nothing(body: &str) -> bool {
    let body = body.to_ascii_lowercase();
    let first = body.lines().next().unwrap_or_default().trim_matches(['-', '*', ' ', '.', '_']);
    body.is_empty()
        || body.lines().count() == 1
            && (matches!(first, "none" | "nothing" | "n/a") || is_denial(first))
}

/// `No extra steps are needed.`
fn is_denial(line: &str) -> bool {
    let no = line.strip_prefix("there are ").unwrap_or(line).strip_prefix("no ");
    no.is_some_and(|what| {
        ["step", "extra", "additional", "further", "install", "setup"]
            .iter()
            .any(|word| what.starts_with(word))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sb_12_a_source_names_itself_and_its_skills() {
        let good = "# SKILLBAG\n\nSkills live under `.skills/`; `.skills/SKILLS.md` lists them.\n";
        let (agents, report) = read_agents_file("AGENTS.md", good);
        assert_eq!((agents.install_steps, report.findings.len()), (None, 0));
        let (_, report) = read_agents_file("AGENTS.md", "# Skills\n");
        let messages: Vec<&str> =
            report.findings.iter().map(|finding| finding.message.as_str()).collect();
        assert_eq!(messages.len(), 3);
        assert!(!report.is_usable());
    }

    #[test]
    fn sb_13_extra_steps_are_the_words_of_the_source() {
        let with = |body: &str| {
            read_agents_file(
                "f",
                &format!("# SKILLBAG\n## Extra installation steps\n{body}\n# More\n"),
            )
            .0
            .install_steps
        };
        for nothing in
            ["", "None.", "- none", "No extra steps are needed.", "There are no extra steps."]
        {
            assert_eq!(with(nothing), None, "{nothing}");
        }
        assert_eq!(
            with("1. Install pandoc.\n2. Sing.").as_deref(),
            Some("1. Install pandoc.\n2. Sing.")
        );
    }
}
