//! The entrypoint `SKILLBAG.md`, whose first line states the version of the format.

use crate::report::Report;
use crate::workspace::rules::SB_01;

/// The newest supported version.
pub const LATEST_VERSION: SkillBagVersion = SkillBagVersion(0, 3, 0);

/// A version of the SkillBag format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct SkillBagVersion(pub u32, pub u32, pub u32);

impl std::fmt::Display for SkillBagVersion {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}.{}", self.0, self.1, self.2)
    }
}

/// Reads the version in an entrypoint.
pub fn read_entrypoint(file: &str, text: &str) -> (Option<SkillBagVersion>, Report) {
    let mut report = Report::new(file, text);
    let line = text.trim_start_matches('\u{feff}').lines().next().unwrap_or_default();
    let bom = text.len() - text.trim_start_matches('\u{feff}').len();
    let span = bom..bom + line.len();
    let Some(version) = parse_version(line) else {
        report
            .error(&SB_01, span, "the first line does not state a version")
            .help(format!("start it with `SkillBag v{LATEST_VERSION}`"));
        return (None, report);
    };
    if version > LATEST_VERSION {
        report
            .warning(
                &SB_01,
                span,
                format!(
                    "version {version} is newer than {LATEST_VERSION}, the latest supported version"
                ),
            )
            .help(format!("update `sp`; this version applies the rules of {LATEST_VERSION}"));
    }
    (Some(version), report)
}

/// Parses `SkillBag v0.1.0`, as text or as a heading.
fn parse_version(line: &str) -> Option<SkillBagVersion> {
    let rest = line.trim_start_matches(['#', ' ']).strip_prefix("SkillBag v")?;
    let mut numbers = rest.split_whitespace().next()?.split('.').map(|part| part.parse().ok());
    let version = SkillBagVersion(numbers.next()??, numbers.next()??, numbers.next()??);
    numbers.next().is_none().then_some(version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sb_01_first_line_states_the_version() {
        let read = |text| read_entrypoint("SKILLBAG.md", text);
        assert_eq!(read("SkillBag v0.1.0\n\nmore").0, Some(SkillBagVersion(0, 1, 0)));
        assert_eq!(read("# SkillBag v0.3.0 draft").0, Some(SkillBagVersion(0, 3, 0)));
        assert!(read("SkillBag v0.1.0").1.findings.is_empty());
        let (newer, report) = read("SkillBag v9.0.0");
        assert_eq!(
            (newer, report.is_usable(), report.findings.len()),
            (Some(SkillBagVersion(9, 0, 0)), true, 1)
        );
        for bad in ["", "SkillBag", "SkillBag v1", "hello\nSkillBag v0.1.0"] {
            assert_eq!(read(bad).0, None, "{bad}");
        }
    }
}
