//! Every rule that a finding can report, with a description, the reason, a bad and a good example.
//!
//! A [`Finding`](crate::Finding) refers to a [`CheckRule`], so nothing can be reported that `sp
//! explain` cannot explain. `docs/rules.md` is generated from [`CHECKS`], and a test runs `sp
//! check` on every example.

mod agent_skills;
mod context_pack;
mod ctxpkg;
mod security;
mod skillbag;
mod skillpacks;

pub use agent_skills::*;
pub use context_pack::*;
pub use ctxpkg::*;
pub use security::*;
pub use skillbag::*;
pub use skillpacks::*;

use crate::rules::RULE_SETS;

/// A rule that can be reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CheckRule {
    /// Such as `SP-17`.
    pub id: &'static str,
    /// What the rule requires.
    pub what: &'static str,
    pub why: &'static str,
    /// Files that violate the rule, in the format of [`example_files`].
    pub bad: &'static str,
    /// The same files, corrected.
    pub good: &'static str,
}

impl CheckRule {
    /// The requirement in one line.
    pub fn title(&self) -> &'static str {
        let rules = RULE_SETS.iter().flat_map(|set| set.rules);
        rules.into_iter().find(|rule| rule.id == self.id).map_or(self.what, |rule| rule.title)
    }
}

/// Every rule, sorted by ID.
pub const CHECKS: &[&CheckRule] = &[
    &AS_01, &AS_02, &AS_03, &AS_04, &AS_05, &AS_06, &AS_07, &CP_01, &CP_02, &CP_03, &CP_04, &CP_05,
    &CP_06, &CP_07, &CP_08, &CP_09, &CP_10, &PK_01, &PK_02, &PK_03, &PK_04, &PK_05, &PK_06, &PK_07,
    &PK_08, &PK_11, &PK_12, &PK_13, &PK_15, &PK_16, &PK_24, &SB_01, &SB_02, &SB_04, &SB_07, &SB_10,
    &SB_11, &SB_12, &SB_16, &SB_17, &SB_23, &SE_03, &SE_04, &SE_09, &SP_02, &SP_03, &SP_04, &SP_05,
    &SP_08, &SP_10, &SP_11, &SP_12, &SP_13, &SP_17, &SP_19, &SP_21, &SP_27, &SP_28, &SP_33,
];

/// Finds a rule by ID, ignoring case.
pub fn find_check(id: &str) -> Option<&'static CheckRule> {
    CHECKS.iter().find(|check| check.id.eq_ignore_ascii_case(id)).copied()
}

/// A file of an example.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExampleFile {
    pub path: &'static str,
    pub content: ExampleContent,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExampleContent {
    Text(String),
    /// A symbolic link with this target.
    Link(&'static str),
}

/// Parses an example: `==> path` starts a file, `==> path -> target` is a symbolic link.
pub fn example_files(example: &'static str) -> Vec<ExampleFile> {
    let mut files: Vec<ExampleFile> = Vec::new();
    for line in example.split_inclusive('\n') {
        match (line.strip_prefix("==> "), files.last_mut()) {
            (Some(heading), _) => files.push(match heading.trim_end().split_once(" -> ") {
                Some((path, target)) => ExampleFile { path, content: ExampleContent::Link(target) },
                None => ExampleFile {
                    path: heading.trim_end(),
                    content: ExampleContent::Text(String::new()),
                },
            }),
            (None, Some(ExampleFile { content: ExampleContent::Text(text), .. })) => {
                text.push_str(line);
            }
            (None, _) => {}
        }
    }
    files
}

/// Shortens a file of an example to its first lines and returns how many lines were left out. Some
/// examples are bad because they are long.
pub fn truncate_example(text: &str) -> (String, usize) {
    const MAX_FULL_LINES: usize = 60;
    const PREVIEW_LINES: usize = 8;
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    match lines.len() {
        length if length > MAX_FULL_LINES => {
            (lines[..PREVIEW_LINES].concat(), length - PREVIEW_LINES)
        }
        _ => (text.into(), 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_is_listed_once_and_has_title_and_reason() {
        assert!(CHECKS.is_sorted_by_key(|check| check.id));
        for check in CHECKS {
            assert_ne!(check.title(), check.what, "{} has no title in `rules.rs`", check.id);
            assert!(
                check.what.ends_with('.') && check.why.ends_with('.'),
                "{}: text must end with a period",
                check.id
            );
            assert!(
                !example_files(check.bad).is_empty() && !example_files(check.good).is_empty(),
                "{} has no examples",
                check.id
            );
            assert_ne!(check.bad, check.good);
            assert_eq!(find_check(&check.id.to_lowercase()), Some(*check));
        }
    }

    #[test]
    fn example_has_files_and_links() {
        let files = example_files("==> a/SKILL.md\none\ntwo\n==> b -> a\n");
        let content: Vec<_> = files.iter().map(|file| (file.path, &file.content)).collect();
        assert_eq!(
            content,
            [
                ("a/SKILL.md", &ExampleContent::Text("one\ntwo\n".into())),
                ("b", &ExampleContent::Link("a"))
            ]
        );
    }
}
