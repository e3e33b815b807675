//! Findings as SARIF 2.1.0, which code-scanning services read.

use std::fmt::Write;
use std::path::Path;

use serde::Serialize;

use super::{FileFindings, Place, Placed};
use crate::checks::{CHECKS, Check};

/// A SARIF log.
#[derive(Debug, Serialize)]
pub struct Sarif {
    #[serde(rename = "$schema")]
    schema: &'static str,
    version: &'static str,
    runs: [Run; 1],
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Run {
    tool: Tool,
    column_kind: &'static str,
    results: Vec<RunResult>,
}

#[derive(Debug, Serialize)]
struct Tool {
    driver: Driver,
}

#[derive(Debug, Serialize)]
struct Driver {
    name: &'static str,
    version: &'static str,
    rules: Vec<Rule>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Rule {
    id: &'static str,
    short_description: Text,
    full_description: Text,
    help: Text,
}

#[derive(Debug, Serialize)]
struct Text {
    text: String,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct RunResult {
    rule_id: &'static str,
    rule_index: usize,
    level: &'static str,
    message: Text,
    locations: [Location; 1],
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Location {
    physical_location: PhysicalLocation,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct PhysicalLocation {
    artifact_location: ArtifactLocation,
    #[serde(skip_serializing_if = "Option::is_none")]
    region: Option<Region>,
}

#[derive(Debug, Serialize)]
struct ArtifactLocation {
    uri: String,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Region {
    start_line: usize,
    start_column: usize,
    end_line: usize,
    end_column: usize,
}

/// The findings of files as a SARIF log. `base` is the directory that paths start at.
pub fn sarif(files: &[FileFindings], base: &Path) -> Sarif {
    let results = files.iter().flat_map(|file| {
        let uri = uri(&file.path, base);
        file.findings.iter().map(move |placed| result(placed, &uri))
    });
    let driver = Driver {
        name: "sp",
        version: env!("CARGO_PKG_VERSION"),
        rules: CHECKS.iter().map(|check| rule(check)).collect(),
    };
    let run = Run { tool: Tool { driver }, column_kind: "unicodeCodePoints", results: results.collect() };
    Sarif { schema: "https://json.schemastore.org/sarif-2.1.0.json", version: "2.1.0", runs: [run] }
}

fn rule(check: &Check) -> Rule {
    let text = |text: &str| Text { text: text.into() };
    Rule {
        id: check.id,
        short_description: text(check.title()),
        full_description: text(check.what),
        help: text(check.why),
    }
}

fn result(placed: &Placed, uri: &str) -> RunResult {
    let finding = &placed.finding;
    let help = finding.help.as_ref().map(|help| format!(": {help}")).unwrap_or_default();
    RunResult {
        rule_id: finding.check.id,
        rule_index: CHECKS.iter().position(|check| check.id == finding.check.id).unwrap_or_default(),
        level: finding.severity.word(),
        message: Text { text: format!("{}{help}", finding.message) },
        locations: [Location {
            physical_location: PhysicalLocation {
                artifact_location: ArtifactLocation { uri: uri.into() },
                region: placed.place.as_ref().map(region),
            },
        }],
    }
}

fn region(place: &Place) -> Region {
    Region {
        start_line: place.start.line,
        start_column: place.start.column,
        end_line: place.end.line,
        end_column: place.end.column,
    }
}

/// A path as a URI: relative below the base, absolute elsewhere.
fn uri(path: &Path, base: &Path) -> String {
    let text = path.to_string_lossy();
    if text.starts_with("https://") || text.starts_with("http://") {
        // An address is a URI already; only what a name in it may have must be covered.
        return text.replace(' ', "%20");
    }
    let (start, path) = match path.strip_prefix(base) {
        Ok(relative) => ("", relative),
        Err(_) => ("file://", path),
    };
    let mut uri = String::from(start);
    for byte in path.as_os_str().as_encoded_bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(byte) {
            uri.push(char::from(*byte));
        } else {
            // Writing to a string does not fail.
            let _ = write!(uri, "%{byte:02X}");
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_becomes_a_uri() {
        let base = Path::new("/w/é");
        assert_eq!(uri(Path::new("/w/é/a b/SKILL.md"), base), "a%20b/SKILL.md");
        assert_eq!(uri(Path::new("/x/ü"), base), "file:///x/%C3%BC");
    }
}
