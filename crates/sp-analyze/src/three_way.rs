//! Three-way merges of skills: the edits of a user, and a newer version.
//!
//! [`merge_trees`] merges file by file. A file that only one side changed is taken from that side.
//! Text that both sides changed is merged by line; changes of the same or adjacent lines conflict,
//! and so do files that are not text. A tree with a conflict is not merged at all, so nothing is
//! ever half merged.
//!
//! ```
//! use sp_analyze::three_way::merge_trees;
//! use sp_tree::{LoadedTree, RelPath};
//!
//! let tree = |text: &str| {
//!     let mut tree = LoadedTree::default();
//!     tree.add_file(RelPath::new("SKILL.md")?, false, text.into());
//!     Ok::<_, sp_tree::PathError>(tree)
//! };
//! let (base, ours, theirs) = (tree("a\nb\nc\n")?, tree("A\nb\nc\n")?, tree("a\nb\nC\n")?);
//! let merged = merge_trees(&base, &ours, &theirs).expect("the changes are disjoint");
//! assert_eq!(merged.get("SKILL.md"), Some(&b"A\nb\nC\n"[..]));
//!
//! let conflicts = merge_trees(&base, &ours, &tree("B\nb\nc\n")?).unwrap_err();
//! assert_eq!(conflicts[0].path.as_str(), "SKILL.md");
//! # Ok::<(), sp_tree::PathError>(())
//! ```

use std::collections::{BTreeMap, BTreeSet};

use sp_tree::{LoadedTree, RelPath};

/// A file that both sides changed differently.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileConflict {
    pub path: RelPath,
    pub reason: ConflictReason,
}

/// Why a file cannot be merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConflictReason {
    /// Both sides changed the same or adjacent lines.
    SameLines,
    /// Both sides changed a file that is not text.
    Binary,
    /// One side deleted a file that the other one changed.
    DeletedAndChanged,
    /// Both sides added a file.
    BothAdded,
    /// One side has a directory where the other one has a file.
    FileAndDirectory,
}

impl ConflictReason {
    /// Describes the conflict as a clause.
    pub fn describe(self) -> &'static str {
        match self {
            Self::SameLines => "both versions change the same lines",
            Self::Binary => "both versions change it, and it is not text",
            Self::DeletedAndChanged => "one version deletes it, and the other one changes it",
            Self::BothAdded => "both versions add it, with different content",
            Self::FileAndDirectory => "it is a file in one version and a directory in the other",
        }
    }
}

/// A file of a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct TreeFile<'t> {
    executable: bool,
    bytes: &'t [u8],
}

/// Merges the changes from `base` to `ours` with those from `base` to `theirs`.
pub fn merge_trees(
    base: &LoadedTree,
    ours: &LoadedTree,
    theirs: &LoadedTree,
) -> Result<LoadedTree, Vec<FileConflict>> {
    let (base_files, our_files, their_files) = (files(base), files(ours), files(theirs));
    let paths: BTreeSet<&RelPath> =
        base_files.keys().chain(our_files.keys()).chain(their_files.keys()).copied().collect();
    let mut merged: BTreeMap<RelPath, Option<(bool, Vec<u8>)>> = BTreeMap::new();
    let mut conflicts = Vec::new();
    for path in paths {
        let versions = FileVersions {
            base: base_files.get(path).copied(),
            ours: our_files.get(path).copied(),
            theirs: their_files.get(path).copied(),
        };
        match versions.merge() {
            Ok(Some(file)) => {
                merged.insert(path.clone(), Some(file));
            }
            Ok(None) => {}
            Err(reason) => conflicts.push(FileConflict { path: path.clone(), reason }),
        }
    }
    let dirs = merged_dirs(base, ours, theirs);
    for dir in dirs {
        if let Some(Some(_)) = merged.get(&dir) {
            conflicts.push(FileConflict { path: dir, reason: ConflictReason::FileAndDirectory });
        } else {
            merged.insert(dir, None);
        }
    }
    conflicts.extend(nested_files(&merged));
    if conflicts.is_empty() { Ok(build_tree(merged)) } else { Err(conflicts) }
}

fn files(tree: &LoadedTree) -> BTreeMap<&RelPath, TreeFile<'_>> {
    tree.files().map(|(path, executable, bytes)| (path, TreeFile { executable, bytes })).collect()
}

/// The directories of the merged tree: those that a side has, unless the other one removed them.
fn merged_dirs(base: &LoadedTree, ours: &LoadedTree, theirs: &LoadedTree) -> BTreeSet<RelPath> {
    let dirs = |tree: &LoadedTree| -> BTreeSet<RelPath> { tree.dirs().cloned().collect() };
    let (base, ours, theirs) = (dirs(base), dirs(ours), dirs(theirs));
    let all = ours.union(&theirs);
    let is_kept = |dir: &&RelPath| {
        let removed = base.contains(dir) && !(ours.contains(dir) && theirs.contains(dir));
        !removed
    };
    all.filter(is_kept).cloned().collect()
}

