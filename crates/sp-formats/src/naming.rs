//! The names of installed skills' folders in a sink.

use schemars::JsonSchema;
use sp_tree::{Name, PathError};
use thiserror::Error;

/// How a pack names its folders.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct FolderNaming {
    /// Prefix of folder names. May be empty. Defaults to the name of the pack.
    #[schemars(with = "Option<crate::schema::FolderPartSchema>")]
    pub prefix: String,
    /// Separator between prefix and ID, which also replaces each `/` in the ID. Defaults to `__`.
    #[schemars(with = "Option<crate::schema::FolderPartSchema>")]
    pub sep: String,
    /// Whether to use only the last segment of the ID.
    #[schemars(with = "Option<bool>")]
    pub flatten: bool,
}

/// Why a folder name is invalid.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum FolderNameError {
    /// Not a single safe path segment.
    #[error("invalid folder name `{name}`: {why}")]
    InvalidPath { name: String, why: PathError },
    /// Starts with a dot or a space.
    #[error("invalid folder name `{name}`: it starts with a dot or a space")]
    LeadingDotOrSpace { name: String },
}

impl FolderNaming {
    /// The folder name for the skill `id`.
    pub fn folder_name(&self, id: &str) -> Result<Name, FolderNameError> {
        let flat = if self.flatten {
            id.rsplit('/').next().unwrap_or(id).to_owned()
        } else {
            id.replace('/', &self.sep)
        };
        let name = if self.prefix.is_empty() {
            flat
        } else {
            format!("{}{}{flat}", self.prefix, self.sep)
        };
        if name.starts_with(['.', ' ']) {
            return Err(FolderNameError::LeadingDotOrSpace { name });
        }
        Name::new(&name).map_err(|why| FolderNameError::InvalidPath { name, why })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn naming(prefix: &str, sep: &str, flatten: bool) -> FolderNaming {
        FolderNaming { prefix: prefix.into(), sep: sep.into(), flatten }
    }

    #[test]
    fn sp_20_folder_name_is_prefix_sep_and_flattened_id() {
        let id = "coding/dotnet/efcore-migrations";
        for (naming, folder) in [
            (naming("group-x", "__", false), "group-x__coding__dotnet__efcore-migrations"),
            (naming("group-x", "__", true), "group-x__efcore-migrations"),
            (naming("", "__", false), "coding__dotnet__efcore-migrations"),
            (naming("", "__", true), "efcore-migrations"),
            (naming("p", "-", false), "p-coding-dotnet-efcore-migrations"),
            (naming("p", "", false), "pcodingdotnetefcore-migrations"),
        ] {
            assert_eq!(naming.folder_name(id).unwrap().as_str(), folder);
        }
    }

    #[test]
    fn sp_13_folder_name_is_one_safe_segment() {
        for (prefix, sep, id) in [
            ("..", "/", "a"),
            ("a", "/", "b"),
            ("a", "\\", "b"),
            ("a\0", "__", "b"),
            (" a", "__", "b"),
            (".a", "__", "b"),
            ("a", "__", "b."),
            ("", "", "con"),
            ("", "", "."),
        ] {
            assert!(
                naming(prefix, sep, false).folder_name(id).is_err(),
                "{prefix:?} {sep:?} {id:?}"
            );
        }
    }
}
