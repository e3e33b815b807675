//! The skills in a package: its outermost directories with a `SKILL.md`, or the package itself.

use sp_tree::{LoadedTree, RelPath};

use super::Package;
use crate::skill::SKILL_FILE;

#[derive(Debug, Default)]
pub struct BundledSkills {
    /// The path of each skill, or the package's own name, with its files.
    pub skills: Vec<(String, LoadedTree)>,
    /// How many files are not part of a skill.
    pub unassigned_files: usize,
}

impl Package {
    /// Returns the skills of the package; empty for other kinds.
    pub fn skills(&self) -> BundledSkills {
        let Some(documents) = &self.documents else { return BundledSkills::default() };
        let own_name = self.manifest.name.as_str();
        let own_name = own_name.rsplit('/').next().unwrap_or(own_name).to_owned();
        if documents.get(SKILL_FILE).is_some() {
            return BundledSkills {
                skills: vec![(own_name, documents.clone())],
                unassigned_files: 0,
            };
        }
        let mut roots: Vec<RelPath> = documents
            .files()
            .filter(|(path, ..)| path.file_name() == SKILL_FILE)
            .filter_map(|(path, ..)| path.parent().and_then(|parent| RelPath::new(parent).ok()))
            .collect();
        let candidates = roots.clone();
        let is_inside = |inner: &RelPath, outer: &RelPath| {
            inner.as_str().strip_prefix(outer.as_str()).is_some_and(|rest| rest.starts_with('/'))
        };
        roots.retain(|root| !candidates.iter().any(|other| is_inside(root, other)));
        let unassigned_files = documents
            .files()
            .filter(|(path, ..)| !roots.iter().any(|root| is_inside(path, root)))
            .count();
        BundledSkills {
            skills: roots.iter().map(|root| (root.to_string(), documents.subtree(root))).collect(),
            unassigned_files,
        }
    }
}
