//! Findings as SARIF 2.1.0, which code scanning services read.

use std::path::Path;

use serde::Serialize;

use super::{FileFindings, FindingLocation, LocatedFinding};
use crate::percent::{self, FILE_PATH};
use crate::rules::CheckRule;
use crate::web_url::has_web_scheme;

#[derive(Debug, Serialize)]
pub struct SarifLog {
    #[serde(rename = "$schema")]
    schema: &'static str,
    version: &'static str,
    runs: [SarifRun; 1],
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct SarifRun {
    tool: SarifTool,
    column_kind: &'static str,
    results: Vec<SarifResult>,
}

#[derive(Debug, Serialize)]
struct SarifTool {
    driver: SarifDriver,
}

#[derive(Debug, Serialize)]
struct SarifDriver {
    name: &'static str,
    version: &'static str,
    rules: Vec<SarifRule>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct SarifRule {
    id: &'static str,
    short_description: SarifText,
    full_description: SarifText,
    help: SarifText,
}

#[derive(Debug, Serialize)]
struct SarifText {
    text: String,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct SarifResult {
    rule_id: &'static str,
    rule_index: usize,
    level: &'static str,
    message: SarifText,
    locations: [SarifLocation; 1],
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct SarifLocation {
    physical_location: SarifPhysicalLocation,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct SarifPhysicalLocation {
    artifact_location: SarifArtifactLocation,
    #[serde(skip_serializing_if = "Option::is_none")]
    region: Option<SarifRegion>,
}

#[derive(Debug, Serialize)]
struct SarifArtifactLocation {
    uri: String,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct SarifRegion {
    start_line: usize,
    start_column: usize,
    end_line: usize,
    end_column: usize,
}

/// Converts findings to a SARIF log. `rules` are all rules that a finding can report; `base` is the
/// directory that paths are relative to.
pub fn sarif_log(files: &[FileFindings], rules: &[&CheckRule], base: &Path) -> SarifLog {
    let results = files.iter().flat_map(|file| {
        let uri = path_to_uri(&file.path, base);
        file.findings.iter().map(move |placed| sarif_result(placed, rules, &uri))
    });
    let driver = SarifDriver {
        name: "sp",
        version: env!("CARGO_PKG_VERSION"),
        rules: rules.iter().map(|rule| sarif_rule(rule)).collect(),
    };
    let run = SarifRun {
        tool: SarifTool { driver },
        column_kind: "unicodeCodePoints",
        results: results.collect(),
    };
    SarifLog {
        schema: "https://json.schemastore.org/sarif-2.1.0.json",
        version: "2.1.0",
        runs: [run],
    }
}

fn sarif_rule(rule: &CheckRule) -> SarifRule {
    let text = |text: &str| SarifText { text: text.into() };
    SarifRule {
        id: rule.id,
        short_description: text(rule.title),
        full_description: text(rule.what),
        help: text(rule.why),
    }
}

fn sarif_result(placed: &LocatedFinding, rules: &[&CheckRule], uri: &str) -> SarifResult {
    let finding = &placed.finding;
    let help = finding.help.as_ref().map(|help| format!(": {help}")).unwrap_or_default();
    SarifResult {
        rule_id: finding.check.id,
        rule_index: rules.iter().position(|rule| rule.id == finding.check.id).unwrap_or_default(),
        level: finding.severity.as_str(),
        message: SarifText { text: format!("{}{help}", finding.message) },
        locations: [SarifLocation {
            physical_location: SarifPhysicalLocation {
                artifact_location: SarifArtifactLocation { uri: uri.into() },
                region: placed.location.as_ref().map(sarif_region),
            },
        }],
    }
}

fn sarif_region(location: &FindingLocation) -> SarifRegion {
    SarifRegion {
        start_line: location.start.line,
        start_column: location.start.column,
        end_line: location.end.line,
        end_column: location.end.column,
    }
}

/// Converts a path to a URI, relative if it is below `base`.
fn path_to_uri(path: &Path, base: &Path) -> String {
    let text = path.to_string_lossy();
    if has_web_scheme(&text) {
        // A URL needs no conversion except for spaces.
        return text.replace(' ', "%20");
    }
    let (start, path) = match path.strip_prefix(base) {
        Ok(relative) => ("", relative),
        Err(_) => ("file://", path),
    };
    let bytes = path.as_os_str().as_encoded_bytes();
    format!("{start}{}", percent::encode(bytes, FILE_PATH))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_become_uris() {
        let base = Path::new("/w/é");
        assert_eq!(path_to_uri(Path::new("/w/é/a b/SKILL.md"), base), "a%20b/SKILL.md");
        assert_eq!(path_to_uri(Path::new("/x/ü"), base), "file:///x/%C3%BC");
    }
}
