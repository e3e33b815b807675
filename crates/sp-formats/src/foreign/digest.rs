//! The digests that other tools record, and the files that they cover.
//!
//! `skills` and `apm` hash the path and the content of each regular file, one after the other and
//! without separators. They differ in the order of the files and in what they leave out.

use std::cmp::Ordering;

use sp_tree::{Digest, Hasher};

use super::ForeignTool;

/// How a digest is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ForeignDigestKind {
    /// SHA-256 of the files of a folder, in the order of JavaScript's `localeCompare`, without
    /// directories `.git` and `node_modules`.
    SkillsFolder,
    /// SHA-256 of the files of a package, in the order of their paths, without directories `.git`
    /// and `__pycache__` and without `.apm-pin`.
    ApmPackage,
    /// The hash of git's tree of a folder.
    GitTree,
}

/// The digest of an installed folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForeignDigest {
    pub kind: ForeignDigestKind,
    /// In lower case.
    hex: String,
}

/// A regular file of a folder.
#[derive(Debug, Clone, Copy)]
pub struct DigestedFile<'a> {
    /// The path in the folder.
    pub path: &'a str,
    pub bytes: &'a [u8],
}

impl ForeignDigest {
    /// Parses a digest as a tool writes it; none if it is empty or of an unknown kind.
    pub fn parse(tool: ForeignTool, text: &str) -> Option<Self> {
        let is_hex = |text: &str| text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let (kind, hex) = match tool {
            ForeignTool::Skills if text.len() == 64 => (ForeignDigestKind::SkillsFolder, text),
            ForeignTool::Skills if text.len() == 40 => (ForeignDigestKind::GitTree, text),
            ForeignTool::Apm => {
                let hex = text.strip_prefix("sha256:").filter(|hex| hex.len() == 64)?;
                (ForeignDigestKind::ApmPackage, hex)
            }
            _ => return None,
        };
        is_hex(hex).then(|| Self { kind, hex: hex.to_ascii_lowercase() })
    }

    /// The hexadecimal digits.
    pub fn hex(&self) -> &str {
        &self.hex
    }

    /// Whether the regular files of a folder, in any order, have this digest. `None` if that cannot
    /// be computed here: the hash of git's tree needs the modes of the files, and the order of
    /// paths that are not ASCII depends on the locale.
    pub fn matches(&self, files: &[DigestedFile<'_>]) -> Option<bool> {
        let digest = match self.kind {
            ForeignDigestKind::GitTree => return None,
            ForeignDigestKind::SkillsFolder => {
                let ignored = [".git", "node_modules"];
                let mut files = without_dirs(files, &ignored);
                if !files.iter().all(|file| file.path.is_ascii()) {
                    return None;
                }
                files.sort_by(|a, b| locale_compare(a.path, b.path));
                hash_files(&files)
            }
            ForeignDigestKind::ApmPackage => {
                let mut files = without_dirs(files, &[".git", "__pycache__"]);
                files.retain(|file| file.path != ".apm-pin");
                files.sort_by_key(|file| file.path);
                hash_files(&files)
            }
        };
        Some(digest.hex() == self.hex)
    }
}

fn without_dirs<'a>(files: &[DigestedFile<'a>], ignored: &[&str]) -> Vec<DigestedFile<'a>> {
    let is_ignored = |file: &DigestedFile<'_>| {
        let mut dirs = file.path.split('/');
        dirs.next_back();
        dirs.any(|dir| ignored.contains(&dir))
    };
    files.iter().filter(|file| !is_ignored(file)).copied().collect()
}

