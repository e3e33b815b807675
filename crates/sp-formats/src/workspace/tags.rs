//! Tags in descriptions, `#group/name`, and how the user's context changes them.

use std::collections::BTreeSet;

use crate::skill::tags::parse_tag;

/// A skill that runs when the workspace is entered and before every response.
const RUN_ALWAYS_TAG: &str = "run/always";
/// A skill that runs after all others.
const RUN_LAST_TAG: &str = "run/last";
/// The prefix of a companion's tag.
const COMPANION_TAG_PREFIX: &str = "use/";

/// The tags of a skill, sorted and without `#`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SkillTags(pub BTreeSet<String>);

/// How a context changes the tags of a skill.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TagChange {
    pub skill: String,
    pub add: Vec<String>,
    pub remove: Vec<String>,
}

/// Returns the tags in a description.
pub fn parse_tags(description: &str) -> SkillTags {
    let words = description.split(|c: char| c.is_whitespace() || matches!(c, '(' | '['));
    SkillTags(words.filter_map(parse_tag).map(Into::into).collect())
}

impl SkillTags {
    /// Applies the changes of a context.
    #[must_use]
    pub fn with_change(mut self, change: &TagChange) -> Self {
        let bare = |tag: &String| tag.trim_start_matches('#').to_owned();
        self.0.extend(change.add.iter().map(bare));
        for tag in change.remove.iter().map(bare) {
            self.0.remove(&tag);
        }
        self
    }

    /// Whether the skill runs without being requested.
    pub fn runs_always(&self) -> bool {
        self.0.contains(RUN_ALWAYS_TAG)
    }

    pub fn runs_last(&self) -> bool {
        self.0.contains(RUN_LAST_TAG)
    }

    /// The skills that run together with it.
    pub fn companions(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|tag| tag.strip_prefix(COMPANION_TAG_PREFIX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sb_23_tags_are_words_of_the_description() {
        let tags = parse_tags(
            "Keeps notes. #run/always (#use/spell-check), #nota #/x #a/ see http://x/#a/b #run/last.",
        );
        assert_eq!(
            tags.0.iter().collect::<Vec<_>>(),
            ["run/always", "run/last", "use/spell-check"]
        );
        assert!(tags.runs_always() && tags.runs_last());
        assert_eq!(tags.companions().collect::<Vec<_>>(), ["spell-check"]);
    }

    #[test]
    fn sb_23_context_adds_and_removes_tags() {
        let change = TagChange {
            skill: "x".into(),
            add: vec!["#run/last".into()],
            remove: vec!["run/always".into()],
        };
        let tags = parse_tags("#run/always").with_change(&change);
        assert!(!tags.runs_always() && tags.runs_last());
    }
}
