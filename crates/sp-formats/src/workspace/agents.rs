//! `AGENTS.md` of a source: its name, where its skills are, and additional installation steps.

use crate::markdown::sections;
use crate::report::Report;
use crate::workspace::rules::SB_12;

/// The content of a source's `AGENTS.md`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AgentsFile {
    /// Additional installation steps in the source's own words. They are shown, never run.
    pub install_steps: Option<String>,
}

pub fn read_agents_file(file: &str, text: &str) -> (AgentsFile, Report) {
    let mut report = Report::new(file, text);
    if !text.contains("SKILLBAG") {
        report
            .error(&SB_12, 0..0, "it does not contain the word `SKILLBAG`")
            .help("add a line such as: This repository is a SKILLBAG source.");
    }
    if !text.contains(".skills/") {
        report
            .error(&SB_12, 0..0, "it does not mention the directory `.skills/`")
            .help("add a line such as: Its skills live under .skills/.");
    }
    if !text.contains(".skills/SKILLS.md") {
        report
            .warning(&SB_12, 0..0, "it does not mention the catalog `.skills/SKILLS.md`")
            .help("add a line such as: The catalog is .skills/SKILLS.md.");
    }
    (AgentsFile { install_steps: find_install_steps(text) }, report)
}

/// Returns every section and line about installation that asks for something.
fn find_install_steps(text: &str) -> Option<String> {
    let text: String =
        text.lines().map(|line| format!("{}\n", to_markdown_heading(line))).collect();
    let steps = sections(&text, 0)
        .into_iter()
        .filter(|section| is_about_installing(&section.title))
        .map(|section| text[section.body].trim().to_owned())
        .filter(|body| !asks_for_nothing(body));
    let steps: Vec<String> = steps.chain(text.lines().filter_map(install_step_line)).collect();
    (!steps.is_empty()).then(|| steps.join("\n\n"))
}

/// Converts `<h2>Set-up</h2>` to `## Set-up`.
fn to_markdown_heading(line: &str) -> String {
    let level = line.trim().strip_prefix("<h").and_then(|rest| rest.chars().next()?.to_digit(10));
    match (level, line.find('>'), line.find("</h")) {
        (Some(level @ 1..=6), Some(start), Some(end)) if start < end => {
            format!("{} {}", "#".repeat(level as usize), &line[start + 1..end])
        }
        _ => line.into(),
    }
}

/// Parses a line such as `Extra installation steps: run make.`
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

/// Whether a line denies steps, such as `No extra steps are needed.`
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
    fn sb_12_source_states_its_name_and_skills() {
        let good = "# SKILLBAG\n\nSkills live under `.skills/`; `.skills/SKILLS.md` lists them.\n";
        let (agents, report) = read_agents_file("AGENTS.md", good);
        assert_eq!((agents.install_steps, report.findings.len()), (None, 0));
        let (_, report) = read_agents_file("AGENTS.md", "# Skills\n");
        assert_eq!(report.findings.len(), 3);
        assert!(!report.is_usable());
    }

    #[test]
    fn sb_13_install_steps_are_quoted_from_the_source() {
        let install_steps_of = |body: &str| {
            read_agents_file(
                "f",
                &format!("# SKILLBAG\n## Extra installation steps\n{body}\n# More\n"),
            )
            .0
            .install_steps
        };
        for body in
            ["", "None.", "- none", "No extra steps are needed.", "There are no extra steps."]
        {
            assert_eq!(install_steps_of(body), None, "{body}");
        }
        assert_eq!(
            install_steps_of("1. Install pandoc.\n2. Sing.").as_deref(),
            Some("1. Install pandoc.\n2. Sing.")
        );
    }
}