fn hash_files(files: &[DigestedFile<'_>]) -> Digest {
    let mut hasher = Hasher::default();
    for file in files {
        hasher.update(file.path.as_bytes());
        hasher.update(file.bytes);
    }
    hasher.finish()
}

/// The order of printable ASCII characters in the root locale of Unicode, without the letters.
const PUNCTUATION_AND_DIGITS: &[u8] = b" _-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$0123456789";

/// Compares two ASCII texts as JavaScript's `localeCompare`: ignoring case, then lower case first.
fn locale_compare(a: &str, b: &str) -> Ordering {
    let primary = |text: &str| text.bytes().map(primary_weight).collect::<Vec<_>>();
    let is_upper = |text: &str| text.bytes().map(|b| b.is_ascii_uppercase()).collect::<Vec<_>>();
    primary(a).cmp(&primary(b)).then_with(|| is_upper(a).cmp(&is_upper(b)))
}

fn primary_weight(byte: u8) -> usize {
    let position = PUNCTUATION_AND_DIGITS.iter().position(|other| *other == byte);
    position
        .unwrap_or_else(|| PUNCTUATION_AND_DIGITS.len() + usize::from(byte.to_ascii_lowercase()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILES: [DigestedFile<'static>; 5] = [
        DigestedFile { path: "scripts/run.sh", bytes: b"echo review\n" },
        DigestedFile { path: "SKILL.md", bytes: b"---\nname: review\ndescription: Reviews a diff. Use before a merge.\n---\n\nRead the diff first.\n" },
        DigestedFile { path: ".git/config", bytes: b"x" },
        DigestedFile { path: "a/node_modules/b.js", bytes: b"x" },
        DigestedFile { path: ".apm-pin", bytes: b"x" },
    ];

    #[test]
    fn lc_17_digests_of_skills_and_apm_are_recomputed() {
        // Written by the tools for the same folder.
        let skills = "40c34a986f3cdbf073d71bad3ef679cdcf26edf86ec6b079f392605d27a28ced";
        let apm = "sha256:6ddb31db818f300b7c18f64a6e7183614d13d24342d7551a59b4e32252de4758";
        let of = |tool, text| ForeignDigest::parse(tool, text).unwrap();
        let skills = of(ForeignTool::Skills, skills);
        assert_eq!(skills.matches(&FILES[..3]), Some(true));
        assert_eq!(skills.matches(&FILES[..1]), Some(false));
        let apm = of(ForeignTool::Apm, apm);
        let files = [FILES[0], FILES[1], FILES[2], FILES[4]];
        assert_eq!(apm.matches(&files), Some(true));
        assert_eq!(apm.matches(&FILES[1..2]), Some(false));
    }

    #[test]
    fn lc_17_digest_of_unknown_kind_is_ignored() {
        let tree = ForeignDigest::parse(ForeignTool::Skills, &"a".repeat(40)).unwrap();
        assert_eq!((tree.kind, tree.matches(&FILES)), (ForeignDigestKind::GitTree, None));
        for (tool, text) in [
            (ForeignTool::Skills, ""),
            (ForeignTool::Skills, &*"g".repeat(64)),
            (ForeignTool::Apm, &"a".repeat(64)),
            (ForeignTool::Dotagents, &"a".repeat(64)),
        ] {
            assert_eq!(ForeignDigest::parse(tool, text), None, "{text}");
        }
        let folder = ForeignDigest::parse(ForeignTool::Skills, &"a".repeat(64)).unwrap();
        assert_eq!(folder.matches(&[DigestedFile { path: "é", bytes: b"" }]), None);
    }

    #[test]
    fn lc_17_files_are_in_the_order_of_locale_compare() {
        let sorted = [
            "a",
            "A",
            "a b",
            "a_b",
            "a-b",
            "a.b",
            "a/b",
            "a/B",
            "A/b",
            "a1",
            "ab",
            "aB",
            "Ab",
            "b",
            "scripts/x",
            "SKILL",
            "skill.md",
            "SKILL.md",
        ];
        let mut shuffled = sorted;
        shuffled.reverse();
        shuffled.sort_by(|a, b| locale_compare(a, b));
        assert_eq!(shuffled, sorted);
    }
}