/// Files that lie below another file.
fn nested_files(merged: &BTreeMap<RelPath, Option<(bool, Vec<u8>)>>) -> Vec<FileConflict> {
    let is_file = |path: &str| {
        RelPath::new(path).ok().and_then(|path| merged.get(&path)).is_some_and(Option::is_some)
    };
    let has_file_above = |path: &RelPath| {
        path.as_str().match_indices('/').any(|(at, _)| is_file(&path.as_str()[..at]))
    };
    let nested = merged.keys().filter(|path| has_file_above(path));
    nested
        .map(|path| FileConflict { path: path.clone(), reason: ConflictReason::FileAndDirectory })
        .collect()
}

fn build_tree(mut merged: BTreeMap<RelPath, Option<(bool, Vec<u8>)>>) -> LoadedTree {
    // A directory that only one side kept may still have files.
    let parents: BTreeSet<RelPath> = merged
        .keys()
        .flat_map(|path| path.as_str().match_indices('/').map(|(at, _)| &path.as_str()[..at]))
        .filter_map(|parent| RelPath::new(parent).ok())
        .collect();
    for parent in parents {
        merged.entry(parent).or_insert(None);
    }
    let mut tree = LoadedTree::default();
    for (path, file) in merged {
        match file {
            Some((executable, bytes)) => tree.add_file(path, executable, bytes),
            None => tree.add_dir(path),
        }
    }
    tree
}

/// A file in three trees.
struct FileVersions<'t> {
    base: Option<TreeFile<'t>>,
    ours: Option<TreeFile<'t>>,
    theirs: Option<TreeFile<'t>>,
}

impl FileVersions<'_> {
    /// Returns the merged file; `None` if it is deleted.
    fn merge(&self) -> Result<Option<(bool, Vec<u8>)>, ConflictReason> {
        let owned = |file: Option<TreeFile<'_>>| {
            Ok(file.map(|file| (file.executable, file.bytes.to_vec())))
        };
        if self.ours == self.theirs || self.theirs == self.base {
            return owned(self.ours);
        }
        if self.ours == self.base {
            return owned(self.theirs);
        }
        let (ours, theirs) = match (self.ours, self.theirs) {
            (Some(ours), Some(theirs)) => (ours, theirs),
            _ => return Err(ConflictReason::DeletedAndChanged),
        };
        let base = self.base.ok_or(ConflictReason::BothAdded)?;
        let executable =
            if ours.executable == base.executable { theirs.executable } else { ours.executable };
        Ok(Some((executable, merge_bytes(base.bytes, ours.bytes, theirs.bytes)?)))
    }
}

