//! The numbered rules that Skillpack follows, and what `sp explain` prints about them.
//!
//! Each format defines its rules with `rule_set!` in its own module, such as
//! [`skill::rules`](crate::skill::rules). The macro takes every rule once, and makes of it an entry
//! of `RULES` and, if a finding can report it, a constant of type [`CheckRule`]. Rules that concern
//! all formats are in [`safety`], [`mcp`] and [`registry`].
//!
//! A [`Finding`](crate::Finding) refers to a [`CheckRule`], so nothing can be reported that `sp
//! explain` cannot explain. `sp-engine` collects the rule sets of all formats. A test that proves a
//! rule has its ID in its name (`sp_17_…`), and tests run `sp check` on every example.

pub mod audit;
pub mod mcp;
pub mod registry;
pub mod safety;

/// A numbered rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rule {
    /// Such as `SP-17`.
    pub id: &'static str,
    /// The requirement in one line.
    pub title: &'static str,
    /// The explanation, if a finding can report the rule.
    pub check: Option<&'static CheckRule>,
}

/// The rules of a format or a topic. They have the same prefix.
#[derive(Debug, Clone, Copy)]
pub struct RuleSet {
    /// The name of the format or the topic.
    pub name: &'static str,
    /// Sorted by ID.
    pub rules: &'static [Rule],
}

/// A rule that a finding can report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CheckRule {
    /// Such as `SP-17`.
    pub id: &'static str,
    /// The requirement in one line.
    pub title: &'static str,
    /// What the rule requires.
    pub what: &'static str,
    pub why: &'static str,
    /// Files that violate the rule, in the format of [`example_files`].
    pub bad: &'static str,
    /// The same files, corrected.
    pub good: &'static str,
    /// Whether `sp audit` reports it too.
    pub is_security: bool,
}

/// Defines the rules of a module: the constant `RULES`, and a constant for each rule that a finding
/// can report.
///
/// `"SP-06" "title"` is a rule that only tests refer to. `"SP-04" "title" => SP_04 { … }` can be
/// reported, and `=> SP_04 security { … }` also by `sp audit`.
macro_rules! rule_set {
    ($set:literal $(
        $id:literal $title:literal $(=> $name:ident $($class:ident)? {
            what: $what:expr,
            why: $why:expr,
            bad: $bad:expr,
            good: $good:expr,
        })?
    )+) => {
        $($(
            #[doc = $title]
            pub const $name: $crate::rules::CheckRule = $crate::rules::CheckRule {
                id: $id,
                title: $title,
                what: $what,
                why: $why,
                bad: $bad,
                good: $good,
                is_security: $crate::rules::rule_set!(@is_security $($class)?),
            };
        )?)+

        /// Every rule of this module.
        pub const RULES: $crate::rules::RuleSet = $crate::rules::RuleSet {
            name: $set,
            rules: &[$($crate::rules::Rule {
                id: $id,
                title: $title,
                check: $crate::rules::rule_set!(@check $($name)?),
            }),+],
        };
    };
    (@is_security) => { false };
    (@is_security security) => { true };
    (@check) => { None };
    (@check $name:ident) => { Some(&$name) };
}
pub(crate) use rule_set;

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
