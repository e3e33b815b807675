//! The length of comment lines.

use std::path::{Path, PathBuf};

use crate::crates::workspace;
use crate::source::rust_files;

const MAX_LINE_CHARS: usize = 100;

fn all_files() -> Vec<(PathBuf, String)> {
    let mut files = Vec::new();
    rust_files(&workspace().join("crates"), &mut files);
    let read = |file: PathBuf| {
        let text = std::fs::read_to_string(&file).expect("a source file");
        (file, text)
    };
    files.into_iter().map(read).collect()
}

fn relative_path(file: &Path) -> String {
    file.strip_prefix(workspace()).unwrap_or(file).display().to_string()
}

/// Checks only comments, because rustfmt does not wrap them. Long literals are allowed.
#[test]
fn comments_fit_the_maximum_width() {
    let mut too_long = Vec::new();
    for (file, text) in all_files() {
        for (number, line) in text.lines().enumerate() {
            let is_comment = line.trim_start().starts_with("//");
            let has_link = line.contains("://");
            if is_comment && !has_link && line.chars().count() > MAX_LINE_CHARS {
                too_long.push(format!("{}:{}", relative_path(&file), number + 1));
            }
        }
    }
    assert!(
        too_long.is_empty(),
        "wrap these comments at {MAX_LINE_CHARS} characters: {too_long:#?}"
    );
}
