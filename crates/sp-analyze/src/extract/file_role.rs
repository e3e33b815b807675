//! Determines from its path what a file is for.

use crate::extract::file_extract::FileExtract;
use crate::extract::source_text::SourceText;
use crate::extract::warning::has_comments;
use crate::extract::{code, manifest, policy};

/// How a file is read, apart from its code.
#[derive(Clone, Copy)]
pub(crate) enum FileRole {
    /// Prose. Sections have this kind unless their title implies another.
    Document(&'static str),
    /// A decision record.
    Decision,
    Changelog,
    /// A file that tools read too.
    Manifest(fn(SourceText<'_>, &mut FileExtract)),
}

/// Well-known document names, lowercase and without extension.
const DOCUMENT_NAMES: &[(&str, &str)] = &[
    ("readme", "fact"),
    ("architecture", "fact"),
    ("design", "fact"),
    ("overview", "fact"),
    ("development", "fact"),
    ("developing", "fact"),
    ("hacking", "fact"),
    ("building", "fact"),
    ("install", "fact"),
    ("testing", "fact"),
    ("debugging", "fact"),
    ("troubleshooting", "gotcha"),
    ("gotchas", "gotcha"),
    ("known_issues", "gotcha"),
    ("known-issues", "gotcha"),
    ("contributing", "convention"),
    ("conventions", "convention"),
    ("style", "convention"),
    ("styleguide", "convention"),
    ("agents", "convention"),
    ("agent", "convention"),
    ("claude", "convention"),
    ("gemini", "convention"),
    ("copilot-instructions", "convention"),
    ("security", "policy"),
    ("governance", "policy"),
];
/// Rule files of agents that lack a Markdown extension.
const AGENT_FILES: &[&str] = &[".cursorrules", ".windsurfrules", ".clinerules"];
/// Directories of decision records.
const DECISION_DIRS: &[&str] = &["adr", "adrs", "decisions", "rfcs"];
const CHANGELOG_NAMES: &[&str] = &["changelog", "changes", "history", "release-notes", "releases"];
/// Directories with vendored or generated files.
const IGNORED_DIRS: &[&str] = &[
    ".git",
    ".hg",
    ".svn",
    ".jj",
    "node_modules",
    "bower_components",
    "vendor",
    "third_party",
    "third-party",
    "target",
    "dist",
    ".venv",
    "venv",
    "__pycache__",
    ".tox",
    ".mypy_cache",
    ".pytest_cache",
    ".gradle",
    ".next",
    ".nuxt",
    "coverage",
    ".idea",
    ".terraform",
    "site-packages",
    ".ctxpkg",
    ".cargo-home",
];
/// Directories with test data, which does not describe the project.
const FIXTURE_DIRS: &[&str] = &[
    "fixtures",
    "testdata",
    "__snapshots__",
    "snapshots",
    "__fixtures__",
    "corpus",
    "golden",
    "seeds",
];

/// Whether a directory contains vendored or generated files, judging by its name.
pub fn is_ignored_dir(folder: &str) -> bool {
    IGNORED_DIRS.contains(&folder)
}

/// Whether a file may contain something to extract and belongs to the project.
pub fn is_extractable(path: &str) -> bool {
    let mut folders = path.split('/').rev().skip(1);
    !folders.any(|folder| IGNORED_DIRS.contains(&folder) || FIXTURE_DIRS.contains(&folder))
        && (role_of(path).is_some() || code::grammar_of(path).is_some() || has_comments(path))
}

/// Returns the role of a file, if it has one besides code.
pub(crate) fn role_of(path: &str) -> Option<FileRole> {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    if let Some(read) =
        manifest::reader_of(folder, name).or_else(|| policy::reader_of(folder, name))
    {
        return Some(FileRole::Manifest(read));
    }
    if AGENT_FILES.contains(&name) {
        return Some(FileRole::Document("convention"));
    }
    // Templates describe the projects they are copied into.
    if folder
        .split('/')
        .any(|part| matches!(part, "templates" | "template" | "skeleton" | "boilerplate"))
    {
        return None;
    }
    let lower = name.to_lowercase();
    let stem =
        [".md", ".mdx", ".mdc", ".rst"].iter().find_map(|ending| lower.strip_suffix(ending))?;
    prose_role(folder, stem)
}

/// The role of a Markdown or reStructuredText file.
fn prose_role(folder: &str, stem: &str) -> Option<FileRole> {
    let is_in_decisions =
        folder.rsplit('/').next().is_some_and(|last| DECISION_DIRS.contains(&last));
    if is_in_decisions && !matches!(stem, "readme" | "index" | "template") {
        return Some(FileRole::Decision);
    }
    if CHANGELOG_NAMES.contains(&stem) {
        return Some(FileRole::Changelog);
    }
    // Skills and agent rules are conventions in any directory.
    if matches!(
        folder,
        ".cursor/rules" | ".github/instructions" | ".windsurf/rules" | ".claude/rules"
    ) {
        return Some(FileRole::Document("convention"));
    }
    let known = DOCUMENT_NAMES
        .iter()
        .find(|(document, _)| *document == stem)
        .map(|(_, kind)| FileRole::Document(kind));
    let is_below_docs = folder
        .split('/')
        .next()
        .is_some_and(|first| matches!(first, "docs" | "doc" | "documentation"));
    known.or_else(|| is_below_docs.then_some(FileRole::Document("fact")))
}
