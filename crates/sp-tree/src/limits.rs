//! The limits on untrusted input.
//!
//! Input that exceeds a limit is rejected before it costs memory or time. The user can raise each
//! limit by name, with a flag or in the configuration.

use thiserror::Error;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Files and directories in a skill.
    pub skill_entries: u64,
    /// Nested directories in a skill or a walk.
    pub depth: u64,
    /// Total bytes of the files of a skill.
    pub skill_bytes: u64,
    /// Bytes of a file.
    pub file_bytes: u64,
    /// Files and directories in a walk over a repository.
    pub repo_entries: u64,
    /// Bytes of the frontmatter of a Markdown file.
    pub frontmatter_bytes: u64,
    /// Bytes of a YAML file.
    pub yaml_bytes: u64,
    /// Nodes of a YAML document; aliases count each time they are used.
    pub yaml_nodes: u64,
    /// Aliases in a YAML document.
    pub yaml_aliases: u64,
    /// Bytes of a Markdown file.
    pub markdown_bytes: u64,
    /// Bytes of one fetch from a git repository.
    pub git_pack_bytes: u64,
    /// Entries of a zip archive.
    pub zip_entries: u64,
    /// Bytes of a zip archive, compressed and uncompressed.
    pub zip_bytes: u64,
    /// Compression ratio of a zip archive.
    pub zip_ratio: u64,
    /// Seconds for a download.
    pub download_seconds: u64,
    /// Seconds without data before a download is aborted.
    pub stall_seconds: u64,
    /// Bytes of memory that each git process may use.
    pub git_memory_bytes: u64,
    /// Nesting depth of a JSON file.
    pub json_depth: u64,
    /// Keys of an object in a JSON file.
    pub json_keys: u64,
    /// Values and keys in a JSON file.
    pub json_values: u64,
    /// Bytes of a package.
    pub package_bytes: u64,
    /// Files in a package of skills.
    pub package_files: u64,
    /// Bytes of a file in a package of skills.
    pub package_file_bytes: u64,
    /// Total bytes of the files in a package of skills.
    pub package_files_bytes: u64,
    /// Bytes of an envelope.
    pub envelope_bytes: u64,
    /// Seconds after which an envelope expires.
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

/// No limit has this name.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("unknown limit `{0}`")]
pub struct LimitError(pub String);

macro_rules! named_limits {
    ($($name:literal => $field:ident),+ $(,)?) => {
        /// The names of the limits in field order.
        pub const LIMIT_NAMES: &[&str] = &[$($name),+];

        impl Limits {
            pub fn set(&mut self, name: &str, value: u64) -> Result<(), LimitError> {
                match name {
                    $($name => self.$field = value,)+
                    _ => return Err(LimitError(name.into())),
                }
                Ok(())
            }

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
