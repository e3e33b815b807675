//! Skill names, and the identifiers by which a workspace runs skills.

use std::fmt;

use thiserror::Error;

use crate::printable::printable;

const MAX_SKILL_NAME_LEN: usize = 64;

/// Why a text is not a skill name: a fragment that continues "the name".
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SkillNameError {
    #[error("is empty")]
    Empty,
    #[error("has {0} characters; the maximum is {MAX_SKILL_NAME_LEN}")]
    TooLong(usize),
    #[error("contains `{}`", printable(.0.encode_utf8(&mut [0; 4])))]
    InvalidCharacter(char),
    #[error("starts with a hyphen")]
    LeadingHyphen,
    #[error("ends with a hyphen")]
    TrailingHyphen,
    #[error("has two hyphens in a row")]
    DoubleHyphen,
}

/// A skill name: words of a-z and 0-9 separated by single hyphens, at most 64 characters.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SkillName(String);

impl SkillName {
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

    /// Parses an execution identifier such as `convert_to_pdf`, or the name `convert-to-pdf`. Names
    /// have no underscores, so neither can mean another skill.
    pub fn from_identifier(identifier: &str) -> Result<Self, SkillNameError> {
        Self::new(&identifier.replace('_', "-"))
    }

    /// The execution identifier of the skill.
    pub fn identifier(&self) -> String {
        self.0.replace('-', "_")
    }

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
    fn sb_03_name_is_words_with_single_hyphens() {
        let longest = "a".repeat(64);
        for good in ["a", "0", "a-b", "convert-to-pdf", &longest] {
            assert_eq!(SkillName::new(good).unwrap().as_str(), good);
        }
        for (bad, expected) in [
            ("", SkillNameError::Empty),
            ("A", SkillNameError::InvalidCharacter('A')),
            ("a_b", SkillNameError::InvalidCharacter('_')),
            ("-a", SkillNameError::LeadingHyphen),
            ("a-", SkillNameError::TrailingHyphen),
            ("a--b", SkillNameError::DoubleHyphen),
            ("é", SkillNameError::InvalidCharacter('é')),
        ] {
            assert_eq!(SkillName::new(bad), Err(expected));
        }
        assert_eq!(SkillName::new(&"a".repeat(65)), Err(SkillNameError::TooLong(65)));
    }

    #[test]
    fn sb_05_only_identifiers_have_underscores() {
        for identifier in ["convert_to_pdf", "convert-to-pdf"] {
            let name = SkillName::from_identifier(identifier).unwrap();
            assert_eq!(name.as_str(), "convert-to-pdf");
        }
        assert!(SkillName::new("convert_to_pdf").is_err());
        assert!(SkillName::from_identifier("_a").is_err());
    }

    proptest! {
        #[test]
        fn sb_05_names_and_identifiers_map_one_to_one(name in "[a-z0-9]{1,6}(-[a-z0-9]{1,6}){0,4}") {
            let name = SkillName::new(&name).unwrap();
            prop_assert_eq!(SkillName::from_identifier(&name.identifier()).unwrap(), name);
        }
    }
}
