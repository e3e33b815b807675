//! Which folders of a source are its skills.
//!
//! Authors keep skills in `skills/`, `.claude/skills/`, `plugins/*/skills/`, in the root, or
//! anywhere else, so every folder with a `SKILL.md` counts. These do not: folders inside of another
//! skill, dependencies of the repository, and fixtures of its tests.

/// The ID of a skill that is the whole source.
pub(crate) const ROOT_ID: &str = ".";

/// Directories that never contain skills of the source itself.
pub(super) const SKIPPED_DIRS: [&str; 9] = [
    "node_modules",
    "vendor",
    "bower_components",
    "third_party",
    "fixtures",
    "__fixtures__",
    "__tests__",
    "testdata",
    "test-fixtures",
];

/// Directories of tests. Below a directory of skills, they are categories.
const TEST_DIRS: [&str; 5] = ["test", "tests", "spec", "specs", "e2e"];

/// Directories that authors keep skills in, the one that is preferred first.
const SKILL_DIRS: [&str; 2] = ["skills", ".skills"];

/// The skills of a source.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct SkillDirs {
    /// The paths of the skills; "" is the root. Of several skills with the same name, the one to
    /// prefer comes first.
    pub paths: Vec<String>,
    /// Whether the root has a `SKILL.md` that does not count, because there are other skills.
    pub ignored_root: bool,
}

impl SkillDirs {
    /// Selects the skills among all folders with a `SKILL.md`.
    pub(super) fn select(folders: Vec<String>) -> Self {
        let mut paths: Vec<String> =
            folders.into_iter().filter(|path| !is_dependency_or_fixture(path)).collect();
        let has_root = paths.iter().any(String::is_empty);
        if has_root && !paths.iter().any(|path| is_in_skill_dir(path)) {
            return Self { paths: vec![String::new()], ignored_root: false };
        }
        paths.retain(|path| !path.is_empty());
        // Parents come before their content, although `-` sorts before `/`.
        paths.sort_by(|a, b| a.split('/').cmp(b.split('/')));
        let mut skills: Vec<String> = Vec::new();
        for path in paths {
            let is_inside = |skill: &String| {
                path.strip_prefix(skill.as_str()).is_some_and(|rest| rest.starts_with('/'))
            };
            if !skills.last().is_some_and(is_inside) {
                skills.push(path);
            }
        }
        skills.sort_by(|a, b| (location_rank(a), a).cmp(&(location_rank(b), b)));
        Self { paths: skills, ignored_root: has_root }
    }
}

/// Returns the folders above a skill.
fn folders_above(path: &str) -> impl Iterator<Item = &str> {
    let above = path.rsplit_once('/').map_or("", |(above, _)| above);
    above.split('/').filter(|segment| !segment.is_empty())
}

fn is_in_skill_dir(path: &str) -> bool {
    folders_above(path).any(|segment| SKILL_DIRS.contains(&segment))
}

fn is_dependency_or_fixture(path: &str) -> bool {
    let mut in_skill_dir = false;
    for segment in folders_above(path) {
        if SKIPPED_DIRS.contains(&segment) || !in_skill_dir && TEST_DIRS.contains(&segment) {
            return true;
        }
        in_skill_dir |= SKILL_DIRS.contains(&segment);
    }
    false
}

/// Ranks locations: copies for single agents, which are in hidden folders, come last.
fn location_rank(path: &str) -> usize {
    let first = path.split('/').next().unwrap_or_default();
    let is_hidden = folders_above(path).any(|segment| segment.starts_with('.'));
    match SKILL_DIRS.iter().position(|dir| *dir == first) {
        Some(position) => position,
        None if is_hidden => SKILL_DIRS.len() + 1,
        None => SKILL_DIRS.len(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn select(folders: &[&str]) -> (Vec<String>, bool) {
        let dirs = SkillDirs::select(folders.iter().map(ToString::to_string).collect());
        (dirs.paths, dirs.ignored_root)
    }

    #[test]
    fn lc_03_skills_are_found_wherever_authors_keep_them() {
        for (folders, skills) in [
            (vec!["skills/pdf", "skills/docx"], vec!["skills/docx", "skills/pdf"]),
            (
                vec![".claude/skills/a", "plugins/x/skills/b", ".skills/c", "d"],
                vec![".skills/c", "d", "plugins/x/skills/b", ".claude/skills/a"],
            ),
            // What is inside of a skill belongs to it.
            (
                vec!["skills/a", "skills/a/templates/b", "skills/a-b", "skills/a/c"],
                vec!["skills/a", "skills/a-b"],
            ),
            // Dependencies and fixtures are not skills of the source.
            (
                vec![
                    "node_modules/x/skills/a",
                    "skills/b",
                    "tests/skills/c",
                    "skills/d/x",
                    "src/fixtures/e",
                    "third_party/f",
                ],
                vec!["skills/b", "skills/d/x"],
            ),
            // A skill may be called like a directory of tests, and be in a category of that name.
            (vec!["skills/tests", "skills/test/unit"], vec!["skills/test/unit", "skills/tests"]),
            (vec!["fixtures", "vendor"], vec!["fixtures", "vendor"]),
            (vec![], vec![]),
        ] {
            assert_eq!(select(&folders), (skills.iter().map(ToString::to_string).collect(), false));
        }
    }

    #[test]
    fn lc_03_root_is_a_skill_unless_it_has_a_directory_of_skills() {
        assert_eq!(select(&["", "references/x"]), (vec![String::new()], false));
        assert_eq!(select(&[""]), (vec![String::new()], false));
        assert_eq!(select(&["", "skills/a"]), (vec!["skills/a".to_owned()], true));
        assert_eq!(select(&["", ".claude/skills/a"]), (vec![".claude/skills/a".to_owned()], true));
    }
}
