//! The name of a skill, and the identifier by which a bag runs it.

use std::fmt;

use thiserror::Error;

use crate::printable::printable;

/// The longest name.
const MAX_SKILL_NAME_LEN: usize = 64;

/// Why a text is no skill's name: a fragment that goes on after "the name".
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SkillNameError {
    /// It has no characters.
    #[error("is empty")]
    Empty,
    /// It is too long.
    #[error("has {0} characters, and {MAX_SKILL_NAME_LEN} are the most")]
    TooLong(usize),
    /// A character that is not allowed.
    #[error("has `{}` in it", printable(.0.encode_utf8(&mut [0; 4])))]
    InvalidCharacter(char),
    /// A hyphen at its start.
    #[error("starts with a hyphen")]
    LeadingHyphen,
    /// A hyphen at its end.
    #[error("ends with a hyphen")]
    TrailingHyphen,
    /// Two hyphens together.
    #[error("has two hyphens in a row")]
    DoubleHyphen,
}

/// A skill's name: words of a-z and 0-9 with single hyphens between them, 64 characters at the most.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SkillName(String);

impl SkillName {
    /// Checks a name.
    pub fn new(name: &str) -> Result<Self, SkillNameError> {
        let foreign = name.chars().find(|c| !matches!(c, 'a'..='z' | '0'..='9' | '-'));
        match (name.chars().count(), foreign) {
            (0, _) => Err(SkillNameError::Empty),
            (length, _) if length > MAX_SKILL_NAME_LEN => Err(SkillNameError::TooLong(length)),
            (_, Some(c)) => Err(SkillNameError::InvalidCharacter(c)),
            _ if name.starts_with('-') => Err(SkillNameError::LeadingHyphen),
            _ if name.ends_with('-') => Err(SkillNameError::TrailingHyphen),
            _ if name.contains("--") => Err(SkillNameError::DoubleHyphen),
            _ => Ok(Self(name.into())),
        }
    }

    /// The name that an execution identifier means: `convert_to_pdf` runs `convert-to-pdf`.
    pub fn from_identifier(identifier: &str) -> Result<Self, SkillNameError> {
        match identifier.contains('-') {
            true => Err(SkillNameError::InvalidCharacter('-')),
            false => Self::new(&identifier.replace('_', "-")),
        }
    }

    /// The identifier by which the skill is run.
    pub fn identifier(&self) -> String {
        self.0.replace('-', "_")
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SkillName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn sb_03_a_name_is_words_with_single_hyphens() {
        let longest = "a".repeat(64);
        for good in ["a", "0", "a-b", "convert-to-pdf", &longest] {
            assert_eq!(SkillName::new(good).unwrap().as_str(), good);
        }
        for (bad, why) in [
            ("", SkillNameError::Empty),
            ("A", SkillNameError::InvalidCharacter('A')),
            ("a_b", SkillNameError::InvalidCharacter('_')),
            ("-a", SkillNameError::LeadingHyphen),
            ("a-", SkillNameError::TrailingHyphen),
            ("a--b", SkillNameError::DoubleHyphen),
            ("é", SkillNameError::InvalidCharacter('é')),
        ] {
            assert_eq!(SkillName::new(bad), Err(why));
        }
        assert_eq!(SkillName::new(&"a".repeat(65)), Err(SkillNameError::TooLong(65)));
    }

    #[test]
    fn sb_05_only_identifiers_have_underscores() {
        assert_eq!(
            SkillName::from_identifier("convert_to_pdf").unwrap().as_str(),
            "convert-to-pdf"
        );
        assert_eq!(
            SkillName::from_identifier("convert-to-pdf"),
            Err(SkillNameError::InvalidCharacter('-'))
        );
        assert!(SkillName::from_identifier("_a").is_err());
    }

    proptest! {
        #[test]
        fn sb_05_names_and_identifiers_are_one_to_one(name in "[a-z0-9]{1,6}(-[a-z0-9]{1,6}){0,4}") {
            let name = SkillName::new(&name).unwrap();
            prop_assert_eq!(SkillName::from_identifier(&name.identifier()).unwrap(), name);
        }
    }
}
