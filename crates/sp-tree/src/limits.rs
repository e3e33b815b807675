//! The ceilings on what comes from outside, all in one place.
//!
//! A source that is larger than these is refused before it costs memory or time. A user who
//! means it raises one by name, by flag or in the config.

use thiserror::Error;

/// How much of anything is taken from outside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Files and folders in one skill.
    pub skill_entries: u64,
    /// Levels of folders below the top of a skill or of a walk.
    pub depth: u64,
    /// Bytes of all the files of one skill.
    pub skill_bytes: u64,
    /// Bytes of one file.
    pub file_bytes: u64,
    /// Files and folders that a walk over a whole repository may meet.
    pub repo_entries: u64,
    /// Bytes of the frontmatter of a Markdown file.
    pub frontmatter_bytes: u64,
    /// Bytes of a YAML file.
    pub yaml_bytes: u64,
    /// Nodes of a YAML document, aliases counted each time they are used.
    pub yaml_nodes: u64,
    /// Aliases in a YAML document.
    pub yaml_aliases: u64,
    /// Bytes of a Markdown file.
    pub markdown_bytes: u64,
    /// Bytes that one fetch from a git repository may bring.
    pub git_pack_bytes: u64,
    /// Members of a zip archive.
    pub zip_entries: u64,
    /// Bytes of a zip archive, packed as well as unpacked.
    pub zip_bytes: u64,
    /// How many times its size a zip archive may unpack to.
    pub zip_ratio: u64,
    /// Seconds that a download may take.
    pub download_seconds: u64,
    /// Seconds that a server may send nothing before it is given up.
    pub stall_seconds: u64,
    /// Bytes of memory that each git process may use.
    pub git_memory_bytes: u64,
    /// Levels of objects and lists in a JSON file.
    pub json_depth: u64,
    /// Keys of one object in a JSON file.
    pub json_keys: u64,
    /// Values in a JSON file, keys counted too.
    pub json_values: u64,
    /// Bytes of a package.
    pub package_bytes: u64,
    /// Files that a package of skills carries.
    pub package_files: u64,
    /// Bytes of one file that a package of skills carries.
    pub package_file_bytes: u64,
    /// Bytes of all the files that a package of skills carries.
    pub package_files_bytes: u64,
    /// Bytes of an envelope in which a package is sent.
    pub envelope_bytes: u64,
    /// Seconds for which an envelope is fresh.
    pub envelope_seconds: u64,
}

const MIB: u64 = 1024 * 1024;

impl Default for Limits {
    fn default() -> Self {
        Self {
            skill_entries: 10_000,
            depth: 64,
            skill_bytes: 64 * MIB,
            file_bytes: 16 * MIB,
            repo_entries: 250_000,
            frontmatter_bytes: 256 * 1024,
            yaml_bytes: MIB,
            yaml_nodes: 10_000,
            yaml_aliases: 100,
            markdown_bytes: 16 * MIB,
            git_pack_bytes: 1024 * MIB,
            zip_entries: 10_000,
            zip_bytes: 256 * MIB,
            zip_ratio: 100,
            download_seconds: 300,
            stall_seconds: 60,
            git_memory_bytes: 512 * MIB,
            json_depth: 128,
            json_keys: 100_000,
            json_values: 2_500_000,
            package_bytes: 10 * MIB,
            package_files: 256,
            package_file_bytes: MIB,
            package_files_bytes: 8 * MIB,
            envelope_bytes: 2_000_000,
            envelope_seconds: 300,
        }
    }
}

/// A limit that has no such name.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("there is no limit called `{0}`")]
pub struct LimitError(pub String);

macro_rules! named_limits {
    ($($name:literal => $field:ident),+ $(,)?) => {
        /// The names by which the limits are raised, in the order of the fields.
        pub const LIMIT_NAMES: &[&str] = &[$($name),+];

        impl Limits {
            /// Sets the limit called `name`.
            pub fn set(&mut self, name: &str, value: u64) -> Result<(), LimitError> {
                match name {
                    $($name => self.$field = value,)+
                    _ => return Err(LimitError(name.into())),
                }
                Ok(())
            }

            /// Every limit with its name.
            pub fn all(&self) -> Vec<(&'static str, u64)> {
                vec![$(($name, self.$field)),+]
            }
        }
    };
}

named_limits! {
    "skill-entries" => skill_entries,
    "depth" => depth,
    "skill-bytes" => skill_bytes,
    "file-bytes" => file_bytes,
    "repo-entries" => repo_entries,
    "frontmatter-bytes" => frontmatter_bytes,
    "yaml-bytes" => yaml_bytes,
    "yaml-nodes" => yaml_nodes,
    "yaml-aliases" => yaml_aliases,
    "markdown-bytes" => markdown_bytes,
    "git-pack-bytes" => git_pack_bytes,
    "zip-entries" => zip_entries,
    "zip-bytes" => zip_bytes,
    "zip-ratio" => zip_ratio,
    "download-seconds" => download_seconds,
    "stall-seconds" => stall_seconds,
    "git-memory-bytes" => git_memory_bytes,
    "json-depth" => json_depth,
    "json-keys" => json_keys,
    "json-values" => json_values,
    "package-bytes" => package_bytes,
    "package-files" => package_files,
    "package-file-bytes" => package_file_bytes,
    "package-files-bytes" => package_files_bytes,
    "envelope-bytes" => envelope_bytes,
    "envelope-seconds" => envelope_seconds,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn se_04_every_limit_is_raised_by_its_name() {
        let mut limits = Limits::default();
        for (i, name) in LIMIT_NAMES.iter().enumerate() {
            limits.set(name, i as u64).unwrap();
        }
        let values: Vec<u64> = limits.all().into_iter().map(|(_, value)| value).collect();
        assert_eq!(values, (0..LIMIT_NAMES.len() as u64).collect::<Vec<_>>());
        assert_eq!(limits.set("no-such", 1), Err(LimitError("no-such".into())));
    }
}
