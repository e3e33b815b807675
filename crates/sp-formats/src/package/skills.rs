//! The skills that a package carries: its outermost folders with a `SKILL.md`, or the package itself.

use sp_tree::{Content, RelPath};

use super::Package;
use crate::skill::SKILL_FILE;

/// The skills of a package.
#[derive(Debug, Default)]
pub struct Carried {
    /// The path of each, or the package's own name, with its files.
    pub skills: Vec<(String, Content)>,
    /// How many files belong to none.
    pub left: usize,
}

impl Package {
    /// The skills that it carries; none if it is of another kind.
    pub fn skills(&self) -> Carried {
        let Some(documents) = &self.documents else { return Carried::default() };
        let own_name = self.manifest.name.as_str();
        let own_name = own_name.rsplit('/').next().unwrap_or(own_name).to_owned();
        if documents.get(SKILL_FILE).is_some() {
            return Carried { skills: vec![(own_name, documents.clone())], left: 0 };
        }
        let mut roots: Vec<RelPath> = documents
            .files()
            .filter(|(path, ..)| path.leaf() == SKILL_FILE)
            .filter_map(|(path, ..)| path.parent().and_then(|parent| RelPath::new(parent).ok()))
            .collect();
        let all = roots.clone();
        let is_inside = |inner: &RelPath, outer: &RelPath| {
            inner.as_str().strip_prefix(outer.as_str()).is_some_and(|rest| rest.starts_with('/'))
        };
        roots.retain(|root| !all.iter().any(|other| is_inside(root, other)));
        let left = documents.files().filter(|(path, ..)| !roots.iter().any(|root| is_inside(path, root))).count();
        Carried { skills: roots.iter().map(|root| (root.to_string(), documents.below(root))).collect(), left }
    }
}