fn merge_bytes(base: &[u8], ours: &[u8], theirs: &[u8]) -> Result<Vec<u8>, ConflictReason> {
    if ours == theirs || theirs == base {
        return Ok(ours.to_vec());
    }
    if ours == base {
        return Ok(theirs.to_vec());
    }
    let text = |bytes| std::str::from_utf8(bytes).ok().filter(|text| !text.contains('\0'));
    let (Some(base), Some(ours), Some(theirs)) = (text(base), text(ours), text(theirs)) else {
        return Err(ConflictReason::Binary);
    };
    let merged = diffy::merge(base, ours, theirs).map_err(|_| ConflictReason::SameLines)?;
    Ok(merged.into_bytes())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Builds a tree from paths and texts; an executable file's path ends with `*`.
    fn tree(files: &[(&str, &str)]) -> LoadedTree {
        let mut entries = BTreeMap::new();
        for (path, text) in files {
            let executable = path.ends_with('*');
            let path = RelPath::new(path.trim_end_matches('*')).unwrap();
            entries.insert(path, Some((executable, text.as_bytes().to_vec())));
        }
        build_tree(entries)
    }

    fn described(tree: &LoadedTree) -> Vec<String> {
        let files = tree.files().map(|(path, executable, bytes)| {
            let mark = if executable { "*" } else { "" };
            format!("{path}{mark}: {}", String::from_utf8_lossy(bytes))
        });
        files.collect()
    }

    #[test]
    fn lc_14_changes_of_different_files_and_lines_are_merged() {
        let base = tree(&[("SKILL.md", "a\nb\nc\nd\n"), ("old", "x"), ("run", "1")]);
        let ours =
            tree(&[("SKILL.md", "A\nb\nc\nd\n"), ("old", "x"), ("run*", "1"), ("mine", "m")]);
        let theirs = tree(&[("SKILL.md", "a\nb\nc\nD\n"), ("run", "2"), ("lib/new", "n")]);
        let merged = merge_trees(&base, &ours, &theirs).unwrap();
        assert_eq!(
            described(&merged),
            ["SKILL.md: A\nb\nc\nD\n", "lib/new: n", "mine: m", "run*: 2"]
        );
    }

    #[test]
    fn lc_14_conflicts_name_the_file_and_the_reason() {
        let base = tree(&[("a", "1\n"), ("b", "\0"), ("c", "1"), ("d/x", "1")]);
        let ours = tree(&[("a", "2\n"), ("b", "\0\0"), ("n", "1"), ("d/x", "1"), ("e", "1")]);
        let theirs =
            tree(&[("a", "3\n"), ("b", "\0x"), ("c", "2"), ("n", "2"), ("d", "1"), ("e/f", "")]);
        let conflicts = merge_trees(&base, &ours, &theirs).unwrap_err();
        let reasons: Vec<(&str, ConflictReason)> =
            conflicts.iter().map(|it| (it.path.as_str(), it.reason)).collect();
        assert_eq!(
            reasons,
            [
                ("a", ConflictReason::SameLines),
                ("b", ConflictReason::Binary),
                ("c", ConflictReason::DeletedAndChanged),
                ("n", ConflictReason::BothAdded),
                ("e", ConflictReason::FileAndDirectory),
                ("e/f", ConflictReason::FileAndDirectory),
            ]
        );
    }

    /// A replacement of some lines by others.
    #[derive(Debug, Clone)]
    struct LineEdit {
        at: usize,
        removed: usize,
        inserted: usize,
    }

    fn edits(lines: std::ops::Range<usize>) -> impl Strategy<Value = Vec<LineEdit>> {
        let edit =
            (lines.clone(), 0usize..3, 0usize..3).prop_map(move |(at, removed, inserted)| {
                LineEdit { at, removed: removed.min(lines.end - at), inserted }
            });
        proptest::collection::vec(edit, 1..3)
    }

    /// Applies edits from the last to the first; inserted lines are marked with `who`.
    fn apply(base: &[String], edits: &[LineEdit], who: &str) -> Vec<String> {
        let mut lines = base.to_vec();
        let mut edits = edits.to_vec();
        edits.sort_by_key(|edit| std::cmp::Reverse(edit.at));
        for (number, edit) in edits.iter().enumerate() {
            let end = (edit.at + edit.removed).min(lines.len());
            let new = (0..edit.inserted).map(|line| format!("{who} {number} {line}\n"));
            lines.splice(edit.at.min(end)..end, new);
        }
        lines
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1000))]

        /// Edits of the first and the last lines, with unchanged lines between them, always merge.
        /// The result has exactly the lines that an application of both edits has.
        #[test]
        fn lc_14_disjoint_edits_merge_and_no_line_is_lost(
            ours in edits(0..8),
            theirs in edits(12..20),
        ) {
            let base: Vec<String> = (0..20).map(|line| format!("line {line}\n")).collect();
            let (our_lines, their_lines) = (apply(&base, &ours, "ours"), apply(&base, &theirs, "theirs"));
            let mut expected = our_lines[..our_lines.len() - 10].to_vec();
            expected.extend_from_slice(&their_lines[10..]);
            let merged = merge_bytes(
                base.concat().as_bytes(),
                our_lines.concat().as_bytes(),
                their_lines.concat().as_bytes(),
            );
            prop_assert_eq!(merged.map(|bytes| String::from_utf8(bytes).unwrap()), Ok(expected.concat()));
        }

        /// Whatever both sides do, a merge either fails or contains every line that one of them
        /// inserted, and every line that both kept.
        #[test]
        fn lc_14_merge_that_succeeds_contains_every_new_and_every_kept_line(
            ours in edits(0..12),
            theirs in edits(0..12),
        ) {
            let base: Vec<String> = (0..12).map(|line| format!("line {line}\n")).collect();
            let (our_lines, their_lines) = (apply(&base, &ours, "ours"), apply(&base, &theirs, "theirs"));
            let merged = merge_bytes(
                base.concat().as_bytes(),
                our_lines.concat().as_bytes(),
                their_lines.concat().as_bytes(),
            );
            if let Ok(merged) = merged {
                let merged = String::from_utf8(merged).unwrap();
                let merged: BTreeSet<&str> = merged.split_inclusive('\n').collect();
                let inserted = our_lines.iter().chain(&their_lines).filter(|line| !base.contains(line));
                for line in inserted {
                    prop_assert!(merged.contains(line.as_str()), "lost {}", line);
                }
                for line in base.iter().filter(|line| our_lines.contains(line) && their_lines.contains(line)) {
                    prop_assert!(merged.contains(line.as_str()), "lost {}", line);
                }
                for line in base.iter().filter(|line| !our_lines.contains(line) || !their_lines.contains(line)) {
                    prop_assert!(!merged.contains(line.as_str()), "resurrected {}", line);
                }
            }
        }
    }
}
