//! The installed `git`.

use sp_formats::output::DoctorCode;

use super::examination::ExaminedMachine;
use super::problem::{AreaResult, FoundProblem};
use crate::source::git::git_version;

/// The first version that supports what `sp` uses.
const MIN_VERSION: (u32, u32) = (2, 31);

pub(super) fn examine(machine: &ExaminedMachine<'_>) -> AreaResult {
    let context = machine.session.context;
    let install = format!("install git {}.{} or later", MIN_VERSION.0, MIN_VERSION.1);
    let text = match git_version(context) {
        Ok(text) => text,
        Err(error) => {
            let problem = FoundProblem::of_error(DoctorCode::GitMissing, &error)
                .command("git --version")
                .help(format!("{install}, and add it to your PATH"));
            return AreaResult::new("", vec![problem]);
        }
    };
    match parse_version(&text) {
        Some(version) if version >= MIN_VERSION => AreaResult::new(text, Vec::new()),
        _ => {
            let message = format!("`{text}` is too old");
            let problem = FoundProblem::new(DoctorCode::GitOutdated, message)
                .because("imports use options that this version does not have")
                .command("git --version")
                .help(install);
            AreaResult::new("", vec![problem])
        }
    }
}

/// Parses `git version 2.39.5 (Apple Git-154)`.
fn parse_version(text: &str) -> Option<(u32, u32)> {
    let mut numbers = text.strip_prefix("git version ")?.split(['.', ' ', '-']);
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lc_18_versions_of_git_are_compared_by_number() {
        for (text, expected) in [
            ("git version 2.39.5", Some((2, 39))),
            ("git version 2.39.5 (Apple Git-154)", Some((2, 39))),
            ("git version 2.9.0.windows.1", Some((2, 9))),
            ("git version 3.0-rc1", Some((3, 0))),
            ("git version next", None),
            ("something else", None),
        ] {
            assert_eq!(parse_version(text), expected, "{text}");
        }
        assert!((2, 9) < MIN_VERSION && (3, 0) > MIN_VERSION);
    }
}
