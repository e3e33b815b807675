//! Findings as GitHub workflow commands, which annotate a pull request.

use super::{FileFindings, LocatedFinding};
use crate::printable::{printable, printable_lines};

/// Formats a finding as a workflow command without a line break. `base` is the directory that paths
/// are relative to.
pub fn github_annotation(
    file: &FileFindings,
    placed: &LocatedFinding,
    base: &std::path::Path,
) -> String {
    let finding = &placed.finding;
    let kind = match finding.severity {
        super::Severity::Note => "notice",
        other => other.as_str(),
    };
    let path = file.path.strip_prefix(base).unwrap_or(&file.path).to_string_lossy();
    let mut command = format!("::{kind} file={}", escape_property(&printable(&path)));
    if let Some(place) = &placed.location {
        command += &format!(",line={},col={}", place.start.line, place.start.column);
        command += &format!(",endLine={}", place.end.line);
        // GitHub ignores an end column on another line.
        if place.end.line == place.start.line {
            command += &format!(",endColumn={}", place.end.column);
        }
    }
    command += &format!(",title={}", escape_property(finding.check.id));
    let help = finding.help.as_ref().map(|help| format!("\nhelp: {help}")).unwrap_or_default();
    format!("{command}::{}", escape_data(&printable_lines(&format!("{}{help}", finding.message))))
}

fn escape_data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn escape_property(text: &str) -> String {
    escape_data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Report;
    use crate::skill::rules::AS_02;
    use std::path::Path;

    #[test]
    fn workflow_command_escapes_special_characters() {
        let mut report = Report::new("x", "name: a\n");
        report.warning(&AS_02, 6..7, "100%: a,b\n::error::x").help("fix it");
        let file = FileFindings {
            file: "x".into(),
            path: "/w/a,b:c/SKILL.md".into(),
            findings: report.located_findings(),
            digest: None,
        };
        assert_eq!(
            github_annotation(&file, &file.findings[0], Path::new("/w")),
            "::warning file=a%2Cb%3Ac/SKILL.md,line=1,col=7,endLine=1,endColumn=8,title=AS-02::100%25: a,b%0A::error::x%0Ahelp: fix it"
        );
    }
}
